"""Where random rows do not ask: tails that training has not seen, and targets of known shapes.

The rows are those of ``python -m benchmarks.stacking``. Nobody is tuned: a method has the settings
of its class, and is made as in the table of every method (`benchmarks.protocols.ours`).
"""

from __future__ import annotations

from itertools import islice

import numpy as np

from benchmarks.protocols import data, ours
from benchmarks.stacking import SHAPES, ends_beyond, shape_rows, tail_rows, tail_splits
from benchmarks.tables.protocol import Found, Protocol, Score, Seconds, Task
from gbuq_core.metrics import find_resolution, log_scores, rmse

ROWS = {"smoke": 200, "small": 1500, "full": 1500}  # of a set with tails, all together
LEARNT = {"smoke": 120, "small": 1000, "full": 1000}  # of a shape, beside 600 new ones
_COMPARED = (
    ours.LAW, ours.DEFAULT, "catboost", "ngboost", ours.QUANTILE_FOREST, "cqr", "gp",
)  # fmt: skip
_METHODS = {key: ours.LABELS[key] for key in _COMPARED}
_SECONDS = {
    **dict.fromkeys(_COMPARED, Seconds(1.5, 1.0)), ours.LAW: Seconds(8.0, 2.0),
    ours.DEFAULT: Seconds(3.0, 2.0), "gp": Seconds(0.0, 6.0),
}  # fmt: skip
_KINDS = {kind.lower().replace("60 % ", "").replace("-", "_").replace(" ", "_"): kind
          for kind in SHAPES}  # fmt: skip
_SCORES = (
    Score("crps", "CRPS, in the target's unit"),
    Score("log_score", "NLL at the resolution of the target, nats"),
    Score("rmse", "RMSE, in the target's unit"),
    Score("coverage_0.9", "Rows in intervals of 90 %", None),
)


def run_tail(task: Task) -> Found:
    """Scores of one method on a tail that it has not learnt from."""
    assert task.data_dir is not None
    X, y = tail_rows(task.data_dir, task.set, ROWS[task.effort])
    train, test = next(islice(tail_splits(X, y), task.split, None))
    return Found(_scores(task, X[train], y[train], X[test], y[test])[0], {"rows": len(train)})


def run_shape(task: Task) -> Found:
    """Scores of one method on a target whose law is known."""
    kind, learnt = _KINDS[task.set], LEARNT[task.effort]
    rows = shape_rows(kind, task.split, learnt)
    scores, law = _scores(task, rows.X, rows.y, rows.new, rows.target)
    scores |= {"ratio": scores["crps"] / rows.truth, "beyond": 100.0 * ends_beyond(kind, law)}
    return Found(scores, {"rows": learnt})


def _scores(
    task: Task, X: np.ndarray, y: np.ndarray, new: np.ndarray, target: np.ndarray
) -> tuple[dict[str, float], ours.Distribution]:
    model = ours.make_model(task.method, task.split, task.effort == "smoke").fit(X, y)
    law = ours.widen(model.predict_distribution(new), ours.LEAST_SCALE * float(y.std()))
    low, high = law.interval(0.9)
    return {
        "crps": float(law.crps(target).mean()),
        "log_score": log_scores(law, target, find_resolution(y)).mean,
        "rmse": float(rmse(target, law.loc)),
        "coverage_0.9": float(np.mean((target >= low) & (target <= high))),
    }, law


def _protocol(key: str, paper: str, words: str, **rest: object) -> Protocol:
    return Protocol(
        key=key, paper=paper,
        words=f"{words} Default settings, nothing tuned. The small setting computes these cells "
        "only where --sets names them. TabPFN, TabICL and Treeffuser are not measured: the first "
        "two fetch weights, and the third needs older libraries; gbuq compare --with takes them.",
        methods=_METHODS, published={}, seconds=_SECONDS, methods_on=lambda name: _COMPARED,
        tuned_once=(), without_record=(ours.QUANTILE_FOREST,), **rest,
    )  # type: ignore[arg-type]  # fmt: skip


TAILS = _protocol(
    "tails", "Tails that training has not seen",
    "At most 1,500 rows of a set. Split 0 leaves the fifth with the largest values of the most "
    "important feature out of training and judges it, split 1 that with the smallest, and so on "
    "down the three most important features; there is no standard error in the usual sense, since "
    "splits are different questions.",
    sets=dict.fromkeys(data.SPLITS, 5), rows=dict.fromkeys(data.SPLITS, 1200), scores=_SCORES,
    run=run_tail, downloads=tuple(data.SPLITS),
)  # fmt: skip
SHAPES_KNOWN = _protocol(
    "shapes", "Shapes whose truth is known",
    "1,000 simulated rows of five features, two of which say nothing, and 600 new ones; a split is "
    "a seed. The true law's own CRPS is 1; it is found from 600 draws a row.",
    sets=dict.fromkeys(_KINDS, 20), rows=dict.fromkeys(_KINDS, 1000), run=run_shape,
    scores=(
        Score("ratio", "CRPS over that of the true law"),
        Score("beyond", "Intervals of 90 % with an impossible end, %"), *_SCORES,
    ),
    builtin=tuple(_KINDS), downloads=tuple(_KINDS),
)  # fmt: skip
