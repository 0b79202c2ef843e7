"""Part files of an output, and the manifest that says which of them are finished.

A run writes its output as numbered parts into a directory. Each part is written to a temporary
file, brought to the disk and then renamed, so a part exists as a whole or not at all. The manifest
is a JSON file beside them; it is rewritten in the same way after each part. A run that was killed
goes on with the parts that the manifest does not name, if its inputs, settings and version are
those of the manifest.

`write_part` needs no manifest, so other processes can call it. Only the process that holds the
`PartFiles` writes the manifest.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from gbuq_core.errors import TableError
from gbuq_core.file_bytes import replacing
from gbuq_core.presentation import counted, csv_text, listed, shown
from gbuq_core.tables.files import csv_lines, frame_to_arrow

MANIFEST = "_manifest.json"  # readers of data sets skip names that begin with an underscore
SUFFIXES = (".parquet", ".csv")
_FORMAT = 2  # 1: without the counts of drift
_TEMPORARY = ".part-"
_PIECE_BYTES = 2**22


def package_version() -> str:
    """The version of gbuq that runs.

    Examples
    --------
    >>> package_version().count(".")
    2
    """
    return str(sys.modules[__name__.partition(".")[0]].__version__)


class PartRecord(NamedTuple):
    """A part that is finished.

    Attributes
    ----------
    number : int
        From 0.
    n_rows, n_bytes : int
    digest : str
        SHA-256 of the file, hexadecimal.
    columns : tuple of str
    facts : dict
        What else is to be kept of these rows, such as sums of errors; it must fit into JSON.
    """

    number: int
    n_rows: int
    n_bytes: int
    digest: str
    columns: tuple[str, ...]
    facts: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Run:
    """What decides each number of an output: a resumed run must have the same.

    Attributes
    ----------
    inputs : mapping of str to str
        Digest of each input file by what it is called in sentences, such as ``"TRAIN"``.
    settings : mapping of str to JSON values
        By the names of the options.
    seed : int
    n_parts : int
    suffix : {".parquet", ".csv"}
        The format of the parts. CSV parts have no header; joining adds it.
    version : str
        Of gbuq.
    """

    inputs: Mapping[str, str]
    settings: Mapping[str, Any]
    seed: int
    n_parts: int
    suffix: str = ".parquet"
    version: str = field(default_factory=package_version)

    def as_json(self) -> dict[str, Any]:
        """The same as plain JSON values."""
        return json.loads(json.dumps(vars(self), default=dict))


def part_name(number: int, suffix: str) -> str:
    """What the file of a part is called.

    >>> part_name(12, ".parquet")
    'part-000012.parquet'
    """
    return f"part-{number:06d}{suffix}"


def write_part(
    directory: str | os.PathLike[str],
    number: int,
    pieces: Iterable[pd.DataFrame | pa.Table],
    suffix: str = ".parquet",
    facts: dict[str, Any] | Callable[[], dict[str, Any]] | None = None,
) -> PartRecord:
    r"""Write one part as a whole or not at all, and say what was written.

    Parameters
    ----------
    directory : str or path
        It exists.
    number : int
    pieces : iterable of DataFrame or pyarrow.Table
        The rows of the part, one piece after the other, at least one piece; all have the same
        columns. They may be made one by one: only one is kept. Each is a row group of Parquet.
    suffix : {".parquet", ".csv"}
    facts : dict, or function that returns one, optional
        Kept in the record. A function is called after the last piece.

    Returns
    -------
    PartRecord

    Raises
    ------
    TableError
        If the disk is full or the directory cannot be written to.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> record = write_part(folder, 0, [pd.DataFrame({"x": [1.5, 2.5]})], ".csv")
    >>> record.n_rows, (Path(folder) / "part-000000.csv").read_text()
    (2, '1.5\n2.5\n')
    """
    path = Path(directory) / part_name(number, suffix)
    n_rows, columns = 0, ()
    with whole_file(path) as file:
        writer = None
        for piece in pieces:
            table = piece if isinstance(piece, pa.Table) else frame_to_arrow(piece)
            n_rows, columns = n_rows + table.num_rows, tuple(table.column_names)
            if suffix == ".csv":
                file.writelines(csv_lines(table))
                continue
            if writer is None:
                writer = parquet.ParquetWriter(file, table.schema, compression="zstd")
            writer.write_table(table, row_group_size=max(1, table.num_rows))
        if writer is not None:
            writer.close()
    kept = facts() if callable(facts) else dict(facts or {})
    return PartRecord(number, n_rows, path.stat().st_size, digest_file(path), columns, kept)


class PartFiles:
    r"""A directory of part files that knows which are finished.

    Parameters
    ----------
    directory : str or path
        Made if it does not exist. Its parent exists.
    run : Run
        What decides the numbers.
    resume : bool
        Go on with the parts of an earlier run. Without one, begin.

    Raises
    ------
    TableError
        One sentence: the directory holds parts of an earlier run (without ``resume``), or that run
        had other inputs, settings or another version (with it).

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp()) / "out.csv.parts"
    >>> run = Run(inputs={"NEW": "5f70"}, settings={"trees": 300}, seed=0, n_parts=2, suffix=".csv")
    >>> parts = PartFiles(folder, run)
    >>> record = parts.write(1, [pd.DataFrame({"x": [3]})])
    >>> again = PartFiles(folder, run, resume=True)
    >>> again.missing
    [0]
    >>> record = again.write(0, [pd.DataFrame({"x": [1, 2]})])
    >>> again.join(folder.parent / "out.csv")
    >>> (folder.parent / "out.csv").read_text(), again.missing
    ('x\n1\n2\n3\n', [])
    """

    def __init__(
        self, directory: str | os.PathLike[str], run: Run, *, resume: bool = False
    ) -> None:
        if run.suffix not in SUFFIXES:
            raise ValueError(f"suffix must be one of {', '.join(SUFFIXES)}; got {run.suffix!r}.")
        self.directory, self.run = Path(directory), run
        self.records: dict[int, PartRecord] = {}
        self._facts: dict[str, str] = {}
        self._lock = threading.Lock()
        manifest = read_manifest(self.directory)
        if manifest is not None and not resume:
            raise TableError(
                f"{shown(self.directory.name)} holds parts of an earlier run: go on with --resume, "
                "or delete that directory."
            )
        if manifest is not None:
            self._check_same(manifest)
            self._facts = dict(manifest["facts"])
            self._keep_finished(manifest["parts"])
        else:
            self._make_directory()
        self._write_manifest()

    @property
    def missing(self) -> list[int]:
        """Numbers of the parts that are not finished, in order."""
        return [number for number in range(self.run.n_parts) if number not in self.records]

    def write(
        self,
        number: int,
        pieces: Iterable[pd.DataFrame | pa.Table],
        facts: dict[str, Any] | Callable[[], dict[str, Any]] | None = None,
    ) -> PartRecord:
        """Write a part and note in the manifest that it is finished; see `write_part`."""
        record = write_part(self.directory, number, pieces, self.run.suffix, facts)
        self.note(record)
        return record

    def note(self, record: PartRecord) -> None:
        """Note in the manifest that a part is finished, such as one that another process wrote."""
        with self._lock:
            self.records[record.number] = record
            self._write_manifest()

    def remember(self, name: str, value: str) -> None:
        """Keep something that a resumed run must find again, such as a digest of the model.

        Raises
        ------
        TableError
            If the run that wrote the parts had another value.
        """
        if self._facts.setdefault(name, value) != value:
            raise TableError(
                f"The {name} is not the one that wrote the parts, although the settings are the "
                "same (another processor or other libraries): begin again in another output."
            )
        with self._lock:
            self._write_manifest()

    def join(self, out: str | os.PathLike[str]) -> None:
        """Write all parts into one file, in their order, as a whole or not at all.

        CSV parts are put one after the other below a header. Row groups of Parquet are copied one
        by one, so the memory does not grow with the number of rows.

        Raises
        ------
        TableError
            If parts are missing or differ in their columns, or the disk is full.
        """
        if self.missing:
            raise TableError(f"{counted(len(self.missing), 'part is', 'parts are')} missing.")
        if len({record.columns for record in self.records.values()}) > 1:
            raise TableError("The parts have different columns: write them again.")
        numbers = range(self.run.n_parts)
        paths = [self.directory / part_name(number, self.run.suffix) for number in numbers]
        with whole_file(Path(out)) as file:
            if self.run.suffix == ".parquet":
                _join_parquet(paths, file)
                return
            file.write(csv_text(list(self.records[0].columns), ()).encode())
            for path in paths:
                with path.open("rb") as part:
                    shutil.copyfileobj(part, file, _PIECE_BYTES)

    def remove(self) -> None:
        """Delete the parts and the manifest, and the directory if nothing else is in it."""
        names = [part_name(number, self.run.suffix) for number in range(self.run.n_parts)]
        for name in (*names, MANIFEST):
            (self.directory / name).unlink(missing_ok=True)
        with suppress(OSError):  # somebody has put other files there
            self.directory.rmdir()

    def _make_directory(self) -> None:
        try:
            self.directory.mkdir(exist_ok=True)
            names = sorted(path.name for path in self.directory.iterdir())
        except OSError as error:
            raise _cannot_write(self.directory, error) from None
        ours = (_TEMPORARY, "part-", MANIFEST)
        if strangers := [name for name in names if not name.startswith(ours)]:
            raise TableError(
                f"The directory {shown(self.directory.name)} holds other files "
                f"({listed(strangers[:3])}): choose a new or an empty one."
            )

    def _check_same(self, manifest: dict[str, Any]) -> None:
        """Refuse to go on with what another run has begun."""
        now, then = self.run.as_json(), manifest["run"]
        again = "give what the first run had, or begin again without --resume in another output."
        if now["version"] != then["version"]:
            raise TableError(
                f"The parts were written by gbuq {then['version']}, and this is gbuq "
                f"{now['version']}: begin again without --resume in another output."
            )
        inputs = _differences(now["inputs"], then["inputs"])
        if inputs:
            raise TableError(
                f"{listed(inputs)} {'is' if len(inputs) == 1 else 'are'} not as in the run that "
                f"wrote the parts: {again}"
            )
        rest = {
            key: {**each["settings"], **{name: each[name] for name in _NAMED}}
            for key, each in (("now", now), ("then", then))
        }
        settings = _differences(rest["now"], rest["then"])
        if settings:
            raise TableError(
                f"The run that wrote the parts had {'another' if len(settings) == 1 else 'other'} "
                f"{listed(settings)}: {again}"
            )

    def _keep_finished(self, parts: list[dict[str, Any]]) -> None:
        """Take over parts whose files are whole; others are written again."""
        for entry in parts:
            record = PartRecord(**{**entry, "columns": tuple(entry["columns"])})
            path = self.directory / part_name(record.number, self.run.suffix)
            try:
                whole = path.stat().st_size == record.n_bytes and digest_file(path) == record.digest
            except OSError:
                continue
            if whole:
                self.records[record.number] = record
        for path in self.directory.glob(f"{_TEMPORARY}*"):  # of the process that was killed
            path.unlink(missing_ok=True)

    def _write_manifest(self) -> None:
        parts = [self.records[number]._asdict() for number in sorted(self.records)]
        manifest = {"format": _FORMAT, "run": self.run.as_json(), "facts": self._facts}
        with whole_file(self.directory / MANIFEST) as file:
            file.write(json.dumps(manifest | {"parts": parts}, indent=1).encode())


_NAMED = ("seed", "n_parts", "suffix")


def read_manifest(directory: str | os.PathLike[str]) -> dict[str, Any] | None:
    """The manifest of a directory as plain values; None without one."""
    path = Path(directory) / MANIFEST
    try:
        manifest = json.loads(path.read_bytes())
        expected = {*_NAMED, "inputs", "settings"}
        if manifest["format"] != _FORMAT or not expected <= {*manifest["run"]}:
            raise ValueError
        _ = dict(manifest["facts"]), [entry["number"] for entry in manifest["parts"]]
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, KeyError, TypeError):
        raise TableError(
            f"The manifest in {shown(path.parent.name)} cannot be read: delete that directory and "
            "begin again."
        ) from None
    return dict(manifest)


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write that takes its name when all of it is on the disk.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.txt"
    >>> with whole_file(path) as file:
    ...     _ = file.write(b"all of it")
    ...     path.exists()
    False
    >>> path.read_text()
    'all of it'
    """
    try:
        with replacing(path, _TEMPORARY) as file:
            yield file
        _bring_names_to_disk(path.parent)
    except OSError as error:
        raise _cannot_write(path, error) from None


def digest_file(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a file, hexadecimal, read piece by piece."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _join_parquet(paths: list[Path], file: BinaryIO) -> None:
    writer = None
    for path in paths:
        with parquet.ParquetFile(path) as part:
            if writer is None:
                writer = parquet.ParquetWriter(file, part.schema_arrow, compression="zstd")
            for group in range(part.num_row_groups):
                table = part.read_row_group(group)
                writer.write_table(table, row_group_size=max(1, table.num_rows))
    if writer is not None:
        writer.close()


def _differences(now: dict[str, Any], then: dict[str, Any]) -> list[str]:
    return [name for name in {**then, **now} if now.get(name) != then.get(name)]


def _cannot_write(path: Path, error: OSError) -> TableError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return TableError(
            f"The disk is full, so {shown(path.name)} cannot be written: make room, then run the "
            "same command with --resume."
        )
    return TableError(
        f"{path} cannot be written ({error.strerror or error}): choose another output."
    )


def _bring_names_to_disk(directory: Path) -> None:
    """After a crash of the machine, the new name stands in the directory."""
    if os.name != "posix":  # elsewhere directories cannot be opened
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
