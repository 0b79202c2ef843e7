"""Tables of the lesson on a table of one's own, scored once: diabetes, patients, noise."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gbuq_core import tables
from gbuq_core.metrics import LearningCurve, auroc
from gbuq_core.tables.plan import ScorePlan

if TYPE_CHECKING:
    import pandas as pd

FIVE = ScorePlan(ensemble="independent", n_members=5, n_trees=100, depth=4)
ONE = ScorePlan(ensemble="virtual", n_trees=200, depth=4)
FEW_TREES = ScorePlan(ensemble="virtual", n_trees=30, depth=3, stopping=None)
SEEDS = range(5)
TARGET = "disease progression"
N_NEW = 88  # a fifth of the 442 patients
BLUE, ORANGE, GREEN, GREY = "#0072b2", "#d55e00", "#009e73", "#7f7f7f"


@lru_cache(maxsize=len(SEEDS))
def score_diabetes(seed: int) -> tables.ScoredTable:
    """The diabetes table, each row judged by models that did not learn from it."""
    loaded = tables.load_builtin("diabetes")
    return tables.score_table(
        loaded.table, TARGET, schema=loaded.schema, plan=replace(FIVE, seed=seed)
    )


def as_table(frame: pd.DataFrame, to_score: bool = False) -> tables.Table:
    """A frame as an upload reads it."""
    return tables.read_table(frame.to_csv(index=False).encode(), to_score=to_score)


class Detected(NamedTuple):
    """AUROC of moved against ordinary rows by measure, (n_seeds, 3), and the columns moved."""

    moved: np.ndarray
    shuffled: np.ndarray
    columns: tuple[str, ...]


@lru_cache(maxsize=1)
def detect() -> Detected:
    """Score held-out rows, the same with one column far out, and with columns permuted."""
    import pandas as pd

    from gbuq_core.unfamiliarity import UnfamiliarityScore

    rows = score_diabetes(0).training
    frame = rows.X.assign(**{TARGET: rows.y})
    numbers = [name for name in frame if name not in ("sex", TARGET)]
    features = [name for name in frame if name != TARGET]
    aurocs, columns = [], []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(frame))
        new, known = frame.iloc[order[:N_NEW]], frame.iloc[order[N_NEW:]]
        column = str(rng.choice(numbers))
        moved, shuffled = new.copy(), new.copy()
        moved[column] = moved[column] + 10.0 * known[column].std()
        for name in features:
            shuffled[name] = rng.permutation(shuffled[name].to_numpy())
        table = as_table(known)
        schema = tables.edit_schema(table, tables.infer_schema(table), kinds={"sex": "category"})
        three = as_table(pd.concat([new, moved, shuffled]), to_score=True)
        single, five = (
            tables.score_table(
                table, TARGET, schema=schema, new=three, plan=replace(plan, seed=seed)
            )
            for plan in (ONE, FIVE)
        )
        unfamiliar = UnfamiliarityScore(
            parts=("range", "novelty", "distance", "affinity"), random_state=seed
        ).fit(five.training.X, five.training.y)
        scores = (
            single.predictions.uncertainty.knowledge,
            five.predictions.uncertainty.knowledge,
            unfamiliar.unfamiliarity(five.scored.X),
        )
        aurocs.append([_against_ordinary(score) for score in scores])
        columns.append(column)
    both = np.array(aurocs)
    return Detected(both[:, :, 0], both[:, :, 1], tuple(columns))


def _against_ordinary(score: np.ndarray) -> tuple[float, float]:
    """AUROC of the moved and of the permuted rows against the ordinary ones before them."""
    strange = np.repeat([0, 1], N_NEW)
    new, moved, shuffled = score.reshape(3, N_NEW)
    return auroc(strange, np.r_[new, moved]), auroc(strange, np.r_[new, shuffled])


def make_patients(seed: int, n_patients: int) -> pd.DataFrame:
    """Five visits each; a patient's outcome has a part that no column tells.

    >>> make_patients(0, 3).shape
    (15, 5)
    """
    import pandas as pd

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
    errors = []
    for seed in SEEDS:
        plan = replace(ONE, n_trees=100, seed=seed)
        table = as_table(make_patients(seed, 100))
        schema = tables.edit_schema(table, tables.infer_schema(table), used={"patient": False})
        new = as_table(make_patients(seed + 100, 400), to_score=True)
        by_group = replace(plan, split="group", split_column="patient")
        stated = [
            tables.score_table(table, "outcome", schema=schema, plan=how).scores.rmse
            for how in (plan, by_group)
        ]
        true = tables.score_table(
            table, "outcome", schema=schema, new=new, plan=by_group
        ).new_scores
        assert true is not None
        errors.append([*stated, true.rmse])
    return np.array(errors)


N_CURVES = 3  # seeds of the learning curves, which take longest
TABLES = {
    "noise, 1,500 rows": (1500, 2.0, ORANGE),
    "noise, 400 rows": (400, 2.0, GREY),
    "little noise, 400 rows": (400, 0.05, BLUE),
}


@lru_cache(maxsize=1)
def curves() -> dict[str, list[LearningCurve]]:
    """Learning curves of the tables, each for some seeds."""
    return {
        name: [_curve(n_rows, noise, seed) for seed in range(N_CURVES)]
        for name, (n_rows, noise, _) in TABLES.items()
    }


def _curve(n_rows: int, noise: float, seed: int) -> LearningCurve:
    import pandas as pd

    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, size=(n_rows, 4))
    y = np.sin(3.0 * X[:, 0]) + X[:, 1] * X[:, 2] + noise * rng.normal(size=n_rows)
    table = as_table(pd.DataFrame(np.column_stack([X, y]), columns=list("abcdy")))
    return tables.learning_curve(
        tables.score_table(table, "y", plan=replace(FEW_TREES, seed=seed)), n_repeats=5
    )
