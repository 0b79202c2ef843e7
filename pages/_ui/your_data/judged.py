"""Is it any good? PIT, coverage by group, classes, the cost of asking, and what flatters scores."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from gbuq_core.figures.curves import Curves
from gbuq_core.figures.standalone import Section
from gbuq_core.figures.table.judged import (
    asking_figure,
    describe_asking,
    describe_groups,
    describe_pit,
    groups_curves,
    groups_figure,
    pit_figure,
)
from gbuq_core.knobs import Knob
from gbuq_core.metrics import (
    GroupCoverage,
    ask_by_threshold,
    asking_curve,
    auroc,
    average_precision,
    pit_histogram,
)
from gbuq_core.presentation import digits, percent, short
from gbuq_core.tables import (
    ClassScore,
    HeldOut,
    ScoredTable,
    Table,
    class_scores,
    coverage_by_group,
    group_column,
    held_out,
    held_out_inside,
    held_out_unfamiliarity,
    pit_values,
    split_warnings,
    why_no_coverage,
    why_not_conformal,
)
from pages._ui.controls import draw_knob
from pages._ui.curves import show_curves
from pages._ui.export import is_dark
from pages._ui.url_state import PageState
from pages._ui.your_data.results import KINDS, draw_promises, style_of
from pages._ui.your_data.state import AUTOMATIC

MEANING = "All numbers are from rows that their model did not learn from."
_COST_MEANING = (
    "A person who is asked makes no error. The threshold is chosen on one half of the rows and its "
    "cost is measured on the other half, both ways. Brackets hold 95 % intervals."
)
_GROUP_MEANING = (
    "Dots are measured, ticks are what they should be. The bars of the groups are bands that hold "
    "together with 95 % confidence; the colour changes where a band excludes its tick."
)
_HEIGHT = 240
_CURVE_POINTS = 201
_CACHED = 64


class _Cost(NamedTuple):
    """The picture of what asking costs, the sentence under it, and who is asked about."""

    figure: Curves
    words: str
    is_asked: NDArray[np.bool_]


class Order(NamedTuple):
    """What the held-out rows are asked about by, and its values."""

    kind: str
    by: NDArray[np.float64]


def draw_judged(
    page: PageState, values: SimpleNamespace, scored: ScoredTable, table: Table, digest: str
) -> None:
    """Draw the section below the scorecard, which says why coverage is not quoted.

    ``table`` is the first file.
    """
    missing = why_no_coverage(scored)
    knobs = {knob.key: knob for knob in page.knobs}
    st.markdown("**Is it any good?**", help=MEANING)
    held = _held(digest, scored)
    if table.n_rows == len(scored.training.X):
        warnings = _warnings(digest, table, scored)
        with st.container(key="split-warnings", gap="xsmall"):
            for sentence in warnings or (
                "No repeated identifiers, copied rows, leaking or duplicate columns were found.",
            ):
                st.text(sentence, width="stretch")
    if missing and not held.classes:
        _draw_intervals(knobs, held)
        _draw_cost(knobs, values, scored, held, digest)
        return
    left, right = st.columns(2, gap="large")
    with left:
        if not held.classes:
            _draw_pit(digest, held, scored)
            draw_promises(scored, digest, values.conformal)
        else:
            _draw_classes(digest, held, _order_of(values, scored, held), values)
    with right:
        _draw_intervals(knobs, held)
        if "group" in knobs and table.n_rows == len(scored.training.X) and not missing:
            _draw_groups(knobs, values, scored, held, table, digest)
    _draw_cost(knobs, values, scored, held, digest)


def good_sections(scored: ScoredTable, values: SimpleNamespace, table: Table) -> list[Section]:
    """The same for the report: PIT, groups, classes and the cost of asking."""
    held = held_out(scored)
    sections = []
    if held.classes:
        order = _order_of(values, scored, held)
        lines = [("Class", "Rows", "Recall", "Asked", "Precision", "PR-AUC (by chance)")]
        asked = None
        if len(held.y) >= 2 and held.errors.any():
            asked = _costs(order.kind, _price(values, held), held, order.by).is_asked
        lines += [
            (score.name, f"{score.n_rows:,}", _recall(score), _share(score.recall_asked),
             _share(score.precision), _pr(score, len(held.y)))
            for score in class_scores(held, asked)
        ]  # fmt: skip
        words = "Asked is the recall if a person decides about the rows that the costs below say."
        sections.append(Section(heading="How well is each class found?", text=words, table=lines))
    elif not why_no_coverage(scored):  # which the report says above
        pit = pit_values(held)
        figure = pit_figure(pit_histogram(pit), style_of(scored), describe_pit(pit), _HEIGHT)
        caption = str(figure.spec["alt"])
        sections.append(
            Section(
                heading="Are the predicted distributions right?", curves=figure, caption=caption
            )
        )
    sections += _group_sections(scored, values, table, held)
    if len(held.y) >= 2 and held.errors.any():
        order = _order_of(values, scored, held)
        cost = _costs(order.kind, _price(values, held), held, order.by)
        sections.append(
            Section(
                heading="What does it save to ask a person?", curves=cost.figure, caption=cost.words
            )
        )
    return sections


def _group_sections(
    scored: ScoredTable, values: SimpleNamespace, table: Table, held: HeldOut
) -> list[Section]:
    """The chosen column's groups, as a picture and a table."""
    columns = {column.name for column in scored.training.schema.columns}
    column = getattr(values, "group", None)
    if table.n_rows != len(scored.training.X) or column not in columns:
        return []
    if column == scored.training.target.name or why_no_coverage(scored):
        return []
    level = 0.0 if held.classes else values.within / 100.0
    inside = None
    if values.conformal and not held.classes:
        inside = held_out_inside(scored, level, True, held)
    groups = group_column(table, scored.training.schema.column(column), held.rows)
    found = coverage_by_group(held, groups, level, inside)
    lines = [("Group", "Rows", "Should be", "Is", "Band")]
    for name, n_rows, promised, observed, low, high, _ in zip(*found, strict=True):
        band = f"{percent(low, 0).removesuffix(' %')} to {percent(high, 0)}"
        lines.append((name, f"{n_rows:,}", percent(promised, 0), percent(observed, 0), band))
    words = describe_groups(found, bool(held.classes))
    return [
        Section(
            heading=f'{_title(held)} in every group of "{column}"?',
            text=words,
            curves=groups_curves(found, style_of(scored), _axis(held), words),
            caption=_GROUP_MEANING,
            table=lines,
        )
    ]


def _title(held: HeldOut) -> str:
    return "Is it right as often as it says" if held.classes else "Do intervals hold"


def _axis(held: HeldOut) -> str:
    return "rows predicted right (%)" if held.classes else "rows inside their interval (%)"


def _draw_intervals(knobs: Mapping[str, Knob], held: HeldOut) -> None:
    """The level of intervals and their kind, which the downloads have too."""
    why = why_not_conformal(held.classes)
    if why:
        st.toggle(knobs["conformal"].label, False, key="_no_conformal", disabled=True, help=why)
        return
    draw_knob(knobs["within"])
    draw_knob(knobs["conformal"])


def _draw_pit(digest: str, held: HeldOut, scored: ScoredTable) -> None:
    st.markdown("**Are the predicted distributions right?**")
    figure = _pit(digest, held, scored)
    show_curves(figure, key="pit")
    st.caption(str(figure.spec["alt"]))


def _draw_groups(
    knobs: Mapping[str, Knob],
    values: SimpleNamespace,
    scored: ScoredTable,
    held: HeldOut,
    table: Table,
    digest: str,
) -> None:
    st.markdown(f"**{_title(held)} in every group?**", help=_GROUP_MEANING)
    draw_knob(knobs["group"])
    if values.group == scored.training.target.name:
        st.text("The target cannot group the rows: choose another column.", width="stretch")
        return
    if values.group not in {column.name for column in scored.training.schema.columns}:
        return  # of the table that is being scored
    level = 0.0 if held.classes else values.within / 100.0
    conformal = values.conformal and not held.classes
    found = _groups(digest, values.group, level, conformal, held, scored, table)
    words = describe_groups(found, bool(held.classes))
    st.vega_lite_chart(
        groups_figure(found, style_of(scored), _axis(held), is_dark()),
        key="coverage-groups",
        alt=words,
    )
    st.text(words, width="stretch")


def _draw_cost(
    knobs: Mapping[str, Knob],
    values: SimpleNamespace,
    scored: ScoredTable,
    held: HeldOut,
    digest: str,
) -> None:
    st.markdown("**What does it save to ask a person?**", help=_COST_MEANING)
    picture, told = st.columns(2, gap="large")
    with told:
        draw_knob(knobs["wrong" if held.classes else "miss"])
        draw_knob(knobs["doubt"])
        if len(held.y) < 2 or not held.errors.any():
            st.text("No held-out row is wrong, so there is nothing to ask about.", width="stretch")
            return
        order = _order_of(values, scored, held)
        if order.kind != values.doubt != AUTOMATIC:
            st.text("How unfamiliar the rows are is not measured yet.", width="stretch")
        found = _cost(digest, order.kind, _price(values, held), held, order.by)
        st.text(found.words, width="stretch")
        size = "" if held.classes else f"An error of average size is {short(held.errors.mean())}. "
        st.caption(f"{size}The threshold was chosen on rows other than those that measure it.")
    with picture:
        show_curves(found.figure, key="asking")


def _price(values: SimpleNamespace, held: HeldOut) -> float:
    """What an error costs, in questions."""
    return float(values.wrong if held.classes else values.miss)


def _order_of(values: SimpleNamespace, scored: ScoredTable, held: HeldOut) -> Order:
    """The chosen order; the uncertainty that rows are ranked by, or else the total."""
    kind = values.doubt
    if kind == "unfamiliarity":
        found = held_out_unfamiliarity(scored, held.rows)
        if found is not None:
            return Order(kind, found)
    if kind not in KINDS:
        kind = values.rank if values.rank in KINDS else "total"
    return Order(kind, getattr(held.predictions.uncertainty, kind))


def _draw_classes(digest: str, held: HeldOut, order: Order, values: SimpleNamespace) -> None:
    st.markdown(
        "**How well is each class found?**",
        help="Rarest first. Recall is the share of its rows that are predicted so, with a 95 % "
        "Wilson band. Asked is the recall if a person decides about the rows that the costs below "
        "say. PR-AUC by chance is the class's share of the rows.",
    )
    scores = _classes(digest, held)
    asked = {}
    if len(held.y) >= 2 and held.errors.any():
        found = _cost(digest, order.kind, _price(values, held), held, order.by)
        asked = {score.name: score.recall_asked for score in class_scores(held, found.is_asked)}
    st.dataframe(
        pd.DataFrame(
            {
                "c0": [score.name for score in scores],
                "c1": [score.n_rows for score in scores],
                "c2": [_recall(score) for score in scores],
                "c6": [_share(asked.get(score.name, np.nan)) for score in scores],
                "c3": [_share(score.precision) for score in scores],
                "c4": [_pr(score, len(held.y)) for score in scores],
                "c5": [digits(score.auroc) if np.isfinite(score.auroc) else "" for score in scores],
            }
        ),
        hide_index=True,
        column_config={
            "c0": st.column_config.TextColumn("Class"),
            "c1": st.column_config.NumberColumn("Rows", format="%d"),
            "c2": st.column_config.TextColumn("Recall"),
            "c6": st.column_config.TextColumn("Asked"),
            "c3": st.column_config.TextColumn("Precision"),
            "c4": st.column_config.TextColumn("PR-AUC (by chance)"),
            "c5": st.column_config.TextColumn("AUROC"),
        },
        alt=f"Recall, precision and ranking of {len(scores)} classes.",
    )
    wrong, by = held.errors, order.by
    what = order.kind if order.kind == "unfamiliarity" else f"{order.kind} uncertainty"
    if 0.0 < wrong.mean() < 1.0:
        st.caption(
            f"By {what}, wrong rows are found with an AUROC of "
            f"{digits(auroc(wrong, by))} (0.5 by chance) and a PR-AUC of "
            f"{digits(average_precision(wrong, by))} ({digits(wrong.mean())} by chance)."
        )


def _recall(score: ClassScore) -> str:
    if not score.n_rows:
        return ""
    low = percent(score.low, 0).removesuffix(" %")
    return f"{percent(score.recall, 0)} ({low} to {percent(score.high, 0)})"


def _share(value: float) -> str:
    return percent(value, 0) if np.isfinite(value) else ""


def _pr(score: ClassScore, n_rows: int) -> str:
    if not score.n_rows:
        return ""
    return f"{digits(score.average_precision)} ({digits(score.n_rows / n_rows)})"


@st.cache_resource(max_entries=8, show_spinner=False, scope="session")
def _held(digest: str, _scored: ScoredTable) -> HeldOut:
    return held_out(_scored)


@st.cache_resource(max_entries=8, show_spinner=False, scope="session")
def _warnings(digest: str, _table: Table, _scored: ScoredTable) -> tuple[str, ...]:
    return tuple(split_warnings(_table, _scored.training))


@st.cache_resource(max_entries=_CACHED, show_spinner=False, scope="session")
def _pit(digest: str, _held: HeldOut, _scored: ScoredTable) -> Curves:
    pit = pit_values(_held)
    return pit_figure(pit_histogram(pit), style_of(_scored), describe_pit(pit), _HEIGHT)


@st.cache_resource(max_entries=_CACHED, show_spinner=False, scope="session")
def _groups(
    digest: str,
    column: str,
    level: float,
    conformal: bool,
    _held: HeldOut,
    _scored: ScoredTable,
    _table: Table,
) -> GroupCoverage:
    groups = group_column(_table, _scored.training.schema.column(column), _held.rows)
    inside = held_out_inside(_scored, level, True, _held) if conformal else None
    return coverage_by_group(_held, groups, level, inside)


@st.cache_resource(max_entries=_CACHED, show_spinner=False, scope="session")
def _cost(
    digest: str, kind: str, price: float, _held: HeldOut, _order: NDArray[np.float64]
) -> _Cost:
    return _costs(kind, price, _held, _order)


def _costs(kind: str, price: float, held: HeldOut, order: NDArray[np.float64]) -> _Cost:
    """What it saves to ask a person about the rows that come first in an order."""
    errors, is_class = held.errors, bool(held.classes)
    if not is_class:
        errors = errors / errors.mean()
    found = ask_by_threshold(errors, order, price)
    words = describe_asking(found, kind, is_class)
    curve = asking_curve(errors, order, price, n_points=_CURVE_POINTS)
    return _Cost(asking_figure(curve, found, kind, words, _HEIGHT), words, found.is_asked)


@st.cache_resource(max_entries=_CACHED, show_spinner=False, scope="session")
def _classes(digest: str, _held: HeldOut) -> list[ClassScore]:
    return class_scores(_held)
