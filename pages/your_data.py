"""Your data: total, data and knowledge uncertainty of every row of a table of one's own."""

import streamlit as st

from pages._ui.jobs_glue import ask, show_progress
from pages._ui.notices import show_notice
from pages._ui.url_state import open_page, preview
from pages._ui.your_data.choices import draw_choices
from pages._ui.your_data.columns import apply_edits, current_edits, show_columns
from pages._ui.your_data.explore import explore
from pages._ui.your_data.given import draw_given
from pages._ui.your_data.lens import show_answer_or_progress
from pages._ui.your_data.methods import keep_scores
from pages._ui.your_data.projects import (
    drop_project,
    follow_project,
    meet_project,
    show_project,
    with_models,
)
from pages._ui.your_data.results import show_words
from pages._ui.your_data.running import show_run, wait_for_run
from pages._ui.your_data.sections import follow_earlier_link
from pages._ui.your_data.source import (
    drop_model,
    drop_query,
    drop_second,
    drop_zone,
    open_model,
    open_second,
    open_table,
)
from pages._ui.your_data.splitting import advise, needed_columns, possible_splits
from pages._ui.your_data.state import TABLE, awaits_file, page_state
from pages._ui.your_data.told import warn_of_second
from pages._ui.your_data.training import (
    called_as_now,
    estimate_line,
    estimate_of,
    request_of,
    show_if_stale,
    view_of,
    wanted_of,
)
from pages._ui.your_data.unfamiliar import with_unfamiliarity

LEDE = (
    "Drop a table and choose the column to predict. For each row you see how much of its "
    "uncertainty is **noise**, which more data will not remove, how much the members of the "
    "ensemble disagree, and how **unfamiliar** the row is."
)

st.title("Which rows of a table should you not trust?")
words, drop = st.columns([0.62, 0.38], gap="large")
with words, st.container(key="lede"):
    st.markdown(LEDE)
with drop:
    drop_zone()
    with st.container(horizontal=True, key="more-sources"):
        drop_second()
        drop_project()
        drop_model()
        drop_query()

follow_earlier_link()
choice = preview(TABLE)
opened = open_table(choice)
meet_project(opened)
edits = current_edits(opened)
schema = apply_edits(opened, edits)
targets = [column.name for column in schema.columns if column.kind != "empty"]
waits = awaits_file(choice, opened.is_upload)
splits, advice = possible_splits(opened, schema, targets), advise(opened, schema, edits, targets)
needed = needed_columns(opened, schema, targets, splits)
second = open_second(opened, schema, edits, needed)
judged_table = second[1] or opened.table
shown = ((), (), "", ()) if waits else (targets, splits, advice.refusal, needed)
last_row = int(judged_table.row_numbers[-1])
page = page_state(shown[0], opened.suggested, last_row, waits, *shown[1:])
follow_project(page, opened)
values = open_page(page, in_sidebar=True)
if waits:
    values.target = opened.suggested
if values.table != choice:  # a control was put back to its default
    st.rerun()

wanted = wanted_of(opened, edits, values, second)
estimate = estimate_of(wanted, opened, schema, second[1])
request = request_of(wanted, opened, schema, second[1], estimate)
with st.sidebar:
    st.caption(estimate_line(estimate))
request, has_models = with_models(request, wanted, opened, second[1])
asked = request if has_models else wait_for_run(request, wanted, estimate)
(answer,) = ask([asked])
answer = called_as_now(answer, opened, second)
show_project(wanted, opened, second[1])
show_progress([answer])
show_run(page, values, answer, opened, schema, second[1], estimate)
if answer.error:
    before = ["You still see the previous result."] if answer.result is not None else []
    show_notice([answer.error, *before], "score", tone="error")

given = open_model()
if given is not None and not waits:
    draw_given(given, wanted, opened, schema, second[1], values.unit)

view = view_of(answer, values) if answer.result is not None else None
draw_choices(page, values, None if view is None else view.scored, advice)
reading = st.container() if opened.is_upload else None  # a file's owner looks there before rows
if view is not None:
    view, measured = with_unfamiliarity(view, answer.result, values)
    with words:
        warn_of_second(view, answer.result, values)
        show_answer_or_progress(measured)
    show_if_stale(answer)
    with st.container(key="results"):
        explore(page, values, answer, view)
    if answer.fresh:
        keep_scores(answer.result, view)
notices = (*opened.table.notices, *schema.notices)
with reading or st.container():
    show_columns(opened, schema, view.scored.notices if view and answer.fresh else notices)
show_words()
