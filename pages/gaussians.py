"""25 Gaussians: can one chain find all the modes? (Tan et al. 2023, section 5.1)."""

from functools import partial

import streamlit as st

from gbuq_core.experiments.gaussians import SamplerRun, run_sampler
from gbuq_core.experiments.gaussians_plan import (
    SAMPLERS,
    GaussiansSettings,
    SamplerPlan,
    estimate_sampler_seconds,
    plan_sampler,
)
from pages._ui.gaussians_controls import STATE, settings_of, view_of
from pages._ui.gaussians_ui import (
    draw_gaussians,
    draw_scores,
    explain_gaussians,
    export_gaussians,
    show_costs,
)
from pages._ui.jobs_glue import Answer, Request, ask, show_progress
from pages._ui.url_state import link_to, open_page

LEDE = "Four samplers, one start, the same number of steps. Play the race: "
WHAT_TO_SEE = {
    "gaussians25": "**SGLD** settles in a mode and stays, **N-SGLD** shakes itself out and blurs "
    "everything, the two **cyclical** ones are thrown out at the start of each cycle and settle "
    "somewhere else by its end.",
    "ring": "there are no walls, but it is a long way round. How much of it has each gone by the "
    "end? Its twelve equal sectors count as modes.",
    "banana": "one bent ridge, steep across and long along it. Who reaches both ends, and as often "
    "as the target? Five stretches of equal probability count as modes.",
    "two_modes": "80 % of the weight lies on the left. Who finds both modes, and do their shares "
    "come out? cg-SGLD's steps, long enough for the 25 Gaussians, are too short to leave these.",
    "gaussian": "one mode, nothing to find. Who gets its spread right? More noise widens it, a "
    "scaled gradient narrows it.",
}
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
lede.markdown(LEDE + WHAT_TO_SEE[settings.target])
answers = ask_for(settings)
show_progress(answers)
run = draw_gaussians(settings, view, answers)
show_costs(answers)
export_gaussians(run, view, link_to(STATE, values))
draw_scores(run)
explain_gaussians()
