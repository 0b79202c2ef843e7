"""A full board of made-up results, so that tests of pictures and pages need no measured ones."""

import zlib
from dataclasses import replace

import numpy as np

from gbuq_core.experiments.scoreboard.board import BoardResult, Finding, Place, read_board

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
    for table in board.tables:
        results = []
        for (name, method), splits in table.wanted.items():
            if sets is not None and name not in sets:
                continue
            for split in range(splits):
                results.append(_result(table, name, method, split, seed))
        versions = ("1",) if results else ()
        tables.append(
            replace(table, results=tuple(results), effort="small", versions=versions,
                    machines=("a machine",))
        )  # fmt: skip
    found = tuple(
        Finding(title, text, tuple(Place(*cell.split("/")) for cell in cells))
        for title, text, cells in findings
    )
    return replace(board, tables=tuple(tables), findings=found)


def _result(table, name, method, split, seed):
    scores = {}
    task = table.find_set(name).task
    for score in table.scores:
        if _TASK_OF.get(score.key, task) != task:
            continue
        key = zlib.crc32(f"{seed}/{table.key}/{name}/{method}/{score.key}".encode())
        rng = np.random.default_rng(key)
        known = table.published.get((name, method, score.key))
        middle = known.value if known else rng.uniform(0.5, 1.0)
        middle *= rng.choice([0.9, 1.0, 1.1])
        scores[score.key] = float(middle * (1.0 + 0.01 * rng.normal(size=split + 1)[-1]))
    seconds = float(zlib.crc32(method.encode()) % 1000) / 50.0 + 0.1
    return BoardResult(name, split, method, scores, seconds, 10**8)
