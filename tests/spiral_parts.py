"""Maps of the spiral with made-up knowledge uncertainty, for the tests of scores and of claims."""

import numpy as np

from gbuq_core.experiments.spiral.data import GRID, fresh_sample, spiral_truth
from gbuq_core.experiments.spiral.fit import SpiralFit, SpiralMaps, SpiralRun
from gbuq_core.experiments.spiral.plan import SpiralSettings
from gbuq_core.experiments.spiral.probes import Probe
from gbuq_core.experiments.spiral.scores import spiral_regions
from gbuq_core.settings import plan_of
from gbuq_core.synthetic import make_spiral
from gbuq_core.uncertainty import Uncertainty

NOISE = 0.2  # leaves cells without rows between the arms; 0.4 leaves none
TRUTH = spiral_truth(NOISE)
WHERE = spiral_regions(TRUTH)


def made_up(method="sglb", far=0.01, between=0.01, outside=0.01, border=0.01, clear=0.01, seed=0):
    """Maps with one knowledge uncertainty a region, true data uncertainty and probabilities."""
    settings = SpiralSettings(noise=NOISE, rows=20, members=4)
    plan = plan_of(settings, method)
    knowledge = np.full((80, 80), outside)
    for cells, value in (
        (WHERE.inside, 0.5 * (border + clear)),
        (WHERE.border, border),
        (WHERE.clear, clear),
        (WHERE.between, between),
        (WHERE.far, far),
    ):
        knowledge[cells] = value
    proba = TRUTH.proba.reshape(3, -1).T
    errors = 0.01 * np.random.default_rng(seed).standard_normal((4, len(GRID), 3))
    fresh = fresh_sample(NOISE, 0).proba
    none = np.zeros((1, 1, 0, 3), np.float32)
    fit = SpiralFit(
        plan=plan,
        data=make_spiral(20, NOISE, 0),
        model=None,
        n_trees=np.array([300]),
        members=none,
        fresh_members=none,
        trace=None,
        seconds=0.5,
        memory_bytes=2_000_000,
    )
    return SpiralMaps(
        fit=fit,
        n_trees=np.array([plan.n_trees]),
        n_members=np.array([4]),
        total=(TRUTH.data_uncertainty + knowledge)[None],
        data=TRUTH.data_uncertainty[None],
        knowledge=knowledge[None],
        proba=TRUTH.proba,
        member_trees=np.full(4, plan.n_trees),
        members=proba + errors,
        fresh_proba=fresh,
    )


def run_of(*maps):
    settings = SpiralSettings(noise=NOISE, methods=tuple(each.method for each in maps))
    return SpiralRun(settings, make_spiral(20, NOISE, 0), TRUTH, maps)


def probe_of(method="csglb", n_members=3):
    """What a method says at a point where the truth is 0.8, 0.1 and 0.1."""
    proba = np.tile([0.5, 0.3, 0.2], (n_members, 1))
    trees = np.arange(10, 10 * n_members + 1, 10)
    truth = np.array([0.8, 0.1, 0.1])
    return Probe(method, proba, trees, trees, proba, truth, Uncertainty(0.1, 0.09, 0.01))
