"""The smallest change of one or two values that makes a fitted ensemble less doubtful of a row.

The members are sums of trees, so along one column they change only at the trees' own thresholds,
and over two columns they are constant on the cells of a grid. All cells of all grids are looked at,
which trying one column after the other would miss.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from gbuq_core.boosting.classifier import BoostedEnsembleClassifier
from gbuq_core.boosting.grid_kernels import fill_grid
from gbuq_core.boosting.numba_engine import NumbaModels
from gbuq_core.boosting.regressor import BoostedEnsembleRegressor
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.inputs import as_table, check_new_rows
from gbuq_core.jobs import effective_n_jobs, parallel_map, stage, tick
from gbuq_core.presentation import number_between
from gbuq_core.trees.binning import Bins, ColumnCoding, apply_bins, apply_encoding
from gbuq_core.uncertainty import Uncertainty
from gbuq_core.validation import check_choice, check_number

CATEGORY_COST = 1.0  # of another category, and of a value in place of a missing one
_PAIRS_A_THREAD = 4  # between two looks at the best so far
_TINY = float(np.finfo(np.float64).tiny)


class SmallestChange(NamedTuple):
    """What to change in a row, and what the ensemble then says.

    Attributes
    ----------
    columns : tuple of int
        Positions of the changed columns: none, one or two.
    before, after : tuple
        Their values: numbers, or categories as in training.
    size : float
        How far the numbers go, each in its scale, plus 1 for another category.
    row : DataFrame of one row
        With the changed values.
    uncertainty_before, uncertainty_after : Uncertainty
        Of the row as it was and as it is now, each (1,); variances of y, or nats.
    """

    columns: tuple[int, ...]
    before: tuple[Any, ...]
    after: tuple[Any, ...]
    size: float
    row: pd.DataFrame
    uncertainty_before: Uncertainty
    uncertainty_after: Uncertainty


class _Axis(NamedTuple):
    """The cells of one input column: all values that the trees tell apart."""

    column: int
    features: np.ndarray
    codes: np.ndarray  # (width, n_cells) uint8: each cell's codes in the `features` of the matrix
    cost: np.ndarray  # (n_cells,): 0 in the row's own cell
    values: list[Any]  # a number's ends (low, high] of each cell, a category's first level

    def within(self, most: float) -> _Axis:
        """Only the cells that cost at most so much; the row's own is among them."""
        kept = np.flatnonzero(self.cost <= most)
        values = [self.values[k] for k in kept]
        return self._replace(codes=self.codes[:, kept], cost=self.cost[kept], values=values)


class _Cell(NamedTuple):
    """A cell that is good enough: sorted by its cost, then by fewer columns, then by less doubt."""

    cost: float
    n_columns: int
    doubt: float
    axes: tuple[_Axis, ...]
    cells: tuple[int, ...]

    @property
    def rank(self) -> tuple[Any, ...]:
        return self.cost, self.n_columns, self.doubt, *(axis.column for axis in self.axes)


def find_smallest_change(
    ensemble: BoostedEnsembleRegressor | BoostedEnsembleClassifier,
    row: Any,
    most: float,
    kind: str = "total",
    fixed: Sequence[int | str] = (),
    scales: Any = None,
    n_columns: int = 2,
    members: Mapping[str, Any] = MappingProxyType({}),
) -> SmallestChange | None:
    """The smallest change of one or two columns that brings an uncertainty to a level.

    A statement about the model, not about the world: it says where the model would be sure, not
    that a person could or should change the value. The search is exact over all pairs of columns
    and all thresholds of the trees. Missing values are filled in but never made.

    Parameters
    ----------
    ensemble : BoostedEnsembleRegressor or BoostedEnsembleClassifier
        Fitted, with ``engine="numba"``.
    row : array-like (1, n_features) or DataFrame of one row
    most : float
        The uncertainty must become at most this: a variance of y, or nats.
    kind : {"total", "data", "knowledge"}
        Which uncertainty.
    fixed : sequence of int or str
        Columns that must keep their values: positions or names.
    scales : array-like (n_features,), optional
        What a change of 1 means in each numeric column, such as the std of its training values.
        None takes the spread of the column's bins.
    n_columns : {1, 2}
        How many columns may change.
    members : mapping
        Which members count, as keywords of `predict_uncertainty`: truncation_step,
        truncation_start, n_members, burn_in_cycles.

    Returns
    -------
    SmallestChange or None
        None if no change of so many columns is enough.

    Examples
    --------
    >>> import numpy as np
    >>> from gbuq_core import BoostedEnsembleRegressor, find_smallest_change
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 10, (2000, 2))
    >>> y = X[:, 1] + rng.normal(0, np.where(X[:, 0] > 5, 2.0, 0.1))  # noisy above 5
    >>> model = BoostedEnsembleRegressor(n_members=2, n_trees=200, random_state=0).fit(X, y)
    >>> change = find_smallest_change(model, [[7.0, 3.0]], most=0.5)
    >>> change.columns, bool(4.8 < change.after[0] < 5.2)
    ((0,), True)
    >>> bool(model.predict_uncertainty(change.row.to_numpy()).total[0] <= 0.5)
    True
    """
    check_is_fitted(ensemble, "models_")
    models = ensemble.models_
    if not isinstance(models, NumbaModels):
        raise InvalidParameter(
            'The smallest change is found over gbuq\'s own trees: fit with engine="numba".'
        )
    check_choice("kind", kind, Uncertainty._fields)
    most = check_number("most", most, 0.0, math.inf)
    check_number("n_columns", n_columns, 1, 2, integer=True)
    table = check_new_rows(ensemble, row)
    if len(table) != 1:
        raise InvalidData(f"row must be one row; got {len(table)}.")
    kept = set(_positions(fixed, table))
    spreads = _check_scales(scales, table.shape[1])
    search = _Search(ensemble, table, kind, most, members)
    before = search.uncertainty(table)
    if getattr(before, kind)[0] <= most:
        return SmallestChange((), (), (), 0.0, table, before, before)
    axes = [axis for axis in search.axes(spreads) if axis.column not in kept]
    with stage(1.0):
        nearest = search.best(axes, n_columns)
    if nearest is None:
        return None
    after, changed = [], table.copy()
    for axis, cell in zip(nearest.axes, nearest.cells, strict=True):
        value = search.value_in(axis, cell)
        after.append(value)
        changed = _replace(changed, axis.column, value)
    columns = tuple(axis.column for axis in nearest.axes)
    old = tuple(_plain(table.iloc[0, column]) for column in columns)
    return SmallestChange(
        columns, old, tuple(after), nearest.cost, changed, before, search.uncertainty(changed)
    )


class _Search:
    """One row's search: what the members' trees split on, and the uncertainty of any cell."""

    def __init__(
        self,
        ensemble: Any,
        table: pd.DataFrame,
        kind: str,
        most: float,
        members: Mapping[str, Any],
    ) -> None:
        self._ensemble, self._table = ensemble, table
        self._kind, self._most, self._members = kind, most, members
        self._models: NumbaModels = ensemble.models_
        self._points, self._n_models = ensemble.chosen_members(**members)
        self._stages = ensemble._stages_for(self._points).astype(np.int64)
        matrix = apply_encoding(ensemble.encoding_, table)[0]
        self._own = apply_bins(self._models.bins, matrix)[:, 0]
        self._used = _used_codes(self._models, self._n_models, int(self._stages[-1]))

    def uncertainty(self, table: pd.DataFrame) -> Uncertainty:
        """As `predict_uncertainty` says it."""
        return self._ensemble.predict_uncertainty(table, **self._members)

    def axes(self, scales: np.ndarray | None) -> list[_Axis]:
        """The cells of every input column that any tree splits on."""
        axes, first = [], 0
        for column, coding in enumerate(self._ensemble.encoding_.columns):
            width = coding.means.shape[1] if coding.kind == "target" else 1
            features = np.arange(first, first + width)
            first += width
            if not any(len(self._used[feature]) for feature in features):
                continue
            if coding.kind == "number":
                scale = None if scales is None else float(scales[column])
                axes.append(self._number_axis(column, features, scale))
            else:
                axes.append(self._category_axis(column, features, coding))
        return axes

    def _number_axis(self, column: int, features: np.ndarray, scale: float | None) -> _Axis:
        feature = int(features[0])
        borders, used = self._models.bins.borders[feature], self._used[feature]
        ends = np.where(used > 0, borders[np.maximum(used, 1) - 1], -np.inf)
        low, high = np.append(-np.inf, ends), np.append(ends, np.inf)
        value = float(pd.to_numeric(self._table.iloc[:, column]).iloc[0])
        own = int(np.searchsorted(used, self._own[feature]))
        if math.isnan(value):
            cost = np.full(len(low), CATEGORY_COST)
        else:
            gap = np.where(np.arange(len(low)) > own, low - value, value - high)
            # A value on a border has no way to go, but is changed all the same.
            cost = np.maximum(gap / (_spread(borders) if scale is None else scale), _TINY)
        cost[own] = 0.0
        codes = np.append(used, used[-1] + 1).astype(np.uint8)[None]
        if used[0] == 0 and own != 0:  # the first cell holds missing values only
            codes, cost, low, high = codes[:, 1:], cost[1:], low[1:], high[1:]
        values = list(zip(low.tolist(), high.tolist(), strict=True))
        return _Axis(column, features, codes, cost, values)

    def _category_axis(self, column: int, features: np.ndarray, coding: ColumnCoding) -> _Axis:
        n_levels = len(coding.levels)
        if coding.kind == "levels":
            every = np.arange(n_levels, dtype=np.uint8)[None]
        else:
            bins: Bins = self._models.bins
            parts = [
                1 + np.searchsorted(bins.borders[feature], coding.means[:n_levels, k])
                for k, feature in enumerate(features)
            ]
            every = np.stack(parts).astype(np.uint8)
        codes = np.column_stack([self._own[features], every])  # the row's own value first
        cells = np.stack(
            [
                self._sides(feature, codes[k], coding.kind == "levels")
                for k, feature in enumerate(features)
            ]
        )
        _, chosen = np.unique(cells, axis=1, return_index=True)
        order = chosen[np.lexsort(codes[:, chosen][::-1])]
        cost = np.where(order == 0, 0.0, CATEGORY_COST)
        values = [None if k == 0 else coding.levels[k - 1] for k in order]
        return _Axis(column, features, codes[:, order], cost, values)

    def _sides(self, feature: int, codes: np.ndarray, is_category: bool) -> np.ndarray:
        """Equal numbers for codes that no split tells apart."""
        used = self._used[feature]
        if is_category:
            return np.where(np.isin(codes, used), codes.astype(np.int64), -1)
        return np.searchsorted(used, codes)

    def best(self, axes: list[_Axis], n_columns: int) -> _Cell | None:
        """The best cell of all grids."""
        best: _Cell | None = None
        reach = []
        for axis in axes:
            tick(0.0)
            cell, least = self._look((axis,), best)
            reach.append(least)
            best = _better(best, cell)
        if n_columns == 1:
            return best
        # Columns that do much by themselves come first: a good cell found early leaves less to do.
        ordered = [axes[k] for k in np.argsort(reach, kind="stable")]
        pairs: list[tuple[_Axis, ...]] = [
            tuple(sorted(pair, key=lambda axis: axis.column)) for pair in combinations(ordered, 2)
        ]
        n_jobs = self._ensemble.n_jobs
        at_once = _PAIRS_A_THREAD * effective_n_jobs(n_jobs)
        for first in range(0, len(pairs), at_once):
            tick(first / len(pairs))
            look = partial(self._look, best=best)
            for cell, _ in parallel_map(look, pairs[first : first + at_once], n_jobs):
                best = _better(best, cell)
        return best

    def _look(self, axes: tuple[_Axis, ...], best: _Cell | None) -> tuple[_Cell | None, float]:
        """The best cell of one grid, if no larger a change than the best so far; and its least
        doubt.
        """
        if best is not None:
            axes = tuple(axis.within(best.cost) for axis in axes)
        shape = tuple(len(axis.cost) for axis in axes)
        if min(shape) < 2:
            return None, math.inf
        cost = axes[0].cost if len(axes) == 1 else np.add.outer(axes[0].cost, axes[1].cost)
        cost = cost.ravel()
        near = np.flatnonzero((cost > 0.0) & (cost <= (math.inf if best is None else best.cost)))
        raw = self._grid(axes, shape)[:, :, near]
        members = self._ensemble._finish_members(self._ensemble._pick_members(raw, self._points))
        doubt = getattr(self._ensemble._decompose(members), self._kind)
        good = np.flatnonzero(doubt <= self._most)
        if not len(good):
            return None, float(doubt.min())
        first = good[np.lexsort((doubt[good], cost[near[good]]))[0]]
        cells = tuple(int(k) for k in np.unravel_index(near[first], shape))
        if len(axes) == 2 and any(axis.cost[c] == 0.0 for axis, c in zip(axes, cells, strict=True)):
            return None, float(doubt.min())  # one column alone, which has been looked at
        place = (float(cost[near[first]]), len(axes), float(doubt[first]), axes, cells)
        return _Cell(*place), float(doubt.min())

    def _grid(self, axes: tuple[_Axis, ...], shape: tuple[int, ...]) -> np.ndarray:
        """Raw outputs of all models, (n_models, n_stages, n_cells, n_outputs)."""
        models = self._models
        side, place = np.zeros(len(self._own), np.int8), np.zeros(len(self._own), np.int64)
        for number, axis in enumerate(axes):
            side[axis.features] = number + 1
            place[axis.features] = np.arange(len(axis.features))
        second = axes[1].codes if len(axes) == 2 else np.zeros((0, 1), np.uint8)
        n_b = shape[1] if len(axes) == 2 else 1
        n_models, n_outputs = self._n_models, len(models.start)
        out = np.empty((n_models, len(self._stages), shape[0], n_b, n_outputs))
        for model, forest in enumerate(models.forests[:n_models]):
            fill_grid(
                forest, models.bins.is_category, self._own, side, place,
                np.ascontiguousarray(axes[0].codes), np.ascontiguousarray(second),
                models.start, models.decay, self._stages, out[model],
            )  # fmt: skip
        return out.reshape(n_models, len(self._stages), -1, n_outputs)

    def value_in(self, axis: _Axis, cell: int) -> Any:
        """A value in a cell: a level, or a short number close to the row's own."""
        if not isinstance(axis.values[cell], tuple):
            return axis.values[cell]
        low, high = axis.values[cell]
        borders = self._models.bins.borders[int(axis.features[0])]
        value = float(pd.to_numeric(self._table.iloc[:, axis.column]).iloc[0])
        if math.isnan(value):
            inside = borders[(borders > low) & (borders <= high)]
            value = float(np.median(inside)) if len(inside) else min(high, float(borders[-1]))
        # Within the first bin behind the border; an outermost bin is as wide as its neighbour.
        if value <= low:
            after = borders[borders > low]
            gap = float(after[0]) - low if len(after) else _last_gap(borders)
            return number_between(low, min(high, low + gap))
        before = borders[borders < high]
        gap = high - float(before[-1]) if len(before) else _last_gap(-borders[::-1])
        return number_between(max(low, high - gap), high)


def _used_codes(models: NumbaModels, n_models: int, n_trees: int) -> list[np.ndarray]:
    """For each matrix column the codes that a split of a counted tree asks for, ascending."""
    used = np.zeros((len(models.bins.borders), 256), bool)
    for forest in models.forests[:n_models]:
        depth = forest.features.shape[1]
        at_work = np.arange(depth) < forest.levels[:n_trees, None]
        used[forest.features[:n_trees][at_work], forest.bins[:n_trees][at_work]] = True
    return [np.flatnonzero(row) for row in used]


def split_thresholds(ensemble: Any) -> list[np.ndarray]:
    """The thresholds of each input column that a tree in use splits on; none of a category."""
    points, n_models = ensemble.chosen_members()
    used = _used_codes(ensemble.models_, n_models, int(ensemble._stages_for(points)[-1]))
    ends, first = [], 0
    for coding in ensemble.encoding_.columns:
        codes, borders = used[first], ensemble.models_.bins.borders[first]
        is_number = coding.kind == "number"
        ends.append(np.asarray(borders[codes[codes > 0] - 1] if is_number else [], np.float64))
        first += coding.means.shape[1] if coding.kind == "target" else 1
    return ends


def _better(first: _Cell | None, second: _Cell | None) -> _Cell | None:
    if first is None or second is None:
        return first or second
    return min(first, second, key=lambda cell: cell.rank)


def _last_gap(borders: np.ndarray) -> float:
    return float(borders[-1] - borders[-2]) if len(borders) > 1 else _spread(borders)


def _spread(borders: np.ndarray) -> float:
    """The std of a normal with the quartiles of these borders, or a quarter of their range."""
    lower, upper = np.quantile(borders, (0.25, 0.75))
    spread = float(upper - lower) / 1.349 or float(borders[-1] - borders[0]) / 4.0
    return spread if spread > 0.0 and math.isfinite(spread) else max(abs(float(borders[0])), 1.0)


def _positions(fixed: Sequence[int | str], table: pd.DataFrame) -> Iterator[int]:
    names: list[Any] = list(table.columns)
    for column in fixed:
        if isinstance(column, (int, np.integer)) and column not in names:
            yield int(check_number("fixed", int(column), 0, len(names) - 1, integer=True))
        elif column in names:
            yield names.index(column)
        else:
            raise InvalidParameter(f"fixed names {column!r}, which is not a column of the row.")


def _check_scales(scales: Any, n_columns: int) -> np.ndarray | None:
    if scales is None:
        return None
    spreads = np.asarray(scales, np.float64)
    if spreads.shape != (n_columns,) or not (np.isfinite(spreads) & (spreads > 0.0)).all():
        raise InvalidParameter(f"scales must be {n_columns} positive numbers, one a column.")
    return spreads


def _replace(table: pd.DataFrame, column: int, value: Any) -> pd.DataFrame:
    """The row with another value in one column, of the column's own type where that holds it."""
    old = table.iloc[:, column]
    if isinstance(old.dtype, pd.CategoricalDtype):
        known = old.dtype.categories.union(pd.Index([value]), sort=False)
        new = pd.Series(pd.Categorical([value], categories=known), index=old.index)
    else:
        new = pd.Series([value], index=old.index)
    parts = [table.iloc[:, k] if k != column else new for k in range(table.shape[1])]
    return as_table(pd.concat(parts, axis=1).set_axis(table.columns, axis=1))


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
