"""The settings of a project as JSON and back, every value checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, asdict, fields, replace
from functools import partial
from typing import Any, TypeVar

from gbuq_core.projects.container import MINOR, damaged, require
from gbuq_core.projects.project import Project
from gbuq_core.tables import (
    CHOSEN_KINDS,
    KINDS,
    SPLITS,
    TASKS,
    Column,
    Mark,
    ReadOptions,
    Schema,
    ScorePlan,
    Source,
    Target,
)
from gbuq_core.tables.cohorts import LONGEST_CONDITION, MOST_COHORTS, name_problem
from gbuq_core.tables.columns import KEPT_WORD, REMARKS
from gbuq_core.tables.limits import MAX_COLUMNS
from gbuq_core.tables.plan import ENSEMBLES, SCALES, STOPPINGS, table_methods
from gbuq_core.tables.reviewing import LONGEST_NOTE, MOST_MARKS
from gbuq_core.tables.separated_text import DELIMITERS

Found = TypeVar("Found")
MAX_ROWS = 1_000_000_000
_MAX_CLASSES = 200
_LONGEST_TEXT = 2**20  # as a cell
_FORMATS = ("csv", "excel", "parquet", "sql", "memory")
_HEX = frozenset("0123456789abcdef")
_ENGINES = ("numba", "catboost")
_MOST_KNOBS, _MOST_PAGE_SETTINGS = 100, 200
_MOST_TREES = 100_000
_KEEPS_NONE = 2  # the first minor version in which None is a value in columns of words
_PLAN_NUMBERS = {
    "n_members": (1, 1000), "n_trees": (1, _MOST_TREES), "depth": (1, 30),
    "truncation_step": (1, _MOST_TREES), "cycle_length": (1, _MOST_TREES), "max_bins": (2, 255),
    "n_folds": (2, 20), "seed": (0, 2**31 - 1), "n_jobs": (-1024, 1024),
}  # fmt: skip
_NEEDED = ("n_folds", "seed")


def write_settings(project: Project) -> dict[str, Any]:
    """What of a project JSON holds."""
    source = project.source._asdict()
    return {
        "source": {**source, "options": project.source.options._asdict()},
        "n_rows": project.n_rows,
        "columns": [asdict(column) for column in project.schema.columns],
        "notices": list(project.schema.notices),
        "target": project.target._asdict(),
        "task": project.task,
        "plan": write_plan(project.plan),
        "kinds": dict(project.kinds),
        "used": dict(project.used),
        "missing_values": {name: list(marks) for name, marks in project.missing_values.items()},
        "keep_words": list(project.keep_words),
        "cohorts": list(map(list, project.cohorts.items())),  # their order is the reader's
        "marks": [[row, *mark] for row, mark in sorted(project.marks.items())],
        "level": project.level,
        "conformal": project.conformal,
        "page": {name: list(texts) for name, texts in project.page.items()},
        "why_no_models": project.why_no_models,
    }


def read_settings(stored: Mapping[str, Any], version: Sequence[int], written_by: str) -> Project:
    """The project without models and data."""
    newer = version[1] > MINOR
    stored = known_part(stored, dict.fromkeys(_SETTINGS, ...) | {"keep_words": []}, newer)
    source = _read_source(stored["source"], newer)
    n_rows = whole(stored["n_rows"], 1, MAX_ROWS)
    columns = tuple(_list(stored["columns"], MAX_COLUMNS, partial(_read_column, newer)))
    if version[1] < _KEEPS_NONE:
        columns = tuple(map(_without_none, columns))
    names = [column.name for column in columns]
    require(columns and len(set(names)) == len(names), "its columns are odd")
    schema = Schema(columns, n_rows, tuple(_list(stored["notices"], 10_000, text)))
    target = _read_target(stored["target"])
    require(target.name in names, "its target is no column")
    task = stored["task"]
    require(task is None or task in TASKS, "its task is unknown")
    marks = _list(stored["marks"], MOST_MARKS, _read_mark)
    rows = [row for row, _ in marks]
    inside = rows == sorted(set(rows)) and all(0 <= row < MAX_ROWS for row in rows)
    require(inside, "a mark is odd")
    level = number(stored["level"])
    require(0.0 < level < 1.0, "the level of its intervals is impossible")
    return Project(
        source=source,
        n_rows=n_rows,
        schema=schema,
        target=target,
        plan=read_plan(stored["plan"], target.task, names, newer),
        task=task,
        kinds=_by_column(stored["kinds"], names, lambda kind: choice(kind, CHOSEN_KINDS)),
        used=_by_column(stored["used"], names, flag),
        missing_values=_by_column(
            stored["missing_values"], names, lambda marks: tuple(_list(marks, 1000, text))
        ),
        keep_words=tuple(_list(stored["keep_words"], MAX_COLUMNS, lambda one: choice(one, names))),
        cohorts=_read_cohorts(stored["cohorts"]),
        marks=dict(marks),
        level=level,
        conformal=flag(stored["conformal"]),
        page=_read_page(stored["page"]),
        why_no_models=text(stored["why_no_models"]),
        written_by=written_by,
    )


def known_part(stored: Any, known: Mapping[str, Any], newer: bool) -> dict[str, Any]:
    """The settings of ``known`` names; those that an older file lacks have the default there."""
    require(isinstance(stored, dict), "a part has another form")
    require(newer or set(stored) <= set(known), "a setting is unknown")
    found = {name: stored.get(name, default) for name, default in known.items()}
    require(all(value is not ... for value in found.values()), "a setting is missing")
    return found


def _defaults(kind: Any) -> dict[str, Any]:
    """The fields of a dataclass or named tuple as JSON would hold their defaults."""
    if hasattr(kind, "_fields"):
        given: dict[str, Any] = dict.fromkeys(kind._fields, ...) | kind._field_defaults
    else:
        given = {f.name: ... if f.default is MISSING else f.default for f in fields(kind)}
    return {name: list(value) if type(value) is tuple else value for name, value in given.items()}


def write_plan(plan: ScorePlan) -> dict[str, Any]:
    """A plan as JSON holds it."""
    return {**asdict(plan), "knobs": [list(knob) for knob in plan.knobs]}


def read_plan(stored: Any, task: str, columns: Sequence[str], newer: bool) -> ScorePlan:
    """A plan whose every knob has a possible value."""
    stored = known_part(stored, _defaults(ScorePlan), newer)
    choice(stored["method"], table_methods(task))
    choice(stored["ensemble"], ENSEMBLES)
    choice(stored["engine"], _ENGINES)
    choice(stored["stopping"], STOPPINGS)
    choice(stored["split"], SPLITS)
    choice(stored["scale"], SCALES)
    for name, (low, high) in _PLAN_NUMBERS.items():
        if stored[name] is not None or name in _NEEDED:
            whole(stored[name], low, high)
    if stored["learning_rate"] is not None:
        require(0.0 < number(stored["learning_rate"]) <= 10.0, "its learning rate is impossible")
    column = stored["split_column"]
    fits = (column is None) == (stored["split"] == "random") and (not column or column in columns)
    require(fits, "its split is impossible")
    knobs = tuple(_list(stored["knobs"], _MOST_KNOBS, _read_knob))
    return ScorePlan(**{**stored, "knobs": knobs})


def _read_knob(stored: Any) -> tuple[str, Any]:
    require(isinstance(stored, list) and len(stored) == 2, "a knob is odd")
    name, value = stored
    plain = value is None or type(value) in (bool, int, float, str)
    require(plain, "a knob is odd")
    return text(name), value


def _read_source(stored: Any, newer: bool) -> Source:
    stored = known_part(stored, _defaults(Source), newer)
    options = ReadOptions(**known_part(stored["options"], _defaults(ReadOptions), newer))
    known = options.delimiter in (None, *DELIMITERS) and options.decimal in (None, ".", ",")
    require(known and options.header in (None, True, False), _ODD)
    for one in (options.encoding, options.sheet):
        require(one is None or isinstance(one, str), _ODD)
    digest = text(stored["digest"])
    require(len(digest) == 64 and set(digest) <= _HEX, _ODD)
    return Source(
        name=text(stored["name"]),
        format=choice(stored["format"], _FORMATS),
        n_bytes=whole(stored["n_bytes"], 0, 2**50),
        digest=digest,
        options=options,
        summary=text(stored["summary"]),
        sheets=tuple(_list(stored["sheets"], 10_000, text)),
        query=text(stored["query"]),
        index_columns=tuple(_list(stored["index_columns"], 10_000, text)),
        decimal=choice(stored["decimal"], (".", ",")),
        decimal_shown=flag(stored["decimal_shown"]),
    )


_ODD = "what it says about the table is odd"
_TEXTS = ("name", "reason", "decimal", "date_style")
_COUNTS = ("n_missing", "n_distinct", "n_unreadable", "n_infinite")
_FLAGS = ("used", "ambiguous_dates", "chosen", "keep_words")
_LISTS = ("examples", "unreadable", "missing_values")


def _read_column(newer: bool, stored: Any) -> Column:
    stored = known_part(stored, _defaults(Column), newer)
    found: dict[str, Any] = {"kind": choice(stored["kind"], KINDS)}
    found |= {name: text(stored[name]) for name in _TEXTS}
    found |= {name: whole(stored[name], 0, MAX_ROWS) for name in _COUNTS}
    found |= {name: flag(stored[name]) for name in _FLAGS}
    found |= {name: tuple(_list(stored[name], 1000, text)) for name in _LISTS}
    found["suspects"] = tuple(_list(stored["suspects"], 1000, number))
    found["remarks"] = tuple(_list(stored["remarks"], 100, _read_remark))
    require(found["decimal"] in (".", ","), "a column is odd")
    return Column(**found)


def _without_none(column: Column) -> Column:
    """A column as it was read when None was never a value."""
    if KEPT_WORD not in column.missing.texts:
        column = replace(column, missing_values=(*column.missing_values, KEPT_WORD))
    return column


def _read_remark(stored: Any) -> tuple[str, str]:
    require(isinstance(stored, list) and len(stored) == 2, "a column is odd")
    return choice(stored[0], REMARKS), text(stored[1])


def _read_target(stored: Any) -> Target:
    stored = known_part(stored, _defaults(Target), newer=False)
    task = choice(stored["task"], TASKS)
    classes = tuple(_list(stored["classes"], _MAX_CLASSES, text))
    fits = len(classes) >= 2 if task == "classification" else not classes
    require(fits and len(set(classes)) == len(classes), "its classes are odd")
    return Target(text(stored["name"]), task, text(stored["reason"]), classes)


def _read_cohorts(stored: Any) -> dict[str, str]:
    pairs = _list(stored, MOST_COHORTS, _read_cohort)
    require(len(dict(pairs)) == len(pairs), "a cohort is there twice")
    return dict(pairs)


def _read_cohort(stored: Any) -> tuple[str, str]:
    require(isinstance(stored, list) and len(stored) == 2, "a cohort is odd")
    name, condition = text(stored[0]), text(stored[1])
    require(not name_problem(name) and len(condition) <= LONGEST_CONDITION, "a cohort is odd")
    return name, condition


def _read_mark(stored: Any) -> tuple[int, Mark]:
    require(isinstance(stored, list) and len(stored) == 3, "a mark is odd")
    note = text(stored[2])
    require(len(note) <= LONGEST_NOTE, "a note is too long")
    return whole(stored[0], 0, MAX_ROWS), Mark(flag(stored[1]), note)


def _read_page(stored: Any) -> dict[str, tuple[str, ...]]:
    require(isinstance(stored, dict) and len(stored) <= _MOST_PAGE_SETTINGS, "its page is odd")
    return {text(name): tuple(_list(texts, 100, text)) for name, texts in stored.items()}


def _by_column(stored: Any, names: Sequence[str], read: Callable[[Any], Found]) -> dict[str, Found]:
    require(isinstance(stored, dict) and set(stored) <= set(names), "a correction is odd")
    return {name: read(value) for name, value in stored.items()}


def _list(stored: Any, most: int, read: Callable[[Any], Found]) -> list[Found]:
    require(isinstance(stored, list) and len(stored) <= most, "a list is too long or none")
    return [read(value) for value in stored]


def text(value: Any) -> str:
    """A text that can be written again."""
    require(isinstance(value, str) and len(value) <= _LONGEST_TEXT, "a text is none or too long")
    value.encode("utf-8")  # half a pair of surrogates cannot be
    return str(value)


def whole(value: Any, low: int, high: int) -> int:
    """A whole number between two ends."""
    require(type(value) is int and low <= value <= high, "a number is out of range")
    return int(value)


def number(value: Any) -> float:
    """A finite number: the reader of JSON lets no others through."""
    require(type(value) in (int, float) and abs(value) < 1e308, "a number is out of range")
    return float(value)


def flag(value: Any) -> bool:
    """True or False."""
    require(type(value) is bool, "a switch is neither on nor off")
    return bool(value)


def choice(value: Any, choices: Sequence[Any]) -> Any:
    """One of some values."""
    if not any(value == one and type(value) is type(one) for one in choices):
        raise damaged("a choice is unknown")
    return value


_SETTINGS = (
    *("source", "n_rows", "columns", "notices", "target", "task", "plan", "kinds", "used"),
    *("missing_values", "cohorts", "marks", "level", "conformal", "page", "why_no_models"),
)
