"""How many functions fit these points? Soft trees and other posteriors over functions of one input.

Cinquin, Rukat, Schmidt, Wistuba and Bekasov, "Variational boosted soft trees" (2022), section 5 and
figures 2 and 5 to 7. Read from top to bottom: settings, fit, numbers, claims, picture, words.
The rows and the trees themselves are in `soft_trees_inside`, the bandit and the ranks in
`soft_trees_trials`.
"""

from __future__ import annotations

import importlib
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from gbuq_core.errors import InvalidParameter, refusal_of_call
from gbuq_core.experiments.claims import Threshold, times_text
from gbuq_core.experiments.placed import (
    MOST_POINTS,
    OWN_START,
    PATTERNS,
    check_points,
    decode_points,
    encode_points,
    why_no_fit,
)
from gbuq_core.experiments.python_text import call_lines, import_lines
from gbuq_core.figures.curves import READ_HINT, Curves, draw_curves
from gbuq_core.figures.curves.labels import label_places, labelled
from gbuq_core.figures.curves.parts import (
    Part,
    axis,
    band,
    hatches,
    line,
    rounded,
    sheaf,
    stretches,
)
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.figures.theme import METHOD_STYLES
from gbuq_core.glossary import UNCERTAINTY_KINDS
from gbuq_core.knobs import Knob, find_knob, texts_of
from gbuq_core.methods import METHODS as RECORDS
from gbuq_core.methods import Builder, Method
from gbuq_core.methods.boosted import KNOBS
from gbuq_core.metrics import nll_gaussian, nll_mixture
from gbuq_core.metrics.scores import binomial_band
from gbuq_core.presentation import short
from gbuq_core.resources import held_bytes
from gbuq_core.settings import Codec, arguments, bare, check, knobs_of, plan_of, setting, to_values
from gbuq_core.soft_trees.layout import LEAVES, MAX_DEPTH, TreeShape
from gbuq_core.study.members import Array, Mask, Predictive, timed_fit
from gbuq_core.study.soft_trees_inside import (
    DATASETS,
    INSIDE,
    MAKERS,
    MOST_DRAW,
    N_FRESH,
    OWN,
    PLACE,
    PROCESS,
    SOFT_METHODS,
    SWEEPS,
    WHOSE,
    Opened,
    SoftTreesData,
    SoftTreesFit,
    covariance_view,
    data_of,
    describe_data,
    few_rows,
    inside_sections,
    kept_by,
    members_of,
    moments_of,
    moments_of_process,
    predict,
)
from gbuq_core.study.soft_trees_trials import MOMENT, ORDERED, POLICY, TRIALS
from gbuq_core.study.study import Claim, Row, Run, Study
from gbuq_core.validation import check_choice, check_number

# --- Settings -------------------------------------------------------------------------------------


MOST_TREES = 20
MOST_DRAWS = 500
SHOWS = ("both", "functions", "bands")
_SEEDS = (0, 2**31 - 1)
_CHARACTERS = 20  # of one point in a link, at most


METHODS: Mapping[str, Method] = MappingProxyType(
    {key: RECORDS[key] for key in (*SOFT_METHODS, "sglb", "xbart", "gp")}
)


def _is_soft(settings: SoftTreesSettings) -> bool:
    return settings.method in SOFT_METHODS


def _is_drawn(settings: SoftTreesSettings) -> bool:
    return settings.data != OWN


def _is(method: str) -> Callable[[SoftTreesSettings], bool]:
    return lambda settings: settings.method == method


@dataclass(frozen=True, kw_only=True)
class SoftTreesSettings:
    """All settings of the page."""

    data: str = setting(
        "tails", "Data", group="data", named={info.label: key for key, info in DATASETS.items()},
        help="Four data sets of the paper, or points that you place in the picture.",
    )  # fmt: skip
    rows: int = setting(
        150, "Rows", group="data", uses=_is_drawn, limits=(10, 1000),
        choices=(10, 20, 30, 50, 75, 100, 150, 200, 300, 500, 1000),
    )  # fmt: skip
    noise: float = setting(
        0.1, "Noise (std)", group="data", uses=_is_drawn, limits=(0.0, 2.0),
        choices=(0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0),
    )  # fmt: skip
    seed: int = setting(
        0, "Seed", group="data", low=0, high=30, step=1, limits=_SEEDS, arg="random_state",
        help="Seed of the rows and of the training.",
    )  # fmt: skip
    methods: tuple[str, ...] = setting(
        ("vst", "sglb", "gp"), "Methods", group="method", each=True,
        named={method.label: key for key, method in METHODS.items()},
        help="Shown side by side on the same axes. VST is one soft tree. VSGBM is a boosted sum "
        "of soft trees.",
    )  # fmt: skip
    depth: int = setting(
        3, of="vst.depth", group="method", uses=_is_soft, arg="depth", high=6, step=1
    )
    leaf: str = setting(
        "linear", of="vst.leaf", group="method", uses=_is_soft, arg="leaf",
        named={"a line": "linear", "a constant": "constant"},
    )  # fmt: skip
    # One above the number of parameters (`full_rank`) counts as that number.
    rank: int = setting(
        5, of="vst.rank", group="method", uses=_is_soft, arg="rank", limits=(0, 250),
        choices=(0, 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100),
    )  # fmt: skip
    beta: float = setting(
        4.0, of="vst.beta", group="method", uses=_is_soft, arg="beta",
        choices=(0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 20.0),
    )  # fmt: skip
    prior_scale: float = setting(
        2.5, of="vst.prior_scale", group="method", uses=_is_soft, arg="prior_scale",
        choices=(0.25, 0.5, 1.0, 1.5, 2.5, 4.0, 6.0, 10.0),
    )  # fmt: skip
    steps: int = setting(
        2000, of="vst.n_steps", group="method", uses=_is_soft, arg="n_steps", shrink=(1.0, 500),
        limits=(50, 20_000),
        choices=(100, 200, 500, 1000, 1500, 2000, 3000, 4000, 6000, 10000),
    )  # fmt: skip
    restarts: int = setting(
        1, of="vst.n_restarts", group="method", uses=_is_soft, arg="n_restarts", shrink=(1.0, 1),
        high=10, step=1, limits=(1, 10),
    )  # fmt: skip
    rate: float | None = setting(
        None, "Learning rate", group="method", uses=_is_soft, arg="learning_rate", kind="ladder",
        named={"auto": None, "0.003": 0.003, "0.01": 0.01, "0.03": 0.03, "0.1": 0.1},
        help="The highest learning rate of Adam. It rises at first and then falls to 0. "
        "auto is 0.03.",
    )  # fmt: skip
    trees: int = setting(
        5, of="vsgbm.n_trees", group="method", uses=_is("vsgbm"), arg="n_trees", high=20, step=1,
        limits=(1, MOST_TREES),
    )  # fmt: skip
    members: int = setting(
        20, "Models of SGLB", of="sglb.n_members", group="method", uses=_is("sglb"),
        arg="n_members", choices=(2, 3, 5, 10, 20, 30, 50, 100), shrink=(0.5, 5), help="",
        limits=(2, 100),
    )  # fmt: skip
    sglb_trees: int = setting(
        100, "Trees of each SGLB model", of="sglb.n_trees", group="method", uses=_is("sglb"),
        arg="n_trees", choices=(20, 50, 100, 200, 300, 500, 1000, 2000), shrink=(0.5, 50),
        limits=(1, 2000),
    )  # fmt: skip
    temperature: str | float = setting(
        "catboost", "Temperature of SGLB", of="sglb.temperature", group="method",
        uses=_is("sglb"), arg="temperature", kind="choice", help="",
        choices=texts_of(KNOBS["temperature"]),
    )  # fmt: skip
    xbart_trees: int = setting(
        30, of="xbart.n_trees", group="method", uses=_is("xbart"), arg="n_trees",
        choices=(1, 5, 10, 20, 30, 50, 100, 200), limits=(1, 200),
    )  # fmt: skip
    # 0 takes the fit's own. Methods with kept functions ignore it.
    draw_seed: int = setting(
        0, "Seed of the draws", group="view", low=0, high=30, step=1, limits=_SEEDS,
        help="Draws other functions from the same posterior. Changing this does not retrain.",
    )  # fmt: skip
    show: str = setting(
        "both", "Show", group="picture", choices=SHOWS, drawn=True,
        help="Sampled functions, bands of data and knowledge uncertainty, or both.",
    )  # fmt: skip
    shown: int = setting(
        20, "Functions drawn as lines", group="picture", brief="Lines", drawn=True,
        choices=(1, 3, 5, 10, 20, 30, 50, 100), needs=("show", ("both", "functions")),
        limits=(0, MOST_DRAWS),
        help="How many functions are shown.",
    )  # fmt: skip
    draws: int = setting(
        100, "Functions behind the bands", group="picture", limits=(2, MOST_DRAWS),
        choices=(10, 20, 50, 100, 200, 500),
        help="Bands and scores follow from this many functions. A Gaussian process needs none.",
    )  # fmt: skip
    points: tuple[tuple[float, ...], ...] = setting(
        OWN_START, "Points", group="page", fits=True, uses=lambda settings: settings.data == OWN,
        codec=Codec(decode_points, encode_points), pattern=PATTERNS[2],
        check=partial(refusal_of_call, decode_points), most=_CHARACTERS * MOST_POINTS,
        help="Points as x_y with a tilde between them: -1.25_0.5~0_0.333",
    )  # fmt: skip
    tree: int = setting(
        1, "Tree", group="picture", drawn=True, low=1, high=MOST_TREES, step=1,
        limits=(1, 10**9),
        help="Which tree of the boosted sum is shown.",
    )  # fmt: skip
    draw: int = setting(  # 0: the mean
        0, "Draw", group="picture", drawn=True, low=0, high=MOST_DRAW, step=1, limits=_SEEDS,
        help="The mean of the posterior, or a tree drawn from it.",
    )  # fmt: skip

    @property
    def method(self) -> str:
        """The first method, the only one of a fit's key."""
        return self.methods[0]

    @property
    def n_rows(self) -> int:
        """How many rows are drawn or placed."""
        return self.rows if _is_drawn(self) else len(self.points)

    @property
    def n_functions(self) -> int:
        """How many functions are drawn; a method that kept fewer takes what it has."""
        return max(self.draws, self.shown)

    @property
    def sampling_seed(self) -> int | None:
        """The seed of the draws; None takes the fit's."""
        return self.draw_seed or None


# The paper's comparison: all methods, trained until they converge. The paper tuned each data set.
PAPER = SoftTreesSettings(methods=tuple(METHODS), steps=6000, restarts=3)


def full_rank(method: str, depth: int, leaf: str) -> int:
    """Parameters of one tree of the method on one feature: the highest rank there is."""
    return TreeShape(depth, 1, leaf, "mixture" if method == "vst" else "mean").n_parameters


def plan_soft_trees(settings: SoftTreesSettings, method: str) -> SoftTreesSettings:
    """What a method's fit depends on: `settings.plan_of` with a rank that its trees can have."""
    check_choice("data", settings.data, tuple(DATASETS))
    plan = plan_of(settings, method)
    if plan.data == OWN:
        plan = replace(plan, points=check_points(plan.points))
    shaped = plan.leaf in LEAVES and plan.depth in range(MAX_DEPTH + 1)
    if _is_soft(plan) and shaped and type(plan.rank) is int:  # else `why_not` refuses it
        plan = replace(plan, rank=min(plan.rank, full_rank(method, plan.depth, plan.leaf)))
    return plan


def why_not(plan: SoftTreesSettings) -> str:
    """Why a plan cannot be fitted, in a sentence; empty if it can."""
    refusal = refusal_of_call(_check, plan) or ("" if _is_drawn(plan) else why_no_fit(plan.points))
    return refusal or METHODS[plan.method].why_not(plan.n_rows)


def _check(plan: SoftTreesSettings) -> None:
    check(plan, "data", "method", besides=("rate",))
    if plan.rate is not None:
        check_number("rate", plan.rate, 0.0, 1.0, low_open=True)


# What no knob of the page moves: SGLB's depth, and how many sweeps of XBART are kept as draws.
_FIXED: dict[str, dict[str, Any]] = {"sglb": {"depth": 3}, "xbart": {"n_draws": SWEEPS}}


def soft_trees_arguments(plan: SoftTreesSettings) -> dict[str, Any]:
    """All arguments of the plan's estimator."""
    return builder_of(plan).arguments({**_FIXED.get(plan.method, {}), **arguments(plan)})


def builder_of(plan: SoftTreesSettings) -> Builder:
    """How the plan's estimator is made, without its knobs."""
    return METHODS[plan.method].builder()


def soft_trees_model(plan: SoftTreesSettings) -> Any:
    """The unfitted estimator of a plan."""
    refusal = why_not(plan)
    if refusal:
        raise InvalidParameter(refusal)
    return builder_of(plan).make(**soft_trees_arguments(plan))


# --- Fit ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SoftTreesView:
    """Functions of one method over the grid, in units of y; what follows is worked out once."""

    fit: SoftTreesFit
    settings: SoftTreesSettings  # of which the numbers and the seed of the functions matter
    # (n_draws, n_grid): mean functions: drawn from a posterior, or those of members or sweeps
    functions: Array
    # (n_grid,): of the functions; of a Gaussian process the exact ones
    at: Predictive

    @property
    def method(self) -> str:
        """The key of its method."""
        return self.fit.method

    @property
    def notes(self) -> str:
        """Why there are fewer functions than were asked for; empty if not."""
        kept = kept_by(self.fit.plan)
        if kept is None or self.settings.n_functions <= kept[0]:
            return ""
        most, what = kept
        return (
            f"{self.fit.label} keeps {most} {what}, so it has {most} functions instead of "
            f"{self.settings.n_functions}."
        )

    @cached_property
    def ahead(self) -> tuple[Array, tuple[Predictive, ...]]:
        """All functions that knobs of the picture may ask for, and moments by their number."""
        if self.fit.opened is not None:
            return self.fit.opened.functions, self.fit.opened.moments
        counts = counts_ahead(self.settings)
        most = replace(self.settings, draws=max(counts), shown=0)
        if self.method == PROCESS:
            functions, exact = predict(self.fit, most, self.fit.data.grid)
            return functions, (exact,) * len(counts)
        members = members_of(self.fit, most, self.fit.data.grid)
        few = [moments_of(members[:count]) for count in counts]
        return few[-1][0], tuple(moments for _, moments in few)

    @cached_property
    def numbers(self) -> Mapping[str, float]:
        """Its scores."""
        return measure(self) if self.fit.opened is None else self.fit.opened.numbers


def fit(plan: SoftTreesSettings) -> SoftTreesFit:
    """Train one method."""
    model, record = soft_trees_model(plan), METHODS[plan.method]
    for package in record.packages:
        importlib.import_module(package)  # a first import is no training
    seconds = timed_fit(model, data_of(plan))
    return SoftTreesFit(plan, model, seconds, None if record.opaque else held_bytes(model))


def view(fit: SoftTreesFit, settings: SoftTreesSettings) -> SoftTreesView:
    """Functions, mean and uncertainties over the grid; trains nothing."""
    check(settings, "view", "picture")
    if fit.opened is not None:
        first = SoftTreesSettings()
        at = fit.opened.moments[counts_ahead(first).index(first.n_functions)]
        return SoftTreesView(fit, first, fit.opened.functions[: first.n_functions], at)
    return SoftTreesView(fit, settings, *predict(fit, settings, fit.data.grid))


def opened(fit: SoftTreesFit) -> SoftTreesFit:
    """The fit as it is stored."""
    seen = view(fit, SoftTreesSettings())
    return fit._replace(opened=Opened(*seen.ahead, seen.numbers))


# --- Numbers --------------------------------------------------------------------------------------


LEVEL = 0.9  # of the intervals
_HALF_WIDTH = float(ndtri(0.5 + LEVEL / 2.0))  # in stds of a normal


def measure(view: SoftTreesView) -> dict[str, float]:
    """The spread of one method's functions and its errors, in stds of the training y.

    NaN where the data have none: own points have no truth, some sets no empty places.
    """
    data, knowledge = view.fit.data, view.at.knowledge
    inside, outside = (
        spread_in(view.at, where) / data.target_std for where in (data.support, ~data.support)
    )
    scores = {
        "inside": inside,  # mean std of the functions over the places with rows: small, they agree
        "outside": outside,  # and over those without
        "fan_out": outside / inside if inside > 0.0 else math.nan,
        "agreement": math.nan,  # share of their variation with rows that all functions share
        # At fresh rows: of the mean to the true mean; the share in central 90 % intervals with its
        # exact binomial band at 95 %; and nats, in units of y
        **dict.fromkeys(("rmse", "coverage", "coverage_low", "coverage_high", "nll"), math.nan),
    }
    if data.support.any():
        common = float(view.at.mean[data.support].var())
        both = common + float(knowledge[data.support].mean())
        scores["agreement"] = common / both if both > 0.0 else 1.0
    if data.fresh_X is None or data.fresh_y is None or data.fresh_mean is None:
        return scores
    fresh, scores["nll"] = _fresh(view.fit, view.settings, data.fresh_X, data.fresh_y)
    error = np.square(fresh.mean - data.fresh_mean).mean()
    scores["rmse"] = math.sqrt(float(error)) / data.target_std
    held = np.abs(data.fresh_y - fresh.mean) <= _HALF_WIDTH * np.sqrt(fresh.total)
    scores["coverage"] = int(held.sum()) / len(held)
    ends = binomial_band(int(held.sum()), len(held))
    scores["coverage_low"], scores["coverage_high"] = map(float, ends)
    return scores


def spread_in(at: Predictive, where: Mask) -> float:
    """The mean std of the functions over some places, in units of y; NaN without any."""
    return float(np.sqrt(at.knowledge[where]).mean()) if where.any() else math.nan


def _fresh(
    fit: SoftTreesFit, settings: SoftTreesSettings, X: Array, y: Array
) -> tuple[Predictive, float]:
    """Moments at fresh rows, and their mean negative log likelihood.

    That is of the mixture over all draws; of a Gaussian process, which is one normal, of that.
    """
    if fit.method == PROCESS:
        at = moments_of_process(fit, X)
        return at, nll_gaussian(y, at.mean, np.sqrt(at.total))
    members = members_of(fit, settings, X)
    at = moments_of(members)[1]
    if fit.method == "vst":  # each draw is a mixture itself: its leaves'
        draws = settings.n_functions, settings.sampling_seed
        return at, -float(fit.model.log_score(X, y, *draws))
    return at, nll_mixture(y, members[..., 0], members[..., 1])


def score(run: Run) -> dict[str, dict[str, Any]]:
    """All numbers, and what claims and sentences say beside them."""
    data, scores = run.data, {}
    for view in run.views:
        numbers: dict[str, Any] = dict(view.numbers)
        fan_out, inside = numbers["fan_out"], numbers["inside"]
        known = not math.isnan(fan_out)
        numbers["wide"] = _as_wide(fan_out) if known else math.nan
        # Where functions can agree and spread, both are claims.
        numbers["agreed"] = math.nan if math.isnan(numbers["outside"]) else inside
        numbers["nowhere"] = "no place with rows" if math.isnan(inside) else math.nan
        label = METHODS[view.method].label
        if known:
            wide = f"{label} spreads its functions {numbers['wide']} as among the rows"
            numbers["found"] = f"Where there are no rows, {wide}"
        elif not math.isnan(inside):
            apart = f"{label}'s functions differ by {short(inside, 2)} stds of y"
            numbers["found"] = f"Among the rows, {apart}"
        scores[view.method] = numbers
    for key in set(SOFT_METHODS) & set(scores):
        for other in set(OTHERS) & set(scores):
            theirs = scores[other]["fan_out"]
            ratio = scores[key]["fan_out"] / theirs if theirs else math.inf
            chip = f"{METHODS[other].label}'s spread less" if key == "vst" else math.nan
            scores[key] |= {f"than_{other}": ratio, f"fan_{other}": theirs, f"chip_{other}": chip}
    together = {"about": describe_data(data), "corner": "Score", "fresh": f"{N_FRESH:,}"}
    rmse = {method: numbers["rmse"] for method, numbers in scores.items()}
    scores[""] = together | _underfit(data, rmse) | _order(data, rmse)
    return scores


def _as_wide(ratio: float) -> str:
    """A factor in words.

    >>> _as_wide(5.81), _as_wide(1.02)
    ('5.8 times as wide', 'equally wide')
    """
    return "equally wide" if abs(ratio - 1.0) < 0.05 else f"{times_text(ratio)} as wide"


def _underfit(data: SoftTreesData, rmse: Mapping[str, float]) -> dict[str, Any]:
    """VST's RMSE on the wavelet beside that of the best tree method."""
    others = {key: rmse[key] for key in ("xbart", "sglb") if key in rmse}
    if data.key != "wavelet" or "vst" not in rmse or not others:
        return {}
    best = min(others, key=lambda key: others[key])
    both = {"vst_rmse": rmse["vst"], "best_rmse": rmse[best]}
    return both | {"best": METHODS[best].label, "underfit": rmse["vst"] / rmse[best]}


def _order(data: SoftTreesData, rmse: Mapping[str, float]) -> dict[str, Any]:
    """Which method is nearest to the curve, in units of y, beside the paper."""
    papers = PAPER_RMSE.get(data.key, {})
    beside = [
        (METHODS[key].label, papers[key], rmse[key] * data.target_std)
        for key in papers
        if key in rmse
    ]
    if len(beside) < 2:
        return {}
    paper, here = (sorted(beside, key=lambda row: row[place]) for place in (1, 2))
    pairs = list(itertools.combinations(paper, 2))
    ordered = sum(near[2] < far[2] for near, far in pairs)
    return {
        "curve": data.title.lower(),
        "paper_order": ", ".join(f"{label} {error:.3f}" for label, error, _ in paper),
        "here_order": ", ".join(f"{label} {error:.3f}" for label, _, error in here),
        "pairs": f"{ordered} of {len(pairs)} pairs are",
        "ordered": ordered / len(pairs),
    }


# --- Claims ---------------------------------------------------------------------------------------


# RMSE. The paper has none for other pairs, and does not say how much noise it drew.
PAPER_RMSE: Mapping[str, Mapping[str, float]] = {
    "step": {"vst": 0.212, "xbart": 0.098, "sglb": 0.301},
    "wavelet": {"vst": 0.235, "vsgbm": 0.253, "xbart": 0.119, "sglb": 0.150},
}
OTHERS = ("sglb", "xbart")  # whose functions spread less, the paper says
# What counts as agreement. The paper shows pictures, so these limits are this project's.
_AGREED = Threshold("std where there are rows", 0.15, 0.3, unit=" stds of y", decimals=2)
_FANNED = Threshold("ratio of the two stds", 4.0, 2.0)
_MORE = Threshold("ratio of the two spreads", 1.5, 1.0)
_UNDERFIT = Threshold("ratio of the RMSEs", 1.2, 1.0)

CLAIMS = (
    Claim(
        "inside:{method}",
        "Functions drawn from the posterior agree where there are rows (figures 2 and 5).",
        "{label}: where there are rows, its functions have a std of {agreed:.2f} stds of y on "
        "average. All of them share {agreement:percent} of their variation.",
        "agreed",
        _AGREED,
        SOFT_METHODS,
        "{label}'s functions agree at the rows",
        "std",
    ),
    Claim(
        "outside:{method}",
        "They spread where there are no rows (figures 2 and 5).",
        "{label}: where there are no rows, its functions have a std of {outside:.2f} stds of y, "
        "{fan_out:times} the std where there are rows.",
        "fan_out",
        _FANNED,
        SOFT_METHODS,
        "{label}'s functions spread elsewhere",
        "ratio",
    ),
    *(
        Claim(
            f"more:{{method}}:{other}",
            f"The functions of {METHODS[other].label} spread less (figures 2 and 5).",
            "Outside the data, {label}'s functions spread {fan_out:times} as wide as inside. "
            f"{METHODS[other].label}'s spread {{fan_{other}:times}} as wide.",
            f"than_{other}",
            _MORE,
            SOFT_METHODS,
            f"{{chip_{other}}}",
            "ratio",
        )
        for other in OTHERS
    ),
    Claim(
        "underfit",
        "VST underfits the wavelet. Trees with hard splits fit it better (figure 7).",
        "The RMSE to the true mean is {vst_rmse:.3f} stds of y for VST and {best_rmse:.3f} for "
        "{best}. VST's is {underfit:times} as large.",
        "underfit",
        _UNDERFIT,
        chip="VST underfits the wavelet",
        name="ratio",
    ),
    Claim(
        "order",
        "RMSE on the {curve}, best first: {paper_order} (figures 6 and 7).",
        "RMSE to the true mean in units of y, best first: {here_order}. {pairs} in the paper's "
        "order. The paper does not say how much noise it drew.",
        "ordered",
        ORDERED,
        name="pairs in order",
    ),
)


# --- Picture --------------------------------------------------------------------------------------


LINES, DRAWS = (find_knob(knobs_of(SoftTreesSettings), key).choices for key in ("shown", "draws"))
_BAR = ("show", "shown", "draws", "focus", "every")  # the picture's own knobs
_HEIGHT = 370
FOCUS = Knob(
    "focus",
    "Only where rows are",
    "switch",
    False,
    group="picture",
    help="Shows only the range of x that has training rows.",
)
MOST_AHEAD = 100  # functions that are drawn for knobs before they are moved
N_STD = 2.0  # of the bands
_BAND_X = 220  # places of a band, which is smoother than functions
_TRUTH: Part = {"colour": "text", "width": 1.4, "dash": "6 5"}
_INK = {"colour": "text", "opacity": 0.35, "size": 4.0}
_PLACED_INK = {"colour": "text", "opacity": 0.85, "size": 7.0}
_DATA_OPACITY, _KNOWLEDGE_OPACITY = 0.16, 0.42
_FAINTER = 0.5  # bands behind functions, times
_BESIDE, _ABOVE = 0.05, 0.15  # of the rows' width and height, where they alone are shown
_NAMED = 5  # functions on one of which they are named
_COLUMNS = 4  # panels in a row, or 3 if there are more
_PLACE_HINT = (
    "Click an empty place to add a point. Drag a point to move it. Click a point to remove it."
)


def counts_ahead(settings: SoftTreesSettings) -> tuple[int, ...]:
    """Numbers of functions behind the bands that are worked out before a knob is moved.

    >>> counts_ahead(SoftTreesSettings())[-1] <= MOST_AHEAD
    True
    """
    most = max(settings.n_functions, MOST_AHEAD)
    behind = {max(draws, lines) for draws in DRAWS for lines in LINES}
    return tuple(sorted(count for count in behind if count <= most))


def picture(run: Run, knobs: Sequence[LiveKnob]) -> Curves:
    """Rows, functions, mean and bands of every method; without a method, the rows alone."""
    data, settings = run.data, run.settings
    views = {view.method: view for view in run.views}
    shown = run.notes or dict.fromkeys(views, "")
    drawn = any(key != PROCESS for key in shown)  # bands of a process are exact
    bar = [knob for knob in knobs if knob.key in _BAR and (drawn or knob.key != "draws")]
    bar = bar if views else []
    place, focus = data.key == OWN, any(knob.key == FOCUS.key and knob.value for knob in bar)
    axes = [_axes(data, False), _axes(data, True)]
    now = axes[focus]
    frame = {"range": now["y"], "label": "y"}
    behind = hatches(data.x, ~data.support) if shown else []
    before = _rows_and_truth(data, _PLACED_INK if place else _INK)
    notes = {
        key: note or (spread_note(views[key].at, data) if key in views else "")
        for key, note in shown.items()
    }
    panels: list[Part] = []
    n_read = 0  # of the values that can be read off
    for key, note in notes.items():
        view, style = views.get(key), METHOD_STYLES[key]
        belief = [] if view is None else _belief(view, data, settings)
        layers = [*behind, *belief, *before]
        if view is not None:
            layers.append(line(data.x, view.at.mean, style.colour, 2.4))
        title = {"title": style.label, "note": note, "colour": style.colour}
        panel = {**frame, **title, "layers": layers}
        # A stored fit has the functions of the first settings alone.
        same = view is not None and _drawn_by(view.settings) == _drawn_by(settings)
        if bar and view is not None and same and not run.moving:
            places = {"first": len(behind), "count": len(belief)}
            panel["live"] = {**places, **_for_knobs(view, shown[key], data, n_read)}
        n_read += view is not None
        panels.append(panel)
    if not panels:
        panels = [{**frame, "title": "Rows", "colour": "text", "layers": [*behind, *before]}]
    more: Part = {}
    if bar:
        more = {"focus": axes, "live": _live([*shown], views, data, settings, bar, focus)}
    if place:
        more["place"] = {"x": data.X[:, 0].tolist(), "y": data.y.tolist()}  # come back
    facets = max(1, len(shown) if len(shown) <= _COLUMNS else _COLUMNS - 1)
    rows_of_panels = -(-max(len(shown), 1) // facets)
    sentences = (f"{METHODS[key].label}: {note}." for key, note in notes.items() if note)
    return draw_curves(
        "soft-trees",
        " ".join([describe_data(data), *sentences]),
        _HEIGHT if rows_of_panels == 1 else 1.15 * _HEIGHT / rows_of_panels,
        axis(now["x"], "x"),
        panels,
        _legend([*shown], views, data, settings.show, focus),
        _read(data, [views[key] for key in shown if key in views]),
        hint=_PLACE_HINT if place else READ_HINT,
        knobs=bar,
        facets=facets,
        **more,
    )


def _drawn_by(settings: SoftTreesSettings) -> tuple[int, int]:
    return settings.n_functions, settings.draw_seed


def spread_note(at: Predictive, data: SoftTreesData) -> str:
    """How wide functions spread where there are no rows, relative to where there are."""
    inside, outside = (spread_in(at, where) for where in (data.support, ~data.support))
    if not (math.isfinite(inside) and math.isfinite(outside) and inside > 0):
        return ""
    return f"{outside / inside:.1f} times as wide without rows"


def _axes(data: SoftTreesData, focus: bool) -> Part:
    """Of everything, or of where rows can lie with a little room beside them."""
    low, high = (float(end) for end in data.y_range)
    left, right = float(data.x[0]), float(data.x[-1])
    if focus and data.support.any():
        where = data.x[data.support]
        room = _BESIDE * float(where[-1] - where[0])
        left, right = max(left, float(where[0]) - room), min(right, float(where[-1]) + room)
        rows = data.X[:, 0]
        inside = [data.y[(rows >= left) & (rows <= right)]]
        if data.true_mean is not None:
            inside.append(data.true_mean[data.support])
        seen = np.concatenate(inside)
        if len(seen) and seen.max() > seen.min():
            edge = _ABOVE * float(seen.max() - seen.min())
            low, high = max(low, float(seen.min()) - edge), min(high, float(seen.max()) + edge)
    return {"x": [left, right], "y": [low, high]}


def _for_knobs(view: SoftTreesView, note: str, data: SoftTreesData, place: int) -> Part:
    """A method's moments for each number of functions, each sent once, and all its lines."""
    few = _places_of_bands(data.x)
    functions, moments = view.ahead
    functions = functions[: LINES[-1]]
    sent: list[Predictive] = []
    which = []
    for at in moments:
        same = (i for i, old in enumerate(sent) if np.array_equal(old.mean, at.mean))
        which.append(next(same, len(sent)))
        if which[-1] == len(sent):
            sent.append(at)
    parts = {"loc": "mean", "data": "data", "knowledge": "knowledge"}
    return {
        "x": rounded(data.x[few]),
        "places": few.tolist(),
        "moments": [
            {name: rounded(getattr(at, part)) for name, part in parts.items()} for at in sent
        ],
        "set": which,
        "notes": [note or spread_note(at, data) for at in sent],
        "most": len(functions),
        "sheaf": sheaf(data.x, functions, data.y_range, METHOD_STYLES[view.method].colour, 1.0),
        "read": place + (data.true_mean is not None),
    }


def _places_of_bands(x: Array) -> npt.NDArray[np.int64]:
    return np.linspace(0, len(x) - 1, min(len(x), _BAND_X)).astype(np.int64)


def _live(
    methods: Sequence[str],
    views: Mapping[str, SoftTreesView],
    data: SoftTreesData,
    settings: SoftTreesSettings,
    knobs: Sequence[LiveKnob],
    focus: bool,
) -> Part:
    """What all panels share for knobs of the bar, as functions.js reads it."""
    return {
        "kind": "functions",
        "at": {knob.key: knob.value for knob in knobs},
        "shows": [{"functions": show != "bands", "bands": show != "functions"} for show in SHOWS],
        "lines": list(LINES),
        "draws": list(DRAWS),
        "sets": list(counts_ahead(settings)),
        "n_std": N_STD,
        "opacity": {"data": _DATA_OPACITY, "knowledge": _KNOWLEDGE_OPACITY},
        "fainter": _FAINTER,
        "legend": _legend(methods, views, data, "both", focus),
    }


def _belief(view: SoftTreesView, data: SoftTreesData, settings: SoftTreesSettings) -> list[Part]:
    """Rim, band, rim from below, and functions over them."""
    colour = METHOD_STYLES[view.method].colour
    functions = view.functions[: settings.shown]
    parts: list[Part] = []
    if settings.show != "functions":
        faint = _FAINTER if settings.show == "both" and len(functions) else 1.0
        few = _places_of_bands(data.x)
        x, loc, (inner, outer) = data.x[few], view.at.mean[few], _half_widths(view, few)
        parts += [
            band(x, loc + a, loc + b, colour, faint * opacity)
            for a, b, opacity in (
                (-outer, -inner, _KNOWLEDGE_OPACITY),
                (-inner, inner, _DATA_OPACITY),
                (inner, outer, _KNOWLEDGE_OPACITY),
            )
        ]
    if settings.show != "bands" and len(functions):
        opacity = min(0.55, 2.5 / np.sqrt(len(functions)))
        parts.append(sheaf(data.x, functions, data.y_range, colour, opacity))
    return parts


def _half_widths(view: SoftTreesView, places: Any) -> tuple[Array, Array]:
    """Of the band of data uncertainty, and of all."""
    known = view.at.data[places]
    return N_STD * np.sqrt(known), N_STD * np.sqrt(known + view.at.knowledge[places])


def _rows_and_truth(data: SoftTreesData, ink: Part) -> list[Part]:
    dots = {**few_rows(data), **ink}
    return [dots] if data.true_mean is None else [dots, line(data.x, data.true_mean, **_TRUTH)]


def _legend(
    methods: Sequence[str],
    views: Mapping[str, SoftTreesView],
    data: SoftTreesData,
    show: str,
    focus: bool,
) -> list[Part]:
    """Of a single method in its colour and where each part lies; of several in the page's ink."""
    colour = METHOD_STYLES[methods[0]].colour if len(methods) == 1 else "text"
    entries: list[Part] = []
    if methods:
        entries.append({"name": "mean", "kind": "line", "colour": colour, "width": 2.4})
    if methods and show != "bands":
        thin = {"kind": "line", "colour": colour, "width": 0.8, "part": "functions"}
        entries.append({"name": "sampled functions", **thin})
    if methods and show != "functions":
        area = {"kind": "band", "colour": colour, "part": "bands"}
        entries.append(
            {"name": f"data \u00b1 {N_STD:g} standard deviations", **area, "opacity": _DATA_OPACITY}
        )
        entries.append({"name": "knowledge, outside it", **area, "opacity": _KNOWLEDGE_OPACITY})
    if data.true_mean is not None:
        entries.append({"name": "truth", "kind": "line", **_TRUTH})
    entries.append({"name": "rows", "kind": "dots", **_INK, "opacity": 0.6})
    if methods and not data.support.all():
        entries.append({"name": "no rows", "kind": "hatch", "colour": "text"})
    if len(methods) == len(views) == 1:
        return labelled(entries, _places(next(iter(views.values())), data, focus))
    return entries


def _places(view: SoftTreesView, data: SoftTreesData, focus: bool) -> dict[str, list[list[float]]]:
    """Where each part of the only panel is named."""
    few, axes = _places_of_bands(data.x), _axes(data, focus)
    x, loc, (inner, outer) = data.x[few], view.at.mean[few], _half_widths(view, few)
    lines = {"mean": [loc], "sampled functions": list(view.functions[:_NAMED, few])}
    if data.true_mean is not None:
        lines["truth"] = [np.interp(x, data.x, data.true_mean)]
    within = {
        f"data \u00b1 {N_STD:g} standard deviations": [loc + inner / 2, loc - inner / 2],
        "knowledge, outside it": [loc + (inner + outer) / 2, loc - (inner + outer) / 2],
    }
    rows, gaps = {"rows": float(np.median(data.X[:, 0]))}, stretches(data.x, ~data.support)
    return label_places(x, (axes["x"], axes["y"]), lines, within, rows, gaps)


def _read(data: SoftTreesData, views: Sequence[SoftTreesView]) -> Part:
    """Means with the std of all uncertainty."""
    values: list[Part] = []
    if data.true_mean is not None:
        values.append({"name": "truth", "at": rounded(data.true_mean)})
    for view in views:
        std = np.sqrt(view.at.data + view.at.knowledge)
        label = METHOD_STYLES[view.method].label
        values.append({"name": label, "at": rounded(view.at.mean), "spread": rounded(std)})
    return {"x": rounded(data.x), "label": "x", "values": values}


# --- Words ----------------------------------------------------------------------------------------


def copied(settings: SoftTreesSettings) -> str:
    """Python that fits the methods and draws their functions with public names."""
    plans = [plan_soft_trees(settings, method) for method in settings.methods]
    names = [builder_of(plan).of for plan in plans]
    if settings.data != OWN:
        names.append(f"gbuq_core.synthetic:{MAKERS[settings.data].__name__}")
    lines = ["import numpy as np", "", *import_lines(names)]
    data = data_of(settings)
    lines += ["", *_data_lines(settings, data), ""]
    for plan in plans:
        lines += [*_method_lines(plan, settings), ""]
    return "\n".join(lines).replace("'", '"').rstrip() + "\n"


def _data_lines(settings: SoftTreesSettings, data: SoftTreesData) -> list[str]:
    low, high = data.x_range
    grid = f"grid = np.linspace({low!r}, {high!r}, {len(data.x)})[:, None]"
    if settings.data == OWN:
        points = ", ".join(f"({x:g}, {y:g})" for x, y in settings.points)
        return [f"points = np.array([{points}])", "X, y = points[:, :1], points[:, 1]", grid]
    make = MAKERS[settings.data].__name__
    return [
        f"rows = {make}(n={settings.rows}, noise={settings.noise!r}, random_state={settings.seed})",
        "X, y = rows.X, rows.y",
        grid,
    ]


def _method_lines(plan: SoftTreesSettings, settings: SoftTreesSettings) -> list[str]:
    own = plan.method
    model = call_lines(f"{own} = {builder_of(plan).name}", soft_trees_arguments(plan))
    lines = [f"# {METHODS[own].label}", *model[:-1], ").fit(X, y)"]
    seed = f", seed={settings.draw_seed}" if settings.draw_seed else ""
    kept = kept_by(plan)
    draws = settings.n_functions if kept is None else min(settings.n_functions, kept[0])
    if own == PROCESS and seed:
        lines.append(f"{own}.seed_ = {settings.draw_seed}  # the seed of the draws")
    how = f", n_draws={draws}{seed}" if own in SOFT_METHODS else ""
    if own in OTHERS:  # as many as the picture shows, which may be fewer than there are
        drawn = f"(grid)[:{draws}]" if own == "sglb" else f"(grid, n_draws={draws})"
        lines += [
            f"members = {own}.predict_members{drawn}  # the mean and variance of each function",
            "functions = members[..., 0]",
            "data, knowledge = members[..., 1].mean(axis=0), functions.var(axis=0)  # variances",
        ]
    else:
        draw = how if own in SOFT_METHODS else f", n_draws={draws}"
        lines += [
            f"functions = {own}.sample_functions(grid{draw})",
            f"total, data, knowledge = {own}.predict_uncertainty(grid{how})  # variances",
        ]
    lines.append(f"print('{METHODS[own].label}', functions.shape, np.sqrt(knowledge).mean())")
    if own in SOFT_METHODS:
        lines += [
            f"picture = {own}.tree_picture(grid, draw=None, tree=0{seed})",
            "print(picture.gates.shape, picture.leaf_means.shape)",
        ]
    return lines


def curves_columns(run: Run) -> dict[str, Any]:
    """One line a place and method: mean, variances, truth."""
    data, n = run.data, len(run.views)
    truth = np.full(len(data.x), np.nan) if data.true_mean is None else data.true_mean
    moments = {"mean": "mean", **{kind: kind for kind in UNCERTAINTY_KINDS}}
    return {
        "method": np.repeat([METHODS[view.method].label for view in run.views], len(data.x)),
        "x": np.tile(data.x, n),
        **{
            name: np.concatenate([getattr(view.at, part) for view in run.views] or [[]])
            for name, part in moments.items()
        },
        "true_mean": np.tile(truth, n),
        "has_rows": np.tile(data.support, n),
    }


def functions_columns(view: SoftTreesView, run: Run) -> dict[str, Any]:
    """One line a place, one column a drawn function."""
    drawn = {f"draw_{i + 1}": function for i, function in enumerate(view.functions)}
    return {"x": run.data.x, **drawn}


def parameters_columns(view: SoftTreesView, run: Run) -> dict[str, Any]:
    """One line a parameter of a soft tree: mean and std of its posterior, standardised scale."""
    model = view.fit if view.fit.model is not None else fit(view.fit.plan)
    trees = [covariance_view(model, tree) for tree in range(len(model.frames))]
    return {
        "tree": np.repeat([*range(1, len(trees) + 1)], [tree.n_parameters for tree in trees]),
        "parameter": [label for tree in trees for label in tree.labels],
        "mean": np.concatenate([tree.mean for tree in trees]),
        "std": np.concatenate([tree.scale for tree in trees]),
    }


def files(run: Run) -> dict[str, Callable[[Run], Mapping[str, Any]]]:
    """The CSV files: curves and rows, and functions and parameters of soft trees."""
    soft = {view.fit.label: view for view in run.views if view.method in SOFT_METHODS}
    return {
        "Curves": curves_columns,
        "Rows": lambda run: {"x": run.data.X[:, 0], "y": run.data.y},
        **{f"Functions of {of}": partial(functions_columns, view) for of, view in soft.items()},
        **{f"Parameters of {of}": partial(parameters_columns, view) for of, view in soft.items()},
    }


def reading(run: Run) -> str:
    """What was brought into range, and which controls train nothing."""
    notes = dict.fromkeys(view.notes for view in run.views if view.notes)
    own = "The controls above the picture and under View update it without retraining."
    return " ".join([*notes, own])


SOFT_TREES = Study(
    name="soft_trees",
    question="How many functions fit these points?",
    lede="Each thin line is a **function** that the model, a soft tree (VST), considers possible. "
    "Take rows away: where do the lines still agree, and where do they spread?",
    settings=SoftTreesSettings,
    methods=METHODS,
    data=data_of,
    fit=fit,
    view=view,
    viewed=("n_functions", "draw_seed"),
    dragged=("draw_seed",),
    kind=SoftTreesFit,
    store=opened,
    asks=("n_functions", "draw_seed"),
    planned=plan_soft_trees,
    why_not=why_not,
    picture=picture,
    curves=True,
    wait=0.9,
    score=score,
    claims=CLAIMS,
    bare=lambda settings: replace(bare(settings), draws=settings.n_functions),
    unsaid="The paper says nothing about these methods on these data.",
    scorecard={
        "Scorecard": (
            Row("Spread where there are rows", "inside"),
            Row("Spread where there are none", "outside"),
            Row("Ratio of the two", "fan_out"),
            Row("Agreement where there are rows", "agreement"),
            Row("RMSE to the true mean", "rmse"),
            Row("NLL (nats)", "nll"),
            Row("In the 90 % interval", "coverage", "percent1"),
            Row("Seconds", "seconds"),
            Row("Megabytes", "bytes", "MB"),
        )
    },
    caption="Spreads and RMSE are in standard deviations of y. Agreement is the share of the "
    "functions' variation that all functions have in common. RMSE (to the true mean), NLL (in "
    "nats) and intervals are measured on {fresh} new rows. Own points have no known "
    "truth, and step and wavelet no places without rows. Seconds are the training time.",
    answer="{found}.",
    said="{about}",
    said_of=(
        "{label}: the picture has {nowhere}.",
        "{label}: where there are rows, its functions have a std of {inside:2} stds of y.",
        "Where there are none, they have {outside:2} and spread {wide}.",
        "Their mean is {rmse:2} stds of y from the true mean (RMSE). The 90 % intervals hold "
        "{coverage:percent} of new rows.",
    ),
    files=files,
    copied=copied,
    reading=reading,
    inside=INSIDE,
    look=partial(inside_sections, fit),
    trials=TRIALS,
    further=(FOCUS, WHOSE, PLACE, POLICY, MOMENT),
    placed="points",
    first=("rows",),
    by_kind=False,
    presets=(
        (
            "Your points",
            {"data": DATASETS[OWN].label, "beta": 8.0, "restarts": 10},
            "Click in the picture to add or remove points. Training tries ten starts, because "
            "there are few rows.",
        ),
        (
            "Paper settings",
            to_values(PAPER),
            f"All five methods. VST and VSGBM train for {PAPER.steps:,} steps from "
            f"{PAPER.restarts} starts each. The page shows how long this takes.",
        ),
    ),
    story=(
        ("Each line is a function that fits the points. Where do the functions spread?", {}),
        (
            "Bands of three methods. How much of the total is knowledge?",
            {"show": "bands", "every": True},
        ),
        ("20 rows. How many more functions fit now?", {"rows": 20}),
        ("Without noise. Do the functions agree at the points?", {"noise": 0.0}),
    ),
    invitation="Choose a method in All settings to see its functions.",
    bits=13,
    title="Soft trees",
    lead="Functions that fit the same rows, drawn from soft trees with a posterior and from other "
    "models. After Cinquin et al., Variational boosted soft trees (arXiv 2302.10706).",
    equations=r"""
Cinquin, Rukat, Schmidt, Wistuba and Bekasov, [Variational boosted soft
trees](https://arxiv.org/abs/2302.10706), sections 4.1 and 4.2. A gate sends a point to the right
with a probability. The probability of a leaf is the product of those along its path:

$$
g_i(x)=\operatorname{sigmoid}\!\left(\beta\,(w_i^\top x+b_i)\right),\qquad
p(y\mid x,\theta)=\sum_{\ell}\pi_\ell(x)\,
\mathcal N\!\left(y\mid \mu_\ell(x),\sigma_\ell^2(x)\right)
$$

All parameters together have a Gaussian posterior. Its covariance is a diagonal plus a factor of low
rank. Training maximises the evidence lower bound:

$$
q(\theta)=\mathcal N\!\left(\mu,\operatorname{diag}(\sigma^2)+VV^\top\right),\qquad
\mathrm{ELBO}=\mathbb E_q\!\left[\log p(y\mid X,\theta)\right]
-\mathrm{KL}\!\left(q\,\|\,p\right)
$$

A sampled function is the mean prediction of one draw of the parameters. Knowledge uncertainty is
the variance of these functions. Data uncertainty is the mean of the variances that they predict.
SGLB's functions are its members. XBART's functions are the sweeps that it keeps. A Gaussian process
draws its functions directly.
""",
    departures="Variational soft trees",
)
