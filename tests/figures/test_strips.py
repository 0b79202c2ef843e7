"""Line charts and lines of a sheet: checks, what travels to the browser, words."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from refusal_parts import refused

from gbuq_core.errors import InvalidData
from gbuq_core.figures.canvas.encoding import describe_sheet, describe_strip, encode_sheet
from gbuq_core.figures.canvas.panels import (
    Line,
    Panel,
    PanelSheet,
    Points,
    Strip,
    StripLine,
    strip_limits,
)
from gbuq_core.figures.standalone import standalone_html
from tests.figure_readers import decode_sheet, decode_strips
from tests.page_parts import blocks_of

GRID = np.zeros((3, 4))
X = np.array([1.0, 2.0, 4.0])
ONE = StripLine("a", [1.0, np.nan, 3.0])


def strip_of(*lines: StripLine, title: str = "S", x=X, **options) -> Strip:
    return Strip(title=title, x=x, lines=lines or [ONE], **options)


TWO_FRAMES = strip_of(StripLine("a", np.zeros((2, 3))), mode="frame")


def sheet_of(*strips: Strip, values=GRID, panel=(), **options) -> PanelSheet:
    panels = [Panel(title="A", values=values, **dict(panel))]
    return PanelSheet(panels=panels, strips=strips, **options)


def sent(sheet: PanelSheet):
    return decode_strips(encode_sheet(sheet))


def test_a_strip_comes_back_as_it_was_sent():
    moving = StripLine("b", np.arange(12.0).reshape(4, 3), "#123456", dash=True, step=True)
    strip = strip_of(ONE, moving, mode="frame", marks=[2], shaded=[(1, 2)], y_label="nats")
    header, x, lines, cursor = sent(sheet_of(strip))[0]
    assert x.tolist() == X.tolist()
    np.testing.assert_array_equal(lines["a"], [[1, np.nan, 3]])
    np.testing.assert_array_equal(lines["b"], np.arange(12).reshape(4, 3))
    assert [line["frames"] for line in header["lines"]] == [1, 4]
    assert [line["colour"] for line in header["lines"]] == ["#0072b2", "#123456"]
    assert (header["marks"], header["shaded"], header["mode"]) == ([2.0], [[1.0, 2.0]], "frame")
    assert cursor is None, "the x axis of a strip with mode frame is not the frames' own"


def test_frames_of_a_sheet_can_come_from_its_strips_alone():
    moving = strip_of(StripLine("b", np.zeros((5, 3))), mode="frame")
    assert decode_sheet(encode_sheet(sheet_of(moving))).header["frames"] == 5
    scrubbed = strip_of(frame_x=[1.0, 3.0])
    assert decode_sheet(encode_sheet(sheet_of(scrubbed))).header["frames"] == 2
    counted = sheet_of(strip_of(), frame_values=[1, 2, 3, 4])
    assert decode_sheet(encode_sheet(counted)).header["frames"] == 4
    still = decode_sheet(encode_sheet(sheet_of(strip_of()))).header
    assert still["frames"] == 1
    assert still["strips"][0]["frameX"] is None, "nothing to scrub"


@pytest.mark.parametrize(
    ("strip", "frame_values", "expected"),
    [
        (strip_of(frame_x=[4, 2, 1]), [1, 2, 3], [4, 2, 1]),
        (strip_of(), [1, 2, 3], [1, 2, 4]),  # an x a frame
        (strip_of(), [1, 2, 3, 4], [1, 2, 3, 4]),  # the frames' own values
        (strip_of(), list("abcd"), [1, 2, 3, 4]),  # even steps: names have no place
        (strip_of(), [10, 20, 30, 40], [1, 2, 3, 4]),  # even steps: values lie off the axis
        (strip_of(StripLine("a", np.zeros((4, 3))), mode="frame"), [1, 2, 3, 4], None),
    ],
)
def test_the_cursor_of_each_frame(strip, frame_values, expected):
    (packed,) = sent(sheet_of(strip, frame_values=frame_values))
    assert expected == (None if packed.frame_x is None else packed.frame_x.tolist())


def test_a_sheet_of_charts_alone_is_drawn_and_selects_nothing():
    header, values = decode_sheet(
        encode_sheet(PanelSheet(panels=[], strips=[strip_of()]), select=True, ray=True)
    )
    assert (values, header["select"], header["ray"]) == ([], False, False)
    assert header["alt"] == "1 line chart: S."


@given(arrays(np.float64, 6, elements=st.floats(-1e9, 1e9) | st.just(np.nan)), st.booleans())
def test_limits_without_a_wish_show_every_value(y, log):
    lo, hi = strip_limits(Strip(title="S", x=np.arange(6), lines=[StripLine("a", y)], log=log))
    assert lo < hi
    shown = y[np.isfinite(y) & ((y > 0) | (not log))]
    # Logarithmic axes end eight decades below the largest value.
    assert np.all((lo <= shown) | ((shown < 1e-7 * hi) & log))
    assert np.all(shown <= hi)


@pytest.mark.parametrize("legend", [True, False, "narrow"])
def test_where_a_strip_has_a_legend(legend):
    assert sent(sheet_of(strip_of(legend=legend)))[0].header["legend"] == legend


def test_limits_that_are_wished_for_are_kept():
    header = sent(sheet_of(strip_of(y_limits=(0.5, 2))))[0].header
    assert header["limits"] == [0.5, 2.0]


@pytest.mark.parametrize(
    ("sheet", "words"),
    [
        (sheet_of(strip_of(x=[])), "x needs finite numbers"),
        (sheet_of(strip_of(x=["a", "b", "c"])), "x needs finite numbers"),
        (sheet_of(strip_of(x=[1, np.nan, 2])), "x needs finite numbers"),
        (sheet_of(strip_of(x=[3, 2, 1])), "must not decrease"),
        (sheet_of(strip_of(mode="film")), "'film'"),
        (sheet_of(strip_of(legend="wide")), "'wide'"),
        (sheet_of(Strip(title="S", x=X, lines=[])), "at least one line"),
        (sheet_of(strip_of(StripLine("a", [1, 2]))), "shape (2,) for 3 x"),
        (sheet_of(strip_of(StripLine("a", ["x", 1, 2]))), "not numbers"),
        (sheet_of(strip_of(*TWO_FRAMES.lines)), "mode 'frame'"),
        (sheet_of(strip_of(StripLine("a", X, "red"))), "#0072b2"),
        (sheet_of(strip_of(y_limits=(1, 1))), "low < high"),
        (sheet_of(strip_of(y_limits=(0, 1), log=True)), "positive"),
        (sheet_of(strip_of(marks=[np.nan])), "marks"),
        (sheet_of(strip_of(shaded=[1, 2])), "pairs"),
        (sheet_of(strip_of(shaded=[(2, 1)])), "lower one first"),
        (sheet_of(strip_of(frame_x=[np.inf])), "frame_x"),
        (sheet_of(strip_of(frame_x=[1, 2]), strip_of(frame_x=[1, 2, 3])), "2 entries for 3"),
        (sheet_of(TWO_FRAMES, frame_values=[1, 2, 3]), "3 entries for 2 frames"),
        (sheet_of(TWO_FRAMES, values=np.zeros((4, 2, 2))), "2 frames, the sheet 4"),
        (sheet_of(strip_of(), strip_columns=0), "at least one column"),
        (sheet_of(strip_of(), strip_height=5), "strip_height"),
        (sheet_of(lines=[Line([0], [0])]), "at least two"),
        (sheet_of(lines=[Line([0, 1], [0, np.inf])]), "not infinite"),
        (sheet_of(lines=[Line([0, 1], [0, 1], "url(x)")]), "colour"),
        (sheet_of(panel={"lines": [Line([0, 1], [0])]}), "as many x as y"),
        (sheet_of(panel={"points": Points([0], [0], vanish=[1, 2])}), "2 vanish"),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_a_sentence(sheet, words):
    with refused(InvalidData, re.escape(words)):
        encode_sheet(sheet)


def test_lines_over_maps_travel_with_their_gaps():
    line = Line([0, 1, np.nan, 2], [0, 1, 5, 2], "#ff0000", "out", arrow=True)
    sheet = sheet_of(panel={"lines": [line._replace(dash=True)]}, lines=[line])
    header = decode_sheet(encode_sheet(sheet)).header
    first = {"x": [0, 1, None, 2], "y": [0, 1, 5, 2], "colour": "#ff0000", "label": "out"}
    plain = {"dash": False, "legend": "", "thin": False}
    assert header["lines"] == [first | {"arrow": True} | plain]
    assert header["panels"][0]["lines"][0]["dash"] is True


def test_points_keep_their_frames_together_when_they_are_put_in_order():
    points = Points([0, 1, 2], [0, 1, 2], appear=[2, 0, 1], vanish=[9, 5, 7])
    data = encode_sheet(sheet_of(panel={"points": points}))
    blob = decode_sheet(data).header["panels"][0]["points"]
    at = 4 + int.from_bytes(data[:4], "little") + blob["vanish"]["at"]
    assert np.frombuffer(data, "<u4", 3, at).tolist() == [5, 7, 9]
    assert decode_sheet(data).header["frames"] == 3, "to vanish adds no frames"


def test_the_words_of_a_strip_are_its_numbers():
    nothing = StripLine("b", [np.nan] * 3)
    words = describe_strip(strip_of(ONE, nothing, title="Loss", x_label="tree", y_label="nats"))
    assert words == "Loss (nats), over tree from 1 to 4: a from 1 to 3, at the end 3; b no values."
    assert sent(sheet_of(strip_of(alt="My words.")))[0].header["alt"] == "My words."
    sheet = sheet_of(strip_of(title="Loss"), strip_of(title="Scale"), x_label="x")
    assert describe_sheet(sheet) == "1 heatmap: A, over x. 2 line charts: Loss; Scale."


def test_a_standalone_page_carries_its_strips():
    page = standalone_html(sheet_of(strip_of(title="</script>Loss")), title="T")
    (strip,) = decode_strips(blocks_of(page, "sheet")[0])
    assert strip.header["title"] == "</script>Loss"
    assert strip.x.tolist() == X.tolist()
