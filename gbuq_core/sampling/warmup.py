"""Compile, or load from the cache, the kernels that a first chain needs."""

from __future__ import annotations

from gbuq_core.sampling.chains import sample_mixture
from gbuq_core.sampling.targets import TARGETS


def warm_up() -> None:
    """Run a tiny chain, so that no user waits for a compiler."""
    chains = sample_mixture("cg", n_steps=30, random_state=0)
    TARGETS[chains.target].mode_of(chains.samples[0])
