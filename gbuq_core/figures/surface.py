"""A map as a surface that can be turned: one more view of a panel, drawn by plotly.

The height is the value, and the colours are the panel's own. Plotly is imported when the first
surface is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gbuq_core.figures.canvas.encoding import describe_panel
from gbuq_core.figures.canvas.panels import Panel, PanelSheet, shared_limits
from gbuq_core.figures.colour import OKABE_ITO, colour_table
from gbuq_core.figures.theme import ink
from gbuq_core.validation import check_number

if TYPE_CHECKING:
    import plotly.graph_objects as go

Array = npt.NDArray[np.float64]

_STOPS = 32  # colours between which plotly interpolates
_MOST_DOTS = 1500  # rows drawn on the floor
_DARK_GRID, _LIGHT_GRID = "#4a4d55", "#d0d2d8"


def surface_figure(
    sheet: PanelSheet, index: int, dark: bool = False, height: int = 520
) -> go.Figure:
    """Draw one panel of a sheet as a surface over its two axes."""
    import plotly.graph_objects as go

    check_number("index", index, 0, len(sheet.panels) - 1, integer=True)
    panel = sheet.panels[index]
    values = panel_values(sheet, index)
    own = panel.limits if isinstance(panel.limits, tuple) else None
    low, high = own or shared_limits([values], log=panel.log)
    ny, nx = values.shape
    x, y = _positions(nx, sheet.x_extent), _positions(ny, sheet.y_extent)
    heights = np.where(values < low, low, values) if panel.log else values
    colour = ink(dark).truth
    traces = [_surface(go, panel, (x, y, heights), (low, high), colour)]
    traces += _dots(go, panel, (x, y, heights))
    if panel.hatched is not None and np.any(panel.hatched):
        name = sheet.hatch_label or "hatched"
        traces.append(
            _marks(go, np.asarray(panel.hatched, dtype=bool), (x, y, heights), name, colour)
        )
    figure = go.Figure(traces)
    figure.update_layout(
        height=height,
        margin={"l": 0, "r": 0, "t": 36, "b": 0},  # the plot's buttons
        showlegend=any(trace.showlegend for trace in traces),
        legend={"orientation": "h", "y": 0, "x": 0, "itemsizing": "constant"},
        uirevision="kept",  # the reader's camera stays when the numbers change
        scene=_scene(sheet, panel, dark),
    )
    return figure


def panel_values(sheet: PanelSheet, index: int) -> Array:
    """The values (ny, nx) of a panel in the frame that the sheet starts with."""
    values = np.asarray(sheet.panels[index].values, dtype=np.float64)
    if values.ndim == 2:
        return values
    # A panel that stands still has one frame beside others that have many.
    return values[sheet.start_frame if len(values) > 1 else 0]


def describe_surface(sheet: PanelSheet, index: int) -> str:
    """The surface in words."""
    panel = replace(sheet.panels[index], values=panel_values(sheet, index))
    axes = f"{sheet.x_label or 'x'} and {sheet.y_label or 'y'}"
    return f"A surface over {axes}. The height is the value. {describe_panel(panel)}"


def _positions(n_cells: int, extent: tuple[float, float] | None) -> Array:
    """Centres of cells; their numbers without an extent."""
    low, high = (-0.5, n_cells - 0.5) if extent is None else extent
    return low + (np.arange(n_cells) + 0.5) * (high - low) / n_cells


def _surface(
    go: Any, panel: Panel, at: tuple[Array, Array, Array], limits: tuple[float, float], colour: str
) -> Any:
    x, y, heights = at
    table = colour_table(panel.colour_map)
    places = np.linspace(0, 255, _STOPS).round().astype(int)
    colours = [[place / 255, "#" + bytes(table[place].tolist()).hex()] for place in places.tolist()]
    ends, shades, ticks = limits, heights, {}
    if panel.log:
        ends = (float(np.log10(limits[0])), float(np.log10(limits[1])))
        shades = np.log10(heights)
        decades = np.arange(np.ceil(ends[0]), np.floor(ends[1]) + 1)
        texts = [f"10<sup>{decade:.0f}</sup>".replace("-", "\u2212") for decade in decades]
        ticks = {"tickvals": decades, "ticktext": texts}
    # Above the surface: beside it a narrow page has no room.
    bar = {"orientation": "h", "y": 1.0, "yanchor": "top", "len": 0.7, "thickness": 12, **ticks}
    return go.Surface(
        x=x,
        y=y,
        z=heights,
        surfacecolor=shades,
        cmin=ends[0],
        cmax=ends[1],
        colorscale=colours,
        colorbar={
            **bar,
            "title": {"text": escape(panel.unit), "side": "top", "font": {"color": colour}},
            "tickfont": {"color": colour},
        },
        contours={"x": {"highlight": False}, "y": {"highlight": False}},
        # Light that would make colours brighter or darker than the bar says is left out.
        lighting={"ambient": 1.0, "diffuse": 0.0, "specular": 0.0, "fresnel": 0.0},
        hovertemplate="x %{x:.4~g}, y %{y:.4~g}: %{z:.3~g}<extra></extra>",
        showlegend=False,
    )


def _dots(go: Any, panel: Panel, at: tuple[Array, Array, Array]) -> list[Any]:
    """The points of a panel by group, at most `_MOST_DOTS` of them, at the heights of their cells.

    Points beside the map and in cells without a value are left out.
    """
    points = panel.points
    if points is None or not np.size(points.x):
        return []
    x, y = np.asarray(points.x, dtype=float), np.asarray(points.y, dtype=float)
    group = np.zeros(len(x), int) if points.group is None else np.asarray(points.group)
    rows = np.linspace(0, len(x) - 1, min(len(x), _MOST_DOTS)).astype(int)
    z = _heights_at(x[rows], y[rows], at)
    rows, z = rows[np.isfinite(z)], z[np.isfinite(z)]
    colours: Sequence[str] = points.colours or OKABE_ITO
    traces = []
    for number in np.unique(group[rows]).tolist():
        chosen = group[rows] == number
        named = number < len(points.group_names)
        name = escape(points.group_names[number]) if named else None
        place = {"x": x[rows[chosen]], "y": y[rows[chosen]], "z": z[chosen]}
        marker = {"size": 2.2, "color": colours[number % len(colours)]}
        look = {"mode": "markers", "marker": marker, "hoverinfo": "skip"}
        traces.append(go.Scatter3d(**place, **look, name=name, showlegend=named))
    return traces


def _heights_at(x: Array, y: Array, at: tuple[Array, Array, Array]) -> Array:
    """The heights of the cells in which these places lie; NaN beside the map."""
    columns, rows, heights = at
    places = []
    inside = np.ones(len(x), dtype=bool)
    for values, centres in ((y, rows), (x, columns)):
        step = centres[1] - centres[0] if len(centres) > 1 else 1.0
        place = np.rint((values - centres[0]) / step)
        inside &= (place >= 0) & (place < len(centres))
        places.append(np.clip(place, 0, len(centres) - 1).astype(int))
    return np.where(inside, heights[places[0], places[1]], np.nan)


def _marks(
    go: Any, where: npt.NDArray[np.bool_], at: tuple[Array, Array, Array], name: str, colour: str
) -> Any:
    x, y, heights = at
    row, column = np.nonzero(where & np.isfinite(heights))
    return go.Scatter3d(
        x=x[column],
        y=y[row],
        z=heights[row, column],
        mode="markers",
        marker={"size": 3, "color": colour},
        name=escape(name),
        showlegend=True,
        hoverinfo="skip",
    )


def _scene(sheet: PanelSheet, panel: Panel, dark: bool) -> dict[str, Any]:
    line = {
        "color": ink(dark).truth,
        "gridcolor": _DARK_GRID if dark else _LIGHT_GRID,
        "showbackground": False,
        "zeroline": False,
        "showspikes": False,
    }
    across = {**line, "title": {"text": escape(sheet.x_label or "x")}, **_names(sheet.x_labels)}
    away = {**line, "title": {"text": escape(sheet.y_label or "y")}, **_names(sheet.y_labels)}
    lower = sheet.origin == "lower" or (sheet.origin is None and sheet.y_extent is not None)
    if not lower:
        away["autorange"] = "reversed"  # row 0 lies where the map has it
    up = {**line, "title": {"text": escape(panel.unit or panel.title)}}
    if panel.log:
        up |= {"type": "log", "exponentformat": "power", "dtick": 1}
    return {
        "xaxis": across,
        "yaxis": away,
        "zaxis": up,
        "aspectmode": "manual",
        "aspectratio": {"x": 1.0, "y": 1.0, "z": 0.6},
        "camera": {"eye": {"x": -1.45, "y": -1.72, "z": 1.15}},
    }


def _names(labels: Sequence[str] | None) -> dict[str, Any]:
    if labels is None:
        return {}
    return {"tickvals": list(range(len(labels))), "ticktext": [escape(label) for label in labels]}
