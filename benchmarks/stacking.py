"""`StackedRegressor` against its trees alone.

``shapes``: targets of seven shapes, CRPS over that of the true law, ends of 90 % intervals
beyond the support, coverage. ``skewed``: log-normal targets of three spreads, coverage.
``outliers``: one percent of the targets times 1,000, coverage and width of 50 % intervals.
``counts``: the probability of the largest counts over the true one, as a power of 3. ``noise``:
targets that no feature explains, the log score against the trees'. ``smooth``: known functions with
and without noise, RMSE to the function over the trees'. ``random``: published splits, log score,
CRPS and RMSE. ``tails``: the top or bottom fifth of one of the three most important features, left
out of training: coverage of 90 %, CRPS over the trees', averaged by set; and the same of random
rows. ``table``: processor seconds of a scored table over those of its trees alone.

    python -m benchmarks.stacking --only shapes noise --members 3 --rows 1000 --seeds 2

Every (section, case) is written to ``--store`` at once, so a run can go on. Trees of ``--members``
members (10 by default); sets are cut to ``--rows`` rows. Seeds and splits begin at ``--first``.
"""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.report import Row, load_split, make_parser, report
from benchmarks.store import Store
from gbuq_core import (
    BoostedEnsembleRegressor,
    StackedRegressor,
)
from gbuq_core.metrics import log_scores
from gbuq_core.tables import ScorePlan, read_table, score_table

SETS = ("boston", "concrete", "energy", "power", "protein", "wine")
SHAPES = ("log-normal", "Poisson", "60 % zeros", "Beta", "two modes", "unlike modes", "normal")
_SECTIONS = [
    "shapes",
    "skewed",
    "outliers",
    "counts",
    "noise",
    "smooth",
    "random",
    "tails",
    "table",
]
_BOUNDS = {"log-normal": (0, np.inf), "Poisson": (0, np.inf), "60 % zeros": (0, np.inf),
           "Beta": (0, 1)}  # fmt: skip
_TEST_ROWS = 600
FREE = (-np.inf, np.inf)
# The numbers of a section, each with the least and the most that it should be.
BARS: dict[str, dict[str, tuple[float, float]]] = {
    "shapes": {"CRPS ratio": (-np.inf, 1.05), "trees' CRPS ratio": FREE, "beyond": (0.0, 0.0),
               "coverage": (0.87, 0.95)},
    "skewed": {"coverage": (0.87, 0.95)},
    "outliers": {"coverage": (0.0, 0.62), "width": (0.0, 1.3)},
    "counts": {"power": (-1.0, 1.0)},
    "noise": {"gap": (-np.inf, 0.01)},
    "smooth": {"ratio": (-np.inf, 0.6)},
    "random": {"gap": (-np.inf, 0.01), "log score": FREE, "trees log score": FREE, "CRPS": FREE,
               "trees CRPS": FREE, "RMSE": FREE, "trees RMSE": FREE},
    "tails": {"tail coverage": (0.8, 1.0), "tail trees coverage": FREE,
              "tail ratio": (-np.inf, 0.93), "random coverage": (0.88, 0.95),
              "random trees coverage": FREE, "random ratio": (-np.inf, 1.0)},
    "table": {"processor times": (-np.inf, 3.0)},
}  # fmt: skip
# Of single cases in place of these.
CASE_BARS = {
    ("Poisson", "coverage"): (0.87, 1.0), ("60 % zeros", "coverage"): (0.87, 1.0),
    ("two modes", "CRPS ratio"): (-np.inf, 1.06), ("unlike modes", "CRPS ratio"): (-np.inf, 1.06),
    ("power", "gap"): FREE, ("protein", "gap"): FREE,
    ("power", "log score"): (-np.inf, 2.36), ("protein", "log score"): (-np.inf, 2.05),
    ("power", "CRPS"): (-np.inf, 1.5), ("protein", "CRPS"): (-np.inf, 1.65),
    ("wine", "CRPS"): (-np.inf, 0.3), ("power", "RMSE"): (-np.inf, 3.12),
    ("protein", "RMSE"): (-np.inf, 3.42),
}  # fmt: skip


def simulate(kind: str, f: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Targets of a shape around a signal f (n,)."""
    n = len(f)
    if kind == "log-normal":
        return np.exp(f + 0.6 * rng.standard_normal(n))
    if kind == "Poisson":
        return rng.poisson(np.exp(f - 1.2)).astype(float)
    if kind == "60 % zeros":
        return np.where(rng.random(n) < 0.6, 0.0, np.exp(f + 0.5 * rng.standard_normal(n)))
    if kind == "Beta":
        p = 1.0 / (1.0 + np.exp(-2.0 * (f - 0.9)))
        return rng.beta(3.0 * p, 3.0 * (1.0 - p))
    if kind == "two modes":
        return f + np.where(rng.random(n) < 0.5, 1.0, -1.0) + 0.2 * rng.standard_normal(n)
    if kind == "unlike modes":
        return f + np.where(rng.random(n) < 0.3, 0.0, 1.2) + 0.2 * rng.standard_normal(n)
    return f + 0.3 * rng.standard_normal(n)


def fit_pair(
    X: np.ndarray, y: np.ndarray, members: int, capacity: str | None = "auto"
) -> StackedRegressor:
    """The stacked law; its ``estimator_`` are the trees alone."""
    trees = BoostedEnsembleRegressor(n_members=members, capacity=capacity, random_state=0)
    return StackedRegressor(trees, random_state=0).fit(X, y)


class ShapeRows(NamedTuple):
    """Rows to learn from and new ones, and the CRPS of the true law on these."""

    X: np.ndarray
    y: np.ndarray
    new: np.ndarray
    target: np.ndarray
    truth: float


def shape_rows(kind: str, seed: int, n_rows: int) -> ShapeRows:
    """Rows of a simulated shape."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_rows + _TEST_ROWS, 5))
    f = np.sin(3.0 * X[:, 0]) + X[:, 1] * X[:, 2]
    y = simulate(kind, f, np.random.default_rng(seed + 99))
    new, target = X[n_rows:], y[n_rows:]
    drawn = np.stack(
        [simulate(kind, f[n_rows:], np.random.default_rng(1000 + k)) for k in range(600)]
    )
    drawn.sort(axis=0)
    m = len(drawn)
    spread = 2.0 * (np.arange(1, m + 1) - 0.5 * (m + 1)) @ drawn / (m * (m - 1.0))
    truth = float((np.abs(drawn - target).mean(axis=0) - spread).mean())
    return ShapeRows(X[:n_rows], y[:n_rows], new, target, truth)


def ends_beyond(kind: str, law: Any) -> float:
    """Share of the 90 % intervals with an end that no target of the shape can have."""
    low, high = law.interval(0.9)
    least, most = _BOUNDS.get(kind, (-np.inf, np.inf))
    return float(np.mean((low < least - 1e-9) | (high > most + 1e-9)))


def run_shape(kind: str, seed: int, n_rows: int, members: int) -> dict[str, Any]:
    """CRPS of trees and law over the true law's, coverage, ends beyond the support."""
    rows = shape_rows(kind, seed, n_rows)
    model = fit_pair(rows.X, rows.y, members)
    scores = compare(model, rows.new, rows.target)
    return {
        **scores,
        "CRPS ratio": scores["CRPS"] / rows.truth,
        "trees' CRPS ratio": scores["trees CRPS"] / rows.truth,
        "beyond": ends_beyond(kind, model.predict_distribution(rows.new)),
    }


def compare(model: StackedRegressor, X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Scores of the law and of its trees alone on new rows, by the resolution of the training."""
    out: dict[str, Any] = {"weights": dict(model.weights_), "means": dict(model.mean_weights_)}
    laws = {"": model.predict_distribution(X), "trees ": model.estimator_.predict_distribution(X)}
    means = {"": model.predict(X), "trees ": model.estimator_.predict(X)}
    for who, law in laws.items():
        low, high = law.interval(0.9)
        scores = log_scores(law, y, model.resolution_)
        out[f"{who}log score"], out[f"{who}outside"] = scores.mean, scores.n_outside
        out[f"{who}CRPS"] = float(law.crps(y).mean())
        out[f"{who}coverage"] = float(np.mean((low <= y) & (y <= high)))
        out[f"{who}RMSE"] = float(np.sqrt(np.mean(np.square(means[who] - y))))
    out["gap"] = out["log score"] - out["trees log score"]
    return out


def run_skewed(spread: float, n_rows: int, seed: int, members: int) -> dict[str, Any]:
    """Log-normal targets."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 3.0, (n_rows + 3000, 3))
    y = np.exp(X[:, 0] + spread * rng.standard_normal(len(X)))
    return compare(fit_pair(X[:n_rows], y[:n_rows], members), X[n_rows:], y[n_rows:])


def run_outliers(seed: int, members: int) -> dict[str, Any]:
    """Of 50 % intervals at new rows: coverage, and median width over that without outliers."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 3.0, (3400, 3))
    y = 2.0 * X[:, 0] + 0.5 * rng.standard_normal(len(X))
    gross = np.where(rng.random(len(y)) < 0.01, 1000.0 * y, y)
    ends = [
        fit_pair(X[:400], target[:400], members).predict_distribution(X[400:]).interval(0.5)
        for target in (gross, y)
    ]
    (low, high), (least, most) = ends
    held = np.mean((low <= gross[400:]) & (gross[400:] <= high))
    return {
        "coverage": float(held),
        "width": float(np.median(high - low) / np.median(most - least)),
    }


def run_counts(kind: str, rate: float, seed: int, members: int) -> dict[str, Any]:
    """The tenth of rows with the largest means: P(Y > t), where 0.01 is the truth at most."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 3.0, (2000, 2))
    mean = rate * np.exp(X[:, 0] / 1.5)
    law = stats.poisson(mean) if kind == "Poisson" else stats.nbinom(3.0, 3.0 / (3.0 + mean))
    y = law.rvs(random_state=rng).astype(float)
    hottest = np.argsort(-mean)[: len(mean) // 10]
    beyond = np.array([law.sf(t)[hottest].mean() for t in range(200)])
    t = int(np.argmax(beyond <= 0.01))
    model = fit_pair(X[:1000], y[:1000], members)
    said = 1.0 - model.predict_distribution(X[hottest]).cdf(np.full(len(hottest), float(t)))
    return {"power": float(np.log(max(said.mean(), 1e-12) / beyond[t]) / np.log(3.0))}


def run_noise(n_rows: int, seed: int, members: int) -> dict[str, Any]:
    """Ten features that say nothing."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n_rows + 1000, 10)), rng.normal(size=n_rows + 1000)
    return compare(fit_pair(X[:n_rows], y[:n_rows], members), X[n_rows:], y[n_rows:])


def _friedman1(u: np.ndarray) -> np.ndarray:
    waves = 10 * np.sin(np.pi * u[:, 0] * u[:, 1])
    return waves + 20 * (u[:, 2] - 0.5) ** 2 + 10 * u[:, 3] + 5 * u[:, 4]


def _friedman23(u: np.ndarray) -> tuple[np.ndarray, ...]:
    a, b = 100.0 * u[:, 0], np.pi * (40.0 + 520.0 * u[:, 1])
    return a, b * u[:, 2] - 1.0 / (b * (1.0 + 10.0 * u[:, 3]))


def _friedman2(u: np.ndarray) -> np.ndarray:
    a, rest = _friedman23(u)
    return np.hypot(a, rest)


def _friedman3(u: np.ndarray) -> np.ndarray:
    a, rest = _friedman23(u)
    return np.arctan(rest / a)


def _borehole(u: np.ndarray) -> np.ndarray:
    low = np.array([0.05, 100, 63070, 990, 63.1, 700, 1120, 9855])
    high = np.array([0.15, 50000, 115600, 1110, 116, 820, 1680, 12045])
    rw, r, tu, hu, tl, hl, length, kw = (low + u * (high - low)).T
    log = np.log(r / rw)
    return 2 * np.pi * tu * (hu - hl) / (log * (1 + 2 * length * tu / (log * rw**2 * kw) + tu / tl))


def _wing(u: np.ndarray) -> np.ndarray:
    low = np.array([150, 220, 6, -10, 16, 0.5, 0.08, 2.5, 1700, 0.025])
    high = np.array([200, 300, 10, 10, 45, 1, 0.18, 6, 2500, 0.08])
    sw, wfw, a, angle, q, taper, tc, nz, wdg, wp = (low + u * (high - low)).T
    cos = np.cos(np.radians(angle))
    weight = 0.036 * sw**0.758 * wfw**0.0035 * (a / cos**2) ** 0.6 * q**0.006 * taper**0.04
    return weight * (100 * tc / cos) ** -0.3 * (nz * wdg) ** 0.49 + sw * wp


SMOOTH: dict[str, tuple[Callable[[np.ndarray], np.ndarray], int]] = {
    "Friedman 1": (_friedman1, 10), "Friedman 2": (_friedman2, 4), "Friedman 3": (_friedman3, 4),
    "borehole": (_borehole, 8), "wing weight": (_wing, 10),
}  # fmt: skip


def run_smooth(name: str, noise: float, n_rows: int, members: int) -> dict[str, Any]:
    """RMSE to the function of law and trees; noise in stds of the function."""
    function, p = SMOOTH[name]
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n_rows + 1000, p))
    f = function(X)
    y = f + noise * f.std() * rng.standard_normal(len(f))
    model = fit_pair(X[:n_rows], y[:n_rows], members)
    scores = compare(model, X[n_rows:], f[n_rows:])
    return {**scores, "ratio": scores["RMSE"] / scores["trees RMSE"]}


def run_random(data_dir: Path, name: str, split: int, n_rows: int, members: int) -> dict[str, Any]:
    """A published split."""
    data = load_split(data_dir, name, split)
    order = np.random.default_rng(split).permutation(len(data.y_train))[:n_rows]
    return compare(
        fit_pair(data.X_train[order], data.y_train[order], members),
        data.X_test[:2000],
        data.y_test[:2000],
    )


def tail_splits(X: np.ndarray, y: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Training rows without the top or bottom fifth of an important feature, and that fifth."""
    import lightgbm

    trees = lightgbm.LGBMRegressor(n_estimators=100, verbose=-1, importance_type="gain", n_jobs=1)
    for column in np.argsort(-trees.fit(X, y).feature_importances_)[:3]:
        for sign in (1.0, -1.0):
            values = sign * X[:, column]
            beyond = values > np.quantile(values, 0.8)
            if beyond.mean() >= 0.03:
                yield np.flatnonzero(~beyond), np.flatnonzero(beyond)


def tail_rows(data_dir: Path, name: str, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a set in a random order."""
    table = pd.read_csv(data_dir / f"{name}.csv.gz").sample(frac=1, random_state=0)[:n_rows]
    return table.drop(columns="target").to_numpy(float), table["target"].to_numpy(float)


def run_tails(data_dir: Path, name: str, n_rows: int, members: int) -> dict[str, Any]:
    """Tails and random rows of a set, means over the splits."""
    X, y = tail_rows(data_dir, name, n_rows)
    order = np.random.default_rng(0).permutation(len(y))
    cut = len(y) // 5
    splits = [("random", order[cut:], order[:cut])]
    splits += [("tail", *rows) for rows in tail_splits(X, y)]
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for kind, train, test in splits:
        model = fit_pair(X[train], y[train], members)
        by_kind.setdefault(kind, []).append(compare(model, X[test], y[test]))
    return {
        f"{kind} {key}": float(np.mean([scores[key] for scores in many]))
        for kind, many in by_kind.items()
        for key in many[0]
        if not isinstance(many[0][key], dict)
    }


def _clocks() -> np.ndarray:
    """Seconds on the wall, and of this process on all cores, which a busy machine leaves alike."""
    return np.array([time.perf_counter(), time.process_time()])


def run_table(n_rows: int, p: int = 10) -> dict[str, Any]:
    """Seconds of a scored table with the law, over those with its trees alone."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, p))
    noise = (0.3 + np.abs(X[:, 3])) * rng.normal(size=n_rows)
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + noise
    frame = pd.DataFrame(X).add_prefix("x").assign(y=y)
    few, table = (read_table(rows.to_csv(index=False).encode()) for rows in (frame[:100], frame))
    numbers: dict[str, Any] = {}
    for method in ("sglb", "stacked"):
        score_table(few, "y", plan=ScorePlan(method=method))  # compiles
        began = _clocks()
        scored = score_table(table, "y", plan=ScorePlan(method=method))
        numbers[f"{method} seconds"], numbers[f"{method} processor seconds"] = _clocks() - began
        numbers[f"{method} NLL"], numbers[f"{method} CRPS"] = scored.scores.nll, scored.scores.crps
    times = numbers["stacked processor seconds"] / numbers["sglb processor seconds"]
    return {**numbers, "processor times": times}


def run(store: Store, arguments: Any) -> None:
    """Each case of the sections asked for, unless it is stored."""
    members, n_rows = arguments.members, arguments.rows
    seeds = range(arguments.first, arguments.first + arguments.seeds)
    folder, sets = arguments.data_dir, arguments.sets if arguments.data_dir is not None else ()
    cases: dict[str, Callable[[], dict[str, Any]]] = {}
    for seed in seeds:
        for kind in SHAPES:
            cases[f"shapes/{kind}/{seed}"] = partial(run_shape, kind, seed, 1000, members)
        for spread, n in itertools.product((1.0, 2.0, 3.0), (400, 1500)):
            work = partial(run_skewed, spread, n, seed, members)
            cases[f"skewed/s = {spread:g}, {n} rows/{seed}"] = work
        cases[f"outliers/1 %/{seed}"] = partial(run_outliers, seed, members)
        for kind, rate in itertools.product(("Poisson", "negative binomial"), (0.2, 1.0, 5.0)):
            cases[f"counts/{kind}, rate {rate:g}/{seed}"] = partial(
                run_counts, kind, rate, seed, members
            )
        for n in (200, 1000):
            cases[f"noise/{n}/{seed}"] = partial(run_noise, n, seed, members)
        for name in sets:
            work = partial(run_random, folder, name, seed, n_rows, members)
            cases[f"random/{name}/{seed}"] = work
    for name in SMOOTH:
        for noise in (0.0, 0.3):
            cases[f"smooth/{name}, noise {noise:g}/0"] = partial(
                run_smooth, name, noise, 2000, members
            )
    for name in sets:
        cases[f"tails/{name}/0"] = partial(run_tails, folder, name, min(n_rows, 1500), members)
    for n in (1000, 100_000):
        cases[f"table/{n:,} x 10/0"] = partial(run_table, n)
    for key, work in cases.items():
        if key.partition("/")[0] in arguments.only and key not in store.results:
            store.put(key, work())
            numbers = {
                k: v if isinstance(v, dict) else round(v, 4) for k, v in store.results[key].items()
            }
            print(key, numbers, flush=True)


def rows_of(store: Store) -> list[Row]:
    """What is stored against the bars, means over seeds; tails are means over the sets."""
    cases: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for key, result in store.results.items():
        section, case, _ = key.split("/")
        if section == "tails":
            case = "all sets"
            for kind in ("tail", "random"):
                result[f"{kind} ratio"] = result[f"{kind} CRPS"] / result[f"{kind} trees CRPS"]
        cases.setdefault((section, case), []).append(result)
    rows = []
    for (section, case), results in cases.items():
        for key, bar in BARS[section].items():
            low, high = CASE_BARS.get((case, key), bar)
            values = [result[key] for result in results]
            mean = float(np.mean(values))
            words = f"{low:g} to {high:g}" if np.isfinite(low) else f"<= {high:g}"
            words = "" if (low, high) == FREE else words
            met = low <= mean <= high if words else None
            what = f"{section}, {case}: {key} ({len(values)})"
            rows.append(Row(what, f"{mean:.4g}", words, met, {key: values}))
    return rows


def main() -> None:
    """Run the sections asked for and report them."""
    parser = make_parser(__doc__.splitlines()[0], _SECTIONS)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--rows", type=int, default=10**6, help="of a set, at most")
    parser.add_argument("--seeds", type=int, default=3, help="seeds, or published splits")
    parser.add_argument("--first", type=int, default=0, help="seed, or published split")
    parser.add_argument("--members", type=int, default=10, help="of the trees")
    parser.add_argument("--store", type=Path, help="where results are kept while running")
    arguments = parser.parse_args()
    protocol = {"version": 3, "rows": arguments.rows, "members": arguments.members}
    store = Store(arguments.store, protocol)
    if arguments.data_dir is None:
        print("random and tails need --data-dir")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run(store, arguments)
    report("Stacked laws", rows_of(store), arguments.json)


if __name__ == "__main__":
    main()
