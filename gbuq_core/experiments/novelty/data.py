"""The data of the Novelty maps page: two features, and where the truth is known, their density.

The map reaches well out of the rows, as what a model says there is the question. Its cells stay
where they are whatever the number of rows, the noise and the seed, so that a place does, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.errors import InvalidParameter
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
from gbuq_core.validation import check_choice

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Whole = npt.NDArray[np.int64]

SIDE = 60  # cells of the maps along each feature
N_CELLS = SIDE * SIDE
THIRD_NAME = "irrelevant feature"
_THIRD_STREAM, _QUANTILE_STREAM = 3, 2  # of the seed
_QUANTILE_ROWS, _LEAST_MASS = 3000, 0.01  # of the rows lie outside the support
_MARGIN = 0.6  # of a table's range, to either side


class DatasetInfo(NamedTuple):
    """A set of the page: its name, and a sentence about it."""

    label: str
    about: str


_DATASETS = {
    "moons": DatasetInfo(
        "Moons", "Two interleaved half circles, one for each class, with noise of std 0.15."
    ),
    "spiral": DatasetInfo(
        "Spiral", "Three spiral arms, one for each class. They widen outwards, with gaps between."
    ),
    "rings": DatasetInfo(
        "Rings", "A ring of radius 1 inside a ring of radius 2, two classes. The middle is empty."
    ),
    "blobs": DatasetInfo(
        "Blobs",
        "Two touching blobs at the upper left and a tilted one at the lower right. The two other "
        "corners are empty, but have rows beside them along both features.",
    ),
    "table": DatasetInfo("A table", "Two columns of a real table. Its density is not known."),
}
DATASETS: Mapping[str, DatasetInfo] = MappingProxyType(_DATASETS)

# The edges of each synthetic map, and the usual noise, which ``noise`` multiplies.
_PLANES: dict[str, tuple[Extent, float]] = {
    "moons": (((-3.5, 4.5), (-3.75, 4.25)), 0.15),
    "spiral": (((-600.0, 600.0), (-600.0, 600.0)), 0.2),
    "rings": (((-5.0, 5.0), (-5.0, 5.0)), 0.15),
    "blobs": (((-7.0, 7.0), (-7.0, 7.0)), 0.6),
}


class TableChoice(NamedTuple):
    """A built-in table: its task, its numeric columns, and the two that are shown by default."""

    key: str
    title: str
    task: str
    columns: tuple[str, ...]
    default: tuple[str, str]


_OF_CELLS = (
    *("radius", "texture", "perimeter", "area", "smoothness", "compactness", "concavity"),
    *("concave points", "symmetry", "fractal dimension"),
)
# As their loader says, which takes a second to import.
TABLES = (
    TableChoice(
        "diabetes", "Diabetes", "regression",
        (
            "age (years)", "body mass index (kg/m\u00b2)", "average blood pressure (mm Hg)",
            "total serum cholesterol", "low-density lipoproteins", "high-density lipoproteins",
            "total cholesterol / HDL", "log of serum triglycerides", "blood sugar level",
        ),
        ("body mass index (kg/m\u00b2)", "log of serum triglycerides"),
    ),
    TableChoice(
        "wine", "Wine", "classification",
        (
            "alcohol", "malic acid", "ash", "alcalinity of ash", "magnesium", "total phenols",
            "flavanoids", "nonflavanoid phenols", "proanthocyanins", "color intensity", "hue",
            "od280/od315 of diluted wines", "proline",
        ),
        ("alcohol", "flavanoids"),
    ),
    TableChoice(
        "breast_cancer", "Breast cancer", "classification",
        (
            *(f"mean {what}" for what in _OF_CELLS), *(f"{what} error" for what in _OF_CELLS),
            *(f"worst {what}" for what in _OF_CELLS),
        ),
        ("mean radius", "mean texture"),
    ),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class NoveltyData:
    """Training rows over a map, and the truth where it is known; arrays are read-only."""

    # `key`, `title`: A key of `DATASETS`; its label, or the table's
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


def check_columns(table: str, columns: tuple[str, str] | None) -> tuple[str, str]:
    """The two columns of a table that are shown, the default ones without a choice."""
    choices = {choice.key: choice for choice in TABLES}
    choice = choices[check_choice("table", table, tuple(choices))]
    if columns is None:
        return choice.default
    pair = tuple(columns)
    if len(pair) != 2 or pair[0] == pair[1] or not set(pair) <= set(choice.columns):
        raise InvalidParameter(
            f"columns must be two different numeric columns of the table {choice.title}; "
            f"got {columns!r}."
        )
    return pair[0], pair[1]


@lru_cache(maxsize=16)
def load_novelty_data(
    key: str,
    rows: int | None = 600,
    noise: float | None = 1.0,
    seed: int = 0,
    third: bool = False,
    table: str | None = None,
    columns: tuple[str, str] | None = None,
) -> NoveltyData:
    """Draw a synthetic set, or take two columns of a table."""
    if check_choice("data", key, tuple(DATASETS)) == "table":
        chosen = "diabetes" if table is None else table
        data = _table(chosen, check_columns(chosen, columns))
    else:
        count, factor = 600 if rows is None else rows, 1.0 if noise is None else noise
        data = _synthetic(key, count, factor, seed)
    if third:
        extra = np.random.default_rng([seed, _THIRD_STREAM]).standard_normal(len(data.y))
        data = replace(
            data,
            X=np.column_stack([data.X, extra]),
            feature_names=(*data.feature_names, THIRD_NAME),
        )
    for part in vars(data).values():
        for array in part if isinstance(part, tuple) else (part,):
            if isinstance(array, np.ndarray):
                array.setflags(write=False)
    return data


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
        title=DATASETS[key].label,
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


def _table(key: str, columns: tuple[str, str]) -> NoveltyData:
    from gbuq_core.tables.builtin import load_builtin

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
    )
