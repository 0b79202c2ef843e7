"""The MACAU benchmark on little data: its twin, its rays, its tables and what it keeps."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from benchmarks import macau_heteroscedastic, macau_novelty, macau_scores, macau_speed, macau_tables
from benchmarks.macau_twin import TwinAnswer
from benchmarks.store import Store
from gbuq_core import MacauClassifier, MacauRegressor
from gbuq_core.experiments.heteroscedastic.plan import HeteroscedasticSettings
from gbuq_core.experiments.novelty.protocol import SCORES


@pytest.mark.parametrize("estimator", [MacauRegressor, MacauClassifier])
def test_the_twin_is_held_to_ours(estimator, rng):
    X = rng.normal(size=(120, 3))
    y = X[:, 0] * 10.0 + X[:, 1] + 2.0 * rng.normal(size=120)
    if estimator is MacauClassifier:
        y = (y > 0).astype(int)
    model = estimator(n_trees=3, max_leaves=4, min_child_samples=15, random_state=0, n_jobs=1)
    # A bar of 0 s is never met, and one of 1000 s always.
    fit, scored = macau_speed.with_twin("small", model, X, y, X[:9] + 0.1, 1, (0.0, 1e3), n_trees=2)
    assert (fit.met, scored.met) == (False, True)
    assert fit.numbers["worst"] <= macau_speed.CLOSE
    assert fit.numbers["twin_cpu"] > 0


def test_a_twin_that_differs_is_an_error(rng):
    X = rng.normal(size=(60, 2))
    model = MacauRegressor(n_trees=2, max_leaves=2, random_state=0, n_jobs=1).fit(X, 9 * X[:, 0])
    scale = model.target_scale_
    members = (model.predict_members(X) - [scale.centre, 0.0]) / [scale.spread, scale.spread**2]
    mean, variance = np.moveaxis(members.transpose(1, 0, 2), 2, 0)
    nothing = np.zeros_like(mean)
    right = TwinAnswer(mean, np.sqrt(variance), nothing, nothing, nothing)
    assert macau_speed.compare(model, X, right) == 0.0
    with pytest.raises(RuntimeError, match="differs from the twin"):
        macau_speed.compare(model, X, right._replace(mean=mean + 0.01))


def test_rays_lead_out_of_the_box_of_the_rows(rng):
    X = rng.normal([5.0, -100.0, 0.0], [1.0, 30.0, 0.01], (200, 3))
    rays = macau_novelty.random_rays(X, 20, 0)
    low, high, places = X.min(axis=0), X.max(axis=0), rays.X
    outside = (places < low) | (places > high)
    assert outside.any(axis=2).all()
    # Steps along a ray are equal, and as long as they say in the features' stds.
    steps = np.diff(rays.X, axis=1) / X.std(axis=0)
    np.testing.assert_allclose(np.linalg.norm(steps, axis=2), np.diff(rays.distance)[0])


@pytest.mark.parametrize(("tail", "least", "rising"), [("rise", 1.0, 1.0), ("clip", 0.0, 0.0)])
def test_rays_are_ranked(tail, least, rising):
    class Far(SimpleNamespace):
        def set_params(self, tail):
            self.tail = tail

        def score_novelty(self, X):
            away = np.abs(X[:, 0] - 5.0)
            return SimpleNamespace(novelty=away if self.tail == "rise" else np.full(len(X), 5.2))

    found, share = macau_novelty.rank_rays(Far(), macau_novelty.line_rays(), tail)
    assert found.tolist() == pytest.approx([least, least])
    assert share == rising


def test_the_protocol_is_summed_up(capsys):
    results = {
        f"protocol/{i}/auroc": {
            **dict.fromkeys(SCORES, 0.5 + 0.1 * i), "novelty": 1.0, "relevant": i == 0,
        }
        for i in range(3)
    }  # fmt: skip
    rows = {row.what.split()[-1]: row for row in macau_novelty._protocol_rows(results)}
    assert rows["novelty"].met
    assert rows["conditional_novelty"].met  # 0.6 beside 0.61
    assert not rows["isolation"].met
    # relevant: the first experiment; irrelevant: the mean of 0.6 and 0.7
    assert "| 0.500 | 0.650 |" in capsys.readouterr().out


def test_the_one_dimensional_table_is_kept(tmp_path, capsys):
    path = tmp_path / "table1.json"
    settings = HeteroscedasticSettings(
        rows=300, trees=5, subsample=0.5, test_rows=200, ood_rows=200
    )
    store = Store(path, {})
    for seed in (0, 1):
        macau_heteroscedastic._fill(store, "1-D", replace(settings, seed=seed), "macau_basic")
    assert len(capsys.readouterr().out.splitlines()) == 2
    again = Store(path, {})
    macau_heteroscedastic._fill(again, "1-D", settings, "macau_basic")
    assert capsys.readouterr().out == ""  # nothing was measured again
    crps = macau_tables.crps_lines(again.results)
    assert len(crps) == 4  # title, head, rule, the only method
    found = [store.results[f"1-D/{seed}/macau_basic"]["crps"] for seed in (0, 1)]
    assert f"{np.mean(found):.3f} ({np.std(found, ddof=1):.3f}) | 0.29 |" in crps[-1]
    assert any("/ 0.2 |" in line for line in macau_tables.auroc_lines(again.results))


def test_methods_are_scored_and_ranked_on_a_set(tmp_path, capsys, rng):
    X = rng.normal(size=(160, 3))
    table = pd.DataFrame(X, columns=list("abc"))
    table.assign(target=10.0 * X[:, 0] + rng.normal(size=160)).to_csv(
        tmp_path / "power.csv.gz", index=False
    )
    np.savez(tmp_path / "power_splits.npz", test_0=np.arange(40))
    found = {
        f"power/0/{method}": macau_scores.measure(tmp_path, "power", 0, method)
        for method in ("MACAU linear", "random forest")
    }
    # The target is linear with a noise of std 1, whose own CRPS is 0.56.
    assert 0.4 < found["power/0/MACAU linear"]["crps"] < found["power/0/random forest"]["crps"]
    lines = macau_scores.table(found, ["power"])
    assert any(line.startswith("| MACAU linear") and line.endswith("| 1.00 |") for line in lines)
    row = macau_scores.verdict_row(found, ["power"], "crps")
    assert row.measured.startswith("1 of 1 sets: power first")
    assert macau_scores.verdict_row({}, ["power"], "crps").measured == "not measured"
