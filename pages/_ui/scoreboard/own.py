"""The methods that this session has scored on its own table, as numbers of the board."""

from __future__ import annotations

import math
from functools import partial

from gbuq_core.scoreboard.board import PURPOSES, BoardNumber
from pages._ui.kept import kept
from pages._ui.own_scores import OwnTable
from pages._ui.scoreboard.controls import OWN, Question

# From the board's measures to the scores of a comparison. Rows of another kind have none.
_SCORES = {"crps": "crps", "nll": "nll", "prr_total": "prr"}


def own_numbers(own: OwnTable, question: Question) -> list[BoardNumber]:
    """The numbers of the table's runs for a question.

    Standard errors are over held-out rows, and seconds are wall time of all folds.
    """
    make = partial(
        _numbers_of, own, question.task, PURPOSES[question.purpose].measures[question.task]
    )
    return kept("scoreboard-own", [*own.runs.values()], (tuple(own.runs), question[:2]), make)


def _numbers_of(own: OwnTable, task: str, measure: str) -> list[BoardNumber]:
    from gbuq_core.tables.comparing import compare_runs

    score = _SCORES.get(measure, "")
    numbers = []
    for name, run in own.runs.items():
        for method in compare_runs([run]).methods:  # none of a run that failed
            found = method.scores.get(score)
            if found is not None and math.isfinite(found.value):
                numbers.append(
                    BoardNumber(
                        task=task,
                        set=OWN,
                        rows=own.rows,
                        method=name,
                        measure=measure,
                        mean=found.value,
                        standard_error=found.se,
                        seconds=method.seconds,
                        splits=1,
                    )
                )
    return numbers
