"""The teacher's page of a lesson."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from demos.lesson import Lesson
from demos.teaching import TEACHING
from gbuq_core.knobs import Knob

TEACHER = Knob("teacher", "Teacher's page", "switch", False, group="page")


def draw_teachers_page(lesson: Lesson, go: Callable[[int], None]) -> None:
    """What to ask in each step, what students get wrong, timing and materials.

    ``go`` opens a step; called before the page runs.
    """
    record = TEACHING[lesson.name]
    st.header("Teacher's page", anchor=False)
    with st.container(key="reading"):
        st.markdown(
            f"About {record.minutes} minutes for {len(lesson.steps)} steps, and 30 for the "
            f"exercise notebook. Students should know: {_start_small(record.before)}"
        )
        st.markdown("**Bring**\n" + _listed(record.materials))
        st.markdown(
            "**Each step**: read the text aloud, let everybody answer, then ask for reasons before "
            "you show the answer."
        )
    for number, (step, notes) in enumerate(zip(lesson.steps, record.steps, strict=True), start=1):
        with st.container(key=f"teach-{number}"):
            st.subheader(f"{number}. {step.title} ({notes.minutes} min)", anchor=False)
            options = " / ".join(step.ask) if isinstance(step.ask, tuple) else "on a chart"
            st.markdown(
                f"The step asks: {step.question} ({options})\n\n"
                f"**Ask then:** {notes.ask}\n\n**Students get wrong:** {notes.wrong}"
            )
            st.button(f"Open step {number}", key=f"_open:{number}", on_click=go, args=(number,))


def _listed(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}." for line in lines)


def _start_small(text: str) -> str:
    """A sentence after a colon; names and abbreviations keep their capitals.

    >>> _start_small("Mean and variance."), _start_small("RMSE and NLL.")
    ('mean and variance.', 'RMSE and NLL.')
    """
    return text if text[1].isupper() else text[0].lower() + text[1:]
