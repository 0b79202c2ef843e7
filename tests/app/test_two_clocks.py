"""Two clocks through AppTest: picture, knobs, what is kept of the sliders, bad links."""

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtri
from streamlit.proto.WidgetStates_pb2 import WidgetStates

from gbuq_core.experiments.claims import chips_of
from gbuq_core.experiments.two_clocks import experiment
from gbuq_core.experiments.two_clocks.experiment import two_clocks_code
from gbuq_core.experiments.two_clocks.fit import (
    clocks_of_ways,
    fit_two_clocks,
    law_of,
)
from gbuq_core.experiments.two_clocks.plan import (
    WAYS,
    TwoClocksSettings,
    read_clocks,
    write_clocks,
)
from gbuq_core.experiments.two_clocks.scores import (
    LEAST_SHARE,
    MOST_SHARE,
    SCORES,
    check_seed,
    look_two_clocks,
    verdicts_of,
)
from gbuq_core.methods import record
from gbuq_core.settings import from_values, plan_of
from pages._ui.canvas import CanvasEvent
from pages._ui.curves import Turned, read_turn
from pages._ui.two_clocks import controls
from pages._ui.two_clocks.controls import STATE
from tests.app.drawn import curve_specs, sheets
from tests.app.experiment_page import keys_of, move, open_page, settle, words
from tests.app.opening import open_link

SETTINGS = TwoClocksSettings(data="wave", rows=100, trees=100, members=2)
pytestmark = pytest.mark.usefixtures("two_seeds")


def dials(at):
    return next(spec for spec in curve_specs(at) if "dials" in spec)["dials"]


def test_a_slider_is_told_again_what_the_browser_never_heard():
    at = open_link("two_clocks", {})  # nothing of this run arrives:
    at.query_params.clear()
    at._run(WidgetStates())  # a message of a browser that has drawn nothing
    slider = at.select_slider(key="rows")
    assert (slider.value, slider.proto.set_value) == (200, True)
    at.run()  # the address names the rows: the browser knows
    assert not at.select_slider(key="rows").proto.set_value


def test_the_page_shows_the_band_the_maps_curves_scores_and_verdicts():
    at = open_page("two_clocks")
    assert at.title[0].value == "Is the stated uncertainty true?"
    names = [spec["name"] for spec in curve_specs(at)]
    assert names == ["two-clocks", "two-clocks-trees", "two-clocks-reliability"]
    (sheet,) = sheets(at)
    assert [panel["title"] for panel in sheet.header["panels"]] == [
        "Std as it is", "Std times a factor",
    ]  # fmt: skip
    assert all(spec["alt"].startswith("All trees (100") for spec in curve_specs(at))
    assert sum("of 2 seeds" in caption.value for caption in at.caption) == 6 + 3  # and the answer's
    assert two_clocks_code(SETTINGS).strip() in [code.value for code in at.code]
    bodies = [block.proto.body for block in at.get("html")]
    places = [body for body in bodies if body.startswith('<div class="gbuq-seeds"')]
    assert len(places) == 6
    # The answer is one sentence; a click on it gives the three main verdicts.
    popover = at.get("popover")[0]
    assert re.fullmatch(
        r"90 % intervals hold \d+ % of new rows with all trees, \d+ % with plain early stopping, "
        r"and \d+ % with two clocks\.",
        popover.proto.popover.label,
    )
    verdicts = [each.value for each in popover.markdown]
    assert len(verdicts) == 3
    assert all("of 2 seeds" in each for each in verdicts)
    assert all("gbuq-dots" in place for place in places)
    heads = [each.value for each in at.markdown if each.value.startswith("**Holds in ")]
    assert sum("of 2 seeds" in head for head in heads) == 6


def test_a_link_puts_the_sliders_where_they_were_and_what_no_model_has_is_said():
    at = open_page("two_clocks", clocks="100.5.plain")
    sliders = dials(at)
    assert sliders["trees"][sliders["mean"]] == 100
    assert (sliders["trees"][sliders["scale"]], sliders["factor"]) == (5, False)
    (sheet,) = sheets(at)
    assert sheet.header["panels"][0]["markers"][-1]["label"] == "shown"
    # What is left of a model without clocks moves no slider of one that has them.
    sliders = dials(move(at, "clocks", "1.1.plain"))
    assert sliders["trees"][sliders["mean"]] > 1
    assert sliders["factor"] is True
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
    ],
)
def test_every_model_has_its_own_knobs(label, hidden):
    """What each of them computes, tests/experiments/two_clocks asks."""
    values = {knob.key: knob.default for knob in STATE.knobs} | {"model": label}
    own = {"members", "mean_weight", "trees", "ngboost_trees"}
    knobs = {knob for knob in STATE.knobs if knob.key in own}
    assert {knob.key for knob in knobs if not knob.when(values)} == hidden


def test_another_model_is_drawn_with_its_own_knobs():
    at = open_page("two_clocks", model="cSGLB")
    assert len(curve_specs(at)) == 3
    assert dials(at)["trees"][-1] == 100
    assert not keys_of(at) & {"members", "ngboost_trees"}
    code = two_clocks_code(replace(SETTINGS, model="csglb"))
    assert code.strip() in [code.value for code in at.code]
    assert sum("of 2 seeds" in caption.value for caption in at.caption) == 6 + 3  # and the answer's


def test_the_picture_that_the_page_opens_with_shows_what_its_verdicts_say():
    """Share of the drawn dots in the band, and the band beside the true one, over six seeds."""
    values = {knob.key: STATE.opening.get(knob.key, knob.default) for knob in STATE.knobs}
    plan = plan_of(from_values(TwoClocksSettings, values))
    fits = [fit_two_clocks(replace(plan, seed=seed)) for seed in range(6)]
    looks = [look_two_clocks(fit, "student") for fit in fits]
    seen = np.array(list(map(seen_and_stated, fits, looks)))
    agrees = (seen[:, 0] == seen[:, 1]) & (seen[:, 2] == seen[:, 3])
    assert agrees.sum() >= 5
    # And what they say is what the page is about.
    assert seen.all(axis=1).sum() >= 5
    # The chips say first what is seen, and hold; what is not seen is counted in words.
    scores = [[[getattr(way, name) for name in SCORES] for way in look.scores] for look in looks]
    chips = chips_of(verdicts_of(np.array(scores)[:, : len(WAYS)]))  # the truth comes last
    assert [claim.key for claim in chips] == ["narrow", "true", "nll"]
    assert [claim.verdict for claim in chips[:2]] == ["holds", "holds"]
    assert all(claim.answer.endswith(" of 6 seeds") for claim in chips)


def seen_and_stated(fit, look):
    """Too narrow with all trees, right with two clocks: each to the eye and by the verdict."""
    clocks, scene = clocks_of_ways(fit.choosing, "student"), fit.rows.scene
    claims = {claim.key: claim for claim in check_seed(look.scores)}
    inside, width = {}, {}
    for way in ("all", "clocks"):
        lower, upper = law_of(fit.scene, clocks[way]).interval(0.9)
        x, y = scene.x_rows[:400], scene.y_rows[:400]  # as many dots are drawn
        ends = (np.interp(x, scene.x, end) for end in (lower, upper))
        inside[way] = np.mean((next(ends) <= y) & (y <= next(ends)))
        among = (scene.x > 0.0) & (scene.x < 10.0)  # the rows
        true = 2.0 * ndtri(0.95) * scene.std[among]
        width[way] = np.median((upper - lower)[among] / true)
    return (
        inside["all"] < LEAST_SHARE and width["all"] < 0.75,
        claims["narrow"].verdict == "holds",
        # 400 dots: the share has a standard error of 1.5 %.
        LEAST_SHARE - 0.015 <= inside["clocks"] <= MOST_SHARE and 0.8 < width["clocks"] < 1.3,
        claims["true"].verdict == "holds",
    )


def test_an_address_without_data_or_rows_means_what_it_did():
    at = open_link("two_clocks", {"trees": "100", "members": "2"})
    assert (at.session_state["data"], at.session_state["rows"]) == ("five features", 500)


def test_a_model_without_clocks_has_no_sliders_but_a_factor_and_its_reliability():
    at = open_page("two_clocks", model="kNN", clocks="1.1.plain")
    assert dials(at)["factor"] is False
    assert [spec["name"] for spec in curve_specs(at)] == ["two-clocks", "two-clocks-reliability"]
    assert not sheets(at)
    assert dials(at)["trees"] == [1]
    assert not keys_of(at) & {"trees", "ngboost_trees", "members", "rate", "depth", "mean_weight"}
    assert sum("so there are no clocks to stop" in caption.value for caption in at.caption) == 1
    assert sum("of 2 seeds" in caption.value for caption in at.caption) == 4 + 3  # and the answer's
    code = two_clocks_code(replace(SETTINGS, model="knn"))
    assert code.strip() in [code.value for code in at.code]


def test_other_tails_are_looked_at_behind_the_picture(monkeypatch):
    at = open_page("two_clocks")

    def refuse(*_):
        raise AssertionError("the look was made before")

    monkeypatch.setattr(experiment, "look_two_clocks", refuse)
    move(at, "tails", "normal")
    (sheet,) = sheets(at)
    assert sheet.header["panels"][1]["subtitle"] == "normal"
    assert not at.exception


def test_a_missing_package_is_one_sentence_and_another_model_is_drawn(monkeypatch):
    monkeypatch.setattr(record, "is_installed", lambda package: False)
    at = open_page("two_clocks", model="CatBoost", seed="29")
    missing = "CatBoost is not installed: choose another method, or install the package catboost."
    assert missing in [text.value for text in at.text]
    assert not curve_specs(at)
    settle(move(at, "model", "SGLB"))
    assert dials(at)


@pytest.mark.parametrize("clocks", [None, (5, 1000, True), (1000, 5, False)])
def test_the_clocks_in_a_link_say_what_they_mean(clocks):
    assert read_clocks(write_clocks(clocks)) == clocks


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
    monkeypatch.setattr(controls.st, "session_state", state)
    trees = [5, 10, 20]
    controls.choose(trees, CanvasEvent(clicked=(0, 1, 2)))
    assert state["clocks"] == "20.10.plain"
    controls.choose(trees, CanvasEvent(clicked=(1, 0, 1)))
    assert state["clocks"] == "10.5"
    controls.choose(trees, CanvasEvent(dragged=[(0, 0), (2, 1), (2, 2)]))
    assert state["clocks"] == "10.20"
    controls.choose(trees, CanvasEvent())
    assert state["clocks"] == "10.20"
    controls.turn(Turned(5, 20, False))
    assert state["clocks"] == "5.20.plain"
