"""Inside the soft trees: gates and leaves through the training, the boosted sum, correlations."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
import streamlit as st

from gbuq_core.experiments.soft_trees.fit import SoftTreesFit
from gbuq_core.experiments.soft_trees.look import (
    CovarianceView,
    StagesView,
    TreeFrames,
    TreeView,
    covariance_view,
    stages_view,
    tree_frames,
    tree_view,
)
from gbuq_core.experiments.soft_trees.plan import METHODS, SOFT_METHODS, SoftTreesSettings
from gbuq_core.experiments.soft_trees.words import (
    describe_covariance,
    describe_elbo,
    describe_tree,
)
from gbuq_core.figures.canvas.panels import PanelSheet
from gbuq_core.figures.soft_trees.charts import (
    correlation_sheet,
    level_words,
    stages_sheet,
    tree_sheet,
)
from gbuq_core.figures.soft_trees.strips import frames_from
from gbuq_core.figures.theme import METHOD_STYLES
from gbuq_core.presentation import short
from pages._ui.canvas import canvas
from pages._ui.controls import draw_knob
from pages._ui.kept import kept
from pages._ui.side_by_side import Shown
from pages._ui.soft_trees.controls import DRAW, TREE, WHOSE

_EMPTY = "Choose VST or VSGBM on the left to see the inside of a soft tree."
_READ = (
    "Each **gate** sends a point to the right with a probability between 0 and 1, so every "
    "**leaf** has a weight in every prediction. A leaf's line is strong where its weight is large. "
    "The unbroken line in the colour of the text is the tree's prediction, the weighted sum of all "
    "leaves. Play the picture to see gates and leaves move during training."
)
_MOST_CORRELATED = 400  # parameters of a picture


def draw_looks(
    values: SimpleNamespace, settings: SoftTreesSettings, shown: Sequence[Shown]
) -> None:
    """The tree that is chosen, and what its posterior is like."""
    st.header("Inside one tree")
    fits = {one.fit.method: one.fit for one in shown if one.fit is not None and one.view}
    soft = [key for key in SOFT_METHODS if key in fits]
    if not soft:
        st.text(
            _EMPTY
            if not set(SOFT_METHODS) & set(settings.methods)
            else "No soft tree is trained yet."
        )
        return
    st.markdown(_READ)
    fit = fits[_choose(values, soft, fits)]
    look = tree_view(fit, settings)
    tree = look.tree
    sheet = tree_sheet_of(fit, look)
    canvas(sheet, key="soft-tree")
    for note in look.notes:
        st.caption(note)
    st.text(f"{describe_tree(look)} {describe_elbo(fit)}", width="stretch")
    st.caption(f"Colours of the gates: {level_words(len(look.gates))}." if len(look.gates) else "")
    left, right = st.columns([0.5, 0.5], gap="large")
    with left:
        st.header("Correlated parameters")
        draw_correlations(fit, tree)
    with right:
        if fit.method == "vsgbm":
            st.header("The sum, tree by tree")
            draw_stages(fit, settings)


def _choose(values: SimpleNamespace, soft: Sequence[str], fits: dict[str, SoftTreesFit]) -> str:
    """Which method's tree, which tree, which draw: the knobs beside the picture."""
    with st.container(horizontal=True, key="soft-trees-choice", vertical_alignment="bottom"):
        chosen = next((key for key in soft if METHODS[key].label == values.whose), soft[0])
        if len(soft) > 1:
            with st.container(width=180):
                draw_knob(WHOSE)
        if len(fits[chosen].frames) > 1:
            with st.container(width=280):
                draw_knob(TREE)
        with st.container(width=340):
            draw_knob(DRAW)
    return chosen


def tree_sheet_of(fit: SoftTreesFit, look: TreeView) -> PanelSheet:
    """The tree of the posterior mean through its training, or one draw as it stands."""
    data = fit.data
    if look.draw is None:
        moments = kept("soft-tree-frames", [fit], look.tree, lambda: tree_frames(fit, look.tree))
    else:
        parts = (look.gates, look.reach, look.leaf_means, look.output)
        steps = np.array([look.n_steps])
        moments = TreeFrames(look.tree, steps, look.x, *(part[None] for part in parts))
    own = not look.tree  # later trees of a sum see what the first ones leave
    frames = frames_from(moments, fit.elbo[look.tree], data, own)
    limits = data.y_range if own else _limits(look.output, data.target_std)
    return tree_sheet(frames, limits, alt=describe_tree(look))


def _limits(output: np.ndarray, room: float) -> tuple[float, float]:
    """A later tree of a sum adds to what the others say: around 0."""
    half = max(float(np.abs(output).max()), room)
    return -1.3 * half, 1.3 * half


def draw_correlations(fit: SoftTreesFit, tree: int) -> None:
    """How the tree's parameters vary together, in words and as a map."""
    view = correlations_of(fit, tree)
    many = view.n_parameters > _MOST_CORRELATED
    more = " There are too many parameters for a picture." if many else ""
    st.text(f"{describe_covariance(view)}{more}", width="stretch")
    if not many:
        canvas(correlation_sheet_of(view), key="soft-trees-correlation")


def correlations_of(fit: SoftTreesFit, tree: int) -> CovarianceView:
    """The posterior's covariance, worked out once."""
    return kept("soft-trees-covariance", [fit], tree, lambda: covariance_view(fit, tree))


def correlation_sheet_of(view: CovarianceView) -> PanelSheet:
    """The heatmap."""
    return correlation_sheet(
        view.correlation,
        view.labels,
        [first for _, first, _ in view.groups],
        subtitle=f"rank {view.rank} of {view.n_parameters}",
        alt=describe_covariance(view),
    )


def draw_stages(fit: SoftTreesFit, settings: SoftTreesSettings) -> None:
    """The boosted sum tree by tree."""
    view: StagesView = kept(
        "soft-trees-stages",
        [fit],
        (settings.draws, settings.draw_seed),
        lambda: stages_view(fit, settings),
    )
    words = ", ".join(map(short, view.rmse))
    words = f"RMSE on the training rows after each tree: {words}."
    colour = METHOD_STYLES["vsgbm"].colour
    st.text(words, width="stretch")
    sheet = stages_sheet(view.x, view.functions, fit.data.y_range, colour, words)
    canvas(sheet, key="soft-trees-stages")
