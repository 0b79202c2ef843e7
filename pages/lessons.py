"""Lessons: experiments step by step, each a question to a picture that is computed live."""

from dataclasses import replace
from functools import partial
from urllib.parse import parse_qs

import streamlit as st
from streamlit.errors import StreamlitAPIException

from demos import load_lessons
from demos.lesson import Lesson, Shown, Step, lesson_html
from gbuq_core.knobs import Knob
from pages._ui.address import put_together
from pages._ui.canvas import canvas
from pages._ui.controls import draw_knob
from pages._ui.export import Download, show_exports
from pages._ui.jobs_glue import Request, ask, show_progress
from pages._ui.lessons.links import OPENERS, lessons_by_name
from pages._ui.notices import show_notice
from pages._ui.url_state import PageState, link_to, open_page

LESSONS = lessons_by_name(load_lessons())
MODULES = {lesson.name: name for name, lesson in LESSONS.items()}
MOST_STEPS = max(len(lesson.steps) for lesson in LESSONS.values())
LESSON = Knob(
    "lesson", "Lesson", "choice", next(iter(LESSONS)), choices=tuple(LESSONS), group="page"
)
PART = Knob("part", "Step", "integer", 1, 1, MOST_STEPS, step=1, group="page")
STATE = PageState(key="lessons", knobs=(LESSON, PART))
# Session keys: the lesson of the last run, and what was said of a link's step.
_SHOWN, _TOLD = "_lesson_shown", "_lesson_told"


def accept_module_names() -> None:
    """Let older links open what they meant: they say ``lesson=gaussians`` for 25 Gaussians."""
    said = st.query_params.get_all(LESSON.key)
    if len(said) == 1 and said[0] in MODULES:
        try:
            st.query_params[LESSON.key] = MODULES[said[0]]
        except StreamlitAPIException:
            return  # the chooser holds it already (Back to such a link); open_page says so
        st.rerun()  # widgets must never see the old name


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
    """Turn to another step; called before the page runs."""
    st.session_state[PART.key] = part


def compute(step: Step, job: object) -> Shown:
    """Run a step's experiment; the runner calls this in another thread."""
    return step.compute()


def draw_contents(lesson: Lesson, part: int) -> None:
    """The lesson's steps in the sidebar, the present one marked."""
    with st.sidebar:
        if len(LESSONS) > 1:
            draw_knob(LESSON)
        st.markdown("**Steps**")
        for number, step in enumerate(lesson.steps, start=1):
            st.button(
                f"{number}. {step.title}",
                key=f"_part:{number}",
                type="primary" if number == part else "tertiary",
                on_click=go,
                args=(number,),
            )


def draw_turning(part: int, n_parts: int) -> None:
    """Back, where we are, next."""
    with st.container(horizontal=True, vertical_alignment="center", key="turning"):
        st.button("Back", key="_back", disabled=part == 1, on_click=go, args=(part - 1,))
        draw_knob(replace(PART, high=n_parts))
        st.button(
            "Next",
            key="_next",
            type="primary",
            disabled=part == n_parts,
            on_click=go,
            args=(part + 1,),
        )


accept_module_names()
values = open_page(STATE, in_sidebar=False)
lesson = LESSONS[values.lesson]
part = values.part = step_of(values.lesson, values.part)
step, opener = lesson.steps[part - 1], OPENERS[lesson.page]

st.title(lesson.title)
st.caption(f"{lesson.lead} {lesson.source}")
draw_contents(lesson, part)
(answer,) = ask(
    [Request("lesson", ("lesson", lesson.name, part), partial(compute, step), step.title)],
    wait=0.5,
)
st.header(f"{part}. {step.title}")
show_progress([answer])
if answer.error:
    show_notice(answer.error, "lesson", tone="error")
elif answer.result is not None and answer.fresh:
    with st.container(key="lede"):
        for paragraph in answer.result.text:
            st.markdown(paragraph)
    canvas(answer.result.sheet, key="lesson-figure")
    with st.expander(f"**{step.question}**", key=f"answer-{part}"):
        st.markdown(answer.result.answer)
st.page_link(
    opener.entry.path,
    label=f"Open this in {opener.entry.title}",
    icon=":material/arrow_forward:",
    icon_position="right",
    query_params=parse_qs(opener.query(step.preset)),
)
draw_turning(part, len(lesson.steps))
show_exports(
    "lesson",
    opener.code(step.preset),
    link_to(STATE, values),
    [
        Download(
            "Lesson (HTML)",
            f"lesson-{lesson.name}.html",
            "text/html",
            lambda: lesson_html(lesson).encode(),
        )
    ],
)
