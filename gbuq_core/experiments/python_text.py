"""Python as text, for the code that a page exports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


class Expression(str):
    """An argument that stands in the code as it is."""

    __slots__ = ()
    __repr__ = str.__str__


def import_lines(names: Iterable[str]) -> list[str]:
    """One line for each module, in order.

    >>> import_lines(["gbuq_core.metrics:auroc", "gbuq_core:make_heart", "gbuq_core:make_gap"])
    ['from gbuq_core import make_gap, make_heart', 'from gbuq_core.metrics import auroc']
    """
    modules: dict[str, set[str]] = {}
    for name in names:
        module, _, imported = name.partition(":")
        modules.setdefault(module, set()).add(imported)
    return [f"from {key} import {', '.join(sorted(modules[key]))}" for key in sorted(modules)]


def arguments_text(arguments: Mapping[str, object]) -> str:
    """Arguments by name, as a call has them.

    >>> arguments_text({"n": 3, "noise": 0.1})
    'n=3, noise=0.1'
    """
    return ", ".join(f"{name}={value!r}" for name, value in arguments.items())


def call_lines(name: str, arguments: Mapping[str, object]) -> list[str]:
    """A call with each argument on a line of its own.

    >>> call_lines("Model", {"method": "sglb"})
    ['Model(', '    method="sglb",', ')']
    """
    texts = (f"    {key}={value!r},".replace("'", '"') for key, value in arguments.items())
    return [f"{name}(", *texts, ")"]
