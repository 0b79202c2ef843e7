"""Every method of the records on every set, with default settings, calibrated and not.

Nobody is tuned by hand: a method has the settings of its class. ``two_clocks`` stands for the
default ``fit`` of boosted models, which chooses the numbers of trees for the mean and for the scale
on unseen rows, ``scaled`` for one factor of the std from unseen rows (`CalibratedRegressor`), and
a library's name for IBUG on its model. The default that was named in advance is `DEFAULT`: its
published numbers here are the best ones of the papers on the set.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.ibug_models import make_model as make_booster
from benchmarks.protocols import data, ibug, sglb
from benchmarks.report import Split, load_split
from benchmarks.tables.protocol import (
    Found,
    Missing,
    Protocol,
    Published,
    Score,
    Seconds,
    Task,
)
from gbuq_core import IBUGRegressor
from gbuq_core.calibration import CalibratedRegressor
from gbuq_core.methods import METHODS, find_methods
from gbuq_core.metrics import auroc, prr, rmse

DEFAULT = "sglb:two_clocks"
MOST_ROWS = {"smoke": 120, "small": 2000, "full": 50_000}  # to train on
BOOSTED = ("sgb", "sglb", "virtual_sglb")
LIBRARIES = {"catboost": "CatBoost", "lightgbm": "LightGBM", "xgboost": "XGBoost"}
LIBRARY_TREES = 1000
SCALED = ("sglb", "macau_linear", "vst", "ngboost")
LEAST_SCALE = 1e-3  # of the target's std: a forest's trees may agree
_SMOKE = {"n_trees": 20, "n_members": 2, "n_steps": 20, "n_draws": 10, "cycle_length": 10,
          "truncation_step": 5, "n_burn_in": 3}  # fmt: skip
_RECORDS = {record.key: record for record in find_methods("regression", yields=("total",))}

LABELS = {
    **{key: record.label for key, record in _RECORDS.items()},
    **{f"{key}:two_clocks": f"{METHODS[key].label}, two clocks" for key in BOOSTED},
    **{f"{key}:scaled": f"{METHODS[key].label}, std scaled" for key in SCALED},
    **{f"ibug:{key}": f"IBUG on {label}" for key, label in LIBRARIES.items()},
}


def run(task: Task) -> Found:
    """Scores of one method on one split."""
    assert task.data_dir is not None
    rows = _rows(task)
    key, _, variant = task.method.partition(":")
    reason = METHODS[key].why_not(len(rows.y_train))
    if reason:
        raise Missing(reason)
    model = make_model(task.method, task.split, task.effort == "smoke")
    model.fit(rows.X_train, rows.y_train)
    law = model.predict_distribution(rows.X_test)
    loc, scale = law
    least = LEAST_SCALE * float(rows.y_train.std())
    if (scale < least).any():  # of several laws only the normal can be widened
        law = type(law)(loc, np.maximum(scale, least))
    low, high = law.interval(0.9)
    errors = (rows.y_test - loc) ** 2
    scores = {
        "crps": float(law.crps(rows.y_test).mean()),
        "nll": -float(law.logpdf(rows.y_test).mean()),
        "rmse": float(rmse(rows.y_test, loc)),
        "coverage_0.9": float(np.mean((rows.y_test >= low) & (rows.y_test <= high))),
        "prr_total": float(prr(errors, scale)),
    }
    if "knowledge" in METHODS[key].yields and variant != "scaled":
        n = len(rows.y_test)
        foreign = data.foreign_rows(task.data_dir, task.set, rows.X_train, n, task.split)
        doubt = model.predict_uncertainty(np.concatenate([rows.X_test, foreign])).knowledge
        scores["auroc_knowledge"] = float(auroc(np.arange(2 * n) >= n, doubt))
    return Found(scores, {"rows": len(rows.y_train)})


def make_model(method: str, seed: int, smoke: bool = False) -> Any:
    """An unfitted regressor with one thread and its class's settings."""
    key, _, variant = method.partition(":")
    if variant in LIBRARIES:
        trees = _SMOKE["n_trees"] if smoke else LIBRARY_TREES
        return IBUGRegressor(make_booster(variant, trees, seed, {}), n_jobs=1, random_state=seed)
    record = METHODS[key]
    if record.missing():
        raise Missing(record.missing())
    shared = {"n_jobs": 1, "random_state": seed}
    model = record.make(**{k: shared[k] for k in record.builder().takes if k in shared})
    if smoke:
        known = model.get_params()
        model.set_params(**{name: v for name, v in _SMOKE.items() if name in known})
        if key == "ibug":
            model.set_params(base_model=make_booster("catboost", _SMOKE["n_trees"], seed, {}))
    if variant == "two_clocks":
        model.set_params(stopping="two_clocks")
    return CalibratedRegressor(model, random_state=seed) if variant == "scaled" else model


def _rows(task: Task) -> Split:
    assert task.data_dir is not None
    rows = load_split(task.data_dir, task.set, task.split)
    order = np.random.default_rng((task.split, 31)).permutation(len(rows.y_train))
    order = np.sort(order[: MOST_ROWS[task.effort]])
    test = slice(data.SMOKE_ROWS if task.effort == "smoke" else None)
    return Split(rows.X_train[order], rows.y_train[order], rows.X_test[test], rows.y_test[test])


def methods_on(name: str) -> tuple[str, ...]:
    """All methods, on every set."""
    return tuple(LABELS)


def best_published(name: str, score: str) -> Published | None:
    """The lowest number of the papers on a set; of paper 3 only where its rows are ours."""
    found = [
        number
        for protocol in (sglb.PROTOCOL, ibug.PROTOCOL)
        for (where, _, which), number in protocol.published.items()
        if (where, which) == (name, score)
    ]
    return min(found, key=lambda number: number.value) if found else None


_BEST = {
    (name, DEFAULT, score): best
    for name in data.SPLITS
    for score in ("crps", "nll", "rmse")
    if (best := best_published(name, score)) is not None
}

PROTOCOL = Protocol(
    key="ours",
    paper="Every method of this project and its peers",
    words=(
        "Small: at most 2,000 training rows (full: all), default settings, nothing tuned. "
        f"{LABELS[DEFAULT]} is the default that was named in advance; beside it stands the best "
        "number that papers 1 and 3 have for any method on the set, from all rows."
    ),
    error_words="The papers' errors are as in their own tables.",
    sets=data.SPLITS,
    rows={name: min(rows, MOST_ROWS["small"]) for name, rows in data.ROWS.items()},
    methods=LABELS,
    scores=(
        Score("crps", "CRPS, in the target's unit"),
        Score("nll", "NLL, nats"),
        Score("rmse", "RMSE, in the target's unit"),
        Score("coverage_0.9", "Rows in intervals of 90 %", None),
        Score("prr_total", "PRR of total uncertainty, %", True),
        Score("auroc_knowledge", "AUROC of foreign rows, knowledge uncertainty", True),
    ),
    published=_BEST,
    run=run,
    seconds={
        method: Seconds(0.5, {"two_clocks": 3.0, "scaled": 3.0}.get(variant, 0.7))
        for method in LABELS
        for variant in (method.partition(":")[2],)
    }
    | {
        "vst": Seconds(1.0, 2.0), "vsgbm": Seconds(2.0, 4.0), "xbart": Seconds(1.0, 1.0),
        "gp": Seconds(1.0, 14.0), "vst:scaled": Seconds(5.0, 8.0),
        "ngboost:scaled": Seconds(12.0, 2.0), "ngboost": Seconds(3.0, 0.5),
    },
    methods_on=methods_on,
    files={name: (data.FOREIGN[name],) for name in data.SPLITS
           if data.FOREIGN[name] in data.SPLITS},
    tuned_once=(),
    full_times=6.0,
)  # fmt: skip
