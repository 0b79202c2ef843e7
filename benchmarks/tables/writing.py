"""The board as Markdown: its tables, what they come to, the figures to reach, what differs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from benchmarks.tables.bars import check_bars
from benchmarks.tables.board import Board, Score, Table
from benchmarks.tables.comparing import BETTER, WORSE, Beside, MeanError, Published
from benchmarks.tables.differing import (
    Difference,
    count_agreement,
    list_differences,
)
from benchmarks.tables.pairing import tally
from gbuq_core.presentation import counted, decimal, digits, markdown_table

MINUS = "\u2212"
_SIGNS = {BETTER: " **+**", WORSE: f" **{MINUS}**"}
_DIRECTIONS = {True: "higher is better", False: "lower is better", None: ""}
_FEWEST = 2  # methods of a score that is written
_TALLIED = {"ibug": ("ibug", "ibug_cbu")}  # the rows that paper 3 counts for
NOTHING = "Nothing is measured yet."


def write_ours(ours: MeanError) -> str:
    """A mean with its standard error in parentheses.

    Examples
    --------
    >>> write_ours(MeanError(2.4567, 0.0312)), write_ours(MeanError(1234.5, math.nan))
    ('2.457 (0.031)', '1,234')
    """
    error = f" ({digits(ours.error, 2)})" if math.isfinite(ours.error) else ""
    return digits(ours.mean, 4) + error


def write_theirs(theirs: Published) -> str:
    """A paper's number as it is printed.

    Examples
    --------
    >>> write_theirs(Published(1.542, 0.02, "1", 0.0005))
    '1.542 (0.020)'
    """
    error = "" if theirs.error is None else f" ({digits(theirs.error, 2)})"
    return decimal(theirs.value, theirs.decimals) + error


def write_beside(beside: Beside) -> str:
    """Ours, the paper's, and a bold sign where ours is better or worse.

    Examples
    --------
    >>> paper = Published(2.5, None, "1", 0.05)
    >>> write_beside(Beside(MeanError(2.0, 0.1), paper, "better"))
    '2.000 (0.10) / 2.5 **+**'
    """
    if beside.theirs is None:
        return write_ours(beside.ours)
    return f"{write_ours(beside.ours)} / {write_theirs(beside.theirs)}{_SIGNS.get(beside.word, '')}"


def write_summary(board: Board) -> str:
    """A line a paper: how many of its numbers came out the same, better and worse.

    Examples
    --------
    >>> from benchmarks.tables.board import read_board
    >>> write_summary(read_board()).splitlines()[0]
    '| paper | numbers compared | same | better | worse | of those with a finding |'
    """
    rows: list[tuple[str, ...]] = [
        ("paper", "numbers compared", "same", "better", "worse", "of those with a finding")
    ]
    for agreement in count_agreement(board):
        table = board.table(agreement.table)
        if not table.published:
            continue
        differing = list_differences(board, agreement.table)
        explained = sum(bool(each.findings) for each in differing)
        counts = (agreement.judged, agreement.same, agreement.better, agreement.worse)
        of = f"{explained} of {len(differing)}" if differing else "\u2013"
        rows.append((table.short_paper, *map(str, counts), of))
    return markdown_table(rows)


def write_bars(board: Board) -> str:
    """The figures to reach, each with its verdict."""
    rows = [("what", "bar", "verdict")]
    rows += [(bar.what, bar.bar, bar.words) for bar in check_bars(board)]
    return markdown_table(rows, "l")


def write_differences(board: Board) -> str:
    """Numbers that differ from the paper's by more than two standard errors, with the findings.

    Numbers that one finding explains stand below it; those that nothing explains come last.
    """
    differing = list_differences(board)
    if not differing:
        return "No number differs." if any(t.results for t in board.tables) else NOTHING
    parts = []
    for finding in board.findings:
        here = [each for each in differing if finding in each.findings]
        if here:
            parts += [f"### {finding.title}", finding.text, _listed(board, here)]
    rest = [each for each in differing if not each.findings]
    if rest:
        parts += ["### Not explained yet", _listed(board, rest)]
    return "\n\n".join(parts)


def _listed(board: Board, differing: Sequence[Difference]) -> str:
    rows = [("table", "set", "method", "score", "ours / the paper's")]
    for each in differing:
        place, beside = each.place, each.beside
        table = board.table(place.table)
        rows.append(
            (
                place.table,
                table.find_set(place.set).label,
                table.find_method(place.method).label,
                table.find_score(place.score).label,
                write_beside(beside),
            )
        )
    return markdown_table(rows, "l")


def write_tables(board: Board) -> str:
    """All tables: for each score a line a method and a column a set.

    A score that a single method has is left out.
    """
    return "\n\n".join(part for table in board.tables for part in _table_parts(table))


def _table_parts(table: Table) -> list[str]:
    parts = [f"## {table.paper} {{ #{table.key} }}", f"{table.words} {table.error_words}".strip()]
    splits: dict[str, set[int]] = {}
    for result in table.results:
        splits.setdefault(result.set, set()).add(result.split)
    if not splits:
        return [*parts, NOTHING]
    cells = counted(len(table.results), "cell")
    minutes = sum(result.seconds for result in table.results) / 60.0
    parts.append(
        f"{cells} in {minutes:,.0f} processor minutes, gbuq {', '.join(table.versions)}, "
        f"{'; '.join(table.machines)}. Splits: "
        + ", ".join(f"{table.find_set(name).label} {len(each)}" for name, each in splits.items())
        + "."
    )
    for score in table.scores_shown():
        if len(table.methods_with(score.key)) >= _FEWEST:
            direction = _DIRECTIONS[score.higher]
            parts.append(f"### {score.label}" + (f" ({direction})" if direction else ""))
            parts.append(_score_table(table, score))
            tallies = (_tallies(table, score, each) for each in _TALLIED.get(table.key, ()))
            parts += filter(None, tallies)
    return parts


def _tallies(table: Table, score: Score, method: str) -> str:
    """Wins, ties and losses of a method against its paper's others; empty if there are none."""
    rivals = {name for _, name, which in table.published if which == score.key}
    if score.higher is None or method not in rivals:
        return ""
    keys = [each.key for each in table.methods_with(score.key) if each.key in rivals]
    counts = tally(table, score.key, method, keys) if keys else ()
    if not counts:
        return ""
    listed = "; ".join(f"{table.find_method(each.other).label} {each}" for each in counts)
    label = table.find_method(method).label
    return f"{label}, wins-ties-losses over sets by paired t-tests at 5 %: {listed}."


def _score_table(table: Table, score: Score) -> str:
    sets = table.sets_with(score.key)
    rows = [["method", *(each.label for each in sets)]]
    for method in table.methods_with(score.key):
        cells = [table.beside(each.key, method.key, score.key) for each in sets]
        rows.append([method.label, *("" if each is None else write_beside(each) for each in cells)])
    return markdown_table(rows)
