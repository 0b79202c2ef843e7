"""Whether a plain `fit` gives numbers that hold: coverage, NLL and CRPS on UCI sets.

``scores`` compares BoostedEnsembleRegressor as it comes (two clocks, Student t) with all trees,
early stopping, CatBoost's RMSEWithUncertainty and NGBoost; these two stop early by their own
libraries, on a fifth of the training rows. ``study`` is what the default rule was chosen by:
several ways to calibrate the same models, at two learning rates and several weights of the mean.
``cost`` times the choosing. Every (set, split, method) is written at once, so a run can go on.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.stats import norm
from sklearn.datasets import load_diabetes
from sklearn.isotonic import IsotonicRegression
from sklearn.model_selection import ShuffleSplit

from benchmarks.report import Row, Split, load_split, make_parser, report
from benchmarks.store import Store
from gbuq_core import BoostedEnsembleRegressor
from gbuq_core.boosting.stopping import members_of_a_fold, regression_stages
from gbuq_core.calibration import Clocks, Stages, choose_clocks
from gbuq_core.calibration.clocks import join_stages, student_nll
from gbuq_core.calibration.splits import make_splits
from gbuq_core.distribution import Distribution, NormalDistribution
from gbuq_core.experiments.two_clocks.fit import clocks_of_ways, law_of, stage_of

SETS = ("boston", "concrete", "energy", "power", "wine", "protein", "diabetes")
METHODS = ("two clocks", "all trees", "early", "CatBoost", "NGBoost")
NLL_BARS = dict(zip(SETS, (2.32, 2.72, 0.65, 2.58, 0.84, 2.60, 5.52), strict=True))
# Malinin et al. (2021), table 2: the best of their ensembles.
PAPER_NLL = dict(zip(SETS[:6], (2.46, 3.05, 0.70, 2.66, 0.92, 2.61), strict=True))
LOWEST, HIGHEST, MEAN_GAP = 0.86, 0.97, 0.03
BETTER_CRPS = ("wine", "protein", "diabetes")
MOST_COST = 2.2
STUDY_SETS = ("boston", "concrete", "energy", "wine", "diabetes")
WEIGHTS, RATES = (1.0, 10.0, 100.0, 1000.0), (0.03, 0.1)
_SECTIONS = ["scores", "study", "cost"]
_DEFAULT_SPLITS = 5


class Scores(NamedTuple):
    """Of one method on one split: coverage of nominal 90 %, nats, units of y, seconds."""

    coverage: float
    nll: float
    crps: float
    rmse: float
    seconds: float


def load(data_dir: Path, name: str, split: int) -> Split:
    """A split of a UCI set, or of the diabetes table that scikit-learn brings along."""
    if name != "diabetes":
        return load_split(data_dir, name, split)
    X, y = load_diabetes(return_X_y=True)
    every = list(ShuffleSplit(split + 1, test_size=0.1, random_state=0).split(X))
    train, test = every[split]
    return Split(X[train], y[train], X[test], y[test])


def score(law: Distribution, y: np.ndarray, seconds: float) -> Scores:
    """What a predicted law is worth on test rows."""
    low, high = law.interval(0.9)
    return Scores(
        coverage=float(np.mean((y >= low) & (y <= high))),
        nll=-float(law.logpdf(y).mean()),
        crps=float(law.crps(y).mean()),
        rmse=float(np.sqrt(np.mean((y - law.loc) ** 2))),
        seconds=seconds,
    )


def fit_own(data: Split, seed: int, **knobs: Any) -> tuple[Distribution, dict[str, float]]:
    """One of ours, with what its clocks chose."""
    model = BoostedEnsembleRegressor(random_state=seed, **knobs).fit(data.X_train, data.y_train)
    clocks = model.clocks_
    chosen = {} if clocks is None else {
        "mean_trees": clocks.mean_trees,
        "scale_trees": clocks.scale_trees,
        "factor": clocks.factor,
        "df": clocks.df,
    }  # fmt: skip
    return model.predict_distribution(data.X_test), chosen


def fit_catboost(data: Split, seed: int) -> Distribution:
    """CatBoost as its users have it: 1000 trees at most, stopped by its own loss on a fifth."""
    import catboost

    fitted, held = _fifth(len(data.y_train), seed)
    model = catboost.CatBoostRegressor(
        loss_function="RMSEWithUncertainty", iterations=1000, early_stopping_rounds=50,
        random_seed=seed, verbose=False, allow_writing_files=False,
    )  # fmt: skip
    X, y = data.X_train, data.y_train
    model.fit(X[fitted], y[fitted], eval_set=(X[held], y[held]))
    loc, variance = model.predict(data.X_test).T
    return NormalDistribution(loc, np.sqrt(variance))


def fit_ngboost(data: Split, seed: int) -> Distribution:
    """NGBoost likewise: 2000 iterations at most, at its own rate of 0.01."""
    from ngboost import NGBRegressor

    fitted, held = _fifth(len(data.y_train), seed)
    X, y = data.X_train, data.y_train
    # Half the rows an iteration on large sets, where all of them take hours.
    share = 1.0 if len(y) < 5000 else 0.5
    model = NGBRegressor(
        n_estimators=2000, verbose=False, random_state=seed, minibatch_frac=share,
    )  # fmt: skip
    model.fit(X[fitted], y[fitted], X_val=X[held], Y_val=y[held], early_stopping_rounds=50)
    law = model.pred_dist(data.X_test, max_iter=model.best_val_loss_itr)
    return NormalDistribution(law.loc, law.scale)


def _fifth(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    order = np.random.default_rng(seed).permutation(n_rows)
    n_held = n_rows // 5
    return order[n_held:], order[:n_held]


_KNOBS: dict[str, dict[str, Any]] = {
    "two clocks": {},
    "all trees": {"stopping": None},
    "early": {"stopping": "early", "tails": "normal"},
}


def run_scores(store: Store, data_dir: Path, sets: list[str], n_splits: int, methods: Any) -> None:
    """Fit what is missing in the store."""
    for name in sets:
        for split in range(n_splits):
            data = load(data_dir, name, split)
            for method in methods:
                key = store.key(name, split, method)
                if key in store.results:
                    continue
                began = time.perf_counter()
                chosen: dict[str, float] = {}
                if method in _KNOBS:
                    law, chosen = fit_own(data, split, **_KNOBS[method])
                else:
                    fit = fit_catboost if method == "CatBoost" else fit_ngboost
                    law = fit(data, split)
                result = score(law, data.y_test, time.perf_counter() - began)
                store.put(key, {**result._asdict(), **chosen})
                print(f"{key}: {result}", flush=True)


def score_rows(store: Store, sets: list[str], n_splits: int) -> list[Row]:
    """The tables of the results that are there, against the bars."""
    rows = []
    table = {
        (name, method): _collect(store, name, method, n_splits)
        for name in sets
        for method in METHODS
    }
    coverages = []
    for name in sets:
        ours = table[name, "two clocks"]
        if not len(ours):
            continue
        for method in METHODS:
            scores = table[name, method]
            if len(scores):
                rows.append(_score_line(name, method, scores))
        mean = ours.mean(axis=0)
        coverages.append(mean[0])
        rows += _judge(name, mean, table)
    if coverages:
        gap = abs(float(np.mean(coverages)) - 0.9)
        rows.append(Row(
            "coverage of nominal 90 %, mean of all sets", f"{np.mean(coverages):.3f}",
            "0.87 to 0.93", gap <= MEAN_GAP, {"coverages": coverages},
        ))  # fmt: skip
        rows += _ranks(table, sets)
    return rows


def _collect(store: Store, name: str, method: str, n_splits: int) -> np.ndarray:
    """(n_splits that are there, 5): the fields of `Scores`."""
    keys = [store.key(name, split, method) for split in range(n_splits)]
    results = [store.results[key] for key in keys if key in store.results]
    return np.array([[result[field] for field in Scores._fields] for result in results])


def _score_line(name: str, method: str, rows: np.ndarray) -> Row:
    mean = rows.mean(axis=0)
    error = rows.std(axis=0, ddof=1) / math.sqrt(len(rows)) if len(rows) > 1 else mean * np.nan
    text = (
        f"coverage {mean[0]:.3f} ({error[0]:.3f}), NLL {mean[1]:.3f} ({error[1]:.3f}), CRPS "
        f"{mean[2]:.3f} ({error[2]:.3f}), RMSE {mean[3]:.3f} ({error[3]:.3f}), {mean[4]:.1f} s"
    )
    what = f"{name}, {method}, {len(rows)} splits (standard error)"
    return Row(what, text, "-", None, {"mean": mean.tolist(), "error": error.tolist()})


def _judge(name: str, mean: np.ndarray, table: dict[tuple[str, str], np.ndarray]) -> list[Row]:
    """Our default on one set against the bars."""
    rows = [
        Row(f"{name}: coverage of nominal 90 %", f"{mean[0]:.3f}", f"{LOWEST} to {HIGHEST}",
            bool(LOWEST <= mean[0] <= HIGHEST), {}),
        Row(f"{name}: NLL by default", f"{mean[1]:.3f}", f"<= {NLL_BARS[name]}",
            bool(mean[1] <= NLL_BARS[name]), {}),
    ]  # fmt: skip
    if name in PAPER_NLL:
        rows.append(Row(
            f"{name}: NLL against the first paper's best ensemble", f"{mean[1]:.3f}",
            f"<= {PAPER_NLL[name]}", bool(mean[1] <= PAPER_NLL[name]), {},
        ))  # fmt: skip
    before = table[name, "all trees"]
    if len(before):
        theirs = float(before[:, 2].mean())
        better = name in BETTER_CRPS
        met = mean[2] < theirs if better else mean[2] <= theirs
        rows.append(Row(
            f"{name}: CRPS against all trees", f"{mean[2]:.3f}",
            f"{'<' if better else '<='} {theirs:.3f}", bool(met), {},
        ))  # fmt: skip
    return rows


def _ranks(table: dict[tuple[str, str], np.ndarray], sets: list[str]) -> list[Row]:
    """On how many sets our NLL is the lowest, over the splits that both have."""
    wins, compared = 0, 0
    for name in sets:
        ours = table[name, "two clocks"]
        peers = [table[name, peer] for peer in ("CatBoost", "NGBoost")]
        if not len(ours) or not any(len(peer) for peer in peers):
            continue
        compared += 1
        wins += all(
            ours[: len(peer), 1].mean() < peer[: len(ours), 1].mean() for peer in peers if len(peer)
        )
    if not compared:
        return []
    return [Row(
        "sets with a lower NLL than CatBoost's RMSEWithUncertainty and NGBoost",
        f"{wins} of {compared}", f">= {max(compared - 1, 1)}", wins >= compared - 1, {},
    )]  # fmt: skip


def cost() -> list[Row]:
    """Choosing and refitting against one fit, at ten members: processor seconds of all threads.

    Medians of pairs in one run.
    """
    rows = []
    for n_rows in (800, 6000):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n_rows, 8))
        y = X[:, 0] + np.abs(X[:, 1]) * rng.normal(size=n_rows)

        def fit(rule: str | None, X: np.ndarray = X, y: np.ndarray = y) -> None:
            BoostedEnsembleRegressor(stopping=rule, random_state=0).fit(X, y)

        fit("two_clocks")  # compile
        ratios = []
        for _ in range(3):
            once = _processor_seconds(lambda: fit(None))
            ratios.append(_processor_seconds(lambda: fit("two_clocks")) / once)
        ratio = float(np.median(ratios))
        rows.append(Row(
            f"fit with two clocks, {n_rows} x 8, ten members", f"{ratio:.2f} x one fit",
            f"<= {MOST_COST}", ratio <= MOST_COST, {"ratios": ratios},
        ))  # fmt: skip
    return rows


def _processor_seconds(run: Callable[[], None]) -> float:
    began = time.process_time()
    run()
    return time.process_time() - began


def run_study(store: Store, data_dir: Path, sets: list[str], n_splits: int) -> None:
    """Every rule on the same models, for each weight of the mean and each learning rate."""
    for name in sets:
        for split in range(n_splits):
            data = load(data_dir, name, split)
            for rate in RATES:
                for weight in WEIGHTS:
                    key = store.key(name, split, f"study rate {rate} weight {weight:g}")
                    if key in store.results:
                        continue
                    held, test = _stages_of(data, split, rate, weight)
                    laws = apply_rules(held, test)
                    numbers = {
                        rule: score(law, data.y_test, math.nan)._asdict()
                        for rule, law in laws.items()
                    }
                    numbers["isotonic on |z|"] = {"coverage": _isotonic_coverage(held, test)}
                    store.put(key, numbers)
                    print(key, {k: round(v.get("nll", math.nan), 3) for k, v in numbers.items()})


def _stages_of(data: Split, seed: int, rate: float, weight: float) -> tuple[Stages, Stages]:
    """Of held-out rows by models without them, and of test rows by a model of all rows."""
    X, y = data.X_train, data.y_train
    splits = make_splits(y, False, None, None, seed)
    knobs = {"stopping": None, "learning_rate": rate, "mean_weight": weight}
    whole = BoostedEnsembleRegressor(random_state=seed, **knobs).fit(X, y)
    n_members = members_of_a_fold(whole.plan_.n_models, len(splits))
    parts = []
    for k, (fitted, held) in enumerate(splits):
        part = BoostedEnsembleRegressor(n_members=n_members, random_state=seed + k + 1, **knobs)
        part.fit(X[fitted], y[fitted])
        parts.append(regression_stages(part, _frame(X[held]), y[held], whole.plan_.n_models))
    return join_stages(parts), regression_stages(whole, _frame(data.X_test), data.y_test)


def _frame(X: np.ndarray) -> Any:
    import pandas as pd

    return pd.DataFrame(X)


def apply_rules(held: Stages, test: Stages) -> dict[str, Distribution]:
    """What each rule, chosen on held-out rows, predicts for test rows."""
    normal, heavy = (clocks_of_ways(held, tails) for tails in ("normal", "student"))
    clocks = {
        "all trees": normal["all"],
        "early stopping": normal["early"],
        "scalar": normal["factor"],
        "scalar and early scale": normal["clocks"],
        "t, scalar and early scale": heavy["clocks"],
    }
    laws = {rule: law_of(test, chosen) for rule, chosen in clocks.items()}
    return {**laws, "log-linear": _log_linear(held, test, normal["clocks"])}


def _log_linear(held: Stages, test: Stages, clocks: Clocks) -> Distribution:
    """``log std = c0 + c1 log s + c2 log(1 + knowledge / s^2)``, fitted by the likelihood."""
    a, b = stage_of(held, clocks.mean_trees), stage_of(held, clocks.scale_trees)
    squared = (held.mean[a] - held.y) ** 2

    def features(stages: Stages) -> np.ndarray:
        data = np.maximum(stages.data[b], 1e-300)
        more = np.log1p(stages.knowledge[a] / data)
        return np.stack([np.ones(len(data)), 0.5 * np.log(data), more])

    known = features(held)

    def loss(weights: np.ndarray) -> float:
        variance = np.exp(np.clip(2.0 * weights @ known, -60.0, 60.0))
        return float(student_nll(squared, variance, math.inf).mean())

    weights = minimize(loss, [math.log(clocks.factor), 1.0, 0.5], method="Nelder-Mead").x
    return NormalDistribution(test.mean[a], np.exp(np.clip(weights @ features(test), -30.0, 30.0)))


def _isotonic_coverage(held: Stages, test: Stages) -> float:
    """Coverage of 90 % intervals whose half-width is an isotonic map of the normal's |z|."""
    clocks = choose_clocks(held, "normal")
    laws = [law_of(stages, clocks) for stages in (held, test)]
    z = [
        np.abs(law.loc - stages.y) / law.scale
        for law, stages in zip(laws, (held, test), strict=True)
    ]
    nominal = 2.0 * norm.cdf(z[0]) - 1.0
    order = np.argsort(nominal)
    observed = (np.arange(len(order)) + 0.5) / len(order)
    fitted = IsotonicRegression(out_of_bounds="clip").fit(nominal[order], observed)
    return float(np.mean(fitted.predict(2.0 * norm.cdf(z[1]) - 1.0) <= 0.9))


def study_rows(store: Store, sets: list[str], n_splits: int) -> list[Row]:
    """Means over the splits that are there."""
    rows = []
    for name in sets:
        for rate in RATES:
            for weight in WEIGHTS:
                keys = [
                    store.key(name, split, f"study rate {rate} weight {weight:g}")
                    for split in range(n_splits)
                ]
                results = [store.results[key] for key in keys if key in store.results]
                if not results:
                    continue
                parts = []
                for rule in results[0]:
                    nll = np.mean([result[rule].get("nll", math.nan) for result in results])
                    cover = np.mean([result[rule]["coverage"] for result in results])
                    parts.append(f"{rule}: {nll:.3f} ({100 * cover:.0f} %)")
                what = (
                    f"{name}, rate {rate}, weight {weight:g}, {len(results)} splits: NLL (coverage)"
                )
                rows.append(Row(what, "; ".join(parts), "-", None, {}))
    return rows


def main() -> None:
    """Run the sections asked for and report them."""
    parser = make_parser(__doc__.splitlines()[0], _SECTIONS)
    parser.add_argument("--splits", type=int, default=_DEFAULT_SPLITS)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--store", type=Path, help="where results are kept while running")
    arguments = parser.parse_args()
    store = Store(arguments.store, {"version": 1})
    rows: list[Row] = []
    sets = arguments.sets
    if arguments.data_dir is None:
        sets = [name for name in sets if name == "diabetes"]
        print("scores and study: only diabetes, the other sets need --data-dir")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if "scores" in arguments.only:
            run_scores(store, arguments.data_dir, sets, arguments.splits, arguments.methods)
            rows += score_rows(store, sets, arguments.splits)
        if "study" in arguments.only:
            studied = [name for name in sets if name in STUDY_SETS]
            run_study(store, arguments.data_dir, studied, arguments.splits)
            rows += study_rows(store, studied, arguments.splits)
        if "cost" in arguments.only:
            rows += cost()
    report("Calibration by default", rows, arguments.json)


if __name__ == "__main__":
    main()
