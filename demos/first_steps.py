"""The first step of each lesson as it is stored: its picture comes before any kernel is loaded."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from demos import NAMES, load_lessons
from demos.lesson import ComputedStep
from gbuq_core.experiments.opening import Opening


class FirstStep(NamedTuple):
    """The plan of a lesson's first step."""

    lesson: str  # the name of its module


def _compute(plan: FirstStep) -> ComputedStep:
    return next(each for each in load_lessons() if each.name == plan.lesson).steps[0].compute()


FIRST_STEPS = {
    name: Opening(
        name="openings",
        folder=Path(__file__).parent,
        file=name,
        kind=ComputedStep,
        make=_compute,
        plans=lambda name=name: [FirstStep(name)],
        bits=12,
    )
    for name in NAMES
}


def find_step(lesson: str, part: int) -> ComputedStep | None:
    """The stored step of a lesson, counted from 1."""
    return FIRST_STEPS[lesson].find(FirstStep(lesson)) if part == 1 else None
