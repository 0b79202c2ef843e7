"""The table of README and the lists of docs/scoreboard.md, written between their marks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.papers.table import BETTER, PAPERS, SAME, UNEXPLAINED, WORSE, Row, read_rows
from gbuq_core.presentation import digits, markdown_table

ROOT = Path(__file__).parents[2]
SIGNS = {BETTER: "+", WORSE: "\u2212"}
PAGES = (ROOT / "README.md", ROOT / "docs" / "scoreboard.md")


def write_pages() -> None:
    """Write the parts of the pages that come from the file."""
    rows = read_rows()
    for page in PAGES:
        page.write_text(fill_page(page.read_text("utf-8"), rows), encoding="utf-8")


def fill_page(text: str, rows: Sequence[Row]) -> str:
    """A page with new content between its marks."""
    for name, write in PARTS.items():
        between = rf"(?<=<!-- {name} -->\n\n).*?(?=\n\n<!-- end of {name} -->)"
        content = write(rows)
        text = re.sub(between, lambda _, content=content: content, text, flags=re.DOTALL)
    return text


def summary(rows: Sequence[Row]) -> str:
    """A line for each paper: how many of its numbers came out the same, better and worse."""
    lines = [("paper", "compared", SAME, BETTER, WORSE, UNEXPLAINED)]
    for paper, label in PAPERS.items():
        compared = [row for row in rows if row.paper == paper and row.word]
        words = Counter(row.word for row in compared)
        open_ones = sum(row.reason.startswith(UNEXPLAINED) for row in compared)
        counts = (len(compared), words[SAME], words[BETTER], words[WORSE], open_ones)
        lines.append((label, *map(str, counts)))
    return markdown_table(lines)


def reasons(rows: Sequence[Row]) -> str:
    """Why numbers differ, paper by paper: how many are better and worse for each reason."""
    parts = []
    for paper, label in PAPERS.items():
        differing = [row for row in rows if row.paper == paper and row.word in SIGNS]
        if differing:
            parts.append(f"**{label}**")
            counts = Counter(row.reason for row in differing)
            lines = []
            for reason, _ in counts.most_common():
                words = Counter(row.word for row in differing if row.reason == reason)
                counted = [f"{sign}{words[word]}" for word, sign in SIGNS.items() if words[word]]
                lines.append(f"- {reason}: {', '.join(counted)}")
            parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _numbers(rows: Sequence[Row], paper: str, measure: str) -> str:
    chosen = [row for row in rows if (row.paper, row.measure) == (paper, measure) and row.ours]
    sets = list(dict.fromkeys(row.set for row in chosen))
    methods = list(dict.fromkeys(row.method for row in chosen))
    ours = {(row.set, row.method): digits(float(row.ours), 3) for row in chosen}
    lines = [("method", *(name.replace("_", " ") for name in sets))]
    lines += [(method, *(ours.get((name, method), "") for name in sets)) for method in methods]
    return markdown_table(lines)


PARTS = {
    "scoreboard": summary,
    "reasons": reasons,
    "tails": lambda rows: _numbers(rows, "tails", "crps"),
    "shapes": lambda rows: _numbers(rows, "shapes", "ratio"),
}
