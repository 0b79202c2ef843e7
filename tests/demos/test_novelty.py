"""The lesson on novelty: its numbers, the facts that its sentences rest on, and both branches."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from lesson_parts import computed
from tolerances import NEAR_ZERO

from demos.novelty.parts import change_of, novelty_view, share_of_steps
from demos.novelty.steps import (
    APART,
    ERASED,
    LESSON,
    MOONS,
    RINGS,
    nearer_share,
)
from gbuq_core.figures.canvas.encoding import encode_sheet
from gbuq_core.metrics import auroc
from gbuq_core.presentation import digits
from gbuq_core.study.novelty import explain_place
from gbuq_core.study.novelty_maps import ranks_of, squares_around
from tests.figure_readers import decode_sheet

PRESETS = {step.title: step.preset for step in LESSON.steps}
shown = partial(computed, "novelty")


def test_the_first_answer_has_the_scores_of_the_maps_against_the_truth():
    run, answer = novelty_view(MOONS), shown("Where rows can lie")
    empty = ~run.data.in_support
    for key in ("novelty", "knowledge", "isolation", "distance"):
        value = auroc(empty, run.maps.of(key))
        assert f"{value:.2f}" in answer.answer
    scores = run.numbers
    assert scores["distance"]["auroc"] == max(score["auroc"] for score in scores.values())
    assert scores["knowledge"]["auroc"] < 0.45  # it points the other way
    assert scores["novelty"]["auroc"] > scores["isolation"]["auroc"]
    assert "isolation forest holds on these rows" in answer.more[-1]


def test_neither_of_two_scores_is_always_right_and_the_ring_is_where_they_differ_most():
    title = "Two scores contradict"
    run, moons, now = novelty_view(PRESETS[title]), novelty_view(MOONS), shown(title)
    assert nearer_share(run.maps) < 0.5 < nearer_share(moons.maps)
    novel, isolated = (ranks_of(run.maps, key) for key in ("novelty", "isolation"))
    at = int(np.abs(novel - isolated).argmax())
    (ring,) = now.sheet.markers
    assert (ring.x, ring.y) == tuple(run.data.grid[at])
    assert (
        f"in {100 * (np.abs(novel - isolated) > APART).mean():.0f} % of the cells" in now.more[-1]
    )
    # Cuts along one feature make stripes; a distance to leaves changes from cell to cell.
    assert share_of_steps(run.maps.of("isolation")) > 0.3
    assert share_of_steps(run.maps.of("novelty")) < 0.01


def test_a_feature_nobody_uses_moves_novelty_and_not_conditional_novelty():
    title = "A feature nobody uses"
    run, now = novelty_view(PRESETS[title]), shown(title)
    (strip,) = now.sheet.strips
    own, conditional = (np.asarray(line.y) for line in strip.lines)
    # The chart's value at 3 is the mean of the page's map over the cells where rows can lie.
    cells = run.data.in_support
    for line, key in ((own, "novelty"), (conditional, "conditional")):
        assert line[7] == pytest.approx(
            ranks_of(run.maps, key, "rows")[cells].mean(), abs=NEAR_ZERO
        )
    assert own[7] - own[4] > 40
    assert abs(conditional[7] - conditional[4]) < 10
    assert f"from {own[4]:.0f} to {own[7]:.0f}, conditional" in now.answer
    used = run.fit.model[0].forest_.trees.feature
    assert 0 < (used == 2).sum() < 0.05 * len(used)


def test_the_empty_middle_of_the_rings_is_the_least_novel_place():
    now, run = shown("An empty middle"), novelty_view(RINGS)
    row, column = RINGS.cell
    cell = 60 * row + column
    assert not run.data.in_support[cell]
    assert ranks_of(run.maps, "novelty")[cell] < 1
    assert ranks_of(run.maps, "distance", "rows")[cell] > 99
    ring, *crosses = now.sheet.markers
    assert [mark.label for mark in crosses] == ["a", "b"]
    out = explain_place(run, (crosses[0].x, crosses[0].y))
    assert out.shares.sum() == pytest.approx(1.0)
    assert out.shares[0] > 0.9  # straight out along x1
    assert f"{digits(out.value_of('novelty'))} at a" in now.more[-1]
    # The leaves drawn hold the ring around the middle: their means lie inside it.
    middle = explain_place(run, (ring.x, ring.y))
    assert np.hypot(*middle.ellipses.centre.T).max() < 0.5


def test_a_clipped_tail_detects_as_well_and_orders_worse():
    now = shown("A tail that is cut off")
    (strip,) = now.sheet.strips
    rising, clipped = (np.asarray(line.y) for line in strip.lines)
    assert clipped.max() < 5.21 < rising.max()  # the authors' code stops at 5.2
    kinds = np.asarray(now.sheet.panels[2].values), np.asarray(now.sheet.panels[3].values)
    row = PRESETS["A tail that is cut off"].cell[0]
    np.testing.assert_array_equal(kinds[0][row], rising)
    np.testing.assert_array_equal(kinds[1][row], clipped)


def before_and_after():
    """The runs with all rows and without the erased ones."""
    return [novelty_view(replace(ERASED, erased=places)) for places in ((), ERASED.erased)]


def test_the_first_frame_without_rows_gives_nothing_away():
    before, after = before_and_after()
    sheet, answer = shown("Rows taken away").sheet, shown("Rows taken away").answer
    header = decode_sheet(encode_sheet(sheet)).header
    assert (header["frames"], sheet.start_frame) == (2, 0)
    squares = squares_around(ERASED.erased)
    for panel, key in zip(sheet.panels[::2], ("novelty", "knowledge"), strict=True):
        pair = np.asarray(panel.values).reshape(2, -1)
        np.testing.assert_array_equal(pair[0], before.maps.of(key))
        np.testing.assert_array_equal(pair[1], after.maps.of(key))
        old, new = (float(run.maps.of(key)[squares].mean()) for run in (before, after))
        assert f"({digits(old)} to {digits(new)})" in answer
    for panel in sheet.panels[1::2]:
        assert np.isnan(np.asarray(panel.values)[0]).all()
    points = sheet.panels[0].points
    for frame, run in enumerate((before, after)):
        there = points.vanish > frame
        drawn = np.column_stack([points.x, points.y, points.group])[there]
        rows = np.column_stack([run.data.X, run.data.y])
        np.testing.assert_array_equal(np.unique(drawn, axis=0), np.unique(rows, axis=0))


def test_an_arc_that_is_gone_is_noticed_by_knowledge_uncertainty_alone():
    before, after = before_and_after()
    assert change_of(before, after, "novelty").words.startswith("stays")
    assert change_of(before, after, "knowledge").words.startswith("rises")
    arc = squares_around(ERASED.erased)
    assert after.maps.of("novelty")[arc].max() < 3  # nothing in it is far out
    assert "of its cells change their class" in shown("Rows taken away").answer
    assert "novelty rises" in shown("Rows taken away").more[0]
