"""What the open table says about its own split and scale, before the controls are drawn."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from gbuq_core.settings import from_values
from gbuq_core.tables import Edits, ScaleAdvice, Schema, ScorePlan, advise_scale, split_columns
from gbuq_core.tables.cleaning import used_columns
from pages._ui.url_state import preview
from pages._ui.your_data.source import Opened
from pages._ui.your_data.state import AUTOMATIC, SPLIT, TASK, split_column_knob, target_knob


def possible_splits(opened: Opened, schema: Schema, targets: Sequence[str]) -> tuple[str, ...]:
    """The columns that the rows can be split by in the way that is chosen, the likeliest first.

    Without any, the target stands for them: choosing it says why it cannot be.
    """
    target = _target(opened, targets)
    by = "time" if _split() == "time" else "group"
    return split_columns(schema, by, target) or (target,)


def needed_columns(
    opened: Opened, schema: Schema, targets: Sequence[str], splits: Sequence[str]
) -> tuple[str, ...]:
    """The columns that the model will learn from, which a second file must have."""
    groups = preview(split_column_knob(targets, splits)) if _split() == "group" else None
    return tuple(column.name for column in used_columns(schema, _target(opened, targets), groups))


def advise(opened: Opened, schema: Schema, edits: Edits, targets: Sequence[str]) -> ScaleAdvice:
    """Whether the chosen target can be on a log scale, and whether that is worth a try."""
    task = preview(TASK)
    target = _target(opened, targets)
    return _advise(opened.key, edits, target, None if task == AUTOMATIC else task, opened, schema)


def _split() -> str:
    return from_values(ScorePlan, {"split": preview(SPLIT)}).split


def _target(opened: Opened, targets: Sequence[str]) -> str:
    target: str = preview(target_knob(targets, opened.suggested))
    return target if target in targets else opened.suggested


@st.cache_resource(max_entries=64, show_spinner=False, scope="session")
def _advise(
    key: str, edits: Edits, target: str, task: str | None, _opened: Opened, _schema: Schema
) -> ScaleAdvice:
    return advise_scale(_opened.table, _schema, target, task)
