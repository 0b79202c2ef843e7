"""25 Gaussians: can one chain find all the modes? (Tan et al. 2023, section 5.1)."""

from functools import partial

import streamlit as st

from gbuq_core.experiments.gaussians.fit import SamplerRun, run_sampler
from gbuq_core.experiments.gaussians.plan import (
    SAMPLERS,
    GaussiansSettings,
    SamplerPlan,
    estimate_sampler_seconds,
    plan_sampler,
)
from pages._ui.gaussians.controls import STATE, settings_of, view_of
from pages._ui.gaussians.lede import lede_of
from pages._ui.gaussians.picture import (
    draw_gaussians,
    draw_scores,
    explain_gaussians,
    export_gaussians,
    show_costs,
)
from pages._ui.jobs_glue import Answer, Request, ask, show_progress
from pages._ui.url_state import link_to, open_page

WAIT_SECONDS = 0.5  # 4 x 50,000 steps come without a flash of progress


def compute(plan: SamplerPlan, job: object) -> SamplerRun:
    """Run one sampler; the runner calls this in another thread."""
    return run_sampler(plan)


def ask_for(settings: GaussiansSettings) -> list[Answer]:
    """One job a sampler, of which only those that a knob concerns run again."""
    plans = [plan_sampler(settings, sampler) for sampler in settings.samplers]
    return ask(
        [
            Request(
                plan.sampler,
                ("gaussians", plan),
                partial(compute, plan),
                SAMPLERS[plan.sampler].label,
                estimate_sampler_seconds(plan),
            )
            for plan in plans
        ],
        wait=WAIT_SECONDS,
    )


st.title("Can one chain find all the modes?")
lede = st.container(key="lede")
values = open_page(STATE)
settings, view = settings_of(values), view_of(values)
lede.markdown(lede_of(settings))
answers = ask_for(settings)
show_progress(answers)
run = draw_gaussians(settings, view, answers)
show_costs(answers)
export_gaussians(run, view, link_to(STATE, values))
draw_scores(run)
explain_gaussians()
