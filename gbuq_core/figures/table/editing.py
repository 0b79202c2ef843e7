"""A row whose values are dragged: what is said of it, one column's curve, the map of the rows.

The curve holds what is said at every place of one column's slider, so that the browser draws a drag
by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gbuq_core.figures.colour import OKABE_ITO
from gbuq_core.figures.curves import curves_source, curves_styles, draw_curves
from gbuq_core.figures.curves.parts import (
    Part,
    around,
    axis,
    band,
    entry,
    line,
    panel,
    reading,
    rounded,
)
from gbuq_core.figures.handles import HANDLE_PARTS, Handle, handles_styles
from gbuq_core.figures.sources import join_scripts
from gbuq_core.figures.table.rows import RowMap, row_map_figure
from gbuq_core.presentation import one_line

_HERE = Path(__file__).parent
_HEIGHT = 260
_FEW_TICKS = 6
_UNFAMILIAR = "#cc79a7"
_NAME = 40  # letters of a column that fit below an axis


class CurveLine(NamedTuple):
    """What is predicted at every place of a slider."""

    name: str  # in the legend
    values: np.ndarray  # (n_places,)


class EditorCurve(NamedTuple):
    """What is said of a row at every place of one of its handles; arrays are (n_places,)."""

    handle: int  # which one
    x: np.ndarray  # Numbers, days, or 0, 1, ... for categories.
    texts: tuple[str, ...]  # of the places
    # whether the places are named by their texts below the axis: categories and dates
    has_names: bool
    lines: Sequence[CurveLine]  # the prediction, or the probabilities of some classes
    # `low`, `high`: the ends of the interval
    low: np.ndarray | None
    high: np.ndarray | None
    y: np.ndarray  # what is ringed: the prediction, or the probability of the predicted class
    unfamiliarity: np.ndarray | None
    # `data`, `knowledge`: in the unit of the map
    data: np.ndarray
    knowledge: np.ndarray
    own: int | None  # the place of the row as it is in the file
    numbers: Sequence[tuple[str, ...]]  # for each number of the row, its text at every place
    label: str  # of the axis: what is predicted
    colour: str  # of the method


class EditedNumber(NamedTuple):
    """One number of the row: its name, its text as in the file, and as edited."""

    name: str
    before: str
    now: str


class Editor(NamedTuple):
    """The whole figure."""

    seq: int  # the last message that was seen
    handles: Sequence[Handle]
    numbers: Sequence[EditedNumber]
    words: str  # what the edit does, for those who do not see the pictures
    curve: EditorCurve | None
    now: int | None  # the place on the curve where the row stands; None where its value is missing
    rows: RowMap  # its selected row is the one that is edited
    # data and knowledge uncertainty of the edited row; a knowledge of NaN stands on the axis, as in
    # `RowMap`
    moved: tuple[float, float]


def editor_spec(editor: Editor) -> dict[str, Any]:
    """The figure as editor.js reads it; every text is plain."""
    curve, now = editor.curve, editor.now
    spec: dict[str, Any] = {
        "seq": editor.seq,
        "handles": [handle.spec for handle in editor.handles],
        "said": [number._asdict() for number in editor.numbers],
        "words": editor.words,
        "map": _map(editor),
        "now": {"x": None, "y": None, "map": rounded(np.nan_to_num(editor.moved))},
        "curve": None,
    }
    if curve is None:
        return spec
    x, y = rounded(curve.x), rounded(curve.y)
    if now is not None:
        spec["now"] |= {"x": x[now], "y": y[now]}
    spec["curve"] = {
        "handle": curve.handle,
        "x": x,
        "y": y,
        "own": None if curve.own is None else x[curve.own],
        "map": [
            list(pair)
            for pair in zip(
                rounded(curve.data), rounded(np.nan_to_num(curve.knowledge)), strict=True
            )
        ],
        "said": [list(texts) for texts in curve.numbers],
        "figure": curve_figure(curve, editor.handles[curve.handle].name),
    }
    return spec


def curve_figure(curve: EditorCurve, name: str) -> dict[str, Any]:
    """What is said of the row over one column, without the marks of where it stands."""
    colours = [curve.colour] if curve.low is not None else list(OKABE_ITO[1:])
    lines = [
        line(curve.x, each.values, colours[k % len(colours)]) for k, each in enumerate(curve.lines)
    ]
    legend = [entry(each.name, part) for each, part in zip(curve.lines, lines, strict=True)]
    layers: list[Part] = list(lines)
    values = [each.values for each in curve.lines]
    if curve.low is not None and curve.high is not None:
        area = band(curve.x, curve.low, curve.high, curve.colour, 0.22)
        layers, legend = [area, *lines], [*legend, entry("interval", area)]
        values += [curve.low, curve.high]
    share = 1.0 if curve.unfamiliarity is None else 0.68
    panels = [panel(around(*values, room=0.06), one_line(curve.label, 30), layers, share)]
    read = [(each.name, each.values) for each in curve.lines]
    if curve.unfamiliarity is not None:
        part = line(curve.x, curve.unfamiliarity, _UNFAMILIAR)
        panels.append(panel([0.0, 1.04], "unfamiliar", [part], 1.0 - share))
        legend.append(entry("unfamiliarity", part))
        read.append(("unfamiliarity", curve.unfamiliarity))
    first, last = float(curve.x[0]), float(curve.x[-1])
    pad = 0.02 * (last - first) or 0.5
    if curve.has_names and not (last - first) > len(curve.x):
        pad = 0.4
    names = [text or "missing" for text in curve.texts]
    x = axis((first - pad, last + pad), one_line(name, _NAME))
    if curve.has_names:
        places = np.unique(np.linspace(0, len(curve.x) - 1, _FEW_TICKS).round().astype(int))
        labels = [one_line(names[k], 10) for k in places]
        x["ticks"] = {"ticks": rounded(curve.x[places]), "labels": labels}
    return draw_curves(
        "one-column",
        f"The prediction over {len(curve.x)} values of {name}: {curve.numbers[0][0]} at "
        f"{names[0]}, {curve.numbers[0][-1]} at {names[-1]}.",
        _HEIGHT,
        x,
        panels,
        legend,
        reading(curve.x, "at", read, names=names),
        hint="The thin line is the value now, the dashed one that in the file.",
    ).spec


def _map(editor: Editor) -> dict[str, Any]:
    rows = editor.rows
    spec = dict(row_map_figure(rows, _HEIGHT, "edited-row").spec)
    spec.pop("pick")
    rows_panel = dict(spec["panels"][0])
    rows_panel.pop("ring", None)
    own = [rows.data[rows.selected], np.nan_to_num(rows.knowledge[rows.selected])]
    dot: Part = {
        "kind": "dots",
        "x": rounded(own[:1]),
        "y": rounded(own[1:]),
        "colour": "text",
        "opacity": 1.0,
        "size": 10,
    }
    rows_panel["layers"] = [*rows_panel["layers"], dot]
    spec["panels"] = [rows_panel]
    moved: Part = {"kind": "dots", "colour": "#d55e00", "opacity": 1.0, "size": 10}
    spec["legend"] = [entry("in the file", dot), entry("edited", moved)]
    spec["hint"] = ""
    return spec


@cache
def editor_source() -> str:
    """Return the figure's renderer as the text of one ES module."""
    base = curves_source()
    # The module has one entry: the editor's, which draws curves itself.
    base = base[: base.index("export function mount(")]
    return f"{base}\n{join_scripts((*HANDLE_PARTS, _HERE / 'editor.js'))}"


@cache
def editor_styles() -> str:
    """Return the figure's style sheet."""
    own = (_HERE / "editor.css").read_text(encoding="utf-8")
    return curves_styles() + handles_styles() + own
