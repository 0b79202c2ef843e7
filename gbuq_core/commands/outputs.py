"""Which outputs a command refuses before any work, and how a file is written: whole or not."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gbuq_core import tables
from gbuq_core.errors import InvalidParameter, TableError
from gbuq_core.presentation import shown

if TYPE_CHECKING:
    import pandas as pd

_STANDARD_OUTPUT = ("-", "/dev/stdout")


def is_standard_output(out: Path) -> bool:
    """Whether this name stands for the standard output, to which a pipe may be connected.

    >>> is_standard_output(Path("-")), is_standard_output(Path("out.csv"))
    (True, False)
    """
    return str(out) in _STANDARD_OUTPUT


def check_out(out: Path, inputs: Sequence[str | Path | None]) -> None:
    """Refuse an output that is an input, a device or a pipe, or cannot be written."""
    if is_standard_output(out):
        return
    if not out.parent.is_dir():
        raise InvalidParameter(f"There is no directory {out.parent}: create it or choose another.")
    try:
        out.lstat()
    except FileNotFoundError:
        pass  # the usual case
    except OSError as error:
        raise InvalidParameter(
            f"{shown(out.name)} cannot be written ({error.strerror}): choose another output."
        ) from None
    if out.is_dir():
        raise InvalidParameter(f"{out} is a directory: give the name of a file.")
    if out.exists() and not out.is_file():
        raise InvalidParameter(
            f"{out} is a device or a pipe: give the name of a file, or - for the standard output."
        )
    for name in inputs:
        if name is not None and _is_same_file(out, name):
            raise InvalidParameter(
                f"{out} is an input file and would be overwritten: choose another output."
            )
    if not os.access(out if out.exists() else out.parent, os.W_OK):
        raise InvalidParameter(f"{out} cannot be written: check its permissions.")


def _is_same_file(out: Path, name: str | Path) -> bool:
    try:
        return out.samefile(name)
    except OSError:  # one of them does not exist, or cannot; reading it will tell
        return False


def write_rows(out: Path, frame: pd.DataFrame) -> None:
    """Write a table: Parquet if the name ends so, else CSV."""
    is_parquet = out.suffix.lower() == ".parquet"
    write_file(out, (tables.to_parquet_bytes if is_parquet else tables.to_csv_bytes)(frame))


def write_file(out: Path, data: bytes) -> None:
    """Write a whole file or none; to the standard output as it is."""
    if is_standard_output(out):
        if sys.stdout is None:
            raise TableError("The standard output is closed: name a file for --out.")
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    from gbuq_core.file_bytes import write_whole

    try:
        write_whole(data, out)
    except OSError as error:
        raise TableError(
            f"{out} cannot be written ({error.strerror}): choose another output."
        ) from None
