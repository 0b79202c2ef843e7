"""The race's sheet: which panels and charts, which scales, what plays."""

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.gaussians.cycle import cycle_sheet
from gbuq_core.experiments.gaussians.picture import gaussians_sheet, opening_sheet
from gbuq_core.experiments.gaussians.plan import CHARTS, GaussiansSettings
from gbuq_core.figures.canvas.encoding import encode_sheet
from gbuq_core.methods import METHODS, SAMPLERS
from tests.figure_readers import decode_sheet

N = 4  # cells a side


class Grid(NamedTuple):
    label: str = "A target"
    edges_x: np.ndarray = np.linspace(-2, 2, N + 1)
    edges_y: np.ndarray = np.linspace(-1, 1, N + 1)
    density: np.ndarray = np.full((N, N), 0.125)
    marginal_x: np.ndarray = np.full(N, 0.25)
    marginal_y: np.ndarray = np.full(N, 0.5)
    n_modes: int = 3
    outlines: tuple = (np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]),) * 2
    step_limit: float = 0.06


def run_of(
    sampler="sgld", steps=(10, 20, 30), density=0.25, span=None, sizes=(0.1, 0.05), **changes
):
    f, steps = len(steps), np.array(steps)
    ramp = np.linspace(0.0, 1.0, f)
    run = SimpleNamespace(
        sampler=sampler,
        n_chains=1,
        steps=steps,
        n_kept=steps,
        density=np.full((f, N, N), density),
        marginal_x=np.full((f, N), 0.3),
        marginal_y=np.full((f, N), 0.4),
        modes_visited=3 * ramp,
        share_in_modes=ramp,
        occupancy_error=1 - ramp,
        divergence=3 - ramp,
        path=np.zeros((f, 5, 2)) + np.arange(f)[:, None, None],
        stay_steps=np.array([0, 10, 20]),
        stay_modes=np.array([2, -1, 0]),
        size_steps=np.array([0, 5]),
        sizes=np.array(sizes),
        size_span=int(steps[-1]) if span is None else span,
        exploring=np.array([[0, 2]]),
        all_stopped=False,
    )
    vars(run).update(changes)
    return run


RACE = [run_of("sgld"), run_of("cg", span=10)]


def strips_by_title(sheet):
    return {strip.title: strip for strip in sheet.strips}


def test_a_sampler_is_told_by_its_label_and_its_colour():
    assert all(key == record.key for key, record in SAMPLERS.items())
    assert len({record.label for record in SAMPLERS.values()}) == len(SAMPLERS)
    assert len({record.colour for record in SAMPLERS.values()}) == len(SAMPLERS)
    assert SAMPLERS["sgld"].colour == METHODS["sglb"].colour  # it stands for SGLB
    assert SAMPLERS["cg"].colour == METHODS["csglb"].colour


def test_a_column_a_sampler_with_the_target_first():
    sheet = gaussians_sheet(Grid(), RACE)
    assert [panel.title for panel in sheet.panels] == ["Target", "SGLD", "cg-SGLD"]
    assert sheet.columns == sheet.strip_columns == 3
    assert sheet.frame_values == [10, 20, 30]
    assert sheet.x_extent == (-2.0, 2.0)
    assert sheet.y_extent == (-1.0, 1.0)
    # Each row of charts begins under the target.
    titles = [strip.title for strip in sheet.strips]
    assert len(titles) == 3 * len(CHARTS)
    assert titles[::3] == ["Modes visited", "Share in a mode", "KL, nats", "Occupancy error"]
    assert titles[1:3] == ["SGLD: mode", "cg-SGLD: mode"]


def test_the_sheet_can_be_drawn_and_plays():
    header = decode_sheet(encode_sheet(gaussians_sheet(Grid(), RACE, alt="In words."))).header
    assert (header["frames"], header["alt"]) == (3, "In words.")
    assert [strip["legend"] for strip in header["strips"]] == ["narrow", False, False] * 4


def test_each_frame_counts_the_modes_found():
    target, *maps = gaussians_sheet(Grid(), RACE).panels
    assert target.subtitle == ""
    assert [each.subtitle for each in maps] == [
        ["0 of 3 modes", "1.5 of 3 modes", "3 of 3 modes"]
    ] * 2
    still = gaussians_sheet(Grid(), [run_of(), run_of("cg", (15, 35))]).panels[2]
    assert still.subtitle == "3 of 3 modes"
    early = run_of(modes_visited=np.array([0.0, 1.0, 1.0]))
    alone = gaussians_sheet(Grid()._replace(n_modes=1), [early]).panels[1]
    assert alone.subtitle[-1] == "1 of 1 mode"


def test_a_page_opens_with_four_maps_and_one_chart():
    race = [run_of(sampler) for sampler in SAMPLERS]
    sheet = opening_sheet(gaussians_sheet(Grid(), race), Grid())
    assert [panel.title for panel in sheet.panels] == ["SGLD", "N-SGLD", "clr-SGLD", "cg-SGLD"]
    assert [strip.title for strip in sheet.strips] == ["Modes visited"]
    header = decode_sheet(encode_sheet(sheet)).header
    assert (header["quiet"], header["together"], header["greets"]) == (True, 2, True)
    assert header["panels"][0]["subtitle"] == ["0 of 3 modes", "1.5 of 3 modes", "3 of 3 modes"]
    assert header["lines"][0]["thin"]
    # With fewer samplers there is room for the target.
    fewer = opening_sheet(gaussians_sheet(Grid(), RACE), Grid()).panels
    assert [panel.title for panel in fewer] == ["Target", "SGLD", "cg-SGLD"]
    nobody = opening_sheet(gaussians_sheet(Grid(), []), Grid())
    assert [panel.title for panel in nobody.panels] == ["Target"]


def test_one_scale_for_all_or_each_its_own():
    assert {panel.limits for panel in gaussians_sheet(Grid(), RACE).panels} == {(0.0, 0.125)}
    own = gaussians_sheet(Grid(), RACE, GaussiansSettings(scale="own")).panels
    assert [panel.limits for panel in own] == [(0.0, 0.125), (0.0, 0.25), (0.0, 0.25)]
    nothing = gaussians_sheet(Grid(), [run_of(density=0.0)], GaussiansSettings(scale="own"))
    assert nothing.panels[1].limits == (0.0, 1.0)


def test_log_colours_span_four_decades():
    panels = gaussians_sheet(Grid(), RACE, GaussiansSettings(log=True)).panels
    assert all(panel.log for panel in panels)
    assert panels[0].limits == pytest.approx((0.125e-4, 0.125))


def test_counts_are_samples_of_a_cell():
    panels = gaussians_sheet(Grid(), RACE, GaussiansSettings(shown="counts")).panels
    assert panels[1].unit == "samples a cell"
    # 30 samples, a quarter per unit area, half a unit of area a cell: 3.75.
    assert np.unique(panels[1].values[-1]).tolist() == [4.0]
    assert np.unique(panels[0].values).tolist() == [pytest.approx(0.125 * 0.5 * 30)]


def test_the_path_appears_and_vanishes_with_its_frame():
    points = gaussians_sheet(Grid(), RACE).panels[1].points
    assert points.appear.tolist() == [0] * 5 + [1] * 5 + [2] * 5
    np.testing.assert_array_equal(points.vanish, points.appear + 1)
    assert points.group.tolist() == [0, 0, 0, 0, 1] * 3
    assert gaussians_sheet(Grid(), RACE, GaussiansSettings(trail=False)).panels[1].points is None


def test_the_borders_of_the_modes_on_request():
    assert gaussians_sheet(Grid(), RACE).lines == ()
    (line,) = gaussians_sheet(Grid(), RACE, GaussiansSettings(outlines=True)).lines
    assert np.isnan(line.x).sum() == 2  # a gap behind each
    assert line.x[:4].tolist() == [0.0, 1.0, 0.0, 0.0]  # closed


def test_stays_are_level_lines_with_gaps_over_all_steps():
    strip = strips_by_title(gaussians_sheet(Grid(), RACE))["SGLD: mode"]
    assert (strip.x[0], strip.x[-1]) == (0.0, 30.0)
    drawn = ~np.isnan(strip.lines[0].y)
    assert strip.x[drawn].tolist() == [0.0, 10.0, 20.0, 30.0]
    assert strip.lines[0].y[drawn].tolist() == [3.0, 3.0, 1.0, 1.0]
    assert strip.mode == "grow"


def test_the_schedules_cursor_goes_round_within_the_cycles_that_are_drawn():
    strips = strips_by_title(gaussians_sheet(Grid(), RACE))
    assert strips["SGLD: size"].frame_x.tolist() == [10, 20, 30]
    folded = strips["cg-SGLD: size"]
    assert folded.frame_x.tolist() == [10, 10, 10]
    assert folded.shaded == [(0.0, 2.0)]
    assert np.unique(folded.lines[0].y).tolist() == [0.06]


def test_only_sizes_that_fall_far_are_logarithmic():
    def log_of(sizes):
        sheet = gaussians_sheet(Grid(), [run_of(sizes=sizes)])
        return strips_by_title(sheet)["SGLD: size"].log

    assert log_of((0.05, 0.0002))
    assert not log_of((0.1, 0.01))
    assert not log_of((0.09, 0.0))


def test_of_several_chains_the_modes_are_a_chains_mean():
    assert gaussians_sheet(Grid(), [run_of(n_chains=3)]).strips[0].title == "Modes, a chain"


def test_divergences_begin_at_zero_whatever_they_are():
    strips = strips_by_title(gaussians_sheet(Grid(), RACE))
    assert strips["KL, nats"].y_limits == pytest.approx((0.0, 3.15))
    unkept = run_of(divergence=np.full(3, np.nan))
    sheet = gaussians_sheet(Grid(), [unkept])
    assert strips_by_title(sheet)["KL, nats"].y_limits == (0.0, 1.0)


def test_cells_that_chains_never_came_to_before_they_ran_off_are_hatched():
    density = np.zeros((3, N, N))
    density[:, 0, 1] = 0.5
    gone = run_of("cg", density=density, all_stopped=True)
    sheet = gaussians_sheet(Grid(), [run_of("sgld", density=0.0), gone])
    assert [panel.hatched is None for panel in sheet.panels] == [True, True, False]
    np.testing.assert_array_equal(sheet.panels[2].hatched, density[-1] == 0)
    assert "ran off to infinity" in sheet.hatch_label
    assert "ran off" in sheet.panels[2].alt
    assert "ran off" not in sheet.panels[1].alt
    assert decode_sheet(encode_sheet(sheet)).header["frames"] == 3


def test_charts_can_be_left_out():
    sheet = gaussians_sheet(Grid(), RACE, GaussiansSettings(charts=("x",)))
    assert [strip.title for strip in sheet.strips] == ["KL, nats", "SGLD: x", "cg-SGLD: x"]
    assert gaussians_sheet(Grid(), RACE, GaussiansSettings(charts=())).strips == []


def test_a_run_of_other_steps_stands_still():
    sheet = gaussians_sheet(Grid(), [run_of("sgld"), run_of("cg", (15, 35))])
    assert np.asarray(sheet.panels[2].values).shape == (N, N)
    strips = strips_by_title(sheet)
    assert [line.name for line in strips["Modes visited"].lines] == ["SGLD"]
    assert strips["cg-SGLD: x"].lines[1].y.shape == (3, N)
    assert decode_sheet(encode_sheet(sheet)).header["frames"] == 3


def test_no_sampler_leaves_the_target():
    sheet = gaussians_sheet(Grid(), [])
    assert [panel.title for panel in sheet.panels] == ["Target"]
    assert decode_sheet(encode_sheet(sheet)).header["frames"] == 1


@pytest.mark.parametrize("view", [{"shown": "x"}, {"scale": "x"}, {"charts": ("x", "z")}])
def test_an_impossible_view_is_refused(view):
    with pytest.raises(InvalidParameter, match="must be one of"):
        gaussians_sheet(Grid(), RACE, GaussiansSettings(**view))


class Cycle(NamedTuple):
    sampler: str
    steps: np.ndarray = np.arange(5)
    points: np.ndarray = np.array([[0.0, 0.0], [1.0, 0.5], [0.5, 0.5], [np.nan] * 2, [np.nan] * 2])
    energy: np.ndarray = np.array([3.0, 2.0, 1.0, np.nan, np.nan])
    exploring: np.ndarray = np.array([True, True, False, False, False])
    sizes: np.ndarray = np.array([0.1, 0.1, 0.08, 0.01, 0.01])
    pulls: np.ndarray = np.full(5, 0.1)
    kicks: np.ndarray = np.full(5, 0.2)


def test_a_cycle_is_played_over_the_energy_with_its_stages_coloured():
    sheet = cycle_sheet(Grid(), np.zeros((8, 8)) + 3.0, [Cycle("clr"), Cycle("cg")], alt="words")
    decoded = decode_sheet(encode_sheet(sheet))
    assert decoded.header["frames"] == 5
    assert decoded.header["frameValues"] == [0, 1, 2, 3, 4]
    assert [strip.title for strip in sheet.strips[::2]] == [
        "clr-SGLD: step size",
        "clr-SGLD: energy",
        "clr-SGLD: moves",
    ]
    points = sheet.panels[0].points
    # What is gone is not drawn; the newest stays where it was seen last.
    np.testing.assert_array_equal(points.group, [0, 0, 1, 3, 3, 3])
    np.testing.assert_array_equal(points.appear, [0, 1, 2, 0, 1, 2])
    np.testing.assert_array_equal(points.vanish[3:], [1, 2, 5])
    assert sheet.strips[0].shaded == [(0.0, 2.0)]
