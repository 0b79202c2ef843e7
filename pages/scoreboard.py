"""Scoreboard: which method should you use? Error against seconds on tables like yours."""

import math
from functools import partial
from statistics import median

import pandas as pd
import streamlit as st

from gbuq_core.presentation import counted, csv_text, seconds_text, short
from gbuq_core.scoreboard.board import (
    MEASURES,
    NEAR,
    BoardNumber,
    Ranking,
    method_label,
    numbers_for,
    rank_methods,
)
from pages._ui.controls import draw_knob
from pages._ui.export import Download, show_exports
from pages._ui.notices import show_notice
from pages._ui.own_scores import own_tables
from pages._ui.scoreboard.controls import NEAREST, OWN, PICTURE, Question, page_state, question_of
from pages._ui.scoreboard.own import own_numbers
from pages._ui.scoreboard.plot import draw_plot, plot_words
from pages._ui.site_map import YOUR_DATA
from pages._ui.skeleton import EXPORT
from pages._ui.url_state import open_page

_HEIGHT, _LINE = 225, 35  # pixels of the table at most, and of a line
MADE = (
    "Every method has its default settings. It learns from at most 2,000 rows of a public table "
    "and is measured on rows that it has not seen, on three random splits. Standard errors are "
    "over splits. Seconds are those of one processor core for training and predicting on one "
    "split, and depend on the machine. Rows of another kind are rows of another table."
)


def draw_answer(question: Question, ranking: Ranking) -> None:
    """The best method, the next one, and how like the reader's table the test tables are."""
    first, second = ranking.methods[:2]
    sizes = [each.rows for each in numbers_for(*question[:2]) if each.set in ranking.sets]
    st.markdown(f"#### {method_label(first.method)}")
    words = (
        f"It ranks first on {counted(len(ranking.sets), 'test table')} like yours: a mean rank of "
        f"{short(first.mean_rank)} among {len(ranking.methods)} methods, in "
        f"{seconds_text(first.seconds)}. Next is {method_label(second.method)}: "
        f"{short(second.mean_rank)}, in {seconds_text(second.seconds)}."
    )
    if question.rows > NEAR * max(sizes):
        words += f" The largest test tables have {max(sizes):,} rows: try both on your own."
    st.text(words, width="stretch")


def draw_numbers(shown: list[BoardNumber], ranking: Ranking) -> None:
    """The plot's numbers as a table, the best first."""
    measure = MEASURES[shown[0].measure]
    typical = median(abs(each.mean) for each in shown)
    decimals = min(3, max(0, 2 - math.floor(math.log10(typical)))) if typical else 3
    shown = sorted(shown, key=lambda each: each.mean, reverse=measure.higher)
    ranks = {each.method: each.mean_rank for each in ranking.methods}
    columns = {
        "c0": [method_label(each.method) for each in shown],
        "c1": [each.mean for each in shown],
        "c2": [each.standard_error for each in shown],
        "c3": [each.seconds for each in shown],
        "c4": [ranks.get(each.method) for each in shown],
        "c5": [each.splits for each in shown],
    }
    number = st.column_config.NumberColumn
    unit = f" ({measure.unit})" if measure.unit else ""
    config = {
        "c0": st.column_config.TextColumn("Method"),
        "c1": number(f"{measure.term}{unit}", format=f"%.{decimals}f", help=measure.meaning),
        "c2": number("Standard error", format=f"%.{decimals}f"),
        "c3": number("Seconds", format="%.1f"),
        "c4": number(f"Mean rank on {counted(len(ranking.sets), 'table')}", format="%.1f"),
        "c5": number("Splits"),
    }
    words = f"{counted(len(shown), 'method')}, the best {measure.term} first."
    frame = pd.DataFrame(columns)
    if shown[0].set == OWN:  # which is cut into folds
        frame = frame.drop(columns="c5")
    height = min(_HEIGHT, _LINE * (len(shown) + 1) + 3)
    st.dataframe(frame, hide_index=True, height=height, column_config=config, alt=words)


def export_board(question: Question, numbers: tuple[BoardNumber, ...]) -> None:
    """Code and file of the question's numbers on all tables."""
    task, purpose, rows = question
    code = (
        "from gbuq_core.scoreboard.board import numbers_for, rank_methods\n\n"
        f'for number in numbers_for("{task}", "{purpose}"):\n'
        "    print(number.set, number.method, number.mean, number.standard_error, number.seconds)\n"
        f'print(rank_methods("{task}", "{purpose}", rows={rows}))\n'
    )
    csv = partial(csv_text, BoardNumber._fields, numbers)
    show_exports("scoreboard", code, [Download("Numbers (CSV)", "scoreboard.csv", "text/csv", csv)])


st.title("Which method should you use?")
with st.container(key="lede"):
    st.text("Answer three questions. How do methods compare on test tables like yours?")
own = next(iter(own_tables()), None)
page = page_state(() if own is None else (own.task,))
values = open_page(page)
question = question_of(values)
numbers, ranking = numbers_for(*question[:2]), rank_methods(*question)
mine = [] if own is None or own.task != question.task else own_numbers(own, question)
chosen = ranking.sets[0] if values.set in (NEAREST, OWN) else values.set.replace(" ", "_")
shown = [each for each in numbers if each.set == chosen]

asked, answered = st.columns([0.26, 0.74], gap="large")
with asked:
    for knob in page.knobs:
        draw_knob(knob)
with answered, st.container(key=PICTURE):
    draw_answer(question, ranking)
    if values.set == OWN and mine:
        shown = mine
        name = f"your table, {own.rows:,} rows; standard errors over rows, seconds over all folds"
    else:
        name = f"{chosen.replace('_', ' ')}, {shown[0].rows:,} rows"
    if values.set == OWN and not mine:
        show_notice("Rows of another kind are not measured on your table.", "own")
    st.caption(f"{MEASURES[shown[0].measure].label}: {name}")
    marked = {each.method for each in mine} if shown is not mine else set()
    draw_plot(shown, marked)
    st.caption(
        "No method is quicker and better than one that is named. Point at a dot to read it."
        + (" Ringed methods are those that you compared on your table." if marked else ""),
        help=MADE,
    )
    draw_numbers(shown, ranking)
st.page_link(YOUR_DATA.path, label="Compare methods on your own table")
with st.expander(EXPORT):
    export_board(question, numbers)
    st.caption("In words")
    st.text(plot_words(shown), width="stretch")
