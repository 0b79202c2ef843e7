"""The heatmap component: a `PanelSheet` in a page, cells the user chose back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import streamlit as st

from gbuq_core.figures.encoding import encode_sheet
from gbuq_core.figures.panels import PanelSheet
from gbuq_core.figures.renderer import renderer_source, renderer_styles
from gbuq_core.figures.sheet_checks import check_sheet

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

    ``clicked`` is (panel, row, column) of one cell, ``lassoed`` the (row, column) of several,
    ``frame`` the frame that was shown then.
    """

    clicked: tuple[int, int, int] | None = None
    lassoed: list[tuple[int, int]] = []  # noqa: RUF012 - never written to
    frame: int = 0


class SheetShape(NamedTuple):
    """What indices of a sheet must lie within."""

    panels: int
    frames: int
    rows: int
    columns: int


def canvas(
    sheet: PanelSheet,
    key: str,
    select: Literal["cells"] | None = None,
    on_select: Callable[[CanvasEvent], None] | None = None,
) -> CanvasEvent:
    """Draw a sheet; its frames, hover and zoom live in the browser and survive new data.

    Parameters
    ----------
    sheet : PanelSheet
        What to draw. Scrubbing and playing its frames never reruns the page.
    key : str
        Keeps the figure's state over reruns; unique on the page.
    select : "cells" or None
        Whether clicks and lassos rerun the page and are returned.
    on_select : callable, optional
        Called with the event before the page runs, as Streamlit's callbacks are: the place to
        change what widgets above the figure depend on.

    Returns
    -------
    CanvasEvent
        Indices refer to ``sheet``'s arrays, whatever its ``origin``, and lie within them.

    Raises
    ------
    InvalidData
        When the sheet's parts do not fit together.
    """
    frames, rows, columns = check_sheet(sheet)
    shape = SheetShape(len(sheet.panels), frames, rows, columns)

    def answer() -> None:
        # The event was made on the picture that this closure was made for.
        state = st.session_state.get(key)
        event = read_event(state.get("cells") if isinstance(state, dict) else None, shape)
        if on_select is not None and (event.clicked is not None or event.lassoed):
            on_select(event)

    result = _MOUNT(
        key=key,
        data=encode_sheet(sheet, select=select == "cells"),
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
        return CanvasEvent(lassoed=_cells_of(message["runs"], shape), frame=frame)
    row = _index(message.get("row"), shape.rows)
    column = _index(message.get("column"), shape.columns)
    if row is None or column is None:
        return CanvasEvent()
    return CanvasEvent(clicked=(panel, row, column), frame=frame)


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
    found: list[tuple[int, int]] = []
    end = 0
    for run in runs:
        if not isinstance(run, list) or len(run) != 2:
            return []
        first, length = _index(run[0], cells), _index(run[1], cells + 1)
        # Runs come sorted and apart, so that their total cannot exceed the sheet.
        if first is None or not length or first < end or first + length > cells:
            return []
        end = first + length
        found += [divmod(at, shape.columns) for at in range(first, end)]
    return found
