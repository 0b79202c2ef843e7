from gbuq_core.projects.making import (
    ScoredRows,
    describe_project,
    fit_project,
    own_table,
    restore_project,
    score_project,
)
from gbuq_core.projects.project import Project, ProjectModels
from gbuq_core.projects.saving import open_project, project_bytes, save_project

__all__ = [
    "Project",
    "ProjectModels",
    "ScoredRows",
    "describe_project",
    "fit_project",
    "open_project",
    "own_table",
    "project_bytes",
    "restore_project",
    "save_project",
    "score_project",
]
