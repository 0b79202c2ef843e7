"""Prediction sets of classes: those that a row may have, at a stated coverage.

Split conformal prediction by the probability of the true class (Sadinle, Lei and Wasserman, 2019,
"Least ambiguous set-valued classifiers"), which gives the smallest sets on average; by class
(Mondrian: Vovk, Gammerman and Shafer, 2005) or by group where each of these shall be covered.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from gbuq_core.array_checks import FloatArray, check_array
from gbuq_core.errors import InvalidData
from gbuq_core.inputs import draw_seed, take_rows
from gbuq_core.metrics.conformal import conformal_rank
from gbuq_core.presentation import shown
from gbuq_core.validation import check_number

N_FOLDS = 5


class PredictionSets:
    """Which classes a row may have, by probabilities of rows that the model had not seen.

    Parameters
    ----------
    probabilities : array-like of shape (n_samples, n_classes)
        Of held-out rows.
    codes : array-like of shape (n_samples,)
        Position of each row's class.
    by_class : bool
        Whether the level holds for the rows of each class, and not only on average.
    groups : array-like of shape (n_samples,), optional
        The level holds in each group. New rows of another group are judged by all rows.

    Notes
    -----
    A class is in the set if its probability is at least a threshold: of the held-out rows, at least
    ``ceil((n + 1) level)`` have a true class above it. Where a class or group has too few rows for
    that, it is 0, and the class is in every set. The likeliest class is always kept, so that no set
    is empty: the coverage is then never below the share of right predictions.

    Examples
    --------
    >>> held = [[0.9, 0.1], [0.8, 0.2], [0.4, 0.6], [0.3, 0.7]]
    >>> sets = PredictionSets(held, [0, 0, 1, 0])
    >>> sets.contains([[0.95, 0.05], [0.5, 0.5]], 0.6)
    array([[ True, False],
           [ True, False]])
    >>> sets.contains([[0.95, 0.05], [0.5, 0.5]], 0.8)
    array([[ True, False],
           [ True,  True]])
    """

    def __init__(
        self,
        probabilities: ArrayLike,
        codes: ArrayLike,
        by_class: bool = False,
        groups: ArrayLike | None = None,
    ) -> None:
        held = check_array("probabilities", probabilities, 2, low=0.0, high=1.0)
        labels = np.asarray(codes)
        self.n_classes = held.shape[1]
        of_true = held[np.arange(len(labels)), labels]
        of_group = None if groups is None else np.asarray(groups)
        if of_group is not None and len(of_group) != len(labels):
            raise InvalidData(f"{len(labels):,} rows, and groups of {len(of_group):,}.")

        def of(rows: NDArray[np.bool_]) -> list[FloatArray]:
            """Ascending probabilities of the true class: of each class, or of all in one."""
            if not by_class:
                return [np.sort(of_true[rows])]
            return [np.sort(of_true[rows & (labels == k)]) for k in range(self.n_classes)]

        self._every = of(np.ones(len(labels), bool))
        self._by_group = {}
        if of_group is not None:
            self._by_group = {group: of(of_group == group) for group in np.unique(of_group)}

    def thresholds(self, level: float, group: Any = None) -> FloatArray:
        """The smallest probability of a class in the set, (n_classes,); 0 of too few rows."""
        wanted = check_number("level", level, 0.0, 1.0)
        found = []
        for ascending in self._by_group.get(group, self._every):
            rank = conformal_rank(len(ascending), wanted)
            found.append(ascending[len(ascending) - rank] if 0 < rank <= len(ascending) else 0.0)
        return np.broadcast_to(found, (self.n_classes,)).astype(np.float64)

    def contains(
        self, probabilities: ArrayLike, level: float, groups: ArrayLike | None = None
    ) -> NDArray[np.bool_]:
        """Whether each class is in the set of each row, (n_samples, n_classes).

        Parameters
        ----------
        probabilities : array-like of shape (n_samples, n_classes)
        level : float
            Share of rows whose class shall be in their set, from 0 to 1.
        groups : array-like of shape (n_samples,), optional
        """
        p = check_array("probabilities", probabilities, 2, low=0.0, high=1.0)
        least = np.broadcast_to(self.thresholds(level), p.shape).copy()
        if groups is not None:
            of_group = np.asarray(groups)
            for group in np.unique(of_group):
                least[of_group == group] = self.thresholds(level, group)
        inside = p >= least
        inside[np.arange(len(p)), p.argmax(axis=1)] = True
        return inside


class ConformalClassifier(ClassifierMixin, BaseEstimator):
    """Any classifier with prediction sets: the classes that a row may have, at a coverage.

    Parameters
    ----------
    estimator : estimator
        A classifier with ``predict_proba``. A copy of it is fitted on all rows, and one without
        each fold, whose rows calibrate the sets.
    by_class : bool
        Whether the level shall hold for the rows of each class, rare ones included: larger sets.
    random_state : int, RandomState, Generator or None
        Of the folds.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    estimator_ : estimator
        Fitted on all rows.
    sets_ : PredictionSets

    References
    ----------
    Sadinle, Lei and Wasserman (2019). Vovk, "Cross-conformal predictors" (2015).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> names = load_iris().target_names[y]
    >>> trees = DecisionTreeClassifier(min_samples_leaf=10, random_state=0)
    >>> model = ConformalClassifier(trees, by_class=True, random_state=0).fit(X, names)
    >>> sets = model.predict_set(X, level=0.95)
    >>> [str(name) for name in model.classes_[sets[77]]]  # between the two
    ['versicolor', 'virginica']
    """

    def __init__(self, estimator: Any, by_class: bool = False, random_state: Any = None) -> None:
        self.estimator = estimator
        self.by_class = by_class
        self.random_state = random_state

    def fit(self, X: Any, y: Any, groups: Any = None) -> ConformalClassifier:
        """Fit, and calibrate the sets on rows left out.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            At least two rows of each class.
        groups : array-like of shape (n_samples,), optional
            Of which each shall be covered.
        """
        from sklearn.model_selection import StratifiedKFold

        labels = np.asarray(y)
        self.classes_, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
        if counts.min() < 2:
            raise InvalidData(
                f"{shown(self.classes_[counts.argmin()])} has one row: prediction sets need "
                "at least two of each class."
            )
        folds = StratifiedKFold(
            min(N_FOLDS, int(counts.min())),
            shuffle=True,
            random_state=draw_seed(self.random_state) % 2**32,
        )
        held = np.empty((len(labels), len(self.classes_)))
        for fitted, left in folds.split(labels, codes):
            model = clone(self.estimator).fit(take_rows(X, fitted), labels[fitted])
            held[left] = model.predict_proba(take_rows(X, left))
        self.estimator_ = clone(self.estimator).fit(X, labels)
        self.sets_ = PredictionSets(held, codes, self.by_class, groups)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of the classes, (n_samples, n_classes)."""
        return np.asarray(self.estimator_.predict_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest class of each row, (n_samples,)."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_set(
        self, X: Any, level: float = 0.9, groups: ArrayLike | None = None
    ) -> NDArray[np.bool_]:
        """Whether each class is in the set of each row, (n_samples, n_classes); never none.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        level : float
            Share of new rows whose class shall be in their set.
        groups : array-like of shape (n_samples,), optional
            As in `fit`.
        """
        return self.sets_.contains(self.predict_proba(X), level, groups)
