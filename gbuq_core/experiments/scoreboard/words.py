"""What the scoreboard's pictures show, in words, for who cannot see them.

Ranks and fronts say it themselves: `Ranking.words` and `Front.words`.
"""

from __future__ import annotations

from gbuq_core.experiments.scoreboard.board import Table
from gbuq_core.experiments.scoreboard.comparing import BETTER, SAME, WORSE
from gbuq_core.experiments.scoreboard.ranking import Ranking
from gbuq_core.presentation import counted, short

_MOST_NAMED = 6


def describe_beside(table: Table, set_key: str, score: str) -> str:
    """How our numbers of a set compare with the paper's.

    Examples
    --------
    >>> from gbuq_core.experiments.scoreboard.board import table_of
    >>> describe_beside(table_of({"a": {"x": [1, 2]}, "b": {"x": [3]}}), "x", "score")
    'score on x, 2 methods. The best mean is that of a: 1.5. The paper has no number here.'
    """
    wanted = table.find_score(score)
    found = {
        method.label: beside
        for method in table.methods
        if (beside := table.beside(set_key, method.key, score)) is not None
    }
    head = f"{wanted.label} on {table.find_set(set_key).label}"
    if not found:
        return f"{head}: nothing is measured yet."
    said = [f"{head}, {counted(len(found), 'method')}."]
    if wanted.higher is not None:
        pick = max if wanted.higher else min
        best = pick(found, key=lambda label: found[label].ours.mean)
        said.append(f"The best mean is that of {best}: {short(found[best].ours.mean, 4)}.")
    if not any(beside.theirs for beside in found.values()):
        return " ".join([*said, "The paper has no number here."])
    for word in (SAME, BETTER, WORSE):
        labels = [label for label, beside in found.items() if beside.word == word]
        if labels:
            said.append(f"{word.capitalize()} than the paper: {_few(labels)}."
                        if word != SAME else f"As in the paper: {_few(labels)}.")  # fmt: skip
    return " ".join(said)


def describe_groups(ranking: Ranking) -> str:
    """Which methods a critical-difference diagram does not tell apart.

    Examples
    --------
    >>> from gbuq_core.experiments.scoreboard.board import table_of
    >>> from gbuq_core.experiments.scoreboard.ranking import rank_methods
    >>> numbers = {"a": {"x": [1], "y": [1]}, "b": {"x": [2], "y": [2]}}
    >>> describe_groups(rank_methods(table_of(numbers), "score"))
    'Mean ranks by score over 2 sets: a 1; b 2. ... Not told apart: a and b.'
    """
    labels = {method.key: method.label for method in ranking.methods}
    said = [ranking.words]
    for group in ranking.groups:
        said.append(f"Not told apart: {_few([labels[key] for key in group])}.")
    if not ranking.groups and len(ranking.methods) > 1:
        said.append("Every method is told apart from the next one.")
    return " ".join(said)


def _few(labels: list[str]) -> str:
    """The first of them, with the number of the others.

    >>> _few(list("ab")), _few(list("abcdefgh"))
    ('a and b', 'a; b; c; d; e; f and 2 more')
    """
    if len(labels) > _MOST_NAMED:
        return "; ".join(labels[:_MOST_NAMED]) + f" and {len(labels) - _MOST_NAMED} more"
    return " and ".join(["; ".join(labels[:-1]), labels[-1]]) if len(labels) > 1 else labels[0]
