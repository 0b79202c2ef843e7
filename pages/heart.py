"""Heart: does the model know where it has seen nothing? (Malinin et al. 2021, section 4)."""

from dataclasses import replace
from functools import partial

import streamlit as st

from gbuq_core.experiments.heart.fit import HeartFit, fit_heart
from gbuq_core.experiments.heart.plan import (
    METHODS,
    HeartPlan,
    HeartSettings,
    estimate_heart_seconds,
    plan_heart,
)
from pages._ui.heart.controls import (
    STATE,
    paint,
    problem_with_cells,
    settings_of,
    view_of,
)
from pages._ui.heart.picture import (
    draw_heart,
    draw_scores,
    explain_heart,
    export_heart,
    show_costs,
)
from pages._ui.jobs_glue import Answer, Request, ask, show_progress
from pages._ui.notices import show_notice
from pages._ui.url_state import link_to, open_page

LEDE = (
    "No training rows inside the heart, noisier rows around it. **Knowledge** should light up the "
    "hatched cells and nothing else; **data** should repeat the true noise. Play the trees; click "
    "or drag over cells to take their rows away or give them some."
)
WAIT_SECONDS = 0.5  # 10 x 1000 trees come without a flash of progress


def compute(plan: HeartPlan, job: object) -> HeartFit:
    """Train one method; the runner calls this in another thread."""
    return fit_heart(plan)


def ask_for(settings: HeartSettings) -> list[Answer]:
    """One fit a method, of which only those that a knob concerns are made anew."""
    plans = [plan_heart(settings, method) for method in settings.methods]
    return ask(
        [
            Request(
                plan.method,
                ("heart", plan),
                partial(compute, plan),
                METHODS[plan.method].label,
                estimate_heart_seconds(plan),
            )
            for plan in plans
        ],
        wait=WAIT_SECONDS,
    )


st.title("Does the model know where it has seen nothing?")
with st.container(key="lede"):
    st.markdown(LEDE)
values = open_page(STATE)
settings, view = settings_of(values), view_of(values)
problem = problem_with_cells(settings.cells)
if problem:
    show_notice(problem, "cells")
    settings = replace(settings, cells=())
answers = ask_for(settings)
show_progress(answers)
run = draw_heart(settings, view, answers, paint)
show_costs(settings, answers)
export_heart(run, view, link_to(STATE, values))
draw_scores(run, view)
explain_heart()
