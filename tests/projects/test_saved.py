"""A project that the first version with this format has saved: it opens with the same numbers.

`small_1_0.gbuq` and `small_1_0.csv` are never made anew: whoever changes the format keeps reading
them. They came from::

    table = small_table(48)
    scored = score_table(table, "y", plan=quick(n_trees=8, max_bins=16))
    project = project_of(
        scored, table, cohorts=COHORTS, marks=MARKS, page=PAGE, level=0.8, conformal=True,
        with_data=True,
    )
    save_project(project, "small_1_0.gbuq")
    Path("small_1_0.csv").write_bytes(to_csv_bytes(restore_project(project).frame))
"""

from pathlib import Path

import pandas as pd

from gbuq_core.projects import open_project, restore_project
from tests.project_parts import COHORTS, MARKS, PAGE, quick

HERE = Path(__file__).parent


def test_a_project_of_the_first_version_opens():
    content = (HERE / "small_1_0.gbuq").read_bytes()
    project = open_project(content)
    assert project.cohorts == COHORTS
    assert project.marks == MARKS
    assert project.page == PAGE
    assert project.plan == quick(n_trees=8, max_bins=16)
    before = pd.read_csv(HERE / "small_1_0.csv")
    found = restore_project(project).frame
    assert list(found.columns) == list(before.columns)
    numbers = before.select_dtypes("number").columns
    now = found[numbers].astype("float64")
    # Another processor may change the last digits: 1e-9 is many roundings, and far below a change.
    pd.testing.assert_frame_equal(now, before[numbers].astype("float64"), rtol=1e-9)
