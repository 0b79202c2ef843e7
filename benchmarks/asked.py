"""What people ask for most, measured: intervals over time, and more by `--only`.

``python -m benchmarks.asked`` prints each figure beside its bar.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks.report import Row, make_parser, report
from gbuq_core import AdaptiveIntervals, BoostedEnsembleRegressor

WARM, WINDOW = 300, 200  # rows before the first window, and in each
LOW, HIGH, SHARE = 0.82, 0.97, 0.95  # coverage of a window, and of how many windows
FloatArray = NDArray[np.float64]


def lagged(series: FloatArray, lags: int = 3) -> tuple[FloatArray, FloatArray]:
    """Values and the few before each."""
    columns = [series[lag : len(series) - lags + lag] for lag in range(lags)]
    return np.stack(columns, axis=1), series[lags:]


def series() -> dict[str, tuple[FloatArray, FloatArray]]:
    """Two that drift by construction, two that statsmodels ships: columns and targets."""
    import statsmodels.api as sm

    rng, t = np.random.default_rng(0), np.arange(3000.0)
    noise = rng.normal(size=len(t))
    x = rng.normal(size=(len(t), 2))
    elnino = sm.datasets.elnino.load_pandas().data.iloc[:, 1:].to_numpy(np.float64).ravel()
    co2 = sm.datasets.co2.load_pandas().data["co2"].dropna().to_numpy(np.float64)
    return {
        "random walk": (t[:, None], np.cumsum(noise)),
        "drifting variance": (x, x[:, 0] + noise * np.exp(np.sin(t / 250.0))),
        "El Nino, by month": lagged(elnino),
        "CO2, by week": lagged(co2),
    }


def windows(inside: NDArray[np.bool_]) -> tuple[float, float]:
    """The share of windows whose coverage is within the bars, and the coverage of all rows."""
    each = np.convolve(inside[WARM:], np.full(WINDOW, 1.0 / WINDOW), "valid")
    return float(np.mean((each >= LOW) & (each <= HIGH))), float(inside[WARM:].mean())


def over_time() -> list[Row]:
    """A model of the first rows, then its own intervals and those that adapt."""
    rows: list[Row] = []
    for name, (X, y) in series().items():
        first = len(y) // 4
        model = BoostedEnsembleRegressor(n_members=4, n_trees=200, random_state=0)
        model.fit(X[:first], y[:first])
        adaptive = AdaptiveIntervals(model, 0.9)
        plain, later = adaptive.predict_interval(X[first:]), y[first:]
        adapted = adaptive.update(X[first:], later)
        shares = [windows((later >= lower) & (later <= upper)) for lower, upper in (plain, adapted)]
        (plain_share, plain_all), (share, every) = shares
        measured = f"{share:.2f} of windows, {every:.3f} of all rows"
        bar = f"{SHARE:g} of windows ({plain_share:.2f}, {plain_all:.3f} without)"
        numbers = {"windows": share, "plain": plain_share}
        rows.append(Row(name, measured, bar, share >= SHARE, numbers))
    return rows


PARTS = {"over time": over_time}


def main() -> None:
    """Measure the parts that were asked for, and print them."""
    options = make_parser(__doc__.splitlines()[0], list(PARTS)).parse_args()
    rows = [row for part in options.only for row in PARTS[part]()]
    report("Asked for most", rows, options.json)


if __name__ == "__main__":
    main()
