"""25 Gaussians as a page, a lesson and a download find it."""

from __future__ import annotations

from collections.abc import Mapping

from gbuq_core.experiments.experiment import Closer, Experiment
from gbuq_core.experiments.gaussians.cycle import ABOUT_CYCLE, cycle_section
from gbuq_core.experiments.gaussians.fit import (
    OPENING,
    GaussiansRun,
    run_sampler,
    target_grid,
)
from gbuq_core.experiments.gaussians.picture import gaussians_sheet, opening_sheet
from gbuq_core.experiments.gaussians.plan import GaussiansSettings
from gbuq_core.experiments.gaussians.scores import (
    STUDY,
    answer_gaussians,
    check_claims,
    describe_gaussians,
    describe_race,
    describe_settings,
    lede_of,
    score_section,
    why_no_claims,
)
from gbuq_core.knobs import Knob
from gbuq_core.presentation import csv_text
from gbuq_core.sampling import SAMPLERS
from gbuq_core.settings import arguments, plan_of

_COLUMNS = (
    "sampler", "step", "kept_samples", "modes_visited", "share_in_modes", "occupancy_error",
    "kl_nats", "chain_1_x", "chain_1_y",
)  # fmt: skip

_COMMON = ("target", "n_steps", "n_chains", "random_state", "gradient_noise")  # to all samplers

_SHOW = """
left, right, bottom, top = target.extent
area = (right - left) * (top - bottom) / 60**2
panels = [Panel(title="Target", values=cell_probabilities(target, 60) / area, unit="per unit area")]
for sampler, options in samplers.items():
    chains = sample_mixture(sampler, **common, **options)
    report = diagnose(chains)
    print(
        f"{sampler}: modes {np.median(report.modes_visited):g} of {len(target.weights)}, "
        f"occupancy error {report.all_occupancy_error:.3f}, KL {report.all_grid_kl:.3f} nats"
    )
    x, y = chains.samples[:, chains.kept].reshape(-1, 2).T
    box = [[bottom, top], [left, right]]
    counts, _, _ = np.histogram2d(y, x, bins=60, range=box)
    density = counts / (len(x) * area)
    panels.append(
        Panel(title=sampler, values=density, unit="per unit area", limits=panels[0].limits)
    )
sheet = PanelSheet(
    panels=panels, columns=len(panels), x_label="x", y_label="y",
    x_extent=(left, right), y_extent=(bottom, top),
)
Path("gaussians.html").write_text(standalone_html(sheet, "25 Gaussians"), encoding="utf-8")
"""


def gaussians_csv(race: GaussiansRun) -> str:
    """One line a sampler and frame: what it had found by then."""
    rows: list[tuple[object, ...]] = []
    for run in race.runs:
        columns = (
            run.steps,
            run.n_kept,
            run.modes_visited,
            run.share_in_modes,
            run.occupancy_error,
            run.divergence,
            *run.path[:, -1].T,
        )
        rows += [(run.sampler, *row) for row in zip(*columns, strict=True)]
    return csv_text(_COLUMNS, rows)


def gaussians_code(settings: GaussiansSettings) -> str:
    """Python that runs the samplers and draws their densities with the library's public names."""
    plans = {name: arguments(plan_of(settings, name)) for name in settings.samplers}
    shared = arguments(plan_of(settings, "sgld"))
    common = {name: shared[name] for name in _COMMON}
    lines = [
        "from pathlib import Path",
        "",
        "import numpy as np",
        "",
        "from gbuq_core import sample_mixture",
        "from gbuq_core.figures.canvas.panels import Panel, PanelSheet",
        "from gbuq_core.figures.standalone import standalone_html",
        "from gbuq_core.sampling import TARGETS, cell_probabilities, diagnose",
        "",
        f'target = TARGETS["{settings.target}"]',
        f"common = {_mapping(common)}",
        "samplers = {",
    ]
    for sampler, every in plans.items():
        own = {name: value for name, value in every.items() if name not in _COMMON}
        lines.append(f'    "{sampler}": {_mapping(own)},  # {SAMPLERS[sampler].label}')
    return "\n".join([*lines, "}"]) + _SHOW


def _mapping(mapping: Mapping[str, object]) -> str:
    text = ", ".join(f"'{name}': {value!r}" for name, value in mapping.items())
    return "{" + text.replace("'", '"') + "}"


SLOW = Knob("slow", "One cycle in slow motion", "switch", False, group="page")
CYCLE = Knob(
    "cycle",
    "Cycle",
    "integer",
    1,
    1,
    100,
    step=1,
    group="page",
    help="Which cycle is shown. The start of the chain belongs to the first one.",
)


GAUSSIANS = Experiment(
    name="gaussians",
    question="Can one chain find all the modes?",
    lede=lede_of,
    settings=GaussiansSettings,
    methods=SAMPLERS,
    why_not=lambda plan: "",  # every sampler can run
    fit=run_sampler,
    opening=OPENING,
    # A run over another target cannot stand beside this one.
    view=lambda run, settings: run if run.plan.target == settings.target else None,
    depends=lambda _, settings: settings.target,
    chosen=lambda settings: settings.samplers,
    done="Sampled",
    invitation="",  # the lede says it
    warn=lambda run: run.stopped[:1].lower() + run.stopped[1:],
    gather=lambda settings, runs: GaussiansRun(settings, target_grid(settings.target), tuple(runs)),
    sheet=lambda race, runs, knobs: gaussians_sheet(
        race.truth, runs, race.settings, describe_gaussians(race), knobs
    ),
    # The samplers' maps; with `every` the target and all charts.
    begin=lambda sheet, race, values: sheet if values.every else opening_sheet(sheet, race.truth),
    reading="Size is step size times gradient scale; for schedules with many cycles the charts "
    "show three. Dashed lines are the longest step that does not throw a chain farther from a "
    "mode, and the target's marginals. Shaded steps explore: their samples do not count. Dots on "
    "the maps show where chain 1 has been since the previous frame.",
    answer=answer_gaussians,
    claims=check_claims,
    about=lambda race: describe_settings(race.settings),
    silence=why_no_claims,
    seeds=STUDY,
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
