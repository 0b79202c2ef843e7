"""Paper 5: MACAU and its peers, on made-up rows of known noise.

Merilinna, "Advanced uncertainty quantification and novelty detection for random forest models"
(2023, doi 10.5121/csit.2023.131920), section 4 and table 1. Nobody is tuned. ``one_dimensional`` is
section 4.1; ``linear`` and ``linear_halves`` are section 4.2, where each feature is cut at its
median and either half trains, and so are ``california`` and ``california_halves``, whose rows are a
download. A split is a seed.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from benchmarks.protocols import data
from benchmarks.protocols.novelty import (
    PAPER_AUROC,
    SCORES,
    ProtocolSettings,
    make_linear,
    run_protocol,
    split_rows,
)
from benchmarks.report import Split
from benchmarks.tables.protocol import (
    Found,
    Missing,
    Protocol,
    Score,
    Seconds,
    Task,
    published_numbers,
    record_key,
)
from gbuq_core.experiments.heteroscedastic.fit import fit_heteroscedastic, measure_heteroscedastic
from gbuq_core.experiments.heteroscedastic.plan import METHODS as ONE_DIMENSIONAL
from gbuq_core.experiments.heteroscedastic.plan import SCORES as FOREIGN_SCORES
from gbuq_core.experiments.heteroscedastic.plan import (
    HeteroscedasticSettings,
)
from gbuq_core.experiments.heteroscedastic.scores import PAPER_TABLE, score_heteroscedastic
from gbuq_core.methods import METHODS, papers
from gbuq_core.metrics import auroc, coverage, crps_gaussian, nll_gaussian, rmse
from gbuq_core.settings import plan_of

LINE, LINEAR, HALVES = "one_dimensional", "linear", "linear_halves"
CALIFORNIA, CALIFORNIA_HALVES = "california", "california_halves"
SEEDS = 20
FOREST = {"n_trees": 100, "subsample": 0.8}
TREES = {"smoke": 5, "small": 100, "full": 100}
LEVELS = (0.5, 0.8, 0.95)
LEAST_SCALE = 1e-3  # of the target's std: a forest's trees may agree, and a std of 0 has no NLL
# What the forest of ``one_dimensional`` is grown with, in place of the paper's subsample of 0.1
# and leaves of 20 rows.
VARIATIONS: dict[str, dict[str, Any]] = {
    "subsample_0.2": {"subsample": 0.2},
    "subsample_0.5": {"subsample": 0.5},
    "subsample_0.8": {"subsample": 0.8},
    "leaf_5": {"min_child_samples": 5},
    "leaf_1": {"min_child_samples": 1},
    "grown": {"min_child_samples": 1, "max_leaves": 255},
    "grown_0.8": {"min_child_samples": 1, "max_leaves": 255, "subsample": 0.8},
}
_WORDS = {
    "subsample_0.2": "subsample 0.2", "subsample_0.5": "subsample 0.5",
    "subsample_0.8": "subsample 0.8", "leaf_5": "5 rows a leaf", "leaf_1": "1 row a leaf",
    "grown": "1 row a leaf, 255 leaves", "grown_0.8": "1 row a leaf, 255 leaves, subsample 0.8",
}  # fmt: skip


def run(task: Task) -> Found:
    """Scores of one method on one split or seed."""
    missing = METHODS[record_key(task.method)].missing()
    if missing:
        raise Missing(missing)
    if task.set == LINE:
        return _on_the_line(task)
    if task.set in (HALVES, CALIFORNIA_HALVES):
        return _on_halves(task)
    trees = TREES[task.effort]
    rows = _linear_rows(task) if task.set == LINEAR else _california_rows(task)
    model = make_model(task.method, task.split, {**FOREST, "n_trees": trees})
    model.fit(rows.X_train, rows.y_train)
    loc, scale = model.predict_distribution(rows.X_test)
    scale = np.maximum(scale, LEAST_SCALE * float(rows.y_train.std()))
    covered = coverage(rows.y_test, loc, scale, LEVELS).observed
    scores = {
        "crps": float(crps_gaussian(rows.y_test, loc, scale)),
        "nll": float(nll_gaussian(rows.y_test, loc, scale)),
        "rmse": float(rmse(rows.y_test, loc)),
        **{f"coverage_{level:g}": share for level, share in zip(LEVELS, covered, strict=True)},
    }
    return Found(scores, {"n_trees": trees, "subsample": FOREST["subsample"]})


def make_model(method: str, seed: int, forest: dict[str, Any]) -> Any:
    """An unfitted regressor with one thread; MACAU's linear leaves see what the paper's see."""
    record = METHODS[record_key(method)]
    shared = {"n_jobs": 1, "random_state": seed}
    takes = {name: shared[name] for name in record.builder().takes if name in shared}
    if method == "conformal_linear":  # no trees, no subsample
        return record.make(**takes)
    model = record.make(n_trees=forest["n_trees"], **takes)
    if method == "macau_linear":
        model.set_params(leaf_features="path")
    # NGBoost and CatBoost see the same share of the rows, though no page offers that knob.
    return model.set_params(subsample=forest["subsample"])


def _linear_rows(task: Task) -> Split:
    """Half of the rows train, the others test."""
    settings = ProtocolSettings()
    n = settings.rows if task.effort != "smoke" else 400
    X, y = make_linear(n, settings.features, settings.relevant, settings.law, task.split)
    return Split(X[: n // 2], y[: n // 2], X[n // 2 :], y[n // 2 :])


def _read_california(task: Task) -> tuple[np.ndarray, np.ndarray]:
    """Features and target, in a random order."""
    assert task.data_dir is not None
    rows = data.whole_rows(task.data_dir, CALIFORNIA)
    order = np.random.default_rng((task.split, 37)).permutation(len(rows))
    rows = rows[order[: 600 if task.effort == "smoke" else None]]
    return rows[:, :-1], rows[:, -1]


def _california_rows(task: Task) -> Split:
    """Half of the rows train, the others test."""
    X, y = _read_california(task)
    n = len(y)
    return Split(X[: n // 2], y[: n // 2], X[n // 2 :], y[n // 2 :])


def _on_the_line(task: Task) -> Found:
    variation = VARIATIONS.get(task.method.partition(":")[2], {})
    settings = replace(HeteroscedasticSettings(seed=task.split), **variation)
    if task.effort == "smoke":
        settings = replace(settings, rows=300, trees=5, subsample=0.5, test_rows=200, ood_rows=200)
    fit = fit_heteroscedastic(plan_of(settings, record_key(task.method)))
    line = score_heteroscedastic(fit, measure_heteroscedastic(fit, settings), settings)
    scores = {
        "crps": line.crps,
        "excess": line.excess,
        "rmse": line.rmse,
        "noise_ratio": line.noise_ratio,
        **{f"coverage_{level.level:g}": level.observed for level in line.coverage},
        **{f"auroc_{key}": line.auroc_of(key) for key in FOREIGN_SCORES},
    }
    own = ("subsample", "min_child_samples", "max_leaves")
    return Found(scores, {"n_trees": settings.trees, **{k: getattr(settings, k) for k in own}})


def _on_halves(task: Task) -> Found:
    """Means over all experiments: two of each feature."""
    if task.method in PEERS_ON_HALVES:
        return _peer_on_halves(task)
    leaf = task.method.removeprefix("macau_")
    settings = ProtocolSettings(n_jobs=1, seed=task.split, leaf_model=leaf)
    if task.effort == "smoke":
        settings = replace(settings, rows=600, trees=5, experiments=((0, 0), (7, 1)))
    halves = run_protocol(settings, _read_california(task) if task.set != HALVES else None)
    scores = {f"auroc_{name}": halves.mean(name) for name in SCORES}
    return Found(scores, {"n_trees": settings.trees, "subsample": settings.subsample})


def _peer_on_halves(task: Task) -> Found:
    """The same for a method without novelty, by the parts of its uncertainty."""
    settings = ProtocolSettings(seed=task.split)
    trees = TREES[task.effort]
    if task.set != HALVES:
        X, y = _read_california(task)
    else:
        n = settings.rows if task.effort != "smoke" else 600
        X, y = make_linear(n, settings.features, settings.relevant, settings.law, task.split)
    features = range(X.shape[1]) if task.effort != "smoke" else (0, 7)
    areas: dict[str, list[float]] = {}
    for feature, half in product(features, (0, 1)):
        train, known, foreign = split_rows(X, feature, half, task.split)
        model = make_model(task.method, task.split, {**FOREST, "n_trees": trees})
        doubt = model.fit(X[train], y[train]).predict_uncertainty(X[np.r_[known, foreign]])
        is_foreign = np.arange(len(doubt.total)) >= len(known)
        for part in ONE_DIMENSIONAL[task.method].scores:
            values = areas.setdefault(f"auroc_{part}", [])
            values.append(float(auroc(is_foreign, getattr(doubt, part))))
    scores = {key: float(np.mean(values)) for key, values in areas.items()}
    return Found(scores, {"n_trees": trees, "subsample": FOREST["subsample"]})


def methods_on(name: str) -> tuple[str, ...]:
    """Both forms of MACAU, and the peers that the paper has there."""
    if name in (HALVES, CALIFORNIA_HALVES):
        return ("macau_linear", "macau_basic", *PEERS_ON_HALVES)
    if name == LINE:
        return (*ONE_DIMENSIONAL, *(f"{m}:{v}" for m in VARIED for v in VARIATIONS))
    peers = ("forest", "quantile", "conformal_forest", "conformal_linear", "gnll", "ngboost")
    return ("macau_linear", OUR_DEFAULT, "macau_basic", *peers, "catboost")


PEERS_ON_HALVES = (
    "forest", "quantile", "conformal_forest", "conformal_linear", "gnll", "catboost"
)  # fmt: skip
VARIED = ("macau_linear", "macau_basic")
OUR_DEFAULT = "macau_linear:auto"  # linear leaves see all features where they have rows for them
LABELS = {
    **{method: kind.label for method, kind in ONE_DIMENSIONAL.items()},
    **{f"{m}:{v}": f"{METHODS[m].label}, {_WORDS[v]}" for m in VARIED for v in VARIATIONS},
    OUR_DEFAULT: f"{METHODS['macau_linear'].label}, our default",
}


def _line_numbers() -> dict[Any, Any]:
    """The paper's columns of the line, which the page of this experiment has too."""
    numbers: dict[Any, Any] = {}
    for (method, score), row in PAPER_TABLE.items():
        if score == "total" and not math.isnan(row.crps):
            numbers |= published_numbers("1", "crps", method, {LINE: f"{row.crps:.2f}"})
        if method in LABELS and score in ONE_DIMENSIONAL[method].scores:
            numbers |= published_numbers("1", f"auroc_{score}", method, {LINE: f"{row.auroc:.2f}"})
    return numbers


# Column "Cali(AUC)" in the order of `SCORES`.
_CALIFORNIA_AUROC = {
    "linear": "0.93 0.65 0.61 0.57 0.52 0.56 0.83", "basic": "0.93 0.65 0.50 0.49 0.49 0.49 0.83",
}  # fmt: skip
_NUMBERS = {
    **_line_numbers(),
    **published_numbers(
        "1", "crps",
        "macau_linear macau_basic forest quantile conformal_forest conformal_linear gnll ngboost "
        "catboost",
        {LINEAR: "20.44 32.87 32.77 37.02 30.34 5.99 30.28 45.95 870.09",
         CALIFORNIA: "0.40 0.43 0.51 0.45 0.44 0.46 0.43 0.48 0.46"},
    ),
}  # fmt: skip
for _leaf, _row_text in _CALIFORNIA_AUROC.items():
    for _score, _text in zip(SCORES, _row_text.split(), strict=True):
        _NUMBERS |= published_numbers(
            "1", f"auroc_{_score}", f"macau_{_leaf}", {CALIFORNIA_HALVES: _text}
        )
for _leaf, _row in PAPER_AUROC.items():
    for _score, _value in zip(SCORES, _row, strict=True):
        _NUMBERS |= published_numbers(
            "1", f"auroc_{_score}", f"macau_{_leaf}", {HALVES: f"{_value:.2f}"}
        )
for _part, _text in (
    ("total", "0.5 0.49 0.5 0.48 0.5 0.47 0.5 0.44 0.5 0.37 0.5 0.49"),
    ("data", "- - - - - - - - - - 0.5 0.50"),
    ("knowledge", "- - - - - - - - - - 0.5 0.51"),
):
    for _k, _name in enumerate((HALVES, CALIFORNIA_HALVES)):
        _row_text = " ".join(f"{float(v):.2f}" if v != "-" else v for v in _text.split()[_k::2])
        _NUMBERS |= published_numbers(
            "1", f"auroc_{_part}", " ".join(PEERS_ON_HALVES), {_name: _row_text}
        )

PROTOCOL = Protocol(
    key="macau",
    paper=papers.MACAU + ", table 1",
    words=(
        "Nobody is tuned, and the small setting is the full one: 100 trees, and on the line a "
        "subsample of 0.1, elsewhere 0.8. The paper does not give the law of its ten features, "
        "which are uniform here. AUROC of the isolation forest stands in MACAU's rows on the "
        "halves, where NGBoost is left out for its time. California housing is fetched with "
        "--download; on UCI sets MACAU stands in the table ours. MACAU's linear leaves see the "
        "features of their paths, as in the paper; those of our default see all features where "
        "they have rows for them. Other methods after a comma grow the line's forest otherwise."
    ),
    error_words=(
        "The paper has no standard errors; the ranges beside its AUROC are over the experiments."
    ),
    sets=dict.fromkeys((LINE, LINEAR, HALVES, CALIFORNIA, CALIFORNIA_HALVES), SEEDS),
    # The halves are 20 experiments of 5,000 rows each, and of California housing 16 of 10,320.
    rows={LINE: 2000, LINEAR: 10_000, HALVES: 100_000, CALIFORNIA: data.ROWS[CALIFORNIA],
          CALIFORNIA_HALVES: 165_000},
    methods=LABELS,
    scores=(
        Score("crps", "CRPS, in the target's unit"),
        Score("excess", "CRPS over that of the true law"),
        Score("nll", "NLL, nats"),
        Score("rmse", "RMSE, in the target's unit"),
        Score("noise_ratio", "Mean std over the true noise's", None),
        *(
            Score(f"coverage_{level:g}", f"Rows in intervals of {100 * level:g} %", None)
            for level in LEVELS
        ),
        *(
            Score(f"auroc_{key}", f"AUROC of foreign rows, {label[0].lower()}{label[1:]}",
                  True)
            for key, label in FOREIGN_SCORES.items()
        ),
    ),
    published=_NUMBERS,
    run=run,
    seconds={
        **dict.fromkeys(LABELS, Seconds(0.5, 0.2)),
        "macau_linear": Seconds(0.5, 0.4),
        OUR_DEFAULT: Seconds(0.5, 0.5),
        "macau_basic": Seconds(0.5, 0.4),
        "quantile": Seconds(1.0, 0.3),
        "ngboost": Seconds(2.0, 0.5),
    },
    methods_on=methods_on,
    builtin=(LINE, LINEAR, HALVES, CALIFORNIA_HALVES),
    files={CALIFORNIA_HALVES: (CALIFORNIA,)},
    times={HALVES: 0.4, CALIFORNIA_HALVES: 0.4},
    downloads=(CALIFORNIA, CALIFORNIA_HALVES),
    tuned_once=(),
)  # fmt: skip
