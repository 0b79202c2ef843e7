"""A model that `gbuq fit` wrote: what it is, and the rows of the file that is dropped next."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import streamlit as st

from gbuq_core.errors import GbuqError
from gbuq_core.jobs import RUNNER
from gbuq_core.presentation import one_line
from gbuq_core.projects import Project, ScoredRows, describe_project, open_project, score_project
from gbuq_core.session_limits import SMALLER_PROJECT
from gbuq_core.tables import Table, to_csv_bytes, to_parquet_bytes
from pages._ui.jobs_glue import Request, ask, in_thread, show_progress
from pages._ui.notices import show_notice
from pages._ui.your_data.rows import MOST_COLUMNS, MOST_ROWS
from pages._ui.your_data.source import (
    PROJECT,
    REFUSED,
    admit,
    digest_of,
    drop_rows,
    open_rows,
    take_model,
    upload_in,
)
from pages._ui.your_data.training import own_key

_NOT_MEASURED = (
    "Unfamiliar rows and rows of new units are not looked for here. To find them, open the model's "
    "table, and these rows as a second file."
)


class Fitted(NamedTuple):
    """The open model: what its file is called, its digest, and what is in it."""

    name: str
    digest: str
    project: Project


def open_dropped(upload: Any) -> None:
    """Open a model that was dropped: in a callback. One that is refused changes nothing."""
    st.session_state[REFUSED] = ""
    if _read(upload) is not None:
        take_model(upload)


def show_refused() -> None:
    """Say why the model that was dropped last is not open."""
    if error := st.session_state.get(REFUSED):
        sentences = [error, "Nothing on this page has changed."]
        show_notice(sentences, "model-error", tone="error")


def fitted_now() -> Fitted | None:
    """The model that is open, also after the page was loaded again."""
    upload = upload_in(PROJECT)
    project = None if upload is None else _read(upload)
    return None if project is None else Fitted(upload.name, digest_of(upload), project)


def draw_fitted(fitted: Fitted) -> None:
    """What the open model is, and the rows that it scores."""
    st.text(" ".join(describe_project(fitted.project)), width="stretch")
    if fitted.project.models is None:
        return
    drop_rows(open_dropped)
    rows = open_rows()
    if rows is not None:
        _draw_scores(fitted, rows)


def _read(upload: Any) -> Project | None:
    try:
        admit(upload, SMALLER_PROJECT)
        project: Project = _open(digest_of(upload), upload)
        RUNNER.limits.check_rows(project.n_rows)
    except GbuqError as error:
        st.session_state[REFUSED] = str(error)
        return None
    return project


# Of the session: another reader's file is nobody else's to see.
@st.cache_resource(max_entries=2, show_spinner="Reading the model", scope="session")
def _open(digest: str, _upload: Any) -> Project:
    return open_project(_upload.getvalue())


def _draw_scores(fitted: Fitted, rows: Table) -> None:
    key: tuple[Hashable, ...] = own_key(("fitted", fitted.digest, rows.source.digest))
    compute = in_thread(score_project, fitted.project, rows)
    request = Request(
        "fitted", key, compute, "Scoring each row", rows=rows.n_rows, columns=len(rows.names)
    )
    (answer,) = ask([request])
    show_progress([answer])
    if answer.error:
        show_notice(answer.error, "fitted", tone="error")
    if answer.fresh:
        _draw_rows(answer.result, rows)


def _draw_rows(scored: ScoredRows, rows: Table) -> None:
    """The most uncertain rows, all of them as files, and what was noticed."""
    total = scored.predictions.uncertainty.total
    order = np.argsort(-total, kind="stable")[:MOST_ROWS]
    added = [*scored.added.names]
    own = [name for name in scored.frame.columns if name not in added][:MOST_COLUMNS]
    cells: dict[str, Any] = {"row": rows.row_numbers[order]}
    config: dict[str, Any] = {"row": st.column_config.NumberColumn("Row", pinned=True)}
    for place, name in enumerate([*added, *own]):
        values = scored.frame[name].iloc[order].reset_index(drop=True)
        if not pd.api.types.is_numeric_dtype(values.dtype):
            values = values.astype("str").where(values.notna(), None)
        cells[f"c{place}"] = values
        config[f"c{place}"] = st.column_config.Column(one_line(name))
    st.markdown("**The most uncertain rows first**")
    st.dataframe(pd.DataFrame(cells), hide_index=True, column_config=config, key="fitted-rows")
    with st.container(horizontal=True):
        for label, name, write in (
            ("All rows (CSV)", "scored.csv", to_csv_bytes),
            ("All rows (Parquet)", "scored.parquet", to_parquet_bytes),
        ):
            data = partial(write, scored.frame)
            st.download_button(label, data=data, file_name=name, on_click="ignore")
    for notice in (*scored.notices, _NOT_MEASURED):
        st.text(notice, width="stretch")
