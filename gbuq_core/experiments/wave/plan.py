"""The wave's settings: what Home's sliders move, and the ensemble that all of them fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from gbuq_core.settings import setting
from gbuq_core.synthetic.wave import (
    LEAST_RARE_WIDTH,
    MOST_RARE_FROM,
    MOST_RARE_WIDTH,
    RARE_END,
    RARE_FROM,
    RARE_WIDTH,
)

# The temperature of posterior sampling, 1, is for models as free as their trees. The sine is
# smoother: at 1 knowledge uncertainty is 1.7 times the prediction's error where rows are plentiful
# and 1.5 times where they are rare. At 2.5 it is 1.5 and 1.2 (means of four seeds).
ENSEMBLE: Mapping[str, Any] = MappingProxyType(
    {
        "stopping": None,
        "method": "sglb",
        "n_members": 20,
        "n_trees": 100,
        "depth": 4,
        "learning_rate": 0.2,
        "temperature": 2.5,
        "l2": 1.0,
    }
)


@dataclass(frozen=True, kw_only=True)
class WaveSettings:
    """Everything that the picture depends on."""

    rows: int = setting(
        800, "Training rows", arg="n",
        choices=(
            *(100, 125, 160, 200, 250, 320, 400, 500, 640, 800, 1000, 1250, 1600, 2000, 2500),
            *(3200, 4000, 5000, 6400, 8000, 10000, 12800),
        ),
        help="New rows fall everywhere except where rows are rare: one row a position there.",
    )  # fmt: skip
    # Rows are rare between `rare` and `rare_width` further.
    rare: float = setting(
        RARE_FROM, "Rows are rare from x =", low=0.0, high=MOST_RARE_FROM, step=0.1, group="data",
        fits=True, arg="rare_from",
        help="From here on each position has one row. The orange bar in the picture moves the "
        "stretch, too.",
    )  # fmt: skip
    rare_width: float = setting(
        RARE_WIDTH, "Over a width of", low=LEAST_RARE_WIDTH, high=MOST_RARE_WIDTH, step=0.1,
        group="data", fits=True, arg="rare_width",
        help=f"The stretch of rare rows ends at {RARE_END:g} at the latest. The ends of the orange "
        "bar in the picture change its width, too.",
    )  # fmt: skip
    seed: int = setting(0, "Seed", low=0, high=2**31 - 1, arg="random_state", offered=False)

    @property
    def rare_ends(self) -> tuple[float, float]:
        """Both ends of the stretch where rows are rare.

        >>> WaveSettings(rare=5.0, rare_width=2.0).rare_ends
        (5.0, 6.0)
        """
        return round(self.rare, 1), min(round(self.rare + self.rare_width, 1), RARE_END)
