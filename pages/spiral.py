"""Spiral: does one long model know what an ensemble knows? (cyclical SGLB; Malinin et al. 2021)."""

import streamlit as st

from gbuq_core.experiments.spiral.claims import answer_spiral
from gbuq_core.experiments.spiral.plan import SpiralSettings
from gbuq_core.settings import from_values
from pages._ui.experiment import COMPARE, EXPORT, PAPER, WHY, Skeleton
from pages._ui.jobs_glue import ask, show_progress
from pages._ui.live import live_knobs, send_members
from pages._ui.side_by_side import plan_requests, say_what_is_missing, view_answers
from pages._ui.spiral.controls import STATE, looks_of
from pages._ui.spiral.export import explain_spiral, export_spiral
from pages._ui.spiral.look import draw_point, draw_ray
from pages._ui.spiral.picture import (
    PAGE,
    draw_picture,
    run_of,
    settled_run,
    sheet_of,
    show_costs,
)
from pages._ui.spiral.quality import compare_compute, quality_request
from pages._ui.spiral.scorecard import (
    check_paper,
    claims_of,
    draw_burn_in,
    draw_scores,
    scores_of,
)
from pages._ui.surface import show_surface

LEDE = (
    "Three classes lie on the arms of a spiral. Beyond the dotted line there are no rows. Does the "
    "model's **knowledge** uncertainty say so? Click a place to ask every member."
)
WAIT_SECONDS, QUICK = 0.6, 0.12  # the default's methods come without a flash of progress

page = Skeleton("Does the model know that it left the data?", LEDE)
values = page.open(STATE, ("noise",))
settings, looks = from_values(SpiralSettings, vars(values)), looks_of(values)
fits, comparison = plan_requests(PAGE, settings), quality_request() if values.compute else []
# While the comparison runs nobody waits for it.
asked = ask([*fits, *comparison], WAIT_SECONDS if not comparison else QUICK)
answers, compared = asked[: len(fits)], asked[len(fits) :]
alone = all(answer.state == "done" for answer in answers)
shown = view_answers(PAGE, settings, answers)
with page.notices:
    if not alone:
        # A comparison that was cancelled has its own button to start it again.
        show_progress([*answers, *(one for one in compared if one.state != "cancelled")])
    say_what_is_missing(PAGE, settings, shown)
maps = [one.view for one in shown if one.view is not None]
knobs, now = live_knobs(STATE, values), run_of(settings, shown)
sheet = sheet_of(now, maps, looks, knobs)
with page.picture:
    draw_picture(sheet, now)
settled = all(answer.state in ("done", "failed") for answer in answers)
run = settled_run(now, settled)
current = run.settings == settings
page.say_verdict(answer_spiral(run, scores_of(run)), claims_of(run))
with page.fold(COMPARE):
    if not current:
        st.caption("The scores below still belong to the previous settings.")
    draw_scores(run)
    show_costs(settings, shown)
with page.fold(WHY):
    explain_spiral()
with page.fold(PAPER):
    check_paper(run, settled and alone and current)
with page.fold(EXPORT):
    export_spiral(now, looks, knobs)
draw_point(settings, maps, looks)
draw_ray(settings, maps, looks)
draw_burn_in(run)
compare_compute(settings, compared, alone)
show_surface(sheet, first=("knowledge", "KU"))
send_members(sheet.live, "spiral")
