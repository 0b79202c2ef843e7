"""Heart: does the model know where it has seen nothing? (Malinin et al. 2021, section 4)."""

from functools import partial
from types import SimpleNamespace

import streamlit as st

from gbuq_core.experiments.heart.plan import HeartSettings
from gbuq_core.figures.canvas.panels import PanelSheet
from gbuq_core.settings import from_values, sliders
from pages._ui.claims import draw_chips
from pages._ui.heart.controls import STATE, paint
from pages._ui.heart.picture import (
    PAGE,
    claims_of,
    draw_heart,
    draw_scores,
    draw_surface,
    explain_heart,
    export_heart,
    offer_unpaint,
    run_of,
    say_what_is_missing,
    sheet_of,
    show_costs,
)
from pages._ui.jobs_glue import ask, show_progress
from pages._ui.live import live_knobs, send_members
from pages._ui.live_sliders import LIVE_SECONDS, follow
from pages._ui.url_state import link_to, open_page

LEDE = (
    "The hatched cells have no training rows, and the rows around the heart are noisier. Does "
    "**knowledge** uncertainty find the hatched cells, and only those? Does **data** uncertainty "
    "repeat the true noise? Play the trees, or click cells to remove or add rows."
)
WAIT_SECONDS = 0.5  # 10 x 1000 trees come without a flash of progress


def draw(sheet: PanelSheet, values: SimpleNamespace, moving: bool) -> bool:
    """The maps, alone while a slider is on its way; whether all are of these values."""
    if not moving:
        draw_heart(sheet, paint)
        return True
    settings = from_values(HeartSettings, vars(values))
    shown = PAGE.views(settings, ask(PAGE.requests(settings), LIVE_SECONDS))
    draw_heart(sheet_of(run_of(settings, shown), shown, live_knobs(STATE, values)), paint)
    return all(one.fresh or one.problem for one in shown)


st.title("Does the model know where it has seen nothing?")
with st.container(key="lede"):
    st.markdown(LEDE)
values = open_page(STATE)
settings = from_values(HeartSettings, vars(values))
answers = ask(PAGE.requests(settings), WAIT_SECONDS)
show_progress(answers)
shown = PAGE.views(settings, answers)
run = run_of(settings, shown)
knobs = live_knobs(STATE, values)
sheet = sheet_of(run, shown, knobs)
say_what_is_missing(settings, shown)
with st.container(key="chips"):
    draw_chips(claims_of(run))
follow(STATE, values, sliders(HeartSettings), partial(draw, sheet))
offer_unpaint(settings)
draw_surface(sheet)
show_costs(settings, shown)
export_heart(run, link_to(STATE, values), knobs)
draw_scores(run)
explain_heart()
send_members(sheet.live, "heart")
