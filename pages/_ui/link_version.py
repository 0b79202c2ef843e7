"""The version of links, so that a later default changes no picture that was shared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gbuq_core.earlier_defaults import VERSION, VERSIONS, earlier_defaults

__all__ = ["KEY", "NOW", "VERSIONS", "left_out", "versioned", "with_version"]

KEY, NOW = "v", str(VERSION)


def with_version(query: str) -> str:
    """A query as a link carries it; a default visit carries nothing.

    >>> with_version("rows=30"), with_version("")
    ('rows=30&v=4', '')
    """
    return f"{query}&{KEY}={NOW}" if query else ""


def versioned(named: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a link within the app."""
    return {**named, KEY: NOW} if named else {}


def left_out(page: str, named: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a link means by the knobs that it does not name, where these are not defaults."""
    version = named.get(KEY, "")
    return earlier_defaults(version if isinstance(version, str) else version[0], page)
