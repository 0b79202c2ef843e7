"""The spiral's sheets: which panels, which scales, what plays, what the strips show."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.spiral.charts import (
    burn_in_sheet,
    probe_sheet,
    ray_sheet,
)
from gbuq_core.experiments.spiral.picture import MOST_FRAMES, common_frames, maps_at, spiral_sheet
from gbuq_core.experiments.spiral.plan import SpiralSettings
from gbuq_core.experiments.spiral.probes import BurnInEffect, Ray, RayTruth
from gbuq_core.experiments.spiral.training import SpiralGrowth, training_strips
from gbuq_core.figures.canvas.encoding import encode_sheet
from gbuq_core.figures.canvas.panels import Line, Marker
from gbuq_core.glossary import UNCERTAINTY_KINDS
from gbuq_core.synthetic import make_spiral
from tests.figure_readers import decode_sheet
from tests.spiral_parts import probe_of

N = 6  # cells a side are enough for a figure
ROWS = make_spiral(20, random_state=0)
FRAMES = np.array([10, 20])


INSIDE = np.zeros((N, N), dtype=bool)
INSIDE[1:-1, 1:-1] = True
TRUTH = SimpleNamespace(
    data_uncertainty=np.full((N, N), 0.2),
    density=np.where(INSIDE, 1e-5, 1e-9),
    in_support=INSIDE,
    proba=np.full((3, N, N), 1 / 3),
)


def maps_of(method="sglb", n_trees=(10, 20), data=0.3, knowledge=0.04):
    n_trees = np.array(n_trees)
    share = (n_trees / n_trees[-1])[:, None, None]
    data, knowledge = np.full((N, N), data) * share, np.full((N, N), knowledge) * share
    return SimpleNamespace(
        method=method,
        n_trees=n_trees,
        total=data + knowledge,
        data=data,
        knowledge=knowledge,
        fit=SimpleNamespace(trace=None),  # no strips below the maps
    )


def growth_of(method="csglb", n_trees=20, members=(10, 20)):
    trees = np.arange(1, n_trees + 1)
    return SpiralGrowth(
        method,
        trees,
        np.where(trees % 10 < 5, 10.0, 1.0),
        1 / trees,
        [10, n_trees],
        [0.9, 0.5],
        members,
        [(0.0, 9.0), (10.0, 19.0)],
    )


def titles_of(sheet):
    return [panel.title for panel in sheet.panels]


def test_a_row_a_method_with_the_truth_first():
    sheet = spiral_sheet(TRUTH, ROWS, [maps_of(), maps_of("csglb")])
    assert titles_of(sheet)[:6] == [
        "True data uncertainty",
        "SGLB: total",
        "SGLB: data",
        "SGLB: knowledge",
        "True density",
        "cSGLB: total",
    ]
    assert sheet.columns == 4
    assert sheet.frame_values == [10, 20]
    assert encode_sheet(sheet)


@pytest.mark.parametrize(("n", "columns", "panels"), [(0, 3, 3), (1, 5, 5), (3, 4, 12), (4, 5, 15)])
def test_panels_fill_their_grid(n, columns, panels):
    methods = ("sgb", "sglb", "csglb", "cbsglb")[:n]
    sheet = spiral_sheet(TRUTH, ROWS, [maps_of(method) for method in methods])
    assert (sheet.columns, len(sheet.panels)) == (columns, panels)
    assert len(set(titles_of(sheet))) == panels
    assert encode_sheet(sheet)


def test_more_than_two_methods_are_compared_along_a_row():
    methods = [maps_of(), maps_of("virtual_sglb"), maps_of("csglb")]
    titles = titles_of(spiral_sheet(TRUTH, ROWS, methods))
    assert titles[4:8] == ["True DU", "SGLB: DU", "virtual SGLB: DU", "cSGLB: DU"]
    assert titles[9:] == ["SGLB: KU", "virtual SGLB: KU", "cSGLB: KU"]


def test_the_density_of_a_class_is_its_share_of_the_density():
    panels = spiral_sheet(TRUTH, ROWS, []).panels
    np.testing.assert_allclose(panels[2].values, panels[1].values)  # all classes alike here


def test_scales_are_shared_or_own():
    methods = [maps_of(), maps_of("csglb", knowledge=1e-9)]
    shared = spiral_sheet(TRUTH, ROWS, methods).panels
    assert shared[0].limits == shared[1].limits == shared[6].limits == (0.0, math.log(3))
    # Two methods decades apart keep one scale, cut at 1e-4 of the largest.
    assert shared[3].limits == shared[7].limits == pytest.approx((4e-6, 0.04))
    own = spiral_sheet(TRUTH, ROWS, methods, settings=SpiralSettings(scale="own")).panels
    assert own[7].limits[1] < 1e-8
    assert own[1].limits != (0.0, math.log(3))


def test_the_log_switch_is_for_knowledge_alone():
    for log in (True, False):
        panels = spiral_sheet(TRUTH, ROWS, [maps_of()], settings=SpiralSettings(log=log)).panels
        assert [panel.log for panel in panels[-3:]] == [False, False, log]
        assert (panels[-1].limits[0] > 0) == log


def test_training_rows_are_where_the_view_wants_them():
    def with_points(choice):
        sheet = spiral_sheet(
            TRUTH, ROWS, [maps_of(), maps_of("sgb")], settings=SpiralSettings(points=choice)
        )
        return {panel.title for panel in sheet.panels if panel.points is not None}

    assert with_points("off") == set()
    assert with_points("truth") == {"True density"}
    assert len(with_points("all maps")) == 8


@pytest.mark.parametrize(
    "settings",
    [SpiralSettings(points="here"), SpiralSettings(scale="none"), SpiralSettings(flag=101)],
)
def test_views_that_there_are_not_are_refused(settings):
    with pytest.raises(InvalidParameter):
        spiral_sheet(TRUTH, ROWS, [], settings)


def test_the_border_of_the_data_is_a_dashed_line_on_every_map():
    sheet = spiral_sheet(TRUTH, ROWS, [maps_of()], settings=SpiralSettings(points="off"))
    for panel in sheet.panels:
        (border,) = panel.lines
        assert (border.legend, border.dash) == ("where the data end", True)
        assert (border.x[0], border.y[0]) == pytest.approx((border.x[-1], border.y[-1]))
        # INSIDE reaches from -400 to 400; bilinear corners are a little rounder.
        assert np.abs(border.x).max() == pytest.approx(400, rel=0.05)


def test_methods_of_other_lengths_play_on_the_trees_of_the_longest():
    long, short = maps_of("csglb", range(10, 101, 10)), maps_of("sglb", (20, 40))
    frames = common_frames([short, long])
    assert frames.tolist() == list(range(10, 101, 10))
    values = maps_at(short, short.data, frames)[:, 0, 0]
    # NaN before its first stage.
    np.testing.assert_allclose(values, [np.nan, 0.15, 0.15] + [0.3] * 7)
    sheet = decode_sheet(encode_sheet(spiral_sheet(TRUTH, ROWS, [short, long])))
    assert sheet.header["frames"] == 10


def test_many_stages_are_thinned_and_the_last_stays():
    frames = common_frames([maps_of(n_trees=range(1, 1001))])
    assert len(frames) <= MOST_FRAMES
    assert frames[-1] == 1000


def test_a_forest_stands_still():
    sheet = spiral_sheet(TRUTH, ROWS, [maps_of("vrf", (300,)), maps_of("csglb")])
    panels = {panel.title: np.asarray(panel.values) for panel in sheet.panels}
    assert panels["vRF: knowledge"].shape == (N, N)
    assert panels["cSGLB: knowledge"].shape == (2, N, N)


def test_strips_share_the_frames_and_mark_the_members():
    scale, loss = training_strips([growth_of("sglb", 20, ()), growth_of()], FRAMES)
    assert [line.name for line in scale.lines] == ["SGLB", "cSGLB"]
    assert scale.marks == [10.0, 20.0]
    assert "cSGLB" in scale.mark_label
    assert scale.shaded == [(0.0, 9.0), (10.0, 19.0)]
    assert list(scale.frame_x) == [10.0, 20.0]
    assert [line.dash for line in loss.lines] == [False, False, True, True]
    assert "0.5 on new rows" in loss.alt


def test_the_most_unknown_cells_are_hatched_where_knowledge_is_drawn():
    knowledge = np.arange(N * N, dtype=float).reshape(1, N, N) + 1e-3
    maps = maps_of(n_trees=(20,))
    maps.knowledge = knowledge
    sheet = spiral_sheet(TRUTH, ROWS, [maps], settings=SpiralSettings(flag=25))
    *others, last = sheet.panels
    assert {panel.hatched is None for panel in others} == {True}
    assert np.flatnonzero(last.hatched).tolist() == list(range(27, 36))
    assert "25 %" in decode_sheet(encode_sheet(sheet)).header["hatchLabel"]
    assert spiral_sheet(TRUTH, ROWS, [maps]).panels[-1].hatched is None


def test_of_several_chains_the_one_in_cycles_is_marked():
    flat = growth_of("virtual_sglb", 20, (5, 15))._replace(scale=np.ones(20), exploring=())
    scale, _ = training_strips([flat, growth_of()], FRAMES)
    assert scale.marks == [10.0, 20.0]


def test_a_shorter_method_ends_in_its_strip():
    scale, _ = training_strips([growth_of("sglb", 10, ()), growth_of()], FRAMES)
    line, x = np.asarray(scale.lines[0].y), np.asarray(scale.x)
    assert np.isnan(line[x > 10]).all()
    assert np.isfinite(line[x <= 10]).all()


def test_the_point_and_the_ray_are_on_every_map():
    sheet = spiral_sheet(
        TRUTH,
        ROWS,
        [maps_of()],
        markers=(Marker(10.0, 20.0, "point"),),
        lines=(Line([0.0, 600.0], [0.0, 400.0], arrow=True),),
    )
    header = decode_sheet(encode_sheet(sheet)).header
    assert (header["markers"][0]["label"], len(header["lines"])) == ("point", 1)


def test_a_point_has_members_above_their_path():
    sheet = probe_sheet([probe_of("sglb"), probe_of("csglb")])
    assert [strip.title for strip in sheet.strips] == [
        "SGLB, members",
        "cSGLB, members",
        "SGLB, while it grew",
        "cSGLB, while it grew",
    ]
    assert sheet.strip_columns == 2
    assert list(sheet.strips[2].marks) == []
    assert list(sheet.strips[3].marks) == [10.0, 20.0, 30.0]
    truth = [line for line in sheet.strips[0].lines if line.dash]
    assert [float(np.asarray(line.y)[0]) for line in truth] == [0.8, 0.1, 0.1]
    assert encode_sheet(sheet)


def test_one_member_and_no_path_can_be_drawn():
    lone = probe_of("vrf", 1)._replace(path_trees=np.array([300]))
    assert encode_sheet(probe_sheet([lone]))


def rays_of(kind="knowledge"):
    distance = np.linspace(0, 700, 8)
    inside = distance < 300
    values = np.linspace(1e-3, 1e-1, 8)
    truth = RayTruth(distance, np.where(inside, 1e-5, 0.0), values, inside)
    return ray_sheet([Ray("sglb", distance, values, values, values)], truth, kind)


def test_a_ray_has_the_density_below_and_the_data_tinted():
    sheet = rays_of()
    upper, lower = sheet.strips
    assert upper.log
    assert not rays_of("data").strips[0].log
    assert [len(rays_of(kind).strips[0].lines) for kind in UNCERTAINTY_KINDS] == [2, 2, 1]
    # While the line is dragged the browser reads it off the maps of the sheet "spiral".
    followed = decode_sheet(encode_sheet(rays_of("data"))).header["follows"]
    assert followed == {"name": spiral_sheet(TRUTH, ROWS, []).name, "part": 1}
    assert lower.log
    assert upper.shaded == lower.shaded == [(0.0, 250.0)]
    assert encode_sheet(sheet)


def test_burn_in_is_drawn_beside_a_level():
    four, two = np.arange(4), np.arange(2)
    line = BurnInEffect("csglb", four, np.array([0.1, 0.01, 0.001, 5e-4]), np.full(4, 0.4))
    short = BurnInEffect("cbsglb", two, np.array([0.2, 0.1]), np.full(2, 0.6))
    sheet = burn_in_sheet([line, short], [("virtual_sglb", 0.0004, 0.3)])
    mean, auroc = sheet.strips
    assert [entry.name for entry in mean.lines] == ["cSGLB", "cbSGLB", "virtual SGLB"]
    assert np.isnan(np.asarray(mean.lines[1].y)[2:]).all()
    assert mean.y_limits[0] < 0.0004
    assert mean.log
    assert auroc.y_limits == (0.0, 1.0)
    assert encode_sheet(sheet)
