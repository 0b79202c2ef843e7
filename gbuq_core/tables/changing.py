"""A change of one or two cells of a row that is enough for its model to be sure.

Every model is asked in the same way: for its predictions of the row with other cells. The cells
come from training rows, first from those that are like the row and that the model is sure of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.given_models.judging import GivenJudge
from gbuq_core.inputs import as_table, join_frames
from gbuq_core.jobs import tick
from gbuq_core.tables.editing import predict_versions
from gbuq_core.tables.explaining import feature_groups
from gbuq_core.tables.scoring import ScoredTable
from gbuq_core.uncertainty import Uncertainty
from gbuq_core.validation import check_choice, check_number

# What is predicted at most: training rows, the row with one other cell and with two, and with
# cells between its own and those that were enough.
_MOST_ROWS, _MOST_SINGLES, _MOST_PAIRS, _MOST_BETWEEN = 256, 300, 1300, 49
_MOST_CELLS = 2_000_000  # of the training rows that are looked at
_MOST_ALONE = 8  # versions that are asked for again, as the last digits of a row alone may differ

CHANGE_MEANING = (
    "A change of one or two cells with which the model would be as sure as that. It is searched "
    f"among the cells of training rows, with at most {_MOST_SINGLES + _MOST_PAIRS:,} changes, and "
    "each is tried on the model. A smaller one may exist. It says how the model sees this row, not "
    "what anybody should do."
)


class SufficientChange(NamedTuple):
    """What to change in a row for its uncertainty to be low enough.

    Attributes
    ----------
    enough : bool
        False if none of the changes that were tried is enough; the row is then as it was.
    columns : tuple
        Labels of the changed columns: one or two, or none where the row is sure enough already.
    before, after : tuple
        Their values; those after are values of ``X``.
    size : float
        How far the numbers go in stds of ``X``, plus 1 for another category or a filled gap.
    row : DataFrame of one row
        With the changed values.
    uncertainty_before, uncertainty_after : Uncertainty
        Of the row as it was and as it is now, each (1,); variances of y, or nats.
    n_tried : int
        How many changes were tried.
    """

    enough: bool
    columns: tuple[Any, ...]
    before: tuple[Any, ...]
    after: tuple[Any, ...]
    size: float
    row: pd.DataFrame
    uncertainty_before: Uncertainty
    uncertainty_after: Uncertainty
    n_tried: int


def find_sufficient_change(
    predict: Callable[[Any], Uncertainty],
    row: Any,
    X: Any,
    most: float,
    kind: str = "total",
    fixed: Sequence[Any] = (),
) -> SufficientChange:
    """A counterfactual: a change of one or two columns that brings an uncertainty to a level.

    A statement about the model, not about the world: it says where the model would be sure, not
    that a person could or should change the value. Changes of one column are tried first, and of
    two where none of these is enough. Of those that are enough, the smallest one is returned, which
    need not be the smallest of all. Cells are filled in but never made missing.

    Parameters
    ----------
    predict : callable
        The uncertainty of rows like those of ``X``, such as ``model.predict_uncertainty``.
    row : array-like (1, n_features) or DataFrame of one row
    X : array-like (n_rows, n_features) or DataFrame
        The training rows, whose values are tried.
    most : float
        The uncertainty must become at most this: a variance of y, or nats.
    kind : {"total", "data", "knowledge"}
        Which uncertainty.
    fixed : sequence of int or str
        Labels of columns that must keep their values: positions of an array.

    Returns
    -------
    SufficientChange

    Raises
    ------
    InvalidParameter, InvalidData
        If the model does not tell this uncertainty, or an argument is not of this kind.

    Examples
    --------
    >>> import numpy as np
    >>> from gbuq_core import BoostedEnsembleRegressor, find_sufficient_change
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 10, (2000, 2))
    >>> y = X[:, 1] + rng.normal(0, np.where(X[:, 0] > 5, 2.0, 0.1))  # noisy above 5
    >>> model = BoostedEnsembleRegressor(n_members=2, n_trees=200, random_state=0).fit(X, y)
    >>> change = find_sufficient_change(model.predict_uncertainty, [[7.0, 3.0]], X, most=0.5)
    >>> change.columns, bool(4.5 < change.after[0] < 5.2)
    ((0,), True)
    >>> bool(model.predict_uncertainty(change.row.to_numpy()).total[0] <= 0.5)
    True
    """
    check_choice("kind", kind, Uncertainty._fields)
    check_number("most", most, 0.0)
    own, rows = as_table(row), as_table(X)
    if len(own) != 1 or list(own.columns) != list(rows.columns):
        raise InvalidData("row must be one row with the columns of X.")
    for label in fixed:
        if label not in own.columns:
            raise InvalidParameter(f"fixed names {label!r}, which is not a column of the row.")
    free = [place for place, label in enumerate(own.columns) if label not in fixed]
    is_frame = isinstance(X, pd.DataFrame)
    search = _Search(predict if is_frame else lambda table: predict(table.to_numpy()), own, rows)
    before = search.uncertainty(np.zeros((1, own.shape[1]), np.int64))
    doubt = float(getattr(before, kind)[0])
    if np.isnan(doubt):
        raise InvalidParameter(f"This model tells no {kind} uncertainty.")
    if doubt <= most:
        return SufficientChange(True, (), (), (), 0.0, own, before, before, 0)
    found = search.find(most, kind, free)
    if found is None:
        return SufficientChange(False, (), (), (), 0.0, own, before, before, search.n_tried)
    places, changed = np.flatnonzero(found).tolist(), search.versions(found[None])
    return SufficientChange(
        True,
        tuple(own.columns[places]),
        tuple(_plain(own.iloc[0, place]) for place in places),
        tuple(_plain(changed.iloc[0, place]) for place in places),
        float(search.sizes(found[None])[0]),
        changed,
        before,
        search.uncertainty(found[None]),
        search.n_tried,
    )


class _Search:
    """Versions of a row, each given by where its cells come from.

    A version is an array (n_columns,) of rows of ``cells``: 0 is the row itself, and the others are
    training rows. So no version can hold a value that no row has.
    """

    def __init__(
        self, predict: Callable[[Any], Uncertainty], own: pd.DataFrame, rows: pd.DataFrame
    ) -> None:
        step = -(-rows.size // _MOST_CELLS)
        self._predict, self.n_tried = predict, 0
        self.cells = join_frames(own, rows.iloc[::step])
        self._gaps = np.stack([_gaps(self.cells[name]) for name in self.cells], axis=1)
        # Whether a cell says something else than the row's own: a gap says nothing.
        self._other = (self._gaps > 0.0) & self.cells.notna().to_numpy()

    def versions(self, sources: NDArray[np.int64]) -> pd.DataFrame:
        """The rows that versions (n, n_columns) stand for."""
        columns = zip(self.cells.columns, sources.T, strict=True)
        return pd.DataFrame({name: self.cells[name].array.take(where) for name, where in columns})

    def uncertainty(self, sources: NDArray[np.int64]) -> Uncertainty:
        """What the model says of versions."""
        tick(0.0)
        return self._predict(self.versions(sources))

    def sizes(self, sources: NDArray[np.int64]) -> NDArray[np.float64]:
        """How large a change every version is."""
        return np.take_along_axis(self._gaps, sources, axis=0).sum(axis=1)

    def find(self, most: float, kind: str, free: Sequence[int]) -> NDArray[np.int64] | None:
        """The smallest version found that is sure enough; None where there is none."""

        def doubt(sources: NDArray[np.int64]) -> NDArray[np.float64]:
            if not len(sources):
                return np.empty(0)
            return np.asarray(getattr(self.uncertainty(sources), kind), np.float64)

        def smallest(sources: NDArray[np.int64]) -> tuple[Any, NDArray[np.float64]]:
            self.n_tried += len(sources)
            doubts = doubt(sources)
            enough = np.flatnonzero(doubts <= most)
            enough = enough[np.argsort(self.sizes(sources[enough]), kind="stable")]
            for place in enough[:_MOST_ALONE]:
                if doubt(sources[[place]])[0] <= most:
                    return sources[place], doubts
            return None, doubts

        donors = self._donors(doubt, most)
        singles = self._changes([(place,) for place in free], donors, _MOST_SINGLES)
        best, doubts = smallest(singles)
        if best is None:
            # Columns that do most by themselves come first, if there are too many for all pairs.
            least = dict.fromkeys(free, np.inf)
            for place, value in zip((singles > 0).argmax(axis=1).tolist(), doubts, strict=True):
                least[place] = min(least[place], float(value))
            many = int(np.sqrt(2 * _MOST_PAIRS))
            pairs = list(combinations(sorted(free, key=least.__getitem__)[:many], 2))
            best, _ = smallest(self._changes(pairs, donors, _MOST_PAIRS))
        if best is None:
            return None
        closer, _ = smallest(self._between(best))
        return best if closer is None else closer

    def _donors(self, doubt: Callable[..., Any], most: float) -> NDArray[np.int64]:
        """Training rows that the model is sure of, the nearest first, and then the surest others.

        Many near rows are asked for, and ever fewer of those farther away.
        """
        distances = self._gaps[1:].sum(axis=1)
        order = 1 + np.argsort(distances, kind="stable")
        ranks = (len(order) - 1) * np.linspace(0.0, 1.0, min(_MOST_ROWS, len(order))) ** 2
        asked = order[np.unique(ranks.round().astype(np.int64))]
        doubts = doubt(np.repeat(asked[:, None], self._gaps.shape[1], axis=1))
        farther = np.where(doubts <= most, distances[asked - 1], np.inf)
        return asked[np.lexsort((doubts, farther))]

    def _changes(
        self, places: Sequence[tuple[int, ...]], donors: NDArray[np.int64], most: int
    ) -> NDArray[np.int64]:
        """Versions with the cells of donors in some columns, where all of these change."""
        donors = donors[: max(1, most // max(1, len(places)))]
        alike = np.zeros((len(donors), self._gaps.shape[1]), np.int64)  # the first with that value
        for column, name in zip(alike.T, self.cells, strict=True):
            codes = pd.factorize(self.cells[name].iloc[donors])[0]
            column[:] = donors[[codes.tolist().index(code) for code in codes.tolist()]]
        changes = np.zeros((len(places), *alike.shape), np.int64)
        for change, columns in zip(changes, places, strict=True):
            change[:, columns] = alike[:, columns]
        flat = changes.reshape(-1, alike.shape[1])
        other = np.take_along_axis(self._other, flat, axis=0)
        return np.unique(flat[((flat == 0) | other).all(axis=1)], axis=0)

    def _between(self, found: NDArray[np.int64]) -> NDArray[np.int64]:
        """Versions whose numbers lie between the row's own and those of a version."""
        places = np.flatnonzero(found).tolist()
        each = _MOST_BETWEEN if len(places) == 1 else int(np.sqrt(_MOST_BETWEEN))
        offered = []
        for place in places:
            column: Any = self.cells.iloc[:, place]
            far = found[place]
            near = np.array([far])
            if is_numeric_dtype(column) and not pd.isna(column.iloc[0]):
                low, high = sorted((column.iloc[0], column.iloc[far]))
                inside = np.flatnonzero((column > low) & (column < high))
                inside = inside[np.unique(column.iloc[inside], return_index=True)[1]]
                ranks = np.linspace(0, len(inside) - 1, min(len(inside), each - 1)).round()
                near = np.append(inside[ranks.astype(np.int64)], far)
            offered.append(near)
        versions = np.zeros((np.prod([len(near) for near in offered]), len(found)), np.int64)
        versions[:, places] = np.stack(np.meshgrid(*offered), axis=-1).reshape(-1, len(places))
        return versions


def _gaps(column: Any) -> NDArray[np.float64]:
    """How far every cell is from the first one: in stds, or 1 for another category or a gap."""
    own, missing = column.iloc[0], column.isna().to_numpy()
    if is_numeric_dtype(column) and not is_bool_dtype(column) and not pd.isna(own):
        numbers = column.to_numpy(np.float64, na_value=np.nan)
        std = float(np.nanstd(numbers[1:])) if not missing[1:].all() else 0.0
        gaps = np.abs(numbers - float(own)) / (std if 0.0 < std < np.inf else 1.0)
    else:
        gaps = 1.0 - (column == own).fillna(False).to_numpy(np.float64)
    return np.where(missing, float(not pd.isna(own)), gaps)


def _plain(value: Any) -> Any:
    """A cell as Python has it."""
    return value.item() if isinstance(value, np.generic) else value


class RowChange(NamedTuple):
    """A `SufficientChange` of a scored row, and what the model predicts before and after it."""

    change: SufficientChange
    prediction_before: float | str  # the mean, or the class
    prediction_after: float | str


def change_row(
    scored: ScoredTable, row: int, most: float, kind: str = "total", fixed: Sequence[str] = ()
) -> RowChange:
    """A change of one or two cells that brings a scored row's uncertainty to a level.

    It is searched by `find_sufficient_change` on the model that scored the row, whatever it is, in
    the rows that this model learnt from. Dates keep their values, because a date is several columns
    to the model.

    Parameters
    ----------
    scored : ScoredTable
        Also that of a `GivenTable`.
    row : int
        Position in ``scored.frame``.
    most : float
        The uncertainty must become at most this: a variance of the target, or nats.
    kind : {"total", "data", "knowledge"}
    fixed : sequence of str
        Columns of the table that must keep their cells.

    Raises
    ------
    InvalidParameter
        If there is no such row or column, or the model does not tell this uncertainty.
    """
    check_number("row", row, 0, len(scored.frame) - 1, integer=True)
    groups = feature_groups(scored.training)
    for column in fixed:
        if column not in groups:
            raise InvalidParameter(f"fixed names {column!r}, which the model does not use.")
    model = scored.models[int(scored.model_of_row[row])]
    classes = scored.training.target.classes

    def ask(X: pd.DataFrame) -> Any:
        if isinstance(model.estimator, GivenJudge):
            return model.estimator.judge(X)
        return predict_versions(scored, row, X)

    def predicted(X: pd.DataFrame) -> float | str:
        loc = float(ask(X).loc[0])
        return classes[int(loc)] if classes else loc

    own, learnt = scored.scored.X.iloc[[row]], scored.training.X.iloc[model.rows]
    features = scored.training.features
    kept = [feature.name for feature in features if feature.part or feature.column in fixed]
    change = find_sufficient_change(lambda X: ask(X).uncertainty, own, learnt, most, kind, kept)
    return RowChange(change, predicted(own), predicted(change.row))
