"""Ten features, each cut at its median: what the protocol draws, and which scores tell it."""

import math
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.protocols.novelty import (
    SCORES,
    ProtocolSettings,
    make_linear,
    run_protocol,
    split_rows,
)
from gbuq_core.errors import InvalidParameter

# A fifth of the paper's rows, a feature that matters and one that does not, each half once.
FEW = ProtocolSettings(
    rows=2000, trees=30, leaf_model="basic", experiments=((0, 0), (9, 1)), n_jobs=1
)


@pytest.fixture(scope="module")
def run():
    return run_protocol(FEW)


def test_novelty_tells_both_kinds_of_features_and_beats_isolation(run):
    # 500 training rows instead of 2,500 leave more noise in the covariances of the leaves.
    assert run.auroc[SCORES.index("novelty")].min() > 0.85
    assert run.mean("novelty") > run.mean("isolation") + 0.1


def test_conditional_novelty_tells_only_features_that_matter(run):
    matters, matters_not = run.auroc[SCORES.index("conditional_novelty")]
    assert matters > 0.7
    # an AUROC of chance has a standard error of 0.015 with 500 and 1,000 rows: four of them, and
    # some for the trees that do cut the other feature
    assert abs(matters_not - 0.5) < 0.1


@pytest.mark.parametrize("law", ["uniform", "normal"])
def test_the_rows_follow_their_law(law):
    X, y = make_linear(20_000, 6, 3, law, 1)
    # standard errors 1 / sqrt(n) of a mean and at most that of a std: five of them
    assert np.abs(X.mean(axis=0)).max() < 5.0 / math.sqrt(20_000)
    assert np.abs(X.std(axis=0) - 1.0).max() < 5.0 / math.sqrt(20_000)
    weights, left_over = np.linalg.lstsq(X, y, rcond=None)[:2]
    assert np.all((weights[:3] > 9.0) & (weights[:3] < 101.0))
    assert np.abs(weights[3:]).max() < 5.0 * 10.0 / math.sqrt(20_000)
    assert abs(math.sqrt(left_over[0] / 20_000) - 10.0) < 0.3
    assert law == "normal" or np.abs(X).max() <= math.sqrt(3.0)


def test_every_row_is_on_one_side_of_the_median_and_used_once():
    X, _ = make_linear(1001, 4, 2, "normal", 0)
    for half in (0, 1):
        train, known, foreign = split_rows(X, 2, half, 5)
        assert np.array_equal(np.sort(np.concatenate([train, known, foreign])), np.arange(1001))
        inside = np.concatenate([train, known])
        assert abs(len(train) - len(known)) <= 1
        low, high = (foreign, inside) if half else (inside, foreign)
        assert X[low, 2].max() <= np.median(X[:, 2]) < X[high, 2].min()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"rows": 10}, "rows must be"),
        ({"relevant": 11}, "relevant must be"),
        ({"law": "cauchy"}, "law must be one of"),
        ({"experiments": ()}, "experiments must be"),
        ({"experiments": ((10, 0),)}, "experiments must be"),
        ({"leaf_model": "deep"}, "leaf_model"),
    ],
)
def test_impossible_settings_are_refused_in_a_sentence(wrong, words):
    with pytest.raises(InvalidParameter, match=words):
        run_protocol(replace(ProtocolSettings(rows=300, trees=2), **wrong))
