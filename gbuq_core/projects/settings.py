"""The settings of a project as JSON and back, every value checked."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import Any

from gbuq_core.projects.container import MINOR
from gbuq_core.projects.forms import (
    FLAG,
    NUMBER,
    PLAIN_VALUE,
    TEXT,
    JsonPlace,
    above,
    by_name,
    list_of,
    matching,
    of_knob,
    one_of,
    or_null,
    parts,
    record,
    row_of,
    whole,
)
from gbuq_core.projects.project import Project
from gbuq_core.settings import AUTOMATIC, legal_knobs, may_be_none
from gbuq_core.tables import (
    CHOSEN_KINDS,
    KINDS,
    TASKS,
    Column,
    Edits,
    ReadOptions,
    Schema,
    ScorePlan,
    Source,
    Target,
)
from gbuq_core.tables.columns import REMARKS
from gbuq_core.tables.limits import MAX_COLUMNS
from gbuq_core.tables.plan import table_methods
from gbuq_core.tables.separated_text import DELIMITERS
from gbuq_core.tables.splitting import split_names

_MAX_ROWS = 1_000_000_000
_MAX_CLASSES = 200
_COUNT = whole(0, _MAX_ROWS)
_MARK = one_of((".", ","))

PLAN = record(
    ScorePlan,
    knobs=list_of(row_of(TEXT, PLAIN_VALUE), 100),
    **{
        name: or_null(of_knob(knob)) if name in may_be_none(ScorePlan) else of_knob(knob)
        for name, knob in legal_knobs(ScorePlan).items()
        if knob.choices or knob.high is not None
    },
)
_SOURCE = record(
    Source,
    format=one_of(("csv", "excel", "parquet", "sql", "memory")),
    n_bytes=whole(0, 2**50),
    digest=matching("[0-9a-f]{64}", "a SHA-256 of 64 hexadecimal digits"),
    options=record(
        ReadOptions,
        delimiter=or_null(one_of(DELIMITERS)),
        decimal=or_null(_MARK),
        skip_rows=or_null(whole(0, 2**31)),
    ),
    decimal=_MARK,
)
_COLUMN = record(
    Column,
    kind=one_of(KINDS),
    **dict.fromkeys(("n_missing", "n_distinct", "n_unreadable", "n_infinite"), _COUNT),
    suspects=list_of(NUMBER),
    decimal=_MARK,
    units=list_of(row_of(TEXT, NUMBER)),
    range=or_null(row_of(NUMBER, NUMBER)),
    missing_words=list_of(row_of(TEXT, _COUNT)),
    spellings=list_of(row_of(TEXT, TEXT)),
    remarks=list_of(row_of(one_of((*REMARKS, "codes")), TEXT)),
)
_SETTINGS = parts(
    source=_SOURCE,
    n_rows=whole(1, _MAX_ROWS),
    columns=list_of(_COLUMN, MAX_COLUMNS),
    notices=list_of(TEXT),
    target=record(Target, task=one_of(TASKS), classes=list_of(TEXT, _MAX_CLASSES)),
    task=or_null(one_of(TASKS)),
    plan=PLAN,
    kinds=by_name(one_of(CHOSEN_KINDS)),
    used=by_name(FLAG),
    missing_values=by_name(list_of(TEXT)),
    keep_words=(list_of(TEXT), ()),
    level=above(0, 1),
    conformal=FLAG,
)


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
        "plan": project.plan.as_json(),
        **{name: {} for name in Edits._fields[:3]},
        **project.edits.arguments(),
        "keep_words": list(project.edits.keep_words),
        "level": project.level,
        "conformal": project.conformal,
    }


def read_settings(stored: Any, version: Sequence[int], written_by: str) -> Project:
    """The project without models and data."""
    place = JsonPlace("project", newer=version[1] > MINOR)
    settings = _SETTINGS(stored, place)
    columns: tuple[Column, ...] = settings.pop("columns")
    names = {column.name for column in columns}
    once = len(names) == len(columns) >= 1
    place.inner(".columns").require(once, "hold one or more columns of different names")
    target: Target = settings["target"]
    place.inner(".target.name").require(target.name in names, "be the name of a column")
    numbers, n_classes = target.task == "regression", len(set(target.classes))
    counts = n_classes == 0 if numbers else n_classes >= 2
    must = "be empty for a regression" if numbers else "hold two or more different classes"
    place.inner(".target.classes").require(counts and n_classes == len(target.classes), must)
    check_plan(settings["plan"], target.task, names, place.inner(".plan"))
    for name in Edits._fields:
        place.inner(f".{name}").require(
            names.issuperset(settings[name]), "name columns of the table"
        )
    edits = Edits.of(*(settings.pop(name) for name in Edits._fields))
    schema = Schema(columns, settings["n_rows"], settings.pop("notices"))
    return Project(**settings, schema=schema, edits=edits, written_by=written_by)


def check_plan(plan: ScorePlan, task: str, columns: Collection[str], place: JsonPlace) -> None:
    """Refuse a method of another task, and a split by a column that the table does not have."""
    methods = (AUTOMATIC, *table_methods(task))
    must = f"be a method for {task}, but it is {plan.method}"
    place.inner(".method").require(plan.method in methods, must)
    if plan.split == "random":
        place.inner(".split_column").require(plan.split_column is None, "be null: rows are random")
    else:
        fits = {*split_names(plan.split_column or "", [*columns])} <= {*columns}
        place.inner(".split_column").require(fits, "be the name of a column")
