"""The section "Second file": how it differs from the first, by column and as foreign rows."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from types import SimpleNamespace

import streamlit as st

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
from gbuq_core.jobs import Job
from gbuq_core.lenses.second import MEANING, unfamiliarity_picture
from gbuq_core.tables import (
    ColumnDrift,
    Histograms,
    ScoredTable,
    TableDrift,
    column_histograms,
    describe_column,
    describe_drift,
    measure_drift,
    why_no_coverage,
)
from gbuq_core.tables.drifting import (
    LARGE,
    MODERATE,
    describe_outside,
    describe_shifts,
)
from pages._ui.controls import draw_knob
from pages._ui.curves import show_curves
from pages._ui.export import is_dark
from pages._ui.jobs_glue import Answer
from pages._ui.url_state import PageState
from pages._ui.your_data.explain import Task, ask_job, show_waiting_for_task
from pages._ui.your_data.state import MOST_SHIFTED
from pages._ui.your_data.training import Trained, View, own_key

_CHART = "drift-by-column"
_AT_ONCE_CELLS = 3_000_000  # about half a second
_SECONDS_PER_CELL = 2e-7
_HEIGHT = 220
_COMPARING = Task(
    "drift",
    "Comparing the second file with the first",
    "Cancelled. The second file was not compared with the first.",
    "The second file could not be compared with the first. The server's log has the details.",
)


def drift_lines(view: View, answer: Answer) -> list[str]:
    """The second file in one sentence or two, as plain text; none without one or while it waits."""
    if view.scored.protocol != "new_file":
        return []
    found = _drift_of(view.scored, answer.result)
    if not isinstance(found, TableDrift):
        return []
    measured = view.scored.unfamiliarity
    if measured is not None and measured.is_foreign:  # the warning says the rest
        return [describe_shifts(found)]
    return [f"{describe_outside(found)}. {describe_shifts(found)}"]


def draw_second(page: PageState, values: SimpleNamespace, answer: Answer, view: View) -> None:
    """Draw the section."""
    scored = view.scored
    st.markdown("**Does the second file look like the first?**", help=MEANING)
    if scored.protocol != "new_file":
        st.text(
            'No second file is scored. Drop one at "Score a second file" to see how it differs '
            "from the first.",
            width="stretch",
        )
        return
    found = _drift_of(scored, answer.result)
    if not isinstance(found, TableDrift):
        show_waiting_for_task(_COMPARING, found, _seconds(scored))
        return
    st.text(describe_drift(found), width="stretch")
    if missing := why_no_coverage(scored):
        st.text(missing, width="stretch")
    left, right = st.columns(2, gap="large")
    with left:
        _draw_shifts(found)
    with right:
        draw_knob({knob.key: knob for knob in page.knobs}["drifted"])
        _draw_column(values.drifted, found, scored, view.digest)
    _draw_unfamiliarity(found, scored)


def _draw_shifts(found: TableDrift) -> None:
    shifts = _shifts(found)
    names = drawn_names(shifts)
    columns = {column.name: column.column for column in found.columns}
    st.vega_lite_chart(
        shifts_figure(shifts, (MODERATE, LARGE), is_dark()),
        key=_CHART,
        on_select=partial(_pick, {bar: columns[name] for bar, name in names.items()}),
        selection_mode=PICKED,
        alt=describe_drift(found),
    )
    more = len(found.columns) - len(names)
    st.caption(
        "Click a bar to see its column in both files. Vermilion bars are above what chance gives."
        + (
            f" {more:,} columns with a smaller index are not drawn; the CSV has them."
            if more
            else ""
        )
    )


def _draw_column(wanted: str, found: TableDrift, scored: ScoredTable, digest: str) -> None:
    column = _chosen(wanted, found)
    if column is None:
        st.text(f"The model does not use {wanted}: choose another column.", width="stretch")
        return
    files = _histograms(digest, column.name, scored)
    picture = TwoFiles(*files)
    words = describe_two_files(picture, column.name)
    if len(files.edges):
        figure = two_files_figure(picture, "drift-column", "value of the column", words, _HEIGHT)
        show_curves(figure, key="drift-column")
    else:
        st.vega_lite_chart(two_files_categories(picture), key="drift-categories", alt=words)
    st.text(f"{describe_column(column)} {words}", width="stretch")


def _draw_unfamiliarity(found: TableDrift, scored: ScoredTable) -> None:
    st.markdown("**How unfamiliar are its rows?**")
    if found.unfamiliarity is None:
        st.text("How unfamiliar the rows are is not measured yet.", width="stretch")
        return
    figure = unfamiliarity_picture(found, scored)
    show_curves(figure, key="drift-unfamiliarity")
    words = str(figure.spec["alt"])
    st.caption(f"{words} The first file is represented by its held-out rows.")


def _chosen(wanted: str, found: TableDrift) -> ColumnDrift | None:
    """The feature that a column's choice means: of a date, the part that shifted the most."""
    if wanted == MOST_SHIFTED:
        return found.columns[0]
    return next((column for column in found.columns if column.column == wanted), None)


def _pick(columns: dict[str, str]) -> None:
    """Show the column whose bar was clicked: the chart's callback."""
    state = st.session_state.get(_CHART)
    picked = state["selection"].get(PICKED) if state else None
    name = picked[0].get("c0") if isinstance(picked, list) and picked else None
    if name in columns:  # the browser is the user's
        st.session_state["drifted"] = columns[name]


def _shifts(found: TableDrift) -> list[Shift]:
    return [Shift(column.name, column.psi, column.chance) for column in found.columns]


def _seconds(scored: ScoredTable) -> float:
    return _cells(scored) * _SECONDS_PER_CELL


def _cells(scored: ScoredTable) -> int:
    return int(scored.training.X.size + scored.scored.X.size)


def _drift_of(scored: ScoredTable, trained: Trained) -> TableDrift | Job | None:
    """The drift, which no knob of the model changes; its job, or None if that was cancelled."""
    wanted = trained.wanted
    key: tuple[Hashable, ...] = (
        "your data", "drift", wanted.table, wanted.edits, wanted.target, wanted.task, wanted.second,
        wanted.plan.seed, wanted.groups, scored.unfamiliarity is not None,
    )  # fmt: skip
    work: Callable[[], TableDrift] = partial(measure_drift, scored, wanted.plan.seed)
    if _cells(scored) <= _AT_ONCE_CELLS:
        return _drift(repr(key), work)
    found: TableDrift | Job | None = ask_job(_COMPARING, own_key(key), lambda job: work())
    return found


@st.cache_resource(max_entries=8, show_spinner=False, scope="session")
def _drift(key: str, _work: Callable[[], TableDrift]) -> TableDrift:
    return _work()


@st.cache_resource(max_entries=32, show_spinner=False, scope="session")
def _histograms(digest: str, name: str, _scored: ScoredTable) -> Histograms:
    return column_histograms(_scored, name)
