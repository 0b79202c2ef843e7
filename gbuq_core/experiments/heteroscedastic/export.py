"""Exports of the Heteroscedastic page: tables, and Python that computes the picture again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gbuq_core.experiments.claims import Claim, claim_table
from gbuq_core.experiments.heteroscedastic.claims import settings_text
from gbuq_core.experiments.heteroscedastic.data import (
    N_CALIBRATION,
    HeteroscedasticData,
    shown_range,
)
from gbuq_core.experiments.heteroscedastic.fit import HeteroscedasticRun
from gbuq_core.experiments.heteroscedastic.models import builder_of, heteroscedastic_arguments
from gbuq_core.experiments.heteroscedastic.plan import (
    METHODS,
    SCORES,
    SUPPORT,
    TAILS,
    HeteroscedasticSettings,
    plan_measure,
)
from gbuq_core.experiments.heteroscedastic.scorecard import foreign_section, intervals_section
from gbuq_core.experiments.heteroscedastic.scores import HeteroscedasticScore
from gbuq_core.experiments.heteroscedastic.words import describe_heteroscedastic
from gbuq_core.experiments.python_text import call_lines, import_lines
from gbuq_core.figures.curves import Curves
from gbuq_core.figures.standalone import Section
from gbuq_core.presentation import csv_text


def heteroscedastic_code(settings: HeteroscedasticSettings) -> str:
    """Python that fits the methods, draws their intervals and measures them with public names."""
    plans = [plan_measure(settings, method) for method in settings.methods]
    names = ["gbuq_core.synthetic:make_heteroscedastic", "gbuq_core.metrics:auroc"]
    if any(METHODS[plan.method].parts for plan in plans):
        names.append("gbuq_core.metrics:crps_gaussian")
        if settings.conformal:
            names.append("gbuq_core.metrics.conformal:conformal_scales")
    names += [builder_of(plan).of for plan in plans]
    lines = ["import numpy as np", "from scipy.special import ndtri", "", *import_lines(names)]
    lines += ["", *_data_lines(settings), ""]
    for plan in plans:
        lines += [*_method_lines(plan, settings), ""]
    return "\n".join(lines).replace("'", '"').rstrip() + "\n"


def _data_lines(settings: HeteroscedasticSettings) -> list[str]:
    slope, seed = settings.noise_slope, settings.seed
    left, right = SUPPORT[0] - settings.left_from, settings.right_to - SUPPORT[1]
    n_left = round(settings.ood_rows * left / (left + right))
    low, high = shown_range(settings)
    lines = [
        f"rows = make_heteroscedastic({settings.rows}, {slope!r}, random_state={seed})",
        f"test = make_heteroscedastic({settings.test_rows}, {slope!r}, random_state=[{seed}, 2])",
    ]
    if settings.conformal:
        lines.append(
            f"fresh = make_heteroscedastic({N_CALIBRATION}, {slope!r}, random_state=[{seed}, 1])"
        )
    return [
        *lines,
        f"uniform = np.random.default_rng([{seed}, 3]).random({settings.ood_rows})",
        f"foreign = {settings.right_to!r} - uniform * {right!r}",
        f"foreign[:{n_left}] = {settings.left_from!r} + uniform[:{n_left}] * {left!r}",
        "is_foreign = np.repeat([0.0, 1.0], [len(test.y), len(foreign)])",
        "judged = np.concatenate([test.X, foreign[:, None]])",
        f"grid = np.linspace({low!r}, {high!r}, {round(20 * (high - low)) + 1})[:, None]",
        f"z = ndtri(0.5 + {settings.level!r} / 2.0)",
    ]


def _method_lines(plan: HeteroscedasticSettings, settings: HeteroscedasticSettings) -> list[str]:
    kind, own = METHODS[plan.method], plan.method
    given = heteroscedastic_arguments(plan) | ({} if plan.tail == TAILS[0] else {"tail": plan.tail})
    lines = [f"# {kind.label}", *call_lines(f"{own} = {builder_of(plan).name}", given)]
    lines.append(f"{own}.fit(rows.X, rows.y)")
    if not kind.parts:
        return [
            *lines,
            f"score = {own}.score_novelty(judged)",
            f"print('{kind.label}: AUROC', auroc(is_foreign, score))",
        ]
    lines += _interval_lines(own, settings)
    lines += [
        f"uncertainty = {own}.predict_uncertainty(judged)  # variances: total, data, knowledge",
        "n_test = len(test.y)",
        f"loc, scale = {own}.predict(test.X), factor * np.sqrt(uncertainty.total[:n_test])",
        f"print('{kind.label}: CRPS', crps_gaussian(test.y, loc, scale))",
    ]
    lines += [
        f"print('  AUROC of {key}', auroc(is_foreign, uncertainty.{key}))"
        for key in ("total", "data", "knowledge")
        if key in kind.scores
    ]
    if "novelty" in kind.scores:
        lines += [
            f"novelty, conditional, inference = {own}.score_novelty(judged)[:3]",
            "print('  AUROC of novelty', auroc(is_foreign, novelty))",
            "print('  AUROC of conditional novelty', auroc(is_foreign, conditional))",
            "print('  AUROC of inference novelty', auroc(is_foreign, abs(inference)))",
        ]
    return lines


def _interval_lines(own: str, settings: HeteroscedasticSettings) -> list[str]:
    """The interval over the grid, as the page draws it."""
    lines = ["factor = 1.0"]
    if settings.conformal:
        lines = [
            f"fresh_scale = np.sqrt({own}.predict_uncertainty(fresh.X).total)",
            f"fresh_loc = {own}.predict(fresh.X)",
            "wrapped = conformal_scales(",
            f"    fresh.y, fresh_loc, fresh_scale, levels=[{settings.level!r}]",
            ")",
            "factor = wrapped.stretch[0]",
        ]
    elif "intervals" in METHODS[own].record.yields:
        return [
            *lines,
            f"levels, lowers, uppers = {own}.predict_intervals(grid)",
            f"at = np.argmin(abs(levels - {settings.level!r}))",
            "lower, upper = lowers[at], uppers[at]",
        ]
    return [
        *lines,
        f"half = factor * z * np.sqrt({own}.predict_uncertainty(grid).total)",
        f"lower, upper = {own}.predict(grid) - half, {own}.predict(grid) + half",
    ]


_CURVE_NAMES = ("method", "x", "mean", "total", "data", "knowledge", "scale", "lower", "upper")


def curves_csv(run: HeteroscedasticRun) -> str:
    """One line a place and method: mean, variances, interval, scores, truth; empty where none."""
    beyond = [key for key in SCORES if key not in ("total", "data", "knowledge")]
    rows: list[tuple[object, ...]] = []
    for view in run.views:
        none = np.full(len(view.x), np.nan)
        parts = {"total": view.total, "data": view.data, "knowledge": view.knowledge}
        curves = [view.curve(key) for key in beyond]
        columns = [
            view.x,
            none if view.loc is None else view.loc,
            *(values if part in view.parts else none for part, values in parts.items()),
            view.scale if view.parts else none,
            none if view.lower is None else view.lower,
            none if view.upper is None else view.upper,
            *(none if curve is None else curve.values for curve in curves),
            view.true_mean,
            view.true_variance,
            view.support,
        ]
        rows += [(view.label, *row) for row in zip(*columns, strict=True)]
    names = [*_CURVE_NAMES, *beyond, "true_mean", "true_variance", "has_rows"]
    return csv_text(names, rows)


def scores_csv(scores: tuple[HeteroscedasticScore, ...]) -> str:
    """One line per method: its scores here and in the paper; empty where there is none."""
    names = ["method", "crps", "truth_crps", "excess", "paper_crps"]
    rows: list[list[object]] = []
    for score in scores:
        row: list[object] = [score.label, score.crps, score.truth_crps, score.excess]
        row.append(score.paper_crps)
        covered = {found.level: found.observed for found in score.coverage}
        row += [covered.get(level, np.nan) for level in (0.5, 0.8, 0.95)]
        row += [part.observed for part in score.thirds] or [np.nan] * 3
        row += [score.thirds[0].level if score.thirds else np.nan]
        row += [score.rmse, score.std_error, score.noise_ratio, score.data_share]
        for key in SCORES:
            found = next((found for found in score.auroc if found.key == key), None)
            row += [np.nan, np.nan] if found is None else [found.value, found.paper]
        rows.append([*row, score.fit_seconds, score.score_seconds])
    names += ["coverage_50", "coverage_80", "coverage_95"]
    names += ["covered_left", "covered_middle", "covered_right", "level_of_thirds"]
    names += ["rmse", "std_error", "noise_ratio", "data_share"]
    for key in SCORES:
        names += [f"auroc_{key}", f"paper_auroc_{key}"]
    return csv_text([*names, "fit_seconds", "score_seconds"], rows)


def rows_csv(data: HeteroscedasticData) -> str:
    """The training rows."""
    return csv_text(["x", "y"], zip(data.X[:, 0], data.y, strict=True))


def heteroscedastic_sections(
    run: HeteroscedasticRun, figure: Curves, claims: Sequence[Claim]
) -> list[Section]:
    """The panels, what is said of them, both tables, the paper's statements and code."""
    scores, settings = run.scores, run.settings
    words = describe_heteroscedastic(run, scores)
    sections = [Section(curves=figure), Section(heading="In words", text=words)]
    if scores:
        sections += [intervals_section(scores, settings), foreign_section(scores, settings)]
    if claims:
        heading, text = "The paper and this picture", settings_text(settings)
        sections.append(Section(heading=heading, text=text, table=claim_table(claims)))
    return [*sections, Section(heading="Python", code=heteroscedastic_code(settings))]
