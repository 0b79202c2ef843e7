"""Scores of the predictions: CRPS, coverage, noise and foreign rows, and the paper's table.

MACAU (doi 10.5121/csit.2023.131920), section 4.1 and table 1. The CRPS of the true distribution
changes by about 0.01 from seed to seed, so methods are compared by their excess over it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from gbuq_core.experiments.claims import times_text
from gbuq_core.experiments.heteroscedastic.data import Mask, true_mean
from gbuq_core.experiments.heteroscedastic.fit import (
    HeteroscedasticFit,
    HeteroscedasticMeasure,
    HeteroscedasticRun,
    heteroscedastic_factor,
    interval_of,
)
from gbuq_core.experiments.heteroscedastic.plan import (
    LEVELS,
    METHODS,
    PAPER,
    SCORES,
    SUPPORT,
    HeteroscedasticSettings,
)
from gbuq_core.metrics import auroc, crps_gaussian, rmse
from gbuq_core.metrics.scores import binomial_band
from gbuq_core.presentation import short

SORTS = ("CRPS", "coverage", "AUROC of its best score", "seconds")
_NAN = math.nan
_PLACES = 3  # parts of x that coverage is told apart for
_CRPS_KINDS = {
    "quantile": "normal nearest to the quantiles",
    "cqr": "normal nearest to the intervals' ends",
    "conformal_forest": "normal with the calibration residuals' std",
    "conformal_linear": "normal with the calibration residuals' std",
}


class PaperRow(NamedTuple):
    """A line of table 1: CRPS in units of y, AUROC of foreign rows; NaN where it is empty."""

    crps: float
    auroc: float


# MACAU (doi 10.5121/csit.2023.131920), table 1, columns "1DS ynth" of CRPS and AUC: by the
# method's key and the score's.
PAPER_TABLE: Mapping[tuple[str, str], PaperRow] = MappingProxyType(
    {
        ("catboost", "data"): PaperRow(0.32, 0.55),
        ("catboost", "knowledge"): PaperRow(0.44, 0.53),
        ("catboost", "total"): PaperRow(0.32, 0.55),
        ("gnll", "total"): PaperRow(0.29, 0.50),
        ("conformal_linear", "total"): PaperRow(0.49, 0.70),
        ("conformal_forest", "total"): PaperRow(0.30, 0.66),
        ("isolation", "isolation"): PaperRow(_NAN, 1.0),
        ("macau_basic", "data"): PaperRow(0.29, 0.44),
        ("macau_basic", "conditional_novelty"): PaperRow(_NAN, 1.0),
        ("macau_basic", "knowledge"): PaperRow(0.35, 0.20),
        ("macau_basic", "inference_novelty"): PaperRow(_NAN, 0.50),
        ("macau_basic", "novelty"): PaperRow(_NAN, 1.0),
        ("macau_basic", "total"): PaperRow(0.29, 0.32),
        ("macau_linear", "data"): PaperRow(0.29, 0.54),
        ("macau_linear", "conditional_novelty"): PaperRow(_NAN, 1.0),
        ("macau_linear", "knowledge"): PaperRow(0.39, 0.95),
        ("macau_linear", "inference_novelty"): PaperRow(_NAN, 1.0),
        ("macau_linear", "novelty"): PaperRow(_NAN, 1.0),
        ("macau_linear", "total"): PaperRow(0.29, 0.63),
        ("ngboost", "total"): PaperRow(0.32, 0.53),
        ("quantile", "total"): PaperRow(0.31, 0.28),
        ("forest", "total"): PaperRow(0.35, 0.20),
    }
)


def paper_row(method: str, score: str = "total") -> PaperRow:
    """The table's line of a method with a score; NaN where there is none."""
    return PAPER_TABLE.get((method, score), PaperRow(_NAN, _NAN))


class LevelCoverage(NamedTuple):
    """Share of test rows in their central intervals of a level."""

    level: float
    observed: float
    low: float  # with `high` the exact binomial band at 95 %
    high: float
    factor: float  # of the conformal step at this level, 1 without it


class PlaceCoverage(NamedTuple):
    """Share of the test rows between two places of x that lie in their interval of a level."""

    low: float
    high: float
    level: float
    observed: float  # NaN where no row lies


class ScoreAuroc(NamedTuple):
    """How well a score separates foreign rows from test rows, here and in the paper (NaN: none).

    0.5 is chance; below it the score is higher on rows of the training law.
    """

    key: str
    label: str
    value: float
    paper: float


@dataclass(frozen=True, kw_only=True)
class HeteroscedasticScore:
    """One method's scores. NaN where a method has none, such as one that predicts nothing."""

    method: str
    label: str
    # on test rows, in units of y; after the conformal step, if there is one, at its level
    crps: float = _NAN
    # of which distribution: a normal with the method's mean and std, and where they come from for
    # methods that give intervals; "" without
    crps_kind: str = ""
    # `truth_crps`, `excess`: the truth's own on the same rows, and how much more the method's is
    truth_crps: float
    excess: float = _NAN
    coverage: tuple[LevelCoverage, ...] = ()  # at `LEVELS`
    # `rmse`, `std_error`: root mean squared error of the mean to the true mean and of the std to
    # the true noise std, over test rows, in units of y
    rmse: float = _NAN
    std_error: float = _NAN
    # `mean_std`, `mean_noise`: the mean std over test rows, and the true one
    mean_std: float = _NAN
    mean_noise: float
    data_share: float = _NAN  # mean data uncertainty by mean total uncertainty over test rows
    auroc: tuple[ScoreAuroc, ...]  # in the order of the method's scores
    paper_crps: float  # table 1's, where the noise is the paper's: CRPS grows with it
    # `fit_seconds`, `score_seconds`: of the training, and of predicting test and foreign rows
    fit_seconds: float
    score_seconds: float
    memory_bytes: int | None  # none where a library does not report it
    # coverage of the settings' level in each third of x, which an average hides
    thirds: tuple[PlaceCoverage, ...] = ()
    # the same left and right of the rows, if the formula of the rows went on there
    outside: tuple[PlaceCoverage, ...] = ()

    @property
    def noise_ratio(self) -> float:
        """Mean std by mean noise: above 1 the noise is overestimated; NaN without any."""
        return self.mean_std / self.mean_noise if self.mean_noise > 0.0 else _NAN

    def auroc_of(self, key: str) -> float:
        """AUROC of a score; NaN if the method has no such score."""
        return next((auroc.value for auroc in self.auroc if auroc.key == key), _NAN)


def score_heteroscedastic(
    fit: HeteroscedasticFit, measure: HeteroscedasticMeasure, settings: HeteroscedasticSettings
) -> HeteroscedasticScore:
    """Score one method from its predictions."""
    test, same_noise = measure.test, settings.noise_slope == PAPER.noise_slope
    score = HeteroscedasticScore(
        method=fit.method,
        label=fit.label,
        truth_crps=crps_gaussian(test.y, test.mean, test.std),
        mean_noise=float(test.std.mean()),
        auroc=_aurocs(fit, measure),
        paper_crps=paper_row(fit.method).crps if same_noise else _NAN,
        fit_seconds=fit.seconds,
        score_seconds=measure.seconds,
        memory_bytes=fit.memory_bytes,
    )
    at = measure.of_test
    if at.loc is None:
        return score
    scale = heteroscedastic_factor(fit, settings, settings.level) * np.sqrt(at.total)
    crps, total = crps_gaussian(test.y, at.loc, scale), float(at.total.mean())
    has_data = "data" in METHODS[fit.method].parts
    return replace(
        score,
        crps=crps,
        crps_kind=_CRPS_KINDS.get(fit.method, "normal"),
        excess=crps - score.truth_crps,
        coverage=tuple(_coverage(fit, measure, settings, level) for level in LEVELS),
        rmse=rmse(test.mean, at.loc),
        std_error=rmse(test.std, scale),
        mean_std=float(scale.mean()),
        data_share=float(at.data.mean()) / total if has_data and total > 0.0 else _NAN,
        thirds=_by_thirds(fit, measure, settings),
        outside=_outside(fit, measure, settings),
    )


def score_all(run: HeteroscedasticRun) -> tuple[HeteroscedasticScore, ...]:
    """Score all methods. The smallest excess comes first; methods without one come last."""
    pairs = zip(run.fits, run.measures, strict=True)
    return sort_scores([score_heteroscedastic(*pair, run.settings) for pair in pairs])


def sort_scores(
    scores: Sequence[HeteroscedasticScore], by: str = SORTS[0]
) -> tuple[HeteroscedasticScore, ...]:
    """Best first by one of `SORTS`; methods without that number keep their order at the end."""
    value_of: dict[str, Callable[[HeteroscedasticScore], float]] = {
        SORTS[0]: lambda score: score.excess,
        SORTS[1]: lambda score: max(
            (abs(c.observed - c.level) for c in score.coverage), default=_NAN
        ),
        SORTS[2]: lambda score: -max((a.value for a in score.auroc), default=_NAN),
        SORTS[3]: lambda score: score.fit_seconds,
    }

    def place(score: HeteroscedasticScore) -> float:
        value = value_of[by](score)
        return math.inf if math.isnan(value) else value

    return tuple(sorted(scores, key=place))


def _coverage(
    fit: HeteroscedasticFit,
    measure: HeteroscedasticMeasure,
    settings: HeteroscedasticSettings,
    level: float,
) -> LevelCoverage:
    factor = heteroscedastic_factor(fit, settings, level)
    inside = _held(measure, level, factor if settings.conformal else None)
    low, high = (float(end) for end in binomial_band(int(inside.sum()), len(inside)))
    return LevelCoverage(level, float(inside.mean()), low, high, factor)


def _by_thirds(
    fit: HeteroscedasticFit, measure: HeteroscedasticMeasure, settings: HeteroscedasticSettings
) -> tuple[PlaceCoverage, ...]:
    factor = heteroscedastic_factor(fit, settings, settings.level)
    inside = _held(measure, settings.level, factor if settings.conformal else None)
    ends = np.linspace(*SUPPORT, _PLACES + 1)
    at = np.clip(np.searchsorted(ends, measure.test.X[:, 0], side="right") - 1, 0, _PLACES - 1)
    places = []
    for i, (low, high) in enumerate(itertools.pairwise(ends)):
        here = inside[at == i]
        observed = float(here.mean()) if len(here) else _NAN
        places.append(PlaceCoverage(float(low), float(high), settings.level, observed))
    return tuple(places)


def _outside(
    fit: HeteroscedasticFit, measure: HeteroscedasticMeasure, settings: HeteroscedasticSettings
) -> tuple[PlaceCoverage, ...]:
    """The probability of y inside the interval, by the formula of the rows, without drawing y."""
    factor = heteroscedastic_factor(fit, settings, settings.level)
    lower, upper = interval_of(
        measure.of_foreign, settings.level, factor if settings.conformal else None
    )
    x = measure.foreign_X[:, 0]
    mean, std = true_mean(x), np.maximum(np.abs(settings.noise_slope * x), 1e-12)
    inside = ndtr((upper - mean) / std) - ndtr((lower - mean) / std)
    places = ((measure.plan.left_from, SUPPORT[0]), (SUPPORT[1], measure.plan.right_to))
    return tuple(
        PlaceCoverage(low, high, settings.level, float(inside[here].mean()))
        for low, high in places
        for here in [(x >= low) & (x <= high)]
    )


def _held(measure: HeteroscedasticMeasure, level: float, factor: float | None) -> Mask:
    """Which test rows lie in their interval."""
    lower, upper = interval_of(measure.of_test, level, factor)
    return (lower <= measure.test.y) & (measure.test.y <= upper)


def _aurocs(fit: HeteroscedasticFit, measure: HeteroscedasticMeasure) -> tuple[ScoreAuroc, ...]:
    """Foreign rows count as positive."""
    is_foreign = np.repeat([0.0, 1.0], [len(measure.test.y), len(measure.foreign_X)])
    return tuple(
        ScoreAuroc(
            known.key,
            SCORES[known.key],
            auroc(is_foreign, np.concatenate([known.values, foreign.values])),
            paper_row(fit.method, known.key).auroc,
        )
        for known, foreign in zip(measure.of_test.curves, measure.of_foreign.curves, strict=True)
    )


def describe_heteroscedastic(
    run: HeteroscedasticRun, scores: tuple[HeteroscedasticScore, ...] | None = None
) -> str:
    """The picture in words: the rows, then each method from the best CRPS to the worst."""
    scores = score_all(run) if scores is None else scores
    words = [describe_data(run.settings), *(describe_method(score) for score in scores)]
    if run.settings.tail == "clip" and any(
        "novelty" in METHODS[score.method].scores for score in scores
    ):
        words.append("Novelty scores stop at 5.2, as in the authors' code.")
    return " ".join(words)


def answer_heteroscedastic(run: HeteroscedasticRun, scores: Sequence[HeteroscedasticScore]) -> str:
    """Does the first method know its noise, and where it has seen nothing? One sentence.

    >>> from gbuq_core.experiments.heteroscedastic.fit import run_heteroscedastic
    >>> run = run_heteroscedastic(
    ...     HeteroscedasticSettings(methods=("macau_basic",), rows=300, trees=10, subsample=0.3)
    ... )
    >>> among, outside = answer_heteroscedastic(run, score_all(run)).split(". ")
    >>> among
    'Among the rows, the 95 % band of MACAU (basic) holds 95 % of new rows'
    >>> outside
    'Outside, it holds 16 %, and its novelty warns of 100 % of them.'
    """
    for fit, measure in zip(run.fits, run.measures, strict=True):
        known = {curve.key: curve.values for curve in measure.of_test.curves}
        foreign = {curve.key: curve.values for curve in measure.of_foreign.curves}
        key = "novelty" if "novelty" in known else next(iter(known))
        share = np.mean(foreign[key] > np.quantile(known[key], 0.95))
        warned = f"its {SCORES[key].lower()} warns of {100 * share:.0f} %"
        (score,) = (each for each in scores if each.method == fit.method)
        if not score.outside:
            return f"{fit.label} predicts nothing; {warned} of the rows outside 0 to 10."
        level = run.settings.level
        (inside,) = (coverage.observed for coverage in score.coverage if coverage.level == level)
        widths = [part.high - part.low for part in score.outside]
        outside = np.average([part.observed for part in score.outside], weights=widths)
        return (
            f"Among the rows, the {100 * level:g} % band of {fit.label} holds {100 * inside:.0f} % "
            f"of new rows. Outside, it holds {100 * outside:.0f} %, and {warned} of them."
        )
    return ""


def describe_data(settings: HeteroscedasticSettings) -> str:
    """Rows, their noise, and where foreign rows lie."""
    low, high = SUPPORT
    noise = "There is no noise."
    if settings.noise_slope > 0.0:
        noise = (
            f"The noise grows with x and has a std of {short(settings.noise_slope * high, 2)} at "
            f"x = {high:g}."
        )
    return (
        f"{settings.rows:,} rows with x from {low:g} to {high:g}. {noise} Foreign rows lie from "
        f"{settings.left_from:g} to {low:g} and from {high:g} to {settings.right_to:g}."
    )


def describe_method(score: HeteroscedasticScore) -> str:
    """One method: its prediction, noise, coverage and foreign rows."""
    return f"{_describe_fit(score)} {describe_ood(score)}".strip()


def _describe_fit(score: HeteroscedasticScore) -> str:
    if math.isnan(score.crps):
        return f"{score.label} predicts nothing."
    text = (
        f"{score.label}: its CRPS is {score.crps:.3f}, {score.excess:.3f} above that of the true "
        "distribution."
    )
    if not math.isnan(score.noise_ratio):
        text += f" On average its std is {_as_large(score.noise_ratio)} that of the noise."
    if "knowledge" in METHODS[score.method].parts and not math.isnan(score.data_share):
        text += f" Data uncertainty is {100 * score.data_share:.0f} % of its variance."
    last = score.coverage[-1]
    text += (
        f" Its {100 * last.level:.0f} % intervals hold {100 * last.observed:.0f} % of test rows."
    )
    if score.thirds:
        shares = ", ".join(f"{100 * part.observed:.0f} %" for part in score.thirds)
        level = 100 * score.thirds[0].level
        text += f" In the left, middle and right third of x, {level:.0f} % intervals hold {shares}."
    return text


def _as_large(ratio: float) -> str:
    """A factor in words.

    >>> _as_large(1.31), _as_large(0.98)
    ('1.3 times', 'as large as')
    """
    return "as large as" if abs(ratio - 1.0) < 0.05 else times_text(ratio)


def describe_ood(score: HeteroscedasticScore) -> str:
    """How well each of a method's scores detects foreign rows, best first."""
    if not score.auroc:
        return ""
    best = sorted(score.auroc, key=lambda auroc: -auroc.value)
    words = ", ".join(f"{auroc.label.lower()} {auroc.value:.2f}" for auroc in best)
    return f"AUROC for foreign rows: {words}."
