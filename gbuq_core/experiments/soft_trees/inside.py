"""Inside the soft trees: gates and leaves through the training, the boosted sum, correlations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from types import MappingProxyType, SimpleNamespace

import numpy as np

from gbuq_core.experiments.experiment import Keep, Rows
from gbuq_core.experiments.soft_trees.charts import (
    correlation_sheet,
    level_words,
    stages_sheet,
    tree_sheet,
)
from gbuq_core.experiments.soft_trees.fit import SoftTreesFit
from gbuq_core.experiments.soft_trees.flow import (
    TreeFlow,
    describe_flow,
    flow_draws,
    flow_figure,
    tree_flow,
)
from gbuq_core.experiments.soft_trees.look import (
    TreeFrames,
    TreeView,
    covariance_view,
    stages_view,
    tree_frames,
    tree_view,
)
from gbuq_core.experiments.soft_trees.opening import whole_fit
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
from gbuq_core.figures.standalone import Section
from gbuq_core.knobs import Knob, narrow
from gbuq_core.settings import from_values, knobs_of

KNOBS = MappingProxyType({knob.key: knob for knob in knobs_of(SoftTreesSettings)})
INSIDE = Knob("inside", "Inside one tree", "switch", True, group="page")
PLACE = Knob(
    "tree_x",
    "Point",
    "number",
    57.5,
    0.0,
    100.0,
    step=0.25,
    unit="%",
    group="picture",
    help="Where the point is, as a share of the axis.",
)
_EMPTY = "Choose VST or VSGBM in All settings to see the inside of a soft tree."
_READ = (
    "Drag the point along x. Each gate sends a share of the point to the right, and each leaf "
    "answers with a value, whose weight is the share that reaches it. The prediction is the "
    "weighted sum. Where do several leaves share the point?"
)
_TRAINED = (
    "Play this picture to see gates and leaves move during training. A leaf's line is strong where "
    "its weight is large. The unbroken line in the colour of the text is the tree's prediction."
)
_DRAWN = "The same draw over the whole axis. The mean of the posterior can be played."
_MOST_CORRELATED = 400  # parameters of a picture


def inside_sections(
    settings: SoftTreesSettings,
    fits: Sequence[SoftTreesFit],
    values: SimpleNamespace,
    keep: Keep,
    again: bool,
) -> Rows:
    """The tree that is chosen, and what its posterior is like; ``again`` fits what is stored."""
    soft = {fit.method: fit for fit in fits if fit.method in SOFT_METHODS}
    soft = {key: whole_fit(fit) for key, fit in soft.items() if again or fit.model is not None}
    if not soft:
        chosen = set(SOFT_METHODS) & set(settings.methods)
        return [Section(text="No soft tree is trained yet." if chosen else _EMPTY)]
    looked = (fit for key, fit in soft.items() if METHODS[key].label == values.whose)
    fit = next(looked, next(iter(soft.values())))
    look = tree_view(fit, settings)
    sentences = [_TRAINED if look.draw is None else _DRAWN, *look.notes]
    if len(look.gates):
        sentences.append(f"Colours of the gates: {level_words(len(look.gates))}.")
    words = f"{describe_tree(look)} {describe_elbo(fit)}"
    correlated = _correlations(fit, look.tree, keep)
    return [
        Section(text=_READ, curves=flow_figure_of(values, [*soft.values()], keep)),
        Section(text=words, sheet=_tree_sheet(fit, look, keep), caption=" ".join(sentences)),
        (correlated, _stages(fit, settings, keep)) if fit.method == "vsgbm" else correlated,
    ]


def flow_figure_of(values: SimpleNamespace, fits: Sequence[SoftTreesFit], keep: Keep) -> Curves:
    """The trees with a point that flows through them, and the bar that chooses among them."""
    settings = from_values(SoftTreesSettings, vars(values))
    flows = [_flow_of(fit, settings, keep) for fit in fits]
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


def _flow_of(fit: SoftTreesFit, settings: SoftTreesSettings, keep: Keep) -> TreeFlow:
    """Gates and leaves, written out again only for a draw that is not among them."""
    further = settings.draw if settings.draw > flow_draws(fit) else 0
    depends = settings.draw_seed, further
    name = f"soft-trees:flow:{fit.method}"
    return keep(name, [fit], depends, partial(tree_flow, fit, settings))


def _tree_sheet(fit: SoftTreesFit, look: TreeView, keep: Keep) -> PanelSheet:
    """The tree of the posterior mean through its training, or one draw as it stands."""
    if look.draw is None:
        frames = keep("soft-tree-frames", [fit], look.tree, lambda: tree_frames(fit, look.tree))
    else:
        parts = (look.gates, look.reach, look.leaf_means, look.output)
        steps = np.array([look.n_steps])
        frames = TreeFrames(
            look.tree, steps, look.x, *(part.astype(np.float32)[None] for part in parts)
        )
    return tree_sheet(frames, fit.data, fit.elbo[look.tree], alt=describe_tree(look))


def _correlations(fit: SoftTreesFit, tree: int, keep: Keep) -> Section:
    """How the tree's parameters vary together, in words and as a map."""
    view = keep("soft-trees-covariance", [fit], tree, lambda: covariance_view(fit, tree))
    heading, words = "Correlated parameters", describe_covariance(view)
    if view.n_parameters > _MOST_CORRELATED:
        return Section(
            heading=heading, text=f"{words} There are too many parameters for a picture."
        )
    return Section(heading=heading, text=words, sheet=correlation_sheet(view))


def _stages(fit: SoftTreesFit, settings: SoftTreesSettings, keep: Keep) -> Section:
    """The boosted sum tree by tree."""
    depends = settings.n_functions, settings.draw_seed
    view = keep("soft-trees-stages", [fit], depends, lambda: stages_view(fit, settings))
    sheet = stages_sheet(view, fit.data)
    return Section(heading="The sum, tree by tree", text=sheet.alt, sheet=sheet)
