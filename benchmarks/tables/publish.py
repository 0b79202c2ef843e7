"""``--publish``: committed results, protocols and findings as one file that the package reads.

`benchmarks.tables.board` reads the file, so that pages, the site and the README read the
same numbers without this folder.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from benchmarks.protocols import EFFORTS, PROTOCOLS, Protocol, cyclical, data, soft_trees
from benchmarks.tables.board import BOARD_FILE, FORMAT, Board, read_board
from benchmarks.tables.cells import Result
from benchmarks.tables.protocol import record_key
from benchmarks.tables.running import Wanted, list_cells
from benchmarks.tables.writing import write_summary

FINDINGS = Path(__file__).resolve().parents[1] / "FINDINGS.md"
README = FINDINGS.parents[1] / "README.md"
DIGITS = 6
_CLASSES = (*data.CLASS_SPLITS, cyclical.SPIRAL, cyclical.WEATHER)
_SUMMARY = re.compile(
    r"(?<=<!-- scoreboard -->\n\n).*?(?=\n\n<!-- end of scoreboard -->)", re.DOTALL
)
_CELLS = re.compile(r"^Cells:((?:.*,[ \t]*\n)*.*)", re.MULTILINE)  # goes on after a comma


class BadFindings(ValueError):
    """A section of the findings names cells that no table has; the message is one sentence."""


def publish(results: Iterable[Result], to: Path = BOARD_FILE, findings: Path = FINDINGS) -> str:
    """Write the board; returns a sentence on what it holds.

    README sums up the board of the package.
    """
    text = board_text(results, findings.read_text("utf-8") if findings.exists() else "")
    to.write_text(text, encoding="utf-8")
    if to == BOARD_FILE:
        README.write_text(sum_up(README.read_text("utf-8"), read_board(to)), encoding="utf-8")
    cells = sum(len(table["results"]["set"]) for table in json.loads(text)["tables"])
    return f"{to.name} has {cells:,} cells and {len(text) / 1000:,.0f} kB."


def board_text(results: Iterable[Result], findings: str) -> str:
    """The board's JSON: the same for the same results, whatever their order."""
    listed = list(results)
    for result in listed:
        _check(result)
    content = {
        "format": FORMAT,
        "tables": [
            _table(protocol, [each for each in listed if each.table == key])
            for key, protocol in PROTOCOLS.items()
        ],
        "findings": read_findings(findings),
    }
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False, allow_nan=False) + "\n"


def sum_up(text: str, board: Board) -> str:
    r"""A page with the board's summary between its marks.

    Examples
    --------
    >>> from benchmarks.tables.board import read_board
    >>> page = "<!-- scoreboard -->\n\nold\n\n<!-- end of scoreboard -->"
    >>> sum_up(page, read_board()).splitlines()[2][:9]
    '| paper |'
    """
    return _SUMMARY.sub(lambda _: write_summary(board), text)


def _check(result: Result) -> None:
    protocol = PROTOCOLS.get(result.table)
    known = {score.key for score in protocol.scores} if protocol else set()
    if (
        protocol is None
        or result.set not in protocol.sets
        or result.method not in protocol.methods
        or not known.issuperset(result.scores)
    ):
        raise ValueError(f"{result.cell} belongs to no table of today: delete its file.")
    if result.effort not in EFFORTS or result.effort == "smoke":
        raise ValueError(
            f"{result.cell} is of the effort {result.effort!r}, which is no number to publish: "
            "compute it anew."
        )


def short_number(value: float) -> float:
    """A number to six significant digits.

    >>> short_number(1 / 3), short_number(123456789.0)
    (0.333333, 123457000.0)
    """
    return float(f"{value:.{DIGITS}g}")


def task_of(name: str) -> str:
    """What is predicted on a set.

    >>> [task_of(name) for name in ("digits", "power", "exploration")]
    ['classification', 'regression', 'bandit']
    """
    if name == soft_trees.EXPLORATION:
        return "bandit"
    return "classification" if name in _CLASSES else "regression"


def _table(protocol: Protocol, results: Sequence[Result]) -> dict[str, Any]:
    efforts = sorted({each.effort for each in results})
    if len(efforts) > 1:
        raise ValueError(
            f"The results of {protocol.key} are of the efforts {' and '.join(efforts)}: keep one."
        )
    sets, methods = list(protocol.sets), list(protocol.methods)
    scores = [score.key for score in protocol.scores]
    order = {name: i for i, name in enumerate(sets)}
    rank = {name: i for i, name in enumerate(methods)}
    runs = sorted(results, key=lambda each: (order[each.set], rank[each.method], each.split))
    has = {score for each in runs for score in each.scores}
    needed = {name for name in sets if name not in protocol.builtin or protocol.files.get(name)}
    published = protocol.published.items()
    # Others' methods may need what is not installed, and are wanted once they have run.
    here = {each.method for each in runs}
    wanted = Counter(
        (order[cell.set], rank[cell.method])
        for cell in list_cells(Wanted((protocol.key,), None, None, None, "small"))
        if cell.method in here or record_key(cell.method) not in protocol.without_record
    )
    return {
        "key": protocol.key,
        "paper": protocol.paper,
        "words": protocol.words,
        "error_words": protocol.error_words,
        "sets": [[name, protocol.rows[name], task_of(name), name in needed] for name in sets],
        "methods": [
            [key, label, None if record_key(key) in protocol.without_record else record_key(key)]
            for key, label in protocol.methods.items()
        ],
        "scores": [list(score) for score in protocol.scores],
        "published": {
            "set": [order[where[0]] for where, _ in published],
            "method": [rank[where[1]] for where, _ in published],
            "score": [scores.index(where[2]) for where, _ in published],
            "value": [short_number(number.value) for _, number in published],
            "error": [
                None if number.error is None else short_number(number.error)
                for _, number in published
            ],
            "table": [number.table for _, number in published],
            "rounding": [short_number(number.rounding) for _, number in published],
        },
        "results": {
            "set": [order[each.set] for each in runs],
            "split": [each.split for each in runs],
            "method": [rank[each.method] for each in runs],
            "seconds": [short_number(each.seconds) for each in runs],
            "peak_memory": [int(short_number(each.peak_memory)) for each in runs],
            "scores": {
                key: [
                    short_number(each.scores[key]) if key in each.scores else None for each in runs
                ]
                for key in scores
                if key in has
            },
        },
        "wanted": {
            "set": [name for name, _ in wanted],
            "method": [method for _, method in wanted],
            "splits": list(wanted.values()),
        },
        "effort": efforts[0] if efforts else "",
        "versions": sorted({each.version for each in runs}),
        "machines": sorted({each.machine for each in runs}),
    }


def read_findings(text: str) -> list[dict[str, Any]]:
    r"""The sections of the findings that explain cells, in their order.

    A section begins with ``## `` and its title, and explains what its line ``Cells: `` names:
    ``table/set/method/score`` with commas between, where ``*`` stands for any.

    Examples
    --------
    >>> found = read_findings("# All\n\n## Fewer trees\nWhy.\n\nCells: ibug/*/knn/crps\n")
    >>> found[0]["title"], found[0]["text"], found[0]["cells"]
    ('Fewer trees', 'Why.', ['ibug/*/knn/crps'])
    """
    findings = []
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title, _, body = section.partition("\n")
        named = _CELLS.search(body)
        if named is None:
            continue
        cells = [cell.strip(" `\n") for cell in re.split(r",\s*", named[1].strip().rstrip("."))]
        for cell in cells:
            _check_cell(cell, title)
        words = (body[: named.start()] + body[named.end() :]).strip()
        findings.append({"title": title.strip(), "text": words, "cells": cells})
    return findings


def _check_cell(cell: str, title: str) -> None:
    parts = cell.split("/")
    if len(parts) == 4:
        table, name, method, score = parts
        for key, protocol in PROTOCOLS.items():
            if not fnmatchcase(key, table):
                continue
            keys = [each.key for each in protocol.scores]
            if all(
                any(fnmatchcase(name, part) for name in known)
                for known, part in ((protocol.sets, name), (protocol.methods, method),
                                    (keys, score))
            ):  # fmt: skip
                return
    raise BadFindings(
        f"The finding {title.strip()!r} names {cell!r}, which no table has: write "
        "table/set/method/score, with * for any."
    )
