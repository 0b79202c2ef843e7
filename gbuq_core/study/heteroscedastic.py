"""Growing noise, and places without rows: figure 1 of MACAU's paper, with methods it compares.

MACAU (doi 10.5121/csit.2023.131920), section 4.1 and table 1. Read from top to bottom: data,
settings, fit, numbers, claims, picture, words.
"""

from __future__ import annotations

import copy
import importlib
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

from gbuq_core.errors import InvalidParameter, refusal_of_call
from gbuq_core.experiments.claims import Threshold, times_text
from gbuq_core.figures.curves import Curves
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.figures.theme import METHOD_STYLES
from gbuq_core.methods import NOVELTIES, PARTS, Builder, Method, find_methods
from gbuq_core.methods.papers import CYCLICAL, IBUG, RASMUSSEN, SGLB, SOFT_TREES, STACKING
from gbuq_core.metrics import auroc, crps_gaussian, rmse
from gbuq_core.metrics.conformal import CONFORMAL_LEVELS as LEVELS
from gbuq_core.metrics.scores import binomial_band
from gbuq_core.presentation import digits, percent, short
from gbuq_core.resources import held_bytes
from gbuq_core.settings import (
    arguments,
    check,
    differences,
    plan_of,
    quicker,
    setting,
    to_values,
)
from gbuq_core.study.bands import USUAL, Axis, Band, Look, bands
from gbuq_core.study.members import Array, Fit, Mask, Predictive, View, timed_fit
from gbuq_core.study.study import Claim, Code, Row, Run, Study
from gbuq_core.synthetic import make_heteroscedastic
from gbuq_core.uncertainty import decompose_regression

# --- Data -----------------------------------------------------------------------------------------

LOW, HIGH = 0.0, 10.0  # where rows are
LEFTMOST, RIGHTMOST = -30.0, 40.0  # how far foreign rows may lie
SHOWN = (-10.0, 20.0)  # the picture, at least: that of the paper
N_CALIBRATION = 1000
_CALIBRATION, _TEST, _FOREIGN = 1, 2, 3  # streams of the seed

# (761,): denser where the picture is
GRID = np.concatenate([np.arange(-120, -40) / 4, np.arange(-200, 401) / 20, np.arange(81, 161) / 4])
SUPPORT = (GRID >= LOW) & (GRID <= HIGH)


class Rows(NamedTuple):
    """Training rows, and rows of the same law that no fit sees."""

    X: Array  # (n_rows, 1)
    y: Array  # (n_rows,)
    calibration_X: Array
    calibration_y: Array


def true_mean(x: Array) -> Array:
    """``x / 2 + sin x``, equation 6 without its noise."""
    return 0.5 * x + np.sin(x)


@lru_cache(maxsize=16)
def _draw(rows: int, slope: float, seed: int) -> Rows:
    drawn = make_heteroscedastic(rows, slope, seed)
    held = make_heteroscedastic(N_CALIBRATION, slope, [seed, _CALIBRATION])
    return Rows(drawn.X, drawn.y, held.X, held.y)


def make_data(settings: HeteroscedasticSettings) -> Rows:
    """The rows of settings, or of a fit's key."""
    return _draw(settings.rows, settings.noise_slope, settings.seed)


def draw_test(settings: HeteroscedasticSettings) -> Any:
    """Rows of the training law for scores alone."""
    return make_heteroscedastic(settings.test_rows, settings.noise_slope, [settings.seed, _TEST])


def draw_foreign(settings: HeteroscedasticSettings) -> Array:
    """Foreign rows (n, 1), uniform over ``[left_from, 0)`` and ``(10, right_to]``."""
    left, right = LOW - settings.left_from, settings.right_to - HIGH
    n_left = round(settings.ood_rows * left / (left + right))
    uniform = np.random.default_rng([settings.seed, _FOREIGN]).random(settings.ood_rows)
    x = settings.right_to - uniform * right  # in (10, right_to], as the uniform is below 1
    x[:n_left] = settings.left_from + uniform[:n_left] * left
    return x[:, None]


# --- Settings -------------------------------------------------------------------------------------

_OTHER_PAGES = (SGLB, CYCLICAL, IBUG, SOFT_TREES, RASMUSSEN, STACKING)  # show these papers' methods
_FOUND = (
    *find_methods("regression", yields=("total",)), *find_methods("novelty", yields=("novelty",)),
)  # fmt: skip


METHODS = {record.key: record for record in _FOUND if record.paper not in _OTHER_PAGES}
MACAU = ("macau_linear", "macau_basic")
MEASURED = ("left_from", "right_to", "ood_rows", "test_rows", "tail")  # what scores depend on
SCORES = {
    "total": "Total uncertainty", "data": "Data uncertainty", "knowledge": "Knowledge uncertainty",
    "novelty": "Novelty", "conditional_novelty": "Conditional novelty",
    "inference_novelty": "Inference novelty", "isolation": "Isolation", "distance": "Distance",
}  # fmt: skip
SCORES |= {r.key: r.label for r in METHODS.values() if not r.predicts and r.key not in SCORES}
CHOSEN = ("novelty", "conditional_novelty", "inference_novelty", "knowledge", "data", "total")


def _of_forests(default: float, argument: str, choices: tuple[float, ...], **more: Any) -> Any:
    """A knob of the forests' records, for all methods that take it."""
    return setting(
        default, of=f"forest.{argument}", arg=argument, group="method", choices=choices, **more,
        uses=lambda plan: argument in {knob.key for knob in METHODS[plan.method].knobs},
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
        named={method.label: key for key, method in METHODS.items()}, most=6,
        help="Up to six, shown side by side on the same axes.",
    )  # fmt: skip
    trees: int = _of_forests(
        100, "n_trees", (10, 20, 50, 100, 200, 300, 500), shrink=(0.5, 20)
    )  # fmt: skip
    subsample: float = _of_forests(0.1, "subsample", (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.95))
    min_child_samples: int = _of_forests(20, "min_child_samples", (1, 2, 5, 10, 20, 50, 100))
    max_leaves: int = _of_forests(31, "max_leaves", (2, 4, 8, 16, 31, 63, 127, 255))
    left_from: float = setting(
        -10, "Foreign rows down to", group="view", low=int(LEFTMOST), high=-1, step=1,
        limits=(LEFTMOST, LOW - 0.5),
        help="x of the farthest one to the left of 0. Foreign rows are drawn and scored again, "
        "without retraining.",
    )  # fmt: skip
    right_to: float = setting(
        20, "Foreign rows up to", group="view", low=11, high=int(RIGHTMOST), step=1,
        limits=(HIGH + 0.5, RIGHTMOST),
        help="x of the farthest one to the right of 10. Foreign rows are drawn and scored again, "
        "without retraining.",
    )  # fmt: skip
    ood_rows: int = setting(
        6000, "Foreign rows", group="view", offered=False, limits=(100, 20_000), shrink=(0.5, 500)
    )
    test_rows: int = setting(
        2000, "Test rows", group="view", offered=False, limits=(100, 20_000), shrink=(0.5, 500)
    )
    score: str = setting(
        "novelty", "Score below", group="view", named={SCORES[key]: key for key in CHOSEN},
        help="A method without this score shows its knowledge uncertainty, or else its own score.",
    )  # fmt: skip
    tail: str = setting(
        "rise", "Novelty beyond the rows", group="view", plain=True,
        named={"goes on rising": "rise", "ends at 5.2": "clip"},
        uses=lambda plan: plan.method in MACAU,
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
        False, "Conformal", group="picture", drawn=True,
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


PAPER = HeteroscedasticSettings(
    methods=("macau_linear", "macau_basic", "forest", "quantile", "ngboost", "catboost")
)


def why_not(plan: HeteroscedasticSettings) -> str:
    """Why a method cannot be fitted, in a sentence; empty if it can."""
    if refusal := refusal_of_call(check, plan):
        return refusal
    seen = int(plan.subsample * plan.rows)
    forest = {"subsample", "min_child_samples"} <= arguments(plan).keys()
    if forest and seen < 2 * plan.min_child_samples:
        return (
            f"Each tree sees {seen} rows ({plan.subsample:g} of {plan.rows:,}), which cannot be "
            f"cut into two leaves of {plan.min_child_samples} rows: choose more rows, a larger "
            "subsample or smaller leaves."
        )
    return METHODS[plan.method].why_not(plan.rows)


# --- Fit ------------------------------------------------------------------------------------------


def estimator_arguments(plan: HeteroscedasticSettings) -> dict[str, Any]:
    """All arguments of the estimator for settings of one method."""
    record, builder = METHODS[plan.method], _builder(plan)
    # So few rows that threads would wait.
    options = {"levels": LEVELS, **arguments(plan), "n_jobs": 1}
    own = ("levels", "n_jobs", "random_state")
    options = {name: v for name, v in options.items() if name in builder.takes or name not in own}
    options |= {name: record.knob(name).default for name in builder.at_most}
    if builder.fixed.get("leaf_model") == "linear":
        options["leaf_features"] = "path"  # as in the paper
    return builder.arguments(options)


def _builder(plan: HeteroscedasticSettings) -> Builder:
    record = METHODS[plan.method]
    return record.builder("regression" if record.predicts else "novelty")


def fit(plan: HeteroscedasticSettings) -> Fit:
    """Train one method, and predict the widest grid and the calibration rows."""
    if refusal := why_not(plan):
        raise InvalidParameter(refusal)
    data, record = make_data(plan), METHODS[plan.method]
    for package in record.packages:
        importlib.import_module(package)  # a first import is no training
    model = _builder(plan).make(**estimator_arguments(plan))
    seconds = timed_fit(model, data)
    at = {
        "grid": predict(model, record, GRID[:, None]),
        "calibration": predict(model, record, data.calibration_X, scored=False),
    }
    if plan.method in MACAU:
        at["clipped"] = predict(model, record, GRID[:, None], tail="clip")
    size = None if record.opaque else held_bytes(model)
    return Fit(plan, None, seconds, size, at, model)


def predict(
    model: Any, record: Method, X: Array, scored: bool = True, tail: str = "rise"
) -> Predictive:
    """Moments, intervals and novelty of a fitted model at rows (n, 1)."""
    if not record.predicts:
        none = np.full(len(X), np.nan)
        return Predictive(none, none, none, none, scores={record.key: model.score_novelty(X)})
    if hasattr(model, "leaf_model"):  # one pass over the trees: (n_trees, n, 2)
        members = model.predict_members(X)
        mean = members[..., 0].mean(axis=0)
        parts = decompose_regression(members[..., 0], members[..., 1])
    else:
        mean, parts = np.asarray(model.predict(X), np.float64), model.predict_uncertainty(X)
    none = np.full(len(X), np.nan)
    total, data, knowledge = (
        part if name in record.parts else none for name, part in zip(PARTS, parts, strict=True)
    )
    intervals, scores = {}, {}
    if hasattr(model, "predict_intervals"):
        of_model = zip(*model.predict_intervals(X), strict=True)
        intervals = {
            min(LEVELS, key=lambda own: abs(own - a)): (low, high) for a, low, high in of_model
        }
    if scored and set(NOVELTIES) <= set(record.yields):
        judge = copy.copy(model)  # sessions share the model; the copy shares what was fitted
        judge.tail = tail
        novelty = judge.score_novelty(X)
        scores = {name: getattr(novelty, name) for name in NOVELTIES}
        scores["inference_novelty"] = np.abs(novelty.inference_novelty)
    return Predictive(mean, total, data, knowledge, intervals, scores)


def view(fit: Fit, settings: HeteroscedasticSettings) -> View:
    """One method over the picture's places, and its conformal factors. Predicts nothing."""
    check(settings)
    clips = settings.tail == "clip" and fit.plan.method in MACAU
    at, calibration = fit.at("clipped" if clips else "grid"), fit.at("calibration")
    y = make_data(fit.plan).calibration_y
    factors = [calibration.conformal_factor(y, level) for level in LEVELS if calibration.parts]
    factors = factors or [1.0] * len(LEVELS)
    return View(fit, at.take(shown_places(settings)), factors=tuple(factors))


def shown_places(settings: HeteroscedasticSettings) -> Any:
    """The places of the picture: the paper's, or as far as foreign rows lie, (761,)."""
    return (min(SHOWN[0], settings.left_from) <= GRID) & (max(SHOWN[1], settings.right_to) >= GRID)


def measure(trained: Fit, settings: HeteroscedasticSettings) -> dict[str, Predictive]:
    """Predict test and foreign rows; a stored fit is made again."""
    check(settings)
    model, record = trained.model or fit(trained.plan).model, METHODS[trained.plan.method]
    places = {"test": draw_test(settings).X, "foreign": draw_foreign(settings)}
    return {name: predict(model, record, X, tail=settings.tail) for name, X in places.items()}


def store(trained: Fit) -> Fit:
    """A fit with what is measured of it at the first settings."""
    first = HeteroscedasticSettings(methods=trained.plan.methods)
    return trained._replace(measured=measure(trained, first))


def fewer(settings: HeteroscedasticSettings, share: float) -> HeteroscedasticSettings:
    """Fewer rows and trees; a tree of a forest sees as many rows as before, so that it can grow."""
    small = quicker(settings, share)
    return replace(small, subsample=min(0.9, settings.subsample * settings.rows / small.rows))


# --- Numbers --------------------------------------------------------------------------------------

# Table 1, columns "1DS ynth": CRPS and AUROC of foreign rows, by method and score.
PAPER_TABLE = {
    ("catboost", "data"): (0.32, 0.55), ("catboost", "knowledge"): (0.44, 0.53),
    ("catboost", "total"): (0.32, 0.55), ("gnll", "total"): (0.29, 0.50),
    ("conformal_linear", "total"): (0.49, 0.70), ("conformal_forest", "total"): (0.30, 0.66),
    ("isolation", "isolation"): (math.nan, 1.0), ("macau_basic", "data"): (0.29, 0.44),
    ("macau_basic", "conditional_novelty"): (math.nan, 1.0),
    ("macau_basic", "knowledge"): (0.35, 0.20),
    ("macau_basic", "inference_novelty"): (math.nan, 0.50),
    ("macau_basic", "novelty"): (math.nan, 1.0), ("macau_basic", "total"): (0.29, 0.32),
    ("macau_linear", "data"): (0.29, 0.54),
    ("macau_linear", "conditional_novelty"): (math.nan, 1.0),
    ("macau_linear", "knowledge"): (0.39, 0.95),
    ("macau_linear", "inference_novelty"): (math.nan, 1.0),
    ("macau_linear", "novelty"): (math.nan, 1.0), ("macau_linear", "total"): (0.29, 0.63),
    ("ngboost", "total"): (0.32, 0.53), ("quantile", "total"): (0.31, 0.28),
    ("forest", "total"): (0.35, 0.20),
}  # fmt: skip
_CRPS_KINDS = {  # of which distribution, if not a normal with the method's mean and std
    "quantile": "normal nearest to the quantiles",
    "cqr": "normal nearest to the intervals' ends",
    "conformal_forest": "normal with the calibration residuals' std",
    "conformal_linear": "normal with the calibration residuals' std",
}


def score(run: Run) -> dict[str, dict[str, Any]]:
    """Each method's numbers on test and foreign rows, once these are predicted."""
    settings, test, foreign = run.settings, draw_test(run.settings), draw_foreign(run.settings)
    std = np.sqrt(test.row_variance)  # (n_test,)
    same_noise, truth = settings.noise_slope == PAPER.noise_slope, math.nan
    scores: dict[str, dict[str, Any]] = {}
    for each in run.views:
        if (at := run.measured.get(each.method)) is None:
            continue
        label, truth = METHODS[each.method].label, crps_gaussian(test.y, test.row_mean, std)
        numbers = _foreign(each, at, GRID[shown_places(settings)])
        numbers |= {"mean_noise": float(std.mean()), "truth_crps": truth, "level": settings.level}
        if at["test"].parts:
            crps = PAPER_TABLE.get((each.method, "total"), (math.nan, math.nan))[0]
            crps = crps if same_noise else math.nan
            numbers |= _among(each, at["test"], settings, test)
            numbers |= _outside(each, at["foreign"], settings, foreign[:, 0])
            numbers |= {"paper_crps": crps, "excess": numbers["crps"] - truth}
            numbers["beside"] = f"; CRPS {crps:.2f}" if math.isfinite(crps) else ""
            numbers |= {
                "told": f"Among the rows, the {100 * settings.level:g} % band of {label} holds "
                f"{percent(numbers['inside'], 0)} of new rows. Outside, it holds "
                f"{percent(numbers['outside'], 0)}, and",
                "whom": "them",
            }
        else:
            whom = "the rows outside 0 to 10"
            numbers |= {"missing": "", "told": f"{label} predicts nothing;", "whom": whom}
        scores[each.method] = numbers
    return scores | {"": _order(scores) | _said(settings) | _caveats(scores, settings, truth)}


def _among(view: View, at: Predictive, settings: Any, test: Any) -> dict[str, Any]:
    """CRPS, errors and coverage; under a conformal step, with its factor at each level."""
    record, x, std = METHODS[view.method], test.X[:, 0], np.sqrt(test.row_variance)
    factors = dict(zip(LEVELS, _factors(view, settings), strict=True))
    scale = (factors[settings.level] or 1.0) * np.sqrt(at.total)  # (n_test,)
    inside = {}  # (n_test,) by level
    for level in LEVELS:
        low, high = at.interval(level, factors[level])
        inside[level] = (low <= test.y) & (test.y <= high)
    covered = {level: float(held.mean()) for level, held in inside.items()}
    worst = max(LEVELS, key=lambda level: abs(covered[level] - level))
    third = np.clip((3 * (x - LOW) / (HIGH - LOW)).astype(int), 0, 2)
    thirds = [float(inside[settings.level][third == i].mean()) for i in range(3)]
    noise, total = float(std.mean()), float(at.total.mean())
    noisy = noise if noise > 0.0 else math.nan  # without noise nothing is said of it
    ratio, error = float(scale.mean()) / noisy, rmse(std, scale)
    share = float(at.data.mean()) / total if "data" in record.parts and total > 0.0 else math.nan
    return {
        "crps": crps_gaussian(test.y, at.mean, scale),
        "rmse": rmse(test.row_mean, at.mean),
        "std_error": error,
        "mean_std": float(scale.mean()),
        "noise_ratio": ratio,
        "as_large": math.nan if math.isnan(ratio) else _as_large(ratio),
        "over": ratio - 1.0,
        "under": 1.0 - ratio,
        "error_share": error / noisy,
        "data_share": share,
        "noise_share": share if noise > 0.0 else math.nan,
        "split": share if "knowledge" in record.parts else math.nan,
        **{f"covered_{100 * level:g}": share for level, share in covered.items()},
        "worst_level": worst,
        "worst_covered": covered[worst],
        "worst_off": abs(covered[worst] - worst) if noise > 0.0 else math.nan,
        "sampled": _off(inside),
        "inside": covered[settings.level],
        "thirds": ", ".join(percent(share, 0) for share in thirds),
    }


def _as_large(ratio: float) -> str:
    """A factor in words.

    >>> _as_large(1.31), _as_large(0.98)
    ('1.3 times', 'as large as')
    """
    return "as large as" if abs(ratio - 1.0) < 0.05 else times_text(ratio)


def _factors(view: View, settings: Any) -> Sequence[float | None]:
    """Of the conformal step at each level; None without one."""
    return view.factors if settings.conformal else [None] * len(LEVELS)


def _outside(view: View, at: Predictive, settings: Any, x: Array) -> dict[str, Any]:
    """The probability of y inside the interval, by the formula of the rows, without drawing y."""
    factor = dict(zip(LEVELS, _factors(view, settings), strict=True))[settings.level]
    noise = np.maximum(np.abs(settings.noise_slope * x), 1e-12)
    low, high = ((end - true_mean(x)) / noise for end in at.interval(settings.level, factor))
    held = ndtr(high) - ndtr(low)  # (n_foreign,)
    sides = [float(held[where].mean()) for where in (x < LOW, x > HIGH)]
    widths = [LOW - settings.left_from, settings.right_to - HIGH]
    return {
        "outside": float(np.average(sides, weights=widths)),
        "sides": " / ".join(percent(share, 0) for share in sides),
    }


def _off(inside: Mapping[float, Mask]) -> str:
    """The levels whose coverage sampling error does not explain."""
    off = []
    for level, held in inside.items():
        low, high = binomial_band(int(held.sum()), len(held))
        off += [] if low <= level <= high else [f"{100 * level:g} %"]
    return ", ".join(off) or "none"


def _foreign(view: View, at: Mapping[str, Predictive], x: Array) -> dict[str, Any]:
    """AUROC of every score for foreign rows, and how knowledge changes from the rows outwards."""
    numbers: dict[str, Any] = {}
    rows, names = (at["test"], at["foreign"]), at["test"].ranking
    is_foreign = np.repeat([0.0, 1.0], [len(each.mean) for each in rows])
    for name in names:
        values = np.concatenate([each.score(name) for each in rows])
        numbers[f"auroc_{name}"] = auroc(is_foreign, values)
        paper = PAPER_TABLE.get((view.method, name), (math.nan, math.nan))[1]
        numbers[f"paper_auroc_{name}"] = paper
    ranked = sorted(names, key=lambda name: -numbers[f"auroc_{name}"])
    words = (f"{SCORES[name].lower()} {numbers[f'auroc_{name}']:.2f}" for name in ranked)
    name = "novelty" if "novelty" in names else names[0]
    known, foreign = (each.score(name) for each in rows)
    warned = float(np.mean(foreign > np.quantile(known, 0.95)))
    numbers |= {"ranking": ", ".join(words), "warns": SCORES[name].lower(), "warned": warned}
    if "knowledge" in names:
        rays = follow_rays(x, np.sqrt(view.at.knowledge))
        for side, ray in zip(("left", "right"), rays, strict=True):
            numbers |= {f"{part}_{side}": value for part, value in ray._asdict().items()}
        rising = min(ray.slope for ray in rays) > 0.0
        numbers["straight"] = min(ray.linear for ray in rays) if rising else 0.0
        numbers["chance"] = abs(numbers.get("auroc_inference_novelty", math.nan) - 0.5)
    return numbers


class Ray(NamedTuple):
    """How a curve changes from the last row outwards, on one side."""

    linear: float  # R squared of a straight line; 0 where the curve is flat
    slope: float  # of that line, per unit of x
    first: float  # the curve at the end of the rows
    last: float  # and of the picture


def follow_rays(x: Array, values: Array) -> list[Ray]:
    """A curve from 0 to the left and from 10 to the right."""
    rays = []
    for away in (LOW - x, x - HIGH):
        order = np.argsort(away[away >= 0.0])
        distance, curve = away[away >= 0.0][order], values[away >= 0.0][order]
        linear = slope = 0.0
        if np.ptp(curve) > 1e-12 * max(1.0, float(np.abs(curve).max())):
            slope, offset = np.polyfit(distance, curve, 1)
            left_over = np.square(curve - offset - slope * distance).sum()
            linear = 1.0 - float(left_over / np.square(curve - curve.mean()).sum())
        rays.append(Ray(linear, float(slope), float(curve[0]), float(curve[-1])))
    return rays


def _order(scores: Mapping[str, Any]) -> dict[str, Any]:
    """Pairs of methods with different CRPS in the table, which rounds to two digits."""
    # Without noise the paper's order says nothing: then no method has a share of it.
    noisy = any(math.isfinite(each.get("error_share", math.nan)) for each in scores.values())
    known = {
        key: each
        for key, each in sorted(scores.items(), key=lambda pair: pair[1].get("excess", math.inf))
        if noisy and math.isfinite(each.get("paper_crps", math.nan) + each.get("crps", math.nan))
    }
    pairs = [
        sorted(pair, key=lambda key: known[key]["paper_crps"])
        for pair in itertools.combinations(known, 2)
        if known[pair[0]]["paper_crps"] != known[pair[1]]["paper_crps"]
    ]
    if not pairs:
        return {}
    alike = sum(known[near]["crps"] < known[far]["crps"] for near, far in pairs)

    def listed(name: str, decimals: int) -> str:
        keys = sorted(known, key=lambda key: known[key][name])
        return "; ".join(f"{METHODS[key].label} {known[key][name]:.{decimals}f}" for key in keys)

    return {
        "paper_order": listed("paper_crps", 2), "order": listed("crps", 3),
        "pairs": float(len(pairs)), "alike": float(alike), "alike_share": alike / len(pairs),
    }  # fmt: skip


def _said(settings: HeteroscedasticSettings) -> dict[str, Any]:
    """What is said of the rows."""
    slope, noise = settings.noise_slope, "There is no noise."
    if slope > 0.0:
        noise = f"The noise grows with x and has a std of {short(slope * HIGH, 2)} at x = {HIGH:g}."
    return {
        "rows": float(settings.rows), "noise": noise, "foreign": float(settings.ood_rows),
        "tests": float(settings.test_rows), "left": f"{settings.left_from:g}",
        "right": f"{settings.right_to:g}",
    }  # fmt: skip


def _caveats(scores: Mapping[str, Any], settings: Any, truth: float) -> dict[str, str]:
    """What is said below the scorecard of how its numbers are made."""
    beside = " On the paper's test rows the true distribution can differ by about 0.01."
    if settings.noise_slope != PAPER.noise_slope:
        beside = f" The paper's CRPS is left out because its noise is {PAPER.noise_slope:g} x."
    kinds: dict[str, list[str]] = {}
    for method in scores:
        if method in _CRPS_KINDS:
            kinds.setdefault(_CRPS_KINDS[method], []).append(METHODS[method].label)
    kind = "".join(f" CRPS of {' and '.join(each)} uses the {how}." for how, each in kinds.items())
    if settings.conformal:
        kind += (
            f" CRPS uses the conformal factor for {100 * settings.level:g} %. The coverage of each "
            "level uses the factor for that level."
        )
    tail = ""
    if settings.tail == "clip" and {*MACAU} & {*scores}:
        tail = " Novelty scores stop at 5.2, as in the authors' code."
    return {"truth": digits(truth), "caveats": beside + kind, "tail": tail}


# --- Claims. The paper has a picture and a table, so these limits are this project's. -------------

BLIND = 0.6  # AUROC at most, of the table's 0.53
CHANCE = 0.05  # of an AUROC from 0.5

_CAPTURED = Threshold("CRPS above the truth's", 0.015, 0.03, decimals=3)
_CALLED = Threshold("share of data uncertainty", 0.9, 0.75, unit=" %", times=100.0, decimals=0)
_SEPARATED = Threshold("AUROC", 0.99, 0.95, decimals=3)
_STRAIGHT = Threshold(
    "share explained by a straight line", 0.95, 0.85, unit=" %", times=100.0, decimals=0
)
_KNOWN = Threshold("AUROC", 0.9, 0.8, decimals=2)
_BLIND = Threshold("AUROC", BLIND, 0.7, decimals=2)
_CHANCE = Threshold("distance of the AUROC from 0.5", CHANCE, 0.1, decimals=2)
_OVER = Threshold("overestimation", 0.05, 0.0, unit=" %", times=100.0, decimals=0)
_UNDER = _OVER._replace(what="underestimation")
_HALF = Threshold("share of the noise std", 0.5, 0.75, unit=" %", times=100.0, decimals=0)
_NEAR = Threshold(
    "distance of a coverage from its level", 0.03, 0.06, unit=" points", times=100.0, decimals=0
)
_FOLLOWED = Threshold(
    "error of the std", 0.15, 0.3, unit=" % of the noise", times=100.0, decimals=0
)
_ORDERED = Threshold("share of the pairs in the paper's order", 1.0, 0.6, unit=" %", times=100.0)
_AWAY = (
    "From the last row outwards, the std goes from {first_left:2} to {last_left:2} on the left and "
    "from {first_right:2} to {last_right:2} on the right."
)
_RATIO = (
    "On test rows its mean std is {mean_std:.3f} and the true one is {mean_noise:.3f}. The ratio "
    "is {noise_ratio:.2f}."
)

CLAIMS = (
    Claim(
        "captures:{method}",
        "{label} captures the noise that grows with x (section 4.1; CRPS {paper_crps:.2f}).",
        "Its CRPS is {crps:.3f}, {excess:.3f} above that of the true distribution "
        "({truth_crps:.3f}). The RMSE of its std is {std_error:.2f}.",
        "excess", _CAPTURED, MACAU, "{label} follows the noise", "excess CRPS",
    ),
    Claim(
        "called:{method}",
        "{label} attributes the noise to data uncertainty (section 4.1).",
        "Data uncertainty is {noise_share:percent} of the total variance on test rows.",
        "noise_share", _CALLED, MACAU, name="data share",
    ),
    Claim(
        "forest",
        "The spread between the trees of a random forest does not capture the noise (section "
        "4.1{beside}).",
        "Its std is {noise_ratio:percent} of the noise std. Its CRPS is {crps:.3f}, {excess:.3f} "
        "above that of the true distribution.",
        "noise_ratio", _HALF, ("forest",), name="share",
    ),
    Claim(
        "scale:{method}", "{label} overestimates the noise (section 4.1).", _RATIO,
        "over", _OVER, ("quantile", "ngboost"),
    ),
    Claim(
        "scale:{method}", "{label} underestimates the noise (section 4.1).", _RATIO,
        "under", _UNDER, ("catboost",),
    ),
    Claim(
        "average",
        "Inductive conformal prediction captures the noise on average (section 4.1).",
        "The interval farthest from its level holds {worst_covered:percent} of test rows instead "
        "of {worst_level:percent}. All rows get the same std, with an RMSE of {std_error:.2f}.",
        "worst_off", _NEAR, ("conformal_forest",), name="off by",
    ),
    Claim(
        "captures:{method}",
        "GNLL captures noise that grows linearly (section 4.1).",
        "The RMSE of its std is {std_error:2}, {error_share:percent} of the mean noise std.",
        "error_share", _FOLLOWED, ("gnll",), "GNLL follows the noise", "off by",
    ),
    Claim(
        "novelty:{method}", "Novelty of {label} detects all foreign rows (table 1).",
        "AUROC {auroc_novelty:.3f}.", "auroc_novelty", _SEPARATED, MACAU,
        "Novelty of {label} finds foreign rows",
    ),
    Claim(
        "inference_novelty:{method}",
        "Inference novelty of MACAU (linear) detects all foreign rows (table 1).",
        "AUROC {auroc_inference_novelty:.3f}.", "auroc_inference_novelty", _SEPARATED, MACAU[:1],
    ),
    Claim(
        "straight",
        "Outside the rows, knowledge uncertainty of MACAU (linear) rises linearly (section 4.1).",
        "A straight line explains {linear_left:percent} of its std on the left and "
        "{linear_right:percent} on the right. " + _AWAY,
        "straight", _STRAIGHT, MACAU[:1], name="explained",
    ),
    Claim(
        "knowledge:{method}",
        "Knowledge uncertainty of MACAU (linear) detects most foreign rows (table 1: AUROC 0.95).",
        "AUROC {auroc_knowledge:.2f}.", "auroc_knowledge", _KNOWN, MACAU[:1],
        "KU of MACAU (linear) finds foreign rows",
    ),
    Claim(
        "inference:{method}",
        "Inference novelty of MACAU (basic) is no better than chance, because a leaf predicts one "
        "value (table 1: AUROC 0.50).",
        "AUROC {auroc_inference_novelty:.2f}.", "chance", _CHANCE, MACAU[1:], name="distance",
    ),
    Claim(
        "knowledge:{method}",
        "Knowledge uncertainty of MACAU (basic) cannot detect foreign rows (table 1: AUROC 0.20).",
        "AUROC {auroc_knowledge:.2f}. At the ends of the picture its std is {last_left:2} on the "
        "left and {last_right:2} on the right.",
        "auroc_knowledge", _BLIND, MACAU[1:],
    ),
    Claim(
        "knowledge:{method}",
        "Knowledge uncertainty of CatBoost does not detect foreign rows (section 4.1; table 1: "
        "AUROC 0.53).",
        "AUROC {auroc_knowledge:.2f}. " + _AWAY, "auroc_knowledge", _BLIND, ("catboost",),
    ),
    Claim(
        "isolation:{method}", "An isolation forest detects all foreign rows (table 1).",
        "AUROC {auroc_isolation:.3f}.", "auroc_isolation", _SEPARATED, ("isolation",),
    ),
    Claim(
        "order",
        "CRPS, best first: {paper_order} (table 1).",
        "Best first: {order}. The table orders {pairs:.0f} pairs of these methods. {alike:.0f} of "
        "them have the same order here.",
        "alike_share", _ORDERED, name="pairs in order",
    ),
)  # fmt: skip


def tell_settings(settings: HeteroscedasticSettings) -> str:
    """Which settings differ from the paper's. Methods and seed may differ."""
    here = plan_of(replace(settings, seed=PAPER.seed, tail=PAPER.tail), also=MEASURED)
    paper = plan_of(replace(PAPER, methods=settings.methods), also=MEASURED)
    other = differences(here, paper, "{} {} (there {})")
    if other:
        return f"Different from the paper: {', '.join(other)}."
    return "These are the paper's settings."


# --- Picture --------------------------------------------------------------------------------------


def known_along(run: Run) -> Axis:
    """What is known along x: the truth, and where rows lie."""
    settings, at = run.settings, shown_places(run.settings)
    x, rows = GRID[at], (run.data.X[:, 0], run.data.y)
    noise = np.sqrt(np.square(settings.noise_slope * x))
    foreign = (settings.left_from, LOW), (HIGH, settings.right_to)
    return Axis(x, SUPPORT[at], true_mean(x), noise, rows, foreign)


def picture(run: Run, knobs: Sequence[LiveKnob]) -> Curves:
    """The prediction and bands of each method beside the truth, and its novelty below."""
    settings, views = run.settings, {view.method: view for view in run.views}
    shown = tuple(part for part in PARTS if getattr(settings, f"show_{part}"))
    look = Look(
        LEVELS, settings.level, shown, settings.conformal, settings.focus, settings.score,
        settings.log, settings.own_scale, SCORES,
    )  # fmt: skip
    methods = [
        Band(METHODS[key].label, METHOD_STYLES[key].colour, views.get(key), run.notes.get(key, ""))
        for key in run.notes
    ]
    there = {part for each in methods if each.at for part in each.at.parts}
    changed = {f"show_{part}": part in there for part in PARTS} | {"conformal": bool(there)}
    return bands(
        known_along(run),
        methods,
        look,
        name="heteroscedastic",
        said=HETEROSCEDASTIC.say_data(run),
        knobs=[knob for knob in knobs if changed.get(knob.key, True)],
        quiet=len(methods) == 1,
    )


# --- Words ----------------------------------------------------------------------------------------


def columns(run: Run) -> dict[str, Any]:
    """Places and truth."""
    at = shown_places(run.settings)
    x = GRID[at]
    variance = np.square(run.settings.noise_slope * x)
    return {"x": x, "true_mean": true_mean(x), "true_variance": variance, "has_rows": SUPPORT[at]}


def copied(settings: HeteroscedasticSettings) -> Code:
    """What the copied code calls."""
    given = {"n": settings.rows, "noise_slope": settings.noise_slope, "random_state": settings.seed}
    models = []
    for method in settings.methods:
        plan, record = replace(settings, methods=(method,)), METHODS[method]
        arguments = estimator_arguments(plan)
        parts = "model.predict_uncertainty(data.X)._asdict()"
        if not record.predicts:
            parts = '{"novelty": model.score_novelty(data.X)}'
        elif method in MACAU:
            parts = f'{parts} | {{"novelty": model.score_novelty(data.X).novelty}}'
            arguments |= {} if settings.tail == "rise" else {"tail": settings.tail}
        models.append((record.label, _builder(plan).of, arguments, parts))
    return Code("gbuq_core.synthetic:make_heteroscedastic", given, models)


HETEROSCEDASTIC = Study(
    name="heteroscedastic",
    question="Does the model know its noise, and where it has seen nothing?",
    lede="Trees with a line in each leaf (MACAU) learn rows between 0 and 10, whose noise grows "
    "with x. Make it larger: does the **light band** follow? Does the **dark rim** widen outside?",
    settings=HeteroscedasticSettings,
    methods=METHODS,
    data=make_data,
    fit=fit,
    view=view,
    viewed=("left_from", "right_to", "tail"),
    measure=measure,
    measured=MEASURED,
    scored_behind=True,
    store=store,
    dragged=("left_from", "right_to"),
    why_not=why_not,
    quicker=fewer,
    most=0.3,  # test rows and foreign rows of every seed are scored, too
    about=lambda run: tell_settings(run.settings),
    unsaid="The paper says nothing about these methods.",
    bits=13,
    picture=picture,
    curves=True,
    score=score,
    claims=CLAIMS,
    scorecard={
        "Scorecard": (
            Row("CRPS", "crps"),
            Row("CRPS in the paper", "paper_crps", ".2f"),
            Row("CRPS above the truth's", "excess"),
            *(Row(f"In {100 * a:g} %", f"covered_{100 * a:g}", "share") for a in LEVELS),
            Row("Off by more than sampling error", "sampled"),
            Row("By thirds of x", "thirds"),
            Row("RMSE of the mean", "rmse"),
            Row("RMSE of the std", "std_error"),
            Row("Fit, s", "seconds"),
            Row("MB", "bytes", "MB"),
        ),
        "Detecting foreign rows (AUROC)": (
            *(
                Row(f"{name}{paper}", f"{key}_{score}", form)
                for score, name in SCORES.items()
                for key, paper, form in (
                    ("auroc", "", "digits"), ("paper_auroc", ", in the paper", ".2f"),
                )
            ),
            Row("Inside the band, left / right of the rows", "sides"),
        ),
    },
    caption="CRPS on {tests:,.0f} new rows, in units of y. Lower is better. The true distribution "
    "has {truth}.{caveats} Sampling error is that of the new rows, at 95 %. The thirds are x below "
    "3.3, from 3.3 to 6.7, and above. A level can hold on average and in none of the thirds. RMSE "
    "is to the true mean and the true std. AUROC of each score is for separating {foreign:,.0f} "
    "foreign rows from the new ones: 1 is perfect, 0.5 is chance, and 0 ranks all rows the wrong "
    "way round. The last line is the share of y inside the band outside the rows, if the formula "
    "of the rows went on there.{tail}",
    answer="{told} its {warns} warns of {warned:percent} of {whom}.",
    said="{rows:,.0f} rows with x from 0 to 10. {noise} Foreign rows lie from {left} to 0 and from "
    "10 to {right}.{tail}",
    said_of=(
        "{label} predicts nothing.{missing}",
        "{label}: its CRPS is {crps:.3f}, {excess:.3f} above that of the true distribution.",
        "On average its std is {as_large} that of the noise.",
        "Data uncertainty is {split:percent} of its variance.",
        f"Its {100 * LEVELS[-1]:.0f} % intervals hold {{covered_{100 * LEVELS[-1]:g}:percent}} of "
        "test rows.",
        "In the left, middle and right third of x, {level:percent} intervals hold {thirds}.",
        "AUROC for foreign rows: {ranking}.",
    ),
    columns=columns,
    copied=copied,
    reading=f"{USUAL} % of in-distribution rows score below the dotted line. The knobs of the "
    "picture and those under View change it without retraining.",
    invitation="Choose a method in All settings to see its prediction.",
    first=("noise_slope",),
    presets=(
        (
            "Paper settings",
            {name: to_values(PAPER)[name] for name in ("methods", "trees")},
            "Six methods of the paper's figure 1.",
        ),
        (
            "Leaves of one row",
            {
                "min_child_samples": 1, "max_leaves": 255, "score": SCORES["inference_novelty"],
                "tail": "ends at 5.2",
            },
            "A leaf with one row cannot know a slope or the noise. What happens to the AUROC of "
            "knowledge uncertainty, and to that of the authors' inference novelty, which stops at "
            "5.2? Then let novelty go on rising.",
        ),
        (
            "Subsample 0.8",
            {"subsample": 0.8, "score": SCORES["knowledge"]},
            "The trees see nearly the same rows. Does their knowledge uncertainty still rise "
            "outside the rows?",
        ),
    ),
    story=(
        (
            "Noise grows with x, and no rows lie left of 0 or right of 10. Who knows both?",
            {"every": True},
        ),
        (
            "Only x from 0 to 10. Whose light band has the width of the true noise?",
            {"every": True, "focus": True},
        ),
        ("200 rows. Whose dark rim grows?", {"every": True, "rows": 200}),
        ("Five times the noise. Whose bands follow it?", {"every": True, "noise_slope": 0.5}),
    ),
    terms=(
        "total", "data", "knowledge", "novelty", "conditional_novelty", "inference_novelty",
        "foreign_rows", "conformal", "crps", "coverage", "auroc",
    ),
    departures="MACAU",
    title="Noise that grows",
    lead="Do models know their noise, and the places where they have seen no rows? MACAU has a "
    "linear model or a mean in every leaf of a random forest. The page compares it with others. "
    "After the paper on MACAU, doi 10.5121/csit.2023.131920.",
    equations=r"""
The paper on MACAU, [doi 10.5121/csit.2023.131920](https://doi.org/10.5121/csit.2023.131920),
sections 3 and 4. The rows follow its equation 6, with a noise std of a tenth of x:

$$
X\sim U(0,10),\qquad Y=\tfrac12 X+\sin X+0.1\,X\,\varepsilon,\qquad
\varepsilon\sim\mathcal N(0,1)
$$

Every leaf of every tree has a small model: a Bayesian linear regression on the features along the
path to the leaf (linear), or the mean and the variance of its rows (basic). The law of total
variance (equations 1 and 2) combines the T trees. Data uncertainty is the mean of the leaves'
variances. Knowledge uncertainty is the variance of the leaves' means:

$$
\underbrace{\sigma^2(x)}_{\text{total}}=
\underbrace{\frac1T\sum_t\sigma_t^2(x)}_{\text{data}}+
\underbrace{\frac1T\sum_t\bigl(\mu_t(x)-\bar\mu(x)\bigr)^2}_{\text{knowledge}}
$$

Novelty (section 3.2) is the Mahalanobis distance from a row to the training rows of its leaf. In
each tree, the distances of the training rows turn it into a z-score. Novelty is the mean of these
z-scores. The authors' z-scores stop at 5.2. Ours go on rising, unless you change that in All
settings. Conditional novelty uses only the features along the path to the leaf. With one feature,
that is the same. Inference novelty compares the prediction with the leaf's predictions in training.
""",
)  # fmt: skip
