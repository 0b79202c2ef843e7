"""Tables as text: our means and standard errors over splits, beside the paper's numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from benchmarks.protocols import PROTOCOLS, Protocol, Score
from benchmarks.report import table_lines
from benchmarks.tables.cells import Result
from benchmarks.tables.comparing import ERRORS, set_beside

_DIRECTION = {True: " (higher is better)", False: " (lower is better)", None: ""}


def collect_values(results: Iterable[Result]) -> dict[tuple[str, str, str, str], list[float]]:
    """Values over splits by (table, set, method, score)."""
    by_score: dict[tuple[str, str, str, str], list[float]] = {}
    for result in sorted(results, key=lambda each: each.split):
        for score, value in result.scores.items():
            key = (result.table, result.set, result.method, score)
            by_score.setdefault(key, []).append(value)
    return by_score


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
        table, marks = _score_table(protocol, score, names, values, smoke)
        if len(table) > 1:
            lines += table_lines(score.label + _DIRECTION[score.higher], table)
        for word in marks:
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
    methods = [name for name in names if (protocol.key, name) in has]
    table, words = [["method", *methods]], []
    for method, label in protocol.methods.items():
        cells = []
        for name in methods:
            ours = values.get((protocol.key, name, method, score.key))
            theirs = None if smoke else protocol.published.get((name, method, score.key))
            beside = set_beside(ours, theirs, score.higher) if ours else None
            cells.append("" if beside is None else str(beside))
            if beside is not None and beside.word:
                words.append(beside.word)
        if any(cells):
            table.append([label, *cells])
    return table, words
