"""Averages of predicted distributions: IBUG+CBU and the like.

Brophy and Lowd (IBUG, 2022), section 5.2: each method is calibrated on its own, then their
locations and their scales are averaged. This did best on most tables. CBU is virtual SGLB
(``BoostedEnsembleRegressor(method="sglb", ensemble="virtual")``); the authors' code uses a single
posterior-sampling model instead (``ensemble="independent", n_members=1``).
"""

from __future__ import annotations

import inspect
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin, clone
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.validation import check_is_fitted

from gbuq_core.array_checks import FloatArray, check_array, check_same_length
from gbuq_core.baselines.held_out import TuningRows, check_new_rows, make_tuning_rows
from gbuq_core.distribution import NormalDistribution, PredictsLaw
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.inputs import draw_seed
from gbuq_core.jobs import stage
from gbuq_core.metrics.scale_calibration import SCORINGS, ScaleCalibration, calibrate_scale
from gbuq_core.model_files.contents import require
from gbuq_core.model_files.fields import Savable
from gbuq_core.trees.importers.ownership import is_owned
from gbuq_core.validation import check_choice

_TINIEST_SCALE = 1e-15  # what a std of 0 is raised to, so that it has a density


class AveragedDistribution(NormalDistribution):
    """A normal for each row: mean of the locations and mean of the scales, in units of y."""


def average_distributions(
    *distributions: tuple[ArrayLike, ArrayLike], weights: ArrayLike | None = None
) -> AveragedDistribution:
    """Average predicted distributions by their locations and their scales.

    Parameters
    ----------
    *distributions : pairs ``(loc, scale)`` of shape (n_samples,) each
        As ``predict_distribution`` returns them.
    weights : array-like of shape (n_distributions,), optional
        All equal by default.

    Returns
    -------
    AveragedDistribution

    Raises
    ------
    InvalidData
        If no distribution is given, lengths differ, a value is not finite or a scale is negative.

    Notes
    -----
    The stds are averaged, as the authors do. A mixture would be wider where the locations differ.

    References
    ----------
    Brophy and Lowd (IBUG, 2022), section 5.2.

    Examples
    --------
    >>> average_distributions(([1.0], [2.0]), ([3.0], [1.0]))
    AveragedDistribution(loc=array([2.]), scale=array([1.5]))
    """
    if not distributions:
        raise InvalidData("There is nothing to average: pass at least one pair (loc, scale).")
    pairs = [tuple(pair) if hasattr(pair, "__iter__") else () for pair in distributions]
    for number, pair in enumerate(pairs, start=1):
        if len(pair) != 2:
            raise InvalidData(
                f"Distribution {number} is not a pair: pass (loc, scale) for each, as "
                "predict_distribution returns it."
            )
    loc = [check_array("loc", pair[0], 1) for pair in pairs]
    scale = [check_array("scale", pair[1], 1, low=0.0) for pair in pairs]
    for here, there in zip(loc, scale, strict=True):
        check_same_length(first=loc[0], loc=here, scale=there)
    share = np.ones(len(loc)) if weights is None else check_array("weights", weights, 1, low=0.0)
    if len(share) != len(loc) or share.sum() == 0.0:
        raise InvalidData(
            f"weights must be {len(loc)} numbers, one for each distribution and not all 0; got "
            f"{share.tolist()}."
        )
    share = share / share.sum()
    return AveragedDistribution(share @ np.stack(loc), share @ np.stack(scale))


def _seed_unseeded(member: Any, seed: int) -> None:
    """Seed a member, and an unfitted model inside it, where they have no random state."""
    owned = is_owned(getattr(member, "base_model", None))
    for name, value in member.get_params(deep=True).items():
        *above, last = name.split("__")
        if last == "random_state" and value is None and (owned or "base_model" not in above):
            member.set_params(**{name: seed})


class AveragingRegressor(Savable, PredictsLaw, RegressorMixin, _BaseComposition):
    """Several probabilistic regressors, each calibrated on its own, averaged.

    Parameters
    ----------
    estimators : list of (str, estimator)
        Regressors whose ``predict_distribution(X)`` unpacks as ``(loc, scale)``. They are cloned.
        If an estimator's ``fit`` takes validation rows (IBUG), it tunes and calibrates itself on
        them. Any other estimator is fitted without those rows, calibrated on them, and then fitted
        on all rows. If a ``base_model`` is already fitted, pass validation rows: it has seen every
        row of X.
    scoring : {"nll", "crps"}
        What the calibration minimises.
    validation_fraction : float
        Share of the rows to calibrate on if ``fit`` gets no validation rows.
    random_state : int, RandomState or None
        Seed of the split, and of the estimators whose own ``random_state`` is None.

    Attributes
    ----------
    estimators_ : list of fitted estimators
    calibrations_ : list of ScaleCalibration
        One for each estimator. An estimator that calibrates itself gets one that changes nothing.

    References
    ----------
    Brophy and Lowd (IBUG, 2022), section 5.2.

    Examples
    --------
    >>> from gbuq_core.baselines import EuclideanNeighborsRegressor
    >>> x = np.linspace(0.0, 1.0, 200)[:, None]
    >>> y = x[:, 0] + 0.1 * np.random.default_rng(0).normal(size=200)
    >>> pair = [("nll", EuclideanNeighborsRegressor()), ("crps", EuclideanNeighborsRegressor())]
    >>> model = AveragingRegressor(pair, random_state=0).set_params(crps__scoring="crps").fit(x, y)
    >>> model.predict_distribution(x).scale.shape
    (200,)
    """

    estimators_: list[Savable]
    calibrations_: list[ScaleCalibration]

    def check_file(self) -> None:
        """Refuse members that predict no scale, or of other columns."""
        require(self.scoring in SCORINGS, "a parameter is impossible")
        pairs = self.estimators
        named = isinstance(pairs, list) and all(
            isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str)
            for pair in pairs
        )
        require(named and len({name for name, _ in pairs}) == len(pairs), "its members differ")
        same = len(self.estimators_) == len(self.calibrations_) == len(pairs) >= 1
        require(same, "a member is missing")
        for member in self.estimators_:
            fits = hasattr(member, "predict_distribution")
            same = fits and getattr(member, "n_features_in_", 0) == self.n_features_in_
            require(same, "a member has other columns, or predicts no scale")

    def __init__(
        self,
        estimators: Any,
        scoring: str = "nll",
        validation_fraction: float = 0.2,
        random_state: Any = None,
    ) -> None:
        self.estimators = estimators
        self.scoring = scoring
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def fit(self, X: Any, y: Any, X_val: Any = None, y_val: Any = None) -> Self:
        """Fit and calibrate every estimator.

        ``X_val`` and ``y_val`` are rows to tune and calibrate on, instead of a share of X. The
        final fit uses them too.
        """
        check_choice("scoring", self.scoring, SCORINGS)
        self._check_estimators()
        if X_val is None:
            self._check_unfitted()
        seed = draw_seed(self.random_state)
        rows = make_tuning_rows(self, X, y, X_val, y_val, self.validation_fraction, seed)
        seeds = np.random.SeedSequence(seed).generate_state(len(self.estimators))
        members, calibrations = [], []
        with stage(len(self.estimators)):
            for (_, estimator), own_seed in zip(self.estimators, seeds, strict=True):
                member = clone(estimator)
                if self.random_state is not None:
                    _seed_unseeded(member, int(own_seed))
                with stage(1, span=1):
                    member, calibration = self._fit_member(member, rows)
                members.append(member)
                calibrations.append(calibration)
        self.estimators_, self.calibrations_ = members, calibrations
        return self

    def predict(self, X: Any) -> FloatArray:
        """Mean of the locations, (n_samples,)."""
        return self.predict_distribution(X).loc

    def predict_distribution(self, X: Any) -> AveragedDistribution:
        """Mean location and mean calibrated scale of every row, (n_samples,) each."""
        check_is_fitted(self, "estimators_")
        rows = check_new_rows(self, X)
        pairs = []
        members: list[Any] = self.estimators_
        for member, calibration in zip(members, self.calibrations_, strict=True):
            loc, scale = member.predict_distribution(rows)
            pairs.append((loc, calibration.apply(scale)))
        return average_distributions(*pairs)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters, including those of the estimators by name: scikit-learn's protocol."""
        return self._get_params("estimators", deep=deep)

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also ``name__parameter`` of an estimator."""
        self._set_params("estimators", **params)
        return self

    def _fit_member(self, member: Any, rows: TuningRows) -> tuple[Any, ScaleCalibration]:
        # A boosted ensemble without a rule of stopping takes rows to choose on and ignores them.
        calibrates = getattr(member, "stopping", "by itself") is not None
        if calibrates and "X_val" in inspect.signature(member.fit).parameters:
            member.fit(rows.X, rows.y, rows.X_val, rows.y_val)
            return member, ScaleCalibration(1.0, 0.0, np.nan)
        with stage(1, span=0.5):
            loc, scale = member.fit(rows.X, rows.y).predict_distribution(rows.X_val)
        scale = np.maximum(scale, _TINIEST_SCALE)
        calibration = calibrate_scale(rows.y_val, loc, scale, self.scoring)
        return clone(member).fit(rows.X_all, rows.y_all), calibration

    def _check_unfitted(self) -> None:
        """Refuse members whose model has seen the rows that would be held out."""
        for name, member in self.estimators:
            if not is_owned(getattr(clone(member), "base_model", None)):
                raise InvalidParameter(
                    f"The base_model of estimator {name!r} is already fitted and has seen all "
                    "rows of X, so none can be held out: pass X_val and y_val."
                )

    def _check_estimators(self) -> None:
        try:
            names = [name for name, _ in self.estimators]
            members = [member for _, member in self.estimators]
        except (TypeError, ValueError):
            names, members = [], []
        if not names:
            raise InvalidParameter(
                "estimators must be a list of pairs (name, estimator) with at least one pair."
            )
        if len(set(names)) < len(names):
            raise InvalidParameter(f"The names of estimators must differ; got {names!r}.")
        for name, member in zip(names, members, strict=True):
            if not hasattr(member, "predict_distribution"):
                raise InvalidParameter(
                    f"Estimator {name!r} ({type(member).__name__}) has no predict_distribution: "
                    "choose one that also predicts a scale."
                )
