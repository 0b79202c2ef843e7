"""A knob brings a map that it changes, and one that changes nothing is not offered."""

from types import SimpleNamespace

import pytest

from gbuq_core.figures.canvas.panels import Panel, PanelSheet
from gbuq_core.study.heart import HEART
from gbuq_core.study.spiral import SPIRAL
from pages._ui.live import turning
from pages._ui.study import state_of
from tests.app.experiment_page import curves, open_page, sheet

SHEET = PanelSheet(panels=[Panel(title="one", values=[[0.0]])])


def turns_of(state, **values):
    values = {**{knob.key: knob.default for knob in state.knobs}, **values}
    return turning(SHEET, state, SimpleNamespace(**values)).turns


def names(method):
    return [f"{method}: {kind}" for kind in ("total", "data", "knowledge")]


def test_a_knob_names_the_maps_of_the_chosen_methods_that_need_it():
    turns = turns_of(state_of(HEART))
    assert turns["step"] == turns["start"] == names("virtual SGLB")
    assert turns["members"] == names("SGLB")
    assert {name.split(": ")[1] for name in turns["log"]} == {"knowledge"}
    assert not {"rows", "shown", "unit", "scale"} & {*turns}
    assert turns_of(state_of(HEART), methods=("SGLB",)).get("step") is None
    spiral = turns_of(state_of(SPIRAL))
    assert spiral["burn_in"] == spiral["cycle"] == names("cSGLB")
    assert spiral["rate"] == names("SGLB")
    assert spiral["rate"][-1] in spiral["flag"]


@pytest.mark.parametrize(
    ("page", "query", "gone"),
    [
        ("soft_trees", {"methods": "Gaussian process"}, {"draws", "every"}),
        ("heteroscedastic", {"methods": "Isolation forest"}, {"conformal", "every", "show_data"}),
        ("novelty", {"maps": "Novelty", "show": "own values"}, {"log"}),
    ],
)
def test_a_knob_that_changes_nothing_is_not_offered(page, query, gone):
    at = open_page(page, **query)
    spec = sheet(at, page).header if page == "novelty" else curves(at, page.replace("_", "-"))
    offered = {knob["key"] for knob in spec["knobs"]}
    assert offered
    assert not gone & offered
