"""What can be taken away from the Scoreboard, and how its numbers were made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from gbuq_core.experiments.scoreboard.bars import Bar
from gbuq_core.experiments.scoreboard.board import Table
from gbuq_core.experiments.scoreboard.numbers import BoardNumber, numbers_csv
from gbuq_core.experiments.scoreboard.own import OWN_SET
from gbuq_core.experiments.scoreboard.picture import BoardPicture, board_sections
from gbuq_core.experiments.scoreboard.plan import BoardSettings, Filtered, scoreboard_code
from gbuq_core.figures.standalone import standalone_html
from pages._ui.export import Download, show_exports

_LEAD = (
    "Which method should I use, and does the paper's table hold? Numbers of this project beside "
    "the published ones, with standard errors."
)


def export_scoreboard(
    table: Table,
    settings: BoardSettings,
    left: Filtered,
    numbers: Sequence[BoardNumber],
    bars: Sequence[Bar],
    picture: BoardPicture,
) -> None:
    """Code, numbers and page; then the picture in words."""
    sets = settings.sets
    if OWN_SET in left.sets:  # no file has it
        sets = tuple(name for name in left.sets if name != OWN_SET)
    methods = left.methods if settings.methods or left.slow else None
    code = scoreboard_code(replace(settings, methods=methods, sets=sets))
    csv = partial(numbers_csv, numbers, table, left.score)
    sections = partial(board_sections, table, picture, numbers, left.score.label, bars, code)
    downloads = [
        Download("Numbers (CSV)", "scoreboard.csv", "text/csv", csv),
        Download(
            "Page (HTML)", "scoreboard.html", "text/html",
            lambda: standalone_html(sections(), "Scoreboard", _LEAD).encode(),
        ),
    ]  # fmt: skip
    show_exports("scoreboard", code, downloads)
    st.caption("In words")
    st.text(picture.words, width="stretch")


def explain_scoreboard(table: Table) -> None:
    """How the open table's numbers were made, and what ranks and differences mean."""
    st.subheader("How these numbers were made", anchor=False)
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
