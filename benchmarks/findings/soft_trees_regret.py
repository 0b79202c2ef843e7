"""Who explores better, seed by seed: paper 4's bandit from the stored results, or played longer."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from itertools import permutations
from pathlib import Path

import numpy as np

from benchmarks.protocols import soft_trees
from benchmarks.report import table_lines
from benchmarks.tables.__main__ import RESULTS
from benchmarks.tables.cells import Cells
from gbuq_core.experiments.soft_trees.bandit import BanditSettings, plan_bandit, run_bandit


def stored_regrets(store: Cells) -> dict[str, dict[int, float]]:
    """Regret of each policy by seed."""
    regrets: dict[str, dict[int, float]] = {}
    for result in store:
        if result.table == "soft_trees" and result.set == soft_trees.EXPLORATION:
            regrets.setdefault(result.method, {})[result.split] = next(iter(result.scores.values()))
    return regrets


def play(policies: list[str], pulls: int, seeds: int) -> dict[str, dict[int, float]]:
    """Regret of each policy by seed after so many pulls."""
    regrets: dict[str, dict[int, float]] = {}
    for policy in policies:
        for seed in range(seeds):
            settings = BanditSettings(n_steps=pulls, n_seeds=1, seed=seed)
            regret = run_bandit(plan_bandit(settings, policy)).mean[-1]
            regrets.setdefault(policy, {})[seed] = float(regret)
    return regrets


def compare(regrets: Mapping[str, Mapping[int, float]]) -> list[tuple[str, str, int, int, float]]:
    """Pairs of policies: wins of the first, seeds of both, and how far ahead it is.

    The last number is its mean lead over the standard error of the lead; NaN with one seed.

    >>> compare({"a": {0: 1.0, 1: 2.0}, "b": {0: 3.0, 1: 5.0}})[0][:4]
    ('a', 'b', 2, 2)
    """
    pairs = []
    for a, b in permutations(regrets, 2):
        seeds = sorted(regrets[a].keys() & regrets[b].keys())
        lead = np.array([regrets[b][seed] - regrets[a][seed] for seed in seeds])
        if lead.size == 0 or lead.mean() < 0.0:
            continue
        error = lead.std(ddof=1) / np.sqrt(lead.size) if lead.size > 1 else np.nan
        pairs.append((a, b, int((lead > 0.0).sum()), len(seeds), float(lead.mean() / error)))
    return pairs


def main() -> None:
    """Print the means and the pairs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the stored results")
    parser.add_argument("--pulls", type=int, help="play so many in place of reading")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--policies", nargs="+", default=["vst", "sglb", "xbart"])
    args = parser.parse_args()
    regrets = (
        play(args.policies, args.pulls, args.seeds)
        if args.pulls
        else stored_regrets(Cells(args.out))
    )
    table = [["policy", "seeds", "mean", "median", "least", "largest"]]
    for policy, by_seed in regrets.items():
        values = np.array(list(by_seed.values()))
        table.append(
            [policy, str(values.size), *(f"{part(values):.1f}" for part in (
                np.mean, np.median, np.min, np.max))]
        )  # fmt: skip
    print("\n".join(table_lines("Regret", table)))
    pairs = [["ahead", "of", "on seeds", "lead in standard errors"]]
    pairs += [[a, b, f"{wins} of {n}", f"{lead:.1f}"] for a, b, wins, n, lead in compare(regrets)]
    print("\n".join(table_lines("Pairs", pairs)))


if __name__ == "__main__":
    main()
