"""A Gaussian process: the familiar reference for functions that spread out away from the data.

Rasmussen and Williams (2006), "Gaussian processes for machine learning", equations 2.23 to 2.25,
with the marginal likelihood (5.8) and its gradient from scikit-learn.
"""

from __future__ import annotations

import time
from typing import Annotated, Any, Self

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize
from sklearn.utils.validation import check_is_fitted

from gbuq_core.array_checks import FloatArray
from gbuq_core.baselines.interval_regressor import IntervalParts
from gbuq_core.baselines.sampled_functions import SampledFunctionsRegressor
from gbuq_core.errors import InvalidData
from gbuq_core.inputs import draw_seed
from gbuq_core.jobs import advance, check_memory, stage
from gbuq_core.knobs import check_within
from gbuq_core.methods import METHODS
from gbuq_core.model_files.contents import check_arrays, library_name, require
from gbuq_core.parallel import one_blas_thread

MAX_GP_ROWS = 5000  # time grows with the cube
_JITTER = 1e-8
_MAX_STEPS = 100  # of the optimiser from one start
_SIGNAL_VARIANCE = (1e-4, 1e4)  # bounds on the standardised scale
_LENGTH_SCALE = (1e-2, 1e3)
_NOISE_VARIANCE = (1e-6, 1e1)
_APART = 0.1  # correlation with the nearest row below which a row knows nothing of the others
_ALIKE = 0.05  # nats of the marginal likelihood that tell no kernel from another


class GaussianProcessBaseline(SampledFunctionsRegressor):
    """A Gaussian process with a smooth kernel (RBF) and constant noise.

    Features and target are standardised inside. The fit chooses the length scale, signal variance
    and noise variance of highest marginal likelihood. For a few unrelated rows, a kernel too short
    to connect them is as likely as pure noise. Such rows count as noise.

    Parameters
    ----------
    n_draws : int
        Functions that `sample_functions` draws by default.
    n_restarts : int
        Random starts of the optimiser in addition to the first.
    random_state : int, RandomState, Generator or None
        Seed of the restarts and the draws.

    Attributes
    ----------
    length_scale_ : float
        In stds of the features.
    signal_variance_, noise_variance_ : float
        In squared units of y.
    log_marginal_likelihood_ : float
        In nats, of the standardised target.
    n_features_in_, feature_names_in_ : as usual
    fit_seconds_ : float

    References
    ----------
    Rasmussen and Williams (2006), sections 2.2 and 5.4.

    Examples
    --------
    >>> x = np.linspace(-1.0, 1.0, 30)[:, None]
    >>> model = GaussianProcessBaseline(random_state=0).fit(x, np.sin(3 * x[:, 0]))
    >>> near, far = model.predict_uncertainty([[0.0], [3.0]]).knowledge
    >>> bool(far > 100 * near)
    True
    """

    seed_: int
    length_scale_: float
    signal_variance_: float
    noise_variance_: float
    log_marginal_likelihood_: float
    _kernel: Annotated[Any, "sklearn.Sum"]
    _centre: np.ndarray
    _spread: np.ndarray
    _X: np.ndarray
    _lower: np.ndarray
    _weights: np.ndarray

    def check_file(self) -> None:
        """Refuse rows and a covariance that do not go together."""
        n_features, n_rows = self.n_features_in_, len(self._X)
        row = ("finite", n_features)
        check_arrays(
            self,
            _centre=row,
            _spread=row,
            _X=("finite", n_rows, n_features),
            _lower=("finite", n_rows, n_rows),
            _weights=("finite", n_rows),
        )
        positive = (self._spread > 0.0).all() and (np.diagonal(self._lower) > 0.0).all()
        require(n_rows >= 1 and positive, "its covariance is impossible")
        signal, noise = self._kernel.k1, self._kernel.k2
        kinds = [library_name(k) for k in (signal, noise)]
        require(kinds == ["sklearn.Product", "sklearn.WhiteKernel"], "its kernel is impossible")
        kinds = [library_name(k) for k in (signal.k1, signal.k2)]
        require(kinds == ["sklearn.ConstantKernel", "sklearn.RBF"], "its kernel is impossible")

    def __init__(self, n_draws: int = 100, n_restarts: int = 1, random_state: Any = None) -> None:
        self.n_draws = n_draws
        self.n_restarts = n_restarts
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Find the kernel of the highest marginal likelihood.

        X (n_samples, n_features) holds numbers without gaps, at most 5,000 rows.
        """
        began = time.perf_counter()
        check_within(METHODS["gp"].knob("n_draws"), self.n_draws)
        restarts = check_within(METHODS["gp"].knob("n_restarts"), self.n_restarts)
        self.seed_ = draw_seed(self.random_state)
        matrix, target = self._read_training_rows(X, y)
        if len(target) > MAX_GP_ROWS:
            raise InvalidData(
                f"X has {len(target)} rows, but a Gaussian process takes at most {MAX_GP_ROWS}: "
                "its time grows with the cube of the number of rows."
            )
        check_memory(8.0 * 8 * len(target) ** 2, "this Gaussian process")
        with np.errstate(over="ignore", invalid="ignore"):
            self._centre, spread = matrix.mean(axis=0), matrix.std(axis=0)
        if not (np.isfinite(self._centre).all() and np.isfinite(spread).all()):
            raise InvalidData("X holds numbers whose squares overflow: use larger units.")
        self._spread = np.where(spread > 0.0, spread, 1.0)
        with one_blas_thread():
            self._optimise((matrix - self._centre) / self._spread, target, restarts)
        signal, noise = self._kernel.k1, self._kernel.k2
        square = self.target_scale_.spread**2
        self.length_scale_ = float(signal.k2.length_scale)
        self.signal_variance_ = float(signal.k1.constant_value) * square
        self.noise_variance_ = float(noise.noise_level) * square
        self.fit_seconds_ = time.perf_counter() - began
        return self

    def sample_functions(self, X: Any, n_draws: int | None = None) -> FloatArray:
        """Functions drawn jointly at all rows, without noise: (n_draws, n_samples), units of y.

        For the same rows X, draw i does not depend on the number of draws. Other rows give other
        functions.
        """
        check_is_fitted(self)
        count = self.n_draws if n_draws is None else n_draws
        count = check_within(METHODS["gp"].knob("n_draws"), count)
        rows = self._standardised(self._read_new_rows(X))
        check_memory(8.0 * len(rows) * (4.0 * len(rows) + count), "this draw of functions")
        normals = np.random.default_rng(self.seed_).standard_normal((count, len(rows)))
        centre, spread = self.target_scale_
        with one_blas_thread():
            mean, half = self._condition(rows)
            root = self._root(self._kernel.k1(rows) - half.T @ half)
            return centre + spread * (mean + normals @ root.T)

    def _root(self, covariance: FloatArray) -> FloatArray:
        """A matrix (m, m) whose product with its transpose is the covariance, which it may change.

        Nearby rows make it singular but for rounding: the diagonal gets a millionth of a percent of
        the prior's variance. Where that is not enough, eigenvalues do, twenty times slower.
        """
        covariance[np.diag_indices_from(covariance)] += _JITTER * self._kernel.k1.k1.constant_value
        try:
            root = np.linalg.cholesky(covariance).astype(np.float64, copy=False)
        except np.linalg.LinAlgError:
            values, vectors = np.linalg.eigh(covariance)
            root = vectors * np.sqrt(np.maximum(values, 0.0))
        return root

    def _moments(self, matrix: FloatArray) -> IntervalParts:
        rows = self._standardised(matrix)
        with one_blas_thread():
            mean, half = self._condition(rows)
        signal = self._kernel.k1
        variance = np.maximum(signal.diag(rows) - (half**2).sum(axis=0), 0.0)
        noise = np.full(len(rows), float(self._kernel.k2.noise_level))
        return IntervalParts(mean, noise, variance)

    def _values_per_row(self) -> int:
        return 4 * len(self._X)

    def _standardised(self, matrix: FloatArray) -> FloatArray:
        return (matrix - self._centre) / self._spread

    def _condition(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Posterior mean (m,), and ``L^-1 k(training, rows)`` (n, m) that gives the variance."""
        across = self._kernel.k1(self._X, rows)
        half = solve_triangular(self._lower, across, lower=True, check_finite=False)
        return across.T @ self._weights, half

    def _optimise(self, X: FloatArray, y: FloatArray, restarts: int) -> None:
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

        kernel = ConstantKernel(1.0, _SIGNAL_VARIANCE) * RBF(1.0, _LENGTH_SCALE)
        kernel = kernel + WhiteKernel(0.1, _NOISE_VARIANCE)
        # Without an optimiser of its own, which would neither report progress nor end early.
        process = GaussianProcessRegressor(kernel, optimizer=None).fit(X, y)

        def loss(theta: FloatArray) -> tuple[float, FloatArray]:
            advance(0.0)
            value, gradient = process.log_marginal_likelihood(theta, eval_gradient=True)
            return -value, -gradient

        rng = np.random.default_rng(self.seed_)
        low, high = kernel.bounds.T
        starts = [kernel.theta, *(rng.uniform(0.5 * low, 0.5 * high) for _ in range(restarts))]

        def climb(start: FloatArray) -> Any:
            return minimize(
                loss,
                np.clip(start, low, high),
                jac=True,
                method="L-BFGS-B",
                bounds=kernel.bounds,
                options={"maxiter": _MAX_STEPS},
            )

        optima = []
        with stage(len(starts)):
            for start in starts:
                optima.append(climb(start))
                advance(1.0)
        best = min(optima, key=lambda optimum: float(optimum.fun))
        nearest = kernel.clone_with_theta(best.x).k1.k2(X) - np.eye(len(X))
        if np.median(nearest.max(axis=1)) < _APART:
            noise_alone = climb(np.array([low[0], 0.0, 0.0]))
            best = noise_alone if noise_alone.fun < best.fun + _ALIKE else best
        fitted = GaussianProcessRegressor(kernel.clone_with_theta(best.x), optimizer=None).fit(X, y)
        self._kernel, self._X = fitted.kernel_, X
        self._lower, self._weights = fitted.L_, fitted.alpha_
        self.log_marginal_likelihood_ = -float(best.fun)
