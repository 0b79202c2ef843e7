"""All rows of a scored table on one map: noise to the right, unfamiliarity upwards."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from gbuq_core.figures.colour import colour_table


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


def row_map_figure(rows: RowMap, dark: bool = False, height: int = 330) -> go.Figure:
    """Draw one dot a row, the worst predicted ones brightest and on top, the open one ringed."""
    figure = go.Figure()
    if rows.is_class and np.isfinite(rows.error).any():
        for wrong, name, colour in ((False, "right", "#56b4e9"), (True, "wrong", "#d55e00")):
            at = np.flatnonzero(rows.error == float(wrong))
            figure.add_trace(_dots(rows, at, {"color": colour, "opacity": 0.75}, name))
        at = np.flatnonzero(np.isnan(rows.error))
        if len(at):
            figure.add_trace(_dots(rows, at, {"color": "#7f7f7f"}, "no truth"))
    else:
        at = np.argsort(np.nan_to_num(rows.error, nan=-1.0), kind="stable")
        figure.add_trace(
            _dots(rows, at, _error_colours(rows.error[at], rows.error_label, dark), "")
        )
    if rows.selected is not None:
        figure.add_trace(
            go.Scatter(
                x=[rows.data[rows.selected]],
                y=[rows.knowledge[rows.selected]],
                mode="markers",
                marker={
                    "size": 16,
                    "symbol": "circle-open",
                    "line": {"width": 3},
                    "color": "#d55e00",
                },
                cliponaxis=False,
                hoverinfo="skip",
                showlegend=False,
            )
        )
    top = 1.06 * float(rows.knowledge.max()) or 1.0
    right = 1.04 * float(rows.data.max()) or 1.0
    figure.update_layout(
        height=height,
        margin={"l": 8, "r": 8, "t": 28, "b": 8},
        showlegend=rows.is_class,
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0},
        xaxis={
            "title": {"text": f"data uncertainty ({rows.unit}): noise"},
            "range": [0.0, right],
            "zeroline": False,
        },
        yaxis={
            "title": {"text": f"knowledge uncertainty ({rows.unit}): unfamiliar"},
            "range": [-0.02 * top, top],
            "zeroline": False,
        },
    )
    return figure


def _dots(rows: RowMap, at: np.ndarray, marker: dict[str, Any], name: str) -> go.Scatter:
    known = bool(np.isfinite(rows.error[at]).any())
    return go.Scatter(
        x=rows.data[at].astype(np.float32),
        y=rows.knowledge[at].astype(np.float32),
        customdata=np.stack([rows.number[at], rows.error[at]], axis=1),
        mode="markers",
        name=name,
        marker={"size": 6, **marker},
        hovertemplate="row %{customdata[0]:d}<br>data %{x:.3g}<br>knowledge %{y:.3g}"
        + ("<br>error %{customdata[1]:.3g}" if known else "")
        + "<extra></extra>",
    )


def _error_colours(errors: np.ndarray, label: str, dark: bool) -> dict[str, Any]:
    """Cividis from no error to the 98th percentile, without its darkest part on a dark page."""
    if not np.isfinite(errors).any():
        return {"color": "#56b4e9", "opacity": 0.75}
    table = colour_table("cividis")[80 if dark else 0 :: 16]
    places = np.linspace(0.0, 1.0, len(table))
    return {
        "color": errors.astype(np.float32),
        "colorscale": [
            [float(p), "rgb({},{},{})".format(*c)] for p, c in zip(places, table, strict=True)
        ],
        "cmin": 0.0,
        "cmax": float(np.nanquantile(errors, 0.98)) or 1.0,
        "opacity": 0.85,
        "colorbar": {
            "title": {"text": label, "side": "right"},
            "thickness": 10,
            "outlinewidth": 0,
        },
    }


def describe_row_map(rows: RowMap) -> str:
    """The map in words: typical uncertainties, and the most unfamiliar row."""
    at = int(np.argmax(rows.knowledge))
    share = float(np.mean(rows.data >= rows.knowledge))
    return (
        f"{len(rows.number):,} rows. Data uncertainty has a median of {np.median(rows.data):.3g}, "
        f"knowledge uncertainty of {np.median(rows.knowledge):.3g} ({rows.unit}); in "
        f"{100 * share:.0f} % of the rows data uncertainty is the larger. The least familiar is "
        f"row {rows.number[at]:d}, with a knowledge uncertainty of {rows.knowledge[at]:.3g}."
    )
