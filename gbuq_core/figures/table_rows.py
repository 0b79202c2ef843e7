"""All rows of a scored table on one map: noise to the right, unfamiliarity upwards."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gbuq_core.figures.colour import colour_table
from gbuq_core.figures.curves import Curves
from gbuq_core.figures.curves.parts import Part, entry, limits, readable_dots, short

_RING = "#d55e00"
_SIZE, _OPACITY = 6.0, 0.85
_NO_TRUTH = "#7f7f7f"
_ONE_COLOUR = "#56b4e9"
_STEPS = 16  # of the colours of errors


class RowMap(NamedTuple):
    """What the map shows; arrays are (n_rows,).

    Attributes
    ----------
    number : ndarray of int
        The row's number in the file, for the read-out.
    data, knowledge : ndarray
        In the unit that is shown, not negative.
    error : ndarray
        Absolute error, or 0 and 1; NaN where the truth is unknown.
    unit : str
        Of both axes; not a user's text.
    error_label : str
    is_class : bool
        Whether errors are 0 and 1.
    selected : int or None
        Position of the row to mark.
    """

    number: np.ndarray
    data: np.ndarray
    knowledge: np.ndarray
    error: np.ndarray
    unit: str
    error_label: str
    is_class: bool
    selected: int | None = None


def row_map_figure(rows: RowMap, height: int = 330, name: str = "rows-by-uncertainty") -> Curves:
    """Draw one dot a row, the worst predicted ones brightest and on top, the open one ringed.

    Parameters
    ----------
    rows : RowMap
    height : int
        In pixels, without the legend.
    name : str
        Of the files that the picture is saved to.
    """
    layers, legend = _by_class(rows) if rows.is_class else _by_error(rows)
    top = 1.06 * float(rows.knowledge.max()) or 1.0
    panel: Part = {
        "share": 1.0,
        "range": [-0.02 * top, top],
        "label": f"knowledge uncertainty ({rows.unit}): unfamiliar",
        "layers": layers,
    }
    if rows.selected is not None:
        x, y = short([rows.data[rows.selected], rows.knowledge[rows.selected]])
        panel["ring"] = {"x": x, "y": y, "colour": _RING}
    values = [("data", rows.data), ("knowledge", rows.knowledge)]
    readings: list[Part] = [{"name": title, "at": short(at)} for title, at in values]
    if np.isfinite(rows.error).any():
        errors = [None if np.isnan(error) else error for error in short(rows.error)]
        readings.append({"name": "error", "at": errors})
    spec = {
        "name": name,
        "alt": describe_row_map(rows),
        "height": height,
        "hint": "Point at a dot to read its row, click to open it; drag a frame to look closer.",
        "pick": True,
        "x": {
            "range": limits(rows.data),
            "label": f"data uncertainty ({rows.unit}): noise",
        },
        "panels": [panel],
        "legend": legend,
        "read": {
            "x": short(rows.data),
            "y": short(rows.knowledge),
            "names": [int(number) for number in rows.number],
            "label": "row",
            "values": readings,
        },
    }
    return Curves(spec)


def _by_class(rows: RowMap) -> tuple[list[Part], list[Part]]:
    """Right ones, wrong ones above them, and those whose class is not known."""
    groups = (
        ("right", rows.error == 0.0, "#56b4e9"),
        ("wrong", rows.error == 1.0, "#d55e00"),
        ("no truth", np.isnan(rows.error), _NO_TRUTH),
    )
    parts = [
        (name, readable_dots(np.flatnonzero(here), colour, 0.75, _SIZE))
        for name, here, colour in groups
        if here.any() or (name != "no truth" and np.isfinite(rows.error).any())
    ]
    return [part for _, part in parts], [entry(name, part) for name, part in parts]


def _by_error(rows: RowMap) -> tuple[list[Part], list[Part]]:
    """Cividis from no error to the 98th percentile; without truths one colour and no scale."""
    known = np.isfinite(rows.error)
    if not known.any():
        return [readable_dots(np.arange(len(rows.error)), _ONE_COLOUR, 0.75, _SIZE)], []
    top = float(np.quantile(rows.error[known], 0.98)) or 1.0
    colours = ["#{:02x}{:02x}{:02x}".format(*c) for c in colour_table("cividis")[:: 256 // _STEPS]]
    steps = np.clip(np.nan_to_num(rows.error) / top * (_STEPS - 1), 0, _STEPS - 1)
    steps = np.where(known, np.rint(steps), -1).astype(int)
    layers = [readable_dots(np.flatnonzero(~known), _NO_TRUTH, _OPACITY, _SIZE)]
    layers += [
        readable_dots(np.flatnonzero(steps == step), colour, _OPACITY, _SIZE)
        for step, colour in enumerate(colours)
    ]
    scale = {
        "name": f"{rows.error_label}, 0 to {top:.3g} and above",
        "kind": "scale",
        "colours": colours,
    }
    return [layer for layer in layers if layer["at"]], [scale]


def describe_row_map(rows: RowMap) -> str:
    """The map in words: typical uncertainties, and the most unfamiliar row."""
    at = int(np.argmax(rows.knowledge))
    share = float(np.mean(rows.data >= rows.knowledge))
    if not rows.knowledge.any():
        return (
            f"{len(rows.number):,} rows. Data uncertainty has a median of "
            f"{np.median(rows.data):.3g} ({rows.unit}); no row has knowledge uncertainty."
        )
    return (
        f"{len(rows.number):,} rows. Data uncertainty has a median of {np.median(rows.data):.3g}, "
        f"knowledge uncertainty of {np.median(rows.knowledge):.3g} ({rows.unit}); in "
        f"{100 * share:.0f} % of the rows data uncertainty is the larger. The least familiar is "
        f"row {rows.number[at]:d}, with a knowledge uncertainty of {rows.knowledge[at]:.3g}."
    )
