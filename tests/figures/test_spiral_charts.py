"""The charts of one point of the spiral: what is joined by lines and what is not."""

import numpy as np
import pytest

from gbuq_core.figures.encoding import encode_sheet
from gbuq_core.figures.spiral_charts import PointOfMethod, probe_sheet

TRUTH = np.array([0.8, 0.1, 0.1])


def point_of(method, n_members, chain):
    proba = np.tile([0.5, 0.3, 0.2], (n_members, 1))
    trees = np.arange(10, 10 * n_members + 1, 10)
    return PointOfMethod(method, proba, trees, proba, trees if chain else (), 0.01)


@pytest.mark.parametrize(
    ("method", "n_members", "chain", "dots"),
    [
        ("sglb", 5, False, True),
        ("vrf", 3, False, True),
        ("csglb", 5, True, False),
        ("sglb", 1, False, False),  # a level line, its only member
    ],
)
def test_independent_members_are_dots_and_a_chain_is_a_line(method, n_members, chain, dots):
    sheet = probe_sheet([point_of(method, n_members, chain)], TRUTH)
    members, path = sheet.strips
    assert {line.dots for line in members.lines if not line.dash} == {dots}
    assert not any(line.dots for line in members.lines if line.dash)  # the truth
    assert not any(line.dots for line in path.lines)
    assert encode_sheet(sheet)
