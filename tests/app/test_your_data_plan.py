"""The page "Your data" trains what the command line trains, unless the reader changes a knob."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from gbuq_core.commands.model_options import plan_of as plan_from
from gbuq_core.commands.parser import build_parser
from gbuq_core.tables import ScorePlan
from gbuq_core.tables.predicting import depth_for
from pages._ui.your_data.state import AUTOMATIC, METHOD, PRESETS, SCALE, SPLIT, TRAINING
from pages._ui.your_data.training import plan_of

VALUES = {knob.key: knob.default for knob in (*METHOD, *TRAINING, SPLIT, SCALE)}


def test_the_model_is_that_of_the_command_line():
    options = build_parser("gbuq", "0").parse_args(
        ["score", "a.csv", "--target", "y", "--out", "b"]
    )
    plan = plan_of(SimpleNamespace(**VALUES, by_column=""))
    assert replace(plan, n_members=None) == plan_from(options) == ScorePlan()
    # The page's own knob names the number of models that an automatic ensemble has.
    assert plan.n_members in (None, 5)


@pytest.mark.parametrize(("n_features", "depth"), [(20, 6), (201, 4)])
def test_trees_are_less_deep_where_there_are_many_columns(n_features, depth):
    assert depth_for(plan_of(SimpleNamespace(**VALUES, by_column="")), n_features) == depth


def test_quick_is_a_choice_and_says_what_it_changes():
    quick = next(preset for preset in PRESETS if preset.name == "Quick")
    assert VALUES["depth"] == AUTOMATIC
    plan = plan_of(SimpleNamespace(**{**VALUES, **quick.values}, by_column=""))
    assert (plan.n_trees, plan.depth) == (100, 4)
    assert "100 trees of depth 4 in place of 300 or 500 of depth 6" in quick.help
