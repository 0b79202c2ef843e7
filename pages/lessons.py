"""Learn: experiments step by step, each a question to a picture that is computed live."""

from dataclasses import replace
from functools import partial

import streamlit as st

from demos import load_lessons
from demos.lesson import lesson_html
from demos.notebooks import notebook_of
from gbuq_core.knobs import Knob
from pages._ui.address import put, put_together
from pages._ui.export import Download, show_exports
from pages._ui.lessons.contents import draw_contents, draw_lessons
from pages._ui.lessons.links import OPENERS, lessons_by_name
from pages._ui.lessons.progress import ANSWERS, answer_step, answers_of
from pages._ui.lessons.step import draw_step, draw_turning
from pages._ui.lessons.teacher import TEACHER, draw_teachers_page
from pages._ui.lessons.turning import scroll_to_top
from pages._ui.notices import show_notice
from pages._ui.url_state import PageState, change_next, open_page

LESSONS = lessons_by_name(load_lessons())
MODULES = {lesson.name: name for name, lesson in LESSONS.items()}
MOST_STEPS = max(len(lesson.steps) for lesson in LESSONS.values())
EVERY = "all"  # their cards
LESSON = Knob("lesson", "Lesson", "choice", EVERY, choices=(EVERY, *LESSONS), group="picture")
PART = Knob("part", "Step", "integer", 1, 1, MOST_STEPS, step=1, group="page")
STATE = PageState(key="lessons", knobs=(LESSON, PART, TEACHER, ANSWERS))
# Session keys: the lesson of the last run, and what was said of a link's step.
_SHOWN, _TOLD = "_lesson_shown", "_lesson_told"


def accept_earlier_links() -> None:
    """Let older links open what they meant: ``lesson=gaussians``, or Heart without its name."""
    names = st.query_params.get_all(LESSON.key)
    if len(names) == 1 and names[0] in MODULES:
        st.query_params[LESSON.key] = MODULES[names[0]]
        st.rerun()  # before open_page sees the old name
    parts = (PART.key, TEACHER.key, ANSWERS.key)
    if not names and any(key in st.query_params for key in parts):
        st.query_params[LESSON.key] = next(iter(LESSONS))
        st.rerun()
    # A card leads from this page to itself.
    if names and names[0] in LESSONS and st.session_state.get(LESSON.key, EVERY) == EVERY:
        st.session_state[LESSON.key] = names[0]
        st.query_params[LESSON.key] = names[0]  # which tells the browser, too


def step_of(name: str, asked: int) -> int:
    """The step that is shown: the last one if the lesson has fewer, which is said of a link."""
    last = len(LESSONS[name].steps)
    part = min(asked, last)
    if part < asked:
        put_together([(PART, part)])
        if st.session_state.get(_SHOWN, name) == name:  # not when another lesson was chosen
            st.session_state[_TOLD] = (
                name,
                part,
                f"part must be a whole number from 1 to {last} in this lesson, but the link says "
                f'"{asked}"; {part} is used for "{PART.label}".',
            )
    st.session_state[_SHOWN] = name
    *told_of, sentence = st.session_state.get(_TOLD, ("", 0, ""))
    if told_of == [name, part]:
        show_notice(sentence, "part")
    return part


def go(part: int) -> None:
    """Turn to another step, away from the teacher's page; called before the page runs."""
    st.session_state[PART.key] = part
    st.session_state[TEACHER.key] = False


def turn(by: int) -> None:
    """Turn some steps on from the one that the session has; called before the page runs."""
    name = st.session_state.get(LESSON.key, LESSON.default)
    here = min(st.session_state.get(PART.key, PART.default), len(LESSONS[name].steps))
    go(min(max(here + by, 1), len(LESSONS[name].steps)))


def leave() -> None:
    """Show all lessons: a button's callback."""
    change_next(STATE, lesson=EVERY, part=1, teacher=False, answers="")


accept_earlier_links()
values = open_page(STATE)
if values.lesson == EVERY:
    draw_lessons(LESSONS)
    st.stop()
lesson = LESSONS[values.lesson]
part = values.part = step_of(values.lesson, values.part)
tokens = answers_of(values.lesson, lesson, values.answers)

draw_contents(lesson, part, tokens, leave, go)
st.title(lesson.title)
if values.teacher:
    put(PART, part)  # its control is not drawn here
    draw_teachers_page(lesson, go)
else:
    keep = partial(answer_step, values.lesson, lesson, part)
    draw_step(lesson, part, tokens[part - 1], keep)
    draw_turning(replace(PART, high=len(lesson.steps)), part, turn)
st.caption(lesson.source)
scroll_to_top(f"{lesson.name} {part} {values.teacher}")
with st.expander("Export"):
    show_exports(
        "lesson",
        OPENERS[lesson.page].code(lesson.steps[part - 1].preset),
        [
            Download(
                "Lesson (HTML)",
                f"lesson-{lesson.name}.html",
                "text/html",
                lambda: lesson_html(lesson).encode(),
            ),
            Download(
                "Exercise notebook",
                f"exercises-{lesson.name}.ipynb",
                "application/x-ipynb+json",
                lambda: notebook_of(lesson.name),
            ),
        ],
    )
