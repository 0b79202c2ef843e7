"""The session's own table as one more set of the board."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import streamlit as st

from gbuq_core.errors import GbuqError
from gbuq_core.experiments.scoreboard.board import Board
from gbuq_core.experiments.scoreboard.own import OWN_SET, join_own
from pages._ui.kept import kept
from pages._ui.notices import show_notice
from pages._ui.own_scores import OwnTable, own_tables
from pages._ui.site_map import YOUR_DATA


def with_own(board: Board) -> tuple[Board, OwnTable | None]:
    """The board with the table that this session scored last, if it has scored one."""
    tables = own_tables()
    if not tables:
        return board, None
    own = tables[0]
    make = partial(_join, board, own)
    joined = kept("scoreboard-own", [board, *own.runs.values()], tuple(own.runs), make)
    return joined, own if joined is not board else None


def _join(board: Board, own: OwnTable) -> Board:
    """Every run by itself: two of them may be of one method, stopped in different ways."""
    from gbuq_core.tables.comparing import compare_runs

    known = {method.key for method in board.table("ours").methods}
    alone = {name: compare_runs([run]) for name, run in own.runs.items()}
    methods = tuple(
        replace(each.methods[0], key=name) if name in known else each.methods[0]
        for name, each in alone.items()
    )
    try:
        return join_own(board, replace(next(iter(alone.values())), methods=methods))
    except GbuqError:  # no method could score it, which Your data says
        return board


def draw_own(own: OwnTable | None) -> None:
    """Say which table has joined, or how one can. The names are the user's words."""
    if own is None:
        st.page_link(
            YOUR_DATA.path, label="Score a table of your own: it then stands here as one more set"
        )
        return
    show_notice(
        f'Your table "{own.name}" (target {own.target}, {own.rows:,} rows) is the set '
        f'"{OWN_SET.replace("_", " ")}" of Every method. Its errors are over held-out rows. It '
        "stays in this session.",
        "own-table",
    )
