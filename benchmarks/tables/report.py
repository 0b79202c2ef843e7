"""Tables as text: our means and standard errors over splits, beside the paper's numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from benchmarks.protocols import PROTOCOLS, Protocol, Published, Score
from benchmarks.report import table_lines
from benchmarks.tables.cells import Result
from benchmarks.tables.comparing import MeanError, mean_error

_DIRECTION = {True: " (higher is better)", False: " (lower is better)", None: ""}
ERRORS = 2.0  # standard errors that count as better or worse


class Beside(NamedTuple):
    """Our score on a set beside the paper's; ``word`` is "better", "worse", "same" or ""."""

    ours: MeanError
    theirs: Published | None
    word: str

    def __str__(self) -> str:
        """Ours, the paper's, and a plus or a minus where ours is better or worse."""
        text = str(self.ours)
        if self.theirs is None:
            return text
        error = "" if self.theirs.error is None else f" ({self.theirs.error:.2g})"
        sign = {"better": " +", "worse": " -"}.get(self.word, "")
        return f"{text} / {self.theirs.value:g}{error}{sign}"


def set_beside(values: Sequence[float], theirs: Published | None, higher: bool | None) -> Beside:
    """Our values of several splits beside a paper's number.

    Ours is better or worse where it differs by more than two standard errors of the difference and
    half of the last digit that the paper prints. A paper without standard errors adds none, and one
    split of ours has none, and then nothing is said.
    """
    ours = mean_error(values)
    if theirs is None or higher is None or not math.isfinite(ours.error):
        return Beside(ours, theirs, "")
    gap = ours.mean - theirs.value
    limit = ERRORS * math.hypot(ours.error, theirs.error or 0.0) + theirs.rounding
    if abs(gap) <= limit:
        return Beside(ours, theirs, "same")
    return Beside(ours, theirs, "better" if (gap > 0) == higher else "worse")


def collect_values(results: Iterable[Result]) -> dict[tuple[str, str, str, str], list[float]]:
    """Values over splits by (table, set, method, score)."""
    found: dict[tuple[str, str, str, str], list[float]] = {}
    for result in sorted(results, key=lambda each: each.split):
        for score, value in result.scores.items():
            key = (result.table, result.set, result.method, score)
            found.setdefault(key, []).append(value)
    return found


def report_lines(results: Sequence[Result]) -> list[str]:
    """Markdown of all tables: for each score a row a method and a column a set."""
    if not results:
        return ["Nothing is stored yet."]
    values = collect_values(results)
    lines: list[str] = []
    for key, protocol in PROTOCOLS.items():
        here = [result for result in results if result.table == key]
        if here:
            lines += _protocol_lines(protocol, here, values)
    return lines


def _protocol_lines(
    protocol: Protocol,
    results: Sequence[Result],
    values: Mapping[tuple[str, str, str, str], list[float]],
) -> list[str]:
    names = [name for name in protocol.sets if any(each.set == name for each in results)]
    splits = {name: len({r.split for r in results if r.set == name}) for name in names}
    lines = [
        f"\n## {protocol.key}: {protocol.paper}\n",
        f"{protocol.words} {protocol.error_words}".strip(),
        "\nOurs, mean (standard error over splits) / the paper's (standard error); + better, - "
        f"worse by more than {ERRORS:g} standard errors. Splits: "
        + ", ".join(f"{name} {count}" for name, count in splits.items())
        + ".",
    ]
    smoke = any(each.effort == "smoke" for each in results)  # then nothing can be compared
    counts = {"better": 0, "worse": 0, "same": 0}
    for score in protocol.scores:
        table, found = _score_table(protocol, score, names, values, smoke)
        if len(table) > 1:
            lines += table_lines(score.label + _DIRECTION[score.higher], table)
        for word in found:
            counts[word] = counts.get(word, 0) + 1
    judged = counts["better"] + counts["worse"] + counts["same"]
    if judged:
        lines.append(
            f"\nOf {judged} numbers with a paper's beside them, {counts['better']} are better, "
            f"{counts['worse']} worse, {counts['same']} the same."
        )
    seconds = sum(result.seconds for result in results)
    versions = ", ".join(sorted({result.version for result in results}))
    machines = "; ".join(sorted({result.machine for result in results}))
    lines.append(
        f"\n{len(results)} cells, {seconds / 60:.1f} processor minutes; gbuq {versions}; "
        f"{machines}."
    )
    return lines


def _score_table(
    protocol: Protocol,
    score: Score,
    names: Sequence[str],
    values: Mapping[tuple[str, str, str, str], list[float]],
    smoke: bool,
) -> tuple[list[list[str]], list[str]]:
    has = {(key[0], key[1]) for key in values if key[3] == score.key}
    shown = [name for name in names if (protocol.key, name) in has]
    table, words = [["method", *shown]], []
    for method, label in protocol.methods.items():
        cells = []
        for name in shown:
            found = values.get((protocol.key, name, method, score.key))
            theirs = None if smoke else protocol.published.get((name, method, score.key))
            beside = set_beside(found, theirs, score.higher) if found else None
            cells.append("" if beside is None else str(beside))
            if beside is not None and beside.word:
                words.append(beside.word)
        if any(cells):
            table.append([label, *cells])
    return table, words
