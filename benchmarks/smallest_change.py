"""The smallest change that makes an ensemble sure of a row: how long it takes, and is it the least.

    python -m benchmarks.smallest_change --data-dir DIR [--rows 100] [--sets ...]

On each table the most doubtful rows are to become as sure as the median row. The check asks the
model itself about every change of one or two values that would be smaller than the one found: all
bins of all pairs of columns within that distance.
"""

from __future__ import annotations

import time
import warnings
from itertools import combinations, product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.report import Row, load_split, make_parser, report
from gbuq_core import BoostedEnsembleRegressor, SmallestChange, find_smallest_change

SETS = ("boston", "concrete", "energy", "power", "wine", "protein")
MOST_SECONDS = 1.0
ENSEMBLES = {
    "five models": {"n_members": 5, "n_trees": 300, "depth": 4},
    "virtual": {"ensemble": "virtual", "n_trees": 300, "depth": 4, "truncation_step": 10},
}
_MOST_TRAINING = 5000
_CHECKED = 10  # rows of each table
_MOST_ASKED = 2_000_000  # changes of a checked row
_BLOCK = 50_000


class Result(NamedTuple):
    """Of one ensemble on one table."""

    seconds: np.ndarray
    n_changed: np.ndarray  # columns: 0 where no change is enough
    n_checked: int
    n_smaller: int  # rows for which a smaller change exists


def run(data_dir: Path, name: str, kind: str, ensemble: str, n_rows: int) -> Result:
    """Change the ``n_rows`` most doubtful rows of a table's first split."""
    split = load_split(data_dir, name, 0)
    X, y = split.X_train[:_MOST_TRAINING], split.y_train[:_MOST_TRAINING]
    model = BoostedEnsembleRegressor(random_state=0, n_jobs=1, **ENSEMBLES[ensemble]).fit(X, y)
    doubt = getattr(model.predict_uncertainty(X), kind)
    most, scales = float(np.median(doubt)), np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    doubtful = np.argsort(-doubt, kind="stable")[:n_rows]
    find_smallest_change(model, X[doubtful[:1]], most, kind, scales=scales)  # compiles
    seconds, changed, checked, smaller = [], [], 0, 0
    for row in doubtful:
        began = time.perf_counter()
        change = find_smallest_change(model, X[[row]], most, kind, scales=scales)
        seconds.append(time.perf_counter() - began)
        changed.append(0 if change is None else len(change.columns))
        if change is not None and checked < _CHECKED:
            answer = smaller_exists(model, X[row], most, kind, scales, change)
            checked += answer is not None
            smaller += bool(answer)
    return Result(np.array(seconds), np.array(changed), checked, smaller)


def smaller_exists(
    model: BoostedEnsembleRegressor,
    row: np.ndarray,
    most: float,
    kind: str,
    scales: np.ndarray,
    change: SmallestChange,
) -> bool | None:
    """Whether any change of one or two values is smaller and good enough; None: too many to ask."""
    limit = change.size * (1.0 - 1e-9)
    offered = []
    for column, borders in enumerate(model.models_.bins.borders):
        values = np.concatenate([borders, np.nextafter(borders, np.inf)])
        costs = np.concatenate([row[column] - borders, borders - row[column]]) / scales[column]
        near = (costs >= 0.0) & (costs < limit)
        offered.append(list(zip(values[near].tolist(), costs[near].tolist(), strict=True)))
    pairs = []
    for first, second in combinations(range(len(row)), 2):
        nothing_a, nothing_b = (row[first], 0.0), (row[second], 0.0)
        for (a, cost_a), (b, cost_b) in product(
            [nothing_a, *offered[first]], [nothing_b, *offered[second]]
        ):
            if cost_a + cost_b < limit:
                pairs.append((first, a, second, b))
        if len(pairs) > _MOST_ASKED:
            return None
    for start in range(0, len(pairs), _BLOCK):
        block = pairs[start : start + _BLOCK]
        rows = np.tile(row, (len(block), 1))
        for position, (first, a, second, b) in enumerate(block):
            rows[position, first], rows[position, second] = a, b
        if (getattr(model.predict_uncertainty(rows), kind) <= most).any():
            return True
    return False


def main() -> None:
    """Run what the arguments ask for."""
    warnings.simplefilter("ignore", ConvergenceWarning)  # that all trees were best
    parser = make_parser(str(__doc__).partition("\n")[0], ["changes"])
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    arguments = parser.parse_args()
    rows = []
    for name in arguments.sets:
        for ensemble, kind in product(ENSEMBLES, ("total", "knowledge")):
            answers = run(arguments.data_dir, name, kind, ensemble, arguments.rows)
            counts = np.bincount(answers.n_changed, minlength=3)
            text = (
                f"{np.median(answers.seconds):.3f} s, at most {answers.seconds.max():.3f} s; one "
                f"column {counts[1]}, two {counts[2]}, none {counts[0]}; a smaller change exists "
                f"for {answers.n_smaller} of {answers.n_checked}"
            )
            met = bool(answers.seconds.max() <= MOST_SECONDS and answers.n_smaller == 0)
            bar = f"{MOST_SECONDS:g} s, none smaller"
            numbers = {"seconds": answers.seconds.tolist(), "columns": counts.tolist()}
            rows.append(Row(f"{name}, {ensemble}, {kind}", text, bar, met, numbers))
            print(f"{name}, {ensemble}, {kind}: {text}", flush=True)
    report("The smallest change of 100 doubtful rows", rows, arguments.json)


if __name__ == "__main__":
    main()
