"""A plan holds what its fit depends on, and nothing else; more work is estimated to take longer."""

from dataclasses import replace

import pytest

from gbuq_core.methods import SAMPLERS
from gbuq_core.settings import plan_of
from gbuq_core.study import gaussians_race as gaussians
from gbuq_core.study import heart, spiral
from gbuq_core.study import heteroscedastic as hetero

HEART, SPIRAL, HETERO = set(heart.METHODS), set(spiral.METHODS), set(hetero.METHODS)
SINGLE = {"catboost", "sgb", "sglb", "vrf"}  # whose members are models
FORESTS = {"macau_linear", "macau_basic", "forest", "quantile", "conformal_forest", "cqr", "gnll"}
CYCLICAL = {"csglb", "cbsglb"}
# Settings, methods, and who uses which knobs; all other knobs are the view's.
PLANS = {
    "heart": (
        heart.HeartSettings(),
        HEART,
        {
            ("rows", "noise", "seed", "cells", "trees"): HEART,
            ("members",): SINGLE,
            ("depth",): HEART - {"vrf"},
            ("rate", "temperature"): HEART - {"sgb", "vrf"},
            ("rate_sgb",): {"sgb"},
            ("leaf_noise",): {"sglb", "virtual_sglb"},
        },
    ),
    "spiral": (
        spiral.SpiralSettings(),
        SPIRAL,
        {
            ("rows", "noise", "seed"): SPIRAL,
            ("members", "trees"): SINGLE,
            ("chain_trees",): {"virtual_sglb"} | CYCLICAL,
            ("cycle", "alpha_max", "alpha_min", "noise_free", "rate_cyclical"): CYCLICAL,
            ("mask", "exploration"): {"cbsglb"},
            ("temperature",): SPIRAL - {"sgb", "vrf"},
            ("leaf_noise",): SPIRAL - {"sgb", "vrf", "catboost"},
            ("random_strength", "depth"): SPIRAL - {"vrf"},
            ("rate",): SPIRAL - {"vrf"} - CYCLICAL,
            ("forest_depth",): {"vrf"},
        },
    ),
    "gaussians": (
        gaussians.GaussiansSettings(),
        set(SAMPLERS),
        {
            ("target", "gradient_noise", "seed", "steps", "chains"): set(SAMPLERS),
            ("cycles",): {"clr", "cg"},
            ("noise",): {"sgld", "clr", "cg"},
            ("rate_sgld",): {"sgld"},
            ("rate_nsgld", "noise_nsgld"): {"nsgld"},
            ("rate_clr", "exploration_clr", "noise_free"): {"clr"},
            ("rate_cg", "alpha_max", "alpha_min", "exploration_cg"): {"cg"},
        },
    ),
    "heteroscedastic": (
        hetero.HeteroscedasticSettings(),
        HETERO,
        {
            ("rows", "noise_slope", "seed"): HETERO,
            ("trees",): FORESTS | {"ngboost", "catboost", "isolation"},
            ("subsample", "max_leaves", "min_child_samples"): FORESTS,
        },
    ),
}
OTHERS = {
    None: True, "catboost": "posterior", "gaussians25": "ring", "std": "variance",
    "shared": "own", "the target's": "own", "density": "counts", "truth": "off",
    "novelty": "data", "rise": "clip",
}  # fmt: skip


def other_than(value):
    """Another value of a knob."""
    if isinstance(value, tuple):
        return () if value else (3,)
    if isinstance(value, bool):
        return not value
    return OTHERS[value] if value is None or isinstance(value, str) else 2 * value + 1


@pytest.mark.parametrize("experiment", PLANS)
def test_a_plan_holds_what_its_fit_depends_on_and_nothing_else(experiment):
    settings, methods, knobs = PLANS[experiment]
    users = {name: used_by for names, used_by in knobs.items() for name in names}
    for name in vars(settings).keys() - {"methods", "samplers"}:
        moved = replace(settings, **{name: other_than(getattr(settings, name))})
        changed = {key for key in methods if plan_of(moved, key) != plan_of(settings, key)}
        assert changed == users.get(name, set()), name
