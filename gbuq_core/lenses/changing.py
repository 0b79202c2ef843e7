"""What would have to be different in a row for its model to be sure."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from gbuq_core.figures.standalone import Section
from gbuq_core.knobs import Knob
from gbuq_core.lenses.lens import ALL_COLUMNS, CHANGE, Lens, Seen, Waiting
from gbuq_core.lenses.pictures import in_unit, ranking_kind
from gbuq_core.presentation import digits, short
from gbuq_core.tables import CHANGE_MEANING, RowChange, change_row
from gbuq_core.tables.editing import cell_text

LEVEL = Knob(
    "level",
    "As sure as",
    "integer",
    50,
    5,
    95,
    step=5,
    unit="% of the rows",
    group="page",
    help="The uncertainty that this share of the rows stays below. 5 is the surest twentieth.",
)
FIXED = Knob(
    "fixed",
    "Columns that cannot change",
    "choices",
    (),
    choices=(ALL_COLUMNS,),
    group="page",
    plain=True,
    help="Such as a person's age. Dates never change.",
)


class Answer(NamedTuple):
    """A change, if any is enough, and which uncertainty shall come to which level."""

    found: RowChange
    kind: str
    most: float  # a variance, or nats


def find_change(seen: Seen) -> Answer:
    """Look for a change of a row that makes its model as sure as of others."""
    scored, kind = seen.scored, ranking_kind(seen.scored, seen.values.rank)
    if np.isnan(getattr(scored.predictions.uncertainty, kind)).all():
        kind = "data"  # all that a model of the reader's own may tell
    every = getattr(scored.predictions.uncertainty, kind)
    most = float(np.nanquantile(every, seen.values.level / 100.0))
    changeable = {feature.column for feature in scored.training.features}
    fixed = tuple(name for name in seen.values.fixed if name in changeable)
    return Answer(change_row(scored, seen.row, most, kind, fixed), kind, most)


def describe_change(seen: Seen, answer: Answer) -> str:
    """The answer in words. Plain text that holds the user's words."""
    is_std = in_unit(seen.scored, seen.values.unit).unit.startswith("std")

    def amount(value: float) -> str:
        return digits(float(np.sqrt(value)) if is_std else value)

    change, kind = answer.found.change, answer.kind
    share = seen.values.level
    goal = f"the {kind} uncertainty that {share} % of the rows stay below ({amount(answer.most)})"
    if not change.enough:
        stay = " The columns that must stay were left alone." if seen.values.fixed else ""
        return (
            f"None of {change.n_tried:,} changes reaches {goal}. Each changed one or two cells to "
            f"those of a training row; there may be another that does.{stay}"
        )
    if not change.columns:
        return f"This row is already at or below {goal}."
    owner = {feature.name: feature.column for feature in seen.scored.training.features}
    cells = zip(change.columns, change.before, change.after, strict=True)
    changes = " and ".join(
        f"{owner[name]} were {_cell(new)} instead of {_cell(old)}" for name, old, new in cells
    )
    before, after = (
        float(getattr(part, kind)[0])
        for part in (change.uncertainty_before, change.uncertainty_after)
    )
    return (
        f"If {changes}, {kind} uncertainty would be {amount(after)} instead of {amount(before)}, "
        f"and the prediction {_prediction(answer.found.prediction_after)} instead of "
        f"{_prediction(answer.found.prediction_before)}. That is enough for {goal}. "
        f"{change.n_tried:,} changes of one or two cells to those of training rows were tried; a "
        "smaller one may exist. This says how the model sees the row, not what to do."
    )


def _cell(value: Any) -> str:
    """A cell in words; every digit of a number counts, because a threshold may be close."""
    return "missing" if pd.isna(value) else cell_text(value)


def _prediction(value: float | str) -> str:
    return value if isinstance(value, str) else short(value, 4)


LENSES = (
    Lens(
        key="change",
        place=CHANGE,
        title="What would make the model sure?",
        meaning=CHANGE_MEANING,
        of_row=True,
        knobs=(LEVEL, FIXED),
        asks=("level", "fixed", "rank"),
        shows=("unit",),
        beside=lambda seen: True,
        waiting=Waiting(
            "Trying cells of training rows",
            "No change was found.",
            "No change could be looked for.",
        ),
        compute=find_change,
        sections=lambda seen, answer: [Section(text=describe_change(seen, answer))],
    ),
)
