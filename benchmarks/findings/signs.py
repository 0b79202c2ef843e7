"""Cells that differ from the paper by more than two standard errors, the largest first.

Each is marked with the section of FINDINGS.md that explains it, or with a question mark.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.protocols import PROTOCOLS
from benchmarks.report import table_lines
from benchmarks.tables.__main__ import RESULTS
from benchmarks.tables.cells import Cells, Result
from benchmarks.tables.comparing import BETTER, WORSE, set_beside
from benchmarks.tables.publish import FINDINGS, read_findings
from benchmarks.tables.report import collect_values


class Sign(NamedTuple):
    """A cell, its numbers, and how many standard errors of the difference lie between them."""

    cell: str
    ours: float
    theirs: float
    word: str
    errors: float


def find_signs(results: Sequence[Result]) -> list[Sign]:
    """Cells that are better or worse, by how far they are off."""
    values = collect_values(results)
    signs = []
    for (table, name, method, score), numbers in values.items():
        protocol = PROTOCOLS[table]
        higher = {each.key: each.higher for each in protocol.scores}[score]
        beside = set_beside(numbers, protocol.published.get((name, method, score)), higher)
        if beside.word not in (BETTER, WORSE) or beside.theirs is None:
            continue
        spread = math.hypot(beside.ours.error, beside.theirs.error or 0.0)
        gap = abs(beside.ours.mean - beside.theirs.value) - beside.theirs.rounding
        signs.append(
            Sign(f"{table}/{name}/{method}/{score}", beside.ours.mean, beside.theirs.value,
                 beside.word, gap / spread if spread else math.inf)
        )  # fmt: skip
    return sorted(signs, key=lambda sign: -sign.errors)


def explained(cell: str, findings: Sequence[Mapping[str, Any]]) -> str:
    """Titles of the sections with the cell, or a question mark.

    >>> one, two = {"title": "One", "cells": ["a/*/c/d"]}, {"title": "Two", "cells": []}
    >>> explained("a/b/c/d", [one, two])
    'One'
    """
    own = cell.split("/")
    titles = [
        section["title"]
        for section in findings
        if any(all(map(fnmatchcase, own, each.split("/"))) for each in section["cells"])
    ]
    return "; ".join(titles) or "?"


def main() -> None:
    """Print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the stored results")
    parser.add_argument("--open", action="store_true", help="only what no section explains")
    args = parser.parse_args()
    findings = read_findings(FINDINGS.read_text()) if FINDINGS.exists() else []
    signs = find_signs(list(Cells(args.out)))
    for word in (WORSE, BETTER):
        table = [["cell", "ours", "paper", "standard errors", "explained by"]]
        for sign in signs:
            section = explained(sign.cell, findings)
            if sign.word == word and not (args.open and section != "?"):
                table.append(
                    [
                        sign.cell,
                        f"{sign.ours:.4g}",
                        f"{sign.theirs:.4g}",
                        f"{sign.errors:.1f}",
                        section,
                    ]
                )
        print("\n".join(table_lines(f"Ours is {word}: {len(table) - 1} cells", table)))


if __name__ == "__main__":
    main()
