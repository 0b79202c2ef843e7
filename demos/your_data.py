"""Lesson: a table of one's own, which rows to doubt, and what the scores are worth.

The page "Your data" answers these questions for any table. Here the truth is known: rows are moved
by hand, or the table is made up.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd

from demos.lesson import Lesson, Shown, Step, main
from gbuq_core import UnfamiliarityScore
from gbuq_core.experiments.table.export import TableRecipe
from gbuq_core.experiments.table.fit import Cut
from gbuq_core.figures.canvas.panels import PanelSheet, Strip, StripLine
from gbuq_core.figures.table.learning import VERDICTS
from gbuq_core.metrics import LearningCurve, auroc, binomial_band
from gbuq_core.presentation import number_word, short
from gbuq_core.tables import (
    ScoredTable,
    ScorePlan,
    Table,
    bootstrap_evidence,
    edit_schema,
    held_out_inside,
    infer_schema,
    learning_curve,
    load_builtin,
    read_table,
    score_table,
)
from gbuq_core.tables.files import ReadOptions


class TablePreset(NamedTuple):
    """What the page Your data is opened with: a table with its plan, and one of its sections."""

    settings: TableRecipe
    section: str


FIVE = ScorePlan(ensemble="independent", n_members=5, n_trees=100, depth=4)
ONE = ScorePlan(ensemble="virtual", n_trees=200, depth=4)
FEW_TREES = ScorePlan(ensemble="virtual", n_trees=30, depth=3, stopping=None)
SEEDS = range(5)
LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)

_TARGET = "disease progression"
_RECIPE = TableRecipe(
    source="diabetes", is_builtin=True, options=ReadOptions(), kinds={}, used={}, missing={},
    target=_TARGET, task=None, second="", plan=FIVE, cut=Cut(members=20),
)  # fmt: skip
ROWS = TablePreset(_RECIPE, "Rows")
GOOD = TablePreset(_RECIPE, "Is it any good?")
CONFORMAL = TablePreset(replace(_RECIPE, conformal=True), "Is it any good?")
MORE = TablePreset(_RECIPE, "More rows")

_N_NEW = 88  # a fifth of the 442 patients
_BLUE, _ORANGE, _GREEN, _GREY = "#0072b2", "#d55e00", "#009e73", "#7f7f7f"
_MEASURES = {
    "knowledge of truncations of one model": _GREY,
    "knowledge of five models": _BLUE,
    "unfamiliarity": _GREEN,
}
_MADE_UP = "The rows are made up. The page opens on the built-in diabetes table instead."


@lru_cache(maxsize=len(SEEDS))
def _diabetes(seed: int) -> ScoredTable:
    loaded = load_builtin("diabetes")
    return score_table(loaded.table, _TARGET, schema=loaded.schema, plan=replace(FIVE, seed=seed))


def _as_table(frame: pd.DataFrame, to_score: bool = False) -> Table:
    return read_table(frame.to_csv(index=False).encode(), to_score=to_score)


def _top(values: np.ndarray) -> set[int]:
    """Positions of the largest tenth."""
    return set(np.argsort(-values, kind="stable")[: len(values) // 10].tolist())


def _sheet(strips: list[Strip], alt: str) -> PanelSheet:
    return PanelSheet(
        panels=[], strips=strips, strip_columns=len(strips), strip_height=260, alt=alt,
        name="your-data",
    )  # fmt: skip


def _of_five(number: int, n: int = len(SEEDS)) -> str:
    return f"{number} of {n} seeds"


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))


def two_kinds() -> Shown:
    """Noise and disagreement point to different rows."""
    scored = _diabetes(0)
    data, knowledge = (np.sqrt(part) for part in scored.predictions.uncertainty[1:])
    error = np.abs(scored.predictions.loc - scored.training.y)
    order = np.argsort(data, kind="stable")
    worst = np.isin(order, list(_top(error)))
    shown = knowledge[order]
    strip = Strip(
        title="Knowledge uncertainty",
        x=data[order],
        lines=[
            StripLine("other rows", np.where(worst, np.nan, shown), _GREY, dots=True),
            StripLine(
                "tenth with the largest errors", np.where(worst, shown, np.nan), _ORANGE, dots=True
            ),
        ],
        x_label="data uncertainty (std): noise",
        y_label="std",
    )
    shared = []
    for seed in SEEDS:
        parts = _diabetes(seed).predictions.uncertainty
        shared.append(len(_top(parts.data) & _top(parts.knowledge)))
    n_top = len(data) // 10
    by_chance = n_top**2 / len(data)
    evidence = {
        name: bootstrap_evidence(error**2, values**2)
        for name, values in (("noise", data), ("disagreement", knowledge))
    }
    verdicts = [
        f"{name} has a PRR of {short(found.prr)} % ({short(found.low)} to "
        f"{short(found.high)} %), which {'excludes' if found.excludes_chance else 'allows'} chance"
        for name, found in evidence.items()
    ]
    text = (
        f"Five models predict how far diabetes progresses in {len(data)} patients. Each row is "
        "judged by models that did not learn from it. A dot is a row: to the right is the noise "
        "that the models expect, and upwards is how much they disagree.",
    )
    answer = (
        f"They are mostly different rows. Row {int(np.argmax(data)) + 1} is the noisiest, and the "
        f"members disagree most about row {int(np.argmax(knowledge)) + 1}. The noisiest "
        f"{n_top} rows and the {n_top} rows with most disagreement have {short(_mean(shared))} "
        f"rows in common, on average over {number_word(len(SEEDS))} seeds; by chance it would be "
        f"{short(by_chance)}. Both are also asked whether they point to large errors: "
        f"{verdicts[0]}; {verdicts[1]}."
    )
    alt = (
        f"{len(data)} dots. The median noise is {short(np.median(data))}, the median disagreement "
        f"{short(np.median(knowledge))}."
    )
    return Shown(text, answer, _sheet([strip], alt))


class Detected(NamedTuple):
    """AUROC of moved against ordinary rows by measure, (n_seeds, 3), and the columns moved."""

    moved: np.ndarray
    shuffled: np.ndarray
    columns: tuple[str, ...]


@lru_cache(maxsize=1)
def detect() -> Detected:
    """Score held-out rows, the same with one column far out, and with columns permuted."""
    rows = _diabetes(0).training
    frame = rows.X.assign(**{_TARGET: rows.y})
    numbers = [name for name in frame if name not in ("sex", _TARGET)]
    features = [name for name in frame if name != _TARGET]
    found, columns = [], []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(frame))
        new, known = frame.iloc[order[:_N_NEW]], frame.iloc[order[_N_NEW:]]
        column = str(rng.choice(numbers))
        moved, shuffled = new.copy(), new.copy()
        moved[column] = moved[column] + 10.0 * known[column].std()
        for name in features:
            shuffled[name] = rng.permutation(shuffled[name].to_numpy())
        table = _as_table(known)
        schema = edit_schema(table, infer_schema(table), kinds={"sex": "category"})
        three = _as_table(pd.concat([new, moved, shuffled]), to_score=True)
        one, five = (
            score_table(table, _TARGET, schema=schema, new=three, plan=replace(plan, seed=seed))
            for plan in (ONE, FIVE)
        )
        unfamiliar = UnfamiliarityScore(
            parts=("range", "novelty", "distance", "affinity"), random_state=seed
        ).fit(five.training.X, five.training.y)
        scores = (
            one.predictions.uncertainty.knowledge,
            five.predictions.uncertainty.knowledge,
            unfamiliar.score(five.scored.X),
        )
        found.append([_against_ordinary(score) for score in scores])
        columns.append(column)
    both = np.array(found)
    return Detected(both[:, :, 0], both[:, :, 1], tuple(columns))


def _against_ordinary(score: np.ndarray) -> tuple[float, float]:
    """AUROC of the moved and of the permuted rows against the ordinary ones before them."""
    strange = np.repeat([0, 1], _N_NEW)
    new, moved, shuffled = score.reshape(3, _N_NEW)
    return auroc(strange, np.r_[new, moved]), auroc(strange, np.r_[new, shuffled])


def strange_rows() -> Shown:
    """Truncations of one model do not know rows unlike the training rows."""
    found = detect()
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
            ("One column moved by 10 std", found.moved),
            ("All columns permuted", found.shuffled),
        )
    ]
    ends = [f"{short(v.min(), 2)} to {short(v.max(), 2)}" for v in found.moved.T]
    permuted = [short(value, 2) for value in found.shuffled.mean(axis=0)]
    best = [int((v.argmax(axis=1) == 2).sum()) for v in (found.moved, found.shuffled)]
    below = int((found.shuffled[:, 0] <= 0.5).sum())
    text = (
        f"{_N_NEW} patients are kept from the training. Their rows are scored three times: as they "
        "are, with one column raised by 10 std, and with every column permuted among them. AUROC "
        "is the chance that a changed row gets a higher score than an unchanged one; 0.5 is a "
        "coin.",
        "Unfamiliarity is used here without its part from models, to keep this step quick.",
    )
    answer = (
        f"No. With one column moved, the AUROC of one model's truncations is {ends[0]} over "
        f"{number_word(len(SEEDS))} seeds, of five independent models {ends[1]}, and of "
        f"unfamiliarity {ends[2]}. On permuted rows the means are {permuted[0]}, {permuted[1]} and "
        f"{permuted[2]}, and the truncations are no better than a coin in {_of_five(below)}. "
        f"Unfamiliarity is best in {_of_five(best[0])} and {_of_five(best[1])}. Five models are "
        "not enough either: a tree gives all values beyond its last threshold the same prediction."
    )
    alt = (
        f"AUROC of three measures for five seeds. One column moved: {ends[0]}, {ends[1]} and "
        f"{ends[2]}. Permuted, on average: {', '.join(permuted)}."
    )
    return Shown(text, answer, _sheet(strips, alt))


def honest_intervals() -> Shown:
    """Intervals of 90 % hold about 90 % of held-out rows, but not in every group."""
    ways = {"by the law": (False, _BLUE), "conformal": (True, _ORANGE)}
    shares = {
        name: np.array(
            [
                [held_out_inside(_diabetes(seed), level, way).mean() for level in LEVELS]
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
    n = int(_diabetes(0).held.sum())
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
    text = (
        "An interval of 90 % promises to hold the truth of 9 in 10 new rows. The law's interval "
        "ends at quantiles of the predicted distribution. A conformal interval is as many stds "
        "wide as other held-out rows need.",
        f"Chance alone leaves the coverage of {n} rows between {short(low)} and {short(high)} %.",
    )
    answer = (
        "Yes, on all rows together. "
        if min(within.values()) == len(SEEDS)
        else "Not with every seed. "
    ) + (
        f"The law's intervals hold {short(at_90['by the law'].min())} to "
        f"{short(at_90['by the law'].max())} % and are within chance for "
        f"{_of_five(within['by the law'])}. Conformal ones hold "
        f"{short(at_90['conformal'].min())} to {short(at_90['conformal'].max())} %, "
        f"{_of_five(within['conformal'])}. The seeds share the rows. A group of rows could still "
        f"be wrong. Over the seeds, the law's intervals hold {by_group['by the law']} and "
        f"conformal ones {by_group['conformal']}. Chance leaves {short(group_low)} to "
        f"{short(group_high)} % of so few rows, so {verdict}."
    )
    alt = (
        f"Coverage by level. At 90 %, on average {short(at_90['by the law'].mean())} % by the law "
        f"and {short(at_90['conformal'].mean())} % conformal."
    )
    return Shown(text, answer, _sheet([strip], alt))


def _by_noise(conformal: bool) -> tuple[float, float]:
    """Coverage of 90 % intervals in the quarters of smallest and largest std, in %."""
    found = []
    for seed in SEEDS:
        scored = _diabetes(seed)
        inside = held_out_inside(scored, 0.9, conformal)
        order = np.argsort(scored.predictions.uncertainty.total[scored.held], kind="stable")
        n = len(order) // 4
        found.append((inside[order[:n]].mean(), inside[order[-n:]].mean()))
    first, last = 100.0 * np.mean(found, axis=0)
    return float(first), float(last)


def make_patients(seed: int, n_patients: int) -> pd.DataFrame:
    """Five visits each; a patient's outcome has a part that no column tells.

    >>> make_patients(0, 3).shape
    (15, 5)
    """
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(n_patients), 5)
    columns = rng.normal(size=(n_patients, 3))[who] + 0.1 * rng.normal(size=(len(who), 3))
    own = rng.normal(size=n_patients)[who]
    return pd.DataFrame(
        {
            "patient": [f"p{number}" for number in who],
            **dict(zip(("weight", "pulse", "pressure"), columns.T, strict=True)),
            "outcome": columns[:, 0] + own + 0.3 * rng.normal(size=len(who)),
        }
    )


@lru_cache(maxsize=1)
def split_errors() -> np.ndarray:
    """RMSE by a random split, by a split by patient, and on new patients, (n_seeds, 3)."""
    found = []
    for seed in SEEDS:
        plan = replace(ONE, n_trees=100, seed=seed)
        table = _as_table(make_patients(seed, 100))
        schema = edit_schema(table, infer_schema(table), used={"patient": False})
        new = _as_table(make_patients(seed + 100, 400), to_score=True)
        by_group = replace(plan, split="group", split_column="patient")
        stated = [
            score_table(table, "outcome", schema=schema, plan=how).scores.rmse
            for how in (plan, by_group)
        ]
        true = score_table(table, "outcome", schema=schema, new=new, plan=by_group).new_scores
        assert true is not None
        found.append([*stated, true.rmse])
    return np.array(found)


def one_patient_twice() -> Shown:
    """Rows of one patient on both sides of a random split make the scores too good."""
    found = split_errors()
    x = np.arange(1, len(SEEDS) + 1)
    names = {
        "stated, split at random": _ORANGE,
        "stated, split by patient": _BLUE,
        "true, on new patients": "text",
    }
    strip = Strip(
        title="RMSE",
        x=x,
        lines=[
            StripLine(name, found[:, k], colour, dots=True)
            for k, (name, colour) in enumerate(names.items())
        ],
        x_label="seed",
        y_label="units of the outcome",
        y_limits=(0.0, 1.1 * float(found.max())),
    )
    random, grouped, true = found.mean(axis=0)
    nearer = int((np.abs(found[:, 1] - found[:, 2]) < np.abs(found[:, 0] - found[:, 2])).sum())
    below = int((found[:, 1] < found[:, 2]).sum())
    text = (
        "100 patients have five visits each. Three columns hardly change between visits, and each "
        "patient's outcome has a part that no column explains. The column with the patient's name "
        "is not used.",
        "Rows are held out at random, or with all visits of a patient together. 400 new patients "
        f"tell the true error. {_MADE_UP}",
    )
    answer = (
        f"Yes. A random split states an RMSE of {short(random)}. New patients have "
        f"{short(true)}, {short(100 * true / random - 100, 2)} % more. The models recognise a "
        "patient by the columns. A split by patient states an RMSE of "
        f"{short(grouped)}, and it is the nearer one in {_of_five(nearer)}. It is below the truth "
        f"in {_of_five(below)}."
    )
    alt = (
        f"RMSE for five seeds, on average {short(random)} at random, {short(grouped)} by patient "
        f"and {short(true)} on new patients."
    )
    return Shown(text, answer, _sheet([strip], alt))


N_CURVES = 3  # seeds of the learning curves, which take longest
_TABLES = {
    "noise, 1,500 rows": (1500, 2.0, _ORANGE),
    "noise, 400 rows": (400, 2.0, _GREY),
    "little noise, 400 rows": (400, 0.05, _BLUE),
}


@lru_cache(maxsize=1)
def curves() -> dict[str, list[LearningCurve]]:
    """Learning curves of the tables, each for some seeds."""
    return {
        name: [_curve(n_rows, noise, seed) for seed in range(N_CURVES)]
        for name, (n_rows, noise, _) in _TABLES.items()
    }


def _curve(n_rows: int, noise: float, seed: int) -> LearningCurve:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, size=(n_rows, 4))
    y = np.sin(3.0 * X[:, 0]) + X[:, 1] * X[:, 2] + noise * rng.normal(size=n_rows)
    table = _as_table(pd.DataFrame(np.column_stack([X, y]), columns=list("abcdy")))
    return learning_curve(score_table(table, "y", plan=replace(FEW_TREES, seed=seed)), n_repeats=5)


def more_rows() -> Shown:
    """Verdicts on a noisy and on a smooth table."""
    found = curves()
    strips = []
    for name, (_, _, colour) in _TABLES.items():
        several = found[name]
        lines = [
            StripLine(f"seed {seed + 1}", curve.mean("error"), colour, dash=seed > 0)
            for seed, curve in enumerate(several)
        ]
        strips.append(
            Strip(
                title=name.capitalize(), x=several[0].sizes, lines=lines,
                x_label="rows learnt from", y_label="RMSE", legend=False,
            )
        )  # fmt: skip
    words = {name: [curve.verdict().word for curve in several] for name, several in found.items()}
    gains = {
        name: 100.0 * -np.expm1(-_mean(curve.verdict().gain for curve in several))
        for name, several in found.items()
    }
    noisy, few, smooth = _TABLES
    text = (
        "A target is a smooth function of four columns plus noise. One table has 1,500 rows and "
        "noise with a std of 2, one the same noise and 400 rows, and one 400 rows and noise with a "
        "std of 0.05. A model learns from an eighth, a quarter, a half and all of four fifths of "
        "the rows, and is judged on the rest.",
        f"A verdict needs proof: a gain beyond chance, or a next gain surely below 2 %. {_MADE_UP}",
    )
    answer = (
        f"With little noise, the last doubling takes {short(gains[smooth], 2)} % off the RMSE, and "
        f"the verdict is {_verdicts(words[smooth])}. With much noise and 1,500 rows it takes off "
        f"{short(gains[noisy], 2)} %, and the verdict is {_verdicts(words[noisy])}. With 400 of "
        f"these rows, it is {_verdicts(words[few])}: 400 rows are few to tell a small gain "
        "from none. The truth is the same."
    )
    alt = "Learning curves of three tables. " + " ".join(
        f"{name.capitalize()}: RMSE from {short(several[0].mean('error')[0])} to "
        f"{short(several[0].mean('error')[-1])}."
        for name, several in found.items()
    )
    return Shown(text, answer, _sheet(strips, alt))


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
        Step("Noise and disagreement", "Are the noisy rows those that the members disagree about?",
             ROWS, two_kinds),
        Step("Rows unlike the others",
             "Does knowledge uncertainty of one model find rows unlike the training rows?",
             ROWS, strange_rows),
        Step("Intervals that hold", "Do intervals of 90 % hold 90 % of the rows?", CONFORMAL,
             honest_intervals),
        Step("One patient twice", "Does a random split flatter the scores?", GOOD,
             one_patient_twice),
        Step("More rows or noise", "Would more rows help?", MORE, more_rows),
    ),
)  # fmt: skip

if __name__ == "__main__":
    raise SystemExit(main(LESSON))
