"""A figure of curves, and the parts of its renderer joined to one module."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from gbuq_core.figures.curves.parts import Part
from gbuq_core.figures.handles.knobs import KNOB_PARTS, LiveKnob, knobs_styles
from gbuq_core.figures.showing import bundle_of
from gbuq_core.figures.sources import join_scripts, read_styles

_HERE = Path(__file__).parent
_CANVAS = _HERE.parent / "canvas"
NEAR_SCRIPT = _CANVAS / "near.js"

# What is the canvas renderer's, and what builds on it, in this order.
_PARTS = (
    _CANVAS / "nodes.js",
    _CANVAS / "format.js",
    _CANVAS / "theme.js",
    _CANVAS / "calls.js",
    _HERE.parent / "handles" / "stream.js",
    *KNOB_PARTS,
    _CANVAS / "pin.js",
    _HERE / "packed.js",
    _HERE / "nodes.js",
    _HERE / "curves.js",
    _HERE / "picking.js",
    _HERE / "brush.js",
    _HERE / "labels.js",
    _HERE / "keeping.js",
    _HERE / "carrying.js",
    _HERE / "live.js",
    NEAR_SCRIPT,
    _HERE / "following.js",
    _HERE / "facets.js",
    _HERE / "swipe.js",
    _HERE / "intervals.js",
    _HERE / "functions.js",
    _HERE / "levels.js",
    _HERE / "dials.js",
    _HERE / "reading.js",
)

_ANSWERED = ("pick", "place", "carry")  # what only an app answers
READ_HINT = "Point at the picture, or use its arrow keys, to read values."
_READ_DOTS = "Point at a dot, or use the arrow keys, to read it; drag a frame to look closer."


# What a drawing of its own over a value that plays builds on, before the entry.
PLAYED_PARTS = (_CANVAS / "player.js", _HERE / "played.js")


class Curves(NamedTuple):
    """A figure as curves.js reads it: JSON of numbers and short texts.

    ``knobs`` are those of its own bar, which the specification has, too. ``scripts`` come after
    the renderer's own: a figure whose specification names a ``drawing`` brings it along.
    """

    spec: dict[str, Any]
    knobs: tuple[LiveKnob, ...] = ()
    scripts: tuple[Path, ...] = ()

    @property
    def quiet(self) -> Curves:
        """The figure as it opens a page: large, with one knob; the button "View" shows the rest."""
        return self._replace(spec={**self.spec, "quiet": True})

    @property
    def alt(self) -> str:
        """The picture in words."""
        return str(self.spec["alt"])

    @property
    def only_read(self) -> dict[str, Any]:
        """The figure where no app answers: a click chooses nothing, and nothing is carried."""
        rest = {key: part for key, part in self.spec.items() if key not in _ANSWERED}
        return {**rest, "hint": _READ_DOTS if "y" in self.spec.get("read", ()) else READ_HINT}

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return bundle_of(self)


def draw_curves(
    name: str,
    alt: str,
    height: float,
    x: Part,
    panels: Sequence[Part],
    legend: Sequence[Part],
    read: Part,
    *,
    hint: str = READ_HINT,
    knobs: Sequence[LiveKnob] = (),
    **more: Any,
) -> Curves:
    """A figure of panels over one `axis`, of the parts that `gbuq_core.figures.curves.parts` makes.

    ``more`` is what only some figures have, as curves.js reads it.
    """
    bar = {"knobs": [knob.spec for knob in knobs]} if knobs else {}
    spec = {
        "name": name,
        "alt": alt,
        "height": int(height),
        "hint": hint,
        "x": x,
        "panels": list(panels),
        "legend": list(legend),
        "read": read,
        **bar,
        **more,
    }
    return Curves(spec, tuple(knobs))


@cache
def curves_source(scripts: tuple[Path, ...] = ()) -> str:
    """Return the renderer as the text of one ES module, with the scripts of a drawing.

    Indentation and whole-line comments are left out: Streamlit sends the text with each update.
    """
    return join_scripts((*_PARTS[:-1], *scripts, _PARTS[-1]))  # the entry comes last


@cache
def curves_styles(scripts: tuple[Path, ...] = ()) -> str:
    """Return the renderer's style sheet, with that of the player where a drawing has one."""
    styles = read_styles(_HERE / "curves.css") + knobs_styles() + read_styles(_CANVAS / "pin.css")
    if not scripts:
        return styles
    return styles + read_styles(_CANVAS / "canvas.css") + read_styles(_HERE / "played.css")
