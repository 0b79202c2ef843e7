"""How the second file differs from the first: what is clicked in one chart is shown in another."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import streamlit as st

from gbuq_core.errors import InvalidData
from gbuq_core.figures.table.drift import (
    PICKED,
    Shift,
    TwoFiles,
    describe_two_files,
    drawn_names,
    shifts_figure,
    two_files_categories,
    two_files_figure,
)
from gbuq_core.lenses.drift import MOST_SHIFTED, unfamiliarity_picture
from gbuq_core.lenses.register import LENSES
from gbuq_core.tables import (
    ScoredTable,
    TableDrift,
    column_histograms,
    describe_column,
    describe_drift,
    foreign_notice,
    why_no_coverage,
)
from gbuq_core.tables.drifting import LARGE, MODERATE, describe_outside, describe_shifts, may_use
from pages._ui.curves import show_curves
from pages._ui.export import is_dark
from pages._ui.kept import remember
from pages._ui.notices import show_notice
from pages._ui.your_data.lens import Drawing, ask_lens, plain
from pages._ui.your_data.training import Trained, View

_CHART = "drift-by-column"
_HEIGHT = 220


def _drift_lines(view: View, trained: Trained, values: SimpleNamespace) -> list[str]:
    """The second file in one sentence or two, as plain text; none without one or while it waits."""
    if view.scored.protocol != "new_file":
        return []
    answer = ask_lens(LENSES["drift"], values, trained, view)
    if not answer.fresh:
        return []
    measured = view.scored.unfamiliarity
    if measured is not None and measured.is_foreign:  # the warning says the rest
        return [describe_shifts(answer.result)]
    return [f"{describe_outside(answer.result)}. {describe_shifts(answer.result)}"]


def warn_of_second(view: View, trained: Trained, values: SimpleNamespace) -> None:
    """Say above all else what a second file is like, and that it is unlike the first."""
    measured = view.scored.unfamiliarity
    lines = [*view.scored.new_units, *_drift_lines(view, trained, values)]
    if measured is not None and measured.is_foreign:
        show_notice([foreign_notice(measured), *lines], "foreign", tone="error")
    elif lines:
        show_notice(lines, "drift")


def draw_drift(drawing: Drawing) -> None:
    """The shifts of all columns, the column that is chosen, and how unfamiliar the rows are."""
    drift, scored = drawing.answer, drawing.seen.scored
    st.subheader(plain(may_use(drift, scored.unfamiliarity)))
    st.text(describe_drift(drift), width="stretch")
    if missing := why_no_coverage(scored):
        st.text(missing, width="stretch")
    left, right = st.columns(2, gap="large")
    with left:
        _draw_shifts(drift)
    with right:
        _draw_column(drawing.values.drifted, drift, scored, drawing.view.digest)
    _draw_unfamiliarity(drift, scored)


def _draw_shifts(drift: TableDrift) -> None:
    shifts = [Shift(column.name, column.psi, column.chance) for column in drift.columns]
    names = drawn_names(shifts)
    columns = {column.name: column.column for column in drift.columns}
    st.vega_lite_chart(
        shifts_figure(shifts, (MODERATE, LARGE), is_dark()),
        key=_CHART,
        on_select=partial(_pick, {bar: columns[name] for bar, name in names.items()}),
        selection_mode=PICKED,
        alt=describe_drift(drift),
    )
    more = len(drift.columns) - len(names)
    st.caption(
        "Click a bar to see its column in both files. Vermilion bars are above what chance gives."
        + (
            f" {more:,} columns with a smaller index are not drawn; the CSV has them."
            if more
            else ""
        )
    )


def _draw_column(wanted: str, drift: TableDrift, scored: ScoredTable, digest: str) -> None:
    try:
        column = drift.columns[0] if wanted == MOST_SHIFTED else drift.find(wanted)
    except InvalidData as error:
        st.text(str(error), width="stretch")
        return
    name = digest, column.name
    files = remember(name, column_histograms, scored, column.name)
    picture = TwoFiles(*files)
    words = describe_two_files(picture, column.name)
    if len(files.edges):
        figure = two_files_figure(picture, "drift-column", "value of the column", words, _HEIGHT)
        show_curves(figure, key="drift-column")
    else:
        st.vega_lite_chart(two_files_categories(picture), key="drift-categories", alt=words)
    st.text(f"{describe_column(column)} {words}", width="stretch")


def _draw_unfamiliarity(drift: TableDrift, scored: ScoredTable) -> None:
    st.markdown("**How unfamiliar are its rows?**")
    if drift.unfamiliarity is None:
        st.text("How unfamiliar the rows are is not measured yet.", width="stretch")
        return
    figure = unfamiliarity_picture(drift, scored)
    show_curves(figure, key="drift-unfamiliarity")
    words = str(figure.spec["alt"])
    st.caption(f"{words} The first file is represented by its held-out rows.")


def _pick(columns: dict[str, str]) -> None:
    """Show the column whose bar was clicked: the chart's callback."""
    state = st.session_state.get(_CHART)
    picked = state["selection"].get(PICKED) if state else None
    name = picked[0].get("c0") if isinstance(picked, list) and picked else None
    if name in columns:  # the browser is the user's
        st.session_state["drifted"] = columns[name]
