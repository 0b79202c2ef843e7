"""The knobs of the Scoreboard. What most of them offer depends on the paper that is open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple

import streamlit as st

from gbuq_core.experiments.scoreboard.board import (
    Board,
    BoardMethod,
    BoardSet,
    Place,
    Score,
    Table,
    read_board,
)
from gbuq_core.experiments.scoreboard.own import OWN_SET
from gbuq_core.experiments.scoreboard.plan import APART, BESIDE, RANKS, TIME, BoardSettings
from gbuq_core.figures.vega import distinct
from gbuq_core.knobs import Knob
from gbuq_core.settings import from_values, knobs_of, to_values
from pages._ui.knobs import Preset, query_string
from pages._ui.present import KEY, Step
from pages._ui.skeleton import EXPORT, PAPER, SETTINGS
from pages._ui.url_state import PageState, preview

PAGE = "scoreboard"
ALL_SETS = "all sets"
PICTURE = "scoreboard-picture"
CELL = "one-cell"  # the anchor of the open cell
_OF_THE_PAPER = ("set", "metric", "methods", "cell")
_EVERY, _FIRST_SCORE = "ours", "crps"
# What the chooser of papers calls a table; one that is not here has its key.
_TABLES: Mapping[str, str] = MappingProxyType(
    {
        "ours": "Every method", "sglb": "1 SGLB", "cyclical": "2 Cyclical SGLB", "ibug": "3 IBUG",
        "soft_trees": "4 Soft trees", "macau": "5 MACAU", "tails": "Tails", "shapes": "Shapes",
    }
)  # fmt: skip

SHOWN = "_board_shown"  # session key: the reader asked to see the numbers of the answer
# What is folded, and the parameters of a link that open it.
FOLDS = (
    ("Every method on every set", ("paper", "set", "metric", "methods", "view", "budget", KEY)),
    ("Every number, and how to compute it again", ("cell",)),
    (PAPER, ()),
    (SETTINGS, ()),
    (EXPORT, ()),
)

VIEW, BUDGET, *QUESTIONS = knobs_of(BoardSettings)

_STORY = (
    ("Every method with its defaults. Which ones rank first, and on which sets?", RANKS),
    ("Which of these methods differ by more than chance?", APART),
    ("What does more training time buy?", TIME),
)


def is_asked(keys: tuple[str, ...]) -> bool:
    """Whether a link, or the reader, asked for a fold."""
    shown = VIEW.key in keys and SHOWN in st.session_state
    return shown or any(key in st.query_params for key in keys)


def query_of(settings: BoardSettings) -> str:
    """The part of a link after the question mark that opens a table by a metric in a picture.

    >>> query_of(BoardSettings(table="ibug", score="nll", view=APART))
    'paper=3+IBUG&metric=NLL%2C+nats&view=Who+differs'
    """
    board = read_board()
    page, opened = page_state(board, label_of(board, settings.table))
    metric = next(label for label, score in opened.scores.items() if score.key == settings.score)
    values = {knob.key: knob.default for knob in page.knobs} | to_values(settings)
    return query_string(page.knobs, {**values, "paper": opened.label, "metric": metric})


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
                {"paper": label, "view": BESIDE, "metric": _main_metric(table)},
                help=table.paper,
            )
            for label, table in tables.items()
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
        board.tables, key=lambda table: known.index(table.key) if table.key in known else len(known)
    )
    return {_TABLES.get(table.key, table.key.replace("_", " ")): table for table in order}


def label_of(board: Board, table: str) -> str:
    """What the chooser calls a table; the first one's name for one that is not there."""
    tables = tables_by_label(board)
    return next((label for label, each in tables.items() if each.key == table), next(iter(tables)))


def open_table(label: str, table: Table) -> Opened:
    """A table with the words for its parts."""
    sets, methods = _by_label(table.sets), _by_label(table.methods)
    known = {*table.wanted, *((each.set, each.method) for each in table.results)}
    known |= {where[:2] for where in table.published}
    cells = {
        f"{set_label} / {label}": (data_set.key, method.key)
        for set_label, data_set in sets.items()
        for label, method in methods.items()
        if (data_set.key, method.key) in known
    }
    if not cells:  # nothing is computed, and the paper has no number
        set_label, label = next(iter(sets)), next(iter(methods))
        cells = {f"{set_label} / {label}": (sets[set_label].key, methods[label].key)}
    scores = table.scores_shown() or table.scores
    return Opened(label, table, sets, _by_label(scores), methods, cells)


def _by_label(things: Any) -> dict[str, Any]:
    return dict(zip(distinct([thing.label for thing in things]), things, strict=True))


def _first_label(tables: Mapping[str, Table]) -> str:
    """The first table that has results; the user's own ones do not count."""
    done = (k for k, table in tables.items() if any(each.set != OWN_SET for each in table.results))
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
    return next((k for k, score in scores.items() if score.key in published), next(iter(scores)))


def settings_of(opened: Opened, values: SimpleNamespace) -> BoardSettings:
    """The settings for the controls' values; without a choice, all sets and methods."""
    return replace(
        from_values(BoardSettings, vars(values)),
        table=opened.table.key,
        score=opened.scores[values.metric].key,
        sets=None if values.set == ALL_SETS else (opened.sets[values.set].key,),
        methods=tuple(opened.methods[label].key for label in values.methods) or None,
    )


def place_of(opened: Opened, values: SimpleNamespace) -> Place:
    """The open cell, at the metric that is shown."""
    set_key, method = opened.cells[values.cell]
    return Place(opened.table.key, set_key, method, opened.scores[values.metric].key)


def cell_label(opened: Opened, set_key: str, method: str) -> str | None:
    """What the chooser calls a cell; None for one that it does not offer."""
    return next((k for k, cell in opened.cells.items() if cell == (set_key, method)), None)
