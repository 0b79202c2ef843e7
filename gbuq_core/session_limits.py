"""What one visitor of a shared server may use: the section ``[limits]`` of a TOML file.

Each limit is a field of `SessionLimits`, and nowhere else. What is not set is not limited beyond
what the reader of tables and the free memory allow.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from gbuq_core.errors import InvalidParameter, LimitReached
from gbuq_core.presentation import counted, format_bytes, seconds_text, shown

FILE = "gbuq.toml"  # in the folder that the server is started from
VARIABLE = "GBUQ_CONFIG"  # names another file
SECTION = "limits"

HOUR = 3600.0  # seconds
LONG_SECONDS = 1.0  # a fit that took less does not count: a slider starts many while it is dragged
# How to get a smaller file of each kind.
SMALLER_TABLE = "keep fewer rows or columns, or upload it as Parquet, which is smaller"
SMALLER_MODEL = "train a model with fewer or smaller trees"
SMALLER_PROJECT = "write it with gbuq fit without --with-data"

_MEGABYTE = 10**6
_LARGEST = 10**12


@dataclass(frozen=True)
class SessionLimits:
    """What one session, a browser tab, may use; None is no limit."""

    # Fits that run at the same time. Further ones wait for one of the same session to end.
    fits_at_once: int | None = None
    # Fits of `LONG_SECONDS` or more that end within an hour. Further ones are refused.
    fits_per_hour: int | None = None
    upload_megabytes: int | None = None  # the largest file, in units of a million bytes
    held_megabytes: int | None = None  # the session's files and the results that it shows, together
    rows: int | None = None  # the largest number of rows of a file or a query

    def check_rows(self, n_rows: int) -> None:
        """Refuse a table with more rows than a session may open."""
        if self.rows is not None and n_rows > self.rows:
            raise LimitReached(
                f"The table has {counted(n_rows, 'row')}, more than the {self.rows:,} that this "
                'server allows: keep fewer rows, or score the file with the command "gbuq score" '
                "on your own computer."
            )

    def check_upload(self, n_bytes: int, advice: str = SMALLER_TABLE) -> None:
        """Refuse a file that is larger than a session may upload; ``advice`` ends the sentence."""
        most = self.upload_megabytes
        if most is not None and n_bytes > most * _MEGABYTE:
            raise LimitReached(
                f"The file has {format_bytes(n_bytes)}, more than the "
                f"{format_bytes(most * _MEGABYTE)} that this server allows: {advice}."
            )

    def check_held(self, n_bytes: int) -> None:
        """Refuse more work for a session that holds as much memory as it may."""
        most = self.held_megabytes
        if most is not None and n_bytes > most * _MEGABYTE:
            raise LimitReached(
                f"Your files and results take {format_bytes(n_bytes)}, more than the "
                f"{format_bytes(most * _MEGABYTE)} that this server allows a visitor: download "
                "what you need, then remove a file or choose fewer rows, trees or members."
            )

    def check_hourly(self, ended: list[float], now: float) -> None:
        """Refuse another fit after so many in the hour before ``now``."""
        most = self.fits_per_hour
        if most is None:
            return
        counting = [moment for moment in ended if moment > now - HOUR]
        if len(counting) >= most:
            wait = counting[len(counting) - most] + HOUR - now
            raise LimitReached(
                f"You have run {counted(len(counting), 'fit')} in the last hour, and this server "
                f"allows {most:,}: wait {seconds_text(wait)}, or go back to the settings before, "
                "which are still there."
            )


def read_limits(path: str | Path) -> SessionLimits:
    r"""Read the section ``[limits]`` of a TOML file."""
    name = Path(path).name
    try:
        text = Path(path).read_bytes().decode()
    except OSError as error:
        raise InvalidParameter(
            f"The file {shown(name)} with the limits cannot be read ({error.strerror}): check the "
            f"path in the variable {VARIABLE}."
        ) from error
    except UnicodeDecodeError as error:
        raise InvalidParameter(f"The file {shown(name)} is not text in UTF-8.") from error
    try:
        sections = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidParameter(f"The file {shown(name)} is not valid TOML: {error}.") from error
    unknown = [key for key in sections if key != SECTION]
    if unknown:
        raise InvalidParameter(
            f"{shown(name)} has {shown(unknown[0])}, which is unknown: its only section is "
            f"[{SECTION}]."
        )
    section = sections.get(SECTION, {})
    if not isinstance(section, Mapping):
        raise InvalidParameter(f"In {shown(name)}, {SECTION} must be a section: [{SECTION}].")
    return _limits_of(section, shown(name))


def configured_limits() -> SessionLimits:
    """The limits of the file that ``GBUQ_CONFIG`` names, or of ``gbuq.toml``; else no limits."""
    named = os.environ.get(VARIABLE)
    if named:
        return read_limits(named)
    return read_limits(FILE) if Path(FILE).exists() else SessionLimits()


def _limits_of(section: Mapping[str, Any], name: str) -> SessionLimits:
    known = [field.name for field in fields(SessionLimits)]
    for key, value in section.items():
        if key not in known:
            raise InvalidParameter(
                f"{name} sets the limit {shown(key)}, which is unknown: the limits are "
                f"{', '.join(known)}."
            )
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or not 1 <= value <= _LARGEST:
            raise InvalidParameter(
                f"In {name}, {key} must be a whole number of at least 1; got {shown(value)}: "
                "leave the line out for no limit."
            )
    return SessionLimits(**section)
