"""All rows of a scored table on one map: noise to the right, unfamiliarity upwards."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go


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
    selected : int or None
        Position of the row to mark.
    """

    number: np.ndarray
    data: np.ndarray
    knowledge: np.ndarray
    error: np.ndarray
    unit: str
    error_label: str
    selected: int | None = None


def row_map_figure(rows: RowMap, height: int = 330) -> go.Figure:
    """Draw one dot a row; rows with large errors are brighter, the selected one is ringed."""
    known = bool(np.isfinite(rows.error).any())
    # Rows of largest error are drawn last, on top of the others.
    order = np.argsort(np.nan_to_num(rows.error, nan=-1.0), kind="stable")
    marker = {"size": 6, "opacity": 0.8, "color": "#56b4e9"}
    if known:
        top = float(np.nanquantile(rows.error, 0.98)) or 1.0
        marker |= {
            "color": rows.error[order].astype(np.float32),
            "colorscale": "Cividis",
            "cmin": 0.0,
            "cmax": top,
            "colorbar": {
                "title": {"text": rows.error_label, "side": "right"},
                "thickness": 10,
                "outlinewidth": 0,
            },
        }
    figure = go.Figure(
        go.Scatter(
            x=rows.data[order].astype(np.float32),
            y=rows.knowledge[order].astype(np.float32),
            customdata=np.stack([rows.number[order], rows.error[order]], axis=1),
            mode="markers",
            marker=marker,
            hovertemplate="row %{customdata[0]:d}<br>data %{x:.3g}<br>knowledge %{y:.3g}"
            + ("<br>error %{customdata[1]:.3g}" if known else "")
            + "<extra></extra>",
        )
    )
    if rows.selected is not None:
        at = rows.selected
        figure.add_trace(
            go.Scatter(
                x=[rows.data[at]],
                y=[rows.knowledge[at]],
                mode="markers",
                marker={
                    "size": 16,
                    "symbol": "circle-open",
                    "line": {"width": 3},
                    "color": "#d55e00",
                },
                cliponaxis=False,
                hoverinfo="skip",
            )
        )
    axis = {"zeroline": False, "rangemode": "tozero"}
    figure.update_layout(
        height=height,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        showlegend=False,
        clickmode="event",
        xaxis={"title": {"text": f"data uncertainty ({rows.unit}): noise"}, **axis},
        yaxis={"title": {"text": f"knowledge uncertainty ({rows.unit}): unfamiliar"}, **axis},
    )
    return figure


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
