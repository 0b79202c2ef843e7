"""MACAU for classes: logistic regressions in the leaves of a random forest."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from gbuq_core.array_checks import begins
from gbuq_core.compilers import need_kernels
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.inputs import MostProbable, encode_classes
from gbuq_core.macau import novelty
from gbuq_core.macau.base import LeafModels, Located
from gbuq_core.macau.class_leaves import ClassLeaves, fit_class, predict_class
from gbuq_core.macau.forest import rows_for
from gbuq_core.macau.leaves import Members
from gbuq_core.macau.novelty import PredictedNovelty
from gbuq_core.macau.results import Novelty
from gbuq_core.model_files.contents import check_arrays, require
from gbuq_core.resources import check_memory
from gbuq_core.uncertainty import Uncertainty
from gbuq_core.validation import check_choice

INFERENCES = ("probability", "label")


class MacauClassifier(MostProbable, ClassifierMixin, LeafModels):
    """Random forest with a model in every leaf: class probabilities, uncertainties and novelty.

    In each leaf of each tree, a logistic regression is fitted to all training rows that end there,
    on the features asked about on the way. The delta method gives the variance of its probability.
    With two classes, the leaf models predict the second class. With more classes, LightGBM grows
    one tree for each class and round, and the leaf models of a tree predict its class against the
    others. In a scikit-learn forest every tree has models of every class. Parameters and attributes
    that are not named here are as in `MacauRegressor`.

    Parameters
    ----------
    leaf_model : {"linear", "basic"}
        Logistic regression (L2 penalty with C = 1), or the class's share q of the leaf's rows with
        the variance ``q (1 - q)``.
    base_model : None, forest or leaf source
        A classifier. The labels of a booster, or of a file, must be the sorted classes of y.
    n_trees : int
        Trees of the forest that is grown without a ``base_model``; with more than two classes,
        trees of each class.
    inference : {"probability", "label"}
        Inference novelty compares this with the probabilities of the leaf's training rows: the
        row's probability, or its label (0 or 1), as in the authors' code.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)

    Notes
    -----
    Uncertainties are variances of the class probability, not nats. A leaf whose rows are all of
    one class predicts that class with variance 0. The delta method leaves out the variance of the
    intercept (equations 3 to 5), so the variance is also 0 at a leaf's centre. It follows a
    straight line. Far from the rows, data uncertainty can exceed 0.25, the largest variance that a
    probability can have.

    References
    ----------
    Merilinna, "Advanced uncertainty quantification and novelty detection for random forest models"
    (2023), sections 3.1.2 and 3.2.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1.0, 1.0, size=(500, 1))
    >>> y = np.where(x[:, 0] + 0.3 * rng.normal(size=500) > 0, "above", "below")
    >>> model = MacauClassifier(n_trees=20, random_state=0).fit(x, y)
    >>> model.predict([[-0.9], [0.9]]).tolist()
    ['below', 'above']
    >>> border, inside = model.predict_uncertainty([[0.0], [0.9]]).total
    >>> bool(border > inside)
    True
    """

    classes_: np.ndarray
    _leaves: list[ClassLeaves]

    def __init__(
        self,
        leaf_model: str = "linear",
        base_model: Any = None,
        combine: str = "variance",
        tail: str = "rise",
        n_trees: int = 100,
        max_leaves: int = 31,
        min_child_samples: int = 20,
        subsample: float = 0.8,
        n_jobs: int | None = None,
        random_state: Any = None,
        inference: str = "probability",
    ) -> None:
        super().__init__(
            leaf_model,
            base_model,
            combine,
            tail,
            n_trees,
            max_leaves,
            min_child_samples,
            subsample,
            n_jobs,
            random_state,
        )
        self.inference = inference

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the forest, unless there is one, and the models of its leaves.

        Parameters
        ----------
        X : array-like or DataFrame (n_samples, n_features)
            Numbers; missing values are NaN. Text and categories as in `MacauRegressor.fit`.
        y : array-like (n_samples,)
            At least two classes, of any one type.
        sample_weight : array-like (n_samples,), optional
            As in `MacauRegressor.fit`.
        """
        began = time.perf_counter()
        check_choice("inference", self.inference, INFERENCES)
        matrix, labels, knobs = self._begin(X, y, sample_weight)
        self.classes_, codes = encode_classes(labels)
        need_kernels("macau_classes")
        self._fit_leaves(matrix, codes, labels, len(self.classes_), knobs)
        self._end(began)
        return self

    def check_file(self) -> None:
        """Refuse models of classes that are not those of the leaves."""
        super().check_file()
        require(self.inference in INFERENCES, "a parameter is impossible")
        table, n_classes = self._table, len(self.classes_)
        n_models = 1 if n_classes == 2 else n_classes
        require(len(self._leaves) == n_models, "its forest has other classes")
        one_each = self.forest_.kind == "lightgbm" and n_classes > 2
        if self.forest_.kind == "lightgbm":
            same = self.forest_.n_classes == n_classes and table.n_trees % n_models == 0
            require(same, "its forest has other classes")
        sigma_begin = begins(np.diff(table.path_begin) ** 2)
        for code, leaves in enumerate(self._leaves):
            trees = (
                np.arange(table.n_trees)[code::n_models] if one_each else np.arange(table.n_trees)
            )
            same = np.array_equal(leaves.trees, trees) and leaves.trees.dtype == np.int64
            require(same, "its forest has other classes")
            check_arrays(leaves, shares=("number", table.n_leaves))
            linear = self.leaf_model == "linear"
            require(linear == (leaves.logistic is not None), "the model of a leaf is missing")
            if leaves.logistic is not None:
                check_arrays(
                    leaves.logistic,
                    weights=("number", len(table.path) + table.n_leaves),
                    first=(np.int64, len(sigma_begin)),
                    covariance=("number", int(sigma_begin[-1])),
                )
                require(np.array_equal(leaves.logistic.first, sigma_begin), "a leaf is missing")
            leaves.quantiles.check_against(table)

    def _fit_leaf_models(self, X: np.ndarray, target: np.ndarray) -> None:
        self._check_classes(X)
        n_trees, n_classes = self._table.n_trees, len(self.classes_)
        every = np.arange(n_trees)
        modelled = [1] if n_classes == 2 else range(n_classes)
        one_each = n_classes > 2 and self.forest_.kind == "lightgbm"
        self._leaves = [
            fit_class(
                X,
                (target == code).astype(np.float64),
                every[code::n_classes] if one_each else every,
                self._table,
                self._scaling,
                self.leaf_model == "linear",
                self.n_jobs,
            )
            for code in modelled
        ]

    def _check_classes(self, X: np.ndarray) -> None:
        """Refuse a forest of other classes than those of y."""
        model, n_classes = self.forest_.model, len(self.classes_)
        known = getattr(model, "classes_", None)
        if known is not None and not np.array_equal(known, self.classes_):
            raise InvalidData(
                f"The forest was trained on the classes {_listed(known)}, but y has "
                f"{_listed(self.classes_)}: pass the y that it was trained on."
            )
        rounds, rest = divmod(self._table.n_trees, n_classes if n_classes > 2 else 1)
        n_known = self.forest_.predict_proba(rows_for(self.forest_, X[:1])).shape[1]
        if n_known != n_classes or (self.forest_.kind == "lightgbm" and (rest or not rounds)):
            raise InvalidParameter(
                f"The forest knows {n_known} classes, but y has {n_classes}: pass the y that it "
                "was trained on."
            )

    def _fit_novelty(self, X: np.ndarray) -> None:
        # The leaves of each class have had their own quantiles of probabilities since their fit.
        self._distances = novelty.fit_novelty(X, self._table, self._scaling, self.n_jobs)

    def _class_members(self, rows: Located) -> list[Members]:
        """Probabilities and variances of each class that has models, (n, k) of its k trees."""
        return [
            predict_class(rows.X, rows.numbers, self._table, self._scaling, leaves, self.n_jobs)
            for leaves in self._leaves
        ]

    def predict_members(self, X: Any) -> np.ndarray:
        """Class probabilities of every tree's leaf models, and their variances.

        (n_rounds, n_samples, n_classes, 2) float64. A round is one tree, or one tree of each class
        where LightGBM has more than two. The probabilities of more than two classes come from
        models of their own, and do not sum to 1: `predict_proba` divides their means by the sum.
        """
        check_is_fitted(self, "_table")
        n_rounds, n_classes = len(self._leaves[0].trees), len(self.classes_)
        check_memory(32 * n_rounds * np.shape(X)[0] * n_classes, "these predictions of all trees")
        parts = []
        for rows in self._blocks(X):
            members = self._class_members(rows)
            if n_classes == 2:
                mean, variance = members[0]
                members = [Members(1.0 - mean, variance), members[0]]
            parts.append(np.array([np.stack(member, axis=2) for member in members]))
        return np.concatenate(parts, axis=1).transpose(2, 1, 0, 3)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities, (n_samples, n_classes).

        Means over the trees; those of more than two classes are divided by their sum.
        """
        return np.concatenate([self._proba(self._class_members(rows)) for rows in self._blocks(X)])

    def _proba(self, members: list[Members]) -> np.ndarray:
        means = np.column_stack([member.means.mean(axis=1) for member in members])
        if len(self.classes_) == 2:
            return np.column_stack([1.0 - means[:, 0], means[:, 0]])
        total = means.sum(axis=1, keepdims=True)
        # No class has a chance where all trees are certain of another one.
        return np.divide(means, total, out=np.full_like(means, 1 / means.shape[1]), where=total > 0)

    def predict_uncertainty(self, X: Any) -> Uncertainty:
        """Total, data and knowledge uncertainty as variances of a class probability.

        Data uncertainty is the mean over the trees of the leaf models' variances, knowledge
        uncertainty the variance of their probabilities, and total uncertainty the sum. For more
        than two classes, half the sum over the classes, which for two is the variance of either.
        With ``combine="std"`` standard deviations take the place of variances, as in the authors'
        code. None of this is in nats. (n_samples,) each.
        """
        parts = []
        for rows in self._blocks(X):
            members = self._class_members(rows)
            if self.combine == "std":
                data = [np.sqrt(member.variances).mean(axis=1) for member in members]
                knowledge = [member.means.std(axis=1) for member in members]
            else:
                data = [member.variances.mean(axis=1) for member in members]
                knowledge = [member.means.var(axis=1) for member in members]
            half = 0.5 if len(members) > 1 else 1.0
            parts.append((half * np.sum(data, axis=0), half * np.sum(knowledge, axis=0)))
        data_part, knowledge_part = (np.concatenate(part) for part in zip(*parts, strict=True))
        return Uncertainty(data_part + knowledge_part, data_part, knowledge_part)

    def score_novelty(self, X: Any) -> Novelty:
        """How unlike the training rows each row is.

        Inference novelty is that of the probability of the second of two classes, and of the most
        probable one of more; a tree's leaf compares it with those of its training rows. Three
        z-scores, means over the trees, and their spreads; (n_samples,) each.
        """
        parts = [self._score(rows, self._class_members(rows)) for rows in self._blocks(X)]
        return Novelty(*np.concatenate(parts, axis=1))

    def _score(self, rows: Located, members: list[Members]) -> np.ndarray:
        """The six columns of the novelty, (6, n)."""
        out = np.empty((6, len(rows.X)))
        for c, own, values in self._compared(rows, members):
            leaves = self._leaves[c]
            out[:, own] = novelty.score_novelty(
                rows.X[own],
                rows.numbers[own],
                values,
                self._table,
                self._scaling,
                self._distances,
                leaves.quantiles,
                self.tail,
                self.n_jobs,
                leaves.trees,
            )
        return out

    def _compared(
        self, rows: Located, members: list[Members]
    ) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Models that inference novelty is about, the rows of each, and their predictions."""
        two = len(members) == 1
        chosen = np.zeros(len(rows.X), int) if two else self._proba(members).argmax(axis=1)
        for c in np.unique(chosen):
            own = np.flatnonzero(chosen == c)
            values = members[c].means[own]
            if self.inference == "label":
                values = (values > 0.5).astype(np.float64)
            yield int(c), own, values

    def _predicted(self, rows: Located) -> list[PredictedNovelty]:
        return [
            PredictedNovelty(
                own, values, rows.numbers[own][:, self._leaves[c].trees], self._leaves[c].quantiles
            )
            for c, own, values in self._compared(rows, self._class_members(rows))
        ]


def _listed(classes: np.ndarray) -> str:
    """A few classes in words.

    >>> _listed(np.arange(9))
    '0, 1, 2, 3, 4 and 4 more'
    """
    first = ", ".join(str(c) for c in classes[:5])
    return first if len(classes) <= 5 else f"{first} and {len(classes) - 5} more"
