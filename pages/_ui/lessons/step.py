"""One step of a lesson: its text, its question, the picture and the answer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from urllib.parse import parse_qs

import streamlit as st

from demos.first_steps import find_step
from demos.lesson import Lesson, before_answer
from gbuq_core.knobs import Knob
from pages._ui.canvas import canvas
from pages._ui.controls import draw_knob
from pages._ui.jobs_glue import Request, ask, in_thread, show_progress
from pages._ui.kept import keep_only
from pages._ui.lessons.links import OPENERS
from pages._ui.lessons.question import Keep, draw_more, draw_question
from pages._ui.live import send_members, send_tables
from pages._ui.notices import show_notice

# A projector: the first map of an answered step shows below its head. In present mode on a large
# screen the maps fill what the question leaves of the window.
_COMPACT = """
<style>
@media (max-height: 700px) {
  [data-testid="stMainBlockContainer"]:has(.st-key-turning) {
    padding-top: 3.6rem;
    & > [data-testid="stVerticalBlock"] { gap: 0.25rem; }
    h1 { font-size: 1.1rem; padding: 0 0 0.9rem; }
    h2 { font-size: 1rem; padding: 0 0 0.9rem; }
    .st-key-lede, .st-key-answer { gap: 0.2rem; }
    .st-key-lede p { font-size: 0.84rem; line-height: 1.3; }
    .st-key-options button { min-height: 2rem; padding: 0.1rem 0.6rem; }
  }
}
@media (min-width: 1000px) and (min-height: 800px) {
  [data-testid="stMainBlockContainer"]:has(.st-key-present-bar):has(.st-key-turning) {
    --gbuq-above: 360;
    h1 { display: none; }
  }
}
</style>
"""


def draw_step(lesson: Lesson, part: int, token: str, keep: Keep) -> None:
    """Text and question, the picture, and after the answer what is folded."""
    step, opener = lesson.steps[part - 1], OPENERS[lesson.page]
    st.html(_COMPACT)
    if part == 1:
        st.caption(lesson.lead)
    key, stored = ("lesson", lesson.name, part), partial(find_step, lesson.name, part)
    request = Request("lesson", key, in_thread(step.compute), step.title, stored=stored)
    (answer,) = ask([request], wait=0.5)
    st.header(f"{part}. {step.title}", anchor=False)
    show_progress([answer])
    if answer.error:
        show_notice(answer.error, "lesson", tone="error")
    elif answer.result is not None and answer.fresh:
        shown = answer.result
        with st.container(key="lede"):
            st.markdown(shown.text)
            draw_question(step, shown, token, part, keep)
        # A key of its own: a knob that was moved does not stay so in the next step.
        name = f"lesson-{lesson.name}-{part}"
        if token:
            canvas(shown.sheet, key=name)
            keep_only("lesson-", {f"{name}-members"})
            send_members(shown.sheet.live, name)
            send_tables(name, {f"table-{i}": table for i, table in enumerate(shown.tables)})
        elif isinstance(step.ask, tuple) and (truth := before_answer(shown.sheet)):
            canvas(truth, key=f"{name}-before")
            st.caption("The rest of the picture comes with your guess.")
        if token:
            draw_more(shown, part, keep)
    st.page_link(
        opener.entry.path,
        label=f"Open this in {opener.entry.title}",
        icon=":material/arrow_forward:",
        icon_position="right",
        query_params=parse_qs(opener.query(step.preset)),
    )


def draw_turning(chooser: Knob, part: int, turn: Callable[[int], None]) -> None:
    """Back, where we are, next; ``turn`` takes the steps to go, as a button may be an older one."""
    with st.container(horizontal=True, vertical_alignment="center", key="turning"):
        st.button("Back", key="_back", disabled=part == 1, on_click=turn, args=(-1,))
        draw_knob(chooser)
        last = part == chooser.high
        st.button("Next", key="_next", type="primary", disabled=last, on_click=turn, args=(1,))
