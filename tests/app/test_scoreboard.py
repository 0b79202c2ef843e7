"""Scoreboard through AppTest: each question's plot and table, the own table, bad links."""

import csv
import io

import pyarrow as pa
import pytest

from gbuq_core.scoreboard.board import (
    MEASURES,
    PURPOSES,
    method_label,
    numbers_for,
    purposes_for,
    rank_methods,
)
from pages._ui.export import OFFERED
from tests.app.opening import open_link
from tests.app.your_data_page import drop, numbers
from tests.app.your_data_page import open_page as open_your_data

TASKS = {"a number": "regression", "a class": "classification"}
QUESTIONS = [(task, key) for task, name in TASKS.items() for key in purposes_for(name)]


def plotted(at):
    """The rows of the plot, by method."""
    (chart,) = at.get("vega_lite_chart")
    rows = pa.ipc.open_stream(io.BytesIO(chart.proto.data.data)).read_all().to_pylist()
    return {row["method"]: row for row in rows}


def texts(at):
    return [element.value for element in at.text]


@pytest.mark.parametrize(("task", "purpose"), QUESTIONS)
def test_each_question_has_its_answer_plot_and_table(task, purpose):
    at = open_link("scoreboard", {"task": task, "purpose": PURPOSES[purpose].label})
    ranking = rank_methods(TASKS[task], purpose, 1000)
    assert f"#### {method_label(ranking.methods[0].method)}" in [m.value for m in at.markdown]
    shown = [each for each in numbers_for(TASKS[task], purpose) if each.set == ranking.sets[0]]
    rows = plotted(at)
    assert {name: (row["seconds"], row["mean"]) for name, row in rows.items()} == {
        method_label(each.method): (each.seconds, each.mean) for each in shown
    }
    (table,) = (frame.value for frame in at.dataframe)
    higher = MEASURES[shown[0].measure].higher
    assert table["c1"].tolist() == sorted((each.mean for each in shown), reverse=higher)
    assert {*table["c0"]} == {*rows}
    file = at.session_state[OFFERED]["scoreboard.csv"]()
    assert len(list(csv.reader(io.StringIO(file)))) == 1 + len(numbers_for(TASKS[task], purpose))
    # The address holds only what differs.
    assert "rows" not in at.query_params
    assert ("task" in at.query_params) == (task == "a class")


def test_the_number_of_rows_and_the_table_choose_what_is_plotted():
    at = open_link("scoreboard", {})
    assert any(caption.value.endswith("concrete, 1,030 rows") for caption in at.caption)
    at.select_slider(key="rows").set_value(300).run()
    assert any(caption.value.endswith("boston, 506 rows") for caption in at.caption)
    at.selectbox(key="set").set_value("wine").run()
    assert any(caption.value.endswith("wine, 1,599 rows") for caption in at.caption)
    at.radio(key="task").set_value("a class").run()  # which has no such table
    assert at.selectbox(key="set").value == "nearest in size"
    assert not at.exception
    at.select_slider(key="rows").set_value(10_000).run()
    assert any("The largest test tables have 1,797 rows" in text for text in texts(at))


@pytest.mark.parametrize(
    "query", [{"set": "your table"}, {"purpose": "winning"}, {"view": "Against time"}]
)
def test_what_a_link_cannot_ask_for_is_said(query):
    at = open_link("scoreboard", query)
    (name,) = query
    assert any(name in text for text in texts(at))
    assert len(plotted(at)) == 36


def test_the_code_computes_the_numbers_that_are_shown(capsys):
    at = open_link("scoreboard", {"purpose": PURPOSES["errors"].label})
    exec(at.code[0].value, {})
    said = capsys.readouterr().out
    assert "concrete macau_linear" in said
    assert "RankedMethod(method='macau_linear'" in said


def test_methods_of_the_own_table_are_marked_and_stand_alone_when_it_is_chosen():
    at = drop(open_your_data(), numbers(80), name="my rows.csv")
    at.switch_page("pages/scoreboard.py")
    at.query_params.clear()
    at.run()
    assert not at.exception
    mine = "virtual SGLB, two clocks"
    assert [name for name, row in plotted(at).items() if row["marked"]] == [mine]
    at.selectbox(key="set").set_value("your table").run()
    assert not at.exception
    assert {*plotted(at)} == {mine}
    (table,) = (frame.value for frame in at.dataframe)
    assert table["c2"].notna().all()  # over rows
    at.radio(key="purpose").set_value(PURPOSES["foreign"].label).run()
    assert "Rows of another kind are not measured on your table." in texts(at)
    assert "your table" not in open_link("scoreboard", {}).selectbox(key="set").options
