"""Neighbours: which training rows does a prediction come from? (IBUG; Brophy and Lowd 2022)."""

from functools import partial

from gbuq_core.experiments.neighbours.experiment import NEIGHBOURS, neighbours_sections
from gbuq_core.experiments.neighbours.look import describe_neighbours
from pages._ui.experiment import COMPARE, WHY, open_account
from pages._ui.jobs_glue import ask, show_progress
from pages._ui.live import live_knobs, send_tables
from pages._ui.neighbours import look, picture, scorecard
from pages._ui.neighbours.controls import STATE

WAIT_SECONDS = 0.6  # the default comes without a flash of progress
page, values, settings = open_account(NEIGHBOURS, STATE, ("noise", "diabetes_row", "wine_row"))
fit, slots = picture.fit_request(settings), picture.BASELINE_SLOTS
(answer,) = ask([fit], WAIT_SECONDS, others=slots)
with page.notices:
    show_progress([answer])
    run = picture.find_or_say(values, answer)
if run is None:
    page.explain(NEIGHBOURS)
else:
    with page.picture:
        picture.show_picture(run, values)
    with page.notices:  # the picture does not wait for what it is compared with
        baselines = scorecard.baselines_of(settings, answer)
    claims = scorecard.claims_of(run, baselines)
    with page.fold(COMPARE):
        run = scorecard.scored(run, baselines)
    tables = picture.tables_of(run)
    with page.fold(WHY):
        look.draw_look(run)
    page.tell(
        NEIGHBOURS, run, claims,
        partial(neighbours_sections, run, live_knobs(STATE, values), [*tables.values()]),
        describe_neighbours(run),
        costs=look.describe_fit(run, answer),
        paper=partial(scorecard.check_paper, run, claims, baselines),
    )  # fmt: skip
    send_tables("neighbours", tables)
