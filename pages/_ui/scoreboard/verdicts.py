"""Does it hold: the figures to reach, and what did not reproduce with its reasons."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

import streamlit as st

from gbuq_core.experiments.scoreboard.bars import MARKS, MET, OPEN, Bar, bar_rows
from gbuq_core.experiments.scoreboard.board import Board, Table
from gbuq_core.experiments.scoreboard.comparing import share_by_chance
from gbuq_core.experiments.scoreboard.differing import Agreement, Difference, list_differences
from gbuq_core.experiments.scoreboard.numbers import with_error
from gbuq_core.presentation import counted, markdown_table

_LOOKS = {MET: "holds", OPEN: "partly"}  # of chips
_MOST_HEIGHT = 420  # pixels
BARS, DIFFERENCES = "figures-to-reach", "what-did-not-reproduce"


def draw_verdicts(bars: Sequence[Bar], agreement: Agreement | None) -> None:
    """Chips at the picture: how many figures are met, and how the open paper's numbers compare."""
    met = sum(bar.verdict == MET for bar in bars)
    chips = [_chip(BARS, met == len(bars), f"{met} of our {len(bars)} targets are reached")]
    if agreement is not None and agreement.judged:
        words = (
            f"{agreement.same + agreement.better} of {agreement.judged} numbers hold or are "
            f"better, {agreement.worse} are worse"
        )
        chips.append(_chip(DIFFERENCES, not agreement.worse, words))
    st.html(f'<div class="gbuq-chips">{"".join(chips)}</div>')


def _chip(anchor: str, whole: bool, text: str) -> str:
    verdict = MET if whole else OPEN
    return (
        f'<a class="gbuq-chip gbuq-{_LOOKS[verdict]}" href="#{anchor}" target="_self">'
        f'<span aria-hidden="true">{MARKS[verdict]}</span> {escape(text)}</a>'
    )


def draw_bars(bars: Sequence[Bar]) -> None:
    """The figures to reach with their verdicts, and what each counts."""
    st.subheader("Our targets", anchor=BARS)
    with st.container(key="table-board-bars"):
        st.markdown(markdown_table(bar_rows(bars), "l"))
    st.caption("Computed from the stored numbers each time the page is drawn.")
    with st.popover("What each target counts"):
        for bar in bars:
            st.markdown(f"**{bar.what}**: {bar.words}")
            for item in bar.items:
                mark = "?" if item.good is None else "yes" if item.good else "no"
                st.text(f"{mark}  {item.name.replace('_', ' ')}: {item.detail}", width="stretch")
            for title in bar.explained:
                st.text(f"See above: {title}", width="stretch")


def draw_differences(board: Board, table: Table) -> None:
    """The numbers of the open table that differ from the paper's, with what was found."""
    st.subheader("What did not reproduce", anchor=DIFFERENCES)
    apart = list_differences(board, table.key)
    if not apart:
        st.text(
            "No number that is computed differs from a published one by more than two standard "
            "errors.", width="stretch",
        )  # fmt: skip
        return
    worse = sum(each.beside.word == "worse" for each in apart)
    st.caption(
        f"{counted(len(apart), 'number')} of this table differ from the published ones by more "
        f"than two standard errors: {worse} are worse, {len(apart) - worse} better. A number that "
        f"is much better needs a reason, too. {_by_chance(table)}"
    )
    text = st.column_config.TextColumn
    st.dataframe(
        _columns_of(table, apart),
        hide_index=True,
        column_config={
            "c0": text("Set", pinned=True), "c1": text("Method", pinned=True), "c2": text("Metric"),
            "c3": text("Ours"), "c4": text("Paper"), "c5": text("Ours is"), "c6": text("Reason"),
        },
        height=min(_MOST_HEIGHT, 35 * (len(apart) + 1) + 3),
        key=f"board-differences-{table.key}",
        alt=f"{worse} numbers are worse than the paper's, {len(apart) - worse} better.",
    )  # fmt: skip
    seen = {finding.title: finding.text for each in apart for finding in each.findings}
    for title, words in seen.items():
        with st.popover(title, type="tertiary"):
            st.markdown(words)


def _by_chance(table: Table) -> str:
    """What few splits let differ without a reason."""
    splits = {len(table.results_of(*cell)) for cell in {where[:2] for where in table.published}}
    fewest = min(splits - {0, 1}, default=0)
    if not fewest:
        return ""
    return (
        f"With {fewest} splits, as some have, chance alone calls up to "
        f"{100.0 * share_by_chance(fewest):.0f} % of equal numbers different."
    )


def _columns_of(table: Table, differences: Sequence[Difference]) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {f"c{number}": [] for number in range(7)}
    for each in differences:
        place, theirs = each.place, each.beside.theirs
        assert theirs is not None
        error = math.nan if theirs.error is None else theirs.error
        cells = (
            table.find_set(place.set).label,
            table.find_method(place.method).label,
            table.find_score(place.score).label,
            with_error(*each.beside.ours),
            f"{with_error(theirs.value, error)} (table {theirs.table})",
            each.beside.word,
            "; ".join(finding.title for finding in each.findings) or "not found yet",
        )
        for number, cell in enumerate(cells):
            columns[f"c{number}"].append(cell)
    return columns
