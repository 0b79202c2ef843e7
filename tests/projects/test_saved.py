"""Projects that earlier versions of the format have saved: trained again, they say the same.

The table, its columns, the plan, marks and cohorts are kept; models of gbuq 0.2 are not read.

These files are never made anew: whoever changes the format keeps reading them. `small_1_0` is the
first version, `small_1_1` the first with models of other methods. They came from::

    table = small_table(48)
    scored = score_table(table, "y", plan=quick(n_trees=8, max_bins=16))
    schema = edit_schema(table, infer_schema(table), {}, {"x": False}, {})
    scored = score_table(table, "y", schema=schema, plan=ScorePlan(method="knn", n_folds=2))  # 1.1
    project = project_of(
        scored, table, cohorts=COHORTS, marks=MARKS, page=PAGE, level=0.8, conformal=True,
        with_data=True,
    )
    save_project(project, "small_1_0.gbuq")
    Path("small_1_0.csv").write_bytes(to_csv_bytes(restore_project(project).frame))
"""

from pathlib import Path

import pandas as pd
import pytest
from tolerances import CANCELLED

from gbuq_core.projects import (
    describe_project,
    open_project,
    project_bytes,
    project_of,
    restore_project,
)
from gbuq_core.projects.models import OLDER
from gbuq_core.tables import ScorePlan, score_table, with_intervals
from tests.project_parts import COHORTS, MARKS, PAGE, quick

HERE = Path(__file__).parent
PLANS = {
    "small_1_0": quick(method="sglb", n_trees=8, max_bins=16),
    "small_1_1": ScorePlan(method="knn", n_folds=2),
}


@pytest.mark.parametrize("name", PLANS)
def test_a_project_of_an_earlier_version_opens(name):
    project = open_project((HERE / f"{name}.gbuq").read_bytes())
    kept = project.cohorts, project.marks, project.page, project.plan
    assert kept == (COHORTS, MARKS, PAGE, PLANS[name])
    assert (project.models, project.why_no_models) == (None, OLDER)
    assert OLDER in describe_project(project)
    before = pd.read_csv(HERE / f"{name}.csv")
    knowledge = before.columns[before.columns.str.startswith("knowledge")]
    before[knowledge] = before[knowledge].where(before[knowledge] != 0.0)  # which kNN has none of
    scored = score_table(
        project.data, project.target.name, task=project.target.task, schema=project.schema,
        plan=project.plan,
    )  # fmt: skip
    after = with_intervals(scored, project.level, project.conformal).frame
    assert list(after.columns) == list(before.columns)
    numbers = before.select_dtypes("number").columns
    now = after[numbers].astype("float64")
    # Another processor may change the last digits: many roundings, and far below a change.
    pd.testing.assert_frame_equal(now, before[numbers].astype("float64"), rtol=CANCELLED)
    again = project_of(scored, project.data, marks=project.marks, with_data=True)
    assert restore_project(open_project(project_bytes(again))).frame.equals(scored.frame)
