"""Growing noise and places without rows: figure 1 of MACAU's paper, with the methods it compares.

MACAU (doi 10.5121/csit.2023.131920), section 4.1. `fit_heteroscedastic` trains one method
and predicts the widest grid and the calibration rows; `view_heteroscedastic` is arithmetic on that
for any level, range and conformal factor; `measure_heteroscedastic` predicts test and foreign rows;
`run_heteroscedastic` does it all for the methods of `plan.HeteroscedasticSettings`.
"""

from __future__ import annotations

import copy
import importlib
import time
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from gbuq_core.experiments.heteroscedastic.data import (
    Array,
    HeteroscedasticData,
    HeteroscedasticTest,
    Mask,
    data_of,
    draw_foreign,
    draw_test,
    shown_range,
)
from gbuq_core.experiments.heteroscedastic.plan import (
    LEVELS,
    METHODS,
    SCORES,
    TAILS,
    HeteroscedasticSettings,
    check_settings,
    heteroscedastic_model,
    plan_measure,
)
from gbuq_core.experiments.opening import Opening
from gbuq_core.jobs import stage
from gbuq_core.methods import PARTS
from gbuq_core.metrics.conformal import conformal_scales
from gbuq_core.presentation import Tally
from gbuq_core.resources import held_bytes
from gbuq_core.settings import check, plan_of
from gbuq_core.uncertainty import Uncertainty, decompose_regression

_LEAST_SCALE = 1e-9  # of the largest: no factor stretches a std of 0, where all trees agree
SAME_LEVEL = 1e-9
_NOVELTIES = ("novelty", "conditional_novelty", "inference_novelty")


class ScoreCurve(NamedTuple):
    """A score for foreign rows: larger is more foreign."""

    key: str
    label: str
    values: Array  # (n,)
    spread: Array | None  # (n,): its std over the trees


class LevelInterval(NamedTuple):
    """A method's own interval of a level."""

    level: float
    lower: Array  # (n,), as is `upper`
    upper: Array


class Prediction(NamedTuple):
    """A method at n rows, in units of y; variances in squared units."""

    loc: Array | None  # none for methods that only score
    # `total`, `data`, `knowledge`: zeros where the method has none
    total: Array
    data: Array
    knowledge: Array
    # of methods whose intervals are not those of a normal; else none
    intervals: tuple[LevelInterval, ...]
    curves: tuple[ScoreCurve, ...]  # in the order of the method's scores
    signed_inference: Array | None  # inference novelty with its sign

    def curve(self, key: str) -> ScoreCurve | None:
        """The values of a score, None if the method has no such score."""
        return next((curve for curve in self.curves if curve.key == key), None)

    def take(self, rows: npt.NDArray[Any]) -> Prediction:
        """The same at some of the rows: a mask or positions (m,)."""
        signed = self.signed_inference
        return Prediction(
            None if self.loc is None else self.loc[rows],
            self.total[rows],
            self.data[rows],
            self.knowledge[rows],
            tuple(LevelInterval(i.level, i.lower[rows], i.upper[rows]) for i in self.intervals),
            tuple(
                curve._replace(
                    values=curve.values[rows],
                    spread=None if curve.spread is None else curve.spread[rows],
                )
                for curve in self.curves
            ),
            None if signed is None else signed[rows],
        )


def predict_rows(
    model: Any, method: str, X: Array, scored: bool = True, tail: str = TAILS[0]
) -> Prediction:
    """Predictions of a fitted model for rows (n, 1)."""
    kind = METHODS[method]
    if not kind.parts:
        nothing = np.zeros(len(X))
        (key,) = kind.scores
        only = ScoreCurve(key, SCORES[key], model.score_novelty(X), None)
        return Prediction(None, nothing, nothing, nothing, (), (only,), None)
    loc, uncertainty = _moments(model, X)
    curves = [
        ScoreCurve(part, SCORES[part], values, None)
        for part, values in zip(PARTS, uncertainty, strict=True)
        if scored and part in kind.scores
    ]
    prediction = Prediction(loc, *uncertainty, _own_intervals(model, X), tuple(curves), None)
    if scored and "novelty" in kind.scores:
        return score_again(prediction, model, X, tail)
    return prediction


def score_again(prediction: Prediction, model: Any, X: Array, tail: str) -> Prediction:
    """The same prediction with novelty scores of another tail."""
    judge = copy.copy(model)  # sessions share the model; the copy shares what was fitted
    judge.tail = tail
    novelty = judge.score_novelty(X)
    others = tuple(curve for curve in prediction.curves if curve.key not in _NOVELTIES)
    scored = tuple(_novelty_curve(novelty, key) for key in _NOVELTIES)
    return prediction._replace(curves=others + scored, signed_inference=novelty.inference_novelty)


def _moments(model: Any, X: Array) -> tuple[Array, Uncertainty]:
    """Mean and variances; those of trees with a model in every leaf from one pass over them."""
    if hasattr(model, "leaf_model"):
        members = model.predict_members(X)
        return members[..., 0].mean(axis=0), decompose_regression(members[..., 0], members[..., 1])
    return np.asarray(model.predict(X), dtype=np.float64), model.predict_uncertainty(X)


def _novelty_curve(novelty: Any, key: str) -> ScoreCurve:
    values = getattr(novelty, key)
    if key == "inference_novelty":
        values = np.abs(values)
    return ScoreCurve(key, SCORES[key], values, getattr(novelty, f"{key}_std"))


def _own_intervals(model: Any, X: Array) -> tuple[LevelInterval, ...]:
    if not hasattr(model, "predict_intervals"):
        return ()
    intervals = zip(*model.predict_intervals(X), strict=True)
    return tuple(LevelInterval(float(level), lower, upper) for level, lower, upper in intervals)


def interval_of(
    prediction: Prediction, level: float, factor: float | None = None
) -> tuple[Array, Array]:
    """The central interval of a level: the method's own, or that of a normal."""
    assert prediction.loc is not None  # else the method predicts nothing
    if factor is None and (own := _own_interval(prediction, level)):
        return own
    half = (factor or 1.0) * float(ndtri(0.5 + level / 2.0)) * np.sqrt(prediction.total)
    return prediction.loc - half, prediction.loc + half


def _own_interval(prediction: Prediction, level: float) -> tuple[Array, Array] | None:
    same = (own for own in prediction.intervals if abs(own.level - level) < SAME_LEVEL)
    return next(((own.lower, own.upper) for own in same), None)


def conformal_factor(prediction: Prediction, y: Array, level: float) -> float:
    """The factor on all stds with which a normal's interval holds its level on these rows.

    >>> ones, none = np.ones(19), np.zeros(19)
    >>> prediction = Prediction(none, ones, ones, none, (), (), None)
    >>> round(conformal_factor(prediction, np.arange(1.0, 20.0), 0.95) * 1.96, 1)
    19.0
    """
    assert prediction.loc is not None
    scale = np.sqrt(prediction.total)
    least = _LEAST_SCALE * max(float(scale.max()), float(np.ptp(y)), 1e-300)
    scales = conformal_scales(y, prediction.loc, np.maximum(scale, least), levels=[level])
    return float(scales.stretch[0])


Ends = Array | None


class HeteroscedasticFit(NamedTuple):
    """A trained method, and its predictions for the grid and the calibration rows."""

    plan: HeteroscedasticSettings  # of one method
    data: HeteroscedasticData
    model: Any  # fitted; None of a stored fit
    grid: Prediction  # at the 761 places of `data.x`
    calibration: Prediction  # at the 1,000 calibration rows, without scores
    seconds: float  # of the training; NaN of a stored fit
    memory_bytes: int | None  # size of the model; None where a library does not report it
    # the grid's with novelty scores that end at 5.2; None for methods without novelty
    clipped: Prediction | None = None

    @property
    def method(self) -> str:
        """The method's key in `METHODS`."""
        return self.plan.method

    @property
    def label(self) -> str:
        """The method as people write it."""
        return METHODS[self.plan.method].label

    def grid_of(self, tail: str) -> Prediction:
        """The prediction over the grid with novelty scores of a tail."""
        return self.clipped if tail == "clip" and self.clipped is not None else self.grid


@dataclass(frozen=True, kw_only=True)
class HeteroscedasticView:
    """One method over the picture's places; variances in squared units of y."""

    method: str
    label: str
    x: Array  # (n_grid,)
    support: Mask  # (n_grid,): where rows can lie
    # `true_mean`, `true_variance`: (n_grid,): beyond the rows they follow the formula
    true_mean: Array
    true_variance: Array
    # which of total, data and knowledge the method has; none if it only scores
    parts: tuple[str, ...]
    loc: Array | None  # (n_grid,)
    # `total`, `data`, `knowledge`: (n_grid,): zeros where the method has none; before any conformal
    # factor
    total: Array
    data: Array
    knowledge: Array
    scale: Array  # (n_grid,): std of y after it: `factor * sqrt(total)`
    # `lower`, `upper`: (n_grid,): the interval of the settings' level
    lower: Array | None
    upper: Array | None
    # `inner_lower`, `inner_upper`: (n_grid,): the part of it that data uncertainty alone would
    # take; None without
    inner_lower: Array | None
    inner_upper: Array | None
    factor: float  # of the conformal step at this level; 1 without it
    curves: tuple[ScoreCurve, ...]

    def curve(self, key: str) -> ScoreCurve | None:
        """The curve of a score, None if the method has no such score."""
        return next((curve for curve in self.curves if curve.key == key), None)


class HeteroscedasticMeasure(NamedTuple):
    """One method's predictions for test and foreign rows, and how long they took."""

    plan: HeteroscedasticSettings  # of one method
    test: HeteroscedasticTest
    foreign_X: Array  # (n_ood, 1)
    of_test: Prediction
    of_foreign: Prediction
    seconds: float  # of both predictions together

    @property
    def method(self) -> str:
        """The method's key in `METHODS`."""
        return self.plan.method


class HeteroscedasticRun(NamedTuple):
    """The settings, their data, and fits, views and measures in the settings' order."""

    settings: HeteroscedasticSettings
    data: HeteroscedasticData
    fits: tuple[HeteroscedasticFit, ...]
    views: tuple[HeteroscedasticView, ...]
    measures: tuple[HeteroscedasticMeasure, ...]
    scores: tuple[Any, ...] = ()  # a `HeteroscedasticScore` of each, sorted as its reader likes


_FITS, _MEASURES = Tally(), Tally()  # what a knob of the view leaves as they are
count_fits, count_measures = _FITS.count, _MEASURES.count


def fit_heteroscedastic(plan: HeteroscedasticSettings) -> HeteroscedasticFit:
    """Train one method."""
    model = heteroscedastic_model(plan)
    data = data_of(plan)
    record = METHODS[plan.method].record
    for package in record.packages:
        importlib.import_module(package)  # a first import is no training
    began = time.perf_counter()
    model.fit(data.X, data.y)
    seconds = time.perf_counter() - began
    grid = predict_rows(model, plan.method, data.grid)
    has_novelty = "novelty" in METHODS[plan.method].scores
    _FITS.add()
    return HeteroscedasticFit(
        plan,
        data,
        model,
        grid,
        predict_rows(model, plan.method, data.calibration_X, scored=False),
        seconds,
        None if record.opaque else held_bytes(model),
        score_again(grid, model, data.grid, "clip") if has_novelty else None,
    )


def view_heteroscedastic(
    fit: HeteroscedasticFit, settings: HeteroscedasticSettings
) -> HeteroscedasticView:
    """One method's curves over the picture. Trains and predicts nothing."""
    check_settings(settings)
    data = fit.data
    low, high = shown_range(settings)
    places = (data.x >= low) & (data.x <= high)
    at = fit.grid_of(settings.tail).take(places)
    factor = heteroscedastic_factor(fit, settings, settings.level)
    ends: tuple[Ends, Ends] = None, None
    if at.loc is not None:
        ends = interval_of(at, settings.level, factor if settings.conformal else None)
    inner_lower, inner_upper = _inner(fit.method, at, settings.level, factor, ends)
    return HeteroscedasticView(
        method=fit.method,
        label=fit.label,
        x=data.x[places],
        support=data.support[places],
        true_mean=data.true_mean[places],
        true_variance=data.true_variance[places],
        parts=METHODS[fit.method].parts,
        loc=at.loc,
        total=at.total,
        data=at.data,
        knowledge=at.knowledge,
        scale=factor * np.sqrt(at.total),
        lower=ends[0],
        upper=ends[1],
        inner_lower=inner_lower,
        inner_upper=inner_upper,
        factor=factor,
        curves=at.curves,
    )


def _inner(
    method: str, at: Prediction, level: float, factor: float, interval: tuple[Ends, Ends]
) -> tuple[Ends, Ends]:
    """The part of an interval that data uncertainty takes: all of it, where there is no other."""
    parts = METHODS[method].parts
    if at.loc is None or "knowledge" not in parts:
        return interval
    if "data" not in parts:
        return None, None
    half = factor * float(ndtri(0.5 + level / 2.0)) * np.sqrt(at.data)
    return at.loc - half, at.loc + half


def heteroscedastic_factor(
    fit: HeteroscedasticFit, settings: HeteroscedasticSettings, level: float
) -> float:
    """The factor on all stds with which intervals of a level hold it on new rows."""
    if not settings.conformal or fit.calibration.loc is None:
        return 1.0
    return conformal_factor(fit.calibration, fit.data.calibration_y, level)


class LevelIntervals(NamedTuple):
    """What a view's intervals are at every level of `plan.LEVELS`, in this order."""

    factors: tuple[float, ...]  # of the conformal step
    # lower and upper, (n_grid,) each; None where the method's interval is that of a normal
    own: tuple[tuple[Array, Array] | None, ...]


def level_intervals(fit: HeteroscedasticFit, settings: HeteroscedasticSettings) -> LevelIntervals:
    """What the picture needs to show any level, with and without a conformal step.

    >>> settings = HeteroscedasticSettings(rows=500, trees=20)
    >>> fit = fit_heteroscedastic(plan_of(settings, "gnll"))
    >>> intervals = level_intervals(fit, settings)
    >>> len(intervals.factors) == len(LEVELS), intervals.own[0]
    (True, None)
    """
    low, high = shown_range(settings)
    grid = fit.grid.take((fit.data.x >= low) & (fit.data.x <= high))
    wrapped = replace(settings, conformal=True)
    factors, own = [], []
    for level in LEVELS:
        factors.append(heteroscedastic_factor(fit, wrapped, level))
        own.append(_own_interval(grid, level))
    return LevelIntervals(tuple(factors), tuple(own))


def measure_heteroscedastic(
    fit: HeteroscedasticFit, settings: HeteroscedasticSettings
) -> HeteroscedasticMeasure:
    """Predict test and foreign rows; a stored fit is made again."""
    plan = plan_measure(settings, fit.method)
    fit = fit_heteroscedastic(fit.plan) if fit.model is None else fit
    check(plan)
    test, foreign = draw_test(plan), draw_foreign(plan)
    began = time.perf_counter()
    of_test = predict_rows(fit.model, fit.method, test.X, tail=plan.tail)
    of_foreign = predict_rows(fit.model, fit.method, foreign, tail=plan.tail)
    seconds = time.perf_counter() - began
    _MEASURES.add()
    return HeteroscedasticMeasure(plan, test, foreign, of_test, of_foreign, seconds)


_FIRST = HeteroscedasticSettings()  # the page opens with them
OPENING = Opening(
    name="heteroscedastic",
    kind=HeteroscedasticFit,
    make=fit_heteroscedastic,
    plans=lambda: [plan_of(_FIRST, method) for method in _FIRST.methods],
    afresh=lambda plan: {"data": data_of(plan)},
    bits=13,
)
MEASURED = Opening(
    name="heteroscedastic",
    file="scores",
    kind=HeteroscedasticMeasure,
    make=lambda plan: measure_heteroscedastic(
        fit_heteroscedastic(plan_of(plan, plan.method)), plan
    ),
    plans=lambda: [plan_measure(_FIRST, method) for method in _FIRST.methods],
    afresh=lambda plan: {"test": draw_test(plan), "foreign_X": draw_foreign(plan)},
    bits=13,
)


def run_heteroscedastic(settings: HeteroscedasticSettings | None = None) -> HeteroscedasticRun:
    """Train the methods one after the other, and measure them."""
    settings = HeteroscedasticSettings() if settings is None else settings
    check_settings(settings)
    fits, measures = [], []
    with stage(len(settings.methods)):
        for method in settings.methods:
            with stage(1, span=1):
                fits.append(fit_heteroscedastic(plan_of(settings, method)))
            measures.append(measure_heteroscedastic(fits[-1], settings))
    views = tuple(view_heteroscedastic(fit, settings) for fit in fits)
    return HeteroscedasticRun(settings, data_of(settings), tuple(fits), views, tuple(measures))
