"""Run this cell now: a job that puts a fresh number beside the stored one."""

from __future__ import annotations

from functools import partial

import streamlit as st

from gbuq_core.experiments.scoreboard.board import Place, Table
from gbuq_core.experiments.scoreboard.fresh import FreshCell, run_cell, why_not_run
from gbuq_core.experiments.scoreboard.own import OWN_SET
from gbuq_core.jobs import Job
from gbuq_core.presentation import digits, markdown_table, seconds_text
from pages._ui.jobs_glue import Answer, Request, ask, show_progress, start_again, was_cancelled
from pages._ui.notices import show_notice

SLOT = "scoreboard-cell"
_SPLIT = 0  # the one that tunes what is tuned once, so that it needs no other cell
_ASKED = "_board_run_asked"  # the place that the reader asked for
_START_SECONDS = 3.0  # importing the libraries
_GUESS_SECONDS = 60.0  # of a cell that nobody has run


def draw_running(table: Table, place: Place) -> None:
    """The button with what it takes, or the progress, or both numbers beside each other."""
    if place.set == OWN_SET:
        return
    data_set, method = table.find_set(place.set), table.find_method(place.method)
    files = (data_set.key,) if data_set.needs_data else ()
    reason = why_not_run(files)
    if reason:
        st.text(reason, width="stretch")
        return
    seconds = expected_seconds(table, place)
    request = _request(place, files, seconds, f"{method.label} on {data_set.label}")
    if was_cancelled(request):
        _forget()
        start_again(SLOT)
    (answer,) = ask([request])
    if answer.state == "waiting":
        st.button(
            "Run this cell now", key="_board_run", on_click=_want, args=(place[:3],),
            help="It runs in a process of its own. Cancel ends that process.",
        )  # fmt: skip
        st.caption(
            f"Split 0, about {seconds_text(seconds)}. Without the settings of other cells, which "
            "save a run of the whole table its tuning, it can take longer."
        )
    show_progress([answer])
    if answer.error:
        show_notice(answer.error, "cell", tone="error")
        st.button("Try again", key="_board_again", on_click=_forget)
    elif answer.fresh:
        _draw_fresh(table, answer)


def expected_seconds(table: Table, place: Place) -> float:
    """What the stored run of the cell took, or a minute where there is none."""
    stored = [each.seconds for each in table.results_of(place.set, place.method)
              if each.split == _SPLIT]  # fmt: skip
    return _START_SECONDS + (stored[0] if stored else _GUESS_SECONDS)


def fresh_rows(table: Table, fresh: FreshCell) -> list[tuple[str, ...]]:
    """Each score now and as it is stored, with the difference; headings first."""
    rows = [("Metric", "Now", "Stored", "Difference")]
    for score in table.scores:
        if score.key not in fresh.scores:
            continue
        now = fresh.scores[score.key]
        stored = table.values(fresh.set, fresh.method, score.key).get(fresh.split)
        gap = None if stored is None else now - stored
        rows.append((score.label, digits(now, 4), digits(stored, 4), digits(gap, 2, "+")))
    return rows


def _draw_fresh(table: Table, answer: Answer) -> None:
    fresh: FreshCell = answer.result
    stored = [each.seconds for each in table.results_of(fresh.set, fresh.method)
              if each.split == fresh.split]  # fmt: skip
    before = f"; {seconds_text(stored[0])} when it was stored" if stored else ""
    st.caption(f"Split {fresh.split}, {seconds_text(fresh.seconds)} of one core{before}.")
    with st.container(key="table-board-fresh"):
        st.markdown(markdown_table(fresh_rows(table, fresh)))


def _request(place: Place, files: tuple[str, ...], seconds: float, label: str) -> Request:
    compute = partial(_compute, place, files, seconds)
    key = (SLOT, place.table, place.set, place.method)
    waits = st.session_state.get(_ASKED) != place[:3]
    return Request(SLOT, key, compute, label, seconds, waits=waits, method=place.method)


def _compute(place: Place, files: tuple[str, ...], seconds: float, job: Job) -> FreshCell:
    return run_cell(
        place.table, place.set, place.method, _SPLIT, files=files, expected_seconds=seconds
    )


def _want(cell: tuple[str, str, str]) -> None:
    st.session_state[_ASKED] = cell


def _forget() -> None:
    st.session_state.pop(_ASKED, None)
