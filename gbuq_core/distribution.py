"""The predicted distribution of y for each row: what every ``predict_distribution`` returns.

`Distribution` is the one interface. The kinds here are a normal, a Student t, a mixture of normals
and the exponential of any of them for targets on a log scale. IBUG adds its own families,
forests of quantiles a law through these.
CRPS: Gneiting and Raftery (2007), "Strictly proper scoring rules, prediction, and estimation".
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import InitVar, dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri, stdtr, stdtrit  # scipy.stats is slow to import

from gbuq_core.array_checks import check_array, check_same_length
from gbuq_core.errors import InvalidData
from gbuq_core.metrics.mixture_quantiles import mixture_quantiles, standardised
from gbuq_core.metrics.scores import (
    crps_gaussian_values,
    crps_mixture_values,
    crps_student_values,
    nll_gaussian_values,
    nll_mixture_values,
    student_log_density,
)
from gbuq_core.resources import check_memory
from gbuq_core.uncertainty import mean_over_members, split_variance
from gbuq_core.validation import check_number

if TYPE_CHECKING:
    import pandas as pd

    from gbuq_core.figures.canvas.panels import PanelSheet
    from gbuq_core.figures.curves import Curves
    from gbuq_core.uncertainty import Uncertainty

FloatArray = NDArray[np.float64]

_MOST_DRAWS = 10_000_000
_BLOCK = 2_000_000  # numbers of a temporary (members x rows x levels): 16 MB
_REACH = 6.0  # a CRPS by quadrature runs over the quantiles of a normal's +-6 std: 1e-9 to 1 - 1e-9
_LOG_REACH = float(-ndtri(1e-4))  # and over the central 99.98 % for the exponential of heavy tails
_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(64)
_ROOT_2_PI = math.sqrt(2.0 * math.pi)


class Interval(NamedTuple):
    """Ends of a central interval, in units of y: (n_samples,), or (n_samples, k) for k levels."""

    lower: FloatArray
    upper: FloatArray


class Distribution(ABC):
    """Predicted distribution of y, one for each row. Immutable.

    Attributes
    ----------
    loc : ndarray of shape (n_samples,)
        The prediction, in units of y.
    scale : ndarray of shape (n_samples,)
        The standard deviation that belongs to it, in units of y.

    Notes
    -----
    ``len(d)`` is the number of rows, and a slice, a mask or positions cut rows: ``d[:10]``.
    ``loc, scale = d`` unpacks, so that code that treated the result as a pair goes on. One number
    as an index is refused, since ``d[0]`` was ``d.loc`` once.

    Examples
    --------
    >>> d = NormalDistribution([0.0, 10.0], [1.0, 2.0])
    >>> loc, scale = d
    >>> lower, upper = d.interval(0.9)
    >>> upper.round(2)
    array([ 1.64, 13.29])
    >>> d.quantile([0.5, 0.9]).round(2)
    array([[ 0.  ,  1.28],
           [10.  , 12.56]])
    >>> d.sf(1.0).round(2)  # how likely above 1
    array([0.16, 1.  ])
    >>> d.crps([0.0, 10.0]).round(3)
    array([0.234, 0.467])
    >>> d.sample(3, random_state=0).shape
    (3, 2)
    >>> d[d.scale > 1.0].interval([0.5, 0.9]).upper.round(2)
    array([[11.35, 13.29]])
    """

    # Attributes beside loc and scale that have rows, and on which axis.
    _more_rows: ClassVar[tuple[tuple[str, int], ...]] = ()
    _index: ClassVar[Any] = None  # of the data frame that was predicted, in each law of one

    loc: FloatArray
    scale: FloatArray

    def __iter__(self) -> Iterator[FloatArray]:
        return iter((self.loc, self.scale))

    def __len__(self) -> int:
        return len(self.loc)

    def __getitem__(self, rows: Any) -> Distribution:
        if not isinstance(rows, slice) and np.ndim(rows) != 1:
            raise TypeError(
                "A distribution is cut by a slice, a mask or positions, as law[:10]; the "
                "prediction is law.loc, the std law.scale, one row law[3:4]."
            )
        places = np.arange(len(self))[rows]
        index = None if self._index is None else self._index[places]

        def cut(part: Any, axis: int) -> Any:
            if isinstance(part, np.ndarray):
                return read_only(part.take(places, axis))
            return self._cut(part, places)

        parts = {name: cut(getattr(self, name), at) for name, at in self._rows()}
        return self._with({**parts, "_index": index})

    def _rows(self) -> tuple[tuple[str, int], ...]:
        return ("loc", 0), ("scale", 0), *self._more_rows

    @staticmethod
    def _cut(part: Any, places: NDArray[np.intp]) -> Any:
        """Rows of what is no array: another law."""
        return part[places]

    @staticmethod
    def _join(parts: list[Any]) -> Any:
        return concatenate(parts)

    def _with(self, parts: Mapping[str, Any]) -> Distribution:
        """The same law with other rows."""
        other = copy(self)
        for name, part in parts.items():
            object.__setattr__(other, name, part)
        return other

    def to_pandas(self, levels: ArrayLike = (0.05, 0.5, 0.95), index: Any = None) -> pd.DataFrame:
        """One line a row: ``loc``, ``scale``, a t's ``df``, and quantiles as ``q0.05``.

        Parameters
        ----------
        levels : array-like of shape (k,)
            Of the quantiles; () for none.
        index : array-like of shape (n_samples,), optional
            Of the frame; without it that of the data frame that was predicted.

        Returns
        -------
        DataFrame
            ``attrs["distribution"]`` names the kind of law. `Distribution.from_pandas` reads
            normals and Student ts back to the bit.
        """
        import pandas as pd

        names = [name for name in ("loc", "scale", "df") if hasattr(self, name)]
        index = self._index if index is None else index
        frame = pd.DataFrame({name: getattr(self, name) for name in names}, index=index)
        wanted = np.asarray(levels, dtype=np.float64)
        for level, ends in zip(wanted, self.quantile(wanted).T if len(wanted) else (), strict=True):
            frame[f"q{level:g}"] = ends
        frame.attrs["distribution"] = type(self).__name__
        return frame

    @staticmethod
    def from_pandas(frame: pd.DataFrame) -> Distribution:
        """A normal a row, or a Student t where there is a column ``df``, by ``loc`` and ``scale``.

        Raises
        ------
        InvalidData
            If a column is missing, or the frame was written by another kind of law, whose shape
            these columns do not hold.

        Examples
        --------
        >>> law = StudentDistribution([0.0, 10.0], [1.0, 2.0], [4.0, 9.0])
        >>> frame = law.to_pandas(levels=[0.9])
        >>> frame.round(2).to_dict("list")
        {'loc': [0.0, 10.0], 'scale': [1.0, 2.0], 'df': [4.0, 9.0], 'q0.9': [1.08, 12.44]}
        >>> bool((Distribution.from_pandas(frame).quantile(0.9) == frame["q0.9"]).all())
        True
        """
        if missing := sorted({"loc", "scale"} - {*frame.columns}):
            raise InvalidData(f"The frame has no column {' and '.join(missing)}.")
        kind = frame.attrs.get("distribution", "NormalDistribution")
        if kind not in ("NormalDistribution", "StudentDistribution"):
            raise InvalidData(
                f"loc and scale do not hold the shape of a {kind}: pickle the law itself, or drop "
                "frame.attrs to take them as normals."
            )
        loc, scale = frame["loc"].to_numpy(), frame["scale"].to_numpy()
        return student(loc, scale, frame["df"].to_numpy() if "df" in frame else np.inf)

    def mean(self) -> FloatArray:
        """The mean, (n_samples,), in units of y."""
        return self.loc

    def variance(self) -> FloatArray:
        """The variance, (n_samples,), in squared units of y."""
        return np.square(self.scale)

    def quantile(self, q: ArrayLike) -> FloatArray:
        """Quantiles in units of y: (n_samples,) of one number, (n_samples, k) of k.

        Parameters
        ----------
        q : array-like of shape (k,), or a number
            Probabilities from 0 to 1. Where the distribution has no bound, 0 gives -inf and 1
            gives inf.
        """
        if np.ndim(q) == 0:
            level = check_number("q", np.asarray(q)[()], 0.0, 1.0)
            return self._quantiles(np.full((len(self), 1), level))[:, 0]
        levels = check_array("q", q, 1, low=0.0, high=1.0)
        return self._quantiles(np.broadcast_to(levels, (len(self.loc), len(levels))))

    def interval(self, level: ArrayLike = 0.9) -> Interval:
        """The central interval that holds y with probability ``level``: lower and upper ends.

        Parameters
        ----------
        level : float, or array-like of shape (k,)
            From 0 to 1: 0.9 for the interval between the 5 % and the 95 % quantile.

        Returns
        -------
        Interval
            ``(lower, upper)``, (n_samples,) each, in units of y; (n_samples, k) for k levels.
        """
        if np.ndim(level):
            return self._interval(check_array("level", level, 1, low=0.0, high=1.0))
        lower, upper = self._interval(np.array([check_number("level", level, 0.0, 1.0)]))
        return Interval(lower[:, 0], upper[:, 0])

    def _interval(self, level: FloatArray) -> Interval:
        """Ends (n_samples, k) of central intervals with levels (k,)."""
        half = 0.5 * level
        ends = self.quantile(np.concatenate([0.5 - half, 0.5 + half]))
        return Interval(ends[:, : len(level)], ends[:, len(level) :])

    def logpdf(self, y: ArrayLike) -> FloatArray:
        """Log density at y (n_samples,): (n_samples,) in nats. Its negative is the NLL."""
        return self._log_density(self._targets(y))

    def cdf(self, y: ArrayLike) -> FloatArray:
        """Probability of a value up to y, from 0 to 1, in the shape of y.

        y has one value a row, (n_samples,), or k, (n_samples, k); a number is that of all rows.
        """
        wide = np.ndim(y) == 2 and np.shape(y)[0] == len(self)
        at = check_array("y", y, 2, infinite=True) if wide else self._targets(y, True)[:, None]
        ends = np.isinf(at)  # such as the quantiles of 0 and 1
        p = np.where(ends, at > 0.0, self._cdf(np.where(ends, 0.0, at)))
        return p if wide else p[:, 0]

    def sf(self, y: ArrayLike) -> FloatArray:
        """Probability of a value above y, from 0 to 1: ``1 - cdf(y)``, of counts P(Y > y) too."""
        return 1.0 - self.cdf(y)

    def crps(self, y: ArrayLike) -> FloatArray:
        """Continuous ranked probability score at y (n_samples,): (n_samples,) in units of y.

        Lower is better. A prediction without spread has its absolute error.
        """
        return self._crps(self._targets(y))

    def sample(self, draws: int, random_state: Any = None) -> FloatArray:
        """Random draws of y, independent between rows: (draws, n_samples), in units of y.

        Parameters
        ----------
        draws : int
        random_state : int, RandomState, Generator or None
            One seed gives one set of draws.

        Raises
        ------
        MemoryLimitExceeded
            If the draws would not fit into the free memory.
        """
        count = check_number("draws", draws, 1, _MOST_DRAWS, integer=True)
        check_memory(32.0 * count * len(self.loc), "these draws")
        from gbuq_core.inputs import draw_seed  # with pandas

        return self._sample(count, np.random.default_rng(draw_seed(random_state)))

    def plot(
        self,
        X: Any,
        *,
        X_rows: Any = None,
        y_rows: Any = None,
        level: float = 0.9,
        uncertainty: Uncertainty | None = None,
        columns: Any = None,
        label: str = "y",
    ) -> PanelSheet | Curves:
        """Draw it over the rows that were scored: a band over one feature, maps over two.

        A knob above the band chooses the level of the interval. The maps show the prediction and
        its standard deviation.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            The rows that were scored.
        X_rows, y_rows : array-like, optional
            Rows that are drawn as dots, for example those of the training. Over one feature both
            are needed.
        level : float
            Between 0 and 1: the interval that is drawn first.
        uncertainty : Uncertainty, optional
            Of the same rows: the part of the band that is data uncertainty is drawn paler.
        columns : int, str or a sequence of one or two, optional
            The columns of X that are drawn. Without it those that vary.
        label : str
            Of the target, with its unit.

        Returns
        -------
        PanelSheet or Curves
            A notebook shows it where it is the last line of a cell; `gbuq_core.figures.show`
            returns its widget, `gbuq_core.figures.standalone.standalone_html` a page.

        Raises
        ------
        InvalidData
            If X has other rows, or the columns are not of numbers.
        InvalidParameter
            If more than two columns vary and none are named.

        Examples
        --------
        >>> x = np.linspace(0.0, 3.0, 40)
        >>> figure = NormalDistribution(np.sin(x), 0.1 + 0.1 * x).plot(x, level=0.8)
        >>> figure.alt, [knob.key for knob in figure.knobs]
        ('The prediction of y over x with its 80 % interval.', ['level'])
        """
        from gbuq_core.figures.plots import LEVELS, plot_distribution

        wanted = check_number("level", level, 1e-3, 0.999)
        share = None
        if uncertainty is not None:
            total = np.asarray(uncertainty.total)
            if len(total) != len(self.loc):
                raise InvalidData(
                    f"uncertainty must be of the {len(self.loc)} rows of the prediction; "
                    f"it is of {len(total)}."
                )
            share = np.divide(uncertainty.data, total, out=np.ones(len(total)), where=total > 0)
        return plot_distribution(
            self.loc,
            self.scale,
            {level: self.interval(level) for level in sorted({*LEVELS, wanted})},
            X,
            X_rows=X_rows,
            y_rows=y_rows,
            level=wanted,
            data_share=share,
            columns=columns,
            label=label,
        )

    def _targets(self, y: ArrayLike, infinite: bool = False) -> FloatArray:
        y = np.full(len(self), y) if np.ndim(y) == 0 else y
        target = check_array("y", y, 1, min_length=0, infinite=infinite)
        if len(target) != len(self.loc):
            raise InvalidData(
                f"y must have one value for each of the {len(self.loc)} rows; got {len(target)}."
            )
        return target

    def _crps(self, y: FloatArray) -> FloatArray:
        """By quadrature over the quantiles, for kinds without a closed form."""
        return crps_by_quantiles(self, y, _REACH)

    @abstractmethod
    def _quantiles(self, levels: FloatArray) -> FloatArray:
        """Each row's own quantiles: levels (n, k) in, (n, k) out."""

    @abstractmethod
    def _log_density(self, y: FloatArray) -> FloatArray:
        """Log density at y (n,)."""

    @abstractmethod
    def _cdf(self, points: FloatArray) -> FloatArray:
        """Probability of a value up to each row's points (n, k)."""

    @abstractmethod
    def _sample(self, count: int, random: np.random.Generator) -> FloatArray:
        """Draws (count, n)."""


@dataclass(frozen=True, eq=False)
class NormalDistribution(Distribution):
    """One normal a row. A std of 0 is a certain value: it has no density.

    >>> NormalDistribution([0.0], [1.0]).cdf([1.0]).round(4)
    array([0.8413])
    """

    # `loc`, `scale`: (n_samples,): mean and std, in units of y
    loc: FloatArray
    scale: FloatArray

    def __post_init__(self) -> None:
        _set_loc_scale(self, self.loc, self.scale)

    def _interval(self, level: FloatArray) -> Interval:
        half = self.scale[:, None] * ndtri(0.5 + 0.5 * level)
        return Interval(self.loc[:, None] - half, self.loc[:, None] + half)

    def _quantiles(self, levels: FloatArray) -> FloatArray:
        return _at(self.loc, self.scale, ndtri(levels))

    def _log_density(self, y: FloatArray) -> FloatArray:
        return -nll_gaussian_values(y, self.loc, self.scale)

    def _cdf(self, points: FloatArray) -> FloatArray:
        return ndtr(standardised(points, self.loc[:, None], self.scale[:, None]))

    def _crps(self, y: FloatArray) -> FloatArray:
        return crps_gaussian_values(y, self.loc, self.scale)

    def _sample(self, count: int, random: np.random.Generator) -> FloatArray:
        return self.loc + self.scale * random.standard_normal((count, len(self.loc)))


@dataclass(frozen=True, eq=False)
class StudentDistribution(Distribution):
    """One Student t a row, given by its mean, its std and its degrees of freedom.

    >>> heavy = StudentDistribution([0.0], [1.0], 3.0)
    >>> heavy.interval(0.99).upper.round(2), NormalDistribution([0.0], [1.0]).interval(0.99)[1]
    (array([3.37]), array([2.5758...]))
    """

    # `loc`, `scale`: (n_samples,): Mean and std, in units of y. The std, not the t's own scale,
    # which is smaller by `sqrt((df - 2) / df)`.
    _more_rows = (("df", 0),)

    loc: FloatArray
    scale: FloatArray
    df: FloatArray  # (n_samples,): degrees of freedom, above 2; inf is the normal

    def __post_init__(self) -> None:
        _set_loc_scale(self, self.loc, self.scale)
        df = np.asarray(self.df, dtype=np.float64)
        if df.ndim > 1 or (df.ndim == 1 and len(df) != len(self.loc)) or not (df > 2.0).all():
            raise InvalidData(
                f"df must be one number above 2, or one for each of the {len(self.loc)} rows."
            )
        object.__setattr__(self, "df", np.broadcast_to(df, self.loc.shape))

    @property
    def _width(self) -> FloatArray:
        """The t's own scale."""
        return self.scale * np.sqrt(1.0 - 2.0 / self.df)

    def _interval(self, level: FloatArray) -> Interval:
        distinct, place = np.unique(self.df, return_inverse=True)  # the quantile is what takes long
        z = _t_quantile(0.5 + 0.5 * level, distinct[:, None])[place]
        half = _at(np.zeros(len(self.loc)), self._width, z)
        return Interval(self.loc[:, None] - half, self.loc[:, None] + half)

    def _quantiles(self, levels: FloatArray) -> FloatArray:
        return _at(self.loc, self._width, _t_quantile(levels, self.df[:, None]))

    def _log_density(self, y: FloatArray) -> FloatArray:
        width = self._width
        if not width.all():
            raise InvalidData("scale must be positive everywhere; a std of 0 has no density.")
        return student_log_density((y - self.loc) / width, self.df) - np.log(width)

    def _cdf(self, points: FloatArray) -> FloatArray:
        z = standardised(points, self.loc[:, None], self._width[:, None])
        return stdtr(self.df[:, None], z)

    def _crps(self, y: FloatArray) -> FloatArray:
        return crps_student_values(y, self.loc, self._width, self.df)

    def _sample(self, count: int, random: np.random.Generator) -> FloatArray:
        shape = (count, len(self.loc))
        normal = np.isinf(self.df)
        z = random.standard_t(np.where(normal, 3.0, self.df), shape)
        if normal.any():
            z[:, normal] = random.standard_normal((count, int(normal.sum())))
        return self.loc + self._width * z


def student(loc: ArrayLike, scale: ArrayLike, df: ArrayLike) -> Distribution:
    """A Student t with this mean, std and df; the normal itself where df is inf for all rows."""
    if np.isposinf(np.asarray(df, dtype=np.float64)).all():
        return NormalDistribution(np.asarray(loc), np.asarray(scale))
    return StudentDistribution(np.asarray(loc), np.asarray(scale), np.asarray(df))


@dataclass(frozen=True, eq=False)
class MixtureDistribution(Distribution):
    """A mixture of normals a row: members of an ensemble, or draws from a posterior.

    ``loc`` and ``scale`` are the mixture's mean and std (law of total variance).

    The CRPS sums over pairs of members, so its time grows with the square of their number.

    >>> two = MixtureDistribution([[-1.0], [1.0]], [[0.01], [0.01]])
    >>> two.scale.round(3), two.interval(0.5).upper.round(3)
    (array([1.005]), array([1.]))
    """

    _more_rows = (("means", 1), ("variances", 1))

    # `means`, `variances`: (n_members, n_samples): in units of y and squared units of y
    means: FloatArray
    variances: FloatArray
    # (n_members,): all equal by default; they are divided by their sum
    weights: FloatArray | None = None
    # (n_samples,): `loc` and `scale` as an estimator has computed them. They may differ from the
    # mixture's mean and std by rounding only.
    pair: InitVar[tuple[FloatArray, FloatArray] | None] = None
    loc: FloatArray = field(init=False, repr=False)
    scale: FloatArray = field(init=False, repr=False)

    def __post_init__(self, pair: tuple[FloatArray, FloatArray] | None) -> None:
        means = check_array("means", self.means, 2, min_length=0)
        variances = check_array("variances", self.variances, 2, low=0.0, min_length=0)
        if means.shape != variances.shape:
            raise InvalidData(
                f"means and variances must have one shape; got {means.shape} and {variances.shape}."
            )
        if self.weights is None:
            loc, variance = mean_over_members(means), split_variance(means, variances).total
        else:
            weights = check_array("weights", self.weights, 1, low=0.0)
            if len(weights) != len(means) or weights.sum() == 0.0:
                raise InvalidData(
                    f"weights must be {len(means)} numbers, one for each member and not all 0."
                )
            weights = weights / weights.sum()
            loc = weights @ means
            variance = weights @ variances + weights @ np.square(means - loc)
            object.__setattr__(self, "weights", read_only(weights))
        object.__setattr__(self, "means", read_only(means))
        object.__setattr__(self, "variances", read_only(variances))
        object.__setattr__(self, "loc", read_only(loc))
        object.__setattr__(self, "scale", read_only(np.sqrt(variance)))
        if pair is not None:
            check_same_length(loc=self.loc, pair=pair[0])
            _set_loc_scale(self, *pair)

    def _quantiles(self, levels: FloatArray) -> FloatArray:
        """Newton's method on the cdf, inside a bracket that halves wherever a step leaves it.

        A mixture's quantile lies between the smallest and the largest of its members'.
        """
        out = np.empty(levels.shape)
        step = max(1, _BLOCK // max(1, len(self.means) * levels.shape[1]))
        stds = np.sqrt(self.variances)
        for start in range(0, len(levels), step):
            rows = slice(start, start + step)
            out[rows] = mixture_quantiles(
                self.means[:, rows, None], stds[:, rows, None], self._shares(), levels[rows]
            )
        return out

    def _shares(self) -> FloatArray:
        if self.weights is None:
            return np.full(len(self.means), 1.0 / len(self.means))
        return self.weights

    def _log_density(self, y: FloatArray) -> FloatArray:
        return -self._score_rows(nll_mixture_values, y)

    def _cdf(self, points: FloatArray) -> FloatArray:
        out = np.zeros(points.shape)
        for share, mean, std in zip(
            self._shares(), self.means, np.sqrt(self.variances), strict=True
        ):
            out += share * ndtr(standardised(points, mean[:, None], std[:, None]))
        return np.minimum(out, 1.0)

    def _crps(self, y: FloatArray) -> FloatArray:
        return self._score_rows(crps_mixture_values, y)

    def _score_rows(self, score: Callable[..., FloatArray], y: FloatArray) -> FloatArray:
        """A score of all rows, with temporaries of some rows at a time."""
        size = max(1, _BLOCK // len(self.means))
        if len(y) <= size:
            return score(y, self.means, self.variances, self.weights)
        blocks = (slice(start, start + size) for start in range(0, len(y), size))
        return np.concatenate(
            [score(y[b], self.means[:, b], self.variances[:, b], self.weights) for b in blocks]
        )

    def _sample(self, count: int, random: np.random.Generator) -> FloatArray:
        n_members, n_rows = self.means.shape
        chosen = random.choice(n_members, size=(count, n_rows), p=self.weights)
        means = np.take_along_axis(self.means, chosen, axis=0)
        stds = np.sqrt(np.take_along_axis(self.variances, chosen, axis=0))
        return means + stds * random.standard_normal((count, n_rows))


@dataclass(frozen=True, eq=False)
class LogDistribution(Distribution):
    """``y = exp(z) - shift`` with z as predicted: for a target that was trained on a log scale.

    Quantiles, intervals, cdf, density and draws are exact for any ``inner``. For a normal or a
    mixture of normals, mean, std and CRPS are too (log-normals have closed forms). The exponential
    of a Student t has no finite mean, and its CRPS is infinite. For a t and all other kinds,
    ``loc``, ``scale`` and the CRPS are therefore those of y cut off at its 0.01 % and 99.99 %
    quantiles: values beyond count as these quantiles.

    >>> price = LogDistribution(NormalDistribution([0.0], [1.0]))
    >>> price.loc.round(3), price.quantile([0.5])[0]  # the mean lies above the median
    (array([1.649]), array([1.]))
    """

    _more_rows = (("inner", 0),)

    inner: Distribution  # of `z = log(y + shift)`
    shift: float = 0.0  # at least 0; 1 undoes `log1p`
    loc: FloatArray = field(init=False, repr=False)
    scale: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "shift", check_number("shift", self.shift, 0.0))
        with np.errstate(over="ignore"):  # beyond float64: inf
            mean, std = self._moments()
        object.__setattr__(self, "loc", read_only(mean - self.shift))
        object.__setattr__(self, "scale", read_only(std))

    def _moments(self) -> tuple[FloatArray, FloatArray]:
        """Mean and std of exp(z)."""
        members = _normal_members(self.inner)
        if members is not None:
            means, variances, shares = members
            centres = np.exp(means + 0.5 * variances)
            mean = shares @ centres
            within = np.square(centres) * np.expm1(variances)
            return mean, np.sqrt(shares @ (within + np.square(centres - mean)))
        u = np.concatenate([[-_LOG_REACH], _LOG_REACH * _NODES, [_LOG_REACH]])
        tail = ndtr(-_LOG_REACH)
        weights = np.exp(-0.5 * u * u) / _ROOT_2_PI
        weights *= np.concatenate([[0.0], _LOG_REACH * _NODE_WEIGHTS, [0.0]])
        weights[[0, -1]] = tail
        values = np.exp(self.inner.quantile(ndtr(u)))
        mean = values @ weights
        return mean, np.sqrt(np.square(values - mean[:, None]) @ weights)

    def _quantiles(self, levels: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            return np.exp(self.inner._quantiles(levels)) - self.shift

    def _inside(self, y: FloatArray) -> tuple[FloatArray, NDArray[np.bool_]]:
        """``log(y + shift)``, and where it exists; elsewhere 0."""
        moved = y + self.shift
        inside = moved > 0.0
        return np.log(np.where(inside, moved, 1.0)), inside

    def _log_density(self, y: FloatArray) -> FloatArray:
        z, inside = self._inside(y)
        return np.where(inside, self.inner._log_density(z) - z, -np.inf)

    def _cdf(self, points: FloatArray) -> FloatArray:
        z, inside = self._inside(points)
        return np.where(inside, self.inner._cdf(z), 0.0)

    def _crps(self, y: FloatArray) -> FloatArray:
        members = _normal_members(self.inner)
        if members is None:
            return crps_by_quantiles(self, y, _LOG_REACH)
        z, inside = self._inside(y)
        with np.errstate(over="ignore", invalid="ignore"):
            return _crps_log_normals(y + self.shift, np.where(inside, z, -np.inf), *members)

    def _sample(self, count: int, random: np.random.Generator) -> FloatArray:
        with np.errstate(over="ignore"):
            return np.exp(self.inner._sample(count, random)) - self.shift


class PredictsLaw:
    """A regressor whose ``predict_distribution`` says what else it predicts."""

    if TYPE_CHECKING:
        predict_distribution: Callable[[Any], Distribution]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "predict_distribution" in vars(cls):
            cls.predict_distribution = _with_index(vars(cls)["predict_distribution"])

    def predict_interval(self, X: Any, level: ArrayLike = 0.9) -> Interval:
        """The central interval that holds y with this probability: ``(lower, upper)``.

        Parameters
        ----------
        X : array-like (n_samples, n_features) or DataFrame
        level : float, or array-like of shape (k,)
            From 0 to 1. Of k levels, ends are (n_samples, k).
        """
        return self.predict_distribution(X).interval(level)

    def predict_quantiles(self, X: Any, levels: ArrayLike) -> FloatArray:
        """Quantiles in units of y: (n_samples,) of one probability, (n_samples, k) of k."""
        return self.predict_distribution(X).quantile(levels)


def _with_index(predict: Callable[..., Distribution]) -> Callable[..., Distribution]:
    """The same method, whose law knows the index of the data frame that it is of."""

    @wraps(predict)
    def predict_distribution(self: Any, X: Any, *args: Any, **options: Any) -> Distribution:
        law = predict(self, X, *args, **options)
        if hasattr(X, "iloc"):
            object.__setattr__(law, "_index", X.index)
        return law

    return predict_distribution


def concatenate(laws: Sequence[Distribution]) -> Distribution:
    """The rows of all laws, one after the other: laws of one kind that differ in their rows only.

    Parameters
    ----------
    laws : sequence of Distribution
        At least one.

    Raises
    ------
    InvalidData
        If there is none, or they are of different kinds or have other members, levels or shapes.

    Examples
    --------
    >>> law = NormalDistribution([0.0, 10.0, 20.0], [1.0, 2.0, 3.0])
    >>> concatenate([law[2:], law[:1]]).loc
    array([20.,  0.])
    """
    parts = list(laws)
    if not parts:
        raise InvalidData("There is no distribution to join.")
    first, names = parts[0], dict(parts[0]._rows())
    shared = [name for name in vars(first) if name not in names and name != "_index"]
    for other in parts[1:]:
        if type(other) is not type(first) or not all(
            _same(getattr(first, name), getattr(other, name)) for name in shared
        ):
            raise InvalidData(
                f"Only laws of one kind and one model are joined; got a {type(first).__name__} and "
                f"a {type(other).__name__} that differ in more than their rows."
            )

    def join(values: list[Any], axis: int) -> Any:
        if isinstance(values[0], np.ndarray):
            if len({(*value.shape[:axis], *value.shape[axis + 1 :]) for value in values}) > 1:
                raise InvalidData("Only laws with the same number of members are joined.")
            return read_only(np.concatenate(values, axis))
        return first._join(values)

    joined = {name: join([getattr(part, name) for part in parts], at) for name, at in names.items()}
    return first._with({**joined, "_index": None})


def _same(value: Any, other: Any) -> bool:
    if isinstance(value, tuple) and isinstance(other, tuple):
        return len(value) == len(other) and all(map(_same, value, other))
    return bool(np.array_equal(value, other))


def _normal_members(law: Distribution) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """Means, variances and shares of a mixture of normals, or of a normal; None for other kinds."""
    if isinstance(law, NormalDistribution):
        return law.loc[None], np.square(law.scale)[None], np.ones(1)
    if isinstance(law, MixtureDistribution):
        return law.means, law.variances, law._shares()
    return None


def _crps_log_normals(
    y: FloatArray, z: FloatArray, means: FloatArray, variances: FloatArray, shares: FloatArray
) -> FloatArray:
    """CRPS of a mixture of log-normals at y with ``z = log y``: ``E|Y - y| - E|Y - Y'| / 2``.

    With one member it is Baran and Lerch (2015), "Log-normal distribution based EMOS models for
    probabilistic wind speed forecasting", equation 5.
    """
    centres, stds = np.exp(means + 0.5 * variances), np.sqrt(variances)
    w = standardised(z, means, stds)
    score = shares @ (y * (2.0 * ndtr(w) - 1.0) + centres * (1.0 - 2.0 * ndtr(w - stds)))
    for member in range(len(means)):
        for other in range(member, len(means)):
            spread = np.sqrt(variances[member] + variances[other])
            above, gap = np.abs(centres[member] - centres[other]), means[member] - means[other]
            ahead = ndtr(standardised(gap + variances[member], 0.0, spread))
            behind = ndtr(standardised(variances[other] - gap, 0.0, spread))
            distance = centres[member] * (2.0 * ahead - 1.0) + centres[other] * (2.0 * behind - 1.0)
            pairs = 0.5 if member == other else 1.0
            score -= pairs * shares[member] * shares[other] * np.where(spread > 0, distance, above)
    return np.maximum(score, 0.0)


def crps_by_quantiles(distribution: Distribution, y: FloatArray, reach: float) -> FloatArray:
    """CRPS (n_samples,) by quadrature: twice the pinball loss, integrated over all quantiles.

    ``2 int (1[y <= q(t)] - t) (q(t) - y) dt`` with ``t = Phi(u)``, 64 Gauss-Legendre nodes of u on
    either side of y. Quantiles beyond ``u = -reach`` and ``u = reach`` count as those at the ends.

    Gneiting and Raftery (2007), section 6.
    """
    check_memory(8.0 * 8 * len(y) * 2 * len(_NODES), "these scores")
    tail = float(ndtr(-reach))
    place = np.clip(ndtri(distribution._cdf(y[:, None])[:, 0]), -reach, reach)
    levels, weights = [], []
    for side in (-1.0, 1.0):
        half = 0.5 * (reach - side * place)  # of the way from y to the end on this side
        u = (side * (reach - half))[:, None] + half[:, None] * _NODES
        density = np.exp(-0.5 * u * u) / _ROOT_2_PI
        levels.append(ndtr(u))
        weights.append(2.0 * half[:, None] * _NODE_WEIGHTS * density * ndtr(-side * u))
    ends = np.broadcast_to([tail, 1.0 - tail], (len(y), 2))
    quantiles = distribution._quantiles(np.concatenate([*levels, ends], axis=1))
    apart = np.abs(quantiles - y[:, None])
    inner = (apart[:, :-2] * np.concatenate(weights, axis=1)).sum(axis=1)
    # The mass at an end counts with its own square, or with all but the other end's square.
    near, far = tail * tail, 2.0 * tail - tail * tail
    left = np.where(y <= quantiles[:, -2], far, near) * apart[:, -2]
    right = np.where(y > quantiles[:, -1], far, near) * apart[:, -1]
    return inner + left + right


def _t_quantile(levels: ArrayLike, df: FloatArray) -> FloatArray:
    """Quantiles of the standard t; `stdtrit` has that of 0 at the wrong end."""
    return np.where(np.equal(levels, 0.0), -np.inf, stdtrit(df, levels))


def _at(loc: FloatArray, scale: FloatArray, z: FloatArray) -> FloatArray:
    """``loc + scale z`` (n, k), and loc where the scale is 0, whatever z."""
    certain = scale[:, None] == 0.0
    return loc[:, None] + scale[:, None] * np.where(certain, 0.0, z)


def read_only(values: FloatArray) -> FloatArray:
    """The same numbers, which cannot be changed through this view."""
    view = values.view()
    view.flags.writeable = False
    return view


def _set_loc_scale(distribution: Distribution, loc: ArrayLike, scale: ArrayLike) -> None:
    location = check_array("loc", loc, 1, min_length=0)
    std = check_array("scale", scale, 1, low=0.0, min_length=0)
    check_same_length(loc=location, scale=std)
    object.__setattr__(distribution, "loc", read_only(location))
    object.__setattr__(distribution, "scale", read_only(std))
