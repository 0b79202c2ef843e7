"""Neighbours: which training rows does a prediction come from? (IBUG; Brophy and Lowd 2022)."""

from contextlib import suppress
from functools import partial
from types import SimpleNamespace

import streamlit as st

from gbuq_core.errors import GbuqError
from gbuq_core.experiments.neighbours.look import NeighboursRun
from gbuq_core.experiments.neighbours.plan import NeighboursSettings
from gbuq_core.experiments.neighbours.words import describe_neighbours
from gbuq_core.settings import from_values, sliders
from pages._ui.claims import draw_chips
from pages._ui.jobs_glue import Answer, ask, cost_line, show_progress
from pages._ui.kept import kept, last_kept
from pages._ui.live import live_knobs
from pages._ui.live_sliders import LIVE_SECONDS, follow, take_dropped
from pages._ui.neighbours.controls import STATE
from pages._ui.neighbours.export import explain_neighbours, export_neighbours
from pages._ui.neighbours.look import draw_look, draw_rows
from pages._ui.neighbours.picture import (
    EXPLORE,
    SLOT,
    draw_choice,
    draw_picture,
    find,
    fit_request,
    send_tables,
)
from pages._ui.neighbours.scorecard import baseline_requests, baseline_slots, scores_or_say
from pages._ui.notices import show_notice
from pages._ui.url_state import draw_controls, link_to, open_page, read_again

LEDE = (
    "How far do the targets of the rows behind a prediction spread? Rows are alike if many trees "
    "put them into one leaf. The rows most alike to a place are its **neighbours**, drawn in "
    "orange. Move over the picture, or click it."
)
WAIT_SECONDS = 0.6  # the default comes without a flash of progress
EMPTY = "The picture appears when the first fit is done."


def draw(run: NeighboursRun, values: SimpleNamespace, moving: bool) -> bool:
    """The picture, alone while something is dragged; whether it is of these values."""
    if not moving:
        draw_picture(run, live_knobs(STATE, values))
        return True
    settings = from_values(NeighboursSettings, vars(values))
    (answer,) = ask([fit_request(settings)], LIVE_SECONDS, others=baseline_slots())
    with suppress(GbuqError):
        run = find(values, answer)
    draw_picture(run, live_knobs(STATE, values))
    return answer.fresh or bool(answer.error)


@st.fragment(key=EXPLORE)
def explore(values: SimpleNamespace, answer: Answer) -> None:
    """The picture and what is looked at in it: a click or a range runs nothing else again."""
    take_dropped(STATE)
    values = read_again(STATE, values)
    run = find_or_say(values, answer)
    if run is None:
        return
    follow(STATE, values, sliders(NeighboursSettings), partial(draw, run))
    draw_choice(run)
    st.caption(
        f"{run.fit.data.title}: {run.settings.info.about}  \n"
        f"{cost_line(answer)}. The knobs above the picture update it without retraining. The "
        "scale is data uncertainty: it does not tell that rows are missing."
    )
    draw_look(run)
    draw_rows(run)
    export_neighbours(run, live_knobs(STATE, values), link_to(STATE, values))
    with st.expander("In words"):
        st.text(describe_neighbours(run))


def find_or_say(values: SimpleNamespace, answer: Answer) -> NeighboursRun | None:
    """What there is to show, or the reason why there is nothing."""
    if answer.error or answer.result is None:
        if answer.error:
            show_notice(answer.error, "neighbours", tone="error")
        else:
            st.text(EMPTY)
        return None
    try:
        run = find(values, answer)
    except GbuqError as error:
        show_notice(str(error), "neighbours", tone="error")
        return None
    if not answer.fresh:
        st.caption("The picture still shows the previous settings.")
    notes = [*run.view.notes, *run.look.notes]
    if notes:
        show_notice(list(dict.fromkeys(notes)), "range")
    return run


st.title("Which training rows does a prediction come from?")
with st.container(key="lede"):
    st.markdown(LEDE)
values = open_page(STATE, controls_later=True)
settings = from_values(NeighboursSettings, vars(values))
(answer,) = ask([fit_request(settings)], WAIT_SECONDS, others=baseline_slots())
with st.container():  # always there, so that the picture below stays in its place
    if answer.state != "done":
        show_progress([answer])
chips = st.container(key="chips")
explore(values, answer)
draw_controls(STATE)
if answer.result is not None and not answer.error:
    if answer.state == "done":
        # The picture does not wait for what it is compared with.
        asked = ask(baseline_requests(settings), others=(SLOT,))
        baselines = kept("neighbours-asked", asked, None, lambda: asked)
        show_progress(baselines)
    else:
        baselines = last_kept("neighbours-asked") or []
        st.caption("The scores below are still those of the previous settings.")
    claims = scores_or_say(values, answer, baselines)
    with chips:
        draw_chips(claims, "" if answer.state == "done" else "with the previous settings")
    if answer.state == "done":
        with suppress(GbuqError):
            send_tables(find(values, answer))
explain_neighbours()
