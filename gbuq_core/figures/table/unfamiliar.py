"""What every measure of unfamiliarity says about one row, as a Vega-Lite specification."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gbuq_core.figures.vega import AXIS_HEIGHT, Spec, bars_of, layer, own_colour, quantity, tip
from gbuq_core.presentation import one_line

_ROW_HEIGHT = 20
_HIGH, _USUAL = "#d55e00", "#0072b2"
LABELS = {
    "range": "range",
    "novelty": "novelty (MACAU)",
    "distance": "ten nearest rows",
    "affinity": "affinity (IBUG)",
    "knowledge": "K of five models",
}


class PartRank(NamedTuple):
    """One measure: its key, its rank among ordinary rows (0 to 1), the column to blame or ""."""

    part: str
    rank: float
    column: str


def parts_figure(parts: Sequence[PartRank], high: float) -> Spec:
    """A bar a measure, as long as its rank; above ``high`` in vermilion, with its column.

    >>> parts_figure([PartRank("range", 1.0, "age")], 0.9)["data"]["values"][0]["c2"]
    'age'
    """
    rows: list[Spec] = [
        {
            "c0": LABELS[part.part],
            "c1": part.rank,
            "c2": one_line(part.column, 24),
            "c3": _HIGH if part.rank > high else _USUAL,
        }
        for part in parts
    ]
    names = [row["c0"] for row in rows]
    y = bars_of(names, 130)
    x = quantity(
        "c1",
        "rank among ordinary rows",
        scale={"domain": [0, 1]},
        axis={"values": [0, 0.5, 0.9, 1], "format": ".1f"},
    )
    tips = [tip("c0", "measure"), tip("c1", "rank", ".2f"), tip("c2", "mainly by")]
    bar = {"height": 11, "opacity": 0.75}
    name = {"align": "left", "x": 4, "fontWeight": "bold"}
    return {
        "height": _ROW_HEIGHT * max(len(rows), 1) + AXIS_HEIGHT,
        "data": {"values": rows},
        "layer": [
            layer("bar", bar, x=x, y=y, color=own_colour("c3"), tooltip=tips),
            layer("text", name, y=y, text={"field": "c2"}, tooltip=tips),
        ],
    }


def describe_parts(parts: Sequence[PartRank]) -> str:
    """The bars in words.

    >>> describe_parts([PartRank("range", 1.0, "age"), PartRank("affinity", 0.25, "")])
    'range 1.00, mainly by age; affinity (IBUG) 0.25'
    """
    return "; ".join(
        f"{LABELS[name]} {rank:.2f}" + (f", mainly by {column}" if column else "")
        for name, rank, column in parts
    )
