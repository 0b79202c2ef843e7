"""A figure of curves, and the parts of its renderer joined to one module."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

_HERE = Path(__file__).parent
_CANVAS = _HERE.parent / "canvas"

# What is the canvas renderer's, and what builds on it, in this order.
_PARTS = (
    _CANVAS / "format.js",
    _CANVAS / "theme.js",
    _CANVAS / "calls.js",
    _HERE / "packed.js",
    _HERE / "curves.js",
    _HERE / "picking.js",
    _HERE / "facets.js",
    _HERE / "dials.js",
    _HERE / "reading.js",
)


class Curves(NamedTuple):
    """A figure as curves.js reads it: JSON of numbers and short texts."""

    spec: dict[str, Any]

    @property
    def alt(self) -> str:
        """The picture in words."""
        return str(self.spec["alt"])


@cache
def curves_source() -> str:
    """Return the renderer as the text of one ES module.

    Indentation and whole-line comments are left out: Streamlit sends the text with each update.
    """
    lines = []
    for part in _PARTS:
        for line in part.read_text(encoding="utf-8").splitlines():
            text = line.strip()
            if text and not text.startswith("//"):
                lines.append(text)
    return "\n".join(lines) + "\n"


@cache
def curves_styles() -> str:
    """Return the renderer's style sheet."""
    text = (_HERE / "curves.css").read_text(encoding="utf-8")
    return "\n".join(line.strip() for line in text.splitlines() if line.strip()) + "\n"
