"""The data of the Neighbours page: synthetic sets with their truth, and two built-in tables.

Fresh rows (of a synthetic set) or held-out rows (of a table) are what everything is scored on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.distribution import Distribution
from gbuq_core.metrics import find_resolution, log_scores
from gbuq_core.synthetic import make_heteroscedastic, make_ripples, make_wave
from gbuq_core.validation import check_choice

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

N_FRESH = 1000  # rows of a synthetic set that are nobody's training rows
HELD_OUT = 0.2  # of a table
_FRESH_STREAM, _SPLIT_STREAM = 1, 2  # of the seed
_UNITS = "units of y"  # of synthetic sets
_SLOPE, _SPOT = 0.1, 0.5  # the usual noise of two sets, which ``noise`` multiplies


class DatasetInfo(NamedTuple):
    """A set of the page: its name, "1d", "2d" or "table", and a sentence about it."""

    label: str
    kind: str
    about: str


_DATASETS = {
    "heteroscedastic": DatasetInfo(
        "Growing noise",
        "1d",
        "y = x/2 + sin x + 0.1 x times normal noise, for x from 0 to 10. The noise grows with x. "
        "There are no rows outside (the data set of the MACAU paper).",
    ),
    "wave": DatasetInfo(
        "Wave",
        "1d",
        "A wave with x from 0 to 6 in steps of 0.1. The noise is strong around x = 1.4. There are "
        "few rows from 3.1 to 4.4 and none beyond 6.",
    ),
    "ripples": DatasetInfo(
        "Ripples",
        "2d",
        "A square with ripples. One spot is ten times noisier, and a disc has no rows.",
    ),
    "diabetes": DatasetInfo(
        "Diabetes",
        "table",
        "442 patients with ten measurements each. The model predicts how far the disease "
        "progressed within a year (Efron et al., 2004).",
    ),
    "wine": DatasetInfo(
        "Wine: alcohol",
        "table",
        "178 Italian wines of three cultivars. The model predicts alcohol from twelve chemical "
        "measurements (Forina et al., 1991).",
    ),
}
DATASETS: Mapping[str, DatasetInfo] = MappingProxyType(_DATASETS)


@dataclass(frozen=True, kw_only=True)
class NeighboursData:
    """Training rows, rows to score on, and the truth where it is known; arrays are read-only."""

    # `key`, `title`, `kind`: A key of `DATASETS`, its label, and "1d", "2d" or "table"
    key: str
    title: str
    kind: str
    n_inputs: int  # inputs that a picture can lie over: 1, 2, or 0 for a table
    # `X`, `y`: (n_rows, n_features): training rows; the estimator holds some of them out to tune on
    X: Array
    y: Array
    # `feature_names`, `target_name`, `unit`: `unit` of y and of a scale: the target's name where a
    # table's source gives none
    feature_names: tuple[str, ...]
    target_name: str
    unit: str
    # `X_test`, `y_test`: (n_test, n_features): fresh rows of the same law, or the rows of a table
    # that were held out
    X_test: Array
    y_test: Array
    # (n_grid, n_inputs): where curves or maps are drawn; None for a table
    grid: Array | None = None
    # `prediction.reshape(grid_shape)` is a curve or a map, the second feature upwards
    grid_shape: tuple[int, ...] | None = None
    axes: tuple[Array, ...] | None = None  # places along each input
    # `true_mean`, `true_std`, `in_support`: (n_grid,): the mean of y, the std of its noise, and
    # where training rows can lie
    true_mean: Array | None = None
    true_std: Array | None = None
    in_support: Mask | None = None
    # `test_mean`, `test_std`: (n_test,): the same truth at the fresh rows
    test_mean: Array | None = None
    test_std: Array | None = None
    # (n_rows,): A class of every training row, which the model does not see; `label_name` says what
    labels: npt.NDArray[Any] | None = None
    label_name: str = ""

    def log_scores(self, law: Distribution) -> Array:
        """NLL of the test rows at the resolution of the training targets, (n_test,) nats."""
        return log_scores(law, self.y_test, find_resolution(self.y)).values


@lru_cache(maxsize=8)
def load_neighbours_data(
    key: str, rows: int = 800, noise: float = 1.0, seed: int = 0
) -> NeighboursData:
    """Draw a synthetic set, or split a table."""
    info = DATASETS[check_choice("data", key, tuple(DATASETS))]
    if info.kind == "table":
        data = _table(key, info, seed)
    else:
        data = _synthetic(key, info, rows, noise, seed)
    for part in vars(data).values():
        for array in part if isinstance(part, tuple) else (part,):
            if isinstance(array, np.ndarray):
                array.setflags(write=False)
    return data


def _synthetic(key: str, info: DatasetInfo, rows: int, noise: float, seed: int) -> NeighboursData:
    """A synthetic set with fresh rows of the same law, and its truth over a grid."""
    make, usual = _MAKERS[key]
    drawn: Any = make(rows, usual * noise, seed)
    fresh: Any = make(N_FRESH, usual * noise, [seed, _FRESH_STREAM])
    grid, axes = drawn.grid, getattr(drawn, "axes", ())
    inside = np.arange(len(grid))
    if key == "heteroscedastic":
        # Far out trees are constant: a third of the empty stretches shows it.
        inside = np.flatnonzero((grid[:, 0] >= -3.0) & (grid[:, 0] <= 13.0))
    true_mean, true_std = drawn.mean.ravel()[inside], np.sqrt(drawn.variance).ravel()[inside]
    if key == "wave":
        place = np.searchsorted(grid[:, 0], fresh.X[:, 0] - 0.05)
        truth = true_mean[place], true_std[place]
    else:
        truth = fresh.row_mean, np.sqrt(fresh.row_variance)
    return NeighboursData(
        key=key,
        title=info.label,
        kind=info.kind,
        n_inputs=grid.shape[1],
        X=drawn.X,
        y=drawn.y,
        feature_names=("x1", "x2") if axes else ("x",),
        target_name="y",
        unit=_UNITS,
        X_test=fresh.X,
        y_test=fresh.y,
        grid=grid[inside],
        grid_shape=drawn.mean.shape if axes else (len(inside),),
        axes=axes or (grid[inside, 0],),
        true_mean=true_mean,
        true_std=true_std,
        in_support=drawn.in_support.ravel()[inside],
        test_mean=truth[0],
        test_std=truth[1],
    )


# How each is made, and its usual noise
_MAKERS: Mapping[str, tuple[Callable[..., Any], float]] = {
    "wave": (make_wave, 1.0),
    "heteroscedastic": (make_heteroscedastic, _SLOPE),
    "ripples": (make_ripples, _SPOT),
}
_TARGETS = {"diabetes": ("disease progression", ""), "wine": ("alcohol", "cultivar")}


def _table(key: str, info: DatasetInfo, seed: int) -> NeighboursData:
    """A built-in table split at random; all columns but target and label are features."""
    from gbuq_core.tables.builtin import load_builtin  # brings pyarrow, which the others do without

    table = load_builtin(key).table
    columns = {name: table.data.column(name).to_numpy() for name in table.names}
    target, label = _TARGETS[key]
    features = [name for name in columns if name not in (target, label)]
    X = np.column_stack([columns[name] for name in features]).astype(np.float64)
    y = columns[target].astype(np.float64)
    order = np.random.default_rng([seed, _SPLIT_STREAM]).permutation(len(y))
    n_test = round(HELD_OUT * len(y))
    train, test = np.sort(order[n_test:]), np.sort(order[:n_test])
    return NeighboursData(
        key=key,
        title=info.label,
        kind=info.kind,
        n_inputs=0,
        X=X[train],
        y=y[train],
        feature_names=tuple(features),
        target_name=target,
        unit=target,
        X_test=X[test],
        y_test=y[test],
        labels=columns[label].astype(str)[train] if label else None,
        label_name=label,
    )
