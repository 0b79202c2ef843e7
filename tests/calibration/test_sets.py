"""Prediction sets: coverage on average, by class and by group, never empty, and what is refused."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from gbuq_core import ConformalClassifier
from gbuq_core.calibration import PredictionSets
from gbuq_core.errors import GbuqError

LEVEL = 0.9


def _rows(seed, n, shares=(0.8, 0.15, 0.05)):
    """Probabilities as a model states them, and classes drawn by other ones."""
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(4.0 * np.asarray(shares), size=n)
    codes = (truth.cumsum(axis=1) < rng.uniform(size=(n, 1))).sum(axis=1)
    stated = truth ** rng.uniform(0.5, 2.0, size=(n, 1))  # too bold, or too shy
    return stated / stated.sum(axis=1, keepdims=True), codes, rng.integers(0, 2, n)


@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize("by_group", [False, True])
def test_the_level_holds_where_it_is_asked_for(by_class, by_group):
    held, codes, groups = _rows(0, 4000)
    new, new_codes, new_groups = _rows(1, 4000)
    given = (groups, new_groups) if by_group else (None, None)
    sets = PredictionSets(held, codes, by_class, given[0]).contains(new, LEVEL, given[1])
    right = sets[np.arange(len(new)), new_codes]
    strata = np.zeros(len(new), int)
    if by_class:
        strata = strata + new_codes
    if by_group:
        strata = strata + 3 * new_groups
    for stratum in np.unique(strata):
        rows = strata == stratum
        # The likeliest class may lift it; below, four deviations of both counts.
        n = rows.sum()
        assert right[rows].mean() > LEVEL - 4.0 * np.sqrt(2.0 * LEVEL * (1.0 - LEVEL) / n)


def test_no_set_is_empty_and_a_higher_level_only_adds():
    held, codes, _ = _rows(2, 300)
    sets = PredictionSets(held, codes)
    new = _rows(3, 200)[0]
    small, large = sets.contains(new, 0.3), sets.contains(new, 0.95)
    assert small[np.arange(200), new.argmax(axis=1)].all()
    assert (large | ~small).all()
    assert large.sum() > small.sum()
    assert sets.contains(new, 1.0).all()  # no finite number of rows promises it
    assert not sets.thresholds(0.999).any()


def test_a_naive_twin_has_the_same_threshold():
    held, codes, _ = _rows(4, 57)
    p = held[np.arange(57), codes]
    least = PredictionSets(held, codes).thresholds(0.8)[0]
    assert (p >= least).sum() == np.ceil(58 * 0.8)


def test_any_classifier_and_names_of_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = np.where(X[:, 0] + rng.normal(size=600) > 0.0, "yes", "no")
    model = ConformalClassifier(LogisticRegression(), random_state=0).fit(X[:400], y[:400])
    sets = model.predict_set(X[400:], 0.9)
    right = sets[np.arange(200), (y[400:] == "yes").astype(int)].mean()
    assert 0.82 < right < 0.98  # three and a half deviations of 200 rows
    assert 1.0 < sets.sum(axis=1).mean() < 2.0
    assert (model.predict(X[400:]) == y[400:]).mean() > 0.65


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: PredictionSets([[0.5, 0.5]], [0]).contains([[0.5, 0.5]], 2.0), "level"),
        (lambda: PredictionSets([[0.5, 0.5]], [0], groups=[1, 2]), "groups of 2"),
        (lambda: PredictionSets([[2.0, 0.5]], [0]), "probabilities"),
        (
            lambda: ConformalClassifier(LogisticRegression()).fit([[0.0], [1.0], [2.0]], [0, 0, 1]),
            "has one row",
        ),
    ],
)
def test_what_is_refused(make, words):
    with pytest.raises(GbuqError, match=words):
        make()
