"""Soft trees' knobs, what they mean to the experiment, and the reader's own points."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType, SimpleNamespace

import streamlit as st

from gbuq_core.errors import GbuqError
from gbuq_core.experiments.soft_trees.bandit import POLICIES, TRACE_STEPS, BanditSettings
from gbuq_core.experiments.soft_trees.data import DATASETS, OWN, check_points, encode_points
from gbuq_core.experiments.soft_trees.plan import METHODS, PAPER, SOFT_METHODS, SoftTreesSettings
from gbuq_core.experiments.soft_trees.rank import RANK_DATASETS, RankSettings
from gbuq_core.experiments.soft_trees.tuning import TunedKnobs
from gbuq_core.knobs import Knob, find_knob, narrow
from gbuq_core.settings import from_values, knobs_of, to_values
from pages._ui import live
from pages._ui.curves import Placed
from pages._ui.knobs import Preset
from pages._ui.present import Step
from pages._ui.url_state import PageState

KNOBS = MappingProxyType({knob.key: knob for knob in knobs_of(SoftTreesSettings)})
COMPARISONS = ("soft-trees-tune", "soft-trees-bandit", "soft-trees-rank")  # slots of their jobs
REFUSED = "_soft_trees_refused"  # the session key of a click that could not be
_SOFT_LABELS = {METHODS[key].label: key for key in SOFT_METHODS}
FOCUS = Knob(
    "focus", "Only where rows are", "switch", False, group="picture",
    help="Shows only the range of x that has training rows.",
)  # fmt: skip
WHOSE = Knob(
    "whose", "Tree of", "choice", METHODS["vst"].label,
    choices=tuple(_SOFT_LABELS), group="picture",
)  # fmt: skip
PLACE = Knob(
    "tree_x", "Point", "number", 57.5, 0.0, 100.0, step=0.25, unit="%", group="picture",
    help="Where the point is, as a share of the axis.",
)  # fmt: skip
PLAY = narrow(
    find_knob(knobs_of(BanditSettings), "n_steps"), key="bandit_steps", default=500, group="page",
    label="Steps of the bandit", choices=(200, 500, 1000, 2000, 5000),
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
FOREIGN = narrow(
    find_knob(knobs_of(RankSettings), "data"), key="rank_data", group="page",
    default=RANK_DATASETS["moons3"].label,
)  # fmt: skip
EVERY = replace(
    live.EVERY, label="All methods", help="Shows every chosen method, instead of the first alone."
)
# Folds of their own. All are open in a link, as they were before they could fold.
INSIDE = Knob("inside", "Inside one tree", "switch", True, group="page")
TUNING = Knob("tuning", "Which settings fit held-out rows best?", "switch", True, group="page")
EXPLORING = Knob(
    "exploring", "Does knowledge uncertainty help to explore?", "switch", True, group="page"
)
RANKS = Knob(
    "ranks", "Does a higher rank detect foreign rows better?", "switch", True, group="page"
)
_FOLDS = (INSIDE, TUNING, EXPLORING, RANKS)
STATE = PageState(
    key="soft_trees",
    knobs=(*KNOBS.values(), FOCUS, EVERY, WHOSE, PLACE, PLAY, POLICY, MOMENT, FOREIGN, *_FOLDS),
    presets=(
        Preset(
            "Your points",
            {"data": DATASETS[OWN].label, "beta": 8.0, "restarts": 10},
            "Click in the picture to add or remove points. Training tries ten starts, because "
            "there are few rows.",
        ),
        Preset(
            "Paper settings",
            to_values(PAPER),
            f"All five methods. VST and VSGBM train for {PAPER.steps:,} steps from "
            f"{PAPER.restarts} starts each. The page shows how long this takes.",
        ),
    ),
    opening=MappingProxyType({knob.key: False for knob in _FOLDS}),
    picture=("soft-trees-functions",),
    story=(
        Step("Each line is a function that fits the points. Where do the functions spread?"),
        Step(
            "Bands of three methods. How much of the total is knowledge?",
            {"show": "bands", "every": True},
        ),
        Step("20 rows. How many more functions fit now?", {"rows": 20}),
        Step("Without noise. Do the functions agree at the points?", {"noise": 0.0}),
    ),
)


def rank_data_of(values: SimpleNamespace) -> str:
    """The key of the rank panel's data."""
    return from_values(RankSettings, {"data": values.rank_data}).data


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


def place(placed: Placed) -> None:
    """Take over the points of the picture: its callback, before the page runs."""
    try:
        chosen = check_points(placed)
    except GbuqError as error:
        st.session_state[REFUSED] = str(error)
        return
    st.session_state["points"] = encode_points(chosen)


def tuned_method_of(values: SimpleNamespace) -> str | None:
    """The soft tree whose knobs are tuned: the one that is looked into; None without any."""
    soft = [_SOFT_LABELS[label] for label in values.methods if label in _SOFT_LABELS]
    looked = _SOFT_LABELS[values.whose]
    return looked if looked in soft else soft[0] if soft else None


def take_knobs(one: TunedKnobs) -> None:
    """Set the page's knobs to a tuned setting: a button's callback."""
    wanted = SoftTreesSettings(
        depth=one.depth, beta=one.beta, prior_scale=one.prior_scale, rate=one.learning_rate
    )
    values = to_values(wanted)
    for key in ("depth", "beta", "prior_scale", "rate"):
        st.session_state[key] = values[key]


def clear_points() -> None:
    """An empty board: a button's callback."""
    st.session_state["points"] = ""
