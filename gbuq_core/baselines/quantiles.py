"""Quantile regression forests of LightGBM, the std that matches their quantiles, and their law."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from scipy.special import ndtr, ndtri

from gbuq_core.array_checks import FloatArray, check_array, check_same_length
from gbuq_core.baselines.interval_regressor import (
    IntervalParts,
    Intervals,
    LightGBMForest,
    check_booster,
)
from gbuq_core.distribution import Distribution, read_only
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.model_files.contents import check_arrays, require
from gbuq_core.trees.importers.lightgbm_calls import predict_booster

QUANTILES = (0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975)  # ends of 50, 80 and 95 % and the median
_MOST_VALUES = 1001  # that a law keeps of the target's: its scores cost this many cdfs a row
_BLOCK = 500_000  # numbers of a temporary (rows x values)
_ROOT_2_PI, _ROOT_2, _ROOT_PI = math.sqrt(2.0 * math.pi), math.sqrt(2.0), math.sqrt(math.pi)


@dataclass(frozen=True, eq=False)
class QuantileDistribution(Distribution):
    """A law through predicted quantiles, with a normal's shape between them and beyond them.

    y is a function of a standard normal Z: straight lines between the points ``(z_q, y_q)``, and
    beyond the first and the last quantile straight lines with slope ``scale``. Quantiles of a
    normal with std ``scale`` give that normal.

    Parameters
    ----------
    levels : array-like of shape (n_levels,)
        Ascending, between 0 and 1.
    values : array-like of shape (n_levels, n_samples)
        The quantiles of these levels, ascending along the first axis, in units of y.
    loc, scale : array-like of shape (n_samples,)
        The model's prediction and std, in units of y.

    Raises
    ------
    InvalidData
        If arrays are not finite, do not match or do not ascend, or a scale is negative.

    Notes
    -----
    `mean` and `variance` are those of the law. They differ from ``loc`` and ``scale``, which come
    from the model. Two equal quantiles are one value that has a probability of its own: `logpdf`
    is the density of the rest.

    Examples
    --------
    >>> law = QuantileDistribution([0.1, 0.5, 0.9], [[-1.0], [0.0], [3.0]], [0.5], [1.5])
    >>> law.quantile([0.1, 0.5, 0.7, 0.9]).round(2)
    array([[-1.  ,  0.  ,  1.23,  3.  ]])
    >>> law.interval(0.8).upper, law.mean().round(2)
    (array([3.]), array([0.55]))
    """

    _more_rows = (("values", 1),)

    levels: FloatArray
    values: FloatArray
    loc: FloatArray
    scale: FloatArray

    def __post_init__(self) -> None:
        levels = check_array("levels", self.levels, 1)
        values = check_array("values", self.values, 2, min_length=0)
        loc = check_array("loc", self.loc, 1, min_length=0)
        scale = check_array("scale", self.scale, 1, low=0.0, min_length=0)
        check_same_length(loc=loc, scale=scale, values=values[0])
        if len(levels) != len(values):
            raise InvalidData(
                f"values must have one row for each of the {len(levels)} levels; got {len(values)}."
            )
        inside = levels[0] > 0.0 and levels[-1] < 1.0
        if not inside or (np.diff(levels) <= 0.0).any() or (np.diff(values, axis=0) < 0.0).any():
            raise InvalidData("levels must ascend between 0 and 1, and values must ascend too.")
        arrays = {"levels": levels, "values": values, "loc": loc, "scale": scale}
        for name, array in arrays.items():
            object.__setattr__(self, name, read_only(array))

    def mean(self) -> FloatArray:  # noqa: D102 (of the base)
        return self._moment(np.zeros(len(self.loc)), 1)

    def variance(self) -> FloatArray:  # noqa: D102 (of the base)
        return self._moment(self.mean(), 2)

    @property
    def _knots(self) -> FloatArray:
        """Quantiles of the standard normal, (n_levels,)."""
        return ndtri(self.levels)

    @property
    def _pieces(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Start (z, y) and slope of each piece; the first counts from its end."""
        z, y = self._knots, self.values
        inner = np.diff(y, axis=0) / np.diff(z)[:, None]
        slopes = np.concatenate([self.scale[None], inner, self.scale[None]])
        return np.r_[z[:1], z], np.concatenate([y[:1], y]), slopes

    @property
    def _bounds(self) -> tuple[FloatArray, FloatArray]:
        """Ends of each piece's z, (n_levels + 1, 1) each."""
        z = np.r_[-np.inf, self._knots, np.inf][:, None]
        return z[:-1], z[1:]

    def _at(self, z: FloatArray) -> FloatArray:
        """Values of y (n, k) at values of the standard normal."""
        start_z, start_y, slopes = self._pieces
        piece = np.searchsorted(self._knots, z, side="right")
        row = np.arange(len(z))[:, None]
        slope = slopes[piece, row]
        # A certain value is certain at z = inf too.
        away = np.where(slope > 0.0, z - start_z[piece], 0.0)
        return start_y[piece, row] + slope * away

    def _quantiles(self, levels: FloatArray) -> FloatArray:
        return self._at(ndtri(levels))

    def _place(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The normal's value at each row's points (n, k), and the slope of their pieces."""
        start_z, start_y, slopes = self._pieces
        piece = (self.values[:, :, None] <= points).sum(axis=0)
        row = np.arange(len(points))[:, None]
        slope, away = slopes[piece, row], points - start_y[piece, row]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            z = start_z[piece] + away / slope
        return np.where(slope > 0.0, z, np.where(away >= 0.0, np.inf, -np.inf)), slope

    def _log_density(self, y: FloatArray) -> FloatArray:
        if not self.scale.all():
            raise InvalidData("scale must be positive everywhere; a std of 0 has no density.")
        z, slope = self._place(y[:, None])
        density: FloatArray = -0.5 * z * z - np.log(_ROOT_2_PI * slope)
        return density[:, 0]

    def _cdf(self, points: FloatArray) -> FloatArray:
        return ndtr(self._place(points)[0])

    def _crps(self, y: FloatArray) -> FloatArray:
        """Piece by piece: the integral of Phi squared is known."""
        start_z, start_y, slopes = self._pieces
        low, high = self._bounds
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            z = start_z[:, None] + (y - start_y) / slopes
        z = np.clip(np.where(slopes > 0.0, z, start_z[:, None]), low, high)
        below = _squared_to(z) - _squared_to(low)
        above = _squared_to(-z) - _squared_to(-high)
        beyond = np.maximum(np.maximum(self.values[0] - y, y - self.values[-1]), 0.0)
        certain = np.where(self.scale > 0.0, 0.0, beyond)
        return (slopes * (below + above)).sum(axis=0) + certain

    def _sample(self, count: int, random: np.random.Generator) -> FloatArray:
        return self._at(random.standard_normal((count, len(self.loc))).T).T

    def _moment(self, centre: FloatArray, power: int) -> FloatArray:
        """The mean of ``(y - centre)^power`` for power 1 or 2, (n,)."""
        start_z, start_y, slopes = self._pieces
        low, high = self._bounds
        mass = ndtr(high) - ndtr(low)
        first = (np.exp(-0.5 * low * low) - np.exp(-0.5 * high * high)) / _ROOT_2_PI
        level = start_y - slopes * start_z[:, None] - centre  # of a piece at z = 0
        if power == 1:
            return (level * mass + slopes * first).sum(axis=0)
        ends = [np.where(np.isfinite(z), z, 0.0) * np.exp(-0.5 * z * z) for z in (low, high)]
        second = mass + (ends[0] - ends[1]) / _ROOT_2_PI
        squared: FloatArray = level**2 * mass + 2.0 * level * slopes * first + slopes**2 * second
        return squared.sum(axis=0)


@dataclass(frozen=True, eq=False)
class RoundedDistribution(Distribution):
    """A law whose draws are moved to the nearest of some values: the values that y has.

    So it never leaves the range of these values, and a value that many rows have keeps a
    probability of its own. Both ends of an interval are values, and count as inside.

    Parameters
    ----------
    inner : Distribution
    values : array-like of shape (n_values,)
        Ascending, in units of y.

    Raises
    ------
    InvalidData
        If the values are not finite or do not ascend.

    Notes
    -----
    `logpdf` is the density of ``inner``, and ``loc`` and ``scale`` are its own. Everything else,
    `mean` and `variance` among it, is exact for the values.

    Examples
    --------
    >>> from gbuq_core.distribution import NormalDistribution
    >>> count = RoundedDistribution(NormalDistribution([0.8], [1.0]), [0.0, 1.0, 2.0, 3.0])
    >>> count.interval(0.9), count.cdf([0.0]).round(2)
    (Interval(lower=array([0.]), upper=array([2.])), array([0.38]))
    """

    _more_rows = (("inner", 0),)

    inner: Distribution
    values: FloatArray
    loc: FloatArray = field(init=False, repr=False)
    scale: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        values = check_array("values", self.values, 1)
        if (np.diff(values) <= 0.0).any():
            raise InvalidData("values must ascend.")
        arrays = {"values": values, "loc": self.inner.loc, "scale": self.inner.scale}
        for name, array in arrays.items():
            object.__setattr__(self, name, read_only(array))

    def mean(self) -> FloatArray:  # noqa: D102 (of the base)
        return self.values[-1] - self._over_gaps(lambda below, low, high: (high - low) * below)

    def variance(self) -> FloatArray:  # noqa: D102 (of the base)
        mean = self.mean()[:, None]

        def squared(below: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
            under = np.square(np.minimum(low - mean, 0.0)) - np.square(np.minimum(high - mean, 0.0))
            over = np.square(np.maximum(high - mean, 0.0)) - np.square(np.maximum(low - mean, 0.0))
            return under * below + over * (1.0 - below)

        return self._over_gaps(squared)

    @property
    def _borders(self) -> FloatArray:
        return borders_between(self.values)

    def _quantiles(self, levels: FloatArray) -> FloatArray:
        return move_to_nearest(self.values, self.inner._quantiles(levels))

    def _log_density(self, y: FloatArray) -> FloatArray:
        return self.inner._log_density(y)

    def _cdf(self, points: FloatArray) -> FloatArray:
        place = np.searchsorted(self.values, points, side="right")
        if len(self.values) == 1:
            return (place > 0).astype(np.float64)
        within = self.inner._cdf(self._borders[np.clip(place, 1, len(self.values) - 1) - 1])
        return np.where(place == 0, 0.0, np.where(place == len(self.values), 1.0, within))

    def _crps(self, y: FloatArray) -> FloatArray:
        """The squared distance between the cdf, which is level in a gap, and the step at y."""

        def squared(below: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
            at = np.clip(y[:, None], low, high)
            return (at - low) * np.square(below) + (high - at) * np.square(1.0 - below)

        beyond = np.maximum(np.maximum(self.values[0] - y, y - self.values[-1]), 0.0)
        return self._over_gaps(squared) + beyond

    def _sample(self, count: int, random: np.random.Generator) -> FloatArray:
        return move_to_nearest(self.values, self.inner._sample(count, random))

    def _over_gaps(
        self, part: Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
    ) -> FloatArray:
        """Sums (n,) of ``part(cdf, low, high)`` over the gaps between values, some at a time."""
        total = np.zeros(len(self.loc))
        borders, step = self._borders, max(1, _BLOCK // max(1, len(total)))
        for start in range(0, len(borders), step):
            here = borders[start : start + step]
            below = self.inner._cdf(np.broadcast_to(here, (len(total), len(here))))
            low, high = self.values[start:][: len(here)], self.values[start + 1 :][: len(here)]
            total += part(below, low, high).sum(axis=1)
        return total


def values_of_target(y: FloatArray) -> FloatArray:
    """Distinct values of a target (n,), ascending: of 1,001 evenly spaced ranks at most."""
    ranks = np.linspace(0, len(y) - 1, min(len(y), _MOST_VALUES)).round().astype(np.intp)
    return np.unique(np.sort(y)[ranks])


def borders_between(values: FloatArray) -> FloatArray:
    """Halfway between each of ascending values and the next, (n_values - 1,)."""
    return values[:-1] + 0.5 * np.diff(values)


def move_to_nearest(values: FloatArray, points: FloatArray) -> FloatArray:
    """The nearest of ascending values, the lower one halfway, in the points' shape.

    >>> move_to_nearest(np.array([0.0, 1.0, 5.0]), np.array([-9.0, 1e-8, 2.9, 3.1, np.inf]))
    array([0., 0., 1., 5., 5.])
    """
    return values[np.searchsorted(borders_between(values), points)]


def _squared_to(z: FloatArray) -> FloatArray:
    """The integral of Phi squared from -inf to z; z may be -inf."""
    finite = np.where(np.isfinite(z), z, 0.0)
    phi, density = ndtr(finite), np.exp(-0.5 * finite * finite) / _ROOT_2_PI
    whole = finite * phi**2 + 2.0 * density * phi - ndtr(_ROOT_2 * finite) / _ROOT_PI
    return np.where(np.isfinite(z), whole, 0.0)


def check_quantile_forests(model: Any) -> None:
    """Refuse a file with other forests than those of the quantiles, which ascend."""
    check_arrays(model, quantiles_=("finite", None), target_values_=("finite", None))
    check_quantiles(model.quantiles_)
    ascend = len(model.target_values_) and (np.diff(model.target_values_) > 0.0).all()
    require(ascend, "its values of the target do not ascend")
    require(len(model.boosters_) == len(model.quantiles_), "it has other forests than quantiles")
    for booster in (model.mean_booster_, *model.boosters_):
        check_booster(booster, model.n_features_in_)


class QuantileForestRegressor(LightGBMForest):
    """One random forest with the pinball loss for each quantile of y.

    Each quantile has its own forest, so predictions can cross: they are sorted within each row.
    ``loc`` comes from one more forest with the squared loss. It follows the curve better than the
    median's forest, which only uses whether a row lies above or below. Quantiles are paired from
    the outside in: first and last, second and last but one. Each pair gives the std of a normal;
    ``scale`` is their median, so one poor tail does not decide. It counts as data uncertainty.
    `predict_distribution` gives the law through the quantiles themselves. A quantile is a mean over
    trees, and is moved to the nearest value that y had in training: where many rows have one value,
    an interval can end at it, and holds it.

    Parameters
    ----------
    n_trees, max_leaves, min_child_samples, subsample, random_state, n_jobs
        As for `ForestVarianceRegressor`; of each quantile's forest.
    quantiles : sequence of float
        Ascending, between 0 and 1, at least two.

    Attributes
    ----------
    boosters_ : list of lightgbm.Booster
        One a quantile, on the standardised target.
    mean_booster_ : lightgbm.Booster
    quantiles_ : ndarray of shape (n_quantiles,)
    target_values_ : ndarray of shape (n_values,)
        The values of y that quantiles are moved to, ascending: those of 1,001 evenly spaced ranks
        at most, the lowest and the highest among them.
    fit_seconds_ : float

    Notes
    -----
    The law through the quantiles shows skewed noise, and its intervals are `predict_intervals`. On
    a steep curve the quantiles' forests follow less closely than that of the mean. Then the normal
    of ``loc`` and ``scale``, ``NormalDistribution(*law)``, has the better scores: on 1,500 rows of
    growing noise its CRPS is 0.329 against 0.352, on skewed noise 0.553 against 0.541.

    References
    ----------
    Meinshausen (2006) for quantiles by forests; MACAU, section 4, takes LightGBM's.

    Examples
    --------
    >>> from gbuq_core.synthetic import make_heteroscedastic
    >>> data = make_heteroscedastic(500, random_state=0)
    >>> model = QuantileForestRegressor(n_trees=20, random_state=0).fit(data.X, data.y)
    >>> low, middle, high = model.predict_quantiles([[9.0]], [0.1, 0.5, 0.9])[0]
    >>> bool(low < middle < high)
    True
    """

    quantiles_: FloatArray
    target_values_: FloatArray
    mean_booster_: Annotated[Any, "lightgbm.Booster"]
    boosters_: list[Annotated[Any, "lightgbm.Booster"]]

    def check_file(self) -> None:
        """Refuse other forests than those of the quantiles."""
        super().check_file()
        check_quantile_forests(self)

    def __init__(
        self,
        n_trees: int = 100,
        max_leaves: int = 31,
        min_child_samples: int = 20,
        subsample: float = 0.8,
        quantiles: Sequence[float] = QUANTILES,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(n_trees, max_leaves, min_child_samples, subsample, random_state, n_jobs)
        self.quantiles = quantiles

    def predict_distribution(self, X: Any) -> Distribution:
        """A `RoundedDistribution` of the law through the quantiles that were fitted."""
        matrix = self._read_new_rows(X)
        inner = self._inner_quantiles(matrix)
        centre, spread = self.target_scale_
        pair = quantile_parts(self.quantiles_, inner, self._loc(matrix)).pair(self.target_scale_)
        law = QuantileDistribution(self.quantiles_, centre + spread * inner, *pair)
        return RoundedDistribution(law, self.target_values_)

    def predict_intervals(self, X: Any) -> Intervals:
        """Central intervals of every level whose two ends were fitted."""
        law, q = self.predict_distribution(X), self.quantiles_
        values = law.quantile(q).T
        pairs = [
            (low, high)
            for low in range(len(q) - 1, -1, -1)
            for high in range(low + 1, len(q))
            if np.isclose(q[low] + q[high], 1.0)
        ]
        levels = np.array([q[high] - q[low] for low, high in pairs])
        ends = np.array(pairs, dtype=np.intp).reshape(-1, 2)
        return Intervals(levels, values[ends[:, 0]], values[ends[:, 1]])

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self.quantiles_ = check_quantiles(self.quantiles)

    def _keep_target(self, y: FloatArray) -> None:
        self.target_values_ = values_of_target(y)

    def _fit(self, X: FloatArray, y: FloatArray) -> None:
        self.mean_booster_, self.boosters_ = self._grow_quantiles(X, y, self.quantiles_)

    def _inner_quantiles(self, X: FloatArray) -> FloatArray:
        return np.sort([predict_booster(booster, X) for booster in self.boosters_], axis=0)

    def _parts(self, X: FloatArray) -> IntervalParts:
        return quantile_parts(self.quantiles_, self._inner_quantiles(X), self._loc(X))

    def _loc(self, X: FloatArray) -> FloatArray:
        return predict_booster(self.mean_booster_, X)


def check_quantiles(quantiles: Any, at_least: int = 2) -> FloatArray:
    """Quantile levels (n,) float64, ascending and strictly between 0 and 1."""
    levels = check_array("quantiles", quantiles, 1)
    if len(levels) < at_least or levels.min() <= 0.0 or levels.max() >= 1.0:
        raise InvalidParameter(
            f"quantiles must be at least {at_least} numbers above 0 and below 1; got {quantiles!r}."
        )
    if (np.diff(levels) <= 0.0).any():
        raise InvalidParameter(f"quantiles must ascend; got {quantiles!r}.")
    return levels


def quantile_parts(levels: FloatArray, values: FloatArray, loc: FloatArray) -> IntervalParts:
    """A mean and the variance of quantiles (n_levels, n_samples)."""
    scale = quantile_scale(levels, values)
    return IntervalParts(loc, scale * scale, np.zeros(len(loc)))


def quantile_scale(quantiles: FloatArray, values: FloatArray) -> FloatArray:
    """The std of a normal from pairs of quantiles: the median over the pairs.

    The pair ``a < b`` gives ``(y_b - y_a) / (z_b - z_a)``, with z the standard normal's quantiles.
    """
    z = ndtri(quantiles)
    n_pairs = len(z) // 2
    gaps = values[::-1][:n_pairs] - values[:n_pairs]
    return np.median(gaps / (z[::-1][:n_pairs] - z[:n_pairs])[:, None], axis=0)
