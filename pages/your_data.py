"""Your data: total, data and knowledge uncertainty of every row of a table of one's own."""

import streamlit as st

from gbuq_core.tables.words import explain_choices
from pages._ui.jobs_glue import ask, show_progress
from pages._ui.notices import show_notice
from pages._ui.skeleton import SETTINGS
from pages._ui.url_state import ControlPlaces, open_page, preview
from pages._ui.your_data.beside import with_questions, with_unfamiliarity
from pages._ui.your_data.columns import apply_edits, current_edits, show_columns
from pages._ui.your_data.drift import warn_of_second
from pages._ui.your_data.explore import explore
from pages._ui.your_data.fitted import Fitted, draw_fitted, fitted_now, open_dropped, show_refused
from pages._ui.your_data.given import draw_given
from pages._ui.your_data.head import HEAD, draw_advice, draw_chip, draw_start
from pages._ui.your_data.lens import show_answer_or_progress
from pages._ui.your_data.methods import keep_scores
from pages._ui.your_data.results import show_words
from pages._ui.your_data.running import show_run, wait_for_run
from pages._ui.your_data.source import Opened, keep_uploads, open_model, open_second, open_table
from pages._ui.your_data.splitting import advise, needed_columns, possible_splits
from pages._ui.your_data.state import ANY_ROW, NOTHING, PAGE, TABLE, UPLOADED, page_state
from pages._ui.your_data.training import (
    called_as_now,
    request_of,
    show_if_stale,
    size_of,
    view_of,
    wanted_of,
)


def show_table(choice: str, opened: Opened) -> None:
    """The open table: what is predicted, what is advised, and all that its rows tell."""
    head = st.container(horizontal=True, vertical_alignment="bottom", key="head")
    chip = head.container(width="content")
    notices, advised, body, reading = (st.container() for _ in range(4))
    settings = st.expander(SETTINGS, key="fold-all-settings")
    edits = current_edits(opened)
    schema = apply_edits(opened, edits)
    targets = [column.name for column in schema.columns if column.kind != "empty"]
    splits, scale = possible_splits(opened, schema, targets), advise(opened, schema, edits, targets)
    needed = needed_columns(opened, schema, targets, splits)
    second = open_second(opened, schema, edits, needed)
    last_row = int((second[1] or opened.table).row_numbers[-1])
    page = page_state(targets, opened.suggested, last_row, splits, scale.refusal, needed)
    with notices:
        values = open_page(page, places=ControlPlaces(head, HEAD, settings))
    if values.table != choice:  # a control was put back to its default
        st.rerun()
    draw_chip(opened.table.source.name, opened, chip)

    wanted = wanted_of(opened, edits, values, second)
    size = size_of(wanted, opened, schema, second[1])
    request = request_of(wanted, opened, schema, second[1])
    (answer,) = ask([wait_for_run(request, wanted, size)])
    answer, question = with_questions(called_as_now(answer, opened, second))
    with advised:
        doubts = (answer.result.scored.questions, answer.result.warned) if answer.fresh else ()
        draw_advice(page, values, schema, scale, *doubts)
    view = None
    with body:
        show_progress([answer])
        show_run(page, values, answer, opened, schema, second[1], size)
        if answer.error:
            before = ["You still see the previous result."] if answer.result is not None else []
            show_notice([answer.error, *before], "score", tone="error")
        given = open_model()
        if given is not None:
            draw_given(given, wanted, opened, schema, second[1], values.unit)
        if answer.result is not None:
            view = view_of(answer, values)
    with settings:
        for sentence in explain_choices(view.scored) if view is not None else ():
            st.text(sentence, width="stretch")
    if view is not None:
        view, measured = with_unfamiliarity(view, answer.result, values)
        with advised:
            warn_of_second(view, answer.result, values)
            for beside in filter(None, (question, measured)):
                show_answer_or_progress(beside)
        with body:
            show_if_stale(answer)
            with st.container(key="results"):
                explore(page, values, answer, view)
        if answer.fresh:
            keep_scores(answer.result, view)
    sentences = (*opened.table.notices, *schema.notices)
    with reading:
        show_columns(opened, schema, view.scored.notices if view and answer.fresh else sentences)
    show_words()


def show_model(choice: str, fitted: Fitted) -> None:
    """The open model of `gbuq fit`, and the rows that it scores."""
    head = st.container()
    page = page_state((), "", ANY_ROW)
    values = open_page(page, places=ControlPlaces(st.container(), (), None))
    if values.table != choice:
        st.rerun()
    draw_chip(fitted.name, None, head)
    draw_fitted(fitted)


st.title("Which predictions should you not trust?")
keep_uploads(open_dropped)
show_refused()
open_now = preview(TABLE, PAGE, NOTHING)
model = fitted_now() if open_now == UPLOADED else None
table = open_table(open_now) if model is None else None
if model is not None:
    show_model(open_now, model)
elif table is None:
    draw_start(open_now)
else:
    show_table(open_now, table)
