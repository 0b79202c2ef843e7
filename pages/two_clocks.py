"""Two clocks: is the stated uncertainty true? (stopping of the mean and of the scale)."""

import streamlit as st

from pages._ui.jobs_glue import ask, show_progress
from pages._ui.two_clocks.controls import STATE, settings_of
from pages._ui.two_clocks.picture import (
    FIT,
    OTHER_TAILS,
    SEEDS,
    draw_more,
    draw_picture,
    draw_scores,
    explain_two_clocks,
    export_two_clocks,
    fit_request,
    keep_other_tails,
    look_at,
    other_tails_request,
    seeds_request,
)
from pages._ui.url_state import link_to, open_page

LEDE = (
    "Boosting goes on improving the **mean** while its **scale** collapses onto the training "
    "rows. How many trees should each have? Move the two sliders and watch the band over the "
    "truth. Where on the map is the NLL least: on the diagonal, where early stopping looks, or "
    "off it?"
)
WAIT_SECONDS, QUICK = 1.5, 0.12  # the default's fits come without a flash of progress


st.title("Is the stated uncertainty true?")
with st.container(key="lede"):
    st.markdown(LEDE)
values = open_page(STATE)
settings = settings_of(values)
(answer,) = ask([fit_request(settings)], WAIT_SECONDS, others=(SEEDS, OTHER_TAILS))
look = look_at(settings, answer)
if look is not None:
    draw_picture(settings, look, answer.fresh)
seeds = None
if answer.fresh:  # the seeds wait for the picture
    behind = [seeds_request(settings), *other_tails_request(settings, answer.result)]
    seeds, *other = ask(behind, QUICK, others=(FIT,))
    keep_other_tails(settings, answer.result, other)
show_progress([one for one in (answer, seeds) if one is not None])
if look is not None:
    export_two_clocks(settings, look, seeds, link_to(STATE, values))
    draw_more(look)
    draw_scores(settings, look, seeds)
explain_two_clocks()
