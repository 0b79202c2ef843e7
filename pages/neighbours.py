"""Neighbours: which training rows does a prediction come from? (IBUG; Brophy and Lowd 2022)."""

from contextlib import suppress
from functools import partial
from types import SimpleNamespace

from gbuq_core.errors import GbuqError
from gbuq_core.experiments.neighbours.look import NeighboursRun
from gbuq_core.experiments.neighbours.plan import NeighboursSettings
from gbuq_core.experiments.neighbours.words import answer_neighbours, describe_choice
from gbuq_core.settings import from_values, sliders
from pages._ui.experiment import COMPARE, EXPORT, PAPER, WHY, Skeleton
from pages._ui.jobs_glue import ask, show_progress
from pages._ui.live import live_knobs
from pages._ui.live_sliders import LIVE_SECONDS, follow
from pages._ui.neighbours.controls import STATE
from pages._ui.neighbours.export import explain_neighbours, export_neighbours
from pages._ui.neighbours.look import describe_fit, draw_look, draw_rows
from pages._ui.neighbours.picture import draw_picture, find, find_or_say, fit_request, send_tables
from pages._ui.neighbours.scorecard import (
    baselines_of,
    check_paper,
    claims_of,
    draw_scores,
    other_slots,
)

LEDE = (
    "A prediction comes from the training rows that share its leaves: which are they here? Move "
    "over the picture. The **orange points** are those rows; the bell shows their targets' spread."
)
WAIT_SECONDS = 0.6  # the default comes without a flash of progress


def draw(run: NeighboursRun, values: SimpleNamespace, moving: bool) -> bool:
    """The picture, alone while something is dragged; whether it is of these values."""
    if not moving:
        draw_picture(run, live_knobs(STATE, values))
        return True
    request = fit_request(from_values(NeighboursSettings, vars(values)))
    (answer,) = ask([request], LIVE_SECONDS, others=other_slots())
    with suppress(GbuqError):
        run = find(values, answer)
    draw_picture(run, live_knobs(STATE, values))
    return answer.fresh or bool(answer.error)


page = Skeleton("Which training rows does a prediction come from?", LEDE)
values = page.open(STATE, ("noise", "diabetes_row", "wine_row"))
settings = from_values(NeighboursSettings, vars(values))
(answer,) = ask([fit_request(settings)], WAIT_SECONDS, others=other_slots())
with page.notices:
    show_progress([answer])
    run = find_or_say(values, answer)
if run is not None:
    with page.picture:
        follow(STATE, values, sliders(NeighboursSettings), partial(draw, run))
    with page.notices:
        baselines = baselines_of(settings, answer)  # the picture does not wait for them
    claims = claims_of(run, baselines)
    page.say_verdict(answer_neighbours(run), claims, describe_choice(run))
    with page.fold(COMPARE):
        draw_scores(run, baselines)
        describe_fit(run, answer)
    with page.fold(WHY):
        draw_look(run)
        draw_rows(run)
    with page.fold(PAPER):
        check_paper(run, claims, baselines)
    with page.fold(EXPORT):
        export_neighbours(run, live_knobs(STATE, values))
    send_tables(run)
with page.fold(WHY):
    explain_neighbours()
