"""Soft trees: how many functions fit the same points? (Cinquin et al. 2022)."""

from collections.abc import Sequence
from types import SimpleNamespace

import streamlit as st

from gbuq_core.errors import GbuqError
from gbuq_core.experiments.soft_trees.plan import SoftTreesSettings
from gbuq_core.experiments.soft_trees.words import answer_soft_trees
from gbuq_core.settings import from_values
from pages._ui.experiment import COMPARE, EXPORT, PAPER, WHY, Skeleton
from pages._ui.jobs_glue import Answer, ask, show_progress
from pages._ui.notices import show_notice
from pages._ui.side_by_side import plan_requests, view_answers
from pages._ui.soft_trees.controls import STATE
from pages._ui.soft_trees.export import explain_soft_trees, export_soft_trees
from pages._ui.soft_trees.look import draw_looks
from pages._ui.soft_trees.panels import bandit_played, draw_panels, panel_requests, panels_of
from pages._ui.soft_trees.picture import (
    PAGE,
    draw_picture,
    run_of,
    say_what_is_missing,
    show_costs,
)
from pages._ui.soft_trees.scorecard import check_paper, claims_of, draw_scores, scores_of
from pages._ui.url_state import read_again

LEDE = (
    "Each thin line is a **function** that the model considers possible. Take rows away: where do "
    "the lines still agree, and where do they spread?"
)
WAIT_SECONDS, QUICK = 0.9, 0.12  # the default's methods come without a flash of progress


@st.fragment
def look_inside(values: SimpleNamespace, answers: Sequence[Answer]) -> None:
    """The trees themselves. Another draw or tree reruns only this part."""
    values = read_again(STATE, values)
    settings = from_values(SoftTreesSettings, vars(values))
    try:
        draw_looks(values, settings, view_answers(PAGE, settings, answers))
    except GbuqError as error:
        show_notice(str(error), "looks", tone="error")


@st.fragment
def compare(values: SimpleNamespace, answers: Sequence[Answer], alone: bool) -> None:
    """Tuning, the bandit and the ranks."""
    values = read_again(STATE, values)
    draw_panels(panels_of(values, from_values(SoftTreesSettings, vars(values))), answers, alone)


page = Skeleton("How many functions fit these points?", LEDE)
values = page.open(STATE, ("rows",))
settings = from_values(SoftTreesSettings, vars(values))
fits = plan_requests(PAGE, settings)
compared = panel_requests(panels_of(values, settings))
# The page does not wait for a comparison.
asked = ask([*fits, *compared], WAIT_SECONDS if not compared else QUICK)
answers, others = asked[: len(fits)], asked[len(fits) :]
alone = all(answer.state == "done" for answer in answers)
shown = view_answers(PAGE, settings, answers)
with page.picture:
    draw_picture(values, settings, shown)
    with st.container(key="soft-trees-progress"):  # below, so that the picture does not move
        say_what_is_missing(settings, shown)
        if not alone:
            # A comparison that was cancelled has its own button to start it again.
            show_progress([*answers, *(one for one in others if one.state != "cancelled")])
run = run_of(settings, shown)
page.say_verdict(answer_soft_trees(scores_of(run)), claims_of(run))
with page.fold(COMPARE):
    draw_scores(run)
    show_costs(settings, shown)
with page.fold(WHY):
    explain_soft_trees()
with page.fold(PAPER):
    check_paper(run, alone)
with page.fold(EXPORT):
    export_soft_trees(run, shown, values, bandit_played(others))
look_inside(values, answers)
compare(values, others, alone)
