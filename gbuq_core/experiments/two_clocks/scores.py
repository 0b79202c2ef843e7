"""Whether the stated uncertainty is true: scores on rows that chose nothing.

Curves over the number of trees, maps over both clocks, the reliability of each way to stop, and
how often one way beats another over seeds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri, stdtrit

from gbuq_core.calibration import Clocks, Stages
from gbuq_core.calibration.clocks import MOST_LOG_FACTOR, TAILS, smallest_variance, student_nll
from gbuq_core.distribution import Distribution, NormalDistribution
from gbuq_core.experiments.claims import Claim, verdict_of
from gbuq_core.experiments.opening import Opening
from gbuq_core.experiments.seeds import SeedOutcome
from gbuq_core.experiments.two_clocks.data import Array
from gbuq_core.experiments.two_clocks.fit import (
    OPENING,
    TwoClocksFit,
    clocks_of_ways,
    fit_two_clocks,
    laws_of,
)
from gbuq_core.experiments.two_clocks.plan import (
    FACTOR_WAYS,
    LEVEL,
    LEVELS,
    WAYS,
    TwoClocksSettings,
    seeds_of,
)
from gbuq_core.jobs import stage
from gbuq_core.metrics import find_resolution, log_scores, pit_coverage
from gbuq_core.presentation import short

SCORES = ("coverage", "nll", "rmse", "crps")
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
_FACTOR_STEPS = 16  # leave 8 * 0.618^16 = 0.004 of the log factor


@dataclass(frozen=True, kw_only=True)
class WayScore:
    """One way to stop: its clocks, and its scores on rows that chose nothing.

    ``coverage`` is the share of rows inside 90 % intervals; the other scores are `gbuq_core`'s.
    The truth's clocks are None.
    """

    label: str
    clocks: Clocks | None
    coverage: float
    nll: float
    rmse: float
    crps: float


@dataclass(frozen=True, kw_only=True)
class TreeCurves:
    """Scores with the mean and the scale from one number of trees, as normals, (n_stages,) each.

    ``stated`` is the root of the mean total variance: what the model says its RMSE is.
    """

    n_trees: Array
    rmse: Array
    stated: Array
    coverage: Array
    nll: Array
    crps: Array


@dataclass(frozen=True, kw_only=True)
class ClockMaps:
    """Scores over (trees of the scale, trees of the mean), (n_stages, n_stages) each.

    ``plain`` has the std as it is and a normal law. ``scaled`` has the factor of each pair that
    the rows that choose prefer, and the tails with ``df`` degrees of freedom.
    ``widths`` is half the width of a 90 % interval in stds, plain and scaled.
    """

    n_trees: Array
    df: float
    rmse: Array
    nll_plain: Array
    nll_scaled: Array
    coverage_plain: Array
    coverage_scaled: Array
    factor: Array
    widths: tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Unscaled:
    """What no knob of the view changes: curves, and maps without a factor as in `ClockMaps`."""

    curves: TreeCurves
    rmse: Array
    nll: Array
    coverage: Array


@dataclass(frozen=True, kw_only=True)
class TwoClocksLook:
    """Everything that the page shows of one fit and its tails."""

    fit: TwoClocksFit
    tails: str
    clocks: dict[str, Clocks]
    scores: tuple[WayScore, ...]
    curves: TreeCurves
    maps: ClockMaps
    reliability: dict[str, Array]  # of each way, at `LEVELS`
    settings: TwoClocksSettings  # with the view
    seeds: SeedScores | None = None  # of these settings, once they are fitted

    @property
    def labels(self) -> Mapping[str, str]:
        """The names of the ways to stop."""
        return self.fit.plan.ways

    @property
    def key(self) -> str:
        """Tells looks apart."""
        return f"{self.fit.plan} {self.tails}"


@dataclass(frozen=True, kw_only=True)
class SeedScores:
    """Scores of every way over seeds, (n_seeds, n_ways, n_scores), for each kind of tails.

    The ways are those of the plan, in their order.
    """

    seeds: tuple[int, ...]
    by_tails: dict[str, Array]


def look_two_clocks(
    fit: TwoClocksFit, tails: str, unscaled: Unscaled | None = None
) -> TwoClocksLook:
    """Score a fit; trains nothing."""
    unscaled = unscaled_of(fit) if unscaled is None else unscaled
    clocks = clocks_of_ways(fit.choosing, tails)
    laws = laws_of(fit, clocks)
    y = fit.scoring.y
    step = find_resolution(fit.rows.y)
    scores = [
        _way_score(label, clocks[way], laws[way], y, step) for way, label in fit.plan.ways.items()
    ]
    if fit.rows.mean_scored is not None and fit.rows.std_scored is not None:
        least = np.maximum(fit.rows.std_scored, np.finfo(np.float64).tiny ** 0.5)
        truth = NormalDistribution(fit.rows.mean_scored, least)
        scores.append(_way_score("The truth", None, truth, y, step))
    return TwoClocksLook(
        fit=fit,
        tails=tails,
        clocks=clocks,
        scores=tuple(scores),
        curves=unscaled.curves,
        maps=clock_maps(fit, clocks["clocks" if fit.plan.has_clocks else "factor"].df, unscaled),
        reliability={
            way: np.asarray(pit_coverage(law.cdf(y), LEVELS).observed) for way, law in laws.items()
        },
        settings=replace(fit.plan, tails=tails),
    )


def curves_of(stages: Stages, step: float) -> TreeCurves:
    """Scores against the number of trees, at a resolution of the target."""
    rows = []
    for mean, knowledge, data in zip(stages.mean, stages.knowledge, stages.data, strict=True):
        std = np.sqrt(knowledge + data)
        law = NormalDistribution(mean, std)
        rows.append((*_scores(law, stages.y, step), math.sqrt(float(np.mean(std**2)))))
    *scores, stated = np.array(rows).T
    named = dict(zip(SCORES, scores, strict=True))
    return TreeCurves(n_trees=stages.n_trees.astype(np.float64), stated=stated, **named)


def unscaled_of(fit: TwoClocksFit) -> Unscaled:
    """What no knob of the view changes: scores without a factor, on rows that chose nothing."""
    scored, step = fit.scoring, find_resolution(fit.rows.y)
    n = len(scored.n_trees)
    nll, inside = np.empty((2, n, n))
    z = half_width(math.inf)
    for a in range(n):
        squared = (scored.mean[a] - scored.y) ** 2
        nll[:, a] = _MeanNLL(squared, scored.knowledge[a], scored.data, math.inf)(np.ones(n))
        inside[:, a] = (squared <= z * z * (scored.data + scored.knowledge[a])).mean(axis=1)
    if fit.own is not None:  # one stage, whose law need not be a normal
        share, own_nll, _, _ = _scores(fit.own, scored.y, step)
        nll[:], inside[:] = own_nll, share
    return Unscaled(
        curves=curves_of(scored, step),
        rmse=np.sqrt(((scored.mean - scored.y) ** 2).mean(axis=1)),
        nll=nll,
        coverage=inside,
    )


def clock_maps(fit: TwoClocksFit, df: float, unscaled: Unscaled) -> ClockMaps:
    """NLL and coverage for every pair of clocks, on rows that chose nothing."""
    chosen, scored = fit.choosing, fit.scoring
    n = len(scored.n_trees)
    nll, inside, factor = np.empty((3, n, n))
    t = half_width(df)
    for a in range(n):
        factor[:, a] = _best_factors(chosen, a, df)
        squared = (scored.mean[a] - scored.y) ** 2
        nll[:, a] = _MeanNLL(squared, scored.knowledge[a], scored.data, df)(factor[:, a])
        variance = factor[:, a, None] ** 2 * scored.data + scored.knowledge[a]
        inside[:, a] = (squared <= t * t * variance).mean(axis=1)
    return ClockMaps(
        n_trees=scored.n_trees.astype(np.float64),
        df=df,
        rmse=unscaled.rmse,
        nll_plain=unscaled.nll,
        nll_scaled=nll,
        coverage_plain=unscaled.coverage,
        coverage_scaled=inside,
        factor=factor,
        widths=(half_width(math.inf), t),
    )


def half_width(df: float) -> float:
    """Half the width of a 90 % interval, in standard deviations."""
    if math.isinf(df):
        return float(ndtri(0.5 + LEVEL / 2.0))
    return float(stdtrit(df, 0.5 + LEVEL / 2.0) * math.sqrt((df - 2.0) / df))


def _best_factors(chosen: Stages, a: int, df: float) -> Array:
    """The factor of least NLL for each scale stage at one mean stage, by golden section."""
    squared = (chosen.mean[a] - chosen.y) ** 2
    data = np.maximum(chosen.data, smallest_variance(squared))
    nll = _MeanNLL(squared, chosen.knowledge[a], data, df)

    def score(log_factor: Array) -> Array:
        return nll(np.exp(log_factor))

    n = len(data)
    low, high = np.full(n, -MOST_LOG_FACTOR), np.full(n, MOST_LOG_FACTOR)
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = score(left), score(right)
    for _ in range(_FACTOR_STEPS):
        lower = at_left < at_right  # the least lies below `right`
        high, low = np.where(lower, right, high), np.where(lower, low, left)
        probe = np.where(lower, high - _GOLDEN * (high - low), low + _GOLDEN * (high - low))
        at_probe = score(probe)
        left, right = np.where(lower, probe, right), np.where(lower, left, probe)
        at_left, at_right = np.where(lower, at_probe, at_right), np.where(lower, at_left, at_probe)
    return np.exp(0.5 * (low + high))


class _MeanNLL:
    """The mean of `student_nll` over rows, for many factors at once.

    It is that of the density: at the resolution of these targets, which is a small share of every
    std, it differs by less than 1e-4 nats.

    A logarithm costs more than a product, so eight rows share one. Rows come first in memory, so
    that both halves of an array are contiguous.
    """

    def __init__(self, squared: Array, knowledge: Array, data: Array, df: float) -> None:
        n_stages, self._n = data.shape
        n_rows = -(-self._n // 8) * 8  # the rows that fill up have a variance of 1 and no error
        # In units that keep a product of eight within the range of numbers.
        unit = float(squared.mean()) or 1.0
        share = 1.0 if math.isinf(df) else df - 2.0
        self._squared, self._knowledge = np.zeros((n_rows, 1)), np.ones((n_rows, 1))
        self._data = np.zeros((n_rows, n_stages))
        self._squared[: self._n, 0] = squared / unit
        self._knowledge[: self._n, 0] = share / unit * knowledge
        self._data[: self._n] = share / unit * data.T
        self._spread, self._work = np.empty((2, n_rows, n_stages))
        self._product = np.empty((n_rows // 2, n_stages))
        self._df = df
        # What does not depend on the variance.
        own = student_nll(np.zeros(1), np.array([1.0 / share]), df)[0]
        self._constant = float(own) + 0.5 * math.log(unit)

    def __call__(self, factors: Array) -> Array:
        """The mean in nats with a factor for each stage, (n_stages,)."""
        spread, work, df = self._spread, self._work, self._df
        np.multiply(self._data, factors**2, out=spread)
        np.add(spread, self._knowledge, out=spread)
        if math.isinf(df):
            np.divide(self._squared, spread, out=work)
            varying = self._mean_log(spread) + work.sum(axis=0) / self._n
        else:
            np.add(spread, self._squared, out=work)
            varying = (df + 1.0) * self._mean_log(work) - df * self._mean_log(spread)
        return self._constant + 0.5 * varying

    def _mean_log(self, values: Array) -> Array:
        """The mean logarithm over rows."""
        half = len(values) // 2
        product = np.multiply(values[:half], values[half:], out=self._product)
        for _ in range(2):
            half //= 2
            product = np.multiply(product[:half], product[half:], out=product[:half])
        return np.log(product).sum(axis=0) / self._n


def _way_score(
    label: str, clocks: Clocks | None, law: Distribution, y: Array, step: float
) -> WayScore:
    named = dict(zip(SCORES, _scores(law, y, step), strict=True))
    return WayScore(label=label, clocks=clocks, **named)


def _scores(law: Distribution, y: Array, step: float) -> tuple[float, float, float, float]:
    """Coverage of 90 % intervals, NLL at the resolution of the target, RMSE and CRPS."""
    lower, upper = law.interval(LEVEL)
    return (
        float(np.mean((lower <= y) & (y <= upper))),
        log_scores(law, y, step).mean,
        # Of the prediction: quantiles that were fitted one by one have a mean of their own.
        math.sqrt(float(np.mean((law.loc - y) ** 2))),
        float(law.crps(y).mean()),
    )


def score_seeds(plan: TwoClocksSettings, n_seeds: int | None = None) -> SeedScores:
    """Fit and score with several seeds, the plan's own first; `plan.seeds_of` says how many."""
    n_seeds = seeds_of(plan) if n_seeds is None else n_seeds
    seeds = tuple(range(plan.seed, plan.seed + n_seeds))
    scores: dict[str, list[list[tuple[float, ...]]]] = {tails: [] for tails in TAILS}
    with stage(float(n_seeds)):
        for seed in seeds:
            with stage(1.0, span=1.0):
                fit = fit_two_clocks(replace(plan, seed=seed))
            for tails in TAILS:
                laws = laws_of(fit, clocks_of_ways(fit.choosing, tails))
                step = find_resolution(fit.rows.y)
                scores[tails].append([_scores(laws[way], fit.scoring.y, step) for way in plan.ways])
    return SeedScores(seeds=seeds, by_tails={tails: np.array(scores[tails]) for tails in TAILS})


SEEDS = Opening(
    name="two_clocks", file="seeds", kind=SeedScores, make=score_seeds, plans=OPENING.plans
)


OFTEN, MORE_THAN_HALF = 0.8, 0.6  # shares of the seeds: holds, nearly
LEAST_SHARE, MOST_SHARE = 0.86, 0.97  # of rows inside 90 % intervals that are true


class _Statement(NamedTuple):
    """One way has a lower score than another; without another, its 90 % intervals are true."""

    key: str
    text: str
    chip: str
    way: str
    other: str = ""
    score: str = "coverage"
    narrow: bool = False  # whether the intervals are too narrow instead

    def values(self, scores: Array, ways: list[str]) -> Array:
        """The score of the way, and of the other one, with each seed, (n_seeds, 1 or 2)."""
        places = [ways.index(way) for way in (self.way, self.other) if way]
        return scores[:, places][..., SCORES.index(self.score)]

    def is_true(self, values: Array) -> np.ndarray:
        """Whether the score is lower, or the share in the range, (n_seeds,) bool."""
        if self.other:
            return values[:, 0] < values[:, 1]
        enough = values[:, 0] >= LEAST_SHARE - 1e-12
        return ~enough if self.narrow else enough & (values[:, 0] <= MOST_SHARE + 1e-12)

    def write(self, values: Array) -> str:
        """The means over the seeds."""
        if self.other:
            own, other = (short(float(value)) for value in values.mean(axis=0))
            return f"{self.score.upper()} {own} against {other}"
        return f"coverage {100 * float(values[:, 0].mean()):.0f} %"

    @property
    def rule(self) -> str:
        """When it is true with one seed."""
        if self.other:
            return f"the {self.score.upper()} is lower"
        least, most = (f"{100 * share:.0f}" for share in (LEAST_SHARE, MOST_SHARE))
        shares = f"less than {least} %" if self.narrow else f"{least} to {most} %"
        return f"90 % intervals hold {shares} of the rows"


# What the opening picture shows stands first: its bands beside the rows and beside the true ones.
_STATEMENTS: tuple[_Statement, ...] = (
    _Statement(
        "narrow", "All trees state intervals that are too narrow.",
        "All trees: too narrow", "all", narrow=True,
    ),
    _Statement(
        "true", "Two clocks states intervals that are true.",
        "Two clocks' intervals are true", "clocks",
    ),
    _Statement(
        "nll", "Two clocks has a lower NLL than early stopping.",
        "Lower NLL than early stopping", "clocks", "early", "nll",
    ),
    _Statement(
        "crps", "Two clocks has a lower CRPS than early stopping.", "", "clocks", "early", "crps",
    ),
    _Statement(
        "factor", "Two clocks has a lower NLL than all trees with one factor.", "",
        "clocks", "factor", "nll",
    ),
    _Statement(
        "rmse", "Two clocks has a lower RMSE than early stopping.", "", "clocks", "early", "rmse",
    ),
)  # fmt: skip
_OF_A_FACTOR: tuple[_Statement, ...] = (
    _Statement(
        "nll", "One factor has a lower NLL than the model as it is.",
        "One factor lowers the NLL", "factor", "all", "nll",
    ),
    _Statement(
        "crps", "One factor has a lower CRPS than the model as it is.", "", "factor", "all", "crps",
    ),
    _Statement(
        "as-it-is", "The model as it is states intervals that are true.",
        "Intervals are true as they are", "all",
    ),
    _Statement(
        "true", "With one factor, its intervals are true.",
        "With one factor they are true", "factor",
    ),
)  # fmt: skip


def check_seed(scores: Sequence[WayScore] | Array) -> tuple[Claim, ...]:
    """The statements with one seed, which is weak evidence."""
    if not isinstance(scores, np.ndarray):
        labels = [*WAYS.values(), *FACTOR_WAYS.values()]
        scores = np.array(
            [[getattr(score, name) for name in SCORES] for score in scores if score.label in labels]
        )
    ways = _ways_of(len(scores))
    claims = []
    for statement in _statements_of(ways):
        values = statement.values(scores[None], ways)
        verdict = "holds" if statement.is_true(values)[0] else "does not hold"
        value = statement.write(values)
        here = f"with this seed, {_spoken(value)}."
        threshold = f"Holds with a seed if {statement.rule}."
        claims.append(
            Claim(statement.text, here, verdict, threshold, value, statement.key, statement.chip)
        )
    return tuple(claims)


def check_seeds(scores: SeedScores, tails: str) -> tuple[SeedOutcome, ...]:
    """The statements of every seed, as `gbuq_core.count_verdicts` counts them."""
    return tuple(
        SeedOutcome(seed, check_seed(of_seed))
        for seed, of_seed in zip(scores.seeds, scores.by_tails[tails], strict=True)
    )


def verdicts_of(scores: Array) -> tuple[Claim, ...]:
    """What the seeds say, each with its threshold."""
    ways, n = _ways_of(scores.shape[1]), len(scores)
    often, half = (math.ceil(share * n - 1e-9) for share in (OFTEN, MORE_THAN_HALF))
    claims = []
    for statement in _statements_of(ways):
        values = statement.values(scores, ways)
        counted = "" if statement.other else f", {statement.rule}"
        wins, mean = int(statement.is_true(values).sum()), _spoken(statement.write(values))
        claims.append(
            Claim(
                statement.text,
                f"in {wins} of {n} seeds{counted}; the mean {mean}.",
                verdict_of(wins / n, OFTEN, MORE_THAN_HALF),
                f"Holds from {often} of {n} seeds on, partly from {half} of {n}.",
                f"{wins} of {n} seeds",
                statement.key,
                statement.chip,
            )
        )
    return tuple(claims)


def _spoken(value: str) -> str:
    """
    >>> _spoken("NLL 0.5 against 1")
    'NLL is 0.5 against 1'
    """
    return value.replace(" ", " is ", 1)


def _ways_of(n_ways: int) -> list[str]:
    return list(FACTOR_WAYS if n_ways == len(FACTOR_WAYS) else WAYS)


def _statements_of(ways: list[str]) -> tuple[_Statement, ...]:
    return _OF_A_FACTOR if len(ways) == len(FACTOR_WAYS) else _STATEMENTS
