"""The same question in a plane: where do trees and the law of classes say that no row was there?

Spiral's rows. Far are the cells of the lowest true density, as on its own page.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gbuq_core.experiments.beyond.fit import TREES, Array
from gbuq_core.experiments.opening import Opening
from gbuq_core.experiments.ranking import auroc_of
from gbuq_core.figures.canvas.panels import Panel, PanelSheet, Points
from gbuq_core.figures.standalone import Section
from gbuq_core.presentation import decimal
from gbuq_core.synthetic import make_spiral, spiral_log_density

_SIDE, _EXTENT = 40, (-600.0, 600.0)  # cells, and where they lie, in each direction
_FAR_SHARE = 0.4  # of the cells


class PlanePlan(NamedTuple):
    """The rows of the plane."""

    rows: int = 100  # of each class
    noise: float = 0.2
    seeds: int = 5


class PlaneLook(NamedTuple):
    """Knowledge uncertainty (40, 40) of trees and law, and its AUROC for far cells, by seed."""

    trees: Array
    law: Array
    aurocs: Array  # (n_seeds, 2)


def look_plane(plan: PlanePlan) -> PlaneLook:
    """Fit the law of classes with each seed; the maps are those of the first."""
    from gbuq_core.boosting import BoostedEnsembleClassifier
    from gbuq_core.stacking import StackedClassifier

    axis = _EXTENT[0] + (np.arange(_SIDE) + 0.5) * (_EXTENT[1] - _EXTENT[0]) / _SIDE
    cells = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    density = np.logaddexp.reduce(spiral_log_density(cells, plan.noise), axis=1)
    far = (density <= np.quantile(density, _FAR_SHARE)).reshape(_SIDE, _SIDE)
    maps, aurocs = [], []
    for seed in range(plan.seeds):
        rows = make_spiral(plan.rows, plan.noise, seed)
        trees = BoostedEnsembleClassifier(**TREES, random_state=seed)
        law = StackedClassifier(trees, random_state=seed).fit(rows.X[:, :2], rows.y)
        both = [
            model.predict_uncertainty(cells).knowledge.reshape(far.shape)
            for model in (law.estimator_, law)
        ]
        maps.append(both)
        aurocs.append([auroc_of(far, ~far, knowledge) for knowledge in both])
    return PlaneLook(maps[0][0], maps[0][1], np.array(aurocs))


PLANE = PlanePlan()
LOOK = Opening(
    name="beyond", file="plane", kind=PlaneLook, make=look_plane, plans=lambda: [PLANE], bits=12
)


def plane_section() -> Section:
    """Maps of knowledge uncertainty of trees alone and of the law, and how well they find."""
    look: PlaneLook = LOOK.find(PLANE)
    rows = make_spiral(PLANE.rows, PLANE.noise, 0)
    aurocs = [decimal(auroc, 2) for auroc in look.aurocs.mean(axis=0)]
    names = ["class 1", "class 2", "class 3"]
    points = Points(rows.X[:, 0], rows.X[:, 1], rows.y, names, radius=1.2)
    words = (
        f"Knowledge uncertainty over the plane of Spiral, from {3 * PLANE.rows} rows. It finds the "
        f"farthest {100 * _FAR_SHARE:.0f} % of the cells with AUROC {aurocs[0]} for trees "
        f"alone and {aurocs[1]} for the law (means of {PLANE.seeds} seeds). 0.5 is chance."
    )
    panels = [
        Panel(title=title, values=values, unit="nats", limits=(0.0, 1.1), points=points)
        for title, values in (
            ("Trees alone: knowledge", look.trees),
            ("The law: knowledge", look.law),
        )
    ]
    sheet = PanelSheet(
        panels=panels,
        columns=2,
        x_extent=_EXTENT,
        y_extent=_EXTENT,
        origin="lower",
        aspect=1.0,
        panel_height=260,
        alt=words,
        name="beyond-plane",
    )
    return Section(heading="The same in a plane", sheet=sheet, caption=words)
