"""The knobs of the page "Your data", which depend on the table that is open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import streamlit as st

from gbuq_core.knobs import Knob, problem_with
from gbuq_core.lenses.choices import AUTOMATIC, COHORTS, RANK, UNIT
from gbuq_core.lenses.lens import ALL_COLUMNS, GOOD, GROUPING_COLUMNS
from gbuq_core.lenses.register import LENSES, lens_knobs
from gbuq_core.tables import BUILTIN_TABLES
from gbuq_core.tables.plan import CYCLES, MOST_METHODS, compared_methods
from pages._ui.knobs import Preset
from pages._ui.present import Step
from pages._ui.url_state import PageState, preview
from pages._ui.your_data.sections import LENS, SECTION

PAGE = "your-data"
BUILTIN = tuple(about.key.replace("_", " ") for about in BUILTIN_TABLES)
UPLOADED = "your file"
_ANY_ROW = 100_000_000  # more than a file can have

VIRTUAL, INDEPENDENT = "virtual", "independent"
AT_RANDOM, BY_GROUP, BY_TIME = "at random", "by group", "by time"
PLAIN_SCALE, LOG_SCALE = "plain scale", "log scale"
PLAIN, CYCLICAL = ("SGLB", "SGB"), ("cSGLB", "cbSGLB")

TABLE = Knob(
    "table",
    "Table",
    "choice",
    BUILTIN[0],
    choices=(*BUILTIN, UPLOADED),
    group="data",
    help="Three real tables that come with scikit-learn, or the file that you dropped above.",
)
TASK = Knob(
    "task",
    "Task",
    "choice",
    AUTOMATIC,
    choices=(AUTOMATIC, "regression", "classification"),
    group="page",
)
SPLIT = Knob(
    "split",
    "Split",
    "choice",
    AT_RANDOM,
    choices=(AT_RANDOM, BY_GROUP, BY_TIME),
    group="page",
    help="How rows are held out for the scores. By group: rows with the same value, such as those "
    "of one patient, stay together, and the scores are those of a new one. By time: each row is "
    "judged by a model of earlier rows.",
)
SCALE = Knob(
    "scale",
    "Target on a",
    "choice",
    PLAIN_SCALE,
    choices=(PLAIN_SCALE, LOG_SCALE),
    group="page",
    help="A log scale is for positive targets with a long tail, such as prices: errors count in "
    "proportion. Predictions and scores stay in units of the target.",
)
METHOD = (
    Knob(
        "method",
        "Boosting",
        "choice",
        "SGLB",
        choices=(*PLAIN, *CYCLICAL),
        group="method",
        help="Langevin boosting (noise on the gradients, all rows), plain stochastic boosting, or "
        "cyclical Langevin boosting: one model trained in ten cycles of large and then small "
        "steps, a member at the end of each; cbSGLB learns from other rows in each cycle.",
    ),
    Knob(
        "ensemble",
        "Ensemble",
        "choice",
        AUTOMATIC,
        choices=(AUTOMATIC, INDEPENDENT, VIRTUAL),
        group="page",
        needs=("method", PLAIN),
        help="Several models trained from different seeds, or truncations of one model. "
        "Automatic: independent models where they are trained in less than 15 s.",
    ),
    Knob(
        "engine",
        "Engine",
        "choice",
        "numba",
        choices=("numba", "CatBoost"),
        group="method",
        needs=("method", PLAIN),
    ),
)
TRAINING = (
    Knob(
        "trees",
        "Trees",
        "ladder",
        AUTOMATIC,
        choices=(AUTOMATIC, 50, 100, 200, 300, 500, 1000, 2000),
        help="Automatic: 300 for the independent models of an automatic ensemble, else 500, as on "
        "the command line.",
    ),
    Knob(
        "models",
        "Models trained",
        "integer",
        5,
        2,
        20,
        needs=("ensemble", (AUTOMATIC, INDEPENDENT)),
    ),
    Knob(
        "depth",
        "Depth",
        "ladder",
        AUTOMATIC,
        choices=(AUTOMATIC, *range(1, 11)),
        help="Automatic: 6, and 4 with more than 200 columns, as on the command line.",
    ),
    Knob(
        "rate",
        "Learning rate",
        "choice",
        AUTOMATIC,
        choices=(AUTOMATIC, "0.01", "0.02", "0.05", "0.1", "0.2", "0.3"),
        help="Automatic: 0.1, and 0.05 for cyclical boosting.",
    ),
    Knob(
        "clocks",
        "Two clocks",
        "switch",
        True,
        help="On: rows that a model has not seen choose how many trees its mean uses and how many "
        "its spread. Off: both use all trees, as in the papers; intervals are then too narrow on "
        "most tables.",
    ),
    Knob("seed", "Seed", "integer", 0, 0, 1_000_000, box=True),
)
# Moving these trains nothing.
AFTERWARDS = (
    Knob(
        "step",
        "Truncation step K",
        "ladder",
        10,
        choices=(1, 2, 5, 10, 20, 25, 50, 100, 200),
        unit="trees",
        group="view",
        needs=("ensemble", (VIRTUAL,)),
        help="How many trees apart two members are. Trains nothing.",
    ),
    Knob(
        "start",
        "Truncation start",
        "number",
        0.5,
        0.0,
        0.9,
        step=0.05,
        group="view",
        needs=("ensemble", (VIRTUAL,)),
        help="The share of the trees that is passed before the first member. Trains nothing.",
    ),
    Knob(
        "burn_in",
        "Burn-in",
        "integer",
        0,
        0,
        CYCLES - 1,
        unit="cycles",
        group="view",
        needs=("method", CYCLICAL),
        help="Cycles at the start that give no member. Trains nothing.",
    ),
    Knob(
        "members",
        "Members used, at most",
        "integer",
        20,
        2,
        20,
        group="view",
        help="The first models, or the last truncations or cycles. Trains nothing.",
    ),
    UNIT,
)
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
    *("row-map", "scorecard", "methods-table", "methods-picture"),
    *(f"lens-{lens.key}" for lens in LENSES.values() if not lens.of_row),
)
STORY = (
    Step("Each dot is a row: noise to the right, disagreement upwards. Which to check first?"),
    Step("Do the intervals hold what they say?", {"section": GOOD}),
)
# Drawn by the page beside the table, not in the sidebar.
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


def awaits_file(choice: str, is_open: bool) -> bool:
    """Whether a link is about a file that is not here yet: its target and row are kept for it."""
    return choice == UPLOADED and not is_open and "target" not in st.session_state


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
    return Knob(
        "by_column",
        "Split by the column",
        "choice",
        splits[0],
        choices=tuple(name for name in targets if name in splits),
        group="page",
        needs=("split", (BY_GROUP, BY_TIME)),
        plain=True,
    )


def page_state(
    targets: Sequence[str],
    suggested: str,
    last_row: int,
    waits: bool = False,
    splits: Sequence[str] = (),
    no_log: str = "",
    groups: Sequence[str] = (),
) -> PageState:
    """The page's knobs for a table with these possible targets and these rows."""
    target = (target_knob(targets, suggested),) if targets else ()
    splitting = (SPLIT,)
    if splits:
        splitting += (split_column_knob(targets, splits),)
    scale = replace(SCALE, choices=(PLAIN_SCALE,), refusal=no_log) if no_log else SCALE
    data = (TABLE, *target, TASK, *splitting, scale)
    table = (
        SECTION,
        COMPARE,
        RANK,
        Knob("least", "Lowest first", "switch", False, group="page"),
        FIND,
        COHORTS,
        Knob(
            "row",
            "Go to row (0: first of the list)",
            "integer",
            0,
            0,
            _ANY_ROW if waits else max(last_row, 1),
            group="page",
            box=True,
            help="Its number in the file: 1 is the first row below the header, and blank and "
            "skipped rows count. With 0, the open row is the first of the list.",
        ),
        LENS,
    )
    lenses = [_of_table(knob, targets, groups) for knob in lens_knobs()]
    of_lenses = [knob for knob in lenses if knob is not None]
    others = [_as_needed(knob) for knob in (*TRAINING, *AFTERWARDS)]
    knobs = (*data, *METHOD, *others, *table, *of_lenses)
    # A preset sets the method; it leaves the data and the open section as they are.
    kept = {knob.key: _fitting(knob) for knob in (*data, SECTION)}
    presets = tuple(preset._replace(values={**preset.values, **kept}) for preset in PRESETS)
    later = () if targets else ("target", "by_column", *_of_columns())
    return PageState(PAGE, knobs, presets, later, picture=PICTURE, story=STORY, follow=("group",))


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


def is_independent(values: SimpleNamespace) -> bool:
    """Whether several models may be trained; cyclical boosting knows no such choice."""
    return values.method in PLAIN and values.ensemble != VIRTUAL


def _as_needed(knob: Knob) -> Knob:
    """What an ensemble of truncations or models needs goes while the method has cycles."""
    if knob.needs and knob.needs[0] == "ensemble" and preview(METHOD[0]) in CYCLICAL:
        return replace(knob, needs=("method", PLAIN))
    return knob


def _fitting(knob: Knob) -> Any:
    """The same, or the default where the choices are others now and the value is not among them."""
    value = preview(knob)
    return knob.default if problem_with(knob, value) else value
