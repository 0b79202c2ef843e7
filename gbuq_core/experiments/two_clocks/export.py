"""Exports of Two clocks: tables, and Python that computes the scores again."""

from __future__ import annotations

from gbuq_core.experiments.python_text import arguments_text
from gbuq_core.experiments.two_clocks.data import SLOPE
from gbuq_core.experiments.two_clocks.models import arguments_of, kind_of
from gbuq_core.experiments.two_clocks.plan import (
    N_SCORED,
    SINGLE,
    TwoClocksPlan,
    TwoClocksSettings,
    plan_two_clocks,
)
from gbuq_core.experiments.two_clocks.scores import TwoClocksLook
from gbuq_core.presentation import csv_text

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
def model():
    return CatBoostRegressor(
        loss_function="RMSEWithUncertainty", iterations={trees}, learning_rate={rate},
        depth={depth}, random_seed=seed, thread_count=1, verbose=False,
        allow_writing_files=False,
    )


raw = model().fit(X, y).predict(X_scored, prediction_type="RawFormulaVal")
show("all trees", NormalDistribution(raw[:, 0], np.exp(raw[:, 1])))
"""
_NGBOOST = """
def model():
    return NGBRegressor(
        Base=DecisionTreeRegressor(max_depth={depth}, random_state=seed),
        n_estimators={trees}, learning_rate={rate}, random_state=seed, verbose=False,
    )


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


def two_clocks_code(settings: TwoClocksSettings) -> str:
    """Python that fits the model, stops it and scores it.

    An ensemble: all trees, early stopping and two clocks. CatBoost and NGBoost: all trees, one
    factor and two clocks. A model without clocks: as it is, and with one factor.

    Examples
    --------
    >>> "make_friedman(500, 1.0, random_state=0)" in two_clocks_code(TwoClocksSettings())
    True
    """
    plan = plan_two_clocks(settings)
    if plan.model in SINGLE:
        return _code_of_library(plan, settings.tails)
    if not plan.has_clocks:
        return _code_of_method(plan, settings.tails)
    knobs: dict[str, object] = {
        **kind_of(plan),
        "n_members": plan.members,
        "n_trees": plan.trees,
        "learning_rate": plan.rate,
        "depth": plan.depth,
        "mean_weight": plan.mean_weight,
        "tails": settings.tails,
        "random_state": plan.seed,
    }
    lines = ["import numpy as np", ""]
    lines += _rows_code(plan, ["from gbuq_core import BoostedEnsembleRegressor"])
    lines.append(f"knobs = dict({arguments_text(knobs)})".replace("'", '"'))
    return "\n".join(lines) + "\n" + _SHOW


def _code_of_library(plan: TwoClocksPlan, tails: str) -> str:
    """The same around a model of CatBoost or NGBoost."""
    lines = ["import numpy as np"]
    if plan.model == "catboost":
        lines += ["from catboost import CatBoostRegressor"]
        maker = _CATBOOST
    else:
        lines += [
            "from ngboost import NGBRegressor",
            "from sklearn.tree import DecisionTreeRegressor",
        ]
        maker = _NGBOOST
    imports = [
        "from gbuq_core import CalibratedRegressor",
        "from gbuq_core.distribution import NormalDistribution",
    ]
    lines += ["", *_rows_code(plan, imports), f'seed, tails = {plan.seed}, "{tails}"', ""]
    made = maker.format(trees=plan.trees, rate=plan.rate, depth=plan.depth)
    return "\n".join(lines) + _SCORES + made + _SHOW_WRAPPED


def _code_of_method(plan: TwoClocksPlan, tails: str) -> str:
    """The same of a model without clocks."""
    imports = [
        "from gbuq_core import CalibratedRegressor",
        "from gbuq_core.methods import METHODS",
    ]
    lines = ["import numpy as np", "", *_rows_code(plan, imports)]
    lines += [f'seed, tails = {plan.seed}, "{tails}"', "", ""]
    lines += ["def model():", f'    return METHODS["{plan.model}"].make({_given(plan)})', ""]
    return "\n".join(lines) + _SCORES + _SHOW_SCALED


def _given(plan: TwoClocksPlan) -> str:
    """Arguments of a model without clocks as code, the seed by its name."""
    given = {name: value for name, value in arguments_of(plan).items() if name != "random_state"}
    seed = ["random_state=seed"] if "random_state" in arguments_of(plan) else []
    return ", ".join(part for part in (arguments_text(given), *seed) if part)


def _rows_code(plan: TwoClocksPlan, imports: list[str]) -> list[str]:
    """Lines that import what is left and make the rows."""
    if plan.data == "diabetes":
        return [
            "from sklearn.datasets import load_diabetes",
            "",
            *imports,
            "",
            "every_X, every_y = load_diabetes(return_X_y=True, scaled=False)",
            f"order = np.random.default_rng([{plan.seed}, 5]).permutation(len(every_y))",
            f"X, y = every_X[order[:{plan.rows}]], every_y[order[:{plan.rows}]]",
            f"X_scored, y_scored = every_X[order[{plan.rows}:]], every_y[order[{plan.rows}:]]",
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
