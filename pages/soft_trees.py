"""Soft trees: how many functions fit the same points? (Cinquin et al. 2022)."""

from collections.abc import Sequence
from types import SimpleNamespace

import streamlit as st

from gbuq_core.errors import GbuqError
from gbuq_core.experiments.soft_trees.plan import SoftTreesSettings
from gbuq_core.settings import from_values
from pages._ui.claims import draw_chips
from pages._ui.jobs_glue import Answer, ask, show_progress
from pages._ui.notices import show_notice
from pages._ui.soft_trees.controls import STATE
from pages._ui.soft_trees.export import explain_soft_trees, export_soft_trees, words_of
from pages._ui.soft_trees.look import draw_looks
from pages._ui.soft_trees.panels import (
    bandit_played,
    draw_panels,
    panel_requests,
    panels_of,
)
from pages._ui.soft_trees.picture import PAGE, draw_picture, run_of, show_costs
from pages._ui.soft_trees.scorecard import claims_of, draw_scores
from pages._ui.url_state import draw_controls, link_to, open_page, read_again

LEDE = (
    "Each thin line is a **function** that a model considers possible after seeing the rows. The "
    "spread of these lines is **knowledge uncertainty**. Do a method's lines agree where there are "
    "rows? Do they spread in hatched places, where there are none?"
)
WAIT_SECONDS, QUICK = 0.9, 0.12  # the default's methods come without a flash of progress


@st.fragment
def look_inside(values: SimpleNamespace, answers: Sequence[Answer]) -> None:
    """The trees themselves. Another draw or tree reruns only this part."""
    values = read_again(STATE, values)
    settings = from_values(SoftTreesSettings, vars(values))
    try:
        draw_looks(values, settings, PAGE.views(settings, answers))
    except GbuqError as error:
        show_notice(str(error), "looks", tone="error")


@st.fragment
def compare(values: SimpleNamespace, answers: Sequence[Answer], alone: bool) -> None:
    """Tuning, the bandit and the ranks."""
    values = read_again(STATE, values)
    draw_panels(panels_of(values, from_values(SoftTreesSettings, vars(values))), answers, alone)


st.title("How many functions fit these points?")
with st.container(key="lede"):
    st.markdown(LEDE)
values = open_page(STATE, controls_later=True)
settings = from_values(SoftTreesSettings, vars(values))
fits = PAGE.requests(settings)
compared = panel_requests(panels_of(values, settings))
# The page does not wait for a comparison.
asked = ask([*fits, *compared], WAIT_SECONDS if not compared else QUICK)
answers, others = asked[: len(fits)], asked[len(fits) :]
alone = all(answer.state == "done" for answer in answers)
shown = PAGE.views(settings, answers)
chips = st.container(key="chips")
draw_picture(values, settings, shown, PAGE.refusals(settings))
draw_controls(STATE)
with st.container(key="soft-trees-progress"):  # below, so that the picture does not move
    if not alone:
        # A comparison that was cancelled has its own button to start it again.
        show_progress([*answers, *(one for one in others if one.state != "cancelled")])
show_costs(settings, shown)
run = run_of(settings, shown)
with chips:
    draw_chips(claims_of(run))
export_soft_trees(run, shown, link_to(STATE, values), values, bandit_played(others))
look_inside(values, answers)
draw_scores(run, alone)
with st.expander("In words"):
    st.text(words_of(run), width="stretch")
compare(values, others, alone)
explain_soft_trees()
