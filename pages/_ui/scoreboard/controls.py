"""The questions of the Scoreboard. The task decides which purposes and tables it offers."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType, SimpleNamespace
from typing import NamedTuple

from gbuq_core.knobs import Knob
from gbuq_core.scoreboard.board import PURPOSES, numbers_for, purposes_for
from pages._ui.present import Step
from pages._ui.url_state import PageState, preview

PAGE, PICTURE = "scoreboard", "scoreboard-picture"
NEAREST, OWN = "nearest in size", "your table"
_TASKS: Mapping[str, str] = MappingProxyType(
    {"a number": "regression", "a class": "classification"}
)
TASK = Knob(
    "task", "What do you predict?", "choice", "a number", choices=tuple(_TASKS), group="page"
)
ROWS = Knob(
    "rows",
    "How many rows do you have?",
    "ladder",
    1000,
    choices=(100, 300, 1000, 3000, 10_000),
    group="page",
)
_STORY = (
    Step("Which methods predict the best ranges, and in what time?"),
    Step("Which methods know where they are wrong?", {"purpose": PURPOSES["errors"].label}),
    Step("Which methods find rows of another kind?", {"purpose": PURPOSES["foreign"].label}),
)


class Question(NamedTuple):
    """What the reader asks."""

    task: str
    purpose: str
    rows: int


def page_state(own_tasks: tuple[str, ...] = ()) -> PageState:
    """The page's knobs; ``own_tasks`` are those of the tables that this session has scored."""
    task = _TASKS[preview(TASK, PAGE)]
    purposes = tuple(PURPOSES[key].label for key in purposes_for(task))
    purpose = Knob(
        "purpose",
        "What is the uncertainty for?",
        "choice",
        purposes[0],
        choices=purposes,
        group="page",
    )
    tables = dict.fromkeys(each.set.replace("_", " ") for each in numbers_for(task, "intervals"))
    own = (OWN,) if task in own_tasks else ()
    table = Knob(
        "set",
        "Test table",
        "choice",
        NEAREST,
        choices=(NEAREST, *own, *tables),
        group="page",
        plain=True,
    )
    return PageState(
        PAGE,
        (TASK, purpose, ROWS, table),
        picture=(PICTURE,),
        story=_STORY,
        follow=("purpose", "set"),
    )


def question_of(values: SimpleNamespace) -> Question:
    """The question for the controls' values."""
    purpose = next(key for key, each in PURPOSES.items() if each.label == values.purpose)
    return Question(_TASKS[values.task], purpose, values.rows)
