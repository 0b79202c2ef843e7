"""The version of links, so that a later default changes no picture that was shared."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

from gbuq_core.earlier_defaults import DEFAULTS_OF_0_2, VERSION

KEY, NOW = "v", str(VERSION)


def with_version(query: str) -> str:
    """A query as a link carries it; a default visit carries nothing.

    >>> with_version("rows=30"), with_version("")
    ('rows=30&v=3', '')
    """
    return f"{query}&{KEY}={NOW}" if query else ""


def versioned(named: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a link within the app."""
    return {**named, KEY: NOW} if named else {}


def left_out(page: str, named: Container[str]) -> Mapping[str, Any]:
    """What a link means by the knobs that it does not name, where these are not defaults."""
    return {} if KEY in named else DEFAULTS_OF_0_2.get(page, {})
