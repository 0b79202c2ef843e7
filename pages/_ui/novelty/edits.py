"""Editing Novelty's training rows on its maps: a tool, a lasso, a prediction, and only then rows.

The edits themselves live in the address; a lasso that waits for its prediction, and what was
predicted, live in the session.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st

from gbuq_core.errors import GbuqError
from gbuq_core.experiments.novelty.compare import OPTIONS, questions_for
from gbuq_core.experiments.novelty.edits import (
    MOST_COPIES,
    MOST_EDITS,
    Edit,
    apply_edits,
    cells_around,
    cells_of,
    edit_of,
    encode_edits,
    mask_of,
)
from gbuq_core.experiments.novelty.fit import NoveltyFit, NoveltyRun
from gbuq_core.experiments.novelty.plan import NoveltySettings, why_not
from gbuq_core.knobs import find_knob
from pages._ui.canvas import CanvasEvent, keep_knobs
from pages._ui.controls import draw_knob
from pages._ui.notices import show_notice
from pages._ui.novelty.controls import STATE, choose_cell
from pages._ui.sections import Acts
from pages._ui.skeleton import Skeleton

# Session keys.
_TOOL, _LABEL, _VALUE, _COPIES = (
    "_novelty_tool", "_novelty_label", "_novelty_value", "_novelty_copies",
)  # fmt: skip
_WAITING, _REFUSED, _GUESSES = "_novelty_waiting", "_novelty_refused", "_novelty_guesses"
_TOLD = "_novelty_told"
_ANSWER = "_novelty_answer:"

LOOK = "look"
QUESTIONS_ASKED = 2  # of each edit: about novelty, and about knowledge uncertainty
TOOLS = {"erase": "remove", "add": "add", "duplicate": "duplicate", "flip": "flip"}
_VERBS = {
    "remove": "Erase rows in",
    "add": "Add rows to",
    "duplicate": "Duplicate rows in",
    "flip": "Flip rows in",
}


def admit(settings: NoveltySettings) -> NoveltySettings | None:
    """Today's settings, without edits that do not fit them; None if nothing can be shown."""
    with st.container(key="novelty-unseen"):  # a box that the style sheet hides from everybody
        draw_knob(find_knob(STATE.knobs, "edits"))  # binds the edits to the address
    problem = why_not(settings)
    if not problem:
        return settings
    alone = replace(settings, edits=())
    if settings.edits and not why_not(alone):
        show_notice(f"{problem} The maps leave these edits out.", "edits")
        st.button("Forget these edits", key="_novelty_forget", on_click=_keep, args=((),))
        return alone
    show_notice(problem, "novelty", tone="error")
    return None


def mark(run: NoveltyRun) -> NoveltyRun:
    """With the cells of an edit that waits and can be, and what was predicted of the last one."""
    edits, waiting = run.settings.edits, st.session_state.get(_WAITING)
    can_be = waiting is not None and not why_not_one_more(run.fit, edits, waiting)
    region = mask_of(waiting.runs) if can_be else None
    return run._replace(region=region, guesses=guesses_of(edits))


def act(run: NoveltyRun) -> Acts:
    """A click looks at a cell, or edits; so does a lasso."""
    pick = partial(on_maps, bool(run.fit.data.classes))
    return {"novelty-maps": {"select": "cells", "on_select": pick, "on_turn": keep_knobs}}


def draw_below(page: Skeleton, run: NoveltyRun) -> None:
    """What the last edit did, and the tools, or the prediction that an edit waits for."""
    edits = run.settings.edits
    if edits:
        lines = [run.fit.rows.outcomes[-1].text]
        if run.changed is not None:
            lines += [judgement.text for judgement in run.changed.judgements]
            if not run.changed.judgements:
                lines.append("This edit came with the link, so nobody predicted its effect.")
        show_notice(lines, "verdict")
    waiting: Edit | None = st.session_state.get(_WAITING)
    if waiting is not None and run.region is None:
        st.session_state[_REFUSED] = why_not_one_more(run.fit, edits, waiting)
        waiting = st.session_state[_WAITING] = None
    with st.container() if waiting is not None else page.control:
        if refused := st.session_state.pop(_REFUSED, ""):
            # The sentence is about a link's edits; the last one was not made here.
            reason = refused.replace(": undo the last one.", ".")
            show_notice(f"{reason} Nothing was changed.", "edit")
        if waiting is not None:
            _draw_prediction(edits, waiting)
        else:
            _draw_choice(run.fit, edits, run.settings.cell)


def _draw_choice(fit: NoveltyFit, edits: Sequence[Edit], cell: tuple[int, int]) -> None:
    with st.container(horizontal=True, key="novelty-tools"):
        st.button("Erase rows here", key="_novelty_here", type="primary", on_click=_wait_for,
                  args=(edit_of("remove", cells_around(cell)),))  # fmt: skip
        with st.popover("More tools"):
            _draw_other_tools(fit)
        if edits:
            n = len(edits)
            clear = f"Clear {n} edit{'s' * (n > 1)}"
            st.button("Undo", key="_novelty_undo", on_click=_keep, args=(tuple(edits[:-1]),))
            st.button(clear, key="_novelty_clear", on_click=_keep, args=((),))


def _draw_other_tools(fit: NoveltyFit) -> None:
    tool = st.segmented_control(
        "Click or drag on a map to", (LOOK, *TOOLS), default=LOOK, required=True, key=_TOOL,
        help="On a touch screen tap, or hold and then drag.",
    )  # fmt: skip
    data = fit.data
    if tool == "add" and data.classes:
        st.selectbox(
            "rows of class", range(len(data.classes)), key=_LABEL,
            format_func=lambda code: data.classes[code],
        )  # fmt: skip
    elif tool == "add":
        st.number_input(f"rows with {data.target_name}", value=float(np.median(data.y)),
                        key=_VALUE)  # fmt: skip
    if tool in ("add", "duplicate"):
        label = "rows per cell" if tool == "add" else "copies"
        st.number_input(label, 1, MOST_COPIES, key=_COPIES)


def _wait_for(edit: Edit) -> None:
    st.session_state[_WAITING] = edit


def _draw_prediction(edits: Sequence[Edit], waiting: Edit) -> None:
    """One radio a question; without an answer to each nothing is done."""
    if st.session_state.pop(_TOLD, None) is not None:  # a callback may not show anything itself
        st.toast("Predict what will happen first: the questions are below the maps.")
    n = len(cells_of(waiting.runs))
    cells = f"{n:,} cell{'s' * (n > 1)}"
    with st.container(
        horizontal=True, key="novelty-prediction", vertical_alignment="bottom", gap="medium"
    ):
        answers: dict[str, str | None] = {}
        for question in questions_for((*edits, waiting), QUESTIONS_ASKED):
            answers[question.key] = st.radio(
                question.text, OPTIONS, index=None, horizontal=True,
                key=_ANSWER + question.key,
            )  # fmt: skip
        done = all(answers.values())
        st.button(
            f"{_VERBS[waiting.kind]} {cells}",
            key="_novelty_apply",
            type="primary",
            disabled=not done,
            on_click=_apply,
            args=(tuple(edits), waiting),
            help=None if done else "First predict what will happen.",
        )
        st.button("Cancel", key="_novelty_cancel", on_click=_drop_waiting)


def why_not_one_more(fit: NoveltyFit, edits: Sequence[Edit], edit: Edit) -> str:
    """Why this edit cannot follow the others, in a sentence; nothing if it can."""
    every = (*edits, edit)
    if len(every) > MOST_EDITS:
        return f"There are already {MOST_EDITS} edits, the most possible. Undo some of them."
    try:
        encode_edits(every)
        last = apply_edits(fit.data, every, fit.plan.seed).outcomes[-1]
    except GbuqError as error:
        return str(error)
    return "" if last.n_rows else last.text.replace(", so nothing changed", "")


def on_maps(classes: bool, event: CanvasEvent) -> None:
    """A click or a lasso, before the page runs: look there, or ask for a prediction.

    ``classes`` says whether rows have classes, not numbers, as targets.
    """
    cells = [event.clicked[1:]] if event.clicked is not None else event.lassoed
    if not cells:
        return
    tool = st.session_state.get(_TOOL) or LOOK
    if tool == LOOK:
        row, column = (round(sum(at) / len(at)) for at in zip(*cells, strict=True))
        choose_cell(row, column)
        return
    _drop_waiting()
    try:
        edit = _edit_of(tool, classes, cells)
    except GbuqError as error:
        st.session_state[_REFUSED] = str(error)
        return
    st.session_state[_WAITING] = st.session_state[_TOLD] = edit


def guesses_of(edits: Sequence[Edit]) -> Mapping[str, str]:
    """What was predicted in this session of the last of these edits, by question."""
    guesses: dict[str, dict[str, str]] = st.session_state.get(_GUESSES, {})
    return guesses.get(encode_edits(edits), {})


def _edit_of(tool: str, classes: bool, cells: Sequence[tuple[int, int]]) -> Edit:
    """What the tool does to these cells, with what is set beside it."""
    state = st.session_state
    label, value = (int(state.get(_LABEL, 0)), None) if classes else (
        None, float(state.get(_VALUE, 0.0)))  # fmt: skip
    return edit_of(TOOLS[tool], cells, label, value, int(state.get(_COPIES, 1)))


def _apply(edits: tuple[Edit, ...], waiting: Edit) -> None:
    every = (*edits, waiting)
    answers = {
        question.key: st.session_state[_ANSWER + question.key]
        for question in questions_for(every, QUESTIONS_ASKED)
    }
    st.session_state.setdefault(_GUESSES, {})[encode_edits(every)] = answers
    _keep(every)


def _keep(edits: tuple[Edit, ...]) -> None:
    """Make these the edits of the address."""
    _drop_waiting()
    st.session_state["edits"] = encode_edits(edits)


def _drop_waiting() -> None:
    st.session_state.pop(_WAITING, None)
    for key in [key for key in st.session_state if str(key).startswith(_ANSWER)]:
        del st.session_state[key]
