"""Several targets at once: one predictive distribution each, and how they hang together.

Each target has its own model. What ties them is learnt from rows left out: the places of a row's
targets in their predicted distributions (probability integral transforms, PITs) come in pairs, and
pairs drawn anew carry any dependence over to new rows (the empirical copula of a forecast's errors:
Schefzik, Thorarinsdottir and Gneiting, 2013). Where it changes from row to row, the pairs of
similar rows alone are drawn, by their ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin, clone

from gbuq_core.array_checks import FloatArray, check_array
from gbuq_core.distribution import Distribution, MixtureDistribution
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.inputs import draw_seed, take_rows
from gbuq_core.validation import check_number

DEPENDENCES = ("independent", "pairs", "similar")  # of which the best on rows left out is used
N_FOLDS, N_SIMILAR, MOST_PAIRS = 5, 80, 5000
_DRAWS = 400  # of a row, where a score or a region needs them
# Levels of the quantiles that draws are read off.
_LEVELS = np.concatenate([[0.0005], np.linspace(0.004, 0.996, 249), [0.9995]])
_JITTER = 0.01  # of a PIT that is drawn anew, so that no draw repeats
_NEAR = 0.05  # std of the kernel, in PITs, by which pairs count as those of a given value


class _Fixed(NamedTuple):
    """A target whose value is known: its position, and the value in each row (n_samples,)."""

    target: int
    values: FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class JointDistribution:
    """Predicted distribution of several targets, one for each row.

    `MultiTargetRegressor.predict_distribution` returns it; ``len(joint)`` is the number of rows.
    """

    names: tuple[str, ...]  # of the targets
    marginals: tuple[Distribution, ...]  # of each target
    pits: FloatArray  # (n_pairs, n_targets): places of rows left out in their distributions
    similar: NDArray[np.intp] | None  # (n_samples, n_similar): their pairs alone; None: all
    densities: FloatArray  # shares of draws less likely than the targets of rows left out
    fixed: _Fixed | None = None

    def __len__(self) -> int:
        return len(self.marginals[0])

    def sample(self, draws: int = _DRAWS, random_state: Any = None) -> FloatArray:
        """Draws of all targets together, (draws, n_samples, n_targets), in their units."""
        count = check_number("draws", draws, 1, 100_000, integer=True)
        random = np.random.default_rng(draw_seed(random_state))
        n_rows, n_targets = len(self), len(self.marginals)
        found = np.empty((count, n_rows, n_targets))
        levels = [law.quantile(_LEVELS) for law in self.marginals]
        known = None
        if self.fixed is not None:
            known = self.marginals[self.fixed.target].cdf(self.fixed.values)
        for row in range(n_rows):
            places = self._places(row, count, random, None if known is None else known[row])
            for target in range(n_targets):
                found[:, row, target] = np.interp(places[:, target], _LEVELS, levels[target][row])
        if self.fixed is not None:
            found[:, :, self.fixed.target] = self.fixed.values
        return found

    def _places(
        self, row: int, count: int, random: np.random.Generator, known: float | None
    ) -> FloatArray:
        """Draws of the PITs of a row's targets, (count, n_targets)."""
        pits = self.pits if self.similar is None else self.pits[self.similar[row]]
        if self.similar is not None:  # by rank: similar rows may lie off in one direction
            pits = (pits.argsort(axis=0).argsort(axis=0) + 0.5) / len(pits)
        shares = None
        if self.fixed is not None and known is not None:
            # With few pairs, those of more distant places count too.
            near = max(_NEAR, 2.0 / len(pits))
            shares = np.exp(-0.5 * ((pits[:, self.fixed.target] - known) / near) ** 2) + 1e-300
            shares /= shares.sum()
        drawn = pits[random.choice(len(pits), size=count, p=shares)]
        wide = _JITTER if self.similar is None else 0.5 / len(pits)
        return np.clip(drawn + random.uniform(-wide, wide, drawn.shape), _LEVELS[0], _LEVELS[-1])

    def of(self, function: Callable[[FloatArray], ArrayLike], draws: int = 1000) -> Distribution:
        """The distribution of any function of the targets, such as their sum.

        Parameters
        ----------
        function : callable
            Takes draws (draws, n_samples, n_targets) and returns (draws, n_samples).
        draws : int

        Returns
        -------
        Distribution
            Of normals around the draws, as wide as Silverman's rule says.
        """
        values = check_array("function", function(self.sample(draws, random_state=0)), 2)
        if values.shape != (draws, len(self)):
            raise InvalidParameter(
                f"The function must return {draws:,} x {len(self):,} numbers; it returned "
                f"{' x '.join(f'{size:,}' for size in values.shape)}."
            )
        centre, width = values.mean(axis=0), 1.06 * draws**-0.2
        shrink = 1.0 / np.sqrt(1.0 + width**2)  # so that the variance stays that of the draws
        variances = (width * shrink * values.std(axis=0)) ** 2
        return MixtureDistribution(
            centre + shrink * (values - centre), np.broadcast_to(variances, values.shape)
        )

    def given(self, target: str | int, value: ArrayLike) -> JointDistribution:
        """The same where one target is known: ``joint.given("weight", 3.0)``.

        Parameters
        ----------
        target : str or int
            Its name or position.
        value : float, or array-like of shape (n_samples,)
        """
        if self.fixed is not None:
            raise InvalidParameter("One target is given already: give another one of the whole.")
        if isinstance(target, str) and target not in self.names:
            raise InvalidParameter(f"target must be one of {', '.join(self.names)}.")
        place = self.names.index(target) if isinstance(target, str) else int(target)
        if not 0 <= place < len(self.names):
            raise InvalidParameter(f"target must lie between 0 and {len(self.names) - 1}.")
        values = check_array("value", np.broadcast_to(value, (len(self),)), 1)
        return replace(self, fixed=_Fixed(place, values))

    def contains(self, Y: ArrayLike, level: float = 0.9) -> NDArray[np.bool_]:
        """Whether the targets lie in the joint region of highest density, (n_samples,).

        Parameters
        ----------
        Y : array-like of shape (n_samples, n_targets)
        level : float
            Share of new rows whose targets lie inside; the density at its edge is the one that so
            many rows left out exceeded.
        """
        values = check_array("Y", Y, 2)
        if values.shape != (len(self), len(self.names)):
            raise InvalidData(f"Y must have {len(self):,} rows and {len(self.names)} columns.")
        check_number("level", level, 0.0, 1.0)
        return _shares_below(self.sample(random_state=0), values) >= self.edge(level)

    def edge(self, level: float) -> float:
        """The share of draws less likely than the edge of the region at a level."""
        return float(np.quantile(self.densities, 1.0 - level))

    def __getitem__(self, rows: Any) -> JointDistribution:
        fixed = self.fixed and self.fixed._replace(values=self.fixed.values[rows])
        return replace(
            self,
            marginals=tuple(law[rows] for law in self.marginals),
            similar=None if self.similar is None else self.similar[rows],
            fixed=fixed,
        )


class MultiTargetRegressor(RegressorMixin, BaseEstimator):
    """A joint predictive distribution of several targets, by any regressor of one.

    Parameters
    ----------
    estimator : estimator or None
        A regressor with ``predict_distribution``, copied for each target and fold; None is a
        `StackedRegressor`.
    random_state : int, RandomState, Generator or None
        Of the folds.

    Attributes
    ----------
    estimators_ : list of estimators
        One a target, fitted on all rows.
    dependence_ : {"independent", "pairs", "similar"}
        What ties the targets: the best energy score on rows left out, and what is simpler where
        the gain is within one standard error.
    energy_scores_ : dict
        Mean energy score of each on rows left out, targets in stds.
    target_names_ : tuple of str

    Notes
    -----
    Pairs of similar rows (those that share most leaves in the targets' trees) are tried where the
    estimator has ``leaf_indices``.

    References
    ----------
    Schefzik, Thorarinsdottir and Gneiting, "Uncertainty quantification in complex simulation models
    using ensemble copula coupling" (2013).

    Examples
    --------
    >>> from gbuq_core import BoostedEnsembleRegressor
    >>> rng = np.random.default_rng(0)
    >>> X, noise = rng.normal(size=(400, 2)), rng.normal(size=400)
    >>> Y = np.stack([X[:, 0] + noise, X[:, 1] - noise], axis=1)  # what one gains, the other loses
    >>> trees = BoostedEnsembleRegressor(n_members=2, n_trees=60, random_state=0)
    >>> model = MultiTargetRegressor(trees, random_state=0).fit(X[:300], Y[:300])
    >>> joint = model.predict_distribution(X[300:])
    >>> model.dependence_
    'pairs'
    >>> total = joint.of(lambda y: y.sum(axis=2))
    >>> bool(total.scale.mean() < 0.7 * joint.marginals[0].scale.mean())
    True
    >>> known = joint.given(0, 3.0).sample(200, random_state=0)[:, :, 1]
    >>> bool(known.mean() < joint.marginals[1].loc.mean() - 0.5)
    True
    """

    def __init__(self, estimator: Any = None, random_state: Any = None) -> None:
        self.estimator = estimator
        self.random_state = random_state

    def fit(self, X: Any, Y: Any) -> MultiTargetRegressor:
        """Fit a model a target, and learn on rows left out how the targets hang together.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        Y : array-like of shape (n_samples, n_targets)
            Of a frame, the columns' names are those of the targets.
        """
        from sklearn.model_selection import KFold

        from gbuq_core.stacking import StackedRegressor

        targets = check_array("Y", Y, 2)
        n_rows, n_targets = targets.shape
        if n_targets < 2:
            raise InvalidData("Y needs at least two columns: fit one target with the estimator.")
        if len(X) != n_rows:
            raise InvalidData(f"X has {len(X):,} rows, Y has {n_rows:,}.")
        names = getattr(Y, "columns", [f"y{place + 1}" for place in range(n_targets)])
        self.target_names_ = tuple(str(name) for name in names)
        seed = draw_seed(self.random_state)
        model = StackedRegressor(random_state=seed) if self.estimator is None else self.estimator

        def fitted(rows: NDArray[np.intp]) -> list[Any]:
            some = take_rows(X, rows)
            return [clone(model).fit(some, targets[rows, k]) for k in range(n_targets)]

        self.estimators_ = fitted(np.arange(n_rows))
        pits = np.empty_like(targets)
        folds = []  # rows used and left out, and the models' answers on these
        for used, left in KFold(N_FOLDS, shuffle=True, random_state=seed % 2**32).split(targets):
            models, rows = fitted(used), take_rows(X, left)
            laws = tuple(model.predict_distribution(rows) for model in models)
            pits[left] = np.stack([law.cdf(targets[left, k]) for k, law in enumerate(laws)], axis=1)
            leaves = _leaves(models, take_rows(X, used))
            near = None if leaves is None else _similar(_leaves(models, rows), leaves)
            folds.append((used, left, laws, near))
        self._pits, self._leaves = pits, _leaves(self.estimators_, X)

        def draws_of(dependence: str) -> Iterator[tuple[NDArray[np.intp], FloatArray]]:
            for used, left, laws, near in folds:
                joint = self._joint(dependence, laws, pits[used], near, np.zeros(1))
                yield left, joint.sample(random_state=seed)

        spread = targets.std(axis=0)
        scores = {}
        for name in DEPENDENCES if self._leaves is not None else DEPENDENCES[:2]:
            scores[name] = np.empty(n_rows)
            for left, draws in draws_of(name):
                scores[name][left] = energy_score(draws / spread, targets[left] / spread)
        self.energy_scores_ = {name: float(score.mean()) for name, score in scores.items()}
        self.dependence_ = _simplest(scores)
        self._densities = np.concatenate(
            [_shares_below(draws, targets[left]) for left, draws in draws_of(self.dependence_)]
        )
        return self

    def _joint(
        self,
        dependence: str,
        laws: tuple[Distribution, ...],
        pits: FloatArray,
        near: NDArray[np.intp] | None,
        densities: FloatArray,
    ) -> JointDistribution:
        if dependence == "independent":  # each column in an order of its own
            random = np.random.default_rng(0)
            grid = (np.arange(MOST_PAIRS) + 0.5) / MOST_PAIRS
            pits = np.stack([random.permutation(grid) for _ in laws], axis=1)
        return JointDistribution(
            names=self.target_names_,
            marginals=laws,
            pits=pits,
            similar=near if dependence == "similar" else None,
            densities=densities,
        )

    def predict_distribution(self, X: Any) -> JointDistribution:
        """Joint distribution of the targets of each row."""
        laws = tuple(model.predict_distribution(X) for model in self.estimators_)
        near = None
        if self.dependence_ == "similar":
            near = _similar(_leaves(self.estimators_, X), self._leaves)
        return self._joint(self.dependence_, laws, self._pits, near, self._densities)

    def predict(self, X: Any) -> FloatArray:
        """Means of the targets, (n_samples, n_targets)."""
        return np.stack([model.predict(X) for model in self.estimators_], axis=1)


def energy_score(draws: ArrayLike, y: ArrayLike) -> FloatArray:
    """Energy score at y of joint draws (draws, n_samples, n_targets): (n_samples,), best if small.

    The mean distance of draws from y less half of that between draws (Gneiting and Raftery, 2007),
    by pairs of neighbouring draws, which are independent.
    """
    found, values = check_array("draws", draws, 3), check_array("y", y, 2)
    apart = np.linalg.norm(found - np.roll(found, 1, axis=0), axis=2).mean(axis=0)
    return np.linalg.norm(found - values, axis=2).mean(axis=0) - 0.5 * apart


def _simplest(scores: dict[str, FloatArray]) -> str:
    """The dependence of the best score; a later one must gain by more than one standard error."""
    best = DEPENDENCES[0]
    for name in list(scores)[1:]:
        gain = scores[best] - scores[name]
        if gain.mean() > gain.std() / np.sqrt(len(gain)):
            best = name
    return best


def _leaves(models: Sequence[Any], X: Any) -> NDArray[np.int32] | None:
    """Leaves of rows in some trees of all models, (n_samples, n_trees); None without trees."""
    found = []
    for model in models:
        trees = getattr(model, "estimator_", model)
        if not hasattr(trees, "leaf_indices"):
            return None
        each = np.asarray(trees.leaf_indices(X))
        found.append(each[:, :: max(1, each.shape[1] // 200)])
    return np.concatenate(found, axis=1).astype(np.int32)


def _similar(rows: NDArray[np.int32] | None, among: NDArray[np.int32] | None) -> Any:
    """Positions of the rows that share most leaves with each row, (n_samples, n_similar)."""
    assert rows is not None
    assert among is not None
    most = min(N_SIMILAR, len(among))
    found = np.empty((len(rows), most), np.intp)
    for row, leaves in enumerate(rows):
        found[row] = np.argsort(-(among == leaves).sum(axis=1), kind="stable")[:most]
    return found


def _shares_below(draws: FloatArray, y: FloatArray) -> FloatArray:
    """The share of draws whose density, by kernels on the other half, is at most that at y."""
    half = len(draws) // 2
    found = np.empty(len(y))
    for row, value in enumerate(y):
        kernels, others = draws[:half, row], draws[half:, row]
        centre, spread = kernels.mean(axis=0), np.cov(kernels.T)
        spread = (
            spread + 1e-9 * np.trace(spread) * np.eye(len(spread)) + 1e-300 * np.eye(len(spread))
        )
        whiten = np.linalg.inv(np.linalg.cholesky(spread)).T
        # Narrower than Scott's rule by 1.3: regions may have holes.
        wide = half ** (-1.0 / (4.0 + len(spread))) / 1.3
        points = (np.concatenate([others, value[None]]) - centre) @ whiten / wide
        near = (kernels - centre) @ whiten / wide
        squares = ((points[:, None] - near[None]) ** 2).sum(axis=2)
        density = np.exp(-0.5 * squares).mean(axis=1)
        found[row] = (density[:-1] <= density[-1]).mean()
    return found
