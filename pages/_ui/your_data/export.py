"""What can be copied and downloaded from the page "Your data"."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import streamlit as st

from gbuq_core.experiments.table.export import TableRecipe, table_code, table_command
from gbuq_core.tables import ScoredTable, drift_csv, measure_drift, to_csv_bytes, to_parquet_bytes
from pages._ui.export import Download, show_exports
from pages._ui.your_data.columns import Edits
from pages._ui.your_data.report import result_page
from pages._ui.your_data.training import Trained, View, cut_of


def export_table(trained: Trained, view: View, values: SimpleNamespace, link: str) -> None:
    """Code, link, the whole table as CSV and Parquet."""
    recipe = _recipe(trained, values)
    code = table_code(recipe)
    command = table_command(recipe)
    if command:
        code += f"\n# The same from a terminal:\n# {command}\n"
    frame = view.scored.frame
    downloads = (
        Download("All rows (CSV)", "scored.csv", "text/csv", partial(to_csv_bytes, frame)),
        Download(
            "All rows (Parquet)",
            "scored.parquet",
            "application/vnd.apache.parquet",
            partial(to_parquet_bytes, frame),
        ),
    )
    page = Download(
        "Page (HTML)", "your-data.html", "text/html", partial(result_page, view, values.unit, code)
    )
    if view.scored.protocol == "new_file":
        drift = Download(
            "Drift by column (CSV)", "drift.csv", "text/csv", partial(_drift_bytes, view.scored)
        )
        downloads = (*downloads, drift)
    show_exports("your-data", code, link, (*downloads, page))
    if view.scored.unfamiliarity is None:
        st.caption("The downloads do not hold unfamiliarity: it is not measured yet.")
    if trained.wanted.edits != Edits():
        st.caption("The link does not hold your corrections of columns, but the code does.")
    if trained.opened.is_upload:
        st.caption(
            "The link holds the settings, not the file. Anyone who opens it needs the file too. "
            "In the CSV, an apostrophe stands before each cell that a spreadsheet would run."
        )


def _drift_bytes(scored: ScoredTable) -> bytes:
    return drift_csv(measure_drift(scored)).encode()


def _recipe(trained: Trained, values: SimpleNamespace) -> TableRecipe:
    wanted, opened = trained.wanted, trained.opened
    return TableRecipe(
        source=opened.table.source.name,
        is_builtin=not opened.is_upload,
        options=opened.options,
        kinds=dict(wanted.edits.kinds),
        used=dict(wanted.edits.used),
        missing=dict(wanted.edits.missing),
        target=wanted.target,
        task=wanted.task,
        second=trained.second,
        plan=wanted.plan,
        cut=cut_of(wanted.plan, values),
        query=opened.table.source.query,
    )
