"""25 Gaussians as a page, a lesson and a download find it."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

from gbuq_core.experiments.experiment import Closer, Experiment
from gbuq_core.experiments.gaussians.claims import (
    STUDY,
    answer_gaussians,
    check_claims,
    describe_settings,
    why_no_claims,
)
from gbuq_core.experiments.gaussians.cycle_picture import ABOUT_CYCLE, cycle_section
from gbuq_core.experiments.gaussians.export import gaussians_code, gaussians_csv
from gbuq_core.experiments.gaussians.fit import (
    GaussiansRun,
    SamplerRun,
    run_sampler,
    target_grid,
)
from gbuq_core.experiments.gaussians.picture import gaussians_sheet, opening_sheet
from gbuq_core.experiments.gaussians.plan import GaussiansSettings, estimate_sampler_seconds
from gbuq_core.experiments.gaussians.scores import (
    describe_gaussians,
    describe_race,
    lede_of,
    score_section,
)
from gbuq_core.figures.canvas.panels import PanelSheet
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.knobs import Knob
from gbuq_core.sampling import SAMPLERS

SLOW = Knob("slow", "One cycle in slow motion", "switch", False, group="page")
CYCLE = Knob(
    "cycle", "Cycle", "integer", 1, 1, 100, step=1, group="page",
    help="Which cycle is shown. The start of the chain belongs to the first one.",
)  # fmt: skip


def _run(settings: GaussiansSettings, runs: Sequence[SamplerRun]) -> GaussiansRun:
    return GaussiansRun(settings, target_grid(settings.target), tuple(runs))


def _view(run: SamplerRun, settings: GaussiansSettings) -> SamplerRun | None:
    """A run over another target cannot stand beside this one."""
    return run if run.plan.target == settings.target else None


def _sheet(race: GaussiansRun, runs: Sequence[SamplerRun], knobs: Sequence[LiveKnob]) -> PanelSheet:
    return gaussians_sheet(race.truth, runs, race.settings, describe_gaussians(race), knobs)


def _opening(sheet: PanelSheet, race: GaussiansRun, values: SimpleNamespace) -> PanelSheet:
    """The samplers' maps; with `every` the target and all charts."""
    return sheet if values.every else opening_sheet(sheet, race.truth)


GAUSSIANS = Experiment(
    name="gaussians",
    question="Can one chain find all the modes?",
    lede=lede_of,
    settings=GaussiansSettings,
    methods=SAMPLERS,
    why_not=lambda plan: "",  # every sampler can run
    estimate=estimate_sampler_seconds,
    fit=run_sampler,
    view=_view,
    depends=lambda _, given: given.target,
    chosen=lambda given: given.samplers,
    done="Sampled",
    invitation="",  # the lede says it
    warn=lambda run: run.stopped[:1].lower() + run.stopped[1:],
    run=_run,
    sheet=_sheet,
    begin=_opening,
    followed=False,
    reading="Size is step size times gradient scale; for schedules with many cycles the charts "
    "show three. Dashed lines are the longest step that does not throw a chain farther from a "
    "mode, and the target's marginals. Shaded steps explore: their samples do not count. Dots on "
    "the maps show where chain 1 has been since the previous frame.",
    answer=answer_gaussians,
    claims=check_claims,
    about=lambda race: describe_settings(race.settings),
    silence=why_no_claims,
    study=STUDY,
    scores=score_section,
    closer=(Closer(SLOW, (CYCLE,), cycle_section, hint=ABOUT_CYCLE, alone=True),),
    code=lambda run: gaussians_code(run.settings),
    tables=lambda run: {"Data": gaussians_csv},
    title="25 Gaussians",
    lead=lambda race: (
        f"{describe_race(race.settings)} After Tan, Huertas and Zhao, Efficient and Effective "
        "Uncertainty Quantification in Gradient Boosting via Cyclical Gradient MCMC, section 5.1 "
        "(CEUR Vol-3381, paper 47)."
    ),
    equations=r"""
Tan, Huertas and Zhao, [Efficient and Effective Uncertainty Quantification in Gradient Boosting via
Cyclical Gradient MCMC](https://ceur-ws.org/Vol-3381/47.pdf), section 5.1 and appendix B.1. Every
sampler takes this step, with a noisy gradient of -log p:

$$
x_{t+1}=x_t-\epsilon_t\,\alpha_t\left(\nabla U(x_t)+\sigma_g\,\zeta_t\right)
+s\sqrt{2\epsilon_t}\,\xi_t,\qquad \zeta_t,\xi_t\sim\mathcal N(0,I)
$$

SGLD lets the step size fall. N-SGLD keeps it and sets the noise scale s to 5. clr-SGLD makes the
step size cyclic, and cg-SGLD the gradient's scale. A cycle has C steps:

$$
\epsilon_t^{\text{SGLD}}=\epsilon_0(t+1)^{-0.55},\quad
\epsilon_t^{\text{clr}}=\tfrac{\epsilon_0}{2}\left(\cos\tfrac{\pi(t\bmod C)}{C}
+1\right),\quad \alpha_t^{\text{cg}}=\max\left(\tfrac{\alpha_{\max}}{2}\left(
\cos\tfrac{\pi(t\bmod C)}{C}+1\right),\alpha_{\min}\right)
$$

Where -log p has curvature h, a gradient step s multiplies the distance to the centre by 1 - s h. A
step above 2 / h (the dashed line) lands farther from the centre than it started, and with a little
noise the chain leaves the mode. In the 25 Gaussians 2 / h is 0.06. At a learning rate of 0.01,
cg-SGLD explores while its scale is above 6, and stays where it is below that. clr-SGLD's Langevin
noise grows with its step, so it gets out earlier.
""",
    departures="25 Gaussians",
)
