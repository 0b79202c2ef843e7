"""Closer looks at the spiral: a point, a walk out of the data, what first cycles are worth."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from spiral_parts import SINGLE, SMALL, fit_of, seen
from tolerances import CANCELLED, ZERO

from gbuq_core.errors import InvalidParameter
from gbuq_core.glossary import UNCERTAINTY_KINDS
from gbuq_core.study.spiral import AXIS, METHODS, SPIRAL, spiral_truth
from gbuq_core.study.spiral_walks import (
    ask_members,
    burn_in_effect,
    burn_in_section,
    decompose,
    exploring_stretches,
    follow_path,
    point_section,
    walk,
    walk_off,
    walk_section,
)
from gbuq_core.study.study import against_chance
from gbuq_core.synthetic import spiral_posterior


@pytest.mark.parametrize("method", ["sglb", "virtual_sglb", "csglb", "vrf"])
def test_a_point_and_a_line_are_told_what_the_map_shows(method):
    run = seen(method, shown=2)
    (view,), row = run.views, 46
    line = walk(run, (AXIS[10], AXIS[row]), (AXIS[30], AXIS[row]), n=3)
    np.testing.assert_allclose(line.distance, [0, 150, 300])
    along = decompose(ask_members(run, view, line.points))
    for name in UNCERTAINTY_KINDS:
        values = getattr(view.last, name).reshape(80, 80)[row, [10, 20, 30]]
        np.testing.assert_allclose(getattr(along, name), values, **SINGLE)
    point = np.array([[AXIS[20], AXIS[row]]])
    members = ask_members(run, view, point)[:, 0]
    cell = view.fit.members.pick(view.trees)[:, 80 * row + 20]
    np.testing.assert_allclose(members, cell, **SINGLE)
    trees, path = follow_path(run, view, point)
    if METHODS[method].virtual:
        on_path = np.searchsorted(trees, view.trees)
        np.testing.assert_allclose(path[on_path], members, atol=ZERO)
    else:
        np.testing.assert_allclose(path[-1], members.mean(axis=0), atol=ZERO)
    assert trees[-1] == view.fit.members.stages[-1]


def test_one_member_knows_no_disagreement():
    run = seen("csglb", shown=1)
    at = decompose(ask_members(run, run.views[0], np.array([[100.0, 50.5]])))
    assert np.isnan([at.knowledge, run.views[0].last.knowledge[:1]]).all()
    assert at.total == at.data > 0
    with pytest.raises(InvalidParameter, match="at least two members"):
        walk_off(run, run.views[0])


def test_the_truth_along_a_line_is_that_of_its_cells():
    line = walk(seen(), (AXIS[40], AXIS[2]), (AXIS[40], AXIS[60]), n=59)
    for name in ("density", "data_uncertainty", "in_support"):
        cells = getattr(spiral_truth(0.4), name)[2:61, 40]
        np.testing.assert_allclose(getattr(line, name), cells, rtol=CANCELLED)
    assert 0 < line.in_support.sum() < 59


@pytest.mark.parametrize(
    ("start", "end", "words"),
    [
        ((0, 0), (0, 0), "length"),
        ((0, 0), (0, float("nan")), "y must be"),
        ((0, 0), (1e7, 0), "x must be"),
        ((0, 0), (1, 2, 3), "two coordinates"),
        ((0, 0), ("a", 2), "x must be"),
    ],
)
def test_impossible_lines_are_refused_by_a_sentence(start, end, words):
    with pytest.raises(InvalidParameter, match=words):
        walk(seen(), start, end)


@pytest.mark.parametrize("method", ["csglb", "cbsglb"])
def test_burn_in_effect_is_that_of_the_maps(method):
    levels = burn_in_effect(SPIRAL.view(fit_of(method), SMALL), spiral_truth(SMALL.noise).far)
    assert levels.shape == (2, 2)
    for first in range(2):
        view = SPIRAL.view(fit_of(method), replace(SMALL, burn_in=first))
        # Two ways to subtract entropies of float64 sums
        assert levels[0, first] == pytest.approx(view.last.knowledge.mean(), rel=CANCELLED)
        assert levels[1, first] == pytest.approx(view.numbers["auroc_far"], abs=1e-6)
    # The first cycle's member has seen a third of the trees: it disagrees most.
    assert levels[0, 0] > levels[0, 1]
    with pytest.raises(InvalidParameter, match="virtual SGLB has no cycles"):
        burn_in_effect(SPIRAL.view(fit_of("virtual_sglb"), SMALL), spiral_truth(0.4).far)


@pytest.mark.parametrize("method", ["sglb", "vrf", "csglb"])
def test_walking_off_ends_on_constant_ground(method):
    run = seen(method)
    off = walk_off(run, run.views[0])
    assert off["rising"] + off["falling"] <= 72
    assert 1 <= off["levels"] <= 24
    # Far out only the direction matters, except along the few lines on which x - 2y or the like
    # stays small.
    assert off["constant"] > 0.9 * 72
    direction = np.array([np.cos(1.0), np.sin(1.0)])
    remote = np.array([100.0, 150.0, 400.0])[:, None] * run.data.rows.X[:, 8].max() * direction
    knowledge = decompose(ask_members(run, run.views[0], remote)).knowledge
    assert knowledge.min() == knowledge.max()
    end = f"{off['auroc_far']:.2f}, {against_chance(off['auroc_far'])}."
    assert off["sentence"].endswith(end)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.31, "does not know that it left the data."),
        (0.65, "knows only in part that it left the data."),
        (0.9, "knows that it left the data."),
    ],
)
def test_the_sentence_about_the_outside_follows_the_score(value, words):
    run = seen("sglb")
    view = run.views[0]._replace(numbers={**run.views[0].numbers, "auroc_far": value})
    assert walk_off(run, view)["sentence"].startswith(f"SGLB {words}")


LOOK = SimpleNamespace(px=300, py=-20, rx=0, ry=0, sx=600, sy=450, along="data")


def test_closer_looks_draw_what_they_say():
    run = seen("sglb", "csglb", "cbsglb", "vrf", shown=2)
    *members, sglb, csglb, _, vrf = point_section(run, run.views, LOOK).sheet.strips
    # Nothing leads from one independent model to the next.
    assert [strip.lines[0].dots for strip in members] == [True, False, False, True]
    assert (list(sglb.marks), list(csglb.marks), len(vrf.x)) == ([], [50.0, 75.0], 2)
    truth = [float(line.y[0]) for line in members[0].lines if line.dash]
    assert truth == pytest.approx(spiral_posterior([[300.0, -20.0]], run.settings.noise)[0])
    sheet = walk_section(run, run.views, LOOK).sheet
    # While the line is dragged the browser reads it off the maps of the sheet "spiral".
    assert sheet.follows == (SPIRAL.sheet(run, run.views, ()).name, 1)
    assert [len(strip.lines) for strip in sheet.strips] == [5, 1]
    assert sheet.strips[0].shaded == sheet.strips[1].shaded != []
    mean, auroc = burn_in_section(run, run.views, LOOK).sheet.strips
    assert [line.name for line in mean.lines] == ["cSGLB", "cbSGLB", "SGLB"]
    assert (mean.log, auroc.y_limits) == (True, (0.0, 1.0))


def test_strips_share_the_frames_and_mark_the_members_of_the_chain_in_cycles():
    run = seen("sglb", "virtual_sglb", "csglb", "vrf")
    scale, loss = SPIRAL.sheet(run, run.views, ()).strips
    assert [line.name for line in scale.lines] == ["SGLB", "virtual SGLB", "cSGLB"]
    assert (scale.marks, scale.mark_label) == ([25.0, 50.0, 75.0], "a member of cSGLB")
    assert list(scale.frame_x) == list(range(10, 91, 10))
    assert [line.dash for line in loss.lines] == [False] * 3 + [True] * 3
    # A shorter method ends in its strip.
    assert np.array_equal(np.isnan(scale.lines[0].y), scale.x > 40)
    assert exploring_stretches(run.views[2]) == []  # no mask, no noise left out
    settings = replace(SMALL, noise_free=True, exploration=0.4)
    view = SPIRAL.view(fit_of("csglb", settings), settings)
    assert exploring_stretches(view) == [(1.0, 10.0), (26.0, 35.0), (51.0, 60.0), (76.0, 85.0)]
