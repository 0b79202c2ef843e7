"""The race's numbers to take away: a table of frames, and Python that runs the samplers again."""

from __future__ import annotations

from collections.abc import Mapping

from gbuq_core.experiments.gaussians.fit import GaussiansRun
from gbuq_core.experiments.gaussians.plan import GaussiansSettings
from gbuq_core.presentation import csv_text
from gbuq_core.sampling import SAMPLERS
from gbuq_core.settings import arguments, plan_of

_COLUMNS = (
    *("sampler", "step", "kept_samples", "modes_visited", "share_in_modes", "occupancy_error"),
    *("kl_nats", "chain_1_x", "chain_1_y"),
)

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
    given = {name: arguments(plan_of(settings, name)) for name in settings.samplers}
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
    for sampler, every in given.items():
        own = {name: value for name, value in every.items() if name not in _COMMON}
        lines.append(f'    "{sampler}": {_mapping(own)},  # {SAMPLERS[sampler].label}')
    return "\n".join([*lines, "}"]) + _SHOW


def _mapping(given: Mapping[str, object]) -> str:
    text = ", ".join(f"'{name}': {value!r}" for name, value in given.items())
    return "{" + text.replace("'", '"') + "}"
