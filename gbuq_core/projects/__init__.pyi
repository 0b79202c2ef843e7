from gbuq_core.projects.making import (
    ScoredRows,
    describe_project,
    estimate_project,
    fit_project,
    own_table,
    project_of,
    restore_project,
    score_project,
    train_for_new,
)
from gbuq_core.projects.project import Project, ProjectModels
from gbuq_core.projects.saving import open_project, project_bytes, save_project
from gbuq_core.projects.tables import why_table_not_held

__all__ = [
    "Project",
    "ProjectModels",
    "ScoredRows",
    "describe_project",
    "estimate_project",
    "fit_project",
    "open_project",
    "own_table",
    "project_bytes",
    "project_of",
    "restore_project",
    "save_project",
    "score_project",
    "train_for_new",
    "why_table_not_held",
]
