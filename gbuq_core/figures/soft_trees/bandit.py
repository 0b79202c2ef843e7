"""The bandit step by step: what was drawn, pulled, paid and lost; bandit.js draws it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gbuq_core.figures.colour import OKABE_ITO
from gbuq_core.figures.curves import PLAYED_PARTS, Curves
from gbuq_core.figures.curves.parts import Part, rounded
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.figures.soft_trees.charts import Array, Ints, policy_ink

BANDIT_PARTS = (*PLAYED_PARTS, Path(__file__).parent / "bandit.js")
_ARM_COLOURS = OKABE_ITO[:7]  # without black, which a dark page swallows
_NONE = 65_535  # the code of no function
_OUTSIDE = 0.5  # functions may leave the rewards' range by this much of a bump
_FRAMES_PER_SECOND = 3.0


class PolicyTrace(NamedTuple):
    """One policy's first repetition; s steps are kept of n, of k arms over g contexts."""

    policy: str
    label: str
    pulled: Ints  # the arm pulled at every step, from 0
    rewards: Array
    functions: Any  # naN before the first fit; g is 0 for a policy without functions
    drawn: Array
    cumulative: Array  # regret so far


class BanditWorld(NamedTuple):
    """What all policies play in."""

    contexts: Array
    means: Array  # what each arm pays on average in every step
    x: Array  # contexts at which functions are known
    truth: Array  # what each arm pays there on average
    steps: Ints  # steps that can be shown, from 1


def bandit_figure(
    world: BanditWorld,
    policies: Sequence[PolicyTrace],
    policy: LiveKnob,
    step: LiveKnob,
    alt: str = "",
) -> Curves:
    """The functions of a step beside the regret of all policies, played step by step.

    Examples
    --------
    >>> from gbuq_core.figures.handles import live_knob
    >>> from gbuq_core.knobs import Knob
    >>> x, steps = np.linspace(-1, 1, 3), np.array([1, 2])
    >>> world = BanditWorld(x[:2], np.ones((2, 2)), x, np.ones((3, 2)), steps)
    >>> none = np.empty((2, 2, 0)), np.full((2, 2), np.nan)
    >>> played = PolicyTrace("random", "Random", steps - 1, x[:2], *none, x[1:])
    >>> policy = live_knob(Knob("bandit_policy", "Policy", "choice", "R", choices=("R",)), "R")
    >>> step = live_knob(Knob("bandit_step", "Step", "ladder", 2, choices=(1, 2)), 2)
    >>> bandit_figure(world, [played], policy, step).spec["played"]["texts"]
    ['1 of 2', '2 of 2']
    """
    last = int(world.steps[-1])
    rewards = np.concatenate([one.rewards for one in policies])
    low = min(-_OUTSIDE, float(np.quantile(rewards, 0.001)))
    high = max(1.0 + _OUTSIDE, float(np.quantile(rewards, 0.999)))
    n_arms = world.truth.shape[1]
    spec: Part = {
        "name": "soft-trees-bandit-steps",
        "drawing": "bandit",
        "alt": alt,
        "arms": n_arms,
        "x": world.x.tolist(),
        "range": [low, high],
        "steps": [int(one) for one in world.steps],
        "contexts": rounded(world.contexts),
        "means": rounded(world.means.ravel()),
        "truth": rounded(world.truth.T.ravel()),
        "colours": list(_ARM_COLOURS),
        "policies": [_policy(one, world, low, high) for one in policies],
        "legend": _legend(policies, n_arms),
        "knobs": [policy.spec, step.spec],
        "played": {
            "key": step.key,
            "label": "step",
            "texts": [f"{int(one):,} of {last:,}" for one in world.steps],
            "fps": _FRAMES_PER_SECOND,
        },
    }
    functions = "".join(one["functions"]["data"] for one in spec["policies"])
    spec["digest"] = hashlib.sha256(functions.encode()).hexdigest()[:16]
    return Curves(spec, (policy, step), BANDIT_PARTS)


def _policy(one: PolicyTrace, world: BanditWorld, low: float, high: float) -> Part:
    colour, dash = policy_ink(one.policy)
    at = world.steps - 1
    return {
        "name": one.label,
        "colour": colour,
        "dash": dash,
        "draws": bool(np.size(one.functions)),
        "pulled": [int(arm) for arm in one.pulled],
        "rewards": rounded(one.rewards),
        "drawn": [None if np.isnan(v) else round(float(v), 5) for v in np.ravel(one.drawn)],
        "regret": rounded(one.cumulative[at]),
        "functions": _packed(np.asarray(one.functions), low - (high - low), high + (high - low)),
    }


def _packed(functions: Any, low: float, high: float) -> Part:
    """Values as 16-bit steps of a range; what lies outside of it is cut off."""
    shares = np.clip((np.nan_to_num(functions) - low) / (high - low), 0.0, 1.0)
    codes = np.where(np.isnan(functions), _NONE, np.rint((_NONE - 1) * shares)).astype("<u2")
    data = base64.b64encode(codes.tobytes()).decode()
    return {"data": data, "range": [low, high], "none": _NONE}


def _legend(policies: Sequence[PolicyTrace], n_arms: int) -> list[Part]:
    arms: list[Part] = [
        {"name": f"arm {arm + 1}", "kind": "line", "colour": _ARM_COLOURS[arm % len(_ARM_COLOURS)],
         "width": 2.4}
        for arm in range(n_arms)
    ]  # fmt: skip
    regret: list[Part] = []
    for one in policies:
        colour, dash = policy_ink(one.policy)
        entry: Part = {"name": one.label, "kind": "line", "colour": colour, "width": 1.6}
        regret.append({**entry, "dash": "5 4"} if dash else entry)
    true = {"name": "true mean", "kind": "line", "colour": "text", "width": 1.0, "dash": "3 3"}
    return [*arms, true, *regret]
