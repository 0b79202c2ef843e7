"""A small table of every kind of column, and plans that train on it in a moment."""

import numpy as np
import pandas as pd

from gbuq_core.methods import METHODS
from gbuq_core.tables import ScorePlan, read_table

SMALL = {
    "n_trees": 8, "n_groups": 2, "trees_per_group": 3, "n_steps": 40, "n_draws": 8, "n_burn_in": 3,
    "n_members": 2, "min_child_samples": 5,
}  # fmt: skip


def small_table(n_rows=80, seed=0, name="small.csv"):
    rng = np.random.default_rng(seed)
    x, kind = rng.uniform(0, 1, n_rows), rng.choice(list("abc"), n_rows)
    days = pd.date_range("2024-01-01", periods=n_rows, freq="7h")
    y = np.exp(x + 0.3 * rng.normal(size=n_rows))
    high = np.where(x + 0.2 * rng.normal(size=n_rows) > 0.5, "high", "low")
    lines = ["x,kind,day,y,level,group"]
    for i in range(n_rows):
        cell = "" if i % 17 == 3 else f"{x[i]:.4f}"
        lines.append(f"{cell},{kind[i]},{days[i]:%Y-%m-%d %H:%M},{y[i]:.4f},{high[i]},{i % 9}")
    return read_table("\n".join(lines).encode(), name)


def plan_of(key, **more):
    """A plan that trains any method that is no boosted ensemble in a moment."""
    knobs = [(knob.key, SMALL[knob.key]) for knob in METHODS[key].knobs if knob.key in SMALL]
    return ScorePlan(method=key, knobs=tuple(knobs), n_folds=2, **more)


def quick(**knobs):
    return ScorePlan(**{"n_trees": 12, "n_members": 2, "ensemble": "virtual", "depth": 3, **knobs})
