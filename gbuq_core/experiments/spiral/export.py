"""The spiral's numbers to take away: a table of cells, and Python that computes the maps again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gbuq_core.experiments.python_text import arguments_text, call_lines, import_lines
from gbuq_core.experiments.spiral.fit import GRID, SpiralRun
from gbuq_core.experiments.spiral.plan import (
    METHODS,
    SpiralSettings,
    member_trees,
    spiral_arguments,
    why_not,
)
from gbuq_core.experiments.spiral.regions import MIN_BETWEEN
from gbuq_core.experiments.spiral.scores import scores_of
from gbuq_core.figures.standalone import Section
from gbuq_core.presentation import csv_text, digits, megabytes, percent
from gbuq_core.settings import plan_of

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
    """One line a cell of the grid: its place and truth, then every method's numbers."""
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
    """Python that computes and draws the maps with the library's public names."""
    possible = (m for m in settings.methods if not why_not(plan_of(settings, m), settings))
    settings = replace(settings, methods=tuple(possible))
    data = {
        "n_per_class": settings.rows,
        "noise": settings.noise,
        "random_state": settings.seed,
    }
    lines = ["from pathlib import Path", "", "import numpy as np", ""]
    forests = not all(METHODS[method].boosting for method in settings.methods)
    lines += import_lines(
        [
            *_IMPORTED,
            *["gbuq_core.uncertainty:decompose_classification"] * forests,
            *(METHODS[method].builder.of for method in settings.methods),
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
    for method in settings.methods:
        lines += _method_lines(replace(settings, methods=(method,)))
    return "\n".join(lines) + "\n" + _SHOW


def _method_lines(one: SpiralSettings) -> list[str]:
    """Code that fits the method of these settings and maps its uncertainty."""
    kind, shown = one.kind, _limit(one)
    model = call_lines(f"model = {kind.builder.name}", spiral_arguments(one))
    lines = ["", *model[:-1], ").fit(spiral.X, spiral.y)"]
    if not kind.boosting:
        members = f"members[:{shown}]" if shown else "members"
        return [
            *lines,
            "members = model.predict_members(grid)",
            f'maps["{kind.label}"] = decompose_classification({members})',
        ]
    limit = f", n_members={shown}" if shown else ""
    return [*lines, f'maps["{kind.label}"] = model.predict_uncertainty(grid{limit})']


def _limit(one: SpiralSettings) -> int | None:
    """How many members count, where that is fewer than there are."""
    shown, n_members = one.shown, one.members
    if shown is not None and one.kind.virtual:
        n_members = len(member_trees(one, replace(one, shown=None)))
    return shown if shown is not None and shown < n_members else None


def score_section(run: SpiralRun) -> Section:
    """A line a score and a column a method, so that it fits a phone."""
    scores = scores_of(run)

    def line(title: str, values: Sequence[float]) -> tuple[str, ...]:
        return title, *(digits(float(value)) for value in values)

    rows = [
        ("Score", *(METHODS[maps.method].label for maps in run.methods)),
        ("AUROC of knowledge, far", *(_auroc(s.auroc_far) for s in scores)),
        ("AUROC of total, far", *(_auroc(s.auroc_far_total) for s in scores)),
        ("AUROC of knowledge, between", *(_auroc(s.auroc_between) for s in scores)),
        line("Knowledge, among the data", [s.ku_mean_inside for s in scores]),
        line("Knowledge, outside", [s.ku_mean_outside for s in scores]),
        line("At class borders, times as high", [s.border_ratio for s in scores]),
        line("Error of data, mean", [s.data_error for s in scores]),
        line("NLL, fresh rows", [s.nll for s in scores]),
        ("Wrong, fresh rows", *(percent(s.error, 1) for s in scores)),
        ("Members", *(str(s.n_members) for s in scores)),
        line("Effective members", [s.size.effective for s in scores]),
        ("Trees in all", *(f"{s.n_trees:,}" for s in scores)),
        line("Seconds", [s.seconds for s in scores]),
        ("Megabytes", *(megabytes(s.memory_bytes) for s in scores)),
    ]
    first = scores[0]
    caption = (
        "Uncertainties are in nats. An AUROC of 0.5 is chance. Far compares the 40 % of the cells "
        "with the lowest true density to all others. Between compares cells in the gaps between "
        "the arms to cells with rows; a dash means that the gaps have fewer than "
        f"{MIN_BETWEEN} cells, because the arms are wide. Fresh rows are 1,500 rows that no method "
        f"has seen. On them the best possible prediction gets {100 * first.error_optimal:.1f} % "
        f"wrong, with an NLL of {first.nll_optimal:.3f}. Effective members: how many independent "
        "members would be worth as much. Seconds are the training time; megabytes are the size of "
        "the trained models."
    )
    return Section(heading="Scorecard", table=rows, caption=caption)


def _auroc(value: float) -> str:
    return "\u2013" if math.isnan(value) else f"{value:.3f}"
