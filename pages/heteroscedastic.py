"""Heteroscedastic: does the model know its noise, and where it has seen nothing? (MACAU, 4.1)."""

from functools import partial

import streamlit as st

from gbuq_core.experiments.heteroscedastic.plan import METHODS, HeteroscedasticSettings
from gbuq_core.experiments.heteroscedastic.words import answer_heteroscedastic
from gbuq_core.settings import from_values
from pages._ui.experiment import COMPARE, EXPORT, PAPER, WHY, Skeleton
from pages._ui.heteroscedastic.controls import FOLLOWED, STATE
from pages._ui.heteroscedastic.export import explain_heteroscedastic, export_heteroscedastic
from pages._ui.heteroscedastic.picture import (
    PAGE,
    asked,
    draw_picture,
    figure_of,
    knobs_above,
    say_what_is_missing,
    show_costs,
)
from pages._ui.heteroscedastic.scorecard import (
    check_paper,
    claims_of,
    draw_scores,
    measure_requests,
    measure_slots,
    run_of,
    say_what_failed,
    scores_of,
)
from pages._ui.jobs_glue import ask, show_progress
from pages._ui.live_sliders import follow
from pages._ui.side_by_side import plan_requests, view_answers

LEDE = (
    "The noise grows with x, and all rows lie between 0 and 10. Make it larger: does the **light "
    "band** follow? Does the **dark rim** widen outside the rows?"
)
WAIT_SECONDS = 1.5  # the default's methods come without a flash of progress
QUICK = 0.12

page = Skeleton("Does the model know its noise, and where it has seen nothing?", LEDE)
values = page.open(STATE, ("noise_slope",))
settings = from_values(HeteroscedasticSettings, vars(values))
answers = ask(plan_requests(PAGE, settings), WAIT_SECONDS, others=measure_slots())
shown = view_answers(PAGE, settings, answers)
knobs = knobs_above(values)
with page.notices:
    say_what_is_missing(settings, shown)
with page.picture:
    figure = figure_of(settings, shown, knobs, asked(values))
    follow(STATE, values, FOLLOWED, partial(draw_picture, figure))
    with st.container(key="heteroscedastic-progress"):  # the picture stays in its place
        show_progress([answer for answer in answers if answer.state != "done"])
measured = ask(measure_requests(settings, shown), QUICK, others=tuple(METHODS))
run = run_of(settings, shown, measured)
page.say_verdict(answer_heteroscedastic(run, scores_of(run)), claims_of(run))
with page.fold(COMPARE):
    show_progress([answer for answer in measured if answer.state != "done"], "-scores")
    say_what_failed(measured)
    draw_scores(settings, run)
    show_costs(settings, shown)
with page.fold(WHY):
    explain_heteroscedastic()
with page.fold(PAPER):
    check_paper(settings, run)
with page.fold(EXPORT):
    every = figure_of(settings, shown, knobs)
    export_heteroscedastic(settings, run, every)
