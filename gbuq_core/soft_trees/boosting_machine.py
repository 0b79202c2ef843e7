"""A sum of variational soft trees: the VSGBM of Cinquin et al., algorithm 1."""

from __future__ import annotations

import time
from typing import Any, Self

import numpy as np

from gbuq_core.inputs import TargetScale, check_numeric_target
from gbuq_core.jobs import parallel_map, stage
from gbuq_core.knobs import check_within
from gbuq_core.methods import METHODS
from gbuq_core.model_files.contents import require
from gbuq_core.soft_trees.base import Draws, SoftTreeRegression
from gbuq_core.soft_trees.fitting import fit_tree
from gbuq_core.soft_trees.forward import draw_moments
from gbuq_core.soft_trees.gaussian import LowRankGaussian
from gbuq_core.soft_trees.inputs import fit_scale
from gbuq_core.soft_trees.layout import TreeShape
from gbuq_core.soft_trees.results import ElboPath, FittedTree
from gbuq_core.validation import check_number

_TREES = METHODS["vsgbm"].knob("n_trees")
MAX_TREES = int(_TREES.high or 0)
MAX_NOISE_ROWS = 5_000  # the residuals of so many rows tell the noise to within 1 %
_KEPT_NOISES = 8  # sets of draws whose noise is remembered
_RESIDUAL_DRAW = 1_000_000_007  # the draw of each tree that residuals are formed with


class VariationalSoftGBMRegressor(SoftTreeRegression):
    """A boosted sum of variational soft trees with one noise variance (VSGBM).

    Every tree predicts a mean (eq. 4). It is fitted to the residuals of y after one draw of every
    earlier tree (algorithm 1), together with its noise std. Given a draw of all trees, the noise
    variance comes from its inverse-Gamma posterior ``(a + n/2, b + r.r/2)``, where ``r`` are the
    residuals. The paper prints it without the halves.

    Parameters
    ----------
    n_trees : int
        Trees of the sum.
    depth, leaf, rank, beta, prior_scale, n_steps, learning_rate, n_draws, n_gradient_draws,
    n_restarts, batch_size, flat_tolerance, categorical_features, n_jobs, random_state
        As in `VariationalSoftTreeRegressor`, for each tree.
    noise_shape, noise_rate : float
        a and b of the prior of the noise variance, on the standardised scale.

    Attributes
    ----------
    trees_ : tuple of FittedTree
        ``posterior``, ``elbo``, ``snapshots`` and ``noise`` of each tree, on the inner scale.
    posterior_ : tuple of LowRankGaussian
    elbo_path_ : tuple of ElboPath
    shape_, encoding_, target_scale_, seed_, n_rows_, n_steps_, n_features_in_, feature_names_in_,
    fit_seconds_, memory_bytes_ : as in `VariationalSoftTreeRegressor`.

    References
    ----------
    Cinquin, Rukat, Schmidt, Wistuba and Bekasov, "Variational boosted soft trees" (2023),
    section 4.2.

    Examples
    --------
    >>> x = np.linspace(-1.0, 1.0, 60)[:, None]
    >>> model = VariationalSoftGBMRegressor(n_trees=2, depth=1, n_steps=300, random_state=0)
    >>> model.fit(x, np.abs(x[:, 0])).staged_functions(x, n_draws=10).shape
    (2, 10, 60)
    """

    target_scale_: TargetScale
    _noise_rows: tuple[np.ndarray, np.ndarray]
    _most_trees = MAX_TREES

    def check_file(self) -> None:
        """As of all soft trees, and the rows of its noise."""
        super().check_file()
        rows, targets = self._noise_rows
        require(self.shape_.output == "mean", "the shape of its trees is impossible")
        possible = rows.dtype == targets.dtype == np.float64 and len(rows) >= 1
        possible = possible and rows.shape == (len(targets), self.shape_.n_features)
        require(possible and np.isfinite(rows).all(), "the rows of its noise are impossible")
        self._noises: dict[tuple[int, int], np.ndarray] = {}

    def __init__(
        self,
        n_trees: int = 5,
        depth: int = 3,
        leaf: str = "linear",
        rank: int = 5,
        beta: float = 5.0,
        prior_scale: float = 2.5,
        n_steps: int = 3000,
        learning_rate: float | None = None,
        n_draws: int = 100,
        n_gradient_draws: int = 2,
        n_restarts: int = 2,
        batch_size: int | None = None,
        flat_tolerance: float = 0.001,
        noise_shape: float = 3.0,
        noise_rate: float = 1.0,
        categorical_features: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            depth,
            leaf,
            rank,
            beta,
            prior_scale,
            n_steps,
            learning_rate,
            n_draws,
            n_gradient_draws,
            n_restarts,
            batch_size,
            flat_tolerance,
            categorical_features,
            n_jobs,
            random_state,
        )
        self.n_trees = n_trees
        self.noise_shape = noise_shape
        self.noise_rate = noise_rate

    def _shape(self, n_features: int) -> TreeShape:
        return TreeShape(self.depth, n_features, self.leaf, "mean")

    def _n_trees(self) -> int:
        return int(check_within(_TREES, self.n_trees))

    def fit(self, X: Any, y: Any) -> Self:
        """Fit one tree after the other; parameters as in `VariationalSoftTreeRegressor.fit`."""
        began = time.perf_counter()
        knobs, n_trees = self._knobs(), self._n_trees()
        check_number("noise_shape", self.noise_shape, 0, low_open=True)
        check_number("noise_rate", self.noise_rate, 0, low_open=True)
        matrix, target = self._begin(X, y)
        numbers = check_numeric_target(target)
        scale = fit_scale(numbers)
        self.target_scale_ = scale
        knobs = self._plan(knobs, matrix)
        left = (numbers - scale.centre) / scale.spread
        inner = left
        trees: list[FittedTree] = []
        with stage(n_trees):
            for number in range(n_trees):
                if number:
                    # every earlier tree is drawn anew, not only the last
                    left = inner - self._sampled_sum(matrix, trees, number)
                with stage(1, span=1):
                    trees.append(
                        fit_tree(self.shape_, matrix, left, knobs, self.seed_, number, self.n_jobs)
                    )
        self._remember_rows(matrix, inner)
        self._end(tuple(trees), len(matrix), began)
        return self

    def _sampled_sum(self, matrix: np.ndarray, trees: list[FittedTree], number: int) -> np.ndarray:
        """The sum (n,) of one draw of each tree, fresh for tree ``number``."""
        total = np.zeros(len(matrix))
        for member, tree in enumerate(trees):
            theta = tree.posterior.draw(1, self.seed_, first=_RESIDUAL_DRAW + number, member=member)
            total += draw_moments(tree.shape, tree.beta, theta, matrix).means[0]
        return total

    def _remember_rows(self, matrix: np.ndarray, inner: np.ndarray) -> None:
        """Keep the rows whose residuals tell the noise of a draw."""
        rows = np.arange(len(matrix))
        if len(rows) > MAX_NOISE_ROWS:
            rng = np.random.default_rng(self.seed_)
            rows = np.sort(rng.choice(len(rows), MAX_NOISE_ROWS, replace=False))
        self._noise_rows = (np.ascontiguousarray(matrix[rows]), inner[rows])
        self._noises = {}

    @property
    def posterior_(self) -> tuple[LowRankGaussian, ...]:
        """The posterior of each tree's parameters."""
        self._only_tree()
        return tuple(tree.posterior for tree in self.trees_)

    @property
    def elbo_path_(self) -> tuple[ElboPath, ...]:
        """How the evidence lower bound of each tree rose."""
        self._only_tree()
        return tuple(tree.elbo for tree in self.trees_)

    def staged_functions(
        self, X: Any, n_draws: int | None = None, seed: int | None = None
    ) -> np.ndarray:
        """Mean functions after one tree, two trees, and so on, (n_trees, n_draws, n_samples).

        In units of y; the last stage holds the draws of `sample_functions`.
        """
        n, seed = self._check_draws(n_draws, seed)
        thetas = self.draw_parameters(n, seed)
        matrix = self._encode(X)

        def contribution(number: int) -> np.ndarray:
            tree, theta = self.trees_[number], thetas[number]
            return self._by_rows(
                lambda rows: draw_moments(tree.shape, tree.beta, theta, rows).means, matrix, n
            )

        by_tree = [contribution(number) for number in range(len(thetas))]
        sums = np.cumsum(by_tree, axis=0)
        return self.target_scale_.centre + self.target_scale_.spread * sums

    def noise_variances(self, n_draws: int | None = None, seed: int | None = None) -> np.ndarray:
        """A noise variance for each draw, (n_draws,), in squared units of y."""
        n, seed = self._check_draws(n_draws, seed)
        return self.target_scale_.spread**2 * self._inner_noises(n, seed)

    def _inner_noises(self, n_draws: int, seed: int) -> np.ndarray:
        key = (n_draws, seed)
        noises = self._noises.get(key)
        if noises is None:
            matrix, inner = self._noise_rows
            thetas = self.draw_parameters(n_draws, seed)

            def residual_squares(rows: slice) -> np.ndarray:
                left = inner[rows] - self._inner_functions(matrix[rows], thetas)
                return np.square(left).sum(axis=1)

            size = 1_000
            parts = [slice(i, i + size) for i in range(0, len(inner), size)]
            squares = sum(parallel_map(residual_squares, parts, self.n_jobs))
            share = self.n_rows_ / len(inner)
            rng = np.random.default_rng([seed, 0x16A])
            gammas = rng.standard_gamma(self.noise_shape + 0.5 * self.n_rows_, n_draws)
            noises = (self.noise_rate + 0.5 * share * squares) / gammas
            if len(self._noises) >= _KEPT_NOISES:
                self._noises.clear()
            self._noises[key] = noises
        return noises

    def _draws(self, n_draws: int, seed: int) -> Draws:
        return Draws(self.draw_parameters(n_draws, seed), self._inner_noises(n_draws, seed))

    def _inner_functions(self, matrix: np.ndarray, thetas: tuple[np.ndarray, ...]) -> np.ndarray:
        total = np.zeros((len(thetas[0]), len(matrix)))
        for tree, theta in zip(self.trees_, thetas, strict=True):
            total += draw_moments(tree.shape, tree.beta, theta, matrix).means
        return total

    def _inner_members(self, matrix: np.ndarray, draws: Draws) -> np.ndarray:
        means = self._inner_functions(matrix, draws.thetas)
        return np.stack([means, np.broadcast_to(draws.noises[:, None], means.shape)], axis=-1)

    def _inner_log_densities(
        self, matrix: np.ndarray, inner: np.ndarray, draws: Draws
    ) -> np.ndarray:
        means, variances = self._inner_functions(matrix, draws.thetas), draws.noises[:, None]
        return -0.5 * (np.square(inner - means) / variances + np.log(2.0 * np.pi * variances))
