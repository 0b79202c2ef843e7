"""Beyond the rows as a page, a lesson and a download find it."""

from __future__ import annotations

from functools import partial

from gbuq_core.experiments.beyond.fit import (
    FIRST,
    GAP_FROM,
    LEVEL,
    OPENING,
    TREES,
    BeyondFit,
    BeyondScore,
    BeyondSettings,
    fit_beyond,
    score_beyond,
)
from gbuq_core.experiments.beyond.picture import beyond_figure, describe_beyond, voices_figure
from gbuq_core.experiments.beyond.plane import plane_section
from gbuq_core.experiments.claims import Claim, Threshold, judged
from gbuq_core.experiments.experiment import OURS_HELD, Single
from gbuq_core.experiments.python_text import call_lines
from gbuq_core.experiments.seeds import SeedStudy
from gbuq_core.figures.standalone import Section
from gbuq_core.presentation import csv_text, digits, percent, short
from gbuq_core.settings import sliders

_HELD = Threshold("share held outside", 0.85, 0.75, unit=" %", times=100.0, decimals=0)
_KEPT = Threshold("CRPS of the law over that of trees", 1.02, 1.1, decimals=2)
_NARROW = Threshold("share held outside", 0.5, 0.7, unit=" %", times=100.0, decimals=0)


def _pair(fit: BeyondFit) -> tuple[BeyondScore, BeyondScore] | None:
    """The scores of trees and law, once the law is fitted."""
    scores = {score.key: score for score in score_beyond(fit)}
    return (scores["trees"], scores["law"]) if "law" in scores else None


def check_claims(fit: BeyondFit) -> tuple[Claim, ...]:
    """What is said of the law and of trees alone, compared with a run; no paper says it."""
    pair = _pair(fit)
    if pair is None:
        return ()
    trees, law = pair
    return (
        judged(
            f"Where no rows are, bands of {percent(LEVEL, 0)} of the law hold about as much.",
            f"they hold {percent(law.coverage.outside, 0)} of new values.{_regions(law)}",
            law.coverage.outside,
            _HELD,
            key="law",
            chip="The law holds where no rows are",
            name="share",
        ),
        judged(
            "Those of trees alone hold less than half there.",
            f"they hold {percent(trees.coverage.outside, 0)} of new values.{_regions(trees)}",
            trees.coverage.outside,
            _NARROW,
            key="trees",
            chip="Trees alone do not",
            name="share",
        ),
        judged(
            "Among the rows nothing is lost.",
            f"the CRPS of the law is {short(law.crps.inside)} there, and {short(trees.crps.inside)}"
            f" for trees alone. Their bands hold {percent(law.coverage.inside, 0)} and "
            f"{percent(trees.coverage.inside, 0)}.",
            law.crps.inside / trees.crps.inside,
            _KEPT,
            key="inside",
            chip="Nothing is lost among the rows",
            name="CRPS, times",
        ),
    )


def _regions(score: BeyondScore) -> str:
    parts = [
        f"{name} {percent(share, 0)}"
        for name, share in score.coverage._asdict().items()
        if name in ("left", "gap", "right") and share == share  # NaN: there is no gap
    ]
    return f" By region: {', '.join(parts)}."


STUDY = SeedStudy(
    name="beyond",
    fit=fit_beyond,
    claims=check_claims,
    first=FIRST,
)


def answer_beyond(fit: BeyondFit) -> str:
    """How much the bands hold where no rows are, in one sentence."""
    held = {score.key: percent(score.coverage.outside, 0) for score in score_beyond(fit)}
    bands = f"Where no rows are, bands of {percent(LEVEL, 0)} hold"
    if "law" not in held:
        return f"{bands} {held['trees']} with trees alone; the law follows."
    return f"{bands} {held['law']} with the law and {held['trees']} with trees alone."


def scores_section(fit: BeyondFit) -> Section:
    """Coverage, CRPS and width inside and outside the rows."""
    head = (
        "Model",
        "Held among the rows",
        "left",
        "in the gap",
        "right",
        "outside",
        "CRPS among the rows",
        "outside",
        "Width among the rows",
        "outside",
    )
    lines = [
        (
            score.label,
            *(percent(share, 0) for share in score.coverage),
            *map(digits, (score.crps.inside, score.crps.outside)),
            *map(digits, (score.width.inside, score.width.outside)),
        )
        for score in score_beyond(fit)
    ]
    return Section(
        heading="Scorecard",
        table=[head, *lines],
        caption=f"Share of new values inside bands of {percent(LEVEL, 0)}, the CRPS and the width "
        "of the bands in units of y, over the true curve and its noise. Lower CRPS is better.",
    )


def look_sections(fit: BeyondFit) -> list[Section]:
    """Each voice with its weight, once they are fitted, and the plane."""
    if fit.spoken is None:
        return [plane_section()]
    figure = voices_figure(fit)
    caption = f"{figure.alt} A voice that improves nothing does not enter."
    return [Section(heading="Each voice", curves=figure, caption=caption), plane_section()]


def beyond_code(settings: BeyondSettings) -> str:
    """Python that fits the law and prints both coverages with the library's public names."""
    model = call_lines("trees = BoostedEnsembleRegressor", {**TREES, "random_state": settings.seed})
    seen = " | ".join(f"(grid >= {low!r}) & (grid <= {high!r})" for low, high in settings.stretches)
    return "\n".join(
        [
            "import numpy as np",
            "from scipy.special import ndtr",
            "",
            "from gbuq_core import BoostedEnsembleRegressor, StackedRegressor",
            "",
            f"rng = np.random.default_rng({settings.seed})",
            f"x = rng.random({settings.rows}) * ({settings.edge!r} - {settings.gap!r})",
            f"x = np.where(x > {GAP_FROM!r}, x + {settings.gap!r}, x)",
            f"noise = {settings.noise!r}",
            f"y = np.sin(1.5 * x) + 0.3 * x + noise * rng.normal(size={settings.rows})",
            *model,
            f"law = StackedRegressor(trees, random_state={settings.seed}).fit(x[:, None], y)",
            "grid = np.linspace(-1.0, 9.0, 201)",
            "truth = np.sin(1.5 * grid) + 0.3 * grid",
            f"inside = {seen}",
            'for name, fitted in {"Trees alone": law.estimator_, "The law": law}.items():',
            "    uncertainty = fitted.predict_uncertainty(grid[:, None])  # variances",
            "    mean = fitted.predict_distribution(grid[:, None]).loc",
            "    off, half = mean - truth, 1.645 * np.sqrt(uncertainty.total)",
            "    held = ndtr((off + half) / noise) - ndtr((off - half) / noise)",
            "    print(name, held[inside].mean(), held[~inside].mean())",
            "",
        ]
    )


def curves_csv(fit: BeyondFit) -> str:
    """One line a place: truth, and each model's mean and variances."""
    names, columns = ["x", "true_mean", "has_rows"], [fit.x, fit.truth, fit.inside.astype(int)]
    for score in score_beyond(fit):
        names += [f"{score.key}_{part}" for part in ("mean", "data", "knowledge")]
        columns += [*getattr(fit, score.key)]
    return csv_text(names, zip(*columns, strict=True))


def rows_csv(fit: BeyondFit) -> str:
    """The training rows."""
    return csv_text(["x", "y"], zip(*fit.rows, strict=True))


BEYOND = Single(
    name="beyond",
    question="What does a model say where it has seen nothing?",
    lede="Drag the end of the rows. The pale band is noise, the dark rim is what the model does "
    "not **know**. Does the truth stay inside?",
    settings=BeyondSettings,
    label="All voices",
    fit=fit_beyond,
    stored=OPENING.find,
    quick=partial(fit_beyond, whole=False),
    look=lambda fit, settings, keep: fit,
    pictures=lambda fit, knobs: {"beyond-bands": Section(curves=beyond_figure(fit))},
    followed=sliders(BeyondSettings),
    words=describe_beyond,
    claims=check_claims,
    held=OURS_HELD,
    why=look_sections,
    answer=answer_beyond,
    scores=scores_section,
    reading="The left picture is trees alone, the right one the law that weighs them with three "
    "other voices.",
    seeds=STUDY,
    code=lambda fit: beyond_code(fit.settings),
    tables=lambda fit: {"Curves": curves_csv, "Rows": rows_csv},
    title="Beyond the rows",
    lead="What does a model say where it has seen nothing? Trees alone beside the law of several "
    "voices: trees, residuals and targets of similar rows, and a small Gaussian process.",
    equations=r"""
Every tree repeats its last leaf beyond the rows. The law of several voices
([Yao, Vehtari, Simpson and Gelman 2018](https://doi.org/10.1214/17-BA1091)) mixes them with a
Gaussian process. The weights $w_k$ maximise the log score of rows that no voice has seen:

$$
p(y\mid x)=\sum_k w_k(x)\,p_k(y\mid x)
$$

With $e(x)$ what leaving the rows adds to the process's variance and $s$ its std, the weights of
the other voices shrink:

$$
r(x)=\frac{e(x)}{e(x)+s^2(x)},\qquad w_k(x)=w_k\,(1-r(x))\quad\text{for trees and residuals}
$$

The process has the rest. The process
alone is drawn before its std has the factor that rows left out give it.
""",
    terms=("total", "data", "knowledge", "coverage", "crps"),
    departures="Boosting",
)
