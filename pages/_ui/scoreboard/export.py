"""What can be taken away from the Scoreboard, and how its numbers were made."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from types import SimpleNamespace

import streamlit as st

from gbuq_core.experiments.scoreboard.bars import Bar
from gbuq_core.experiments.scoreboard.board import Table
from gbuq_core.experiments.scoreboard.export import BoardRecipe, scoreboard_code
from gbuq_core.experiments.scoreboard.own import OWN_SET
from gbuq_core.figures.curves import Curves
from gbuq_core.figures.standalone import Section, standalone_html
from gbuq_core.presentation import digits
from pages._ui.export import Download, show_exports
from pages._ui.scoreboard.cells import Line, lines_csv, with_error
from pages._ui.scoreboard.controls import ALL_SETS, Opened, Shown
from pages._ui.scoreboard.picture import Panel, Picture
from pages._ui.scoreboard.verdicts import bar_rows

_LEAD = (
    "Which method should I use, and does the paper's table hold? Numbers of this project beside "
    "the published ones, with standard errors."
)


def export_scoreboard(
    opened: Opened,
    shown: Shown,
    values: SimpleNamespace,
    lines: Sequence[Line],
    bars: Sequence[Bar],
    found: Picture,
    link: str,
) -> None:
    """Code, link, numbers and page; then the picture in words."""
    table, score = opened.table, shown.score
    sets = None if values.set == ALL_SETS else shown.sets
    named = shown.methods if values.methods or shown.slow else None
    if OWN_SET in shown.sets:  # no file has it
        sets = tuple(one for one in shown.sets if one != OWN_SET)
    code = scoreboard_code(BoardRecipe(table.key, score.key, named, sets))
    downloads = [
        Download("Numbers (CSV)", "scoreboard.csv", "text/csv",
                 partial(lines_csv, lines, table, score.label)),
        Download("Page (HTML)", "scoreboard.html", "text/html",
                 partial(_html, opened, shown, lines, bars, found, code)),
    ]  # fmt: skip
    show_exports("scoreboard", code, link, downloads)
    with st.expander("In words"):
        st.text(found.words, width="stretch")


def number_rows(lines: Sequence[Line]) -> list[tuple[str, ...]]:
    """The lines as a table of a page; headings first."""
    head = ("Set", "Method", "Ours", "Paper", "Ours is", "Seconds")
    return [
        head,
        *(
            (line.set_label, line.label, with_error(line.ours, line.error),
             with_error(line.theirs, line.their_error), line.said, digits(line.seconds))
            for line in lines
        ),
    ]  # fmt: skip


def _html(
    opened: Opened, shown: Shown, lines: Sequence[Line], bars: Sequence[Bar], found: Picture,
    code: str,
) -> bytes:  # fmt: skip
    table = opened.table
    sections = [
        Section(heading=f"{table.paper}: {shown.score.label}", text=found.caption or found.refusal),
        *(_picture_of(panel) for panel in found.panels),
        Section(table=number_rows(lines), caption=table.words),
        Section(heading="Figures to reach", table=bar_rows(bars)),
        Section(heading="Python", code=code),
    ]
    return standalone_html(sections, "Scoreboard", _LEAD).encode()


def _picture_of(panel: Panel) -> Section:
    drawn = panel.saved()
    if isinstance(drawn, Curves):
        return Section(heading=panel.title, curves=drawn, caption=panel.words)
    return Section(heading=panel.title, sheet=drawn, caption=panel.words)


def explain_scoreboard(table: Table) -> None:
    """How the open table's numbers were made, and what ranks and differences mean."""
    with st.expander("How these numbers were made"):
        st.text(table.paper, width="stretch")
        st.text(table.words, width="stretch")
        if table.error_words:
            st.text(table.error_words, width="stretch")
        made = [f"gbuq {', '.join(table.versions)}" if table.versions else "", *table.machines]
        st.caption(". ".join(filter(None, made)) or "Nothing of this table is computed yet.")
        st.markdown(
            "Means are over splits. A mean has a standard error once it has two splits. Ranks of a "
            "set compare means over the splits that all ranked methods have. Friedman's test asks "
            "whether the ranks of k methods on N sets differ at all. Nemenyi's critical difference "
            "says how far two mean ranks must lie apart:"
        )
        st.latex(r"\text{CD}=\frac{q_{0.05,k}}{\sqrt2}\sqrt{\frac{k\,(k+1)}{6N}}")
        st.markdown(
            "Here q is the quantile of the studentized range. With few sets the difference is "
            "large, and then most methods are not told apart. Seconds are processor time of one "
            "core for the median split, and depend on the machine."
        )
