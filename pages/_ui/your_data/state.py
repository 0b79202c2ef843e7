"""The knobs of the page "Your data", which depend on the table that is open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gbuq_core.knobs import Knob, problem_with
from gbuq_core.lenses.choices import RANK, UNIT
from gbuq_core.lenses.lens import ALL_COLUMNS, GOOD, GROUPING_COLUMNS
from gbuq_core.lenses.register import LENSES, lens_knobs
from gbuq_core.settings import AUTOMATIC, knobs_of
from gbuq_core.tables import BUILTIN_TABLES
from gbuq_core.tables.plan import MOST_METHODS, Cut, ScorePlan, compared_methods
from pages._ui.handing import UPLOADED
from pages._ui.knobs import Preset
from pages._ui.present import Step
from pages._ui.url_state import PageState, change_next, preview
from pages._ui.your_data.sections import LENS, SECTION

PAGE = "your-data"
BUILTIN = tuple(about.key.replace("_", " ") for about in BUILTIN_TABLES)
NOTHING = "none"
ANY_ROW = 100_000_000  # more than a file can have

VIRTUAL = "virtual"

TABLE = Knob(
    "table",
    "Table",
    "choice",
    BUILTIN[0],
    choices=(*BUILTIN, UPLOADED, NOTHING),
    group="page",
)
TASK = Knob(
    "task",
    "Task",
    "choice",
    AUTOMATIC,
    choices=(AUTOMATIC, "regression", "classification"),
    group="data",
)
# By their keys. How rows are split is chosen in the head of the page.
PLAN = {knob.key: knob for knob in knobs_of(ScorePlan)}
PLAN["split"] = replace(PLAN["split"], plain=True)
SPLIT, BY_COLUMN, SCALE = PLAN["split"], PLAN["by_column"], PLAN["scale"]
MODEL = tuple(knob for knob in PLAN.values() if knob not in (SPLIT, BY_COLUMN, SCALE))
AFTERWARDS = (*knobs_of(Cut, ScorePlan), UNIT)  # moving these trains nothing
PRESETS = (
    Preset(
        "Quick",
        {"depth": 4, "trees": 100},
        "100 trees of depth 4 in place of 300 or 500 of depth 6, for a first look",
    ),
    Preset(
        "Paper settings",
        {
            "trees": 1000,
            "depth": 6,
            "ensemble": VIRTUAL,
            "step": 50,
            "models": 10,
            "clocks": False,
        },
        "1,000 trees of depth 6 and all of them in use, a member each 50 trees",
    ),
)
# What present mode shows: of each section the pictures and tables that answer its question.
PICTURE = (
    *("checks", "row-map", "scorecard", "methods-table", "methods-picture"),
    *(f"lens-{lens.key}" for lens in LENSES.values() if not lens.of_row),
)
STORY = (
    Step("Each dot is a row: noise to the right, disagreement upwards. Which to check first?"),
    Step("Do the intervals hold what they say?", {"section": GOOD}),
)
COMPARE = Knob(
    "compare",
    "Methods to compare",
    "choices",
    (),
    choices=tuple(method.label for method in compared_methods() if method.predicts),
    most=MOST_METHODS,
    group="page",
    help="At most four. Without a choice, a few quick ones are compared.",
)
FIND = Knob(
    "find",
    "Find rows",
    "text",
    "",
    group="page",
    help="A condition or a word.",
)


def open_next(table: str) -> None:
    """Open another table in the run that follows: in a callback."""
    change_next(PageState(PAGE, (TABLE,)), table=table)


def target_knob(targets: Sequence[str], suggested: str) -> Knob:
    """The choice of the column to predict."""
    return Knob(
        "target",
        "Column to predict",
        "choice",
        suggested,
        choices=tuple(targets),
        group="data",
        plain=True,
    )


def split_column_knob(targets: Sequence[str], splits: Sequence[str]) -> Knob:
    """The choice of the column that the rows are split by; the first of ``splits`` by default."""
    further = (name for name in splits if name not in targets)  # the order of the rows
    choices = (*(name for name in targets if name in splits), *further)
    return replace(BY_COLUMN, choices=choices, default=splits[0])


def page_state(
    targets: Sequence[str],
    suggested: str,
    last_row: int,
    splits: Sequence[str] = (),
    no_log: str = "",
    groups: Sequence[str] = (),
) -> PageState:
    """The page's knobs for a table with these possible targets and these rows."""
    target = (target_knob(targets, suggested),) if targets else ()
    splitting = (SPLIT,)
    if splits:
        splitting += (split_column_knob(targets, splits),)
    scale = replace(SCALE, choices=SCALE.choices[:1], refusal=no_log) if no_log else SCALE
    data = (TABLE, *target, TASK, *splitting, scale)
    table = (
        SECTION,
        COMPARE,
        RANK,
        Knob("least", "Lowest first", "switch", False, group="page"),
        FIND,
        Knob(
            "row",
            "Go to row",
            "integer",
            0,
            0,
            max(last_row, 1),
            group="page",
            box=True,
            help="Its number in the file: 1 is the first row below the header, and blank and "
            "skipped rows count. With 0, none is open, or the first of a list that you asked for.",
        ),
        LENS,
    )
    lenses = [_of_table(knob, targets, groups) for knob in lens_knobs()]
    of_lenses = [knob for knob in lenses if knob is not None]
    knobs = (*data, *MODEL, *AFTERWARDS, *table, *of_lenses)
    # A preset sets the method; it leaves the data and the open section as they are.
    kept = {knob.key: _fitting(knob) for knob in (*data, SECTION)}
    presets = tuple(preset._replace(values={**preset.values, **kept}) for preset in PRESETS)
    later = () if targets else ("target", "by_column", *_of_columns())
    opening = {TABLE.key: NOTHING}
    return PageState(PAGE, knobs, presets, later, opening, PICTURE, STORY, follow=("group",))


def _of_columns() -> list[str]:
    """The keys of the lenses' knobs whose choices are columns of a table."""
    return [knob.key for knob in lens_knobs() if {*knob.choices} & {ALL_COLUMNS, GROUPING_COLUMNS}]


def _of_table(knob: Knob, targets: Sequence[str], groups: Sequence[str]) -> Knob | None:
    """A lens's knob with the columns of this table; None where there are none to choose from."""
    columns = {ALL_COLUMNS: targets, GROUPING_COLUMNS: groups}
    if not {*knob.choices} & {*columns}:
        return knob
    if not all(columns[choice] for choice in knob.choices if choice in columns):
        return None
    each = (columns.get(choice, (choice,)) for choice in knob.choices)
    choices = tuple(dict.fromkeys(name for names in each for name in names))
    default = choices[0] if knob.default is None else knob.default
    return replace(knob, choices=choices, default=default)


def _fitting(knob: Knob) -> Any:
    """The same, or the default where the choices are others now and the value is not among them."""
    value = preview(knob)
    return knob.default if problem_with(knob, value) else value
