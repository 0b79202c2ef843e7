"""Heteroscedastic's two tables of scores with how to read them, beside the paper's numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gbuq_core.experiments.heteroscedastic.plan import (
    METHODS,
    PAPER,
    SCORES,
    TAILS,
    HeteroscedasticSettings,
)
from gbuq_core.experiments.heteroscedastic.scores import HeteroscedasticScore, LevelCoverage
from gbuq_core.figures.standalone import Section
from gbuq_core.presentation import digits, megabytes

_NONE = "\u2013"


def intervals_section(
    scores: Sequence[HeteroscedasticScore], settings: HeteroscedasticSettings
) -> Section:
    """One line per method: CRPS here and in the paper, coverage, errors and costs."""
    levels = [f"In {100 * c.level:g} %" for c in _levels(scores)]
    beside = any(math.isfinite(one.paper_crps) for one in scores)
    lines: list[tuple[str, ...]] = [
        ("Method", "CRPS / paper" if beside else "CRPS", "Excess CRPS", *levels,
         _thirds_head(scores), "RMSE of the mean", "RMSE of the std", "Fit, s", "Scores, s", "MB")
    ]  # fmt: skip
    off: list[tuple[int, int]] = []
    for one in scores:
        covered = [_covered(c) for c in one.coverage] or [_NONE] * len(levels)
        off += [
            (len(lines), 3 + j)
            for j, c in enumerate(one.coverage)
            if not c.low <= c.level <= c.high
        ]
        costs = (digits(one.fit_seconds), digits(one.score_seconds), megabytes(one.memory_bytes))
        errors = (digits(one.rmse), digits(one.std_error))
        crps = _beside(one.crps, one.paper_crps)
        thirds = " / ".join(_share(part.observed) for part in one.thirds)
        thirds = f"{thirds} %" if thirds else _NONE
        lines.append((one.label, crps, digits(one.excess), *covered, thirds, *errors, *costs))
    how = _how_intervals(scores, settings)
    return Section(heading="Scorecard", table=lines, shaded=off, caption=how)


def foreign_section(
    scores: Sequence[HeteroscedasticScore], settings: HeteroscedasticSettings
) -> Section:
    """A line a method and a column a score that one of them has."""
    keys = [key for key in SCORES if any(a.key == key for one in scores for a in one.auroc)]
    level = next((one.outside[0].level for one in scores if one.outside), None)
    held = [] if level is None else [f"In {100 * level:g} %, left / right of the rows"]
    lines: list[tuple[str, ...]] = [("AUROC / paper", *(SCORES[key].label for key in keys), *held)]
    for one in scores:
        found = {a.key: _beside(a.value, a.paper) for a in one.auroc}
        shares = " / ".join(_share(part.observed) for part in one.outside)
        beyond = [f"{shares} %" if shares else _NONE] if held else []
        lines.append((one.label, *(found.get(key, _NONE) for key in keys), *beyond))
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
    return next((one.coverage for one in scores if one.coverage), ())


def _thirds_head(scores: Sequence[HeteroscedasticScore]) -> str:
    """The column of the coverage by thirds of x names its level."""
    level = next((one.thirds[0].level for one in scores if one.thirds), None)
    return "By thirds of x" if level is None else f"In {100 * level:g} %, by thirds of x"


def _share(value: float) -> str:
    return f"{100 * value:.0f}" if math.isfinite(value) else _NONE


def _covered(found: LevelCoverage) -> str:
    """The share held and how many points that is from nominal."""
    off = 100 * (found.observed - found.level)
    return f"{100 * found.observed:.1f} % ({off:+.1f})".replace("-", "\u2212")


def _beside(value: float, paper: float) -> str:
    return digits(value) if not math.isfinite(paper) else f"{digits(value)} / {paper:g}"


def _how_novelty(scores: Sequence[HeteroscedasticScore], settings: HeteroscedasticSettings) -> str:
    """Which tail the novelty scores of the table have, where there are any."""
    if not any("novelty" in METHODS[one.method].scores for one in scores):
        return ""
    if settings.tail == TAILS[0]:
        return " Outside the rows, novelty scores go on rising here."
    return " Here novelty scores stop at 5.2, as in the authors' code."


def _how_intervals(
    scores: Sequence[HeteroscedasticScore], settings: HeteroscedasticSettings
) -> str:
    truth = digits(scores[0].truth_crps)
    kinds: dict[str, list[str]] = {}
    for one in scores:
        if one.crps_kind not in ("", "normal"):
            kinds.setdefault(one.crps_kind, []).append(one.label)
    kind = "".join(
        f" CRPS of {' and '.join(names)} uses the {how}." for how, names in kinds.items()
    )
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
