"""Two clocks through AppTest: picture, knobs, what is kept of the sliders, bad links."""

import re
from dataclasses import replace

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetStates

from gbuq_core.methods import record
from gbuq_core.study.study import Run
from gbuq_core.study.two_clocks import TWO_CLOCKS
from gbuq_core.study.two_clocks_fit import TwoClocksSettings
from pages._ui import study
from pages._ui.canvas import CanvasEvent
from pages._ui.curves import read_turn
from pages._ui.study import state_of
from tests.app.drawn import curve_specs, sheets
from tests.app.experiment_page import keys_of, move, open_page, settle, words
from tests.app.opening import open_link

SETTINGS = TwoClocksSettings(data="wave", rows=100, trees=100, members=2)


def dials(at):
    return next(spec for spec in curve_specs(at) if "dials" in spec)["dials"]


def test_the_page_shows_the_band_the_maps_curves_scores_and_verdicts():
    at = open_page("two_clocks")
    names = [spec["name"] for spec in curve_specs(at)]
    assert names == ["two-clocks", "two-clocks-trees", "two-clocks-reliability"]
    (sheet,) = sheets(at)
    assert [panel["title"] for panel in sheet.header["panels"]] == [
        "Std as it is", "Std times a factor",
    ]  # fmt: skip
    assert all("Early stopping (" in spec["alt"] for spec in curve_specs(at))
    assert TWO_CLOCKS.python(SETTINGS).strip() in [code.value for code in at.code]
    # The answer is one sentence; a click on it gives the three main verdicts.
    popover = at.get("popover")[0]
    assert re.fullmatch(
        r"90 % intervals hold \d+ % of new rows with all trees, \d+ % with plain early stopping, "
        r"and \d+ % with two clocks\.",
        popover.proto.popover.label,
    )
    assert len(popover.markdown) == 3


def test_a_slider_is_told_again_what_the_browser_never_heard():
    at = open_link("two_clocks", {})  # nothing of this run arrives:
    at.query_params.clear()
    at._run(WidgetStates())  # a message of a browser that has drawn nothing
    slider = at.select_slider(key="rows")
    assert (slider.value, slider.proto.set_value) == (200, True)
    at.run()  # the address names the rows: the browser knows
    assert not at.select_slider(key="rows").proto.set_value


def test_a_link_puts_the_sliders_where_they_were_and_what_no_model_has_is_said():
    at = open_page("two_clocks", clocks="100.5.plain")
    sliders = dials(at)
    assert sliders["trees"][sliders["mean"]] == 100
    assert (sliders["trees"][sliders["scale"]], sliders["factor"]) == (5, False)
    (sheet,) = sheets(at)
    assert sheet.header["panels"][0]["markers"][-1]["label"] == "shown"
    at = open_page("two_clocks", clocks="99999.9", data="diabetes")
    assert "clocks" in " ".join(words(at))
    # A real table has no truth and none of its knobs.
    assert not keys_of(at) & {"rows", "noise"}
    legend = next(spec for spec in curve_specs(at) if "dials" in spec)["legend"]
    assert "true mean" not in [entry["name"] for entry in legend]


@pytest.mark.parametrize(
    ("label", "hidden"),
    [
        ("SGB", {"ngboost_trees"}),
        ("virtual SGLB", {"members", "ngboost_trees"}),
        ("CatBoost", {"members", "mean_weight", "ngboost_trees"}),
        ("NGBoost", {"members", "mean_weight", "trees"}),
        ("cSGLB", {"members", "ngboost_trees"}),
        ("kNN", {"members", "mean_weight", "trees", "ngboost_trees"}),
    ],
)
def test_every_model_has_its_own_knobs(label, hidden):
    """What each of them computes, tests/study asks."""
    state = state_of(TWO_CLOCKS)
    values = {knob.key: knob.default for knob in state.knobs} | {"model": label}
    own = {"members", "mean_weight", "trees", "ngboost_trees"}
    assert {knob.key for knob in state.knobs if knob.key in own and not knob.when(values)} == hidden


def test_an_address_without_data_or_rows_means_what_it_did():
    at = open_link("two_clocks", {"trees": "100", "members": "2"})
    assert (at.session_state["data"], at.session_state["rows"]) == ("five features", 500)


def test_a_model_without_clocks_has_no_sliders_but_a_factor_and_its_reliability():
    at = open_page("two_clocks", model="kNN", clocks="1.1.plain")
    assert (dials(at)["trees"], dials(at)["factor"]) == ([1], False)
    assert [spec["name"] for spec in curve_specs(at)] == ["two-clocks", "two-clocks-reliability"]
    assert not sheets(at)
    assert sum("so there are no clocks to stop" in each.value for each in at.markdown) == 1
    code = TWO_CLOCKS.python(replace(SETTINGS, model="knn"))
    assert code.strip() in [code.value for code in at.code]


def test_a_missing_package_is_one_sentence_and_another_model_is_drawn(monkeypatch):
    monkeypatch.setattr(record, "is_installed", lambda package: False)
    at = open_page("two_clocks", model="CatBoost", seed="29")
    missing = "CatBoost is not installed: choose another method, or install the package catboost."
    assert missing in [text.value for text in at.text]
    assert not any("dials" in spec for spec in curve_specs(at))
    settle(move(at, "model", "SGLB"))
    assert dials(at)


@pytest.mark.parametrize(
    "message",
    [
        None, "5.5", {}, {"mean": 5, "scale": 9}, {"mean": 5, "scale": 8, "factor": True},
        {"mean": True, "scale": 9, "factor": True}, {"mean": "5", "scale": 9, "factor": True},
        {"mean": 5, "scale": float("nan"), "factor": True}, {"mean": 5, "scale": 9, "factor": 1},
    ],
)  # fmt: skip
def test_a_browsers_message_is_checked(message):
    assert read_turn(message, frozenset((5, 9))) is None


def test_a_click_on_a_map_moves_the_sliders_there(monkeypatch):
    state = {}
    monkeypatch.setattr(study.st, "session_state", state)
    run: Run = TWO_CLOCKS.run(replace(SETTINGS, trees=10))
    (act,) = study._act_in_maps(TWO_CLOCKS, run).values()
    trees = [int(n) for n in run.views[0].n_trees]
    for event, clocks in (
        (CanvasEvent(clicked=(0, 1, 2)), f"{trees[2]}.{trees[1]}.plain"),
        (CanvasEvent(clicked=(1, 0, 1)), f"{trees[1]}.{trees[0]}"),
        (CanvasEvent(dragged=[(0, 0), (2, 1), (2, 2)]), f"{trees[1]}.{trees[2]}"),
        (CanvasEvent(), f"{trees[1]}.{trees[2]}"),
    ):
        act["on_select"](event)
        assert state["clocks"] == clocks
