"""All records in the order that pages list them, and how to find those that fit."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from gbuq_core.errors import InvalidParameter
from gbuq_core.methods import boosted, forests, functions, neighbours, peers
from gbuq_core.methods.record import Method
from gbuq_core.validation import check_choice

_METHODS: dict[str, Method] = {}
METHODS: Mapping[str, Method] = MappingProxyType(_METHODS)


def declare_method(method: Method) -> Method:
    """Add a record to `METHODS`, and return it.

    Lists that a page or the command line made before do not have it: declare it before they are
    imported.

    Raises
    ------
    InvalidParameter
        If another method has its key or its label, or looks the same in a figure.
    """
    for other in _METHODS.values():
        if method.key == other.key or method.label == other.label:
            raise InvalidParameter(f"There is a method {other.key} ({other.label}) already.")
        if (method.colour, method.dash) == (other.colour, other.dash):
            raise InvalidParameter(
                f"{method.label} would look like {other.label}: give it another colour or dash."
            )
    _METHODS[method.key] = method
    return method


def find_methods(task: str | None = None, *, yields: tuple[str, ...] = ()) -> tuple[Method, ...]:
    """The methods that can do a task and yield all of these.

    Parameters
    ----------
    task : {"regression", "classification", "novelty", "ensemble"}, optional
    yields : tuple of str
        Of `YIELDS`: for a classification what it yields there, else what it yields otherwise.

    Examples
    --------
    >>> [method.key for method in find_methods("classification", yields=("novelty",))]
    ['macau_linear', 'macau_basic']
    """
    if task is not None:
        check_choice("task", task, ("regression", "classification", "novelty", "ensemble"))
    found = []
    for method in _METHODS.values():
        has = method.classes_yield if task == "classification" else method.yields
        fits = task is None or task in method.builders
        if fits and set(yields) <= set(has) and not method.forms:
            found.append(method)
    return tuple(found)


for _room in (boosted, neighbours, functions, forests, peers):
    for _method in _room.RECORDS:
        declare_method(_method)
