"""A mixture of normals and Student t with weights of its own in every row, on a support."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import elementwise
from scipy.special import gammaln

from gbuq_core.distribution import Distribution
from gbuq_core.jobs import parallel_map
from gbuq_core.stacking.support import Support

FloatArray = NDArray[np.float64]
Places = NDArray[np.int64]

_ROOT_2_PI = math.sqrt(2.0 * math.pi)
_ROOTS = 50_000  # solved at a time
_TAIL = 1e-6  # probability beyond either end of a row's grid
_ROUNDS = (41, 81, 161)  # points of a row's grid, refined twice where the law rises
_MORE = 641  # points where its CRPS is in doubt by more than so many stds of the law
_DOUBT = 3e-4
_MOST_WHOLE = 400  # whole numbers of a row that are summed one by one


class Normals(NamedTuple):
    """Normals with shares: centres, stds and shares, (n, k) each."""

    centres: FloatArray
    std: FloatArray
    shares: FloatArray

    def take(self, rows: Any) -> Normals:
        """Some of the rows."""
        return Normals(self.centres[rows], self.std[rows], self.shares[rows])

    def cdf(self, points: FloatArray, rows: Places) -> FloatArray:
        """At points (n, m) of some rows (n,), times the shares: (n, m)."""
        from gbuq_core.stacking.cdfs import normals_cdf  # imports numba

        return normals_cdf(points, rows, *self)

    def density(self, points: FloatArray) -> FloatArray:
        """The same of the density."""
        z = (points[:, :, None] - self.centres[:, None, :]) / self.std[:, None, :]
        heights = self.shares / (_ROOT_2_PI * self.std)
        return (np.exp(-0.5 * z * z) * heights[:, None, :]).sum(axis=2)

    def moments(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Share, and the sums of share times the first and second moment, (n,) each."""
        share = self.shares.sum(axis=1)
        first = (self.shares * self.centres).sum(axis=1)
        second = (self.shares * (np.square(self.centres) + np.square(self.std))).sum(axis=1)
        return share, first, second

    def draw(self, random: np.random.Generator, count: int) -> FloatArray:
        """Values (count, n) by shares."""
        shares = np.cumsum(self.shares / self.shares.sum(axis=1, keepdims=True), axis=1)
        u = random.random((count, len(shares)))
        place = np.minimum((u[:, :, None] > shares).sum(axis=2), shares.shape[1] - 1)
        centres, std = (np.take_along_axis(v, place.T, axis=1).T for v in (self.centres, self.std))
        return centres + std * random.standard_normal(centres.shape)


class Students(NamedTuple):
    """One Student t a row by mean, std and degrees of freedom, with a share; (n,) each."""

    loc: FloatArray
    std: FloatArray
    df: FloatArray
    share: FloatArray

    @property
    def width(self) -> FloatArray:
        """The t's own scale."""
        return self.std * np.sqrt(1.0 - 2.0 / self.df)

    def take(self, rows: Any) -> Students:
        """Some of the rows."""
        return Students(*(part[rows] for part in self))

    def cdf(self, points: FloatArray, rows: Places) -> FloatArray:
        """At points (n, m) of some rows (n,), times the share: (n, m)."""
        from gbuq_core.stacking.cdfs import students_cdf

        return students_cdf(points, rows, self.loc, self.width, self.df, self.share)

    def density(self, points: FloatArray) -> FloatArray:
        """The same of the density."""
        df = np.minimum(self.df, 1e6)
        z = (points - self.loc[:, None]) / self.width[:, None]
        log = gammaln(0.5 * (df + 1.0)) - gammaln(0.5 * df) - 0.5 * np.log(df * math.pi)
        log = log - np.log(self.width)
        falls = 0.5 * (df[:, None] + 1.0) * np.log1p(z * z / df[:, None])
        return np.exp(log[:, None] - falls) * self.share[:, None]

    def moments(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Share, and the sums of share times the first and second moment, (n,) each."""
        second = self.share * (np.square(self.std) + np.square(self.loc))
        return self.share, self.share * self.loc, second

    def draw(self, random: np.random.Generator, count: int) -> FloatArray:
        """Values (count, n)."""
        df = np.minimum(self.df, 1e6)
        return self.loc + self.width * random.standard_t(df, (count, len(df)))


Part = Normals | Students


def _join_part(kind: type, parts: list[Any], rows: list[int]) -> Any:
    """One kind of part of several laws with so many rows; None where a law has none."""
    if kind is Students:
        nothing = [np.array([0.0]), np.array([1.0]), np.array([math.inf]), np.array([0.0])]
        whole = [nothing if part is None else part for part in parts]
        each = [[np.broadcast_to(values, n) for values in part]
                for part, n in zip(whole, rows, strict=True)]  # fmt: skip
        return Students(*map(np.concatenate, zip(*each, strict=True)))
    width = max(part.centres.shape[1] for part in parts if part is not None)
    centres, shares = np.zeros((2, sum(rows), width))
    std, start = np.ones((sum(rows), width)), 0
    for part, n in zip(parts, rows, strict=True):
        if part is not None:
            mine, k = slice(start, start + n), part.centres.shape[1]
            centres[mine, :k], shares[mine, :k], std[mine, :k] = part.centres, part.shares, part.std
        start += n
    return Normals(centres, std, shares)


class _Grid(NamedTuple):
    """Points (n, m) of each row and the probability up to each."""

    points: FloatArray
    below: FloatArray


class Recalibration(NamedTuple):
    """Monotone maps from the mixture's probabilities to how often targets lie below.

    tables (n_maps, n_nodes): values at equally spaced probabilities from 0 to 1, between which a
    map is a line; which (n,): the map of each row.
    """

    tables: FloatArray
    which: NDArray[np.intp]

    def take(self, rows: Any) -> Recalibration:
        """Some of the rows."""
        return self._replace(which=self.which[rows])

    def to(self, below: FloatArray, rows: Places | None = None) -> FloatArray:
        """Probabilities (n, m) of some rows (n,), or of all, as the maps correct them."""
        place, node = self._place(below, rows)
        start = self.tables[place, node]
        step = below * (self.tables.shape[1] - 1) - node
        return start + step * (self.tables[place, node + 1] - start)

    def slope(self, below: FloatArray, rows: Places | None = None) -> FloatArray:
        """By how much the maps stretch probability at (n, m)."""
        place, node = self._place(below, rows)
        rise = self.tables[place, node + 1] - self.tables[place, node]
        return rise * (self.tables.shape[1] - 1)

    def _place(self, below: FloatArray, rows: Places | None) -> tuple[Any, Any]:
        which = self.which if rows is None else self.which[rows]
        last = self.tables.shape[1] - 2
        node = np.clip((np.nan_to_num(below) * (last + 1)).astype(np.intp), 0, last)
        return which[:, None], node


@dataclass(frozen=True, eq=False)
class StackedDistribution(Distribution):
    """The mixture of all voices, on the support of the target.

    Parameters
    ----------
    parts : tuple of Normals and Students
        Their shares add up to 1 in every row.
    support : Support
        Probability beyond a bound is kept at the bound where training rows lie there. Elsewhere
        it is folded back at the bound, once, so that hardly any is left there. On whole numbers the
        law has masses, and its quantiles are whole.
    recalibration : Recalibration or None
        Corrects the mixture's probabilities where left-out rows showed that they are off.

    Notes
    -----
    `logpdf` is the log of the probability at values that have a mass, and of the density at others.
    ``loc`` and ``scale`` are mean and std: exact on all numbers, with a support to 1e-4 of the std.
    """

    _more_rows: ClassVar[tuple[tuple[str, int], ...]] = (("parts", 0), ("recalibration", 0))

    parts: tuple[Part, ...]
    support: Support
    recalibration: Recalibration | None = None
    loc: FloatArray = field(init=False, repr=False)
    scale: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.support.is_real and self.recalibration is None:
            mean, variance = raw_moments(self.parts)
        else:
            mean, variance = self._by_rows(_grid_moments)
        object.__setattr__(self, "loc", mean)
        object.__setattr__(self, "scale", np.sqrt(variance))

    @classmethod
    def without_moments(cls, parts: tuple[Part, ...], support: Support) -> StackedDistribution:
        """The same law, for its probabilities alone."""
        law = object.__new__(cls)
        law.__dict__.update(parts=parts, support=support, recalibration=None)
        return law

    @staticmethod
    def _cut(part: Any, places: NDArray[np.intp]) -> Any:
        if part is None or isinstance(part, Recalibration):
            return part if part is None else part.take(places)
        return tuple(own.take(places) for own in part)

    @staticmethod
    def _join(parts: list[Any]) -> Any:
        """Laws of several models, in which other voices may speak, with empty shares for these."""
        if parts[0] is None:
            return None
        if isinstance(parts[0], Recalibration):
            starts = np.cumsum([0, *(len(own.tables) for own in parts[:-1])])
            which = [own.which + start for own, start in zip(parts, starts, strict=True)]
            return Recalibration(
                np.concatenate([own.tables for own in parts]), np.concatenate(which)
            )
        kinds = [[[part for part in own if isinstance(part, kind)] for own in parts]
                 for kind in (Students, Normals)]  # fmt: skip
        rows = [len(own[0].moments()[0]) for own in parts]
        joined: list[Part] = []
        for kind, of_laws in zip((Students, Normals), kinds, strict=True):
            for place in range(max(map(len, of_laws))):
                same = [own[place] if place < len(own) else None for own in of_laws]
                joined.append(_join_part(kind, same, rows))
        return tuple(joined)

    def take(self, rows: Any) -> StackedDistribution:
        """The law of some of the rows."""
        other = object.__new__(StackedDistribution)
        fields: dict[str, Any] = {
            "parts": tuple(part.take(rows) for part in self.parts),
            "support": self.support,
            "recalibration": self._cut(self.recalibration, rows),
        }
        for name in ("loc", "scale"):
            if hasattr(self, name):
                fields[name] = getattr(self, name)[rows]
        other.__dict__.update(fields)
        return other

    def _raw(self, points: FloatArray, rows: Places | None) -> FloatArray:
        """What the parts say (n, m) of some rows (n,), or of all, before the support."""
        rows = np.arange(len(points)) if rows is None else rows
        out = np.zeros(points.shape)
        for part in self.parts:
            out += part.cdf(points, rows)
        return out

    def _below(self, points: FloatArray, rows: Places | None = None) -> FloatArray:
        """The probability up to points (n, m), of a number that need not be whole."""
        below = self._folded(points, rows)
        return below if self.recalibration is None else self.recalibration.to(below, rows)

    def _folded(self, points: FloatArray, rows: Places | None = None) -> FloatArray:
        """That of the mixture, with what lies beyond the support folded back."""
        low, high = self.support.mirrors
        below = self._raw(points, rows)
        if math.isfinite(low):
            below -= self._raw(2.0 * low - points, rows)
            below[points < low] = 0.0
        if math.isfinite(high):
            below += 1.0 - self._raw(2.0 * high - points, rows)
            below[points >= high] = 1.0
        return np.clip(below, 0.0, 1.0)

    def _cdf(self, points: FloatArray) -> FloatArray:
        support = self.support
        below = self._below(np.floor(points) + 0.5 if support.whole else points)
        below[points < support.low] = 0.0
        below[points >= support.high] = 1.0
        return below

    def pit(self, y: FloatArray, seed: int) -> FloatArray:
        """The probability up to each target (n,), drawn between its two ends where y has a mass."""
        points = y[:, None]
        upto = self._cdf(points)[:, 0]
        before = self._cdf(points - 1.0)[:, 0] if self.support.whole else upto.copy()
        if self.support.low_mass:
            before[y <= self.support.low] = 0.0
        if self.support.high_mass and not self.support.whole:
            at = y >= self.support.high
            before[at] = self._below(points[at], np.flatnonzero(at))[:, 0]
        return before + np.random.default_rng((seed, 14)).random(len(y)) * (upto - before)

    def _log_density(self, y: FloatArray) -> FloatArray:
        support = self.support
        points = y[:, None]
        if support.whole:
            mass = self._cdf(points)[:, 0] - self._cdf(points - 1.0)[:, 0]
        else:
            mass = np.zeros(len(y))
            for part in self.parts:
                mass += part.density(points)[:, 0]
                for mirror in filter(math.isfinite, support.mirrors):
                    mass += part.density(2.0 * mirror - points)[:, 0]
            if self.recalibration is not None:
                mass *= self.recalibration.slope(self._folded(points))[:, 0]
            if support.low_mass:
                mass = np.where(y == support.low, self._below(points)[:, 0], mass)
            if support.high_mass:
                mass = np.where(y == support.high, 1.0 - self._below(points)[:, 0], mass)
        with np.errstate(divide="ignore"):
            return np.where(support.outside(y), -np.inf, np.log(np.maximum(mass, 0.0)))

    def _quantiles(self, levels: FloatArray) -> FloatArray:
        return self._reach(levels, 1e-10)

    def _reach(self, levels: FloatArray, close: float) -> FloatArray:
        """Where the law reaches probabilities (n, n_levels), as close as that."""
        out = np.where(levels <= 0.0, -np.inf, np.inf)
        row, column = np.nonzero((levels > 0.0) & (levels < 1.0))
        if len(row):
            out[row, column] = self._solve(row, levels[row, column], close)
        support = self.support
        if support.whole:
            out = np.ceil(out - 0.5)
        return np.clip(out, support.low, support.high)

    def _solve(self, row: NDArray[np.intp], wanted: FloatArray, close: float) -> FloatArray:
        """Where the law of these rows reaches a probability, before whole numbers."""
        if self.support.is_real and self.recalibration is None and "loc" in self.__dict__:
            mean, std = self.loc, self.scale[row]
        else:
            mean, variance = raw_moments(self.parts)
            std = np.sqrt(variance)[row]
        low, high = mean[row] - 4.0 * std, mean[row] + 4.0 * std
        for sign, end in ((-1.0, low), (1.0, high)):
            reach = 8.0
            short = np.arange(len(row))
            while len(short):
                at = self._below(end[short, None], row[short])[:, 0]
                short = short[sign * at < sign * wanted[short]]
                end[short] = mean[row[short]] + sign * reach * std[short]
                reach *= 2.0
                if reach > 1e9:
                    break

        def excess(x: FloatArray, who: NDArray[np.float64]) -> FloatArray:
            who = who.astype(np.intp)
            return self._below(x[:, None], row[who])[:, 0] - wanted[who]

        roots = np.empty(len(row))
        for start in range(0, len(row), _ROOTS):
            part = slice(start, start + _ROOTS)
            who = np.arange(len(row), dtype=np.float64)[part]
            answer = elementwise.find_root(
                excess, (low[part], high[part]), args=(who,),
                tolerances={"xatol": 0.0, "xrtol": 1e-12, "fatol": close, "frtol": 0.0},
            )  # fmt: skip
            roots[part] = answer.x
        return roots

    def _crps(self, y: FloatArray) -> FloatArray:
        return self._by_rows(_read_crps, y)[0]

    def _sample(self, count: int, random: np.random.Generator) -> FloatArray:
        """Each draw from a part by its share; of a recalibrated law, by its probability."""
        if self.recalibration is not None:
            return self._by_rows(self._draw_from_grid, random.random((len(self), count)))[0].T
        shares = np.cumsum([part.moments()[0] for part in self.parts], axis=0)
        u = random.random((count, len(self.loc))) * shares[-1]
        out = np.zeros(u.shape)
        below = np.zeros(len(self.loc))
        for part, until in zip(self.parts, shares, strict=True):
            mine = (u >= below) & (u < until)
            out = np.where(mine, part.draw(random, count), out)
            below = until
        low, high = self.support.mirrors
        out = np.where(out < low, 2.0 * low - out, out)
        out = np.where(out > high, 2.0 * high - out, out)
        out = np.round(out) if self.support.whole else out
        return np.clip(out, self.support.low, self.support.high)

    @staticmethod
    def _draw_from_grid(law: StackedDistribution, grid: _Grid, u: FloatArray) -> tuple[FloatArray]:
        """Values (n, count) at probabilities, between the points of the grid."""
        out = np.empty(u.shape)
        for row, (points, below) in enumerate(zip(*grid, strict=True)):
            if law.support.whole:
                out[row] = points[np.minimum(np.searchsorted(below, u[row]), len(points) - 1)]
            else:
                out[row] = np.interp(u[row], below, points)
        return (out,)

    def _by_rows(self, read: Callable[..., Any], *more: FloatArray) -> list[FloatArray]:
        """What ``read`` finds on the grids of some rows at a time."""
        n = len(self.parts[0].moments()[0])
        step = 256
        blocks = [slice(start, min(start + step, n)) for start in range(0, n, step)]

        def of_block(rows: slice) -> Any:
            law = self.take(rows)
            return read(law, law._make_grid(), *(part[rows] for part in more))

        pieces = parallel_map(of_block, blocks)
        return [np.concatenate(parts) for parts in zip(*pieces, strict=True)]

    def _make_grid(self) -> _Grid:
        """Points of each row that follow both the values and the probability."""
        n = len(self.parts[0].moments()[0])
        ends = self._reach(np.broadcast_to([_TAIL, 1.0 - _TAIL], (n, 2)), 0.2 * _TAIL)
        low, high = ends[:, :1], ends[:, 1:]
        support = self.support
        if support.whole:
            stride = np.maximum(1.0, (high - low) / _MOST_WHOLE)
            steps = np.arange(int(((high - low) / stride).max(initial=0.0)) + 2)
            points = np.minimum(low + np.round(steps * stride), high)
            return _Grid(points, self._cdf(points))
        high = np.maximum(high, low + 1e-12 * np.maximum(1.0, np.abs(low)))
        even = np.linspace(0.0, 1.0, _ROUNDS[0])
        # Closer in the middle, as the tails of a t are long.
        bent = 0.5 + 0.5 * np.sinh(4.0 * (2.0 * even - 1.0)) / math.sinh(4.0)
        points = low + (high - low) * bent
        grid = _Grid(points, self._cdf(points))
        for count in _ROUNDS[1:]:
            grid = self._refine(grid, count)
        return grid

    def _refine(self, grid: _Grid, count: int) -> _Grid:
        """So many points, closer where the law rises."""
        points = _place_points(*grid, np.linspace(0.0, 1.0, count))
        return _Grid(points, self._cdf(points))


def raw_moments(parts: tuple[Part, ...]) -> tuple[FloatArray, FloatArray]:
    """Mean and variance (n,) of the parts together."""
    share, first, _second = (np.sum(moments, axis=0) for moments in zip(
        *(part.moments() for part in parts), strict=True))  # fmt: skip
    mean = first / share
    # About the mean, so that far targets lose no digits.
    spread = np.zeros(len(mean))
    for part in parts:
        if isinstance(part, Normals):
            away = np.square(part.centres - mean[:, None]) + np.square(part.std)
            spread += (part.shares * away).sum(axis=1)
        else:
            spread += part.share * (np.square(part.loc - mean) + np.square(part.std))
    return mean, spread / share


def _place_points(points: FloatArray, below: FloatArray, wanted: FloatArray) -> FloatArray:
    """Points (n, m) in equal steps of what lies behind: values, their logs and probability."""
    width = points[:, -1:] - points[:, :1]
    gaps = np.diff(points, axis=1)
    rise = np.diff(below, axis=1)
    # Where the law rises most, and a little everywhere.
    cost = rise + np.sqrt(np.maximum(rise, 0.0) * gaps / width) + 0.25 * gaps / width
    cost = cost + 0.5 / gaps.shape[1] * cost.sum(axis=1, keepdims=True)
    way = np.concatenate([np.zeros((len(points), 1)), np.cumsum(cost, axis=1)], axis=1)
    way /= way[:, -1:]
    out = np.empty((len(points), len(wanted)))
    for row in range(len(points)):
        out[row] = np.interp(wanted, way[row], points[row])
    return out


def _grid_moments(law: StackedDistribution, grid: _Grid) -> tuple[FloatArray, FloatArray]:
    """Mean and variance: the probability between two points is spread evenly over what is there."""
    points, below = grid
    rise = np.diff(below, axis=1, prepend=0.0)
    rise[:, -1] += 1.0 - below[:, -1]
    gaps = np.diff(points, axis=1, prepend=points[:, :1])
    unit = np.where(gaps > 0.0, 1.0, 0.0) if law.support.whole else np.zeros(gaps.shape)
    middle = points - 0.5 * (gaps - unit)  # of the whole numbers above the point before
    mean = _sum(rise * middle)
    inside = (np.square(gaps) - unit) / 12.0
    return mean, _sum(rise * (np.square(middle - mean[:, None]) + inside))


def _sum(values: FloatArray) -> FloatArray:
    """Over the points, one after the other: zeros at the end change no bit."""
    return np.cumsum(values, axis=1)[:, -1]


def _read_crps(law: StackedDistribution, grid: _Grid, y: FloatArray) -> tuple[FloatArray]:
    """The CRPS (n,), exact to 1e-4 of the law's std; to 1e-3 in rows of tight spikes."""
    if law.support.whole:  # each number is a point
        return (_grid_crps(law, grid, y),)
    crps, doubt = _extrapolate(law, grid, y)
    again = np.flatnonzero(doubt > _DOUBT * np.sqrt(raw_moments(law.parts)[1]))
    if len(again):  # tight spikes
        doubtful = law.take(again)
        closer = doubtful._refine(_Grid(grid.points[again], grid.below[again]), _MORE)
        crps[again] = _extrapolate(doubtful, closer, y[again])[0]
    return (crps,)


def _extrapolate(
    law: StackedDistribution, grid: _Grid, y: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The CRPS (n,), from every point and from every other (Richardson); how far these differ."""
    every = _grid_crps(law, grid, y)
    doubt = every - _grid_crps(law, _Grid(grid.points[:, ::2], grid.below[:, ::2]), y)
    return np.maximum(every + doubt / 3.0, 0.0), np.abs(doubt)


def _grid_crps(law: StackedDistribution, grid: _Grid, y: FloatArray) -> FloatArray:
    """``int F^2`` below y and ``int (1 - F)^2`` above it."""
    points, below = grid
    inner = np.clip(y, points[:, 0], points[:, -1])
    gaps = np.diff(points, axis=1)
    left, right = below[:, :-1], below[:, 1:]
    if law.support.whole:  # between two whole numbers the law stands still
        right = np.where(gaps <= 1.0, left, right)
    cut = np.clip(inner[:, None] - points[:, :-1], 0.0, gaps)
    share = np.divide(cut, gaps, out=np.zeros(gaps.shape), where=gaps > 0.0)
    at = left + share * (right - left)
    lower = cut * (left * left + left * at + at * at) / 3.0
    a, b = 1.0 - at, 1.0 - right
    upper = (gaps - cut) * (a * a + a * b + b * b) / 3.0
    return _sum(lower + upper) + np.abs(y - inner)
