"""Three questions that lead to a method, with the lines of the board that say so."""

from __future__ import annotations

import streamlit as st

from gbuq_core.experiments.scoreboard.board import Board, BoardMethod
from gbuq_core.experiments.scoreboard.choosing import RULE, Choice, choose_method
from gbuq_core.experiments.scoreboard.commands import explain_method
from gbuq_core.experiments.scoreboard.numbers import few_names
from gbuq_core.experiments.scoreboard.plan import RANKS, BoardSettings
from gbuq_core.methods import METHODS
from gbuq_core.presentation import digits, markdown_table, seconds_text
from pages._ui.controls import draw_knob
from pages._ui.scoreboard.controls import QUESTIONS, SHOWN, label_of, page_state
from pages._ui.site_map import HOME, PAGES, TWO_CLOCKS, Entry
from pages._ui.url_state import change_next

_MOST_LINES = 5


def draw_chooser(board: Board, settings: BoardSettings) -> None:
    """Draw the questions, then the method with its reason and the best lines."""
    choice = choose_method(board, settings.task, settings.rows, settings.purpose)
    with st.container(horizontal=True, gap="medium", key="board-chooser"):
        with st.container(key="board-questions"):
            for knob in QUESTIONS:
                draw_knob(knob)
        with st.container(key="board-answer", gap="small"):
            _draw_answer(board, choice)


def _draw_answer(board: Board, choice: Choice) -> None:
    if choice.method is None:
        st.text(choice.why, width="stretch")
        return
    st.markdown(f"#### {choice.method.label}")
    st.text(choice.why, width="stretch")
    if choice.as_good:
        names = few_names([method.label for method in choice.as_good], _MOST_LINES)
        st.text(f"As good on all of them within two standard errors: {names}.", width="stretch")
    with st.container(key="table-board-lines"):
        st.markdown(markdown_table(choice_rows(choice)))
    if choice.cautions:
        st.caption(choice.cautions[0])
    with st.container(horizontal=True, vertical_alignment="center", key="board-lead"):
        st.button(
            "Show these numbers", key="_board_show", help=RULE, on_click=_show, args=(board, choice)
        )
        draw_page_link(choice.method, f"How it works: {page_of(choice.method).title}")


def choice_rows(choice: Choice) -> list[tuple[str, ...]]:
    """The best lines as a table: mean rank, the score on up to two sets, seconds of a split."""
    sets = choice.sets[:2]
    head = ("Method", "Mean rank", *(each.label for each in sets), "Seconds")
    lines = [
        (
            line.method.label,
            digits(line.mean_rank),
            *(digits(score.mean) for score in line.scores[: len(sets)]),
            seconds_text(line.seconds).removesuffix(" s"),
        )
        for line in choice.lines[:_MOST_LINES]
    ]
    return [head, *lines]


def _show(board: Board, choice: Choice) -> None:
    """Open the table and the metric that decided, with all ranks: a button's callback."""
    assert choice.score is not None
    st.session_state[SHOWN] = True
    paper = label_of(board, choice.table)
    page, opened = page_state(board, paper)
    metric = next(label for label, score in opened.scores.items() if score.key == choice.score.key)
    change_next(page, paper=paper, metric=metric, view=RANKS, methods=())


def page_of(method: BoardMethod) -> Entry:
    """The page that explains a method; Home, which lists all methods, where none does."""
    address = explain_method(method).page
    return next((entry for entry in PAGES if entry.url_path == address), HOME)


def draw_page_link(method: BoardMethod, label: str) -> None:
    """Lead to the page that explains a method. ``label`` is not a user's text."""
    entry = page_of(method)
    known = METHODS.get(method.record or "")
    query = {"model": known.label} if entry == TWO_CLOCKS and known is not None else {}
    st.page_link(
        entry.path, label=label, help=f"Explained on the page {entry.title}",
        query_params=query,
    )  # fmt: skip
