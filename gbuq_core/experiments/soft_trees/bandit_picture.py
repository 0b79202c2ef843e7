"""The bandit step by step: what was drawn, pulled, paid and lost; bandit.js draws it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gbuq_core.experiments.soft_trees.bandit import (
    TRACE_PLACES,
    BanditRun,
    describe_bandit,
    make_bandit,
    mean_rewards,
)
from gbuq_core.experiments.soft_trees.charts import Ints, policy_ink
from gbuq_core.figures.colour import OKABE_ITO
from gbuq_core.figures.curves import PLAYED_PARTS, Curves
from gbuq_core.figures.curves.parts import Part, rounded
from gbuq_core.figures.handles import LiveKnob

BANDIT_PARTS = (*PLAYED_PARTS, Path(__file__).parent / "bandit.js")
_ARM_COLOURS = OKABE_ITO[:7]  # without black, which a dark page swallows
_NONE = 65_535  # the code of no function
_OUTSIDE = 0.5  # functions may leave the rewards' range by this much of a bump
_FRAMES_PER_SECOND = 3.0


def bandit_figure(runs: Sequence[BanditRun], policy: LiveKnob, step: LiveKnob) -> Curves:
    """The functions of a step beside the regret of all policies, in their first repetition."""
    plan, steps = runs[0].plan, runs[0].trace.steps
    last = int(steps[-1])
    world, x = make_bandit(plan, 0), np.linspace(-1.0, 1.0, TRACE_PLACES)
    truth = mean_rewards(x, plan.n_arms, plan.alpha, plan.beta)
    rewards = np.concatenate([run.trace.rewards for run in runs])
    low = min(-_OUTSIDE, float(np.quantile(rewards, 0.001)))
    high = max(1.0 + _OUTSIDE, float(np.quantile(rewards, 0.999)))
    n_arms = truth.shape[1]
    spec: Part = {
        "name": "soft-trees-bandit-steps",
        "drawing": "bandit",
        "alt": f"The bandit step by step. {describe_bandit(runs)}",
        "arms": n_arms,
        "x": x.tolist(),
        "range": [low, high],
        "steps": [int(step) for step in steps],
        "contexts": rounded(world.contexts),
        "means": rounded(world.means.ravel()),
        "truth": rounded(truth.T.ravel()),
        "colours": list(_ARM_COLOURS),
        "policies": [_policy(run, steps - 1, low, high) for run in runs],
        "legend": _legend(runs, n_arms),
        "knobs": [policy.spec, step.spec],
        "played": {
            "key": step.key,
            "label": "step",
            "texts": [f"{int(step):,} of {last:,}" for step in steps],
            "fps": _FRAMES_PER_SECOND,
        },
    }
    functions = "".join(policy["functions"]["data"] for policy in spec["policies"])
    spec["digest"] = hashlib.sha256(functions.encode()).hexdigest()[:16]
    return Curves(spec, (policy, step), BANDIT_PARTS)


def _policy(run: BanditRun, at: Ints, low: float, high: float) -> Part:
    colour, dash = policy_ink(run.plan.policy)
    trace = run.trace
    return {
        "name": run.label,
        "colour": colour,
        "dash": dash,
        "draws": bool(np.size(trace.functions)),
        "pulled": [int(arm) for arm in run.arms[0]],
        "rewards": rounded(trace.rewards),
        "drawn": [None if np.isnan(v) else round(float(v), 5) for v in np.ravel(trace.drawn)],
        "regret": rounded(run.cumulative[0][at]),
        "functions": _packed(trace.functions, low - (high - low), high + (high - low)),
    }


def _packed(functions: Any, low: float, high: float) -> Part:
    """Values as 16-bit steps of a range; what lies outside of it is cut off."""
    shares = np.clip((np.nan_to_num(functions) - low) / (high - low), 0.0, 1.0)
    codes = np.where(np.isnan(functions), _NONE, np.rint((_NONE - 1) * shares)).astype("<u2")
    data = base64.b64encode(codes.tobytes()).decode()
    return {"data": data, "range": [low, high], "none": _NONE}


def _legend(runs: Sequence[BanditRun], n_arms: int) -> list[Part]:
    arms: list[Part] = [
        {
            "name": f"arm {arm + 1}",
            "kind": "line",
            "colour": _ARM_COLOURS[arm % len(_ARM_COLOURS)],
            "width": 2.4,
        }
        for arm in range(n_arms)
    ]
    regret: list[Part] = []
    for run in runs:
        colour, dash = policy_ink(run.plan.policy)
        entry: Part = {"name": run.label, "kind": "line", "colour": colour, "width": 1.6}
        regret.append({**entry, "dash": "5 4"} if dash else entry)
    true = {"name": "true mean", "kind": "line", "colour": "text", "width": 1.0, "dash": "3 3"}
    return [*arms, true, *regret]
