"""Novelty's knobs, what they mean to the experiment, and the place that is looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple

from gbuq_core.errors import GbuqError
from gbuq_core.experiments.novelty.data import DATASETS, SIDE, table_choices
from gbuq_core.experiments.novelty.edits import Edit
from gbuq_core.experiments.novelty.links import MOST_CHARACTERS, decode_edits, encode_edits
from gbuq_core.experiments.novelty.plan import METHODS, NoveltyPlan, NoveltySettings
from gbuq_core.figures.handles import LiveKnob, live_knob
from gbuq_core.knobs import Knob
from pages._ui.knobs import Preset, query_string
from pages._ui.live import FOCUS, live_knobs, map_knob
from pages._ui.live_sliders import drop
from pages._ui.present import Step
from pages._ui.surface import SURFACE
from pages._ui.url_state import PageState

_DEFAULT = NoveltySettings()
_TABLE = "table"
TABLES = {choice.key: choice for choice in table_choices()}
_DATA_LABELS = {info.label: key for key, info in DATASETS.items()}
_TABLE_LABELS = {choice.title: key for key, choice in TABLES.items()}
_LEAF_LABELS = {"linear or logistic": "linear", "mean or share": "basic"}
_TAIL_LABELS = {"keeps rising": "rise", "clipped, as the authors'": "clip"}
RANK_LABELS = {"ranks among cells": "cells", "ranks among rows": "rows", "own values": "value"}
APART = "where ranks disagree"
OWN = "Knowledge uncertainty, own values"  # on a logarithmic scale, whatever the others show
_TRUTH = "truth"
# Truth first, then what is to repeat it.
_ORDER = (_TRUTH, *(key for key in METHODS if key != _TRUTH))
MAP_LABELS = {**{METHODS[key].label: key for key in _ORDER}, OWN: OWN, APART: APART}
_ESTIMATES = {METHODS[key].label: key for key in _ORDER if key != _TRUTH}
_SHOWN = (_TRUTH, "novelty", "conditional", "knowledge", "isolation", APART)
# A bare address shows KU twice: ranks give half of their colours to the half of the cells where it
# is next to nothing.
_OPENING = (_TRUTH, "novelty", "knowledge", "isolation", OWN, APART)
_START = (45, 50)  # the cell that is looked at first
EXPLORE = "novelty-explore"  # the fragment that a click on the maps runs again


def label_of(labels: Mapping[str, str], key: str) -> str:
    """The words for a key."""
    return next(label for label, named in labels.items() if named == key)


def _labels_of(labels: Mapping[str, str], keys: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(label_of(labels, key) for key in keys)


_SYNTHETIC = ("data", tuple(info.label for key, info in DATASETS.items() if key != _TABLE))
_OF_TABLE = ("data", (DATASETS[_TABLE].label,))


def _columns_of(key: str) -> tuple[Knob, ...]:
    """The two columns of a table that are the map's axes."""
    choice = TABLES[key]

    def is_chosen(values: Mapping[str, Any]) -> bool:
        return bool(values["table"] == choice.title)

    return tuple(
        Knob(
            f"{key}_{axis}", f"Column {way}", "choice", default, choices=tuple(choice.columns),
            group="data", needs=_OF_TABLE, when=is_chosen, plain=True,
        )
        for axis, way, default in zip("xy", ("across", "upwards"), choice.default, strict=True)
    )  # fmt: skip


COLUMNS = {key: _columns_of(key) for key in TABLES}

_DATA = (
    Knob(
        "data", "Data", "choice", DATASETS[_DEFAULT.data].label, choices=tuple(_DATA_LABELS),
        group="data",
        help="Four synthetic sets with known density, and two columns of a real table.",
    ),
    Knob(
        "table", "Table", "choice", TABLES[_DEFAULT.table].title, choices=tuple(_TABLE_LABELS),
        group="data", needs=_OF_TABLE,
    ),
    *(knob for knobs in COLUMNS.values() for knob in knobs),
    Knob(
        "rows", "Training rows", "ladder", _DEFAULT.rows, group="data", needs=_SYNTHETIC,
        choices=(60, 100, 200, 300, 400, 600, 800, 1000, 1500, 2000, 3000),
    ),
    Knob(
        "noise", "Noise factor", "ladder", 1, group="data", needs=_SYNTHETIC,
        choices=(0.3, 0.5, 0.7, 1, 1.5, 2, 3), help="Multiplies the usual noise of the data.",
    ),
    Knob(
        "third", "Add an irrelevant feature", "switch", _DEFAULT.third, group="data",
        help="A third feature of standard normal noise, which says nothing about the target.",
    ),
    Knob("seed", "Seed", "integer", _DEFAULT.seed, 0, 30, step=1, group="data",
         help="Draws the rows and grows the trees."),
)  # fmt: skip
_METHOD = (
    Knob(
        "trees", "Trees", "ladder", _DEFAULT.trees, group="method",
        choices=(10, 20, 30, 50, 70, 100, 150, 200, 300),
    ),
    Knob(
        "leaves", "Leaves per tree, at most", "ladder", _DEFAULT.leaves, group="method",
        choices=(2, 3, 4, 6, 8, 12, 16, 24, 31, 48, 64),
    ),
    Knob(
        "leaf_model", "A leaf predicts with", "choice", label_of(_LEAF_LABELS, _DEFAULT.leaf_model),
        choices=tuple(_LEAF_LABELS), group="method",
        help="A regression on the features of its path, or the mean (the class share) of its rows.",
    ),
    Knob(
        "min_leaf", "Rows in a leaf, at least", "ladder", _DEFAULT.min_leaf, group="method",
        choices=(1, 2, 3, 5, 10, 15, 20, 30, 50, 100),
    ),
    Knob(
        "subsample", "Share of rows per tree", "ladder", _DEFAULT.subsample, group="method",
        choices=(0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9),
    ),
    Knob(
        "tail", "z beyond the farthest row", "choice", label_of(_TAIL_LABELS, _DEFAULT.tail),
        choices=tuple(_TAIL_LABELS), group="method",
        help="The authors' z-scores stop at 5.2, so all distant places are equally new.",
    ),
)  # fmt: skip
# These stand above the maps, which the browser colours anew when they are chosen.
SHOW, LOG = BAR = (
    Knob(
        "show", "Show", "choice", "ranks among cells", choices=tuple(RANK_LABELS), group="picture",
        help="Scores have different units, but their ranks can be compared. A rank is the share "
        "of the map's cells, or of the training rows, with a lower score.",
    ),
    Knob(
        "log", "Logarithmic colours", "switch", False, group="picture",
        needs=("show", ("own values",)), help="For variances and distances.",
    ),
)  # fmt: skip
_VIEW = (
    Knob(
        "maps", "Maps", "choices", _labels_of(MAP_LABELS, _SHOWN), choices=tuple(MAP_LABELS),
        group="view",
    ),
    Knob(
        "third_at", "Third feature on the maps", "number", _DEFAULT.third_at, -5.0, 5.0, step=0.5,
        group="view", needs=("third", (True,)), unit="std",
    ),
    Knob(
        "neighbours", "Nearest rows", "ladder", _DEFAULT.neighbours, group="view",
        choices=(1, 2, 3, 5, 10, 20, 50),
        help="The distance to rows is the mean distance to this many nearest training rows.",
        when=lambda values: METHODS["distance"].label in (*values["maps"], *values["compared"]),
    ),
    Knob(
        "compared", "Scores to compare", "choices",
        _labels_of(_ESTIMATES, _DEFAULT.compared), choices=tuple(_ESTIMATES), group="view",
        when=lambda values: APART in values["maps"],
    ),
    Knob(
        "drawn", "Leaves drawn", "ladder", _DEFAULT.n_top, choices=(1, 2, 3, 4, 6, 8, 10, 15, 20),
        group="view", help="Of the trees that find the chosen place most novel.",
    ),
)  # fmt: skip
# Sliders whose maps follow while they are dragged.
FOLLOWED = tuple(
    knob.key for knob in (*_DATA, *_METHOD, *_VIEW) if knob.kind in ("integer", "number", "ladder")
)


def _damage(text: str) -> str:
    """Why a link's edits cannot be read, as a clause; nothing if they can."""
    try:
        decode_edits(text)
    except GbuqError as error:
        return str(error).partition(";")[0].rstrip(".")
    return ""


# No control: lassos write it, and the address keeps it.
EDITS = Knob(
    "edits", "Edits", "text", "", most=MOST_CHARACTERS, group="page",
    pattern=rf"[!-~]{{0,{MOST_CHARACTERS}}}",
    help="What was erased, added, duplicated or flipped, as a link writes it.",
    check=_damage,
)  # fmt: skip
PLACE = (
    Knob(
        "column",
        "Cell, from the left",
        "integer",
        _START[0],
        1,
        SIDE,
        step=1,
        group="page",
        box=True,
    ),
    Knob("row", "Cell, from below", "integer", _START[1], 1, SIDE, step=1, group="page", box=True),
)
SCORE = Knob(
    "score", "Score", "choice", label_of(_ESTIMATES, _DEFAULT.score), choices=tuple(_ESTIMATES),
    group="page",
)  # fmt: skip

MAP = map_knob(MAP_LABELS)

STATE = PageState(
    key="novelty",
    knobs=(*_DATA, EDITS, *_METHOD, *BAR, *_VIEW, FOCUS, MAP, *PLACE, SCORE, *SURFACE),
    presets=(
        Preset(
            "Third feature nobody uses",
            {
                "third": True,
                "third_at": 3.0,
                "show": "ranks among rows",
                "column": 27,  # among the rows
                "row": 36,
                "maps": _labels_of(MAP_LABELS, (_TRUTH, "novelty", "conditional")),
            },
            "All places are far out along an irrelevant feature. Novelty counts it; conditional "
            "novelty counts only the features on a leaf's path.",
        ),
        Preset(
            "Clipped tail",
            {
                "tail": label_of(_TAIL_LABELS, "clip"),
                "show": "own values",
                "maps": _labels_of(MAP_LABELS, (_TRUTH, "novelty", "distance")),
            },
            "The authors' novelty stops rising just outside the rows.",
        ),
        Preset("A table", {"data": DATASETS[_TABLE].label}, "Two columns of real rows."),
    ),
    picture=("novelty-maps",),
    story=(
        Step("Truth at the left, scores beside it. Which scores rise where rows are rare?"),
        Step(
            "Own values instead of ranks. How far does each score reach?",
            {"show": "own values", MAP.key: METHODS["knowledge"].label},
        ),
        Step(
            "An irrelevant feature is added. Whose map changes?",
            {"show": "ranks among cells", "third": True},
        ),
    ),
    opening=MappingProxyType({"maps": _labels_of(MAP_LABELS, _OPENING)}),
)


def bar_of(values: SimpleNamespace) -> tuple[LiveKnob, ...]:
    """The knobs above the maps."""
    own = (list(RANK_LABELS.values()).index("value"),)
    return (
        live_knob(SHOW, values.show),
        live_knob(LOG, values.log, needs={"show": own}),
    )


class Shown(NamedTuple):
    """Which maps are drawn, whether colours are logarithmic, and what could not be drawn.

    ``apart`` and ``own`` are the maps of where ranks disagree, and of KU's own values.
    """

    keys: tuple[str, ...]
    apart: bool
    log: bool
    own: bool
    note: str = ""


def shown_of(values: SimpleNamespace) -> Shown:
    """The maps in their own order, whatever order they were chosen in."""
    chosen = {MAP_LABELS[label] for label in values.maps}
    keys, apart = tuple(key for key in _ORDER if key in chosen), APART in chosen
    few = apart and len(values.compared) < 2
    note = "Ranks can only disagree between two or more scores. Choose another one." if few else ""
    return Shown(keys, apart and not few, values.log, OWN in chosen, note)


def cell_of(values: SimpleNamespace) -> tuple[int, int]:
    """The (row, column) from 0 that is looked at."""
    return int(values.row) - 1, int(values.column) - 1


def knobs_of(values: SimpleNamespace) -> list[LiveKnob]:
    """The knobs of the picture's bar."""
    return live_knobs(STATE, values)


def edits_or_say(values: SimpleNamespace) -> tuple[tuple[Edit, ...], str]:
    """The edits of the link, or none and the sentence why they cannot be read."""
    try:
        return tuple(decode_edits(values.edits)), ""
    except GbuqError as error:
        return (), str(error)


def settings_of(
    values: SimpleNamespace, edits: tuple[Edit, ...] = (), plan: NoveltyPlan | None = None
) -> NoveltySettings:
    """The experiment's settings for the knobs' values.

    With the plan of a fit, what that fit depends on is its own: the last good one is shown with
    today's view while another is being made.
    """
    table, shown = _TABLE_LABELS[values.table], shown_of(values)
    compared = tuple(_ESTIMATES[label] for label in values.compared)
    settings = NoveltySettings(
        data=_DATA_LABELS[values.data],
        rows=int(values.rows),
        noise=float(values.noise),
        seed=values.seed,
        third=values.third,
        table=table,
        columns=tuple(getattr(values, knob.key) for knob in COLUMNS[table]),
        leaf_model=_LEAF_LABELS[values.leaf_model],
        tail=_TAIL_LABELS[values.tail],
        trees=int(values.trees),
        leaves=int(values.leaves),
        min_leaf=int(values.min_leaf),
        subsample=float(values.subsample),
        edits=tuple(edits),
        third_at=float(values.third_at),
        neighbours=int(values.neighbours),
        ranks=RANK_LABELS[values.show],
        methods=shown.keys or _DEFAULT.methods,
        compared=compared if len(compared) > 1 else _DEFAULT.compared,
        score=_ESTIMATES[values.score],
        n_top=int(values.drawn),
    )
    if plan is None:
        return settings
    own = {name: value for name, value in vars(plan).items() if value is not None}
    return replace(settings, **own)


def query_of(
    settings: NoveltySettings, cell: tuple[int, int] = (_START[1] - 1, _START[0] - 1)
) -> str:
    """The part of a link after the question mark: settings, and the (row, column) looked at.

    >>> query_of(NoveltySettings(ranks="cells", methods=(*_SHOWN[:-1],), trees=50))
    'trees=50'
    """
    values = {
        **vars(settings),
        "data": DATASETS[settings.data].label,
        "table": TABLES[settings.table].title,
        "edits": encode_edits(settings.edits),
        "leaf_model": label_of(_LEAF_LABELS, settings.leaf_model),
        "tail": label_of(_TAIL_LABELS, settings.tail),
        "maps": _labels_of(MAP_LABELS, (*settings.methods, APART)),
        "show": label_of(RANK_LABELS, settings.ranks),
        "compared": _labels_of(_ESTIMATES, settings.compared),
        "score": label_of(_ESTIMATES, settings.score),
        "drawn": settings.n_top,
        "row": cell[0] + 1,
        "column": cell[1] + 1,
    }
    columns = settings.columns or TABLES[settings.table].default
    for knob, column in zip(COLUMNS[settings.table], columns, strict=True):
        values[knob.key] = column
    return query_string(STATE.knobs, values)


def choose_cell(row: int, column: int) -> None:
    """Look at another cell, counted from 0: a callback of a picture, before the page runs."""
    drop(STATE, EXPLORE, column=float(column + 1), row=float(row + 1))
