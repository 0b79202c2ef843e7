"""Which rows choose, and which rows are fitted on meanwhile."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.validation import check_number

if TYPE_CHECKING:
    import pandas as pd

HELD_OUT_FROM = 2000  # rows; below, all of them choose, in folds
N_FOLDS = 5
MOST_HELD_OUT = 20_000


class Split(NamedTuple):
    """Positions of the rows to fit on and of those that choose."""

    fitted: NDArray[np.intp]
    held: NDArray[np.intp]


def make_splits(
    target: np.ndarray,
    classifies: bool,
    cv: Any,
    groups: Any,
    seed: int,
    X: pd.DataFrame | None = None,
) -> list[Split]:
    """Rows that choose: a held-out fifth from 2,000 rows on, else five folds; warns of units."""
    from sklearn.model_selection import GroupKFold, KFold, check_cv

    n_rows = len(target)
    if groups is not None:
        check_group_count(groups, n_rows)
    if X is not None and groups is None and (cv is None or isinstance(cv, int)):
        _warn_of_units(X)
    if cv is None and groups is None:
        return _own_splits(target, classifies, seed)
    splitter: Any = cv
    if cv is None:
        n_groups = len(np.unique(np.asarray(groups)))
        if n_groups < 2:
            raise InvalidData("All rows are in one group: pass at least two groups.")
        splitter = GroupKFold(min(N_FOLDS, n_groups))
    elif isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        n_folds = check_number("cv", cv, 2, n_rows, integer=True)
        splitter = KFold(n_folds, shuffle=True, random_state=seed % 2**32)
    elif isinstance(cv, str) or not hasattr(cv, "split"):
        try:
            splitter = check_cv(cv, target, classifier=classifies)
        except ValueError:
            raise InvalidParameter(
                f"cv must be None, a whole number or a splitter of scikit-learn; got {cv!r}."
            ) from None
    try:
        splits = [
            Split(np.asarray(a), np.asarray(b)) for a, b in splitter.split(target, target, groups)
        ]
    except (ValueError, TypeError) as error:
        raise InvalidData(f"cv cannot split these rows: {' '.join(str(error).split())}") from error
    if cv is None and n_rows >= HELD_OUT_FROM:
        splits = splits[:1]
    return [_capped(split, seed) for split in splits]


def _warn_of_units(X: pd.DataFrame) -> None:
    """Say what to pass where rows repeat in most columns, by more than coarse columns do."""
    import pandas as pd  # pages that open read a number of this file

    rows = X.iloc[:MOST_HELD_OUT]
    codes = [pd.factorize(column)[0] for _, column in rows.items()]
    coarse = [part for part in codes if 1 < len(np.unique(part)) <= len(rows) / 2]
    if 2 * len(coarse) < len(codes) or len(coarse) < 2:
        return
    rng = np.random.default_rng(0)
    units, by_chance = (
        int((~pd.DataFrame(np.column_stack(columns)).duplicated()).sum())
        for columns in (coarse, [rng.permutation(part) for part in coarse])
    )
    if units <= len(rows) / 2 and 2 * units <= by_chance:
        warnings.warn(
            "Many rows are equal in most columns, as several rows of one unit are. If new rows come"
            " from other units, intervals are too narrow: pass groups=, a name of the unit for each"
            " row, or as cv a splitter of scikit-learn that keeps units apart.",
            UserWarning,
            stacklevel=2,
        )


def check_group_count(groups: Any, n_rows: int) -> None:
    """Refuse groups that are not one for each row."""
    if len(np.asarray(groups)) != n_rows:
        raise InvalidData(f"groups has {len(np.asarray(groups))} values, but X has {n_rows} rows.")


def _own_splits(target: np.ndarray, classifies: bool, seed: int) -> list[Split]:
    """Shuffled rows dealt to five folds, class by class; one fold is enough of many rows."""
    order = np.random.default_rng((seed, 1)).permutation(len(target))
    if classifies:
        order = order[np.argsort(target[order], kind="stable")]
    fold = np.empty(len(target), np.int64)
    fold[order] = np.arange(len(target)) % N_FOLDS
    n_splits = 1 if len(target) >= HELD_OUT_FROM else N_FOLDS
    splits = [Split(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(n_splits)]
    return [_capped(split, seed) for split in splits]


def _capped(split: Split, seed: int) -> Split:
    """At most 20,000 rows choose; those that need not choose are fitted on."""
    if len(split.held) == 0 or len(split.fitted) < 2:
        raise InvalidData("cv leaves no rows to fit on or none to choose on: use another splitter.")
    if len(split.held) <= MOST_HELD_OUT:
        return split
    order = np.random.default_rng((seed, 2)).permutation(split.held)
    held, rest = np.sort(order[:MOST_HELD_OUT]), order[MOST_HELD_OUT:]
    return Split(np.sort(np.concatenate([split.fitted, rest])), held)
