"""The sentences that a table's columns call for."""

from __future__ import annotations

from collections.abc import Sequence

from gbuq_core.tables.columns import Column
from gbuq_core.tables.wording import columns_named, counted, listed, shown

MANY_LEVELS = 32  # as the estimator: above that, categories become averages of the target
_MOST_SENTENCES = 5


def column_notices(columns: Sequence[Column]) -> list[str]:
    """What was left out, read as missing, suspected or ambiguous, one sentence each.

    Sentences of one sort are summed up after the fifth.
    """

    def names(*kinds: str) -> list[str]:
        return [column.name for column in columns if column.kind in kinds and not column.used]

    notices = []
    for found, singular, plural in (
        (names("identifier"), "identifies rows and is left out", "identify rows and are left out"),
        (names("text"), "holds free text and is left out", "hold free text and are left out"),
        (names("constant"), "has the same value in all rows and is left out",
         "have the same value in all rows and are left out"),
        (names("empty"), "has no values and is left out", "have no values and are left out"),
    ):  # fmt: skip
        if found:
            notices.append(f"{columns_named(found)} {singular if len(found) == 1 else plural}.")
    notices += _limited([unreadable_sentence(c) for c in columns if c.n_unreadable])
    notices += _limited([
        f"{counted(c.n_infinite, 'infinite value')} of the column {shown(c.name)} "
        f"count{'s' if c.n_infinite == 1 else ''} as missing." for c in columns if c.n_infinite
    ])  # fmt: skip
    notices += _limited([
        f"The column {shown(c.name)} has {listed([f'{v:g}' for v in c.suspects])} far from its "
        "other values: if that means missing, say so." for c in columns if c.suspects
    ])  # fmt: skip
    notices += _limited([
        f"The column {shown(c.name)} does not show whether day or month comes first; it is read as "
        f"{c.date_style}." for c in columns if c.ambiguous_dates
    ])  # fmt: skip
    notices += _limited([
        f"The column {shown(c.name)} has {c.n_distinct:,} categories, which are replaced by "
        "averages of the target." for c in columns
        if c.used and c.kind == "category" and c.n_distinct > MANY_LEVELS
    ])  # fmt: skip
    return notices


def unreadable_sentence(column: Column) -> str:
    """Which cells of a column are not of its kind."""
    what = "dates" if column.kind == "date" else "numbers"
    cells = counted(column.n_unreadable, "cell")
    plural = column.n_unreadable > 1
    return (
        f"{cells} of the column {shown(column.name)} {'are' if plural else 'is'} no "
        f"{what if plural else what[:-1]} ({listed(column.unreadable)}) and "
        f"count{'' if plural else 's'} as missing."
    )


def _limited(sentences: list[str]) -> list[str]:
    """At most five sentences of one sort."""
    if len(sentences) <= _MOST_SENTENCES:
        return sentences
    more = len(sentences) - _MOST_SENTENCES
    return [*sentences[:_MOST_SENTENCES], f"The same holds for {counted(more, 'more column')}."]
