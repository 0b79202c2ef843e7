"""The settings of the Novelty maps page, and which of them a fit depends on.

Merilinna, "Advanced uncertainty quantification and novelty detection for random forest models"
(MACAU, 2023), section 3.2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from gbuq_core.errors import GbuqError
from gbuq_core.experiments.novelty.data import (
    DATASETS,
    SIDE,
    TABLES,
    check_columns,
    load_novelty_data,
)
from gbuq_core.experiments.novelty.erasing import (
    FEWEST_ROWS,
    MOST_PLACES,
    Place,
    check_places,
    erase_rows,
    read_places,
    write_places,
)
from gbuq_core.methods import METHODS as RECORDS
from gbuq_core.methods import Method
from gbuq_core.settings import Codec, arguments, check, setting

if TYPE_CHECKING:
    from gbuq_core.macau import MacauClassifier, MacauRegressor


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
        "Minus the logarithm of the density that the rows were drawn from.",
        False,
    ),
}
METHODS: Mapping[str, MethodInfo] = MappingProxyType(_METHODS)


_PLACE = "(?:[1-9]|[1-5][0-9]|60)_(?:[1-9]|[1-5][0-9]|60)"  # a cell, as links write it
OWN_LABEL = "Knowledge uncertainty, own values"
APART, OWN = "apart", "own"  # maps of where ranks disagree, and of KU's own values
# Truth first, then what is to repeat it.
POSITIVE = ("knowledge", "data", "distance")  # variances and distances
ORDER = ("truth", *(key for key in METHODS if key != "truth"))
_ESTIMATES = {METHODS[key].label: key for key in ORDER[1:]}
MAP_LABELS = {
    **{METHODS[key].label: key for key in ORDER},
    OWN_LABEL: OWN,  # on a logarithmic scale, whatever the others show
    "where ranks disagree": APART,
}
_SHOWS = {"ranks among cells": "cells", "ranks among rows": "rows", "own values": "value"}
SHOWS = tuple(_SHOWS.values())


def _of_table(settings: NoveltySettings) -> bool:
    return settings.data == "table"


def _synthetic(settings: NoveltySettings) -> bool:
    return settings.data != "table"


@dataclass(frozen=True, kw_only=True)
class NoveltySettings:
    """Everything that the page depends on; `settings.plan_of` makes it the key of a fit."""

    data: str = setting(
        "moons", "Data", group="data", named={info.label: key for key, info in DATASETS.items()},
        help="Four synthetic sets with known density, and two columns of a real table.",
    )  # fmt: skip
    table: str = setting(
        "diabetes", "Table", group="data", uses=_of_table,
        named={choice.title: choice.key for choice in TABLES},
    )  # fmt: skip
    # Of the table; None takes the usual ones. The page has knobs of its own for each table's.
    columns: tuple[str, str] | None = setting(
        None, "Columns", group="data", uses=_of_table, offered=False
    )
    rows: int = setting(
        600, "Training rows", group="data", uses=_synthetic, limits=(FEWEST_ROWS, 5000),
        shrink=(0.5, 200), choices=(60, 100, 200, 300, 400, 600, 800, 1000, 1500, 2000, 3000),
    )  # fmt: skip
    noise: float = setting(
        1.0, "Noise factor", group="data", uses=_synthetic, limits=(0.2, 3.0),
        choices=(0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0), help="Multiplies the usual noise of the data.",
    )  # fmt: skip
    third: bool = setting(
        False, "Add an irrelevant feature", group="data",
        help="A third feature of standard normal noise, which says nothing about the target.",
    )  # fmt: skip
    seed: int = setting(
        0, "Seed", group="data", low=0, high=30, step=1, limits=(0, 2**31 - 1), arg="random_state",
        help="Draws the rows and grows the trees.",
    )  # fmt: skip
    # The middles of squares whose rows are erased, in the order of the clicks.
    erased: tuple[Place, ...] = setting(
        (), "Places without rows", group="data", codec=Codec(read_places, write_places),
        pattern=rf"(?:{_PLACE}(?:~{_PLACE}){{0,{MOST_PLACES - 1}}})?",
        help="The cells of the map around which rows are erased: 21_35~40_12 is the 21st cell from "
        "the left and the 35th from below, and another one.",
    )  # fmt: skip
    # The isolation forest has as many trees.
    trees: int = setting(
        100, "Trees", group="method", limits=(1, 500), arg="n_trees", shrink=(1.0, 20),
        choices=(10, 20, 30, 50, 70, 100, 150, 200, 300),
    )  # fmt: skip
    leaves: int = setting(
        31, "Leaves per tree, at most", group="method", limits=(2, 256), arg="max_leaves",
        choices=(2, 3, 4, 6, 8, 12, 16, 24, 31, 48, 64),
    )  # fmt: skip
    leaf_model: str = setting(
        "linear", "A leaf predicts with", group="method", arg="leaf_model",
        named={"linear or logistic": "linear", "mean or share": "basic"},
        help="A regression on the features of its path, or the mean (the class share) of its rows.",
    )  # fmt: skip
    min_leaf: int = setting(
        20, "Rows in a leaf, at least", group="method", limits=(1, 500), arg="min_child_samples",
        choices=(1, 2, 3, 5, 10, 15, 20, 30, 50, 100),
    )  # fmt: skip
    subsample: float = setting(
        0.8, "Share of rows per tree", group="method", limits=(0.05, 0.95), arg="subsample",
        choices=(0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9),
    )  # fmt: skip
    tail: str = setting(
        "rise", "z beyond the farthest row", group="method", fits=False,
        named={"keeps rising": "rise", "clipped, as the authors'": "clip"},
        help="The authors' z-scores stop at 5.2, so all distant places are equally new.",
    )  # fmt: skip
    # These two stand above the maps, which the browser colours anew when they are chosen.
    show: str = setting(
        "cells", "Show", group="picture",
        named=_SHOWS,
        help="Scores have different units, but their ranks can be compared. A rank is the share "
        "of the map's cells, or of the training rows, with a lower score.",
    )  # fmt: skip
    log: bool = setting(
        False, "Logarithmic colours", group="picture", needs=("show", ("own values",)),
        kinds=tuple(METHODS[key].label for key in POSITIVE), help="For variances and distances.",
    )  # fmt: skip
    maps: tuple[str, ...] = setting(
        ("truth", "novelty", "conditional", "knowledge", "isolation", APART), "Maps", group="view",
        named=MAP_LABELS,
    )  # fmt: skip
    third_at: float = setting(
        0.0, "Third feature on the maps", group="view", low=-5.0, high=5.0, step=0.5, unit="std",
        limits=(-100.0, 100.0), uses=lambda settings: settings.third,
    )  # fmt: skip
    neighbours: int = setting(
        10, "Nearest rows", group="view", choices=(1, 2, 3, 5, 10, 20, 50), limits=(1, 200),
        help="The distance to rows is the mean distance to this many nearest training rows.",
        uses=lambda settings: "distance" in (*settings.maps, *settings.compared),
    )  # fmt: skip
    compared: tuple[str, ...] = setting(
        ("novelty", "knowledge", "isolation", "distance"), "Scores to compare", group="view",
        named=_ESTIMATES, uses=lambda settings: APART in settings.maps,
    )  # fmt: skip
    drawn: int = setting(
        6, "Leaves drawn", group="view", choices=(1, 2, 3, 4, 6, 8, 10, 15, 20), limits=(1, 30),
        help="Of the trees that find the chosen place most novel.",
    )  # fmt: skip
    # The cell that is looked at.
    column: int = setting(
        45, "Cell, from the left", group="page", low=1, high=SIDE, step=1, box=True
    )
    row: int = setting(50, "Cell, from below", group="page", low=1, high=SIDE, step=1, box=True)

    @property
    def cell(self) -> tuple[int, int]:
        """The (row, column) from 0 that is looked at."""
        return self.row - 1, self.column - 1


# What a bare address shows: KU twice, since ranks give half of their colours to the half of the
# cells where it is next to nothing. It looks at rows, which a click erases.
FIRST = NoveltySettings(
    maps=("truth", "novelty", "knowledge", "isolation", OWN, APART), column=21, row=35
)


def why_not(plan: NoveltySettings) -> str:
    """Why settings cannot be fitted, in a sentence; empty if they can. Rows are erased for it."""
    try:
        check_settings(plan)
        if plan.erased:
            erase_rows(plan_data(plan), plan.erased)
    except GbuqError as error:
        return str(error)
    return ""


def check_settings(settings: NoveltySettings) -> None:
    """Raise the sentence of `why_not`, but for what erasing leaves of the rows."""
    check(settings, besides=("erased", "columns"))
    check_places(settings.erased)
    if settings.data == "table":
        check_columns(settings.table, settings.columns)


def plan_data(plan: NoveltySettings) -> Any:
    """The data of settings with all rows, as `load_novelty_data` returns them."""
    if plan.data == "table":
        return load_novelty_data(
            "table", None, None, plan.seed, plan.third, plan.table, plan.columns
        )
    return load_novelty_data(plan.data, plan.rows, plan.noise, plan.seed, plan.third, None, None)


def novelty_arguments(plan: NoveltySettings, task: str) -> dict[str, Any]:
    """Arguments of MACAU's class, with one thread: these rows are too few for two."""
    of_paper = task == "regression" and plan.leaf_model == "linear"
    return {**({"leaf_features": "path"} if of_paper else {}), **arguments(plan), "n_jobs": 1}


def novelty_model(plan: NoveltySettings, task: str) -> MacauClassifier | MacauRegressor:
    """The unfitted forest of a plan.

    >>> novelty_model(NoveltySettings(trees=7), "regression").n_trees
    7
    """
    check_settings(plan)
    return forest_of(plan).builder(task).make(**novelty_arguments(plan, task))


def forest_of(plan: NoveltySettings) -> Method:
    """The record of the plan's forest.

    >>> forest_of(NoveltySettings(leaf_model="basic")).label
    'MACAU (basic)'
    """
    return RECORDS[f"macau_{plan.leaf_model}"]


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
