"""Soft trees' knobs, what they mean to the experiment, and the reader's own points."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import streamlit as st

from gbuq_core.errors import GbuqError
from gbuq_core.experiments.soft_trees.bandit import POLICIES, BanditSettings
from gbuq_core.experiments.soft_trees.bandit_trace import TRACE_STEPS
from gbuq_core.experiments.soft_trees.data import (
    DATASETS,
    MOST_POINTS,
    OWN,
    OWN_START,
    POINTS_PATTERN,
    Points,
    check_points,
    decode_points,
    encode_points,
)
from gbuq_core.experiments.soft_trees.plan import METHODS, PAPER, SoftTreesSettings
from gbuq_core.experiments.soft_trees.rank import RANK_DATASETS
from gbuq_core.experiments.soft_trees.tuning import TunedKnobs
from gbuq_core.figures.soft_trees.picture import SHOWS
from gbuq_core.knobs import Knob, narrow
from pages._ui.curves import Placed
from pages._ui.knobs import Preset, query_string
from pages._ui.present import Step
from pages._ui.url_state import PageState

_DEFAULT = SoftTreesSettings()
_DATA_LABELS = {info.label: key for key, info in DATASETS.items()}
_METHOD_LABELS = {method.label: key for key, method in METHODS.items()}
_LEAF_LABELS = {"a line": "linear", "a constant": "constant"}
_RANK_LABELS = {info.label: key for key, info in RANK_DATASETS.items()}
_SHOW_LABELS = dict(zip(("both", "functions", "bands"), SHOWS, strict=True))
_AUTO = "auto"  # the learning rate that the estimator takes by itself
_CHARACTERS = 20  # of one point in a link, at most
COMPARISONS = ("soft-trees-tune", "soft-trees-bandit", "soft-trees-rank")  # slots of their jobs
# Sliders that train: the picture follows while they are dragged, as often as the fits allow.
FOLLOWED = (
    "rows", "noise", "seed", "depth", "rank", "beta", "prior_scale", "rate", "steps", "draw_seed",
)  # fmt: skip
REFUSED = "_soft_trees_refused"  # the session key of a click that could not be
MOST_DRAW = 100


def _label_of(labels: Mapping[str, str], key: str) -> str:
    return next(label for label, named in labels.items() if named == key)


def _labels_of(keys: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(METHODS[key].label for key in keys)


def _with(*keys: str) -> Callable[[Mapping[str, Any]], bool]:
    """While one of these methods is chosen."""
    labels = set(_labels_of(keys))
    return lambda values: bool(labels & set(values["methods"]))


def _of(method: str, name: str, steps: tuple[float, ...] = (), **changes: Any) -> Knob:
    """A knob of a method's record, in the steps of this page."""
    key = changes.get("key", name)
    ladder = {"choices": steps} if steps else {}
    default = {"default": getattr(_DEFAULT, key), "group": "method"}
    return narrow(METHODS[method].record.knob(name), **ladder, **default, **changes)


_LEAF = METHODS["vst"].record.knob("leaf")
_DRAWN = ("data", tuple(info.label for key, info in DATASETS.items() if key != OWN))
_SOFT = _with("vst", "vsgbm")
_SOFT_LABELS = _labels_of(("vst", "vsgbm"))

_DATA = (
    Knob(
        "data", "Data", "choice", DATASETS[_DEFAULT.data].label, choices=tuple(_DATA_LABELS),
        group="data", help="Four data sets of the paper, or points that you place in the picture.",
    ),
    Knob(
        "rows", "Rows", "ladder", _DEFAULT.rows, group="data", needs=_DRAWN,
        choices=(10, 20, 30, 50, 75, 100, 150, 200, 300, 500, 1000),
    ),
    Knob(
        "noise", "Noise (std)", "ladder", _DEFAULT.noise, group="data", needs=_DRAWN,
        choices=(0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1),
    ),
    Knob(
        "seed", "Seed", "integer", _DEFAULT.seed, 0, 30, step=1, group="data",
        help="Seed of the rows and of the training.",
    ),
)  # fmt: skip
_METHOD = (
    Knob(
        "methods", "Methods", "choices", _labels_of(_DEFAULT.methods),
        choices=tuple(_METHOD_LABELS), group="method",
        help="Shown side by side on the same axes. VST is one soft tree. VSGBM is a boosted sum "
        "of soft trees.",
    ),
    _of("vst", "depth", when=_SOFT, high=6, step=1),
    Knob(
        "leaf", _LEAF.label, "choice", _label_of(_LEAF_LABELS, _DEFAULT.leaf),
        choices=tuple(_LEAF_LABELS), group="method", when=_SOFT, help=_LEAF.help,
    ),
    _of("vst", "rank", (0, 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100), when=_SOFT),
    _of("vst", "beta", (0.5, 1, 1.5, 2, 3, 4, 6, 8, 12, 20), when=_SOFT),
    _of("vst", "prior_scale", (0.25, 0.5, 1, 1.5, 2.5, 4, 6, 10), when=_SOFT),
    _of(
        "vst", "n_steps", (100, 200, 500, 1000, 1500, 2000, 3000, 4000, 6000, 10000), key="steps",
        when=_SOFT,
    ),
    _of("vst", "n_restarts", key="restarts", when=_SOFT, high=10, step=1),
    Knob(
        "rate", "Learning rate", "ladder", _AUTO, group="method", when=_SOFT,
        choices=(_AUTO, 0.003, 0.01, 0.03, 0.1),
        help="The highest learning rate of Adam. It rises at first and then falls to 0. "
        "auto is 0.03.",
    ),
    _of("vsgbm", "n_trees", key="trees", when=_with("vsgbm"), high=20, step=1),
    _of(
        "sglb", "n_members", (2, 3, 5, 10, 20, 30, 50, 100), key="members", when=_with("sglb"),
        label="Models of SGLB", help="",
    ),
    _of(
        "sglb", "n_trees", (20, 50, 100, 200, 300, 500, 1000, 2000), key="sglb_trees",
        when=_with("sglb"), label="Trees of each SGLB model",
    ),
    Knob(
        "temperature", "Temperature of SGLB", "choice", _DEFAULT.temperature,
        choices=("catboost", "posterior"), group="method", when=_with("sglb"),
    ),
    _of(
        "xbart", "n_trees", (1, 5, 10, 20, 30, 50, 100, 200), key="xbart_trees",
        when=_with("xbart"),
    ),
)  # fmt: skip
SHOW = Knob(
    "show", "Show", "choice", "both", choices=tuple(_SHOW_LABELS), group="picture",
    help="Sampled functions, bands of data and knowledge uncertainty, or both.",
)  # fmt: skip
SHOWN = Knob(
    "shown", "Functions drawn as lines", "ladder", _DEFAULT.shown, group="picture",
    choices=(1, 3, 5, 10, 20, 30, 50, 100), when=lambda values: values["show"] != "bands",
    help="How many functions are shown.",
)  # fmt: skip
DRAWS = Knob(
    "draws", "Functions behind the bands", "ladder", _DEFAULT.draws, group="picture",
    choices=(10, 20, 50, 100, 200, 500),
    help="Bands and scores follow from this many functions. A Gaussian process needs none.",
)  # fmt: skip
FOCUS = Knob(
    "focus", "Only where rows are", "switch", False, group="picture",
    help="Shows only the range of x that has training rows.",
)  # fmt: skip
# At places of "show", for the bar: both, functions.
WITH_LINES = {"show": (0, 1)}
_VIEW = (
    Knob(
        "draw_seed", "Seed of the draws", "integer", 0, 0, 30, step=1, group="view",
        help="Draws other functions from the same posterior. Changing this does not retrain.",
    ),
)  # fmt: skip
POINTS = Knob(
    "points", "Points", "text", encode_points(OWN_START), group="page", pattern=POINTS_PATTERN,
    most=_CHARACTERS * MOST_POINTS, needs=("data", (DATASETS[OWN].label,)),
    help="Points as x_y with a tilde between them: -1.25_0.5~0_0.333",
)  # fmt: skip
WHOSE = Knob(
    "whose", "Tree of", "choice", METHODS["vst"].label,
    choices=_SOFT_LABELS, group="picture",
)  # fmt: skip
TREE = Knob(
    "tree", "Tree", "integer", 1, 1, 20, step=1, group="picture",
    help="Which tree of the boosted sum is shown.",
)  # fmt: skip
DRAW = Knob(
    "draw", "Draw", "integer", 0, 0, MOST_DRAW, step=1, group="picture",
    help="The mean of the posterior, or a tree drawn from it.",
)  # fmt: skip
PLACE = Knob(
    "tree_x", "Point", "number", 57.5, 0.0, 100.0, step=0.25, unit="%", group="picture",
    help="Where the point is, as a share of the axis.",
)  # fmt: skip
PLAY = Knob(
    "bandit_steps", "Steps of the bandit", "ladder", 500, group="page",
    choices=(200, 500, 1000, 2000, 5000),
)  # fmt: skip
POLICY = Knob(
    "bandit_policy", "Policy", "choice", POLICIES["vst"], choices=tuple(POLICIES.values()),
    group="picture", help="Whose functions and pulls are shown.",
)  # fmt: skip
MOMENT = Knob(
    "bandit_at", "Step", "ladder", 60, group="picture",
    choices=tuple(step for step in TRACE_STEPS if step <= PLAY.choices[-1]),
    help="Which step of the bandit is shown.",
)  # fmt: skip
FOREIGN = Knob(
    "rank_data", "Data", "choice", RANK_DATASETS["moons3"].label, choices=tuple(_RANK_LABELS),
    group="page",
)  # fmt: skip
_PAPER_VALUES = {
    "methods": _labels_of(PAPER.methods),
    "steps": PAPER.steps,
    "restarts": PAPER.restarts,
}
STATE = PageState(
    key="soft_trees",
    knobs=(
        *_DATA,
        *_METHOD,
        *_VIEW,
        SHOW,
        SHOWN,
        DRAWS,
        FOCUS,
        POINTS,
        WHOSE,
        TREE,
        DRAW,
        PLACE,
        PLAY,
        POLICY,
        MOMENT,
        FOREIGN,
    ),
    presets=(
        Preset(
            "Your points",
            {"data": DATASETS[OWN].label, "beta": 8, "restarts": 10},
            "Click in the picture to add or remove points. Training tries ten starts, because "
            "there are few rows.",
        ),
        Preset(
            "Paper settings",
            _PAPER_VALUES,
            f"All five methods. VST and VSGBM train for {PAPER.steps:,} steps from "
            f"{PAPER.restarts} starts each. The page shows how long this takes.",
        ),
    ),
    picture=("soft-trees-functions",),
    story=(
        Step("Each line is a function that fits the points. Where do the functions spread?"),
        Step("Bands instead of lines. How much of the total is knowledge?", {"show": "bands"}),
        Step("20 rows. How many more functions fit now?", {"rows": 20}),
        Step("Without noise. Do the functions agree at the points?", {"noise": 0}),
    ),
)


def points_of(values: SimpleNamespace) -> tuple[Points, str]:
    """The reader's points, and why they cannot be read, in a sentence."""
    try:
        return decode_points(values.points), ""
    except GbuqError as error:
        return OWN_START, f"{error} The picture shows the initial points instead."


def settings_of(values: SimpleNamespace) -> SoftTreesSettings:
    """The experiment's settings for the knobs' values."""
    return SoftTreesSettings(
        methods=tuple(_METHOD_LABELS[label] for label in values.methods),
        data=_DATA_LABELS[values.data],
        rows=int(values.rows),
        noise=float(values.noise),
        points=points_of(values)[0],
        seed=values.seed,
        depth=values.depth,
        leaf=_LEAF_LABELS[values.leaf],
        rank=int(values.rank),
        beta=float(values.beta),
        prior_scale=float(values.prior_scale),
        steps=int(values.steps),
        restarts=values.restarts,
        learning_rate=None if values.rate == _AUTO else float(values.rate),
        trees=values.trees,
        members=int(values.members),
        sglb_trees=int(values.sglb_trees),
        temperature=values.temperature,
        xbart_trees=int(values.xbart_trees),
        draws=max(int(values.draws), int(values.shown)),
        draw_seed=values.draw_seed or None,
        shown=int(values.shown),
        draw=values.draw - 1 if values.draw else None,
        tree=values.tree - 1,
    )


def show_of(values: SimpleNamespace) -> str:
    """What the panels show, in the figure's words."""
    return _SHOW_LABELS[values.show]


def label_of_show(show: str) -> str:
    """The same the other way round."""
    return _label_of(_SHOW_LABELS, show)


def rank_data_of(values: SimpleNamespace) -> str:
    """The key of the rank panel's data."""
    return _RANK_LABELS[values.rank_data]


def bandit_of(values: SimpleNamespace) -> BanditSettings:
    """The bandit with the soft trees of the page."""
    return BanditSettings(
        policies=tuple(POLICIES),
        n_steps=int(values.bandit_steps),
        refit_every=50,
        n_seeds=2,
        seed=values.seed,
        vst_depth=max(1, values.depth),
        vst_rank=min(int(values.rank), 50),
    )


def query_of(settings: SoftTreesSettings) -> str:
    """The part of a link after the question mark that restores these settings.

    >>> query_of(SoftTreesSettings(data="gap", rank=0, methods=("vst",)))
    'data=Gap&methods=VST&rank=0'
    """
    values = {
        **vars(settings),
        "data": DATASETS[settings.data].label,
        "methods": _labels_of(settings.methods),
        "leaf": _label_of(_LEAF_LABELS, settings.leaf),
        "points": encode_points(settings.points),
        "draw_seed": settings.draw_seed or 0,
        "rate": _AUTO if settings.learning_rate is None else settings.learning_rate,
        "draw": 0 if settings.draw is None else settings.draw + 1,
        "tree": settings.tree + 1,
    }
    return query_string(STATE.knobs, values)


def place(placed: Placed) -> None:
    """Take over the points of the picture: its callback, before the page runs."""
    try:
        chosen = check_points(placed)
    except GbuqError as error:
        st.session_state[REFUSED] = str(error)
        return
    st.session_state[POINTS.key] = encode_points(chosen)


def tuned_method_of(values: SimpleNamespace) -> str | None:
    """The soft tree whose knobs are tuned: the one that is looked into; None without any."""
    soft = [_METHOD_LABELS[label] for label in values.methods if label in _SOFT_LABELS]
    looked = _METHOD_LABELS[values.whose]
    return looked if looked in soft else soft[0] if soft else None


def take_knobs(one: TunedKnobs) -> None:
    """Set the page's knobs to a tuned setting: a button's callback."""
    wanted = {
        "depth": one.depth,
        "beta": one.beta,
        "prior_scale": one.prior_scale,
        "rate": one.learning_rate,
    }
    for knob in STATE.knobs:
        if knob.key in wanted:  # a ladder's own step, 8 instead of 8.0
            value = wanted[knob.key]
            st.session_state[knob.key] = next((c for c in knob.choices if c == value), value)


def clear_points() -> None:
    """An empty board: a button's callback."""
    st.session_state[POINTS.key] = ""
