"""Any method of `gbuq_core.methods` on a table: what its columns become, and what it says of rows.

The ensembles of `gbuq_core.boosting` read a table's categories and gaps themselves. For all others
categories become columns of zeros and ones here, one a level that training had.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gbuq_core.boosting.base import FitEstimate
from gbuq_core.errors import InvalidParameter
from gbuq_core.methods import METHODS, find_methods
from gbuq_core.uncertainty import Uncertainty

BOOSTED = ("sglb", "sgb", "csglb", "cbsglb")  # as `ScorePlan.method` and the ensembles call them
_ENSEMBLES = ("gbuq_core:BoostedEnsembleRegressor", "gbuq_core:BoostedEnsembleClassifier")
_MOST_LEVELS = 32  # of a category; rarer ones share a column


def table_methods(task: str | None = None) -> tuple[str, ...]:
    """Keys of the methods that can score a table: of one task, or of either.

    A regression takes a total variance, a classification members that predict probabilities.

    Examples
    --------
    >>> table_methods("classification")
    ('sglb', 'sgb', 'csglb', 'cbsglb', 'vrf', 'forests')
    >>> "gp" in table_methods("regression")
    True
    """
    found: dict[str, None] = dict.fromkeys(BOOSTED)
    for each, yields in (("regression", "total"), ("classification", "members")):
        if task in (None, each):
            for method in find_methods(each, yields=(yields,)):
                if method.builder(each).of not in _ENSEMBLES:
                    found[method.key] = None
    return tuple(found)


class RowsJudged(NamedTuple):
    """What a method says about n rows.

    loc : (n,); members : (n_members, n, n_classes) probabilities, or None; uncertainty : variances,
    or None for classes.
    """

    loc: NDArray[np.float64]
    members: NDArray[np.float64] | None
    uncertainty: Uncertainty | None


class ListedModel:
    """A method's estimator for a table's columns, with what scoring a table asks of it.

    Parameters
    ----------
    key : str
        One of `table_methods`.
    task : {"regression", "classification"}
    knobs : mapping
        Values of the method's knobs; what is not named keeps the class's default.
    n_jobs, seed : int or None, int

    Raises
    ------
    InvalidParameter
        If the method cannot score such a table, or has no such knob.
    """

    def __init__(
        self, key: str, task: str, knobs: Mapping[str, Any], n_jobs: int | None, seed: int
    ) -> None:
        if key not in table_methods(task):
            raise InvalidParameter(
                f"{METHODS[key].label} cannot score a table for {task}: choose one of "
                f"{', '.join(table_methods(task))}."
            )
        self.method, self.task = METHODS[key], task
        takes = self.method.builder(task).takes
        shared = {"n_jobs": n_jobs, "random_state": seed}
        given = {name: value for name, value in shared.items() if name in takes}
        self.estimator = self.method.make(task, **knobs, **given)

    def check(self, X: pd.DataFrame, n_rows: int) -> None:
        """Refuse a table that the method cannot learn from.

        Raises
        ------
        InvalidParameter
            One sentence: too many rows, or missing values.
        """
        numbers = X.select_dtypes("number")
        refusal = self.method.why_not(n_rows, gaps=bool(numbers.isna().to_numpy().any()))
        if refusal:
            raise InvalidParameter(refusal)

    def fit(self, X: pd.DataFrame, y: NDArray[Any]) -> ListedModel:
        """Learn from the rows of a prepared table."""
        from sklearn.compose import ColumnTransformer
        from sklearn.preprocessing import OneHotEncoder

        categories = [n for n in X.columns if isinstance(X[n].dtype, pd.CategoricalDtype)]
        one_hot = OneHotEncoder(
            handle_unknown="infrequent_if_exist", max_categories=_MOST_LEVELS, sparse_output=False
        )
        self._columns = ColumnTransformer(
            [("levels", one_hot, categories)], remainder="passthrough"
        )
        self._levels = {name: set(X[name].dropna().unique()) for name in categories}
        self._complete = [name for name in X.columns if not X[name].isna().any()]
        self.estimator.fit(self._numbers(X, self._columns.fit_transform), y)
        return self

    def judge(self, X: pd.DataFrame) -> RowsJudged:
        """Mean and uncertainty of rows, or what each member says of their classes."""
        rows = self._numbers(X, self._columns.transform)
        if self.task == "classification":
            members = np.asarray(self.estimator.predict_members(rows), dtype=np.float64)
            return RowsJudged(members.mean(axis=0).argmax(axis=1).astype(float), members, None)
        if hasattr(self.estimator, "predict_uncertainty"):
            loc = np.asarray(self.estimator.predict(rows), dtype=np.float64)
            return RowsJudged(loc, None, self.estimator.predict_uncertainty(rows))
        # One distribution and no members: all of its variance is noise to this model.
        loc, scale = self.estimator.predict_distribution(rows)
        return RowsJudged(loc, None, Uncertainty(scale**2, scale**2, np.zeros(len(loc))))

    @property
    def classes_(self) -> NDArray[Any]:
        """The codes of the classes that the training rows had."""
        found: NDArray[Any] = self.estimator.classes_
        return found

    def inspect_rows(
        self, X: pd.DataFrame
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_], tuple[str, ...]]:
        """Which rows hold a level or a missing value that training had not, and in what columns."""
        unseen, missing = np.zeros(len(X), bool), np.zeros(len(X), bool)
        columns: list[str] = []
        for name in X.columns:
            gaps = X[name].isna().to_numpy() if name in self._complete else np.zeros(len(X), bool)
            strange = np.zeros(len(X), bool)
            if name in self._levels:
                strange = ~(X[name].isin(self._levels[name]) | X[name].isna()).to_numpy()
            unseen, missing = unseen | strange, missing | gaps
            if gaps.any() or strange.any():
                columns.append(str(name))
        return unseen, missing, tuple(columns)

    def estimate_fit(self, n_rows: int, n_features: int, n_classes: int | None) -> FitEstimate:
        """Seconds and bytes of a fit by the method's cost model."""
        given = self.estimator.get_params(deep=False)
        trees = given.get("n_trees", 0) or given.get("trees_per_group", 0)
        trees *= given.get("n_groups", 1)
        costs = self.method.costs
        return FitEstimate(
            costs.fit_seconds(n_rows, n_features, trees), costs.fit_bytes(n_rows, n_features, trees)
        )

    def _numbers(self, X: pd.DataFrame, change: Any) -> NDArray[np.float64]:
        """The rows as float64; a category's missing values are a level of their own."""
        plain = X.copy(deep=False)
        for name in plain.columns:
            if isinstance(plain[name].dtype, pd.CategoricalDtype):
                plain[name] = plain[name].astype(object)
        return np.asarray(change(plain), dtype=np.float64)
