"""Nine families for the distribution of y behind a prediction: density, cdf, quantiles, draws.

Brophy and Lowd (IBUG, 2022), section 3.2 and 5.4: a family is chosen after training, by its mean
negative log-likelihood on validation rows, and fitted to each row's neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp, ndtr

from gbuq_core.array_checks import check_array
from gbuq_core.errors import InvalidData
from gbuq_core.ibug.family_fits import (
    EULER_GAMMA,
    FloatArray,
    Parameters,
    best_inverse_df,
    best_skewness,
    half_are_equal,
    likeliest_gumbel,
    likeliest_laplace,
    likeliest_log_normal,
    likeliest_logistic,
    likeliest_student_t,
    likeliest_weibull,
    log_normal,
    skew_normal,
    spread_of,
    standardise,
    weibull,
)
from gbuq_core.jobs import parallel_map
from gbuq_core.resources import check_memory
from gbuq_core.validation import check_choice, check_number

if TYPE_CHECKING:
    from gbuq_core.ibug.results import Setting
    from gbuq_core.ibug.search import Neighborhood

_SQRT_6_OVER_PI = float(np.sqrt(6.0) / np.pi)
_LOG_SQRT_2_PI = 0.5 * float(np.log(2.0 * np.pi))
_CELLS = 100_000  # neighbours at a time: about 10 MB of temporaries in the costliest fit
_TOLD_APART = 1e-10  # a smaller difference of two probabilities is mostly their rounding
_BLOCK = 2_000_000  # numbers of a temporary (rows x points, x neighbours of a KDE): 16 MB


# How many of the k places each neighbour takes, (n, k); None: one each.
Places = FloatArray | None


class Family(NamedTuple):
    """Properties of a family."""

    label: str
    # its name in scipy.stats; the empty string for the KDE, which is not parametric
    distribution: str
    positive: bool  # whether its support is (0, inf), so that it needs targets above 0
    # `(mean, std, targets, places)` to the parameters with these moments, each row's shape (if
    # there is one left) from its neighbours' targets (n, k)
    match: Callable[[FloatArray, FloatArray, FloatArray, Places], Parameters]
    # `(targets, places)` to the parameters of maximum likelihood
    maximise: Callable[[FloatArray, Places], Parameters]


class Posterior(NamedTuple):
    """One distribution of y a row.

    ``loc``, ``scale`` and ``shape`` (n_samples,) are parameters as scipy defines them: in most
    families not the mean and the std. For a KDE, the scale is the bandwidth and loc is 0.
    """

    family: str  # a key of `FAMILIES`
    loc: FloatArray
    scale: FloatArray
    shape: FloatArray | None = None
    centres: FloatArray | None = None  # (n_samples, k): the neighbours' targets under a KDE
    places: FloatArray | None = None  # how many kernels each of them has; None means one


def _match_skew_normal(
    mean: FloatArray, std: FloatArray, targets: FloatArray, places: Places
) -> Parameters:
    return skew_normal(mean, std, best_skewness(standardise(targets, places), places))


def _match_student_t(
    mean: FloatArray, std: FloatArray, targets: FloatArray, places: Places
) -> Parameters:
    df = 1.0 / best_inverse_df(standardise(targets, places), places)
    return Parameters(mean, std * np.sqrt((df - 2.0) / df), df)


def _match_gumbel(
    mean: FloatArray, std: FloatArray, targets: FloatArray, places: Places
) -> Parameters:
    scale = std * _SQRT_6_OVER_PI
    return Parameters(mean - EULER_GAMMA * scale, scale)


def _maximise_skew_normal(targets: FloatArray, places: Places) -> Parameters:
    # All three at once has no maximum in many rows of few targets, so moments and then the shape.
    return _match_skew_normal(*spread_of(targets, places), targets, places)


def _count(targets: FloatArray, places: Places) -> int:
    """The k places that the neighbours of each row fill."""
    return targets.shape[1] if places is None else round(float(places[0].sum()))


def _kernels(targets: FloatArray, places: Places) -> Parameters:
    """Scott's bandwidth, ``k^(-1/5)`` times the std with k - 1 below the sum, as in scipy."""
    k = _count(targets, places)
    std = spread_of(targets, places)[1] * np.sqrt(k / (k - 1.0))
    return Parameters(np.zeros(len(targets)), std * k**-0.2)


FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        "normal": Family(
            "Normal",
            "norm",
            False,
            lambda mean, std, targets, places: Parameters(mean, std),
            lambda targets, places: Parameters(*spread_of(targets, places)),
        ),
        "skew-normal": Family(
            "Skew-normal", "skewnorm", False, _match_skew_normal, _maximise_skew_normal
        ),
        "log-normal": Family(
            "Log-normal",
            "lognorm",
            True,
            lambda mean, std, targets, places: log_normal(mean, std),
            likeliest_log_normal,
        ),
        "laplace": Family(
            "Laplace",
            "laplace",
            False,
            lambda mean, std, targets, places: Parameters(mean, std / np.sqrt(2.0)),
            likeliest_laplace,
        ),
        "student-t": Family("Student t", "t", False, _match_student_t, likeliest_student_t),
        "logistic": Family(
            "Logistic",
            "logistic",
            False,
            lambda mean, std, targets, places: Parameters(mean, std * np.sqrt(3.0) / np.pi),
            likeliest_logistic,
        ),
        "gumbel": Family("Gumbel", "gumbel_r", False, _match_gumbel, likeliest_gumbel),
        "weibull": Family(
            "Weibull",
            "weibull_min",
            True,
            lambda mean, std, targets, places: weibull(mean, std),
            likeliest_weibull,
        ),
        "kde": Family(
            "Kernel density",
            "",
            False,
            lambda mean, std, targets, places: _kernels(targets, places),
            _kernels,
        ),
    }
)
FITS = ("matched", "likelihood")


def check_family(family: Any, targets: ArrayLike) -> str:
    """Return ``family`` if it is one of `FAMILIES` and fits such targets."""
    name = check_choice("posterior", family, tuple(FAMILIES))
    lowest = float(np.min(targets))
    if FAMILIES[name].positive and lowest <= 0.0:
        raise InvalidData(
            f"posterior={name!r} needs targets above 0 and the lowest is {lowest:g}: choose "
            "another family, or shift the target."
        )
    return name


def fit_posterior(
    family: str,
    loc: FloatArray,
    scale: FloatArray,
    targets: FloatArray,
    min_scale: float = 1e-15,
    fit: str = "matched",
    places: FloatArray | None = None,
) -> Posterior:
    """Fit one family to every row's neighbours (equation 3)."""
    chosen = FAMILIES[check_family(family, targets)]
    check_choice("posterior_fit", fit, FITS)
    mean, std = spread_of(targets, places)
    narrow = std < min_scale
    if chosen.positive:
        loc = np.where(loc > 0.0, loc, mean)
    if not chosen.distribution:
        least = min_scale * _count(targets, places) ** -0.2
        bandwidth = np.where(narrow, least, _kernels(targets, places).scale)
        return Posterior(family, np.zeros(len(targets)), bandwidth, None, targets, places)
    if fit == "matched":
        return Posterior(family, *chosen.match(loc, scale, targets, places))
    by_moments = narrow | half_are_equal(targets, places)
    if not by_moments.any():
        return Posterior(family, *chosen.maximise(targets, places))
    parameters = chosen.match(mean, np.maximum(std, min_scale), targets, places)
    if not by_moments.all():
        others = None if places is None else places[~by_moments]
        likeliest = chosen.maximise(targets[~by_moments], others)
        for fresh, values in zip(likeliest, parameters, strict=True):
            if fresh is not None and values is not None:
                values[~by_moments] = fresh
    return Posterior(family, *parameters)


def log_density(posterior: Posterior, y: ArrayLike) -> FloatArray:
    """Log density at y: (n_samples,) or (n_samples, m) as y has it, -inf outside the support."""
    if posterior.centres is not None:
        return _over_kernels(posterior, y, _log_kernel_mean)
    return _of_scipy(posterior, "logpdf", y)


def log_likelihood(posterior: Posterior, y: FloatArray, resolution: float) -> FloatArray:
    """Log of the mean density over ``y - resolution / 2`` to ``y + resolution / 2``, (n_samples,).

    What was recorded to a resolution lies anywhere in this interval. A density at the one point
    would reward a family without bound for shrinking onto a value that many rows have.
    """
    at_point = log_density(posterior, y)
    if resolution == 0.0:
        return at_point
    ends = np.stack([y - 0.5 * resolution, y + 0.5 * resolution], axis=1)
    inside = np.diff(cdf(posterior, ends), axis=1)[:, 0]
    is_apart = inside > _TOLD_APART
    return np.where(is_apart, np.log(np.where(is_apart, inside, 1.0) / resolution), at_point)


def resolution_of(y: FloatArray) -> float:
    """The smallest gap between two values of a target that has equal ones; 0 if all differ."""
    values = np.unique(y)
    return float(np.diff(values).min()) if 1 < len(values) < len(y) else 0.0


def cdf(posterior: Posterior, y: ArrayLike) -> FloatArray:
    """Probability of a value up to y: (n_samples,) or (n_samples, m) as y has it."""
    if posterior.centres is not None:
        return _over_kernels(posterior, y, lambda z, _, places: _kernel_mean(ndtr(z), places))
    return _of_scipy(posterior, "cdf", y)


def quantile(posterior: Posterior, levels: ArrayLike) -> FloatArray:
    """Quantiles at ``levels`` (m,) in (0, 1) of every row, (n_samples, m), in units of y."""
    level = check_array("levels", np.atleast_1d(levels), 1)
    if level.min() <= 0.0 or level.max() >= 1.0:
        raise InvalidData(
            f"levels must lie between 0 and 1; got values from {level.min():g} to {level.max():g}."
        )
    return quantiles_at(posterior, np.broadcast_to(level, (len(posterior.scale), len(level))))


def quantiles_at(posterior: Posterior, levels: FloatArray) -> FloatArray:
    """Quantiles at each row's own ``levels`` (n_samples, m) from 0 to 1, (n_samples, m)."""
    if posterior.centres is None:
        return _of_scipy(posterior, "ppf", levels)
    bounded = np.where(levels <= 0.0, -np.inf, np.where(levels >= 1.0, np.inf, 0.0))
    return _kernel_quantile(posterior, levels) + bounded


def sample(posterior: Posterior, n_draws: int, random_state: Any = None) -> FloatArray:
    """Draws of y, (n_draws, n_samples): by inversion, so one seed gives one picture.

    Under a KDE a draw is a neighbour's target plus the kernel's noise.
    """
    count = check_number("n_draws", n_draws, 1, 1_000_000, integer=True)
    random = np.random.default_rng(random_state)
    n_rows = len(posterior.scale)
    check_memory(32 * n_rows * count, "these draws")
    if posterior.centres is None:
        return _of_scipy(posterior, "ppf", random.uniform(size=(n_rows, count))).T
    if posterior.places is None:
        chosen = random.integers(posterior.centres.shape[1], size=(n_rows, count))
    else:
        below = np.cumsum(posterior.places, axis=1)
        place = random.uniform(size=(n_rows, count)) * below[:, -1:]
        chosen = np.stack(
            [np.searchsorted(row, at, side="right") for row, at in zip(below, place, strict=True)]
        )
    noise = posterior.scale[:, None] * random.standard_normal((n_rows, count))
    return (np.take_along_axis(posterior.centres, chosen, axis=1) + noise).T


def moments(posterior: Posterior) -> tuple[FloatArray, FloatArray]:
    """Mean and std of every row's distribution, (n_samples,) each; inf where there is none."""
    if posterior.centres is not None:
        mean, std = spread_of(posterior.centres, posterior.places)
        return mean, np.hypot(std, posterior.scale)
    mean, variance = _distribution(posterior).stats(*_arguments(posterior, 1), moments="mv")
    return np.asarray(mean), np.sqrt(np.asarray(variance))


def _distribution(posterior: Posterior) -> Any:
    from scipy import stats

    return getattr(stats, FAMILIES[posterior.family].distribution)


def _arguments(posterior: Posterior, ndim: int) -> list[FloatArray]:
    """Shape, loc and scale as scipy takes them, against y of that many axes."""
    parts = (posterior.shape, posterior.loc, posterior.scale)
    return [part if ndim == 1 else part[:, None] for part in parts if part is not None]


def _of_scipy(posterior: Posterior, name: str, y: ArrayLike) -> FloatArray:
    points = np.asarray(y, dtype=np.float64)
    function, parts = getattr(_distribution(posterior), name), _arguments(posterior, points.ndim)
    out = np.empty(points.shape)
    step = max(1, _BLOCK // max(1, math.prod(points.shape[1:])))
    for start in range(0, len(points), step):
        rows = slice(start, start + step)
        with np.errstate(over="ignore", divide="ignore"):  # far outside a narrow density: log 0
            out[rows] = function(points[rows], *(part[rows] for part in parts))
    return out


def _kernel_mean(values: FloatArray, places: Places) -> FloatArray:
    """The mean over the kernels, (n, m) of (n, m, k)."""
    if places is None:
        return values.mean(axis=-1)
    return (values * places[:, None]).sum(axis=-1) / places.sum(axis=1)[:, None]


def _log_kernel_mean(z: FloatArray, bandwidth: FloatArray, places: Places) -> FloatArray:
    if places is not None:
        constant = np.log(bandwidth) + np.log(places.sum(axis=1)) + _LOG_SQRT_2_PI
        total: FloatArray = logsumexp(-0.5 * z * z, axis=-1, b=places[:, None])
        return total - constant[:, None]
    constant = np.log(bandwidth) + np.log(z.shape[-1]) + _LOG_SQRT_2_PI
    return logsumexp(-0.5 * z * z, axis=-1) - constant[:, None]


def _over_kernels(
    posterior: Posterior,
    y: ArrayLike,
    mean: Callable[[FloatArray, FloatArray, Places], FloatArray],
) -> FloatArray:
    """``mean(z, bandwidth, places)`` over the kernels, some rows at a time."""
    assert posterior.centres is not None
    points = np.asarray(y, dtype=np.float64)
    grid = points if points.ndim == 2 else points[:, None]
    out = np.empty(grid.shape)
    centres, scale = posterior.centres, posterior.scale
    step = max(1, _BLOCK // max(1, grid.shape[1] * centres.shape[1]))
    for start in range(0, len(grid), step):
        rows = slice(start, start + step)
        z = (grid[rows, :, None] - centres[rows, None, :]) / scale[rows, None, None]
        places = None if posterior.places is None else posterior.places[rows]
        out[rows] = mean(z, scale[rows], places)
    return out if points.ndim == 2 else out[:, 0]


def _kernel_quantile(posterior: Posterior, levels: NDArray[np.float64]) -> FloatArray:
    """Bisection on the cdf, all rows and levels at once."""
    assert posterior.centres is not None
    reach = 9.0 * posterior.scale  # the kernels hold 1e-19 beyond
    low = np.broadcast_to((posterior.centres.min(axis=1) - reach)[:, None], levels.shape).copy()
    high = np.broadcast_to((posterior.centres.max(axis=1) + reach)[:, None], levels.shape).copy()
    for _ in range(44):  # to 1e-13 of the range
        middle = 0.5 * (low + high)
        below = cdf(posterior, middle) < levels
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return 0.5 * (low + high)


def row_blocks(n_rows: int, n_neighbors: int) -> list[slice]:
    """Rows cut into blocks for the fits: the same whatever the number of threads.

    >>> row_blocks(3, 60_000)
    [slice(0, 1, None), slice(1, 2, None), slice(2, 3, None)]
    """
    step = max(1, _CELLS // n_neighbors)
    return [slice(low, min(low + step, n_rows)) for low in range(0, n_rows, step)]


def fit_rows(
    family: str, near: Neighborhood, setting: Setting, posterior_fit: str, n_jobs: int | None
) -> Posterior:
    """One family fitted to the neighbours of every row, block by block."""
    targets, places = near.nearest(setting.n_neighbors)
    from gbuq_core.ibug.search import scale_of  # late: with the kernels

    scale = scale_of(targets, setting, places)

    def fit(rows: slice) -> Posterior:
        here = (near.loc[rows], scale[rows], targets[rows])
        mine = None if places is None else places[rows]
        return fit_posterior(family, *here, setting.min_scale, posterior_fit, mine)

    return join_posteriors(parallel_map(fit, row_blocks(*targets.shape), n_jobs))


def check_posterior_memory(family: str, n_rows: int, n_neighbors: int) -> None:
    """Refuse posteriors that would not fit into memory: a KDE keeps the neighbours' targets."""
    held = 2 * n_neighbors if family == "kde" else 6
    check_memory(8 * n_rows * held, "these posteriors")


def take_rows(posterior: Posterior, rows: NDArray[Any]) -> Posterior:
    """The posterior of some rows."""
    parts = [None if part is None else part[rows] for part in posterior[1:]]
    return Posterior(posterior.family, *parts)  # type: ignore[arg-type]


def join_posteriors(parts: list[Posterior]) -> Posterior:
    """The rows of all parts, which are of one family."""
    if len(parts) == 1:
        return parts[0]
    if parts[0].places is not None:  # then rows may have different numbers of neighbours
        widest = max(part.places.shape[1] for part in parts if part.places is not None)
        parts = [_widen(part, widest) for part in parts]
    columns = zip(*(part[1:] for part in parts), strict=True)
    joined = [None if column[0] is None else np.concatenate(column) for column in columns]
    return Posterior(parts[0].family, *joined)  # type: ignore[arg-type]


def _widen(part: Posterior, n_columns: int) -> Posterior:
    """The same with more centres, which are the first one again and have no kernel."""
    assert part.centres is not None
    assert part.places is not None
    more = n_columns - part.centres.shape[1]
    centres = np.concatenate([part.centres, part.centres[:, :1].repeat(more, axis=1)], axis=1)
    return part._replace(centres=centres, places=np.pad(part.places, ((0, 0), (0, more))))
