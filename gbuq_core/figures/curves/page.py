"""A figure of curves, and the parts of its renderer joined to one module."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from gbuq_core.figures.handles.knobs import KNOB_PARTS, LiveKnob, knobs_styles
from gbuq_core.figures.sources import join_scripts, read_styles

_HERE = Path(__file__).parent
_CANVAS = _HERE.parent / "canvas"

# What is the canvas renderer's, and what builds on it, in this order.
_PARTS = (
    _CANVAS / "format.js",
    _CANVAS / "theme.js",
    _CANVAS / "calls.js",
    _HERE.parent / "handles" / "stream.js",
    *KNOB_PARTS,
    _HERE / "packed.js",
    _HERE / "curves.js",
    _HERE / "picking.js",
    _HERE / "brush.js",
    _HERE / "carrying.js",
    _HERE / "live.js",
    _HERE / "facets.js",
    _HERE / "intervals.js",
    _HERE / "functions.js",
    _HERE / "dials.js",
    _HERE / "reading.js",
)


class Curves(NamedTuple):
    """A figure as curves.js reads it: JSON of numbers and short texts.

    ``knobs`` are those of its own bar, which the specification has, too.
    """

    spec: dict[str, Any]
    knobs: tuple[LiveKnob, ...] = ()

    @property
    def alt(self) -> str:
        """The picture in words."""
        return str(self.spec["alt"])


@cache
def curves_source() -> str:
    """Return the renderer as the text of one ES module.

    Indentation and whole-line comments are left out: Streamlit sends the text with each update.
    """
    return join_scripts(_PARTS)


@cache
def curves_styles() -> str:
    """Return the renderer's style sheet."""
    return read_styles(_HERE / "curves.css") + knobs_styles()
