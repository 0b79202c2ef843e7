"""Saving what was made of a table as a project, and opening one where it was left."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import PurePath
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs

import streamlit as st

from gbuq_core.errors import GbuqError, ProjectError
from gbuq_core.jobs import RUNNER, Job
from gbuq_core.knobs import Knob, problem_with
from gbuq_core.presentation import counted, format_bytes, shown
from gbuq_core.projects import (
    Project,
    estimate_project,
    open_project,
    project_bytes,
    project_of,
    restore_project,
    why_table_not_held,
)
from gbuq_core.session_limits import SMALLER_PROJECT
from gbuq_core.settings import to_values
from gbuq_core.tables import Table, infer_schema
from gbuq_core.tables.cutting import stage_table
from pages._ui.jobs_glue import Request
from pages._ui.knobs import read_knob
from pages._ui.notices import show_notice
from pages._ui.url_state import PageState, change, preview, same_value
from pages._ui.your_data.columns import restore_edits
from pages._ui.your_data.keeping import forget_upload, restored
from pages._ui.your_data.opened_project import (
    PROJECT,
    OpenProject,
    ProjectTable,
    close_project,
    hold_project,
    open_project_now,
    refuse_project,
    why_refused,
)
from pages._ui.your_data.source import Opened, admit, choose_options, hold
from pages._ui.your_data.state import BUILTIN, TABLE, UPLOADED, open_next
from pages._ui.your_data.training import Trained, Wanted

# Session keys, declared once.
_TO_RESTORE, _TO_APPLY = "_data_project_new", "_data_project_apply"
_WITH_TABLE = "_project_with_table"
_PASSES = 3  # a knob may be there only once another one is set
_OPENED = "_data_project_opened"


def restore_project_file() -> None:
    """Open the project again that was open before the page was loaded again."""
    kept = None if st.session_state.get(_OPENED) else restored(PROJECT)
    if kept is not None and open_project_now() is None:
        _read(kept, apply=False)


def open_dropped(upload: Any) -> None:
    """Open a project that was dropped: in a callback. Until it is read, nothing changes."""
    refuse_project("")
    _read(upload, apply=True)


def meet_project(opened: Opened) -> None:
    """Restore corrections once the project's table is open, before they are read."""
    current = open_project_now()
    if current is None or not current.project.is_about(opened.table):
        return
    if st.session_state.pop(_TO_RESTORE, False):
        project = current.project
        restore_edits(opened, project.edits)


def follow_project(page: PageState, opened: Opened) -> None:
    """Set the page's knobs as the project has them; runs the page again until they are."""
    held, passes = open_project_now(), st.session_state.get(_TO_APPLY, 0)
    if not passes or held is None or not held.project.is_about(opened.table):
        return
    wanted = {knob.key: _value_of(knob, held.project) for knob in page.knobs if knob is not TABLE}
    before = {knob.key: preview(knob) for knob in page.knobs}
    differ = {key: value for key, value in wanted.items() if not same_value(value, before[key])}
    st.session_state[_TO_APPLY] = passes - 1 if differ else 0
    if differ:
        change(page, **differ)


def with_models(
    request: Request, wanted: Wanted, opened: Opened, second: Table | None
) -> tuple[Request, bool]:
    """The request, made of the project's models where they are what is wanted; whether they are."""
    current = open_project_now()
    if current is None or why_not_used(current.project, wanted, opened, second):
        return request, False
    compute = partial(_from_models, current.project, wanted, opened, second, request.compute)
    label = "Scoring each row with the project's models"
    return request._replace(compute=compute, label=label, estimate_seconds=None), True


def why_not_used(project: Project, wanted: Wanted, opened: Opened, second: Table | None) -> str:
    """Why the page does not show what the project's models say; empty if it does."""
    if project.models is None:
        return project.why_no_models or "The project holds no models."
    asked = (wanted.edits, wanted.target, wanted.task, wanted.plan)
    kept = (project.edits, project.target.name, project.task, project.plan)
    if not project.is_about(opened.table) or asked != kept:
        return "The models of the project are for other settings, so the page trains its own."
    for_new = project.models.protocol == "new_file"
    if for_new and second is None:
        return (
            "The models of the project score other rows: drop a second file to use them. For the "
            "rows of the table, the page trains its own."
        )
    if second is not None and not for_new:
        return "The models of the project score its own rows only, so the page trains others."
    return ""


def show_project(wanted: Wanted | None, opened: Opened | None, second: Table | None) -> None:
    """What came of opening a project, and the button that closes it."""
    if error := why_refused():
        show_notice([error, "Nothing on this page has changed."], "project-error", tone="error")
    current = open_project_now()
    if current is None:
        return
    name, project = " ".join(current.name.split())[:60], current.project
    if opened is not None and wanted is not None and project.is_about(opened.table):
        why = why_not_used(project, wanted, opened, second)
        why = why or "Its models give these numbers; nothing is trained."
        sentences = [f'The project "{name}" is open. {why}']
    else:
        about = f"{shown(project.source.name)} with {counted(project.n_rows, 'row')}"
        sentences = [f'The project "{name}" is about {about}: drop that file to go on.']
        if opened is not None and opened.is_upload:
            sentences.append("The table that is open is another one.")
    with st.container(horizontal=True, vertical_alignment="center", key="project-open"):
        show_notice(sentences, "project")
        st.button("Close the project", key="_close_project", type="tertiary", on_click=_close)


def draw_save(trained: Trained, values: SimpleNamespace, query: str) -> None:
    """The offer to save all of this as a project, with or without the table, and its size."""
    table = trained.opened.table
    with st.popover("Save project"):
        st.caption(
            "One file with the settings, your corrections of columns and the "
            "trained models. It also holds a few cells of your table as examples."
        )
        refusal = why_table_not_held(table)
        st.toggle("With the whole table", key=_WITH_TABLE, disabled=bool(refusal), help=refusal)
        with_table = bool(st.session_state.get(_WITH_TABLE)) and not refusal
        size = estimate_project(trained.scored, table if with_table else None)
        st.caption(f"The file has about {format_bytes(size)}.")
        st.download_button(
            "Save project",
            data=partial(_saved, trained, values, query, with_table),
            file_name=f"{PurePath(table.source.name).stem[:60] or 'table'}.gbuq",
            mime="application/zip",
            key="_save_project",
            on_click="ignore",
        )


def _saved(trained: Trained, values: SimpleNamespace, query: str, with_table: bool) -> bytes:
    """The bytes of the project that the page shows."""
    wanted, scored = trained.wanted, trained.scored
    settings = parse_qs(query, keep_blank_values=True)
    project = project_of(
        scored,
        trained.opened.table,
        plan=wanted.plan,
        task=wanted.task,
        edits=wanted.edits,
        level=values.within / 100.0,
        conformal=values.conformal and not scored.training.target.classes,
        page={name: tuple(texts) for name, texts in settings.items()},
        with_data=with_table,
    )
    return project_bytes(project)


def _read(upload: Any, apply: bool) -> None:
    st.session_state[_OPENED] = True
    try:
        admit(upload, SMALLER_PROJECT)
        project = open_project(upload.getvalue())
        RUNNER.limits.check_rows(project.n_rows)
        data = project.data
        table = None if data is None else ProjectTable(data, infer_schema(data))
    except GbuqError as error:
        refuse_project(str(error))
        return
    name = upload.name.encode("utf-8", errors="replace").decode()
    hold(PROJECT, upload)
    hold_project(OpenProject(name, project), table)
    st.session_state[_TO_RESTORE] = True
    if not apply:
        return
    st.session_state[_TO_APPLY] = _PASSES
    builtin = project.source.name.replace("_", " ")
    if table is not None:
        open_next(UPLOADED)
    elif project.source.format == "memory" and builtin in BUILTIN:
        open_next(builtin)
    else:
        choose_options(project.source)


def _close() -> None:
    """Close the project: a button's callback. Its table and what it has set stay."""
    hold(PROJECT, None)
    forget_upload(PROJECT)
    close_project()


def _from_models(
    project: Project,
    wanted: Wanted,
    opened: Opened,
    second: Table | None,
    train: Any,
    job: Job,
) -> Trained:
    """What the project's models say; where they cannot be used after all, others are trained."""
    plain = replace(project, level=0.9, conformal=False)  # the view's knobs choose the intervals
    try:
        scored = restore_project(plain, opened.table, second)
    except ProjectError as error:
        trained: Trained = train(job)
        notices = (*trained.scored.notices, str(error), "The models were trained again.")
        return trained._replace(scored=replace(trained.scored, notices=notices))
    name = "" if second is None else second.source.name
    return Trained(wanted, opened, name, scored, stage_table(scored), True)


def _value_of(knob: Knob, project: Project) -> Any:
    """What the project says about a knob, if the knob can have it now; else its default."""
    texts = project.page.get(knob.key, ())
    if knob.key == "target":
        texts = (project.target.name,)
    reading = read_knob(knob, texts) if texts else None
    if reading is not None and not reading.problem:
        return reading.value
    value = to_values(project.plan).get(knob.key, knob.default)
    return knob.default if problem_with(knob, value) else value
