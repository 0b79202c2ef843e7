"""The one JavaScript renderer: its parts under ``canvas/`` joined to one ES module."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from gbuq_core.figures.handles import KNOB_PARTS, knobs_styles
from gbuq_core.figures.sources import join_scripts, read_styles

FOLDER = Path(__file__).parent

# The order in which the parts are joined; later parts use what earlier ones declare.
PARTS = (
    "nodes.js",
    "decode.js",
    "ensembles.js",
    "live.js",
    "near.js",
    "near_maps.js",
    "rank_maps.js",
    "format.js",
    "theme.js",
    "layout.js",
    "pens.js",
    "picture.js",
    "panel.js",
    "strip.js",
    "view.js",
    "player.js",
    "readout.js",
    "input.js",
    "strip_view.js",
    "export.js",
    "sheet.js",
    "looking.js",
    "pin.js",
    "keeping.js",
    "choosing.js",
    "ray.js",
    "grabbing.js",
    "following.js",
    "reading.js",
    "pairs.js",
    "calls.js",
    "mount.js",
)


@cache
def renderer_source() -> str:
    """Return the renderer as the text of one ES module that exports ``mount`` and a default.

    Indentation and whole-line comments are left out: Streamlit sends the text with each update.
    """
    at = PARTS.index("readout.js")
    return _joined((*PARTS[:at], *KNOB_PARTS, *PARTS[at:]))


@cache
def near_source() -> str:
    """Return a module that keeps tables of leaves and scales, for the figures of its page."""
    return _keeper("keepNear", "near.js")


@cache
def members_source() -> str:
    """Return a module that keeps what `encode_members` packed, for the figures of its page."""
    return _keeper("keepMembers", "nodes.js", "decode.js", "ensembles.js")


def _keeper(keep: str, *parts: str) -> str:
    entry = f"export default function ({{ data }}) {{ if (data) {keep}(data); }}\n"
    return _joined(parts) + entry


def _joined(parts: Sequence[str | Path]) -> str:
    return join_scripts(FOLDER / part for part in parts)


@cache
def renderer_styles() -> str:
    """Return the renderer's style sheet."""
    return knobs_styles() + read_styles(FOLDER / "canvas.css") + read_styles(FOLDER / "pin.css")
