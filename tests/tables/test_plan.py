"""What a fit is planned to be: learning rate, width, cost, and knobs out of range."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
from command_parts import refusal
from table_parts import as_table, regression_frame

from gbuq_core.commands.model_options import cut_of
from gbuq_core.commands.model_options import plan_of as plan_from
from gbuq_core.commands.parser import build_parser
from gbuq_core.errors import InvalidParameter, MemoryLimitExceeded, ProjectError
from gbuq_core.projects.forms import JsonPlace
from gbuq_core.projects.settings import PLAN
from gbuq_core.resources import MOST_THREADS
from gbuq_core.settings import check, flags_of, needed, setting
from gbuq_core.tables import (
    Cut,
    ScorePlan,
    infer_schema,
    prepare_training,
    score_table,
    settle_plan,
    training_size,
)
from gbuq_core.tables.predicting import make_estimator
from gbuq_core.tables.settling import MOST_ROWS_STACKED, scoring_bytes

FAST = ScorePlan(ensemble="virtual", n_trees=40, depth=3, learning_rate=0.1)


def test_two_clocks_keep_a_gaussian_from_overfitting():
    """A noisy table of few rows, where all trees end in absurd confidence."""
    frame = regression_frame(150)
    frame.y += np.random.default_rng(3).normal(size=150)
    table = as_table(frame)
    plan = ScorePlan(ensemble="virtual", n_trees=150, depth=4)
    tuned = score_table(table, "y", plan=plan)
    plain = score_table(table, "y", plan=replace(plan, stopping=None))
    assert tuned.scores.nll < plain.scores.nll - 0.5
    assert abs(tuned.scores.coverage.observed[2] - 0.95) < 0.1
    assert any(notice.startswith("The mean uses") for notice in tuned.notices)
    assert plain.clocks is None
    assert not any("trees" in notice for notice in plain.notices)


@pytest.mark.parametrize("new", [None, "second file"])
def test_fewer_than_forty_rows_use_all_trees(new):
    second = as_table(regression_frame(30, seed=1)) if new else None
    plan = ScorePlan(ensemble="virtual", n_trees=40, depth=3)
    few = score_table(as_table(regression_frame(39)), "y", new=second, plan=plan)
    assert few.clocks is None
    assert any("too few rows to choose" in notice for notice in few.notices)
    enough = score_table(as_table(regression_frame(40)), "y", new=second, plan=plan)
    assert enough.clocks.n_rows == (8 if new else 40)
    assert all(np.isfinite(enough.frame.total_uncertainty))


def test_a_rare_class_of_a_long_table_can_be_scored(monkeypatch):
    monkeypatch.setattr("gbuq_core.tables.clocks._most_rows", lambda plan, prepared: 60)
    n = 600
    frame = pd.DataFrame({"x": np.arange(n) % 7, "y": "no"})
    frame.loc[[100, 300, 500], "y"] = "yes"
    scored = score_table(
        as_table(frame), "y", plan=ScorePlan(ensemble="virtual", n_trees=10, depth=2)
    )
    assert scored.training.target.classes == ("no", "yes")
    assert np.isfinite(scored.scores.nll)


def test_wide_tables_get_simpler_trees_and_a_notice(rng):
    frame = pd.DataFrame(rng.normal(size=(40, 256))).add_prefix("v").assign(y=range(40))
    plan = ScorePlan(ensemble="virtual", n_trees=5, learning_rate=0.1)
    scored = score_table(as_table(frame), "y", plan=plan)
    assert scored.models[0].estimator.depth == 4
    assert scored.models[0].estimator.max_bins == 100
    assert any("With 256 features" in notice for notice in scored.notices)
    chosen = score_table(as_table(frame), "y", plan=replace(plan, depth=2, max_bins=16))
    assert chosen.models[0].estimator.max_bins == 16
    assert not any("features" in notice for notice in chosen.notices)


def test_a_fit_that_does_not_fit_into_memory_is_refused(monkeypatch):
    table = as_table(regression_frame(100))
    prepared = prepare_training(table, infer_schema(table), "y")
    needed = scoring_bytes(prepared, FAST)
    monkeypatch.setattr("gbuq_core.resources.available_memory_bytes", lambda: needed)
    with pytest.raises(MemoryLimitExceeded, match="Scoring this table"):
        score_table(table, "y", plan=FAST)


def test_work_and_memory_grow_with_the_table_and_its_trees():
    table = as_table(regression_frame(200))
    prepared = prepare_training(table, infer_schema(table), "y")
    size = training_size(prepared, FAST)
    assert training_size(prepared, replace(FAST, n_trees=400)).work > 4 * size.work
    assert scoring_bytes(prepared, FAST, n_new=10**6) > scoring_bytes(prepared, FAST)


@pytest.mark.parametrize(
    "knob",
    [
        {"n_trees": 0},
        {"depth": 99},
        {"seed": -1},
        {"engine": "abacus"},
        {"max_bins": 1},
        {"stopping": "three_clocks"},
    ],
)
def test_impossible_knobs_are_refused(knob):
    with pytest.raises(InvalidParameter):
        score_table(as_table(regression_frame(50)), "y", plan=replace(FAST, **knob))


@pytest.mark.parametrize("method", ["csglb", "cbsglb"])
def test_a_cyclical_plan_is_one_model_of_ten_cycles(method):
    table = as_table(regression_frame(120))
    plan = replace(FAST, method=method, ensemble="independent", n_members=3, stopping=None)
    scored = score_table(table, "y", plan=plan)
    model = scored.models[0].estimator
    assert model.learning_rate == 0.1
    assert model.member_trees().tolist() == list(range(4, 41, 4))
    assert model.plan_.n_models == 1
    assert (scored.predictions.uncertainty.knowledge > 0).all()
    longer = score_table(table, "y", plan=replace(plan, cycle_length=20))
    assert longer.models[0].estimator.member_trees().tolist() == [20, 40]
    prepared = prepare_training(table, infer_schema(table), "y")
    assert training_size(prepared, plan) == training_size(prepared, FAST)  # one model either way
    stopped = score_table(table, "y", plan=replace(plan, stopping="two_clocks"))
    for fitted in stopped.models:  # the mean stops at the end of a cycle with two members or more
        assert fitted.estimator.clocks_.mean_trees in range(8, 41, 4)
    assert (stopped.predictions.uncertainty.knowledge > 0).all()


def test_what_has_no_cycles_is_one_sentence():
    table = as_table(regression_frame(50))
    with pytest.raises(InvalidParameter, match="has no cyclical gradients"):
        score_table(table, "y", plan=replace(FAST, method="csglb", engine="catboost"))
    with pytest.raises(InvalidParameter, match="the model has only 40 trees"):
        score_table(table, "y", plan=replace(FAST, method="csglb", cycle_length=50))


def test_what_is_trained_does_not_depend_on_the_machine(rng, monkeypatch):
    plans = set()
    for n_rows in (300, 5000):
        frame = pd.DataFrame(rng.normal(size=(n_rows, 60))).add_prefix("v").assign(y=range(n_rows))
        table = as_table(frame)
        prepared = prepare_training(table, infer_schema(table), "y")
        settled = set()
        for cores in (1, 2, 64):
            monkeypatch.setattr("gbuq_core.resources.usable_cores", lambda cores=cores: cores)
            settled.add(settle_plan(ScorePlan(), prepared))
        token = MOST_THREADS.set(1)  # as in a worker of a cluster
        settled.add(settle_plan(ScorePlan(), prepared))
        MOST_THREADS.reset(token)
        (only,) = settled
        plans.add((only.plan.ensemble, only.plan.n_folds))
    assert len(plans) > 1  # the sizes are such that time decides


INDEPENDENT, VIRTUAL = ("independent", 5, 300), ("virtual", None, 500)
# What is chosen for tables of these rows and columns: for a number or two classes, and for seven
# classes; the ensemble, the folds, and whether a page waits for Run.
CHOSEN = {
    (150, 4): ((INDEPENDENT, 5, False), (INDEPENDENT, 5, False)),
    (1000, 10): ((INDEPENDENT, 5, False), (INDEPENDENT, 5, False)),
    (1500, 12): ((INDEPENDENT, 5, False), (INDEPENDENT, 5, False)),
    (5000, 20): ((INDEPENDENT, 5, False), (INDEPENDENT, 3, False)),
    (20_000, 10): ((INDEPENDENT, 5, False), (VIRTUAL, 5, False)),
    (50_000, 30): ((VIRTUAL, 5, True), (VIRTUAL, 5, True)),
    (100_000, 10): ((INDEPENDENT, 5, True), (VIRTUAL, 5, True)),
    (260_000, 10): ((VIRTUAL, 5, False), (VIRTUAL, 5, False)),
    (1_000_000, 10): ((VIRTUAL, 5, True), (VIRTUAL, 5, True)),
    (62, 2001): ((INDEPENDENT, 5, False), (VIRTUAL, 5, False)),
}


@pytest.mark.parametrize("n_classes", [0, 2, 7])
@pytest.mark.parametrize("size", CHOSEN, ids=lambda size: f"{size[0]}x{size[1]}")
def test_ensembles_and_waiting_go_by_rows_columns_and_classes(size, n_classes):
    n_rows, n_columns = size
    y = np.arange(70) if not n_classes else [*"abcdefg"[:n_classes] * 35][:70]
    table = as_table(pd.DataFrame({"x": np.arange(70) % 9, "y": y}))
    prepared = prepare_training(table, infer_schema(table), "y")
    prepared = prepared._replace(  # a first row of features is enough
        X=pd.DataFrame(np.zeros((1, n_columns))), y=np.arange(n_rows) % max(2.0, n_classes)
    )
    assert len(prepared.target.classes) == n_classes
    plan = settle_plan(ScorePlan(), prepared).plan
    assert plan.method == ("stacked" if n_rows <= MOST_ROWS_STACKED else "sglb")
    chosen = (plan.ensemble, plan.n_members, plan.trees), plan.n_folds
    assert (*chosen, training_size(prepared, ScorePlan()).waits) == CHOSEN[size][n_classes == 7]


# A value beyond each limit of the plan, and the option that sets it.
BEYOND = {
    "n_members": (1001, "members"),
    "n_trees": (100_001, "trees"),
    "n_folds": (21, "folds"),
    "depth": (13, "depth"),
    "learning_rate": (1.01, "learning-rate"),
    "cycle_length": (1, "cycle-length"),
    "seed": (-1, "seed"),
    "n_jobs": (1025, "jobs"),
    "max_bins": (256, ""),
    "truncation_step": (0, ""),
    "ensemble": ("virtuous", "ensemble"),
    "stopping": ("three_clocks", "stopping"),
    "engine": ("abacus", "engine"),
    "split": ("odd", "split"),
    "scale": ("cubic", "scale"),
}


@pytest.mark.parametrize("name", BEYOND)
def test_a_limit_holds_in_the_plan_in_a_project_and_on_the_command_line(name, capsys):
    value, option = BEYOND[name]
    plan = replace(ScorePlan(), **{name: value})
    with pytest.raises(InvalidParameter, match=f"^{name} must be"):
        check(plan)
    with pytest.raises(ProjectError, match=rf"plan\.{name} must be"):
        PLAN(plan.as_json(), JsonPlace("plan"))
    assert PLAN(ScorePlan().as_json(), JsonPlace("plan")) == ScorePlan()
    if option:
        method = "--method=csglb" if name == "cycle_length" else "--method=sglb"
        line = ["score", __file__, "--target=y", "--out=out.csv", method, f"--{option}={value}"]
        assert f"--{option}" in refusal(capsys, *line)


@pytest.mark.parametrize(
    ("plan", "cut"),
    [
        (ScorePlan(), Cut()),
        (ScorePlan(method="sglb"), Cut(members=3)),
        (ScorePlan(method="stacked", n_members=3), Cut()),
        (ScorePlan(ensemble="virtual", n_trees=50, depth=4, learning_rate=0.2), Cut(5, 0.25, 4)),
        (ScorePlan(method="cbsglb", cycle_length=20, stopping=None, seed=3), Cut(burn_in=2)),
        (ScorePlan(ensemble="independent", n_members=3, engine="catboost", n_jobs=2), Cut()),
        (ScorePlan(split="group", split_column="shop", scale="log", n_folds=3), Cut()),
        (ScorePlan(method="gnll", split="time", split_column="none"), Cut()),
        (ScorePlan(method="vsgbm", knobs=(("n_trees", 20), ("depth", 2))), Cut()),
    ],
)
def test_the_options_of_a_plan_make_the_same_plan(plan, cut):
    own = replace(plan, **dict(plan.knobs))  # of another method
    flags = [f"--{name}={value}" for name, value in (*flags_of(own), *flags_of(cut))]
    line = ["score", "a.csv", "--target=y", "--out=b.csv", *flags]
    options = build_parser("gbuq", "0").parse_args(line)
    assert (plan_from(options), cut_of(options)) == (plan, cut)


def test_settings_that_do_not_concern_a_method_go_to_their_defaults():
    everything = ScorePlan(ensemble="virtual", n_members=3, cycle_length=9, engine="catboost")
    assert needed(everything) == ScorePlan(ensemble="virtual", engine="catboost")
    assert needed(replace(everything, method="csglb")) == ScorePlan(method="csglb", cycle_length=9)
    assert needed(replace(everything, method="gnll", depth=3)) == ScorePlan(method="gnll")


@dataclass(frozen=True, kw_only=True)
class PlanWithL2(ScorePlan):
    l2: float = setting(3.0, "L2", limits=(0.0, 100.0), low=0.0, high=100.0, arg="l2")


def test_a_new_knob_reaches_the_estimator_by_its_declaration():
    table = as_table(regression_frame(50))
    prepared = prepare_training(table, infer_schema(table), "y")
    assert make_estimator(PlanWithL2(l2=7.0), prepared).l2 == 7.0
