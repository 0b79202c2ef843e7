"""Rows and columns of a file that are no data: repeated headers, totals, footers, own output."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import types

from gbuq_core.presentation import enumerated, shown
from gbuq_core.tables.columns import MISSING_MARKERS, Missing, trim
from gbuq_core.tables.written_numbers import cores, read_numbers

_LAST_ROWS = 20  # in which a footer stands
_TAIL = _LAST_ROWS + 1
_FEWEST_COLUMNS = 3  # where a row with a single cell is none of data
_MOST_TOTALS = 0.2  # of the rows
_MOST_WORD_COLUMNS = 20  # the first ones, in which a word for a total may stand
_LOOKED_AT = 200  # cells, which show that a column holds words
_DEEPEST = 40  # named rows, between which what a total adds up begins or ends
_NEAR = 1e-3  # of a sum, between it and what stands in a row of totals
_LISTED = 10
_FEWEST_OWN_NAMES = 0.5  # of filled cells, for them to name the rows below them
_FEWEST_FILLED, _FEWEST_GROUPS = 8, 4  # rows and filled cells, before blank ones are filled
_WORD = (
    r"(?:total|totals|totale|totaux|totaal|totalt|toplam|sum|summe|summa|gesamt|gesamtsumme|kokku|"
    r"insgesamt|suma|sumatoria|somme|somma|soma|celkem|spolu|součet|ukupno|ogółem|razem|összesen|"
    r"összeg|yhteensä|samtals|i alt|viso|skupaj|kopā|jumlah|yekun|всего|итого|итог|общо|разом|"
    r"усього|укупно|σύνολο|סה״כ|סה\"כ|المجموع|الإجمالي|إجمالي|รวม|tổng|合计|总计|小计|合計|総計|小計|總計|"
    r"소계|합계|총계)"
)
_BEFORE = r"(?:(?:grand|sub|sous|zwischen|teil|tussen|del|mezi|väli|pod|rész)[ -]?)"
_TOTAL = (
    rf"^\W*{_BEFORE}?{_WORD}(?:\PL.*)?$|^(?:.*\PL)?{_BEFORE}?{_WORD}\W*$"
    r"|^(?:all|alle|tous|todos|все)(?: \pL+)?$"
)
# What scoring adds to a table; a file that has the first one and another is its own output.
_OWN = re.compile(
    r"(prediction|(lower|upper)_\d+(\.\d+)?|(total|data|knowledge)_uncertainty(_std)?|unfamiliarity"
    r"|times_beyond|novelty|outside_columns|error|fold|in_training|unseen_level|new_missing|row_in_file"
    r"|ibug_std|nearest_rows|conditional_novelty|inference_novelty)( \(input\))?"
)
_SURELY_OWN = re.compile(r"(total|data|knowledge)_uncertainty")


OWN = "It was added by an earlier scoring."


class LeftOut(NamedTuple):
    """A row of the file, by its number there, or a column, by its name, and why it is left out."""

    row: int | None
    column: str | None
    reason: str


Columns = list[tuple[str, Any]]
Blocks = Callable[[], Iterable[Columns]]


def own_columns(names: Sequence[str]) -> tuple[str, ...]:
    """The columns that an earlier scoring has added."""
    if "prediction" not in names or not any(_SURELY_OWN.match(name) for name in names):
        return ()
    begin = list(names).index("prediction")
    return tuple(
        name
        for place, name in enumerate(names)
        if place >= begin and (_OWN.fullmatch(name) or name.startswith("p_"))
    )


def find_rows(
    blocks: Blocks, row_numbers: NDArray[np.int64] | None, decimal: str
) -> tuple[NDArray[np.bool_], list[LeftOut], list[str]]:
    """Which rows are data, the others with their reasons, and what to say of them.

    ``blocks`` gives the columns some rows at a time, each time from the first row on. Without
    ``row_numbers``, all rows of the file are there.
    """
    headers: list[int] = []
    words: list[NDArray[np.bool_]] = []
    last: Columns = []
    n_rows = 0
    for columns in blocks():
        headers += [n_rows + row for row in _repeated_headers(columns)]
        words.append(_named_totals(columns))
        n_rows += len(words[-1])
        last = [
            (name, pa.concat_arrays([*(old for _, old in last[place : place + 1]), array[-_TAIL:]]))
            for place, (name, array) in enumerate(columns)
        ]
    stays = np.ones(n_rows, bool)
    numbered = np.arange(1, n_rows + 1) if row_numbers is None else row_numbers
    left: list[LeftOut] = []
    notices: list[str] = []

    def leave(rows: Sequence[int], single: str, several: str) -> None:
        if not len(rows):
            return
        stays[rows] = False
        numbers = numbered[rows].tolist()
        left.extend(LeftOut(number, None, f"It {single}.") for number in numbers)
        listed = [f"{number:,}" for number in numbers[:_LISTED]]
        if len(numbers) > _LISTED:
            listed.append(f"{len(numbers) - _LISTED:,} more")
        many = len(numbers) > 1
        notices.append(
            f"Row{'s' if many else ''} {enumerated(listed)} {several if many else single} and "
            f"{'are' if many else 'is'} left out: choose Totals and footers keep (--keep-rows yes) "
            "to read them as rows."
        )

    if n_rows < _FEWEST_COLUMNS:
        return stays, left, notices
    leave(headers, "repeats the header", "repeat the header")
    for row in _footers(last, n_rows):
        filled = [cell for cell in _row_cells(last, row) if cell]
        what = f"has a single cell ({shown(filled[0])})" if filled else "is empty"
        leave([n_rows - len(last[0][1]) + row], what, what)
    above, below = _totals(blocks, np.concatenate(words) & stays, stays, decimal)
    for rows, where in ((above, "above"), (below, "below")):
        total = f"the numbers of the rows {where}"
        leave(rows, f"adds up {total}", f"add up {total}")
    return stays, left, notices


def filled_groups(name: str, array: Any) -> tuple[Any, str]:
    """A column with every second, third ... cell filled, with the blank ones below filled too."""
    if not types.is_string(array.type) or len(array) < _FEWEST_FILLED or not _stands(array[0]):
        return array, ""
    if _stands(array[1]):
        return array, ""
    blank = pc.fill_null(pc.equal(pc.utf8_trim_whitespace(array), ""), True)
    filled = np.flatnonzero(~blank.to_numpy(zero_copy_only=False))
    step = int(filled[1]) if len(filled) > 1 else 0
    if step < 2 or len(filled) < _FEWEST_GROUPS or (np.diff(filled) != step).any():
        return array, ""
    if len(pc.unique(array.take(pa.array(filled)))) < _FEWEST_OWN_NAMES * len(filled):
        return array, ""  # a mark in every second row, maybe
    whole = array.take(pa.array(filled[np.minimum(np.arange(len(array)) // step, len(filled) - 1)]))
    return whole, (
        f"The column {shown(name)} is filled in one of {step} rows, and its cells are read as if "
        "they stood in the blank ones below too: choose Totals and footers keep (--keep-rows yes) "
        "to leave these blank."
    )


def _stands(cell: Any) -> bool:
    return cell.is_valid and bool(cell.as_py().strip())


def _word_columns(columns: Columns) -> list[Any]:
    """The columns of text whose first cells are words."""
    texts = [array for _, array in columns if types.is_string(array.type)]
    if not texts:
        return []
    some = [array.slice(0, _LOOKED_AT) for array in texts]
    # All at once: a pattern takes longer to be read than a column.
    hits = pc.fill_null(pc.match_substring_regex(pa.concat_arrays(some), r"\pL"), False)
    ends = np.cumsum([len(cells) for cells in some])
    parts = np.split(hits.to_numpy(zero_copy_only=False), ends[:-1])
    return [array for array, part in zip(texts, parts, strict=True) if part.any()]


def _repeated_headers(columns: list[tuple[str, Any]]) -> list[int]:
    same: Any = None
    for name, array in columns:
        if not types.is_string(array.type):
            return []
        again = rf"^\s*{re.escape(name.strip())}\s*$"  # in capitals, maybe
        equal = pc.fill_null(pc.match_substring_regex(array, again, ignore_case=True), False)
        same = equal if same is None else pc.and_(same, equal)
        if not pc.any(same).as_py():
            return []
    return np.flatnonzero(same.to_numpy(zero_copy_only=False)).tolist()


def _row_cells(columns: list[tuple[str, Any]], row: int) -> list[str]:
    cells = (array[row].as_py() for _, array in columns)
    return ["" if cell is None else str(cell).strip() for cell in cells]


def _footers(columns: Columns, n_rows: int) -> list[int]:
    """Of the last rows of a table those that have nothing, or words in a single cell only."""
    if len(columns) < _FEWEST_COLUMNS:
        return []
    n_here = len(columns[0][1])
    footers: list[int] = []
    for row in range(n_here - 1, max(n_here - _LAST_ROWS, 1) - 1, -1):
        cells = _row_cells(columns, row)
        filled = [cell for cell in cells if cell not in MISSING_MARKERS]
        number = filled and cores(pa.array(filled[:1])).null_count == 0
        if len(filled) > 1 or number or (filled and not cells[0]):
            break
        footers.append(row)
    return footers[::-1] if len(footers) < n_rows / 2 else []


def _named_totals(columns: Columns) -> NDArray[np.bool_]:
    """The rows with a word for a total."""
    named = np.zeros(len(columns[0][1]), bool)
    for array in _word_columns(columns)[:_MOST_WORD_COLUMNS]:
        words = pc.unique(array).drop_null()
        hits = words.filter(pc.match_substring_regex(words, _TOTAL, ignore_case=True))
        if len(hits):
            named |= pc.is_in(array, value_set=hits).to_numpy(zero_copy_only=False)
    return named


def _totals(
    blocks: Blocks, named: NDArray[np.bool_], stays: NDArray[np.bool_], decimal: str
) -> tuple[list[int], list[int]]:
    """The named rows whose numbers are the sums of rows above, or below."""
    places = np.flatnonzero(named)
    if not len(places) or len(places) > _MOST_TOTALS * len(stays):
        return [], []
    between, totals = _sums_between(blocks, places, stays & ~named, decimal)
    adding: tuple[list[int], list[int]] = [], []
    for number, row in enumerate(places.tolist()):
        total = totals[number]
        given = np.isfinite(total) & (total != 0.0)
        for rows, parts in zip(adding, (between[number::-1], between[number + 1 :]), strict=True):
            sums = np.vstack([np.cumsum(parts[:_DEEPEST], axis=0), parts.sum(axis=0)])
            right = (np.abs(total - sums) <= _NEAR * np.abs(total))[:, given].sum(axis=1).max()
            if right and 2 * right >= given.sum():
                rows.append(row)
                break
    return adding


def _sums_between(
    blocks: Blocks, places: NDArray[np.int64], plain: NDArray[np.bool_], decimal: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The sums of each column before, between and after some rows, and the numbers of these."""
    between = totals = np.zeros((0, 0))
    at = 0
    for columns in blocks():
        n_here = len(columns[0][1])
        if not len(totals):
            between = np.zeros((len(places) + 1, len(columns)))
            totals = np.full((len(places), len(columns)), np.nan)
        rows = np.arange(at, at + n_here)
        part = np.searchsorted(places, rows)
        here = (places >= at) & (places < at + n_here)
        for column, (_, array) in enumerate(columns):
            if types.is_string(array.type):
                values = read_numbers(trim(array, Missing()), decimal).values
            elif types.is_integer(array.type) or types.is_floating(array.type):
                values = array.to_numpy(zero_copy_only=False).astype(np.float64)
            else:
                continue
            totals[here, column] = values[places[here] - at]
            counted = np.where(plain[rows] & ~np.isnan(values), values, 0.0)
            between[:, column] += np.bincount(part, counted, len(places) + 1)
        at += n_here
    return between, totals
