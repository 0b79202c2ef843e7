"""All lessons as cards, and the steps of one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from demos.lesson import Lesson
from pages._ui.cards import Card, draw_cards
from pages._ui.controls import draw_knob
from pages._ui.lessons.teacher import TEACHER
from pages._ui.site_map import LESSONS, YOUR_DATA


def draw_contents(
    lesson: Lesson,
    part: int,
    tokens: Sequence[str],
    leave: Callable[[], None],
    go: Callable[[int], None],
) -> None:
    """The way to other lessons, and the steps of this one: the present one, and the answered."""
    with st.container(horizontal=True, key="contents"):
        done = sum(bool(token) for token in tokens)
        with st.popover(f"Steps ({done} of {len(tokens)} answered)", type="tertiary"):
            for number, step in enumerate(lesson.steps, start=1):
                st.button(
                    f"{number}. {step.title}",
                    key=f"_part:{number}",
                    on_click=go,
                    args=(number,),
                    type="primary" if number == part else "tertiary",
                    icon=":material/check:" if tokens[number - 1] else None,
                )
            draw_knob(TEACHER)
            st.button("All lessons", icon=":material/arrow_back:", type="tertiary", on_click=leave)


def draw_lessons(lessons: Mapping[str, Lesson]) -> None:
    """Those of the experiments, and folded the one about tables."""
    cards = {
        name: Card(LESSONS.path, name, lesson.title, lesson.page, {"lesson": name})
        for name, lesson in lessons.items()
    }
    st.title("What do the pictures teach?")
    st.text("Each lesson asks you first, and answers with numbers that it computes for you.")
    of_tables = cards.pop(YOUR_DATA.title)
    draw_cards(cards.values(), "cards-lessons")
    with st.expander("A lesson about a table of your own"):
        draw_cards([of_tables], "cards-of-tables")
