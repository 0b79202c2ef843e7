"""Noise that grows as a page and a download find it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from gbuq_core.experiments.experiment import Compared, Keep, SeenMethod, Work
from gbuq_core.experiments.heteroscedastic.claims import STUDY, check_claims, settings_text
from gbuq_core.experiments.heteroscedastic.data import (
    N_CALIBRATION,
    HeteroscedasticData,
    data_of,
    shown_range,
)
from gbuq_core.experiments.heteroscedastic.fit import (
    MEASURED,
    OPENING,
    HeteroscedasticRun,
    fit_heteroscedastic,
    level_intervals,
    measure_heteroscedastic,
    view_heteroscedastic,
)
from gbuq_core.experiments.heteroscedastic.picture import USUAL, MethodPanel, heteroscedastic_figure
from gbuq_core.experiments.heteroscedastic.picture import percent as level_text
from gbuq_core.experiments.heteroscedastic.plan import (
    LEVELS,
    METHODS,
    PAPER,
    SCORES,
    SUPPORT,
    TAILS,
    HeteroscedasticSettings,
    builder_of,
    heteroscedastic_arguments,
    plan_measure,
    why_not,
)
from gbuq_core.experiments.heteroscedastic.scores import (
    SORTS,
    HeteroscedasticScore,
    LevelCoverage,
    answer_heteroscedastic,
    describe_heteroscedastic,
    score_heteroscedastic,
    sort_scores,
)
from gbuq_core.experiments.python_text import call_lines, import_lines
from gbuq_core.figures.curves import Curves
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.figures.standalone import Section
from gbuq_core.knobs import Knob
from gbuq_core.presentation import csv_text, digits, megabytes
from gbuq_core.settings import sliders

_NONE = "\u2013"
SORT = Knob("sort", "Sorted by", "choice", SORTS[0], choices=SORTS, group="page", plain=True)


def intervals_section(
    scores: Sequence[HeteroscedasticScore], settings: HeteroscedasticSettings
) -> Section:
    """One line per method: CRPS here and in the paper, coverage, errors and costs."""
    levels = [f"In {100 * c.level:g} %" for c in _levels(scores)]
    beside = any(math.isfinite(score.paper_crps) for score in scores)
    lines: list[tuple[str, ...]] = [
        (
            "Method",
            "CRPS / paper" if beside else "CRPS",
            "Excess CRPS",
            *levels,
            _thirds_head(scores),
            "RMSE of the mean",
            "RMSE of the std",
            "Fit, s",
            "Scores, s",
            "MB",
        )
    ]
    off: list[tuple[int, int]] = []
    for score in scores:
        covered = [_covered(c) for c in score.coverage] or [_NONE] * len(levels)
        missed = [not c.low <= c.level <= c.high for c in score.coverage]
        off += [(len(lines), 3 + j) for j, is_off in enumerate(missed) if is_off]
        seconds = (digits(score.fit_seconds), digits(score.score_seconds))
        costs = (*seconds, megabytes(score.memory_bytes))
        errors = (digits(score.rmse), digits(score.std_error))
        crps = _beside(score.crps, score.paper_crps)
        thirds = " / ".join(_share(part.observed) for part in score.thirds)
        thirds = f"{thirds} %" if thirds else _NONE
        lines.append((score.label, crps, digits(score.excess), *covered, thirds, *errors, *costs))
    how = _how_intervals(scores, settings)
    return Section(heading="Scorecard", table=lines, shaded=off, caption=how)


def foreign_section(
    scores: Sequence[HeteroscedasticScore], settings: HeteroscedasticSettings
) -> Section:
    """A line a method and a column a score that one of them has."""
    keys = [key for key in SCORES if any(a.key == key for score in scores for a in score.auroc)]
    level = next((score.outside[0].level for score in scores if score.outside), None)
    held = [] if level is None else [f"In {100 * level:g} %, left / right of the rows"]
    lines: list[tuple[str, ...]] = [("AUROC / paper", *(SCORES[key] for key in keys), *held)]
    for score in scores:
        aurocs = {a.key: _beside(a.value, a.paper) for a in score.auroc}
        shares = " / ".join(_share(part.observed) for part in score.outside)
        beyond = [f"{shares} %" if shares else _NONE] if held else []
        lines.append((score.label, *(aurocs.get(key, _NONE) for key in keys), *beyond))
    return Section(
        heading="Detecting foreign rows",
        table=lines,
        caption=f"AUROC of each score for separating {settings.ood_rows:,} foreign rows from "
        f"{settings.test_rows:,} test rows. 1 is perfect, 0.5 is chance, and 0 ranks all rows the "
        "wrong way round. The number after the slash is from the paper's table 1, with the "
        "paper's settings. The last column is the share of y inside the interval outside the "
        "rows, if the formula of the rows went on there."
        f"{_how_novelty(scores, settings)}",
    )


def _levels(scores: Sequence[HeteroscedasticScore]) -> tuple[LevelCoverage, ...]:
    return next((score.coverage for score in scores if score.coverage), ())


def _thirds_head(scores: Sequence[HeteroscedasticScore]) -> str:
    """The column of the coverage by thirds of x names its level."""
    level = next((score.thirds[0].level for score in scores if score.thirds), None)
    return "By thirds of x" if level is None else f"In {100 * level:g} %, by thirds of x"


def _share(value: float) -> str:
    return f"{100 * value:.0f}" if math.isfinite(value) else _NONE


def _covered(coverage: LevelCoverage) -> str:
    """The share held and how many points that is from nominal."""
    off = 100 * (coverage.observed - coverage.level)
    return f"{100 * coverage.observed:.1f} % ({off:+.1f})".replace("-", "\u2212")


def _beside(value: float, paper: float) -> str:
    return digits(value) if not math.isfinite(paper) else f"{digits(value)} / {paper:g}"


def _how_novelty(scores: Sequence[HeteroscedasticScore], settings: HeteroscedasticSettings) -> str:
    """Which tail the novelty scores of the table have, where there are any."""
    if not any("novelty" in METHODS[score.method].scores for score in scores):
        return ""
    if settings.tail == TAILS[0]:
        return " Outside the rows, novelty scores go on rising here."
    return " Here novelty scores stop at 5.2, as in the authors' code."


def _how_intervals(
    scores: Sequence[HeteroscedasticScore], settings: HeteroscedasticSettings
) -> str:
    truth = digits(scores[0].truth_crps)
    kinds: dict[str, list[str]] = {}
    for score in scores:
        if score.crps_kind not in ("", "normal"):
            kinds.setdefault(score.crps_kind, []).append(score.label)
    kind = "".join(f" CRPS of {' and '.join(each)} uses the {how}." for how, each in kinds.items())
    beside = " On the paper's test rows the true distribution can differ by about 0.01."
    if settings.noise_slope != PAPER.noise_slope:
        beside = f" The paper's CRPS is left out because its noise is {PAPER.noise_slope:g} x."
    wrapped = ""
    if settings.conformal:
        wrapped = (
            f" CRPS uses the conformal factor for {100 * settings.level:g} %. The coverage of each "
            "level uses the factor for that level."
        )
    return (
        f"CRPS on {settings.test_rows:,} new rows, in units of y. Lower is better. The true "
        f"distribution has {truth}, and the excess is the difference from it.{beside}{kind}"
        f"{wrapped} The number in parentheses is the difference from the level, in percentage "
        "points. It stands out where sampling error does not explain it. The thirds are x below "
        "3.3, from 3.3 to 6.7, and above. A level can hold on average and in none of the thirds. "
        "RMSE is to the true mean and the true std."
    )


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
    knobs = heteroscedastic_arguments(plan) | ({} if plan.tail == TAILS[0] else {"tail": plan.tail})
    lines = [f"# {kind.label}", *call_lines(f"{own} = {builder_of(plan).name}", knobs)]
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
    return csv_text([*_CURVE_NAMES, *beyond, "true_mean", "true_variance", "has_rows"], rows)


def scores_csv(scores: tuple[HeteroscedasticScore, ...]) -> str:
    """One line per method: its scores here and in the paper; empty where there is none."""
    names = ["method", "crps", "truth_crps", "excess", "paper_crps"]
    rows: list[list[object]] = []
    for score in scores:
        row: list[object] = [score.label, score.crps, score.truth_crps, score.excess]
        row += [score.paper_crps]
        covered = {coverage.level: coverage.observed for coverage in score.coverage}
        row += [covered.get(level, np.nan) for level in (0.5, 0.8, 0.95)]
        row += [part.observed for part in score.thirds] or [np.nan] * 3
        row += [score.thirds[0].level if score.thirds else np.nan]
        row += [score.rmse, score.std_error, score.noise_ratio, score.data_share]
        for key in SCORES:
            auroc = next((auroc for auroc in score.auroc if auroc.key == key), None)
            row += [np.nan, np.nan] if auroc is None else [auroc.value, auroc.paper]
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


def _figure(
    settings: HeteroscedasticSettings,
    seen: Sequence[SeenMethod],
    values: SimpleNamespace,
    knobs: Sequence[LiveKnob],
    keep: Keep | None,
) -> Curves:
    panels = [
        MethodPanel(method.method, method.view, method.note, level_intervals(method.fit, settings))
        if method.view is not None
        else MethodPanel(method.method, note=method.note)
        for method in seen
    ]
    parts = {part for each in panels if each.view is not None for part in each.view.parts}
    changed = {
        **{f"show_{part}": part in parts for part in ("data", "knowledge", "total")},
        "conformal": bool(parts),
    }
    knobs = [knob for knob in knobs if changed.get(knob.key, True)]
    levels = tuple(map(level_text, LEVELS))
    knobs = [knob._replace(texts=levels) if knob.key == "level" else knob for knob in knobs]
    return heteroscedastic_figure(data_of(settings), panels, settings, knobs, quiet=len(seen) == 1)


def _behind(run: HeteroscedasticRun, keep: Keep) -> list[Work]:
    """The measurements of the fits that are there."""
    return [
        Work(
            f"measure-{fit.method}",
            ("heteroscedastic-measure", plan),
            partial(measure_heteroscedastic, fit, plan),
            f"Scores of {fit.label}",
            MEASURED.find(plan),
        )
        for fit in run.fits
        for plan in [plan_measure(run.settings, fit.method)]
    ]


def _join(
    run: HeteroscedasticRun, measured: Mapping[str, Any], values: SimpleNamespace, keep: Keep
) -> HeteroscedasticRun:
    """What is fitted and measured, sorted for a table."""
    ready = [
        (fit, view, measured[f"measure-{fit.method}"])
        for fit, view in zip(run.fits, run.views, strict=True)
        if f"measure-{fit.method}" in measured
    ]
    settings = replace(run.settings, methods=tuple(fit.method for fit, _, _ in ready))
    fits, views, measures = zip(*ready, strict=True) if ready else ((), (), ())
    run = HeteroscedasticRun(settings, run.data, fits, views, measures)
    depends = (settings.conformal, settings.level)
    scores = tuple(
        keep(
            f"heteroscedastic:score:{fit.method}",
            [fit, measure],
            depends,
            partial(score_heteroscedastic, fit, measure, settings),
        )
        for fit, _, measure in ready
    )
    return run._replace(scores=sort_scores(scores, values.sort))


HETEROSCEDASTIC = Compared(
    name="heteroscedastic",
    question="Does the model know its noise, and where it has seen nothing?",
    lede="Trees with a line in each leaf (MACAU) learn rows between 0 and 10, whose noise grows "
    "with x. Make it larger: does the **light band** follow? Does the **dark rim** widen outside?",
    settings=HeteroscedasticSettings,
    methods=METHODS,
    why_not=why_not,
    fit=fit_heteroscedastic,
    opening=OPENING,
    view=view_heteroscedastic,
    depends=lambda _, settings: (
        shown_range(settings),
        settings.conformal,
        settings.level,
        settings.tail,
    ),
    place="heteroscedastic-panels",
    rows=lambda settings: (settings.rows, settings.noise_slope, settings.seed),
    figure=_figure,
    followed=(*sliders(HeteroscedasticSettings), "left_from", "right_to"),
    join_views=lambda settings, fits, views, keep: HeteroscedasticRun(
        settings, data_of(settings), tuple(fits), tuple(views), ()
    ),
    behind=_behind,
    slots=tuple(f"measure-{key}" for key in METHODS),
    join=_join,
    beside=(SORT,),
    words=lambda run: describe_heteroscedastic(run, run.scores),
    claims=lambda run: check_claims(run, run.scores),
    invitation="Choose a method in All settings to see its prediction.",
    answer=lambda run: answer_heteroscedastic(run, run.scores),
    scores=lambda run: [
        make(run.scores, run.settings) for make in (intervals_section, foreign_section)
    ],
    reading=f"{USUAL} % of in-distribution rows score below the dotted line. The knobs of the "
    "picture and those under View change it without retraining.",
    about=lambda run: settings_text(run.settings),
    silence=lambda run: "The paper says nothing about these methods.",
    seeds=STUDY,
    code=lambda run: heteroscedastic_code(run.settings),
    tables=lambda run: {
        "Curves": curves_csv,
        "Scores": lambda run: scores_csv(run.scores),
        "Rows": lambda run: rows_csv(run.data),
    },
    title="Noise that grows",
    lead="Do models know their noise, and the places where they have seen no rows? MACAU has a "
    "linear model or a mean in every leaf of a random forest. The page compares it with others. "
    "After the paper on MACAU, doi 10.5121/csit.2023.131920.",
    equations=r"""
The paper on MACAU, [doi 10.5121/csit.2023.131920](https://doi.org/10.5121/csit.2023.131920),
sections 3 and 4. The rows follow its equation 6, with a noise std of a tenth of x:

$$
X\sim U(0,10),\qquad Y=\tfrac12 X+\sin X+0.1\,X\,\varepsilon,\qquad
\varepsilon\sim\mathcal N(0,1)
$$

Every leaf of every tree has a small model: a Bayesian linear regression on the features along the
path to the leaf (linear), or the mean and the variance of its rows (basic). The law of total
variance (equations 1 and 2) combines the T trees. Data uncertainty is the mean of the leaves'
variances. Knowledge uncertainty is the variance of the leaves' means:

$$
\underbrace{\sigma^2(x)}_{\text{total}}=
\underbrace{\frac1T\sum_t\sigma_t^2(x)}_{\text{data}}+
\underbrace{\frac1T\sum_t\bigl(\mu_t(x)-\bar\mu(x)\bigr)^2}_{\text{knowledge}}
$$

Novelty (section 3.2) is the Mahalanobis distance from a row to the training rows of its leaf. In
each tree, the distances of the training rows turn it into a z-score. Novelty is the mean of these
z-scores. The authors' z-scores stop at 5.2. Ours go on rising, unless you change that in All
settings. Conditional novelty uses only the features along the path to the leaf. With one feature,
that is the same. Inference novelty compares the prediction with the leaf's predictions in training.
""",
    terms=(
        "total",
        "data",
        "knowledge",
        "novelty",
        "conditional_novelty",
        "inference_novelty",
        "foreign_rows",
        "conformal",
        "crps",
        "coverage",
        "auroc",
    ),
    departures="MACAU",
)
