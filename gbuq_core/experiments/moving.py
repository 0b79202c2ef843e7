"""The members that a browser computes maps from while a knob moves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class MovingMembers(NamedTuple):
    """Members of one method at the stages that its knobs can ask for."""

    method: str  # A key of the experiment's `METHODS`
    plan: str  # "models", "truncation" or "cycles"
    # (n_stages,): numbers of trees: steps of one model that is cut, the ends of its cycles, or all
    # trees of independent models
    stages: npt.NDArray[np.int64]
    # (n_stages, n_models, n_cells, n_outputs): class probabilities, or mean and variance; a view of
    # the fit's own
    members: npt.NDArray[np.float32] | npt.NDArray[np.float64]
    cycle: int = 0  # trees of a cycle; 0 without cycles
