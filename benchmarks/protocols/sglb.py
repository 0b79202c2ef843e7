"""Paper 1: SGB, SGLB and virtual ensembles, and forests beside them.

Malinin, Prokhorenkova and Ustimenko, "Uncertainty in gradient boosting via ensembles" (ICLR 2021),
section 5 and appendices A to C. Learning rate and depth are tuned on the last fifth of a split's
training rows by the NLL of a single model, and the models are then trained on all training rows, as
in the authors' code. A single model is the first of an ensemble, and the virtual ensemble's too.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from benchmarks.protocols import data
from benchmarks.tables.protocol import (
    Found,
    Protocol,
    Score,
    Seconds,
    Task,
    published_numbers,
    record_key,
)
from gbuq_core.methods import METHODS, papers
from gbuq_core.metrics import auroc, error_rate, nll_classification, nll_mixture, prr, rmse

REGRESSION = tuple(data.SPLITS)
CLASSES = tuple(data.CLASS_SPLITS)
# Depths and learning rates.
GRIDS = {
    "smoke": ((3, 0.1),),
    "small": tuple(product((3, 4, 5, 6), (0.01, 0.1))),
    "full": tuple(product((3, 4, 5, 6), (0.001, 0.01, 0.1))),
}
TREES = {"smoke": 20, "small": 1000, "full": 1000}
CLASS_TREES = {"smoke": 20, "small": 200, "full": 1000}
MEMBERS = {"smoke": 2, "small": 10, "full": 10}
FOREST_TREES = {"smoke": 3, "small": 30, "full": 100}  # of each of ten groups
LEAST_SPLITS = 10  # tables 1 and 4 have no standard errors, so ours have to say what differs
# Each split chooses its settings, where the choice of one is not that of the others.
TUNED_ON_EACH = ("energy", "power")
LEAST_VARIANCE = 1e-8  # as the authors add it, in the square of the target's unit


def run(task: Task) -> Found:
    """Scores of one method on one split."""
    smoke = task.effort == "smoke"
    classes = task.set in CLASSES
    if classes:
        rows = data.class_rows(task.set, task.split, smoke)
    else:
        assert task.data_dir is not None
        rows = data.regression_rows(task.data_dir, task.set, task.split, smoke)
    if record_key(task.method) in ("vrf", "forests"):
        settings: dict[str, Any] = {
            "n_groups": 10, "trees_per_group": FOREST_TREES[task.effort], "max_depth": 10,
        }  # fmt: skip
        model = _make(task, settings, classes)
    else:
        settings = _tuned(task, rows, classes)
        model = make_boosted(task, settings, classes, MEMBERS[task.effort])
    model.fit(rows.X_all, rows.y_all)
    foreign = data.foreign_rows(task.data_dir, task.set, rows.X_all, len(rows.y_test), task.split)
    score = _score_classes if classes else _score_regression
    return Found(score(model, rows, foreign, task.method), settings)


def _make(task: Task, settings: dict[str, Any], classes: bool) -> Any:
    kind = "classification" if classes else "regression"
    record = METHODS[record_key(task.method)]
    return record.make(kind, n_jobs=1, random_state=task.split, **settings)


def make_boosted(task: Task, settings: dict[str, Any], classes: bool, n_members: int) -> Any:
    """As the authors' CatBoost: 254 borders, and a target in its own unit."""
    known = dict(settings)
    if record_key(task.method) == "virtual_sglb":
        known["truncation_step"] = max(1, settings["n_trees"] // 20)  # the paper's 50 of 1,000
    else:
        known["n_members"] = 1 if task.method.endswith(":single") else n_members
    model = _make(task, known, classes).set_params(max_bins=255)
    return model if classes else model.set_params(standardize_target=False)


def _tuned(task: Task, rows: data.Rows, classes: bool) -> dict[str, Any]:
    """Depth, learning rate and trees: chosen before, or the best on the validation rows."""
    for settings in task.known.values():
        return {name: settings[name] for name in ("depth", "learning_rate", "n_trees")}
    n_trees = (CLASS_TREES if classes else TREES)[task.effort]
    single = "sgb:single" if record_key(task.method) == "sgb" else "sglb:single"
    best, chosen = np.inf, {}
    for depth, learning_rate in GRIDS[task.effort]:
        settings = {"depth": depth, "learning_rate": learning_rate, "n_trees": n_trees}
        model = make_boosted(task._replace(method=single), settings, classes, 1)
        model.fit(rows.X_fit, rows.y_fit)
        members = model.predict_members(rows.X_val)
        value = _nll_classes(members, rows.y_val, model) if classes else _nll(members, rows.y_val)
        if value < best:
            best, chosen = value, settings
    return chosen


def _nll(members: np.ndarray, y: np.ndarray) -> float:
    return float(nll_mixture(y, members[..., 0], members[..., 1] + LEAST_VARIANCE))


def _nll_classes(members: np.ndarray, y: np.ndarray, model: Any) -> float:
    return float(nll_classification(y, members.mean(axis=0), model.classes_))


def _score_regression(
    model: Any, rows: data.Rows, foreign: np.ndarray, method: str
) -> dict[str, float]:
    """A single model has no knowledge uncertainty, and a forest has nothing else."""
    loc = model.predict(rows.X_test)
    errors = (rows.y_test - loc) ** 2
    scores = {"rmse": float(rmse(rows.y_test, loc))}
    if record_key(method) in ("vrf", "forests"):
        ordinary, other = model.predict_knowledge(rows.X_test), model.predict_knowledge(foreign)
        parts = {"knowledge": (ordinary, other)}
    else:
        scores["nll"] = _nll(model.predict_members(rows.X_test), rows.y_test)
        parts = _parts(model, rows.X_test, foreign, method)
    return scores | _rank(errors, parts)


def _score_classes(
    model: Any, rows: data.Rows, foreign: np.ndarray, method: str
) -> dict[str, float]:
    predicted = model.predict(rows.X_test)
    scores = {
        "error": 100.0 * float(error_rate(rows.y_test, predicted)),
        "nll": _nll_classes(model.predict_members(rows.X_test), rows.y_test, model),
    }
    wrong = (rows.y_test != predicted).astype(np.float64)
    return scores | _rank(wrong, _parts(model, rows.X_test, foreign, method))


def _parts(
    model: Any, X_test: np.ndarray, foreign: np.ndarray, method: str
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Total and knowledge uncertainty of the test rows and of foreign rows."""
    ordinary, other = model.predict_uncertainty(X_test), model.predict_uncertainty(foreign)
    parts = {"total": (ordinary.total, other.total)}
    if not method.endswith(":single"):
        parts["knowledge"] = ordinary.knowledge, other.knowledge
    return parts


def _rank(errors: np.ndarray, parts: dict[str, tuple[np.ndarray, np.ndarray]]) -> dict[str, float]:
    """How uncertainty ranks the test rows' errors, and foreign rows among test rows."""
    scores = {}
    for part, (ordinary, other) in parts.items():
        is_foreign = np.arange(len(ordinary) + len(other)) >= len(ordinary)
        scores[f"prr_{part}"] = float(prr(errors, ordinary))
        scores[f"auroc_{part}"] = float(auroc(is_foreign, np.concatenate([ordinary, other])))
    return scores


def methods_on(name: str) -> tuple[str, ...]:
    """All methods, on every set."""
    return tuple(LABELS)


LABELS = {
    "sgb:single": "SGB, one model",
    "sglb:single": "SGLB, one model",
    "sgb": "SGB",
    "sglb": "SGLB",
    "virtual_sglb": "virtual SGLB",
    "vrf": "vRF",
    "forests": "ten forests",
}
_BOOSTED = "sgb:single sglb:single sgb sglb virtual_sglb"
_NLL = published_numbers("4", "nll", _BOOSTED, {
    "boston": "2.47 2.52 2.46 2.50 2.50",
    "concrete": "3.06 3.06 3.05 3.05 3.06",
    "energy": "1.24 1.70 1.13 1.52 0.70",
    "power": "2.72 2.71 2.66 2.66 2.69",
    "protein": "2.73 2.73 2.61 2.64 2.70",
    "wine": "0.93 0.99 0.92 0.98 0.96",
})  # fmt: skip
_RMSE = published_numbers("4", "rmse", _BOOSTED, {
    "boston": "3.06 3.12 3.04 3.10 3.27",
    "concrete": "5.21 5.11 5.21 5.10 5.37",
    "energy": "0.57 0.54 0.57 0.54 0.64",
    "power": "3.55 3.56 3.52 3.54 3.64",
    "protein": "3.92 3.96 3.90 3.93 4.02",
    "wine": "0.63 0.65 0.63 0.65 0.66",
})  # fmt: skip
# Its +- are standard deviations over the splits; the same numbers as in table 4.
_SINGLE_SGB: dict[Any, Any] = {}
for _name, _splits, _rmse, _nll_text in (
    ("boston", 20, "3.06(0.68)", "2.47(0.20)"),
    ("concrete", 20, "5.21(0.53)", "3.06(0.13)"),
    ("energy", 20, "0.57(0.06)", "1.24(1.28)"),
    ("power", 20, "3.55(0.27)", "2.72(0.12)"),
    ("protein", 5, "3.92(0.08)", "2.73(0.07)"),
    ("wine", 20, "0.63(0.04)", "0.93(0.08)"),
):
    for _score, _text in (("rmse", _rmse), ("nll", _nll_text)):
        _SINGLE_SGB |= published_numbers("2", _score, "sgb:single", {_name: _text}, splits=_splits)
# The same table's other columns: no cell has them, but they may be the best on a set.
OF_OTHERS: dict[Any, Any] = {}
for _score, _rows in (
    ("rmse", {
        "boston": "3.28(1.00) 2.94(0.53)", "concrete": "6.03(0.58) 5.06(0.61)",
        "energy": "2.09(0.29) 0.46(0.06)", "power": "4.11(0.17) 3.79(0.18)",
        "protein": "4.71(0.06) 4.33(0.03)", "wine": "0.64(0.04) 0.63(0.04)",
    }),
    ("nll", {
        "boston": "2.41(0.25) 2.43(0.15)", "concrete": "3.06(0.18) 3.04(0.17)",
        "energy": "1.38(0.22) 0.60(0.45)", "power": "2.79(0.04) 2.79(0.11)",
        "protein": "2.83(0.02) 2.81(0.03)", "wine": "0.94(0.12) 0.91(0.06)",
    }),
):  # fmt: skip
    for _name, _text in _rows.items():
        OF_OTHERS |= published_numbers(
            "2", _score, "deep_ensemble ngboost", {_name: _text}, splits=data.SPLITS[_name]
        )
_PRR_TOTAL = published_numbers("1", "prr_total", _BOOSTED, {
    "boston": "45 45 44 45 46",
    "concrete": "45 41 44 42 41",
    "energy": "58 56 58 56 62",
    "power": "30 32 31 33 32",
    "protein": "49 48 52 50 48",
    "wine": "33 32 33 32 32",
})  # fmt: skip
_PRR_KNOWLEDGE = published_numbers("1", "prr_knowledge", _BOOSTED, {
    "boston": "- - 36 37 38",
    "concrete": "- - 27 27 25",
    "energy": "- - 36 31 54",
    "power": "- - 8 9 13",
    "protein": "- - 30 29 12",
    "wine": "- - 25 19 9",
})  # fmt: skip
_AUROC_TOTAL = published_numbers("1", "auroc_total", _BOOSTED, {
    "boston": "70 68 71 69 64",
    "concrete": "78 80 79 81 78",
    "energy": "67 69 89 89 69",
    "power": "48 47 51 49 47",
    "protein": "82 84 92 91 86",
    "wine": "60 56 60 56 56",
}, scale=0.01)  # fmt: skip
_AUROC_KNOWLEDGE = published_numbers("1", "auroc_knowledge", _BOOSTED, {
    "boston": "- - 80 80 49",
    "concrete": "- - 92 92 56",
    "energy": "- - 100 100 32",
    "power": "- - 72 73 57",
    "protein": "- - 99 99 94",
    "wine": "- - 74 72 49",
}, scale=0.01)  # fmt: skip
_FORESTS = "vrf forests"
_FOREST_RMSE = published_numbers("6", "rmse", _FORESTS, {
    "boston": "2.98 2.98",
    "concrete": "4.96 4.95",
    "energy": "0.50 0.50",
    "power": "3.53 3.53",
    "protein": "4.19 4.19",
    "wine": "0.58 0.58",
})  # fmt: skip
_FOREST_PRR = published_numbers("7", "prr_knowledge", _FORESTS, {
    "boston": "53 55",
    "concrete": "43 42",
    "energy": "40 41",
    "power": "21 22",
    "protein": "40 40",
    "wine": "35 32",
})  # fmt: skip
_FOREST_AUROC = published_numbers("7", "auroc_knowledge", _FORESTS, {
    "boston": "75 76",
    "concrete": "80 80",
    "energy": "100 100",
    "power": "66 65",
    "protein": "91 92",
    "wine": "74 74",
}, scale=0.01)  # fmt: skip

PROTOCOL = Protocol(
    key="sglb",
    paper=papers.SGLB + ", tables 1, 4, 6 and 7",
    words=(
        "Small: depth 3 to 6 and learning rate 0.01 or 0.1 (full: 0.001 too), chosen on each "
        "split of energy and power, and elsewhere once, on split 0, so that test rows of other "
        "splits were among its rows, for every method alike; ten groups of 30 trees in a forest "
        "(full: 100; the paper's ten forests have 1,000 each); 200 trees for classes (full: "
        "1,000). Foreign rows have the first columns of protein, boston or a set of classes, on "
        "the scales of the training rows; the paper's are of Year MSD, so AUROC compares in kind "
        "only. The sets of classes are scikit-learn's."
    ),
    error_words=(
        "The paper has standard deviations for one SGB model only (its table 2, over 20 splits, of "
        "protein 5), and no standard errors for the rest: ours decide there."
    ),
    sets={**data.SPLITS, **data.CLASS_SPLITS},
    rows=data.ROWS,
    methods=LABELS,
    scores=(
        Score("nll", "NLL, nats"),
        Score("rmse", "RMSE, in the target's unit"),
        Score("error", "Wrong classes, %"),
        Score("prr_total", "PRR of total uncertainty, %", True),
        Score("prr_knowledge", "PRR of knowledge uncertainty, %", True),
        Score("auroc_total", "AUROC of foreign rows, total uncertainty", True),
        Score("auroc_knowledge", "AUROC of foreign rows, knowledge uncertainty", True),
    ),
    published={
        **_NLL, **_RMSE, **_SINGLE_SGB, **_PRR_TOTAL, **_PRR_KNOWLEDGE, **_AUROC_TOTAL,
        **_AUROC_KNOWLEDGE, **_FOREST_RMSE, **_FOREST_PRR, **_FOREST_AUROC,
    },
    run=run,
    seconds={
        "sgb:single": Seconds(0.7, 0.2),
        "sglb:single": Seconds(0.7, 0.2),
        "sgb": Seconds(0.9, 0.38),
        "sglb": Seconds(0.9, 0.5),
        "virtual_sglb": Seconds(0.2, 0.1),
        "vrf": Seconds(0.4, 0.7),
        "forests": Seconds(0.4, 0.7),
    },
    methods_on=methods_on,
    builtin=CLASSES,
    files={name: (other,) for name, other in data.FOREIGN.items() if other in data.SPLITS},
    uses={"sgb": ("sgb:single",), "sglb": ("sglb:single",), "virtual_sglb": ("sglb:single",)},
    least_splits=dict.fromkeys(product(REGRESSION, _BOOSTED.split()), LEAST_SPLITS),
    full_times=4.0,
    tuned_on_each=TUNED_ON_EACH,
)  # fmt: skip
