"""The knobs of Two clocks, and what they mean to the experiment and to the picture."""

from __future__ import annotations

import re
from types import MappingProxyType, SimpleNamespace

import streamlit as st

from gbuq_core.experiments.two_clocks.plan import (
    DATA,
    MODELS,
    WEIGHTED,
    WITH_CLOCKS,
    WITH_MEMBERS,
    TwoClocksSettings,
)
from gbuq_core.knobs import Knob, narrow
from gbuq_core.methods import METHODS
from pages._ui.curves import Turned
from pages._ui.knobs import Preset, query_string
from pages._ui.present import Step
from pages._ui.url_state import PageState

_DEFAULT = TwoClocksSettings()
_TAILS = {"Student t": "student", "normal": "normal"}
_SYNTHETIC = ("data", tuple(name for name in DATA if name != "diabetes"))
_RECORD = METHODS["sglb"]
_LABELS = {METHODS[key].label: key for key in MODELS}
_NGBOOST = METHODS["ngboost"].label
_BOOSTED = ("model", tuple(METHODS[key].label for key in WITH_CLOCKS))
_NOT_NGBOOST = ("model", tuple(label for label in _BOOSTED[1] if label != _NGBOOST))
_SEVERAL = ("model", tuple(METHODS[key].label for key in WITH_MEMBERS))
_WEIGHTED = ("model", tuple(METHODS[key].label for key in WEIGHTED))

_MOST_TREES = 2000  # of any model here
_TREES = r"(?:2000|1[0-9]{3}|[1-9][0-9]{0,2})"

STATE = PageState(
    key="two_clocks",
    knobs=(
        Knob(
            "data", "Data", "choice", _DEFAULT.data, choices=DATA, group="data",
            help="Three sets with a known truth, and a real table of 442 patients.",
        ),
        Knob(
            "rows", "Training rows", "ladder", _DEFAULT.rows, group="data", needs=_SYNTHETIC,
            choices=(100, 200, 500, 1000, 2000),
            help="They train the models and choose the clocks. Other rows score them.",
        ),
        Knob(
            "noise", "True noise, times", "ladder", _DEFAULT.noise, group="data",
            needs=_SYNTHETIC, choices=(0.1, 0.3, 0.5, 1.0, 2.0, 3.0),
            help="Multiplies the std of the true noise. Growing noise has a std of a tenth of x "
            "at 1.",
        ),
        Knob(
            "seed", "Seed", "integer", _DEFAULT.seed, 0, 30, step=1, group="data",
            help="Seed of the rows and of the training.",
        ),
        Knob(
            "model", "Model", "choice", METHODS[_DEFAULT.model].label, choices=tuple(_LABELS),
            help="The first eight grow tree by tree, so that their clocks can stop. CatBoost is "
            "trained with RMSEWithUncertainty and NGBoost with a normal, both on the target as it "
            "is. All others have no clocks: they use their defaults, and one factor scales their "
            "std.",
        ),
        narrow(
            _RECORD.knob("n_trees"), key="trees", kind="ladder", low=None, high=None,
            needs=_NOT_NGBOOST, choices=(100, 200, 500, 1000, _MOST_TREES), default=_DEFAULT.trees,
        ),
        narrow(
            METHODS["ngboost"].knob("n_trees"), key="ngboost_trees", kind="ladder", low=None,
            high=None, choices=(50, 100, 200, 300, 500), default=_DEFAULT.ngboost_trees,
            needs=("model", (_NGBOOST,)),
            help="NGBoost takes about ten times as long a tree as the other models.",
        ),
        narrow(
            _RECORD.knob("n_members"), key="members", needs=_SEVERAL, low=2, high=10, step=1,
            default=_DEFAULT.members,
        ),
        narrow(
            _RECORD.knob("learning_rate"), key="rate", choices=(0.03, 0.05, 0.1, 0.2, 0.3),
            kind="ladder", low=None, high=None, default=_DEFAULT.rate, needs=_BOOSTED,
        ),
        narrow(
            _RECORD.knob("depth"), low=1, high=6, step=1, default=_DEFAULT.depth, needs=_BOOSTED,
        ),
        Knob(
            "mean_weight", "Weight of the mean in splits", "ladder", _DEFAULT.mean_weight,
            choices=(1.0, 10.0, 100.0), needs=_WEIGHTED,
            help="How much the mean counts beside the scale when a tree chooses its splits. 1 is "
            "the weight of the papers, 100 that of our default.",
        ),
        Knob(
            "tails", "Tails", "choice", "Student t", choices=tuple(_TAILS), group="view",
            help="The law of the intervals. A Student t keeps the std; its degrees of freedom are "
            "chosen together with the factor. Nothing is retrained.",
        ),
        Knob(
            "clocks", "Clocks in the picture", "text", "", group="view", most=20,
            pattern=rf"(?:{_TREES}\.{_TREES}(?:\.plain)?)?",
            help=f"Trees for the mean and trees for the scale, at most {_MOST_TREES} each, for "
            "example 1000.149, or 1000.149.plain without the factor, or empty for what two clocks "
            "chose.",
        ),
    ),
    presets=(
        Preset(
            "Five features", {},
            "Five features, 500 rows. Does the mean stop early here, too? How far apart are the "
            "clocks?",
        ),
        Preset(
            "Paper settings", {"mean_weight": 1.0, "depth": 6, "members": 10},
            "Ten models of depth 6 with the papers' weight of the mean. They use all trees.",
        ),
    ),
    # One feature, whose unseen rows are the dots: they and the verdicts say the same.
    opening=MappingProxyType({"data": "growing noise", "rows": 200}),
    picture=("two-clocks-band-figure",),
    story=(
        Step("One clock stops the mean, another the std. Do the bands hold what they say?"),
        Step("The same with 100 rows. Which clock stops first?", {"rows": 100}),
        Step("Five features, 500 rows. Where do both clocks stop?",
             {"data": "five features", "rows": 500}),
    ),
)  # fmt: skip


def settings_of(values: SimpleNamespace) -> TwoClocksSettings:
    """The experiment's settings for the knobs' values."""
    model, shown = _LABELS[values.model], read_clocks(values.clocks)
    if shown is not None and shown[:2] == (1, 1) and model in WITH_CLOCKS:
        shown = None  # left over from a model without clocks
    return TwoClocksSettings(
        data=values.data,
        model=model,
        rows=int(values.rows),
        noise=float(values.noise),
        seed=values.seed,
        trees=int(values.trees),
        ngboost_trees=int(values.ngboost_trees),
        members=values.members,
        rate=float(values.rate),
        depth=values.depth,
        mean_weight=float(values.mean_weight),
        tails=_TAILS[values.tails],
        shown=shown,
    )


def query_of(settings: TwoClocksSettings) -> str:
    """The part of a link after the question mark that restores these settings.

    >>> query_of(TwoClocksSettings(data="wave", tails="normal", shown=(100, 50, False)))
    'data=wave&tails=normal&clocks=100.50.plain'
    """
    tails = next(label for label, key in _TAILS.items() if key == settings.tails)
    model = METHODS[settings.model].label
    values = {
        **vars(settings),
        "model": model,
        "tails": tails,
        "clocks": write_clocks(settings.shown),
    }
    return query_string(STATE.knobs, values)


def read_clocks(text: str) -> tuple[int, int, bool] | None:
    """Trees of the mean, trees of the scale, and whether the factor applies.

    >>> read_clocks("1000.149"), read_clocks("90.9.plain"), read_clocks("")
    ((1000, 149, True), (90, 9, False), None)
    """
    found = re.fullmatch(r"(\d+)\.(\d+)(\.plain)?", text)
    return None if found is None else (int(found[1]), int(found[2]), found[3] is None)


def write_clocks(shown: tuple[int, int, bool] | None) -> str:
    """The text of the clocks in the picture.

    >>> write_clocks((90, 9, False))
    '90.9.plain'
    """
    if shown is None:
        return ""
    return f"{shown[0]}.{shown[1]}{'' if shown[2] else '.plain'}"


def turn(turned: Turned) -> None:
    """Keep where the reader left the sliders. Streamlit calls this before the page runs."""
    st.session_state["clocks"] = write_clocks(turned)
