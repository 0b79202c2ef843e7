"""The page "Your data" trains what the command line trains, unless the reader changes a knob."""

from types import SimpleNamespace

import pytest

from gbuq_core.tables import ScorePlan
from gbuq_core.tables.predicting import depth_for
from pages._ui.your_data.state import AUTOMATIC, METHOD, PRESETS, SCALE, SPLIT, TRAINING
from pages._ui.your_data.training import plan_of

VALUES = {knob.key: knob.default for knob in (*METHOD, *TRAINING, SPLIT, SCALE)}


@pytest.mark.parametrize(("n_features", "depth"), [(20, 6), (201, 4)])
def test_the_depth_is_that_of_the_command_line(n_features, depth):
    plan = plan_of(SimpleNamespace(**VALUES, by_column=""))
    assert plan.depth is ScorePlan().depth is None
    assert depth_for(plan, n_features) == depth


def test_quick_is_a_choice_and_says_what_it_changes():
    quick = next(preset for preset in PRESETS if preset.name == "Quick")
    assert VALUES["depth"] == AUTOMATIC
    plan = plan_of(SimpleNamespace(**{**VALUES, **quick.values}, by_column=""))
    assert (plan.n_trees, plan.depth) == (100, 4)
    assert "100 trees of depth 4 in place of 300 of depth 6" in quick.help
