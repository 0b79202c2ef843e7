"""Would more rows help? A learning curve of all rows and of groups, with verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from gbuq_core.errors import GbuqError
from gbuq_core.figures.standalone import Section
from gbuq_core.figures.table.learning import (
    VERDICTS,
    describe_rule,
    describe_verdict,
    learning_figure,
    say_fall,
)
from gbuq_core.knobs import Knob
from gbuq_core.lenses.choices import GROUP
from gbuq_core.lenses.lens import MORE, Lens, Seen, Waiting
from gbuq_core.lenses.pictures import style_of
from gbuq_core.metrics import LearningCurve
from gbuq_core.presentation import percent
from gbuq_core.tables import (
    failing_groups,
    find_failures,
    group_column,
    learning_curve,
)

MEANING = (
    "The model is trained again on an eighth, a quarter, a half and all of four fifths of the rows "
    "and judged on the other fifth, several times with other rows. Bands are plus and minus one "
    "standard error."
)
NO_GROUPS, BY_FAILURES, BY_COLUMN = "no groups", "where it fails", "a column"
_GROUPED = (BY_FAILURES, BY_COLUMN)
CURVE = Knob("curve", "Train on fewer rows", "switch", False, group="page")
REPEATS = Knob("repeats", "Repeats", "ladder", 10, choices=(5, 10, 20), group="page")
BY = Knob("curveby", "Groups", "choice", NO_GROUPS, choices=(NO_GROUPS, *_GROUPED), group="page")
SHOWN_GROUP = Knob(
    "curvegroup",
    "Group in the picture (0: all rows)",
    "integer",
    0,
    0,
    30,
    group="page",
    needs=("curveby", _GROUPED),
    box=True,
)
_HEIGHT = 420


class _Grouped(NamedTuple):
    """A curve with its groups, and why there are none or fewer."""

    curve: LearningCurve
    problem: str


def _say_work(seen: Seen) -> str:
    """What it trains, before it is asked for."""
    if seen.values.curve:
        return ""
    return f"Switch it on to train {4 * seen.values.repeats} models. The groups train nothing."


def _in_groups(seen: Seen, curve: LearningCurve) -> _Grouped:
    """The curve of each group that the reader asks for."""
    scored, table, values = seen.scored, seen.table, seen.values
    try:
        if values.curveby == BY_FAILURES:
            return _Grouped(curve.by(*failing_groups(scored, find_failures(scored))), "")
        schema, column = scored.training.schema, getattr(values, "group", "")
        is_known = column in {each.name for each in schema.columns}
        if values.curveby == BY_COLUMN and is_known and table.n_rows == len(scored.training.X):
            groups = group_column(table, schema.column(column), np.arange(table.n_rows))
            return _Grouped(curve.by(*groups), "")
    except GbuqError as error:
        return _Grouped(curve, str(error))
    return _Grouped(curve, "")


def _sections(seen: Seen, whole: LearningCurve) -> list[Section]:
    curve, problem = _in_groups(seen, whole)
    n_groups = len(curve.names)
    group = min(int(seen.values.curvegroup), n_groups - 1) if n_groups > 1 else 0
    verdict = curve.verdict(group)
    n_most = int(curve.sizes[-1])
    words = describe_verdict(verdict, curve.is_class, n_most, seen.scored.plan.one_model)
    as_variance = seen.values.unit == "variance"
    figure = learning_figure(curve, style_of(seen.scored), words, group, as_variance, _HEIGHT)
    of = f" ({curve.names[group]})" if n_groups > 1 else ""
    answer = f"{VERDICTS[verdict.word]}{of}. {words}"
    texts = [*filter(None, [problem]), answer, describe_rule(curve.is_class)]
    return [Section(text=texts, curves=figure, table=_lines(curve) if n_groups > 1 else ())]


def _lines(curve: LearningCurve) -> Sequence[Sequence[str]]:
    """A line a group."""
    write = partial(say_fall, is_class=curve.is_class)
    lines = [
        (
            "No.",
            "Verdict",
            "Repeats",
            "Last doubling",
            "Next (expected)",
            "Knowledge",
            "Rows",
            "Group",
        )
    ]
    for number, name in enumerate(curve.names):
        verdict = curve.verdict(number)
        agreeing = f"{verdict.n_agreeing} of {verdict.n_repeats}"
        falls = write(verdict.gain), write(verdict.expected)
        share, n_rows = percent(verdict.knowledge_share, 0), f"{curve.n_rows[number]:,}"
        lines.append((f"{number}", VERDICTS[verdict.word], agreeing, *falls, share, n_rows, name))
    return lines


LENSES = (
    Lens(
        key="curve",
        place=MORE,
        title="Would more rows help?",
        meaning=MEANING,
        report="if made",
        knobs=(CURVE, REPEATS, BY, replace(GROUP, needs=("curveby", (BY_COLUMN,))), SHOWN_GROUP),
        asks=("repeats",),
        shows=("unit",),
        depends="fit",
        waits=_say_work,
        beside=lambda seen: True,
        waiting=Waiting(
            "Training on more and more rows",
            "It is not known whether more rows would help.",
            "The models could not be trained on fewer rows.",
        ),
        compute=lambda seen: learning_curve(seen.scored, seen.values.repeats),
        sections=_sections,
    ),
)
