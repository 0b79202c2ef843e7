"""The list of a table's columns: what was concluded about each, and the reader's corrections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from gbuq_core.errors import GbuqError
from gbuq_core.presentation import counted
from gbuq_core.tables import Edits, Schema, edit_schema
from pages._ui.notices import show_notice
from pages._ui.your_data.source import Opened, show_reading

KINDS = ("numeric", "category", "date", "identifier", "text")
_MOST_ROWS = 2000
_FACTS = ("n_missing", "n_distinct", "n_unreadable", "range", "style", "missing_words", "examples")
_SAVED = "_data_edits"  # session key: `_Saved` by the key of a table


class _Saved(NamedTuple):
    """Corrections of one table: those in the cells given to the list, and as they stand.

    The list forgets what was typed once it is not drawn (another page, another table).
    """

    base: Edits = Edits()
    now: Edits = Edits()


def current_edits(opened: Opened) -> Edits:
    """The corrections as they stand, read before the list is drawn."""
    tables: dict[str, _Saved] = st.session_state.setdefault(_SAVED, {})
    saved = tables.get(opened.key, _Saved())
    state: Mapping[str, Any] | None = st.session_state.get(_editor_key(opened))
    if state is None:
        saved = _Saved(saved.now, saved.now)
    else:
        saved = saved._replace(now=_laid_over(saved.base, state, opened))
    tables[opened.key] = saved
    return saved.now


def _laid_over(base: Edits, state: Mapping[str, Any], opened: Opened) -> Edits:
    """Corrections with what was typed into the list since it was first drawn."""
    columns = opened.schema.columns
    kinds, used, missing = dict(base.kinds), dict(base.used), dict(base.missing_values)
    kept = dict.fromkeys(base.keep_words, True)
    for row, changes in state.get("edited_rows", {}).items():
        if not 0 <= int(row) < len(columns):
            continue
        name = columns[int(row)].name
        if changes.get("kind") in KINDS:
            kinds[name] = changes["kind"]
        if isinstance(changes.get("used"), bool):
            used[name] = changes["used"]
        if isinstance(changes.get("missing_values"), str):
            words = [word.strip() for word in changes["missing_values"].split(",")]
            missing[name] = tuple(word for word in words if word)
        if isinstance(changes.get("keep_words"), bool):
            kept[name] = changes["keep_words"]
    return Edits.of(kinds, used, missing, [name for name, keeps in kept.items() if keeps])


def apply_edits(opened: Opened, edits: Edits) -> Schema:
    """The schema with the corrections; one that is impossible gives a sentence and none is used."""
    schema, error = _edited(opened.key, edits, opened)
    if error:
        show_notice([error, "The columns are used as they were read."], "columns", tone="error")
    return schema


def show_columns(opened: Opened, schema: Schema, notices: Sequence[str]) -> None:
    """The list and what had to be decided, folded away: most people look at it once."""
    n_used = sum(column.used for column in schema.columns)
    to_say = f", {counted(len(notices), 'note')}" if notices else ""
    label = f"Columns and reading: {n_used} of {len(schema.columns)} in use{to_say}"
    # By its key it stays open while its label changes: with the target, or read in another way.
    with st.expander(label, key=f"columns-{opened.table.source.digest[:16]}"):
        show_reading(opened)
        if notices:
            show_notice(notices, "decided")
        # The same cells as long as the list is drawn: the widget lays what is typed over them.
        frame = _frame(opened.schema, st.session_state[_SAVED][opened.key].base)
        st.data_editor(
            frame,
            key=_editor_key(opened),
            hide_index=True,
            num_rows="fixed",
            height=min(420, 3 + 35 * (len(frame) + 1)),
            disabled=["name", *_FACTS, "reason"],
            column_order=(
                *("name", "kind", "used", "missing_values", "keep_words"),
                *_FACTS,
                "reason",
            ),
            column_config={
                "name": st.column_config.TextColumn("Column", width="medium"),
                "kind": st.column_config.SelectboxColumn(
                    "Kind", options=KINDS, required=True, width="small"
                ),
                "used": st.column_config.CheckboxColumn("Used", width="small"),
                "missing_values": st.column_config.TextColumn(
                    "Missing if",
                    help="Values that mean missing here, such as -999. Put commas between them.",
                    width=130,
                    max_chars=100,
                ),
                "keep_words": st.column_config.CheckboxColumn(
                    "Keep words",
                    help="Words such as NA and null are values here, and not missing, and "
                    "different spellings are different values.",
                    width=110,
                ),
                "n_missing": st.column_config.NumberColumn("Missing", width="small"),
                "n_distinct": st.column_config.NumberColumn("Distinct", width="small"),
                "examples": st.column_config.TextColumn("Examples", width="medium"),
                "range": st.column_config.TextColumn("Range", width="medium"),
                "style": st.column_config.TextColumn("Written with", width="medium"),
                "n_unreadable": st.column_config.NumberColumn("Not read", width="small"),
                "missing_words": st.column_config.TextColumn("Missing words", width="medium"),
                "reason": st.column_config.TextColumn("Why this kind", width="large"),
            },
            alt="The columns of the table with their kinds. You can change kind, use, missing "
            "values, and whether words such as NA are values.",
        )


@st.cache_resource(max_entries=32, show_spinner=False, scope="session")
def _edited(key: str, edits: Edits, _opened: Opened) -> tuple[Schema, str]:
    if edits == Edits():
        return _opened.schema, ""
    try:
        schema = edit_schema(_opened.table, _opened.schema, **edits.arguments())
    except GbuqError as error:
        return _opened.schema, str(error)
    return schema, ""


def _frame(schema: Schema, edits: Edits) -> pd.DataFrame:
    columns = schema.columns[:_MOST_ROWS]
    kinds, used, missing = dict(edits.kinds), dict(edits.used), dict(edits.missing_values)
    return pd.DataFrame(
        {
            "name": [column.name for column in columns],
            "kind": [kinds.get(column.name, column.kind) for column in columns],
            "used": [used.get(column.name, column.used) for column in columns],
            "missing_values": [
                ", ".join(missing.get(column.name, column.missing_values)) for column in columns
            ],
            "n_missing": [column.n_missing for column in columns],
            "n_distinct": [column.n_distinct for column in columns],
            "examples": [", ".join(column.examples)[:80] for column in columns],
            "range": [" to ".join(map(_text, column.limits or ())) for column in columns],
            "style": [", ".join(f"{k} {v}" for k, v in c.style.items()) for c in columns],
            "n_unreadable": [column.n_unreadable for column in columns],
            "missing_words": [
                ", ".join(f"{word} ({n:,})" for word, n in column.missing_words)
                for column in columns
            ],
            "reason": [column.reason for column in columns],
            "keep_words": [column.name in edits.keep_words for column in columns],
        }
    )


def _text(end: float | str) -> str:
    return end if isinstance(end, str) else f"{end:.10g}"


def _editor_key(opened: Opened) -> str:
    return f"_columns:{opened.key[:80]}"
