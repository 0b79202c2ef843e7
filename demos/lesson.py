"""A lesson, and how to write it to one HTML file without the app.

A lesson has a few steps. Each opens a page's experiment at a preset and asks a question. The reader
answers first, by choosing, brushing or drawing (`demos.asking`); what is right follows from the
numbers of the same run. First steps are stored (`demos.first_steps`); others are computed when they
are shown.

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

from demos.asking import Ask, Brushed, Drawn, Right, compare
from gbuq_core.errors import GbuqError
from gbuq_core.figures.canvas.panels import PanelSheet
from gbuq_core.figures.canvas.thinning import n_values, thin_sheet
from gbuq_core.figures.guess import guess_spec
from gbuq_core.figures.standalone import Section, standalone_html

_TRUTHS = ("True", "Target", "Training rows")  # maps that no question asks about begin so
_AXES = (
    "x_label",
    "y_label",
    "x_labels",
    "y_labels",
    "x_extent",
    "y_extent",
    "origin",
    "aspect",
    "panel_height",
    "hatch_label",
)
_MOST_VALUES = 300_000  # of a file's picture with a knob; more are thinned


class ComputedStep(NamedTuple):
    """A step once it is computed."""

    text: str  # A paragraph of plain text, before the question
    right: Right  # what is right: the numbers that decide between the options, or a range or curve
    answer: str  # the answer, with the numbers of this run
    sheet: PanelSheet  # the picture, by the same code as the page's
    # further paragraphs, folded below the answer: how the picture was made, and all numbers
    more: Sequence[str] = ()
    # what its picture follows its knob with (`gbuq_core.figures.near.pack_table`)
    tables: Sequence[bytes] = ()


class Step(NamedTuple):
    """A step before it is computed."""

    title: str
    question: str
    ask: Ask  # the options in order, or what else the reader does to answer
    preset: Any  # the settings that the page is opened with, in the page's own type
    compute: Callable[
        [], ComputedStep
    ]  # returns `ComputedStep`; ticks the current job like any fit


class Lesson(NamedTuple):
    """A lesson."""

    name: str  # of its module and of its file
    # `title`, `lead`: its heading, and one or two sentences about it
    title: str
    lead: str
    page: str  # the address of the page that its presets belong to
    source: str  # the paper
    steps: Sequence[Step]  # five to eight of them


def guess_of(ask: Ask, right: Right, token: str = "", truth: bool = True) -> dict[str, Any] | None:
    """What the chart of a brushed or drawn guess shows; None where options are chosen."""
    if isinstance(right, Brushed):
        ends = (right.low, right.high) if truth else None
        after = right.shown_after if truth else None
        return guess_spec(right.chart, "brush", token, ends, right.name, after)
    if isinstance(right, Drawn):
        return guess_spec(right.chart, "draw", token, right.y if truth else None, right.name)
    return None


def before_answer(sheet: PanelSheet) -> PanelSheet | None:
    """The truth alone, as long as nobody has guessed; None where the picture has no truth.

    >>> from gbuq_core.figures.canvas.panels import Panel
    >>> maps = [Panel(title=title, values=[[1.0]]) for title in ("True noise", "Estimate")]
    >>> before_answer(PanelSheet(panels=maps, alt="It is 1.")).alt
    'Maps: True noise.'
    """
    truths = [panel for panel in sheet.panels if panel.title.startswith(_TRUTHS)]
    if not truths:
        return None
    titles = "; ".join(panel.title for panel in truths)
    still = PanelSheet(panels=truths, columns=len(truths), alt=f"Maps: {titles}.")
    return replace(still, **{name: getattr(sheet, name) for name in _AXES})


def _options(ask: Ask, shown: ComputedStep) -> Sequence[tuple[str, str]]:
    """Each option, and what a reader who chooses it is told."""
    if not isinstance(ask, tuple):
        return ()
    return [(option, compare(ask, shown.right, at).word) for at, option in enumerate(ask)]


def lesson_html(lesson: Lesson) -> str:
    """Compute all steps and return the lesson as one page that needs no server."""
    sections = []
    for number, step in enumerate(lesson.steps, start=1):
        shown = step.compute()
        sheet = replace(shown.sheet, name=f"{lesson.name}-{number}")
        large = sheet.live is not None and n_values(sheet) > _MOST_VALUES
        sections.append(
            Section(
                heading=f"{number}. {step.title}",
                text=shown.text,
                sheet=thin_sheet(sheet) if large else sheet,
                coarse=large,
                question=step.question,
                options=_options(step.ask, shown),
                guess=guess_of(step.ask, shown.right),
                answer=shown.answer,
                more=shown.more,
                tables=shown.tables,
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
