"""Two clocks: trees for the mean, trees for the scale, one factor and a tail, from unseen rows.

A boosted Gaussian goes on improving its mean long after its scale has begun to collapse onto the
training residuals. So the two stop at different numbers of trees:

1. the mean clock ``a`` minimises the squared error of the members' mean;
2. with that mean, the scale clock ``b``, the factor ``g`` and the degrees of freedom minimise the
   mean negative log likelihood of the total variance ``g^2 data_b + knowledge_a``.

Data uncertainty is scaled, knowledge never is.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from gbuq_core.errors import InvalidData
from gbuq_core.model_files.contents import require
from gbuq_core.validation import check_choice

TAILS = ("student", "normal")
# Below 2 a Student t has no variance, so no std to keep; 1e4 would be the normal.
_DEGREES = (2.2, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0, 20.0, 50.0, math.inf)
_FIRST_DEGREES = 5.0  # where the search for a scale clock starts with a t
MOST_LOG_FACTOR = 4.0  # a factor between 1 / 55 and 55
_LOG_FACTOR_STEP = 0.005
_MOST_ROUNDS = 4
_MOST_STAGES = 40
_FIRST_STAGE = 5  # trees
# A variance below this share of the squared errors' mean counts as this: rows without noise would
# make the likelihood of an exact fit infinite, and choose the factor by themselves.
_SMALLEST_SHARE = 1e-12


@dataclass(frozen=True, kw_only=True)
class Stages:
    """What a growing ensemble says about rows that it has not learnt from."""

    n_trees: NDArray[np.int64]  # (n_stages,), rising
    # `mean`, `knowledge`, `data`: (n_stages, n_rows): the mean of the members' means, in units of
    # y; the variance of these means; the mean of the members' variances
    mean: NDArray[np.float64]
    knowledge: NDArray[np.float64]
    data: NDArray[np.float64]
    y: NDArray[np.float64]  # (n_rows,)
    # (n_stages,): where the mean clock may stop; of a cyclical ensemble only the ends of cycles
    for_mean: NDArray[np.bool_]
    weight: NDArray[np.float64] | None = None  # (n_rows,): how many rows each one counts as

    def rows(self, chosen: NDArray[np.bool_] | NDArray[np.intp]) -> Stages:
        """The same of some of the rows."""
        return replace(
            self,
            mean=self.mean[:, chosen],
            knowledge=self.knowledge[:, chosen],
            data=self.data[:, chosen],
            y=self.y[chosen],
            weight=None if self.weight is None else self.weight[chosen],
        )


@dataclass(frozen=True, kw_only=True)
class Clocks:
    """Where the mean and the scale of a boosted regression stop."""

    # mean_trees, scale_trees: trees of the mean (a) and of the scale (b)
    mean_trees: int
    scale_trees: int
    factor: float  # what the members' std is multiplied by (g)
    # Degrees of freedom of the Student t around the mean, above 2; infinite means a normal. The std
    # is the same either way.
    df: float
    n_rows: int  # rows that chose
    n_trees: NDArray[np.int64]  # (n_stages,): the numbers of trees that were tried
    # (n_stages,): root mean squared error of the mean at each of them, in units of y; NaN where the
    # mean clock may not stop
    rmse: NDArray[np.float64]
    # (n_stages,): mean negative log likelihood, in nats, with the mean at its clock and the scale
    # at this stage with its best factor
    nll: NDArray[np.float64]
    # (n_stages,): the same of a normal with both at this stage and no factor: what plain early
    # stopping sees
    nll_uncorrected: NDArray[np.float64]

    def check_file(self) -> None:
        """Refuse clocks that no fit chooses."""
        trees = min(self.mean_trees, self.scale_trees)
        possible = math.isfinite(self.factor) and self.factor > 0.0 and self.df > 2.0
        require(possible and trees >= 1 and self.n_rows >= 1, "a clock is impossible")
        check_curves(self.n_trees, self.rmse, self.nll, self.nll_uncorrected)

    @property
    def last(self) -> int:
        """Trees that are needed."""
        return max(self.mean_trees, self.scale_trees)

    @property
    def score(self) -> float:
        """Mean negative log likelihood of the rows that chose, in nats."""
        return float(self.nll[np.searchsorted(self.n_trees, self.scale_trees)])


@dataclass(frozen=True, kw_only=True)
class ClassStages:
    """What a growing classifier says about rows that it has not learnt from."""

    n_trees: NDArray[np.int64]  # (n_stages,)
    # (n_members, n_rows, n_classes): one array a stage
    log_probabilities: tuple[NDArray[np.float64], ...]
    codes: NDArray[np.int64]  # (n_rows,): the column of each row's class
    # (n_rows,): how many rows each one counts as; None means one
    weight: NDArray[np.float64] | None = None

    def rows(self, chosen: NDArray[np.bool_] | NDArray[np.intp]) -> ClassStages:
        """The same of some of the rows."""
        return replace(
            self,
            log_probabilities=tuple(logs[:, chosen] for logs in self.log_probabilities),
            codes=self.codes[chosen],
            weight=None if self.weight is None else self.weight[chosen],
        )


@dataclass(frozen=True, kw_only=True)
class ClassClocks:
    """Where a boosted classifier stops, and the temperature of its logits."""

    n_trees_used: int
    temperature: float  # what every member's logits are divided by
    n_rows: int  # rows that chose
    n_trees: NDArray[np.int64]  # (n_stages,)
    # (n_stages,): of the mean of the members' probabilities at each stage with that temperature, in
    # nats
    log_loss: NDArray[np.float64]
    log_loss_uncorrected: NDArray[np.float64]  # (n_stages,): the same at temperature 1

    def check_file(self) -> None:
        """Refuse clocks that no fit chooses."""
        possible = math.isfinite(self.temperature) and self.temperature > 0.0
        possible = possible and self.n_trees_used >= 1 and self.n_rows >= 1
        require(possible, "a clock is impossible")
        check_curves(self.n_trees, self.log_loss, self.log_loss_uncorrected)

    @property
    def last(self) -> int:
        """Trees that are needed."""
        return self.n_trees_used

    @property
    def score(self) -> float:
        """Log loss of the rows that chose, in nats."""
        return float(self.log_loss[np.searchsorted(self.n_trees, self.n_trees_used)])


def check_curves(*curves: NDArray[Any]) -> None:
    """Refuse curves of a file that are not one value a stage."""
    same = all(curve.ndim == 1 and len(curve) == len(curves[0]) for curve in curves)
    require(same, "the curves of its clocks do not match")


def student_nll(
    squared_error: NDArray[np.float64], variance: NDArray[np.float64], df: float
) -> NDArray[np.float64]:
    """Negative log likelihood of a Student t with this variance (not squared scale), in nats."""
    if math.isinf(df):
        return 0.5 * (np.log(2.0 * np.pi * variance) + squared_error / variance)
    spread = (df - 2.0) * variance
    constant = gammaln(0.5 * df) - gammaln(0.5 * (df + 1.0)) + 0.5 * math.log(math.pi)
    return constant + 0.5 * np.log(spread) + 0.5 * (df + 1.0) * np.log1p(squared_error / spread)


def tree_grid(n_trees: int) -> NDArray[np.int64]:
    """About forty numbers of trees up to ``n_trees``, closer together at the start."""
    grid = np.geomspace(min(_FIRST_STAGE, n_trees), n_trees, _MOST_STAGES)
    return np.unique(np.round(grid).astype(np.int64))


def join_stages(parts: Sequence[Stages]) -> Stages:
    """The rows of all parts together; all have the same numbers of trees."""
    return replace(
        parts[0],
        mean=np.concatenate([part.mean for part in parts], axis=1),
        knowledge=np.concatenate([part.knowledge for part in parts], axis=1),
        data=np.concatenate([part.data for part in parts], axis=1),
        y=np.concatenate([part.y for part in parts]),
        weight=join_weights([part.weight for part in parts]),
    )


def join_class_stages(parts: Sequence[ClassStages]) -> ClassStages:
    """Likewise of a classifier."""
    stages = zip(*(part.log_probabilities for part in parts), strict=True)
    return replace(
        parts[0],
        log_probabilities=tuple(np.concatenate(of_parts, axis=1) for of_parts in stages),
        codes=np.concatenate([part.codes for part in parts]),
        weight=join_weights([part.weight for part in parts]),
    )


def join_weights(parts: Sequence[NDArray[np.float64] | None]) -> NDArray[np.float64] | None:
    """The weights of the rows of all parts; either all parts have some or none has."""
    weights = [part for part in parts if part is not None]
    return np.concatenate(weights) if weights else None


def choose_clocks(stages: Stages, tails: str = "student") -> Clocks:
    """Choose both clocks, the factor and the tail on unseen rows."""
    check_choice("tails", tails, TAILS)
    _require_rows(stages.y)
    errors = _squared_errors(stages)
    at_mean = int(np.argmin(np.where(stages.for_mean, errors, np.inf)))
    squared = (stages.mean[at_mean] - stages.y) ** 2
    search = _Search(squared, stages.knowledge[at_mean], stages.data, stages.weight)
    best = search.run(math.inf)
    if tails == "student":
        heavy = search.run(_FIRST_DEGREES)
        best = min(best, heavy, key=lambda choice: choice.score)
    nll, _ = search.scores(best.df)
    return Clocks(
        mean_trees=int(stages.n_trees[at_mean]),
        scale_trees=int(stages.n_trees[best.stage]),
        factor=best.factor,
        df=best.df,
        n_rows=len(stages.y),
        n_trees=stages.n_trees,
        rmse=_rmse(errors, stages.for_mean),
        nll=nll,
        nll_uncorrected=_uncorrected(stages),
    )


def refit_factor(stages: Stages, clocks: Clocks, tails: str = "student") -> Clocks:
    """The same trees and curves, with the factor and the df that these rows choose."""
    check_choice("tails", tails, TAILS)
    _require_rows(stages.y)
    at_mean, at_scale = np.searchsorted(stages.n_trees, [clocks.mean_trees, clocks.scale_trees])
    squared = (stages.mean[at_mean] - stages.y) ** 2
    search = _Search(squared, stages.knowledge[at_mean], stages.data, stages.weight)
    _, factor, df = search.best_tail(int(at_scale), _DEGREES if tails == "student" else (math.inf,))
    return replace(clocks, factor=factor, df=df)


def early_clocks(stages: Stages, tails: str = "normal") -> Clocks:
    """One clock for both: the stage with the best negative log likelihood, and no factor.

    What other libraries call early stopping. Parameters as in `choose_clocks`; with "student" the
    degrees of freedom are chosen at that stage.
    """
    check_choice("tails", tails, TAILS)
    _require_rows(stages.y)
    scores = _uncorrected(stages)
    stage = int(np.argmin(np.where(stages.for_mean, scores, np.inf)))
    squared = (stages.mean[stage] - stages.y) ** 2
    weight = stages.weight
    variance = _floored(stages.data[stage] + stages.knowledge[stage], squared, weight)
    degrees = _DEGREES if tails == "student" else (math.inf,)
    df = min(degrees, key=lambda nu: _mean(student_nll(squared, variance, nu), weight))
    n_trees = int(stages.n_trees[stage])
    return Clocks(
        mean_trees=n_trees,
        scale_trees=n_trees,
        factor=1.0,
        df=df,
        n_rows=len(stages.y),
        n_trees=stages.n_trees,
        rmse=_rmse(_squared_errors(stages), stages.for_mean),
        nll=scores,
        nll_uncorrected=scores,
    )


def choose_class_clocks(stages: ClassStages, *, sharpen: bool = True) -> ClassClocks:
    """Choose the trees of a classifier and then its temperature, by log loss on unseen rows.

    Chosen together, a small table that is easy to separate would take a handful of trees and
    sharpen them thirtyfold. For the same reason one more typical row counts as wrong when the
    temperature is chosen: rows that are all right would ask for certainty.
    """
    _require_rows(stages.codes)
    codes, weight = stages.codes, stages.weight
    plain = np.array([_log_loss(logs, codes, weight, 1.0) for logs in stages.log_probabilities])
    best, temperature, scores = int(np.argmin(plain)), 1.0, plain
    if sharpen:
        temperature = _best_temperature(stages, best)
        tried = stages.log_probabilities
        scores = np.array([_log_loss(logs, codes, weight, temperature) for logs in tried])
    return ClassClocks(
        n_trees_used=int(stages.n_trees[best]),
        temperature=temperature,
        n_rows=len(stages.codes),
        n_trees=stages.n_trees,
        log_loss=scores,
        log_loss_uncorrected=plain,
    )


def refit_temperature(stages: ClassStages, clocks: ClassClocks) -> ClassClocks:
    """The same trees and curves, with the temperature that these rows choose."""
    _require_rows(stages.codes)
    at = int(np.searchsorted(stages.n_trees, clocks.n_trees_used))
    return replace(clocks, temperature=_best_temperature(stages, at))


def _with_one_wrong(
    stages: ClassStages, stage: int
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64] | None]:
    """A stage, its codes and weights with one row more: the median one, of its second class."""
    logs = stages.log_probabilities[stage]
    mean = np.exp(logs).mean(axis=0)
    by_confidence = np.argsort(mean.max(axis=1), kind="stable")
    counted = np.ones(len(mean)) if stages.weight is None else stages.weight
    below = np.cumsum(counted[by_confidence])
    middle = min(int(np.searchsorted(below, 0.5 * below[-1], side="right")), len(mean) - 1)
    typical = int(by_confidence[middle])
    wrong = int(np.argsort(mean[typical], kind="stable")[-2])
    weight = None if stages.weight is None else np.append(stages.weight, 1.0)
    more = np.concatenate([logs, logs[:, [typical]]], axis=1)
    return more, np.append(stages.codes, wrong), weight


def warn_of_all_trees(last: int, n_trees: int, stacklevel: int) -> None:
    """Warn if the last tree is in use: more might be better."""
    if last >= n_trees:
        from sklearn.exceptions import ConvergenceWarning

        warnings.warn(
            f"All {n_trees} trees were best on unseen rows: raise n_trees or the learning rate to "
            "see whether more are better.",
            ConvergenceWarning,
            stacklevel=stacklevel + 1,
        )


def soften(log_probabilities: NDArray[np.float64], temperature: float) -> NDArray[np.float64]:
    """Log probabilities (..., n_classes) of logits divided by ``temperature``."""
    divided = log_probabilities / temperature
    return divided - logsumexp(divided, axis=-1, keepdims=True)


@dataclass(frozen=True)
class _Choice:
    score: float
    stage: int
    factor: float
    df: float


class _Search:
    """The best scale clock, factor and degrees of freedom for a mean that is chosen already."""

    def __init__(
        self,
        squared: NDArray[np.float64],
        knowledge: NDArray[np.float64],
        data: NDArray[np.float64],
        weight: NDArray[np.float64] | None,
    ) -> None:
        self._squared, self._knowledge, self._data = squared, knowledge, data
        self._weight = weight
        self._known: dict[tuple[int, float], tuple[float, float]] = {}

    def run(self, df: float) -> _Choice:
        """Alternate between the stage and the degrees of freedom, starting from ``df``."""
        free = not math.isinf(df)
        best: _Choice | None = None
        for _ in range(_MOST_ROUNDS):
            scores, factors = self.scores(df)
            stage = int(np.argmin(scores))
            choice = _Choice(float(scores[stage]), stage, float(factors[stage]), df)
            if free:
                score, factor, df = self.best_tail(stage, _DEGREES)
                choice = _Choice(score, stage, factor, df)
            if best is not None and choice.score >= best.score - 1e-12:
                break
            best = choice
        assert best is not None
        return best

    def best_tail(self, stage: int, degrees: Sequence[float]) -> tuple[float, float, float]:
        """The best score of a stage with the factor and the degrees of freedom that give it."""
        return min((*self._best_factor(stage, nu), nu) for nu in degrees)

    def scores(self, df: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Each stage's best score and the factor that gives it, (n_stages,) each."""
        best = [self._best_factor(stage, df) for stage in range(len(self._data))]
        scores, factors = zip(*best, strict=True)
        return np.array(scores), np.array(factors)

    def _best_factor(self, stage: int, df: float) -> tuple[float, float]:
        """The score and the factor of one stage; rounds that come back to it compute nothing."""
        if (stage, df) not in self._known:
            self._known[stage, df] = self._minimise(stage, df)
        return self._known[stage, df]

    def _minimise(self, stage: int, df: float) -> tuple[float, float]:
        data = _floored(self._data[stage], self._squared, self._weight)

        def score(log_factor: float) -> float:
            variance = math.exp(2.0 * log_factor) * data + self._knowledge
            return _mean(student_nll(self._squared, variance, df), self._weight)

        return least_over_factors(score, _LOG_FACTOR_STEP)


def least_over_factors(score: Callable[[float], float], step: float) -> tuple[float, float]:
    """The least score and the factor that gives it; ``score`` takes the factor's logarithm."""
    from scipy.optimize import minimize_scalar

    bounds = (-MOST_LOG_FACTOR, MOST_LOG_FACTOR)
    least = minimize_scalar(score, bounds=bounds, method="bounded", options={"xatol": step})
    return float(least.fun), math.exp(float(least.x))


def _mean(values: NDArray[np.float64], weight: NDArray[np.float64] | None) -> float:
    """The mean over rows, each counted as often as it weighs."""
    return float(values.mean() if weight is None else np.average(values, weights=weight))


def _squared_errors(stages: Stages) -> NDArray[np.float64]:
    """The mean squared error of every stage's mean."""
    return np.array([_mean((mean - stages.y) ** 2, stages.weight) for mean in stages.mean])


def _rmse(errors: NDArray[np.float64], allowed: NDArray[np.bool_]) -> NDArray[np.float64]:
    return np.where(allowed, np.sqrt(errors), np.nan)


def _uncorrected(stages: Stages) -> NDArray[np.float64]:
    """Every stage's mean NLL of a normal with the total variance as it is."""
    scores = []
    for mean, knowledge, data in zip(stages.mean, stages.knowledge, stages.data, strict=True):
        squared = (mean - stages.y) ** 2
        variance = _floored(knowledge + data, squared, stages.weight)
        scores.append(_mean(student_nll(squared, variance, math.inf), stages.weight))
    return np.array(scores)


def smallest_variance(
    squared: NDArray[np.float64], weight: NDArray[np.float64] | None = None
) -> float:
    """What smaller variances count as, given squared errors (n_rows,)."""
    return max(_SMALLEST_SHARE * _mean(squared, weight), float(np.finfo(np.float64).tiny))


def _floored(
    variance: NDArray[np.float64],
    squared: NDArray[np.float64],
    weight: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    return np.maximum(variance, smallest_variance(squared, weight))


def _log_loss(
    log_probabilities: NDArray[np.float64],
    codes: NDArray[np.int64],
    weight: NDArray[np.float64] | None,
    temperature: float,
) -> float:
    """Of the mean of the members' probabilities at a temperature."""
    softened = soften(log_probabilities, temperature)
    chosen = softened[:, np.arange(len(codes)), codes]
    of_mean = logsumexp(chosen, axis=0) - math.log(len(chosen))
    return -_mean(of_mean, weight)


def _best_temperature(stages: ClassStages, stage: int) -> float:
    """The temperature of a stage with the lowest log loss."""
    logs, codes, weight = _with_one_wrong(stages, stage)
    _, temperature = least_over_factors(
        lambda log_t: _log_loss(logs, codes, weight, math.exp(log_t)), _LOG_FACTOR_STEP
    )
    return temperature


def _require_rows(y: NDArray[np.float64] | NDArray[np.int64]) -> None:
    if len(y) == 0:
        raise InvalidData("There is no row to choose the number of trees on: pass more rows.")
