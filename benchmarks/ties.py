"""Do 90 % intervals hold what they say where many rows have one value?

``python -m benchmarks.ties`` makes three targets, three times each: six rows in ten are 0 and the
others log-normal, Poisson counts, and ratings from 1 to 5. It prints how many new rows lie inside
the intervals of the quantile forest and of IBUG, which chooses a family by likelihood or by CRPS,
and of the package quantile-forest where it is installed. Both ends count as inside. Counts and
ratings cannot be cut at 90 %: the line of the true law shows what its own intervals hold.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from lightgbm import LGBMRegressor
from numpy.typing import NDArray
from scipy import stats

from benchmarks.report import Row, make_parser, report
from gbuq_core import IBUGRegressor
from gbuq_core.baselines import QuantileForestRegressor

LEVEL, BAR = 0.9, (0.88, 0.97)
SEEDS = range(3)

FloatArray = NDArray[np.float64]
Ends = tuple[FloatArray, FloatArray]


class TiedRows(NamedTuple):
    """Rows (n, 3), a target that many share (n,), and the ends of the true 90 % intervals."""

    X: FloatArray
    y: FloatArray
    truth: Ends


def make_zeros(n: int, random: np.random.Generator) -> TiedRows:
    """Six rows in ten are 0, the others log-normal."""
    X = random.uniform(-1.0, 1.0, (n, 3))
    curve = _curve(X)
    y = np.where(random.uniform(size=n) < 0.6, 0.0, np.exp(random.normal(curve, 0.7)))
    upper = np.exp(curve + 0.7 * stats.norm.ppf((0.95 - 0.6) / 0.4))
    return TiedRows(X, y, (np.zeros(n), upper))


def make_counts(n: int, random: np.random.Generator) -> TiedRows:
    """Poisson counts with means from 0.2 to 3."""
    X = random.uniform(-1.0, 1.0, (n, 3))
    law = stats.poisson(np.exp(0.9 * _curve(X) - 0.3))
    return TiedRows(X, law.rvs(random_state=random).astype(np.float64), law.interval(LEVEL))


def make_ratings(n: int, random: np.random.Generator) -> TiedRows:
    """Whole numbers from 1 to 5: a normal that is rounded and cut."""
    X = random.uniform(-1.0, 1.0, (n, 3))
    law = stats.norm(3.4 + _curve(X), 0.8)
    lower, upper = (np.clip(np.round(end), 1.0, 5.0) for end in law.interval(LEVEL))
    y = np.clip(np.round(law.rvs(random_state=random)), 1.0, 5.0)
    return TiedRows(X, y, (lower, upper))


def _curve(X: FloatArray) -> FloatArray:
    return np.sin(3.0 * X[:, 0]) + 0.5 * X[:, 1]


TARGETS: Mapping[str, Callable[[int, np.random.Generator], TiedRows]] = {
    "60 % zeros": make_zeros,
    "counts": make_counts,
    "ratings": make_ratings,
}


def make_ibug(seed: int, **knobs: Any) -> IBUGRegressor:
    """IBUG on a small LightGBM that chooses its family."""
    model = LGBMRegressor(num_leaves=8, n_estimators=60, verbose=-1, n_jobs=1)
    return IBUGRegressor(
        model, posterior="tune", posterior_fit="likelihood", random_state=seed, n_jobs=1, **knobs
    )


METHODS: Mapping[str, Callable[[int], Any]] = {
    "quantile forest": lambda seed: QuantileForestRegressor(
        n_trees=50, random_state=seed, n_jobs=1
    ),
    "IBUG, by likelihood": lambda seed: make_ibug(seed),
    "IBUG, by CRPS": lambda seed: make_ibug(seed, scoring="crps"),
}


def cover(target: str, method: str, seed: int, n_rows: int = 1000) -> float:
    """The share of ``n_rows`` new rows inside the 90 % intervals after a fit on as many."""
    rows = TARGETS[target](2 * n_rows, np.random.default_rng(seed))
    model = METHODS[method](seed).fit(rows.X[:n_rows], rows.y[:n_rows])
    ends = model.predict_distribution(rows.X[n_rows:]).interval(LEVEL)
    return _share_inside(rows.y[n_rows:], ends)


def _share_inside(y: FloatArray, ends: Ends) -> float:
    return float(np.mean((ends[0] <= y) & (y <= ends[1])))


def measure_ties() -> list[Row]:
    """A line for each target and method, with the coverage of each seed."""
    rows = []
    for target in TARGETS:
        truth = [cover_truly(target, seed) for seed in SEEDS]
        for method in METHODS:
            shares = [cover(target, method, seed) for seed in SEEDS]
            met = all(BAR[0] <= share <= BAR[1] for share in shares)
            rows.append(_row(target, method, shares, f"{BAR[0]:.2f} to {BAR[1]:.2f}", met))
        rows.append(_row(target, "the true law", truth, "", None))
        if importlib.util.find_spec("quantile_forest"):
            shares = [_peer(target, seed) for seed in SEEDS]
            rows.append(_row(target, "quantile-forest (package)", shares, "", None))
    return rows


def cover_truly(target: str, seed: int) -> float:
    """The share of rows inside the true law's own 90 % intervals."""
    rows = TARGETS[target](2000, np.random.default_rng(seed))
    return _share_inside(rows.y, rows.truth)


def _peer(target: str, seed: int) -> float:
    from quantile_forest import RandomForestQuantileRegressor

    rows = TARGETS[target](2000, np.random.default_rng(seed))
    forest = RandomForestQuantileRegressor(
        n_estimators=50, min_samples_leaf=10, random_state=seed, n_jobs=1
    ).fit(rows.X[:1000], rows.y[:1000])
    half = 0.5 * LEVEL
    ends = forest.predict(rows.X[1000:], quantiles=[0.5 - half, 0.5 + half]).T
    return _share_inside(rows.y[1000:], (ends[0], ends[1]))


def _row(target: str, method: str, shares: list[float], bar: str, met: bool | None) -> Row:
    text = " / ".join(f"{share:.2f}" for share in shares)
    return Row(f"{target}: {method}", text, bar, met, {"coverage": shares})


def main() -> None:
    """Measure, and report."""
    arguments = make_parser(__doc__.splitlines()[0], ["ties"]).parse_args()
    warnings.simplefilter("ignore")
    report("Ties", measure_ties(), arguments.json)


if __name__ == "__main__":
    main()
