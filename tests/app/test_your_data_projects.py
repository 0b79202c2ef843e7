"""Saving a project on the page Your data and opening it in another session: all is there again."""

from functools import partial

import pandas as pd
import pytest

from gbuq_core.projects import fit_project, open_project, project_bytes
from gbuq_core.tables import Edits, ScorePlan, read_table, scoring
from pages._ui.your_data import export, projects
from pages._ui.your_data.columns import _Saved
from tests.app.your_data_page import drop, numbers, open_page, rows_of, says, settle

FILE = numbers(60, code=list(range(60)))
SETTINGS = {
    "trees": "50", "rank": "knowledge", "row": "7", "find": "x < 1",
    "step": "5", "target": "y",
}  # fmt: skip
EDITS = Edits(used=(("code", False),), missing_values=(("z", ("-9",)),))
MODELS_USED = "Its models give these numbers; nothing is trained."


@pytest.fixture
def offered(monkeypatch):
    """What the button of the last picture would save, by whether the table is in it."""
    made = {}

    def record(trained, values, link):
        made["save"] = partial(projects._saved, trained, values, link)
        return projects.draw_save(trained, values, link)

    monkeypatch.setattr(export, "draw_save", record)
    return made


@pytest.fixture
def refused(monkeypatch):
    """From a call on, nothing is trained on a table of 60 rows."""
    fit_rows = scoring.fit_rows

    def refuse(plan, prepared, rows):
        assert len(prepared.y) != 60, "it trains"
        return fit_rows(plan, prepared, rows)

    return lambda: monkeypatch.setattr(scoring, "fit_rows", refuse)


def test_a_project_brings_everything_back_without_training(offered, refused):
    at = open_page(FILE, **SETTINGS)
    opened = at.session_state["_data_last_open"]
    at.session_state["_data_edits"] = {opened.key: _Saved(EDITS, EDITS)}
    settle(at.run())
    frame = own(rows_of(at))
    with_table, without = offered["save"](True), offered["save"](False)
    assert open_project(without).data is None
    refused()

    at = open_page(table="wine")
    drop(at, without, "mine.gbuq")
    assert says(at, 'is about "table.csv" with 60 rows: drop that file to go on.')
    drop(at, FILE)
    check_restored(at, frame, opened.key)
    drop(at, with_table[:-1000], "broken.gbuq")
    assert says(at, "The project file is damaged")
    assert says(at, "Nothing on this page has changed.")
    check_restored(at, frame, opened.key)
    drop(at, numbers(61))  # another table: what was said of the project is no longer true
    assert not says(at, "Nothing on this page has changed.")

    at.button(key="delete-data").click().run()
    settle(at)
    assert not says(at, "mine.gbuq")
    drop(at, with_table, "whole.gbuq")
    check_restored(at, frame, opened.key, "whole.gbuq")


def test_a_project_of_the_command_sets_the_knobs_of_its_plan():
    plan = ScorePlan(ensemble="virtual", n_trees=50, depth=3)
    project = fit_project(read_table(FILE, "table.csv"), "y", plan=plan, with_data=True)
    at = drop(open_page(table="wine"), project_bytes(project), "fitted.gbuq")
    assert says(at, "The models of the project score other rows: drop a second file")


def check_restored(at, frame, key, name="mine.gbuq"):
    assert says(at, f'The project "{name}" is open. {MODELS_USED}')
    pd.testing.assert_frame_equal(own(rows_of(at)), frame)
    assert at.session_state["_data_edits"][key].now == EDITS
    for knob, text in SETTINGS.items():
        assert str(at.session_state[knob]).removesuffix(".0") == text, knob


def own(rows):
    """What the models say; how unfamiliar the rows are is measured a little later."""
    return rows[["row", "total", "data", "knowledge", "prediction", "error"]]
