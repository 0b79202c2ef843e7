"""XBART: Bayesian additive regression trees grown from the root, by the package stochtree.

He and Hahn (2021), "Stochastic tree ensembles for regularized nonlinear regression"; what Cinquin
et al. (2022, section 5) compare soft trees with. Each sweep over the trees is a posterior draw.
"""

from __future__ import annotations

import time
from typing import Annotated, Any, Self

import numpy as np

from gbuq_core.array_checks import FloatArray
from gbuq_core.baselines.interval_regressor import IntervalParts, short_seed
from gbuq_core.baselines.sampled_functions import SampledFunctionsRegressor, join_moments
from gbuq_core.distribution import Distribution, MixtureDistribution
from gbuq_core.errors import InvalidData
from gbuq_core.jobs import check_memory, tick
from gbuq_core.knobs import check_within
from gbuq_core.lazy import import_optional
from gbuq_core.methods import METHODS
from gbuq_core.model_files.contents import check_arrays, require
from gbuq_core.validation import check_number

_TIES_APART = 1e-6  # in stds of the column


class XBARTRegressor(SampledFunctionsRegressor):
    """Trees drawn sweep by sweep; every kept sweep is one function and one noise variance.

    Parameters
    ----------
    n_trees : int
        Trees whose sum is one draw.
    n_draws : int
        Sweeps that are kept.
    n_burn_in : int
        Sweeps before them, the paper's 15.
    alpha, beta : float
        Prior probability ``alpha (1 + depth)^-beta`` that a node splits.
    max_depth : int
    min_samples_leaf : int
        Lowered to half of the rows less one, so that a small table can still be split.
    random_state : int, RandomState, Generator or None

    Attributes
    ----------
    noise_variances_ : ndarray of shape (n_draws,)
        Of each draw, in squared units of y.
    n_features_in_, feature_names_in_ : as usual
    fit_seconds_ : float

    Notes
    -----
    All sweeps are one call of the library, so a fit cannot stop halfway. 150 rows take 0.2 s; 5,000
    rows of eight features take 4 s.

    References
    ----------
    He and Hahn (2021); Cinquin et al. (2022), section 5 and table 5.

    Examples
    --------
    >>> x = np.linspace(-1.0, 1.0, 60)[:, None]
    >>> model = XBARTRegressor(n_trees=5, n_draws=20, random_state=0).fit(x, np.sign(x[:, 0]))
    >>> model.sample_functions([[-0.5], [0.5]], 8).shape
    (8, 2)
    >>> model.predict([[-0.5], [0.5]]).round()
    array([-1.,  1.])
    """

    n_kept_: int
    noise_variances_: np.ndarray
    _forests: Annotated[Any, "stochtree.ForestContainer"]

    def check_file(self) -> None:
        """Refuse trees of other columns, and more sweeps than there are."""
        self._check_parameters()
        forests = self._forests
        require(forests.n_columns <= self.n_features_in_, "a tree splits by no feature")
        possible = 1 <= self.n_kept_ <= forests.num_samples()
        require(possible, "its forests are impossible")
        check_arrays(self, noise_variances_=("finite", self.n_kept_))
        require((self.noise_variances_ > 0.0).all(), "a variance is impossible")

    def __init__(
        self,
        n_trees: int = 30,
        n_draws: int = 100,
        n_burn_in: int = 15,
        alpha: float = 0.95,
        beta: float = 2.0,
        max_depth: int = 10,
        min_samples_leaf: int = 5,
        random_state: Any = None,
    ) -> None:
        self.n_trees = n_trees
        self.n_draws = n_draws
        self.n_burn_in = n_burn_in
        self.alpha = alpha
        self.beta = beta
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Draw the trees for numbers X (n_samples, n_features): three rows or more, no gaps."""
        began = time.perf_counter()
        self._check_parameters()
        matrix, target = self._read_training_rows(X, y)
        if len(target) < 3:
            raise InvalidData(f"n_samples = {len(target)} is too few for XBART: pass 3 or more.")
        if target.min() == target.max():
            raise InvalidData("y has only one value, but XBART needs a target that varies.")
        tick(0)
        model = import_optional("stochtree").BARTModel()
        seed = short_seed(self.random_state)
        model.sample(
            X_train=_writable(_apart(matrix, seed)),
            y_train=target,
            num_gfr=self.n_burn_in + self.n_draws,
            num_burnin=0,
            num_mcmc=0,
            general_params={"random_seed": seed, "num_threads": 1, "standardize": False},
            mean_forest_params={
                "num_trees": int(self.n_trees),
                "alpha": float(self.alpha),
                "beta": float(self.beta),
                "max_depth": int(self.max_depth),
                "min_samples_leaf": min(int(self.min_samples_leaf), (len(target) - 1) // 2),
            },
        )
        tick(1)
        self._forests = model.forest_container_mean
        self.n_kept_ = int(self.n_draws)
        inner = np.asarray(model.global_var_samples, dtype=np.float64)[-self.n_kept_ :]
        self.noise_variances_ = inner * self.target_scale_.spread**2
        self.fit_seconds_ = time.perf_counter() - began
        return self

    def sample_functions(self, X: Any, n_draws: int | None = None) -> FloatArray:
        """Mean functions of evenly spaced kept sweeps: (n_draws, n_samples), in units of y.

        `InvalidParameter` if more draws are asked for than were kept.
        """
        matrix = self._read_new_rows(X)
        chosen = self._choose(n_draws)
        centre, spread = self.target_scale_
        return centre + spread * self._functions(matrix)[chosen]

    def predict_members(self, X: Any, n_draws: int | None = None) -> FloatArray:
        """Mean and noise variance of each draw, (n_draws, n_samples, 2)."""
        means = self.sample_functions(X, n_draws)
        noise = self.noise_variances_[self._choose(n_draws)]
        return np.stack([means, np.broadcast_to(noise[:, None], means.shape)], axis=2)

    def predict_distribution(self, X: Any) -> Distribution:
        """The mixture over the kept sweeps: each a normal with its mean and its noise variance."""
        blocks = self._blocks(X)
        check_memory(32.0 * self.n_kept_ * sum(map(len, blocks)), "these laws of all draws")
        drawn = [self._functions(rows) for rows in blocks]
        moments = join_moments([self._moments_of(block) for block in drawn])
        centre, spread = self.target_scale_
        means = centre + spread * np.concatenate(drawn, axis=1)
        noise = np.broadcast_to(self.noise_variances_[:, None], means.shape)
        return MixtureDistribution(means, noise, pair=moments.pair(self.target_scale_))

    def _choose(self, n_draws: int | None) -> np.ndarray:
        """Which kept sweeps ``n_draws`` of them are."""
        kept = self.n_kept_
        if n_draws is None:
            return np.arange(kept)
        count = check_number("n_draws", n_draws, 1, kept, integer=True)
        return np.linspace(0, kept - 1, count).round().astype(np.intp)

    def _functions(self, matrix: FloatArray) -> FloatArray:
        """Every kept sweep's function on the inner scale, (n_kept, n_samples)."""
        rows = import_optional("stochtree").Dataset()
        rows.add_covariates(_writable(matrix))
        drawn = np.asarray(self._forests.predict(rows), dtype=np.float64)
        return drawn.reshape(len(matrix), -1)[:, -self.n_kept_ :].T

    def _moments(self, matrix: FloatArray) -> IntervalParts:
        return self._moments_of(self._functions(matrix))

    def _moments_of(self, functions: FloatArray) -> IntervalParts:
        noise = self.noise_variances_.mean() / self.target_scale_.spread**2
        n_rows = functions.shape[1]
        return IntervalParts(functions.mean(axis=0), np.full(n_rows, noise), functions.var(axis=0))

    def _values_per_row(self) -> int:
        return 2 * (self.n_burn_in + self.n_kept_)

    def _check_parameters(self) -> None:
        for knob in METHODS["xbart"].knobs:
            check_within(knob, getattr(self, knob.key))
        check_number("alpha", self.alpha, 0.0, 0.999, low_open=True)
        check_number("beta", self.beta, 0.0, 100.0)
        check_number("max_depth", self.max_depth, 1, 64, integer=True)
        check_number("min_samples_leaf", self.min_samples_leaf, 1, integer=True)

    def __getstate__(self) -> dict[str, Any]:
        """The library's own objects do not copy: their text does."""
        state: dict[str, Any] = dict(super().__getstate__())
        if "_forests" in state:
            state["_forests"] = self._forests.dump_json_string()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "_forests" in state:
            library, n_trees = import_optional("stochtree"), int(state["n_trees"])
            forests = library.ForestContainer(n_trees, 1, True, False)
            forests.load_from_json_string(state["_forests"])
            state = {**state, "_forests": forests}
        super().__setstate__(state)


def _apart(matrix: FloatArray, seed: int) -> FloatArray:
    """Equal values moved apart by a millionth of the std: XBART hardly splits repeated ones."""
    rng = np.random.default_rng(seed)
    moved = matrix.copy()
    for column in moved.T:
        _, codes, counts = np.unique(column, return_inverse=True, return_counts=True)
        tied = counts[codes] > 1
        column[tied] += _TIES_APART * column.std() * rng.standard_normal(int(tied.sum()))
    return moved


def _writable(matrix: FloatArray) -> FloatArray:
    """The library refuses arrays that it could not write to, though it does not write."""
    return np.require(matrix, requirements=["C", "W"])
