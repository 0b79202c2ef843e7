"""The result as one HTML file: words, pictures, scores, the rows to look at first, code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from gbuq_core.errors import GbuqError
from gbuq_core.figures.standalone import Section, standalone_html
from gbuq_core.figures.table.rows import row_map_figure
from gbuq_core.glossary import UNCERTAINTY_KINDS
from gbuq_core.lenses.lens import Seen
from gbuq_core.lenses.pictures import (
    RowUncertainties,
    clocks_of,
    in_unit,
    kinds_of,
    promises_of,
    rejection_of,
    row_map_of,
    score_cells,
)
from gbuq_core.lenses.register import LENSES
from gbuq_core.presentation import digits, number_word, short
from gbuq_core.tables import ScoredTable, Table, why_no_coverage
from gbuq_core.tables.checking import MOST_CHECKED, rows_to_check, say_prediction
from gbuq_core.tables.intervals import written_scores
from gbuq_core.tables.predicting import row_errors
from gbuq_core.tables.words import describe_table

_LISTED_ROWS = 20


def result_page(scored: ScoredTable, unit: str, code: str, more: Sequence[Section] = ()) -> bytes:
    """The page in UTF-8. It makes no request, and nothing that it shows of a file can run."""
    shown = in_unit(scored, unit)
    dots = row_map_figure(row_map_of(scored, shown, None))
    rejection, clocks = rejection_of(scored), clocks_of(scored)
    promises = promises_of(scored, scored.conformal)
    target, kinds = scored.training.target, kinds_of(scored)
    missing = why_no_coverage(scored)
    cells = score_cells(written_scores(scored), kinds, quotes_coverage=not missing)
    head = [("Rows held out", f"{scored.scores.n_rows:,}"), *cells]
    new_scores = written_scores(scored, second=True)
    if new_scores is not None:
        second = score_cells(new_scores, kinds)
        head += [(f"Second file: {name}", value) for name, value in second]
    n_listed = min(_LISTED_ROWS, len(shown.total))
    sections = [
        Section(heading=check_heading(len(shown.total)), table=_checks(scored)),
        Section(heading="In words", text=describe_table(scored)),
        Section(
            heading="Every row by data and knowledge uncertainty",
            curves=dots,
            caption=dots.alt + (" Brighter dots have larger errors." if not target.classes else ""),
        ),
        Section(heading="Scores", table=[("Score", "Value"), *head]),
        Section(heading="Rejection", curves=rejection, caption=rejection.alt),
        Section(heading="Calibration" if target.classes else "Coverage", text=missing)
        if missing
        else Section(
            heading="Calibration" if target.classes else "Coverage",
            curves=promises,
            caption=promises.alt,
        ),
        *([Section(heading="Trees in use", curves=clocks, caption=clocks.alt)] if clocks else []),
        Section(
            heading=f"The {n_listed} rows with the largest total uncertainty",
            text=f"Uncertainties: {shown.unit}.",
            table=_worst_rows(scored, shown),
        ),
        *more,
        Section(heading="How the file was read", text=scored.notices),
        Section(heading="The same in Python", code=code),
    ]
    name = " ".join(target.name.split())[:60]
    return standalone_html(sections, f"Which rows to check first: {name}").encode()


def table_report(scored: ScoredTable, table: Table, choices: Any, code: str) -> bytes:
    """The report with all sections that need no further fit, by `reader_choices`, in UTF-8."""
    return result_page(scored, choices.unit, code, lens_sections(Seen(scored, table, choices)))


def lens_sections(seen: Seen, made: Mapping[str, Any] | None = None) -> list[Section]:
    """What the lenses of the whole table say; ``made`` holds results that the page has, by key."""
    known, answers, results = made or {}, [], dict[Callable[[Seen], Any], Any]()
    for lens in LENSES.values():
        if (
            lens.of_row
            or lens.report == "no"
            or (lens.report == "if made" and lens.key not in known)
        ):
            continue
        if not lens.concerns(seen) or lens.refuse(seen) or lens.waits(seen):
            continue
        heading = lens.heading(seen)
        try:
            if lens.key in known:
                result = known[lens.key]
            else:
                if lens.compute not in results:
                    results[lens.compute] = lens.compute(seen)
                result = results[lens.compute]
            sections = lens.sections(seen, result)
        except GbuqError as error:
            sections = [Section(text=str(error))]
        for section in sections:
            answers.append(section if section.heading else replace(section, heading=heading))
    return answers


class RowAnswer(NamedTuple):
    """What a lens says of a row: its question, sentences, and a table with a head or nothing."""

    question: str
    words: tuple[str, ...]
    table: tuple[tuple[str, ...], ...]


def row_answers(
    scored: ScoredTable, table: Table, choices: Any, row: int, keys: Sequence[str]
) -> list[tuple[str, RowAnswer]]:
    """The answers of some lenses about a row, by their keys; why not, where there is none."""
    seen, answers = Seen(scored, table, choices, row), []
    for key in dict.fromkeys(keys):
        lens = LENSES[key]
        sections = [Section(text=lens.refuse(seen))]
        if not sections[0].text:
            sections = lens.sections(seen, lens.compute(seen))
        texts = [[part.text] if isinstance(part.text, str) else part.text for part in sections]
        words = [text for part in texts for text in part]
        words += [part.curves.alt for part in sections if part.curves is not None and not part.text]
        words += [part.caption for part in sections if part.caption]
        lines = [tuple(line) for part in sections for line in part.table]
        answers.append((key, RowAnswer(lens.heading(seen), tuple(words), tuple(lines))))
    return answers


def check_heading(n_rows: int) -> str:
    """What stands above the rows to check.

    >>> check_heading(442), check_heading(2)
    ('Check these ten rows first', 'Check these two rows first')
    """
    return f"Check these {number_word(min(n_rows, MOST_CHECKED))} rows first"


def _checks(scored: ScoredTable) -> list[tuple[str, ...]]:
    """The rows to check first and why, below a head."""
    numbers = scored.scored.row_numbers
    lines = [
        (
            f"{numbers[check.row]}",
            say_prediction(scored, check.row),
            f"{check.why} {check.also}".strip(),
        )
        for check in rows_to_check(scored)
    ]
    return [("Row", "Prediction", "Why"), *lines]


def _worst_rows(scored: ScoredTable, shown: RowUncertainties) -> list[tuple[str, ...]]:
    """Row numbers with prediction, uncertainties and error, the most uncertain first."""
    errors = row_errors(scored.scored, scored.predictions)
    head = ("Row", "Prediction", *(kind.capitalize() for kind in UNCERTAINTY_KINDS), "Error")
    lines = [head]
    for row in np.argsort(-shown.total, kind="stable")[:_LISTED_ROWS]:
        prediction = str(scored.frame["prediction"].iloc[row])
        if not scored.training.target.classes:
            prediction = short(scored.predictions.loc[row], 4)
        parts = [digits(getattr(shown, kind)[row]) for kind in UNCERTAINTY_KINDS]
        error = "" if np.isnan(errors[row]) else short(errors[row])
        lines.append((f"{scored.scored.row_numbers[row]}", prediction, *parts, error))
    return lines
