"""Is it any good? PIT, coverage by group, classes, the cost of asking, and what flatters scores."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from gbuq_core.figures.curves import Curves
from gbuq_core.figures.table.judged import (
    describe_groups,
    groups_figure,
)
from gbuq_core.knobs import Knob
from gbuq_core.lenses.judged import (
    GROUP_MEANING,
    Cost,
    Order,
    axis_of,
    can_ask,
    costs_of,
    groups_of,
    order_of,
    pit_of,
    pr_cell,
    price_of,
    recall_cell,
    share_cell,
    title_of,
)
from gbuq_core.lenses.pictures import style_of
from gbuq_core.metrics import (
    GroupCoverage,
    auroc,
    average_precision,
)
from gbuq_core.presentation import digits, short
from gbuq_core.tables import (
    ClassScore,
    HeldOut,
    ScoredTable,
    Table,
    class_scores,
    held_out,
    pit_values,
    split_warnings,
    why_no_coverage,
    why_not_conformal,
)
from pages._ui.controls import draw_knob
from pages._ui.curves import show_curves
from pages._ui.export import is_dark
from pages._ui.url_state import PageState
from pages._ui.your_data.results import draw_promises
from pages._ui.your_data.state import AUTOMATIC

MEANING = "All numbers are from rows that their model did not learn from."
_COST_MEANING = (
    "A person who is asked makes no error. The threshold is chosen on one half of the rows and its "
    "cost is measured on the other half, both ways. Brackets hold 95 % intervals."
)
_CACHED = 64


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
            _draw_classes(digest, held, order_of(values, scored, held), values)
    with right:
        _draw_intervals(knobs, held)
        if "group" in knobs and table.n_rows == len(scored.training.X) and not missing:
            _draw_groups(knobs, values, scored, held, table, digest)
    _draw_cost(knobs, values, scored, held, digest)


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
    st.markdown(f"**{title_of(held)} in every group?**", help=GROUP_MEANING)
    draw_knob(knobs["group"])
    if values.group not in {feature.column for feature in scored.training.features}:
        return  # of the table that is being scored
    found = _groups(digest, values.group, values.within, values.conformal, held, scored, table)
    words = describe_groups(found, bool(held.classes))
    st.vega_lite_chart(
        groups_figure(found, style_of(scored), axis_of(held), is_dark()),
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
        if not can_ask(held):
            st.text("No held-out row is wrong, so there is nothing to ask about.", width="stretch")
            return
        order = order_of(values, scored, held)
        if order.kind != values.doubt != AUTOMATIC:
            st.text("How unfamiliar the rows are is not measured yet.", width="stretch")
        found = _cost(digest, order.kind, price_of(values, held), held, order.by)
        st.text(found.words, width="stretch")
        size = "" if held.classes else f"An error of average size is {short(held.errors.mean())}. "
        st.caption(f"{size}The threshold was chosen on rows other than those that measure it.")
    with picture:
        show_curves(found.figure, key="asking")


def _draw_classes(digest: str, held: HeldOut, order: Order, values: SimpleNamespace) -> None:
    st.markdown(
        "**How well is each class found?**",
        help="Rarest first. Recall is the share of its rows that are predicted so, with a 95 % "
        "Wilson band. Asked is the recall if a person decides about the rows that the costs below "
        "say. PR-AUC by chance is the class's share of the rows.",
    )
    scores = _classes(digest, held)
    asked = {}
    if can_ask(held):
        found = _cost(digest, order.kind, price_of(values, held), held, order.by)
        asked = {score.name: score.recall_asked for score in class_scores(held, found.is_asked)}
    st.dataframe(
        pd.DataFrame(
            {
                "c0": [score.name for score in scores],
                "c1": [score.n_rows for score in scores],
                "c2": [recall_cell(score) for score in scores],
                "c6": [share_cell(asked.get(score.name, np.nan)) for score in scores],
                "c3": [share_cell(score.precision) for score in scores],
                "c4": [pr_cell(score, len(held.y)) for score in scores],
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


@st.cache_resource(max_entries=8, show_spinner=False, scope="session")
def _held(digest: str, _scored: ScoredTable) -> HeldOut:
    return held_out(_scored)


@st.cache_resource(max_entries=8, show_spinner=False, scope="session")
def _warnings(digest: str, _table: Table, _scored: ScoredTable) -> tuple[str, ...]:
    return tuple(split_warnings(_table, _scored.training))


@st.cache_resource(max_entries=_CACHED, show_spinner=False, scope="session")
def _pit(digest: str, _held: HeldOut, _scored: ScoredTable) -> Curves:
    pit = pit_values(_held)
    return pit_of(pit, _scored)


@st.cache_resource(max_entries=_CACHED, show_spinner=False, scope="session")
def _groups(
    digest: str,
    column: str,
    within: float,
    conformal: bool,
    _held: HeldOut,
    _scored: ScoredTable,
    _table: Table,
) -> GroupCoverage:
    return groups_of(_scored, _table, column, within, conformal, _held)


@st.cache_resource(max_entries=_CACHED, show_spinner=False, scope="session")
def _cost(
    digest: str, kind: str, price: float, _held: HeldOut, _order: NDArray[np.float64]
) -> Cost:
    return costs_of(kind, price, _held, _order)


@st.cache_resource(max_entries=_CACHED, show_spinner=False, scope="session")
def _classes(digest: str, _held: HeldOut) -> list[ClassScore]:
    return class_scores(_held)
