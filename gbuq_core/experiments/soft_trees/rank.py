"""Does a posterior of higher rank detect foreign rows better? AUROC of knowledge against rank.

Cinquin et al., "Variational boosted soft trees" (2022), section 5.2, figure 3 and supplement 2.2:
knowledge uncertainty of held-out rows against that of rows from elsewhere, for soft trees whose
posterior covariance has rank 0 (independent parameters) up to full.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from gbuq_core.errors import InvalidParameter, refusal_of_call
from gbuq_core.experiments.soft_trees.data import Array
from gbuq_core.jobs import parallel_map, stage
from gbuq_core.metrics import auroc
from gbuq_core.settings import arguments, check, plan_of, setting
from gbuq_core.soft_trees.layout import TreeShape
from gbuq_core.synthetic import MOONS_EXTENT, make_moons3
from gbuq_core.validation import check_number

MOST_SEEDS, MOST_RANKS, MOST_RANK_ROWS = 20, 12, 2000
FULL = 500  # more than any tree of the panel has parameters: counts as full rank
MOONS_NOISE = 0.15
_TEST_ROWS = 400  # of each kind, of the drawn set
_HELD_OUT = 0.2  # of a table
_TEST_STREAM, _FOREIGN_STREAM, _SPLIT_STREAM = 1, 2, 3  # of a seed


class RankDataset(NamedTuple):
    """A data set of the rank panel: label, description, number of features, training rows."""

    label: str
    about: str
    n_features: int
    rows: int | None


_RANK_DATASETS = {
    "moons3": RankDataset(
        "Two moons",
        "Two classes on interleaved half circles, and a third feature of pure noise. Foreign rows "
        "are uniform over the part of the plane outside the moons.",
        3,
        None,
    ),
    "diabetes": RankDataset(
        "Diabetes",
        "442 patients with ten measurements. Foreign rows are wines: ten of their measurements are "
        "standardised and put on the patients' scales. The paper also takes foreign rows from "
        "another data set.",
        10,
        354,
    ),
}
RANK_DATASETS: Mapping[str, RankDataset] = MappingProxyType(_RANK_DATASETS)


@dataclass(frozen=True, kw_only=True)
class RankSettings:
    """Everything that the comparison depends on, so it is also the key of its result."""

    data: str = setting(
        "diabetes", "Data", named={info.label: key for key, info in RANK_DATASETS.items()}
    )
    # One above the number of parameters counts as that number.
    ranks: tuple[int, ...] = setting(
        (0, 1, 2, 5, 10, 20), "Ranks", choices=tuple(range(FULL + 1)), most=MOST_RANKS
    )
    n_seeds: int = setting(5, "Repetitions", low=1, high=MOST_SEEDS)  # of split and fit
    seed: int = setting(0, "Seed of the first repetition", low=0, high=2**31 - 1 - MOST_SEEDS)
    # A table has the rows that it has.
    rows: int = setting(
        200, "Training rows", low=20, high=MOST_RANK_ROWS,
        uses=lambda settings: RANK_DATASETS[settings.data].rows is None,
    )  # fmt: skip
    depth: int = setting(2, of="vst.depth", arg="depth", limits=(0, 4))
    leaf: str = setting("linear", of="vst.leaf", arg="leaf")
    beta: float = setting(4.0, of="vst.beta", arg="beta")
    prior_scale: float = setting(2.5, of="vst.prior_scale", arg="prior_scale")
    steps: int = setting(
        1000, of="vst.n_steps", arg="n_steps", limits=(50, 20_000), shrink=(1.0, 200)
    )
    draws: int = setting(100, "Functions", arg="n_draws", low=2, high=1000)


class RankRun(NamedTuple):
    """AUROC of knowledge uncertainty for every rank and seed."""

    settings: RankSettings
    label: str  # of the data
    # (n_ranks,): as they were fitted: none above the number of parameters, and none twice
    ranks: np.ndarray
    n_parameters: int  # of a tree: the full rank
    # (n_ranks, n_seeds): 1 separates foreign rows from held-out ones perfectly, 0.5 is chance
    auroc: Array
    # `mean`, `standard_error`: (n_ranks,): over seeds; the error is NaN with one seed
    mean: Array
    standard_error: Array
    # (n_ranks, n_seeds): mean log predictive density (or class probability) of the held-out rows,
    # in nats
    log_score: Array
    seconds: float


class RankRows(NamedTuple):
    """Training rows, held-out rows of the same law, and foreign rows, each (n, p); y for two."""

    X: Array
    y: np.ndarray
    X_test: Array
    y_test: np.ndarray
    X_foreign: Array


def plan_rank(settings: RankSettings) -> RankSettings:
    """The settings without what does not matter, so that equal comparisons run once."""
    refusal = why_no_rank(settings)
    if refusal:
        raise InvalidParameter(refusal)
    full = rank_parameters(settings)
    ranks = tuple(sorted({min(rank, full) for rank in settings.ranks}))
    return plan_of(replace(settings, ranks=ranks))


def why_no_rank(settings: RankSettings) -> str:
    """Why the settings are refused, in one sentence; empty if they are fine."""
    n = len(settings.ranks)
    if not 1 <= n <= MOST_RANKS:
        return f"There must be 1 to {MOST_RANKS} ranks, but there are {n}."
    return refusal_of_call(_check, settings)


def _check(settings: RankSettings) -> None:
    for rank in settings.ranks:  # one named twice is fitted once
        check_number("ranks", rank, 0, FULL, integer=True)
    check(settings, "knobs", besides=("ranks",))


def rank_parameters(settings: RankSettings) -> int:
    """Parameters of a tree of the settings: the full rank."""
    of_classes = ("classes", 2) if settings.data == "moons3" else ()
    n_features = RANK_DATASETS[settings.data].n_features
    return TreeShape(settings.depth, n_features, settings.leaf, *of_classes).n_parameters


def run_rank(settings: RankSettings | None = None) -> RankRun:
    """Fit a tree for every rank and seed, and score how well it detects foreign rows."""
    plan = plan_rank(RankSettings() if settings is None else settings)
    began = time.perf_counter()
    jobs = [(rank, seed) for seed in range(plan.n_seeds) for rank in plan.ranks]

    def score(job: tuple[int, int]) -> tuple[float, float]:
        with stage(1, span=1):
            return _score(plan, *job)

    with stage(len(jobs)):
        scores = np.array(parallel_map(score, jobs))
    by_seed = scores.reshape(plan.n_seeds, len(plan.ranks), 2).transpose(1, 0, 2)
    aurocs = by_seed[..., 0]
    error = np.full(len(plan.ranks), np.nan)
    if plan.n_seeds > 1:
        error = aurocs.std(axis=1, ddof=1) / np.sqrt(plan.n_seeds)
    return RankRun(
        plan,
        RANK_DATASETS[plan.data].label,
        np.array(plan.ranks, dtype=np.int64),
        rank_parameters(plan),
        aurocs,
        aurocs.mean(axis=1),
        error,
        by_seed[..., 1],
        time.perf_counter() - began,
    )


def _model(plan: RankSettings, rank: int, seed: int) -> Any:
    from gbuq_core.soft_trees import VariationalSoftTreeClassifier, VariationalSoftTreeRegressor

    kind = VariationalSoftTreeClassifier if plan.data == "moons3" else VariationalSoftTreeRegressor
    return kind(**arguments(plan), rank=rank, n_jobs=1, random_state=plan.seed + seed)


def _score(plan: RankSettings, rank: int, seed: int) -> tuple[float, float]:
    """AUROC and log score of one fit."""
    rows = rank_rows(plan, seed)
    model = _model(plan, rank, seed).fit(rows.X, rows.y)
    both = np.concatenate([rows.X_test, rows.X_foreign])
    knowledge = model.predict_uncertainty(both).knowledge
    foreign = np.arange(len(both)) >= len(rows.X_test)
    return float(auroc(foreign, knowledge)), float(model.log_score(rows.X_test, rows.y_test))


def rank_rows(settings: RankSettings, seed: int) -> RankRows:
    """The rows of one repetition, the same for all ranks."""
    stream = settings.seed + seed
    return _moons(settings, stream) if settings.data == "moons3" else _patients_and_wines(stream)


def _moons(settings: RankSettings, seed: int) -> RankRows:
    train = make_moons3(settings.rows, MOONS_NOISE, seed)
    test = make_moons3(_TEST_ROWS, MOONS_NOISE, [seed, _TEST_STREAM])
    rng = np.random.default_rng([seed, _FOREIGN_STREAM])
    empty = train.grid[~train.in_support.ravel(), :2]
    cells = rng.choice(len(empty), _TEST_ROWS)
    side = [(high - low) / train.mean.shape[0] for low, high in MOONS_EXTENT]
    plane = empty[cells] + (rng.random((_TEST_ROWS, 2)) - 0.5) * side
    foreign = np.column_stack([plane, rng.standard_normal(_TEST_ROWS)])
    return RankRows(train.X, train.y, test.X, test.y, foreign)


def _patients_and_wines(seed: int) -> RankRows:
    from sklearn.datasets import load_diabetes, load_wine

    X, y = load_diabetes(return_X_y=True, scaled=False)
    order = np.random.default_rng([seed, _SPLIT_STREAM]).permutation(len(y))
    n_test = round(_HELD_OUT * len(y))
    test, train = order[:n_test], order[n_test:]
    wines = load_wine().data[:, : X.shape[1]]
    wines = (wines - wines.mean(axis=0)) / wines.std(axis=0)
    chosen = np.random.default_rng([seed, _FOREIGN_STREAM]).permutation(len(wines))[:n_test]
    foreign = X[train].mean(axis=0) + X[train].std(axis=0) * wines[chosen]
    return RankRows(X[train], y[train], X[test], y[test], foreign)


def describe_rank(run: RankRun) -> str:
    """The curve in words."""
    parts = [
        f"{mean:.2f}" + ("" if np.isnan(error) else f" ± {error:.2f}") + f" at rank {rank}"
        for rank, mean, error in zip(run.ranks, run.mean, run.standard_error, strict=True)
    ]
    n = run.settings.n_seeds
    return (
        f"{run.label}, {n} seed{'s' if n > 1 else ''}: AUROC of knowledge uncertainty is "
        f"{', '.join(parts)}. Full rank is {run.n_parameters}."
    )


def rank_gain(run: RankRun) -> tuple[float, float]:
    """Mean gain of the highest rank over the lowest, and its standard error over seeds (paired)."""
    gain = run.auroc[-1] - run.auroc[0]
    error = float(gain.std(ddof=1) / np.sqrt(len(gain))) if len(gain) > 1 else float("nan")
    return float(gain.mean()), error
