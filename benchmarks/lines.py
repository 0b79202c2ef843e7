"""How many lines each room has, and what of them may say a fact twice.

``python -m benchmarks.lines`` counts the lines of all Python files by folder, those of the savers,
the largest files, the classes that are built in one place only and the private functions that are
called once. A class or function counts by its name in the sources of library and pages.
"""

from __future__ import annotations

import argparse
import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from gbuq_core.presentation import markdown_table

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("gbuq_core", "pages", "demos", "benchmarks", "tests")
SAVERS = ("saving*.py", "model_files/*.py")  # of models; projects/ holds no saver of one
N_LARGEST = 10
RECORDS = {"NamedTuple", "dataclass"}


class Named(NamedTuple):
    """What a tree of sources declares, and how often its names stand there."""

    records: tuple[str, ...]
    private: tuple[str, ...]
    calls: Counter[str]  # a name that is called
    uses: Counter[str]  # a name that is read in any way


def sources(folder: Path) -> list[Path]:
    """The Python files of a folder, in order."""
    return sorted(path for path in folder.rglob("*.py") if "__pycache__" not in path.parts)


def n_lines(paths: list[Path]) -> int:
    """Lines of files, empty ones and docstrings among them."""
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def room_sizes(depth: int = 1) -> dict[str, int]:
    """Lines by folder, ``depth`` folders deep; what lies beside the folders counts as theirs."""
    sizes: Counter[str] = Counter()
    for room in ROOMS:
        for path in sources(ROOT / room):
            parts = path.relative_to(ROOT).parts
            sizes["/".join(parts[: min(depth, len(parts) - 1)])] += n_lines([path])
    return dict(sizes.most_common())


def largest_files(folder: str, n_files: int = N_LARGEST) -> list[tuple[str, int]]:
    """The longest files of a folder with their lines, the longest first."""
    sizes = [(str(path.relative_to(ROOT)), n_lines([path])) for path in sources(ROOT / folder)]
    return sorted(sizes, key=lambda size: -size[1])[:n_files]


def saver_lines() -> int:
    """Lines of what writes and reads models."""
    core = ROOT / "gbuq_core"
    paths = {path for pattern in SAVERS for path in core.rglob(pattern)}
    return n_lines(sorted(path for path in paths if "projects" not in path.parts))


def read_names() -> Named:
    """The records and private functions of library and pages, and how often each is named there."""
    records: list[str] = []
    private: list[str] = []
    calls: Counter[str] = Counter()
    uses: Counter[str] = Counter()
    for path in [*sources(ROOT / "gbuq_core"), *sources(ROOT / "pages"), ROOT / "app.py"]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and RECORDS & set(_bases(node)):
                records.append(node.name)
            elif isinstance(node, ast.FunctionDef) and _is_private(node.name):
                private.append(node.name)
            elif isinstance(node, ast.Call) and (name := _name(node.func)):
                calls[name] += 1
            elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
                uses[_name(node)] += 1
    return Named(tuple(records), tuple(private), calls, uses)


def built_once(named: Named) -> list[str]:
    """Records that one place builds."""
    return sorted(name for name in named.records if named.calls[name] == 1)


def used_once(named: Named) -> list[str]:
    """Private functions that one place names; a name that several files declare is left out."""
    declared = Counter(named.private)
    return sorted(name for name in declared if declared[name] == 1 == named.uses[name])


def _bases(node: ast.ClassDef) -> Iterator[str]:
    for base in [*node.bases, *node.decorator_list]:
        yield _name(base.func if isinstance(base, ast.Call) else base)


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


def main() -> None:
    """Print all counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--depth", type=int, default=1, help="folders below the root (default 1)")
    options = parser.parse_args()
    counts = {f"{room}/": size for room, size in room_sizes(options.depth).items()}
    _print("room", "lines", counts)
    for room in ROOMS:
        _print(f"largest of {room}", "lines", dict(largest_files(room)))
    named = read_names()
    _print("of library and pages", "count", {
        "lines of savers": saver_lines(),
        "records": len(named.records),
        "records built in one place only": len(built_once(named)),
        "private functions used once": len(used_once(named)),
    })  # fmt: skip


def _print(what: str, number: str, counts: dict[str, int]) -> None:
    print(markdown_table([(what, number), *((name, f"{n:,}") for name, n in counts.items())]))
    print()


if __name__ == "__main__":
    main()
