"""Words in a column: those that mean missing, and different spellings of one level."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import types

from gbuq_core.presentation import counted, listed, percent, shown
from gbuq_core.tables.columns import (
    KEPT_WORD,
    MARKER_WORDS,
    Column,
    Missing,
    as_text,
    fold_names,
    trim,
)
from gbuq_core.tables.decimal_marks import NAMES, OTHER, FileMark
from gbuq_core.tables.written_dates import ENOUGH
from gbuq_core.tables.written_numbers import Numbers, read_numbers

_SURELY_WORDS = 0.5  # of the cells, from which on words are what a column holds
_FEW_OTHERS = 3  # words among numbers, or that repeat, which may mean missing
_N_EXAMPLES = 3
_MOSTLY = 0.8  # of the cells, where any word that repeats among them means missing
# What people and programs write for it.
_MEAN_MISSING = frozenset((
    r"\n", ":", "..", "...", "…", "---", "----", "*", "**", "***", "#", "##", "xx", "-/-", ".a",
    ".b", ".z", "n.a.", "n.a", "n.d.", "n.d", "n.r.", "n.v.", "n/d", "n/k", "n/r", "nd", "nr",
    "nil", "none", "(null)", "[null]", "void", "blank", "(blank)", "empty", "(empty)", "unknown",
    "unk", "unbekannt", "inconnu", "desconocido", "tbd", "tba", "tbc", "suppressed", "missing",
    "(missing)", "undefined", "undef", "(nan)", "k.a.", "s/d", "s.d.", "s.o.", "n.c.", "dk",
    "dnk", "refused", "error", "(na)", "[na]", "na", "nan", "null", "not available",
    "not applicable", "no data", "not reported", "not recorded", "nodata", "not known",
    "not measured", "not disclosed", "no answer", "don't know", "no value", "keine angabe",
    "missing value", "no info", "to be determined", "prefer not to say",
))  # fmt: skip
_MOST_SPELLED = 20_000  # levels, of which different spellings are looked for
_SHORT = ({"y": "yes", "n": "no"}, {"t": "true", "f": "false"}, {"j": "ja", "n": "nein"})
_MOST_NAMED = 20  # words that count as missing


def with_words(base: Column, array: Any, text: Any) -> tuple[Column, Any]:
    """A column of words, where None is one, and what its markers of missing cells are."""
    counts = _count_words(array, text)
    kept = 0 if KEPT_WORD in base.missing.texts else counts.pop(KEPT_WORD, 0)
    words = _markers(counts, base)
    remarks = [*base.remarks]
    where = f"of the column {shown(base.name)}"
    if kept:
        text = as_text(array, base.missing)
        cells = counted(kept, "cell")
        remarks.append(
            (
                "kept",
                f"{cells} {where} {'is' if kept == 1 else 'are'} {KEPT_WORD}, which is kept as "
                "a value like the others. If it means missing, enter it under Missing if "
                "(--missing).",
            )
        )
    if words:
        remarks.append(("words", words_sentence(base, words)))
    column = replace(base, n_missing=text.null_count, examples=first_examples(text))
    return replace(column, n_distinct=n_distinct(text), remarks=tuple(remarks)), text


def marker_words(column: Column, array: Any, text: Any) -> dict[str, int]:
    """The words of missing cells that may be values, with their numbers."""
    return _markers(_count_words(array, text), column)


def _markers(counts: dict[str, int], column: Column) -> dict[str, int]:
    return {
        word: n
        for word, n in counts.items()
        if word in MARKER_WORDS and word not in column.missing_values
    }


def words_sentence(column: Column, words: dict[str, int]) -> str:
    """That words in a column count as missing."""
    n = sum(words.values())
    return (
        f"{counted(n, 'cell')} of the column {shown(column.name)} ({listed(list(words))}) "
        f"count{'s' if n == 1 else ''} as missing. If that is a value, tick Keep words "
        "(--keep-words)."
    )


def without_markers(
    base: Column, text: Any, unreadable: NDArray[np.bool_], what: str
) -> tuple[Column, Any]:
    """The text without words among numbers or dates that mean missing, and the column with them."""
    n_bad, n_known = int(unreadable.sum()), len(text) - text.null_count
    if not n_bad or n_bad > _SURELY_WORDS * n_known or base.keep_words:
        return base, text
    counts = pc.value_counts(text.filter(pa.array(unreadable))).to_pylist()
    if len(counts) > len(_MEAN_MISSING):
        return base, text
    often = {each["values"]: each["counts"] for each in counts}
    known = {word for word in often if word.lower() in _MEAN_MISSING}
    others = {word: n for word, n in often.items() if word not in known}
    mostly = n_bad <= (1.0 - _MOSTLY) * n_known and len(others) <= _FEW_OTHERS
    if mostly and not any(letter.isdigit() for word in others for letter in word):
        known |= {word for word, n in others.items() if n > 1}
    if not known:
        return base, text
    words = tuple(word for word in often if word in known)
    n = sum(often[word] for word in words)
    left = sum(often.values()) - n
    if left > (1.0 - ENOUGH) * (n_known - n):  # still a column of words
        return base, text
    sentence = (
        f"{percent((n_known - n_bad) / n_known, 0)} of the cells of the column {shown(base.name)} "
        f"are {what}; {listed(words)} {'is' if len(words) == 1 else 'are'} not and "
        f"count{'s' if len(words) == 1 else ''} as missing ({counted(n, 'cell')}). If that is a "
        "value, choose Kind category (--kind)."
    )
    text = pc.if_else(pc.is_in(text, value_set=pa.array(words)), pa.scalar(None, pa.string()), text)
    return replace(
        base,
        found_missing=words,
        n_missing=text.null_count,
        examples=first_examples(text),
        remarks=(*base.remarks, ("among", sentence)),
    ), text


def unmatched_values(base: Column, array: Any) -> str:
    """What to say of values that should be missing but are in no cell; empty if there are none."""
    nowhere, n_missing = [], as_text(array, Missing(frozenset())).null_count
    for value in base.missing_values:
        own = replace(base, missing_values=(value,)).missing
        found = as_text(array, Missing(frozenset([value]), own.numbers, own.decimal))
        if found.null_count == n_missing:
            nowhere.append(value)
    if not nowhere:
        return ""
    return (
        f"No cell of the column {shown(base.name)} is {listed(nowhere)}, so nothing is missing "
        "for it: check Missing if (--missing)."
    )


def numbers_among_words(base: Column, text: Any, numbers: Numbers, mark: FileMark) -> str:
    """What to say of a column of words that may be one of numbers; empty for others."""
    others = pc.unique(text.filter(numbers.unreadable)).to_pylist()
    known = len(text) - text.null_count
    where = f"the column {shown(base.name)}"
    other = OTHER[mark.decimal]
    if mark.basis == "given":
        n_other = known - int(read_numbers(text, other).unreadable.sum())
        if n_other >= ENOUGH * known:
            return (
                f"The cells of {where} are numbers with a decimal {NAMES[other]}, but the mark "
                f"that was given is a {NAMES[mark.decimal]}, so they are read as words."
            )
    n_bad = int(numbers.unreadable.sum())
    if len(others) > _FEW_OTHERS or n_bad > _SURELY_WORDS * known:
        return ""
    return (
        f"{known - n_bad:,} of {known:,} cells of {where} are numbers, but {listed(others)} "
        f"{'is' if len(others) == 1 else 'are'} not, so it is read as words. If that means "
        "missing, enter it under Missing if (--missing)."
    )


def with_spellings(base: Column, array: Any, text: Any) -> Column:
    """A category whose levels that differ in case, blanks or Unicode form are one."""
    if base.kind != "category" or base.keep_words or base.n_distinct > _MOST_SPELLED:
        return base
    if not types.is_string(array.type):
        return base
    counts = pc.value_counts(text.drop_null())
    folded = fold_names(counts.field("values")).to_pylist()
    longer = next((words for words in _SHORT if {*folded} <= {*words, *words.values()}), {})
    often: dict[str, dict[str, int]] = {}
    for key, each in zip(folded, counts.to_pylist(), strict=True):
        often.setdefault(longer.get(key, key), {})[each["values"]] = each["counts"]
    merged = {key: words for key, words in often.items() if len(words) > 1}
    label_of = {
        key: max(merged[whole], key=lambda word: merged[whole][word])
        for key in folded
        if (whole := longer.get(key, key)) in merged
    }
    seen = pc.unique(pc.utf8_trim(array, characters=" \t\r\n")).drop_null()
    seen = seen.filter(trim(seen, base.missing).is_valid())
    forms: dict[str, list[str]] = {}
    for key, word in zip(fold_names(seen).to_pylist(), seen.to_pylist(), strict=True):
        forms.setdefault(longer.get(key, key), []).append(word)
    several = [word for words in forms.values() if len(words) > 1 for word in words[:3]]
    if not several:
        return base
    sentence = (
        f"Values of the column {shown(base.name)} that differ only in case, blanks or Unicode form"
        f"{', or are Y for Yes,' if {*longer} & {*folded} else ''}"
        f" ({listed(several, limit=6)}) are one. If they are not the same, tick Keep "
        "words (--keep-words)."
    )
    return replace(
        base,
        spellings=tuple(label_of.items()),
        n_distinct=len(often),
        remarks=(*base.remarks, ("spellings", sentence)),
    )


def _count_words(array: Any, text: Any) -> dict[str, int]:
    """How often each text stands in the cells that are missing."""
    gone = as_text(array.filter(pc.is_null(text)), Missing(frozenset()))
    return {each["values"]: each["counts"] for each in pc.value_counts(gone).to_pylist()}


def words_of_missing(array: Any, column: Column) -> tuple[tuple[str, int], ...]:
    """The texts of missing cells with their numbers, the most frequent first."""
    if not column.n_missing or not types.is_string(array.type):
        return ()
    counts = _count_words(array, as_text(array, column.missing))
    words = [(word, n) for word, n in counts.items() if word]
    return tuple(sorted(words, key=lambda pair: -pair[1])[:_MOST_NAMED])


def first_examples(text: Any) -> tuple[str, ...]:
    """The first distinct values."""
    values = text.slice(0, 200).drop_null().unique().to_pylist()
    if len(values) < _N_EXAMPLES:
        values = text.drop_null().slice(0, 20_000).unique().to_pylist()
    return tuple(values[:_N_EXAMPLES])


def n_distinct(text: Any) -> int:
    """How many different texts there are, without missing ones."""
    # Three to six times as fast as to count.
    return len(pc.unique(text)) - (text.null_count > 0)
