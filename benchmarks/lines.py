"""How much each room holds: files, statements and tokens, for people to look at.

``python -m benchmarks.lines`` counts the Python files of each folder. Statements (`ast.stmt`) do
not change with the layout of a line or with a comment; tokens are what `tokenize` finds without
comments and line ends. ``--depth 2`` counts the folders inside the rooms.
"""

from __future__ import annotations

import argparse
import ast
import tokenize
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from gbuq_core.presentation import markdown_table

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("gbuq_core", "pages", "demos", "benchmarks", "tests")
_LAYOUT = {
    tokenize.COMMENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.NEWLINE,
    tokenize.NL,
}


class Size(NamedTuple):
    """Counts of one file or of the files of a folder."""

    files: int
    statements: int
    tokens: int


def file_size(path: Path) -> Size:
    """Statements and tokens of one file."""
    tree = ast.parse(path.read_bytes())
    with path.open("rb") as file:
        tokens = sum(token.type not in _LAYOUT for token in tokenize.tokenize(file.readline))
    return Size(1, sum(isinstance(node, ast.stmt) for node in ast.walk(tree)), tokens)


def room_sizes(depth: int = 1, root: Path = ROOT) -> dict[str, Size]:
    """Sizes by folder, ``depth`` folders deep; a file beside the folders counts as its parent's."""
    sizes: dict[str, Counter[str]] = {}
    for room in ROOMS:
        for path in sorted((root / room).rglob("*.py")):
            parts = path.relative_to(root).parts
            folder = "/".join(parts[: min(depth, len(parts) - 1)])
            sizes.setdefault(folder, Counter()).update(file_size(path)._asdict())
    rooms = {folder: Size(**size) for folder, size in sizes.items()}
    return dict(sorted(rooms.items(), key=lambda room: -room[1].statements))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--depth", type=int, default=1, help="folders below the root (default 1)")
    rooms = room_sizes(parser.parse_args().depth)
    rows = [(f"{name}/", *(f"{count:,}" for count in size)) for name, size in rooms.items()]
    print(markdown_table([("room", *Size._fields), *rows]))


if __name__ == "__main__":
    main()
