"""What a session has scored on its own table: Your data keeps it, the Scoreboard shows it.

It lives in the session alone and goes with its tab. A row's score is a number here; neither the
table nor a model is kept.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, NamedTuple

import streamlit as st

if TYPE_CHECKING:
    from gbuq_core.tables.comparing import MethodRun

_MOST_TABLES = 3  # the latest ones
_KEPT = "_own_scores"  # the session key


class OwnTable(NamedTuple):
    """One table with one target, split in one way."""

    name: str  # Of the file. The user's words.
    target: str  # The column that is predicted. The user's words.
    task: str  # "regression" or "classification"
    rows: int
    columns: int
    # By the method's key, with `:two_clocks` after it where both clocks stopped it. All have the
    # same held-out rows.
    runs: dict[str, MethodRun]


def keep_runs(key: Hashable, about: OwnTable) -> None:
    """Keep runs beside those of the same table that are there already.

    ``key`` names all that the held-out rows depend on.
    """
    tables = _tables()
    before = tables.pop(key, None)
    runs = {**(before.runs if before else {}), **about.runs}
    tables[key] = about._replace(runs={name: run for name, run in runs.items() if not run.error})
    while len(tables) > _MOST_TABLES:
        del tables[next(iter(tables))]


def own_tables() -> tuple[OwnTable, ...]:
    """The tables of this session that have scores, the latest first."""
    return tuple(table for table in reversed(list(_tables().values())) if table.runs)


def name_of_run(key: str, run: MethodRun) -> str:
    """What the board calls a run.

    >>> from gbuq_core.tables import ScorePlan
    >>> plan = ScorePlan(stopping="two_clocks")
    >>> name_of_run("sglb", MethodRun(key="sglb", plan=plan, rows=None, values={}, total=None,
    ...                               seconds=1.0))
    'sglb:two_clocks'
    """
    boosted = not run.plan.listed
    return f"{key}:two_clocks" if boosted and run.plan.stopping == "two_clocks" else key


def _tables() -> dict[Hashable, OwnTable]:
    return st.session_state.setdefault(_KEPT, {})
