"""An ensemble of boosted softmax models: the classifier of the virtual-ensembles paper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin

from gbuq_core.boosting.base import BoostedEnsemble
from gbuq_core.calibration import ClassClocks
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.inputs import MostProbable, check_sample_weight, codes_of_known, encode_classes
from gbuq_core.uncertainty import Uncertainty, decompose_classification, mean_over_members


class BoostedEnsembleClassifier(MostProbable, ClassifierMixin, BoostedEnsemble):
    """Boosted oblivious trees that predict class probabilities, many times over.

    Each model boosts the logits of all classes by the negative log likelihood (Malinin,
    Prokhorenkova and Ustimenko, "Uncertainty in gradient boosting via ensembles"). Total
    uncertainty is the entropy of the members' mean probabilities, data uncertainty is the mean of
    their entropies, and knowledge uncertainty is the difference, a mutual information (eq. 3-4).

    Parameters and attributes that are not named here are as in `BoostedEnsembleRegressor`. A
    classifier ignores ``standardize_target``, ``mean_weight``, ``tails`` and ``target``.

    Parameters
    ----------
    temperature : {"catboost", "posterior"} or float
        As in `BoostedEnsembleRegressor`, but the noise that the posterior needs follows each row's
        predicted probabilities: rows that the model is sure of get little.
    class_weight : None, "balanced" or dict
        How many rows a row of each class counts as, times its ``sample_weight``. "balanced": all
        classes weigh the same together, and a row weighs 1 on average. A dict gives a number for
        each label, and 1 for those that it leaves out. Probabilities are those of data with these
        weights, not of the data as they are.
    stopping : {"two_clocks", "early"} or None
        Where the ensemble stops. "two_clocks": the number of trees and one temperature of the
        logits with the least log loss on rows held out; then the models are trained on all rows.
        "early": the number of trees alone. None: all trees, as in the papers. Diffusion temperature
        "posterior" or a number means None.

    Attributes
    ----------
    classes_ : (n_classes,)
    stopping_, clocks_ : str or None, ClassClocks or None
        The rule that was followed, and the trees and the temperature that it chose.

    Examples
    --------
    >>> import numpy as np
    >>> from gbuq_core import BoostedEnsembleClassifier
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> model = BoostedEnsembleClassifier(ensemble="virtual", n_trees=200, random_state=0)
    >>> model.fit(X, np.where(X[:, 0] > 0, "above", "below")).predict([[0.5]]).tolist()
    ['above']
    >>> model.predict_uncertainty([[0.5]]).total.shape
    (1,)

    One model in cycles of 50 trees, each of which gives a member, with all trees as in the paper:

    >>> model = BoostedEnsembleClassifier(
    ...     method="csglb", n_trees=200, cycle_length=50, stopping=None
    ... )
    >>> model.fit(X, X[:, 0] > 0).member_trees()
    array([ 50, 100, 150, 200])
    """

    clocks_: ClassClocks | None
    classes_: np.ndarray

    def fit(
        self,
        X: Any,
        y: Any,
        X_val: Any = None,
        y_val: Any = None,
        groups: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Choose where the models stop, then train them on all rows.

        All but ``y`` as in `BoostedEnsembleRegressor.fit`.

        Parameters
        ----------
        y : array-like (n_samples,)
            At least two classes, of any one type.
        """
        table, target = self._check_fit_data(X, y)
        table, target, groups, weight = self._leave_out(table, target, groups, sample_weight)
        table, extra_target = self._stack_rows(table, X_val, y_val)
        n_given = 0 if extra_target is None else len(extra_target)
        classes, codes = encode_classes(
            target if extra_target is None else np.concatenate([target, extra_target])
        )
        if weight is not None:
            weight = np.append(weight, np.ones(n_given))
        weight = self._weigh_classes(classes, codes, weight)
        self._fit_all(table, codes, len(classes), groups, n_given, weight)
        self.classes_ = classes
        return self

    def _finish_members(self, raw: np.ndarray) -> np.ndarray:
        if self.clocks_ is not None:
            raw = raw / self.clocks_.temperature
        return self._parameters(raw)

    def _decompose(self, members: np.ndarray) -> Uncertainty:
        return decompose_classification(members)

    def predict_proba(self, X: Any) -> np.ndarray:
        """The mean of the members' probabilities (eq. 2), (n_samples, n_classes)."""
        return self._map_members(X, lambda raw: [mean_over_members(self._finish_members(raw))])[0]

    def _weigh_classes(
        self, classes: np.ndarray, codes: np.ndarray, weight: np.ndarray | None
    ) -> np.ndarray | None:
        """The rows' weights (n,) times those of their classes."""
        if self.class_weight is None:
            return weight
        counts = np.bincount(codes, weight).astype(np.float64)
        if isinstance(self.class_weight, Mapping):
            weights = dict(self.class_weight)
            of_class = np.array([weights.pop(label, 1.0) for label in classes.tolist()], np.float64)
            if weights:
                raise InvalidData(f"class_weight names {next(iter(weights))!r}, which y never is.")
            if not (np.isfinite(of_class).all() and (of_class > 0.0).all()):
                raise InvalidParameter("class_weight must hold positive numbers.")
        elif isinstance(self.class_weight, str) and self.class_weight == "balanced":
            of_class = counts.sum() / (len(counts) * counts)
        else:
            raise InvalidParameter(
                "class_weight must be None, 'balanced' or a dict of a number for each class; got "
                f"{self.class_weight!r}."
            )
        rows = of_class[codes]
        return check_sample_weight(rows if weight is None else rows * weight, len(codes))

    def _inner_target(self, target: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        return target

    def _mean_trees(self) -> int:
        return self.n_trees_ if self.clocks_ is None else self.clocks_.n_trees_used

    def _output_units(self) -> np.ndarray:
        return np.ones(len(self.classes_))

    def _parameters(self, raw: np.ndarray) -> np.ndarray:
        return softmax(raw, axis=-1)

    def _losses(self, staged: np.ndarray, y: np.ndarray) -> np.ndarray:
        chosen = staged[:, :, np.arange(len(y)), codes_of_known(self.classes_, y)]
        return -np.log(np.maximum(chosen, np.finfo(np.float64).tiny))

    def _loss_shift(self) -> float:
        return 0.0
