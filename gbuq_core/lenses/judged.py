"""Is it any good? PIT, coverage by group, classes, and the cost of asking, for the report."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gbuq_core.figures.curves import Curves
from gbuq_core.figures.standalone import Section
from gbuq_core.figures.table.judged import (
    asking_figure,
    describe_asking,
    describe_groups,
    describe_pit,
    groups_curves,
    pit_figure,
)
from gbuq_core.lenses.choices import Choices
from gbuq_core.lenses.pictures import kinds_of, style_of
from gbuq_core.metrics import GroupCoverage, ask_by_threshold, asking_curve, pit_histogram
from gbuq_core.presentation import digits, percent
from gbuq_core.tables import (
    ClassScore,
    HeldOut,
    ScoredTable,
    Table,
    class_scores,
    coverage_by_group,
    group_column,
    held_out,
    held_out_inside,
    held_out_unfamiliarity,
    pit_values,
    why_no_coverage,
)

GROUP_MEANING = (
    "Dots are measured, ticks are what they should be. The bars of the groups are bands that hold "
    "together with 95 % confidence; the colour changes where a band excludes its tick."
)
_HEIGHT = 240
_CURVE_POINTS = 201


class Cost(NamedTuple):
    """The picture of what asking costs, the sentence under it, and who is asked about."""

    figure: Curves
    words: str
    is_asked: NDArray[np.bool_]


class Order(NamedTuple):
    """What the held-out rows are asked about by, and its values."""

    kind: str
    by: NDArray[np.float64]


def good_sections(scored: ScoredTable, values: Choices, table: Table) -> list[Section]:
    """PIT or classes, groups, and the cost of asking, as far as they can be told."""
    held = held_out(scored)
    sections = []
    cost = None
    if can_ask(held):
        order = order_of(values, scored, held)
        cost = costs_of(order.kind, price_of(values, held), held, order.by)
    if held.classes:
        lines = [("Class", "Rows", "Recall", "Asked", "Precision", "PR-AUC (by chance)")]
        asked = None if cost is None else cost.is_asked
        lines += [
            (score.name, f"{score.n_rows:,}", recall_cell(score), share_cell(score.recall_asked),
             share_cell(score.precision), pr_cell(score, len(held.y)))
            for score in class_scores(held, asked)
        ]  # fmt: skip
        words = "Asked is the recall if a person decides about the rows that the costs below say."
        sections.append(Section(heading="How well is each class found?", text=words, table=lines))
    elif not why_no_coverage(scored):  # which the report says above
        pit = pit_values(held)
        figure = pit_of(pit, scored)
        caption = str(figure.spec["alt"])
        sections.append(
            Section(
                heading="Are the predicted distributions right?", curves=figure, caption=caption
            )
        )
    sections += _group_sections(scored, values, table, held)
    if cost is not None:
        sections.append(
            Section(
                heading="What does it save to ask a person?", curves=cost.figure, caption=cost.words
            )
        )
    return sections


def _group_sections(
    scored: ScoredTable, values: Choices, table: Table, held: HeldOut
) -> list[Section]:
    """The chosen column's groups, as a picture and a table."""
    columns = {column.name for column in scored.training.schema.columns}
    column = getattr(values, "group", None)  # a table of one column has no such knob
    if table.n_rows != len(scored.training.X) or column not in columns:
        return []
    if column == scored.training.target.name or why_no_coverage(scored):
        return []
    found = groups_of(scored, table, column, values.within, values.conformal, held)
    lines = [("Group", "Rows", "Should be", "Is", "Band")]
    for name, n_rows, promised, observed, low, high, _ in zip(*found, strict=True):
        band = f"{percent(low, 0).removesuffix(' %')} to {percent(high, 0)}"
        lines.append((name, f"{n_rows:,}", percent(promised, 0), percent(observed, 0), band))
    words = describe_groups(found, bool(held.classes))
    return [
        Section(
            heading=f'{title_of(held)} in every group of "{column}"?',
            text=words,
            curves=groups_curves(found, style_of(scored), axis_of(held), words),
            caption=GROUP_MEANING,
            table=lines,
        )
    ]


def groups_of(
    scored: ScoredTable,
    table: Table,
    column: str,
    within: float,
    conformal: bool,
    held: HeldOut,
) -> GroupCoverage:
    """How often intervals of ``within`` percent, or predicted classes, hold in each group."""
    level = 0.0 if held.classes else within / 100.0
    by_distance = conformal and not held.classes
    inside = held_out_inside(scored, level, True, held) if by_distance else None
    groups = group_column(table, scored.training.schema.column(column), held.rows)
    return coverage_by_group(held, groups, level, inside)


def title_of(held: HeldOut) -> str:
    """The question about every group."""
    return "Is it right as often as it says" if held.classes else "Do intervals hold"


def axis_of(held: HeldOut) -> str:
    """What the groups' axis counts."""
    return "rows predicted right (%)" if held.classes else "rows inside their interval (%)"


def price_of(values: Choices, held: HeldOut) -> float:
    """What an error costs, in questions."""
    return float(values.wrong if held.classes else values.miss)


def order_of(values: Choices, scored: ScoredTable, held: HeldOut) -> Order:
    """The chosen order; the uncertainty that rows are ranked by, or else the total."""
    kind = values.doubt
    if kind == "unfamiliarity":
        found = held_out_unfamiliarity(scored, held.rows)
        if found is not None:
            return Order(kind, found)
    kinds = kinds_of(scored)
    if kind not in kinds:
        kind = values.rank if values.rank in kinds else "total"
    return Order(kind, getattr(held.predictions.uncertainty, kind))


def recall_cell(score: ClassScore) -> str:
    """A class's recall with its band; empty where no row has the class."""
    if not score.n_rows:
        return ""
    low = percent(score.low, 0).removesuffix(" %")
    return f"{percent(score.recall, 0)} ({low} to {percent(score.high, 0)})"


def share_cell(value: float) -> str:
    """A share in percent; empty where there is none."""
    return percent(value, 0) if np.isfinite(value) else ""


def pr_cell(score: ClassScore, n_rows: int) -> str:
    """A class's PR-AUC, and what chance gives among so many rows."""
    if not score.n_rows:
        return ""
    return f"{digits(score.average_precision)} ({digits(score.n_rows / n_rows)})"


def can_ask(held: HeldOut) -> bool:
    """Whether any held-out row is wrong, and another one could say whom to ask about."""
    return len(held.y) >= 2 and bool(held.errors.any())


def costs_of(kind: str, price: float, held: HeldOut, order: NDArray[np.float64]) -> Cost:
    """What it saves to ask a person about the rows that come first in an order."""
    errors, is_class = held.errors, bool(held.classes)
    if not is_class:
        errors = errors / errors.mean()
    found = ask_by_threshold(errors, order, price)
    words = describe_asking(found, kind, is_class)
    curve = asking_curve(errors, order, price, n_points=_CURVE_POINTS)
    return Cost(asking_figure(curve, found, kind, words, _HEIGHT), words, found.is_asked)


def pit_of(pit: NDArray[np.float64], scored: ScoredTable) -> Curves:
    """The histogram of PIT values in the colour of the method."""
    return pit_figure(pit_histogram(pit), style_of(scored), describe_pit(pit), _HEIGHT)
