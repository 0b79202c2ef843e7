"""What the scoreboard's pictures show, in words, for who cannot see them.

Ranks and fronts say it themselves: `Ranking.words` and `Front.words`.
"""

from __future__ import annotations

from collections.abc import Sequence

from gbuq_core.experiments.scoreboard.ranking import Ranking


def describe_groups(ranking: Ranking) -> str:
    """Which methods a critical-difference diagram does not tell apart."""
    labels = {method.key: method.label for method in ranking.methods}
    said = [ranking.words]
    for group in ranking.groups:
        said.append(f"Not told apart: {few_names([labels[key] for key in group])}.")
    if not ranking.groups and len(ranking.methods) > 1:
        said.append("Every method is told apart from the next one.")
    return " ".join(said)


def few_names(labels: Sequence[str], most: int = 6) -> str:
    """Labels, which may hold commas, for a sentence: the first so many, and how many more.

    >>> few_names(list("ab")), few_names(list("abcd"), 2), few_names([])
    ('a and b', 'a; b and 2 more', '')
    """
    if len(labels) > most:
        return f"{'; '.join(labels[:most])} and {len(labels) - most} more"
    return " and ".join(filter(None, ["; ".join(labels[:-1]), *labels[-1:]]))
