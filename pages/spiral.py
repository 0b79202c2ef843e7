"""Spiral: does one long model know what an ensemble knows? (cyclical SGLB; Malinin et al. 2021)."""

from collections.abc import Sequence
from functools import partial
from types import SimpleNamespace

import streamlit as st

from gbuq_core.experiments.spiral.fit import SpiralFit, fit_spiral
from gbuq_core.experiments.spiral.plan import (
    METHODS,
    SpiralPlan,
    SpiralSettings,
    estimate_spiral_seconds,
    plan_spiral,
)
from pages._ui.jobs_glue import Answer, Request, ask, show_progress
from pages._ui.spiral.controls import STATE, looks_of, settings_of, view_of
from pages._ui.spiral.export import explain_spiral, export_spiral
from pages._ui.spiral.look import draw_point, draw_ray
from pages._ui.spiral.picture import (
    draw_picture,
    map_answers,
    run_of,
    settled_run,
    show_costs,
    words_of,
)
from pages._ui.spiral.quality import compare_compute, quality_request
from pages._ui.spiral.scorecard import draw_burn_in, draw_scores
from pages._ui.url_state import draw_controls, link_to, open_page, read_again

LEDE = (
    "Three arms, one class each. **Data** uncertainty (DU) should repeat the truth at its left; "
    "**knowledge** uncertainty (KU) should be high where there were no rows: outside, and between "
    "narrow arms. Play the trees, or click a map to ask every member at that point."
)
WAIT_SECONDS, QUICK = 0.6, 0.12  # the default's methods come without a flash of progress


def compute(plan: SpiralPlan, job: object) -> SpiralFit:
    """Train one method; the runner calls this in another thread."""
    return fit_spiral(plan)


def requests_of(settings: SpiralSettings) -> list[Request]:
    """One fit a method, of which only those that a knob concerns are made anew."""
    plans = [plan_spiral(settings, method) for method in settings.methods]
    return [
        Request(
            plan.method,
            ("spiral", plan),
            partial(compute, plan),
            METHODS[plan.method].label,
            estimate_spiral_seconds(plan),
        )
        for plan in plans
    ]


@st.fragment
def explore(values: SimpleNamespace, answers: Sequence[Answer]) -> None:
    """The picture and what is looked at in it: a click or a line runs nothing else again."""
    values = read_again(STATE, values)
    settings, view, looks = settings_of(values), view_of(values), looks_of(values)
    mapped = map_answers(settings, answers)
    run = run_of(settings, mapped)
    words = words_of(run)
    draw_picture(run, mapped, view, looks, words)
    show_costs(settings, answers)
    export_spiral(run, view, looks, words, link_to(STATE, values))
    shown = [one.maps for one in mapped if one.maps is not None]
    draw_point(settings, shown, looks)
    draw_ray(settings, shown, looks, view.log)


st.title("Does one long model know what an ensemble knows?")
with st.container(key="lede"):
    st.markdown(LEDE)
values = open_page(STATE, controls_later=True)
settings = settings_of(values)
comparison = quality_request()
# While the comparison runs nobody waits for it.
asked = ask([*requests_of(settings), *comparison], WAIT_SECONDS if not comparison else QUICK)
answers, compared = asked[: len(settings.methods)], asked[len(settings.methods) :]
alone = all(answer.state == "done" for answer in answers)
with st.container():  # always there, so that the picture below stays in its place
    if not alone:
        # A comparison that was cancelled has its own button to start it again.
        show_progress([*answers, *(one for one in compared if one.state != "cancelled")])
explore(values, answers)
draw_controls(STATE)
settled = all(answer.state in ("done", "failed") for answer in answers)
run = settled_run(run_of(settings, map_answers(settings, answers)), settled)
if run.settings != settings:
    st.caption("Below, still the settings before.")
draw_scores(run)
draw_burn_in(run)
compare_compute(settings, compared, alone)
explain_spiral()
