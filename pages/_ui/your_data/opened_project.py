"""The project that is open, and its own table: what `source.py` and the controls share."""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st

from gbuq_core.projects import Project
from gbuq_core.tables import Schema, Table

PROJECT = "upload_project"  # the uploader, and the place beside the tab's files
_OPEN, _TABLE = "_data_project", "_data_project_table"
_REFUSED = "_data_project_error"


class OpenProject(NamedTuple):
    """A project, and what its file is called."""

    name: str
    project: Project


class ProjectTable(NamedTuple):
    """The table that a project holds; it stands in the place of an upload."""

    table: Table
    schema: Schema


def open_project_now() -> OpenProject | None:
    """The project that is open."""
    return st.session_state.get(_OPEN)


def hold_project(opened: OpenProject, table: ProjectTable | None) -> None:
    """Open a project in place of the one before."""
    st.session_state[_OPEN], st.session_state[_TABLE] = opened, table


def close_project() -> None:
    """Close the project; its table stays open."""
    st.session_state.pop(_OPEN, None)


def project_table() -> ProjectTable | None:
    """The table that came with a project, until another file is dropped."""
    return st.session_state.get(_TABLE)


def leave_project_table() -> None:
    """Another table is opened: the project's own is left, and what was said of a refused one."""
    st.session_state[_TABLE] = None
    refuse_project("")


def refuse_project(why: str) -> None:
    """Note why a project is not opened; empty when there is nothing more to say."""
    st.session_state[_REFUSED] = why


def why_refused() -> str:
    """Why the project that was dropped last is not open; empty if it is, or if there is none."""
    return str(st.session_state.get(_REFUSED, ""))
