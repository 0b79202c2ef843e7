"""The members of the open row tree by tree."""

from __future__ import annotations

import numpy as np
import streamlit as st

from gbuq_core.figures.curves import Curves
from gbuq_core.figures.table.growing import Growing, growing_figure
from gbuq_core.lenses.pictures import style_of
from gbuq_core.tables import ScoredTable, grow_row, why_no_stages
from pages._ui.curves import show_curves


def draw_growing(scored: ScoredTable, row: int, digest: str) -> None:
    """What the members say about a row against the number of trees."""
    st.markdown("**What do the members say while trees are added?**")
    refusal = why_no_stages(scored)
    if refusal:
        st.text(refusal)
        return
    show_curves(_growing(digest, row, scored), key="row-growing")
    if scored.plan.one_model:
        who = "Each dot is a member: the one model with so many trees."
    else:
        who = "Each line is a member, a model of its own; its dot is where it stops."
    st.caption(f"{who} The vertical line marks the trees in use. Nothing is trained for this.")


def growing_of(scored: ScoredTable, row: int) -> Growing:
    """The row tree by tree, as the figure takes it."""
    stages = grow_row(scored, row)
    loc, others, names = stages.loc, np.empty((0, len(stages.n_trees))), ()
    label, truth = scored.training.target.name, float(scored.scored.y[row])
    if stages.classes:
        mean = stages.probabilities.mean(axis=0)
        order = np.argsort(-scored.predictions.probabilities[row], kind="stable")
        others, names = mean[:, order].T, tuple(stages.classes[k] for k in order)
        loc, label, truth = stages.probabilities[:, :, order[0]], "probability", np.nan
    return Growing(
        stages.n_trees,
        loc,
        stages.scale,
        others,
        names,
        stages.member_trees,
        stages.scale_trees,
        truth,
        label,
        style_of(scored).colour,
    )


@st.cache_resource(max_entries=64, show_spinner=False, scope="session")
def _growing(digest: str, row: int, _scored: ScoredTable) -> Curves:
    return growing_figure(growing_of(_scored, row))
