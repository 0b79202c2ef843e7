"""The MACAU benchmark's tables: cells, and table 1 of the paper beside ours.

Merilinna, "Advanced uncertainty quantification and novelty detection for random forest models"
(2023, doi 10.5121/csit.2023.131920).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.report import table_lines
from benchmarks.tables.comparing import collect
from gbuq_core.experiments.heteroscedastic.plan import METHODS, SCORES
from gbuq_core.experiments.heteroscedastic.scores import paper_auroc, paper_crps

LEVELS = (0.5, 0.8, 0.95)
# Table 1, "Synth(CRPS)": total uncertainty, 10,000 rows, half of them training.
PAPER_SYNTH_CRPS = {
    "macau_linear": 20.44,
    "macau_basic": 32.87,
    "forest": 32.77,
    "quantile": 37.02,
    "conformal_forest": 30.34,
    "conformal_linear": 5.99,
    "gnll": 30.28,
    "ngboost": 45.95,
    "catboost": 870.09,
}
# And the brackets of its "Synth(AUC)", where it has them for MACAU with linear leaves.
PAPER_SYNTH_BRACKETS = {
    "novelty": "[0.99; 1.0]",
    "conditional_novelty": "[0.49; 1.0]",
    "inference_novelty": "[0.49; 0.99]",
    "knowledge": "[0.27; 0.74]",
    "data": "[0.34; 0.67]",
    "total": "[0.31; 0.7]",
    "isolation": "[0.77; 0.94]",
}

Results = Mapping[str, Mapping[str, Any]]


def spread(values: Sequence[float], digits: int = 3) -> str:
    """Mean and std (n - 1) over seeds; empty where a method has no such number."""
    if not values or not np.isfinite(values).all():
        return ""
    if len(values) < 2:
        return f"{values[0]:.{digits}f}"
    return f"{np.mean(values):.{digits}f} ({np.std(values, ddof=1):.{digits}f})"


def paper_cell(value: float) -> str:
    """A number of the paper, if there is one."""
    return "" if math.isnan(value) else f"{value:g}"


def crps_lines(results: Results) -> list[str]:
    """Markdown lines of the 1-D table: CRPS, coverage, noise and seconds of every method."""
    head = ["method", "CRPS", "paper", "excess over the truth", "paper's less 0.282"]
    head += [f"coverage {100 * level:g} %" for level in LEVELS]
    head += ["std / noise", "fit s", "score 8,000 rows s"]
    table = [head]
    for method, kind in METHODS.items():
        found = {
            name: collect(results, "1-D", name, [method]).get(method, [])
            for name in ("crps", "excess", "noise_ratio", "fit_cpu", "score_cpu")
        }
        if not kind.parts or not found["crps"]:
            continue
        covered = [
            spread(collect(results, "1-D", f"coverage_{level:g}", [method])[method])
            for level in LEVELS
        ]
        paper = paper_crps(method)
        table.append(
            [
                kind.label, spread(found["crps"]), paper_cell(paper), spread(found["excess"]),
                paper_cell(round(paper - 0.282, 3)), *covered, spread(found["noise_ratio"], 2),
                spread(found["fit_cpu"], 2), spread(found["score_cpu"], 2),
            ]
        )  # fmt: skip
    return table_lines("1-D: mean (std over seeds); seconds of a processor", table)


def auroc_lines(results: Results) -> list[str]:
    """Markdown lines: AUROC of foreign rows by method and score, ours and the paper's."""
    table = [["method", *(kind.label for kind in SCORES.values())]]
    for method, kind in METHODS.items():
        cells = [kind.label]
        for score in SCORES:
            here = collect(results, "1-D", f"auroc_{score}", [method]).get(method, [])
            ours = spread(here) if score in kind.scores else ""
            theirs = paper_cell(paper_auroc(method, score))
            cells.append(f"{ours} / {theirs}" if ours and theirs else ours)
        table.append(cells)
    return table_lines("1-D: AUROC of foreign rows, mean (std over seeds) / the paper's", table)
