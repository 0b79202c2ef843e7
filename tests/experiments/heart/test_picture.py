"""The heart's sheet: which panels, which scales, what plays."""

from typing import NamedTuple

import numpy as np
import pytest

from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.heart.picture import heart_sheet
from gbuq_core.experiments.heart.plan import HeartSettings
from gbuq_core.figures.canvas.encoding import encode_sheet
from gbuq_core.synthetic import HeartData, make_heart
from tests.figure_readers import decode_sheet

HEART = make_heart(3, random_state=0)


class Maps(NamedTuple):
    method: str
    truth: HeartData
    n_trees: np.ndarray
    total: np.ndarray
    data: np.ndarray
    knowledge: np.ndarray


def maps_of(method="sglb", n_trees=(10, 20), data=0.01, knowledge=0.04):
    shape = (len(n_trees), 9, 9)
    parts = np.full(shape, data), np.full(shape, knowledge)
    return Maps(method, HEART, np.array(n_trees), parts[0] + parts[1], *parts)


def test_a_row_a_method_with_the_truth_first():
    sheet = heart_sheet(HEART, [maps_of(), maps_of("virtual_sglb")])
    titles = [panel.title for panel in sheet.panels]
    assert titles[:4] == ["True noise", "SGLB: total", "SGLB: data", "SGLB: knowledge"]
    assert titles[4:6] == ["Training rows", "virtual SGLB: total"]
    assert sheet.columns == 4
    assert sheet.frame_values == [10, 20]


def test_the_player_shows_most_of_the_first_trees():
    maps = maps_of(n_trees=range(5, 1001, 5))
    frames = heart_sheet(HEART, [maps]).frame_values
    assert frames[:3] == [5, 10, 15]
    assert frames[-1] == 1000
    assert len(frames) <= 60
    assert np.ptp(np.log(frames[-5:])) < 0.6  # the last step is about as long as the others


def test_scales_are_shared_or_own():
    methods = [maps_of(), maps_of("virtual_sglb", knowledge=0.0001)]
    shared = heart_sheet(HEART, methods).panels
    assert shared[0].limits == shared[1].limits == shared[2].limits == shared[6].limits
    assert shared[3].limits == shared[7].limits == pytest.approx((0.01, 0.2))
    # From the lowest noise, not from zero: else the maps of noise have two shades.
    assert shared[1].limits == pytest.approx((0.1, np.sqrt(0.05)))
    sheet = heart_sheet(HEART, methods)
    assert "lowest" in sheet.note
    assert not heart_sheet(HEART, methods, HeartSettings(scale="own")).note
    own = heart_sheet(HEART, methods, HeartSettings(scale="own")).panels
    assert {panel.limits for panel in own if ":" in panel.title} == {None}


def test_the_unit_and_the_log_switch():
    std = heart_sheet(HEART, [maps_of()]).panels[3]
    assert std.log
    assert np.all(np.asarray(std.values) == 0.2)
    variance = heart_sheet(HEART, [maps_of()], HeartSettings(unit="variance", log=False)).panels[3]
    assert not variance.log
    assert variance.unit != std.unit
    assert np.all(np.asarray(variance.values) == 0.04)


def test_empty_cells_are_hatched_and_painted_ones_outlined():
    sheet = heart_sheet(HEART, [maps_of()], HeartSettings(cells=(0, 80)))
    header = decode_sheet(encode_sheet(sheet)).header
    assert header["hatchLabel"] == "no training rows"
    for panel in sheet.panels:
        np.testing.assert_array_equal(panel.hatched, ~HEART.in_support)
        assert np.flatnonzero(panel.outlined).tolist() == [0, 80]


def test_what_a_method_does_not_give_is_said():
    forest = maps_of("vrf", (1000,), data=np.nan)
    total, data, knowledge = heart_sheet(HEART, [forest]).panels[1:]
    for panel in (total, data):
        assert panel.markers[0].label == "not available"
        assert "gives no" in panel.alt
    assert knowledge.markers == ()


def test_methods_of_other_stages_stand_still():
    sheet = heart_sheet(HEART, [maps_of(), maps_of("sgb", (10, 30)), maps_of("vrf", (1000,))])
    assert np.asarray(sheet.panels[3].values).shape == (2, 9, 9)
    assert np.asarray(sheet.panels[7].values).shape == (9, 9)
    assert np.asarray(sheet.panels[11].values).shape == (9, 9)
    assert decode_sheet(encode_sheet(sheet)).header["frames"] == 2


def test_without_a_method_the_truth_is_left():
    sheet = heart_sheet(HEART, [])
    assert [panel.title for panel in sheet.panels] == ["True noise"]
    assert encode_sheet(sheet)


@pytest.mark.parametrize("view", [HeartSettings(unit="nats"), HeartSettings(scale="none")])
def test_views_that_there_are_not_are_refused(view):
    with pytest.raises(InvalidParameter):
        heart_sheet(HEART, [], view)


def test_the_scales_are_those_of_the_finished_maps():
    early = maps_of(knowledge=0.04)
    early.knowledge[0] = 1e-30
    early.total[0] = 100.0
    panels = heart_sheet(HEART, [early]).panels
    assert panels[3].limits == pytest.approx((0.1, 0.4))  # room around a constant
    assert panels[1].limits[1] == pytest.approx(np.sqrt(0.05))
