"""Spiral: does one long model know what an ensemble knows? (cyclical SGLB; Malinin et al. 2021)."""

from collections.abc import Sequence
from types import SimpleNamespace

import streamlit as st

from gbuq_core.experiments.spiral.plan import SpiralSettings
from gbuq_core.figures.canvas.panels import PanelSheet
from gbuq_core.settings import from_values
from pages._ui.claims import draw_chips
from pages._ui.jobs_glue import Answer, ask, show_progress
from pages._ui.live import live_knobs, moved, send_members
from pages._ui.spiral.controls import STATE, looks_of
from pages._ui.spiral.export import explain_spiral, export_spiral
from pages._ui.spiral.look import draw_point, draw_ray
from pages._ui.spiral.picture import (
    PAGE,
    draw_picture,
    run_of,
    settled_run,
    show_costs,
    words_of,
)
from pages._ui.spiral.quality import compare_compute, quality_request
from pages._ui.spiral.scorecard import claims_of, draw_burn_in, draw_scores
from pages._ui.url_state import draw_controls, link_to, open_page, read_again

LEDE = (
    "The three arms are three classes. Does **data** uncertainty (DU) repeat the true "
    "one? Is **knowledge** uncertainty (KU) high where there are no rows: outside, and between "
    "narrow arms? Play the trees, or click a map to ask every member at that point."
)
WAIT_SECONDS, QUICK = 0.6, 0.12  # the default's methods come without a flash of progress


@st.fragment
def explore(values: SimpleNamespace, answers: Sequence[Answer]) -> PanelSheet:
    """The picture, the point and the line: a click or a new line reruns only this part."""
    before, values = values, read_again(STATE, values)
    if moved(STATE, before, values):  # the scores below the picture depend on them, too
        st.rerun()
    settings, looks = from_values(SpiralSettings, vars(values)), looks_of(values)
    shown = PAGE.views(settings, answers)
    run = run_of(settings, shown)
    words = words_of(run)
    knobs = live_knobs(STATE, values)
    sheet = draw_picture(run, shown, looks, words, knobs)
    show_costs(settings, shown)
    export_spiral(run, looks, words, link_to(STATE, values), knobs)
    maps = [one.view for one in shown if one.view is not None]
    draw_point(settings, maps, looks)
    draw_ray(settings, maps, looks)
    return sheet


st.title("Does one long model know what an ensemble knows?")
with st.container(key="lede"):
    st.markdown(LEDE)
values = open_page(STATE, controls_later=True)
settings = from_values(SpiralSettings, vars(values))
fits, comparison = PAGE.requests(settings), quality_request() if values.compute else []
# While the comparison runs nobody waits for it.
asked = ask([*fits, *comparison], WAIT_SECONDS if not comparison else QUICK)
answers, compared = asked[: len(fits)], asked[len(fits) :]
alone = all(answer.state == "done" for answer in answers)
with st.container():  # always there, so that the picture below stays in its place
    if not alone:
        # A comparison that was cancelled has its own button to start it again.
        show_progress([*answers, *(one for one in compared if one.state != "cancelled")])
chips = st.container(key="chips")
sheet = explore(values, answers)
draw_controls(STATE)
settled = all(answer.state in ("done", "failed") for answer in answers)
run = settled_run(run_of(settings, PAGE.views(settings, answers)), settled)
if run.settings != settings:
    st.caption("The scores below still belong to the previous settings.")
with chips:
    draw_chips(claims_of(run), "" if run.settings == settings else "with the previous settings")
draw_scores(run, settled and alone and run.settings == settings)
draw_burn_in(run)
compare_compute(settings, compared, alone)
explain_spiral()
send_members(sheet.live, "spiral")
