"""Still pictures: every point where the axes say, every word escaped."""

import doctest
from xml.etree import ElementTree as tree

import numpy as np
import plotly.graph_objects as go

from gbuq_core.figures import svg
from gbuq_core.figures.svg import figure_svg

SPACE = "{http://www.w3.org/2000/svg}"


def drawn(*traces, **layout):
    return tree.fromstring(figure_svg(go.Figure(traces, layout)))


def test_the_example_in_the_docstring_holds():
    assert doctest.testmod(svg).failed == 0


def test_points_lie_where_the_ticks_say():
    x = np.array([0.0, 5.0, 10.0, np.nan])
    picture = drawn(
        go.Scatter(x=x, y=x, mode="markers", marker={"color": "#0072b2"}),
        xaxis={"range": [0, 10]},
        yaxis={"range": [0, 10]},
    )
    dots = picture.findall(f"{SPACE}circle")
    assert len(dots) == 3  # what is no number is not drawn
    grid = [line for line in picture.findall(f"{SPACE}line") if line.get("class") == "grid"]
    upright = {line.get("x1") for line in grid if line.get("x1") == line.get("x2")}
    level = {line.get("y1") for line in grid if line.get("y1") == line.get("y2")}
    # 0 and 10 have grid lines, on which the first and the last dot lie
    assert {dots[0].get("cx"), dots[2].get("cx")} <= upright
    assert {dots[0].get("cy"), dots[2].get("cy")} <= level
    middle = (float(dots[0].get("cx")) + float(dots[2].get("cx"))) / 2
    assert abs(float(dots[1].get("cx")) - middle) <= 0.1  # coordinates have one decimal


def test_a_band_goes_there_and_back_and_words_are_escaped():
    upper = go.Scatter(x=[0, 1], y=[2, 3], mode="lines", line={"width": 0}, showlegend=False)
    lower = go.Scatter(
        x=[0, 1], y=[0, 1], fill="tonexty", fillcolor="rgba(1,2,3,0.5)", mode="lines",
        line={"width": 0}, name="<script>",
    )  # fmt: skip
    picture = drawn(upper, lower)
    (band,) = picture.findall(f"{SPACE}polygon")
    assert len(band.get("points").split()) == 4
    assert band.get("fill-opacity") == "0.5"
    assert picture.findall(f"{SPACE}polyline") == []  # a line of no width is none
    assert "<script>" in [text.text for text in picture.findall(f"{SPACE}text")]
    assert picture.find(f".//{SPACE}script") is None


def test_values_get_the_colours_of_their_scale():
    scale = [[0.0, "rgb(0,0,0)"], [1.0, "rgb(9,9,9)"]]
    marker = {"color": [0.0, 2.0, 7.0], "colorscale": scale, "cmin": 0.0, "cmax": 2.0}
    dots = drawn(go.Scatter(x=[1, 2, 3], y=[1, 1, 1], mode="markers", marker=marker))
    fills = [dot.get("fill") for dot in dots.findall(f"{SPACE}circle")]
    assert fills == ["rgb(0,0,0)", "rgb(9,9,9)", "rgb(9,9,9)"]


def test_ticks_are_round_and_zero_has_no_sign():
    np.testing.assert_allclose(svg._ticks(-0.3, 7.4), np.arange(8))
    assert not np.signbit(svg._ticks(-0.3, 7.4)[0])
