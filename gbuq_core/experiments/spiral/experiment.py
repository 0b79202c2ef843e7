"""Spiral as a page, a lesson and a download find it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from gbuq_core.errors import GbuqError
from gbuq_core.experiments.experiment import Closer, Experiment
from gbuq_core.experiments.spiral.charts import (
    burn_in_section,
    ends_of,
    point_section,
    walk_section,
)
from gbuq_core.experiments.spiral.claims import (
    STUDY,
    answer_spiral,
    check_claims,
    settings_text,
)
from gbuq_core.experiments.spiral.data import EXTENT
from gbuq_core.experiments.spiral.export import score_section, spiral_code, spiral_csv
from gbuq_core.experiments.spiral.fit import (
    SpiralFit,
    SpiralMaps,
    SpiralRun,
    fit_spiral,
    map_spiral,
    spiral_truth,
)
from gbuq_core.experiments.spiral.picture import spiral_sheet
from gbuq_core.experiments.spiral.plan import (
    METHODS,
    SpiralSettings,
    estimate_spiral_seconds,
    why_not,
)
from gbuq_core.experiments.spiral.quality import walk_off
from gbuq_core.experiments.spiral.scores import describe_spiral, score_spiral
from gbuq_core.figures.canvas.panels import Line, Marker, PanelSheet
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.glossary import UNCERTAINTY_KINDS
from gbuq_core.knobs import Knob
from gbuq_core.synthetic import make_spiral


def _place(key: str, label: str, default: int) -> Knob:
    """A coordinate in a box beside the picture, so that the keyboard can set it too."""
    low, high = EXTENT
    return Knob(
        key, label, "integer", default, int(low), int(high), step=15, group="page", box=True
    )


# Between two arms: where all three methods' members may differ. The ray leaves the data on the way.
POINT = (_place("px", "x", 0), _place("py", "y", -190))
RAY = (
    _place("rx", "from x", 0),
    _place("ry", "from y", 0),
    _place("sx", "to x", 600),
    _place("sy", "to y", 450),
)
ALONG = Knob("along", "Along it", "choice", "knowledge", choices=UNCERTAINTY_KINDS, group="page")

# All are open in a link, as they were before they could fold.
POINT_OPEN = Knob("one_point", "One point", "switch", True, group="page")
WALK_OPEN = Knob("walk", "A walk out of the data", "switch", True, group="page")
CYCLES_OPEN = Knob(
    "first_cycles", "How much knowledge uncertainty comes from the first cycles", "switch", True,
    group="page",
)  # fmt: skip
COMPUTE_OPEN = Knob("compute", "What compute buys", "switch", True, group="page")


def _point_of(sheet: PanelSheet, values: SimpleNamespace) -> PanelSheet:
    return replace(sheet, markers=(Marker(float(values.px), float(values.py)),))


def _line_of(sheet: PanelSheet, values: SimpleNamespace) -> PanelSheet:
    start, end = ends_of(values)
    x, y = zip(start, end, strict=True)
    return sheet if start == end else replace(sheet, lines=(Line(x, y, arrow=True),))


def _why_not(plan: SpiralSettings) -> str:
    """The reason with the method it is about: two methods may refuse the same settings."""
    reason = why_not(plan)
    missing = plan.kind.record.missing()
    return missing or (f"{plan.kind.label}: {reason}" if reason else "")


def _view(fit: SpiralFit, settings: SpiralSettings) -> SpiralMaps:
    maps = map_spiral(fit, settings)
    return replace(maps, score=score_spiral(maps, spiral_truth(fit.plan.noise)))


def _depends(fit: SpiralFit, settings: SpiralSettings) -> tuple[Any, ...]:
    kind = fit.plan.kind
    if kind.cyclical:
        return settings.burn_in, settings.shown
    return (settings.step, settings.start, settings.shown) if kind.virtual else (settings.shown,)


def _run(settings: SpiralSettings, views: Sequence[SpiralMaps]) -> SpiralRun:
    data = views[0].fit.data if views else make_spiral(settings.rows, settings.noise, settings.seed)
    return SpiralRun(settings, data, spiral_truth(settings.noise), tuple(views))


def _sheet(run: SpiralRun, views: Sequence[SpiralMaps], knobs: Sequence[LiveKnob]) -> PanelSheet:
    words = describe_spiral(run)
    return spiral_sheet(run.truth, run.data, views, run.settings, alt=words, knobs=knobs)


def _beyond(run: SpiralRun) -> str:
    """What the first method does beyond the rows."""
    try:
        offs = [walk_off(maps.fit, run.settings).sentence for maps in run.methods[:1]]
    except GbuqError as error:
        offs = [str(error)]
    return "".join(f"**Outside the data**\n\n{sentence}" for sentence in offs)


SPIRAL = Experiment(
    name="spiral",
    question="Does the model know that it left the data?",
    lede="Three classes lie on the arms of a spiral. Beyond the dotted line there are no rows. "
    "Does the model's **knowledge** uncertainty say so? Click a place to ask every member.",
    settings=SpiralSettings,
    methods=METHODS,
    why_not=_why_not,
    estimate=estimate_spiral_seconds,
    fit=fit_spiral,
    view=_view,
    depends=_depends,
    run=_run,
    sheet=_sheet,
    followed=False,
    answer=answer_spiral,
    claims=check_claims,
    about=lambda run: settings_text(run.settings),
    remark=_beyond,
    study=STUDY,
    scores=score_section,
    closer=(
        Closer(POINT_OPEN, POINT, point_section, mark=_point_of),
        Closer(
            WALK_OPEN,
            (*RAY, ALONG),
            walk_section,
            "Draw another line on a map (the arrow above it), or type its ends.",
            mark=_line_of,
        ),
        Closer(CYCLES_OPEN, (), burn_in_section),
    ),
    code=lambda run: spiral_code(run.settings),
    tables=lambda run: {"Data": spiral_csv},
    title="The spiral",
    lead="The three arms of a spiral are three classes. After Malinin, Prokhorenkova and "
    "Ustimenko, Uncertainty in gradient boosting via ensembles (arXiv 2006.10562), section 4, and "
    "Tan, Huertas and Zhao, Efficient and effective uncertainty quantification in gradient "
    "boosting via cyclical gradient MCMC (CEUR-WS 3381, paper 47), section 5.1.",
    equations=r"""
Malinin, Prokhorenkova and Ustimenko, [Uncertainty in gradient boosting via
ensembles](https://arxiv.org/abs/2006.10562), section 4. Total, data and knowledge uncertainty of M
members with class probabilities p (equations 3 to 5), in nats:

$$
\underbrace{H\!\left(\tfrac1M\sum_m p_m\right)}_{\text{total}}
=\underbrace{\tfrac1M\sum_m H(p_m)}_{\text{data}}+\underbrace{\mathcal I}
_{\text{knowledge}},\quad H(p)=-\sum_c p_c\ln p_c
$$

Tan, Huertas and Zhao, [Efficient and effective uncertainty quantification in gradient boosting via
cyclical gradient MCMC](https://ceur-ws.org/Vol-3381/47.pdf), scale the gradients of tree t in
cycles of C trees (algorithm 1, equation 7) and take a member at the end of each cycle. They do not
scale the noise:

$$
\alpha_t=\max\!\left(\tfrac{\alpha_{\max}}2\left(\cos\tfrac{\pi\,(t\bmod C)}{C}
+1\right),\ \alpha_{\min}\right)
$$

While cbSGLB explores, it uses the gradients of a random share of the rows only. A virtual ensemble
is one model; its members are that model cut at K, 2K, ... trees above the start. M members count
for M / (1 + (M - 1) rho) independent ones, where rho is the mean correlation between their errors.
""",
    departures="Boosting",
)
