"""25 Gaussians: can one chain find all the modes? (Tan et al. 2023, section 5.1)."""

import streamlit as st

from pages._ui.gaussians.controls import STATE, knobs_of, settings_of, view_of
from pages._ui.gaussians.cycle import draw_cycle
from pages._ui.gaussians.lede import lede_of
from pages._ui.gaussians.picture import (
    PAGE,
    draw_gaussians,
    draw_scores,
    explain_gaussians,
    export_gaussians,
    show_costs,
)
from pages._ui.jobs_glue import ask, show_progress
from pages._ui.url_state import link_to, open_page

WAIT_SECONDS = 0.5  # 4 x 50,000 steps come without a flash of progress


st.title("Can one chain find all the modes?")
lede = st.container(key="lede")
values = open_page(STATE)
settings, view = settings_of(values), view_of(values)
lede.markdown(lede_of(settings))
answers = ask(PAGE.requests(settings), WAIT_SECONDS)
show_progress(answers)
shown = PAGE.views(settings, answers)
run = draw_gaussians(settings, view, shown, knobs_of(values))
show_costs(settings, shown)
export_gaussians(run, view, link_to(STATE, values), values.cycle, knobs_of(values))
draw_cycle(values)
draw_scores(run)
explain_gaussians()
