"""The page "Your data" trains what the command line trains, unless the reader changes a knob."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from gbuq_core.commands.model_options import plan_of as plan_from
from gbuq_core.commands.parser import build_parser
from gbuq_core.knobs import problem_with
from gbuq_core.settings import arguments, from_values, to_values
from gbuq_core.tables import ScorePlan
from pages._ui.your_data.state import AFTERWARDS, AUTOMATIC, PLAN, PRESETS
from pages._ui.your_data.training import plan_of

VALUES = {knob.key: knob.default for knob in PLAN.values()}


def test_the_model_is_that_of_the_command_line():
    options = build_parser("gbuq", "0").parse_args(
        ["score", "a.csv", "--target", "y", "--out", "b"]
    )
    plan = plan_of(SimpleNamespace(**VALUES))
    assert replace(plan, n_members=None) == plan_from(options) == ScorePlan()
    # The page's own knob names the number of models that an automatic ensemble has.
    assert plan.n_members in (None, 5)


@pytest.mark.parametrize(
    ("n_features", "depth", "bins"), [(20, 6, 128), (201, 4, 127), (1000, 4, 25)]
)
def test_trees_are_less_deep_where_there_are_many_columns(n_features, depth, bins):
    given = arguments(plan_of(SimpleNamespace(**VALUES)), n_features)
    assert (given["depth"], given["max_bins"]) == (depth, bins)


def test_quick_is_a_choice_and_says_what_it_changes():
    quick = next(preset for preset in PRESETS if preset.name == "Quick")
    assert VALUES["depth"] == AUTOMATIC
    plan = plan_of(SimpleNamespace(**{**VALUES, **quick.values}))
    assert (plan.n_trees, plan.depth) == (100, 4)
    assert "100 trees of depth 4 in place of 300 or 500 of depth 6" in quick.help


@pytest.mark.parametrize(
    "plan",
    [
        ScorePlan(ensemble="virtual", n_trees=50, depth=4, learning_rate=0.2, engine="catboost"),
        ScorePlan(method="cbsglb", stopping=None, seed=3, split="time", split_column="day"),
        ScorePlan(ensemble="independent", n_members=7, scale="log"),
    ],
)
def test_the_controls_of_a_plan_make_the_same_plan(plan):
    values = to_values(plan)
    assert not [
        key for key, knob in PLAN.items() if problem_with(knob, values[key]) and key != "by_column"
    ]
    assert plan_of(SimpleNamespace(**values)) == plan
    assert from_values(ScorePlan, values).method == plan.method


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ({"method": "automatic"}, {"models", "engine", "ensemble"}),
        ({"method": "Stacked"}, {"models", "ensemble"}),
        ({"method": "SGLB"}, {"models", "engine", "ensemble", "members"}),
        ({"ensemble": "virtual"}, {"engine", "ensemble", "members", "step", "start"}),
        ({"method": "cSGLB", "ensemble": "virtual"}, {"members", "burn_in"}),
        ({"split": "by group"}, {"models", "engine", "ensemble", "by_column"}),
    ],
)
def test_a_control_is_there_if_the_model_uses_it(values, shown):
    knobs = [knob for knob in (*PLAN.values(), *AFTERWARDS) if knob.when]
    always = {"trees", "depth", "rate", "clocks"}
    keys = {knob.key for knob in knobs if knob.when({**VALUES, **values})}
    assert keys == shown | always
