"""Spiral as a page, a lesson and a download find it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from gbuq_core.errors import GbuqError
from gbuq_core.experiments.experiment import Closer, Experiment
from gbuq_core.experiments.python_text import arguments_text, call_lines, import_lines
from gbuq_core.experiments.spiral.charts import (
    burn_in_section,
    ends_of,
    point_section,
    walk_section,
)
from gbuq_core.experiments.spiral.claims import STUDY, answer_spiral, check_claims, settings_text
from gbuq_core.experiments.spiral.data import EXTENT, GRID, spiral_truth
from gbuq_core.experiments.spiral.fit import (
    SpiralFit,
    SpiralMaps,
    SpiralRun,
    fit_spiral,
    map_spiral,
)
from gbuq_core.experiments.spiral.opening import OPENING
from gbuq_core.experiments.spiral.picture import spiral_sheet
from gbuq_core.experiments.spiral.plan import (
    FIRST,
    METHODS,
    SpiralSettings,
    member_trees,
    spiral_arguments,
    why_not,
)
from gbuq_core.experiments.spiral.probes import walk_off
from gbuq_core.experiments.spiral.scores import (
    MIN_BETWEEN,
    describe_spiral,
    score_spiral,
    scores_of,
)
from gbuq_core.figures.canvas.panels import Line, Marker, PanelSheet
from gbuq_core.figures.standalone import Section
from gbuq_core.glossary import UNCERTAINTY_KINDS
from gbuq_core.knobs import Knob
from gbuq_core.presentation import csv_text, digits, megabytes, percent
from gbuq_core.settings import plan_of
from gbuq_core.synthetic import make_spiral

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


def _method_lines(settings: SpiralSettings) -> list[str]:
    """Code that fits the method of these settings and maps its uncertainty."""
    kind, most = settings.kind, _limit(settings)
    model = call_lines(f"model = {kind.builder.name}", spiral_arguments(settings))
    lines = ["", *model[:-1], ").fit(spiral.X, spiral.y)"]
    if not kind.boosting:
        members = f"members[:{most}]" if most else "members"
        return [
            *lines,
            "members = model.predict_members(grid)",
            f'maps["{kind.label}"] = decompose_classification({members})',
        ]
    limit = f", n_members={most}" if most else ""
    return [*lines, f'maps["{kind.label}"] = model.predict_uncertainty(grid{limit})']


def _limit(settings: SpiralSettings) -> int | None:
    """How many members count, where that is fewer than there are."""
    most, n_members = settings.shown, settings.members
    if most is not None and settings.kind.virtual:
        n_members = len(member_trees(settings, replace(settings, shown=None)))
    return most if most is not None and most < n_members else None


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
    "first_cycles",
    "How much knowledge uncertainty comes from the first cycles",
    "switch",
    True,
    group="page",
)


def _line_of(sheet: PanelSheet, values: SimpleNamespace) -> PanelSheet:
    start, end = ends_of(values)
    x, y = zip(start, end, strict=True)
    return sheet if start == end else replace(sheet, lines=(Line(x, y, arrow=True),))


def _why_not(plan: SpiralSettings) -> str:
    """The reason with the method it is about: two methods may refuse the same settings."""
    reason = why_not(plan)
    return plan.kind.record.missing() or (f"{plan.kind.label}: {reason}" if reason else "")


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


def _beyond(run: SpiralRun) -> str:
    """What the first method does beyond the rows."""
    if not run.methods:
        return ""
    fit = run.methods[0].fit
    first = _depends(fit, run.settings) == _depends(fit, FIRST)  # whose sentence is stored
    try:
        sentence = (first and fit.beyond) or walk_off(fit, run.settings).sentence
    except GbuqError as error:
        sentence = str(error)
    return f"**Outside the data**\n\n{sentence}"


SPIRAL = Experiment(
    name="spiral",
    question="Does the model know that it left the data?",
    lede="Three classes lie on the arms of a spiral, without rows beyond the dashed line. Does the "
    "**knowledge** uncertainty of noisy boosting (SGLB) say so? Point at a place to read it.",
    settings=SpiralSettings,
    methods=METHODS,
    why_not=_why_not,
    fit=fit_spiral,
    opening=OPENING,
    view=_view,
    depends=_depends,
    gather=_run,
    sheet=lambda run, views, knobs: spiral_sheet(
        run.truth, run.data, views, run.settings, alt=describe_spiral(run), knobs=knobs
    ),
    answer=answer_spiral,
    claims=check_claims,
    about=lambda run: settings_text(run.settings),
    remark=_beyond,
    seeds=STUDY,
    scores=score_section,
    closer=(
        Closer(
            POINT_OPEN,
            POINT,
            point_section,
            mark=lambda sheet, at: replace(sheet, markers=(Marker(float(at.px), float(at.py)),)),
            whole=True,
        ),
        Closer(
            WALK_OPEN,
            (*RAY, ALONG),
            walk_section,
            "Draw another line on a map (the arrow above it), or type its ends.",
            mark=_line_of,
            whole=True,
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
