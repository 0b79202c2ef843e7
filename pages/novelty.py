"""Novelty maps: what makes a place new to the model? (MACAU, 2023, section 3.2)."""

from contextlib import suppress
from dataclasses import replace
from types import SimpleNamespace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gbuq_core.errors import GbuqError
from gbuq_core.experiments.novelty.edits import Edit
from gbuq_core.experiments.novelty.plan import why_not
from gbuq_core.experiments.novelty.words import explain_variances
from pages._ui.claims import draw_chips
from pages._ui.jobs_glue import Answer, ask, cost_line, show_progress
from pages._ui.live_sliders import take_dropped
from pages._ui.notices import show_notice
from pages._ui.novelty.change import changed_of, draw_change, say_verdict
from pages._ui.novelty.controls import EXPLORE, STATE, bar_knobs, settings_of
from pages._ui.novelty.edits import bind_edits, draw_tools, offer_to_forget
from pages._ui.novelty.export import explain_novelty, export_novelty
from pages._ui.novelty.look import draw_place
from pages._ui.novelty.picture import (
    BEFORE,
    CLAIMS,
    SLOT,
    ShownMaps,
    draw_picture,
    find,
    fit_requests,
    say_contradiction,
    say_own,
    send_scores,
)
from pages._ui.novelty.scorecard import claim_request, draw_scorecard
from pages._ui.url_state import draw_controls, link_to, open_page, read_again

LEDE = (
    "**Novelty** measures how far a place lies from the training rows in its leaves. **Knowledge "
    "uncertainty** (KU) measures how much the trees disagree. Do both find the places without "
    "rows? Click a place to see what makes it new. Or remove rows, after you have predicted what "
    "the maps will do."
)
WAIT_SECONDS = 1.0  # the default comes without a flash of progress
EMPTY = "The maps appear when the first fit is done."


@st.fragment(key=EXPLORE)
def explore(
    values: SimpleNamespace, edits: tuple[Edit, ...], now: Answer, before: Answer | None
) -> None:
    """The maps and what is looked at in them: a click or a lasso runs nothing else again."""
    take_dropped(STATE)
    values = read_again(STATE, values)
    found = find_or_say(values, edits, now)
    if found is None:
        return
    draw_tools(found.run.fit, edits)
    if not draw_picture(found, values):
        st.text("No map is chosen. Choose one in the sidebar.")
    say_own(found.run)
    say_contradiction(found.run)
    changed = changed_of(found, before)
    say_verdict(found, changed)
    st.caption(
        f"{cost_line(now)}. Maps, ranks, leaves and places update the picture without retraining. "
        + explain_variances(found.run.fit, found.run.maps)
    )
    draw_change(found, before, changed)
    draw_place(found)
    export_novelty(found, changed, link_to(STATE, values), bar_knobs(values))
    with st.expander("In words"):
        st.text(found.words)


def find_or_say(values: SimpleNamespace, edits: tuple[Edit, ...], now: Answer) -> ShownMaps | None:
    """What there is to show, or the reason why there is nothing."""
    if now.error or now.result is None:
        if now.error:
            show_notice(now.error, "novelty", tone="error")
        else:
            st.text(EMPTY)
        return None
    try:
        found = find(values, now, edits)
    except GbuqError as error:
        show_notice(str(error), "novelty", tone="error")
        return None
    if not now.fresh:
        st.caption("The picture still shows the previous settings.")
    notes = [*found.run.view.notes, *found.look.notes]
    if notes:
        show_notice(list(dict.fromkeys(notes)), "range")
    return found


def scores_or_say(
    values: SimpleNamespace, edits: tuple[Edit, ...], now: Answer, chips: DeltaGenerator
) -> None:
    """The scorecard; why there is none is said where the maps would be."""
    with suppress(GbuqError):
        found = find(values, now, edits)
        # The picture does not wait for what it is compared with.
        (claims,) = ask([claim_request(found)], others=(SLOT, BEFORE))
        with chips:
            draw_chips(claims.result if claims.fresh and claims.result else ())
        draw_scorecard(found, claims)
        if claims.state != "done":
            show_progress([claims], "-claims")
        send_scores(found)


st.title("What makes a place new to the model?")
with st.container(key="lede"):
    st.markdown(LEDE)
values = open_page(STATE, controls_later=True)
bind_edits()
settings = settings_of(values)
problem = why_not(settings)
if problem and settings.edits:
    bare = replace(settings, edits=())
    if not why_not(bare):
        settings = bare
        offer_to_forget(f"{problem} The maps leave these edits out.")
        problem = ""
if problem:
    show_notice(problem, "novelty", tone="error")
    draw_controls(STATE)
else:
    answers = ask(fit_requests(settings), WAIT_SECONDS, others=(CLAIMS,))
    now, before = answers[0], (answers[1] if len(answers) > 1 else None)
    with st.container():  # always there, so that the picture below stays in its place
        if any(answer.state != "done" for answer in answers):
            show_progress(answers)
    chips = st.container(key="chips")
    explore(values, settings.edits, now, before)
    draw_controls(STATE)
    if now.result is not None and not now.error:
        scores_or_say(values, settings.edits, now, chips)
explain_novelty()
