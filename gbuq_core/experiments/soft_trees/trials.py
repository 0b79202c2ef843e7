"""What Soft trees compares only when it is asked to: policies of a bandit, and ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType, SimpleNamespace

from gbuq_core.errors import refusal_of_call
from gbuq_core.experiments.soft_trees.bandit import (
    POLICIES,
    TRACE_STEPS,
    BanditRun,
    BanditSettings,
    describe_bandit,
    plan_policies,
    run_policies,
)
from gbuq_core.experiments.soft_trees.bandit_picture import bandit_figure
from gbuq_core.experiments.soft_trees.charts import rank_figure, regret_sheet
from gbuq_core.experiments.soft_trees.claims import (
    BANDIT_STUDY,
    RANK_STUDY,
    check_policies,
    check_rank_claim,
)
from gbuq_core.experiments.soft_trees.plan import (
    METHODS,
    SOFT_METHODS,
    SoftTreesSettings,
)
from gbuq_core.experiments.soft_trees.rank import (
    FULL,
    RANK_DATASETS,
    RankRun,
    RankSettings,
    describe_rank,
    plan_rank,
    run_rank,
    why_no_rank,
)
from gbuq_core.experiments.trial import Trial
from gbuq_core.figures.curves import Curves
from gbuq_core.figures.handles import live_knob
from gbuq_core.figures.standalone import Section
from gbuq_core.knobs import Knob, find_knob, narrow
from gbuq_core.presentation import csv_text
from gbuq_core.settings import from_values, knobs_of

SOFT_LABELS = MappingProxyType({METHODS[key].label: key for key in SOFT_METHODS})
WHOSE = Knob(
    "whose",
    "Tree of",
    "choice",
    METHODS["vst"].label,
    choices=tuple(SOFT_LABELS),
    group="picture",
)
PLAY = narrow(
    find_knob(knobs_of(BanditSettings), "n_steps"),
    key="bandit_steps",
    default=500,
    group="page",
    label="Steps of the bandit",
    choices=(200, 500, 1000, 2000, 5000),
)
POLICY = Knob(
    "bandit_policy",
    "Policy",
    "choice",
    POLICIES["vst"],
    choices=tuple(POLICIES.values()),
    group="picture",
    help="Whose functions and pulls are shown.",
)
MOMENT = Knob(
    "bandit_at",
    "Step",
    "ladder",
    60,
    group="picture",
    choices=tuple(step for step in TRACE_STEPS if step <= PLAY.choices[-1]),
    help="Which step of the bandit is shown.",
)
DATA = narrow(
    find_knob(knobs_of(RankSettings), "data"),
    key="rank_data",
    group="page",
    default=RANK_DATASETS["moons3"].label,
)
_BUILT_IN = ("random", "greedy")  # policies that need no other library


def bandit_plan(settings: SoftTreesSettings, values: SimpleNamespace) -> BanditSettings:
    """The bandit with the soft trees of the page."""
    return BanditSettings(
        policies=tuple(p for p in POLICIES if p in _BUILT_IN or not METHODS[p].record.missing()),
        n_steps=int(values.bandit_steps),
        refit_every=50,
        n_seeds=2,
        seed=settings.seed,
        vst_depth=max(1, settings.depth),
        vst_rank=min(int(settings.rank), 50),
    )


def _bandit_sections(runs: tuple[BanditRun, ...], values: SimpleNamespace) -> list[Section]:
    """Cumulative regret of the policies, and the bandit step by step."""
    return [
        Section(text=describe_bandit(runs), sheet=regret_sheet(runs)),
        Section(
            heading="A bandit, step by step",
            text="A context comes (the vertical line), and the policy draws one function for each "
            "arm. The arm whose function is highest there is pulled. Faint dots are earlier "
            "rewards, the diamond is this one. Play it: when does each arm find its bump?",
            curves=bandit_steps_figure(values, runs),
        ),
    ]


def bandit_steps_figure(values: SimpleNamespace, runs: tuple[BanditRun, ...]) -> Curves:
    """The bandit step by step, at the policy and step of the knobs."""
    steps, labels = runs[0].trace.steps, tuple(run.label for run in runs)
    policy = values.bandit_policy if values.bandit_policy in labels else labels[-1]
    near = min(steps.tolist(), key=lambda step: abs(step - values.bandit_at))
    return bandit_figure(
        runs,
        live_knob(narrow(POLICY, choices=labels), policy),
        live_knob(narrow(MOMENT, choices=tuple(steps.tolist())), near),
    )


def bandit_csv(runs: Sequence[BanditRun]) -> str:
    """One line a policy, seed and step: context, pulled arm, regret and its running sum."""
    names = ["policy", "seed", "step", "context", "arm", "regret", "cumulative"]
    rows = (
        (run.label, run.plan.seed + seed, step + 1, *values)
        for run in runs
        for seed in range(len(run.regret))
        for step, values in enumerate(
            zip(
                run.contexts[seed],
                run.arms[seed] + 1,
                run.regret[seed],
                run.cumulative[seed],
                strict=True,
            )
        )
    )
    return csv_text(names, rows)


def _rank_plan(settings: SoftTreesSettings, values: SimpleNamespace) -> RankSettings:
    ranked = RankSettings(
        data=from_values(RankSettings, {"data": values.rank_data}).data,
        seed=settings.seed,
        leaf=settings.leaf,
        beta=settings.beta,
        prior_scale=settings.prior_scale,
    )
    if ranked.data == "moons3":  # few parameters: full rank is cheap
        ranked = replace(ranked, ranks=(*ranked.ranks, FULL))
    return ranked if why_no_rank(ranked) else plan_rank(ranked)


def rank_csv(run: RankRun) -> str:
    """One line a rank and seed: AUROC of knowledge uncertainty, log score of held-out rows."""
    rows = [
        (int(rank), run.settings.seed + seed, run.auroc[i, seed], run.log_score[i, seed])
        for i, rank in enumerate(run.ranks)
        for seed in range(run.auroc.shape[1])
    ]
    return csv_text(["rank", "seed", "auroc", "log_score"], rows)


# All are open in a link, as they were before they could fold.
BANDIT = Trial(
    name="soft-trees-bandit",
    label="Bandit",
    fold=Knob(
        "exploring", "Does knowledge uncertainty help to explore?", "switch", True, group="page"
    ),
    knobs=(PLAY,),
    about="Each of five arms pays in its own part of [-1, 1]. **Thompson sampling** draws one "
    "function for each arm and pulls the arm with the highest value. A model that is certain too "
    "early stops exploring. SGLB, XBART and VST, with the page's depth and rank, are retrained "
    "every 50 steps. **Random** pulls by chance, **Greedy VST** the highest mean. Each policy "
    "plays twice.",
    plan=bandit_plan,
    why_not=partial(refusal_of_call, plan_policies),
    run=run_policies,
    sections=_bandit_sections,
    claims=check_policies,
    study=BANDIT_STUDY,
    tables=MappingProxyType({"Steps": ("bandit.csv", bandit_csv)}),
)
RANKS = Trial(
    name="soft-trees-rank",
    label="Ranks",
    fold=Knob(
        "ranks", "Does a higher rank detect foreign rows better?", "switch", True, group="page"
    ),
    knobs=(DATA,),
    about="How well does knowledge uncertainty separate foreign rows from held-out rows (AUROC, "
    "figure 3 of the paper)? VST has depth 2 and the page's leaves, sharpness and prior, and five "
    "seeds for each rank. Rank 0 is mean field. On the moons, the highest rank is the full rank.",
    plan=_rank_plan,
    why_not=why_no_rank,
    run=run_rank,
    sections=lambda run, values: [Section(text=describe_rank(run), curves=rank_figure(run))],
    claims=lambda run: [check_rank_claim(run)],
    study=RANK_STUDY,
    tables=MappingProxyType({"AUROC by rank and seed": ("ranks.csv", rank_csv)}),
)
TRIALS = (BANDIT, RANKS)
