"""What an edit of the rows did to a score, under the lasso and elsewhere; predictions judged.

A prediction is asked for before the maps are fitted again, and judged by the mean over the cells
under the lasso. A change counts once it exceeds half of the standard deviation of the training
rows' own scores before the edit. Another seed alone, on the same rows, moves the mean over a disc
around a row by less in nine of ten discs on each set of the page, for every score but data
uncertainty on the moons and inference novelty on the rings (0.99 and 0.74 standard deviations).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.novelty.data import Array, Mask
from gbuq_core.experiments.novelty.edits import Edit
from gbuq_core.experiments.novelty.fit import NoveltyMaps
from gbuq_core.experiments.novelty.plan import METHODS
from gbuq_core.presentation import short
from gbuq_core.validation import check_choice

THRESHOLD = 0.5  # of the std of the training rows' own scores before the edit
OPTIONS = ("rise", "stay", "fall")
_TEXTS = {"rise": "rose", "stay": "stayed", "fall": "fell"}


class RegionChange(NamedTuple):
    """Cells, the mean score in them before and after, and their difference; NaN without cells."""

    n_cells: int
    before: float
    after: float
    change: float


@dataclass(frozen=True, kw_only=True)
class MapChange:
    """One score before and after an edit."""

    key: str
    label: str
    # `before`, `after`, `difference`: (3600,): the difference is after minus before
    before: Array
    after: Array
    difference: Array
    # `inside`, `outside`: under the lasso, and elsewhere
    inside: RegionChange
    outside: RegionChange
    threshold: float  # the smallest change of a mean that counts, in the units of the score


class Question(NamedTuple):
    """A question to be answered before the fit, by one of `OPTIONS`.

    key, text; score : the key of `METHODS` it is about; inside : under the lasso, or elsewhere;
    kinds : the edits that it makes sense for.
    """

    key: str
    text: str
    score: str
    inside: bool
    kinds: tuple[str, ...]


class Judgement(NamedTuple):
    """A prediction held against the numbers.

    outcome : one of `OPTIONS`; right : whether it was predicted; change : of the mean, in the units
    of the score; text : a sentence or two.
    """

    outcome: str
    right: bool
    change: float
    text: str


_ALL = ("remove", "add", "duplicate", "flip")
QUESTIONS = (
    *(
        Question(f"{score}_inside", f"Inside the outline, {what} will \u2026", score, True, kinds)
        for score, what, kinds in (
            ("novelty", "novelty", _ALL),
            ("knowledge", "knowledge uncertainty", _ALL),
            ("data", "data uncertainty", ("add", "flip")),
            ("isolation", "the isolation forest's score", _ALL),
            ("distance", "the distance to the nearest rows", ("remove", "duplicate")),
        )
    ),
    Question(
        "novelty_outside", "Outside the lasso, novelty will on average \u2026", "novelty", False,
        ("remove", "add"),
    ),
)  # fmt: skip


def compare_maps(before: NoveltyMaps, after: NoveltyMaps, key: str, mask: Mask) -> MapChange:
    """One score before and after an edit."""
    check_choice("score", key, tuple(METHODS))
    if key not in before.keys or key not in after.keys:
        raise InvalidParameter(
            f"{METHODS[key].label} is not known for these data. Choose another score."
        )
    old, new = before.of(key), after.of(key)
    inside = np.asarray(mask, dtype=bool)
    difference = new - old
    return MapChange(
        key=key,
        label=METHODS[key].label,
        before=old,
        after=new,
        difference=difference,
        inside=_region(old, new, inside),
        outside=_region(old, new, ~inside),
        threshold=THRESHOLD * float(before.of_rows(key).std()),
    )


def outcome_of(change: float, threshold: float) -> str:
    """Whether a mean rose, fell, or stayed within the threshold.

    >>> outcome_of(0.3, 0.1), outcome_of(-0.05, 0.1), outcome_of(-0.3, 0.1)
    ('rise', 'stay', 'fall')
    """
    if change > threshold:
        return "rise"
    return "fall" if change < -threshold else "stay"


def questions_for(edits: Sequence[Edit], limit: int = 3) -> tuple[Question, ...]:
    """The questions that suit the last edit; none without one."""
    if not edits:
        return ()
    kind = edits[-1].kind
    return tuple(question for question in QUESTIONS if kind in question.kinds)[:limit]


def judge_prediction(
    question: str, answer: str, before: NoveltyMaps, after: NoveltyMaps, mask: Mask
) -> Judgement:
    """Hold an answer against what the maps did."""
    by_key = {question.key: question for question in QUESTIONS}
    answered = by_key[check_choice("question", question, tuple(by_key))]
    check_choice("answer", answer, OPTIONS)
    change = compare_maps(before, after, answered.score, mask)
    region = change.inside if answered.inside else change.outside
    if not region.n_cells:
        raise InvalidParameter("No cell can be judged here. Draw another lasso.")
    outcome = outcome_of(region.change, change.threshold)
    right = outcome == answer
    verdict = f"{'Right' if right else 'Wrong'}: you predicted \u201c{answer}\u201d"
    text = (
        f"{verdict}. {change.label} {_TEXTS[outcome]} from {short(region.before)} to "
        f"{short(region.after)} ({short(region.change, 2, '+')}), as the mean over "
        f"{region.n_cells:,} cells {'under' if answered.inside else 'outside'} the lasso. A change "
        f"of at most {short(change.threshold, 2)} counts as staying: half of the score's standard "
        "deviation over the training rows before the edit."
    )
    return Judgement(outcome, right, region.change, text)


def _region(before: Array, after: Array, cells: Mask) -> RegionChange:
    if not cells.any():
        return RegionChange(0, math.nan, math.nan, math.nan)
    old, new = float(before[cells].mean()), float(after[cells].mean())
    return RegionChange(int(cells.sum()), old, new, new - old)
