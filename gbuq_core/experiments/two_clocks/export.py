"""Exports of Two clocks: tables, and Python that computes the scores again."""

from __future__ import annotations

from collections.abc import Mapping

from gbuq_core.experiments.claims import claim_table
from gbuq_core.experiments.python_text import call_lines
from gbuq_core.experiments.two_clocks.claims import verdicts_of
from gbuq_core.experiments.two_clocks.data import SLOPE
from gbuq_core.experiments.two_clocks.models import clock_arguments
from gbuq_core.experiments.two_clocks.picture import (
    band_figure,
    clocks_sheet,
    curves_figure,
    reliability_figure,
)
from gbuq_core.experiments.two_clocks.plan import CYCLICAL, N_SCORED, WEIGHTED, TwoClocksSettings
from gbuq_core.experiments.two_clocks.scores import SeedScores, TwoClocksLook
from gbuq_core.experiments.two_clocks.words import (
    describe_data,
    describe_two_clocks,
    score_rows,
    seed_rows,
)
from gbuq_core.figures.standalone import Section
from gbuq_core.presentation import csv_text
from gbuq_core.settings import plan_of

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
_SHOW = """
for stopping in (None, "early", "two_clocks"):
    model = BoostedEnsembleRegressor(stopping=stopping, **knobs).fit(X, y)
    law = model.predict_distribution(X_scored)
    lower, upper = law.interval(0.9)
    print("stopping:", stopping)
    if model.clocks_ is not None:
        clocks = model.clocks_
        print("  trees:", clocks.mean_trees, clocks.scale_trees, "factor:", clocks.factor)
    print("  coverage:", np.mean((lower <= y_scored) & (y_scored <= upper)))
    print("  NLL:", -law.logpdf(y_scored).mean(), "CRPS:", law.crps(y_scored).mean())
    print("  RMSE:", np.sqrt(np.mean((law.mean() - y_scored) ** 2)))
"""


_SCORES = """
def show(name, law):
    lower, upper = law.interval(0.9)
    print(name)
    print("  coverage:", np.mean((lower <= y_scored) & (y_scored <= upper)))
    print("  NLL:", -law.logpdf(y_scored).mean(), "CRPS:", law.crps(y_scored).mean())
    print("  RMSE:", np.sqrt(np.mean((law.loc - y_scored) ** 2)))

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
found = model().fit(X, y).pred_dist(X_scored)
show("all trees", NormalDistribution(found.loc, found.scale))
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
    given = {**clock_arguments(plan), "tails": settings.tails}
    del given["stopping"]
    lines = ["import numpy as np", ""]
    lines += _rows_code(plan, ["from gbuq_core import BoostedEnsembleRegressor"])
    lines += call_lines("knobs = dict", given)
    return "\n".join(lines) + "\n" + _SHOW


def _code_of_wrapped(plan: TwoClocksSettings, tails: str) -> str:
    """The same of a model that `CalibratedRegressor` stops or scales."""
    of_method = f'METHODS["{plan.model}"].make'
    other = (), "from gbuq_core.methods import METHODS", of_method, _SHOW_SCALED
    theirs, ours, maker, show = _LIBRARIES.get(plan.model, other)
    imports = ["from gbuq_core import CalibratedRegressor", ours]
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
        clocks = score.clocks
        nothing = float("nan")
        at: tuple[object, ...] = (nothing,) * 4
        if clocks is not None:
            at = (clocks.mean_trees, clocks.scale_trees, clocks.factor, clocks.df)
        rows.append((score.label, *at, score.coverage, score.nll, score.rmse, score.crps))
    return csv_text(names, rows)


def maps_csv(look: TwoClocksLook) -> str:
    """One line a pair of clocks: NLL and coverage without and with a factor, and the factor."""
    maps = look.maps
    names = ["mean_trees", "scale_trees", "nll", "coverage_90"]
    names += ["nll_with_factor", "coverage_90_with_factor", "factor"]
    parts = (
        maps.nll_plain, maps.coverage_plain, maps.nll_scaled, maps.coverage_scaled, maps.factor,
    )  # fmt: skip
    trees = [int(n) for n in maps.n_trees]
    rows = [
        (mean, scale, *(part[b, a] for part in parts))
        for a, mean in enumerate(trees)
        for b, scale in enumerate(trees)
    ]
    return csv_text(names, rows)


def two_clocks_sections(
    settings: TwoClocksSettings, look: TwoClocksLook, seeds: SeedScores | None = None
) -> list[Section]:
    """Band, maps, curves, reliability, scores, what seeds say if they are there, and code."""
    words = describe_two_clocks(look)
    band = band_figure(look, settings.shown, words)
    sections = [Section(text=describe_data(settings), curves=band, caption=words)]
    if look.fit.plan.has_clocks:
        maps = clocks_sheet(look, settings.shown, words)
        sections += [Section(heading="NLL over both clocks", sheet=maps), trees_section(look)]
    sections += [reliability_section(look), scores_section(look)]
    if seeds is not None:
        table = claim_table(verdicts_of(seeds.by_tails[look.tails]), "Statement")
        sections += [seeds_section(seeds, look.tails), Section(table=table)]
    return [*sections, Section(heading="Python", code=two_clocks_code(settings))]


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


def scores_section(look: TwoClocksLook) -> Section:
    """The scores of this seed: a line a way to stop."""
    plan = look.fit.plan
    first = _PAPERS if plan.has_clocks else _AS_IT_IS
    if plan.model in (*CYCLICAL, "virtual_sglb", "virtual_catboost"):
        first = _ONE_RUN
    return Section(
        heading="Scores",
        table=score_rows(look),
        caption="On rows that neither trained nor chose anything, with this seed. Coverage is the "
        f"share inside 90 % intervals; NLL is in nats, RMSE and CRPS in units of y. {first} One "
        "factor multiplies every std.",
    )


def seeds_section(seeds: SeedScores, tails: str) -> Section:
    """The scores' means over seeds."""
    return Section(
        heading=f"Over {len(seeds.seeds)} seeds",
        table=seed_rows(seeds.by_tails[tails]),
        caption=f"Means over seeds {seeds.seeds[0]} to {seeds.seeds[-1]}, each with new rows.",
    )
