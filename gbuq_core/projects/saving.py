"""A project to a file and back: one zip archive without pickle, described in docs/projects.md."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from gbuq_core.errors import ProjectError
from gbuq_core.projects.container import (
    MINOR,
    OF_CONTAINER,
    SETTINGS,
    errors_as_damage,
    read_bytes,
    read_container,
    require,
    write_container,
    write_project,
)
from gbuq_core.projects.forms import TEXT, JsonPlace, list_of, parts
from gbuq_core.projects.models import STATE, read_models, write_models
from gbuq_core.projects.project import Project
from gbuq_core.projects.settings import read_settings, write_settings
from gbuq_core.projects.tables import TABLE, read_table, write_table

_ABOUT = parts(project=lambda stored, place: stored, table_notices=list_of(TEXT), written_by=TEXT)


def project_bytes(project: Project) -> bytes:
    r"""The bytes of a project's file; the same project gives the same bytes.

    Parameters
    ----------
    project : Project

    Raises
    ------
    ProjectError
        If its models were not read, it would be too large, or its table cannot be held.

    Examples
    --------
    >>> from gbuq_core.projects import fit_project, open_project, project_bytes
    >>> from gbuq_core.tables import ScorePlan, read_table
    >>> rows = "\n".join(f"{i % 7},{i % 7 + 0.1 * (i % 3)}" for i in range(60))
    >>> project = fit_project(read_table(f"x,y\n{rows}".encode()), "y",
    ...                       plan=ScorePlan(method="sglb", n_trees=20))
    >>> content = project_bytes(project)
    >>> project_bytes(open_project(content)) == content
    True
    """
    if project.models is None:
        raise ProjectError(project.why_no_models)
    members = write_models(project.models)
    notices: list[str] = []
    if project.data is not None:
        members[TABLE] = write_table(project.data)
        notices = list(project.data.notices)
    about = {
        "project": write_settings(project),
        "table_notices": notices,
        "written_by": project.written_by or _own_version(),
    }
    return write_container(about, members)


def save_project(project: Project, target: Any) -> None:
    r"""Write a project: a ``.gbuq`` file with settings, corrections, models and maybe the table.

    Parameters
    ----------
    project : Project
        Of `fit_project`.
    target : path or binary file
        A path is replaced once the whole file is written.

    Raises
    ------
    ProjectError
        If it cannot be written.

    Examples
    --------
    >>> import io
    >>> from gbuq_core.projects import fit_project, open_project, save_project
    >>> from gbuq_core.tables import ScorePlan, read_table
    >>> rows = "\n".join(f"{i % 7},{i % 7 + 0.1 * (i % 3)}" for i in range(60))
    >>> project = fit_project(read_table(f"x,y\n{rows}".encode()), "y",
    ...                       plan=ScorePlan(method="sglb", n_trees=20))
    >>> file = io.BytesIO()
    >>> save_project(project, file)
    >>> open_project(file.getvalue()).target.name
    'y'
    """
    write_project(project_bytes(project), target)


def open_project(source: Any, *, trust: bool = False) -> Project:
    r"""Read a project that `save_project` has written.

    Sizes and names are checked before anything is parsed, digests before anything is used. Nothing
    in the file is ever executed or unpickled.

    Parameters
    ----------
    source : path, bytes or binary file
    trust : bool
        Whether models of CatBoost are read, which CatBoost's own reader parses: it may crash on
        files that somebody made up. Otherwise they are left out, and ``why_no_models`` says so.

    Returns
    -------
    Project

    Raises
    ------
    ProjectError
        One sentence: there is no such file, or it is foreign, damaged, or of a newer version.
    MemoryLimitExceeded
        If it does not fit into the free memory.

    Examples
    --------
    >>> open_project(b"PK and something else")
    Traceback (most recent call last):
        ...
    gbuq_core.errors.ProjectError: This is not a gbuq project: choose a file that gbuq fit or
    save_project has written.
    """
    about, members = read_container(read_bytes(source))
    with errors_as_damage():
        newer = about["version"][1] > MINOR
        own = {name: part for name, part in about.items() if name not in OF_CONTAINER}
        written = _ABOUT(own, JsonPlace(SETTINGS, newer))
        project = read_settings(about["project"], about["version"], written["written_by"])
        notices = written["table_notices"]
        if TABLE in members:
            project = replace(project, data=read_table(members[TABLE], project, notices))
        else:
            require(not notices, "its table is missing")
        require(STATE in members, "a model is missing")
        models = read_models(members, project, newer, trust)
    if isinstance(models, str):
        return replace(project, why_no_models=models)
    return replace(project, models=models)


def _own_version() -> str:
    try:
        return version("gbuq")
    except PackageNotFoundError:
        return ""
