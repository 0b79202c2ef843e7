"""The methods of the score benchmark on one split: each predicts a mean and a std of every row.

What has hyperparameters besides k is tuned by validation RMSE, as in the paper; k, the calibration
and NGBoost's number of trees are chosen by the score that is reported, each time anew.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.ibug_data import SCORES, Rows
from benchmarks.ibug_models import GRIDS, TREES, Trained, retrain, tune_model
from benchmarks.ibug_pgbm import LEAVES
from benchmarks.tables.protocol import Missing
from gbuq_core import BoostedEnsembleRegressor, IBUGRegressor, decompose_regression, methods
from gbuq_core.baselines import average_distributions
from gbuq_core.ibug import Neighborhood
from gbuq_core.metrics import (
    check_score,
    crps_gaussian,
    mace,
    mean_interval_score,
    nll_gaussian,
    rmse,
    sharpness,
)
from gbuq_core.metrics.neighbour_tuning import running_std, smallest_positive, tune_neighbors
from gbuq_core.metrics.scale_calibration import calibrate_scale

SCORINGS = ("crps", "nll")
_RECORDS = {
    key: methods.METHODS[key]
    for key in ("ibug", "virtual_sglb", "knn", "knn_cb", "ngboost", "xbart")
}
SGLB_GRID = ((4, 0.1), (6, 0.1), (8, 0.1), (6, 0.3))  # depth, learning rate
NGBOOST_TREES, NGBOOST_RATE, NGBOOST_ROWS = 500, 0.04, 4000
XBART_TREES = (10, 50, 100, 200)  # what the paper tunes BART with
PGBM_PYTHON = "GBUQ_PGBM_PYTHON"
_TINIEST = 1e-15

Scales = dict[str, np.ndarray]


class Predicted(NamedTuple):
    """Test rows' means for each score of `SCORES`, and stds for each of `SCORINGS`, (n_test,) each.

    settings : what was chosen; fit_seconds, predict_seconds : processor time of tuning and training
    together, and of predicting the test rows; raw : the stds before their calibration, where a
    method tells them.
    """

    loc: Scales
    scale: Scales
    settings: dict[str, Any]
    fit_seconds: float
    predict_seconds: float
    raw: Scales | None = None


class ScaleChoice(NamedTuple):
    """``gamma * max(std of k neighbours, least) + delta``."""

    k: int
    least: float
    gamma: float
    delta: float

    def apply(self, near: np.ndarray) -> np.ndarray:
        """Stds (n_rows,) from the neighbours' targets (n_rows, k or more)."""
        return self.gamma * self.spread(near) + self.delta

    def spread(self, near: np.ndarray) -> np.ndarray:
        """The same before calibration."""
        return np.maximum(running_std(near, [self.k])[:, 0], self.least)


def choose_scale(y: np.ndarray, near: Neighborhood, scoring: str) -> ScaleChoice:
    """What ``IBUGRegressor(scoring=scoring)`` would choose on these validation rows."""
    tuning = tune_neighbors(y, near.loc, near.targets, scoring)
    k = int(tuning.n_neighbors[tuning.best])
    std = running_std(near.targets, [k])[:, 0]
    least = smallest_positive(std)
    fitted = calibrate_scale(y, near.loc, np.maximum(std, least), scoring)
    return ScaleChoice(k, least, fitted.gamma, fitted.delta)


def score(parts: Rows, predicted: Predicted) -> dict[str, float]:
    """Scores on the test rows: CRPS, NLL and RMSE of what was tuned for each, others by CRPS."""
    y, loc, scale = parts.y_test, predicted.loc, predicted.scale
    scores = {
        "crps": crps_gaussian(y, loc["crps"], scale["crps"]),
        "nll": nll_gaussian(y, loc["nll"], scale["nll"]),
        "rmse": rmse(y, loc["rmse"]),
    }
    scores |= {
        name: measure(y, loc["crps"], scale["crps"])
        for name, measure in (
            ("check", check_score), ("interval", mean_interval_score), ("mace", mace)
        )
    }  # fmt: skip
    scores["sharpness"] = sharpness(scale["crps"])
    if predicted.raw is not None:
        scores["crps_raw"] = crps_gaussian(y, loc["crps"], predicted.raw["crps"])
        scores["nll_raw"] = nll_gaussian(y, loc["nll"], predicted.raw["nll"])
    return scores


class SplitMethods:
    """All methods on one split; models that several of them need are trained once."""

    def __init__(
        self,
        parts: Rows,
        pgbm_python: Path | None,
        trees: tuple[int, ...] = TREES,
        known: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        """``known`` holds settings by method, chosen on another split, in place of the grids."""
        self.parts = parts
        self.pgbm_python = pgbm_python
        self.trees = trees
        self.known = known or {}
        self._models: dict[str, Trained] = {}
        self._ibug: dict[str, Predicted] = {}

    def model(self, library: str) -> Trained:
        """The library's tuned models."""
        if library not in self._models:
            settings = self.known.get(IBUG_ON[library])
            if settings is None:
                self._models[library] = tune_model(library, self.parts, self.trees)
            else:
                knobs = {name: settings[name] for name in ("n_trees", *GRIDS[library][0])}
                self._models[library] = retrain(library, self.parts, knobs)
        return self._models[library]

    def ibug(self, library: str) -> Predicted:
        """IBUG on a library's model; one search serves both scores."""
        if library not in self._ibug:
            self._ibug[library] = self._find_ibug(library)
        return self._ibug[library]

    def _find_ibug(self, library: str) -> Predicted:
        p, trained = self.parts, self.model(library)
        began = time.process_time()
        fitted = fit_ibug(trained, p)
        near = fitted.find_validation()
        chosen = {s: choose_scale(p.y_val, near, s) for s in SCORINGS}
        seconds = trained.seconds + time.process_time() - began
        around = fitted.find_neighborhood(p.X_test, max(each.k for each in chosen.values()))
        scale = {s: each.apply(around.targets) for s, each in chosen.items()}
        raw = {s: each.spread(around.targets) for s, each in chosen.items()}
        fitted.find_neighborhood(p.X_test[:8])  # compiled by now
        began = time.process_time()
        fitted.predict_distribution(p.X_test)
        predict_seconds = time.process_time() - began
        settings = {**trained.settings, **{s: each._asdict() for s, each in chosen.items()}}
        return Predicted(same_loc(around.loc), scale, settings, seconds, predict_seconds, raw)

    @cached_property
    def sglb(self) -> Predicted:
        """The virtual ensemble of this project, calibrated."""
        p, began = self.parts, time.process_time()
        best: tuple[float, tuple[int, float], int, Any] | None = None
        known = self.known.get("virtual_sglb")
        grid, trees = (SGLB_GRID, self.trees) if known is None else _one_point(known, "knobs")
        for knobs in grid:
            model = _make_sglb(p.seed, knobs, trees[-1]).fit(p.X_fit, p.y_fit)
            for n_trees in trees:
                loc, scale = virtual_ensemble(model, p.X_val, n_trees)
                error = rmse(p.y_val, loc)
                if best is None or error < best[0]:
                    best = (error, knobs, n_trees, (loc, scale))
        assert best is not None
        _, knobs, n_trees, (loc, scale) = best
        fitted = {s: calibrate_scale(p.y_val, loc, scale, s) for s in SCORINGS}
        model = _make_sglb(p.seed, knobs, n_trees).fit(p.X_all, p.y_all)
        seconds, began = time.process_time() - began, time.process_time()
        loc, scale = model.predict_distribution(p.X_test)
        predict_seconds = time.process_time() - began
        settings = {"knobs": knobs, "n_trees": n_trees, **{s: fitted[s][:2] for s in SCORINGS}}
        scales = {s: fitted[s].apply(scale) for s in SCORINGS}
        raw = dict.fromkeys(SCORINGS, scale)
        return Predicted(same_loc(loc), scales, settings, seconds, predict_seconds, raw)

    def average(self) -> Predicted:
        """IBUG+CBU: the mean of both, each calibrated before."""
        ibug, sglb = both = self.ibug("catboost"), self.sglb
        scales, raw = {}, {}
        for s in SCORINGS:
            pairs = [(each.loc[s], each.scale[s]) for each in both]
            loc, scales[s] = average_distributions(*pairs)
            raw[s] = average_distributions(*((each.loc[s], each.raw[s]) for each in both)).scale
        return Predicted(
            same_loc(loc), scales, {}, ibug.fit_seconds + sglb.fit_seconds,
            ibug.predict_seconds + sglb.predict_seconds, raw,
        )  # fmt: skip

    def euclidean(self, with_model: bool) -> Predicted:
        """kNN, or kNN-CB with CatBoost's mean and its most important features."""
        p = self.parts
        base = self.model("catboost") if with_model else None
        record = _RECORDS["knn_cb" if with_model else "knn"]
        began = time.process_time()
        locs, scales, settings = {}, {}, {}
        for s in SCORINGS:
            model = record.builder().make(base_model=base, scoring=s, random_state=p.seed)
            model.fit(p.X_fit, p.y_fit, p.X_val, p.y_val)
            mid = time.process_time()
            locs[s], scales[s] = model.predict_distribution(p.X_test)
            predict_seconds = time.process_time() - mid
            settings[s] = [model.n_neighbors_, model.n_mean_neighbors_, model.gamma_, model.delta_]
        locs["rmse"] = locs["nll"]
        seconds = time.process_time() - began - 2 * predict_seconds
        seconds += base.seconds if base is not None else 0.0
        return Predicted(locs, scales, settings, seconds, predict_seconds)

    def ngboost(self) -> Predicted:
        """NGBoost, its number of trees chosen by each of the three scores."""
        p, began = self.parts, time.process_time()
        model = _fit_ngboost(p.X_fit, p.y_fit, min(NGBOOST_TREES, self.trees[-1]), p.seed)
        staged = [(d.loc, d.scale) for d in model.staged_pred_dist(p.X_val)]
        of_score = {
            "crps": [crps_gaussian(p.y_val, *d) for d in staged],
            "nll": [nll_gaussian(p.y_val, *d) for d in staged],
            "rmse": [rmse(p.y_val, d[0]) for d in staged],
        }
        trees = {s: int(np.argmin(values)) + 1 for s, values in of_score.items()}
        fitted = {s: calibrate_scale(p.y_val, *staged[trees[s] - 1], s) for s in SCORINGS}
        model = _fit_ngboost(p.X_all, p.y_all, max(trees.values()), p.seed)
        seconds, began = time.process_time() - began, time.process_time()
        laws = {s: model.pred_dist(p.X_test, max_iter=trees[s]) for s in SCORES}
        predict_seconds = (time.process_time() - began) / len(SCORES)
        raw = {s: np.asarray(laws[s].scale) for s in SCORINGS}
        scales = {s: fitted[s].apply(raw[s]) for s in SCORINGS}
        locs = {s: np.asarray(laws[s].loc) for s in SCORES}
        settings = {"n_trees": trees, **{s: fitted[s][:2] for s in SCORINGS}}
        return Predicted(locs, scales, settings, seconds, predict_seconds, raw)

    def xbart(self) -> Predicted:
        """XBART in the place of BART, its number of trees chosen by validation RMSE."""
        record = _RECORDS["xbart"]
        if record.missing():
            raise Missing(record.missing())
        p, began = self.parts, time.process_time()
        known, best, chosen = self.known.get("xbart"), np.inf, 0
        tried = [n for n in XBART_TREES if n <= self.trees[-1]]
        for n_trees in tried if known is None else (int(known["n_trees"]),):
            model = record.make(n_trees=n_trees, random_state=p.seed).fit(p.X_fit, p.y_fit)
            loc, scale = model.predict_distribution(p.X_val)
            error = rmse(p.y_val, loc)
            if error < best:
                best, chosen = error, n_trees
                fitted = {s: calibrate_scale(p.y_val, loc, scale, s) for s in SCORINGS}
        model = record.make(n_trees=chosen, random_state=p.seed).fit(p.X_all, p.y_all)
        seconds, began = time.process_time() - began, time.process_time()
        loc, scale = model.predict_distribution(p.X_test)
        predict_seconds = time.process_time() - began
        settings = {"n_trees": chosen, **{s: fitted[s][:2] for s in SCORINGS}}
        scales = {s: fitted[s].apply(scale) for s in SCORINGS}
        raw = dict.fromkeys(SCORINGS, scale)
        return Predicted(same_loc(loc), scales, settings, seconds, predict_seconds, raw)

    def pgbm(self) -> Predicted:
        """PGBM, calibrated, in the interpreter that has it."""
        if self.pgbm_python is None:
            raise Missing(f"PGBM is not installed: set {PGBM_PYTHON} to an interpreter with it.")
        check_pgbm(self.pgbm_python)
        p, known = self.parts, self.known.get("pgbm")
        leaves, trees = (LEAVES, self.trees) if known is None else _one_point(known, "leaves")
        with tempfile.TemporaryDirectory() as folder:
            rows, results = Path(folder, "rows.npz"), Path(folder, "results.npz")
            np.savez(
                rows, X_fit=p.X_fit, y_fit=p.y_fit, X_val=p.X_val, y_val=p.y_val, X_test=p.X_test,
                seed=p.seed, leaves=leaves, trees=trees,
            )  # fmt: skip
            script = Path(__file__).with_name("ibug_pgbm.py")
            # More threads than free cores, and OpenMP's wait for each other burns minutes.
            environment = {**os.environ, "OMP_NUM_THREADS": "1"}
            command = [self.pgbm_python, script, rows, results]
            subprocess.run(command, check=True, env=environment)
            with np.load(results, allow_pickle=False) as stored:
                r = {name: stored[name] for name in stored.files}
        scale = np.maximum(r["val_scale"], _TINIEST)
        fitted = {s: calibrate_scale(p.y_val, r["val_loc"], scale, s) for s in SCORINGS}
        raw = dict.fromkeys(SCORINGS, np.maximum(r["test_scale"], _TINIEST))
        scales = {s: fitted[s].apply(raw[s]) for s in SCORINGS}
        settings = {"leaves": int(r["leaves"]), "n_trees": int(r["n_trees"])}
        settings |= {s: fitted[s][:2] for s in SCORINGS}
        seconds = float(r["fit_seconds"]), float(r["predict_seconds"])
        return Predicted(same_loc(r["test_loc"]), scales, settings, *seconds, raw)


IBUG_ON = {"catboost": "ibug", "lightgbm": "ibug:lightgbm", "xgboost": "ibug:xgboost"}
METHODS: dict[str, Callable[[SplitMethods], Predicted]] = {
    "ibug": lambda split: split.ibug("catboost"),
    "virtual_sglb": lambda split: split.sglb,
    "ibug_cbu": lambda split: split.average(),
    "ibug:lightgbm": lambda split: split.ibug("lightgbm"),
    "ibug:xgboost": lambda split: split.ibug("xgboost"),
    "ngboost": lambda split: split.ngboost(),
    "pgbm": lambda split: split.pgbm(),
    "knn": lambda split: split.euclidean(False),
    "knn_cb": lambda split: split.euclidean(True),
    "xbart": lambda split: split.xbart(),
}


def check_pgbm(python: Path) -> None:
    """Raise `Missing` where an interpreter cannot import PGBM."""
    try:
        tried = subprocess.run([python, "-c", "import pgbm.sklearn"], capture_output=True)
    except OSError:
        raise Missing(f"PGBM is not installed: {python} is no interpreter.") from None
    if tried.returncode != 0:
        raise Missing(f"PGBM is not installed: {python} cannot import it.")


def fit_ibug(trained: Trained, parts: Rows, **choices: Any) -> IBUGRegressor:
    """IBUG tuned on the validation part with models that are trained already."""
    model = IBUGRegressor(trained, delta_unit=1.0, n_jobs=1, random_state=parts.seed, **choices)
    return model.fit(parts.X_fit, parts.y_fit, parts.X_val, parts.y_val)


def same_loc(loc: np.ndarray) -> Scales:
    """One mean for all scores."""
    return dict.fromkeys(SCORES, np.asarray(loc))


def virtual_ensemble(model: Any, X: np.ndarray, n_trees: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean and std of the virtual ensemble that the first ``n_trees`` trees of a model make."""
    stages = model.member_trees(50, 0.0)
    members = model.predict_members(X, truncation_step=50, truncation_start=0.0)
    chosen = members[(stages > n_trees / 2) & (stages <= n_trees)]
    means, variances = chosen[..., 0], chosen[..., 1]
    return means.mean(axis=0), np.sqrt(decompose_regression(means, variances).total)


def _one_point(settings: Mapping[str, Any], knob: str) -> tuple[list[Any], tuple[int]]:
    """A grid of one point, and its number of trees."""
    return [settings[knob]], (int(settings["n_trees"]),)


def _make_sglb(seed: int, knobs: tuple[int, float], n_trees: int) -> BoostedEnsembleRegressor:
    """As the paper's CatBoost: 254 borders, and the target in its own unit.

    A standardised target makes the noise's gradients as large as the mean's, and then they choose
    more of the splits: on power the RMSE is 3.4 in place of 3.0, with CatBoost too.
    """
    depth, learning_rate = knobs
    model: BoostedEnsembleRegressor = _RECORDS["virtual_sglb"].make(
        n_trees=n_trees, depth=depth, learning_rate=learning_rate, n_jobs=1, random_state=seed
    )
    return model.set_params(max_bins=255, standardize_target=False)


def _fit_ngboost(X: np.ndarray, y: np.ndarray, n_trees: int, seed: int) -> Any:
    """NGBoost; of more than 4,000 rows each tree sees a random 4,000 (the paper bags, too)."""
    missing = _RECORDS["ngboost"].missing()
    if missing:
        raise Missing(missing)
    import ngboost

    share = min(1.0, NGBOOST_ROWS / len(y))
    model = ngboost.NGBRegressor(
        n_estimators=n_trees, learning_rate=NGBOOST_RATE, minibatch_frac=share, verbose=False,
        random_state=seed,
    )  # fmt: skip
    return model.fit(X, y)
