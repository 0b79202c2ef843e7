"""The spiral's numbers to take away: a table of cells, and Python that computes the maps again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gbuq_core.experiments.python_text import arguments_text, import_lines
from gbuq_core.experiments.spiral.fit import GRID, SpiralRun
from gbuq_core.experiments.spiral.plan import (
    METHODS,
    SpiralPlan,
    SpiralSettings,
    member_trees,
    plan_spiral,
    spiral_knobs,
)
from gbuq_core.presentation import csv_text

_IMPORTED = (
    "gbuq_core:make_spiral",
    "gbuq_core.figures.canvas.panels:Panel",
    "gbuq_core.figures.canvas.panels:PanelSheet",
    "gbuq_core.figures.standalone:standalone_html",
    "gbuq_core.metrics:auroc",
    "gbuq_core.synthetic:spiral_density",
    "gbuq_core.synthetic:spiral_features",
    "gbuq_core.synthetic:spiral_posterior",
    "gbuq_core.uncertainty:entropy",
)
_SHOW = """
far = density <= np.quantile(density, 0.4)
truth = entropy(posterior).reshape(80, 80)
panels = [Panel(title="True data uncertainty", values=truth, unit="nats")]
for name, parts in maps.items():
    print(f"{name}: AUROC of knowledge uncertainty on far cells {auroc(far, parts.knowledge):.3f}")
    panels += [
        Panel(title=f"{name}: {part}", values=getattr(parts, part).reshape(80, 80), unit="nats")
        for part in ("total", "data", "knowledge")
    ]
sheet = PanelSheet(panels=panels, columns=4, x_extent=(-600, 600), y_extent=(-600, 600))
Path("spiral.html").write_text(standalone_html(sheet, "Spiral"), encoding="utf-8")
"""


def spiral_csv(run: SpiralRun) -> str:
    """One line a cell of the grid: its place and truth, then every method's numbers.

    Class probabilities and uncertainties in nats, with nine digits; empty where there is no value.

    Examples
    --------
    >>> from gbuq_core.experiments.spiral.fit import run_spiral
    >>> spiral_csv(run_spiral(SpiralSettings(methods=()))).splitlines()[1][:14]
    '-592.5,-592.5,'
    """
    truth = run.truth
    names = ["x", "y", "true_log_density", "in_support", "true_data_uncertainty"]
    names += [f"true_class_{i + 1}" for i in range(3)]
    columns = [*GRID.T, truth.log_density, truth.in_support.astype(int), truth.data_uncertainty]
    columns += [*truth.proba]
    for maps in run.methods:
        names += [f"{maps.method}_{part}" for part in ("total", "data", "knowledge")]
        names += [f"{maps.method}_class_{i + 1}" for i in range(3)]
        columns += [maps.total[-1], maps.data[-1], maps.knowledge[-1], *maps.proba]
    return csv_text(names, zip(*map(np.ravel, columns), strict=True))


def spiral_code(settings: SpiralSettings) -> str:
    """Python that computes and draws the maps with the library's public names.

    Examples
    --------
    >>> "burn_in_cycles=2" in spiral_code(SpiralSettings(burn_in=2))
    True
    """
    plans = [plan_spiral(settings, method) for method in settings.methods]
    data = {
        "n_per_class": settings.rows,
        "noise": settings.noise,
        "random_state": settings.seed,
    }
    lines = ["from pathlib import Path", "", "import numpy as np", ""]
    forests = not all(METHODS[plan.method].boosting for plan in plans)
    lines += import_lines(
        [
            *_IMPORTED,
            *["gbuq_core.uncertainty:decompose_classification"] * forests,
            *(METHODS[plan.method].builder.of for plan in plans),
        ]
    )
    lines += [
        "",
        f"spiral = make_spiral({arguments_text(data)})",
        "axis = np.linspace(-592.5, 592.5, 80)",
        "points = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)",
        "grid = spiral_features(points)",
        f"posterior = spiral_posterior(points, noise={settings.noise!r})",
        f"density = spiral_density(points, noise={settings.noise!r}).mean(axis=1)",
        "maps = {}",
    ]
    for plan in plans:
        lines += _method_lines(plan, settings)
    return "\n".join(lines) + "\n" + _SHOW


def _method_lines(plan: SpiralPlan, settings: SpiralSettings) -> list[str]:
    kind, knobs = METHODS[plan.method], spiral_knobs(plan)
    shown = _limit(plan, settings)
    if not kind.boosting:
        members = f"members[:{shown}]" if shown else "members"
        return [
            "",
            f"model = {kind.builder.name}({arguments_text(knobs)})",
            "members = model.fit(spiral.X, spiral.y).predict_members(grid)",
            f'maps["{kind.label}"] = decompose_classification({members})',
        ]
    if kind.cyclical:
        knobs["burn_in_cycles"] = settings.burn_in
    elif kind.virtual:
        knobs |= {"truncation_step": settings.step, "truncation_start": settings.start}
    limit = f", n_members={shown}" if shown else ""
    lines = [
        "",
        f"model = {kind.builder.name}(",
        "    stopping=None,  # all trees, as in the paper",
    ]
    lines += [f"    {name}={value!r}," for name, value in knobs.items()]
    lines += [
        ").fit(spiral.X, spiral.y)",
        f'maps["{kind.label}"] = model.predict_uncertainty(grid{limit})',
    ]
    return [line.replace("'", '"') for line in lines]


def _limit(plan: SpiralPlan, settings: SpiralSettings) -> int | None:
    """How many members count, where that is fewer than there are."""
    shown, n_members = settings.shown, plan.members
    if shown is not None and METHODS[plan.method].virtual:
        n_members = len(member_trees(plan, replace(settings, shown=None)))
    return shown if shown is not None and shown < n_members else None
