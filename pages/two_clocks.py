"""Two clocks: is the stated uncertainty true? (stopping of the mean and of the scale)."""

import streamlit as st

from gbuq_core.experiments.two_clocks.plan import TwoClocksSettings
from gbuq_core.settings import from_values
from pages._ui.jobs_glue import ask, show_progress
from pages._ui.two_clocks.controls import STATE
from pages._ui.two_clocks.picture import (
    FIT,
    OTHER_TAILS,
    SEEDS,
    draw_claim_chips,
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
    "Does boosting go on improving the **mean** while its **scale** collapses onto the training "
    "rows? How many trees should each have? Move the two sliders and watch the band over the "
    "truth. Where on the map is the NLL least: on the diagonal, where early stopping looks, or "
    "off it?"
)
LEDE_WITHOUT_CLOCKS = (
    "Every model here states a std for each row. Do its 90 % intervals hold 90 % of new rows, and "
    "do those of the other levels? Switch the factor on and off, and watch the band over the truth."
)
WAIT_SECONDS, QUICK = 1.5, 0.12  # the default's fits come without a flash of progress


st.title("Is the stated uncertainty true?")
lede = st.container(key="lede")
values = open_page(STATE)
settings = from_values(TwoClocksSettings, vars(values))
lede.markdown(LEDE if settings.has_clocks else LEDE_WITHOUT_CLOCKS)
(answer,) = ask([fit_request(settings)], WAIT_SECONDS, others=(SEEDS, OTHER_TAILS))
chips = st.container(key="chips")
look = look_at(settings, answer)
if look is not None:
    draw_picture(settings, look, answer.fresh)
seeds = None
if answer.fresh:  # the seeds wait for the picture
    behind = [seeds_request(settings), *other_tails_request(settings, answer.result)]
    seeds, *other = ask(behind, QUICK, others=(FIT,))
    keep_other_tails(answer.result, other)
if look is not None:
    with chips:
        draw_claim_chips(look, seeds, answer.fresh)
show_progress([one for one in (answer, seeds) if one is not None])
if look is not None:
    export_two_clocks(settings, look, seeds, link_to(STATE, values))
    if look.fit.plan.has_clocks:
        draw_more(look)
    draw_scores(settings, look, seeds)
explain_two_clocks()
