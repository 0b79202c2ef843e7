"""The methods and knobs of the Heteroscedastic page, and which of them a fit depends on.

MACAU (doi 10.5121/csit.2023.131920), section 4.1, figure 1 and table 1. Where foreign rows are
drawn, the conformal factor, the level and what is drawn refit nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from gbuq_core.errors import GbuqError, InvalidParameter
from gbuq_core.methods import NOVELTIES, PARTS, Method, find_methods
from gbuq_core.methods.papers import CYCLICAL, IBUG, RASMUSSEN, SGLB, SOFT_TREES
from gbuq_core.metrics.conformal import CONFORMAL_LEVELS
from gbuq_core.validation import check_choice, check_number

MOST_METHODS = 6
LEAST_ROWS, MOST_ROWS = 100, 20_000
MOST_NOISE_SLOPE = 2.0
LEAST_TREES, MOST_TREES = 4, 500
MOST_LEAVES, MOST_CHILD_SAMPLES = 255, 500
LEAST_SUBSAMPLE, MOST_SUBSAMPLE = 0.02, 0.99
LEAST_JUDGED, MOST_JUDGED = 100, 20_000  # test rows, foreign rows
SUPPORT = (0.0, 10.0)  # where rows are
LEFTMOST, RIGHTMOST = -30.0, 40.0  # how far foreign rows may lie
NEAREST = 0.5  # and the narrowest range of them on either side
LEVELS = CONFORMAL_LEVELS  # of the intervals
TAILS = ("rise", "clip")  # novelty outside the training rows: goes on rising, or stops at 5.2

# Arguments of forests, as the page's settings call them.
ARGUMENTS: Mapping[str, str] = MappingProxyType(
    {
        "trees": "n_trees",
        "max_leaves": "max_leaves",
        "min_child_samples": "min_child_samples",
        "subsample": "subsample",
    }
)
# Heart, Spiral, Neighbours and Soft trees show the methods of these papers.
_OTHER_PAPERS = (SGLB, CYCLICAL, IBUG, SOFT_TREES, RASMUSSEN)


class HeteroscedasticMethod(NamedTuple):
    """A method of the page: its record, and what the page makes of it."""

    record: Method  # of `gbuq_core.methods`: label, package, estimator, costs
    parts: tuple[str, ...]  # which of `PARTS` it has; none for methods that only score rows
    scores: tuple[str, ...]  # keys of `SCORES`: its scores for foreign rows
    # fields of `HeteroscedasticSettings` that its fit depends on besides rows, noise and seed
    knobs: tuple[str, ...]

    @property
    def label(self) -> str:
        """How people write it."""
        return self.record.label

    @property
    def about(self) -> str:
        """What it does, in a sentence."""
        return self.record.about


def _method_of(record: Method) -> HeteroscedasticMethod:
    """What the page makes of a record.

    A method that splits data from knowledge has each of them as a score for foreign rows. Any other
    method has its total, or its one novelty score.
    """
    arguments = {knob.key for knob in record.knobs}
    knobs = tuple(name for name, argument in ARGUMENTS.items() if argument in arguments)
    if not record.predicts:
        return HeteroscedasticMethod(record, (), (record.key,), knobs)
    novelties = NOVELTIES if set(NOVELTIES) <= set(record.yields) else ()
    scores = record.parts if set(PARTS) <= set(record.yields) else ("total",)
    return HeteroscedasticMethod(record, record.parts, (*scores, *novelties), knobs)


_RECORDS = (
    *find_methods("regression", yields=("total",)),
    *find_methods("novelty", yields=("novelty",)),
)
_METHODS = {
    record.key: _method_of(record) for record in _RECORDS if record.paper not in _OTHER_PAPERS
}
METHODS: Mapping[str, HeteroscedasticMethod] = MappingProxyType(_METHODS)
PREDICTING = tuple(key for key, method in METHODS.items() if method.parts)


class HeteroscedasticScoreKind(NamedTuple):
    """A score that can detect foreign rows: its name, a sentence, its unit."""

    label: str
    about: str
    unit: str


_SCORES = {
    "total": HeteroscedasticScoreKind(
        "Total uncertainty", "Data and knowledge uncertainty.", "squared units of y"
    ),
    "data": HeteroscedasticScoreKind(
        "Data uncertainty", "Noise that more rows would not remove.", "squared units of y"
    ),
    "knowledge": HeteroscedasticScoreKind(
        "Knowledge uncertainty", "How much the trees or members differ.", "squared units of y"
    ),
    "novelty": HeteroscedasticScoreKind(
        "Novelty", "Distance to the rows of the leaf in all features, as a z-score.", "z"
    ),
    "conditional_novelty": HeteroscedasticScoreKind(
        "Conditional novelty", "The same in the features that lead to the leaf.", "z"
    ),
    "inference_novelty": HeteroscedasticScoreKind(
        "Inference novelty", "How unusual the prediction is for its leaf, without its sign.", "|z|"
    ),
    "isolation": HeteroscedasticScoreKind("Isolation", "Score of an isolation forest.", "score"),
    "distance": HeteroscedasticScoreKind(
        "Distance", "Mean distance to the nearest training rows.", "distance"
    ),
}
_OTHER_SCORES = {
    record.key: HeteroscedasticScoreKind(record.label, record.about, "score")
    for record in _RECORDS
    if not record.predicts and record.key not in _SCORES
}
SCORES: Mapping[str, HeteroscedasticScoreKind] = MappingProxyType({**_SCORES, **_OTHER_SCORES})


@dataclass(frozen=True, kw_only=True)
class HeteroscedasticSettings:
    """All settings of the page."""

    # one to six keys of `METHODS`
    methods: tuple[str, ...] = ("macau_linear", "macau_basic", "catboost")
    # `rows`, `noise_slope`, `seed`: training rows, std of the noise per unit of x, seed of rows and
    # fits
    rows: int = 2000
    noise_slope: float = 0.1
    seed: int = 0
    # `trees`, `subsample`, `max_leaves`, `min_child_samples`: of the random forests; NGBoost,
    # CatBoost and isolation forests take the trees and keep their libraries' share of the rows
    trees: int = 100
    subsample: float = 0.1
    max_leaves: int = 31
    min_child_samples: int = 20
    # `left_from`, `right_to`: foreign rows lie from `left_from` to 0 and from 10 to `right_to`
    left_from: float = -10.0
    right_to: float = 20.0
    # `ood_rows`, `test_rows`: foreign rows and rows of the training law that scores are measured on
    ood_rows: int = 6000
    test_rows: int = 2000
    # whether every std is stretched so that intervals hold their level on fresh rows
    conformal: bool = False
    level: float = 0.95  # of the interval that is drawn: one of `LEVELS`
    bands: tuple[str, ...] = ("data", "knowledge")  # which of `PARTS` are drawn
    score: str = "novelty"  # A key of `SCORES`: the curve that is drawn
    # of MACAU's novelty scores, one of `TAILS`; new rows are scored again, nothing is refitted
    tail: str = "rise"


# Six methods of the paper's figure: both forms of MACAU, and those it discusses most.
PAPER = HeteroscedasticSettings(
    methods=("macau_linear", "macau_basic", "forest", "quantile", "ngboost", "catboost")
)


class HeteroscedasticPlan(NamedTuple):
    """What one method's fit depends on, and nothing else: the key of its result.

    Knobs that the method does not use are None, so that moving them refits nothing.
    """

    method: str
    rows: int
    noise_slope: float
    seed: int
    trees: int | None
    subsample: float | None
    max_leaves: int | None
    min_child_samples: int | None


class MeasurePlan(NamedTuple):
    """What a measurement of a fit depends on besides the fit."""

    test_rows: int
    ood_rows: int
    left_from: float
    right_to: float
    tail: str = "rise"


def plan_heteroscedastic(settings: HeteroscedasticSettings, method: str) -> HeteroscedasticPlan:
    """What a method's fit depends on.

    Examples
    --------
    >>> from dataclasses import replace
    >>> base = HeteroscedasticSettings()
    >>> view = replace(base, conformal=True, level=0.5, left_from=-2.0, score="knowledge")
    >>> plan_heteroscedastic(view, "macau_linear") == plan_heteroscedastic(base, "macau_linear")
    True
    >>> other = replace(base, subsample=0.8)
    >>> plan_heteroscedastic(other, "catboost") == plan_heteroscedastic(base, "catboost")
    True
    """
    knobs = METHODS[check_choice("method", method, tuple(METHODS))].knobs
    return HeteroscedasticPlan(
        method,
        settings.rows,
        settings.noise_slope,
        settings.seed,
        **{name: getattr(settings, name) if name in knobs else None for name in ARGUMENTS},
    )


def plan_measure(settings: HeteroscedasticSettings, method: str = "") -> MeasurePlan:
    """What a measurement depends on besides the fit: of one method, only what it uses.

    Examples
    --------
    >>> clipped = HeteroscedasticSettings(tail="clip")
    >>> plan_measure(clipped, "gnll").tail, plan_measure(clipped, "macau_basic").tail
    ('rise', 'clip')
    """
    uses_tail = not method or "novelty" in METHODS[method].scores
    return MeasurePlan(
        settings.test_rows,
        settings.ood_rows,
        settings.left_from,
        settings.right_to,
        settings.tail if uses_tail else TAILS[0],
    )


def method_missing(method: str) -> str:
    """Why a method cannot be used, in a sentence; empty if it can. Nothing is imported.

    Examples
    --------
    >>> method_missing("macau_basic")
    ''
    """
    return METHODS[check_choice("method", method, tuple(METHODS))].record.missing()


def why_not(plan: HeteroscedasticPlan) -> str:
    """Why a plan cannot be fitted, in a sentence; empty if it can.

    Examples
    --------
    >>> why_not(plan_heteroscedastic(HeteroscedasticSettings(rows=3), "catboost"))
    'rows must be a whole number at least 100 and at most 20000; got 3.'
    >>> why_not(plan_heteroscedastic(HeteroscedasticSettings(rows=200), "macau_basic"))
    'Each tree sees 20 rows (0.1 of 200), which cannot be cut into two leaves of 20 rows: ...
    """
    try:
        _check(plan)
    except GbuqError as error:
        return str(error)
    return _too_few(plan) or METHODS[plan.method].record.why_not(plan.rows)


def _check(plan: HeteroscedasticPlan) -> None:
    def number(name: str, low: float, high: float, **more: bool) -> None:
        value = getattr(plan, name)
        if value is not None:
            check_number(name, value, low, high, **more)

    check_choice("method", plan.method, tuple(METHODS))
    number("rows", LEAST_ROWS, MOST_ROWS, integer=True)
    number("noise_slope", 0.0, MOST_NOISE_SLOPE)
    number("seed", 0, 2**31 - 1, integer=True)
    number("trees", LEAST_TREES, MOST_TREES, integer=True)
    number("subsample", LEAST_SUBSAMPLE, MOST_SUBSAMPLE)
    number("max_leaves", 2, MOST_LEAVES, integer=True)
    number("min_child_samples", 1, MOST_CHILD_SAMPLES, integer=True)


def _too_few(plan: HeteroscedasticPlan) -> str:
    """A forest whose trees see too few rows for a single cut."""
    if plan.subsample is None or plan.min_child_samples is None:
        return ""
    seen = int(plan.subsample * plan.rows)
    if seen >= 2 * plan.min_child_samples:
        return ""
    return (
        f"Each tree sees {seen} rows ({plan.subsample:g} of {plan.rows:,}), which cannot be cut "
        f"into two leaves of {plan.min_child_samples} rows: choose more rows, a larger subsample "
        "or smaller leaves."
    )


def check_view(settings: HeteroscedasticSettings) -> str:
    """Why the methods, measurements or view are refused, in one sentence; empty if they are fine.

    Examples
    --------
    >>> check_view(HeteroscedasticSettings(left_from=5.0))
    'left_from must be a number at least -30 and at most -0.5; got 5.0.'
    >>> check_view(HeteroscedasticSettings(methods=()))
    'Choose at least one method.'
    """
    try:
        _check_methods(settings.methods)
        check_measure(plan_measure(settings))
        if settings.level not in LEVELS:
            listed = ", ".join(f"{level:g}" for level in LEVELS)
            raise InvalidParameter(f"level must be one of {listed}; got {settings.level!r}.")
        if not isinstance(settings.conformal, bool):
            raise InvalidParameter(f"conformal must be True or False; got {settings.conformal!r}.")
        for band in settings.bands:
            check_choice("bands", band, PARTS)
        check_choice("score", settings.score, tuple(SCORES))
    except GbuqError as error:
        return str(error)
    return ""


def check_measure(plan: MeasurePlan) -> None:
    """Check the numbers and ranges of test rows and foreign rows."""
    check_number("test_rows", plan.test_rows, LEAST_JUDGED, MOST_JUDGED, integer=True)
    check_number("ood_rows", plan.ood_rows, LEAST_JUDGED, MOST_JUDGED, integer=True)
    check_choice("tail", plan.tail, TAILS)
    check_number("left_from", plan.left_from, LEFTMOST, SUPPORT[0] - NEAREST)
    check_number("right_to", plan.right_to, SUPPORT[1] + NEAREST, RIGHTMOST)


def _check_methods(methods: tuple[str, ...]) -> None:
    for method in methods:
        check_choice("methods", method, tuple(METHODS))
    if not methods:
        raise InvalidParameter("Choose at least one method.")
    if len(set(methods)) < len(methods):
        raise InvalidParameter("A method is chosen twice: choose each method once.")
    if len(methods) > MOST_METHODS:
        raise InvalidParameter(
            f"{len(methods)} methods are chosen, but at most {MOST_METHODS} are allowed: remove "
            "some."
        )
