"""What can be copied and downloaded from the page "Your data"."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import streamlit as st

from gbuq_core.lenses.lens import Seen
from gbuq_core.lenses.report import lens_sections, result_page
from gbuq_core.presentation import shown
from gbuq_core.tables import (
    Edits,
    MethodRun,
    ScoredTable,
    ask_about_split,
    interval_names,
    to_csv_bytes,
    to_parquet_bytes,
)
from gbuq_core.tables.code import TableRecipe, table_code, table_command, table_notebook
from pages._ui.export import Download, show_exports
from pages._ui.your_data.lens import made_results, with_levels
from pages._ui.your_data.methods import compared_runs, methods_sections
from pages._ui.your_data.training import Trained, View, cut_of


def export_table(
    trained: Trained,
    view: View,
    values: SimpleNamespace,
    more: tuple[Download, ...] = (),
) -> None:
    """Code, the whole table as CSV and Parquet, and what the open section adds."""
    made = made_results(values, trained, view)
    view = with_levels(view, trained, values)
    seen = Seen(view.scored, trained.opened.table, values)
    recipe = _recipe(trained, values, view.scored)
    code = table_code(recipe)
    if command := table_command(recipe):
        code += f"\n# The same from a terminal:\n# {command}\n"
    frame = view.scored.frame
    csv, parquet = partial(to_csv_bytes, frame), partial(to_parquet_bytes, frame)
    kind, notebook = "application/vnd.apache.parquet", partial(table_notebook, recipe)
    report = partial(_report, trained, seen, code, compared_runs(trained), made)
    downloads = (
        Download("All rows (CSV)", "scored.csv", "text/csv", csv),
        Download("All rows (Parquet)", "scored.parquet", kind, parquet),
        Download("Code (Python)", "your_data.py", "text/x-python", code.encode),
        Download("Notebook", "your_data.ipynb", "application/x-ipynb+json", notebook),
        *more,
        Download("Page (HTML)", "your-data.html", "text/html", report),
    )
    show_exports("your-data", code, downloads)
    st.caption(intervals_line(view.scored))
    if view.scored.unfamiliarity is None:
        st.caption("The downloads do not hold unfamiliarity: it is not measured yet.")
    if trained.wanted.edits != Edits():
        st.caption("The link does not hold your corrections of columns, but the code does.")
    if trained.opened.is_upload:
        st.caption(
            "The page's link holds the settings, not the file. "
            "In the CSV, an apostrophe stands before each cell that a spreadsheet would run."
        )


def _report(
    trained: Trained, seen: Seen, code: str, runs: dict[str, MethodRun], made: dict[str, Any]
) -> bytes:
    """The report, with all that the page's sections find; it does not go without its questions."""
    if trained.unasked:
        asked = ask_about_split(seen.table, seen.scored.training, seen.scored.plan)
        seen = seen._replace(scored=replace(seen.scored, questions=tuple(asked)))
    more = [*methods_sections(runs, seen.scored), *lens_sections(seen, made)]
    return result_page(seen.scored, seen.values.unit, code, more)


def intervals_line(scored: ScoredTable) -> str:
    """Which intervals the downloads hold; infinite ones are named."""
    if scored.training.target.classes:
        return "The downloads hold the probability of each class, and no intervals."
    percent = f"{100 * scored.level:g} %"
    if not scored.conformal:
        return (
            f"The downloads hold intervals of {percent} by the law of each prediction. Choose the "
            'level or conformal ones at "Is it any good?".'
        )
    lower, upper = (scored.frame[name].to_numpy() for name in interval_names(scored.level))
    by = f", by groups of {shown(scored.by_group.column)}" if scored.by_group else ""
    by = ", weighted for the second file" if scored.shift else by
    sentence = f"The downloads hold conformal intervals of {percent}{by}."
    n_infinite = int((np.isinf(lower) | np.isinf(upper)).sum())
    if not n_infinite:
        return sentence
    rows = "All" if n_infinite == len(lower) else f"{n_infinite:,}"
    return (
        f"{sentence} {rows} are infinite (inf in the files): there are too few held-out rows for "
        "this level."
    )


def _recipe(trained: Trained, values: SimpleNamespace, scored: ScoredTable) -> TableRecipe:
    wanted, opened = trained.wanted, trained.opened
    return TableRecipe(
        source=opened.table.source.name,
        is_builtin=not opened.is_upload,
        options=opened.options,
        edits=wanted.edits,
        target=wanted.target,
        task=wanted.task,
        second=trained.second,
        plan=trained.scored.plan,
        cut=cut_of(trained.scored.plan, values),
        query=opened.table.source.query,
        level=scored.level,
        conformal=scored.conformal,
        by_group=scored.by_group.column if scored.by_group else "",
        shifted=scored.shift is not None,
    )
