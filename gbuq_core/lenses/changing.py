"""What would have to be different in a row for its model to be sure."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gbuq_core.figures.standalone import Section
from gbuq_core.knobs import Knob
from gbuq_core.lenses.lens import ALL_COLUMNS, CHANGE, Lens, Seen, Waiting
from gbuq_core.lenses.pictures import in_unit, ranking_kind
from gbuq_core.presentation import digits, short
from gbuq_core.tables import (
    CHANGE_MEANING,
    RowChange,
    change_row,
    estimate_change,
    is_searched,
    why_no_change,
)

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
    """The smallest change, if any is enough, and which uncertainty shall come to which level."""

    change: RowChange | None
    kind: str
    most: float  # a variance, or nats


def find_change(seen: Seen) -> Answer:
    """Look for the smallest change of a row that makes its model as sure as of others."""
    scored, kind = seen.scored, ranking_kind(seen.scored, seen.values.rank)
    every = np.asarray(getattr(scored.predictions.uncertainty, kind))
    most = float(np.nanquantile(every, seen.values.level / 100.0))
    changeable = {feature.column for feature in scored.training.features}
    fixed = tuple(name for name in seen.values.fixed if name in changeable)
    return Answer(change_row(scored, seen.row, most, kind, fixed), kind, most)


def describe_change(seen: Seen, answer: Answer) -> str:
    """The answer in words. Plain text that holds the user's words."""
    is_std = in_unit(seen.scored, seen.values.unit).unit.startswith("std")

    def amount(value: float) -> str:
        return digits(float(np.sqrt(value)) if is_std else value)

    change, kind = answer.change, answer.kind
    goal = (
        f"the {kind} uncertainty that {seen.values.level} % of the rows stay below "
        f"({amount(answer.most)})"
    )
    searched = is_searched(seen.scored)
    if change is None:
        stay = " The columns that must stay are left alone." if seen.values.fixed else ""
        tried = " that was searched" if searched else ""
        return f"No change of one or two values{tried} reaches {goal}.{stay}"
    if not change.columns:
        return f"This row is already at or below {goal}."
    cells = zip(change.columns, change.before, change.after, strict=True)
    changes = " and ".join(f"{name} were {new} instead of {old}" for name, old, new in cells)
    before, after = (
        float(getattr(part, kind)[0])
        for part in (change.uncertainty_before, change.uncertainty_after)
    )
    smallest = f"No smaller change of one or two values reaches {goal}."
    if searched:
        smallest = (
            f"This was searched among {change.n_tried:,} changes, each tried on the law: it is the "
            f"smallest of them that reaches {goal}, and a smaller one may exist."
        )
    return (
        f"If {changes}, {kind} uncertainty would be {amount(after)} instead of "
        f"{amount(before)}, and the prediction {_prediction(change.prediction_after)} "
        f"instead of {_prediction(change.prediction_before)}. {smallest} This says how the model "
        "sees the row, not what to do."
    )


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
        refuse=lambda seen: why_no_change(seen.scored),
        seconds=lambda seen: estimate_change(seen.scored),
        waiting=Waiting(
            "Trying all pairs of columns",
            "No change was found.",
            "No change could be looked for.",
        ),
        compute=find_change,
        sections=lambda seen, answer: [Section(text=describe_change(seen, answer))],
    ),
)
