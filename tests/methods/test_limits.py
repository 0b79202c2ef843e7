"""The limits of every method's record are those of its estimator."""

import math

import numpy as np
import pytest

from gbuq_core.boosting.plan import make_plan, truncation_points
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.methods import METHODS

# What other arguments have to be for one at its end: these are refused together, not one by one.
TOGETHER = {
    ("n_trees", "low"): {"cycle_length": 2},
    ("cycle_length", "high"): {"n_trees": 100_000},
    ("burn_in_cycles", "high"): {"n_trees": 100_000, "cycle_length": 2},
    ("alpha_max", "low"): {"alpha_min": 0.0},
    ("alpha_max", "high"): {"learning_rate": 1e-4},
    ("alpha_min", "high"): {"alpha_max": 1000.0, "learning_rate": 1e-4},
    ("learning_rate", "high"): {"alpha_max": 1.0},
    ("learning_rate", "low"): {},
}
CYCLICAL = ("csglb", "cbsglb")
# Trained by an estimator of another record in these tasks, which allows more.
WIDER = {("catboost", "ensemble"), ("catboost", "classification")}


def cases():
    """Each end of each numeric knob, with a value at it and one just outside; and choices."""
    for method in METHODS.values():
        for task in method.builders:
            for knob in method.knobs:
                for end, sign in (("low", -1), ("high", 1)):
                    limit = getattr(knob, end)
                    if limit is not None:
                        name = f"{method.key}-{task}-{knob.key}-{end}"
                        yield pytest.param(method, task, knob, end, sign, id=name)


def at_and_beyond(knob, end, sign):
    limit = getattr(knob, end)
    if knob.kind == "integer":
        return int(limit), int(limit) + sign
    beyond = math.nextafter(float(limit), sign * math.inf)
    if end == "low" and knob.low_open:
        return math.nextafter(float(limit), math.inf), float(limit)
    return float(limit), beyond


def is_refused(method, task, values):
    """Whether a fit refuses the arguments; they are checked before the rows, of which it has none.

    How a virtual ensemble is cut is checked by `truncation_points`, when something is predicted.
    """
    builder = method.builder(task)
    model = builder.make(**values)
    for name in ("truncation_step", "truncation_start"):
        if name in values:
            cut = {"truncation_step": 1, "truncation_start": 0.0} | values
            try:
                truncation_points(100_000, cut["truncation_step"], cut["truncation_start"])
            except InvalidParameter as error:
                return "gives no member" not in str(error)
            return False
    try:
        trees = model.estimator if builder.within else model
        if type(trees).__name__.startswith("BoostedEnsemble"):  # looks at the rows first
            make_plan(trees)
            return False
        args = (np.empty((0, 0)),) if task == "novelty" else (np.empty((0, 0)), np.empty(0))
        model.fit(*args)
    except InvalidParameter:
        return True
    except InvalidData:
        return False
    raise AssertionError("a fit without rows")


@pytest.mark.parametrize(("method", "task", "knob", "end", "sign"), cases())
def test_an_estimator_takes_what_its_record_allows_and_nothing_beyond(
    method, task, knob, end, sign
):
    if method.missing():
        pytest.skip(method.missing())
    others = TOGETHER.get((knob.key, end), {}) if method.key in CYCLICAL else {}
    if (method.key, knob.key) == ("catboost", "n_trees"):
        others = {"n_members": 2}
    elif (method.key, knob.key, end) == ("catboost", "n_members", "high"):
        others = {"n_trees": 10_000}
    inside, outside = at_and_beyond(knob, end, sign)
    assert not is_refused(method, task, {**others, knob.key: inside})
    if (method.key, task) not in WIDER:
        assert is_refused(method, task, {**others, knob.key: outside})


@pytest.mark.parametrize("method", METHODS.values(), ids=lambda method: method.key)
def test_every_choice_is_one_of_its_estimators(method):
    if method.missing():
        pytest.skip(method.missing())
    for task in method.builders:
        for knob in method.knobs:
            for choice in knob.choices:
                assert not is_refused(method, task, {knob.key: choice}), (task, knob.key, choice)
            if knob.choices or knob.kind == "switch":
                assert is_refused(method, task, {knob.key: "nothing like it"}), (task, knob.key)
