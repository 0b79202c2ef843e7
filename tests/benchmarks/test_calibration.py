"""The benchmark of calibration: its rules on made-up stages, its bars, and what it keeps."""

import importlib
import pkgutil

import numpy as np
import pytest

import benchmarks
from benchmarks import calibration
from benchmarks.store import Store
from gbuq_core.calibration import Stages


@pytest.mark.parametrize(
    "name", [module.name for module in pkgutil.iter_modules(benchmarks.__path__)]
)
def test_every_benchmark_imports(name):
    if name == "ibug_pgbm":
        pytest.importorskip("pgbm")
    if name == "soft_trees_jax":
        pytest.importorskip("jax")
    assert importlib.import_module(f"benchmarks.{name}").__doc__


def stages(rng, n=400):
    """Three stages of a growing model whose std is half of what it should be."""
    y = rng.normal(size=n)
    return Stages(
        n_trees=np.array([5, 10, 20]),
        mean=np.array([[2.0], [0.0], [0.1]]) + np.zeros((3, n)),
        knowledge=np.full((3, n), 0.01),
        data=np.array([[1.0], [0.25], [0.01]]) + np.zeros((3, n)),
        y=y,
        for_mean=np.ones(3, bool),
    )


def test_every_rule_calibrates_what_all_trees_do_not(rng):
    held, test = stages(rng), stages(rng)
    laws = calibration.apply_rules(held, test)
    coverage = {name: calibration.score(law, test.y, 0.0).coverage for name, law in laws.items()}
    assert coverage.pop("all trees") < 0.3
    coverage.pop("early stopping")
    coverage["isotonic"] = calibration._isotonic_coverage(held, test)
    for name, share in coverage.items():
        # Both sets have 400 rows: four standard errors of 0.9 of either.
        assert abs(share - 0.9) < 4 * np.sqrt(2 * 0.09 / 400), name


def test_results_are_kept_and_judged(tmp_path):
    store = Store(tmp_path / "kept.json", {"version": 1})
    calibration.run_scores(store, None, ["diabetes"], 1, ["all trees"])
    ours = {**store.results["diabetes/0/all trees"], "coverage": 0.9, "nll": 5.4, "crps": 30.0}
    store.put("diabetes/0/two clocks", ours)
    rows = {row.what: row for row in calibration.score_rows(store, ["diabetes"], 1)}
    assert rows["diabetes: NLL by default"].met
    assert rows["diabetes: CRPS against all trees"].met
    ours["nll"] = 5.6
    store.put("diabetes/0/two clocks", ours)
    rows = {row.what: row for row in calibration.score_rows(store, ["diabetes"], 1)}
    assert not rows["diabetes: NLL by default"].met
    assert Store(tmp_path / "kept.json", {"version": 1}).results == store.results
