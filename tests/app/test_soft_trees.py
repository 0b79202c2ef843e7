"""Soft trees through AppTest: the picture, knobs of the view, own points, the tree, states."""

import threading
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from gbuq_core.experiments.placed import OWN_START, decode_points
from gbuq_core.settings import from_values, to_values
from gbuq_core.study.members import count_fits
from gbuq_core.study.soft_trees import SOFT_TREES, SoftTreesSettings
from gbuq_core.study.soft_trees_inside import INSIDE
from gbuq_core.study.soft_trees_trials import TRIALS, run_policies
from pages._ui import jobs_glue, placing, trials
from pages._ui.curves import read_place
from pages._ui.experiment import draw_compared, open_compared
from pages._ui.jobs_glue import Answer, Request
from pages._ui.knobs import query_of
from pages._ui.side_by_side import view_answers
from pages._ui.study import state_of
from tests.app.experiment_page import (
    answers_of,
    curves,
    drawn,
    move,
    open_page,
    settle,
    sheet,
    table,
    words,
)
from tests.app.linked import values_of_link
from tests.app.waiting import live_jobs
from tests.figure_readers import decode_strips, unpack_sheaf

SETTINGS = SoftTreesSettings(methods=("vst",), rows=50, steps=200, depth=2)
STATE = state_of(SOFT_TREES)
FEW = "-2_0~-1_1~0_0.5~1_-1~2_0"  # points
OWN = {"data": "Own points", "points": FEW}


def functions(at):
    """The specification of the picture."""
    return curves(at, "soft-trees")


@pytest.fixture(scope="module")
def run():
    return SOFT_TREES.run(SETTINGS)


def test_the_functions_and_the_tree_of_the_fit_are_drawn_and_told(run):
    at = open_page("soft_trees")
    (panel,) = functions(at)["panels"]
    (sheaf,) = [part for part in panel["layers"] if part["kind"] == "sheaf"]
    low, high = sheaf["range"]
    wanted = np.clip(run.views[0].functions[:20], low, high)
    # 65,535 steps: half a step.
    np.testing.assert_allclose(unpack_sheaf(sheaf)[1], wanted, atol=(high - low) / 1.3e5)
    assert "times as wide without rows" in panel["note"]
    assert SOFT_TREES.describe(run) in words(at)
    lines = table(at, "| Score |").splitlines()
    listed = SOFT_TREES.scores(run)[0].table
    # Seconds are another run's.
    same = [row for row in listed if row[0] not in ("Seconds", "Megabytes")]
    assert all("| " + " | ".join(row) + " |" in lines for row in same)
    # Everything drawn has words.
    assert all(drawn(at))
    assert functions(at)["alt"]
    assert sheet(at, "soft-trees-correlation").header["alt"]
    with pytest.raises(StopIteration):
        curves(at, "ood-rank")
    # The answer says how wide functions spread without rows.
    label = SOFT_TREES.say_answer(run)
    assert label in answers_of(at)
    assert f"{run.numbers['vst']['fan_out']:.2g} times as wide" in label
    # The tree is the fit's own.
    (part,) = [part for part in drawn(at) if part and b'"name": "soft-tree"' in part]
    gates = next(strip for strip in decode_strips(part) if strip.header["title"] == "Gates")
    wanted = run.fits[0].model.gates(gates.x[:, None].astype(np.float64))
    # Drawn linearly between places of the picture, 0.01 apart, where gates rise by up to 0.1.
    np.testing.assert_allclose(gates.lines["root"][-1], wanted[0], atol=2e-3)


def test_a_bare_address_opens_with_one_method_and_folds_what_a_link_opens(run):
    folded = {knob.key for knob in (INSIDE, *(trial.fold for trial in TRIALS))}
    assert set(STATE.opening) == folded
    at = open_page("soft_trees", **dict.fromkeys(folded, "false"))
    with pytest.raises(StopIteration):
        curves(at, "soft-tree-flow")
    assert not any(button.key.endswith("-run") for button in at.button if button.key)
    first = SoftTreesSettings()  # whose methods are not asked for by name
    asked = [Request(key, 1, print) for key in first.methods]
    shown = [
        Answer(question.slot, question, "running", None, False, None, "", None)
        for question in asked
    ]
    for every, n_panels in ((False, 1), (True, 3)):
        values = SimpleNamespace(every=every, focus=False, **to_values(first))
        seen = view_answers(SOFT_TREES, first, shown)
        spec = open_compared(SOFT_TREES, STATE, first, seen, values).spec
        assert (len(spec["panels"]), spec.get("quiet", False)) == (n_panels, not every)


def test_a_draw_of_the_tree_fits_nothing_and_stands_still():
    at = open_page("soft_trees", tree_x="25")
    flow = curves(at, "soft-tree-flow")
    assert {knob["key"]: knob["value"] for knob in flow["knobs"]} == {"draw": 0, "tree_x": 100}
    before, fits = sheet(at, "soft-tree").header, count_fits()
    assert before["frames"] > 5
    move(at, "draw", 3)
    after = sheet(at, "soft-tree").header
    assert after["frames"] == 1
    assert count_fits() == fits


def test_a_sum_of_trees_is_shown_tree_by_tree():
    at = open_page("soft_trees", methods="VSGBM", trees="2")
    assert sheet(at, "soft-trees-stages").header["frameValues"] == [1.0, 2.0]
    flow = curves(at, "soft-tree-flow")
    (method,) = flow["methods"]
    assert [tree["rows"] for tree in method["trees"]] == [True, False]
    assert method["sets"] == list(range(101))
    assert [knob["key"] for knob in flow["knobs"]] == ["tree", "draw", "tree_x"]
    before = sheet(at, "soft-tree").header["digest"]
    fits = count_fits()
    move(at, "tree", 2)
    assert sheet(at, "soft-tree").header["digest"] != before
    assert count_fits() == fits
    move(at, "tree", 9)
    notice = "There are only 2 trees. The last one is shown instead of tree 9."
    assert any(notice in caption.value for caption in at.caption)


def test_own_points_are_drawn_and_can_be_placed_and_taken_away():
    at = open_page("soft_trees", **OWN)
    spec = functions(at)
    assert spec["place"] == {"x": [-2, -1, 0, 1, 2], "y": [0, 1, 0.5, -1, 0]}
    points = decode_points(FEW)
    held = placing.hold_points(state_of(SOFT_TREES), "points", False)
    with pytest.MonkeyPatch.context() as patch:
        state = {}
        patch.setattr(placing.st, "session_state", state)
        held["on_place"]((*points, (0.12, 1.0)))
        assert decode_points(state["points"]) == (*points, (0.12, 1.0))
        held["on_place"](points[1:])
        assert decode_points(state["points"]) == points[1:]
        held["on_place"](points * 81)
        assert any("at most 400" in str(text) for text in state.values())
        assert decode_points(state["points"]) == points[1:]


@pytest.mark.parametrize(
    "message",
    [
        None,
        3,
        {},
        {"x": 1.0, "y": 1.0},
        {"x": [1.0]},
        {"x": [1.0], "y": []},
        {"x": [0.0], "y": [np.nan]},
        {"x": ["0"], "y": [0.0]},
        {"x": [True], "y": [0]},
    ],
)
def test_a_click_that_is_none_changes_nothing(message):
    assert read_place(message) is None


def test_points_are_not_placed_among_the_rows_of_the_set_before():
    tails = replace(SETTINGS, methods=("vst",), steps=60)
    plan = SOFT_TREES.plan(tails, "vst")
    wanted = Request("vst", 1, print)
    answer = Answer("vst", wanted, "running", SOFT_TREES.fit(plan), False, 0.1, "", None)
    shown = view_answers(SOFT_TREES, tails, [answer])
    assert "place" not in figure_of(replace(tails, data="own"), shown).spec


def figure_of(settings, shown):
    values = SimpleNamespace(every=False, focus=False, **to_values(settings))
    return draw_compared(SOFT_TREES, STATE, settings, shown, values)


def test_too_few_points_are_drawn_and_explained():
    at = open_page("soft_trees", data="Own points", points="0_0~1_1")
    (sentence,) = (text for text in words(at) if "add 3" in text)
    assert sentence == "Training needs at least 5 points, but there are 2: add 3."
    (panel,) = functions(at)["panels"]
    assert panel["title"] == "Rows"
    assert functions(at)["place"]["x"] == [0, 1]
    assert not live_jobs()


def test_an_empty_board_can_be_filled_and_clear_makes_one():
    at = open_page("soft_trees", data="Own points", points="")
    assert functions(at)["place"] == {"x": [], "y": []}
    at = open_page("soft_trees", **OWN)
    at.button(key="_clear").click().run()
    assert functions(at)["place"]["x"] == []


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ({"data": "Own points", "points": "1_2~x"}, "points must be"),
        ({"data": "Own points", "points": "x"}, '\u2026" is used for "Points".'),
        ({"data": "Own points", "points": "9999_0~1_1~2_2~3_3~4_1"}, "must lie between"),
    ],
)
def test_a_bad_link_is_told_and_the_default_is_used(query, sentence):
    at = open_page("soft_trees", **query)
    assert any(sentence in text for text in words(at))
    assert len(functions(at)["place"]["x"]) == len(OWN_START)


def test_a_method_without_trees_leaves_the_tree_out():
    at = open_page("soft_trees", methods="Gaussian process")
    assert "Choose VST or VSGBM in All settings to see the inside of a soft tree." in words(at)


def test_a_link_restores_points():
    settings = SoftTreesSettings(data="own", points=OWN_START[:6], rate=0.01)
    values = vars(values_of_link(STATE, query_of(settings)))
    assert from_values(SoftTreesSettings, values) == settings


def test_the_bandit_runs_on_its_button_and_is_not_computed_again(monkeypatch):
    # What all policies do is tested with the experiment; here two that fit little are enough.
    monkeypatch.setattr(
        trials,
        "_run",
        lambda trial, plan, job: run_policies(replace(plan, policies=("random", "sglb"))),
    )
    at = open_page("soft_trees", bandit_steps="200")
    settle(at.button(key="_soft-trees-bandit-run").click().run())
    assert sheet(at, "bandit").header["frames"] == 200
    steps = curves(at, "soft-trees-bandit-steps")
    assert [policy["name"] for policy in steps["policies"]] == ["Random", "SGLB"]
    assert steps["steps"][-1] == 200
    policy, step = steps["knobs"]
    assert (policy["texts"][policy["value"]], step["texts"][step["value"]]) == ("SGLB", "60")
    assert any(text.startswith("Cumulative regret after 200 steps: ") for text in words(at))
    # The picture's statements and the bandit's have seeds of their own.
    waiting = [
        caption.value for caption in at.caption if "over 10 seeds in a moment" in caption.value
    ]
    assert len(waiting) == 2
    monkeypatch.setattr(trials, "_run", lambda *_: 1 / 0)
    move(at, "bandit_policy", "Random")
    assert curves(at, "soft-trees-bandit-steps")["knobs"][0]["value"] == 0
    assert at.query_params["bandit_policy"] == "Random"
    move(at, "shown", 5)
    assert sheet(at, "bandit").header["frames"] == 200
    old = "This result is for the previous settings."  # which stays until it is played again
    assert old not in [caption.value for caption in at.caption]
    move(at, "bandit_steps", 500)
    assert old in [caption.value for caption in at.caption]


def test_a_comparison_that_fails_says_so_and_can_be_started_again(monkeypatch):
    at = open_page("soft_trees")
    monkeypatch.setattr(trials, "_run", lambda *_: 1 / 0)
    settle(at.button(key="_soft-trees-rank-run").click().run())
    assert any("The fit failed (ZeroDivisionError)" in text for text in words(at))
    assert at.button(key="_soft-trees-rank-run")


def test_a_cancelled_comparison_offers_one_button_which_starts_it_again(monkeypatch):
    gate = threading.Event()
    monkeypatch.setattr(trials, "_run", lambda trial, plan, job: gate.wait(60))
    at = open_page("soft_trees", seed="5")
    at.button(key="_soft-trees-rank-run").click().run()
    at.button(key="_jobs_cancel").click().run()
    gate.set()
    keys = [button.key for button in at.button]
    assert "_soft-trees-rank-run" in keys
    assert not {"_jobs_again", "_jobs_cancel"} & set(keys)
    assert "Cancelled." in words(at)
    gate.clear()
    at.button(key="_soft-trees-rank-run").click().run()
    assert "_jobs_cancel" in [button.key for button in at.button]
    at.button(key="_jobs_cancel").click().run()
    gate.set()


@pytest.mark.parametrize(
    ("state", "error", "note"),
    [
        ("running", "", "training"),
        ("cancelled", "", "cancelled"),
        ("failed", "The fit failed (X).", "no result"),
    ],
)
def test_a_panel_without_functions_keeps_its_place_and_says_why(state, error, note):
    answer = Answer("vst", Request("vst", 1, print), state, None, False, None, error, None)
    spec = figure_of(SETTINGS, view_answers(SOFT_TREES, SETTINGS, [answer])).spec
    assert [(panel["title"], panel["note"]) for panel in spec["panels"]] == [("VST", note)]
    assert len(spec["panels"][0]["layers"][-2]["x"]) == SETTINGS.rows


def test_a_cancelled_first_fit_leaves_no_picture_of_before(monkeypatch):
    texts = []
    monkeypatch.setattr(jobs_glue.st, "text", texts.append)
    monkeypatch.setattr(jobs_glue.st, "button", lambda *given, **more: False)
    answer = Answer("vst", Request("vst", 1, print), "cancelled", None, False, None, "", None)
    jobs_glue.show_progress([answer])
    jobs_glue.show_progress([answer._replace(result=1)])
    assert texts == ["Cancelled.", "Cancelled. The picture still shows the previous settings."]
