"""Every statement of every experiment page over ten seeds: with how many it holds.

    python -m benchmarks.claims                       # the pages' first settings
    python -m benchmarks.claims --only spiral novelty
    python -m benchmarks.claims --most-seconds 600    # quicker settings only above ten minutes
    python -m benchmarks.claims --paper               # the papers' settings, where they are known

Where ten seeds are estimated to take longer than `--most-seconds`, the quicker settings of the page
are taken and named.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from gbuq_core.experiments.gaussians.plan import GaussiansSettings
from gbuq_core.experiments.gaussians.scores import STUDY as GAUSSIANS
from gbuq_core.experiments.heart.plan import HeartSettings
from gbuq_core.experiments.heart.scores import STUDY as HEART
from gbuq_core.experiments.heteroscedastic.claims import STUDY as HETEROSCEDASTIC
from gbuq_core.experiments.heteroscedastic.plan import PAPER as HETEROSCEDASTIC_PAPER
from gbuq_core.experiments.heteroscedastic.plan import HeteroscedasticSettings
from gbuq_core.experiments.neighbours.claims import STUDY as NEIGHBOURS
from gbuq_core.experiments.neighbours.plan import NeighboursSettings
from gbuq_core.experiments.novelty.claims import STUDY as NOVELTY
from gbuq_core.experiments.novelty.plan import NoveltySettings
from gbuq_core.experiments.seeds import SeedStudy, count_verdicts
from gbuq_core.experiments.soft_trees.bandit import BanditSettings
from gbuq_core.experiments.soft_trees.claims import BANDIT_STUDY as BANDIT
from gbuq_core.experiments.soft_trees.claims import RANK_STUDY as RANK
from gbuq_core.experiments.soft_trees.claims import STUDY as SOFT_TREES
from gbuq_core.experiments.soft_trees.plan import PAPER as SOFT_TREES_PAPER
from gbuq_core.experiments.soft_trees.plan import SoftTreesSettings
from gbuq_core.experiments.soft_trees.rank import FULL, RankSettings
from gbuq_core.experiments.spiral.claims import STUDY as SPIRAL
from gbuq_core.experiments.spiral.plan import PAPER as SPIRAL_PAPER
from gbuq_core.experiments.spiral.plan import SpiralSettings
from gbuq_core.experiments.wave.fit import STUDY as WAVE
from gbuq_core.experiments.wave.fit import WaveSettings
from gbuq_core.presentation import markdown_table

# The pages' first settings, and the papers' where they are others.
STUDIES: dict[str, tuple[SeedStudy, Any, Any]] = {
    "gaussians": (GAUSSIANS, GaussiansSettings(), None),
    "heteroscedastic": (HETEROSCEDASTIC, HeteroscedasticSettings(), HETEROSCEDASTIC_PAPER),
    "novelty": (NOVELTY, NoveltySettings(), None),
    "neighbours": (NEIGHBOURS, NeighboursSettings(), None),
    "soft_trees": (SOFT_TREES, SoftTreesSettings(), SOFT_TREES_PAPER),
    "bandit": (BANDIT, BanditSettings(), None),
    "rank": (RANK, RankSettings(), None),
    "rank_moons": (RANK, RankSettings(data="moons3", ranks=(0, FULL)), None),
    # The page opens with narrow arms; links without a noise mean 0.4, as before.
    "spiral": (SPIRAL, SpiralSettings(methods=("sglb", "csglb"), noise=0.2), SPIRAL_PAPER),
    "spiral_wide": (SPIRAL, SpiralSettings(methods=("sglb", "csglb")), None),
    "wave": (WAVE, WaveSettings(rows=100), None),
    "heart": (HEART, HeartSettings(), None),
}


def main() -> None:
    """Run the statements and print a table an experiment."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=tuple(STUDIES), default=tuple(STUDIES))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--most-seconds", type=float, default=30.0)
    parser.add_argument("--paper", action="store_true")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    claims = {}
    for name in args.only:
        study, first, paper = STUDIES[name]
        if args.paper and paper is None:
            continue
        settings = paper if args.paper else first
        plan = study.plan(settings, args.seeds, args.most_seconds)
        began = time.perf_counter()
        counts = count_verdicts(study.run(plan))
        seconds = time.perf_counter() - began
        how = f"quicker: {', '.join(plan.quicker)}" if plan.quicker else "as asked"
        print(f"\n{name} ({how}; {seconds:.0f} s, estimated {plan.seconds:.0f} s)\n")
        rows = [(row.key, row.text, _range(row.dots)) for row in counts]
        print(markdown_table([("Statement", "Over seeds", "Values"), *rows]), flush=True)
        claims[name] = {"quicker": plan.quicker, "claims": {row[0]: row[1] for row in rows}}
    if args.json:
        args.json.write_text(json.dumps(claims, indent=1))


def _range(dots: Any) -> str:
    """The values of all seeds, each once."""
    return "; ".join(dict.fromkeys(dot.value for dot in dots))


if __name__ == "__main__":
    main()
