"""Two clocks as a page and a download find it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gbuq_core.calibration.clocks import TAILS
from gbuq_core.calibration.splits import HELD_OUT_FROM
from gbuq_core.experiments.claims import Claim
from gbuq_core.experiments.experiment import OURS_HELD, Keep, Single, Work
from gbuq_core.experiments.python_text import call_lines
from gbuq_core.experiments.two_clocks.data import SLOPE
from gbuq_core.experiments.two_clocks.fit import OPENING, TwoClocksFit, fit_two_clocks
from gbuq_core.experiments.two_clocks.picture import (
    band_figure,
    clocks_sheet,
    curves_figure,
    reliability_figure,
)
from gbuq_core.experiments.two_clocks.plan import (
    CYCLICAL,
    FACTOR_WAYS,
    N_SCORED,
    SINGLE,
    WAYS,
    WEIGHTED,
    TwoClocksSettings,
    clock_arguments,
    seeds_of,
)
from gbuq_core.experiments.two_clocks.scores import SEEDS as STORED_SEEDS
from gbuq_core.experiments.two_clocks.scores import (
    TwoClocksLook,
    Unscaled,
    WayScore,
    check_seed,
    check_seeds,
    look_two_clocks,
    score_seeds,
    unscaled_of,
    verdicts_of,
)
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.figures.standalone import Section
from gbuq_core.methods import METHODS
from gbuq_core.presentation import csv_text, short
from gbuq_core.settings import plan_of, with_fit

_SEEDS, _OTHER_TAILS = "two-clocks-seeds", "two-clocks-other-tails"  # what is asked for behind


def describe_data(settings: TwoClocksSettings) -> str:
    """The rows that train and choose, and the rows that score."""
    about = {
        "five features": "Five features that all matter; the noise grows with the fourth.",
        "growing noise": "One feature; the noise grows with it.",
        "wave": "The wave: one feature with a noisy stretch and a rare one.",
        "diabetes": "442 patients and ten measurements; the target is how far the disease went.",
    }[settings.data]
    n = settings.n_rows
    who = "a fifth of them, held out," if n >= HELD_OUT_FROM else "held out in five folds, they"
    verb = "chooses" if n >= HELD_OUT_FROM else "choose"
    what = "the clocks" if settings.has_clocks else "the factor"
    them = "them" if settings.has_clocks else "it"
    sentences = f"{about} {n:,} rows train the model; {who} {verb} {what}. Other rows score {them}."
    label = METHODS[settings.model].label
    if settings.model in CYCLICAL:
        sentences += (
            f" {label} has a member at the end of every {settings.cycle_length} trees, and its "
            "mean can stop where at least two members are complete."
        )
    if settings.model in SINGLE:
        sentences += f" {label} is one model, so its knowledge uncertainty is 0."
    return sentences


def answer_two_clocks(look: TwoClocksLook) -> str:
    """Is the stated uncertainty true? One sentence, from rows that neither trained nor chose.

    >>> from gbuq_core.experiments.two_clocks.fit import fit_two_clocks
    >>> from gbuq_core.experiments.two_clocks.scores import look_two_clocks
    >>> some = TwoClocksSettings(data="wave", rows=100, trees=50, members=2)
    >>> answer_two_clocks(look_two_clocks(fit_two_clocks(some), "normal"))[:52]
    '90 % intervals hold 95 % of new rows with all trees,'
    """
    inside = {score.label: f"{100 * score.coverage:.0f} %" for score in look.scores}
    if not look.fit.plan.has_clocks:
        before, after = (inside[label] for label in FACTOR_WAYS.values())
        return f"90 % intervals hold {before} of new rows as they are, {after} with one factor."
    every, early, clocks = (inside[WAYS[way]] for way in ("all", "early", "clocks"))
    return (
        f"90 % intervals hold {every} of new rows with all trees, {early} with plain early "
        f"stopping, and {clocks} with two clocks."
    )


def describe_two_clocks(look: TwoClocksLook) -> str:
    """The picture in words: each way to stop with its clocks and scores."""
    words = [describe_way(score) for score in look.scores]
    if not look.fit.plan.has_clocks:
        return " ".join(words)
    curves = look.curves
    best, truest = int(curves.rmse.argmin()), int(curves.nll.argmin())
    words.append(
        f"With one number of trees for both, the RMSE is least at {int(curves.n_trees[best]):,} "
        f"trees and the NLL at {int(curves.n_trees[truest]):,}."
    )
    return " ".join(words)


def describe_way(score: WayScore) -> str:
    """One way to stop, its clocks and its scores."""
    scores = (
        f"90 % intervals hold {100 * score.coverage:.0f} % of the rows, NLL {short(score.nll)}, "
        f"RMSE {short(score.rmse)}, CRPS {short(score.crps)}."
    )
    return f"{score.label}{_clocks_text(score)}: {scores}"


def _clocks_text(score: WayScore) -> str:
    clocks = score.clocks
    if clocks is None:
        return ""
    parts = []
    if score.label in WAYS.values():
        parts += [f"{clocks.mean_trees:,} trees for the mean, {clocks.scale_trees:,} for the scale"]
    if score.label in (WAYS["factor"], WAYS["clocks"], FACTOR_WAYS["factor"]):
        parts.append(f"factor {short(clocks.factor)}")
    if not math.isinf(clocks.df):
        parts.append(f"t with {short(clocks.df)} degrees of freedom")
    return f" ({', '.join(parts)})" if parts else ""


def score_rows(look: TwoClocksLook) -> list[tuple[str, ...]]:
    """The table of this seed: a line a way to stop, its headings first."""
    has_clocks = look.fit.plan.has_clocks
    second = "Mean, scale" if has_clocks else "Factor"
    rows: list[tuple[str, ...]] = [("", second, "Coverage", "NLL", "RMSE", "CRPS")]
    for score in look.scores:
        clocks, stops = score.clocks, ""
        if clocks is not None:
            both = f"{clocks.mean_trees:,}, {clocks.scale_trees:,}"
            stops = both if has_clocks else short(clocks.factor)
        numbers = (short(value) for value in (score.nll, score.rmse, score.crps))
        rows.append((score.label, stops, f"{100 * score.coverage:.0f} %", *numbers))
    return rows


def seed_rows(scores: NDArray[np.float64]) -> list[tuple[str, ...]]:
    """The table of the seeds' means: a line a way to stop, its headings first."""
    means = np.asarray(scores).mean(axis=0)
    rows: list[tuple[str, ...]] = [("", "Coverage", "NLL", "RMSE", "CRPS")]
    ways = WAYS if len(means) == len(WAYS) else FACTOR_WAYS
    for label, (coverage, *others) in zip(ways.values(), means, strict=True):
        rows.append((label, f"{100 * coverage:.0f} %", *(short(value) for value in others)))
    return rows


_MAKERS = {
    "five features": "make_friedman",
    "growing noise": "make_heteroscedastic",
    "wave": "make_wave",
}
_AS_IT_IS = "As it is: the law that the model predicts."
_PAPERS = "All trees is the papers' way."
_ONE_RUN = (
    "With all trees, every member takes the std after the last tree; in the papers each member "
    "has the std of its own trees."
)
_SCORES = """
def show(name, law):
    lower, upper = law.interval(0.9)
    print(name)
    print("  coverage:", np.mean((lower <= y_scored) & (y_scored <= upper)))
    print("  NLL:", log_scores(law, y_scored, find_resolution(y)).mean)
    print("  CRPS:", law.crps(y_scored).mean())
    print("  RMSE:", np.sqrt(np.mean((law.loc - y_scored) ** 2)))

"""
_SHOW = """
for stopping in (None, "early", "two_clocks"):
    model = BoostedEnsembleRegressor(stopping=stopping, **knobs).fit(X, y)
    if model.clocks_ is not None:
        clocks = model.clocks_
        print("trees:", clocks.mean_trees, clocks.scale_trees, "factor:", clocks.factor)
    show(f"stopping: {stopping}", model.predict_distribution(X_scored))
"""
_SHOW_WRAPPED = """
for method, name in (("scale", "one factor"), ("two_clocks", "two clocks")):
    wrapped = CalibratedRegressor(
        model(), method=method, tails=tails, random_state=seed, shape="moments", floor=False
    )
    wrapped.fit(X, y)
    if wrapped.clocks_ is not None:
        clocks = wrapped.clocks_
        print("trees:", clocks.mean_trees, clocks.scale_trees, "factor:", clocks.factor)
    show(name, wrapped.predict_distribution(X_scored))
"""
_CATBOOST = """
raw = model().fit(X, y).predict(X_scored, prediction_type="RawFormulaVal")
show("all trees", NormalDistribution(raw[:, 0], np.exp(raw[:, 1])))
"""
_NGBOOST = """
law = model().fit(X, y).pred_dist(X_scored)
show("all trees", NormalDistribution(law.loc, law.scale))
"""
_SHOW_SCALED = """
show("as it is", model().fit(X, y).predict_distribution(X_scored))
wrapped = CalibratedRegressor(
    model(), method="scale", tails=tails, random_state=seed, shape="moments", floor=False
)
wrapped.fit(X, y)
print("factor:", wrapped.factor_)
show("one factor", wrapped.predict_distribution(X_scored))
"""
_METRICS = "from gbuq_core.metrics import find_resolution, log_scores"
_NORMAL = "from gbuq_core.distribution import NormalDistribution"
# Other libraries' imports, ours, what makes the model, and what is said of it.
_LIBRARIES: Mapping[str, tuple[tuple[str, ...], str, str, str]] = {
    "catboost": (
        ("from catboost import CatBoostRegressor",),
        _NORMAL,
        "CatBoostRegressor",
        _CATBOOST + _SHOW_WRAPPED,
    ),
    "ngboost": (
        ("from ngboost import NGBRegressor", "from sklearn.tree import DecisionTreeRegressor"),
        _NORMAL,
        "NGBRegressor",
        _NGBOOST + _SHOW_WRAPPED,
    ),
}


def two_clocks_code(settings: TwoClocksSettings) -> str:
    """Python that fits the model, stops it and scores it.

    An ensemble: all trees, early stopping and two clocks. CatBoost and NGBoost: all trees, one
    factor and two clocks. A model without clocks: as it is, and with one factor.
    """
    plan = plan_of(settings)
    if plan.model not in WEIGHTED:
        return _code_of_wrapped(plan, settings.tails)
    knobs = {**clock_arguments(plan), "tails": settings.tails}
    del knobs["stopping"]
    lines = ["import numpy as np", ""]
    lines += _rows_code(plan, ["from gbuq_core import BoostedEnsembleRegressor", _METRICS])
    lines += call_lines("knobs = dict", knobs)
    return "\n".join(lines) + "\n\n" + _SCORES + _SHOW


def _code_of_wrapped(plan: TwoClocksSettings, tails: str) -> str:
    """The same of a model that `CalibratedRegressor` stops or scales."""
    of_method = f'METHODS["{plan.model}"].make'
    other = (), "from gbuq_core.methods import METHODS", of_method, _SHOW_SCALED
    theirs, ours, maker, show = _LIBRARIES.get(plan.model, other)
    imports = ["from gbuq_core import CalibratedRegressor", ours, _METRICS]
    lines = ["import numpy as np", *theirs, "", *_rows_code(plan, imports)]
    lines += [f'seed, tails = {plan.seed}, "{tails}"', "", "", "def model():"]
    lines += [f"    {line}" for line in call_lines(f"return {maker}", clock_arguments(plan))]
    return "\n".join(lines) + "\n\n" + _SCORES + show


def _rows_code(plan: TwoClocksSettings, imports: list[str]) -> list[str]:
    """Lines that import what is left and make the rows."""
    if plan.data == "diabetes":
        return [
            "from sklearn.datasets import load_diabetes",
            "",
            *imports,
            "",
            "every_X, every_y = load_diabetes(return_X_y=True, scaled=False)",
            f"order = np.random.default_rng([{plan.seed}, 5]).permutation(len(every_y))",
            f"X, y = every_X[order[:{plan.n_rows}]], every_y[order[:{plan.n_rows}]]",
            f"X_scored, y_scored = every_X[order[{plan.n_rows}:]], every_y[order[{plan.n_rows}:]]",
        ]
    maker = _MAKERS[plan.data]
    noise = SLOPE * plan.noise if plan.data == "growing noise" else plan.noise
    return [
        *imports,
        f"from gbuq_core.synthetic import {maker}",
        "",
        f"rows = {maker}({plan.rows}, {noise!r}, random_state={plan.seed})",
        f"scored = {maker}({N_SCORED}, {noise!r}, random_state=[{plan.seed}, 2])",
        "X, y, X_scored, y_scored = rows.X, rows.y, scored.X, scored.y",
    ]


def scores_csv(look: TwoClocksLook) -> str:
    """One line a way to stop: its clocks, factor, degrees of freedom and scores."""
    names = ["way", "mean_trees", "scale_trees", "factor", "df"]
    names += ["coverage_90", "nll", "rmse", "crps"]
    rows = []
    for score in look.scores:
        clocks = [getattr(score.clocks, name, math.nan) for name in names[1:5]]
        rows.append((score.label, *clocks, score.coverage, score.nll, score.rmse, score.crps))
    return csv_text(names, rows)


def maps_csv(look: TwoClocksLook) -> str:
    """One line a pair of clocks: NLL and coverage without and with a factor, and the factor."""
    maps = look.maps
    names = ["mean_trees", "scale_trees", "nll", "coverage_90"]
    names += ["nll_with_factor", "coverage_90_with_factor", "factor"]
    parts = (
        maps.nll_plain,
        maps.coverage_plain,
        maps.nll_scaled,
        maps.coverage_scaled,
        maps.factor,
    )
    trees = [int(n) for n in maps.n_trees]
    rows = [
        (mean, scale, *(part[b, a] for part in parts))
        for a, mean in enumerate(trees)
        for b, scale in enumerate(trees)
    ]
    return csv_text(names, rows)


def _behind(look: TwoClocksLook, keep: Keep) -> list[Work]:
    """The same fits with ten seeds, or five of models that take long; the look with other tails."""
    fit, plan = look.fit, look.fit.plan
    n_seeds = seeds_of(plan)
    tails = next(other for other in TAILS if other != look.tails)
    seeds, stored = partial(score_seeds, plan), STORED_SEEDS.find(plan)
    other = partial(look_two_clocks, fit, tails, _unscaled(fit, keep))
    return [
        Work(_SEEDS, (_SEEDS, plan), seeds, f"{n_seeds} seeds", stored),
        Work(_OTHER_TAILS, (_OTHER_TAILS, plan, tails), other, ""),
    ]


def _join(
    look: TwoClocksLook, results: Mapping[str, Any], values: SimpleNamespace, keep: Keep
) -> TwoClocksLook:
    other: TwoClocksLook | None = results.get(_OTHER_TAILS)
    if other is not None and other.fit is look.fit:
        _keep_look(look.fit, other.tails, keep, lambda: other)
    return replace(look, seeds=results.get(_SEEDS))


def _look(fit: TwoClocksFit, settings: TwoClocksSettings, keep: Keep) -> TwoClocksLook:
    tails, unscaled = settings.tails, _unscaled(fit, keep)
    look = _keep_look(fit, tails, keep, partial(look_two_clocks, fit, tails, unscaled))
    return replace(look, settings=with_fit(settings, fit.plan))


def _keep_look(
    fit: TwoClocksFit, tails: str, keep: Keep, make: Callable[[], TwoClocksLook]
) -> TwoClocksLook:
    return keep(f"two-clocks-look-{tails}", [fit], None, make)


def _unscaled(fit: TwoClocksFit, keep: Keep) -> Unscaled:
    return keep("two-clocks-unscaled", [fit], None, partial(unscaled_of, fit))


def _pictures(look: TwoClocksLook, knobs: Sequence[LiveKnob]) -> dict[str, Section]:
    """The band with its sliders."""
    band = band_figure(look, look.settings.shown, describe_two_clocks(look))
    why = (
        f"{METHODS[look.fit.plan.model].label} does not boost a mean and a scale tree by tree, so "
        "there are no clocks to stop. One factor can still make its std larger or smaller."
    )
    caption = "" if look.fit.plan.has_clocks else why
    return {"two-clocks-band": Section(curves=band, caption=caption)}


def _why(look: TwoClocksLook) -> list[Section | tuple[Section, Section]]:
    """The map of both clocks, scores against the number of trees, and the reliability."""
    if not look.fit.plan.has_clocks:
        return [reliability_section(look)]
    sheet = clocks_sheet(look, look.settings.shown, describe_two_clocks(look))
    maps = Section(heading="NLL over both clocks", sheet=sheet)
    return [maps, (trees_section(look), reliability_section(look))]


def _claims(look: TwoClocksLook) -> tuple[Claim, ...]:
    """The statements over seeds; of this seed alone until there are more."""
    if look.seeds is None:
        return check_seed(look.scores)
    return verdicts_of(look.seeds.by_tails[look.tails])


def trees_section(look: TwoClocksLook) -> Section:
    """Scores against one number of trees for both."""
    return Section(
        heading="Against the number of trees",
        curves=curves_figure(look, describe_two_clocks(look)),
        caption="The dashed line in the upper panel is what the model says its error is. One "
        "number of trees serves the mean and the scale here, and the std is as it is.",
    )


def reliability_section(look: TwoClocksLook) -> Section:
    """The share of rows that intervals of each level hold."""
    return Section(
        heading="Reliability",
        curves=reliability_figure(look, describe_two_clocks(look)),
        caption="A line below the diagonal: intervals hold fewer rows than they say. The shaded "
        "part is chance, at 95 %.",
    )


def scores_sections(look: TwoClocksLook) -> list[Section]:
    """The scores of this seed, a line a way to stop, and their means over seeds."""
    plan = look.fit.plan
    first = _PAPERS if plan.has_clocks else _AS_IT_IS
    if plan.model in (*CYCLICAL, "virtual_sglb", "virtual_catboost"):
        first = _ONE_RUN
    scores = Section(
        heading="Scores",
        table=score_rows(look),
        caption="On rows that neither trained nor chose anything, with this seed. Coverage is the "
        f"share inside 90 % intervals; NLL is in nats, RMSE and CRPS in units of y. {first} One "
        "factor multiplies every std.",
    )
    if look.seeds is None:
        return [scores]
    seeds = look.seeds.seeds
    means = Section(
        heading=f"Over {len(seeds)} seeds",
        table=seed_rows(look.seeds.by_tails[look.tails]),
        caption=f"Means over seeds {seeds[0]} to {seeds[-1]}, each with new rows.",
    )
    return [scores, means]


def _lede(settings: TwoClocksSettings) -> str:
    if settings.has_clocks:
        return (
            "A boosted model states how sure it is. Do its 90 % intervals hold 90 % of new rows? "
            "Move the two sliders: one stops the **mean**, the other the **scale**."
        )
    return (
        "Every model here states a standard deviation for each row. "
        "Do its 90 % intervals hold 90 % of new rows? "
        "Switch the factor on and off, and watch the band over the truth."
    )


TWO_CLOCKS = Single(
    name="two-clocks",
    question="Is the stated uncertainty true?",
    lede=_lede,
    settings=TwoClocksSettings,
    label="Two clocks",
    fit=fit_two_clocks,
    stored=lambda settings: OPENING.find(plan_of(settings)),
    look=_look,
    pictures=_pictures,
    behind=_behind,
    slots=(_SEEDS, _OTHER_TAILS),
    join=_join,
    behind_statements=True,
    words=describe_two_clocks,
    claims=_claims,
    held=OURS_HELD,
    outcomes=lambda look: () if look.seeds is None else check_seeds(look.seeds, look.tails),
    about=lambda look: (
        "" if look.seeds else "These are verdicts of one seed, until all seeds are fitted."
    ),
    why=_why,
    answer=answer_two_clocks,
    scores=scores_sections,
    reading=lambda look: describe_data(look.fit.plan),
    seeds=None,  # the page has the scores of its seeds, not only their verdicts
    code=lambda look: two_clocks_code(look.settings),
    tables=lambda look: {
        "Scores": scores_csv,
        **({"Maps": maps_csv} if look.fit.plan.has_clocks else {}),
    },
    title="Two clocks",
    lead="Is the stated uncertainty true? The mean of a boosted ensemble and its scale stop at "
    "different numbers of trees, which rows held out of the training choose.",
    equations=r"""
The ensemble is that of Malinin, Prokhorenkova and Ustimenko, [Uncertainty in gradient boosting via
ensembles](https://arxiv.org/abs/2006.10562): every member boosts a mean and a log std by the
likelihood (equation 9), and the variances add up (equation 6). The paper uses all trees. Two clocks
is ours. On rows that a fold has not seen, the mean clock a has the least squared error, and then
the scale clock b and the factor g have the least NLL:

$$
a=\arg\min_t\sum_i\bigl(y_i-\bar\mu^{(t)}(x_i)\bigr)^2,\qquad
(b,g)=\arg\min_{t,g}\;-\sum_i\log p\bigl(y_i\mid\bar\mu^{(a)}(x_i),
v^{(t)}_g(x_i)\bigr)
$$

$$
\underbrace{v^{(b)}_g(x)}_{\text{total}}=
\underbrace{\frac{g^2}{M}\sum_m\bigl(\sigma_m^{(b)}(x)\bigr)^2}_{\text{data}}+
\underbrace{\frac1M\sum_m\bigl(\mu_m^{(a)}(x)-\bar\mu^{(a)}(x)\bigr)^2}
_{\text{knowledge}}
$$

The factor scales data uncertainty only. p is a normal, or a Student t with the same std whose
degrees of freedom are chosen too. Early stopping takes one number of trees for both, by the NLL.
CatBoost and NGBoost are one model each, as their users train them, so their knowledge is 0. The
mean of a cyclical ensemble can stop only at the end of a cycle, once two members are complete. A
method without clocks has only the factor. Early in training, the mean fits structure and the scale
fits noise. Later, the training rows are fitted so closely that their residuals no longer show the
noise, and the scale collapses.
""",
    terms=(
        "mean_clock",
        "scale_clock",
        "total",
        "data",
        "knowledge",
        "coverage",
        "nll",
        "crps",
        "rmse",
    ),
    departures="Boosting",
)
