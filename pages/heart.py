"""Heart: does the model know where it has seen nothing? (Malinin et al. 2021, section 4)."""

from functools import partial
from types import SimpleNamespace

from gbuq_core.experiments.heart.plan import HeartSettings
from gbuq_core.experiments.heart.scores import answer_heart
from gbuq_core.figures.canvas.panels import PanelSheet
from gbuq_core.settings import from_values, sliders
from pages._ui.experiment import COMPARE, EXPORT, PAPER, WHY, Skeleton
from pages._ui.heart.controls import STATE, paint
from pages._ui.heart.picture import (
    PAGE,
    check_paper,
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
from pages._ui.url_state import link_to

LEDE = (
    "The hatched cells have no training rows. Does the model's **knowledge** uncertainty find "
    "them? Click a cell to take its rows away."
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


page = Skeleton("Does the model know where it has seen nothing?", LEDE)
values = page.open(STATE, ("rows",))
settings = from_values(HeartSettings, vars(values))
answers = ask(PAGE.requests(settings), WAIT_SECONDS)
with page.notices:
    show_progress(answers)
shown = PAGE.views(settings, answers)
run = run_of(settings, shown)
knobs = live_knobs(STATE, values)
sheet = sheet_of(run, shown, knobs)
with page.notices:
    say_what_is_missing(settings, shown)
with page.picture:
    follow(STATE, values, sliders(HeartSettings), partial(draw, sheet))
    offer_unpaint(settings)
page.say_verdict(answer_heart(run), claims_of(run))
with page.fold(COMPARE):
    draw_scores(run)
    show_costs(settings, shown)
with page.fold(WHY):
    explain_heart()
with page.fold(PAPER):
    check_paper(run)
with page.fold(EXPORT):
    export_heart(run, link_to(STATE, values), knobs)
draw_surface(sheet)
send_members(sheet.live, "heart")
