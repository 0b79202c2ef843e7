"""Lesson: why the stated uncertainty of boosting is false, and what makes it true.

The ensemble is that of Malinin, Prokhorenkova and Ustimenko, "Uncertainty in gradient boosting via
ensembles"; the two clocks are ours.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from types import SimpleNamespace

import numpy as np

from demos.asking import Between, Brush, Brushed, Largest, both_of, crossing
from demos.lesson import ComputedStep, Lesson, Step, main
from gbuq_core.figures.canvas.panels import PanelSheet, Strip, StripLine
from gbuq_core.figures.guess import GuessChart, GuessLine
from gbuq_core.presentation import short
from gbuq_core.settings import plan_of
from gbuq_core.study.study import Run
from gbuq_core.study.two_clocks import COLOUR, TWO_CLOCKS, WAY_COLOURS, clocks_sheet
from gbuq_core.study.two_clocks_fit import LEVELS, WAYS, TwoClocksSettings

MAIN = TwoClocksSettings()
END = TwoClocksSettings(clocks=(1000, 1000, False))
ONE_FEATURE = TwoClocksSettings(data="growing noise", rows=200)
_WITHIN = (np.inf, 1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01)  # nats


@lru_cache(maxsize=2)
def _run(settings: TwoClocksSettings) -> Run:
    return TWO_CLOCKS.run(plan_of(settings))


def _score(run: Run, way: str) -> SimpleNamespace:
    return SimpleNamespace(**run.numbers[way])


def _curves(run: Run) -> SimpleNamespace:
    """Scores by the number of trees."""
    return SimpleNamespace(n_trees=run.views[0].n_trees, **run.views[0].curves)


def _strips(run: Run, *names: str) -> PanelSheet:
    """Scores against the number of trees, from 20 on, over a logarithmic axis."""
    curves = _curves(run)
    late = curves.n_trees >= 20
    x = np.log10(curves.n_trees[late])
    lines = {
        "error": [
            StripLine("RMSE", curves.rmse[late], COLOUR),
            StripLine("stated std", curves.stated[late], WAY_COLOURS["all"], dash=True),
        ],
        "coverage": [StripLine("coverage of 90 % intervals", 100 * curves.coverage[late], COLOUR)],
        "nll": [StripLine("NLL", curves.nll[late], COLOUR)],
        "crps": [StripLine("CRPS", curves.crps[late], COLOUR)],
    }
    titles = {
        "error": ("Error of the mean, measured and stated", "units of y"),
        "coverage": ("Coverage", "%"),
        "nll": ("NLL", "nats"),
        "crps": ("CRPS", "units of y"),
    }
    strips = [
        Strip(
            title=titles[name][0],
            x=x,
            lines=lines[name],
            x_label="log10 of the number of trees (2: 100 trees, 3: 1,000)",
            y_label=titles[name][1],
            frame_x=x,
        )
        for name in names
    ]
    return PanelSheet(
        panels=[],
        strips=strips,
        strip_columns=len(strips),
        strip_height=240,
        frame_label="trees",
        frame_values=curves.n_trees[late].tolist(),
        alt=TWO_CLOCKS.describe(run),
        name="two-clocks",
    )


def _near_the_least(run: Run) -> PanelSheet:
    """The page's maps, of which a player keeps only the pairs near the least NLL."""
    sheet = clocks_sheet(run.views[0], run.settings, TWO_CLOCKS.describe(run))
    above = [np.asarray(panel.values) for panel in sheet.panels]
    least = min(float(values.min()) for values in above)
    panels = [
        replace(
            panel,
            values=np.stack([np.where(nll - least <= most, nll, np.nan) for most in _WITHIN]),
            blank_hatched=True,
        )
        for panel, nll in zip(sheet.panels, above, strict=True)
    ]
    return replace(
        sheet,
        panels=panels,
        frame_label="NLL above the least:",
        frame_values=["any", *(f"\u2264 {most:g} nats" for most in _WITHIN[1:])],
        frames_per_second=1.0,
        start_frame=0,
        blank_label="pairs that are farther above it",
    )


def _collapse_chart(run: Run) -> Brushed:
    """Where the stated error is too small: over the logarithm of the number of trees."""
    curves = _curves(run)
    late = curves.n_trees >= 20
    n_trees, rmse, stated = curves.n_trees[late], curves.rmse[late], curves.stated[late]
    x = np.log10(n_trees)
    top = 1.1 * float(max(rmse.max(), stated.max()))
    ticks = [value for value in (20, 50, 100, 200, 500, 1000) if n_trees[0] <= value <= n_trees[-1]]
    chart = GuessChart(
        x=(float(x[0]), float(x[-1])),
        y=(0.0, top),
        x_ticks=[(float(np.log10(value)), f"{value:,}") for value in ticks],
        y_ticks=[(0.0, "0"), (top / 1.1, short(top / 1.1, 2))],
        x_label="number of trees",
        y_label="error, units of y",
        lines=[GuessLine("RMSE on unseen rows", x, rmse, COLOUR)],
        dots=(np.empty(0), np.empty(0)),
    )
    after = replace(
        chart, lines=[*chart.lines, GuessLine("stated std", x, stated, WAY_COLOURS["all"], True)]
    )
    low = crossing(x, stated < rmse)
    return Brushed(chart, low, float(x[-1]), "stated error too small", after)


def collapse() -> ComputedStep:
    """The model's own statement of its error falls below the error."""
    run = _run(MAIN)
    curves, every = _curves(run), _score(run, "all")
    settings = MAIN
    enough = curves.n_trees[curves.stated >= curves.rmse]
    notes = ("Each model predicts a mean and a std. The second chart shows their intervals.",)
    text = (
        f"{settings.rows} rows train {settings.members} boosted models. The line is the error of "
        "their mean on unseen rows. The models also state their error."
    )
    right = _collapse_chart(run)
    answer = (
        f"From {int(enough.max(initial=0)):,} trees on. With all {settings.trees:,} the models "
        f"state {short(curves.stated[-1])} and are off by {short(curves.rmse[-1])}; 90 % "
        f"intervals hold {100 * every.coverage:.0f} %. The trees fit the training rows so closely "
        "that residuals no longer show the noise."
    )
    return ComputedStep(text, right, answer, _strips(run, "error", "coverage"), notes)


def two_moments() -> ComputedStep:
    """Two scores are best at different numbers of trees."""
    run = _run(MAIN)
    curves = _curves(run)
    at_rmse, at_nll = int(curves.rmse.argmin()), int(curves.nll.argmin())
    notes = ("The rows that score here chose nothing and trained nothing.",)
    text = (
        "Early stopping takes one number of trees for the mean and the scale: that with the "
        "least NLL on unseen rows."
    )
    right = Between(curves.n_trees[at_rmse] / curves.n_trees[at_nll], (0.67, 1.5))
    answer = (
        f"The NLL is least at {int(curves.n_trees[at_nll]):,} trees, the error of the mean at "
        f"{int(curves.n_trees[at_rmse]):,}. Stopping for the NLL costs "
        f"{short(curves.rmse[at_nll] / curves.rmse[at_rmse] * 100 - 100, 2)} % of RMSE; stopping "
        f"for the mean costs {short(curves.nll[at_rmse] - curves.nll[at_nll])} nats."
    )
    return ComputedStep(text, right, answer, _strips(run, "error", "nll"), notes)


def off_the_diagonal() -> ComputedStep:
    """The best pair of numbers is not on the diagonal."""
    run = _run(MAIN)
    early, clocks = _score(run, "early"), _score(run, "clocks")
    notes = (
        "The left map has the std as it is; the right one multiplies it by the best factor. Two "
        f"clocks has a factor of {short(clocks.factor)}. Early stopping takes "
        f"{early.mean_trees:,} trees for both.",
    )
    text = (
        "A cell is a pair: trees for the mean across, trees for the scale upwards. Dark is a low "
        "NLL. The dashed diagonal has equal numbers."
    )
    right = Between(clocks.mean_trees / clocks.scale_trees, (0.67, 1.5))
    answer = (
        f"{clocks.mean_trees:,} trees for the mean, {clocks.scale_trees:,} for the "
        f"scale. The NLL is {short(clocks.nll)}; one number for both has {short(early.nll)}. The "
        f"RMSE is {short(clocks.rmse)} against {short(early.rmse)}. Other rows chose the clocks."
    )
    return ComputedStep(text, right, answer, _near_the_least(run), notes)


def only_a_factor() -> ComputedStep:
    """A factor repairs the coverage, but not the shape of the noise."""
    run = _run(END)
    every, factor, clocks = (_score(run, way) for way in ("all", "factor", "clocks"))
    levels = 100 * np.array(LEVELS)
    lines = [
        StripLine(
            WAYS[way], 100 * run.views[0].reliability[way], WAY_COLOURS[way], dash=way == "factor"
        )
        for way in WAYS
    ]
    sheet = PanelSheet(
        panels=[],
        strips=[
            Strip(
                title="Rows inside the interval",
                x=levels,
                lines=[*lines, StripLine("true", levels, "text", dash=True)],
                x_label="level of the interval (%)",
                y_label="%",
                frame_x=levels,
            )
        ],
        frame_label="level (%)",
        frame_values=levels.tolist(),
        strip_columns=1,
        strip_height=260,
        alt=TWO_CLOCKS.describe(run),
        name="two-clocks-reliability",
    )
    notes = (
        f"The factor is {short(factor.factor)}. The CRPS is {short(factor.crps)} against "
        f"{short(clocks.crps)} with two clocks.",
    )
    text = (
        "Something simpler could do: keep all trees and multiply every std by one factor. The "
        "chart has intervals of each level."
    )
    right = Largest(both_of(0.06 - abs(factor.coverage - 0.9), 0.02 - (factor.nll - clocks.nll)))
    answer = (
        f"90 % intervals hold {100 * factor.coverage:.0f} % instead of {100 * every.coverage:.0f} "
        "%. But the collapsed std no longer shows which rows are noisy: the NLL is "
        f"{short(factor.nll)}, with two clocks {short(clocks.nll)}."
    )
    return ComputedStep(text, right, answer, sheet, notes)


def one_feature() -> ComputedStep:
    """Where the mean stops early too, the clocks nearly agree."""
    run = _run(ONE_FEATURE)
    early, clocks = _score(run, "early"), _score(run, "clocks")
    notes = (
        f"The RMSE is {short(clocks.rmse)} against {short(early.rmse)}. The factor is "
        f"{short(clocks.factor)}.",
    )
    text = (
        f"Now one feature, noise that grows with it, and {ONE_FEATURE.rows} rows. Few "
        "trees can draw the mean."
    )
    right = Between(early.nll - clocks.nll, (0.005, 0.1))
    answer = (
        f"The NLL is {short(clocks.nll)} against {short(early.nll)}, with "
        f"{clocks.mean_trees} and {clocks.scale_trees} trees against "
        f"{early.mean_trees}. The factor is left: intervals hold "
        f"{100 * clocks.coverage:.0f} % instead of {100 * early.coverage:.0f} %."
    )
    return ComputedStep(text, right, answer, _near_the_least(run), notes)


LESSON = Lesson(
    name="two_clocks",
    title="When the stated uncertainty is false, and what makes it true",
    lead="Five pictures of boosted models that know too little of their own error. All numbers "
    "are computed while you read.",
    page="two_clocks",
    source="The ensemble is that of Malinin, Prokhorenkova and Ustimenko, Uncertainty in gradient "
    "boosting via ensembles (arXiv 2006.10562). The two clocks are ours.",
    steps=(
        Step(
            "The scale collapses",
            "At which numbers of trees is the stated error too small?",
            Brush(),
            END,
            collapse,
        ),
        Step(
            "Two best moments",
            "When is the mean best?",
            ("With fewer trees", "At the same number", "With more trees"),
            MAIN,
            two_moments,
        ),
        Step(
            "Off the diagonal",
            "Where is the best pair?",
            ("More for the scale", "On the diagonal", "More for the mean"),
            MAIN,
            off_the_diagonal,
        ),
        Step(
            "Only a factor",
            "What does one factor repair?",
            ("Coverage and NLL", "Coverage only", "NLL only", "Neither"),
            END,
            only_a_factor,
        ),
        Step(
            "One feature",
            "How much do two clocks gain in NLL?",
            ("Nothing", "Up to 0.1 nats", "More"),
            ONE_FEATURE,
            one_feature,
        ),
    ),
)

if __name__ == "__main__":
    raise SystemExit(main(LESSON))
