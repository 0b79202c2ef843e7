"""A variational soft tree for regression: the VST of Cinquin et al., section 4.1."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, Self

import numpy as np

from gbuq_core.errors import InvalidParameter
from gbuq_core.inputs import TargetScale, check_numeric_target, fit_target_scale
from gbuq_core.soft_trees.base import Draws, OneTree, SoftTreeRegression
from gbuq_core.soft_trees.fitting import fit_tree
from gbuq_core.soft_trees.forward import draw_log_densities, draw_moments
from gbuq_core.soft_trees.inputs import fit_scale
from gbuq_core.soft_trees.layout import TreeShape
from gbuq_core.validation import check_choice, check_number


class VariationalSoftTreeRegressor(OneTree, SoftTreeRegression):
    """One soft decision tree with a Gaussian posterior over all of its parameters (VST).

    Every gate sends a row right with probability ``sigmoid(beta (w.x + b))``. The target is a
    mixture of the leaves' normals (eq. 6). The parameters have the posterior ``N(mu,
    diag(sigma^2) + V V^T)`` (eq. 16) that maximises the evidence lower bound. Each draw of the
    parameters is a function; draws agree near training rows and spread apart elsewhere.

    The tree standardises features and target. Missing values are filled with the median and
    marked; each level of a category gets a column.

    Parameters
    ----------
    depth : int
        Levels of gates, 0 to 6; ``2^depth`` leaves.
    leaf : {"linear", "constant"}
        Whether a leaf's mean and (raw) std are linear in the features (eq. 13-14) or constant.
    rank : int
        Columns of V. 0 is the mean field; the number of parameters allows any covariance, and
        higher ranks are cut to it.
    beta : float
        Inverse temperature of the gates: higher is harder (eq. 9; the paper tunes it in [1, 50]).
    prior_scale : float
        Std of every parameter's normal prior (eq. 15), on the standardised scale.
    n_steps : int
        Adam steps at most.
    learning_rate : float or None
        Highest rate; it warms up and then falls to 0 along a cosine. V has a lower rate at higher
        ranks. None means ``0.03 / sqrt(columns)``, or a third of that with minibatches.
    n_draws : int
        Number of draws that predictions average over; the predicting methods take another number.
    n_gradient_draws : int
        Draws of each gradient step.
    n_restarts : int
        Number of starts; after a fifth of the steps only the one with the highest ELBO goes on.
    batch_size : int or None
        Rows of a step; None means all rows up to 5,000, and 1,000 rows for larger tables.
    flat_tolerance : float
        Training ends early once the mean ELBO rises by less than this from one tenth of the steps
        to the next, in nats per row; 0 never ends early.
    output : {"mixture", "mean"}
        "mean" makes the tree predict ``sum p_l(x) mu_l(x)`` (eq. 4) with one noise for all rows.
    noise : float or None
        The fixed noise std of a "mean" output, in units of y; None learns it.
    categorical_features : None, "from_dtype" or list
        Names or positions of category columns. None takes those columns of a DataFrame whose dtype
        is category or that hold text; "from_dtype" takes booleans and other objects too. With
        more than 32 levels, the 31 most frequent get a column each and the rest share one.
    n_jobs : int or None
        Threads. None means what joblib's ``parallel_config`` says, else all cores. Results do not
        depend on it.
    random_state : int, Generator, RandomState or None
        The same whole number gives the same result.

    Attributes
    ----------
    posterior_ : LowRankGaussian
        ``mean`` (P,), ``scale`` (P,), ``factor`` (P, rank), on the standardised scale; ``shape_``
        gives the order of the parameters.
    elbo_path_ : ElboPath
        ``step`` and ``elbo`` (n_steps_,).
    path_ : Snapshots
        ``step`` (n_snapshots,) and ``means`` (n_snapshots, P): the posterior mean in training.
    noise_ : float or None
        Noise std of a "mean" output, in units of y.
    trees_ : tuple of FittedTree
        The one tree.
    encoding_, target_scale_ : how columns and target are standardised.
    shape_, seed_, n_rows_, n_steps_, n_features_in_, feature_names_in_, fit_seconds_,
    memory_bytes_ : as usual.

    References
    ----------
    Cinquin, Rukat, Schmidt, Wistuba and Bekasov, "Variational boosted soft trees" (2023),
    sections 4.1 and supplement 1.1.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(-1.0, 1.0, 60)[:, None]
    >>> model = VariationalSoftTreeRegressor(depth=1, n_steps=400, random_state=0)
    >>> knowledge = model.fit(x, 2.0 * x[:, 0]).predict_uncertainty([[0.0], [3.0]]).knowledge
    >>> bool(knowledge[1] > knowledge[0])
    True
    >>> model.sample_functions(x, n_draws=20).shape
    (20, 60)
    """

    target_scale_: TargetScale

    def check_file(self) -> None:
        """As of all soft trees, and the noise in units of y."""
        super().check_file()
        noise = self.trees_[0].noise
        self.noise_ = None if noise is None else self.target_scale_.spread * noise

    def __init__(
        self,
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
        output: str = "mixture",
        noise: float | None = None,
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
        self.output = output
        self.noise = noise

    def _shape(self, n_features: int) -> TreeShape:
        check_choice("output", self.output, ("mixture", "mean"))
        return TreeShape(self.depth, n_features, self.leaf, self.output)

    def fit(self, X: Any, y: Any) -> Self:
        """Find the posterior.

        NaN in X is missing. Text is allowed in data frames, and in columns named in
        ``categorical_features``. y may be in any unit.
        """
        began = time.perf_counter()
        knobs = self._knobs()
        if self.noise is not None:
            if self.output == "mixture":
                raise InvalidParameter(
                    "noise needs output='mean', because each leaf of a mixture has its own std."
                )
            check_number("noise", self.noise, 0, low_open=True)
        matrix, target = self._begin(X, y)
        numbers = check_numeric_target(target)
        # With a given noise, a constant target keeps its unit.
        scale = fit_target_scale(numbers) if self.noise is not None else fit_scale(numbers)
        self.target_scale_ = scale
        knobs = self._plan(knobs, matrix)
        inner_noise = None if self.noise is None else self.noise / scale.spread
        tree = fit_tree(
            self.shape_,
            matrix,
            (numbers - scale.centre) / scale.spread,
            replace(knobs, noise=inner_noise),
            self.seed_,
            n_jobs=self.n_jobs,
        )
        self.noise_ = None if tree.noise is None else scale.spread * tree.noise
        self._end((tree,), len(matrix), began)
        return self

    def _draws(self, n_draws: int, seed: int) -> Draws:
        noise = self._only_tree().noise or 0.0
        return Draws(self.draw_parameters(n_draws, seed), np.full(n_draws, noise**2))

    def _inner_functions(self, matrix: np.ndarray, thetas: tuple[np.ndarray, ...]) -> np.ndarray:
        tree = self.trees_[0]
        return draw_moments(tree.shape, tree.beta, thetas[0], matrix).means

    def _inner_members(self, matrix: np.ndarray, draws: Draws) -> np.ndarray:
        tree = self.trees_[0]
        means, variances = draw_moments(tree.shape, tree.beta, draws.thetas[0], matrix)
        return np.stack([means, variances + draws.noises[:, None]], axis=-1)

    def _inner_log_densities(
        self, matrix: np.ndarray, inner: np.ndarray, draws: Draws
    ) -> np.ndarray:
        tree = self.trees_[0]
        return draw_log_densities(
            tree.shape, tree.beta, draws.thetas[0], matrix, inner, tree.noise or 1.0
        )
