"""Every knob of an experiment refuses what is beyond its limits, in one sentence that names it."""

import math
from dataclasses import replace

import pytest

from gbuq_core.errors import GbuqError
from gbuq_core.settings import check, knobs_of, legal_knobs, plan_of
from gbuq_core.study import heteroscedastic as hetero
from gbuq_core.study import neighbours_fit as neighbours
from gbuq_core.study import novelty_maps as novelty
from gbuq_core.study import soft_trees as soft
from gbuq_core.study import soft_trees_trials as trials

SOFT, HETERO = soft.SoftTreesSettings(), hetero.HeteroscedasticSettings()
NEIGHBOURS, NOVELTY = neighbours.NeighboursSettings(), novelty.NoveltySettings()
# Settings, methods, what says why a plan is refused, and the fit, which says the same.
PLANS = {
    "soft trees": (SOFT, soft.METHODS, soft.why_not, soft.fit),
    "heteroscedastic": (HETERO, hetero.METHODS, hetero.why_not, hetero.fit),
    "neighbours": (NEIGHBOURS, [""], neighbours.why_not, neighbours.fit_neighbours),
    "novelty": (NOVELTY, [""], novelty.why_not),
    "bandit": (
        trials.BanditSettings(),
        trials.POLICIES,
        lambda plan: sentence_of(trials.plan_bandit, plan, plan.policy),
    ),
}
# Settings, what checks those of the view, and the groups of their knobs.
VIEWS = {
    "soft trees": (
        SOFT,
        lambda view: soft.view(None, view),
        "view",
        "picture",
    ),
    "heteroscedastic": (HETERO, check),
    "neighbours": (NEIGHBOURS, neighbours.check_view, "view", "picture"),
    "novelty": (NOVELTY, novelty.make_data),
    "rank": (trials.RankSettings(), trials.why_no_rank),
}


def sentence_of(call, *arguments):
    """What a call returns or raises."""
    try:
        return call(*arguments)
    except GbuqError as error:
        return str(error)


def beyond(knob, value):
    """What the knob of a field that has this value by default never takes."""
    if isinstance(value, tuple):
        return [("magic",)]
    if knob.kind not in ("integer", "number", "ladder") or knob.low is None:
        return ["magic"]
    values = [math.nan, "magic", knob.low if knob.low_open else knob.low - 1]
    values += [] if knob.high in (None, math.inf) else [knob.high + 1]
    return values + ([knob.low + 0.5, True] if knob.kind == "integer" else [])


def impossible(settings, *groups):
    """What no knob takes, but for points, edits, ranges and the columns of a table."""
    group_of = {knob.key: knob.group for knob in knobs_of(type(settings))}
    return {
        name: beyond(knob, getattr(settings, name))
        for name, knob in legal_knobs(type(settings)).items()
        if knob.kind not in ("text", "range") and (knob.kind != "choice" or knob.choices)
        if name != "columns" and (not groups or group_of.get(name) in groups)
    }


def assert_says(sentence, name):
    assert name in sentence
    assert sentence.endswith(".")
    assert "\n" not in sentence


@pytest.mark.parametrize("experiment", PLANS)
def test_what_no_plan_may_hold_is_refused_with_the_knobs_name(experiment):
    settings, methods, why_not, *fit = PLANS[experiment]
    for name, values in impossible(settings).items():
        for value, method in ((value, method) for value in values for method in methods):
            plan = sentence_of(plan_of, replace(settings, **{name: value}), method)
            if isinstance(plan, str) or getattr(plan, name) is value:  # else it is not used
                sentence = plan if isinstance(plan, str) else why_not(plan)
                assert_says(sentence, name)
                assert all(sentence_of(call, plan) == sentence for call in fit if plan != sentence)


@pytest.mark.parametrize("experiment", VIEWS)
def test_what_no_view_may_hold_is_refused_with_the_knobs_name(experiment):
    settings, check, *groups = VIEWS[experiment]
    wrong = impossible(settings, *groups)
    assert len(wrong) >= 4
    for name, values in wrong.items():
        for value in values:
            assert_says(sentence_of(check, replace(settings, **{name: value})), name)
