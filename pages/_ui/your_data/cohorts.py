"""Cohorts: groups of rows that the reader keeps under a name, and compares side by side."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pandas as pd
import streamlit as st

from gbuq_core.figures.standalone import Section
from gbuq_core.presentation import digits, percent
from gbuq_core.tables import (
    CohortComparison,
    CohortScores,
    ScoredTable,
    Table,
    compare_cohorts,
    read_cohorts,
    why_no_coverage,
    write_cohorts,
)
from gbuq_core.tables.cohorts import (
    LONGEST_CONDITION,
    LONGEST_NAME,
    MOST_COHORTS,
    Gap,
    check_cohorts,
    name_problem,
)
from gbuq_core.tables.finding import names_marks
from pages._ui.controls import draw_knob
from pages._ui.notices import show_notice
from pages._ui.your_data.sections import ROWS, SECTION
from pages._ui.your_data.state import COHORTS, FIND

MEANING = (
    "All numbers are from held-out rows. In brackets: the difference from the other held-out rows, "
    "where it is larger than 1.96 standard errors. Groups found above were chosen on half of these "
    "rows, so their differences look larger here than they are."
)
NONE_KEPT = (
    'No cohort is kept. Keep a group of "Where it fails", or the rows that a condition of "Find '
    'rows" finds.'
)
_ERROR, _CHOSEN = "_data_cohort_error", "_cohort"
_CACHED = 16


def bind_cohorts() -> None:
    """Bind the kept cohorts to the address, by a box that the style sheet hides from everybody."""
    with st.container(key="cohorts-unseen"):
        draw_knob(COHORTS)


def kept_cohorts(values: SimpleNamespace) -> dict[str, str]:
    """The kept cohorts' conditions by name, for wherever a group of rows can be chosen."""
    return read_cohorts(values.cohorts)


def draw_keep(condition: str, place: str) -> None:
    """The offer to keep the rows that meet a condition under a name."""
    if not condition.strip() or len(condition) > LONGEST_CONDITION or names_marks(condition):
        return
    with st.popover("Keep as a cohort", key=f"_keep_{place}"):
        st.text_input(
            "Name",
            key=_name_key(place),
            max_chars=LONGEST_NAME,
            help='Kept cohorts are compared in the section "Where it fails".',
        )
        st.button("Keep", key=f"_keep_now_{place}", on_click=_keep, args=(place, condition))
        if st.session_state.get(_ERROR, ("", ""))[0] == place:
            st.text(st.session_state[_ERROR][1])


def draw_cohorts(
    values: SimpleNamespace, scored: ScoredTable, table: Table, unit: str, digest: str
) -> None:
    """The kept cohorts side by side; ``table`` is the first file."""
    st.markdown("**Kept cohorts**", help=MEANING)
    kept = kept_cohorts(values)
    if not kept:
        st.text(NONE_KEPT, width="stretch")
        return
    unit = "std" if unit.startswith("std") else "variance"
    problems = _problems(digest, tuple(kept.items()), unit, scored, table)
    if problems:
        show_notice(list(problems.values()), "cohorts")
    known = {name: text for name, text in kept.items() if name not in problems}
    if known:
        found = _compared(digest, tuple(known.items()), unit, scored, table)
        frame = cohorts_frame(found, unit, scored)
        st.dataframe(
            frame,
            hide_index=True,
            column_config={name: st.column_config.TextColumn(name) for name in frame.columns},
            key="cohorts-compared",
            alt=f"{len(known)} cohorts compared on held-out rows.",
        )
    with st.container(horizontal=True, vertical_alignment="bottom", key="cohort-controls"):
        st.selectbox("Cohort", list(kept), key=_CHOSEN, width=300)
        st.button("List its rows", key="_cohort_list", on_click=_list_rows)
        st.button("Remove it", key="_cohort_remove", on_click=_remove)


def cohort_sections(
    values: SimpleNamespace, scored: ScoredTable, table: Table, unit: str
) -> list[Section]:
    """The same for the report; none if no cohort is kept."""
    kept = kept_cohorts(values)
    if not kept:
        return []
    unit = "std" if unit.startswith("std") else "variance"
    problems = check_cohorts(scored, kept, table=table, unit=unit)
    known = {name: text for name, text in kept.items() if name not in problems}
    lines = []
    if known:
        frame = cohorts_frame(
            compare_cohorts(scored, known, table=table, unit=unit), unit, scored
        ).fillna("")
        lines = [tuple(frame.columns), *frame.itertuples(index=False, name=None)]
    words = [*problems.values(), *([MEANING] if known else [])]
    return [Section(heading="Kept cohorts", text=words, table=lines)]


def cohorts_frame(found: CohortComparison, unit: str, scored: ScoredTable) -> pd.DataFrame:
    """A line a cohort and one for all held-out rows, as text; coverage where it may be quoted."""
    is_class = bool(scored.training.target.classes)
    spread = "K, std" if unit == "std" and not is_class else "K"
    error = "Wrong" if is_class else "RMSE"
    inside = "" if is_class or why_no_coverage(scored) else f"Inside {100 * scored.level:g} %"
    every = (*found.cohorts, found.everything)
    return pd.DataFrame([_line(cohort, error, spread, is_class, inside) for cohort in every])


def _line(
    cohort: CohortScores, error: str, spread: str, is_class: bool, inside: str
) -> dict[str, str]:
    gaps = cohort.gaps
    knowledge = np.sqrt(cohort.knowledge) if spread.endswith("std") else cohort.knowledge
    share = (lambda value: percent(value, 0)) if is_class else digits
    cells = {
        "Cohort": cohort.name,
        "Rows": f"{cohort.n_rows:,} ({percent(cohort.share, 0)})",
        error: share(cohort.error) + _side(gaps.error, cohort.condition),
        "NLL": digits(cohort.nll) + _told(gaps.nll, digits, cohort.condition),
    }
    if inside:
        low, high = (percent(end, 0).removesuffix(" %") for end in cohort.coverage_band)
        band = f"{percent(cohort.coverage, 0)} [{low} to {high}]" if cohort.n_rows else ""
        cells[inside] = band + _side(gaps.coverage, cohort.condition)
    cells[spread] = digits(knowledge) + _side(gaps.knowledge, cohort.condition)
    if not np.isnan(cohort.unfamiliarity):
        cells["Unfamiliarity"] = digits(cohort.unfamiliarity, 2) + _told(
            gaps.unfamiliarity, lambda value: digits(value, 2), cohort.condition
        )
    cells["Condition"] = cohort.condition
    return cells


def _told(gap: Gap, write: Callable[[float], str], condition: str) -> str:
    """The difference where it is one; nothing in the line of all rows."""
    if not condition or np.isnan(gap.value):
        return ""
    if not gap.told_apart:
        return " (not told apart)"
    sign = "+" if gap.value > 0 else "\u2212"
    return f" ({sign}{write(abs(gap.value))})"


def _side(gap: Gap, condition: str) -> str:
    """Whether it is higher or lower, where the difference is in other units than the number."""
    if not condition or np.isnan(gap.value):
        return ""
    if not gap.told_apart:
        return " (not told apart)"
    return " (higher)" if gap.value > 0 else " (lower)"


def _name_key(place: str) -> str:
    return f"_cohort_name_{place}"


def _keep(place: str, condition: str) -> None:
    """Keep a condition under the name that was typed: a button's callback."""
    name = " ".join((st.session_state.get(_name_key(place)) or "").split())
    kept = read_cohorts(st.session_state.get(COHORTS.key) or "")
    problem = name_problem(name)
    if not problem and name in kept:
        problem = "There is a cohort of this name: choose another one, or remove it first."
    if not problem and len(kept) >= MOST_COHORTS:
        problem = f"At most {MOST_COHORTS} cohorts are kept: remove one first."
    st.session_state[_ERROR] = (place, problem)
    if not problem:
        st.session_state[COHORTS.key] = write_cohorts({**kept, name: condition})
        st.session_state[_name_key(place)] = ""


def _list_rows() -> None:
    kept = read_cohorts(st.session_state.get(COHORTS.key) or "")
    condition = kept.get(st.session_state.get(_CHOSEN) or "")
    if condition is not None:
        st.session_state[FIND.key] = condition
        st.session_state[SECTION.key] = ROWS


def _remove() -> None:
    kept = read_cohorts(st.session_state.get(COHORTS.key) or "")
    kept.pop(st.session_state.get(_CHOSEN) or "", None)
    st.session_state[COHORTS.key] = write_cohorts(kept)


Kept = tuple[tuple[str, str], ...]


@st.cache_resource(max_entries=_CACHED, show_spinner=False, scope="session")
def _problems(
    digest: str, kept: Kept, unit: str, _scored: ScoredTable, _table: Table
) -> dict[str, str]:
    return check_cohorts(_scored, dict(kept), table=_table, unit=unit)


@st.cache_resource(max_entries=_CACHED, show_spinner=False, scope="session")
def _compared(
    digest: str, kept: Kept, unit: str, _scored: ScoredTable, _table: Table
) -> CohortComparison:
    return compare_cohorts(_scored, dict(kept), table=_table, unit=unit)
