"""Still pictures: every point where the axes say, every word escaped."""

import doctest
import re
from xml.etree import ElementTree as tree

import numpy as np

from gbuq_core.figures import svg
from gbuq_core.figures.curves import Curves
from gbuq_core.figures.curves.parts import band, entry, line, readable_dots
from gbuq_core.figures.svg import figure_svg

SPACE = "{http://www.w3.org/2000/svg}"


def drawn(*layers, legend=(), ring=None, read=None):
    panel = {"share": 1.0, "range": [0.0, 10.0], "label": "y", "layers": layers}
    panel |= {"ring": ring} if ring else {}
    x = {"range": [0.0, 10.0], "label": "<x>"}
    return tree.fromstring(
        figure_svg(Curves({"x": x, "panels": [panel], "legend": legend, "read": read or {}}))
    )


def test_the_example_in_the_docstring_holds():
    assert doctest.testmod(svg).failed == 0


def test_points_lie_where_the_ticks_say():
    read = {"x": [0.0, 5.0, 10.0, 7.0], "y": [0.0, 5.0, 10.0, 1.0]}
    picture = drawn(readable_dots([0, 1, 2], "#0072b2", 0.5, 6.0), read=read)
    dots = picture.findall(f"{SPACE}circle")
    assert len(dots) == 3  # those of the layer, not all that can be read
    assert {dot.get("fill") for dot in dots} == {"#0072b2"}
    grid = [line for line in picture.findall(f"{SPACE}line") if line.get("class") == "grid"]
    upright = {line.get("x1") for line in grid if line.get("x1") == line.get("x2")}
    level = {line.get("y1") for line in grid if line.get("y1") == line.get("y2")}
    # 0 and 10 have grid lines, on which the first and the last dot lie
    assert {dots[0].get("cx"), dots[2].get("cx")} <= upright
    assert {dots[0].get("cy"), dots[2].get("cy")} <= level
    middle = (float(dots[0].get("cx")) + float(dots[2].get("cx"))) / 2
    assert abs(float(dots[1].get("cx")) - middle) <= 0.1  # coordinates have one decimal


def test_a_band_goes_there_and_back_and_words_are_escaped():
    area = band([0, 10], [1, 2], [3, 4], "#010203", 0.5)
    picture = drawn(area, legend=[entry("<script>", area)])
    (shape,) = picture.findall(f"{SPACE}polygon")
    assert len(shape.get("points").split()) == 4
    assert shape.get("fill-opacity") == "0.5"
    texts = [text.text for text in picture.findall(f"{SPACE}text")]
    assert "<script>" in texts
    assert "<x>" in texts
    assert picture.find(f".//{SPACE}script") is None


def test_lines_keep_their_dashes_and_ink_follows_the_page():
    picture = drawn(line([0, 1], [0, 1], "text", 1.2, "2 3"), line([0, 1], [0, 1], "#0072b2"))
    ink, blue = picture.findall(f"{SPACE}polyline")
    assert (ink.get("class"), ink.get("stroke"), ink.get("stroke-dasharray")) == (
        "ink", None, "2 3",
    )  # fmt: skip
    assert (blue.get("class"), blue.get("stroke")) == (None, "#0072b2")


def test_a_scale_has_all_its_colours_and_the_open_dot_its_ring():
    colours = ["#000000", "#888888", "#ffffff"]
    scale = {"name": "error", "kind": "scale", "colours": colours}
    picture = drawn(legend=[scale], ring={"x": 5.0, "y": 5.0, "colour": "#d55e00"})
    assert [box.get("fill") for box in picture.findall(f"{SPACE}rect")] == colours
    (ring,) = picture.findall(f"{SPACE}circle")
    assert (ring.get("fill"), ring.get("stroke")) == ("none", "#d55e00")


def test_ticks_are_round_and_zero_has_no_sign():
    np.testing.assert_allclose(svg._ticks(-0.3, 7.4), np.arange(8))
    assert not np.signbit(svg._ticks(-0.3, 7.4)[0])


def test_a_long_legend_ends_within_the_picture():
    names = ["mean", "sampled functions", "data \u00b1 2 std", "knowledge, on top", "truth", "rows"]
    entries = [{"kind": "band", "name": name, "colour": "text"} for name in (*names, "no rows")]
    panel = {"share": 1.0, "range": [0, 1], "label": "y", "layers": []}
    spec = {"x": {"range": [0, 1], "label": "x"}, "panels": [panel], "legend": entries}
    text = figure_svg(Curves(spec), width=760)
    start = float(re.search(r'<text x="([0-9.]+)"[^>]*>no rows<', text).group(1))
    assert start + 7 * len("no rows") <= 760
