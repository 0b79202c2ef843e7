"""What a record of a method holds, all records, and how to find those that fit."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from gbuq_core.errors import InvalidParameter
from gbuq_core.knobs import Knob, check_knob, find_knob
from gbuq_core.validation import check_choice

TASKS = ("regression", "classification", "novelty")
PARTS = ("total", "data", "knowledge")
NOVELTIES = ("novelty", "conditional_novelty", "inference_novelty")
YIELDS = (*PARTS, *NOVELTIES, "members", "functions", "neighbours", "intervals", "law")

_BYTES_PER_CELL = 64.0  # of a table: as it is passed, as numbers, and what a fit makes of it


@dataclass(frozen=True, kw_only=True)
class Builder:
    """How to make an estimator that is not fitted. Nothing is imported until it is made."""

    of: str  # `"module:Class"`
    # Arguments that make the method what it is. A `Builder` among them, also within a tuple, is
    # made too: an average of two methods, or neighbours among a model's features.
    fixed: Mapping[str, Any] = field(default_factory=dict)
    # which of `n_jobs`, `random_state` and `levels` its class accepts
    takes: tuple[str, ...] = ("n_jobs", "random_state")
    # `{"n_members": ("n_trees", 2)}`: no more members than half of the trees, and two at least
    at_most: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    within: tuple[str, ...] = ()  # arguments of the estimator that is its argument `estimator`

    @property
    def module(self) -> str:
        """Where the class is imported from."""
        return self.of.partition(":")[0]

    @property
    def name(self) -> str:
        """The class's name."""
        return self.of.partition(":")[2]

    def load(self) -> Callable[..., Any]:
        """The class. This imports its module."""
        return getattr(importlib.import_module(self.module), self.name)

    def arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """All arguments of the class: fixed ones first, what is given, what is limited by it.

        Examples
        --------
        >>> half = Builder(of="a:B", at_most={"n_members": ("n_trees", 2)})
        >>> half.arguments({"n_trees": 12, "n_members": 10})
        {'n_trees': 12, 'n_members': 6}
        """
        arguments = {**self.fixed, **given}
        for name, (by, share) in self.at_most.items():
            if name in arguments and by in arguments:
                arguments[name] = max(2, min(arguments[name], arguments[by] // share))
        return arguments

    def make(self, **given: Any) -> Any:
        """The estimator with these arguments besides the fixed ones."""
        inner = {name: given.pop(name) for name in self.within if name in given}
        arguments = {name: _made(value) for name, value in self.arguments(given).items()}
        if inner:
            arguments["estimator"] = self.fixed["estimator"].make(**inner)
        return self.load()(**arguments)


def _made(value: Any) -> Any:
    if isinstance(value, Builder):
        return value.make()
    if isinstance(value, tuple) and any(isinstance(part, (Builder, tuple)) for part in value):
        return [tuple(_made(part) for part in pair) for pair in value]
    return value


def both_tasks(of: str, **fixed: Any) -> dict[str, Builder]:
    """Builders of a regressor and a classifier whose names begin alike."""
    kinds = {"regression": "Regressor", "classification": "Classifier"}
    return {task: Builder(of=of + kind, fixed=fixed) for task, kind in kinds.items()}


@dataclass(frozen=True, kw_only=True)
class Method:
    """All that the project says about one method, declared once."""

    key: str  # its name in code, files and options
    # `label`, `about`: its name for people, which links use too, and one sentence on what it does
    label: str
    about: str
    # `paper`, `section`: where it comes from
    paper: str
    section: str = ""
    # `colour`, `dash`: `#rrggbb` and the dash of its lines, the same on every page. A colour may be
    # shared; the two together are unique.
    colour: str
    dash: str = "solid"
    # From each of `TASKS` that it can do to a `Builder`. `"ensemble"` is the builder for several
    # independent models, where the method has both.
    builders: Mapping[str, Builder]
    # Of `YIELDS`: the parts of its uncertainty, novelty scores, members, sampled functions,
    # neighbours, intervals of its own, a law that comparisons judge. For a regression;
    # `classes_yield` for a classification. A regressor that yields `total` has `predict` and
    # `predict_uncertainty`, or `predict_distribution`; one that yields `novelty` has
    # `score_novelty`.
    yields: tuple[str, ...]
    classes_yield: tuple[str, ...] = ()
    # arguments of its class that a reader may move; `key` is the argument's name
    knobs: tuple[Knob, ...] = ()
    packages: tuple[str, ...] = ()  # what has to be installed, as it is imported
    complete: bool = False  # whether it reads tables without gaps only
    # `most_rows`, `rows_reason`: the largest training table, and why
    most_rows: int | None = None
    rows_reason: str = ""
    pair_bytes: float = 0.0  # of memory that each pair of training rows takes
    # whether a library holds the fitted model, so that nobody can tell its memory
    opaque: bool = False
    # Keys of the records that fix its main knob. `find_methods` lists those in its place.
    forms: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "builders", MappingProxyType(dict(self.builders)))
        for name in (*self.yields, *self.classes_yield):
            check_choice("yields", name, YIELDS)

    @property
    def tasks(self) -> tuple[str, ...]:
        """Which of `TASKS` it can do."""
        return tuple(task for task in TASKS if task in self.builders)

    @property
    def parts(self) -> tuple[str, ...]:
        """Which of total, data and knowledge it tells in a regression."""
        return tuple(part for part in PARTS if part in self.yields)

    @property
    def predicts(self) -> bool:
        """Whether it predicts a target; a method that only scores rows does not."""
        return self.tasks != ("novelty",)

    def yields_for(self, task: str) -> tuple[str, ...]:
        """What it yields for a task: ``classes_yield`` for a classification, else ``yields``."""
        return self.classes_yield if task == "classification" else self.yields

    def fit_bytes(self, rows: int, columns: int) -> int:
        """Roughly the memory of a fit, with the table's own copies.

        Examples
        --------
        >>> METHODS["gp"].fit_bytes(5000, 1) > 10 * METHODS["knn"].fit_bytes(5000, 1)
        True
        """
        return int(rows * (_BYTES_PER_CELL * columns + rows * self.pair_bytes))

    def builder(self, task: str = "regression") -> Builder:
        """How to make its estimator for a task."""
        if task not in self.builders:
            does = ", ".join(self.builders)
            raise InvalidParameter(f"{self.label} does {does}, not {task}: choose another method.")
        return self.builders[task]

    def knob(self, key: str) -> Knob:
        """One of its knobs."""
        return find_knob(self.knobs, key)

    def make(self, task: str = "regression", **arguments: Any) -> Any:
        """Its estimator, not fitted."""
        builder = self.builder(task)
        missing = self.missing()
        if missing:
            raise InvalidParameter(missing)
        for name, value in arguments.items():
            if name not in builder.takes:
                check_knob(self.knob(name), value)
        limited = {name: self.knob(name).default for name in builder.at_most}
        return builder.make(**{**limited, **arguments})

    def missing(self) -> str:
        """Why it cannot run here, in a sentence; empty if it can. Nothing is imported."""
        for package in self.packages:
            if not is_installed(package):
                return (
                    f"{self.label} is not installed: choose another method, or install the "
                    f"package {package}."
                )
        return ""

    def why_not(self, rows: int, gaps: bool = False) -> str:
        """Why it cannot learn from a table of so many rows, in a sentence; empty if it can."""
        if self.most_rows is not None and rows > self.most_rows:
            return (
                f"{self.label} takes at most {self.most_rows:,} rows, and this table has {rows:,}: "
                f"{self.rows_reason}."
            )
        if gaps and self.complete:
            return f"{self.label} cannot read missing values: fill them in, or drop those rows."
        return self.missing()


def is_installed(package: str) -> bool:
    """Whether a package can be imported; it is not."""
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):  # a broken installation
        return False


_METHODS: dict[str, Method] = {}
METHODS: Mapping[str, Method] = MappingProxyType(_METHODS)


def declare_method(method: Method, replaces: bool = False) -> Method:
    """Add a record to `METHODS`, and return it; ``replaces`` one of its key.

    Lists that a page or the command line made before do not have it: declare it before they are
    imported.
    """
    for other in _METHODS.values():
        if replaces and method.key == other.key:
            continue
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

    Examples
    --------
    >>> [method.key for method in find_methods("classification", yields=("novelty",))]
    ['macau_linear', 'macau_basic']
    """
    if task is not None:
        check_choice("task", task, ("regression", "classification", "novelty", "ensemble"))
    methods = []
    for method in _METHODS.values():
        fits = task is None or task in method.builders
        if fits and set(yields) <= set(method.yields_for(task or "")) and not method.forms:
            methods.append(method)
    return tuple(methods)
