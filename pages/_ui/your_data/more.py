"""More rows: whether they would help, and which rows without a target to label next."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from gbuq_core.errors import GbuqError
from gbuq_core.figures.curves import Curves
from gbuq_core.figures.standalone import Section
from gbuq_core.figures.table.learning import (
    VERDICTS,
    describe_rule,
    describe_verdict,
    learning_figure,
    say_fall,
)
from gbuq_core.knobs import Knob
from gbuq_core.lenses.pictures import style_of
from gbuq_core.metrics import LearningCurve
from gbuq_core.presentation import digits, format_bytes, percent, seconds_text
from gbuq_core.tables import (
    Groups,
    NextRows,
    ScoredTable,
    ScoreEstimate,
    Table,
    cohort_rows,
    estimate_curve,
    failing_groups,
    find_failures,
    group_column,
    learning_curve,
    next_frame,
    rank_next,
    to_csv_bytes,
)
from gbuq_core.tables.cohorts import check_cohorts
from pages._ui.controls import draw_knob
from pages._ui.curves import show_curves
from pages._ui.jobs_glue import Answer
from pages._ui.url_state import PageState
from pages._ui.your_data.cohorts import NONE_KEPT, kept_cohorts
from pages._ui.your_data.explain import Task, ask_job, show_waiting_for_task
from pages._ui.your_data.state import BY_COHORTS, BY_COLUMN, BY_FAILURES, MOST_TO_LABEL
from pages._ui.your_data.training import Trained, View, Wanted, own_key

MEANING = (
    "The model is trained again on an eighth, a quarter, a half and all of four fifths of the rows "
    "and judged on the other fifth, several times with other rows. Bands are plus and minus one "
    "standard error."
)
NEXT_MEANING = (
    "Rows without a target, ranked by what their labels are worth: rows that the members disagree "
    "about and unfamiliar rows first. A row that falls into the same leaves as a chosen one loses "
    "weight, so copies are not chosen."
)
_COLOURS = {"more": "blue", "noise": "orange", "undecided": "gray"}
_LEARNING = Task(
    "curve",
    "Training on more and more rows",
    "Cancelled. It is not known whether more rows would help.",
    "The models could not be trained on fewer rows. The server's log has the details.",
)
_RANKING = Task(
    "next",
    "Ranking the rows without a target",
    "Cancelled. The rows without a target are not ranked.",
    "The rows without a target could not be ranked. The server's log has the details.",
)
# Of the table of groups, in this order. Columns have neutral names.
_GROUP_HEADS = {
    "c0": "No.",
    "c3": "Verdict",
    "c4": "Repeats",
    "c5": "Last doubling",
    "c6": "Next (expected)",
    "c7": "Knowledge",
    "c2": "Rows",
    "c1": "Group",
}
_DRAWN = "_data_curve_drawn"
_CACHED = 16
_SECONDS_PER_ROW = 1e-3
_HEIGHT = 420


class _Grouped(NamedTuple):
    """A curve with its groups, or why there are none."""

    curve: LearningCurve
    problem: str


class DrawnCurve(NamedTuple):
    """The curve that was drawn last, of which table and group, and what was said under it."""

    wanted: Wanted
    figure: Curves
    curve: LearningCurve
    group: int
    words: str


def drawn_curve(trained: Trained) -> DrawnCurve | None:
    """The learning curve of this table as it was drawn last; nothing is trained here."""
    drawn: DrawnCurve | None = st.session_state.get(_DRAWN)
    return drawn if drawn is not None and drawn.wanted == trained.wanted else None


def more_sections(drawn: DrawnCurve | None) -> list[Section]:
    """The same for the report; none if the learning curve was not computed."""
    if drawn is None:
        return []
    curve, group = drawn.curve, drawn.group
    word = VERDICTS[curve.verdict(group).word]
    of = f" ({curve.names[group]})" if len(curve.names) > 1 else ""
    lines = []
    if len(curve.names) > 1:
        frame = _groups_frame(curve)
        lines = [tuple(_GROUP_HEADS[name] for name in frame.columns)]
        lines += [tuple(map(str, line)) for line in frame.itertuples(index=False, name=None)]
    return [
        Section(
            heading="Would more rows help?",
            text=[f"{word}{of}. {drawn.words}", describe_rule(curve.is_class)],
            curves=drawn.figure,
            caption=MEANING,
            table=lines,
        )
    ]


def draw_more(page: PageState, values: SimpleNamespace, answer: Answer, view: View) -> None:
    """Draw the section."""
    knobs = {knob.key: knob for knob in page.knobs}
    _draw_curve(knobs, values, answer.result, view)
    _draw_next(knobs, values, answer.result, view)


def _draw_curve(
    knobs: Mapping[str, Knob], values: SimpleNamespace, trained: Trained, view: View
) -> None:
    st.markdown("**Would more rows help?**", help=MEANING)
    scored = trained.scored
    cost = _cost(trained.wanted, values.repeats, scored)
    switch, repeats, by, column = st.columns(4, vertical_alignment="top")
    with switch:
        draw_knob(knobs["curve"])
    with repeats:
        draw_knob(knobs["repeats"])
    with by:
        draw_knob(knobs["curveby"])
    with column:
        if values.curveby == BY_COLUMN and "group" in knobs:
            draw_knob(knobs["group"])
    if cost is not None:
        st.caption(
            f"Training {4 * values.repeats} models takes about {seconds_text(cost.seconds)} and "
            f"{format_bytes(cost.bytes)}. The groups train nothing."
        )
    if not values.curve:
        return
    key = _key(trained, "curve", values.repeats)
    found = ask_job(_LEARNING, key, lambda job: learning_curve(scored, values.repeats))
    if not isinstance(found, LearningCurve):
        show_waiting_for_task(_LEARNING, found, 0.0 if cost is None else cost.seconds)
        return
    table = trained.opened.table
    if values.curveby == BY_COHORTS:
        unit = "variance" if values.unit == "variance" else "std"
        kept = tuple(kept_cohorts(values).items())
        grouped = _by_cohorts(str(key), view.digest, kept, unit, found, view.scored, table)
    else:
        by = "" if values.curveby != BY_COLUMN else str(getattr(values, "group", ""))
        grouped = _grouped(str(key), values.curveby, by, found, scored, table)
    if grouped.problem:
        st.text(grouped.problem, width="stretch")
    curve = grouped.curve
    group = 0
    if len(curve.names) > 1:
        with st.columns(4)[0]:
            draw_knob(knobs["curvegroup"])
        group = min(int(values.curvegroup), len(curve.names) - 1)
    verdict = curve.verdict(group)
    n_most = int(curve.sizes[-1])
    words = describe_verdict(verdict, curve.is_class, n_most, scored.plan.one_model)
    picture, told = st.columns([0.56, 0.44], gap="large")
    with told:
        with st.container(horizontal=True, vertical_alignment="center", key="verdict"):
            st.badge(VERDICTS[verdict.word], color=_COLOURS[verdict.word])
            st.text(curve.names[group])
        st.text(words, width="stretch")
        st.caption(describe_rule(curve.is_class))
    with picture:
        figure = learning_figure(
            curve, style_of(view.scored), words, group, values.unit == "variance", _HEIGHT
        )
        show_curves(figure, key="learning-curve")
    st.session_state[_DRAWN] = DrawnCurve(trained.wanted, figure, curve, group, words)
    if len(curve.names) > 1:
        _draw_groups(curve)


def _draw_groups(curve: LearningCurve) -> None:
    """The verdict of every group."""
    text, number = st.column_config.TextColumn, st.column_config.NumberColumn
    st.dataframe(
        _groups_frame(curve),
        hide_index=True,
        column_config={
            name: number(head, format="%d") if name in ("c0", "c2") else text(head)
            for name, head in _GROUP_HEADS.items()
        },
        alt=f"Verdicts on {len(curve.names)} groups of rows.",
    )


def _groups_frame(curve: LearningCurve) -> pd.DataFrame:
    """A line a group; the columns are named in `_GROUP_HEADS`."""
    verdicts = [curve.verdict(group) for group in range(len(curve.names))]
    write = partial(say_fall, is_class=curve.is_class)
    cells = {
        "c0": list(range(len(verdicts))),
        "c1": list(curve.names),
        "c2": curve.n_rows,
        "c3": [VERDICTS[one.word] for one in verdicts],
        "c4": [f"{one.n_agreeing} of {one.n_repeats}" for one in verdicts],
        "c5": [write(one.gain) for one in verdicts],
        "c6": [write(one.expected) for one in verdicts],
        "c7": [percent(one.knowledge_share, 0) for one in verdicts],
    }
    return pd.DataFrame({name: cells[name] for name in _GROUP_HEADS})


def _draw_next(
    knobs: Mapping[str, Knob], values: SimpleNamespace, trained: Trained, view: View
) -> None:
    st.markdown("**Which rows should be labelled next?**", help=NEXT_MEANING)
    scored = view.scored
    n_candidates = int((~scored.scored.known).sum())
    if not n_candidates:
        st.text(
            "Every row has a target. Drop a second file with rows that have none to see which of "
            "them to label first.",
            width="stretch",
        )
        return
    if scored.unfamiliarity is None:
        st.text("The ranking needs how unfamiliar the rows are, which is not measured yet.")
        return
    key = _key(trained, "next", view.digest)
    found = ask_job(_RANKING, key, lambda job: rank_next(scored, MOST_TO_LABEL))
    if not isinstance(found, NextRows):
        show_waiting_for_task(_RANKING, found, 1.0 + _SECONDS_PER_ROW * n_candidates)
        return
    draw_knob(knobs["label"])
    first = found.first(values.label)
    frame = next_frame(scored, first)
    st.text(_describe_next(first, values.label), width="stretch")
    unit = "nats" if scored.training.target.classes else "variance"
    st.dataframe(
        pd.DataFrame(
            {
                "c0": range(1, len(first.rows) + 1),
                "c1": scored.scored.row_numbers[first.rows],
                "c2": [digits(value) for value in first.knowledge],
                "c3": [f"{value:.2f}" for value in first.unfamiliarity],
                "c4": [percent(value, 0) for value in first.left],
                "c5": list(first.reasons),
            }
        ),
        hide_index=True,
        column_config={
            "c0": st.column_config.NumberColumn("Rank", format="%d"),
            "c1": st.column_config.NumberColumn("Row", format="%d", help="Its number in the file."),
            "c2": st.column_config.TextColumn(f"Knowledge ({unit})"),
            "c3": st.column_config.TextColumn("Unfamiliarity"),
            "c4": st.column_config.TextColumn(
                "Still new", help="What rows chosen before leave of its weight."
            ),
            "c5": st.column_config.TextColumn("Reason", width="large"),
        },
        alt=f"{len(first.rows)} rows to label next.",
    )
    st.download_button(
        "Rows to label (CSV)",
        data=partial(to_csv_bytes, frame),
        file_name="rows-to-label.csv",
        mime="text/csv",
        key="_download_next",
        on_click="ignore",
    )


def _describe_next(first: NextRows, wanted: int) -> str:
    told = f"{len(first.rows):,} of {first.n_candidates:,} rows without a target."
    if len(first.rows) < min(wanted, first.n_candidates):
        told += " The others fall into the same leaves as these: their labels would say the same."
    return told


def _key(trained: Trained, slot: str, asked: Hashable) -> tuple[Hashable, ...]:
    key: tuple[Hashable, ...] = ("your data", slot, trained.wanted, asked)
    if trained.opened.is_upload or trained.wanted.second:
        return own_key(key)
    return key


@st.cache_resource(max_entries=_CACHED, show_spinner=False, scope="session")
def _cost(wanted: Any, n_repeats: int, _scored: ScoredTable) -> ScoreEstimate | None:
    try:
        return estimate_curve(_scored.training, _scored.plan, n_repeats)
    except GbuqError:  # the fit says it
        return None


@st.cache_resource(max_entries=_CACHED, show_spinner=False, scope="session")
def _grouped(
    digest: str, by: str, column: str, _curve: LearningCurve, _scored: ScoredTable, _table: Table
) -> _Grouped:
    try:
        groups = _groups_of(by, column, _scored, _table)
    except GbuqError as error:
        return _Grouped(_curve, str(error))
    return _Grouped(_curve if groups is None else _curve.by(*groups), "")


@st.cache_resource(max_entries=_CACHED, show_spinner=False, scope="session")
def _by_cohorts(
    curve: str,
    digest: str,
    kept: tuple[tuple[str, str], ...],
    unit: str,
    _curve: LearningCurve,
    _scored: ScoredTable,
    _table: Table,
) -> _Grouped:
    """The curve of each kept cohort; those whose condition cannot be read are named."""
    if not kept:
        return _Grouped(_curve, NONE_KEPT)
    problems = check_cohorts(_scored, dict(kept), table=_table, unit=unit)
    known = {name: text for name, text in kept if name not in problems}
    members = cohort_rows(_scored, known, table=_table, unit=unit)
    return _Grouped(_curve.by(members, tuple(known)), "\n".join(problems.values()))


def _groups_of(by: str, column: str, scored: ScoredTable, table: Table) -> Groups | None:
    training = scored.training
    if by == BY_FAILURES:
        return failing_groups(scored, find_failures(scored))
    names = {each.name for each in training.schema.columns}
    if by != BY_COLUMN or column not in names or table.n_rows != len(training.X):
        return None
    return group_column(table, training.schema.column(column), pd.RangeIndex(table.n_rows))
