"""The members of a row tree by tree."""

from __future__ import annotations

import numpy as np

from gbuq_core.figures.standalone import Section
from gbuq_core.figures.table.growing import Growing, growing_figure
from gbuq_core.lenses.lens import MEMBERS, Lens, Seen
from gbuq_core.lenses.pictures import style_of
from gbuq_core.tables import grow_row, why_no_law, why_no_stages


def growing_of(seen: Seen) -> Growing:
    """The row tree by tree, as the figure takes it."""
    scored, row = seen.scored, seen.row
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


def _sections(seen: Seen, growing: Growing) -> list[Section]:
    who = "Each line is a member, a model of its own; its dot is where it stops."
    if seen.scored.plan.one_model:
        who = "Each dot is a member: the one model with so many trees."
    if not why_no_law(seen.scored):
        who += " These are the trees of the law, one of its voices."
    caption = f"{who} The vertical line marks the trees in use. Nothing is trained for this."
    return [Section(curves=growing_figure(growing), caption=caption)]


LENSES = (
    Lens(
        key="growing",
        place=MEMBERS,
        title="What do the members say while trees are added?",
        of_row=True,
        refuse=lambda seen: why_no_stages(seen.scored),
        compute=growing_of,
        sections=_sections,
    ),
)
