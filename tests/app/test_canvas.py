"""The canvas component without a browser: what is sent, and what is believed of an answer."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from pages._ui.canvas import CanvasEvent, SheetShape, read_event
from tests.figure_readers import decode_sheet

SHAPE = SheetShape(panels=2, frames=5, rows=3, columns=4)


def page_with_canvas():
    import numpy as np
    import streamlit as st

    from gbuq_core.figures.canvas.panels import Panel, PanelSheet
    from pages._ui.canvas import canvas

    panel = Panel(title="Knowledge", values=np.arange(6.0).reshape(2, 3), unit="nats")
    event = canvas(PanelSheet(panels=[panel]), key="figure", select="cells")
    st.text(str(event))


def test_a_page_sends_the_sheet_as_bytes():
    at = AppTest.from_function(page_with_canvas, default_timeout=30).run()
    assert not at.exception
    header, (values,) = decode_sheet(at.get("bidi_component")[0].proto.bytes)
    assert header["select"] is True
    assert header["panels"][0]["unit"] == "nats"
    assert values.tolist() == [[[0, 1, 2], [3, 4, 5]]]
    assert at.text[0].value == str(CanvasEvent())


def test_a_click_is_read():
    message = {"panel": 1, "row": 2, "column": 3.0, "frame": 4}
    assert read_event(message, SHAPE) == CanvasEvent(clicked=(1, 2, 3), frame=4)


def test_runs_are_read_as_cells():
    message = {"panel": 0, "frame": 0, "runs": [[1, 2], [7, 2], [11, 1]]}
    cells = [(0, 1), (0, 2), (1, 3), (2, 0), (2, 3)]
    assert read_event(message, SHAPE) == CanvasEvent(dragged=cells)


@pytest.mark.parametrize(
    "change",
    [
        {"panel": 2},
        {"panel": -1},
        {"panel": True},
        {"panel": "0"},
        {"row": 3},
        {"row": 0.5},
        {"row": math.nan},
        {"row": math.inf},
        {"column": 4},
        {"column": None},
        {"frame": 5},
        {"frame": [0]},
    ],
)
def test_a_click_outside_the_sheet_is_ignored(change):
    message = {"panel": 0, "row": 0, "column": 0, "frame": 0} | change
    assert read_event(message, SHAPE) == CanvasEvent()


@pytest.mark.parametrize(
    "runs",
    [
        "0",
        {"0": 1},
        [0],
        [[0]],
        [[0, 0]],
        [[0, 13]],
        [[11, 2]],
        [[-1, 2]],
        [[0, 2], [1, 1]],  # overlapping
        [[5, 1], [0, 1]],  # out of order
        [[0, 1e300]],
        [[0, math.nan]],
    ],
)
def test_runs_outside_the_sheet_are_ignored(runs):
    assert read_event({"panel": 0, "frame": 0, "runs": runs}, SHAPE).dragged == []


@pytest.mark.parametrize(
    ("shape", "ray", "expected"),
    [
        (SHAPE, [-0.5, 0, 3.5, 2.5], (-0.5, 0.0, 3.5, 2.5)),
        (SHAPE._replace(x_extent=(10, -10)), [-10, 0, 10, 2], (-10.0, 0.0, 10.0, 2.0)),
        (SHAPE._replace(y_extent=(0, 0.3)), [0, 0, 0, 0.30000000000000004], (0.0, 0.0, 0.0, 0.3)),
    ],
)
def test_a_line_is_read_in_axis_units(shape, ray, expected):
    message = {"panel": 1, "frame": 2, "ray": ray}
    assert read_event(message, shape) == CanvasEvent(ray=expected, frame=2)


@pytest.mark.parametrize(
    "ray",
    [
        None,
        "0123",
        [0, 0, 1],
        [0, 0, 1, 1, 1],
        [0, 0, 4, 1],
        [0, -0.6, 1, 1],
        [0, 0, math.nan, 1],
        [0, 0, -math.inf, 1],
        [0, 0, True, 1],
        [0, 0, "1", 1],
        [0, 0, [1], 1],
        [1, 1, 1, 1],  # no length
    ],
)
def test_a_line_outside_the_map_is_ignored(ray):
    assert read_event({"panel": 0, "frame": 0, "ray": ray}, SHAPE).ray is None


@pytest.mark.parametrize(
    ("select", "cells", "ray"),
    [
        (None, False, False),
        ("cells", True, False),
        ("ray", False, True),
        (("cells", "ray"), True, True),
    ],
)
def test_what_can_be_selected_is_told_to_the_browser(select, cells, ray):
    def page(select):
        from gbuq_core.figures.canvas.panels import Panel, PanelSheet
        from pages._ui.canvas import canvas

        canvas(PanelSheet(panels=[Panel(title="A", values=[[1.0]])]), key="figure", select=select)

    at = AppTest.from_function(page, args=(select,), default_timeout=30).run()
    header, _ = decode_sheet(at.get("bidi_component")[0].proto.bytes)
    assert (header["select"], header["ray"]) == (cells, ray)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 20) | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["panel", "row", "column", "frame", "runs", "ray"]), inner, max_size=5
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_no_message_raises_or_leaves_the_sheet(message):
    event = read_event(message, SHAPE)
    assert 0 <= event.frame < SHAPE.frames
    for row, column in event.dragged + ([event.clicked[1:]] if event.clicked else []):
        assert 0 <= row < SHAPE.rows
        assert 0 <= column < SHAPE.columns
    if event.ray:
        assert all(-0.5 <= x <= 3.5 for x in event.ray[::2])
        assert all(-0.5 <= y <= 2.5 for y in event.ray[1::2])
