"""A comparison that takes a while, and is made only when a reader asks for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

from gbuq_core.experiments.claims import Claim
from gbuq_core.experiments.seeds import SeedStudy
from gbuq_core.figures.standalone import Section
from gbuq_core.knobs import Knob


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A fold of a page, whose button runs it; `sections` of what came out are downloaded, too."""

    name: str  # of its job
    label: str  # of its progress
    fold: Knob  # whose label is its title; open by it
    knobs: tuple[Knob, ...] = ()  # beside its button
    about: str  # Markdown
    button: str = "Run"
    # `plan(settings, values)` returns what it depends on, of the values of all knobs of the page;
    # `why_not(plan)` a sentence if it cannot be run, else an empty text
    plan: Callable[[Any, SimpleNamespace], Any]
    why_not: Callable[[Any], str]
    run: Callable[[Any], Any]
    sections: Callable[[Any, SimpleNamespace], Sequence[Section]]
    claims: Callable[[Any], Sequence[Claim]] = lambda result: ()
    study: SeedStudy | None = None
    # Names of CSV files: the file, and how it is written
    tables: Mapping[str, tuple[str, Callable[[Any], str]]] = field(default_factory=dict)


def trial_sections(
    trials: Sequence[Trial], results: Mapping[str, Any], values: SimpleNamespace
) -> list[Section]:
    """What came out of each, by its name, as a downloaded page shows it."""
    sections = []
    for trial in trials:
        if (result := results.get(trial.name)) is not None:
            first, *others = trial.sections(result, values)
            sections += [replace(first, heading=trial.fold.label), *others]
    return sections
