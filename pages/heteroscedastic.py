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
from pages._ui.side_by_side import (
    list_costs,
    plan_requests,
    say_what_is_missing,
    view_answers,
)

page, values, settings = open_account(HETEROSCEDASTIC, STATE, ("noise_slope",))
# The default's methods come without a flash of progress.
slots = scorecard.measure_slots()
answers = ask(plan_requests(HETEROSCEDASTIC, settings), 1.5, others=slots)
shown = view_answers(HETEROSCEDASTIC, settings, answers)
with page.notices:
    say_what_is_missing(HETEROSCEDASTIC, settings, shown)
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
    costs=list_costs(HETEROSCEDASTIC, settings, shown),
)  # fmt: skip
