"""The knobs of the Scoreboard. What most of them offer depends on the paper that is open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple

from gbuq_core.experiments.scoreboard.board import (
    Board,
    BoardMethod,
    BoardSet,
    Place,
    Score,
    Table,
    read_board,
)
from gbuq_core.experiments.scoreboard.choosing import PURPOSES
from gbuq_core.experiments.scoreboard.export import BoardRecipe
from gbuq_core.experiments.scoreboard.own import OWN_SET
from gbuq_core.figures.vega import distinct
from gbuq_core.knobs import Knob
from pages._ui.knobs import Preset, query_string
from pages._ui.present import Step
from pages._ui.url_state import PageState, preview

PAGE = "scoreboard"
RANKS, BESIDE, APART, TIME = "Ranks", "Beside the paper", "Who differs", "Against time"
VIEWS = (RANKS, BESIDE, APART, TIME)
ALL_SETS = "all sets"
PICTURE = "scoreboard-picture"
CELL = "one-cell"  # the anchor of the open cell
_OF_THE_PAPER = ("set", "metric", "methods", "cell")
_EVERY, _FIRST_SCORE = "ours", "crps"
# What the chooser of papers calls a table; one that is not here has its key.
_TABLES: Mapping[str, str] = MappingProxyType(
    {
        "ours": "Every method", "sglb": "1 SGLB", "cyclical": "2 Cyclical SGLB", "ibug": "3 IBUG",
        "soft_trees": "4 Soft trees", "macau": "5 MACAU",
    }
)  # fmt: skip

TASKS: Mapping[str, str] = MappingProxyType({"a number": "regression", "a class": "classification"})
ROWS = (100, 300, 1000, 3000, 10_000, 30_000, 100_000)
PURPOSE_KEYS: Mapping[str, str] = MappingProxyType(
    {purpose.label: key for key, purpose in PURPOSES.items()}
)
QUESTIONS = (
    Knob("task", "What do you predict?", "choice", "a number", choices=tuple(TASKS), group="page"),
    Knob(
        "purpose", "What is the uncertainty for?", "choice", next(iter(PURPOSE_KEYS)),
        choices=tuple(PURPOSE_KEYS), group="page",
    ),
    Knob("rows", "How many rows do you have?", "ladder", 1000, choices=ROWS, group="page"),
)  # fmt: skip
VIEW = Knob("view", "Picture", "choice", RANKS, choices=VIEWS, group="page")
BUDGET = Knob(
    "budget", "At equal time, at most", "ladder", 0, unit="s",
    choices=(0, 1, 3, 10, 30, 60, 120, 300, 600, 1800), group="page",
    help="Only methods compete that take no more processor seconds for a split. 0 sets no limit.",
)  # fmt: skip

_STORY = (
    ("Every method with its defaults. Which ones rank first, and on which sets?", RANKS),
    ("Which of these methods differ by more than chance?", APART),
    ("What does more training time buy?", TIME),
)


def query_of(settings: BoardRecipe, view: str) -> str:
    """The part of a link after the question mark that opens a table by a metric in a picture.

    >>> query_of(BoardRecipe("ibug", "nll"), APART)
    'paper=3+IBUG&metric=NLL%2C+nats&view=Who+differs'
    """
    board = read_board()
    page, opened = page_state(board, label_of(board, settings.table))
    metric = next(label for label, one in opened.scores.items() if one.key == settings.score)
    values = {knob.key: knob.default for knob in page.knobs}
    return query_string(
        page.knobs, {**values, "paper": opened.label, "metric": metric, "view": view}
    )


class Opened(NamedTuple):
    """The open table, and its parts by the words that the controls show."""

    label: str
    table: Table
    sets: dict[str, BoardSet]
    scores: dict[str, Score]
    methods: dict[str, BoardMethod]
    cells: dict[str, tuple[str, str]]


def page_state(board: Board, paper: str | None = None) -> tuple[PageState, Opened]:
    """The knobs for the paper that will be open, or for a named one, and what they mean."""
    tables = tables_by_label(board)
    first = _first_label(tables)
    chooser = Knob(
        "paper", "Paper", "choice", first, choices=tuple(tables), group="data",
        help="A paper's sets and methods by its own protocol; or every method of the project on "
        "every set, with its default settings.",
    )  # fmt: skip
    wanted = preview(chooser, PAGE) if paper is None else paper
    wanted = wanted if wanted in tables else first
    opened = open_table(wanted, tables[wanted])
    scores, cells = tuple(opened.scores), tuple(opened.cells)
    knobs = (
        chooser,
        Knob("set", "Set", "choice", ALL_SETS, choices=(ALL_SETS, *opened.sets), group="data",
             plain=True),
        Knob("metric", "Metric", "choice", _first_metric(opened.table), choices=scores,
             group="data", plain=True),
        Knob(
            "methods", "Methods", "choices", (), choices=tuple(opened.methods), group="method",
            help="Without a choice, all of them.",
        ),
        VIEW,
        BUDGET,
        *QUESTIONS,
        Knob("cell", "Cell", "choice", cells[0], choices=cells, group="page", plain=True),
    )  # fmt: skip
    # Named in full, since another table may be open, whose metrics have another default.
    every = label_of(board, _EVERY)
    whole = {"paper": every, "metric": _first_metric(tables[every])}
    presets = (
        Preset("Every method", whole, help="All methods with their defaults, ranked by CRPS."),
        *(
            Preset(
                f"Paper {label[0]}",
                {"paper": label, "view": BESIDE, "metric": _main_metric(one)},
                help=one.paper,
            )
            for label, one in tables.items()
            if label[0].isdigit()
        ),
    )
    asked = tuple(knob.key for knob in QUESTIONS)
    presets = tuple(preset._replace(keeps=asked) for preset in presets)
    story = tuple(Step(text, {**whole, "view": view}) for text, view in _STORY)
    return PageState(
        PAGE, knobs, presets, picture=(PICTURE,), story=story, follow=_OF_THE_PAPER
    ), opened


def tables_by_label(board: Board) -> dict[str, Table]:
    """The tables as the chooser calls them, every method first."""
    known = list(_TABLES)
    order = sorted(
        board.tables, key=lambda one: known.index(one.key) if one.key in known else len(known)
    )
    return {_TABLES.get(one.key, one.key.replace("_", " ")): one for one in order}


def label_of(board: Board, table: str) -> str:
    """What the chooser calls a table; the first one's name for one that is not there."""
    tables = tables_by_label(board)
    return next((label for label, one in tables.items() if one.key == table), next(iter(tables)))


def open_table(label: str, table: Table) -> Opened:
    """A table with the words for its parts."""
    sets, methods = _by_label(table.sets), _by_label(table.methods)
    known = {*table.wanted, *((each.set, each.method) for each in table.results)}
    known |= {where[:2] for where in table.published}
    cells = {
        f"{set_label} / {label}": (one.key, method.key)
        for set_label, one in sets.items()
        for label, method in methods.items()
        if (one.key, method.key) in known
    }
    if not cells:  # nothing is computed, and the paper has no number
        set_label, label = next(iter(sets)), next(iter(methods))
        cells = {f"{set_label} / {label}": (sets[set_label].key, methods[label].key)}
    scores = table.scores_shown() or table.scores
    return Opened(label, table, sets, _by_label(scores), methods, cells)


def _by_label(things: Any) -> dict[str, Any]:
    return dict(zip(distinct([one.label for one in things]), things, strict=True))


def _first_label(tables: Mapping[str, Table]) -> str:
    """The first table that has results; the user's own ones do not count."""
    done = (k for k, one in tables.items() if any(each.set != OWN_SET for each in one.results))
    return next(done, next(iter(tables)))


def _first_metric(table: Table) -> str:
    """CRPS if the table has it, else the first metric with a number and a best value."""
    scores = _by_label(table.scores_shown() or table.scores)
    order = sorted(scores, key=lambda label: scores[label].key != _FIRST_SCORE)
    known = {score for each in table.results for score in each.scores}
    known = known or {score for _, _, score in table.published} or {_FIRST_SCORE}
    ranked = (k for k in order if scores[k].key in known and scores[k].higher is not None)
    return next(ranked, order[0])


def _main_metric(table: Table) -> str:
    """The first metric that the paper has numbers of."""
    scores = _by_label(table.scores_shown() or table.scores)
    published = {score for _, _, score in table.published}
    return next((k for k, one in scores.items() if one.key in published), next(iter(scores)))


class Shown(NamedTuple):
    """What the filters leave of the open table."""

    score: Score
    # `sets`, `methods`: keys
    sets: tuple[str, ...]
    methods: tuple[str, ...]
    slow: int  # methods that take longer than the budget, and are left out


def shown_of(opened: Opened, values: SimpleNamespace) -> Shown:
    """The sets and methods that the filters name; without a choice, all with the metric."""
    table, score = opened.table, opened.scores[values.metric]
    has = {(one, method) for one, method, each in table.published if each == score.key}
    has |= {(each.set, each.method) for each in table.results if score.key in each.scores}
    # What has no result at all yet may have the metric, too.
    done_sets = {each.set for each in table.results}
    done_methods = {each.method for each in table.results}
    of_sets, of_methods = {name for name, _ in has}, {key for _, key in has}
    tasks = {one.task for one in table.sets if one.key in of_sets}
    sets = [
        one.key
        for one in table.sets
        if one.key in of_sets or (one.key not in done_sets and one.task in tasks)
    ]
    if values.set != ALL_SETS:
        sets = [opened.sets[values.set].key]
    methods = [
        one.key for one in table.methods if one.key in of_methods or one.key not in done_methods
    ]
    if values.methods:
        methods = [opened.methods[label].key for label in values.methods]
    quick = [key for key in methods if is_quick(table, sets, key, values.budget)]
    return Shown(score, tuple(sets), tuple(quick), len(methods) - len(quick))


def is_quick(table: Table, sets: Sequence[str], method: str, budget: float) -> bool:
    """Whether a method keeps to the budget on each of the sets, as far as it was run on them."""
    seconds = [table.seconds(one, method) for one in sets]
    return not budget or all(each is None or each <= budget for each in seconds)


def place_of(opened: Opened, values: SimpleNamespace) -> Place:
    """The open cell, at the metric that is shown."""
    set_key, method = opened.cells[values.cell]
    return Place(opened.table.key, set_key, method, opened.scores[values.metric].key)


def cell_label(opened: Opened, set_key: str, method: str) -> str | None:
    """What the chooser calls a cell; None for one that it does not offer."""
    return next((k for k, cell in opened.cells.items() if cell == (set_key, method)), None)


def names_in_a_row(labels: Sequence[str], most: int) -> str:
    """Labels for a sentence, the first so many.

    >>> names_in_a_row(["SGB", "SGLB", "VST"], 2), names_in_a_row(["SGB", "SGLB"], 2)
    ('SGB, SGLB and 1 more', 'SGB and SGLB')
    """
    if len(labels) > most:
        return f"{', '.join(labels[:most])} and {len(labels) - most} more"
    return " and ".join(filter(None, [", ".join(labels[:-1]), *labels[-1:]]))
