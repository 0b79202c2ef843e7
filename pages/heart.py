"""Heart: does the model know where it has seen nothing? (Malinin et al. 2021, section 4)."""

from dataclasses import replace

import streamlit as st

from pages._ui.heart.controls import (
    STATE,
    paint,
    problem_with_cells,
    settings_of,
    view_of,
)
from pages._ui.heart.picture import (
    PAGE,
    draw_heart,
    draw_scores,
    explain_heart,
    export_heart,
    show_costs,
)
from pages._ui.jobs_glue import ask, show_progress
from pages._ui.notices import show_notice
from pages._ui.url_state import link_to, open_page

LEDE = (
    "There are no training rows inside the heart, and the rows around it are noisier. Does "
    "**knowledge** uncertainty find the hatched cells, and only those? Does **data** uncertainty "
    "repeat the true noise? Play the trees, or click cells to remove or add rows."
)
WAIT_SECONDS = 0.5  # 10 x 1000 trees come without a flash of progress


st.title("Does the model know where it has seen nothing?")
with st.container(key="lede"):
    st.markdown(LEDE)
values = open_page(STATE)
settings, view = settings_of(values), view_of(values)
problem = problem_with_cells(settings.cells)
if problem:
    show_notice(problem, "cells")
    settings = replace(settings, cells=())
answers = ask(PAGE.requests(settings), WAIT_SECONDS)
show_progress(answers)
shown = PAGE.views(settings, answers)
run = draw_heart(settings, view, shown, paint)
show_costs(settings, shown)
export_heart(run, view, link_to(STATE, values))
draw_scores(run, view)
explain_heart()
