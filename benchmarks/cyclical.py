"""Cyclical SGLB on the spiral in the papers' settings: its cost against CatBoost.

    python -m benchmarks.cyclical [--only fit refit]

Compile time is left out: every kernel runs once before it is timed. ``fit`` trains the papers'
chains; CatBoost trains an ordinary SGLB chain of the same length, since its cyclical form needs an
objective of the user's own in Python. ``refit`` moves what must not train anything.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from benchmarks.report import Row, median_seconds, parse_arguments, report
from gbuq_core import BoostedEnsembleClassifier, make_spiral
from gbuq_core.experiments.spiral.fit import fit_spiral, map_spiral
from gbuq_core.experiments.spiral.plan import METHODS, PAPER
from gbuq_core.settings import plan_of

_SECTIONS = ["fit", "refit"]


def fit() -> list[Row]:
    """Chains of 2000 trees on the 4500 rows of the paper."""
    data = make_spiral(PAPER.rows, PAPER.noise, random_state=0)

    def train(method: str, **knobs: Any) -> None:
        BoostedEnsembleClassifier(
            method=method, stopping=None, ensemble="virtual", n_trees=PAPER.chain_trees,
            n_jobs=1, random_state=0,
            random_strength=PAPER.random_strength, cycle_length=PAPER.cycle, **knobs,
        ).fit(data.X, data.y)  # fmt: skip

    plain = median_seconds(lambda: train("sglb"), repeats=3)
    rows = [_row("virtual SGLB, one model of 2000 trees, one thread", f"{plain:.2f} s", plain)]
    for method in ("csglb", "cbsglb"):
        seconds = median_seconds(lambda m=method: train(m), repeats=3)
        share = f"{seconds:.2f} s, {seconds / plain:.2f} x virtual SGLB"
        rows.append(_row(f"{METHODS[method].label}, the same", share, seconds))
    began = time.perf_counter()
    train("sglb", engine="catboost")
    theirs = time.perf_counter() - began
    ratio = f"{theirs:.2f} s, {theirs / seconds:.1f} x cbSGLB"
    rows.append(_row("CatBoost's virtual SGLB, the same, all threads", ratio, theirs))
    return rows


def refit() -> list[Row]:
    """Maps of fitted chains after K or the burn-in moved."""
    rows = []
    for method, knob in (("virtual_sglb", {"step": 100}), ("csglb", {"burn_in": 3})):
        fitted = fit_spiral(plan_of(PAPER, method))
        moved = replace(PAPER, **knob)
        seconds = median_seconds(lambda f=fitted, m=moved: map_spiral(f, m), repeats=5)
        what = f"{METHODS[method].label}: {next(iter(knob))} moved, all frames of 80 x 80 cells"
        rows.append(_row(what, f"{1e3 * seconds:.0f} ms", seconds))
    return rows


def _row(what: str, measured: str, seconds: float) -> Row:
    return Row(what, measured, "", None, {"seconds": seconds})


def main() -> None:
    """Run the sections asked for and report them."""
    arguments = parse_arguments(__doc__.splitlines()[0], _SECTIONS)
    rows: list[Row] = []
    for section in arguments.only:
        rows += {"fit": fit, "refit": refit}[section]()
    report("Cyclical SGLB on the spiral", rows, arguments.json)


if __name__ == "__main__":
    main()
