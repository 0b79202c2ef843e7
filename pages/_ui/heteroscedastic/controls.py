"""Heteroscedastic's state in the address, and the knobs in its sidebar that refit nothing."""

from __future__ import annotations

from types import SimpleNamespace

import streamlit as st

from gbuq_core.experiments.heteroscedastic.plan import PAPER, SCORES, HeteroscedasticSettings
from gbuq_core.experiments.heteroscedastic.scores import SORTS
from gbuq_core.knobs import Knob, find_knob
from gbuq_core.settings import knobs_of, sliders, to_values
from pages._ui.controls import HEADINGS, draw_knob, is_shown
from pages._ui.knobs import Preset
from pages._ui.present import Step
from pages._ui.url_state import PageState

SORT = Knob("sort", "Sorted by", "choice", SORTS[0], choices=SORTS, group="page", plain=True)
FOREIGN, _VIEW = ("left_from", "right_to"), ("score", "tail", "log", "own_scale")
# Sliders whose picture follows while they are dragged.
FOLLOWED = (*sliders(HeteroscedasticSettings), *FOREIGN)

STATE = PageState(
    key="heteroscedastic",
    knobs=(*knobs_of(HeteroscedasticSettings), SORT),
    presets=(
        Preset(
            "Paper settings",
            {name: to_values(PAPER)[name] for name in ("methods", "trees")},
            "Six methods of the paper's figure 1.",
        ),
        Preset(
            "Leaves of one row",
            {
                "min_child_samples": 1,
                "max_leaves": 255,
                "score": SCORES["inference_novelty"].label,
                "tail": "ends at 5.2",
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
        for heading, keys in (("Foreign rows (OOD)", FOREIGN), (HEADINGS["view"], _VIEW)):
            st.markdown(f"**{heading}**")
            for knob in (find_knob(STATE.knobs, key) for key in keys):
                if is_shown(knob, now):
                    draw_knob(knob)
