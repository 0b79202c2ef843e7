"""The four samplers as arrays: step size, gradient scale and injected noise of each step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gbuq_core.errors import InvalidParameter
from gbuq_core.knobs import check_within
from gbuq_core.methods import SAMPLERS, Sampler
from gbuq_core.sampling.arrays import ScheduleArrays
from gbuq_core.validation import check_choice, check_number

FloatArray = NDArray[np.float64]

MAX_STEPS = 10_000_000


class Schedule(NamedTuple):
    """What a sampler does at each step."""

    # `step_sizes`, `scales`, `noises`: (n_steps,): step size, factor of the gradient, and std of
    # the noise that is added to each coordinate
    step_sizes: FloatArray
    scales: FloatArray
    noises: FloatArray
    kept: NDArray[np.bool_]  # (n_steps,): which steps give a sample; the others explore
    # (n_steps,): the cycle of each step, 0 throughout for samplers without cycles
    cycle: NDArray[np.int64]

    def arrays(self) -> ScheduleArrays:
        """The part that the kernel needs."""
        return ScheduleArrays(self.step_sizes, self.scales, self.noises)


def make_schedule(
    sampler: str,
    n_steps: int,
    n_cycles: int = 30,
    noise_free_exploration: bool = False,
    **numbers: float | None,
) -> Schedule:
    """The schedule of a sampler.

    ``x <- x - lr_t alpha_t grad + noise_scale sqrt(2 lr_t) N(0, I)`` with, for position
    ``u = mod(t, n_steps / n_cycles) / (n_steps / n_cycles)`` in a cycle:

    - sgld: ``lr_t = learning_rate (t + 1)^-decay``;
    - nsgld: ``lr_t = learning_rate``, with large noise;
    - clr: ``lr_t = learning_rate / 2 (cos(pi u) + 1)``;
    - cg: ``lr_t = learning_rate``, ``alpha_t = max(alpha_max / 2 (cos(pi u) + 1), alpha_min)``.

    ``alpha_t`` is 1 unless said. Steps with ``u < exploration_fraction`` are not kept: 0.25 for
    clr, as the paper says (section 5.1 and appendix B.1; Zhang et al., 2020, cSG-MCMC), and 0 for
    cg, of which it says nothing. So by default the two keep different samples: compare them by one
    rule.
    """
    chosen = SAMPLERS[check_choice("sampler", sampler, list(SAMPLERS))]
    n = check_number("n_steps", n_steps, 1, MAX_STEPS, integer=True)
    cycles = check_number("n_cycles", n_cycles, 1, MAX_STEPS, integer=True)
    if chosen.cyclical and cycles > n:
        raise InvalidParameter(f"n_cycles must be at most n_steps, which is {n}; got {cycles}.")
    values = _numbers(sampler, chosen, numbers)
    steps = np.arange(n)
    # Whole numbers until the division: a cycle's first step is at 0 exactly.
    cycle, place = np.divmod(steps * cycles, n) if chosen.cyclical else (np.zeros_like(steps),) * 2
    position = place / n
    wave = 0.5 * (np.cos(np.pi * position) + 1.0)
    step_sizes = np.full(n, values["learning_rate"])
    scales = np.ones(n)
    if sampler == "sgld":
        step_sizes *= (steps + 1.0) ** -values["decay"]
    elif sampler == "clr":
        step_sizes *= wave
    elif sampler == "cg":
        scales = np.maximum(values["alpha_max"] * wave, values["alpha_min"])
    exploring = position < values.get("exploration_fraction", 0.0)
    noises = values["noise_scale"] * np.sqrt(2.0 * step_sizes)
    if noise_free_exploration:
        if not chosen.cyclical:
            raise InvalidParameter(f"noise_free_exploration needs cycles; {sampler} has none.")
        noises[exploring] = 0.0
    return Schedule(step_sizes, scales, noises, ~exploring, cycle)


def _numbers(sampler: str, chosen: Sampler, options: Mapping[str, Any]) -> dict[str, float]:
    """The sampler's numbers with their defaults, checked."""
    values = dict(chosen.defaults)
    for name, value in options.items():
        if value is None:
            continue
        if name not in values:
            listed = ", ".join(values)
            raise InvalidParameter(f"{name} does not apply to {sampler}; it takes {listed}.")
        values[name] = check_within(chosen.knob(name), value)
    if "alpha_max" in values and values["alpha_min"] > values["alpha_max"]:
        raise InvalidParameter(
            f"alpha_min must be at most alpha_max, which is {values['alpha_max']:g}; "
            f"got {values['alpha_min']:g}."
        )
    return values
