"""Inside the soft trees: gates and leaves through the training, the boosted sum, correlations."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
import streamlit as st

from gbuq_core.errors import GbuqError
from gbuq_core.experiments.soft_trees.charts import (
    correlation_sheet,
    level_words,
    stages_sheet,
    tree_sheet,
)
from gbuq_core.experiments.soft_trees.experiment import SOFT_TREES
from gbuq_core.experiments.soft_trees.fit import SoftTreesFit
from gbuq_core.experiments.soft_trees.flow import (
    TreeFlow,
    describe_flow,
    flow_draws,
    flow_figure,
    tree_flow,
)
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
from gbuq_core.experiments.soft_trees.plan import (
    METHODS,
    MOST_DRAW,
    SOFT_METHODS,
    SoftTreesSettings,
)
from gbuq_core.experiments.soft_trees.scores import (
    describe_covariance,
    describe_elbo,
    describe_tree,
)
from gbuq_core.experiments.soft_trees.trials import WHOSE
from gbuq_core.figures.canvas.panels import PanelSheet
from gbuq_core.figures.curves import Curves
from gbuq_core.figures.handles import live_knob
from gbuq_core.knobs import narrow
from gbuq_core.settings import from_values
from pages._ui.canvas import canvas
from pages._ui.controls import draw_fold
from pages._ui.curves import show_curves
from pages._ui.jobs_glue import Answer
from pages._ui.kept import keep_only, kept
from pages._ui.notices import show_notice
from pages._ui.side_by_side import Shown, view_answers
from pages._ui.soft_trees.controls import INSIDE, KNOBS, PLACE, STATE
from pages._ui.url_state import read_again

_EMPTY = "Choose VST or VSGBM in All settings to see the inside of a soft tree."
READ_TREE = (
    "Drag the point along x. Each **gate** sends a share of the point to the right, and each "
    "**leaf** answers with a value, whose weight is the share that reaches it. The prediction is "
    "the weighted sum. Where do several leaves share the point?"
)
_TRAINED = (
    "Play this picture to see gates and leaves move during training. A leaf's line is strong where "
    "its weight is large. The unbroken line in the colour of the text is the tree's prediction."
)
_DRAWN = "The same draw over the whole axis. The mean of the posterior can be played."
_MOST_CORRELATED = 400  # parameters of a picture


@st.fragment
def draw_looks(values: SimpleNamespace, answers: Sequence[Answer]) -> None:
    """The tree that is chosen, and what its posterior is like; another reruns only this fold."""
    values = read_again(STATE, values)
    settings = from_values(SoftTreesSettings, vars(values))
    section = draw_fold(INSIDE)
    if section is not None:
        with section:
            try:
                _draw_looks(values, settings, view_answers(SOFT_TREES, settings, answers))
            except GbuqError as error:
                show_notice(str(error), "looks", tone="error")


def _draw_looks(
    values: SimpleNamespace, settings: SoftTreesSettings, shown: Sequence[Shown]
) -> None:
    fits = {one.fit.method: one.fit for one in shown if one.fit is not None and one.view}
    fits = {key: fit for key, fit in fits.items() if fit.model is not None}
    soft = [key for key in SOFT_METHODS if key in fits]
    if not soft:
        chosen = set(SOFT_METHODS) & set(settings.methods)
        st.text("No soft tree is trained yet." if chosen else _EMPTY)
        return
    st.markdown(READ_TREE)
    fit = fits[next((key for key in soft if METHODS[key].label == values.whose), soft[0])]
    show_curves(flow_figure_of(values, [fits[key] for key in soft]), "soft-tree-flow")
    look = tree_view(fit, settings)
    st.caption(_TRAINED if look.draw is None else _DRAWN)
    canvas(tree_sheet_of(fit, look), key="soft-tree")
    for note in look.notes:
        st.caption(note)
    st.text(f"{describe_tree(look)} {describe_elbo(fit)}", width="stretch")
    st.caption(f"Colours of the gates: {level_words(len(look.gates))}." if len(look.gates) else "")
    left, right = st.columns([0.5, 0.5], gap="large")
    with left:
        st.subheader("Correlated parameters")
        draw_correlations(fit, look.tree)
    if fit.method == "vsgbm":
        with right:
            st.subheader("The sum, tree by tree")
            draw_stages(fit, settings)


def flow_figure_of(values: SimpleNamespace, fits: Sequence[SoftTreesFit]) -> Curves:
    """The trees with a point that flows through them, and the bar that chooses among them."""
    settings = from_values(SoftTreesSettings, vars(values))
    keep_only(_FLOWS, {_FLOWS + fit.method for fit in fits})
    flows = [_flow_of(fit, settings) for fit in fits]
    labels = tuple(METHODS[fit.method].label for fit in fits)
    at = labels.index(values.whose) if values.whose in labels else 0
    knobs = []
    if len(labels) > 1:
        knobs.append(live_knob(narrow(WHOSE, choices=labels), labels[at]))
    most = max(len(flow.trees) for flow in flows)
    if most > 1:
        summed = next(i for i, flow in enumerate(flows) if len(flow.trees) == most)
        needs = {WHOSE.key: (summed,)} if len(labels) > 1 else None
        knobs.append(
            live_knob(narrow(KNOBS["tree"], high=most), min(settings.tree, most), needs=needs)
        )
    texts = ("mean", *(str(number) for number in range(1, MOST_DRAW + 1)))
    knobs.append(live_knob(KNOBS["draw"], settings.draw, texts=texts))
    tree = min(settings.tree, len(flows[at].trees)) - 1
    which = flows[at].sets.index(settings.draw)
    x = fits[0].data.x
    place = float(x[0] + (x[-1] - x[0]) * values.tree_x / 100.0)
    words = describe_flow(flows[at], place, tree, which)
    played = live_knob(PLACE, values.tree_x)
    return flow_figure(fits, flows, knobs, played, alt=words)


_FLOWS = "soft-trees-flow:"  # what is kept of each method


def _flow_of(fit: SoftTreesFit, settings: SoftTreesSettings) -> TreeFlow:
    """Gates and leaves, written out again only for a draw that is not among them."""
    further = settings.draw if settings.draw > flow_draws(fit) else 0
    return kept(
        _FLOWS + fit.method, [fit], (settings.draw_seed, further),
        lambda: tree_flow(fit, settings),
    )  # fmt: skip


def tree_sheet_of(fit: SoftTreesFit, look: TreeView) -> PanelSheet:
    """The tree of the posterior mean through its training, or one draw as it stands."""
    if look.draw is None:
        frames = kept("soft-tree-frames", [fit], look.tree, lambda: tree_frames(fit, look.tree))
    else:
        parts = (look.gates, look.reach, look.leaf_means, look.output)
        steps = np.array([look.n_steps])
        frames = TreeFrames(look.tree, steps, look.x, *(part[None] for part in parts))
    return tree_sheet(frames, fit.data, fit.elbo[look.tree], alt=describe_tree(look))


def draw_correlations(fit: SoftTreesFit, tree: int) -> None:
    """How the tree's parameters vary together, in words and as a map."""
    view = correlations_of(fit, tree)
    many = view.n_parameters > _MOST_CORRELATED
    more = " There are too many parameters for a picture." if many else ""
    st.text(f"{describe_covariance(view)}{more}", width="stretch")
    if not many:
        canvas(correlation_sheet(view), key="soft-trees-correlation")


def correlations_of(fit: SoftTreesFit, tree: int) -> CovarianceView:
    """The posterior's covariance, worked out once."""
    return kept("soft-trees-covariance", [fit], tree, lambda: covariance_view(fit, tree))


def draw_stages(fit: SoftTreesFit, settings: SoftTreesSettings) -> None:
    """The boosted sum tree by tree."""
    view: StagesView = kept(
        "soft-trees-stages",
        [fit],
        (settings.n_functions, settings.draw_seed),
        lambda: stages_view(fit, settings),
    )
    sheet = stages_sheet(view, fit.data)
    st.text(sheet.alt, width="stretch")
    canvas(sheet, key="soft-trees-stages")
