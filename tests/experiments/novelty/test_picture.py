"""What maps of novelty show of a fit, whatever its rows have as targets."""

import numpy as np

from gbuq_core.experiments.novelty.fit import run_novelty
from gbuq_core.experiments.novelty.picture import ground_of, score_map
from gbuq_core.experiments.novelty.plan import NoveltySettings


def test_rows_without_classes_are_one_group_and_classes_are_told_apart():
    table = run_novelty(NoveltySettings(data="table", table="diabetes", trees=5))
    ground = ground_of(table.fit)
    assert (ground.names, set(ground.group)) == (("training rows",), {0})
    assert ground.in_support is None
    moons = run_novelty(NoveltySettings(rows=100, trees=5))
    ground = ground_of(moons.fit)
    assert len(ground.names) == 2
    np.testing.assert_array_equal(ground.group, moons.fit.rows.y)
    assert ground.in_support.shape == (60, 60)
    shown = score_map(moons, "knowledge", ranks="cells", log=True)
    assert (shown.limits, shown.log, shown.unit) == ((0.0, 100.0), False, "% of cells below")
    assert score_map(moons, "knowledge", ranks="value", log=True).log
