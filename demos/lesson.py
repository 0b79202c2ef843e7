"""A lesson, and how to write it to one HTML file without the app.

A lesson has a few steps. Each opens a page's experiment at a preset, asks a question about the
picture and answers it with the numbers of the same run. Nothing is stored: a step is computed when
it is shown.

::

    python -m demos.heart --out lesson.html
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from gbuq_core.errors import GbuqError
from gbuq_core.figures.canvas.panels import PanelSheet
from gbuq_core.figures.standalone import Section, standalone_html


class Shown(NamedTuple):
    """A step once it is computed.

    Attributes
    ----------
    text : sequence of str
        Paragraphs of plain text, before the question.
    answer : str
        The answer, with the numbers of this run.
    sheet : PanelSheet
        The picture, by the same code as the page's.
    """

    text: Sequence[str]
    answer: str
    sheet: PanelSheet


class Step(NamedTuple):
    """A step before it is computed.

    Attributes
    ----------
    title, question : str
    preset : Any
        The settings that the page is opened with, in the page's own type.
    compute : callable
        Returns `Shown`; ticks the current job like any fit.
    """

    title: str
    question: str
    preset: Any
    compute: Callable[[], Shown]


class Lesson(NamedTuple):
    """A lesson.

    Attributes
    ----------
    name : str
        Of its module and of its file.
    title, lead : str
        Its heading, and one or two sentences about it.
    page : str
        The address of the page that its presets belong to.
    source : str
        The paper.
    steps : sequence of Step
        Five to eight of them.
    """

    name: str
    title: str
    lead: str
    page: str
    source: str
    steps: Sequence[Step]


def lesson_html(lesson: Lesson) -> str:
    """Compute all steps and return the lesson as one page that needs no server."""
    sections = []
    for number, step in enumerate(lesson.steps, start=1):
        shown = step.compute()
        sections.append(
            Section(
                heading=f"{number}. {step.title}",
                text=shown.text,
                sheet=replace(shown.sheet, name=f"{lesson.name}-{number}"),
                question=step.question,
                answer=shown.answer,
            )
        )
    return standalone_html(sections, lesson.title, f"{lesson.lead} {lesson.source}")


def main(lesson: Lesson, arguments: Sequence[str] | None = None) -> int:
    """Run a lesson from the command line; return the exit code.

    0: written. 2: it could not be, with one sentence on stderr.
    """
    parser = argparse.ArgumentParser(
        prog=f"python -m demos.{lesson.name}", description=f"Write the lesson: {lesson.title}"
    )
    parser.add_argument("--out", type=Path, required=True, help="the HTML file to write")
    out = parser.parse_args(arguments).out
    try:
        out.write_text(lesson_html(lesson), encoding="utf-8")
    except GbuqError as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{out} cannot be written: {error.strerror}.", file=sys.stderr)
        return 2
    n = len(lesson.steps)
    print(f"{out}: {n} step{'s' * (n != 1)}")
    return 0
