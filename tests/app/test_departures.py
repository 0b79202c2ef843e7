"""docs/departures.md is what the pages show of it, and its switches exist and change results."""

import ast
import re
from functools import cache

import numpy as np
import pytest

from gbuq_core import (
    BoostedEnsembleRegressor,
    MacauClassifier,
    MacauRegressor,
    sample_mixture,
)
from gbuq_core.baselines import AveragingRegressor, EuclideanNeighborsRegressor
from pages._ui.skeleton import read_departures

# Heading: the estimators whose arguments its last column names.
OWNERS = {
    "Boosting": [BoostedEnsembleRegressor],
    "MACAU": [MacauRegressor, MacauClassifier],
}


def rows_of(text):
    lines = [line for line in text.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize("heading", sorted(read_departures()))
def test_every_departure_says_all_five_things(heading):
    rows = rows_of(read_departures()[heading])
    assert rows
    for row in rows:
        assert len(row) == 5
        assert all((row[0], row[3], row[4]))


@pytest.mark.parametrize("heading", OWNERS)
def test_the_switches_are_arguments(heading):
    known = {name for owner in OWNERS[heading] for name in owner().get_params()}
    named = [row[4] for row in rows_of(read_departures()[heading])]
    switches = [switch for cell in named for switch in re.findall(r"`(\w+)=", cell)]
    assert switches
    assert set(switches) <= known


RANDOM = np.random.default_rng(4)
X = RANDOM.uniform(0.0, 10.0, (120, 2))
Y = np.sin(X[:, 0]) + 0.1 * X[:, 0] * RANDOM.normal(size=120)
FAR = np.concatenate([X[:20], X[:20] + 8.0])
SMALL = {
    BoostedEnsembleRegressor: {"n_trees": 30, "n_members": 2, "depth": 2, "random_state": 0},
    MacauRegressor: {"n_trees": 5, "random_state": 0},
    MacauClassifier: {"n_trees": 5, "random_state": 0},
}


def switches():
    """Each ``name=value`` of a last column, and the first estimator of its heading that has it."""
    for heading, owners in OWNERS.items():
        for row in rows_of(read_departures()[heading]):
            for name, value in re.findall(r"`(\w+)=([^`]+)`", row[4]):
                owner = next(owner for owner in owners if name in owner().get_params())
                yield owner, name, ast.literal_eval(value)


@cache
def results(owner, **knobs):
    """All that an estimator says about rows, in one array."""
    target = (Y > 0.0).astype(int) if owner is MacauClassifier else Y
    model = owner(**SMALL[owner], **knobs).fit(X, target)
    parts = [*model.predict_uncertainty(FAR)]
    if hasattr(model, "score_novelty"):
        parts += model.score_novelty(FAR)[:3]
    return np.concatenate(parts)


@pytest.mark.parametrize(("owner", "name", "value"), tuple(switches()))
def test_every_switch_runs_and_changes_what_is_predicted(owner, name, value):
    papers = results(owner, **{name: value})
    assert np.isfinite(papers).all()
    assert not np.array_equal(papers, results(owner))


def test_the_papers_noise_of_the_gaussians_runs():
    (row,) = rows_of(read_departures()["25 Gaussians"])
    (scale,) = re.findall(r"`noise_scale=([\d.]+)`", row[4])
    run = {"n_steps": 2000, "n_chains": 2, "n_cycles": 2, "random_state": 0}
    ours = sample_mixture("cg", **run).samples
    papers = sample_mixture("cg", noise_scale=float(scale), **run).samples
    assert papers.shape == ours.shape
    assert not np.array_equal(papers, ours)


def test_the_authors_single_model_can_be_averaged():
    # "Any regressor with `predict_distribution` can take its place."
    single = BoostedEnsembleRegressor(
        ensemble="independent", n_members=1, temperature="posterior", n_trees=30, depth=2
    )
    pair = [("knn", EuclideanNeighborsRegressor()), ("cbu", single)]
    loc, scale = AveragingRegressor(pair, random_state=0).fit(X, Y).predict_distribution(FAR)
    assert np.isfinite(loc).all()
    assert (scale > 0.0).all()


def test_what_has_no_switch_says_so():
    for heading, text in read_departures().items():
        for row in rows_of(text):
            assert row[4] in ("none", "default") or "`" in row[4], heading
