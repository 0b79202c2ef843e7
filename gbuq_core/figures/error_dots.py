"""Dots coloured by prediction error. The largest errors are brightest and on top."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gbuq_core.figures.colour import colour_table
from gbuq_core.figures.curves.parts import Part, readable_dots
from gbuq_core.presentation import short

NO_TRUTH = "#7f7f7f"
_ONE_COLOUR = "#56b4e9"
_STEPS = 16  # of the colours of errors
_SIZE, _OPACITY, _FAINT = 6.0, 0.85, 0.13


def error_dots(
    error: npt.ArrayLike, label: str, shown: npt.NDArray[np.bool_] | None = None
) -> tuple[list[Part], list[Part]]:
    """Layers of dots and the legend of their colours.

    Colours run through cividis from 0 to the 98th percentile of the errors. If no truth is known,
    all dots have one colour and there is no scale.
    """
    error = np.asarray(error, dtype=np.float64)
    known = np.isfinite(error)
    shown = np.ones(len(error), dtype=bool) if shown is None else shown
    if not known.any():
        layers = [_dots(~shown, _ONE_COLOUR, _FAINT), _dots(shown, _ONE_COLOUR, 0.75)]
        return [layer for layer in layers if layer["at"]], []
    top = float(np.quantile(error[known], 0.98)) or 1.0
    colours = ["#{:02x}{:02x}{:02x}".format(*c) for c in colour_table("cividis")[:: 256 // _STEPS]]
    steps = np.clip(np.nan_to_num(error) / top * (_STEPS - 1), 0, _STEPS - 1)
    steps = np.where(known, np.rint(steps), -1).astype(int)
    layers = []
    for here, opacity in ((~shown, _FAINT), (shown, _OPACITY)):
        layers.append(_dots(here & ~known, NO_TRUTH, opacity))
        layers += [
            _dots(here & (steps == step), colour, opacity) for step, colour in enumerate(colours)
        ]
    scale = {"name": f"{label}, 0 to {short(top)} and above", "kind": "scale", "colours": colours}
    return [layer for layer in layers if layer["at"]], [scale]


def _dots(here: npt.NDArray[np.bool_], colour: str, opacity: float) -> Part:
    return readable_dots(np.flatnonzero(here), colour, opacity, _SIZE)
