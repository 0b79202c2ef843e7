"""The heatmap component: a `PanelSheet` in a page; cells and lines the user chose come back."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import streamlit as st

from gbuq_core.figures.canvas.encoding import encode_sheet
from gbuq_core.figures.canvas.panels import PanelSheet, check_sheet
from gbuq_core.figures.canvas.renderer import renderer_source, renderer_styles
from gbuq_core.figures.handles import read_live_knobs

_NAME = "gbuq_canvas"
# A style isolated in a shadow root neither leaks into the page nor takes from it; only
# Streamlit's CSS variables come through. Below its header the toolbar can stick.
_MOUNT = st.components.v2.component(
    _NAME,
    css=":host { --gbuq-sticky-top: 3.75rem; }\n" + renderer_styles(),
    js=renderer_source(),
    isolate_styles=True,
)


class CanvasEvent(NamedTuple):
    """What the user did in this run; all empty in a run that has another cause.

    ``clicked`` is (panel, row, column) of one cell, ``dragged`` the (row, column) of those
    in a rectangle, ``frame`` the frame that was shown then, ``ray`` the (x, y, x, y) of a drawn
    line's start and end in axis units (in cells on an axis without extent).
    """

    clicked: tuple[int, int, int] | None = None
    dragged: list[tuple[int, int]] = []  # noqa: RUF012 - never written to
    frame: int = 0
    ray: tuple[float, float, float, float] | None = None


class SheetShape(NamedTuple):
    """What indices and positions of a sheet must lie within."""

    panels: int
    frames: int
    rows: int
    columns: int
    x_extent: tuple[float, float] | None = None
    y_extent: tuple[float, float] | None = None


Selectable = Literal["cells", "ray"]


def canvas(
    sheet: PanelSheet,
    key: str,
    select: Selectable | Sequence[Selectable] | None = None,
    on_select: Callable[[CanvasEvent], None] | None = None,
    on_turn: Callable[[dict[str, Any]], None] | None = None,
    grips: bool = False,
) -> CanvasEvent:
    """Draw a sheet; its frames, hover and zoom live in the browser and survive new data."""
    frames, rows, columns = check_sheet(sheet)
    extents = (sheet.x_extent, sheet.y_extent)
    shape = SheetShape(len(sheet.panels), frames, rows, columns, *extents)
    kinds = (select,) if isinstance(select, str) else tuple(select or ())

    def answer() -> None:
        # The event was made on the picture that this closure was made for.
        state = st.session_state.get(key)
        message = state.get("cells") if isinstance(state, dict) else None
        if isinstance(message, dict) and "turned" in message:
            turned = read_live_knobs(message["turned"], sheet.knobs)
            if on_turn is not None and turned:
                on_turn(turned)
            return
        event = read_event(message, shape)
        if on_select is not None and (event.clicked or event.dragged or event.ray):
            on_select(event)

    result = _MOUNT(
        key=key,
        data=encode_sheet(sheet, select="cells" in kinds, ray="ray" in kinds, grips=grips),
        on_cells_change=answer,
    )
    return read_event(result.get("cells"), shape)


def read_event(message: Any, shape: SheetShape) -> CanvasEvent:
    """Return the event of a browser's message; an empty one for anything out of order.

    The browser is the user's: every number is checked before it indexes an array.
    """
    if not isinstance(message, dict):
        return CanvasEvent()
    frame = _index(message.get("frame"), shape.frames)
    panel = _index(message.get("panel"), shape.panels)
    if frame is None or panel is None:
        return CanvasEvent()
    if "runs" in message:
        return CanvasEvent(dragged=_cells_of(message["runs"], shape), frame=frame)
    if "ray" in message:
        return CanvasEvent(ray=_ray_of(message["ray"], shape), frame=frame)
    row = _index(message.get("row"), shape.rows)
    column = _index(message.get("column"), shape.columns)
    if row is None or column is None:
        return CanvasEvent()
    return CanvasEvent(clicked=(panel, row, column), frame=frame)


def keep_knobs(values: dict[str, Any]) -> None:
    """Set knobs of the group "picture", which have no widget: `open_page` writes the address."""
    for key, value in values.items():
        st.session_state[key] = value


def _index(value: Any, n: int) -> int | None:
    """Return a whole number in [0, n), or None. JSON numbers may come as 3.0."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if value == value // 1 and 0 <= value < n else None


def _cells_of(runs: Any, shape: SheetShape) -> list[tuple[int, int]]:
    """Return the cells of ``[[first, length], ...]`` over flat indices; [] if any is amiss."""
    cells = shape.rows * shape.columns
    if not isinstance(runs, list):
        return []
    chosen: list[tuple[int, int]] = []
    end = 0
    for run in runs:
        if not isinstance(run, list) or len(run) != 2:
            return []
        first, length = _index(run[0], cells), _index(run[1], cells + 1)
        # Runs come sorted and apart, so that their total cannot exceed the sheet.
        if first is None or not length or first < end or first + length > cells:
            return []
        end = first + length
        chosen += [divmod(at, shape.columns) for at in range(first, end)]
    return chosen


def _ray_of(ray: Any, shape: SheetShape) -> tuple[float, float, float, float] | None:
    """Return a line's two ends, or None unless they are two different points of the map."""
    if not isinstance(ray, list) or len(ray) != 4:
        return None
    ranges = []
    for extent, n in ((shape.x_extent, shape.columns), (shape.y_extent, shape.rows)):
        low, high = sorted(extent or (-0.5, n - 0.5))
        # The browser computes in other steps than we do: the edge itself may be off by rounding.
        slack = 1e-9 * (high - low)
        ranges.append((low, high, slack))
    ends = []
    for value, (low, high, slack) in zip(ray, ranges * 2, strict=True):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return None
        if not (math.isfinite(value) and low - slack <= value <= high + slack):
            return None
        ends.append(min(max(float(value), float(low)), float(high)))
    x0, y0, x1, y1 = ends
    return None if (x0, y0) == (x1, y1) else (x0, y0, x1, y1)
