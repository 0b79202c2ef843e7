"""Lesson: a table of one's own, which rows to doubt, and what the scores are worth.

The page "Your data" answers these questions for any table. Here the truth is known: rows are moved
by hand, or the table is made up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from demos.asking import Between, Largest
from demos.lesson import ComputedStep, Lesson, Step
from demos.your_data.tables import (
    BLUE,
    FIVE,
    GREEN,
    GREY,
    N_NEW,
    ORANGE,
    SEEDS,
    TABLES,
    TARGET,
    curves,
    detect,
    score_diabetes,
    split_errors,
)
from gbuq_core import tables
from gbuq_core.figures.canvas.panels import PanelSheet, Strip, StripLine
from gbuq_core.figures.table.learning import VERDICTS
from gbuq_core.metrics import binomial_band
from gbuq_core.presentation import number_word, short
from gbuq_core.tables.code import TableRecipe
from gbuq_core.tables.plan import Cut, Edits, ReadOptions


class TablePreset(NamedTuple):
    """What the page Your data is opened with: a table with its plan, and one of its sections."""

    settings: TableRecipe
    section: str


LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)

_RECIPE = TableRecipe(
    source="diabetes",
    is_builtin=True,
    options=ReadOptions(),
    edits=Edits(),
    target=TARGET,
    task=None,
    second="",
    plan=FIVE,
    cut=Cut(members=20),
)
ROWS = TablePreset(_RECIPE, "Rows")
_SHARES = (2, 5, 10, 20, 30, 50)  # % of the rows
GOOD = TablePreset(_RECIPE, "Is it any good?")
CONFORMAL = TablePreset(replace(_RECIPE, conformal=True), "Is it any good?")
MORE = TablePreset(_RECIPE, "More rows")

_MEASURES = {
    "knowledge of truncations of one model": GREY,
    "knowledge of five models": BLUE,
    "unfamiliarity": GREEN,
}
_MADE_UP = "The rows are made up. The page opens on the built-in diabetes table instead."


def _top(values: np.ndarray) -> set[int]:
    """Positions of the largest tenth."""
    return set(np.argsort(-values, kind="stable")[: len(values) // 10].tolist())


def _rank(values: np.ndarray) -> np.ndarray:
    """The place of each value from the smallest; of equal ones the first comes first.

    >>> _rank(np.array([0.3, 0.1, 0.2])).tolist()
    [2, 0, 1]
    """
    return np.argsort(np.argsort(values, kind="stable"), kind="stable")


def _sheet(
    strips: list[Strip], alt: str, knob: str = "", values: Sequence[float | str] = ()
) -> PanelSheet:
    """Charts, and the one knob that moves a cursor in all of them."""
    if knob:
        strips = [replace(strip, frame_x=np.unique(np.asarray(strip.x))) for strip in strips]
    return PanelSheet(
        panels=[],
        strips=strips,
        strip_columns=len(strips),
        strip_height=260,
        alt=alt,
        name="your-data",
        frame_label=knob,
        frame_values=list(values) or None,
    )


def _of_five(number: int, n: int = len(SEEDS)) -> str:
    return f"{number} of {n} seeds"


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))


def two_kinds() -> ComputedStep:
    """Noise and disagreement point to different rows."""
    scored = score_diabetes(0)
    data, knowledge = (np.sqrt(part) for part in scored.predictions.uncertainty[1:])
    error = np.abs(scored.predictions.loc - scored.training.y)
    order = np.argsort(data, kind="stable")
    first = np.array([share * len(data) // 100 for share in _SHARES])[:, None]
    noisy, disputed = (_rank(-part)[order] < first for part in (data, knowledge))
    kinds = (
        ("other rows", ~noisy & ~disputed, GREY),
        ("noisiest", noisy & ~disputed, BLUE),
        ("most disputed", disputed & ~noisy, GREEN),
        ("both", noisy & disputed, ORANGE),
    )
    strip = Strip(
        title="Knowledge uncertainty",
        x=data[order],
        lines=[
            StripLine(name, np.where(of_kind, knowledge[order], np.nan), colour, dots=True)
            for name, of_kind, colour in kinds
        ],
        x_label="data uncertainty (std): noise",
        y_label="std",
        mode="frame",
    )
    shared = []
    for seed in SEEDS:
        parts = score_diabetes(seed).predictions.uncertainty
        shared.append(len(_top(parts.data) & _top(parts.knowledge)))
    n_top = len(data) // 10
    by_chance = n_top**2 / len(data)
    evidence = {
        name: tables.bootstrap_evidence(error**2, values**2)
        for name, values in (("noise", data), ("disagreement", knowledge))
    }
    verdicts = [
        f"{name} has a PRR of {short(band.prr)} % ({short(band.low)} to "
        f"{short(band.high)} %), which {'excludes' if band.excludes_chance else 'allows'} chance"
        for name, band in evidence.items()
    ]
    notes = (
        "Each row is judged by models that did not learn from it. Do both point to large errors? "
        f"On these rows {verdicts[0]}; {verdicts[1]}.",
    )
    alt = (
        f"{len(data)} dots. The median noise is {short(np.median(data))}, the median disagreement "
        f"{short(np.median(knowledge))}."
    )
    text = (
        f"Five models predict how far diabetes progresses. Each dot is one of {len(data)} "
        "patients: to the right is the expected noise, upwards the models' disagreement."
    )
    right = Between(_mean(shared) / n_top, (0.33, 0.67))
    answer = (
        f"They share {short(_mean(shared))} of {n_top} rows, on average over "
        f"{number_word(len(SEEDS))} seeds; by chance it would be {short(by_chance)}. Row "
        f"{int(np.argmax(data)) + 1} is the noisiest, row {int(np.argmax(knowledge)) + 1} the "
        "most disputed."
    )
    sheet = replace(
        _sheet([strip], alt),
        frame_label="noisiest and most disputed:",
        frame_values=[f"{share} % of the rows" for share in _SHARES],
        frames_per_second=1.0,
        start_frame=_SHARES.index(50),
    )
    return ComputedStep(text, right, answer, sheet, notes)


def strange_rows() -> ComputedStep:
    """Truncations of one model do not know rows unlike the training rows."""
    aurocs = detect()
    x = np.arange(1, len(SEEDS) + 1)
    chance = np.full(len(x), 0.5)
    strips = [
        Strip(
            title=title,
            x=x,
            lines=[
                *(
                    StripLine(name, values[:, k], colour, dots=True)
                    for k, (name, colour) in enumerate(_MEASURES.items())
                ),
                StripLine("chance", chance, "text", dash=True),
            ],
            x_label="seed",
            y_label="AUROC",
            y_limits=(0.3, 1.03),
        )
        for title, values in (
            ("One column moved by 10 std", aurocs.moved),
            ("All columns permuted", aurocs.shuffled),
        )
    ]
    ends = [f"{short(v.min(), 2)} to {short(v.max(), 2)}" for v in aurocs.moved.T]
    permuted = [short(value, 2) for value in aurocs.shuffled.mean(axis=0)]
    best = [int((v.argmax(axis=1) == 2).sum()) for v in (aurocs.moved, aurocs.shuffled)]
    below = int((aurocs.shuffled[:, 0] <= 0.5).sum())
    notes = (
        "Unfamiliarity is used here without its part from models, to keep this step quick. On "
        f"permuted rows the truncations are no better than a coin in {_of_five(below)}. "
        f"Unfamiliarity is best in {_of_five(best[0])} and {_of_five(best[1])}.",
    )
    alt = (
        f"AUROC of three measures for five seeds. One column moved: {ends[0]}, {ends[1]} and "
        f"{ends[2]}. Permuted, on average: {', '.join(permuted)}."
    )
    text = (
        f"{N_NEW} patients' rows are scored as they are, with one column raised by 10 std, and "
        "with all columns permuted. An AUROC of 0.5 is a coin."
    )
    right = Largest(tuple((aurocs.moved.mean(axis=0) + aurocs.shuffled.mean(axis=0)).tolist()))
    answer = (
        f"One column moved: one model {ends[0]}, five models {ends[1]}, unfamiliarity {ends[2]}. "
        f"Permuted, on average: {permuted[0]}, {permuted[1]}, {permuted[2]}. A tree gives all "
        "values beyond its last threshold the same prediction."
    )
    return ComputedStep(text, right, answer, _sheet(strips, alt, "seed", x.tolist()), notes)


def honest_intervals() -> ComputedStep:
    """Intervals of 90 % hold about 90 % of held-out rows, but not in every group."""
    ways = {"by the law": (False, BLUE), "conformal": (True, ORANGE)}
    shares = {
        name: np.array(
            [
                [
                    tables.held_out_inside(score_diabetes(seed), level, way).mean()
                    for level in LEVELS
                ]
                for seed in SEEDS
            ]
        )
        for name, (way, _) in ways.items()
    }
    levels = 100.0 * np.array(LEVELS)
    strip = Strip(
        title="Held-out rows inside the interval",
        x=levels,
        lines=[
            *(
                StripLine(name, 100.0 * shares[name].mean(axis=0), colour)
                for name, (_, colour) in ways.items()
            ),
            StripLine("promised", levels, "text", dash=True),
        ],
        x_label="level of the interval (%)",
        y_label="%",
    )
    at = LEVELS.index(0.9)
    n = int(score_diabetes(0).held.sum())
    low, high = (100.0 * float(end) for end in binomial_band(round(0.9 * n), n))
    at_90 = {name: 100.0 * values[:, at] for name, values in shares.items()}
    within = {name: int(((v >= low) & (v <= high)).sum()) for name, v in at_90.items()}
    quarters = {name: _by_noise(way) for name, (way, _) in ways.items()}
    by_group = {
        name: f"{short(first)} % of the quarter with the smallest std and {short(last)} % of the "
        "one with the largest"
        for name, (first, last) in quarters.items()
    }
    group_low, group_high = (
        100.0 * float(end) for end in binomial_band(round(0.9 * (n // 4)), n // 4)
    )
    every = np.array(list(quarters.values()))
    fine = bool(((every >= group_low) & (every <= group_high)).all())
    verdict = "neither quarter is shown to be wrong" if fine else "not every quarter is right"
    notes = (
        "The law's interval ends at quantiles of the predicted distribution. Each end of a "
        "conformal interval is as many stds away as other held-out rows need. They are within "
        "chance for "
        f"{_of_five(within['by the law'])} and {_of_five(within['conformal'])}, which share the "
        "rows.",
        f"The law's intervals hold {by_group['by the law']} and conformal ones "
        f"{by_group['conformal']}. Chance leaves {short(group_low)} to {short(group_high)} % of so "
        f"few rows, so {verdict}.",
    )
    alt = (
        f"Coverage by level. At 90 %, on average {short(at_90['by the law'].mean())} % by the law "
        f"and {short(at_90['conformal'].mean())} % conformal."
    )
    text = (
        "A 90 % interval promises to hold 9 in 10 new rows. Here chance alone leaves "
        f"{short(low)} to {short(high)} %."
    )
    right = Between(-float(within["by the law"]), (0.5 - len(SEEDS), -0.5))
    answer = (
        f"They hold {short(at_90['by the law'].min())} to {short(at_90['by the law'].max())} %; "
        f"conformal ones {short(at_90['conformal'].min())} to {short(at_90['conformal'].max())} "
        "%. A group could still be wrong: of the quarter with the largest std they hold "
        f"{short(quarters['by the law'][1])} %."
    )
    return ComputedStep(
        text, right, answer, _sheet([strip], alt, "level (%)", levels.tolist()), notes
    )


def _by_noise(conformal: bool) -> tuple[float, float]:
    """Coverage of 90 % intervals in the quarters of smallest and largest std, in %."""
    shares = []
    for seed in SEEDS:
        scored = score_diabetes(seed)
        inside = tables.held_out_inside(scored, 0.9, conformal)
        order = np.argsort(scored.predictions.uncertainty.total[scored.held], kind="stable")
        n = len(order) // 4
        shares.append((inside[order[:n]].mean(), inside[order[-n:]].mean()))
    first, last = 100.0 * np.mean(shares, axis=0)
    return float(first), float(last)


def one_patient_twice() -> ComputedStep:
    """Rows of one patient on both sides of a random split make the scores too good."""
    errors = split_errors()
    x = np.arange(1, len(SEEDS) + 1)
    names = {
        "stated, split at random": ORANGE,
        "stated, split by patient": BLUE,
        "true, on new patients": "text",
    }
    strip = Strip(
        title="RMSE",
        x=x,
        lines=[
            StripLine(name, errors[:, k], colour, dots=True)
            for k, (name, colour) in enumerate(names.items())
        ],
        x_label="seed",
        y_label="units of the outcome",
        y_limits=(0.0, 1.1 * float(errors.max())),
    )
    random, grouped, true = errors.mean(axis=0)
    nearer = int((np.abs(errors[:, 1] - errors[:, 2]) < np.abs(errors[:, 0] - errors[:, 2])).sum())
    below = int((errors[:, 1] < errors[:, 2]).sum())
    notes = (
        "The column with the patient's name is not used. 400 new patients tell the true error. A "
        f"split by patient is the nearer one in {_of_five(nearer)}, and below the truth in "
        f"{_of_five(below)}. {_MADE_UP}",
    )
    alt = (
        f"RMSE for five seeds, on average {short(random)} at random, {short(grouped)} by patient "
        f"and {short(true)} on new patients."
    )
    text = (
        "100 patients have five visits each. The columns hardly change between visits, and no "
        "column explains a patient's own part."
    )
    right = Between(float(true / random), (1.05, 1.15))
    answer = (
        f"It states an RMSE of {short(random)}; new patients have {short(true)}, "
        f"{short(100 * true / random - 100, 2)} % more. The models recognise a patient by the "
        f"columns. A split by patient states {short(grouped)}."
    )
    return ComputedStep(text, right, answer, _sheet([strip], alt, "seed", x.tolist()), notes)


def more_rows() -> ComputedStep:
    """Verdicts on a noisy and on a smooth table."""
    every = curves()
    strips = []
    for name, (_, _, colour) in TABLES.items():
        several = every[name]
        lines = [
            StripLine(f"seed {seed + 1}", curve.mean("error"), colour, dash=seed > 0)
            for seed, curve in enumerate(several)
        ]
        strips.append(
            Strip(
                title=name.capitalize(),
                x=several[0].sizes,
                lines=lines,
                x_label="rows learnt from",
                y_label="RMSE",
                legend=False,
            )
        )
    words = {name: [curve.verdict().word for curve in several] for name, several in every.items()}
    gains = {
        name: 100.0 * -np.expm1(-_mean(curve.verdict().gain for curve in several))
        for name, several in every.items()
    }
    noisy, few, smooth = TABLES
    notes = (
        "One table has 1,500 rows and noise with a std of 2, one the same noise and 400 rows, and "
        "one 400 rows and noise with a std of 0.05. A verdict needs proof: a gain beyond chance, "
        f"or a next gain surely below 2 %. {_MADE_UP}",
        f"The verdicts: {_verdicts(words[noisy])} with much noise and 1,500 rows, "
        f"{_verdicts(words[few])} with 400 of them, {_verdicts(words[smooth])} with little noise.",
    )
    alt = "Learning curves of three tables. " + " ".join(
        f"{name.capitalize()}: RMSE from {short(several[0].mean('error')[0])} to "
        f"{short(several[0].mean('error')[-1])}."
        for name, several in every.items()
    )
    text = (
        "Three made-up tables have the same smooth target. A model learns from an eighth, a "
        "quarter, a half and all rows."
    )
    right = Largest(tuple(gains[name] for name in (noisy, few, smooth)))
    answer = (
        f"The last doubling takes {short(gains[noisy], 2)} %, {short(gains[few], 2)} % and "
        f"{short(gains[smooth], 2)} % off the RMSE. For the second table, "
        f"{words[few].count('undecided')} of {len(words[few])} seeds stay undecided: 400 rows are "
        "few to tell a small gain from none."
    )
    return ComputedStep(
        text,
        right,
        answer,
        _sheet(strips, alt, "share of the rows", ("1/8", "1/4", "1/2", "all")),
        notes,
    )


def _verdicts(words: list[str]) -> str:
    """Verdicts with the number of seeds that have them.

    >>> _verdicts(["noise", "undecided", "noise"])
    'Inherent noise for 2 of 3 seeds and Not decided for 1 of 3 seeds'
    """
    parts = [
        f"{label} for {_of_five(words.count(word), len(words))}"
        for word, label in VERDICTS.items()
        if word in words
    ]
    return " and ".join(parts)


LESSON = Lesson(
    name="your_data",
    title="A table of your own: which rows to doubt, and what the scores are worth",
    lead="Five questions that every table raises, asked where the truth is known. All numbers are "
    "computed while you read.",
    page="your_data",
    source="Virtual ensembles are those of Malinin, Prokhorenkova and Ustimenko, Uncertainty in "
    "gradient boosting via ensembles (arXiv 2006.10562). Unfamiliarity is ours.",
    steps=(
        Step(
            "Noise and disagreement",
            "How many rows do the noisiest and the most disputed tenth share?",
            ("Under a third", "About half", "Over two thirds"),
            ROWS,
            two_kinds,
        ),
        Step(
            "Rows unlike the others",
            "Which measure finds changed rows?",
            ("Knowledge of one model", "Knowledge of five", "Unfamiliarity"),
            ROWS,
            strange_rows,
        ),
        Step(
            "Intervals that hold",
            "Do the law's intervals keep this promise?",
            ("For all five seeds", "For some", "For none"),
            CONFORMAL,
            honest_intervals,
        ),
        Step(
            "One patient twice",
            "How much too good are scores of a random split?",
            ("Not at all", "Up to 15 %", "More"),
            GOOD,
            one_patient_twice,
        ),
        Step(
            "More rows or noise",
            "Which table gains most from more rows?",
            ("Noisy, 1,500 rows", "Noisy, 400 rows", "Smooth, 400 rows"),
            MORE,
            more_rows,
        ),
    ),
)
