"""One look for all plotly figures: a style for each method, ink for light and dark, the mode bar.

Titles, axes and grids take their colours from the page's own theme; only what is drawn in a
fixed colour (truth, hatching) needs to know whether the page is dark.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from gbuq_core.methods import METHODS

PictureFormat = Literal["svg", "png"]


class MethodStyle(NamedTuple):
    """A method's label and drawing style on every page, from its record."""

    label: str
    colour: str
    dash: str = "solid"


METHOD_STYLES: Mapping[str, MethodStyle] = MappingProxyType(
    {key: MethodStyle(each.label, each.colour, each.dash) for key, each in METHODS.items()}
)


# Of the stacked law and its voices.
VOICE_COLOURS: Mapping[str, str] = MappingProxyType(
    {
        "trees": METHOD_STYLES["sglb"].colour,
        "law": METHOD_STYLES["stacked"].colour,
        "process": METHOD_STYLES["gp"].colour,
        "residuals": METHOD_STYLES["ibug"].colour,
        "targets": METHOD_STYLES["vst"].colour,
        "shares": METHOD_STYLES["sgb"].colour,
    }
)


class Ink(NamedTuple):
    """Colours that must stand out from the page, whichever way round it is."""

    truth: str
    points: str
    hatch: str


_LIGHT = Ink(truth="#222222", points="rgba(34,34,34,0.28)", hatch="rgba(34,34,34,0.30)")
_DARK = Ink(truth="#f2f2ee", points="rgba(242,242,238,0.30)", hatch="rgba(242,242,238,0.32)")


def ink(dark: bool) -> Ink:
    """The ink for a light or a dark page."""
    return _DARK if dark else _LIGHT


def plot_config(file_name: str, picture: PictureFormat = "svg") -> dict[str, Any]:
    """Plotly's mode bar: a few buttons, and a camera that saves the figure as ``file_name``."""
    return {
        "displaylogo": False,
        "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d", "zoomIn2d", "zoomOut2d"],
        "toImageButtonOptions": {
            "format": picture,
            "filename": file_name,
            "scale": 3 if picture == "png" else 1,
        },
    }
