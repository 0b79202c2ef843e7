"""A project gives the numbers that were saved: of its own rows and of new ones."""

import os

import pandas as pd
import pyarrow as pa
import pytest

from gbuq_core.errors import ProjectError
from gbuq_core.projects import (
    describe_project,
    fit_project,
    open_project,
    project_bytes,
    restore_project,
    save_project,
    score_project,
)
from gbuq_core.tables import (
    Edits,
    ScorePlan,
    edit_schema,
    infer_schema,
    read_table,
    score_table,
    with_intervals,
)
from tests.project_parts import quick, small_table

PLANS = {
    "independent": ("y", quick(ensemble="independent")),
    "virtual": ("y", quick()),
    "cyclical": ("y", quick(method="csglb")),
    "log": ("y", quick(scale="log")),
    "classes": ("level", quick(ensemble="independent")),
    "by group": ("y", quick(split="group", split_column="group")),
    "by time": ("y", quick(split="time", split_column="day")),
    "all trees": ("y", quick(stopping=None)),
}


@pytest.fixture(scope="module")
def table():
    return small_table()


@pytest.fixture(scope="module")
def new():
    return small_table(30, 1, "new.csv")


def test_rows_keep_their_numbers_and_long_numbers_their_digits():
    text = "key,x,y\n" + "".join(f"{2**60 + k},{k % 7},{k % 7 + k % 3}\n\n" for k in range(40))
    plain = read_table(text.encode())
    keys = pa.chunked_array([pa.array(range(2**63, 2**63 + 40), pa.uint64())])
    table = plain._replace(data=plain.data.set_column(0, "key", keys))
    project = fit_project(table, "y", plan=quick(n_trees=20), with_data=True)
    data = open_project(project_bytes(project)).data
    assert data.row_numbers.tolist() == list(range(1, 80, 2))
    assert data.data["key"].to_pylist() == list(range(2**63, 2**63 + 40))


@pytest.mark.parametrize("name", PLANS)
def test_new_rows_are_scored_as_without_a_project(name, table, new):
    target, plan = PLANS[name]
    scored = score_table(table, target, plan=plan, new=new)
    regression = target == "y"
    if regression:
        scored = with_intervals(scored, 0.8, conformal=True)
    fitted = fit_project(table, target, plan=plan, level=0.8, conformal=regression)
    content = project_bytes(fitted)
    project = open_project(content)
    assert project.data is None
    assert project_bytes(project) == content
    rows = score_project(project, new)
    pd.testing.assert_frame_equal(rows.frame, scored.frame, check_exact=True)
    again = restore_project(project, table, new)
    pd.testing.assert_frame_equal(again.frame, scored.frame, check_exact=True)
    assert again.notices == scored.notices
    assert repr(again.scores) == repr(scored.scores)


def test_corrections_and_plan_come_back(table):
    edits = Edits.of({"group": "category"}, {"day": False}, {"x": ("0.5", "-9")}, ["group"])
    schema = edit_schema(table, infer_schema(table), **edits.arguments())
    asked = ScorePlan(n_trees=12, learning_rate=0.1)
    fitted = fit_project(table, "y", plan=asked, edits=edits, level=0.8)
    project = open_project(project_bytes(fitted))
    assert (project.edits, project.plan, project.level) == (edits, asked, 0.8)
    assert (project.schema, project.source) == (schema, table.source)
    assert "3 columns are corrected." in describe_project(project)


def test_the_table_is_recognised_by_its_digest(table, new):
    project = fit_project(table, "y", plan=quick())
    renamed = table._replace(source=table.source._replace(name="other.csv"))
    assert project.is_about(renamed)
    with pytest.raises(ProjectError, match=r'"other\.csv" is not the table of the project'):
        restore_project(project, small_table(80, 5, "other.csv"), new)
    with pytest.raises(ProjectError, match=r'give "small\.csv" with it'):
        restore_project(project, None, new)


def test_models_of_catboost_need_trust(table, new):
    pytest.importorskip("catboost")
    fitted = fit_project(table, "y", plan=quick(engine="catboost"))
    content = project_bytes(fitted)
    untrusted = open_project(content)
    assert "files that you trust" in untrusted.why_no_models
    with pytest.raises(ProjectError, match="files that you trust"):
        project_bytes(untrusted)
    again = score_project(open_project(content, trust=True), new)
    pd.testing.assert_frame_equal(again.frame, score_project(fitted, new).frame, check_exact=True)


def test_only_regular_files_are_written_and_read(table, tmp_path):
    project = fit_project(table, "y", plan=quick())
    save_project(project, tmp_path / "mine.gbuq")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.gbuq"]
    with pytest.raises(ProjectError, match="not a regular file"):
        save_project(project, os.devnull)
    with pytest.raises(ProjectError, match="cannot be written"):
        save_project(project, tmp_path / "nowhere" / "mine.gbuq")
    with pytest.raises(ProjectError, match="not a regular file"):
        open_project(tmp_path)
    with pytest.raises(ProjectError, match="There is no project"):
        open_project(tmp_path / "none.gbuq")


def test_levels_that_the_table_does_not_have_are_told_without_it():
    rows = "".join(f"{'abc'[i % 3]},{i % 7},{i % 7 + i % 3}\n" for i in range(60))
    project = fit_project(read_table(f"land,x,y\n{rows}".encode()), "y", plan=quick(n_trees=20))
    new = read_table(b"land,x\nd,1\na,2\ne,3\n", to_score=True)
    assert score_project(project, new).notices[-1].startswith("2 rows have a category")
