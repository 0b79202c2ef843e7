"""Heteroscedastic: does the model know its noise, and where it has seen nothing? (MACAU, 4.1)."""

from functools import partial

from gbuq_core.experiments.heteroscedastic.experiment import (
    HETEROSCEDASTIC,
    heteroscedastic_sections,
)
from gbuq_core.experiments.heteroscedastic.scores import describe_heteroscedastic
from pages._ui.experiment import COMPARE, open_account
from pages._ui.heteroscedastic import picture, scorecard
from pages._ui.heteroscedastic.controls import STATE
from pages._ui.jobs_glue import ask
from pages._ui.side_by_side import list_costs, plan_requests, view_answers

WAIT_SECONDS = 1.5  # the default's methods come without a flash of progress
PAGE = picture.PAGE

page, values, settings = open_account(HETEROSCEDASTIC, STATE, ("noise_slope",))
slots = scorecard.measure_slots()
answers = ask(plan_requests(PAGE, settings), WAIT_SECONDS, others=slots)
shown = view_answers(PAGE, settings, answers)
with page.notices:
    picture.say_what_is_missing(settings, shown)
with page.picture:
    picture.show_picture(values, settings, shown)
with page.fold(COMPARE):
    run = scorecard.measured_run(settings, shown)
claims = scorecard.claims_of(run)
every = picture.figure_of(settings, shown, picture.knobs_above(values))
page.tell(
    HETEROSCEDASTIC, run, claims, partial(heteroscedastic_sections, run, every, claims),
    describe_heteroscedastic(run, run.scores),
    scored=bool(run.fits),
    complete=run.settings.methods == settings.methods,
    costs=list_costs(PAGE, settings, shown),
)  # fmt: skip
