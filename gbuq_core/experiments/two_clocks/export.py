"""Exports of Two clocks: tables, and Python that computes the scores again."""

from __future__ import annotations

from gbuq_core.experiments.python_text import arguments_text
from gbuq_core.experiments.two_clocks.data import SLOPE
from gbuq_core.experiments.two_clocks.plan import N_SCORED, TwoClocksSettings, plan_two_clocks
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


def two_clocks_code(settings: TwoClocksSettings) -> str:
    """Python that fits all trees, early stopping and two clocks, and scores them.

    Examples
    --------
    >>> "make_friedman(500, 1.0, random_state=0)" in two_clocks_code(TwoClocksSettings())
    True
    """
    plan = plan_two_clocks(settings)
    knobs = {
        "n_members": plan.members,
        "n_trees": plan.trees,
        "learning_rate": plan.rate,
        "depth": plan.depth,
        "mean_weight": plan.mean_weight,
        "tails": settings.tails,
        "random_state": plan.seed,
    }
    lines = ["import numpy as np", ""]
    if plan.data == "diabetes":
        lines += [
            "from sklearn.datasets import load_diabetes",
            "",
            "from gbuq_core import BoostedEnsembleRegressor",
            "",
            "every_X, every_y = load_diabetes(return_X_y=True, scaled=False)",
            f"order = np.random.default_rng([{plan.seed}, 5]).permutation(len(every_y))",
            f"X, y = every_X[order[:{plan.rows}]], every_y[order[:{plan.rows}]]",
            f"X_scored, y_scored = every_X[order[{plan.rows}:]], every_y[order[{plan.rows}:]]",
        ]
    else:
        maker = _MAKERS[plan.data]
        noise = SLOPE * plan.noise if plan.data == "growing noise" else plan.noise
        lines += [
            "from gbuq_core import BoostedEnsembleRegressor",
            f"from gbuq_core.synthetic import {maker}",
            "",
            f"rows = {maker}({plan.rows}, {noise!r}, random_state={plan.seed})",
            f"scored = {maker}({N_SCORED}, {noise!r}, random_state=[{plan.seed}, 2])",
            "X, y, X_scored, y_scored = rows.X, rows.y, scored.X, scored.y",
        ]
    lines.append(f"knobs = dict({arguments_text(knobs)})".replace("'", '"'))
    return "\n".join(lines) + "\n" + _SHOW


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
