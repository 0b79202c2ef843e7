"""One look for all plotly figures: a style for each method, ink for light and dark, the mode bar.

Titles, axes and grids take their colours from the page's own theme; only what is drawn in a
fixed colour (truth, hatching) needs to know whether the page is dark.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from gbuq_core.figures.colour import METHOD_COLOURS

PictureFormat = Literal["svg", "png"]


class MethodStyle(NamedTuple):
    """How a method is written and drawn on every page. Baselines share a grey, told by dashes."""

    label: str
    colour: str
    dash: str = "solid"


_BASELINE, _DARKER = METHOD_COLOURS["baseline"], METHOD_COLOURS["darker_baseline"]
_STYLES = {
    "sgb": MethodStyle("SGB", METHOD_COLOURS["sgb"]),
    "sglb": MethodStyle("SGLB", METHOD_COLOURS["sglb"]),
    "virtual_sglb": MethodStyle("virtual SGLB", METHOD_COLOURS["virtual_sglb"]),
    "csglb": MethodStyle("cSGLB", METHOD_COLOURS["csglb"]),
    "cbsglb": MethodStyle("cbSGLB", METHOD_COLOURS["cbsglb"]),
    "ibug": MethodStyle("IBUG", METHOD_COLOURS["ibug"]),
    "vst": MethodStyle("VST", METHOD_COLOURS["vst"]),
    "vsgbm": MethodStyle("VSGBM", METHOD_COLOURS["vsgbm"]),
    "macau": MethodStyle("MACAU", METHOD_COLOURS["macau"]),
    "macau_linear": MethodStyle("MACAU (linear)", METHOD_COLOURS["macau"], "longdash"),
    "macau_basic": MethodStyle("MACAU (basic)", METHOD_COLOURS["macau_basic"], "dash"),
    "vrf": MethodStyle("vRF", _BASELINE, "dash"),
    "forests": MethodStyle("ten forests", _BASELINE, "dot"),
    "xbart": MethodStyle("XBART", METHOD_COLOURS["xbart"]),
    "gp": MethodStyle("Gaussian process", _BASELINE, "longdash"),
    "catboost": MethodStyle("CatBoost", _BASELINE, "dashdot"),
    "virtual_catboost": MethodStyle("virtual CatBoost", _BASELINE, "longdashdot"),
    "forest": MethodStyle("Random forest", _BASELINE),
    "quantile": MethodStyle("Quantile regression", _DARKER, "dash"),
    "conformal_forest": MethodStyle("Conformal, forest", _DARKER, "dot"),
    "conformal_linear": MethodStyle("Conformal, linear", _DARKER, "dashdot"),
    "cqr": MethodStyle("Conformal quantiles", _DARKER, "longdash"),
    "gnll": MethodStyle("GNLL", _DARKER, "longdashdot"),
    "ngboost": MethodStyle("NGBoost", _DARKER),
    "isolation": MethodStyle("Isolation forest", _BASELINE, "2px 2px"),
    "distance": MethodStyle("Nearest rows", _DARKER, "2px 2px"),
}
METHOD_STYLES: Mapping[str, MethodStyle] = MappingProxyType(_STYLES)


class Ink(NamedTuple):
    """Colours that must stand out from the page, whichever way round it is."""

    truth: str
    points: str
    hatch: str


_LIGHT = Ink(truth="#222222", points="rgba(34,34,34,0.28)", hatch="rgba(34,34,34,0.30)")
_DARK = Ink(truth="#f2f2ee", points="rgba(242,242,238,0.30)", hatch="rgba(242,242,238,0.32)")


def ink(dark: bool) -> Ink:
    """The ink for a light or a dark page.

    >>> ink(dark=False).truth
    '#222222'
    """
    return _DARK if dark else _LIGHT


def fade(colour: str, alpha: float) -> str:
    """A colour ``#rrggbb`` with an opacity in [0, 1], as CSS.

    >>> fade("#0072b2", 0.25)
    'rgba(0,114,178,0.25)'
    """
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha:g})"


def plot_config(file_name: str, picture: PictureFormat = "svg") -> dict[str, Any]:
    """Plotly's mode bar: few buttons, and a camera that saves the figure under a telling name.

    Parameters
    ----------
    file_name : str
        Without its ending.
    picture : {"svg", "png"}
        PNG is saved at three times the size on screen, enough for print.
    """
    return {
        "displaylogo": False,
        "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d", "zoomIn2d", "zoomOut2d"],
        "toImageButtonOptions": {
            "format": picture,
            "filename": file_name,
            "scale": 3 if picture == "png" else 1,
        },
    }
