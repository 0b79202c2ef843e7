"""The training rows that decide about the open row, as a table."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from gbuq_core.jobs import Job
from gbuq_core.presentation import short
from gbuq_core.tables import (
    DECIDING_MEANING,
    DecidingRows,
    ModelLeaves,
    ScoredTable,
    deciding_rows,
    model_leaves,
    why_no_deciding,
)
from gbuq_core.tables.deciding import DIFFERS
from pages._ui.your_data.explain import AT_ONCE_SECONDS, Task, ask_job, show_waiting_for_task
from pages._ui.your_data.training import own_key

_MOST_COLUMNS = 40
_DIFFERS = "background-color: rgba(213, 94, 0, 0.22); font-weight: 700"
_CELLS_PER_SECOND = 60_000_000  # leaves that are numbered, measured on two cores
_NUMBERING = Task(
    "leaves",
    "Finding the leaves of the training rows",
    "Cancelled. It is not known which rows decide.",
    "The rows that decide could not be found. The server's log has the details.",
)


def draw_deciding(scored: ScoredTable, row: int, digest: str) -> None:
    """The ten training rows that share the most leaves with a row, below the row itself."""
    st.markdown("**Which training rows decide it?**", help=DECIDING_MEANING)
    refusal = why_no_deciding(scored)
    if refusal:
        st.text(refusal)
        return
    number = int(scored.model_of_row[row])
    leaves = _leaves(digest, number, scored)
    if not isinstance(leaves, ModelLeaves):
        show_waiting_for_task(_NUMBERING, leaves, _seconds(scored, number))
        return
    found = _deciding(digest, row, scored, leaves)
    st.text(describe_deciding(scored, found), width="stretch")
    table, config = deciding_table(scored, row, found)
    st.dataframe(
        table,
        key="row-deciding",
        hide_index=True,
        column_config=config,
        alt=f"The row and the {len(found.rows)} training rows nearest to it in the trees.",
    )
    note = (
        f"Shaded values differ: numbers and dates by more than {short(DIFFERS)} std of the column, "
        "categories by name."
    )
    if len(found.columns) > _MOST_COLUMNS:
        note += f" {_MOST_COLUMNS} of {len(found.columns):,} columns are shown."
    st.caption(note)


def describe_deciding(scored: ScoredTable, found: DecidingRows) -> str:
    """How near they are and what their targets are; plain text that holds the user's words."""
    first, targets = found.rows[0], [near.target for near in found.rows]
    number = scored.training.row_numbers[first.row]
    words = (
        f"The nearest training row, {number:,}, shares a leaf in {first.affinity:,} of "
        f"{found.n_trees:,} trees."
    )
    if scored.training.target.classes:
        usual = max(set(targets), key=targets.count)
        return f"{words} {targets.count(usual)} of the {len(targets)} are {str(usual)[:60]}."
    low, high = min(targets), max(targets)
    return f"{words} The targets of the {len(targets)} go from {short(low, 4)} to {short(high, 4)}."


def deciding_table(
    scored: ScoredTable, row: int, found: DecidingRows
) -> tuple[Any, dict[str, Any]]:
    """The cells, shaded where they differ, and the columns; the reader's names are labels only."""
    shown = range(min(len(found.columns), _MOST_COLUMNS))
    own_file = scored.scored is not scored.training
    number = f"{scored.scored.row_numbers[row]:,}"
    this = f"{number} (second file)" if own_file else f"{number} (this row)"
    cells: dict[str, list[str]] = {
        "row": [this, *(f"{scored.training.row_numbers[near.row]:,}" for near in found.rows)],
        "share": ["", *(f"{100 * near.share:.0f} %" for near in found.rows)],
        "target": [_own_target(scored, row), *(_told(near.target) for near in found.rows)],
    }
    for k in shown:
        cells[f"c{k}"] = [found.cells[k], *(near.cells[k] for near in found.rows)]
    frame = pd.DataFrame(cells)
    styles = pd.DataFrame("", index=frame.index, columns=frame.columns)
    for place, near in enumerate(found.rows, start=1):
        for k in shown:
            if near.differs[k]:
                styles.loc[place, f"c{k}"] = _DIFFERS
    text = st.column_config.TextColumn
    config = {
        "row": text("Row", width=110, pinned=True),
        "share": text("Trees shared", width=90),
        "target": text(_label(scored.training.target.name), width=100),
        **{f"c{k}": text(_label(found.columns[k])) for k in shown},
    }
    return frame.style.apply(lambda _: styles, axis=None), config


def _own_target(scored: ScoredTable, row: int) -> str:
    value = scored.scored.y[row]
    classes = scored.training.target.classes
    if value != value:  # not known
        return ""
    return classes[int(value)] if classes else _told(float(value))


def _told(target: float | str) -> str:
    return target if isinstance(target, str) else short(target, 4)


def _label(name: str) -> str:
    line = " ".join(name.split())
    return line if len(line) <= 40 else f"{line[:39]}\u2026"


def _seconds(scored: ScoredTable, number: int) -> float:
    """Roughly how long it takes to number the leaves."""
    model, rows = scored.models[number]
    ensemble = getattr(model, "estimator", model)
    n_cells = len(rows) * int(ensemble.n_trees_) * int(ensemble.plan_.n_models)
    return n_cells / _CELLS_PER_SECOND


def _leaves(digest: str, number: int, scored: ScoredTable) -> ModelLeaves | Job | None:
    if _seconds(scored, number) <= AT_ONCE_SECONDS:
        return _leaves_at_once(digest, number, scored)
    key = own_key(("your data", "leaves", digest, number))
    found: ModelLeaves | Job | None = ask_job(
        _NUMBERING, key, lambda job: model_leaves(scored, number)
    )
    return found


@st.cache_resource(max_entries=10, show_spinner=False, scope="session")
def _leaves_at_once(digest: str, number: int, _scored: ScoredTable) -> ModelLeaves:
    return model_leaves(_scored, number)


@st.cache_resource(max_entries=64, show_spinner=False, scope="session")
def _deciding(digest: str, row: int, _scored: ScoredTable, _leaves: ModelLeaves) -> DecidingRows:
    return deciding_rows(_scored, row, leaves=_leaves)
