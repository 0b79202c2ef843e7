"""Lesson: what makes a place new to a model, and which scores notice.

Merilinna, "Advanced uncertainty quantification and novelty detection for random forest models"
(MACAU, 2023), section 3.2.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from demos.asking import Between, Largest, both_of
from demos.lesson import ComputedStep, Lesson, Step
from demos.novelty.parts import (
    THIRDS,
    by_third_feature,
    change_of,
    changes_elsewhere,
    erased_sheet,
    followed,
    novelty_view,
    share_of_steps,
    walk_strip,
    with_strips,
)
from gbuq_core.experiments.ranking import rank_correlation
from gbuq_core.figures.canvas.panels import Line, Marker
from gbuq_core.presentation import digits, enumerated
from gbuq_core.study.novelty import (
    as_map,
    explain_place,
    novelty_panels,
    novelty_sheet,
    predict_places,
    score_panel,
    tree_sheet,
    unit_of,
)
from gbuq_core.study.novelty_maps import (
    SCORES,
    NoveltyMaps,
    NoveltySettings,
    PlaceLook,
    describe_erased,
    ranks_of,
    squares_around,
)

_MAPS = ("truth", "novelty", "knowledge", "isolation", "distance")
_MIDDLE = NoveltySettings(row=45, column=50)  # the cell that is looked at
MOONS = replace(_MIDDLE, maps=(*_MAPS, "apart"))
BLOBS = replace(
    _MIDDLE,
    data="blobs",
    maps=("truth", "novelty", "isolation", "apart"),
    compared=("novelty", "isolation"),
)
THIRD = NoveltySettings(
    third=True,
    third_at=3.0,
    show="rows",
    maps=("truth", "novelty", "conditional", "apart"),
    row=36,
    column=27,
)
RINGS = NoveltySettings(
    data="rings", maps=("truth", "novelty", "distance", "apart"), row=31, column=31
)
CLIPPED = NoveltySettings(
    tail="clip", show="value", maps=("truth", "novelty", "distance", "apart"), row=31, column=11
)
_ARC, _MOON_END = (30, 37), (26, 40)  # in the inner ring, and at the end of a moon
ERASED = NoveltySettings(
    data="rings",
    show="value",
    maps=("novelty", "knowledge", "apart"),
    erased=(_ARC,),
    row=31,
    column=38,
)
APART = 30.0  # points between ranks that count as a contradiction
_OUT, _CORNER = (30, 54), (48, 48)  # cells of the rings' map


def beside_the_truth() -> ComputedStep:
    """Novelty and its rivals beside the density that the rows come from."""
    run = novelty_view(MOONS)
    scores = run.numbers
    rivals = [key for key in _MAPS if key not in ("truth", "novelty")]
    novelty = scores["novelty"]
    follows = enumerated(
        [f"{SCORES[key].label} {scores[key]['rank_correlation']:.2f}" for key in _MAPS[1:]]
    )
    notes = (
        f"A forest of {run.fit.n_trees} trees learns {len(run.data.y)} rows. Nearly all rows "
        "lie in the outline of the truth. Isolation forest and distance do not use the class. The "
        f"rank correlations with the truth: {follows}. The paper's claim that novelty beats the "
        "isolation forest "
        + ("holds" if novelty["auroc"] > scores["isolation"]["auroc"] else "does not hold")
        + " on these rows.",
    )
    sheet, table = followed(run, {key: score_panel(run, key) for key in run.keys})
    sheet = replace(sheet, panel_height=240)
    text = (
        "A forest learns two moons. The first map is the truth: minus the log of the density of "
        "rows. All maps show ranks of cells."
    )
    right = Largest((*(0.45 - scores[key]["auroc"] for key in ("novelty", *rivals)), 0.0))
    answer = (
        f"AUROC for empty cells: novelty {novelty['auroc']:.2f}, knowledge "
        f"{scores['knowledge']['auroc']:.2f}, isolation forest {scores['isolation']['auroc']:.2f}, "
        f"distance {scores['distance']['auroc']:.2f}; 0.5 is chance. Trees disagree where classes "
        "meet, not where rows are missing."
    )
    return ComputedStep(text, right, answer, sheet, notes, (table,))


def who_is_right() -> ComputedStep:
    """Where novelty and the isolation forest contradict each other, and what the truth says."""
    moons, run = novelty_view(MOONS), novelty_view(BLOBS)
    scores, apart = run.numbers, run.apart
    assert apart is not None  # two scores are compared
    at = int(apart.spread.argmax())
    x, y = run.data.grid[at].tolist()
    ranks = {key: ranks_of(run.maps, key) for key in ("truth", "novelty", "isolation")}
    won = [nearer_share(each.maps) for each in (run, moons)]
    steps = {key: 100 * share_of_steps(run.maps.of(key)) for key in ("novelty", "isolation")}
    notes = (
        "An isolation forest cuts along one feature at a time: beyond the outermost cut nothing "
        f"changes, and in {steps['isolation']:.0f} % of the cells it has exactly the value of the "
        f"cell to the left (novelty: {steps['novelty']:.0f} %).",
        f"The ranks differ by more than {APART:.0f} points in "
        f"{100 * float((apart.spread > APART).mean()):.0f} % of the cells, and most at the ring "
        f"({x:.2g}, {y:.2g}). Novelty ranks it above {ranks['novelty'][at]:.0f} % of the cells, "
        f"the isolation forest above {ranks['isolation'][at]:.0f} %; the true rank is "
        f"{ranks['truth'][at]:.0f}.",
    )
    text = (
        "Two corners are empty, but have rows beside them along both features. The last map "
        "shows where novelty and the isolation forest contradict each other."
    )
    right = Between(won[0], (0.45, 0.55))
    answer = (
        f"Novelty is nearer in {100 * won[0]:.0f} % of such cells, on the moons in "
        f"{100 * won[1]:.0f} %. In the empty corners its AUROC is "
        f"{scores['novelty']['auroc_crossings']:.2f}; the isolation forest has "
        f"{scores['isolation']['auroc_crossings']:.2f}, plain distance "
        f"{scores['distance']['auroc_crossings']:.2f}."
    )
    sheet, table = followed(run, novelty_panels(run), point=(x, y))
    return ComputedStep(text, right, answer, sheet, notes, (table,))


def nearer_share(maps: NoveltyMaps) -> float:
    """Of the cells where novelty and isolation forest contradict, how often novelty is nearer."""
    truth, novelty, other = (ranks_of(maps, key) for key in ("truth", "novelty", "isolation"))
    far = np.abs(novelty - other) > APART
    return float((np.abs(novelty - truth) < np.abs(other - truth))[far].mean())


def unused_feature() -> ComputedStep:
    """A feature that says nothing of the class: novelty sees it, conditional novelty does not."""
    run = novelty_view(THIRD)
    at = THIRD.third_at
    strip, means, ranks = by_third_feature(run)
    before, after = ({key: line[i] for key, line in means.items()} for i in (4, 4 + int(at)))
    used = run.fit.model[0].forest_.trees.feature
    n_used = int((used == 2).sum())
    notes = (
        "Ranks are among the training rows. The chart shows their mean over the cells where rows "
        f"can lie. The trees use the third feature in {n_used} of {len(used):,} splits; only there "
        "can it count for conditional novelty.",
    )
    maps = {key: score_panel(run, key) for key in run.keys}
    maps |= {key: replace(maps[key], values=as_map(values)) for key, values in ranks.items()}
    sheet = replace(
        novelty_sheet(run, maps),
        panel_height=240,
        frame_label="third feature",
        frame_values=[f"{value:g}" for value in THIRDS],
        frames_per_second=2.0,
        start_frame=int(np.searchsorted(THIRDS, at)),
    )
    text = (
        f"A third feature is noise. On the maps it is {at:g}, more than in nearly all rows. "
        "Conditional novelty uses only features on the path to a leaf."
    )
    right = Largest(both_of(after["novelty"] - 95.0, after["conditional"] - 95.0))
    answer = (
        f"Moving the feature from 0 to {at:g} takes novelty's mean rank from "
        f"{before['novelty']:.0f} to {after['novelty']:.0f}, conditional novelty's from "
        f"{before['conditional']:.0f} to {after['conditional']:.0f}. Nobody has seen such a row, "
        "but the prediction hardly depends on it."
    )
    return ComputedStep(text, right, answer, with_strips(sheet, [strip]), notes)


def why_here() -> ComputedStep:
    """The ellipse of a leaf that goes round the hole covers it; shares of the distance."""
    run = novelty_view(RINGS)
    x, y = run.data.axes
    middle, out, corner = (
        explain_place(run, (float(x[column]), float(y[row])))
        for row, column in (RINGS.cell, _OUT, _CORNER)
    )
    sizes = [len(rows) for rows in middle.leaf_rows]
    notes = (
        f"The leaves are those of the {len(middle.top)} trees with the highest z; they hold "
        f"{min(sizes):,} to {max(sizes):,} rows. The chart shows the z-score of every tree; "
        "novelty is their mean.",
        f"Further out, novelty is {digits(out.value_of('novelty'))} at a, where the squared "
        f"distance comes from {_shares(out)}, and {digits(corner.value_of('novelty'))} at b, where "
        f"it comes from {_shares(corner)}. These shares are Shapley values.",
    )
    maps = {key: score_panel(run, key, look=middle) for key in run.keys}
    sheet, table = followed(run, maps, look=middle)
    marks = [Marker(*out.point, "a", "cross"), Marker(*corner.point, "b", "cross")]
    sheet = replace(sheet, markers=(*sheet.markers, *marks), panel_height=240)
    ranks = {value.key: value for value in middle.values}
    text = (
        "One ring lies inside another; no row can lie in the middle. The ellipses are leaves, "
        "two standard deviations wide."
    )
    right = Between(float(ranks["novelty"].rank_rows), (50.0, 95.0))
    answer = (
        f"Its z is higher than at {ranks['novelty'].rank_rows:.0f} % of the training rows; the "
        f"plain distance is higher than at {ranks['distance'].rank_rows:.0f} %. Leaves go round "
        "the hole, and a distance from their mean is smallest in the middle of a ring."
    )
    sheet = with_strips(sheet, tree_sheet(middle).strips)
    return ComputedStep(text, right, answer, sheet, notes, (table,))


def _shares(look: PlaceLook) -> str:
    parts = zip(("x1", "x2"), look.shares, strict=True)
    return enumerated([f"{name} by {100 * share:.0f} %" for name, share in parts])


def clipped_tail() -> ComputedStep:
    """Beyond the farthest row the authors' z-score says the same everywhere."""
    clipped, rising = novelty_view(CLIPPED), novelty_view(replace(CLIPPED, tail="rise"))
    empty = ~clipped.data.in_support
    truth = clipped.maps.of("truth")
    z = [each.maps.of("novelty") for each in (rising, clipped)]
    flat = float((z[1] >= z[1].max() - 0.01).mean())
    follows = [rank_correlation(each[empty], truth[empty]) for each in z]
    aurocs = [each.numbers["novelty"]["auroc"] for each in (rising, clipped)]
    row = CLIPPED.cell[0]
    notes = (
        f"Clipped z ends at {digits(float(z[1].max()))}; rising z goes up to "
        f"{digits(float(z[0].max()))}. The chart shows novelty along the arrow across the moons.",
    )
    drawn = {
        "truth": (clipped, "truth", ""),
        "distance": (clipped, "distance", ""),
        "rising": (rising, "novelty", "Novelty, rising"),
        "clipped": (clipped, "novelty", "Novelty, clipped"),
    }
    maps = {name: score_panel(*each) for name, each in drawn.items()}
    units = {name: unit_of(each, key) for name, (each, key, _) in drawn.items()}
    both = clipped.maps._replace(
        keys=tuple(drawn),
        values=np.stack([each.maps.of(key) for each, key, _ in drawn.values()]),
        rows=np.stack([each.maps.of_rows(key) for each, key, _ in drawn.values()]),
    )
    x, y = clipped.data.axes
    walk = Line([x[0], x[-1]], [y[row], y[row]], arrow=True)
    lines = [as_map(values)[row] for values in z]
    strip = walk_strip(x, lines, as_map(~empty)[row], f"Along x2 = {y[row]:.2f}")
    sheet, table = followed(clipped, maps, both, units)
    sheet = replace(sheet, lines=(walk,), panel_height=240)
    text = (
        "z ranks a distance among those of the training rows. Beyond the farthest row the "
        "authors' code stops at 5.2; here z can also rise."
    )
    right = Largest((aurocs[0] - aurocs[1] - 0.01, follows[0] - follows[1] - 0.05, 0.0))
    answer = (
        f"AUROC for empty cells: {aurocs[0]:.2f} rising, {aurocs[1]:.2f} clipped. Rank "
        f"correlation with the true density among them: {follows[0]:.2f} and {follows[1]:.2f}. "
        f"When clipped, {100 * flat:.0f} % of the cells have the top value."
    )
    return ComputedStep(text, right, answer, with_strips(sheet, [strip]), notes, (table,))


def rows_erased() -> ComputedStep:
    """Take an arc of the inner ring away."""
    before, after = novelty_view(replace(ERASED, erased=())), novelty_view(ERASED)
    novelty, knowledge, isolation = (
        change_of(before, after, key) for key in ("novelty", "knowledge", "isolation")
    )
    moon = [change.words for change in changes_elsewhere(novelty_view(MOONS), _MOON_END)]
    arc = squares_around(ERASED.erased)
    called = [predict_places(run.fit, run.data.grid[arc]) for run in (before, after)]
    share = float((called[0].argmax(axis=1) != called[1].argmax(axis=1)).mean())
    top = float(after.maps.of("novelty")[arc].max())
    notes = (
        "On the moons, when the rows at the end of one moon are gone, novelty "
        f"{moon[0]} on average there, and knowledge uncertainty {moon[1]}.",
        f"{describe_erased(after.data)} The isolation forest's score {isolation.words}. The "
        f"highest z in the square is {digits(top)}. A change counts if it exceeds half of the "
        "score's standard deviation over all training rows.",
    )
    text = (
        "The outlined square loses its rows, and the forest is trained again. Answer first, then "
        "move the slider."
    )
    right = Largest(both_of(novelty.in_thresholds - 1.0, knowledge.in_thresholds - 1.0))
    answer = (
        f"Novelty {novelty.words}; knowledge uncertainty {knowledge.words}. Leaves of the "
        f"rows on both sides now cover the square, and {100 * share:.0f} % of its cells change "
        "their class."
    )
    sheet = erased_sheet(before, after, ("novelty", "knowledge"))
    return ComputedStep(text, right, answer, sheet, notes)


LESSON = Lesson(
    name="novelty",
    title="What makes a place new",
    lead="Six pictures of one experiment, about ten minutes. All numbers are computed as you read.",
    page="novelty",
    source="After Merilinna, Advanced uncertainty quantification and novelty detection for random "
    "forest models, section 3.2 (doi 10.5121/csit.2023.131920).",
    steps=(
        Step(
            "Where rows can lie",
            "Which score points the wrong way?",
            ("Novelty", "Knowledge", "Isolation forest", "Distance", "None"),
            MOONS,
            beside_the_truth,
        ),
        Step(
            "Two scores contradict",
            "Which is nearer to the truth there?",
            ("The isolation forest", "About even", "Novelty"),
            BLOBS,
            who_is_right,
        ),
        Step(
            "A feature nobody uses",
            "Which calls these places new?",
            ("Both", "Novelty only", "Conditional only", "Neither"),
            THIRD,
            unused_feature,
        ),
        Step(
            "An empty middle",
            "How novel is the middle?",
            ("Less than most rows", "More than most", "More than nearly all"),
            RINGS,
            why_here,
        ),
        Step(
            "A tail that is cut off",
            "What does clipped z lose?",
            ("Finding empty cells", "Ordering them", "Nothing"),
            CLIPPED,
            clipped_tail,
        ),
        Step(
            "Rows taken away",
            "Which score rises there?",
            ("Both", "Novelty only", "Knowledge only", "Neither"),
            ERASED,
            rows_erased,
        ),
    ),
)
