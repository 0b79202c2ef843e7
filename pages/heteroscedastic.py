"""Heteroscedastic: does the model know its noise, and where it has seen nothing? (MACAU, 4.1)."""

from collections.abc import Sequence
from functools import partial
from types import SimpleNamespace

import streamlit as st

from gbuq_core.experiments.heteroscedastic.plan import METHODS, HeteroscedasticSettings
from gbuq_core.settings import from_values
from pages._ui import picture_first
from pages._ui.claims import draw_chips
from pages._ui.heteroscedastic.controls import FOLLOWED, STATE, draw_view_knobs
from pages._ui.heteroscedastic.export import (
    explain_heteroscedastic,
    export_heteroscedastic,
    words_of,
)
from pages._ui.heteroscedastic.picture import (
    PAGE,
    draw_picture,
    figure_of,
    knobs_above,
    say_what_is_missing,
    show_costs,
)
from pages._ui.heteroscedastic.scorecard import (
    claims_of,
    draw_scores,
    measure_requests,
    measure_slots,
    run_of,
    say_what_failed,
)
from pages._ui.jobs_glue import Answer, ask, show_progress
from pages._ui.live_sliders import follow
from pages._ui.url_state import link_to, open_page, read_again

LEDE = (
    "The noise grows with x, and all rows lie between 0 and 10 (the rest is hatched). Does the "
    "**light band** follow the thin dashed lines, which show the true noise? Outside the rows, "
    "does the **dark rim** widen? Does the score below each panel rise above its dotted line?"
)
WAIT_SECONDS = 1.5  # the default's methods come without a flash of progress
QUICK = 0.12


@st.fragment
def explore(values: SimpleNamespace, answers: Sequence[Answer]) -> None:
    """The picture, its scores and the knobs that do not retrain."""
    early = picture_first.comes_first(STATE.key)
    if not early:
        draw_view_knobs(values)
    values = read_again(STATE, values)
    settings = from_values(HeteroscedasticSettings, vars(values))
    chips = st.container(key="chips")
    shown = PAGE.views(settings, answers)
    figure = figure_of(settings, shown, knobs_above(values))
    follow(STATE, values, FOLLOWED, partial(draw_picture, figure))
    say_what_is_missing(settings, shown, PAGE.refusals(settings))
    if early:
        draw_view_knobs(values)
    progress = st.container(key="heteroscedastic-progress")
    show_costs(settings, shown)
    measured = ask(measure_requests(settings, shown), QUICK, others=tuple(METHODS))
    with progress:  # below the picture, which stays in its place
        waiting = [answer for answer in (*answers, *measured) if answer.state != "done"]
        if waiting:
            show_progress(waiting)
    say_what_failed(measured)
    run = run_of(settings, shown, measured)
    export_heteroscedastic(settings, run, figure, link_to(STATE, values))
    with chips:
        draw_chips(claims_of(run))
    draw_scores(settings, run, values.sort)
    with st.expander("In words"):
        st.text(words_of(run), width="stretch")


st.title("Does the model know its noise, and where it has seen nothing?")
with st.container(key="lede"):
    st.markdown(LEDE)
values = open_page(STATE)
settings = from_values(HeteroscedasticSettings, vars(values))
explore(values, ask(PAGE.requests(settings), WAIT_SECONDS, others=measure_slots()))
explain_heteroscedastic()
