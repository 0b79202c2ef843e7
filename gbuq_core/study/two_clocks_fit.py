"""Two clocks, from its settings to its scores: see `gbuq_core.study.two_clocks`.

Read from top to bottom: settings, data, fit, scores.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import ndtri, stdtrit

from gbuq_core.boosting.stopping import members_of_a_fold, regression_stages
from gbuq_core.calibration import Clocks, Stages, choose_clocks, early_clocks
from gbuq_core.calibration.clocks import (
    MOST_LOG_FACTOR,
    TAILS,
    join_stages,
    smallest_variance,
    student_nll,
)
from gbuq_core.calibration.splits import make_splits
from gbuq_core.distribution import Distribution, NormalDistribution, student
from gbuq_core.errors import InvalidParameter
from gbuq_core.jobs import stage, tick
from gbuq_core.methods import METHODS, find_methods
from gbuq_core.metrics import find_resolution, log_scores, pit_coverage
from gbuq_core.presentation import Tally
from gbuq_core.progress import TreeWatcher
from gbuq_core.resources import held_bytes
from gbuq_core.settings import Codec, arguments, data_of, setting
from gbuq_core.study.members import Array, Mask
from gbuq_core.synthetic import (
    CurveData,
    WaveData,
    make_friedman,
    make_heteroscedastic,
    make_wave,
)

if TYPE_CHECKING:
    from gbuq_core.boosting import BoostedEnsembleRegressor

# --- Settings -------------------------------------------------------------------------------------

# The boosted methods, which grow tree by tree; keys of `gbuq_core.methods.METHODS`.
CYCLICAL = ("csglb", "cbsglb")
WITH_CLOCKS = (
    "sglb", "sgb", "virtual_sglb", "catboost", "ngboost", *CYCLICAL, "virtual_catboost",
)  # fmt: skip
WITH_MEMBERS = ("sglb", "sgb")
SINGLE = ("catboost", "ngboost")  # other libraries' models: no members, so no knowledge
# Those that are this library's estimator, with a weight of the mean in splits.
WEIGHTED = tuple(key for key in WITH_CLOCKS if key not in SINGLE)
# Every other regression that states a spread. It has no stages to stop at, and its own defaults.
WITHOUT_CLOCKS = tuple(
    method.key
    for method in find_methods("regression", yields=("total",))
    if method.key not in WITH_CLOCKS
)
MODELS = (*WITH_CLOCKS, *WITHOUT_CLOCKS)
DATA = ("five features", "growing noise", "wave", "diabetes")
N_SCORED = 1000  # rows that score; of diabetes a quarter
N_DRAWN = 121  # points of the line through five features
LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
LEVEL = 0.9  # of the intervals whose coverage is shown
SLOPE = 0.1  # std of growing noise per unit of x, at noise 1
_DIABETES_ROWS = 331
_MOST_TREES = 2000  # of any model here
_TREES = r"(?:2000|1[0-9]{3}|[1-9][0-9]{0,2})"
_TAILS = MappingProxyType(dict(zip(("Student t", "normal"), TAILS, strict=True)))

# The ways to stop, with their names for people.
WAYS: Mapping[str, str] = {
    "all": "All trees",
    "factor": "All trees, one factor",
    "early": "Early stopping",
    "clocks": "Two clocks",
}
# What can be done to a model without stages.
FACTOR_WAYS: Mapping[str, str] = {"as_is": "As it is", "scaled": "One factor"}


def read_clocks(text: str) -> tuple[int, int, bool] | None:
    """Trees of the mean, trees of the scale, and whether the factor applies."""
    match = re.fullmatch(r"(\d+)\.(\d+)(\.plain)?", text)
    return None if match is None else (int(match[1]), int(match[2]), match[3] is None)


def write_clocks(clocks: tuple[int, int, bool] | None) -> str:
    """The text of the clocks in the picture."""
    if clocks is None:
        return ""
    return f"{clocks[0]}.{clocks[1]}{'' if clocks[2] else '.plain'}"


def _is_drawn(settings: TwoClocksSettings) -> bool:
    return settings.data != "diabetes"


@dataclass(frozen=True, kw_only=True)
class TwoClocksSettings:
    """Everything that the page shows. `settings.plan_of` it is what the fits depend on."""

    data: str = setting(
        "five features", "Data", group="data", choices=DATA,
        help="Three sets with a known truth, and a real table of 442 patients.",
    )  # fmt: skip
    rows: int = setting(
        500, "Training rows", group="data", choices=(100, 200, 500, 1000, 2000), uses=_is_drawn,
        help="They train the models and choose the clocks. Other rows score them.",
    )  # fmt: skip
    noise: float = setting(
        1.0, "True noise, times", group="data", choices=(0.1, 0.3, 0.5, 1.0, 2.0, 3.0),
        uses=_is_drawn,
        help="Multiplies the std of the true noise. Growing noise has a std of a tenth of x at 1.",
    )  # fmt: skip
    seed: int = setting(
        0, "Seed", group="data", low=0, high=30, step=1, arg="random_state",
        help="Seed of the rows and of the training.",
    )  # fmt: skip
    model: str = setting(
        MODELS[0], "Model", named={METHODS[key].label: key for key in MODELS},
        help="The first eight grow tree by tree, so that their clocks can stop. CatBoost is "
        "trained with RMSEWithUncertainty and NGBoost with a normal, both on the target as it is. "
        "All others have no clocks: they use their defaults, and one factor scales their std.",
    )  # fmt: skip
    trees: int = setting(
        1000, of="sglb.n_trees", choices=(100, 200, 500, 1000, _MOST_TREES), arg="n_trees",
        uses=lambda plan: plan.has_clocks and plan.model != "ngboost",
    )  # fmt: skip
    ngboost_trees: int = setting(
        200, of="ngboost.n_trees", choices=(50, 100, 200, 300, 500), arg="n_trees",
        uses=lambda plan: plan.model == "ngboost",
        help="NGBoost takes about ten times as long a tree as the other models.",
    )  # fmt: skip
    members: int = setting(
        4, of="sglb.n_members", low=2, high=10, step=1, arg="n_members",
        uses=lambda plan: plan.model in WITH_MEMBERS,
    )  # fmt: skip
    rate: float = setting(
        0.1, of="sglb.learning_rate", choices=(0.03, 0.05, 0.1, 0.2, 0.3), arg="learning_rate",
        uses=lambda plan: plan.has_clocks,
    )  # fmt: skip
    depth: int = setting(
        3, of="sglb.depth", low=1, high=6, step=1, arg="depth", uses=lambda plan: plan.has_clocks
    )
    mean_weight: float = setting(
        100.0, "Weight of the mean in splits", choices=(1.0, 10.0, 100.0), arg="mean_weight",
        uses=lambda plan: plan.model in WEIGHTED,
        help="How much the mean counts beside the scale when a tree chooses its splits. 1 is the "
        "weight of the papers, 100 that of our default.",
    )  # fmt: skip
    # Of every way but "all trees", which has a normal
    tails: str = setting(
        TAILS[0], "Tails", group="view", named=_TAILS,
        help="The law of the intervals. A Student t keeps the std; its degrees of freedom are "
        "chosen together with the factor. Nothing is retrained.",
    )  # fmt: skip
    # Trees of the mean, trees of the scale and whether the factor applies
    clocks: tuple[int, int, bool] | None = setting(
        None, "Clocks in the picture", group="view", drawn=True, most=20,
        codec=Codec(read_clocks, write_clocks),
        pattern=rf"(?:{_TREES}\.{_TREES}(?:\.plain)?)?",
        help=f"Trees for the mean and trees for the scale, at most {_MOST_TREES} each, for example "
        "1000.149, or 1000.149.plain without the factor, or empty for what two clocks chose.",
    )  # fmt: skip

    @property
    def has_clocks(self) -> bool:
        """Whether the model grows tree by tree, so that its mean and its scale can stop."""
        return self.model in WITH_CLOCKS

    @property
    def ways(self) -> Mapping[str, str]:
        """The ways to stop it, or to scale it, with their names for people."""
        return WAYS if self.has_clocks else FACTOR_WAYS

    @property
    def shown(self) -> tuple[int, int, bool] | None:
        """The clocks of the band: not what a model without clocks left to one that has them."""
        left = self.clocks is not None and self.clocks[:2] == (1, 1) and self.has_clocks
        return None if left else self.clocks

    @property
    def cycle_length(self) -> int:
        """Trees of a cycle: a fifth of all, and at most the 200 of the cyclical paper."""
        return min(200, self.trees // 5)

    @property
    def n_rows(self) -> int:
        """Training rows; diabetes has its own."""
        return self.rows if _is_drawn(self) else _DIABETES_ROWS


def clock_arguments(plan: TwoClocksSettings) -> dict[str, Any]:
    """All arguments of the model's estimator.

    CatBoost and NGBoost are those of their own libraries. A model without clocks has its method's
    defaults, the seed, and one thread: threads would wait for so few rows.
    """
    options = arguments(plan)
    if plan.model == "catboost":
        return {
            "loss_function": "RMSEWithUncertainty",
            "iterations": plan.trees,
            "learning_rate": plan.rate,
            "depth": plan.depth,
            "random_seed": plan.seed,
            "thread_count": 1,
            "verbose": False,
            "allow_writing_files": False,
        }
    if plan.model == "ngboost":
        from sklearn.tree import DecisionTreeRegressor

        tree = DecisionTreeRegressor(max_depth=options.pop("depth"), random_state=plan.seed)
        return {"Base": tree, "n_estimators": options.pop("n_trees"), "verbose": False, **options}
    builder = METHODS[plan.model].builder()
    if not plan.has_clocks:
        options = {"n_jobs": 1, **options}
        return {name: value for name, value in options.items() if name in builder.takes}
    if plan.model in CYCLICAL:
        options["cycle_length"] = plan.cycle_length
    return {**builder.fixed, **options}


# --- Data -----------------------------------------------------------------------------------------

_MARGIN = 2.0  # of growing noise: how far beyond its rows the picture goes


class Scene(NamedTuple):
    """What the band is drawn over."""

    X: Array  # (n_points, n_features): the points
    x: Array  # (n_points,): where they stand: the feature's value, or a row's rank
    label: str  # of the x axis
    # `mean`, `std`: (n_points,): the truth; None for a real table
    mean: Array | None
    std: Array | None
    # `x_rows`, `y_rows`: (n_rows,): rows that were not trained on, as dots: rows that score, and of
    # five features new rows on the line that is drawn
    x_rows: Array
    y_rows: Array
    gaps: tuple[tuple[float, float], ...] = ()  # stretches of x without training rows


class ClockRows(NamedTuple):
    """Rows to train on, rows that score with their truth if it is known, and the scene."""

    X: Array
    y: Array
    X_scored: Array
    y_scored: Array
    mean_scored: Array | None
    std_scored: Array | None
    scene: Scene


def rows_of(settings: TwoClocksSettings) -> ClockRows:
    """Draw or load the rows; the same object for the same settings of the data."""
    return _rows_of(*data_of(settings))


@lru_cache(maxsize=16)
def _rows_of(data: str, n_rows: int, noise: float, seed: int) -> ClockRows:
    if data == "diabetes":
        return _diabetes(seed)
    if data == "five features":
        return _five_features(n_rows, noise, seed)
    if data == "wave":
        trained = make_wave(n_rows, noise, random_state=seed)
        wave = make_wave(N_SCORED, noise, random_state=[seed, 2])
        x = wave.grid[:, 0]
        place, std = np.searchsorted(x, wave.X[:, 0]), np.sqrt(wave.variance)
        gap = float(x[wave.in_support][-1]) + 0.05, float(x[-1])
        return _curve(trained, wave, wave.mean[place], std[place], np.isfinite(x), (gap,))
    rows = make_heteroscedastic(n_rows, SLOPE * noise, random_state=seed)
    scored = make_heteroscedastic(N_SCORED, SLOPE * noise, random_state=[seed, 2])
    x = scored.grid[:, 0]
    seen = (x >= -_MARGIN) & (x <= 10.0 + _MARGIN)
    gaps = ((-_MARGIN, 0.0), (10.0, 10.0 + _MARGIN))
    return _curve(rows, scored, scored.row_mean, np.sqrt(scored.row_variance), seen, gaps)


def _five_features(n_rows: int, noise: float, seed: int) -> ClockRows:
    rows = make_friedman(n_rows, noise, random_state=seed)
    scored = make_friedman(N_SCORED, noise, random_state=[seed, 2])
    # A line through the middle of the cube along the fourth feature, and new rows on it.
    points = np.full((N_DRAWN, 5), 0.5)
    points[:, 3] = x = np.linspace(0.0, 1.0, N_DRAWN)
    mean, std = 10.0 * math.sin(math.pi / 4.0) + 10.0 * x + 2.5, 2.0 * noise * x
    y = mean + std * np.random.default_rng([seed, 3]).normal(size=N_DRAWN)
    label = "fourth feature (the other four are 0.5)"
    scene = Scene(points, x, label, mean, std, x, y)
    spread = np.sqrt(scored.variance)
    return ClockRows(rows.X, rows.y, scored.X, scored.y, scored.mean, spread, scene)


def _curve(
    rows: CurveData | WaveData,
    scored: CurveData | WaveData,
    mean: Array,
    std: Array,
    seen: Mask,
    gaps: tuple[tuple[float, float], ...],
) -> ClockRows:
    """Rows of a curve with the truth of those that score, over the places that are seen."""
    points, truth = scored.grid[seen], (scored.mean[seen], np.sqrt(scored.variance[seen]))
    scene = Scene(points, points[:, 0], "x", *truth, scored.X[:, 0], scored.y, gaps)
    return ClockRows(rows.X, rows.y, scored.X, scored.y, mean, std, scene)


def _diabetes(seed: int) -> ClockRows:
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True, scaled=False)
    order = np.random.default_rng([seed, 5]).permutation(len(y))
    train, scored = order[:_DIABETES_ROWS], order[_DIABETES_ROWS:]
    drawn = scored[np.argsort(y[scored], kind="stable")]
    rank = np.arange(1.0, len(scored) + 1.0)
    label = "patients that score, in the order of their target"
    scene = Scene(X[drawn], rank, label, None, None, rank, y[drawn])
    return ClockRows(X[train], y[train], X[scored], y[scored], None, None, scene)


# --- Fit ------------------------------------------------------------------------------------------


class Grown(NamedTuple):
    """What the model says at about forty numbers of trees, or once if it has no clocks."""

    plan: TwoClocksSettings
    choosing: Stages  # about training rows, from folds that were not trained on them
    # `scoring`, `scene`: about rows that score, and about the scene's points (whose `y` is 0), from
    # the model that was trained on all training rows
    scoring: Stages
    scene: Stages
    # what a model without clocks predicts of the rows that score: its own law, which need not be a
    # normal
    own: Distribution | None
    # `seconds`, `memory_bytes`: cost of both trainings, and what the model holds; None where
    # another library holds it
    seconds: float = math.nan
    memory_bytes: int | None = None


def fit(plan: TwoClocksSettings) -> Grown:
    """Train the model and the folds that choose, as `BoostedEnsembleRegressor` does by default.

    CatBoost and NGBoost are trained as `CalibratedRegressor` does around them.
    """
    rows = rows_of(plan)
    began = time.perf_counter()
    with stage(2.0):
        with stage(1.0, span=1.0):
            model = fit_model(plan, rows)
        with stage(1.0, span=1.0):
            choosing = held_out_stages(plan, rows, model)
    seconds = time.perf_counter() - began
    _FITS.add()
    held = None
    if plan.model not in SINGLE and not METHODS[plan.model].opaque:
        held = int(model.memory_bytes_) if plan.has_clocks else held_bytes(model)
    return Grown(
        plan,
        choosing,
        new_stages(plan, model, rows.X_scored, rows.y_scored),
        new_stages(plan, model, rows.scene.X, np.zeros(len(rows.scene.X))),
        None if plan.has_clocks else model.predict_distribution(rows.X_scored),
        seconds,
        held,
    )


_FITS = Tally()
count_fits = _FITS.count  # what a knob of the view leaves as it is


def why_not(plan: TwoClocksSettings) -> str:
    """Why a model cannot be fitted to so many rows."""
    return METHODS[plan.model].why_not(plan.n_rows)


def fit_model(plan: TwoClocksSettings, rows: ClockRows) -> Any:
    """The model, fitted on all training rows."""
    if refusal := why_not(plan):
        raise InvalidParameter(refusal)
    if _stands_alone(plan):
        return _fit_alone(plan, rows.X, rows.y)
    return _ensemble(plan).fit(rows.X, rows.y)


def held_out_stages(plan: TwoClocksSettings, rows: ClockRows, model: Any) -> Stages:
    """About each row that chooses, from a fold without it.

    Folds and seeds are those of the estimator itself, or those of `CalibratedRegressor` around a
    model that chooses no clocks.
    """
    alone = _stands_alone(plan)
    seed = plan.seed if alone else model.seed_
    splits = make_splits(rows.y, False, None, None, seed)
    parts = []
    with stage(float(len(splits))):
        for k, split in enumerate(splits):
            X, y = rows.X[split.fitted], rows.y[split.fitted]
            held, held_y = rows.X[split.held], rows.y[split.held]
            with stage(1.0, span=1.0):
                if alone:
                    parts.append(new_stages(plan, _fit_alone(plan, X, y), held, held_y))
                    continue
                drawn = int(np.random.SeedSequence((seed, 3, k)).generate_state(1)[0])
                n_models = model.plan_.n_models
                members = members_of_a_fold(n_models, len(splits))
                part = _ensemble(plan, random_state=drawn, n_members=members).fit(X, y)
                parts.append(regression_stages(part, _frame(held), held_y, n_models))
    return join_stages(parts)


def new_stages(plan: TwoClocksSettings, model: Any, X: Array, y: Array) -> Stages:
    """What a fitted model says about new rows while it grows, or in its one stage."""
    if not plan.has_clocks:
        law = _reader_of(model).parts(model, X)
        return Stages(
            n_trees=np.array([1]),
            mean=law.loc[None],
            knowledge=law.knowledge[None],
            data=law.data[None],
            y=y,
            for_mean=np.ones(1, bool),
        )
    if plan.model in SINGLE:
        return _reader_of(model, growing=True).stages(model, X, y, arguments(plan)["n_trees"])
    return regression_stages(model, _frame(X), y)


def _frame(X: Array) -> Any:
    import pandas as pd  # as all that only a fit needs, imported by it

    return pd.DataFrame(X)


def _reader_of(model: Any, **options: Any) -> Any:
    from gbuq_core.calibration.boosters import reader_of

    return reader_of(model, **options)


def _stands_alone(plan: TwoClocksSettings) -> bool:
    """Whether it is not one of this library's ensembles, which choose clocks in their own fit."""
    return plan.model in SINGLE or not plan.has_clocks


def _ensemble(plan: TwoClocksSettings, **changes: int) -> BoostedEnsembleRegressor:
    from gbuq_core.boosting import BoostedEnsembleRegressor

    return BoostedEnsembleRegressor(**{**clock_arguments(plan), **changes})


def _fit_alone(plan: TwoClocksSettings, X: Array, y: Array) -> Any:
    if not plan.has_clocks:
        with stage(1.0, span=1.0):
            return METHODS[plan.model].make(**clock_arguments(plan)).fit(X, y)
    with stage(float(arguments(plan)["n_trees"])):
        return (_fit_catboost if plan.model == "catboost" else _fit_ngboost)(plan, X, y)


def _fit_catboost(plan: TwoClocksSettings, X: Array, y: Array) -> Any:
    from catboost import CatBoostRegressor

    model = CatBoostRegressor(**clock_arguments(plan))
    watcher = TreeWatcher()
    _reader_of(model).fit(model, X, y, callbacks=[watcher])
    watcher.raise_error()
    return model


def _fit_ngboost(plan: TwoClocksSettings, X: Array, y: Array) -> Any:
    from ngboost import NGBRegressor

    model = NGBRegressor(**clock_arguments(plan))

    def count(*_: Any) -> float:
        """The library asks for the training loss before each tree; nothing depends on it."""
        tick(float(len(model.base_models)))
        return 0.0

    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return _reader_of(model).fit(model, X, y, train_loss_monitor=count)


# --- Scores ---------------------------------------------------------------------------------------

SCORES = ("coverage", "nll", "rmse", "crps")  # share inside 90 % intervals; nats; units of y
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
_FACTOR_STEPS = 16  # leave 8 * 0.618^16 = 0.004 of the log factor


class ClockMaps(NamedTuple):
    """Scores for every pair of clocks, on rows that chose nothing.

    First with the std as it is and a normal law, then with the factor of each pair that the rows
    that choose prefer, and tails with ``df`` degrees of freedom.
    """

    df: float
    widths: tuple[float, float]  # half of a 90 % interval, in stds
    rmse: Array  # (n_stages,): of the mean
    nll: Array  # (2, n_stages, n_stages): as it is and scaled, trees of the scale, of the mean
    coverage: Array  # the same
    factor: Array  # (n_stages, n_stages)


class Look(NamedTuple):
    """What a fit shows with some tails."""

    fit: Grown
    tails: str
    clocks: Mapping[str, Clocks]  # where each way stops
    scores: Mapping[str, Mapping[str, float]]  # of each way, and of the truth if it is known
    # by score, with the mean and the scale from one number of trees, as normals, (n_stages,) each;
    # `stated` is the root of the mean total variance: what the model says its RMSE is
    curves: Mapping[str, Array]
    maps: ClockMaps
    reliability: Mapping[str, Array]  # of each way, at `LEVELS`
    method: str = "model"

    @property
    def n_trees(self) -> Array:
        """Of each stage."""
        return self.fit.scoring.n_trees.astype(np.float64)


def view(fit: Grown, settings: TwoClocksSettings) -> Look:
    """Score a fit; trains nothing."""
    rows, scored, tails = rows_of(fit.plan), fit.scoring, settings.tails
    y, step = scored.y, find_resolution(rows.y)
    clocks = clocks_of_ways(fit, tails)
    laws = {way: law_of(scored, stops) for way, stops in clocks.items()}
    if fit.own is not None:
        laws["as_is"] = fit.own
    known = dict(laws)
    if rows.mean_scored is not None and rows.std_scored is not None:
        least = np.maximum(rows.std_scored, np.finfo(np.float64).tiny ** 0.5)
        known["truth"] = NormalDistribution(rows.mean_scored, least)
    return Look(
        fit,
        tails,
        clocks,
        {way: _scores(law, y, step) for way, law in known.items()},
        _curves_of(scored, step),
        _maps_of(fit, clocks["clocks" if fit.plan.has_clocks else "scaled"].df, step),
        {way: np.asarray(pit_coverage(law.cdf(y), LEVELS).observed) for way, law in laws.items()},
    )


def clocks_of_ways(fit: Grown, tails: str) -> dict[str, Clocks]:
    """Where each way to stop stops, from the rows that choose."""
    chosen = fit.choosing
    names = ("n_trees", "mean", "knowledge", "data", "for_mean")
    last = Stages(y=chosen.y, **{name: getattr(chosen, name)[-1:] for name in names})
    stops = [early_clocks(last, "normal"), choose_clocks(last, tails)]
    if fit.plan.has_clocks:
        stops += [early_clocks(chosen, tails), choose_clocks(chosen, tails)]
    return dict(zip(fit.plan.ways, stops, strict=True))


def law_of(stages: Stages, clocks: Clocks) -> Distribution:
    """What a model that stops at these clocks predicts."""
    a, b = (stage_of(stages, n_trees) for n_trees in (clocks.mean_trees, clocks.scale_trees))
    total = clocks.factor**2 * stages.data[b] + stages.knowledge[a]
    return student(stages.mean[a], np.sqrt(total), clocks.df)


def stage_of(stages: Stages, n_trees: int) -> int:
    """The stage whose number of trees is nearest.

    >>> none = np.zeros((2, 0))
    >>> stages = Stages(n_trees=np.array([5, 100]), mean=none, knowledge=none, data=none,
    ...                 y=none[0], for_mean=np.ones(2, bool))
    >>> stage_of(stages, 90)
    1
    """
    return int(np.argmin(np.abs(stages.n_trees - n_trees)))


def _scores(law: Distribution, y: Array, step: float) -> dict[str, float]:
    """The scores of a law of rows; the NLL at the resolution of the target."""
    lower, upper = law.interval(LEVEL)
    return {
        "coverage": float(np.mean((lower <= y) & (y <= upper))),
        "nll": log_scores(law, y, step).mean,
        # Of the prediction: quantiles that were fitted one by one have a mean of their own.
        "rmse": math.sqrt(float(np.mean((law.loc - y) ** 2))),
        "crps": float(law.crps(y).mean()),
    }


def _curves_of(stages: Stages, step: float) -> dict[str, Array]:
    """Scores against the number of trees."""
    lines = []
    for mean, knowledge, data in zip(stages.mean, stages.knowledge, stages.data, strict=True):
        std = np.sqrt(knowledge + data)
        scores = _scores(NormalDistribution(mean, std), stages.y, step)
        lines.append(scores | {"stated": math.sqrt(float(np.mean(std**2)))})
    return {name: np.array([each[name] for each in lines]) for name in lines[0]}


def _maps_of(fit: Grown, df: float, step: float) -> ClockMaps:
    chosen, scored = fit.choosing, fit.scoring
    n, widths = len(scored.n_trees), (half_width(math.inf), half_width(df))
    (nll, coverage), factor = np.empty((2, 2, n, n)), np.empty((n, n))
    for a in range(n):
        factor[:, a] = _best_factors(chosen, a, df)
        squared, knowledge = (scored.mean[a] - scored.y) ** 2, scored.knowledge[a]
        for at, (own_df, times) in enumerate(((math.inf, np.ones(n)), (df, factor[:, a]))):
            nll[at, :, a] = MeanNLL(squared, knowledge, scored.data, own_df)(times)
            variance = times[:, None] ** 2 * scored.data + knowledge
            inside = squared <= widths[at] * widths[at] * variance
            coverage[at, :, a] = inside.mean(axis=1)
    if fit.own is not None:  # one stage, whose law need not be a normal
        own = _scores(fit.own, scored.y, step)
        nll[0], coverage[0] = own["nll"], own["coverage"]
    rmse = np.sqrt(((scored.mean - scored.y) ** 2).mean(axis=1))
    return ClockMaps(df, widths, rmse, nll, coverage, factor)


def half_width(df: float) -> float:
    """Half the width of a 90 % interval, in standard deviations."""
    if math.isinf(df):
        return float(ndtri(0.5 + LEVEL / 2.0))
    return float(stdtrit(df, 0.5 + LEVEL / 2.0) * math.sqrt((df - 2.0) / df))


def _best_factors(chosen: Stages, a: int, df: float) -> Array:
    """The factor of least NLL for each scale stage at one mean stage, by golden section."""
    squared = (chosen.mean[a] - chosen.y) ** 2
    data = np.maximum(chosen.data, smallest_variance(squared))
    nll = MeanNLL(squared, chosen.knowledge[a], data, df)

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


class MeanNLL:
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
