"""The score benchmark's tables: means and standard errors, ranks, verdicts, the paper's numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.ibug_data import COMPARABLE, SCORES
from benchmarks.report import table_lines
from benchmarks.tables.comparing import MeanError, Verdict, collect, judge, mean_error, ranks

FOCUS = "IBUG+CBU"
# The methods of the paper's table 1; the authors' CBU is a CatBoost model.
OF_THE_PAPER = ("NGBoost", "PGBM", "virtual SGLB", "IBUG CatBoost", FOCUS)
# Tables 1, 2 and 16 (CRPS), 8 (NLL) and 7 (RMSE): mean and standard error of 10 folds.
PAPER: dict[str, dict[str, dict[str, tuple[float, float]]]] = {
    "crps": {
        "concrete": {
            "NGBoost": (3.410, 0.182), "PGBM": (1.927, 0.086), "virtual SGLB": (1.788, 0.077),
            "IBUG CatBoost": (1.849, 0.098), FOCUS: (1.741, 0.082), "kNN": (4.645, 0.140),
            "kNN-CB": (1.872, 0.085),
        },
        "power": {
            "NGBoost": (2.105, 0.023), "PGBM": (1.531, 0.019), "virtual SGLB": (1.473, 0.022),
            "IBUG CatBoost": (1.542, 0.020), FOCUS: (1.471, 0.021), "kNN": (2.074, 0.022),
            "kNN-CB": (1.553, 0.020), "IBUG LightGBM": (1.536, 0.022),
            "IBUG XGBoost": (1.518, 0.018),
        },
        "protein": {
            "NGBoost": (5427.0, 5409.0), "PGBM": (1.823, 0.011), "virtual SGLB": (1.788, 0.009),
            "IBUG CatBoost": (1.784, 0.008), FOCUS: (1.742, 0.009), "kNN": (3.241, 0.010),
            "kNN-CB": (1.787, 0.008), "IBUG LightGBM": (1.683, 0.009),
            "IBUG XGBoost": (1.788, 0.008),
        },
    },
    "nll": {
        "concrete": {
            "NGBoost": (3.043, 0.030), "PGBM": (2.802, 0.083), "virtual SGLB": (2.766, 0.086),
            "IBUG CatBoost": (2.980, 0.146), FOCUS: (2.695, 0.060),
        },
        "power": {
            "NGBoost": (2.752, 0.032), "PGBM": (2.518, 0.021), "virtual SGLB": (2.538, 0.019),
            "IBUG CatBoost": (2.575, 0.036), FOCUS: (2.514, 0.017),
        },
        "protein": {
            "NGBoost": (2.840, 0.014), "PGBM": (2.661, 0.005), "virtual SGLB": (2.553, 0.009),
            "IBUG CatBoost": (2.653, 0.054), FOCUS: (2.516, 0.010),
        },
    },
    "rmse": {
        "concrete": {
            "NGBoost": (5.485, 0.182), "PGBM": (3.840, 0.209), "virtual SGLB": (3.682, 0.202),
            "IBUG CatBoost": (3.629, 0.183), FOCUS: (3.617, 0.188),
        },
        "power": {
            "NGBoost": (3.836, 0.045), "PGBM": (3.017, 0.056), "virtual SGLB": (2.924, 0.065),
            "IBUG CatBoost": (2.941, 0.059), FOCUS: (2.912, 0.063),
        },
        "protein": {
            "NGBoost": (4.525, 0.040), "PGBM": (3.455, 0.021), "virtual SGLB": (3.520, 0.019),
            "IBUG CatBoost": (3.512, 0.017), FOCUS: (3.493, 0.018),
        },
    },
}  # fmt: skip


def score_table(
    results: Mapping[str, Mapping[str, Any]], name: str, methods: Sequence[str]
) -> list[str]:
    """Markdown lines of one set: a row for each method, ours beside the paper's."""
    by_score = {s: collect(results, name, s, methods) for s in SCORES}
    if not by_score["crps"]:
        return []
    n_splits = len(next(iter(by_score["crps"].values())))
    with_paper = name in COMPARABLE
    head = ["method"]
    for s in SCORES:
        head += [s.upper(), "paper", "rank"] if with_paper else [s.upper(), "rank"]
    table = [head]
    places = {s: ranks(by_score[s]) for s in SCORES}
    for method in methods:
        cells = [method]
        for s in SCORES:
            missing = method not in by_score[s]
            cells.append("not installed" if missing else str(mean_error(by_score[s][method])))
            if with_paper:
                theirs = PAPER[s][name].get(method)
                cells.append("" if theirs is None else str(MeanError(*theirs)))
            cells.append("" if missing else f"{places[s][method]:.1f}")
        table.append(cells)
    return table_lines(f"{name}, {n_splits} split{'s' * (n_splits > 1)}", table)


def verdict_lines(
    results: Mapping[str, Mapping[str, Any]], sets: Sequence[str], methods: Sequence[str]
) -> list[str]:
    """Markdown lines: IBUG+CBU against all rivals and against those of the paper's table 1."""
    table = [["set", "score", "against all", "against the paper's five"]]
    for name in sets:
        for s in SCORES:
            by_method = collect(results, name, s, methods)
            cells = [_verdict(judge(by_method, some, FOCUS)) for some in (methods, OF_THE_PAPER)]
            if by_method:
                table.append([name, s.upper(), *cells])
    for s in SCORES:
        counts = []
        for some in (methods, OF_THE_PAPER):
            found = [judge(collect(results, name, s, methods), some, FOCUS) for name in sets]
            words = [each.word for each in found if each is not None]
            counts.append(f"{sum(w != 'behind' for w in words)} of {len(words)} sets")
        table.append(["all sets", s.upper(), *counts])
    title = f"{FOCUS}: first, or tied within one standard error of the paired difference"
    return table_lines(title, table)


def rank_lines(
    results: Mapping[str, Mapping[str, Any]], sets: Sequence[str], methods: Sequence[str]
) -> list[str]:
    """Markdown lines: every method's rank, averaged over the sets it was run on."""
    table = [["method", *(s.upper() for s in SCORES)]]
    by_set = {s: [collect(results, name, s, methods) for name in sets] for s in SCORES}
    found = {s: [ranks(each) for each in by_set[s] if each] for s in SCORES}
    for method in methods:
        cells = []
        for s in SCORES:
            here = [each[method] for each in found[s] if method in each]
            cells.append(f"{np.mean(here):.2f}" if here else "not installed")
        table.append([method, *cells])
    return table_lines("Mean rank over the sets", table)


def cost_lines(
    results: Mapping[str, Mapping[str, Any]], sets: Sequence[str], methods: Sequence[str]
) -> list[str]:
    """Markdown lines: processor time of tuning and training, and of predicting a row."""
    table = [["method", *sets]]
    for method in methods:
        cells = []
        for name in sets:
            fit = collect(results, name, "fit_cpu_seconds", [method]).get(method)
            row = collect(results, name, "predict_cpu_ms", [method]).get(method)
            known = fit is not None and row is not None
            cells.append(f"{np.mean(fit):.1f}, {np.mean(row):.3f}" if known else "")
        table.append([method, *cells])
    return table_lines("Processor time: tuning and training (s), prediction (ms a row)", table)


def curve_lines(curves: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    """Markdown lines of NLL and time against tau; ``curves`` holds each set's splits."""
    lines = []
    for name, splits in curves.items():
        tables = [each["tau"] for each in splits]
        shares = sorted({record["share"] for record in tables[0]})
        table = [["order", *(f"{100 * share:g} %" for share in shares)]]
        for order in dict.fromkeys(record["order"] for record in tables[0]):
            cells = []
            for share in shares:
                here = [r for t in tables for r in t if (r["order"], r["share"]) == (order, share)]
                nll = mean_error([r["nll"] for r in here])
                cells.append(f"{nll!s}, {np.mean([r['cpu_ms'] for r in here]):.3f} ms")
            table.append([order, *cells])
        title = f"{name}: NLL (and ms of processor time a row) against tau"
        lines += table_lines(title, table)
    return lines


def family_lines(curves: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    """Markdown lines: test NLL of the chosen family below that of the normal."""
    table = [["set", "matched to the calibrated mean and std", "fitted by likelihood"]]
    for name, splits in curves.items():
        cells = [name]
        for fit in ("matched", "likelihood"):
            here = [each["families"][fit] for each in splits]
            normal = [each["families"]["matched"]["normal"] for each in splits]
            gain = mean_error([n - r["nll"] for n, r in zip(normal, here, strict=True)])
            chosen = ", ".join(sorted({r["chosen"] for r in here}))
            cells.append(f"{gain.mean:+.3f} ({gain.error:.3f}): {chosen}")
        table.append(cells)
    title = "The family chosen on validation rows: test NLL, normal minus chosen (nats)"
    return table_lines(title, table)


def _verdict(verdict: Verdict | None) -> str:
    if verdict is None:
        return ""
    d = verdict.difference
    return f"{verdict.word} ({d.mean:+.4f} +- {d.error:.4f} to {verdict.rival})"
