"""25 Gaussians: can one chain find all the modes? (Tan et al. 2023, section 5.1)."""

from gbuq_core.experiments.gaussians.claims import answer_gaussians, check_claims
from gbuq_core.experiments.gaussians.plan import GaussiansSettings
from gbuq_core.settings import from_values
from pages._ui.experiment import COMPARE, EXPORT, PAPER, WHY, Skeleton
from pages._ui.gaussians.controls import STATE
from pages._ui.gaussians.cycle import draw_cycle
from pages._ui.gaussians.lede import lede_of
from pages._ui.gaussians.picture import (
    PAGE,
    check_paper,
    draw_gaussians,
    draw_scores,
    explain_gaussians,
    export_gaussians,
    run_of,
    say_what_is_missing,
    show_costs,
)
from pages._ui.jobs_glue import ask, show_progress
from pages._ui.live import live_knobs
from pages._ui.side_by_side import plan_requests, view_answers

WAIT_SECONDS = 0.5  # 4 x 50,000 steps come without a flash of progress


page = Skeleton("Can one chain find all the modes?")
values = page.open(STATE, ("steps",))
settings = from_values(GaussiansSettings, vars(values))
page.ask(lede_of(settings))
answers = ask(plan_requests(PAGE, settings), WAIT_SECONDS)
shown = view_answers(PAGE, settings, answers)
run = run_of(settings, shown)
knobs = live_knobs(STATE, values)
with page.notices:
    show_progress(answers)
    say_what_is_missing(shown)
with page.picture:
    draw_gaussians(run, shown, knobs, values.every)
page.say_verdict(answer_gaussians(run), check_claims(run))
with page.fold(COMPARE):
    draw_scores(run)
    show_costs(settings, shown)
with page.fold(WHY):
    explain_gaussians()
with page.fold(PAPER):
    check_paper(run)
with page.fold(EXPORT):
    export_gaussians(run, values.cycle, knobs)
draw_cycle(values)
