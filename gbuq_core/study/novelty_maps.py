"""What novelty maps show: rows and their density, settings, a fit, and every score over the map.

The map reaches well out of the rows, as what a model says there is the question. Its cells stay
where they are whatever the number of rows, the noise and the seed, so that a place does, too. Rows
are erased around such places: a cell means the same for more rows, other noise and another seed.
Read from top to bottom: data, settings, fit, scores, ranks.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from gbuq_core.errors import InvalidData, InvalidParameter, refusal_of_call
from gbuq_core.macau.results import LeafEllipses, MeanNovelty
from gbuq_core.methods import METHODS as RECORDS
from gbuq_core.methods import Method
from gbuq_core.presentation import Tally
from gbuq_core.progress import stage
from gbuq_core.resources import Recent, held_bytes
from gbuq_core.settings import Codec, arguments, check, setting
from gbuq_core.study.study import Cell, Run
from gbuq_core.synthetic import (
    blobs_log_density,
    make_blobs,
    make_moons3,
    make_rings,
    make_spiral,
    moons_log_density,
    rings_log_density,
    spiral_log_density,
)
from gbuq_core.synthetic.plane import Extent, cell_middles
from gbuq_core.validation import check_choice, check_number

T = TypeVar("T")

# --- Data -----------------------------------------------------------------------------------------

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Whole = npt.NDArray[np.int64]
Place = tuple[int, int]  # the row and the column of a cell, from 0

SIDE = 60  # cells of the maps along each feature
N_CELLS = SIDE * SIDE
THIRD_NAME = "irrelevant feature"
_THIRD_STREAM, _QUANTILE_STREAM = 3, 2  # of the seed
_QUANTILE_ROWS, _LEAST_MASS = 3000, 0.01  # of the rows lie outside the support
_MARGIN = 0.6  # of a table's range, to either side
AROUND = 4  # cells on each side of a place, which lose their rows with it
MOST_PLACES, FEWEST_ROWS = 20, 50


DATASETS: Mapping[str, str] = MappingProxyType(
    {
        "moons": "Moons",
        "spiral": "Spiral",
        "rings": "Rings",
        "blobs": "Blobs",
        "table": "A table",
    }
)

# The edges of each synthetic map, and the usual noise, which ``noise`` multiplies.
_PLANES: dict[str, tuple[Extent, float]] = {
    "moons": (((-3.5, 4.5), (-3.75, 4.25)), 0.15),
    "spiral": (((-600.0, 600.0), (-600.0, 600.0)), 0.2),
    "rings": (((-5.0, 5.0), (-5.0, 5.0)), 0.15),
    "blobs": (((-7.0, 7.0), (-7.0, 7.0)), 0.6),
}


class TableChoice(NamedTuple):
    """A built-in table: its task, its numeric columns, and the two that are shown by default."""

    title: str
    task: str
    columns: tuple[str, ...]
    default: tuple[str, str]


_OF_CELLS = (
    *("radius", "texture", "perimeter", "area", "smoothness", "compactness", "concavity"),
    *("concave points", "symmetry", "fractal dimension"),
)
# As their loader says, which takes a second to import.
TABLES = {
    "diabetes": TableChoice(
        "Diabetes", "regression",
        (
            "age (years)", "body mass index (kg/m\u00b2)", "average blood pressure (mm Hg)",
            "total serum cholesterol", "low-density lipoproteins", "high-density lipoproteins",
            "total cholesterol / HDL", "log of serum triglycerides", "blood sugar level",
        ),
        ("body mass index (kg/m\u00b2)", "log of serum triglycerides"),
    ),
    "wine": TableChoice(
        "Wine", "classification",
        (
            "alcohol", "malic acid", "ash", "alcalinity of ash", "magnesium", "total phenols",
            "flavanoids", "nonflavanoid phenols", "proanthocyanins", "color intensity", "hue",
            "od280/od315 of diluted wines", "proline",
        ),
        ("alcohol", "flavanoids"),
    ),
    "breast_cancer": TableChoice(
        "Breast cancer", "classification",
        (
            *(f"mean {what}" for what in _OF_CELLS), *(f"{what} error" for what in _OF_CELLS),
            *(f"worst {what}" for what in _OF_CELLS),
        ),
        ("mean radius", "mean texture"),
    ),
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class NoveltyData:
    """Training rows over a map, and the truth where it is known; arrays are read-only."""

    # `key`, `title`: a key of `DATASETS`; its label, or the table's
    key: str
    title: str
    task: str  # {"classification", "regression"}
    X: Array  # (n_rows, n_features): the place, and the irrelevant third feature if there is one
    y: npt.NDArray[np.float64 | np.int64]  # (n_rows,): class codes from 0, int64; or numbers
    classes: tuple[str, ...]  # their names; empty for a regression
    feature_names: tuple[str, ...]
    target_name: str
    extent: Extent  # outer edges of the map
    # (60,): the middles of the cells along the first feature (columns) and the second (rows)
    axes: tuple[Array, Array]
    # (3600, 2): the middles of the cells, the second feature upwards: `.reshape(60, 60)` is a map
    grid: Array
    cell: Whole  # (n_rows,): the number of each row's cell; -1 for a row outside the map
    # (3600,): of a row of any class, per unit area, natural logarithm; the third feature is left
    # out
    log_density: Array | None = None
    # (3600,): where the density exceeds that of all but 1 % of the rows
    in_support: Mask | None = None
    row_log_density: Array | None = None  # (n_rows,): the density at the training rows
    # `origin`, `n_all`: (n_rows,), which row of all each is; how many all are, with those erased
    origin: Whole
    n_all: int

    def places(self, points: Array | None = None, third: float = 0.0) -> Array:
        """Points of the plane, by default the cells, as rows of a model: with the third feature."""
        points = self.grid if points is None else points
        if self.X.shape[1] == 2:
            return points
        return np.column_stack([points, np.full(len(points), third)])

    def lie_in(self, squares: Mask) -> Mask:
        """Which of the rows (n_rows,) lie in these of the cells (3600,)."""
        return np.asarray((self.cell >= 0) & squares[self.cell])


def read_places(text: str) -> tuple[Place, ...]:
    """Places of a link, which counts columns and rows from 1.

    >>> read_places("21_35~40_12")
    ((34, 20), (11, 39))
    """
    pairs = (pair.split("_") for pair in text.split("~") if pair)
    return tuple((int(row) - 1, int(column) - 1) for column, row in pairs)


def write_places(places: Sequence[Place]) -> str:
    """The text of places."""
    return "~".join(f"{column + 1}_{row + 1}" for row, column in places)


def span_around(at: int) -> tuple[int, int]:
    """The first of the cells around one, along one axis, and the cell behind the last.

    >>> span_around(30), span_around(0)
    ((26, 35), (0, 5))
    """
    return max(0, at - AROUND), min(SIDE, at + AROUND + 1)


def squares_around(places: Sequence[Place]) -> Mask:
    """Which of the 3,600 cells lie in a square around one of the places."""
    squares = np.zeros((SIDE, SIDE), dtype=bool)
    for place in places:
        (bottom, top), (left, right) = map(span_around, place)
        squares[bottom:top, left:right] = True
    return squares.ravel()


@lru_cache(maxsize=16)
def load_novelty_data(
    key: str,
    rows: int = 600,
    noise: float = 1.0,
    seed: int = 0,
    third: bool = False,
    table: str = "diabetes",
    columns: tuple[str, str] | None = None,
    erased: tuple[Place, ...] = (),
) -> NoveltyData:
    """Draw a synthetic set, or take two columns of a table, and erase rows around places."""
    if check_choice("data", key, tuple(DATASETS)) == "table":
        data = _table(table, columns)
    else:
        data = _synthetic(key, rows, noise, seed)
    if third:
        extra = np.random.default_rng([seed, _THIRD_STREAM]).standard_normal(len(data.y))
        names = (*data.feature_names, THIRD_NAME)
        data = replace(data, X=np.column_stack([data.X, extra]), feature_names=names)
    if erased:
        data = _without(data, erased)
    for part in vars(data).values():
        for array in part if isinstance(part, tuple) else (part,):
            if isinstance(array, np.ndarray):
                array.setflags(write=False)
    return data


def _without(data: NoveltyData, places: Sequence[Place]) -> NoveltyData:
    """The data without the rows in the squares around the places, if enough rows are left."""
    if len(places) > MOST_PLACES:
        raise InvalidParameter(
            f"Rows can be erased at {MOST_PLACES} places at most; got {len(places)}. Undo one "
            "first."
        )
    for place in places:
        if len(place) != 2:
            raise InvalidParameter(f"A place in erased is a row and a column; got {place!r}.")
        for at in place:
            check_number("erased", at, 0, SIDE - 1, integer=True)
    stay = np.flatnonzero(~data.lie_in(squares_around(places)))
    y, density = data.y[stay], data.row_log_density
    if data.task == "classification":
        there = np.bincount(y.astype(np.int64), minlength=len(data.classes))
        gone = [name for name, count in zip(data.classes, there, strict=True) if not count]
        if gone:
            raise InvalidData(f"No training row of {' or of '.join(gone)} would be left.")
    elif len(np.unique(y)) < 2:
        raise InvalidData("Only rows with one and the same target would be left.")
    if len(y) < FEWEST_ROWS:
        raise InvalidData(
            f"Only {len(y)} training rows would be left. A forest needs at least {FEWEST_ROWS}."
        )
    return replace(
        data,
        X=data.X[stay],
        y=y,
        cell=data.cell[stay],
        row_log_density=None if density is None else density[stay],
        origin=stay,
    )


def cell_numbers(extent: Extent, points: Array) -> Whole:
    """The cell (n,) of each point (n, 2 or more); -1 outside the map."""
    places = []
    for axis, (low, high) in enumerate(extent):
        places.append(np.floor((points[:, axis] - low) * (SIDE / (high - low))))
    column, row = places
    inside = (column >= 0) & (column < SIDE) & (row >= 0) & (row < SIDE)
    return np.where(inside, row * SIDE + column, -1).astype(np.int64)


def true_log_density(key: str, points: Array, factor: float = 1.0) -> Array:
    """Log density (n,) of a row of any class of a synthetic set, at points (n, 2) of the plane.

    >>> true_log_density("rings", np.array([[1.0, 0.0], [0.0, 0.0]])).round(1)
    array([ -1.5, -21. ])
    """
    return _log_density(key, points, factor * _PLANES[key][1])


def _synthetic(key: str, rows: int, factor: float, seed: int) -> NoveltyData:
    extent, usual = _PLANES[key]
    X, y = _draw(key, rows, factor * usual, seed)
    axes, grid = cell_middles(extent, SIDE)
    log_density, in_support = _truth(key, factor * usual)
    n_classes = 3 if key == "spiral" else 2
    return NoveltyData(
        key=key,
        title=DATASETS[key],
        task="classification",
        X=X,
        y=y,
        classes=tuple(f"class {label}" for label in range(n_classes)),
        feature_names=("x1", "x2"),
        target_name="class",
        extent=extent,
        axes=axes,
        grid=grid,
        cell=cell_numbers(extent, X),
        log_density=log_density,
        in_support=in_support,
        row_log_density=_log_density(key, X, factor * usual),
        origin=np.arange(len(y)),
        n_all=len(y),
    )


@lru_cache(maxsize=16)
def _truth(key: str, noise: float) -> tuple[Array, Mask]:
    """The log density and the support at the cells of a synthetic set's map."""
    log_density = _log_density(key, cell_middles(_PLANES[key][0], SIDE)[1], noise)
    sample = _draw(key, _QUANTILE_ROWS, noise, (0, _QUANTILE_STREAM))[0]
    limit = np.quantile(_log_density(key, sample, noise), _LEAST_MASS)
    truth = log_density, log_density > limit
    for array in truth:
        array.setflags(write=False)
    return truth


def _draw(
    key: str, rows: int, noise: float, seed: int | tuple[int, int]
) -> tuple[Array, npt.NDArray[np.int64]]:
    if key == "moons":
        moons = make_moons3(rows, noise, seed)
        return moons.X[:, :2].copy(), moons.y
    if key == "spiral":
        spiral = make_spiral(-(-rows // 3), noise, seed)
        return spiral.X[:rows, :2].copy(), spiral.y[:rows].copy()
    drawn = (make_rings if key == "rings" else make_blobs)(rows, noise, seed)
    return drawn.X, drawn.y


def _log_density(key: str, points: Array, noise: float) -> Array:
    """Log density of a row of any class, (n,)."""
    functions = {
        "moons": moons_log_density,
        "spiral": spiral_log_density,
        "rings": rings_log_density,
        "blobs": blobs_log_density,
    }
    by_class = functions[key](points, noise)
    return np.logaddexp.reduce(by_class, axis=1) - np.log(by_class.shape[1])


def _table(key: str, columns: tuple[str, str] | None) -> NoveltyData:
    from gbuq_core.tables.builtin import load_builtin

    choice = TABLES[check_choice("table", key, tuple(TABLES))]
    columns = choice.default if columns is None else columns
    if len(set(columns)) != 2 or len(columns) != 2 or not set(columns) <= set(choice.columns):
        raise InvalidParameter(
            f"columns must be two different numeric columns of the table {choice.title}; "
            f"got {columns!r}."
        )
    loaded = load_builtin(key)
    values = [loaded.table.data.column(name).to_numpy().astype(np.float64) for name in columns]
    target = loaded.table.data.column(loaded.about.target).to_numpy()
    classes: tuple[str, ...] = ()
    if loaded.about.task == "classification":
        names, y = np.unique(target.astype(str), return_inverse=True)
        classes, y = tuple(names.tolist()), y.astype(np.int64)
    else:
        y = target.astype(np.float64)
    X = np.column_stack(values)
    low, high = X.min(axis=0), X.max(axis=0)
    margin = _MARGIN * (high - low)
    first, second = zip((low - margin).tolist(), (high + margin).tolist(), strict=True)
    axes, grid = cell_middles((first, second), SIDE)
    return NoveltyData(
        key="table",
        title=loaded.about.title,
        task=loaded.about.task,
        X=X,
        y=y,
        classes=classes,
        feature_names=columns,
        target_name=loaded.about.target,
        extent=(first, second),
        axes=axes,
        grid=grid,
        cell=cell_numbers((first, second), X),
        origin=np.arange(len(y)),
        n_all=len(y),
    )


# --- Settings -------------------------------------------------------------------------------------


class Score(NamedTuple):
    """A score of the maps; higher is more novel, or more uncertain, for all of them."""

    label: str
    unit: str  # of its values, where there is one for all data
    of_macau: bool = False  # whether the forest computes it


_SCORES = {
    "novelty": Score("Novelty", "z", True),
    "conditional": Score("Conditional novelty", "z", True),
    "inference": Score("|Inference novelty|", "|z|", True),
    "knowledge": Score("Knowledge uncertainty", "variance", True),
    "data": Score("Data uncertainty", "variance", True),
    "isolation": Score(RECORDS["isolation"].label, "score"),
    "distance": Score("Distance to rows", "quartile ranges"),
    "truth": Score("\u2212log true density", "nats"),
}
SCORES: Mapping[str, Score] = MappingProxyType(_SCORES)
ORDER = ("truth", *(key for key in SCORES if key != "truth"))  # truth first, then what repeats it
POSITIVE = ("knowledge", "data", "distance")  # variances and distances
APART, OWN = "apart", "own"  # maps of where ranks disagree, and of KU's own values
OWN_LABEL = "Knowledge uncertainty, own values"  # on a logarithmic scale, whatever others show
MAP_LABELS = {
    **{SCORES[key].label: key for key in ORDER},
    OWN_LABEL: OWN,
    "where ranks disagree": APART,
}
SHOWS = {"ranks among cells": "cells", "ranks among rows": "rows", "own values": "value"}
_PLACE = "(?:[1-9]|[1-5][0-9]|60)_(?:[1-9]|[1-5][0-9]|60)"  # a cell, as links write it


def _is_synthetic(settings: NoveltySettings) -> bool:
    return settings.data != "table"


def _column(table: str, axis: int) -> Any:
    """The column of a table that is one of the map's axes."""
    return setting(
        TABLES[table].default[axis], f"Column {('across', 'upwards')[axis]}", group="data",
        choices=TABLES[table].columns, plain=True,
        uses=lambda settings: settings.data == "table" and settings.table == table,
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class NoveltySettings:
    """Everything that the page depends on; `settings.plan_of` makes it the key of a fit."""

    data: str = setting(
        "moons", "Data", group="data", named={label: key for key, label in DATASETS.items()},
        help="Four synthetic sets with known density, and two columns of a real table.",
    )  # fmt: skip
    table: str = setting(
        "diabetes", "Table", group="data", uses=lambda settings: settings.data == "table",
        named={choice.title: key for key, choice in TABLES.items()},
    )  # fmt: skip
    diabetes_x: str = _column("diabetes", 0)
    diabetes_y: str = _column("diabetes", 1)
    wine_x: str = _column("wine", 0)
    wine_y: str = _column("wine", 1)
    breast_cancer_x: str = _column("breast_cancer", 0)
    breast_cancer_y: str = _column("breast_cancer", 1)
    rows: int = setting(
        600, "Training rows", group="data", uses=_is_synthetic, limits=(FEWEST_ROWS, 5000),
        shrink=(0.5, 200), choices=(60, 100, 200, 300, 400, 600, 800, 1000, 1500, 2000, 3000),
    )  # fmt: skip
    noise: float = setting(
        1.0, "Noise factor", group="data", uses=_is_synthetic, limits=(0.2, 3.0),
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
        "rise", "z beyond the farthest row", group="method", fits=False, drawn=True,
        named={"keeps rising": "rise", "clipped, as the authors'": "clip"},
        help="The authors' z-scores stop at 5.2, so all distant places are equally new.",
    )  # fmt: skip
    # These two stand above the maps, which the browser colours anew when they are chosen.
    show: str = setting(
        "cells", "Show", group="picture", named=SHOWS, drawn=True,
        help="Scores have different units, but their ranks can be compared. A rank is the share "
        "of the map's cells, or of the training rows, with a lower score.",
    )  # fmt: skip
    log: bool = setting(
        False, "Logarithmic colours", group="picture", needs=("show", ("own values",)), drawn=True,
        kinds=tuple(SCORES[key].label for key in POSITIVE), help="For variances and distances.",
    )  # fmt: skip
    maps: tuple[str, ...] = setting(
        ("truth", "novelty", "conditional", "knowledge", "isolation", APART), "Maps", group="view",
        named=MAP_LABELS, drawn=True,
    )  # fmt: skip
    third_at: float = setting(
        0.0, "Third feature on the maps", group="view", low=-5.0, high=5.0, step=0.5, unit="std",
        limits=(-100.0, 100.0), uses=lambda settings: settings.third, drawn=True,
    )  # fmt: skip
    neighbours: int = setting(
        10, "Nearest rows", group="view", choices=(1, 2, 3, 5, 10, 20, 50), limits=(1, 200),
        help="The distance to rows is the mean distance to this many nearest training rows.",
        uses=lambda settings: "distance" in (*settings.maps, *settings.compared), drawn=True,
    )  # fmt: skip
    compared: tuple[str, ...] = setting(
        ("novelty", "knowledge", "isolation", "distance"), "Scores to compare", group="view",
        named={SCORES[key].label: key for key in ORDER[1:]}, drawn=True,
        uses=lambda settings: APART in settings.maps,
    )  # fmt: skip
    drawn: int = setting(
        6, "Leaves drawn", group="view", choices=(1, 2, 3, 4, 6, 8, 10, 15, 20), limits=(1, 30),
        help="Of the trees that find the chosen place most novel.", drawn=True,
    )  # fmt: skip
    # The cell that is looked at.
    column: int = setting(
        45, "Cell, from the left", group="view", low=1, high=SIDE, step=1, box=True, drawn=True
    )
    row: int = setting(
        50, "Cell, from below", group="view", low=1, high=SIDE, step=1, box=True, drawn=True
    )

    @property
    def cell(self) -> Cell:
        """The (row, column) from 0 that is looked at."""
        return self.row - 1, self.column - 1

    @property
    def columns(self) -> tuple[str, str]:
        """The two columns of the table."""
        return getattr(self, f"{self.table}_x"), getattr(self, f"{self.table}_y")


# What a bare address shows: KU twice, since ranks give half of their colours to the half of the
# cells where it is next to nothing. It looks at rows, which a click erases.
FIRST = NoveltySettings(
    maps=("truth", "novelty", "knowledge", "isolation", OWN, APART), column=21, row=35
)
OF_THE_FORESTS = ("tail", "third_at", "neighbours", "drawn", "column", "row")


def data_arguments(settings: NoveltySettings) -> dict[str, Any]:
    """What `load_novelty_data` takes of settings, or of a fit's key."""
    own = ("rows", "noise") if settings.data != "table" else ("table", "columns")
    names = (*own, "seed", *(name for name in ("third", "erased") if getattr(settings, name)))
    return {"key": settings.data, **{name: getattr(settings, name) for name in names}}


def make_data(settings: NoveltySettings) -> NoveltyData:
    """The rows that are left of settings, or of a fit's key, and the truth."""
    check(settings, besides=("erased",))
    return load_novelty_data(**data_arguments(settings))


def why_not(settings: NoveltySettings) -> str:
    """Why settings cannot be fitted, in a sentence; empty if they can."""
    return refusal_of_call(make_data, settings)


def admit(settings: NoveltySettings) -> NoveltySettings:
    """The settings, with all rows where too few would be left."""
    whole = replace(settings, erased=())
    return whole if settings.erased and why_not(settings) and not why_not(whole) else settings


def data(settings: NoveltySettings) -> NoveltyData | None:
    """The data of admitted settings; None if there are none."""
    settings = admit(settings)
    return None if why_not(settings) else make_data(settings)


def erase(settings: NoveltySettings, cells: Sequence[Cell]) -> tuple[dict[str, Any], str]:
    """A click erases the rows around a place and looks at it; a drag only looks."""
    rows = data(settings)
    if not cells or rows is None:
        return {}, ""
    row, column = (round(sum(at) / len(at)) for at in zip(*cells, strict=True))
    here = {"column": float(column + 1), "row": float(row + 1)}
    if len(cells) > 1 or not rows.lie_in(squares_around([(row, column)])).any():
        return here, ""
    erased = (*settings.erased, (row, column))
    if problem := why_not(replace(settings, erased=erased)):
        return here, f"{problem} The rows here stay."
    return {**here, "erased": write_places(erased)}, ""


def offer_undo(run: Run) -> tuple[str, dict[str, dict[str, Any]]]:
    """How many rows are erased, and buttons that give them back."""
    places = run.settings.erased
    if not places:
        return "", {}
    buttons = {"Undo": {"erased": write_places(places[:-1])}}
    if len(places) > 1:
        buttons["Undo all"] = {"erased": ""}
    gone = run.data is not None and len(run.data.y) < run.data.n_all
    return describe_erased(run.data) if gone else "", buttons


def describe_erased(rows: NoveltyData) -> str:
    """How many rows are erased."""
    return f"{rows.n_all - len(rows.y):,} of {rows.n_all:,} training rows are erased."


# --- Fit ------------------------------------------------------------------------------------------


class NoveltyMaps(NamedTuple):
    """Every score over the map and of the training rows; higher is more novel or uncertain."""

    keys: tuple[str, ...]  # keys of `SCORES`; "truth" only where it is known
    values: Array  # (n_scores, 3600)
    # (n_scores, n_rows): of the rows that were trained on. The distance of a row is to other rows.
    rows: Array
    # `tail`, `third_at`, `neighbours`: the knobs in use; `third_at` is 0 without a third feature
    tail: str
    third_at: float
    neighbours: int

    def of(self, key: str) -> Array:
        """One score over the map, (3600,)."""
        return self.values[self.keys.index(key)]

    def of_rows(self, key: str) -> Array:
        """One score of the training rows, (n_rows,)."""
        return self.rows[self.keys.index(key)]


class PlaceValue(NamedTuple):
    """One score at the place, and the percentages of cells and of training rows below it."""

    key: str
    value: float
    rank_cells: float
    rank_rows: float


@dataclass(frozen=True, kw_only=True)
class PlaceLook:
    """What the forest makes of one place."""

    title: str
    point: tuple[float, float]
    # (n_features,): the share of each feature in the mean squared distance; below 0 where the
    # feature is as the leaf's rows let one expect from the others. They sum to 1, unless the
    # distance is 0 everywhere.
    shares: Array
    z: Array  # (n_trees,): novelty in every tree; their mean is the novelty
    top: Whole  # (k,): the trees with the highest z, highest first
    ellipses: LeafEllipses  # their leaves in the plane of the map; the third feature is left out
    # for each tree of `top`, which of the rows that were trained on lie in the leaf
    leaf_rows: tuple[Whole, ...]
    prediction: Array  # (n_classes,): class probabilities, or the mean of y
    values: tuple[PlaceValue, ...]  # of every score of the maps

    def value_of(self, key: str) -> float:
        """One score at the place."""
        return next(value.value for value in self.values if value.key == key)


class NoveltyFit(NamedTuple):
    """A forest and an isolation forest on the rows that are left, and their first maps."""

    plan: NoveltySettings
    # `model`: a `MacauClassifier` or `MacauRegressor` and an `IsolationForestScore`; None of a
    # stored fit, as are its numbers of bytes; its seconds are NaN
    model: Any
    maps: NoveltyMaps
    n_trees: int  # of the forest: one a class in each round where there are more than two classes
    costs: Mapping[str, tuple[float, float]]  # seconds and bytes of "macau" and "isolation"
    seconds: float  # of everything
    memory_bytes: int | None
    look: PlaceLook | None = None  # of a stored fit: the place that the page opens with
    measured: Mapping[str, Any] | None = None  # of a stored fit: what the claims need


_FITS = Tally()
count_fits = _FITS.count  # what a knob of the view leaves as it is


def forest_of(plan: NoveltySettings) -> Method:
    """The record of the plan's forest.

    >>> forest_of(NoveltySettings(leaf_model="basic")).label
    'MACAU (basic)'
    """
    return RECORDS[f"macau_{plan.leaf_model}"]


def estimator_arguments(plan: NoveltySettings, task: str) -> dict[str, Any]:
    """Arguments of MACAU's class, with one thread: these rows are too few for two."""
    of_paper = task == "regression" and plan.leaf_model == "linear"
    return {**({"leaf_features": "path"} if of_paper else {}), **arguments(plan), "n_jobs": 1}


def fit(plan: NoveltySettings) -> NoveltyFit:
    """Fit MACAU and an isolation forest to the rows that are left, and score the map."""
    from gbuq_core.baselines.isolation import IsolationForestScore

    began, rows = time.perf_counter(), make_data(plan)
    model = forest_of(plan).builder(rows.task).make(**estimator_arguments(plan, rows.task))
    with stage(1.0, span=0.5):
        model.fit(rows.X, rows.y)
    isolation = IsolationForestScore(plan.trees, random_state=plan.seed, n_jobs=1).fit(rows.X)
    sizes = int(model.memory_bytes_), held_bytes(isolation)
    _FITS.add()
    return NoveltyFit(
        plan=plan,
        model=(model, isolation),
        maps=map_scores(plan, (model, isolation), in_use(plan, rows)),
        n_trees=int(model.inspect_novelty(rows.X[:1]).z.shape[1]),
        costs={
            "macau": (float(model.fit_seconds_), float(sizes[0])),
            "isolation": (float(isolation.fit_seconds_), float(sizes[1])),
        },
        seconds=time.perf_counter() - began,
        memory_bytes=sum(sizes) + held_bytes(rows.X),
    )


# --- Scores: what a knob of the view leaves as it is comes from where it was kept. ----------------

MOST_BYTES = 64_000_000  # of everything that is kept
MOST_CELLS = 1_000_000  # rows x trees whose distances are kept: 24 to 40 bytes each
_REUSE: Recent[Any] = Recent(most_bytes=MOST_BYTES)
InUse = tuple[str, float, int]  # tail, third feature and neighbours


def in_use(settings: NoveltySettings, rows: NoveltyData) -> InUse:
    """With the plan, the key of maps."""
    third = float(settings.third_at) if settings.third else 0.0
    return settings.tail, third, min(settings.neighbours, len(rows.y) - 1)


def maps_of(fitted: NoveltyFit, settings: NoveltySettings) -> NoveltyMaps:
    """The scores with the settings' tail, third feature and neighbours."""
    made, used = fitted.maps, in_use(settings, make_data(fitted.plan))
    if used == (made.tail, made.third_at, made.neighbours):
        return made
    return keep(fitted, used, "maps", lambda: map_scores(fitted.plan, fitted.model, used))


def keep(fitted: NoveltyFit, used: InUse, name: Hashable, make: Callable[[], T]) -> T:
    """What follows from the scores of a fit, by a name; a stored fit is another one."""
    kept: T = _REUSE.get((fitted.plan, fitted.model is None, used, name), make)
    return kept


def map_scores(plan: NoveltySettings, model: tuple[Any, Any], used: InUse) -> NoveltyMaps:
    """Score every cell of the map and every training row."""
    (tail, third, neighbours), rows = used, make_data(plan)
    places, forest = rows.places(third=third), with_tail(model[0], tail)
    parts = [
        _score_rows(plan, where, there, forest, model[1])
        for where, there in ((("map", third), places), ("rows", rows.X))
    ]
    scores = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
    scores["distance"] = _distances(rows.X, places, neighbours)
    if rows.log_density is not None and rows.row_log_density is not None:
        scores["truth"] = -np.concatenate([rows.log_density, rows.row_log_density])
    stacked = np.stack(list(scores.values()))
    return NoveltyMaps(tuple(scores), stacked[:, :N_CELLS], stacked[:, N_CELLS:], *used)


def with_tail(forest: Any, tail: str) -> Any:
    """The fitted forest with another tail of its z-scores, and all cores; nothing is copied."""
    forest = copy.copy(forest)
    forest.tail, forest.n_jobs = tail, None
    return forest


def _score_rows(
    plan: Hashable, where: Hashable, rows: Array, model: Any, isolation: Any
) -> dict[str, Array]:
    """Every score of rows but their distance to others; only what is not held is worked out."""
    uncertain = _REUSE.get((plan, where), lambda: model.predict_uncertainty(rows))
    isolated = _REUSE.get((plan, where, "isolation"), lambda: isolation.score_novelty(rows))
    novel = _REUSE.get((plan, where, model.tail), lambda: _novelty(plan, where, rows, model))
    return {
        "novelty": novel.novelty,
        "conditional": novel.conditional_novelty,
        "inference": np.abs(novel.inference_novelty),
        "knowledge": uncertain.knowledge,
        "data": uncertain.data,
        "isolation": isolated,
    }


def _novelty(plan: Hashable, where: Hashable, rows: Array, model: Any) -> MeanNovelty:
    """The means of `score_novelty`; of distances that are held where they are few enough."""
    if len(rows) * model.forest_.n_trees > MOST_CELLS:
        return MeanNovelty(*model.score_novelty(rows)[:3])
    measured = _REUSE.get((plan, where, "measured"), lambda: model.measure_novelty(rows))
    return MeanNovelty(*model.mean_novelty(measured))


def _distances(rows: Array, places: Array, neighbours: int) -> Array:
    """Mean distance of each place to its nearest rows, and of each row to the nearest others."""
    from gbuq_core.baselines.isolation import DistanceScore

    of_places = DistanceScore(neighbours, n_jobs=1).fit(rows).score_novelty(places)
    # A row is its own nearest row, at distance 0: the mean over one more holds the others' sum.
    of_rows = DistanceScore(neighbours + 1, n_jobs=1).fit(rows).score_novelty(rows)
    return np.concatenate([of_places, of_rows * ((neighbours + 1) / neighbours)])


# --- Ranks, and where they lie apart --------------------------------------------------------------


class Disagreement(NamedTuple):
    """How far the scores' percentiles lie apart in each cell."""

    keys: tuple[str, ...]  # the scores that were held against each other
    spread: Array  # (n_cells,): the largest percentile minus the smallest, 0 to 100
    # `most`, `least`: (n_cells,): the place in `keys` of the score that ranks the cell highest,
    # and lowest; the first of those that tie
    most: Whole
    least: Whole


def rank_cells(values: npt.ArrayLike) -> Array:
    """Of each cell, the percentage of the other cells with a lower score; ties count by half."""
    scores = np.asarray(values, dtype=np.float64)
    there = ~np.isnan(scores)
    ranks, n = np.full(scores.shape, np.nan), int(there.sum())
    below, upto = _counts(scores[there], np.sort(scores[there]))
    ranks[there] = 50.0 * (below + upto - 1) / max(n - 1, 1)
    return ranks


def rank_among(values: npt.ArrayLike, rows: npt.ArrayLike) -> Array:
    """Of each cell, the percentage of training rows whose own score is lower; ties count by half.

    All scores above the highest of the rows have the rank 100: how far above, it does not tell.
    """
    scores, own = (np.asarray(each, dtype=np.float64) for each in (values, rows))
    own = np.sort(own[~np.isnan(own)])
    if not len(own):
        return np.full(scores.shape, np.nan)
    below, upto = _counts(scores, own)
    return np.where(np.isnan(scores), np.nan, 50.0 * (below + upto) / len(own))


def _counts(values: Array, ordered: Array) -> tuple[Whole, Whole]:
    """How many of the ordered numbers are below each value, and at most as large."""
    return np.searchsorted(ordered, values, "left"), np.searchsorted(ordered, values, "right")


def ranks_of(maps: NoveltyMaps, key: str, by: str = "cells") -> Array:
    """Percentiles (3600,) of one score, among the cells or among the training rows' own scores."""
    if by == "rows":
        return rank_among(maps.of(key), maps.of_rows(key))
    return rank_cells(maps.of(key))


def compare_ranks(keys: Sequence[str], ranks: Array) -> Disagreement:
    """Where percentiles (n_scores, n_cells) lie apart, and who says what."""
    spread = ranks.max(axis=0) - ranks.min(axis=0)
    return Disagreement(tuple(keys), spread, ranks.argmax(axis=0), ranks.argmin(axis=0))
