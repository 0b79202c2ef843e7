"""What is said of the columns of a table: what is left out, not read, suspected or decided."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gbuq_core.presentation import columns_named, counted, enumerated, listed, shown
from gbuq_core.tables.columns import REMARKS, SUSPECT_DAYS, Column
from gbuq_core.tables.no_data import OWN
from gbuq_core.tables.written_dates import as_date, date_text, style_words

INDEX = "The file says that it was the index of a pandas table."
MANY_LEVELS = 32  # as the estimator: above that, categories become averages of the target
_MOST_SENTENCES = 5
# Dates far from the others: by spreads of nine tenths of them and ten years at least; a share.
_FAR_SPREADS, _FAR_DAYS, _MOST_FAR = 3.0, 3652.5, 0.02


def column_notices(columns: Sequence[Column]) -> list[str]:
    """What was left out, read as missing, suspected or ambiguous; five of a sort at most."""

    def names(*kinds: str) -> list[str]:
        return [
            c.name
            for c in columns
            if c.kind in kinds
            and not c.used
            and c.reason not in (INDEX, OWN)
            and "mixed" not in dict(c.remarks)
        ]

    notices = []
    for reason, singular, plural in (
        (
            INDEX,
            "was the index of a pandas table and was",
            "were the index of a pandas table and were",
        ),
        (OWN, "was added by an earlier scoring and is", "were added by an earlier scoring and are"),
    ):
        apart = [column.name for column in columns if column.reason == reason and not column.used]
        if apart:
            it = "it" if len(apart) == 1 else "them"
            notices.append(
                f"{columns_named(apart)} {singular if it == 'it' else plural} left out: choose "
                f"{it} under Columns (--use) if the model should use {it}."
            )
    for apart, singular, plural in (
        (names("identifier"), "identifies rows and is not used", "identify rows and are not used"),
        (names("text"), "holds free text and is not used", "hold free text and are not used"),
        (
            names("constant"),
            "has the same value in all rows and is not used",
            "have the same value in all rows and are not used",
        ),
        (names("empty"), "has no values and is not used", "have no values and are not used"),
    ):
        if apart:
            notices.append(f"{columns_named(apart)} {singular if len(apart) == 1 else plural}.")
    notices += _limited([unreadable_sentence(c) for c in columns if c.n_unreadable])
    notices += _limited(
        [
            f"{counted(c.n_infinite, 'infinite value')} of the column {shown(c.name)} "
            f"count{'s' if c.n_infinite == 1 else ''} as missing."
            for c in columns
            if c.n_infinite
        ]
    )
    notices += reading_notices(columns)
    notices += _limited(
        [
            f"The column {shown(c.name)} has {c.n_distinct:,} categories, which are replaced by "
            "averages of the target over their rows."
            for c in columns
            if c.used and c.kind == "category" and c.n_distinct > MANY_LEVELS
        ]
    )
    return notices


def _suspect_texts(column: Column) -> list[str]:
    if column.kind == "date":
        return [date_text(as_date(day)) for day in column.suspects]
    return [f"{value:g}" for value in column.suspects]


def reading_notices(columns: Sequence[Column]) -> list[str]:
    """What was suspected, ambiguous or decided about the cells of columns, one sentence each."""
    notices = _limited(
        [
            f"The column {shown(c.name)} has {listed(_suspect_texts(c))} far from its "
            "other values. If it means missing, enter it under Missing if "
            "(--missing)."
            for c in columns
            if c.suspects
        ]
    )
    notices += _limited(
        [
            f"The column {shown(c.name)} does not show whether day or month comes first. It was "
            f"read as {style_words(c.date_style)}."
            for c in columns
            if c.ambiguous_dates
        ]
    )
    if codes := [column.name for column in columns if "codes" in dict(column.remarks)]:
        notices.append(
            f"{columns_named(codes)} hold{'s' * (len(codes) == 1)} numbers that are read as codes: "
            "choose Kind numeric (--kind) if they count or measure."
        )
    remarks = [remark for column in columns for remark in column.remarks]
    for sort in REMARKS:
        notices += _limited([sentence for kind, sentence in remarks if kind == sort])
    return notices


def unreadable_sentence(column: Column) -> str:
    """Which cells of a column are not of its kind."""
    what = "dates" if column.kind == "date" else "numbers"
    cells = counted(column.n_unreadable, "cell")
    plural = column.n_unreadable > 1
    return (
        f"{cells} of the column {shown(column.name)} cannot be read as "
        f"{what if plural else 'a ' + what[:-1]} ({listed(column.unreadable)}) and "
        f"count{'' if plural else 's'} as missing."
    )


def years_remarks(
    name: str, text: Any, values: NDArray[np.datetime64], style: str
) -> list[tuple[str, str]]:
    """What years of two digits are read as, and which dates are far from the others, by cells."""
    known = np.flatnonzero(~np.isnat(values))
    order = known[np.argsort(values[known], kind="stable")]
    first = re.search(r" from (\d+)$", style)
    if first and len(order):
        ends = [f"{shown(text[int(k)])} is {date_text(values[k])}" for k in order[[0, -1]]]
        sentence = (
            f"The years of the column {shown(name)} have two digits and are read as {first[1]} to "
            f"{int(first[1]) + 99}: {enumerated(list(dict.fromkeys(ends)))}."
        )
        return [("years", sentence)]
    days = values[order].astype("M8[D]").astype(np.float64)
    low, high = np.quantile(days, (0.05, 0.95)) if len(days) else (0.0, 0.0)
    reach = max(_FAR_SPREADS * (high - low), _FAR_DAYS)
    far = order[((days < low - reach) | (days > high + reach)) & ~np.isin(days, SUSPECT_DAYS)]
    if not 0 < len(far) <= max(1.0, _MOST_FAR * len(days)):
        return []
    cells = listed(dict.fromkeys(str(text[int(k)]) for k in far), limit=3)
    sentence = (
        f"{counted(len(far), 'date')} of the column {shown(name)} ({cells}) "
        f"{'is' if len(far) == 1 else 'are'} far from the others, most of which are from "
        f"{date_text(as_date(np.floor(low)))} to {date_text(as_date(np.floor(high)))}: check "
        f"{'it' if len(far) == 1 else 'them'}."
    )
    return [("years", sentence)]


def fold_alike(sentences: Iterable[str]) -> list[str]:
    """At most five sentences of a sort, which are those that begin alike."""
    sorts: dict[str, list[str]] = {}
    for sentence in sentences:
        words = re.findall(r"[a-z]+", re.sub(r'"[^"]*"|\([^)]*\)', "", sentence.lower()))
        sorts.setdefault(" ".join(word.rstrip("s") for word in words[:8]), []).append(sentence)
    return [sentence for alike in sorts.values() for sentence in _limited(alike)]


def _limited(sentences: list[str]) -> list[str]:
    """At most five sentences of one sort."""
    if len(sentences) <= _MOST_SENTENCES:
        return sentences
    more = len(sentences) - _MOST_SENTENCES
    return [*sentences[:_MOST_SENTENCES], f"The same holds for {counted(more, 'more column')}."]
