"""The lesson on novelty: its numbers, the facts that its sentences rest on, and both branches."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from lesson_parts import computed
from tolerances import NEAR_ZERO

from demos.novelty.parts import run_of, scores_of, share_of_steps, went
from demos.novelty.steps import (
    APART,
    ERASED,
    FLIPPED,
    LESSON,
    MISLABELLED,
    MOONS,
    RINGS,
    nearer_share,
)
from demos.novelty.words import (
    detects,
    erased_words,
    flipped_words,
    middle_words,
    nearer_words,
    new_there,
    tail_words,
)
from gbuq_core.experiments.novelty.compare import compare_maps
from gbuq_core.experiments.novelty.edits import mask_of
from gbuq_core.experiments.novelty.fit import ranks_of
from gbuq_core.experiments.novelty.look import explain_place
from gbuq_core.figures.canvas.encoding import encode_sheet
from gbuq_core.metrics import auroc
from gbuq_core.presentation import digits
from tests.figure_readers import decode_sheet

PRESETS = {step.title: step.preset for step in LESSON.steps}


def shown(title):
    return computed("novelty", title)


def both(preset):
    """The runs before and after the edits of a preset."""
    return [run_of(replace(preset, edits=edits)) for edits in ((), preset.edits)]


def test_the_first_answer_has_the_scores_of_the_maps_against_the_truth():
    run, answer = run_of(MOONS), shown("Where rows can lie").more[-1]
    empty = ~run.fit.data.in_support
    for key in ("novelty", "knowledge", "isolation", "distance"):
        value = auroc(empty, run.maps.of(key))
        said = "an AUROC of" if key == "novelty" else "(AUROC"
        assert f"{said} {value:.3f}" in answer
    scores = scores_of(run)
    assert scores["distance"].auroc == max(score.auroc for score in scores.values())
    assert "The best detector here is distance to rows." in answer
    assert scores["knowledge"].auroc < 0.45  # it points the other way
    assert scores["novelty"].auroc > scores["isolation"].auroc
    assert "isolation forest holds on these rows" in answer


def test_neither_of_two_scores_is_always_right_and_the_ring_is_where_they_differ_most():
    title = "Two scores contradict"
    run, moons, now = run_of(PRESETS[title]), run_of(MOONS), shown(title)
    assert nearer_share(run.maps) < 0.5 < nearer_share(moons.maps)
    assert "So neither is always right." in now.more[-1]
    novel, isolated = (ranks_of(run.maps, key) for key in ("novelty", "isolation"))
    at = int(np.abs(novel - isolated).argmax())
    (ring,) = now.sheet.markers
    assert (ring.x, ring.y) == tuple(run.fit.data.grid[at])
    assert (
        f"in {100 * (np.abs(novel - isolated) > APART).mean():.0f} % of the cells" in now.more[-1]
    )
    # Cuts along one feature make stripes; a distance to leaves changes from cell to cell.
    assert share_of_steps(run.maps.of("isolation")) > 0.3
    assert share_of_steps(run.maps.of("novelty")) < 0.01


def test_a_feature_nobody_uses_moves_novelty_and_not_conditional_novelty():
    title = "A feature nobody uses"
    run, now = run_of(PRESETS[title]), shown(title)
    (strip,) = now.sheet.strips
    own, conditional = (np.asarray(line.y) for line in strip.lines)
    # The chart's value at 3 is the mean of the page's map over the cells where rows can lie.
    cells = run.fit.data.in_support
    for line, key in ((own, "novelty"), (conditional, "conditional")):
        assert line[7] == pytest.approx(
            ranks_of(run.maps, key, "rows")[cells].mean(), abs=NEAR_ZERO
        )
    assert own[7] - own[4] > 40
    assert abs(conditional[7] - conditional[4]) < 10
    assert f"from {own[4]:.0f} to {own[7]:.0f}, so they are new." in now.more[-1]
    used = run.fit.model.forest_.trees.feature
    assert 0 < (used == 2).sum() < 0.05 * len(used)


def test_the_empty_middle_of_the_rings_is_the_least_novel_place():
    now, run = shown("An empty middle"), run_of(RINGS)
    row, column = RINGS.cell
    cell = 60 * row + column
    assert not run.fit.data.in_support[cell]
    assert ranks_of(run.maps, "novelty")[cell] < 1
    assert ranks_of(run.maps, "distance", "rows")[cell] > 99
    assert now.more[-1].startswith("It is the least novel place of the map")
    ring, *crosses = now.sheet.markers
    assert [mark.label for mark in crosses] == ["a", "b"]
    out = explain_place(run.fit, run.maps, run.settings, (crosses[0].x, crosses[0].y))
    assert out.shares.sum() == pytest.approx(1.0)
    assert out.shares[0] > 0.9  # straight out along x1
    assert f"{digits(out.value_of('novelty'))} at a" in now.more[-1]
    # The leaves drawn hold the ring around the middle: their means lie inside it.
    middle = explain_place(run.fit, run.maps, run.settings, (ring.x, ring.y))
    assert np.hypot(*middle.ellipses.centre.T).max() < 0.5


def test_a_clipped_tail_detects_as_well_and_orders_worse():
    now = shown("A tail that is cut off")
    (strip,) = now.sheet.strips
    rising, clipped = (np.asarray(line.y) for line in strip.lines)
    assert clipped.max() < 5.21 < rising.max()  # the authors' code stops at 5.2
    assert "ranks the empty cells worse" in now.more[-1]
    assert "finds empty cells as well" in now.more[-1]
    kinds = np.asarray(now.sheet.panels[2].values), np.asarray(now.sheet.panels[3].values)
    row = PRESETS["A tail that is cut off"].cell[0]
    np.testing.assert_array_equal(kinds[0][row], rising)
    np.testing.assert_array_equal(kinds[1][row], clipped)


@pytest.mark.parametrize(
    ("title", "preset"), [("Rows taken away", ERASED), ("Labels flipped", FLIPPED)]
)
def test_the_first_frame_of_an_edit_gives_nothing_away(title, preset):
    before, after = both(preset)
    sheet, answer = shown(title).sheet, shown(title).more[-1]
    header = decode_sheet(encode_sheet(sheet)).header
    assert (header["frames"], sheet.start_frame) == (2, 0)
    for panel, key in zip(sheet.panels[::2], ("novelty", "knowledge"), strict=True):
        pair = np.asarray(panel.values).reshape(2, -1)
        np.testing.assert_array_equal(pair[0], before.maps.of(key))
        np.testing.assert_array_equal(pair[1], after.maps.of(key))
        mask = mask_of(preset.edits[-1].runs)
        inside = compare_maps(before.maps, after.maps, key, mask).inside
        assert f"({digits(inside.before)} to {digits(inside.after)})" in answer
    for panel in sheet.panels[1::2]:
        assert np.isnan(np.asarray(panel.values)[0]).all()
    points = sheet.panels[0].points
    for frame, run in enumerate((before, after)):
        there = (points.appear <= frame) & (points.vanish > frame)
        drawn = np.column_stack([points.x, points.y, points.group])[there]
        rows = np.column_stack([run.fit.rows.X, run.fit.rows.y])
        np.testing.assert_array_equal(np.unique(drawn, axis=0), np.unique(rows, axis=0))


def test_an_arc_that_is_gone_is_noticed_by_knowledge_uncertainty_alone():
    before, after = both(ERASED)
    assert went(before, after, "novelty").startswith("stays")
    assert went(before, after, "knowledge").startswith("rises")
    # Its left lies in leaves of what is left of the ring, its right in those of the outer one.
    for x, label in ((0.4, 0), (1.2, 1)):
        look = explain_place(after.fit, after.maps, after.settings, (x, 0.0))
        assert all((after.fit.rows.y[rows] == label).mean() > 0.9 for rows in look.leaf_rows)
    arc = mask_of(ERASED.edits[-1].runs)
    assert after.maps.of("novelty")[arc].max() < 3  # nothing in it is far out
    assert "of its cells change their class" in shown("Rows taken away").more[-1]
    assert "novelty rises" in shown("Rows taken away").more[0]


def test_labels_leave_the_isolation_forest_alone_and_not_always_novelty():
    before, after = both(FLIPPED)
    cells = mask_of(MISLABELLED.runs)
    flipped = after.fit.rows.y != before.fit.rows.y
    assert 0 < flipped.sum() < 50
    assert cells[before.fit.rows.cell[flipped]].all()
    np.testing.assert_array_equal(before.maps.of("isolation"), after.maps.of("isolation"))
    answer = shown("Labels flipped").more[-1]
    assert "its map does not change at all" in answer
    assert went(before, after, "novelty").startswith("stays")
    assert went(before, after, "knowledge").startswith("rises")
    assert answer.endswith("so labels alone can make a place new.")


def test_sentences_say_what_other_numbers_would_mean():
    worse = [detects(value) for value in (0.95, 0.7, 0.5, 0.2)]
    assert len(set(worse)) == 4
    assert nearer_words(0.3, 0.4).endswith("So the isolation forest wins on both.")
    assert new_there(80.0) not in (new_there(99.0), new_there(50.0))
    better = tail_words(0.1, 5.2, 50.0, (0.5, 0.9), (0.9, 0.95))
    assert "ranks the empty cells better" in better
    assert "finds empty cells better" in better
    alike = tail_words(0.1, 5.2, 50.0, (0.9, 0.9), (0.95, 0.9))
    assert "ranks the empty cells as well" in alike
    assert "finds empty cells worse" in alike
    assert "notices" in erased_words("rises (0 to 2)", "stays (0 to 0)", 0.5, 9.0)
    assert "wrong way" in erased_words("falls (2 to 0)", "rises (0 to 2)", 0.5, 1.0)
    assert "less new" in flipped_words("falls (2 to 0)")
    assert "do not matter" in flipped_words("stays (2 to 2)")


@pytest.mark.parametrize(
    ("cells", "rows", "words"),
    [
        (0.0, 0.0, "It is the least novel place"),
        (10.0, 30.0, "less new than most training rows"),
        (60.0, 99.0, "newer than most training rows"),
    ],
)
def test_the_middle_is_called_what_its_ranks_are(cells, rows, words):
    values = [
        SimpleNamespace(key=key, value=1.0, rank_cells=cells, rank_rows=rows)
        for key in ("novelty", "distance")
    ]
    said = middle_words(SimpleNamespace(values=values, leaf_rows=[np.arange(9)]))
    assert words in said
    assert ("And yet" in said) == (rows >= 50)
