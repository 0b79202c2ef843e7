"""Lesson: what makes a place new to a model, and which scores notice.

Merilinna, "Advanced uncertainty quantification and novelty detection for random forest models"
(MACAU, 2023), section 3.2.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from demos.lesson import Lesson, Shown, Step
from demos.novelty.parts import (
    as_map,
    box_edit,
    edit_sheet,
    feature_strip,
    listed,
    run_of,
    score_map,
    scores_of,
    share_of_steps,
    sheet_of,
    walk_strip,
    went,
    went_elsewhere,
    with_strips,
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
from gbuq_core.experiments.novelty.edits import mask_of
from gbuq_core.experiments.novelty.fit import NoveltyMaps, predict_places, ranks_of
from gbuq_core.experiments.novelty.look import PlaceLook, explain_place
from gbuq_core.experiments.novelty.plan import METHODS, NoveltySettings
from gbuq_core.experiments.ranking import rank_correlation
from gbuq_core.figures.canvas.panels import Line, Marker
from gbuq_core.figures.novelty.charts import tree_sheet
from gbuq_core.presentation import digits


class NoveltyPreset(NamedTuple):
    """What the Novelty maps page is opened with; the cell (row, column) from 0 is looked at."""

    settings: NoveltySettings
    cell: tuple[int, int] = (44, 49)


_MAPS = ("truth", "novelty", "knowledge", "isolation", "distance")
MOONS = NoveltyPreset(NoveltySettings(ranks="cells", methods=_MAPS))
BLOBS = NoveltyPreset(
    NoveltySettings(
        data="blobs", ranks="cells", methods=("truth", "novelty", "isolation"),
        compared=("novelty", "isolation"),
    )
)  # fmt: skip
THIRD = NoveltyPreset(
    NoveltySettings(
        third=True, third_at=3.0, ranks="rows", methods=("truth", "novelty", "conditional")
    ),
    (35, 26),
)
RINGS = NoveltyPreset(
    NoveltySettings(data="rings", ranks="cells", methods=("truth", "novelty", "distance")), (30, 30)
)
CLIPPED = NoveltyPreset(
    NoveltySettings(tail="clip", methods=("truth", "novelty", "distance")), (30, 10)
)
ARC = box_edit("rings", "remove", (0.3, 1.4), (-1.0, 1.0))
MOON_END = box_edit("moons", "remove", (1.2, 2.6), (-1.0, 0.6))
ERASED = NoveltyPreset(
    NoveltySettings(data="rings", methods=("novelty", "knowledge"), edits=(ARC,)), (30, 36)
)
MISLABELLED = box_edit("moons", "flip", (0.8, 1.2), (-0.8, -0.45))
BLOB_FLIP = box_edit("blobs", "flip", (1.0, 2.0), (-2.0, -1.0))
FLIPPED = NoveltyPreset(
    NoveltySettings(methods=("novelty", "knowledge"), edits=(MISLABELLED,), score="knowledge"),
    (22, 33),
)
APART = 30.0  # points between ranks that count as a contradiction
_OUT, _CORNER = (30, 54), (48, 48)  # cells of the rings' map


def beside_the_truth() -> Shown:
    """Novelty and its rivals beside the density that the rows come from."""
    run = run_of(MOONS.settings)
    scores = scores_of(run)
    rivals = [key for key in _MAPS if key not in ("truth", "novelty")]
    best = max((*rivals, "novelty"), key=lambda key: scores[key].auroc)
    novelty = scores["novelty"]
    text = (
        f"{len(run.fit.rows.y)} rows on two moons, a class each, and a forest of "
        f"{run.fit.n_trees} trees. The first map is the truth: minus the log of the density that "
        "the rows were drawn from. Nearly all rows lie in its outline.",
        "Novelty asks how far a place lies from the rows of its leaf, knowledge uncertainty "
        "whether the trees disagree; the last two know the rows and no class. All maps show "
        "ranks: how many of the map's cells score lower.",
    )
    answer = (
        f"Ordered by novelty, an empty cell comes before one where rows can lie with AUROC "
        f"{novelty.auroc:.3f}, where 0.5 is chance; its ranks correlate with the truth's by "
        f"{novelty.rank_correlation:.2f}. "
        + " ".join(
            f"{METHODS[key].label} {detects(scores[key].auroc)} (AUROC {scores[key].auroc:.3f}, "
            f"correlation {scores[key].rank_correlation:.2f})."
            for key in rivals
        )
        + f" The best detector here is {METHODS[best].label.lower()}."
        + (
            " The paper's claim that novelty beats the isolation forest "
            + ("holds" if novelty.auroc > scores["isolation"].auroc else "does not hold")
            + " on these rows."
        )
    )
    sheet = sheet_of(run, [score_map(run, key) for key in _MAPS])
    return Shown(text, answer, replace(sheet, panel_height=240))


def who_is_right() -> Shown:
    """Where novelty and the isolation forest contradict each other, and what the truth says."""
    moons, run = run_of(MOONS.settings), run_of(BLOBS.settings)
    scores, apart = scores_of(run), run.view.disagreement
    assert apart is not None  # two scores are compared
    at = int(apart.spread.argmax())
    x, y = run.fit.data.grid[at].tolist()
    ranks = {key: ranks_of(run.maps, key) for key in ("truth", "novelty", "isolation")}
    won = [nearer_share(each.maps) for each in (run, moons)]
    steps = {key: 100 * share_of_steps(run.maps.of(key)) for key in ("novelty", "isolation")}
    text = (
        "Two blobs at the upper left and a tilted one at the lower right. The two other corners "
        "are empty, yet lie beside rows along either feature, and an isolation forest cuts along "
        "one feature at a time: a trap for it.",
        "The last map shows how far the ranks of the two lie apart; the ring is where they "
        "contradict each other most.",
    )
    answer = (
        f"At the ring, {x:.2g}, {y:.2g}, novelty ranks above {ranks['novelty'][at]:.0f} % of the "
        f"cells and the isolation forest above {ranks['isolation'][at]:.0f} %; the truth's rank "
        f"is {ranks['truth'][at]:.0f}. The ranks lie more than {APART:.0f} points apart in "
        f"{100 * float((apart.spread > APART).mean()):.0f} % of the cells. {nearer_words(*won)} "
        f"The stripes: in {steps['isolation']:.0f} % of the cells the isolation forest says to "
        "the last digit what it says one cell to the left, as beyond the outermost cut nothing "
        f"changes any more (novelty: {steps['novelty']:.0f} %). As detectors novelty has AUROC "
        f"{scores['novelty'].auroc:.3f} here and the isolation forest "
        f"{scores['isolation'].auroc:.3f}; in the trap, empty cells beside rows both ways, "
        f"{scores['novelty'].auroc_crossings:.3f} and {scores['isolation'].auroc_crossings:.3f}. "
        f"The plain distance to rows has {scores['distance'].auroc:.3f} and "
        f"{scores['distance'].auroc_crossings:.3f}."
    )
    maps = [score_map(run, key) for key in ("truth", "novelty", "isolation")]
    return Shown(text, answer, sheet_of(run, maps, apart=True, point=(x, y)))


def nearer_share(maps: NoveltyMaps) -> float:
    """Of the cells where novelty and isolation forest contradict, how often novelty is nearer."""
    truth, one, other = (ranks_of(maps, key) for key in ("truth", "novelty", "isolation"))
    far = np.abs(one - other) > APART
    return float((np.abs(one - truth) < np.abs(other - truth))[far].mean())


def unused_feature() -> Shown:
    """A feature that says nothing of the class: novelty sees it, conditional novelty does not."""
    run = run_of(THIRD.settings)
    fit, at = run.fit, THIRD.settings.third_at
    strip, means = feature_strip(fit)
    before, after = ({key: line[i] for key, line in means.items()} for i in (4, 4 + int(at)))
    used = fit.model.forest_.trees.feature
    n_used = int((used == 2).sum())
    text = (
        "The same moons with a third feature: noise of mean 0 and standard deviation 1 that has "
        f"nothing to do with the class. All over the maps it is {at:g}, farther out than "
        f"{100 * float((fit.rows.X[:, 2] < at).mean()):.1f} % of the rows.",
        "Conditional novelty looks only at the features on the path to a leaf. Ranks are now "
        "among the training rows; the chart follows their mean over the cells where rows can lie "
        "while the third feature moves.",
    )
    answer = (
        f"Novelty: among the rows its mean rank goes from {before['novelty']:.0f} with the "
        f"feature at 0 to {after['novelty']:.0f} at {at:g}, {new_there(after['novelty'])}. "
        f"Conditional novelty: from {before['conditional']:.0f} to {after['conditional']:.0f}, "
        f"{new_there(after['conditional'])}. Of {len(used):,} splits the trees spend {n_used} on "
        f"the third feature{', by chance' if n_used else ''}; only there it can count. Which one "
        "is right depends on the question: nobody has seen such a row, but the prediction hardly "
        "depends on what is odd about it."
    )
    maps = [score_map(run, key) for key in THIRD.settings.methods]
    sheet = replace(sheet_of(run, maps), panel_height=240)
    return Shown(text, answer, with_strips(sheet, [strip]))


def why_here() -> Shown:
    """The ellipse of a leaf that goes round the hole covers it; shares of the distance."""
    run = run_of(RINGS.settings)
    x, y = run.fit.data.axes
    middle, out, corner = (
        explain_place(run.fit, run.maps, run.settings, (float(x[column]), float(y[row])))
        for row, column in (RINGS.cell, _OUT, _CORNER)
    )
    text = (
        "A ring inside a ring, a class each. The middle is empty: no row can lie there. The "
        f"ellipses are the leaves of the {len(middle.top)} trees that find it most novel, at two "
        "standard deviations of their rows.",
        "Below: what every tree says of the middle. Novelty is the mean.",
    )
    answer = (
        f"{middle_words(middle)} Further out it is {digits(out.value_of('novelty'))} at a, where "
        f"the squared distance comes from {_shares(out)}, and "
        f"{digits(corner.value_of('novelty'))} at b, from {_shares(corner)}. Such shares are the "
        "mean of what a feature adds over all "
        "orders of features (Shapley)."
    )
    maps = [score_map(run, key, ellipses=key == "novelty") for key in RINGS.settings.methods]
    sheet = sheet_of(run, maps, middle)
    marks = [Marker(*out.point, "a", "cross"), Marker(*corner.point, "b", "cross")]
    sheet = replace(sheet, markers=(*sheet.markers, *marks), panel_height=240)
    return Shown(text, answer, with_strips(sheet, tree_sheet(middle.z).strips))


def _shares(look: PlaceLook) -> str:
    parts = zip(("x1", "x2"), look.shares, strict=True)
    return listed([f"{name} by {100 * share:.0f} %" for name, share in parts])


def clipped_tail() -> Shown:
    """Beyond the farthest row the authors' z-score says the same everywhere."""
    clipped, rising = run_of(CLIPPED.settings), run_of(replace(CLIPPED.settings, tail="rise"))
    empty = ~clipped.fit.data.in_support
    truth = clipped.maps.of("truth")
    z = [each.maps.of("novelty") for each in (rising, clipped)]
    flat = float((z[1] >= z[1].max() - 0.01).mean())
    follows = [rank_correlation(each[empty], truth[empty]) for each in z]
    aurocs = [scores_of(each)["novelty"].auroc for each in (rising, clipped)]
    row = CLIPPED.cell[0]
    text = (
        "In each tree a distance becomes a z-score by its rank among those of the training rows, "
        "each to its own leaf. Beyond the farthest there is no rank left: the authors' code stops "
        "at 5.2, this package lets z rise with the distance.",
        "The arrow and the chart walk across the moons.",
    )
    answer = tail_words(flat, float(z[1].max()), float(z[0].max()), follows, aurocs)
    maps = [
        score_map(clipped, "truth"),
        score_map(clipped, "distance"),
        score_map(rising, "novelty", "Novelty, rising"),
        score_map(clipped, "novelty", "Novelty, clipped"),
    ]
    x, y = clipped.fit.data.axes
    walk = Line([x[0], x[-1]], [y[row], y[row]], arrow=True)
    lines = [as_map(values)[row] for values in z]
    strip = walk_strip(x, lines, as_map(~empty)[row], f"Along x2 = {y[row]:.2f}")
    sheet = replace(sheet_of(clipped, maps), lines=(walk,), panel_height=240)
    return Shown(text, answer, with_strips(sheet, [strip]))


def rows_erased() -> Shown:
    """Take an arc of the inner ring away."""
    after = run_of(ERASED.settings)
    before = run_of(replace(ERASED.settings, edits=()))
    moon = went_elsewhere(run_of(MOONS.settings), MOON_END)
    inside = {key: went(before, after, key) for key in ("novelty", "knowledge", "isolation")}
    arc = mask_of(ARC.runs)
    called = [predict_places(run.fit, run.fit.data.grid[arc]) for run in (before, after)]
    taken = float((called[0].argmax(axis=1) != called[1].argmax(axis=1)).mean())
    top = float(after.maps.of("novelty")[arc].max())
    text = (
        "Take rows away and train again: do the maps notice? On the moons, without the end of "
        f"one of them, novelty {moon[0]} on average where its rows were, and knowledge "
        f"uncertainty {moon[1]}.",
        "Now an arc of the inner ring, outlined. Say first what both scores will do there, then "
        "move the slider: the changes appear, and the rows are gone.",
    )
    answer = (
        f"{after.fit.rows.outcomes[-1].text} Within the outline novelty {inside['novelty']}, "
        f"knowledge uncertainty {inside['knowledge']} and the isolation forest's score "
        f"{inside['isolation']}. A change counts from half of the standard deviation among the "
        "training rows before. " + erased_words(inside["novelty"], inside["knowledge"], taken, top)
    )
    return Shown(text, answer, edit_sheet(before, after, ("novelty", "knowledge"), answer))


def labels_flipped() -> Shown:
    """Give some rows the other class; none is moved."""
    after = run_of(FLIPPED.settings)
    before = run_of(replace(FLIPPED.settings, edits=()))
    keys = ("novelty", "knowledge", "data", "isolation")
    inside = {key: went(before, after, key) for key in keys}
    same = bool((before.maps.of("isolation") == after.maps.of("isolation")).all())
    blob = went_elsewhere(run_of(BLOBS.settings), BLOB_FLIP)
    text = (
        "The moons again. The rows in the outlined box get the other class, as if mislabelled: "
        "no row is moved, none is gone.",
        "Which of the two scores should change? Say it, then move the slider.",
    )
    answer = (
        f"{after.fit.rows.outcomes[-1].text} There novelty {inside['novelty']}, knowledge "
        f"uncertainty {inside['knowledge']} and data uncertainty {inside['data']}. The isolation "
        f"forest knows no class: its map {'is the same to the last digit' if same else 'changes'}. "
        "Novelty knows them by way of the leaves, as trees split where classes change: outside the "
        f"box its mean {went(before, after, 'novelty', inside=False)}. In a box of "
        f"the blobs whose rows are flipped it {blob[0]}, knowledge uncertainty {blob[1]}: "
        + flipped_words(blob[0])
    )
    return Shown(text, answer, edit_sheet(before, after, ("novelty", "knowledge"), answer))


LESSON = Lesson(
    name="novelty",
    title="What makes a place new",
    lead="Seven pictures of one experiment, about ten minutes. All numbers are computed as you "
    "read.",
    page="novelty",
    source="After Merilinna, Advanced uncertainty quantification and novelty detection for random "
    "forest models, section 3.2 (doi 10.5121/csit.2023.131920).",
    steps=(
        Step("Where rows can lie", "Which scores find the empty cells?", MOONS, beside_the_truth),
        Step("Two scores contradict", "Which of the two is right?", BLOBS, who_is_right),
        Step("A feature nobody uses", "To which score are these places new?", THIRD,
             unused_feature),
        Step("An empty middle", "How new is the middle, and why?", RINGS, why_here),
        Step("A tail that is cut off", "What is lost if z stops?", CLIPPED, clipped_tail),
        Step("Rows taken away", "Do novelty and knowledge uncertainty notice?", ERASED,
             rows_erased),
        Step("Labels flipped", "Is a place new if only its labels are?", FLIPPED, labels_flipped),
    ),
)  # fmt: skip
