"""Heart's knobs, what they mean to the experiment, and painting cells by clicks."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from types import SimpleNamespace
from typing import Any

import streamlit as st

from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.heart.data import SIDE, make_painted_heart
from gbuq_core.experiments.heart.plan import METHODS, HeartSettings
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.figures.heart import SCALES, HeartView
from gbuq_core.glossary import VIEWS
from gbuq_core.knobs import Knob, narrow
from pages._ui.canvas import CanvasEvent
from pages._ui.knobs import Preset, query_string, while_one_of
from pages._ui.live import COLOURS, FOCUS, live_knobs, map_knob, names_of_kinds
from pages._ui.present import Step
from pages._ui.surface import SURFACE
from pages._ui.url_state import PageState

MOST_METHODS = 3
MOST_PAINTED = 66  # cells that fit into the text box
_DEFAULT = HeartSettings()
_BY_LABEL = {method.label: key for key, method in METHODS.items()}
_ALL = "all"
_LEAF_NOISE = {"automatic": None, "on": True, "off": False}


def _with(*labels: str) -> tuple[str, tuple[Any, ...]]:
    """Shown while one of these methods is chosen."""
    return while_one_of("methods", labels, _BY_LABEL, MOST_METHODS)


def _of(method: str, name: str, **changes: Any) -> Knob:
    """A knob of a method's record, in the steps of this page."""
    default = {"default": getattr(_DEFAULT, changes.get("key", name))}
    return narrow(METHODS[method].record.knob(name), **{**default, **changes})


_SGLB = tuple(method.label for method in METHODS.values() if method.langevin)
_VIRTUAL = tuple(method.label for method in METHODS.values() if method.virtual)
_BOOSTED = tuple(method.label for method in METHODS.values() if method.boosting)
_TEMPERATURE, _NOISY_LEAVES = (
    METHODS["sglb"].record.knob(name) for name in ("temperature", "leaf_noise")
)
_RATES = (0.01, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5)

_DATA = (
    Knob(
        "rows", "Training rows per cell", "ladder", _DEFAULT.rows, group="data",
        choices=(1, 3, 10, 30, 100, 300, 1000, 3000),
    ),
    Knob(
        "noise", "Noise variance", "ladder", _DEFAULT.noise, group="data",
        choices=(0.0001, 0.001, 0.003, 0.01, 0.03, 0.1),
        help="In squared units of y. Around the heart it is four times as large.",
    ),
    Knob(
        "cells", "Painted cells", "text", "", group="data",
        pattern=rf"(?:[0-8]{{2}}(?:\.[0-8]{{2}}){{0,{MOST_PAINTED - 1}}})?",
        help="The row and the column of each cell, separated by dots: 34.35.44 for example.",
    ),
    Knob(
        "seed", "Seed", "integer", _DEFAULT.seed, 0, 30, step=1, group="data",
        help="Sets the cells' means, the noise and the models' random numbers.",
    ),
)  # fmt: skip
_METHOD = (
    Knob(
        "methods", "Methods, at most three", "choices",
        tuple(METHODS[method].label for method in _DEFAULT.methods),
        choices=tuple(_BY_LABEL), most=MOST_METHODS, group="method",
        help="vRF is one random forest whose members are groups of trees. CatBoost trains the same "
        "ensembles with its own code.",
    ),
)  # fmt: skip
_KNOBS = (
    _of(
        "sglb", "n_members", key="members", low=2, high=20, step=1,
        help="The number of independent models, or of groups of vRF's trees. The members of a "
        "virtual ensemble follow from K.",
    ),
    _of(
        "sglb", "n_trees", key="trees", choices=(20, 50, 100, 200, 300, 500, 700, 1000, 1500, 2000),
        help="The trees of each boosted model, and of the whole forest.",
    ),
    _of("sglb", "depth", high=8, step=1, needs=_with(*_BOOSTED)),
    _of(
        "sglb", "learning_rate", key="rate", label="Learning rate, SGLB", choices=_RATES,
        needs=_with(*_SGLB),
    ),
    _of(
        "sgb", "learning_rate", key="rate_sgb", label="Learning rate, SGB", choices=_RATES,
        needs=_with("SGB"), help="Each SGB tree sees a random half of the rows.",
    ),
    # Links hold these two values as text.
    Knob(
        "temperature", _TEMPERATURE.label, "ladder", _DEFAULT.temperature,
        choices=("posterior", "10", "100", "1000", "10000", "catboost"), needs=_with(*_SGLB),
        help=_TEMPERATURE.help,
    ),
    Knob(
        "leaf_noise", _NOISY_LEAVES.label, "choice", "automatic", choices=tuple(_LEAF_NOISE),
        needs=_with("SGLB", "virtual SGLB"),
        help="Adds Langevin noise to the leaf values, not only to the choice of splits. Automatic "
        "is off at the temperature catboost, as in CatBoost's own code, and on at all others.",
    ),
    _of(
        "virtual_sglb", "truncation_step", key="step", low=5, high=200, step=5,
        needs=_with(*_VIRTUAL), group="picture",
    ),
    _of(
        "virtual_sglb", "truncation_start", key="start", high=0.9, step=0.05,
        needs=_with(*_VIRTUAL), group="picture",
    ),
)  # fmt: skip
_VIEW = (
    Knob(
        "shown", "Members shown", "ladder", _ALL, choices=("2", "3", "4", "5", "7", "10", _ALL),
        group="picture",
        help="Uses only this many members. Nothing is retrained.",
    ),
    Knob(
        "unit", "Uncertainty as", "choice", "std", choices=VIEWS, group="picture",
    ),
    Knob(
        "log", "Logarithmic colours for knowledge", "switch", True, group="picture",
    ),
    Knob(
        "scale", "Colour scales", "choice", "shared", choices=SCALES, group="picture",
        help="Shared: all noise maps share one scale, and all knowledge maps another. Own: each "
        "map has its own scale.",
    ),
)  # fmt: skip

# How the picture's bar names its knobs.
BRIEF = {
    "step": "K",
    "start": "Start",
    "shown": "Members",
    "unit": "As",
    "log": "Log KU",
    "scale": "Scales",
    "colours": "Colours",
    "focus": "Only rows",
}

MAP = map_knob(("Training rows", "True mean", *names_of_kinds(_BY_LABEL)))

STATE = PageState(
    key="heart",
    knobs=(*_DATA, *_METHOD, *_KNOBS, *_VIEW, COLOURS, FOCUS, MAP, *SURFACE),
    presets=(
        Preset(
            "Paper settings",
            {"methods": ("SGB", "SGLB", "virtual SGLB")},
            help="10 models of 1,000 trees. SGLB learns at rate 0.3; SGB at 0.1, with half of the "
            "rows for each tree.",
        ),
    ),
    picture=("heart",),
    story=(
        Step("There are no training rows in the hatched cells. Does the model know?"),
        Step("10 rows per cell. Where does knowledge uncertainty rise now?", {"rows": 10}),
        Step(
            "Ten times the noise. Which uncertainty follows it?",
            {"noise": 0.1, MAP.key: f"{METHODS['sglb'].label}: data"},
        ),
        Step(
            "One long model instead of ten. Does a virtual ensemble still find the hatched cells?",
            {"methods": (METHODS["virtual_sglb"].label,)},
        ),
    ),
)

# Sliders whose fits are quick: the picture follows while they are dragged.
REFITTED = ("rows", "noise", "seed", "members", "trees", "depth", "rate", "rate_sgb", "temperature")


def settings_of(values: SimpleNamespace) -> HeartSettings:
    """The experiment's settings for the knobs' values."""
    named = values.temperature in ("catboost", "posterior")
    return HeartSettings(
        methods=tuple(_BY_LABEL[label] for label in values.methods),
        rows=values.rows,
        noise=values.noise,
        seed=values.seed,
        cells=read_cells(values.cells),
        members=values.members,
        trees=values.trees,
        depth=values.depth,
        rate=values.rate,
        rate_sgb=values.rate_sgb,
        temperature=values.temperature if named else float(values.temperature),
        leaf_noise=_LEAF_NOISE[values.leaf_noise],
        step=values.step,
        start=values.start,
        shown=None if values.shown == _ALL else int(values.shown),
    )


def view_of(values: SimpleNamespace) -> HeartView:
    """How the maps are shown."""
    return HeartView(values.unit, values.log, values.scale)


def knobs_of(values: SimpleNamespace) -> list[LiveKnob]:
    """The knobs of the picture's bar."""
    return live_knobs(STATE.knobs, vars(values), BRIEF)


def query_of(settings: HeartSettings, view: HeartView | None = None) -> str:
    """The part of a link after the question mark that restores these settings.

    >>> query_of(HeartSettings(rate=0.1, cells=(31,)))
    'cells=34&rate=0.1'
    """
    view = HeartView() if view is None else view
    temperature = settings.temperature
    values = {
        **vars(settings),
        **view._asdict(),
        "methods": tuple(METHODS[method].label for method in settings.methods),
        "cells": write_cells(settings.cells),
        "temperature": temperature if isinstance(temperature, str) else f"{temperature:g}",
        "leaf_noise": next(k for k, v in _LEAF_NOISE.items() if v is settings.leaf_noise),
        "shown": _ALL if settings.shown is None else str(settings.shown),
    }
    return query_string(STATE.knobs, values)


def read_cells(text: str) -> tuple[int, ...]:
    """Cell numbers from row and column digits.

    >>> read_cells("34.08.34")
    (8, 31)
    """
    pairs = [part for part in text.split(".") if part]
    return tuple(sorted({SIDE * int(pair[0]) + int(pair[1]) for pair in pairs}))


def write_cells(cells: Iterable[int]) -> str:
    """The text of cell numbers.

    >>> write_cells([31, 8])
    '08.34'
    """
    return ".".join(f"{cell // SIDE}{cell % SIDE}" for cell in sorted(set(cells)))


def paint(event: CanvasEvent) -> None:
    """Remove or add rows after a click or a lasso. Streamlit calls this before the page runs."""
    held = read_cells(st.session_state.get("cells", ""))
    painted = toggled(() if problem_with_cells(held) else held, event)
    problem = problem_with_cells(painted)
    if problem:
        st.toast(problem)
    else:
        st.session_state["cells"] = write_cells(painted)


def unpaint() -> None:
    """Undo all painting."""
    st.session_state["cells"] = ""


def toggled(painted: Iterable[int], event: CanvasEvent) -> set[int]:
    """Which cells are painted after a click or a lasso.

    A click empties or fills one cell. A lasso empties the cells that have rows. If none has rows,
    it fills them all.
    """
    before = set(painted)
    filled = make_painted_heart(1, cells=before).in_support
    chosen = [event.clicked[1:]] if event.clicked else event.lassoed
    with_rows = [cell for cell in chosen if filled[cell]]
    return before ^ {SIDE * row + column for row, column in with_rows or chosen}


def problem_with_cells(cells: Collection[int]) -> str:
    """One sentence on why these cells cannot be painted; empty if they can."""
    if len(cells) > MOST_PAINTED:
        return f"At most {MOST_PAINTED} cells can be painted. Undo some of them."
    try:
        make_painted_heart(1, cells=cells)
    except InvalidParameter as error:
        return str(error)
    return ""
