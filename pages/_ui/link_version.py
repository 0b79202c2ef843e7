"""The version of links: what one without a number leaves out is what 0.2 had there."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import streamlit as st

KEY, NOW = "v", "3"

# Defaults of 0.2 by page and knob, where today's are others. Whoever changes a default that a link
# may leave out adds the old one here.
DEFAULTS_OF_0_2: Mapping[str, Mapping[str, Any]] = MappingProxyType({})


def with_version(query: str) -> str:
    """A query as a link carries it; a default visit carries nothing.

    >>> with_version("rows=30"), with_version("")
    ('rows=30&v=3', '')
    """
    return f"{query}&{KEY}={NOW}" if query else ""


def left_out(page: str) -> Mapping[str, Any]:
    """What the address means by the knobs that it does not name, where these are not defaults."""
    return {} if KEY in st.query_params else DEFAULTS_OF_0_2.get(page, {})
