"""What the one-piece reader would conclude about the columns of a file to score.

Some conclusions hold for a column as a whole: its decimal mark, how its dates are written, whether
its categories are all numbers, and whether its cells are written back as numbers. A block alone
would sometimes conclude something else. So all rows are read once before any is scored, and
`prepare_block` and `own_columns` read each block with the conclusions of the whole column.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from gbuq_core.errors import InvalidData
from gbuq_core.jobs import parallel_map, tick
from gbuq_core.presentation import counted, shown
from gbuq_core.streaming.blocks import BlockFile
from gbuq_core.tables.cleaning import (
    Prepared,
    class_codes,
    feature_values,
    ignored_columns,
    left_out_cells,
    names_like,
)
from gbuq_core.tables.column_notices import fold_alike
from gbuq_core.tables.columns import (
    CODES,
    LONG_WHOLE,
    Column,
    as_categories,
    as_dates,
    as_numbers,
    as_text,
    finite_values,
    has_groups,
    plain_column,
    single_chunk,
    trim,
)
from gbuq_core.tables.decimal_marks import (
    OTHER,
    FileMark,
    count_against,
    count_marked,
    is_contradicted,
    like_sentence,
    sentence_of_other,
)
from gbuq_core.tables.output import known_marks
from gbuq_core.tables.words_in_columns import marker_words, words_sentence
from gbuq_core.tables.written_dates import style_like
from gbuq_core.tables.written_numbers import read_numbers

_SURVEY_ROWS = 65_536
_SAMPLED = 3000  # cells that show how dates are written, as for a whole column
_EXAMPLES = 3
_AS_COUNTED = "(blank and skipped rows are not counted)"  # which blocks do not know
_NO_NUMBER = "x"  # a cell with which a column is no column of plain numbers


_POINT = FileMark()


class _Bad(NamedTuple):
    """Cells that cannot be read: how many, the first distinct ones, and the row of the first."""

    n: int = 0
    examples: tuple[str, ...] = ()
    row: int = 0

    def join(self, unreadable: Any, text: Any, start: int) -> _Bad:
        """With those of a further block, which begins at row ``start``."""
        n = int(unreadable.sum())
        if not n:
            return self
        new = text.filter(pa.array(unreadable)).unique().to_pylist()
        examples = tuple(dict.fromkeys([*self.examples, *new]))[:_EXAMPLES]
        row = self.row if self.n else start + int(np.argmax(unreadable)) + 1
        return _Bad(self.n + n, examples, row)


@dataclass
class _Shown:
    """Facts that decide how a column of text is written back; see `tables.columns.plain_column`."""

    decimal: str = "."
    known: bool = False
    missing: bool = False
    codes: bool = False
    whole: bool = True
    numbers: bool = True
    long: bool = False

    def add(self, array: Any) -> None:
        """With the cells of a further block."""
        text = trim(array)
        self.known |= text.null_count < len(text)
        self.missing |= text.null_count > 0
        if self.codes:
            return
        codes = pc.any(pc.match_substring_regex(text, CODES)).as_py()
        self.codes = bool(codes) or has_groups(text, self.decimal)
        self.whole = self.whole and _casts(text, pa.int64())
        self.numbers = self.numbers and (self.whole or _casts(text, pa.float64()))
        if not self.whole:
            self.long |= bool(pc.any(pc.match_substring_regex(text, LONG_WHOLE)).as_py())

    @property
    def kind(self) -> str:
        """How the column is written: nothing, text, whole numbers, some of them, or numbers."""
        if not self.known:
            return "empty"
        if self.codes:
            return "text"
        if self.whole:
            return "some whole" if self.missing else "whole"
        return "numbers" if self.numbers and not self.long else "text"


@dataclass
class _Facts:
    """What is known about one column of the file."""

    column: Column | None = None  # of the training table, if it is a feature or the target
    reads: str = ""  # "numeric", "category" or "date" where it is one of those
    is_timestamp: bool = False
    shown: _Shown = field(default_factory=_Shown)
    n_known: int = 0
    has_missing: bool = False
    n_infinite: int = 0
    mark: str = "."
    of_file: FileMark = _POINT
    n_against: int = 0  # unreadable cells that are numbers with the other mark
    mark_notice: str = ""
    plain: bool = True  # all cells can be cast to numbers with that mark
    bad: _Bad = field(default_factory=_Bad)
    all_numbers: bool = True  # all categories
    words: Counter[str] = field(default_factory=Counter)  # of missing cells, which may be values
    sample: list[str] = field(default_factory=list)
    style: str = ""

    @property
    def read_as(self) -> Column:
        """`column` of one that has one."""
        assert self.column is not None
        return self.column


class Survey(NamedTuple):
    """What holds for the columns of a file as a whole.

    Attributes
    ----------
    n_rows : int
    has_target : bool
        Whether any row has a target that the model knows.
    notices : tuple of str
        As of a second file that is read in one piece; of unreadable cells with the first row.
    """

    n_rows: int
    has_target: bool
    notices: tuple[str, ...]
    facts: dict[str, _Facts]
    called: dict[str, str]  # how the file calls the columns of the training table


def survey_file(file: BlockFile, training: Prepared) -> Survey:
    """Read all rows once and conclude what the one-piece reader would.

    Parameters
    ----------
    file : BlockFile
        To be scored.
    training : Prepared
        The table that the model learns from.

    Raises
    ------
    InvalidData
        If columns are missing or hold something else than in the training table.
    """
    needed = list(dict.fromkeys(feature.column for feature in training.features))
    names, notices = names_like(file.names, [c.name for c in training.schema.columns])
    notices += ignored_columns(names, needed, training.schema)
    called = dict(zip(names, file.names, strict=True))
    of_file = file.source.mark
    marks = known_marks(names, of_file, training.schema)
    facts = {
        own: _Facts(mark=of_file.decimal, of_file=of_file, shown=_Shown(marks[name]))
        for name, own in called.items()
    }
    target = training.target
    own_target = called.get(target.name, "")
    for like in (*needed, *([target.name] if own_target else [])):
        name, column = called[like], training.schema.column(like)
        if of_file.basis == "given":
            column = replace(column, decimal=of_file.decimal)
        facts[name].column, facts[name].mark = column, column.decimal
        facts[name].reads = column.kind
    if own_target:
        facts[own_target].reads = "category" if target.classes else "numeric"
    seen = _Classes(target.classes)
    n_rows = 0

    def look(block: pa.Table, start: int) -> None:
        nonlocal n_rows
        n_rows += block.num_rows
        pairs = [(facts[name], single_chunk(block, name)) for name in file.names]
        parallel_map(lambda pair: _look(pair[0], pair[1], start), pairs)
        if target.classes and own_target:
            seen.add(facts[own_target], single_chunk(block, own_target))

    _each(file, look)
    if not n_rows:
        raise InvalidData("The file has a header but no rows: add rows below the header.")
    _choose_marks(file, facts)
    _choose_styles(file, facts)
    notices += fold_alike(text for name in needed for text in _judge(facts[called[name]]))
    notices += file.notices
    if not own_target:
        return Survey(n_rows, False, tuple(notices), facts, called)
    own = facts[own_target]
    if target.classes:
        return Survey(n_rows, seen.any_known(own), tuple(notices), facts, called)
    notices += _target_notices(own, target.name)
    n_numbers = own.n_known - own.bad.n - own.n_infinite
    return Survey(n_rows, n_numbers > 0, tuple(notices), facts, called)


def prepare_block(block: pa.Table, survey: Survey, training: Prepared) -> Prepared:
    """Features and target of a block, as `gbuq_core.tables.prepare_new` reads the whole file.

    Parameters
    ----------
    block : pyarrow.Table
    survey : Survey
        Of the file.
    training : Prepared
    """
    parts: dict[str, Any] = {}
    wanted: dict[str, list[Any]] = {}
    for feature in training.features:
        wanted.setdefault(feature.column, []).append(feature)
    for name, features in wanted.items():
        own = survey.called[name]
        cells = _read(single_chunk(block, own), survey.facts[own], [f.part for f in features])
        parts |= {feature.name: cells[feature.part] for feature in features}
    X = pd.DataFrame({f.name: parts[f.name] for f in training.features}, copy=False)
    y, target = np.full(block.num_rows, np.nan), training.target
    if target.name in survey.called:
        own = survey.called[target.name]
        facts, array = survey.facts[own], single_chunk(block, own)
        if target.task == "regression":
            y = _numbers(array, facts)
        else:
            y = class_codes(_categories(array, facts), target.classes)
    return training._replace(X=X, y=y, notices=(), split=None, row_numbers=np.zeros(0, np.int64))


def own_columns(block: pa.Table, survey: Survey) -> list[pd.Series]:
    """The columns of a block as they are written back; see `tables.columns.plain_column`."""
    return [_written(single_chunk(block, name), survey.facts[name]) for name in block.column_names]


def _each(file: BlockFile, look: Callable[[pa.Table, int], None]) -> None:
    start = 0
    for block in file.blocks(_SURVEY_ROWS):
        tick(0.0)
        look(block, start)
        start += block.num_rows


def _look(facts: _Facts, array: Any, start: int) -> None:
    """Take in one block of a column."""
    facts.has_missing |= array.null_count > 0
    if types.is_string(array.type):
        facts.shown.add(array)
    facts.is_timestamp = types.is_timestamp(array.type)
    column = facts.column
    if column is None:
        return
    if facts.reads == "numeric" and (types.is_floating(array.type) or types.is_integer(array.type)):
        values = as_numbers(array, column).values  # all can be read
        facts.n_known += int((~np.isnan(values)).sum())
        facts.n_infinite += int(np.isinf(values).sum())
        return
    text = as_text(array, column.missing)
    facts.n_known += len(text) - text.null_count
    if facts.reads == "numeric":
        _look_numbers(facts, array, text, start)
    if facts.reads == "category":
        facts.words.update(marker_words(column, array, text))
        facts.all_numbers = facts.all_numbers and _all_numbers(text)


def _look_numbers(facts: _Facts, array: Any, text: Any, start: int) -> None:
    is_text, column = types.is_string(array.type), facts.read_as
    numbers = read_numbers(text, facts.mark, column.units) if is_text else as_numbers(array, column)
    facts.bad = facts.bad.join(numbers.unreadable, text, start)
    facts.n_infinite += int(np.isinf(numbers.values).sum())
    if not is_text:
        return
    if facts.plain:
        facts.plain = _is_plain(text, facts.mark)
    if facts.of_file.basis != "given":
        facts.n_against += count_against(text, numbers.unreadable, facts.mark)
        if not start:  # the first block is enough to see that it is written in another way
            facts.mark_notice = like_sentence(facts.read_as, text, facts.of_file)


def _is_plain(text: Any, mark: str) -> bool:
    """Whether the numbers can be cast, as `read_numbers` does where it can."""
    if mark == ",":
        if pc.any(pc.match_substring(text, ".")).as_py():
            return False
        text = pc.replace_substring(text, ",", ".")
    return _casts(text, pa.float64())


def _casts(text: Any, kind: Any) -> bool:
    try:
        pc.cast(text, kind)
    except pa.ArrowInvalid:
        return False
    return True


def _all_numbers(text: Any) -> bool:
    """Whether all categories of a block are numbers, so that 1 and 1.0 would be one."""
    labels = text.unique().drop_null()
    if not len(labels):
        return True
    if pc.any(pc.match_substring_regex(labels, CODES)).as_py():
        return False
    return pc.max(pc.utf8_length(labels)).as_py() <= 15 and _casts(labels, pa.float64())


def _choose_marks(file: BlockFile, facts: dict[str, _Facts]) -> None:
    """Another decimal mark than in training where most cells of a column have it."""
    doubtful = {}
    for name, each in facts.items():
        if each.n_against and each.column is not None:
            mark = OTHER[each.mark]
            doubtful[name] = replace(
                each,
                column=replace(each.column, decimal=mark),
                mark=mark,
                bad=_Bad(),
                n_infinite=0,
                plain=True,
            )
    if not doubtful:
        return
    n_marked = dict.fromkeys(doubtful, 0)

    def look(block: pa.Table, start: int) -> None:
        for name, other in doubtful.items():
            array = single_chunk(block, name)
            text = as_text(array, other.read_as.missing)
            n_marked[name] += count_marked(text)
            _look_numbers(other, array, text, start)

    _each(file, look)
    for name, other in doubtful.items():
        if is_contradicted(facts[name].n_against, n_marked[name]):
            notice = sentence_of_other(other.read_as.name, facts[name].mark)
            facts[name] = replace(other, mark_notice=notice)


def _choose_styles(file: BlockFile, facts: dict[str, _Facts]) -> None:
    """How the dates of a column of text are written, by cells from all over it."""
    dates = {
        name: each for name, each in facts.items() if each.reads == "date" and not each.is_timestamp
    }
    if not dates:
        return
    passed = dict.fromkeys(dates, 0)

    def sample(block: pa.Table, start: int) -> None:
        for name, each in dates.items():
            known = as_text(single_chunk(block, name), each.read_as.missing).drop_null()
            step = max(1, each.n_known // _SAMPLED)
            first = -passed[name] % step
            each.sample += known.take(np.arange(first, len(known), step)).to_pylist()
            passed[name] += len(known)

    def count(block: pa.Table, start: int) -> None:
        for name, each in dates.items():
            text = as_text(single_chunk(block, name), each.read_as.missing)
            unreadable = as_dates(text, each.style, each.read_as.missing).unreadable
            unreadable &= text.is_valid().to_numpy(zero_copy_only=False)
            each.bad = each.bad.join(unreadable, text, start)

    _each(file, sample)
    for each in dates.values():
        each.style = style_like(each.read_as.date_style, list(dict.fromkeys(each.sample)))
    _each(file, count)


def _judge(facts: _Facts) -> list[str]:
    """Refuse a column that holds something else than in training; say what counts as missing."""
    column, bad = facts.read_as, facts.bad
    if column.kind not in ("numeric", "date"):
        words = facts.words
        return [f"Second file: {words_sentence(column, words)}"] if words else []
    notices = left_out_cells(column, facts.n_known, bad.n, bad.examples, facts.n_infinite)
    if bad.n:
        where = "The first is" if bad.n > 1 else "It is"
        notices[0] += f" {where} in row {bad.row:,} {_AS_COUNTED}."
    return [f"Second file: {facts.mark_notice}", *notices] if facts.mark_notice else notices


def _target_notices(facts: _Facts, name: str) -> list[str]:
    where = f"the target {shown(name)} of the second file"
    notices = [f"Second file: {facts.mark_notice}"] if facts.mark_notice else []
    if facts.bad.n:
        notices.append(
            f"{counted(facts.bad.n, 'row')} with text in {where} count as missing; the first is "
            f"row {facts.bad.row:,} {_AS_COUNTED}."
        )
    if facts.n_infinite:
        notices.append(
            f"{counted(facts.n_infinite, 'infinite value')} of {where} count as missing."
        )
    return notices


class _Classes:
    """Whether any row of the file has one of the classes."""

    def __init__(self, classes: tuple[str, ...]) -> None:
        self._classes = pa.array(list(classes), pa.string())
        self._as_written = self._as_numbers = False

    def add(self, facts: _Facts, array: Any) -> None:
        """With a further block."""
        missing = facts.read_as.missing
        if not self._as_written:
            text = as_text(array, missing)
            self._as_written = bool(pc.any(pc.is_in(text, value_set=self._classes)).as_py())
        if not self._as_numbers and facts.all_numbers:
            labels = as_categories(array, facts.read_as).categories
            self._as_numbers = bool(labels.isin(self._classes.to_pylist()).any())

    def any_known(self, facts: _Facts) -> bool:
        """Once all rows have been seen."""
        return self._as_numbers if facts.all_numbers else self._as_written


def _read(array: Any, facts: _Facts, parts: list[str]) -> dict[str, Any]:
    """The features of a column by part; see `tables.cleaning.feature_values`."""
    column = facts.read_as
    if column.kind == "numeric":
        return {"": _numbers(array, facts)}
    if column.kind == "category":
        return {"": _categories(array, facts)}
    return feature_values(array, replace(column, date_style=facts.style), tuple(parts))


def _numbers(array: Any, facts: _Facts) -> Any:
    if not types.is_string(array.type):
        return finite_values(as_numbers(array, facts.read_as))
    text = as_text(array, facts.read_as.missing)
    if facts.plain:
        return finite_values(read_numbers(text, facts.mark, facts.read_as.units))
    # Some other block holds a cell that is no plain number: read this one in the same way.
    more = pa.concat_arrays([text, pa.array([_NO_NUMBER])])
    return finite_values(read_numbers(more, facts.mark, facts.read_as.units))[:-1]


def _categories(array: Any, facts: _Facts) -> Any:
    if facts.all_numbers:
        return as_categories(array, facts.read_as)
    # Some other block holds a word: 1 and 1.0 are two categories here too.
    text = as_text(array, facts.read_as.missing)
    more = pa.concat_arrays([text, pa.array([_NO_NUMBER])])
    return as_categories(more, facts.read_as)[:-1].remove_unused_categories()


def _written(array: Any, facts: _Facts) -> pd.Series:
    kind = facts.shown.kind
    if not types.is_string(array.type):
        series = plain_column(array)
        if facts.has_missing and types.is_boolean(array.type):
            return series.astype("boolean")
        if facts.has_missing and types.is_integer(array.type):
            return series.astype("UInt64" if array.type == pa.uint64() else "Int64")
        return series
    if kind == "text":
        return pd.Series(array.to_pandas(), dtype="str")
    if kind == "empty":
        return pd.Series(np.full(len(array), np.nan))
    text = trim(array)
    if kind == "numbers":
        return pd.Series(pc.cast(text, pa.float64()).to_numpy(zero_copy_only=False))
    numbers = pc.cast(text, pa.int64())
    if kind == "whole":
        return pd.Series(numbers.to_numpy(zero_copy_only=False))
    missing = text.is_null().to_numpy(zero_copy_only=False)
    whole = pc.fill_null(numbers, 0).to_numpy()
    return pd.Series(pd.arrays.IntegerArray(whole.copy(), missing.copy()))
