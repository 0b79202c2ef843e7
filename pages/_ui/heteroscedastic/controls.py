"""Heteroscedastic's knobs, and what they mean to the experiment and to the picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import streamlit as st

from gbuq_core.experiments.heteroscedastic.plan import (
    ARGUMENTS,
    LEVELS,
    METHODS,
    MOST_METHODS,
    PAPER,
    SCORES,
    TAILS,
    HeteroscedasticSettings,
)
from gbuq_core.knobs import Knob, narrow
from gbuq_core.methods import PARTS
from pages._ui.controls import HEADINGS, draw_knob, is_shown
from pages._ui.knobs import Preset, query_string
from pages._ui.present import Step
from pages._ui.url_state import PageState

_DEFAULT = HeteroscedasticSettings()
_METHOD_LABELS = {method.label: key for key, method in METHODS.items()}
# A score that one method has only is its panel's own, whatever is chosen.
CHOSEN_SCORES = (
    "novelty", "conditional_novelty", "inference_novelty", "knowledge", "data", "total",
)  # fmt: skip
_SCORE_LABELS = {SCORES[key].label: key for key in CHOSEN_SCORES}
_TAIL_LABELS = {"goes on rising": TAILS[0], "ends at 5.2": TAILS[1]}
SORTS = ("CRPS", "coverage", "AUROC of its best score", "seconds")


def _has_novelty(values: Mapping[str, Any]) -> bool:
    scored = {method.label for method in METHODS.values() if "novelty" in method.scores}
    return bool(scored & set(values["methods"]))


def _labels_of(keys: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(METHODS[key].label for key in keys)


def _uses(knob: str) -> Callable[[Mapping[str, Any]], bool]:
    """While a method is chosen whose fit depends on it."""
    labels = {method.label for method in METHODS.values() if knob in method.knobs}
    return lambda values: bool(labels & set(values["methods"]))


def _of_forests(name: str, choices: tuple[float, ...]) -> Knob:
    """A knob of the forests' records, in the steps of this page."""
    return narrow(
        METHODS["forest"].record.knob(ARGUMENTS[name]), key=name, choices=choices,
        default=getattr(_DEFAULT, name), group="method", when=_uses(name),
    )  # fmt: skip


_DATA = (
    Knob(
        "rows", "Rows", "ladder", _DEFAULT.rows, group="data",
        choices=(200, 500, 1000, 2000, 5000, 10000, 20000),
    ),
    Knob(
        "noise_slope", "Noise (std per unit of x)", "ladder", _DEFAULT.noise_slope, group="data",
        choices=(0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1, 2),
        help="The noise std is this number times x: 0 at x = 0, ten times this number at x = 10.",
    ),
    Knob(
        "seed", "Seed", "integer", _DEFAULT.seed, 0, 30, step=1, group="data",
        help="Seed of the rows and of the training.",
    ),
)  # fmt: skip
_METHOD = (
    Knob(
        "methods", "Methods", "choices", _labels_of(_DEFAULT.methods),
        choices=tuple(_METHOD_LABELS), most=MOST_METHODS, group="method",
        help="Up to six, shown side by side on the same axes.",
    ),
    _of_forests("trees", (10, 20, 50, 100, 200, 300, 500)),
    _of_forests("subsample", (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.95)),
    _of_forests("min_child_samples", (1, 2, 5, 10, 20, 50, 100)),
    _of_forests("max_leaves", (2, 4, 8, 16, 31, 63, 127, 255)),
)  # fmt: skip
_FOREIGN = (
    Knob(
        "left_from", "Left of 0, down to", "integer", int(_DEFAULT.left_from), -30, -1, step=1,
        group="page", help="Foreign rows are drawn and scored again, without retraining.",
    ),
    Knob(
        "right_to", "Right of 10, up to", "integer", int(_DEFAULT.right_to), 11, 40, step=1,
        group="page", help="Foreign rows are drawn and scored again, without retraining.",
    ),
)  # fmt: skip
SHOWN = (
    Knob("show_data", "Data (light band)", "switch", True, group="picture"),
    Knob("show_knowledge", "Knowledge (dark rim)", "switch", True, group="picture"),
    Knob("show_total", "Total (outline)", "switch", False, group="picture"),
)
LEVEL = Knob(
    "level", "Level of the bands", "ladder", _DEFAULT.level, group="picture", choices=LEVELS,
)  # fmt: skip
CONFORMAL = Knob(
    "conformal", "Conformal", "switch", False, group="picture",
    help="Multiplies every std by one factor so that intervals hold their level. The factor "
    "comes from 1,000 held-out rows.",
)  # fmt: skip
FOCUS = Knob(
    "focus", "Only where rows are", "switch", False, group="picture",
    help="Shows x from 0 to 10 alone, where all training rows are.",
)  # fmt: skip
_VIEW = (
    Knob(
        "score", "Score below", "choice", SCORES[_DEFAULT.score].label,
        choices=tuple(_SCORE_LABELS), group="page",
        help="A method without this score shows its knowledge uncertainty, or else its own score.",
    ),
    Knob(
        "tail", "Novelty beyond the rows", "choice", next(iter(_TAIL_LABELS)),
        choices=tuple(_TAIL_LABELS), group="page", when=_has_novelty, plain=True,
        help="The authors' z-scores stop at 5.2. Ours go on rising. Changing this scores the rows "
        "again, without retraining.",
    ),
    Knob("log", "Logarithmic score", "switch", False, group="page"),
    Knob("own_scale", "Own scale for each score", "switch", False, group="page"),
)  # fmt: skip
# Sliders whose picture follows while they are dragged.
FOLLOWED = tuple(knob.key for knob in (*_DATA, *_METHOD, *_FOREIGN) if knob.kind != "choices")
SORT = Knob("sort", "Sorted by", "choice", SORTS[0], choices=SORTS, group="page", plain=True)

STATE = PageState(
    key="heteroscedastic",
    knobs=(*_DATA, *_METHOD, *_FOREIGN, *_VIEW, LEVEL, *SHOWN, CONFORMAL, FOCUS, SORT),
    presets=(
        Preset(
            "Paper settings",
            {"methods": _labels_of(PAPER.methods), "trees": PAPER.trees},
            "Six methods of the paper's figure 1.",
        ),
        Preset(
            "Leaves of one row",
            {
                "min_child_samples": 1,
                "max_leaves": 255,
                "score": SCORES["inference_novelty"].label,
                "tail": list(_TAIL_LABELS)[1],
            },
            "A leaf with one row cannot know a slope or the noise. What happens to the AUROC of "
            "knowledge uncertainty, and to that of the authors' inference novelty, which stops at "
            "5.2? Then let novelty go on rising.",
        ),
        Preset(
            "Subsample 0.8",
            {"subsample": 0.8, "score": SCORES["knowledge"].label},
            "The trees see nearly the same rows. Does their knowledge uncertainty still rise "
            "outside the rows?",
        ),
    ),
    picture=("heteroscedastic-panels",),
    story=(
        Step("Noise grows with x, and no rows lie left of 0 or right of 10. Who knows both?"),
        Step(
            "Only x from 0 to 10. Whose light band has the width of the true noise?",
            {"focus": True},
        ),
        Step("200 rows. Whose dark rim grows?", {"rows": 200}),
        Step("Five times the noise. Whose bands follow it?", {"noise_slope": 0.5}),
    ),
)


def draw_view_knobs(values: SimpleNamespace) -> None:
    """The knobs that refit nothing, at the foot of the sidebar, within the picture's fragment."""
    now = vars(values)
    with st.sidebar:
        for heading, knobs in (("Foreign rows (OOD)", _FOREIGN), (HEADINGS["view"], _VIEW)):
            st.markdown(f"**{heading}**")
            for knob in knobs:
                if is_shown(knob, now):
                    draw_knob(knob)


def settings_of(values: SimpleNamespace) -> HeteroscedasticSettings:
    """The experiment's settings for the knobs' values."""
    return HeteroscedasticSettings(
        methods=tuple(_METHOD_LABELS[label] for label in values.methods),
        rows=int(values.rows),
        noise_slope=float(values.noise_slope),
        seed=values.seed,
        trees=int(values.trees),
        subsample=float(values.subsample),
        max_leaves=int(values.max_leaves),
        min_child_samples=int(values.min_child_samples),
        left_from=float(values.left_from),
        right_to=float(values.right_to),
        conformal=values.conformal,
        level=float(values.level),
        bands=tuple(part for part in PARTS if getattr(values, f"show_{part}")),
        score=_SCORE_LABELS[values.score],
        tail=_TAIL_LABELS[values.tail],
    )


def query_of(settings: HeteroscedasticSettings) -> str:
    """The part of a link after the question mark that restores these settings.

    >>> query_of(HeteroscedasticSettings(methods=("gnll",), bands=("data",), left_from=-3.0))
    'methods=GNLL&left_from=-3&show_knowledge=false'
    """
    values = {
        **vars(settings),
        "methods": _labels_of(settings.methods),
        "left_from": int(settings.left_from),
        "right_to": int(settings.right_to),
        "score": SCORES[settings.score].label,
        "tail": list(_TAIL_LABELS)[TAILS.index(settings.tail)],
        **{f"show_{part}": part in settings.bands for part in PARTS},
    }
    return query_string(STATE.knobs, values)
