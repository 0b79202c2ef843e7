"""A model of `gbuq fit` on the page Your data: it says what it is, and scores the next file."""

import numpy as np

from gbuq_core.projects import fit_project, project_bytes, score_project
from gbuq_core.tables import ScorePlan, read_table
from tests.app.your_data_page import drop, numbers, open_page, rows_of, says, table_with

FILE = numbers(60)
PLAN = ScorePlan(ensemble="virtual", n_trees=50, depth=3)


def model():
    project = fit_project(read_table(FILE, "table.csv"), "y", plan=PLAN)
    return project, project_bytes(project)


def test_a_model_scores_the_file_that_is_dropped_next():
    project, content = model()
    at = drop(open_page(FILE), content, "mine.gbuq")
    assert not at.exception
    assert says(at, 'The project is about "table.csv", with 60 rows and 3 columns.')
    new = numbers(20)
    drop(at, new, "new.csv", "upload_rows")
    assert not at.exception
    shown = table_with(at, "prediction", "Row")
    expected = score_project(project, read_table(new, to_score=True))
    order = np.argsort(-expected.predictions.uncertainty.total, kind="stable")
    assert shown["Row"].tolist() == (order + 1).tolist()
    np.testing.assert_array_equal(shown["prediction"], expected.frame["prediction"].iloc[order])
    labels = [button.label for button in at.get("download_button")]
    assert labels == ["All rows (CSV)", "All rows (Parquet)"]
    assert says(at, "Unfamiliar rows and rows of new units are not looked for here.")
    drop(at, b"x,other\n1,2\n", "odd.csv", "upload_rows")
    assert says(at, '"z"')
    assert not at.exception
    drop(at, FILE)  # a table takes its place
    assert not says(at, "The project is about")
    assert len(rows_of(at)) == 60


def test_a_model_that_is_refused_changes_nothing():
    _, content = model()
    at = open_page(FILE)
    before = rows_of(at)["total"]
    drop(at, content[:-1000], "broken.gbuq")
    assert says(at, "The project file is damaged")
    assert says(at, "Nothing on this page has changed.")
    assert rows_of(at)["total"].equals(before)  # how unfamiliar the rows are may come later
    drop(at, numbers(61))  # another table: what was said of the model is no longer true
    assert not says(at, "Nothing on this page has changed.")
    at.button(key="delete-data").click().run()
    assert not at.exception
