"""Column names as read, made unique: kept as they are wherever that is possible."""

from __future__ import annotations

from collections.abc import Sequence

from gbuq_core.tables.wording import counted, listed


def unique_names(cells: Sequence[str]) -> tuple[list[str], list[str]]:
    """Names for columns from the cells of a header, and notices about the renamed ones.

    Blank names become ``column 3`` (the position, counted from 1), repeated ones ``a (2)``.

    Examples
    --------
    >>> unique_names(["a", "", "a"])[0]
    ['a', 'column 2', 'a (2)']
    """
    stripped = [cell.strip() for cell in cells]
    taken = {name for name in stripped if name}
    used: set[str] = set()
    names, nameless, repeated = [], [], []
    for position, name in enumerate(stripped, start=1):
        if not name:
            name = free_name(f"column {position}", used | taken)
            nameless.append(name)
        elif name in used:
            name = free_name(name, used | taken)
            repeated.append(name)
        used.add(name)
        names.append(name)
    notices = []
    if nameless:
        n = counted(len(nameless), "column has", "columns have")
        notices.append(f"{n} no name and {'is' if len(nameless) == 1 else 'are'} called "
                       f"{listed(nameless)}.")  # fmt: skip
    if repeated:
        n = counted(len(repeated), "column repeats", "columns repeat")
        notices.append(f"{n} an earlier name and {'is' if len(repeated) == 1 else 'are'} called "
                       f"{listed(repeated)}.")  # fmt: skip
    return names, notices


def free_name(name: str, taken: set[str]) -> str:
    """``name``, or ``name (2)``, ``name (3)`` ... if it is taken.

    Examples
    --------
    >>> free_name("a", {"a", "a (2)"})
    'a (3)'
    """
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name} ({number})"
    return free
