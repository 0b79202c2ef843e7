"""What a reader answered in each lesson: a short code in the address, and in the session."""

from __future__ import annotations

import streamlit as st

from demos.asking import join_tokens, split_code
from demos.lesson import Lesson
from gbuq_core.knobs import Knob
from pages._ui.address import went_back, write_picture_knobs
from pages._ui.notices import show_notice

ANSWERS = Knob(
    "answers", "Answers", "text", "", most=300, pattern="[A-Za-z0-9_.-]{0,300}", group="picture"
)
# Session keys: codes by lesson, and the lesson that the address's code belongs to.
_KEPT, _SHOWN = "_lesson_answers", "_lesson_answered"


def answers_of(name: str, lesson: Lesson, code: str) -> list[str]:
    """The code of each step's answer, empty where there is none; a bad one is said.

    A lesson that is opened without a code goes on where this reader left it.
    """
    kept = st.session_state.setdefault(_KEPT, {})
    before = st.session_state.get(_SHOWN)
    if not went_back():  # then the address is right
        if before not in (None, name) and code == kept.get(before, ""):
            code = ""  # of the lesson before
        code = code or kept.get(name, "")
        st.session_state[ANSWERS.key] = code
        write_picture_knobs([ANSWERS])
    kept[name] = code
    st.session_state[_SHOWN] = name
    tokens, problem = split_code([step.ask for step in lesson.steps], code)
    if problem:
        show_notice(problem, "answers")
    return tokens


def answer_step(name: str, lesson: Lesson, part: int, token: str) -> None:
    """Keep the answer to a step, or none; called before the page runs."""
    tokens, _ = split_code(
        [step.ask for step in lesson.steps], st.session_state.get(ANSWERS.key, "")
    )
    tokens[part - 1] = token
    code = join_tokens(tokens)
    st.session_state[ANSWERS.key] = code
    st.session_state.setdefault(_KEPT, {})[name] = code
