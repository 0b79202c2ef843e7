"""One row in detail: its members, what its uncertainty comes from, where its values lie."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import streamlit as st

from gbuq_core.figures.table.features import contributions_figure, positions_figure
from gbuq_core.figures.table.members import (
    MemberClasses,
    MemberValues,
    describe_members,
    member_classes_figure,
    member_means_figure,
    member_values_figure,
)
from gbuq_core.figures.table.unfamiliar import describe_parts, parts_figure
from gbuq_core.lenses.pictures import RowUncertainties, ranking_kind, style_of
from gbuq_core.lenses.register import LENSES
from gbuq_core.lenses.row import (
    MOST_COLUMNS,
    PARTS_MEANING,
    by_size,
    describe_row,
    feature_value,
    parts_of,
    say_effects,
    say_unfamiliarity,
    say_width,
)
from gbuq_core.presentation import short
from gbuq_core.tables import EFFECT_MEANING, RowExplanation, ScoredTable
from gbuq_core.tables.unfamiliar import UNFAMILIAR
from gbuq_core.tables.words import name_members
from pages._ui.export import is_dark
from pages._ui.kept import remember
from pages._ui.url_state import PageState
from pages._ui.your_data.edit import draw_edit
from pages._ui.your_data.lens import Drawing, ask_lens, draw_lenses, plain
from pages._ui.your_data.sections import choose_lens
from pages._ui.your_data.training import Trained, View


def draw_row(
    page: PageState,
    values: SimpleNamespace,
    trained: Trained,
    view: View,
    shown: RowUncertainties,
    row: int,
) -> None:
    """The row with this position: words, and the answer to the open question about it.

    Effects are those on the uncertainty that rows are ranked by, or else on the total.
    """
    scored = view.scored
    explained = ask_lens(LENSES["row"], values, trained, view, row).result
    st.subheader(f"Row {scored.scored.row_numbers[row]:,}")
    strange = remember((view.digest, row), say_unfamiliarity, scored, row)
    st.text(describe_row(scored, shown, explained, row, strange), width="stretch")
    choose_lens()
    parts = {"row": _draw_why, "edit": draw_edit}
    draw_lenses(values.lens, page, values, trained, view, row, parts)


def _draw_why(drawing: Drawing) -> None:
    """Members, effects, what is unfamiliar, and where the values lie."""
    (scored, _, values, row), explained = drawing.seen, drawing.answer
    kind = ranking_kind(scored, values.rank)
    effects = by_size(explained.effects, kind)[:MOST_COLUMNS]
    has_members = len(explained.member_loc) or len(explained.member_probabilities)
    *first, causes, places = st.columns([0.3, 0.31, 0.39] if has_members else 2, gap="medium")
    for members in first:
        with members:
            st.markdown("**What the members say**")
            _draw_members(scored, explained, row)
    with causes:
        st.markdown(f"**Where its {kind} uncertainty comes from**", help=EFFECT_MEANING)
        unit = "nats" if scored.training.target.classes else "variance"
        changes = np.array([getattr(effect, kind) for effect in effects])
        st.vega_lite_chart(
            contributions_figure([effect.column for effect in effects], changes, kind, unit),
            key="row-effects",
            alt=say_effects(effects),
        )
        st.caption(plain(say_width(explained)))
        _draw_parts(scored, row, drawing.view.digest)
    with places:
        st.markdown("**Where its values lie among the training rows**")
        cells = [feature_value(effect) for effect in effects]
        st.vega_lite_chart(
            positions_figure(cells),
            key="row-places",
            alt="; ".join(f"{v.name}: {v.value} {v.note}".strip() for v in cells),
        )
    if len(explained.effects) > MOST_COLUMNS:
        st.caption(
            f"{MOST_COLUMNS} of {len(explained.effects):,} columns are shown: those that "
            f"matter most to this row's {kind} uncertainty."
        )


def _draw_parts(scored: ScoredTable, row: int, digest: str) -> None:
    """How unfamiliar every measure finds the row."""
    parts = remember((digest, row), parts_of, scored, row)
    if not parts:
        return
    st.markdown("**How unfamiliar it is, by measure**", help=PARTS_MEANING)
    st.vega_lite_chart(parts_figure(parts, UNFAMILIAR), key="row-parts", alt=describe_parts(parts))


def _draw_members(scored: ScoredTable, explained: RowExplanation, row: int) -> None:
    style, truth = style_of(scored), float(scored.scored.y[row])
    if explained.classes:
        known = None if np.isnan(truth) else int(truth)
        members = MemberClasses(explained.member_probabilities, explained.classes, known)
        st.vega_lite_chart(
            member_classes_figure(members, style),
            key="row-members",
            alt=f"{len(explained.member_probabilities)} members' probabilities of the classes.",
        )
        st.caption(
            f"Dots are the probabilities by {name_members(scored)}: where they disagree, there is "
            "knowledge uncertainty. Bars of similar length mean data uncertainty."
        )
        return
    values = MemberValues(
        explained.member_loc,
        explained.member_scale,
        float(np.sqrt(explained.uncertainty.total[0])),
        truth,
        scored.training.target.name,
    )
    st.vega_lite_chart(
        member_means_figure(values, style),
        key="row-means",
        alt=f"Means of the members: {', '.join(short(v, 5) for v in np.sort(values.means))}.",
    )
    st.vega_lite_chart(
        member_values_figure(values, style, is_dark()),
        key="row-members",
        alt=describe_members(explained.member_loc, explained.member_scale),
    )
    st.caption(
        f"Dots are the means of {name_members(scored)}: their spread is knowledge uncertainty. "
        "Bars are 2 std: their length is data uncertainty. The dashed line is the true value."
    )
