"""Scores of how different a row is from the training rows, without a target or a model."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import Annotated, Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import RobustScaler
from sklearn.utils.validation import check_is_fitted, validate_data

from gbuq_core.array_checks import FloatArray
from gbuq_core.baselines.held_out import check_new_rows
from gbuq_core.baselines.interval_regressor import read_matrix, short_seed
from gbuq_core.errors import InvalidData
from gbuq_core.jobs import effective_n_jobs, tick
from gbuq_core.knobs import check_within
from gbuq_core.methods import METHODS
from gbuq_core.model_files.contents import require
from gbuq_core.model_files.fields import Savable


class NoveltyScore(Savable, BaseEstimator, ABC):
    """An estimator that only scores: larger is more novel."""

    _reads_gaps = False
    _name = "a distance"

    seed_: int
    fit_seconds_: float

    def check_file(self) -> None:
        """Refuse impossible parameters."""
        self._check_parameters()

    def fit(self, X: Any, y: Any = None) -> Self:
        """Remember the rows X (n_samples, n_features); ``y`` is not used."""
        began = time.perf_counter()
        self._check_parameters()
        self.seed_ = short_seed(getattr(self, "random_state", None))
        kind = None if isinstance(X, pd.DataFrame) else "numeric"  # a frame column by column
        try:
            validate_data(self, X, reset=True, ensure_all_finite="allow-nan", dtype=kind)
        except ValueError as error:
            raise InvalidData(str(error)) from error
        matrix = self._matrix(X)
        tick(0)
        self._fit(matrix)
        self.fit_seconds_ = time.perf_counter() - began
        return self

    def score_novelty(self, X: Any) -> FloatArray:
        """How novel each row is, (n_samples,); larger is more novel."""
        check_is_fitted(self, "fit_seconds_")
        return self._score(self._matrix(check_new_rows(self, X)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._reads_gaps
        return tags

    def _matrix(self, X: Any) -> FloatArray:
        return read_matrix(X, self._reads_gaps, self._name)

    @abstractmethod
    def _check_parameters(self) -> None:
        """Refuse impossible parameters."""

    @abstractmethod
    def _fit(self, X: FloatArray) -> None:
        """Fit on a matrix."""

    @abstractmethod
    def _score(self, X: FloatArray) -> FloatArray:
        """Score the rows of a matrix."""


class IsolationForestScore(NoveltyScore):
    """Scikit-learn's isolation forest: it needs fewer splits to isolate a novel row.

    Parameters
    ----------
    n_trees : int
    max_rows : int
        Rows that each tree sees, at most all. The original paper uses 256.
    random_state : int, RandomState, Generator or None
    n_jobs : int or None

    Attributes
    ----------
    model_ : sklearn.ensemble.IsolationForest
    fit_seconds_ : float

    Notes
    -----
    The score is the original paper's, between 0 and 1, near 0.5 for ordinary rows. Outside the
    training rows it stops rising: a tree only sees which side of a split a row is on.

    References
    ----------
    Liu, Ting and Zhou (2008), equation 2; MACAU, table 1 ("Isolation forest").

    Examples
    --------
    >>> x = np.linspace(0.0, 1.0, 300)[:, None]
    >>> inside, outside = IsolationForestScore(random_state=0).fit(x).score_novelty([[0.5], [2.0]])
    >>> bool(outside > inside)
    True
    """

    _reads_gaps = True
    _name = "an isolation forest"

    model_: Annotated[Any, "sklearn.IsolationForest"]

    def check_file(self) -> None:
        """Refuse trees of other columns."""
        super().check_file()
        require(self.model_.n_features_in_ == self.n_features_in_, "its trees have other columns")

    def __init__(
        self,
        n_trees: int = 100,
        max_rows: int = 256,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_trees = n_trees
        self.max_rows = max_rows
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        for knob in METHODS["isolation"].knobs:
            check_within(knob, getattr(self, knob.key))
        effective_n_jobs(self.n_jobs)

    def _fit(self, X: FloatArray) -> None:
        from sklearn.ensemble import IsolationForest

        self.model_ = IsolationForest(
            n_estimators=int(self.n_trees),
            max_samples=min(int(self.max_rows), len(X)),
            random_state=self.seed_,
        ).fit(X)

    def _score(self, X: FloatArray) -> FloatArray:
        return -np.asarray(self.model_.score_samples(X), dtype=np.float64)


class DistanceScore(NoveltyScore):
    """Mean distance to the nearest training rows, on features scaled by their quartiles.

    Parameters
    ----------
    n_neighbors : int
        At most as many as there are training rows.

    Attributes
    ----------
    fit_seconds_ : float

    Notes
    -----
    Each feature is centred on its median and divided by its interquartile range (by 1 if that is
    0). A training row is its own nearest row.

    Examples
    --------
    >>> x = np.linspace(0.0, 1.0, 101)[:, None]
    >>> DistanceScore(n_neighbors=1).fit(x).score_novelty([[0.5], [1.5]]).round(4)
    array([0., 1.])
    """

    _scaler: RobustScaler
    _index: NearestNeighbors

    def check_file(self) -> None:
        """Refuse rows of other columns."""
        super().check_file()
        n_columns = {self._scaler.n_features_in_, self._index.n_features_in_}
        require(n_columns == {self.n_features_in_}, "its rows have other columns")

    def __init__(self, n_neighbors: int = 5, n_jobs: int | None = None) -> None:
        self.n_neighbors = n_neighbors
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        check_within(METHODS["distance"].knob("n_neighbors"), self.n_neighbors)
        effective_n_jobs(self.n_jobs)

    def _fit(self, X: FloatArray) -> None:
        self._scaler = RobustScaler().fit(X)
        k = min(int(self.n_neighbors), len(X))
        self._index = NearestNeighbors(n_neighbors=k).fit(self._scaler.transform(X))

    def _score(self, X: FloatArray) -> FloatArray:
        return self._index.kneighbors(self._scaler.transform(X))[0].mean(axis=1)
