"""Heart as a page, a lesson and a download find it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gbuq_core.boosting.plan import truncation_points
from gbuq_core.experiments.experiment import Experiment
from gbuq_core.experiments.heart.data import make_painted_heart
from gbuq_core.experiments.heart.fit import OPENING, HeartMaps, HeartRun, fit_heart, map_heart
from gbuq_core.experiments.heart.picture import heart_sheet
from gbuq_core.experiments.heart.plan import (
    METHODS,
    HeartSettings,
    heart_arguments,
)
from gbuq_core.experiments.heart.scores import (
    STUDY,
    answer_heart,
    auroc_text,
    check_claims,
    describe_heart,
    score_heart,
)
from gbuq_core.experiments.python_text import arguments_text, call_lines, import_lines
from gbuq_core.figures.standalone import Section
from gbuq_core.glossary import STD_CAVEAT
from gbuq_core.presentation import csv_text, digits, megabytes

_IMPORTED = (
    "gbuq_core.figures.canvas.panels:Panel",
    "gbuq_core.figures.canvas.panels:PanelSheet",
    "gbuq_core.figures.standalone:standalone_html",
    "gbuq_core.metrics:auroc",
)
_SHOW = """
for name, (total, data, knowledge) in maps.items():
    score = auroc(empty, knowledge)
    print(f"{name}: AUROC of knowledge uncertainty on empty cells {score:.3f}")
    panels.append(truth)
    panels += [
        Panel(
            title=f"{name}: {part}",
            values=np.sqrt(values).reshape(9, 9),
            unit="std, units of y",
            hatched=hatched,
        )
        for part, values in [("total", total), ("data", data), ("knowledge", knowledge)]
    ]
sheet = PanelSheet(
    panels=panels or [truth], columns=4, x_label="feature 2", y_label="feature 1"
)
Path("heart.html").write_text(standalone_html(sheet, "Heart"), encoding="utf-8")
"""


def heart_csv(run: HeartRun) -> str:
    """One line a cell: its place, rows and truth, then every method's prediction and variances."""
    data = run.data
    names = ["feature_1", "feature_2", "training_rows", "true_mean", "true_noise_variance"]
    columns = [*data.grid.T, data.cell_counts, data.mean, data.variance]
    for maps in run.methods:
        method = maps.method
        names += [f"{method}_{part}" for part in ("mean", "total", "data", "knowledge")]
        columns += [maps.mean, maps.total[-1], maps.data[-1], maps.knowledge[-1]]
    return csv_text(names, zip(*map(np.ravel, columns), strict=True))


def heart_code(settings: HeartSettings) -> str:
    """Python that computes and draws the maps with the library's public names."""
    data = "make_painted_heart" if settings.cells else "make_heart"
    home = "gbuq_core.experiments.heart.data" if settings.cells else "gbuq_core"
    lines = ["from pathlib import Path", "", "import numpy as np", ""]
    lines += import_lines(
        [*_IMPORTED, f"{home}:{data}", *(METHODS[method].builder.of for method in settings.methods)]
    )
    lines += [
        "",
        f"heart = {data}({arguments_text(_data_arguments(settings))})",
        "hatched = ~heart.in_support",
        "empty = hatched.ravel()",
        "truth = Panel(",
        '    title="True noise",',
        "    values=np.sqrt(heart.variance),",
        '    unit="std, units of y",',
        "    hatched=hatched,",
        ")",
        "maps, panels = {}, []",
    ]
    for method in settings.methods:
        lines += _method_lines(replace(settings, methods=(method,)))
    return "\n".join(lines) + "\n" + _SHOW


def _data_arguments(settings: HeartSettings) -> dict[str, object]:
    cells = {"cells": list(settings.cells)} if settings.cells else {}
    noise = {"noise": settings.noise, "random_state": settings.seed}
    return {"n_per_cell": settings.rows, **noise, **cells}


def _method_lines(settings: HeartSettings) -> list[str]:
    """Code that fits the method of these settings and maps its uncertainty."""
    kind = METHODS[settings.method]
    model = call_lines(f"model = {kind.builder.name}", heart_arguments(settings))
    lines = ["", *model[:-1], ").fit(heart.X, heart.y)"]
    if not kind.boosting:
        shown = f"[:{settings.shown}]" if _limits(settings) else ""
        return [
            *lines,
            "members = model.predict_members(heart.grid)",
            f"knowledge = members{shown}.var(axis=0)",
            "none = np.full(81, np.nan)  # forests predict no noise",
            f'maps["{kind.label}"] = none, none, knowledge',
        ]
    limit = f", n_members={settings.shown}" if _limits(settings) else ""
    return [*lines, f'maps["{kind.label}"] = model.predict_uncertainty(heart.grid{limit})']


def _limits(settings: HeartSettings) -> bool:
    """Whether fewer members are shown than there are."""
    if settings.shown is None:
        return False
    n_members = settings.members
    if METHODS[settings.method].virtual:
        n_members = len(truncation_points(settings.trees, settings.step, settings.start))
    return settings.shown < n_members


def score_section(run: HeartRun) -> Section:
    """A line a score and a column a method, so that it fits a phone."""
    unit = run.settings.unit
    scores = [score_heart(maps, unit) for maps in run.methods]
    fits = [maps.fit for maps in run.methods]
    rows = [
        (unit.capitalize(), *(METHODS[maps.method].label for maps in run.methods)),
        ("AUROC of knowledge", *(auroc_text(s.auroc_knowledge) for s in scores)),
        ("Knowledge, empty cells", *(digits(s.knowledge_empty) for s in scores)),
        ("Knowledge, filled cells", *(digits(s.knowledge_filled) for s in scores)),
        ("Error of data, mean", *(digits(s.data_error_mean) for s in scores)),
        ("Error of data, largest", *(digits(s.data_error_max) for s in scores)),
        ("Seconds", *(digits(fit.seconds) for fit in fits)),
        ("Megabytes", *(megabytes(fit.memory_bytes) for fit in fits)),
    ]
    of_y = "standard deviations" if unit == "std" else "variances"
    caption = (
        f"Uncertainties and errors are {of_y} of y, averaged over cells. AUROC is the chance that "
        "an empty cell has more knowledge uncertainty than a filled one. The error of data is its "
        "distance from the true noise in filled cells. Seconds are the training time; megabytes "
        "are the size of the trained models."
    )
    caption += f" {STD_CAVEAT}" if unit == "std" else ""
    return Section(heading="Scorecard", table=rows, caption=caption)


def _run(settings: HeartSettings, views: Sequence[HeartMaps]) -> HeartRun:
    """The maps with their truth, which is there before any of them."""
    knobs = settings.rows, settings.noise, settings.seed, settings.cells
    return HeartRun(settings, views[0].truth if views else make_painted_heart(*knobs), tuple(views))


HEART = Experiment(
    name="heart",
    question="Does the model know where it has seen nothing?",
    lede="The hatched cells have no training rows. Does the model's **knowledge** uncertainty find "
    "them? Click a cell to take its rows away.",
    settings=HeartSettings,
    methods=METHODS,
    why_not=lambda plan: METHODS[plan.method].record.missing(),
    fit=fit_heart,
    opening=OPENING,
    view=map_heart,
    depends=lambda fit, settings: (settings.step, settings.start, settings.shown),
    run=_run,
    sheet=lambda run, views, knobs: heart_sheet(
        run.data, views, run.settings, describe_heart(run), knobs
    ),
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
