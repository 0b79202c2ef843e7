"""The spiral's charts of one point: what lines join; its maps before there are members."""

import pytest

from gbuq_core.experiments.spiral.charts import probe_sheet
from gbuq_core.experiments.spiral.fit import run_spiral
from gbuq_core.experiments.spiral.picture import spiral_sheet
from gbuq_core.experiments.spiral.plan import SpiralSettings
from gbuq_core.figures.canvas.encoding import encode_sheet
from tests.figure_readers import decode_sheet
from tests.spiral_parts import probe_of


@pytest.mark.parametrize(
    ("method", "n_members", "dots"),
    [
        ("sglb", 5, True),
        ("vrf", 3, True),
        ("csglb", 5, False),
        ("sglb", 1, False),  # a level line, its only member
    ],
)
def test_independent_members_are_dots_and_a_chain_is_a_line(method, n_members, dots):
    sheet = probe_sheet([probe_of(method, n_members)])
    members, path = sheet.strips
    assert {line.dots for line in members.lines if not line.dash} == {dots}
    assert not any(line.dots for line in members.lines if line.dash)  # the truth
    assert not any(line.dots for line in path.lines)
    assert encode_sheet(sheet)


def test_maps_without_members_are_hatched_and_say_when_the_first_comes():
    settings = SpiralSettings(
        methods=("sglb", "csglb"), rows=20, members=2, trees=40, chain_trees=40, cycle=20, depth=2
    )
    run = run_spiral(settings)
    sheet = spiral_sheet(run.truth, run.data, run.methods)
    assert sheet.frame_values[0] < 20
    assert sheet.blank_label == "no member yet (cSGLB: first after 20 trees); knowledge needs two"
    hatched = {panel.title for panel in sheet.panels if panel.blank_hatched}
    assert hatched == {"cSGLB: total", "cSGLB: data", "cSGLB: knowledge"}
    header = decode_sheet(encode_sheet(sheet)).header
    assert header["blankLabel"] == sheet.blank_label
    assert [panel["blankHatched"] for panel in header["panels"]].count(True) == 3


def test_maps_that_never_come_are_not_hatched_in_wait():
    settings = SpiralSettings(methods=("sglb",), rows=20, members=2, trees=20, depth=2, shown=1)
    run = run_spiral(settings)
    sheet = spiral_sheet(run.truth, run.data, run.methods)
    assert not any(panel.blank_hatched for panel in sheet.panels)
    assert [m.label for m in sheet.panels[-1].markers] == ["not available"]
