"""Novelty maps: what makes a place new to the model? (MACAU, 2023, section 3.2)."""

from functools import partial

import streamlit as st

from gbuq_core.experiments.novelty.experiment import NOVELTY
from pages._ui.experiment import WHY, open_account
from pages._ui.live import send_tables
from pages._ui.novelty import change, controls, edits, export, look, picture, scorecard
from pages._ui.surface import OPEN

page, values, _ = open_account(NOVELTY, controls.STATE, (), {WHY: [OPEN]})
edits.bind_edits()
with page.notices:
    now, before, found = picture.look_at(values, edits.possible_settings(values))
if found is None:
    page.explain(NOVELTY)
else:
    changed = change.changed_of(found, before)
    with page.picture:
        maps = st.container()
    with page.control if edits.waiting_mask() is None else page.picture:
        edits.draw_tools(found.run.fit, found.run.settings.edits, found.run.settings.cell)
    sheet = picture.shown_sheet(found, values)
    with maps:
        picture.draw_picture(found, sheet, values)
        change.say_change(found, changed)
    found, (answer, claims) = scorecard.scored(found), scorecard.ask_for_claims(found)
    with page.fold(WHY):
        picture.draw_surface(sheet)
        look.draw_place(found)
    page.tell(
        NOVELTY, found.run, claims,
        partial(export.novelty_sections, found, changed, claims, controls.bar_knobs(values)),
        found.words, costs=picture.describe_maps(found, now),
        paper=partial(scorecard.check_paper, found, answer),
    )  # fmt: skip
    change.draw_change(found, before, changed)
    send_tables("novelty", {"scores": picture.scores_of_maps(found)})
