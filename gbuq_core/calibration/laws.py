"""What calibration makes of a prediction: an estimator's own law with another std, or one shape.

`StretchedDistribution` keeps the estimator's own shape in every row. In the other two,
``y = loc + scale * Z`` with one symmetric law of Z for all rows, read from the rows that calibrate:
the residuals themselves, or a Student t whose coverage was corrected level by level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.integrate import quad
from sklearn.isotonic import IsotonicRegression

from gbuq_core.array_checks import check_array, check_same_length
from gbuq_core.distribution import Distribution, Interval, NormalDistribution, read_only
from gbuq_core.errors import InvalidData
from gbuq_core.metrics.conformal import check_calibration_rows
from gbuq_core.model_files.contents import check_arrays, require

FloatArray = NDArray[np.float64]

_ROWS_A_LEVEL = 50  # fewer say little about a level: their share has a standard error above 0.04
_MOST_LEVELS = 20


@dataclass(frozen=True, eq=False)
class ResidualDistribution(Distribution):
    """A prediction with the sizes of standardised residuals on either side (split conformal).

    ``interval(level)`` is ``centre +- r_(k) * width`` with ``k = ceil((n + 1) level)``: if new rows
    have the same distribution as the n calibration rows, it holds at least that share of them.

    ``quantile`` and ``cdf`` leave a probability of ``1 / (n + 1)`` beyond the largest residual, at
    infinity. Mean, std, CRPS and draws treat the n residuals as equally likely. There is no
    density, so `logpdf` raises `InvalidData`.

    Papadopoulos et al. (2002); Lei, G'Sell, Rinaldo, Tibshirani and Wasserman (2018), section 5.2.

    >>> law = ResidualDistribution([10.0], [2.0], np.arange(1.0, 20.0))
    >>> law.interval(0.9)  # the 18th of 19 sizes, times 2
    Interval(lower=array([-26.]), upper=array([46.]))
    """

    _more_rows = (("centre", 0), ("width", 0))

    # `centre`, `width`: (n_samples,): the prediction and its std, in units of y; the std is
    # positive
    centre: FloatArray
    width: FloatArray
    sizes: FloatArray  # (n_calibration,): `|y - loc| / scale` of the calibration rows
    # (n_calibration,): How many rows each of them counts as, above 0; None means one. Then n is
    # their sum, and `r_(k)` the smallest size with a weight of at least k up to it.
    weight: FloatArray | None = None
    loc: FloatArray = field(init=False, repr=False)
    scale: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        sizes = check_array("sizes", self.sizes, 1, low=0.0)
        order = np.argsort(sizes, kind="stable")
        object.__setattr__(self, "sizes", read_only(sizes[order]))
        if self.weight is not None:
            weight = check_array("weight", self.weight, 1, low=0.0)
            check_same_length(sizes=sizes, weight=weight)
            object.__setattr__(self, "weight", read_only(weight[order]))
        squares = np.square(self.sizes)
        _set_rows(self, math.sqrt(float(np.average(squares, weights=self.weight))))

    def _interval(self, level: FloatArray) -> Interval:
        """The conformal interval; with too few calibration rows for a level, `InvalidData`."""
        n_rows = len(self.sizes) if self.weight is None else int(self.weight.sum())
        if (level < 1.0).any():
            check_calibration_rows(n_rows, level[level < 1.0])
        half = self.width[:, None] * self._size_at(level)
        return Interval(self.centre[:, None] - half, self.centre[:, None] + half)

    def _size_at(self, inside: FloatArray) -> FloatArray:
        """The size that bounds a new row's with these probabilities; beyond the last, inf."""
        n = len(self.sizes)
        # 20 x 0.95 may come out a rounding above 19.
        if self.weight is None:
            rank = np.ceil((n + 1) * inside * (1.0 - 1e-12)).astype(np.intp)
        else:
            below = np.append(0.0, np.cumsum(self.weight))
            rank = np.searchsorted(below, (below[-1] + 1.0) * inside * (1.0 - 1e-12))
        return np.concatenate([[0.0], self.sizes, [np.inf]])[np.minimum(rank, n + 1)]

    def _quantiles(self, levels: FloatArray) -> FloatArray:
        size = np.copysign(self._size_at(np.abs(2.0 * levels - 1.0)), levels - 0.5)
        return self.centre[:, None] + self.width[:, None] * size

    def _log_density(self, y: FloatArray) -> FloatArray:
        raise InvalidData("Conformal residuals have no density: score them by crps or by coverage.")

    def _cdf(self, points: FloatArray) -> FloatArray:
        z = (points - self.centre[:, None]) / self.width[:, None]
        up_to = np.searchsorted(self.sizes, z, side="right")
        below = np.searchsorted(self.sizes, -z, side="left")
        if self.weight is not None:
            counted = np.append(0.0, np.cumsum(self.weight))
            inside = np.where(z >= 0.0, counted[up_to], -counted[below]) / (counted[-1] + 1.0)
            return 0.5 + 0.5 * inside
        inside = np.where(z >= 0.0, up_to, -below) / (len(self.sizes) + 1)
        return 0.5 + 0.5 * inside

    def _crps(self, y: FloatArray) -> FloatArray:
        """``E|Z - z| - E|Z - Z'| / 2``; with random signs both are means of the larger of two."""
        n = len(self.sizes)
        z = np.abs(y - self.centre) / self.width
        smaller = np.searchsorted(self.sizes, z, side="right")
        if self.weight is None:
            above = np.append(np.cumsum(self.sizes[::-1])[::-1], 0.0)
            away = (smaller * z + above[smaller]) / n
            apart = float(self.sizes @ (2.0 * np.arange(1, n + 1) - 1.0)) / n**2
        else:
            below, sums = np.append(0.0, np.cumsum(self.weight)), self.weight * self.sizes
            above = np.append(np.cumsum(sums[::-1])[::-1], 0.0)
            away = (below[smaller] * z + above[smaller]) / below[-1]
            apart = float(sums @ (below[1:] + below[:-1])) / below[-1] ** 2
        return np.maximum(self.width * (away - 0.5 * apart), 0.0)

    def _sample(self, count: int, random: np.random.Generator) -> FloatArray:
        shape = (count, len(self.centre))
        shares = None if self.weight is None else self.weight / self.weight.sum()
        sizes = random.choice(self.sizes, shape, p=shares)
        return self.centre + self.width * np.where(random.random(shape) < 0.5, -sizes, sizes)


class CoverageMap(NamedTuple):
    """What share of rows the central intervals really hold, (n_levels,) each, from 0 to 1.

    ``coverage`` rises strictly with ``nominal``; between its points it is linear. ``df`` belongs to
    the Student t (inf: the normal) that the nominal levels refer to.
    """

    nominal: FloatArray
    coverage: FloatArray
    df: float

    def check_file(self) -> None:
        """Refuse a map that does not rise from 0 to 1."""
        check_arrays(self, nominal=("finite", None), coverage=("finite", len(self.nominal)))
        ends = len(self.nominal) >= 2 and self.nominal[0] == self.coverage[0] == 0.0
        ends = ends and self.nominal[-1] == self.coverage[-1] == 1.0
        rises = (np.diff(self.nominal) > 0.0).all() and (np.diff(self.coverage) >= 0.0).all()
        require(ends and rises and self.df > 2.0, "its map of coverage is impossible")


def fit_coverage_map(z: ArrayLike, df: float, weight: FloatArray | None = None) -> CoverageMap:
    """Fit the coverage of central intervals by isotonic regression.

    Each row's level is that of the central interval which it bounds; its coverage is the share of
    rows with lower levels. The regression is read at up to 20 levels, one for 50 rows,
    and is linear between them. One pseudo
    row that is calibrated keeps every density positive.

    Kuleshov, Fenner and Ermon (2018), "Accurate uncertainties for deep learning using calibrated
    regression", algorithm 1, here for the size of the residual.
    """
    sizes = np.abs(check_array("z", z, 1))
    order = np.argsort(sizes, kind="stable")
    levels = _level(sizes[order], df)
    n: float = len(levels)
    shares = (np.arange(n) + 0.5) / n
    counted = None if weight is None else weight[order]
    if counted is not None:
        n = float(counted.sum())
        shares = (np.cumsum(counted) - 0.5 * counted) / n  # the mean of the row's copies
    regression = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    fitted = regression.fit(levels, shares, sample_weight=counted)
    n_levels = min(_MOST_LEVELS, max(2, int(n) // _ROWS_A_LEVEL))
    inner = _quantiles_of(levels, counted, np.arange(1, n_levels) / n_levels)
    nominal = np.unique(np.concatenate([[0.0], inner, [1.0]]))
    isotonic = fitted.predict(nominal)
    isotonic[0], isotonic[-1] = 0.0, 1.0
    return CoverageMap(nominal, (n * isotonic + nominal) / (n + 1), df)


def _quantiles_of(values: FloatArray, weight: FloatArray | None, levels: FloatArray) -> FloatArray:
    """NumPy's quantiles of rising values (n,), each repeated as often as it weighs."""
    if weight is None:
        return np.quantile(values, levels)
    below = np.cumsum(weight)
    place = np.maximum(below[-1] - 1.0, 0.0) * levels
    whole = np.floor(place)
    last = len(values) - 1
    low, high = (
        values[np.minimum(np.searchsorted(below, whole + step, side="right"), last)]
        for step in (0.0, 1.0)
    )
    return low + (place - whole) * (high - low)


@dataclass(frozen=True, eq=False)
class RecalibratedDistribution(Distribution):
    """A Student t or a normal whose central intervals were given the coverage they really have.

    >>> z = 2.0 * np.random.default_rng(0).normal(size=1000)
    >>> law = RecalibratedDistribution([0.0], [1.0], fit_coverage_map(z, np.inf))
    >>> law.interval(0.8).upper.round(1), law.scale.round(1)  # the normal's is 1.3
    (array([2.5]), array([1.9]))
    """

    _more_rows = (("centre", 0), ("width", 0))

    # `centre`, `width`: (n_samples,): the prediction and its std, in units of y; the std is
    # positive
    centre: FloatArray
    width: FloatArray
    shape: CoverageMap
    loc: FloatArray = field(init=False, repr=False)
    scale: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        _set_rows(self, shape_std(self.shape))

    def _quantiles(self, levels: FloatArray) -> FloatArray:
        shape = self.shape
        level = np.interp(np.abs(2.0 * levels - 1.0), shape.coverage, shape.nominal)
        size = np.copysign(_size(level, shape.df), levels - 0.5)
        return self.centre[:, None] + self.width[:, None] * size

    def _log_density(self, y: FloatArray) -> FloatArray:
        df, own = self.shape.df, _own_scale(self.shape.df)
        size = np.abs(y - self.centre) / self.width
        place = np.searchsorted(self.shape.nominal, _level(size, df), side="right") - 1
        slopes = np.diff(self.shape.coverage) / np.diff(self.shape.nominal)
        stretch = np.log(slopes[np.minimum(place, len(slopes) - 1)])
        return stats.t.logpdf(size / own, df) - np.log(own * self.width) + stretch

    def _cdf(self, points: FloatArray) -> FloatArray:
        z = (points - self.centre[:, None]) / self.width[:, None]
        level = _level(np.abs(z), self.shape.df)
        inside = np.interp(level, self.shape.nominal, self.shape.coverage)
        return 0.5 + 0.5 * np.copysign(inside, z)

    def _sample(self, count: int, random: np.random.Generator) -> FloatArray:
        return self._quantiles(random.random((len(self.centre), count))).T


@dataclass(frozen=True, eq=False)
class StretchedDistribution(Distribution):
    """A law that is stretched around its prediction, row by row, until its std is another one.

    ``y = loc + ratio * (Z - loc)``, where Z has the inner law and ``ratio`` is the new std over the
    inner one: a skew, several modes and heavy tails stay as they are.

    Quantiles, cdf, density, CRPS and draws are exact: all follow from the inner law's. A row where
    the inner law has no spread has no shape either: it gets a normal, and `logpdf` raises
    `InvalidData`, as the inner law's does.

    >>> from gbuq_core.distribution import LogDistribution, NormalDistribution
    >>> skewed = LogDistribution(NormalDistribution([0.0], [1.0]))
    >>> law = StretchedDistribution(skewed, 2.0 * skewed.scale)
    >>> law.quantile(0.5).round(2), (2.0 * skewed.quantile(0.5) - skewed.loc).round(2)
    (array([0.35]), array([0.35]))
    """

    _more_rows = (("inner", 0), ("width", 0), ("_ratio", 0))

    inner: Distribution  # of every row
    width: FloatArray  # (n_samples,): the new std, in units of y; positive
    loc: FloatArray = field(init=False, repr=False)
    scale: FloatArray = field(init=False, repr=False)
    _ratio: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        width = check_array("width", self.width, 1, low=0.0, min_length=0)
        check_same_length(loc=self.inner.loc, width=width)
        if not width.all():
            raise InvalidData("width must be positive everywhere.")
        spread = np.asarray(self.inner.scale)
        whole = spread > 0.0
        object.__setattr__(self, "width", read_only(width))
        object.__setattr__(self, "loc", self.inner.loc)
        object.__setattr__(self, "scale", self.width)
        object.__setattr__(
            self, "_ratio", np.divide(width, spread, np.ones_like(width), where=whole)
        )

    def mean(self) -> FloatArray:  # noqa: D102 (of the base)
        return self.loc + self._ratio * (self.inner.mean() - self.loc)

    def variance(self) -> FloatArray:  # noqa: D102 (of the base)
        own = np.square(self._ratio) * self.inner.variance()
        return own if self._flat is None else np.where(self._no_shape, self._flat.variance(), own)

    @property
    def _flat(self) -> NormalDistribution | None:
        return NormalDistribution(self.loc, self.width) if self._no_shape.any() else None

    @property
    def _no_shape(self) -> NDArray[np.bool_]:
        return np.asarray(self.inner.scale) == 0.0

    def _within(self, y: FloatArray) -> FloatArray:
        """Values of y (n,) before the stretch."""
        return self.loc + (y - self.loc) / self._ratio

    def _quantiles(self, levels: FloatArray) -> FloatArray:
        loc, ratio = self.loc[:, None], self._ratio[:, None]
        own = loc + ratio * (self.inner._quantiles(levels) - loc)
        if self._flat is None:
            return own
        return np.where(self._no_shape[:, None], self._flat._quantiles(levels), own)

    def _log_density(self, y: FloatArray) -> FloatArray:
        if self._flat is not None:
            raise InvalidData(
                "The estimator's own law has no spread in some rows, so it has no density there: "
                "score it by crps, or calibrate with shape='moments'."
            )
        return self.inner._log_density(self._within(y)) - np.log(self._ratio)

    def _cdf(self, points: FloatArray) -> FloatArray:
        loc, ratio = self.loc[:, None], self._ratio[:, None]
        own = self.inner._cdf(loc + (points - loc) / ratio)
        if self._flat is None:
            return own
        return np.where(self._no_shape[:, None], self._flat._cdf(points), own)

    def _crps(self, y: FloatArray) -> FloatArray:
        own = self._ratio * self.inner._crps(self._within(y))
        return own if self._flat is None else np.where(self._no_shape, self._flat._crps(y), own)

    def _sample(self, count: int, random: np.random.Generator) -> FloatArray:
        own = self.loc + self._ratio * (self.inner._sample(count, random) - self.loc)
        if self._flat is None:
            return own
        return np.where(self._no_shape, self._flat._sample(count, random), own)


def shape_std(shape: CoverageMap) -> float:
    """The std of the law with this shape around 0 with std 1 before the map."""
    own = _own_scale(shape.df)
    ends = _size(shape.nominal[:-1], shape.df)

    def moment(z: float) -> float:
        return 2.0 * z * z * float(stats.t.pdf(z / own, shape.df)) / own

    inner = [quad(moment, low, high)[0] for low, high in pairwise(ends)]
    parts = np.array([*inner, 1.0 - sum(inner)])  # all of them together are the variance, 1
    return math.sqrt(float(parts @ (np.diff(shape.coverage) / np.diff(shape.nominal))))


def _own_scale(df: float) -> float:
    """The t's own scale where its std is 1."""
    return math.sqrt(1.0 - 2.0 / df)


def _level(size: FloatArray, df: float) -> FloatArray:
    """The level of the central interval that ends at this many stds."""
    return 1.0 - 2.0 * stats.t.sf(size / _own_scale(df), df)


def _size(level: FloatArray, df: float) -> FloatArray:
    """Its inverse."""
    return _own_scale(df) * stats.t.isf(0.5 - 0.5 * level, df)


def _set_rows(law: ResidualDistribution | RecalibratedDistribution, std: float) -> None:
    """Check a law's predictions and freeze them; ``std`` is that of the law of Z."""
    mean = check_array("centre", law.centre, 1, min_length=0)
    width = check_array("width", law.width, 1, low=0.0, min_length=0)
    check_same_length(centre=mean, width=width)
    if not width.all():
        raise InvalidData("width must be positive everywhere.")
    rows = {"centre": mean, "width": width, "loc": mean, "scale": std * width}
    for name, values in rows.items():
        object.__setattr__(law, name, read_only(values))
