"""Novelty maps: what makes a place new to the model? (MACAU, 2023, section 3.2)."""

from dataclasses import replace

import streamlit as st

from gbuq_core.experiments.novelty.plan import why_not
from gbuq_core.experiments.novelty.words import answer_novelty
from pages._ui.experiment import COMPARE, EXPORT, PAPER, WHY, Skeleton
from pages._ui.jobs_glue import ask, show_progress
from pages._ui.notices import show_notice
from pages._ui.novelty.change import changed_of, draw_change, say_change
from pages._ui.novelty.controls import STATE, bar_knobs, settings_of
from pages._ui.novelty.edits import bind_edits, draw_tools, offer_to_forget, waiting_mask
from pages._ui.novelty.export import explain_novelty, export_novelty
from pages._ui.novelty.look import draw_place
from pages._ui.novelty.picture import (
    BEFORE,
    CLAIMS,
    SLOT,
    describe_maps,
    draw_picture,
    draw_surface,
    find_or_say,
    fit_requests,
    send_scores,
    sheet_of,
)
from pages._ui.novelty.scorecard import check_paper, claim_request, draw_scores

LEDE = (
    "Does the model's **novelty** rise where it has seen no rows? Click a place, guess what the "
    "map will do, and erase the rows there."
)
WAIT_SECONDS = 1.0  # the default comes without a flash of progress


page = Skeleton("What makes a place new to the model?", LEDE)
values = page.open(STATE, ())
bind_edits()
settings = settings_of(values)
problem = why_not(settings)
with page.notices:
    if problem and settings.edits and not why_not(replace(settings, edits=())):
        settings = replace(settings, edits=())
        offer_to_forget(f"{problem} The maps leave these edits out.")
        problem = ""
    if problem:
        show_notice(problem, "novelty", tone="error")
if not problem:
    now, *behind = ask(fit_requests(settings), WAIT_SECONDS, others=(CLAIMS,))
    with page.notices:
        show_progress([now, *behind])
    before = behind[0] if behind else None
    with page.notices:
        found = find_or_say(values, settings.edits, now)
    if found is not None:
        changed = changed_of(found, before)
        with page.picture:
            maps = st.container()
        with page.control if waiting_mask() is None else page.picture:
            draw_tools(found.run.fit, settings.edits, found.run.settings.cell)
        sheet = sheet_of(found, values)
        with maps:
            draw_picture(found, sheet, values)
            say_change(found, changed)
        # The picture does not wait for what it is compared with.
        (claims,) = ask([claim_request(found)], others=(SLOT, BEFORE))
        checked = claims.result if claims.fresh and claims.result else ()
        page.say_verdict(answer_novelty(found.run), checked)
        with page.fold(COMPARE):
            draw_scores(found)
            describe_maps(found, now)
        with page.fold(WHY):
            draw_place(found)
        with page.fold(PAPER):
            check_paper(found, claims)
            if claims.state != "done":
                show_progress([claims], "-claims")
        with page.fold(EXPORT):
            export_novelty(found, changed, bar_knobs(values))
        draw_change(found, before, changed)
        draw_surface(sheet)
        send_scores(found)
with page.fold(WHY):
    explain_novelty()
