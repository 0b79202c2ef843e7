"""25 Gaussians: can one chain find all the modes? (Tan et al. 2023, section 5.1)."""

import streamlit as st

from gbuq_core.experiments.gaussians.plan import GaussiansSettings
from gbuq_core.settings import from_values
from pages._ui.gaussians.controls import STATE
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
from pages._ui.live import live_knobs
from pages._ui.url_state import link_to, open_page

WAIT_SECONDS = 0.5  # 4 x 50,000 steps come without a flash of progress


st.title("Can one chain find all the modes?")
lede = st.container(key="lede")
values = open_page(STATE)
settings = from_values(GaussiansSettings, vars(values))
knobs = live_knobs(STATE, values)
lede.markdown(lede_of(settings))
answers = ask(PAGE.requests(settings), WAIT_SECONDS)
show_progress(answers)
shown = PAGE.views(settings, answers)
run = draw_gaussians(settings, shown, knobs)
show_costs(settings, shown)
export_gaussians(run, link_to(STATE, values), values.cycle, knobs)
draw_cycle(values)
draw_scores(run)
explain_gaussians()
