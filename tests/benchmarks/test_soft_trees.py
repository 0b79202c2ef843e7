"""The soft trees benchmark's verdicts: wins, ties, densities of repeated values, foreign rows."""

import numpy as np
import pandas as pd
import pytest

from benchmarks.soft_trees_scores import foreign_rows
from benchmarks.soft_trees_tables import RIVAL, compare, verdict_row
from benchmarks.store import Store

FAMILY = ("VST const.", "VST linear")


def _results(ours, theirs, errors=1.0):
    results = {}
    for split, (mine, rival) in enumerate(zip(ours, theirs, strict=True)):
        for method, value, validation, rmse in (
            ("VST const.", -9.0, 0.1, 1.0),
            ("VST linear", mine, 0.2, errors),
            (RIVAL, rival, 0.3, 1.0),
        ):
            scores = {"log_likelihood": value, "rmse": rmse, "validation": validation}
            results[f"power/{split}/{method}"] = scores
    return results


@pytest.mark.parametrize(
    ("ours", "errors", "n_values", "word"),
    [
        ([1.0, 1.1, 0.9], 0.9, 1000, "above"),
        ([0.5, -0.4, 0.1], 0.9, 1000, "tied"),
        ([-1.0, -1.1, -0.9], 0.9, 1000, "below"),
        ([1.0, 1.1, 0.9], 1.1, 6, "above by repeated values"),
    ],
)
def test_the_leaf_of_validation_rows_is_compared_with_the_rival(ours, errors, n_values, word):
    results = _results(ours, [0.0, 0.0, 0.0], errors)
    found = compare(results, "power", FAMILY, n_values)
    assert (found.method, found.word) == ("VST linear", word)
    assert found.gain.mean == pytest.approx(np.mean(ours))
    row = verdict_row(results, {"power": n_values}, "VST")
    assert row.met is (word == "above")


def test_without_the_rival_there_is_no_verdict():
    mine = {k: v for k, v in _results([1.0], [0.0]).items() if RIVAL not in k}
    assert compare(mine, "power", FAMILY, 1000) is None
    assert verdict_row(mine, {"power": 1000}, "VST").met is None


@pytest.fixture
def data_dir(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(7.0 + 3.0 * rng.normal(size=(400, 5)), columns=list("abcde"))
    table.assign(target=0.0).to_csv(tmp_path / "protein.csv.gz", index=False)
    np.savez(tmp_path / "protein_splits.npz", test_0=np.arange(40))
    return tmp_path


def test_foreign_rows_have_the_scales_of_the_training_rows(data_dir):
    X = np.random.default_rng(1).normal([0.0, 100.0, -5.0], [1.0, 10.0, 0.1], (300, 3))
    foreign = foreign_rows(data_dir, "concrete", X, 400, 0)
    assert foreign.shape == (400, 3)
    # all 400 rows of the other set were taken, so their moments are those they were scaled to
    np.testing.assert_allclose(foreign.mean(axis=0), X.mean(axis=0), atol=1e-10)
    np.testing.assert_allclose(foreign.std(axis=0), X.std(axis=0))
    with pytest.raises(ValueError, match="too few features"):
        foreign_rows(data_dir, "concrete", np.zeros((3, 6)), 10, 0)


def test_results_are_kept_and_another_protocol_is_refused(tmp_path):
    path = tmp_path / "scores.json"
    Store(path, {"steps": 1}).put(Store.key("power", 0, "VST"), {"rmse": 0.5})
    assert Store(path, {"steps": 1}).results == {"power/0/VST": {"rmse": 0.5}}
    with pytest.raises(SystemExit, match="another protocol"):
        Store(path, {"steps": 2})
