"""The settings of the Novelty maps page, and which of them a fit depends on.

Merilinna, "Advanced uncertainty quantification and novelty detection for random forest models"
(MACAU, 2023), section 3.2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from gbuq_core.errors import GbuqError, InvalidParameter
from gbuq_core.experiments.novelty.data import DATASETS, N_CELLS, check_columns, load_novelty_data
from gbuq_core.experiments.novelty.editing import FEWEST_ROWS, apply_edits
from gbuq_core.experiments.novelty.edits import Edit, check_edits
from gbuq_core.macau import MacauClassifier, MacauRegressor
from gbuq_core.methods import METHODS as RECORDS
from gbuq_core.methods import Method
from gbuq_core.validation import check_choice, check_number

LEAF_MODELS = ("linear", "basic")
TAILS = ("rise", "clip")
RANKS = ("value", "cells", "rows")
MOST_ROWS, MOST_TREES, MOST_LEAVES, MOST_IN_LEAF = 5000, 500, 256, 500
MIN_NOISE, MAX_NOISE = 0.2, 3.0
MOST_NEIGHBOURS, MOST_TOP = 200, 30
_TABLE_SHAPES = {"diabetes": (442, 0), "wine": (178, 3), "breast_cancer": (569, 2)}


class MethodInfo(NamedTuple):
    """A score of the page; higher is more novel, or more uncertain, for all of them.

    label : its name on figures; unit : of its values, where there is one number for all data;
    about : what it is, in one sentence; of_macau : whether the forest computes it.
    """

    label: str
    unit: str
    about: str
    of_macau: bool


_METHODS = {
    "novelty": MethodInfo(
        "Novelty",
        "z",
        "How far a place lies from the rows of its leaf in all features. The Mahalanobis distance "
        "becomes a z-score among those of the training rows, averaged over the trees.",
        True,
    ),
    "conditional": MethodInfo(
        "Conditional novelty",
        "z",
        "Novelty in only those features that lie on the path to the leaf. Features that the "
        "forest did not use do not count.",
        True,
    ),
    "inference": MethodInfo(
        "|Inference novelty|",
        "|z|",
        "How unusual the leaf model's prediction is among its predictions for the leaf's rows, "
        "as the absolute value of the mean z-score.",
        True,
    ),
    "knowledge": MethodInfo(
        "Knowledge uncertainty",
        "variance",
        "The variance of the trees' predictions. For classes, the variance of the class "
        "probability, not nats.",
        True,
    ),
    "data": MethodInfo(
        "Data uncertainty",
        "variance",
        "The mean variance that the leaf models predict. For classes, the variance of the class "
        "probability, not nats.",
        True,
    ),
    "isolation": MethodInfo(
        RECORDS["isolation"].label,
        "score",
        "How few random axis-parallel cuts separate a place from the training rows. It does not "
        "use the target.",
        False,
    ),
    "distance": MethodInfo(
        "Distance to rows",
        "quartile ranges",
        "The mean distance to the nearest training rows, with each feature divided by its "
        "interquartile range. It does not use the target.",
        False,
    ),
    "truth": MethodInfo(
        "\u2212log true density",
        "nats",
        "Minus the logarithm of the density that the rows were drawn from, before any edit.",
        False,
    ),
}
METHODS: Mapping[str, MethodInfo] = MappingProxyType(_METHODS)


@dataclass(frozen=True, kw_only=True)
class NoveltySettings:
    """Everything that the page depends on."""

    data: str = "moons"  # A key of `DATASETS`
    # `rows`, `noise`: training rows of a synthetic set, and a factor of its usual noise; tables
    # ignore them
    rows: int = 600
    noise: float = 1.0
    seed: int = 0  # of rows, added rows and models
    third: bool = False  # whether there is a third feature that has nothing to do with y
    # `table`, `columns`: A built-in table and two of its columns; None takes the usual ones
    table: str = "diabetes"
    columns: tuple[str, str] | None = None
    leaf_model: str = "linear"  # {"linear", "basic"}: of MACAU
    # `trees`, `leaves`, `min_leaf`, `subsample`: Of its forest: trees, the most leaves of one, the
    # fewest rows of a leaf, and the share of the rows that each tree is grown on. The isolation
    # forest has as many trees.
    trees: int = 100
    leaves: int = 31
    min_leaf: int = 20
    subsample: float = 0.8
    edits: tuple[Edit, ...] = ()  # what eraser and painter did to the rows
    # {"rise", "clip"}: whether z-scores rise beyond the training rows or stop at 5.2, as the
    # authors' code does
    tail: str = "rise"
    third_at: float = 0.0  # the value of the third feature all over the map
    neighbours: int = 10  # training rows that the distance is averaged over
    # {"value", "cells", "rows"}: what maps show: the values, their percentiles among the map's
    # cells, or among the training rows' own values
    ranks: str = "value"
    # `methods`, `compared`: keys of `METHODS`: the maps, and those whose ranks are held against
    # each other
    methods: tuple[str, ...] = tuple(_METHODS)
    compared: tuple[str, ...] = ("novelty", "knowledge", "isolation", "distance")
    score: str = "novelty"  # the one whose change an edit is judged by
    point: tuple[float, float] | None = None  # the place that is looked at
    n_top: int = 6  # how many of the trees that find it most novel are shown


@dataclass(frozen=True, kw_only=True)
class NoveltyPlan:
    """What a fit depends on, and nothing else: the key of its result.

    Fields that the data do not use are None, so that moving them refits nothing.
    """

    data: str
    rows: int | None
    noise: float | None
    seed: int
    third: bool
    table: str | None
    columns: tuple[str, str] | None
    leaf_model: str
    trees: int
    leaves: int
    min_leaf: int
    subsample: float
    edits: tuple[Edit, ...]


def plan_novelty(settings: NoveltySettings) -> NoveltyPlan:
    """What the fit of these settings depends on.

    Examples
    --------
    >>> one, other = NoveltySettings(third_at=2.0), NoveltySettings(tail="clip", table="wine")
    >>> plan_novelty(one) == plan_novelty(other)
    True
    """
    is_table = check_choice("data", settings.data, tuple(DATASETS)) == "table"
    return NoveltyPlan(
        data=settings.data,
        rows=None if is_table else settings.rows,
        noise=None if is_table else settings.noise,
        seed=settings.seed,
        third=bool(settings.third),
        table=settings.table if is_table else None,
        columns=check_columns(settings.table, settings.columns) if is_table else None,
        leaf_model=settings.leaf_model,
        trees=settings.trees,
        leaves=settings.leaves,
        min_leaf=settings.min_leaf,
        subsample=settings.subsample,
        edits=tuple(settings.edits),
    )


def why_not(plan: NoveltyPlan) -> str:
    """Why a plan cannot be fitted, in a sentence; empty if it can. Edits are tried out.

    Examples
    --------
    >>> why_not(plan_novelty(NoveltySettings(rows=10)))
    'rows must be a whole number at least 50 and at most 5000; got 10.'
    >>> why_not(plan_novelty(NoveltySettings()))
    ''
    """
    try:
        check_plan(plan)
        if plan.edits:
            apply_edits(plan_data(plan), plan.edits, plan.seed)
    except GbuqError as error:
        return str(error)
    return ""


def check_plan(plan: NoveltyPlan) -> None:
    """Raise the sentence of `why_not`, but for what the edits do to the rows."""
    check_choice("data", plan.data, tuple(DATASETS))
    if plan.rows is not None:
        check_number("rows", plan.rows, FEWEST_ROWS, MOST_ROWS, integer=True)
    if plan.noise is not None:
        check_number("noise", plan.noise, MIN_NOISE, MAX_NOISE)
    check_number("seed", plan.seed, 0, 2**31 - 1, integer=True)
    check_choice("leaf_model", plan.leaf_model, LEAF_MODELS)
    check_number("trees", plan.trees, 1, MOST_TREES, integer=True)
    check_number("leaves", plan.leaves, 2, MOST_LEAVES, integer=True)
    check_number("min_leaf", plan.min_leaf, 1, MOST_IN_LEAF, integer=True)
    check_number("subsample", plan.subsample, 0.05, 0.95)
    check_edits(plan.edits)


def plan_data(plan: NoveltyPlan) -> Any:
    """The data of a plan before any edit, as `load_novelty_data` returns them."""
    return load_novelty_data(
        plan.data, plan.rows, plan.noise, plan.seed, plan.third, plan.table, plan.columns
    )


def check_view(settings: NoveltySettings) -> str:
    """Why the knobs of the view make no sense whatever the fit; empty if they do.

    Examples
    --------
    >>> check_view(NoveltySettings(compared=("novelty",)))
    'Ranks are compared between two or more scores. Choose another one.'
    >>> check_view(NoveltySettings())
    ''
    """
    try:
        check_choice("tail", settings.tail, TAILS)
        check_choice("ranks", settings.ranks, RANKS)
        check_number("third_at", settings.third_at, -100.0, 100.0)
        check_number("neighbours", settings.neighbours, 1, MOST_NEIGHBOURS, integer=True)
        check_number("n_top", settings.n_top, 1, MOST_TOP, integer=True)
        check_choice("score", settings.score, tuple(METHODS))
        for name in ("methods", "compared"):
            for key in getattr(settings, name):
                check_choice(name, key, tuple(METHODS))
        if not settings.methods:
            raise InvalidParameter("No map is chosen. Choose one.")
        if len(set(settings.compared)) < 2:
            raise InvalidParameter(
                "Ranks are compared between two or more scores. Choose another one."
            )
    except GbuqError as error:
        return str(error)
    return ""


def novelty_knobs(plan: NoveltyPlan, task: str) -> dict[str, Any]:
    """Arguments of MACAU's class, with one thread: these rows are too few for two."""
    of_paper = task == "regression" and plan.leaf_model == "linear"
    return {
        **({"leaf_features": "path"} if of_paper else {}),
        "leaf_model": plan.leaf_model,
        "n_trees": plan.trees,
        "max_leaves": plan.leaves,
        "min_child_samples": plan.min_leaf,
        "subsample": plan.subsample,
        "n_jobs": 1,
        "random_state": plan.seed,
    }


def novelty_model(plan: NoveltyPlan, task: str) -> MacauClassifier | MacauRegressor:
    """The unfitted forest of a plan.

    Examples
    --------
    >>> novelty_model(plan_novelty(NoveltySettings(trees=7)), "regression").n_trees
    7
    """
    check_plan(plan)
    model: MacauClassifier | MacauRegressor = (
        forest_of(plan).builder(task).make(**novelty_knobs(plan, task))
    )
    return model


def forest_of(plan: NoveltyPlan) -> Method:
    """The record of the plan's forest.

    >>> forest_of(plan_novelty(NoveltySettings(leaf_model="basic"))).label
    'MACAU (basic)'
    """
    return RECORDS[f"macau_{plan.leaf_model}"]


# Seconds on one core of a 2020s server, the maps included.
_BASE, _PER_ROUND, _PER_TREE, _PER_CELL, _PER_ROW = 0.1, 2.3e-3, 1.5e-3, 1.5e-6, 4.3e-6


def estimate_novelty_seconds(plan: NoveltyPlan) -> float:
    """Roughly what `fit_novelty_maps` and the first maps take.

    Examples
    --------
    >>> from dataclasses import replace
    >>> quick = plan_novelty(NoveltySettings())
    >>> estimate_novelty_seconds(replace(quick, trees=500)) > 2 * estimate_novelty_seconds(quick)
    True
    """
    rows, forests = _shape(plan)
    per_tree = _PER_TREE + N_CELLS * _PER_CELL + rows * _PER_ROW
    return _BASE + plan.trees * (_PER_ROUND + forests * per_tree)


def _shape(plan: NoveltyPlan) -> tuple[int, int]:
    """Rows before any edit, and trees that are grown in each round."""
    if plan.table is not None:
        rows, classes = _TABLE_SHAPES[plan.table]
    else:
        rows, classes = plan.rows or 0, 3 if plan.data == "spiral" else 2
    painted = sum(
        edit.copies * sum(length for _, length in edit.runs)
        for edit in plan.edits
        if edit.kind == "add"
    )
    return rows + painted, classes if classes > 2 else 1


def finite_point(point: Any) -> tuple[float, float] | None:
    """A place as two numbers within a million, as far as densities are known; None if it is none.

    >>> finite_point((1, 2)), finite_point((1.0, float("nan"))), finite_point("x")
    ((1.0, 2.0), None, None)
    """
    try:
        x, y = (float(value) for value in point)
    except (TypeError, ValueError, OverflowError):
        return None
    inside = math.isfinite(x) and math.isfinite(y) and max(abs(x), abs(y)) <= 1e6
    return (x, y) if inside else None
