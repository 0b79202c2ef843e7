"""The methods and knobs of the page on noise that grows, and which of them a fit depends on.

MACAU (doi 10.5121/csit.2023.131920), section 4.1, figure 1 and table 1. Where foreign rows are
drawn, the conformal factor, the level and what is drawn refit nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from gbuq_core.errors import InvalidParameter, refusal_of_call
from gbuq_core.methods import METHODS as RECORDS
from gbuq_core.methods import NOVELTIES, PARTS, Builder, Method, find_methods
from gbuq_core.methods.papers import CYCLICAL, IBUG, RASMUSSEN, SGLB, SOFT_TREES, STACKING
from gbuq_core.metrics.conformal import CONFORMAL_LEVELS
from gbuq_core.settings import arguments, check, plan_of, setting

MOST_METHODS = 6
SUPPORT = (0.0, 10.0)  # where rows are
LEFTMOST, RIGHTMOST = -30.0, 40.0  # how far foreign rows may lie
_NEAREST = 0.5  # and the narrowest range of them on either side
LEVELS = CONFORMAL_LEVELS  # of the intervals
# Novelty outside the training rows goes on rising, or stops at 5.2.
TAILS = RECORDS["macau"].knob("tail").choices
_MEASURED = ("left_from", "right_to", "ood_rows", "test_rows", "tail")

# Other pages show the methods of these papers.
_OTHER_PAPERS = (SGLB, CYCLICAL, IBUG, SOFT_TREES, RASMUSSEN, STACKING)


class HeteroscedasticMethod(NamedTuple):
    """A method of the page: its record, and what the page makes of it."""

    record: Method  # of `gbuq_core.methods`: label, package, estimator, costs
    parts: tuple[str, ...]  # which of `PARTS` it has; none for methods that only score rows
    scores: tuple[str, ...]  # keys of `SCORES`: its scores for foreign rows

    @property
    def label(self) -> str:
        """How people write it."""
        return self.record.label


def _method_of(record: Method) -> HeteroscedasticMethod:
    """What the page makes of a record.

    A method that splits data from knowledge has each of them as a score for foreign rows. Any other
    method has its total, or its one novelty score.
    """
    if not record.predicts:
        return HeteroscedasticMethod(record, (), (record.key,))
    novelties = NOVELTIES if set(NOVELTIES) <= set(record.yields) else ()
    scores = record.parts if set(PARTS) <= set(record.yields) else ("total",)
    return HeteroscedasticMethod(record, record.parts, (*scores, *novelties))


_RECORDS = (
    *find_methods("regression", yields=("total",)),
    *find_methods("novelty", yields=("novelty",)),
)
_METHODS = {
    record.key: _method_of(record) for record in _RECORDS if record.paper not in _OTHER_PAPERS
}
METHODS: Mapping[str, HeteroscedasticMethod] = MappingProxyType(_METHODS)


_SCORES = {
    "total": "Total uncertainty",
    "data": "Data uncertainty",
    "knowledge": "Knowledge uncertainty",
    "novelty": "Novelty",
    "conditional_novelty": "Conditional novelty",
    "inference_novelty": "Inference novelty",
    "isolation": "Isolation",
    "distance": "Distance",
}
# The names of scores that can detect foreign rows.
SCORES: Mapping[str, str] = MappingProxyType(
    _SCORES | {r.key: _SCORES.get(r.key, r.label) for r in _RECORDS if not r.predicts}
)


# A score that one method has only is its panel's own, whatever is chosen.
CHOSEN_SCORES = (
    "novelty", "conditional_novelty", "inference_novelty", "knowledge", "data", "total",
)  # fmt: skip


def _of_forests(default: float, argument: str, choices: tuple[float, ...], **more: Any) -> Any:
    """A knob of the forests' records, for all methods that take it."""
    return setting(
        default, of=f"forest.{argument}", arg=argument, group="method", choices=choices, **more,
        uses=lambda plan: argument in {knob.key for knob in METHODS[plan.method].record.knobs},
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class HeteroscedasticSettings:
    """Everything that the page depends on."""

    rows: int = setting(
        2000, "Rows", group="data", limits=(100, 20_000), shrink=(0.5, 400),
        choices=(200, 500, 1000, 2000, 5000, 10000, 20000),
    )  # fmt: skip
    noise_slope: float = setting(
        0.1, "Noise per unit of x", group="data", limits=(0.0, 2.0),
        choices=(0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1, 2),
        help="The std of the noise is this number times x: 0 at x = 0, ten times this number at x "
        "= 10.",
    )  # fmt: skip
    seed: int = setting(
        0, "Seed", group="data", low=0, high=30, step=1, arg="random_state",
        limits=(0, 2**31 - 1), help="Seed of the rows and of the training.",
    )  # fmt: skip
    methods: tuple[str, ...] = setting(
        ("macau_linear", "macau_basic", "catboost"), "Methods", group="method", each=True,
        named={method.label: key for key, method in METHODS.items()}, most=MOST_METHODS,
        help="Up to six, shown side by side on the same axes.",
    )  # fmt: skip
    # NGBoost, CatBoost and isolation forests keep their libraries' share of the rows.
    trees: int = _of_forests(
        100, "n_trees", (10, 20, 50, 100, 200, 300, 500), shrink=(0.5, 20)
    )  # fmt: skip
    subsample: float = _of_forests(0.1, "subsample", (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.95))
    min_child_samples: int = _of_forests(20, "min_child_samples", (1, 2, 5, 10, 20, 50, 100))
    max_leaves: int = _of_forests(31, "max_leaves", (2, 4, 8, 16, 31, 63, 127, 255))
    # Foreign rows lie from `left_from` to 0 and from 10 to `right_to`.
    left_from: float = setting(
        -10, "Foreign rows down to", group="view", low=int(LEFTMOST), high=-1, step=1,
        limits=(LEFTMOST, SUPPORT[0] - _NEAREST),
        help="x of the farthest one to the left of 0. Foreign rows are drawn and scored again, "
        "without retraining.",
    )  # fmt: skip
    right_to: float = setting(
        20, "Foreign rows up to", group="view", low=11, high=int(RIGHTMOST), step=1,
        limits=(SUPPORT[1] + _NEAREST, RIGHTMOST),
        help="x of the farthest one to the right of 10. Foreign rows are drawn and scored again, "
        "without retraining.",
    )  # fmt: skip
    # Scores are measured on foreign rows and on rows of the training law.
    ood_rows: int = setting(
        6000, "Foreign rows", group="view", offered=False, limits=(100, 20_000), shrink=(0.5, 500)
    )
    test_rows: int = setting(
        2000, "Test rows", group="view", offered=False, limits=(100, 20_000), shrink=(0.5, 500)
    )
    score: str = setting(
        "novelty", "Score below", group="view",
        named={SCORES[key]: key for key in CHOSEN_SCORES},
        help="A method without this score shows its knowledge uncertainty, or else its own score.",
    )  # fmt: skip
    tail: str = setting(
        "rise", "Novelty beyond the rows", group="view", plain=True,
        named={"goes on rising": "rise", "ends at 5.2": "clip"},
        uses=lambda plan: "novelty" in METHODS[plan.method].scores,
        help="The authors' z-scores stop at 5.2. Ours go on rising. Changing this scores the rows "
        "again, without retraining.",
    )  # fmt: skip
    log: bool = setting(False, "Logarithmic score", group="view")
    own_scale: bool = setting(False, "Own scale for each score", group="view")
    level: float = setting(
        0.95, "Level of the bands", group="picture", brief="Level", choices=LEVELS
    )
    show_data: bool = setting(True, "Data (light band)", group="picture")
    show_knowledge: bool = setting(True, "Knowledge (dark rim)", group="picture")
    show_total: bool = setting(False, "Total (outline)", group="picture")
    conformal: bool = setting(
        False, "Conformal", group="picture",
        help="Multiplies every std by one factor so that intervals hold their level. The factor "
        "comes from 1,000 held-out rows.",
    )  # fmt: skip
    focus: bool = setting(
        False, "Only where rows are", group="picture",
        help="Shows x from 0 to 10 alone, where all training rows are.",
    )  # fmt: skip

    @property
    def method(self) -> str:
        """The first method, the only one of a fit's key."""
        return self.methods[0]

    @property
    def bands(self) -> tuple[str, ...]:
        """Which of `PARTS` are drawn."""
        return tuple(part for part in PARTS if getattr(self, f"show_{part}"))


# Six methods of the paper's figure: both forms of MACAU, and those it discusses most.
PAPER = HeteroscedasticSettings(
    methods=("macau_linear", "macau_basic", "forest", "quantile", "ngboost", "catboost")
)


def plan_measure(settings: HeteroscedasticSettings, method: str = "") -> HeteroscedasticSettings:
    """What a fit and its measurement depend on: of one method, only what it uses."""
    return plan_of(settings, method, _MEASURED)


def why_not(plan: HeteroscedasticSettings) -> str:
    """Why a method cannot be fitted, in a sentence; empty if it can."""
    refusal = refusal_of_call(check, plan) or _too_few(plan)
    return refusal or METHODS[plan.method].record.why_not(plan.rows)


def _too_few(plan: HeteroscedasticSettings) -> str:
    """A forest whose trees see too few rows for a single cut."""
    seen = int(plan.subsample * plan.rows)
    forest = {"subsample", "min_child_samples"} <= arguments(plan).keys()
    if not forest or seen >= 2 * plan.min_child_samples:
        return ""
    return (
        f"Each tree sees {seen} rows ({plan.subsample:g} of {plan.rows:,}), which cannot be cut "
        f"into two leaves of {plan.min_child_samples} rows: choose more rows, a larger subsample "
        "or smaller leaves."
    )


def check_settings(settings: HeteroscedasticSettings) -> None:
    """Raise a sentence about settings that cannot be shown."""
    check(settings)
    if not settings.methods:
        raise InvalidParameter("Choose at least one method.")


def heteroscedastic_arguments(plan: HeteroscedasticSettings) -> dict[str, Any]:
    """All arguments of the estimator for settings of one method."""
    record, builder = METHODS[plan.method].record, builder_of(plan)
    # So few rows that threads would wait.
    options = {"levels": LEVELS, **arguments(plan), "n_jobs": 1}
    options = {
        name: value
        for name, value in options.items()
        if name in builder.takes or name not in ("levels", "n_jobs", "random_state")
    }
    options |= {name: record.knob(name).default for name in builder.at_most}
    if builder.fixed.get("leaf_model") == "linear":
        options["leaf_features"] = "path"  # as in the paper
    return builder.arguments(options)


def builder_of(plan: HeteroscedasticSettings) -> Builder:
    """How the method's estimator is made, without its knobs."""
    record = METHODS[plan.method].record
    return record.builder("regression" if record.predicts else "novelty")


def heteroscedastic_model(plan: HeteroscedasticSettings) -> Any:
    """The unfitted estimator for settings of one method.

    >>> heteroscedastic_model(HeteroscedasticSettings(methods=("gnll",), subsample=0.3)).subsample
    0.3
    """
    refusal = why_not(plan)
    if refusal:
        raise InvalidParameter(refusal)
    return builder_of(plan).make(**heteroscedastic_arguments(plan))
