"""A method's predictions for rows: mean, parts of the uncertainty, intervals, novelty scores."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from gbuq_core.experiments.heteroscedastic.data import Array
from gbuq_core.experiments.heteroscedastic.plan import METHODS, SCORES, TAILS
from gbuq_core.methods import PARTS
from gbuq_core.metrics.conformal import conformal_scales
from gbuq_core.uncertainty import Uncertainty, decompose_regression

_LEAST_SCALE = 1e-9  # of the largest: no factor stretches a std of 0, where all trees agree
SAME_LEVEL = 1e-9
_NOVELTIES = ("novelty", "conditional_novelty", "inference_novelty")


class ScoreCurve(NamedTuple):
    """A score for foreign rows: larger is more foreign.

    key, label : str; values : (n,); spread : (n,) its std over the trees, or None.
    """

    key: str
    label: str
    values: Array
    spread: Array | None


class LevelInterval(NamedTuple):
    """A method's own interval of a level: level : float; lower, upper : (n,)."""

    level: float
    lower: Array
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
        only = ScoreCurve(
            kind.scores[0], SCORES[kind.scores[0]].label, model.score_novelty(X), None
        )
        return Prediction(None, nothing, nothing, nothing, (), (only,), None)
    loc, uncertainty = _moments(model, X)
    curves = [
        ScoreCurve(part, SCORES[part].label, values, None)
        for part, values in zip(PARTS, uncertainty, strict=True)
        if scored and part in kind.scores
    ]
    said = Prediction(loc, *uncertainty, _own_intervals(model, X), tuple(curves), None)
    if scored and "novelty" in kind.scores:
        return score_again(said, model, X, tail)
    return said


def score_again(prediction: Prediction, model: Any, X: Array, tail: str) -> Prediction:
    """The same prediction with novelty scores of another tail."""
    judge = copy.copy(model)  # sessions share the model; the copy shares what was fitted
    judge.tail = tail
    novelty = judge.score_novelty(X)
    kept = tuple(curve for curve in prediction.curves if curve.key not in _NOVELTIES)
    scored = tuple(_novelty_curve(novelty, key) for key in _NOVELTIES)
    return prediction._replace(curves=kept + scored, signed_inference=novelty.inference_novelty)


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
    return ScoreCurve(key, SCORES[key].label, values, getattr(novelty, f"{key}_std"))


def _own_intervals(model: Any, X: Array) -> tuple[LevelInterval, ...]:
    if not hasattr(model, "predict_intervals"):
        return ()
    found = model.predict_intervals(X)
    return tuple(
        LevelInterval(float(level), lower, upper)
        for level, lower, upper in zip(*found, strict=True)
    )


def interval_of(
    prediction: Prediction, level: float, factor: float | None = None
) -> tuple[Array | None, Array | None]:
    """The central interval of a level: the method's own, or that of a normal."""
    if prediction.loc is None:
        return None, None
    if factor is None:
        for own in prediction.intervals:
            if abs(own.level - level) < SAME_LEVEL:
                return own.lower, own.upper
    half = (factor or 1.0) * float(ndtri(0.5 + level / 2.0)) * np.sqrt(prediction.total)
    return prediction.loc - half, prediction.loc + half


def conformal_factor(prediction: Prediction, y: Array, level: float) -> float:
    """The factor on all stds with which a normal's interval holds its level on these rows.

    >>> one, none = np.ones(19), np.zeros(19)
    >>> found = Prediction(none, one, one, none, (), (), None)
    >>> round(conformal_factor(found, np.arange(1.0, 20.0), 0.95) * 1.96, 1)
    19.0
    """
    assert prediction.loc is not None
    scale = np.sqrt(prediction.total)
    least = _LEAST_SCALE * max(float(scale.max()), float(np.ptp(y)), 1e-300)
    found = conformal_scales(y, prediction.loc, np.maximum(scale, least), levels=[level])
    return float(found.stretch[0])
