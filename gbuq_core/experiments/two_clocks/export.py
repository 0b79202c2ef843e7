"""Exports of Two clocks: tables, and Python that computes the scores again."""

from __future__ import annotations

from collections.abc import Mapping

from gbuq_core.experiments.python_text import call_lines
from gbuq_core.experiments.two_clocks.data import SLOPE
from gbuq_core.experiments.two_clocks.models import clock_arguments
from gbuq_core.experiments.two_clocks.plan import N_SCORED, WEIGHTED, TwoClocksSettings
from gbuq_core.experiments.two_clocks.scores import TwoClocksLook
from gbuq_core.presentation import csv_text
from gbuq_core.settings import plan_of

_MAKERS = {
    "five features": "make_friedman",
    "growing noise": "make_heteroscedastic",
    "wave": "make_wave",
}
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

    Examples
    --------
    >>> "make_friedman(500, 1.0, random_state=0)" in two_clocks_code(TwoClocksSettings())
    True
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
