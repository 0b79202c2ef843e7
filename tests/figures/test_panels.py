"""Sheets of heatmaps: checks, what travels to the browser, standalone pages, colours."""

from __future__ import annotations

import json
import re
import struct
from base64 import b64encode
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from refusal_parts import refused
from tolerances import NEAR_ZERO

from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.figures.canvas.encoding import (
    FINE_VALUES,
    FLOAT_VALUES,
    describe_panel,
    describe_sheet,
    encode_sheet,
    frame_limits,
    quantise,
)
from gbuq_core.figures.canvas.panels import Marker, Panel, PanelSheet, Points, shared_limits
from gbuq_core.figures.canvas.renderer import FOLDER, PARTS, renderer_source, renderer_styles
from gbuq_core.figures.colour import COLOUR_MAPS, OKABE_ITO, colour_table
from gbuq_core.figures.curves import Curves
from gbuq_core.figures.standalone import Section, standalone_html
from tests.figure_readers import decode_sheet, restore
from tests.page_parts import blocks_of, curves_of

GRID = np.array([[0.5, np.nan, 2.0], [1.0, -1.0, 0.0]])

# Values a map may hold, from rounding residues to large targets, with gaps.
STACKS = arrays(
    np.float64,
    st.tuples(st.integers(1, 3), st.integers(1, 4), st.integers(1, 4)),
    elements=st.one_of(st.floats(-1e6, 1e6, width=32), st.just(np.nan), st.just(0.0)),
)


def map_of(values=GRID, **options) -> Panel:
    return Panel(title="A", values=values, **options)


def sheet_of(*panels: Panel, **options) -> PanelSheet:
    return PanelSheet(panels=panels or [map_of()], **options)


def sent(*panels: Panel, **options):
    return decode_sheet(encode_sheet(sheet_of(*panels, **options)))


def test_a_sheet_comes_back_as_it_was_sent():
    sheet = sheet_of(
        map_of(unit="nats"),
        Panel(title="B", values=GRID[None].repeat(4, axis=0)),
    )
    header, values = decode_sheet(encode_sheet(sheet))
    assert (header["nx"], header["ny"], header["frames"], header["start"]) == (3, 2, 4, 3)
    assert [panel["frames"] for panel in header["panels"]] == [1, 4]
    np.testing.assert_array_equal(values[0], GRID[None])
    np.testing.assert_array_equal(values[1], np.repeat(GRID[None], 4, axis=0))


def test_every_blob_starts_on_four_bytes():
    points = Points([0, 1, 2], [0, 1, 1], group=[0, 1, 1], appear=[2, 0, 1])
    hatched = np.isnan(GRID)
    data = encode_sheet(
        sheet_of(Panel(title="ä", values=GRID, hatched=hatched, points=points), alt="Ünïcode")
    )
    (length,) = struct.unpack_from("<I", data)
    assert length % 4 == 0
    header = json.loads(data[4 : 4 + length])
    panel = header["panels"][0]
    blobs = [panel["values"], panel["hatched"]]
    blobs += [panel["points"][part] for part in ("x", "y", "group", "appear")]
    assert all(blob["at"] % 4 == 0 for blob in blobs)
    bits = np.frombuffer(data, np.uint8, 1, 4 + length + panel["hatched"]["at"])
    np.testing.assert_array_equal(
        np.unpackbits(bits, bitorder="little")[: GRID.size].astype(bool), hatched.ravel()
    )
    body = memoryview(data)[4 + length :]
    order = np.frombuffer(body, "<u4", 3, panel["points"]["appear"]["at"])
    assert order.tolist() == [0, 1, 2]  # the renderer relies on points coming as they appear
    assert np.frombuffer(body, "<f4", 3, panel["points"]["x"]["at"]).tolist() == [1, 2, 0]


def test_the_digest_follows_the_content():
    first = sent().header["digest"]
    assert sent().header["digest"] == first
    for other in (
        encode_sheet(sheet_of(map_of(GRID + 1e-3))),
        encode_sheet(sheet_of(alt="other")),
        encode_sheet(sheet_of(), select=True),
    ):
        assert decode_sheet(other).header["digest"] != first


@given(STACKS)
def test_few_values_travel_as_float32(stack):
    sent = quantise(stack, stack.size, log=False)
    # STACKS holds float32 numbers, so that nothing is lost.
    np.testing.assert_array_equal(restore(*sent, log=False), stack)


@pytest.mark.parametrize(("total", "top"), [(FLOAT_VALUES + 1, 65533), (FINE_VALUES + 1, 253)])
@given(stack=STACKS)
def test_many_values_travel_within_half_a_step(total, top, stack):
    restored = restore(*quantise(stack, total, log=False), log=False)
    np.testing.assert_array_equal(np.isnan(restored), np.isnan(stack))
    finite = stack[np.isfinite(stack)]
    span = np.ptp(finite) if finite.size else 0.0
    # Half a step, and rounding of a few operations on numbers of the range's size.
    tolerance = 0.5 * span / top * (1 + 1e-9) + 1e-9 * np.max(np.abs(finite), initial=1.0)
    np.testing.assert_allclose(restored, stack, rtol=0, atol=tolerance)


@pytest.mark.parametrize(("total", "top"), [(FLOAT_VALUES + 1, 65533), (FINE_VALUES + 1, 253)])
@given(stack=STACKS)
def test_log_steps_are_equal_ratios(total, top, stack):
    restored = restore(*quantise(stack, total, log=True), log=True)
    positive = stack > 0
    np.testing.assert_array_equal(restored[~positive & ~np.isnan(stack)], 0.0)
    if positive.any():
        ratio = np.log(stack[positive].max() / stack[positive].min())
        # Half a step on the log scale, and rounding in log and power.
        off = np.abs(np.log(restored[positive] / stack[positive]))
        assert off.max() <= 0.5 * ratio / top * (1 + NEAR_ZERO) + NEAR_ZERO


@pytest.mark.filterwarnings("error")
def test_log_steps_reach_across_all_numbers():
    stack = np.array([[[1e-310, 1.0, 1e300]]])
    codes, _ = quantise(stack, FINE_VALUES + 1, log=True)
    assert codes.ravel().tolist() == [0, round(253 * 310 / 610), 253]


@given(STACKS, st.booleans())
def test_limits_of_frames_are_the_shared_limits_of_each(stack, log):
    lows, highs = frame_limits(stack, log)
    expected = [shared_limits([frame], log) for frame in stack]
    np.testing.assert_array_equal(np.transpose([lows, highs]), expected)


@given(STACKS, STACKS, st.booleans())
def test_shared_limits_are_a_scale(a, b, log):
    lo, hi = shared_limits([a, b], log)
    assert lo < hi
    assert not log or lo > 0
    values = np.concatenate([a.ravel(), b.ravel()])
    values = values[np.isfinite(values) & ((values > 0) | (not log))]
    if values.size:
        assert hi >= values.max()
        assert log or lo <= values.min()


def test_a_panel_that_rescales_each_frame_is_sent_on_those_scales():
    rng = np.random.default_rng(1)
    stack = rng.uniform(1, 2, (900, 20, 20)) * np.geomspace(1, 1e6, 900)[:, None, None]
    header, (values,) = sent(map_of(stack, limits="frame"))
    lows, highs = header["panels"][0]["limits"]
    np.testing.assert_allclose(lows, stack.min(axis=(1, 2)))
    np.testing.assert_allclose(highs, stack.max(axis=(1, 2)))
    # Half of one of 65,533 steps between a factor of at most 2: 8e-6 of a value.
    np.testing.assert_allclose(values, stack, rtol=8e-6)


@pytest.mark.parametrize(
    ("sheet", "words"),
    [
        (PanelSheet(panels=[]), "at least one panel or strip"),
        (sheet_of(columns=0), "at least one column"),
        (sheet_of(map_of(), map_of(GRID.T)), "share their cells"),
        (sheet_of(map_of([GRID] * 3), map_of([GRID] * 2)), "one frame or as many"),
        (sheet_of(map_of([["x"]])), "not numbers"),
        (sheet_of(map_of([1.0, 2.0])), "shape"),
        (sheet_of(map_of(np.zeros((0, 3)))), "shape"),
        (sheet_of(map_of(np.zeros((1, 5000)))), "4096"),
        (sheet_of(map_of(limits=(1, 1))), "low < high"),
        (sheet_of(map_of(limits=(0, np.inf))), "low < high"),
        (sheet_of(map_of(limits=(0, 1), log=True)), "positive"),
        (sheet_of(map_of(colour_map="jet")), "cividis"),
        (sheet_of(map_of(accent="red")), "#0072b2"),
        (sheet_of(map_of(hatched=[True])), "hatched"),
        (sheet_of(map_of(points=Points([0, 1], [0]))), "2 x but 1 y"),
        (sheet_of(map_of(points=Points([np.nan], [0]))), "finite"),
        (sheet_of(map_of(points=Points([0], [0], group=[8]))), "groups"),
        (sheet_of(map_of(points=Points([0], [0], colours=["url(x)"]))), "colours"),
        (sheet_of(map_of(markers=[Marker(np.nan, 0)])), "finite"),
        (sheet_of(markers=[Marker(0, 0, shape="star")]), "shape"),
        (sheet_of(x_labels=["a"]), "1 labels for 3 cells"),
        (sheet_of(y_extent=(1.0, 1.0)), "different"),
        (sheet_of(origin="middle"), "origin"),
        (sheet_of(frame_values=[1, 2]), "2 entries for 1 frames"),
        (sheet_of(map_of(subtitle=["x", "y"])), "2 subtitles for 1 frames"),
        (sheet_of(together=-1), "together"),
        (sheet_of(panel_height=5), "panel_height"),
        (sheet_of(aspect=100), "aspect"),
        (sheet_of(frames_per_second=0), "frames_per_second"),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_a_sentence(sheet, words):
    with refused(InvalidData, re.escape(words)):
        encode_sheet(sheet)


def test_infinite_values_count_as_none():
    (values,) = sent(map_of([[np.inf, 1.0]])).values
    np.testing.assert_array_equal(values, [[[np.nan, 1.0]]])


def test_points_that_appear_make_frames_of_their_own():
    moving = Points([0, 1], [0, 1], appear=[0, 6])
    assert sent(map_of(points=moving)).header["frames"] == 7


def test_rows_start_at_the_bottom_only_on_numeric_axes():
    assert not sent().header["lower"]
    assert sent(y_extent=(0, 1)).header["lower"]
    assert not sent(y_extent=(0, 1), origin="upper").header["lower"]


def test_the_words_of_a_panel_are_its_numbers():
    panel = Panel(title="KU", values=GRID, unit="nats", hatched=[[1, 1, 0], [0, 0, 0]])
    words = describe_panel(panel)
    assert words == ("KU: from -1 to 2 nats, 1 of 6 cells blank, 2 cells hatched (mean 0.5 there).")
    assert describe_panel(Panel(title="KU", values=[[np.nan]])) == "KU: no values."
    assert describe_sheet(sheet_of(panel, x_label="x")) == "1 heatmap: KU, over x."


@pytest.mark.parametrize("name", COLOUR_MAPS)
def test_colour_maps_are_the_published_ones(name):
    matplotlib = pytest.importorskip("matplotlib")
    published = 255 * np.asarray(matplotlib.colormaps[name].colors)
    # Every fifth row is kept and the rest interpolated: 4 of 255 at worst, plus rounding.
    assert np.abs(colour_table(name) - published).max() <= 4.6


@pytest.mark.parametrize("name", COLOUR_MAPS)
def test_colour_maps_grow_lighter_all_the_way(name):
    lightness = colour_table(name) @ [0.2126, 0.7152, 0.0722]
    # Rounding to whole channel values may take back up to one of 255.
    assert np.diff(lightness).min() > -1
    assert np.ptp(lightness) > 170


def test_an_unknown_colour_map_is_refused():
    with pytest.raises(InvalidParameter, match="colour_map"):
        colour_table("jet")


def test_categories_have_eight_different_colours():
    assert len({colour.lower() for colour in OKABE_ITO}) == 8


HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)> & \"'"


def standalone_page() -> str:
    panel = Panel(title=HOSTILE, values=GRID, unit=HOSTILE, subtitle=HOSTILE)
    dots = {"kind": "dots", "x": [0.5], "y": [0.5], "colour": "text"}
    curves = {
        "alt": HOSTILE,
        "name": "curves",
        "height": 200,
        "x": {"range": [0, 1], "label": HOSTILE},
        "panels": [{"share": 1.0, "range": [0, 1], "label": HOSTILE, "layers": [dots]}],
        "legend": [],
        "hint": "Click to open it.",
        "pick": True,
        "read": {"x": [0.0, 1.0], "label": "x", "values": []},
    }
    sections = [
        Section(
            heading=HOSTILE,
            text=[HOSTILE],
            sheet=sheet_of(panel),
            caption=HOSTILE,
            table=[[HOSTILE], [HOSTILE]],
        ),
        Section(
            heading="Two", text="One paragraph", question=HOSTILE, answer=HOSTILE, code=HOSTILE
        ),
        sheet_of(),
        Curves(curves),
    ]
    return standalone_html(sections, title=HOSTILE, lead=HOSTILE)


def test_a_standalone_page_escapes_every_text():
    page = standalone_page()
    assert "alert(1)</script>" not in page
    assert "<img" not in page
    assert page.count("&lt;/script&gt;&lt;script&gt;alert(1)") == 12


def test_a_standalone_page_allows_only_its_own_script_and_style():
    page = standalone_page()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page).group(1)
    assert "default-src 'none'" in policy
    for kind, pattern, count in (
        ("script-src", r'<script type="module">(.*?)</script>', 2),
        ("style-src", r"<style>(.*?)</style>", 1),
    ):
        blocks = re.findall(pattern, page, re.S)
        digests = [b64encode(sha256(block.encode()).digest()).decode() for block in blocks]
        assert len(blocks) == count
        allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
        assert f"{kind} {allowed};" in policy
    addresses = set(re.findall(r"https?://[^\s\"')]+", page))
    assert addresses == {"http://www.w3.org/2000/svg"}  # a namespace, not a request


def test_a_standalone_page_carries_the_sheets():
    page = standalone_page()
    sources = re.findall(r'data-source="(.*?)"', page)
    assert sources == ["sheet-0", "sheet-2", "curves-3"]
    assert re.findall(r'<script type="text/plain" id="(.*?)">', page) == sources
    header, (values,) = decode_sheet(blocks_of(page, "sheet")[0])
    assert header["panels"][0]["title"] == HOSTILE
    np.testing.assert_array_equal(values[0], GRID)
    (curves,) = curves_of(page)
    assert curves["x"]["label"] == curves["panels"][0]["label"] == HOSTILE


def test_a_click_chooses_nothing_in_a_page_without_an_app_and_no_hint_says_so():
    (curves,) = curves_of(standalone_page())
    assert "pick" not in curves
    assert "lick" not in curves["hint"]


def test_a_page_carries_only_the_renderers_that_it_needs():
    sheets, words = (
        standalone_html(part, title="T") for part in (sheet_of(), Section(heading="A"))
    )
    assert "class SheetView" in sheets
    assert "class CurvesView" not in sheets
    assert "<script" not in words
    assert "script-src 'none'" in words


def test_the_renderer_is_made_of_all_parts_and_parses_nothing_as_html():
    own = [part for part in PARTS if "/" not in part]  # others come from the rooms of figures
    assert sorted(path.name for path in FOLDER.glob("*.js")) == sorted(own)
    source = renderer_source()
    assert source.count("export default function") == 1
    for banned in ("innerHTML", "insertAdjacentHTML", "outerHTML", "document.write", "eval("):
        assert banned not in source
    assert "new Function" not in source
    assert "url(" not in renderer_styles()


@pytest.mark.parametrize(
    "path",
    sorted(p for p in FOLDER.iterdir() if p.suffix in (".js", ".css")),
    ids=lambda path: path.name,
)
def test_no_part_of_the_renderer_is_long(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) < 400


def test_columns_of_numbers_are_set_apart_from_columns_of_words():
    rows = [["Score", "Value", "Said"], ["1", "0.2", "0.2 of all, a few"], ["2", "\u2013", "No"]]
    page = standalone_html(Section(table=rows), title="T")
    head, number = "<th>Score</th>", ' class="number"'
    assert f"<tr>{head}<th{number}>Value</th><th>Said</th></tr>" in page
    assert f"<tr><td>2</td><td{number}>\u2013</td><td>No</td></tr>" in page
    assert ".number { text-align: right; }" in page
