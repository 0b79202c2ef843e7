"""What residuals are set on, and other trees that are tried beside those of a stack."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gbuq_core.boosting import BoostedEnsembleRegressor
from gbuq_core.calibration.splits import Split
from gbuq_core.inputs import take_rows
from gbuq_core.stacking.base import Around, Rows, Stacked
from gbuq_core.stacking.modes import find_modes
from gbuq_core.stacking.outliers import has_long_tail
from gbuq_core.stacking.support import Support
from gbuq_core.stacking.voices import RESIDUAL_WIDTHS
from gbuq_core.stacking.weights import Judged, choose_mean_weights, paired_gain
from gbuq_core.trees.importers.ownership import copy_unfitted

FloatArray = NDArray[np.float64]

_LOG_ROWS = 3_000  # that a log scale is tried on


class Centred(Stacked):
    """Stacks of a number; not for use by itself."""

    support_: Support
    _middle_weight: float
    _of_modes: Any  # trees of targets without the place of their mode, or None
    _weights: FloatArray

    def _learn_middle(
        self, loc: FloatArray, mean: FloatArray, y: FloatArray, fold: NDArray[np.int64],
        weight: FloatArray, judged: list[NDArray[np.intp]],
    ) -> None:  # fmt: skip
        """Weights of the trees' mean and the process's in what residuals are set on."""
        self._middle_weight = 0.0
        if self._process is not None and any(len(rows) for rows in judged):
            rows = np.concatenate(judged)
            means = np.stack([loc, mean], axis=1)[rows]
            self._middle_weight = float(
                choose_mean_weights(means, y[rows], fold[rows], weight[rows])[1]
            )

    def _learn_modes(
        self, rows: Rows, y: FloatArray, middle: FloatArray, scale: FloatArray,
        near: NDArray[np.int64], judged: list[NDArray[np.intp]], splits: list[Split],
        around: Around | None,
    ) -> tuple[FloatArray, list[Any]]:  # fmt: skip
        """What residuals are set on, and each fold's trees for it where targets have several modes.

        These trees learn targets from which the place of the row's own mode is taken: they know
        the middle as well as the noise within a mode lets them. They are used where the neighbours'
        residuals then tell left-out targets better by more than one standard error.
        """
        pool, whole = self._pool_places, self.estimator_ if around is None else around.models[0]
        as_before = middle, [None] * len(splits)
        fits = around is None or isinstance(whole, BoostedEnsembleRegressor)
        if self.support_.whole or not near.shape[1] or not fits:
            return as_before
        places = find_modes(y[pool] - middle[pool], self.seed_)
        if places is None:
            return as_before
        target, new = y.copy(), np.full(len(y), np.nan)
        target[pool] -= places
        whole, of_folds = self._fit_anew(whole, rows, target, pool, splits)
        for trees, split in zip(of_folds, splits, strict=True):
            held = np.intersect1d(split.held, pool)
            new[held] = read_law(trees, take_rows(rows.X, held))[0]
        mine = np.concatenate(judged)
        lost = [_residual_scores(y, each, scale, near, mine) for each in (middle, new)]
        if paired_gain(lost[0] - lost[1], rows.weight[mine]) <= 1.0:
            return as_before
        self._of_modes = whole if around is None or around.whole is not None else of_folds[0]
        return new, of_folds

    def _middle(self, loc: FloatArray, mean: FloatArray) -> FloatArray:
        """What residuals are set on: the trees' mean, with the process's if that is better."""
        if self._middle_weight == 0.0:
            return loc
        return loc + self._middle_weight * (mean - loc)

    def _fit_anew(
        self, model: Any, rows: Rows, y: FloatArray, known: NDArray[np.intp], splits: list[Split]
    ) -> tuple[Any, list[Any]]:
        """A copy of a model fitted to the known rows, and those of each fold."""
        parts = [Split(*(np.flatnonzero(np.isin(known, side)) for side in s)) for s in splits]
        whole, of_folds = self._fit_trees(model, rows, y, known, parts)
        return whole, of_folds or [
            self._fit_fold(whole, rows, y, k, known[part.fitted]) for k, part in enumerate(parts)
        ]

    def _try_log(
        self, rows: Rows, y: FloatArray, order: NDArray[np.intp], splits: list[Split],
        points: FloatArray, judged: Judged, around: Around | None,
    ) -> tuple[float, float] | None:  # fmt: skip
        """CRPS of the trees alone on a log scale, and the stack's, on left-out rows, if better."""
        whole = self.estimator_ if around is None else around.models[0]
        if not isinstance(whole, BoostedEnsembleRegressor) or whole.target is not None:
            return None
        if not has_long_tail(y):
            return None
        few = order[: len(judged.ahead)]
        known = np.union1d(few, self._sample(self._pool_places, _LOG_ROWS, 16))
        whole = copy_unfitted(whole).set_params(target="log")
        below = np.empty(judged.ahead.shape)
        of_folds = self._fit_anew(whole, rows, y, known, splits)[1]
        for trees, split in zip(of_folds, splits, strict=True):
            mine = np.flatnonzero(np.isin(few, split.held))
            law = trees.predict_distribution(take_rows(rows.X, few[mine]))
            below[mine] = law.cdf(np.broadcast_to(points, (len(mine), len(points))))
        lost = np.square(below - judged.ahead) @ judged.widths
        stacked = judged.crps(np.broadcast_to(self._weights[:, None], judged.masses.shape))
        weight = judged.weight[: len(few)]
        if paired_gain(stacked - lost, weight) <= 1.0:
            return None
        return float(np.average(lost, weights=weight)), float(np.average(stacked, weights=weight))


def read_law(model: Any, rows: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean, std and degrees of freedom of a model's law, (n,) each."""
    law = model.predict_distribution(rows)
    loc, scale = (np.array(part, np.float64) for part in law)
    df = np.array(np.broadcast_to(getattr(law, "df", np.inf), loc.shape), np.float64)
    return loc, scale, df


def _residual_scores(
    y: FloatArray, middle: FloatArray, scale: FloatArray, near: NDArray[np.int64],
    judged: NDArray[np.intp],
) -> FloatArray:  # fmt: skip
    """Log scores of left-out targets by their neighbours' residuals, with the best fixed width."""
    z = (y - middle) / scale
    away = z[judged, None] - z[near[judged]]
    scores = []
    for width in RESIDUAL_WIDTHS:
        density = np.exp(-0.5 * np.square(away / width)).mean(axis=1) / width
        scores.append(np.log(scale[judged]) - np.log(density + 1e-9))
    return min(scores, key=np.mean)
