"""A forest for the mean and a linear model for the log-variance of its residuals (GNLL)."""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np

from gbuq_core.array_checks import FloatArray
from gbuq_core.baselines.interval_regressor import IntervalParts, LightGBMForest, check_booster
from gbuq_core.model_files.contents import check_arrays, require
from gbuq_core.trees.importers.lightgbm_calls import predict_booster

_SMALLEST_SQUARE = 1e-12  # of a residual, in stds of y: its log is finite
_RIDGE = 1e-6  # a share of one row's weight: columns that repeat others have one solution
_MAX_STEPS = 100
_CONVERGED = 1e-10  # decrease of the mean NLL that a further step promises, in nats
_LARGEST_LOG = 100.0  # far outside the rows a line leaves float64


class GaussianNLLRegressor(LightGBMForest):
    """Noise as ``log s^2 = a + b x``, fitted to a forest's residuals by the Gaussian NLL.

    The mean is LightGBM's random forest, fitted first. The NLL of its squared residuals is convex
    in the coefficients, and Newton's method finds its only minimum. The residuals come from the
    training rows, as in the paper. With a large ``subsample`` the forest has seen most of these
    rows, and the predicted noise is too small. Outside the training rows the variance grows or
    falls exponentially.

    Parameters
    ----------
    n_trees, max_leaves, min_child_samples, subsample, random_state, n_jobs
        As for `ForestVarianceRegressor`. X must be without gaps.

    Attributes
    ----------
    intercept_ : float
        Log-variance in squared units of y, where all features are 0.
    coef_ : ndarray of shape (n_features,)
        Change of the log-variance per unit of each feature.
    booster_ : lightgbm.Booster
    fit_seconds_ : float

    References
    ----------
    Nix and Weigend (1994); MACAU, section 4 and table 1 ("GNLL").

    Examples
    --------
    >>> from gbuq_core.synthetic import make_heteroscedastic
    >>> data = make_heteroscedastic(500, random_state=0)
    >>> model = GaussianNLLRegressor(subsample=0.5, random_state=0).fit(data.X, data.y)
    >>> bool(model.coef_[0] > 0)  # the noise grows with x
    True
    """

    _reads_gaps = False
    _name = "a linear model"

    booster_: Annotated[Any, "lightgbm.Booster"]
    coef_: np.ndarray
    intercept_: float
    _inner_intercept: float

    def check_file(self) -> None:
        """Refuse a forest or coefficients of other columns."""
        super().check_file()
        check_booster(self.booster_, self.n_features_in_)
        check_arrays(self, coef_=("finite", self.n_features_in_))
        require(math.isfinite(self._inner_intercept), "its intercept is not finite")

    def _fit(self, X: FloatArray, y: FloatArray) -> None:
        self.booster_ = self._grow(X, y)
        squares = np.square(y - predict_booster(self.booster_, X))
        centre, spread = X.mean(axis=0), X.std(axis=0)
        spread = np.where(spread > 0.0, spread, 1.0)
        coefficients = fit_log_variance((X - centre) / spread, squares)
        self.coef_ = coefficients[1:] / spread
        self._inner_intercept = float(coefficients[0] - self.coef_ @ centre)
        self.intercept_ = self._inner_intercept + 2.0 * float(np.log(self.target_scale_.spread))

    def _parts(self, X: FloatArray) -> IntervalParts:
        with np.errstate(over="ignore", invalid="ignore"):
            line = np.nan_to_num(self._inner_intercept + X @ self.coef_)
        variance = np.exp(np.clip(line, -_LARGEST_LOG, _LARGEST_LOG))
        return IntervalParts(self._loc(X), variance, np.zeros(len(X)))

    def _loc(self, X: FloatArray) -> FloatArray:
        return predict_booster(self.booster_, X)


def log_variance_nll(
    coefficients: FloatArray, X: FloatArray, squares: FloatArray
) -> tuple[float, FloatArray]:
    """Mean Gaussian NLL without its constant, and its gradient.

    ``f(c) = mean_i [eta_i + r_i^2 exp(-eta_i)] / 2`` with ``eta = c_0 + X c_1..p``, convex in c.
    """
    eta = coefficients[0] + X @ coefficients[1:]
    with np.errstate(over="ignore", invalid="ignore"):  # a step too far is infinitely bad
        ratio = squares * np.exp(-eta)
        slope = 0.5 * (1.0 - ratio)
        gradient = np.concatenate([[slope.mean()], slope @ X / len(X)])
    return float(0.5 * np.mean(eta + ratio)), gradient


def fit_log_variance(X: FloatArray, squares: FloatArray) -> FloatArray:
    """The coefficients (n_features + 1,) of least NLL, intercept first, by Newton's method.

    Each step solves with the Hessian ``mean r^2 exp(-eta) x x^T / 2`` and is halved until the NLL
    falls. A ridge of a millionth of a row keeps columns that repeat each other apart.
    """
    r2 = np.maximum(squares, _SMALLEST_SQUARE)
    rows = np.column_stack([np.ones(len(X)), X])
    ridge = np.full(rows.shape[1], _RIDGE / len(X))
    ridge[0] = 0.0

    def penalised(c: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = log_variance_nll(c, X, r2)
        return value + 0.5 * float(ridge @ (c * c)), gradient + ridge * c

    coefficients = np.zeros(rows.shape[1])
    coefficients[0] = np.log(r2.mean())
    value, gradient = penalised(coefficients)
    for _ in range(_MAX_STEPS):
        weights = 0.5 * r2 * np.exp(-(rows @ coefficients)) / len(X)
        hessian = (rows * weights[:, None]).T @ rows + np.diag(ridge)
        step = np.linalg.lstsq(hessian, gradient, rcond=None)[0]
        promised = float(gradient @ step)
        if promised < _CONVERGED:
            break
        share = 1.0
        while share > 1e-10:
            tried = penalised(coefficients - share * step)
            if tried[0] <= value - 1e-4 * share * promised:
                break
            share *= 0.5
        else:
            break
        coefficients = coefficients - share * step
        value, gradient = tried
    return coefficients
