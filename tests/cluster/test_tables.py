"""Cells of the papers' tables on a cluster's workers."""

import pytest

from benchmarks.tables.cells import Cells
from benchmarks.tables.running import Runner, Wanted, list_cells


@pytest.mark.slow
def test_cells_run_on_the_workers_of_a_cluster(tmp_path, cluster):
    todo = list_cells(Wanted(("sglb",), ("wine_cultivars",), ("vrf",), 1, "smoke"))
    runner = Runner(Cells(tmp_path), None, "smoke", 600.0, lambda sentence: None)
    outcome = runner.run(todo, False, 1, cluster)
    assert outcome.failures == ()
    assert [each.cell for each in Cells(tmp_path)] == todo
