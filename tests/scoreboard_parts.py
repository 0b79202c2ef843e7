"""A full board of made-up results, so that tests of pictures and pages need no measured ones."""

import zlib
from dataclasses import replace
from functools import cache

import numpy as np

from benchmarks.tables.board import BoardResult, Finding, Place, read_board

# Scores that a set of the other task has not.
_TASK_OF = {
    **dict.fromkeys(("crps", "rmse", "coverage_0.9"), "regression"),
    **dict.fromkeys(("error", "ece"), "classification"),
}


def made_up_board(seed=0, sets=None, findings=()):
    """The board's tables with a result in each wanted cell: near the paper's number, if any.

    ``sets`` keeps the cells of these sets only. The same seed gives the same numbers.
    """
    board = read_board()
    tables = []
    for table, every in zip(board.tables, _all_results(seed), strict=True):
        results = tuple(result for result in every if sets is None or result.set in sets)
        versions = ("1",) if results else ()
        tables.append(
            replace(table, results=results, effort="small", versions=versions,
                    machines=("a machine",))
        )  # fmt: skip
    explained = tuple(
        Finding(title, text, tuple(Place(*cell.split("/")) for cell in cells))
        for title, text, cells in findings
    )
    return replace(board, tables=tuple(tables), findings=explained)


@cache
def _all_results(seed):
    """Of each table of the board, the results of all cells: modules of tests begin with a board."""
    return [
        [
            result
            for (name, method), splits in table.wanted.items()
            for result in _results(table, name, method, splits, seed)
        ]
        for table in read_board().tables
    ]


def _results(table, name, method, splits, seed):
    task = table.find_set(name).task
    scores = [score.key for score in table.scores if _TASK_OF.get(score.key, task) == task]
    columns = []
    for score in scores:
        rng = np.random.default_rng(
            zlib.crc32(f"{seed}/{table.key}/{name}/{method}/{score}".encode())
        )
        known = table.published.get((name, method, score))
        middle = known.value if known else rng.uniform(0.5, 1.0)
        middle *= rng.choice([0.9, 1.0, 1.1])
        columns.append((middle * (1.0 + 0.01 * rng.normal(size=splits))).tolist())
    seconds = float(zlib.crc32(method.encode()) % 1000) / 50.0 + 0.1
    return [
        BoardResult(name, split, method, dict(zip(scores, values, strict=True)), seconds, 10**8)
        for split, values in enumerate(zip(*columns, strict=True))
    ]


def with_scores(board, key, change):
    """The board with other scores in one table: what ``change`` makes of each result."""
    table = board.table(key)
    results = tuple(
        result._replace(scores={**result.scores, **change(result)}) for result in table.results
    )
    return with_table(board, replace(table, results=results))


def with_table(board, table):
    """The board with this table in place of the one of its key."""
    return replace(board, tables=tuple(table if t.key == table.key else t for t in board.tables))
