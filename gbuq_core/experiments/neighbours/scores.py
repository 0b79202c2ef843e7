"""What the predictions on the page are worth: scores on fresh or held-out rows.

Brophy and Lowd (IBUG, 2022), section 5.1 and appendix B; for synthetic data the scale beside the
true noise, where rows are and where there are none.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from gbuq_core.distribution import Distribution, NormalDistribution
from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.neighbours.data import NeighboursData, load_neighbours_data
from gbuq_core.experiments.neighbours.fit import (
    Array,
    Mask,
    NeighboursFit,
    NeighboursSearch,
    NeighboursView,
    scored_by,
    search_neighbours,
)
from gbuq_core.experiments.neighbours.plan import (
    BASELINES,
    SCORINGS,
    VALIDATION_FRACTION,
    NeighboursSettings,
    neighbours_model,
    why_not,
)
from gbuq_core.ibug import FAMILIES, Posterior, cdf, moments
from gbuq_core.metrics import coverage, crps_gaussian, pit_coverage, rmse
from gbuq_core.presentation import digits, megabytes
from gbuq_core.validation import check_choice

FITTED = ("knn", "knn_cb", "cbu")
_WITH_IMPORTANCES = ("lightgbm", "catboost", "xgboost")
_FEWEST_TREES, _MEMBERS = 200, 20  # of virtual SGLB, whose later half of members counts


class BaselineFit(NamedTuple):
    """A baseline's predictions in units of y, and what it cost.

    key : str; loc, scale : (n_test,); grid_loc, grid_scale : (n_grid,) or None; seconds : float, of
    the fit with its tuning; memory_bytes : int, what the fitted baseline holds.
    """

    key: str
    loc: Array
    scale: Array
    grid_loc: Array | None
    grid_scale: Array | None
    seconds: float
    memory_bytes: int | None


def needed_fits(baselines: tuple[str, ...]) -> tuple[str, ...]:
    """Which fits the chosen baselines take: their average with IBUG takes that of virtual SGLB."""
    wanted = {"cbu" if key == "ibug_cbu" else key for key in baselines}
    return tuple(key for key in FITTED if key in wanted)


def why_no_baseline(plan: NeighboursSettings, key: str) -> str:
    """Why a baseline cannot be fitted to a plan, in a sentence; empty if it can."""
    if key == "knn_cb" and plan.library not in _WITH_IMPORTANCES:
        return (
            f"kNN-CB uses the most important features, but {plan.base.label} "
            "reports no importances: choose CatBoost, LightGBM or XGBoost."
        )
    return why_not(plan)


def fit_baseline(plan: NeighboursSettings, key: str, scoring: str = "nll") -> BaselineFit:
    """Fit one baseline on the plan's rows and predict the test rows and the grid."""
    check_choice("baseline", key, FITTED)
    check_choice("scoring", scoring, SCORINGS)
    refusal = why_no_baseline(plan, key)
    if refusal:
        raise InvalidParameter(refusal)
    data = load_neighbours_data(plan.data, plan.rows, plan.noise, plan.seed)
    model = baseline_model(plan, key, scoring)
    began = time.perf_counter()
    model.fit(data.X, data.y)
    seconds = time.perf_counter() - began
    loc, scale = model.predict_distribution(data.X_test)
    grid_loc = grid_scale = None
    if data.grid is not None:
        grid_loc, grid_scale = model.predict_distribution(data.grid)
    held = data.X.nbytes + data.y.nbytes
    if key == "cbu":
        held = int(model.estimators_[0].memory_bytes_)
    return BaselineFit(key, loc, scale, grid_loc, grid_scale, seconds, held)


def baseline_model(plan: NeighboursSettings, key: str, scoring: str) -> Any:
    """The unfitted baseline."""
    from gbuq_core.baselines import AveragingRegressor, EuclideanNeighborsRegressor
    from gbuq_core.boosting import BoostedEnsembleRegressor

    shared: dict[str, Any] = {
        "scoring": scoring,
        "validation_fraction": VALIDATION_FRACTION,
        "random_state": plan.seed,
    }
    if key == "cbu":
        return AveragingRegressor(
            [("sglb", BoostedEnsembleRegressor(**virtual_knobs(plan)))], **shared
        )
    base = neighbours_model(plan) if key == "knn_cb" else None
    return EuclideanNeighborsRegressor(base, **shared)


def virtual_knobs(plan: NeighboursSettings) -> dict[str, Any]:
    """Arguments of virtual SGLB: as many trees as the base model or 200, truncated to ten members.

    >>> virtual_knobs(NeighboursSettings(trees=400))["truncation_step"]
    20
    """
    n_trees = max(plan.trees, _FEWEST_TREES)
    return {
        "stopping": None,
        "method": "sglb",
        "ensemble": "virtual",
        "n_trees": n_trees,
        "truncation_step": n_trees // _MEMBERS,
        "depth": plan.depth,
        "learning_rate": plan.rate,
        "random_state": plan.seed,
    }


LEVEL = 0.9  # of the intervals
_HALF_WIDTH = float(ndtri(0.5 + LEVEL / 2.0))  # in stds of a normal
_REACH = 8.0  # stds to either side over which a family's score is integrated
_MOST_POINTS, _FEWEST_POINTS, _BUDGET = 257, 65, 40_000_000


@dataclass(frozen=True, kw_only=True)
class NeighboursScore:
    """One method's scores on the test rows; lower is better but for the coverage."""

    # `key`, `label`: "ibug", "family" (IBUG with another family than the normal) or a key of
    # `BASELINES`
    key: str
    label: str
    # `rmse`, `nll`, `crps`: units of y, nats, units of y
    rmse: float
    nll: float
    crps: float
    # `coverage`, `coverage_low`, `coverage_high`: share of rows in their central 90 % intervals,
    # and its exact binomial band at 95 %
    coverage: float
    coverage_low: float
    coverage_high: float
    width: float  # mean width of those intervals, in units of y
    # `scale_error_inside`, `scale_error_outside`: root mean squared error of the scale against the
    # true noise std, over the grid where rows can lie and where they cannot; NaN where the truth is
    # not known or there is no such place
    scale_error_inside: float
    scale_error_outside: float
    # `mean_scale_inside`, `mean_scale_outside`: the mean scale there
    mean_scale_inside: float
    mean_scale_outside: float
    # `seconds`, `memory_bytes`: of the fit with its tuning, and what is held besides the base model
    seconds: float
    memory_bytes: int | None


def score_neighbours(
    fit: NeighboursFit,
    search: NeighboursSearch,
    view: NeighboursView,
    baselines: Mapping[str, BaselineFit] | None = None,
    family: str = "normal",
) -> tuple[NeighboursScore, ...]:
    """Score IBUG and the baselines of the settings."""
    baselines = {} if baselines is None else baselines
    data = fit.data
    own = BaselineFit(
        "ibug", view.loc, view.scale, view.grid_loc, view.grid_scale, fit.seconds, fit.memory_bytes
    )
    scores = [_score(data, own, "IBUG")]
    if family != "normal":
        scores.append(_score_family(fit, search, view, family, scores[0]))
    for key in view.settings.compare:
        baseline = _baseline(fit, own, baselines, key)
        if baseline is not None:
            scores.append(_score(data, baseline, BASELINES[key]))
    return tuple(scores)


def score_rows(scores: Sequence[NeighboursScore]) -> list[tuple[str, ...]]:
    """A line a score and a column a method, so that it fits a phone; first the headings."""
    lines: list[tuple[str, ...]] = [("Score", *(score.label for score in scores))]
    for title, name in (("RMSE", "rmse"), ("NLL (nats)", "nll"), ("CRPS", "crps")):
        lines.append((title, *(digits(getattr(score, name)) for score in scores)))
    shares = (f"{100 * score.coverage:.1f}\u00a0%" for score in scores)
    lines.append(("Rows in the 90 % interval", *shares))
    lines.append(("95 % band of that share", *(_band(score) for score in scores)))
    lines.append(("Mean width of the interval", *(digits(score.width) for score in scores)))
    for title, name in (
        ("Error of the scale, where rows are", "scale_error_inside"),
        ("Error of the scale, elsewhere", "scale_error_outside"),
        ("Mean scale, where rows are", "mean_scale_inside"),
        ("Mean scale, elsewhere", "mean_scale_outside"),
    ):
        values = tuple(digits(getattr(score, name)) for score in scores)
        if any(value != "\u2013" for value in values):
            lines.append((title, *values))
    lines.append(("Seconds", *(digits(score.seconds) for score in scores)))
    lines.append(("Megabytes", *(megabytes(score.memory_bytes) for score in scores)))
    return lines


def _band(score: NeighboursScore) -> str:
    return f"{100 * score.coverage_low:.0f}\u2013{100 * score.coverage_high:.0f}\u00a0%"


def constant_scale(fit: NeighboursFit) -> float:
    """One std for all rows: the root mean squared error on the validation rows."""
    return rmse(fit.model.y_validation_, fit.model.find_validation().loc)


def average_with(own: BaselineFit, other: BaselineFit) -> BaselineFit:
    """IBUG and virtual SGLB averaged (section 5.2), both calibrated on their own."""
    from gbuq_core.baselines import average_distributions

    assert own.memory_bytes is not None  # both are fitted
    assert other.memory_bytes is not None
    loc, scale = average_distributions((own.loc, own.scale), (other.loc, other.scale))
    grids: Any = (own.grid_loc, own.grid_scale), (other.grid_loc, other.grid_scale)
    grid_loc = grid_scale = None
    if own.grid_loc is not None and other.grid_loc is not None:
        grid_loc, grid_scale = average_distributions(*grids)
    return BaselineFit(
        "ibug_cbu",
        loc,
        scale,
        grid_loc,
        grid_scale,
        own.seconds + other.seconds,
        own.memory_bytes + other.memory_bytes,
    )


def _baseline(
    fit: NeighboursFit, own: BaselineFit, baselines: Mapping[str, BaselineFit], key: str
) -> BaselineFit | None:
    if key == "constant":
        scale = constant_scale(fit)
        grid_scale = None if own.grid_loc is None else np.full_like(own.grid_loc, scale)
        return own._replace(
            key=key, scale=np.full_like(own.loc, scale), grid_scale=grid_scale, memory_bytes=8
        )
    if key == "ibug_cbu":
        return average_with(own, baselines["cbu"]) if "cbu" in baselines else None
    return baselines.get(key)


def _score(data: NeighboursData, fitted: BaselineFit, label: str) -> NeighboursScore:
    y, loc, scale = data.y_test, fitted.loc, fitted.scale
    share = coverage(y, loc, scale, [LEVEL])
    rows = data.in_support  # where they can lie
    at = (None, None) if rows is None else (rows, ~rows)
    inside, outside = (_scale_error(data, fitted.grid_scale, each) for each in at)
    return NeighboursScore(
        key=fitted.key,
        label=label,
        rmse=rmse(y, loc),
        nll=float(data.log_scores(NormalDistribution(loc, scale)).mean()),
        crps=crps_gaussian(y, loc, scale),
        coverage=float(share.observed[0]),
        coverage_low=float(share.low[0]),
        coverage_high=float(share.high[0]),
        width=2.0 * _HALF_WIDTH * float(scale.mean()),
        scale_error_inside=inside[0],
        scale_error_outside=outside[0],
        mean_scale_inside=inside[1],
        mean_scale_outside=outside[1],
        seconds=fitted.seconds,
        memory_bytes=fitted.memory_bytes,
    )


def _scale_error(data: NeighboursData, scale: Array | None, at: Mask | None) -> tuple[float, float]:
    """Root mean squared error against the true noise, and the mean scale."""
    if scale is None or at is None or data.true_std is None or not at.any():
        return math.nan, math.nan
    return rmse(data.true_std[at], scale[at]), float(scale[at].mean())


def family_posterior(
    fit: NeighboursFit, search: NeighboursSearch, view: NeighboursView, family: str
) -> Posterior:
    """The family fitted to the neighbours of every test row."""
    if view.k > search.width:
        search = search_neighbours(fit, view.settings)
    return scored_by(fit, view.settings).predict_posterior(
        search.near_test, family, n_neighbors=view.k, calibrate=view.settings.calibrate
    )


def family_law(view: NeighboursView, posterior: Posterior) -> Distribution:
    """The law of the neighbours' family; it is imported once something has been fitted."""
    from gbuq_core.ibug.family_distribution import FamilyDistribution

    return FamilyDistribution(view.loc, view.scale, posterior)


def _score_family(
    fit: NeighboursFit,
    search: NeighboursSearch,
    view: NeighboursView,
    family: str,
    normal: NeighboursScore,
) -> NeighboursScore:
    posterior, y = family_posterior(fit, search, view, family), fit.data.y_test
    share = pit_coverage(np.clip(cdf(posterior, y), 0.0, 1.0), [LEVEL])
    law = family_law(view, posterior)
    crps, width = integrate_posterior(posterior, y, view.loc, view.scale)
    if posterior.centres is not None:  # kernels stand on the neighbours, not on loc and scale
        normal = replace(
            normal,
            rmse=rmse(y, moments(posterior)[0]),
            scale_error_inside=math.nan,
            scale_error_outside=math.nan,
            mean_scale_inside=math.nan,
            mean_scale_outside=math.nan,
        )
    return replace(
        normal,
        key="family",
        label=f"IBUG, {FAMILIES[family].label}",
        nll=float(fit.data.log_scores(law).mean()),
        crps=float(crps.mean()),
        coverage=float(share.observed[0]),
        coverage_low=float(share.low[0]),
        coverage_high=float(share.high[0]),
        width=float(width.mean()),
    )


def integrate_posterior(
    posterior: Posterior, y: Array, loc: Array, scale: Array
) -> tuple[Array, Array]:
    """CRPS of every row and the width of its central 90 % interval, by numerical integration.

    The distribution function is taken at places up to 8 stds from ``loc``, or as far as y lies:
    257 of them, and fewer under kernels of many neighbours. ``CRPS = int (F(t) - 1[t >= y])^2 dt``
    by trapezoids, in units of y.
    """
    kernels = 1 if posterior.centres is None else posterior.centres.shape[1]
    wanted = _BUDGET // (len(y) * kernels)
    n_points = int(np.clip(wanted, _FEWEST_POINTS, _MOST_POINTS))
    # Symmetric in y: half of the places on either side of it, so that the jump is at a node.
    low = np.minimum(loc - _REACH * scale, y - scale)
    high = np.maximum(loc + _REACH * scale, y + scale)
    if posterior.centres is not None:
        low = np.minimum(low, posterior.centres.min(axis=1) - 5.0 * posterior.scale)
        high = np.maximum(high, posterior.centres.max(axis=1) + 5.0 * posterior.scale)
    step = np.linspace(0.0, 1.0, n_points // 2 + 1)
    below = low[:, None] + (y - low)[:, None] * step
    above = y[:, None] + (high - y)[:, None] * step
    under, over = (np.clip(cdf(posterior, at), 0.0, 1.0) for at in (below, above))
    crps: Array = np.asarray(
        np.trapezoid(under**2, below, axis=1) + np.trapezoid((1.0 - over) ** 2, above, axis=1)
    )
    places, mass = np.hstack([below, above[:, 1:]]), np.hstack([under, over[:, 1:]])
    ends = [_crossing(places, mass, level) for level in (0.5 - LEVEL / 2, 0.5 + LEVEL / 2)]
    return crps, ends[1] - ends[0]


def _crossing(places: Array, mass: Array, level: float) -> Array:
    """Where each row's distribution function reaches a level, (n_samples,)."""
    rows = np.arange(len(places))
    right = np.clip((mass < level).sum(axis=1), 1, places.shape[1] - 1)
    left = right - 1
    rise = mass[rows, right] - mass[rows, left]
    share = np.where(rise > 0.0, (level - mass[rows, left]) / np.where(rise > 0.0, rise, 1.0), 0.0)
    width = places[rows, right] - places[rows, left]
    return places[rows, left] + np.clip(share, 0.0, 1.0) * width
