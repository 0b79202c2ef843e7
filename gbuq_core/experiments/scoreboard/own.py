"""The user's own table as one more set of the board, in memory only."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from gbuq_core.errors import InvalidData
from gbuq_core.experiments.scoreboard.board import (
    Board,
    BoardMethod,
    BoardResult,
    BoardSet,
)

if TYPE_CHECKING:
    from gbuq_core.tables.comparing import MethodComparison

OWN_SET = "your_table"
_TABLE = "ours"  # of every method, nobody tuned
# From scores of a comparison to ours, with the factor between their units. The NLL of classes has a
# score of its own.
_SCORES: Mapping[str, tuple[str, float]] = {
    "crps": ("crps", 1.0),
    "nll": ("log_score", 1.0),
    "rmse": ("rmse", 1.0),
    "coverage": ("coverage_0.9", 1.0),
    "error_rate": ("error", 100.0),
    "prr": ("prr_total", 1.0),
}


def join_own(board: Board, compared: MethodComparison) -> Board:
    """A board on which the user's table is one more set of the table ``ours``.

    Its standard errors are over held-out rows, where those of other sets are over splits, and its
    seconds are wall time of all folds. A set that joined before is replaced.

    Parameters
    ----------
    board : Board
        It is not changed.
    compared : MethodComparison
        Of `gbuq_core.tables.comparing.compare_methods`.

    Raises
    ------
    InvalidData
        If no method of the comparison has scores.
    """
    methods = [each for each in compared.methods if each.scores]
    if not methods:
        raise InvalidData("No method could score your table, so there is nothing to compare.")
    regression = any(score.key == "crps" for score in compared.scores)
    task = "regression" if regression else "classification"
    table = board.table(_TABLE)
    own = BoardSet(OWN_SET, compared.n_rows, task, needs_data=False)
    results = []
    for method in methods:
        measured = {
            name: (factor * method.scores[theirs].value, factor * method.scores[theirs].se)
            for theirs, (name, factor) in _SCORES.items()
            if theirs in method.scores and math.isfinite(method.scores[theirs].value)
        }
        if not regression and "log_score" in measured:
            measured["nll"] = measured.pop("log_score")
        scores = {name: value for name, (value, _) in measured.items()}
        errors = {name: error for name, (_, error) in measured.items()}
        results.append(
            BoardResult(
                OWN_SET, 0, method.key, MappingProxyType(scores), method.seconds, 0,
                MappingProxyType(errors),
            )
        )  # fmt: skip
    known = {each.key for each in table.methods}
    new = [BoardMethod(each.key, each.label, each.key) for each in methods if each.key not in known]
    joined = replace(
        table,
        sets=(*(each for each in table.sets if each.key != OWN_SET), own),
        methods=(*table.methods, *new),
        results=(*(each for each in table.results if each.set != OWN_SET), *results),
    )
    return replace(
        board, tables=tuple(joined if each.key == _TABLE else each for each in board.tables)
    )
