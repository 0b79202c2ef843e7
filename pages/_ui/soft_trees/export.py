"""Soft trees' page to take away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from gbuq_core.experiments.soft_trees.charts import correlation_sheet
from gbuq_core.experiments.soft_trees.experiment import (
    score_section,
    soft_trees_code,
)
from gbuq_core.experiments.soft_trees.fit import SoftTreesRun
from gbuq_core.experiments.soft_trees.look import tree_view
from gbuq_core.experiments.soft_trees.opening import whole_fit
from gbuq_core.experiments.soft_trees.plan import SOFT_METHODS
from gbuq_core.experiments.soft_trees.scores import describe_soft_trees
from gbuq_core.experiments.soft_trees.trials import TRIALS
from gbuq_core.experiments.trial import trial_sections
from gbuq_core.figures.standalone import Section
from pages._ui.side_by_side import Shown
from pages._ui.soft_trees.look import (
    READ_TREE,
    correlations_of,
    flow_figure_of,
    tree_sheet_of,
)
from pages._ui.soft_trees.picture import figure_of


def soft_trees_sections(
    run: SoftTreesRun,
    shown: Sequence[Shown],
    values: SimpleNamespace,
    results: Mapping[str, Any],
) -> list[Section]:
    """The page to take away; ``results`` are those of its trials."""
    fresh = [one for one in shown if one.fresh]
    figure = figure_of(run.settings, fresh)
    sections = [
        Section(curves=figure),
        Section(heading="In words", text=describe_soft_trees(run, run.scores)),
    ]
    soft = [whole_fit(fit) for fit in run.fits if fit.method in SOFT_METHODS]
    if soft:
        flow = flow_figure_of(values, soft)
        about = READ_TREE.replace("*", "")
        sections.append(Section(heading="Inside one tree", text=about, curves=flow))
    for fit in soft:
        if fit.method == "vst":
            look = tree_view(fit, run.settings)
            sheet = tree_sheet_of(fit, look)
            sections.append(Section(heading="Its training", sheet=sheet, caption=sheet.alt))
            correlations = correlation_sheet(correlations_of(fit, 0))
            sections.append(
                Section(
                    heading="Correlated parameters", sheet=correlations, caption=correlations.alt
                )
            )
    sections.append(score_section(run.scores))
    sections += trial_sections(TRIALS, results, values)
    return [*sections, Section(heading="Python", code=soft_trees_code(run.settings))]
