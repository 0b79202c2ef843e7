"""The section "As a surface (3-D)" of Heart, Spiral and Novelty: made when it is opened only."""

import json
from base64 import b64decode

import numpy as np
import pytest

from pages._ui import surface
from tests.app.experiment_page import open_page, settle, sheet, titles
from tests.app.linked import link_of


@pytest.fixture
def made(monkeypatch):
    """The sheets and maps of which a surface was made."""
    calls = []

    def noted(sheet, index, dark):
        calls.append((sheet.name, sheet.panels[index].title))
        return draw(sheet, index, dark)

    draw = surface.surface_figure
    monkeypatch.setattr(surface, "surface_figure", noted)
    return calls


def map_box(at):
    return at.selectbox(key="surface_map")


def charts(at):
    return [chart for chart in at.get("plotly_chart") if "surface" in chart.proto.id]


@pytest.mark.parametrize(
    ("page", "first"),
    [("heart", "SGLB: knowledge"), ("spiral", "SGLB: knowledge"), ("novelty", "Novelty")],
)
def test_a_surface_is_made_when_its_section_is_open_and_is_part_of_the_link(page, first, made):
    at = open_page(page)
    assert (made, charts(at)) == ([], [])
    assert "surface" not in at.query_params
    at.session_state["surface"] = True  # as the browser does
    settle(at.run())
    assert set(made) == {(page, first)}
    (chart,) = charts(at)
    assert "The height is the value" in chart.proto.alt
    assert map_box(at).value == first
    other = map_box(at).options[0]
    map_box(at).set_value(other)
    settle(at.run())
    assert made[-1] == (page, other)
    assert other in charts(at)[0].proto.alt
    linked = open_page(page, surface="true", surface_map=other)
    assert map_box(linked).value == other
    assert "surface=true" in link_of(linked)
    assert "surface_map=" in link_of(linked)


def test_its_maps_are_those_of_the_picture_with_the_same_numbers():
    at = open_page("spiral", surface="true")
    assert map_box(at).options == titles(at)
    trace = json.loads(charts(at)[0].proto.spec)["data"][0]
    assert trace["type"] == "surface"
    values = np.frombuffer(b64decode(trace["z"]["bdata"]), trace["z"]["dtype"])
    shown = sheet(at).values[titles(at).index(map_box(at).value)][-1]
    lowest = np.nanmin(values)  # of a logarithmic map what is lower is drawn there
    # The picture's maps travel in 253 steps or more of eight decades: half a step is 3.7 %.
    np.testing.assert_allclose(values, np.maximum(shown, lowest).ravel(), rtol=0.04)


def test_a_map_that_is_not_there_is_not_missed():
    at = open_page("heart", surface="true", surface_map="<b>No such map</b>")
    assert not at.exception
    assert map_box(at).value == "SGLB: knowledge"
    assert len(charts(at)) == 1
