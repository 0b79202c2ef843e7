"""Heart as a page, a lesson and a download find it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gbuq_core.experiments.experiment import Experiment
from gbuq_core.experiments.heart.data import make_painted_heart
from gbuq_core.experiments.heart.export import heart_code, heart_csv, score_section
from gbuq_core.experiments.heart.fit import OPENING, HeartMaps, HeartRun, fit_heart, map_heart
from gbuq_core.experiments.heart.picture import heart_sheet
from gbuq_core.experiments.heart.plan import METHODS, HeartSettings, estimate_heart_seconds
from gbuq_core.experiments.heart.scores import STUDY, answer_heart, check_claims, describe_heart
from gbuq_core.figures.canvas.panels import PanelSheet
from gbuq_core.figures.handles import LiveKnob


def _run(settings: HeartSettings, views: Sequence[HeartMaps]) -> HeartRun:
    """The maps with their truth, which is there before any of them."""
    given = settings.rows, settings.noise, settings.seed, settings.cells
    return HeartRun(settings, views[0].truth if views else make_painted_heart(*given), tuple(views))


def _sheet(run: HeartRun, views: Sequence[HeartMaps], knobs: Sequence[LiveKnob]) -> PanelSheet:
    return heart_sheet(run.data, views, run.settings, describe_heart(run), knobs)


def _depends(fit: Any, settings: HeartSettings) -> tuple[Any, ...]:
    return settings.step, settings.start, settings.shown


HEART = Experiment(
    name="heart",
    question="Does the model know where it has seen nothing?",
    lede="The hatched cells have no training rows. Does the model's **knowledge** uncertainty find "
    "them? Click a cell to take its rows away.",
    settings=HeartSettings,
    methods=METHODS,
    why_not=lambda plan: METHODS[plan.method].record.missing(),
    estimate=estimate_heart_seconds,
    fit=fit_heart,
    opening=OPENING,
    view=map_heart,
    depends=_depends,
    run=_run,
    sheet=_sheet,
    answer=answer_heart,
    claims=check_claims,
    study=STUDY,
    scores=score_section,
    code=lambda run: heart_code(run.settings),
    tables=lambda run: {"Data": heart_csv},
    title="The heart",
    lead="Two features of nine levels. Hatched cells have no training rows. After Malinin, "
    "Prokhorenkova and Ustimenko, Uncertainty in gradient boosting via ensembles, section 4 (arXiv "
    "2006.10562).",
    equations=r"""
Malinin, Prokhorenkova and Ustimenko, [Uncertainty in gradient boosting via ensembles](https://arxiv.org/abs/2006.10562),
section 4. Total, data and knowledge uncertainty of M members
with means and variances of y (equation 6):

$$
\underbrace{\tfrac1M\sum_m\left(\mu_m-\bar\mu\right)^2+\tfrac1M\sum_m\sigma_m^2}_{\text{total}}
=\underbrace{\tfrac1M\sum_m\sigma_m^2}_{\text{data}}
+\underbrace{\tfrac1M\sum_m\left(\mu_m-\bar\mu\right)^2}_{\text{knowledge}}
$$

SGLB adds noise to the gradients before it fits a tree to them, and shrinks the model before each
tree (equations 11 and 12):

$$
F^{(t)}=(1-\gamma\epsilon)F^{(t-1)}+\epsilon\,h^{(t)},\quad
h^{(t)}\approx-g^{(t)}+\nu,\quad
\nu\sim\mathcal N\!\left(0,\tfrac{2}{\beta\epsilon}I\right)
$$

A virtual ensemble is one model. Its members are that model cut at K, 2K, ... trees above the start.
Each member is divided by the shrinkage that came after its cut (equation 15).
""",
    departures="Boosting",
)
