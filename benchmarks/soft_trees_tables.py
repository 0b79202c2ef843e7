"""The soft trees benchmark's tables: ours beside the paper's numbers, and who beats SGLB.

Cinquin et al., "Variational boosted soft trees" (2022), tables 1, 2, 6: means and stds of 10 folds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks.report import Row, table_lines
from benchmarks.tables.comparing import MeanError, collect, mean_error

RIVAL = "SGLB"
FAMILIES = {
    "VST": ("VST const.", "VST linear"),
    "VSGBM": ("VSGBM const.", "VSGBM linear"),
    "any soft tree": ("VST const.", "VST linear", "VSGBM const.", "VSGBM linear"),
}
PAPER_METHODS = (*FAMILIES["any soft tree"], RIVAL, "XBART")
SCORES = {
    "log_likelihood": "log-likelihood, standardised y, nats (higher is better)",
    "auroc": "AUROC of knowledge uncertainty, foreign rows against test rows (higher is better)",
    "rmse": "RMSE in target stds (lower is better)",
}
# The paper's wine has the red wines only, as ours has.
PAPER: dict[str, dict[str, dict[str, tuple[float, float]]]] = {
    "log_likelihood": {
        "concrete": {
            "VST const.": (-0.999, 0.006), "VST linear": (-0.461, 0.070),
            "VSGBM const.": (-0.465, 0.040), "VSGBM linear": (-0.591, 0.079),
            "SGLB": (-0.931, 0.010), "XBART": (-0.581, 0.024),
        },
        "energy": {
            "VST const.": (-0.710, 0.280), "VST linear": (-0.377, 0.123),
            "VSGBM const.": (-0.227, 0.038), "VSGBM linear": (-0.057, 0.134),
            "SGLB": (-0.232, 0.009), "XBART": (-0.462, 0.054),
        },
        "power": {
            "VST const.": (-0.032, 0.010), "VST linear": (-0.024, 0.002),
            "VSGBM const.": (-0.002, 0.011), "VSGBM linear": (-0.015, 0.011),
            "SGLB": (-0.500, 0.001), "XBART": (-0.001, 0.006),
        },
        "wine": {
            "VST const.": (-1.458, 0.615), "VST linear": (-3.067, 1.168),
            "VSGBM const.": (-1.192, 0.007), "VSGBM linear": (-1.167, 0.004),
            "SGLB": (-1.220, 0.006), "XBART": (-1.251, 0.010),
        },
    },
    "auroc": {
        "concrete": {
            "VST const.": (0.677, 0.049), "VST linear": (0.840, 0.013),
            "VSGBM const.": (0.666, 0.033), "VSGBM linear": (0.763, 0.023),
            "SGLB": (0.763, 0.024), "XBART": (0.818, 0.020),
        },
        "energy": {
            "VST const.": (0.863, 0.045), "VST linear": (0.996, 0.003),
            "VSGBM const.": (0.901, 0.018), "VSGBM linear": (0.993, 0.008),
            "SGLB": (0.973, 0.007), "XBART": (0.837, 0.146),
        },
        "power": {
            "VST const.": (0.591, 0.025), "VST linear": (0.618, 0.024),
            "VSGBM const.": (0.569, 0.018), "VSGBM linear": (0.571, 0.010),
            "SGLB": (0.600, 0.011), "XBART": (0.572, 0.011),
        },
        "wine": {
            "VST const.": (0.796, 0.010), "VST linear": (0.742, 0.036),
            "VSGBM const.": (0.625, 0.019), "VSGBM linear": (0.688, 0.027),
            "SGLB": (0.613, 0.019), "XBART": (0.549, 0.021),
        },
    },
    "rmse": {
        "concrete": {
            "VST const.": (0.592, 0.005), "VST linear": (0.423, 0.066),
            "VSGBM const.": (0.347, 0.016), "VSGBM linear": (0.341, 0.014),
            "SGLB": (0.593, 0.002), "XBART": (0.355, 0.012),
        },
        "energy": {
            "VST const.": (0.483, 0.099), "VST linear": (0.281, 0.044),
            "VSGBM const.": (0.227, 0.015), "VSGBM linear": (0.183, 0.037),
            "SGLB": (0.318, 0.002), "XBART": (0.292, 0.295),
        },
        "power": {
            "VST const.": (0.239, 0.001), "VST linear": (0.242, 0.001),
            "VSGBM const.": (0.238, 0.001), "VSGBM linear": (0.242, 0.001),
            "SGLB": (0.453, 0.001), "XBART": (0.233, 0.001),
        },
        "wine": {
            "VST const.": (0.788, 0.009), "VST linear": (0.781, 0.008),
            "VSGBM const.": (0.781, 0.008), "VSGBM linear": (0.769, 0.006),
            "SGLB": (0.857, 0.002), "XBART": (0.815, 0.008),
        },
    },
}  # fmt: skip

Results = Mapping[str, Mapping[str, Any]]


# A target of few values rewards narrow leaves on them with densities without bound.
FEW_VALUES = 50


class Comparison(NamedTuple):
    """A soft tree against SGLB on one set.

    method : which of a family, by validation rows; gain : its test log-likelihood less SGLB's,
    paired over splits, in nats; errors : its RMSE over SGLB's; word : "above", "tied" (at most one
    standard error apart), "below", or "above by repeated values", which counts for nothing.
    """

    method: str
    gain: MeanError
    errors: float
    word: str


def chosen_of(results: Results, name: str, family: Sequence[str]) -> str | None:
    """The method of a family with the highest validation log-likelihood on split 0."""
    found = {m: results.get(f"{name}/0/{m}") for m in family}
    known = {m: float(r["validation"]) for m, r in found.items() if r is not None}
    return max(known, key=known.__getitem__) if known else None


def compare(results: Results, name: str, family: Sequence[str], n_values: int) -> Comparison | None:
    """A family's chosen method against SGLB; None where one of them is missing.

    ``n_values`` is the number of distinct targets.
    """
    method = chosen_of(results, name, family)
    if method is None:
        return None
    likelihoods = collect(results, name, "log_likelihood", (method, RIVAL))
    errors = collect(results, name, "rmse", (method, RIVAL))
    if len(likelihoods) < 2:
        return None
    gain = mean_error(np.subtract(likelihoods[method], likelihoods[RIVAL]))
    ratio = float(np.mean(errors[method]) / np.mean(errors[RIVAL]))
    word = "above" if gain.mean > 0 else "below"
    if abs(gain.mean) <= gain.error:
        word = "tied"
    elif word == "above" and n_values <= FEW_VALUES and ratio > 1:
        word = "above by repeated values"
    return Comparison(method, gain, ratio, word)


def verdict_row(results: Results, sizes: Mapping[str, int], label: str) -> Row:
    """On how many sets a family beats SGLB in log-likelihood, and how it stands on the others.

    ``sizes`` holds the number of distinct targets of each set.
    """
    found = {name: compare(results, name, FAMILIES[label], n) for name, n in sizes.items()}
    known = {name: each for name, each in found.items() if each is not None}
    words = [each.word for each in known.values()]
    above, tied = words.count("above"), words.count("tied")
    text = "; ".join(f"{name} {_compared(each)}" for name, each in known.items())
    return Row(
        f"{label} above {RIVAL} in test log-likelihood, leaf and knobs by validation rows",
        f"{above} of {len(known)} sets, tied on {tied} ({text})" if known else "not measured",
        "at least half",
        2 * above >= len(known) if known else None,
        {name: [each.method, *each.gain, each.errors, each.word] for name, each in known.items()},
    )


def paper_row(results: Results, sets: Sequence[str]) -> Row:
    """What the rival is worth: this SGLB, and each of our methods, over the paper's SGLB."""
    theirs = PAPER["log_likelihood"]
    ours = {name: collect(results, name, "log_likelihood", tuple(PAPER_METHODS)) for name in sets}
    means = {
        name: {method: float(np.mean(values)) for method, values in ours[name].items()}
        for name in sets
    }
    rivals = "; ".join(
        f"{name} {means[name][RIVAL] - theirs[name][RIVAL][0]:+.3f}"
        for name in sets
        if RIVAL in means[name]
    )
    counts = ", ".join(
        f"{method} {sum(means[n].get(method, -np.inf) > theirs[n][RIVAL][0] for n in sets)}"
        for method in FAMILIES["any soft tree"]
    )
    return Row(
        f"sets of {len(sets)} above the paper's {RIVAL}",
        f"{counts}; this {RIVAL} less the paper's, nats: {rivals}",
        "",
        None,
        {"means": means},
    )


def _compared(each: Comparison) -> str:
    return (
        f"{each.word}, {each.gain.mean:+.3f} +- {each.gain.error:.3f} nats by {each.method}, "
        f"RMSE {each.errors:.2f} x {RIVAL}'s"
    )


def score_tables(results: Results, sets: Sequence[str], methods: Sequence[str]) -> list[str]:
    """Markdown lines: for every score a row a method, ours and the paper's for every set."""
    lines = []
    for score, title in SCORES.items():
        table = [["method", *sets]]
        by_set = {name: collect(results, name, score, methods) for name in sets}
        for method in methods:
            cells = [method]
            for name in sets:
                values = by_set[name].get(method)
                ours = "" if not values else str(mean_error(values))
                theirs = PAPER[score].get(name, {}).get(method)
                cells.append(f"{ours} / {theirs[0]:.3f}" if theirs else ours)
            table.append(cells)
        lines += table_lines(
            f"{title}: ours, mean (standard error over splits) / the paper's", table
        )
    return lines


def setting_lines(results: Results, sets: Sequence[str], methods: Sequence[str]) -> list[str]:
    """Markdown lines: what was chosen on split 0, and processor seconds of a fit."""
    table = [["method", *sets]]
    for method in methods:
        cells = [method]
        for name in sets:
            first = results.get(f"{name}/0/{method}")
            seconds = collect(results, name, "fit_cpu_seconds", [method]).get(method)
            knobs = ", ".join(f"{k} {v}" for k, v in first["settings"].items()) if first else ""
            cells.append(f"{knobs}; {np.mean(seconds):.1f} s" if seconds else "")
        table.append(cells)
    title = "Chosen on validation rows of split 0; processor seconds of a fit, mean"
    return table_lines(title, table)
