"""The list of rows: ranked and filtered here, sent to the browser page by page."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import streamlit as st

from gbuq_core.errors import GbuqError
from gbuq_core.glossary import UNCERTAINTY_KINDS
from gbuq_core.lenses.pictures import RowUncertainties
from gbuq_core.presentation import one_line
from gbuq_core.tables.finding import LONGEST_CONDITION, find_rows, list_rows
from gbuq_core.tables.predicting import row_errors
from gbuq_core.tables.scoring import ScoredTable
from gbuq_core.tables.words import name_members, why_no_knowledge
from pages._ui.controls import draw_knob
from pages._ui.notices import show_notice
from pages._ui.url_state import PageState

MOST_ROWS = 2000
MOST_COLUMNS = 40  # of the reader's own
MOST_CELLS = 60_000
_HEIGHT = 330
_FAMILIARITY = {
    "unfamiliarity": ("Unfamiliarity", "0 to 1. A tenth of ordinary rows is above 0.9."),
    "times_beyond": ("Times beyond", "How many times as far as the farthest ordinary row."),
}
_FOUND = "_data_found"  # the last list of rows that a condition gave


class RowList(NamedTuple):
    """The listed rows: their positions in the table, in order, and the first of them."""

    positions: np.ndarray
    n_found: int
    n_rows: int


def draw_list_controls(page: PageState) -> None:
    """Order and condition, above the list."""
    knobs = {knob.key: knob for knob in page.knobs}
    with st.container(key="list-controls"):
        find, rank, least = st.columns([0.5, 0.3, 0.2], vertical_alignment="bottom")
        with find:
            st.text_input(
                "Find rows",
                key="find",
                bind="query-params",
                max_chars=LONGEST_CONDITION,
                placeholder="age > 60, city = Ulm, knowledge > 0.5, or a word",
                help="Write conditions on columns or on total, data, knowledge, error and "
                "prediction (TU, DU and KU work too), with commas between them. Or write a word "
                "to find in any cell. Put names with commas or signs in quotation marks.",
            )
        with rank:
            draw_knob(knobs["rank"])
        with least:
            draw_knob(knobs["least"])


def choose_rows(
    scored: ScoredTable, shown: RowUncertainties, find: str, rank: str, least: bool
) -> RowList:
    """Rows that fit, ranked. A condition that cannot be read keeps the list before."""
    measures = measures_of(scored, shown)
    n_rows = len(scored.frame)
    last = st.session_state.get(_FOUND)
    try:
        # A condition is about the label of a class; the order is by its code.
        named = {
            **measures,
            "prediction": scored.frame["prediction"].array,
        }
        keep = np.ones(n_rows, bool)
        if find:
            keep = find_rows(find, _own_cells(scored), named, scored.scored.schema.marks)
        st.session_state[_FOUND] = keep
    except GbuqError as error:
        show_notice(str(error), "find", tone="note")
        keep = last if last is not None and len(last) == n_rows else np.ones(n_rows, bool)
    if rank == "knowledge" and (missing := why_no_knowledge(scored)):
        show_notice(
            f"{missing} The rows are in the order of the file.", "no-knowledge", tone="note"
        )
        measures = {**measures, rank: np.zeros(n_rows)}  # without what is left of rounding
    if rank == "unfamiliarity":
        measures = {**measures, rank: _least_familiar_highest(scored)}
    listing = list_rows(keep, measures[rank], least)
    return RowList(listing.positions, listing.n_found, n_rows)


def draw_list(
    scored: ScoredTable,
    shown: RowUncertainties,
    listed: RowList,
    row: int | None,
    digest: str,
) -> None:
    """The table itself; choosing a row opens it below."""
    if not len(listed.positions):
        show_notice("No row meets the condition.", "none-found")
        return
    names = list(scored.added.names)
    own = [name for name in scored.frame.columns if name not in names]
    columns = own[:MOST_COLUMNS]
    most = max(50, min(MOST_ROWS, MOST_CELLS // (len(columns) + 8)))
    start = most * _page_of_list(listed, most, digest)
    positions = listed.positions[start : start + most]
    frame, config = _frame(scored, shown, positions, columns)
    key = _table_key(digest, positions, shown.unit)
    _mark(key, positions, row)
    st.dataframe(
        frame,
        key=key,
        height=_HEIGHT,
        hide_index=True,
        column_order=_order(frame.columns),
        on_select=_open_selected(key, scored.scored.row_numbers[positions]),
        selection_mode="single-row",
        column_config=config,
        alt=f"{len(positions):,} rows of the table with their uncertainties.",
    )
    st.caption(_count_line(listed, start, len(positions), len(own)))


def _page_of_list(listed: RowList, most: int, digest: str) -> int:
    """Which page of the list is open, from 0: a longer one is sent page by page.

    Another order or condition begins at its first page.
    """
    n_pages = -(-listed.n_found // most)
    if n_pages == 1:
        return 0
    order = _table_key(digest, listed.positions[:most], "")
    page = st.number_input(
        f"Page of the list (1 to {n_pages:,})", 1, n_pages, key=f"_page{order}", width=220
    )
    return int(page) - 1


def measures_of(scored: ScoredTable, shown: RowUncertainties) -> Mapping[str, np.ndarray]:
    """What rows can be ranked and found by besides their own columns."""
    return {
        **{kind: getattr(shown, kind) for kind in UNCERTAINTY_KINDS},
        "error": row_errors(scored.scored, scored.predictions),
        "prediction": scored.predictions.loc,
        **_familiarity(scored),
    }


def _familiarity(scored: ScoredTable) -> dict[str, np.ndarray]:
    """How unfamiliar each row is, once that is measured."""
    if scored.unfamiliarity is None:
        return {}
    rows = scored.unfamiliarity.rows
    return {"unfamiliarity": rows.score, "times_beyond": rows.times_beyond}


def _least_familiar_highest(scored: ScoredTable) -> np.ndarray:
    """Numbers in the order of unfamiliarity; rows with a score of 1 by how far they are."""
    if scored.unfamiliarity is None:
        sentence = "How unfamiliar the rows are is not measured yet. They are in the file's order."
        show_notice(sentence, "no-unfamiliarity", tone="note")
        return np.zeros(len(scored.frame))
    places = np.empty(len(scored.frame))
    places[scored.unfamiliarity.rows.order()] = -np.arange(len(places))
    return places


def _own_cells(scored: ScoredTable) -> pd.DataFrame:
    return scored.frame.drop(columns=list(scored.added.names))


def _frame(
    scored: ScoredTable,
    shown: RowUncertainties,
    positions: np.ndarray,
    columns: list[str],
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The cells to send. Columns have neutral names; the reader's are labels only."""
    rows = scored.frame.iloc[positions]
    number = st.column_config.NumberColumn
    cells: dict[str, Any] = {"row": scored.scored.row_numbers[positions]}
    config: dict[str, Any] = {"row": number("Row", format="%d", width=60, pinned=True)}
    for kind in UNCERTAINTY_KINDS:
        cells[kind] = getattr(shown, kind)[positions].astype(np.float64)
        about = shown.unit
        if kind == "knowledge":
            members = f"How much {name_members(scored)} disagree: {shown.unit}"
            about = why_no_knowledge(scored) or members
        config[kind] = number(kind.capitalize(), format="%.3g", width=85, help=about)
    cells["prediction"] = rows["prediction"].to_numpy()
    is_class = bool(scored.training.target.classes)
    config["prediction"] = (
        st.column_config.TextColumn("Prediction", width=100)
        if is_class
        else number("Prediction", format="%.4g", width=90)
    )
    if is_class:
        cells["prediction"] = rows["prediction"].astype("str").to_numpy()
    if "error" in scored.added.names:
        cells["error"] = rows["error"].to_numpy()
        config["error"] = number("Wrong" if is_class else "Error", format="%.3g", width=75)
    flags = scored.predictions.unseen_level | scored.predictions.new_missing
    if flags.any():
        cells["flag"] = np.where(flags[positions], "new value", "")
        config["flag"] = st.column_config.TextColumn(
            "Seen?",
            help="The row has a category or a missing value that the training rows do not have.",
            width=85,
        )
    for place, name in enumerate(columns):
        values = rows[name].reset_index(drop=True)
        if not pd.api.types.is_numeric_dtype(values.dtype):
            values = values.astype("str").where(values.notna(), None)
        cells[f"c{place}"] = values
        config[f"c{place}"] = st.column_config.Column(one_line(name))
    for name, values in _familiarity(scored).items():
        cells[name] = values[positions]
        label, meaning = _FAMILIARITY[name]
        config[name] = number(label, format="%.3g", width=95, help=meaning)
    return pd.DataFrame(cells), config


def _order(columns: pd.Index) -> list[str]:
    """The columns as they are drawn: how unfamiliar a row is stands beside its uncertainties."""
    names = list(columns)
    at = names.index(UNCERTAINTY_KINDS[-1]) + 1
    beside = [name for name in names if name in _FAMILIARITY]
    return [*names[:at], *beside, *(name for name in names[at:] if name not in _FAMILIARITY)]


def _table_key(digest: str, positions: np.ndarray, unit: str) -> str:
    order = hashlib.sha256(np.ascontiguousarray(positions, np.int64).tobytes()).hexdigest()
    return f"_rows:{digest[:16]}:{order[:16]}:{unit[:3]}"


def _mark(key: str, positions: np.ndarray, row: int | None) -> None:
    """Show the open row as selected, also where it was opened elsewhere."""
    at = [] if row is None else np.flatnonzero(positions == row)
    wanted = [int(at[0])] if len(at) else []
    state = st.session_state.get(key)
    if state is None or list(state["selection"]["rows"]) != wanted:
        st.session_state[key] = {"selection": {"rows": wanted, "columns": [], "cells": []}}


def _open_selected(key: str, numbers: np.ndarray) -> Any:
    """A callback that opens the selected row, if it is one of those sent."""

    def open_row() -> None:
        rows = st.session_state[key]["selection"]["rows"]
        if rows and 0 <= rows[0] < len(numbers):
            st.session_state["row"] = float(numbers[rows[0]])

    return open_row


def _count_line(listed: RowList, start: int, n_sent: int, n_own: int) -> str:
    line = f"{listed.n_found:,} of {listed.n_rows:,} rows"
    if n_sent < listed.n_found:
        which = f"numbers {start + 1:,} to {start + n_sent:,}" if start else f"the first {n_sent:,}"
        line += f", {which} listed. The downloads hold all rows"
    if n_own > MOST_COLUMNS:
        line += f". {MOST_COLUMNS} of {n_own:,} columns shown"
    return line + "."
