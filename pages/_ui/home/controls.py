"""Home's knobs, and what they mean to the experiment."""

from __future__ import annotations

from types import MappingProxyType, SimpleNamespace

from gbuq_core.experiments.wave.fit import WaveConfig
from gbuq_core.knobs import Knob
from gbuq_core.synthetic.wave import (
    LEAST_RARE_WIDTH,
    MOST_RARE_FROM,
    MOST_RARE_WIDTH,
    RARE_END,
    RARE_FROM,
    RARE_WIDTH,
)
from pages._ui.present import Step
from pages._ui.url_state import PageState

EXPERIMENT = "home-experiment"  # the fragment
RARE = (
    Knob(
        "rare", "Rows are rare from x =", "number", RARE_FROM, 0.0, MOST_RARE_FROM, step=0.1,
        group="page",
        help="From here on each position has one row. The orange bar in the picture moves the "
        "stretch, too.",
    ),
    Knob(
        "rare_width", "Over a width of", "number", RARE_WIDTH, LEAST_RARE_WIDTH, MOST_RARE_WIDTH,
        step=0.1, group="page",
        help=f"The stretch of rare rows ends at {RARE_END:g} at the latest. The ends of the orange "
        "bar in the picture change its width, too.",
    ),
)  # fmt: skip
STATE = PageState(
    key="home",
    knobs=(
        Knob(
            "rows",
            "Training rows",
            "ladder",
            WaveConfig().n_rows,
            choices=(
                *(100, 125, 160, 200, 250, 320, 400, 500, 640, 800, 1000, 1250, 1600, 2000, 2500),
                *(3200, 4000, 5000, 6400, 8000, 10000, 12800),
            ),
            help="New rows fall everywhere except where rows are rare: one row a position there.",
        ),
        *RARE,
    ),
    opening=MappingProxyType({"rows": 100}),  # few rows: there is something not to know
    picture=("picture",),
    story=(
        Step("100 training rows. Where is the dark rim wide, and where is the pale band?"),
        Step("1,000 rows. Does the dark rim shrink where rows were added?", {"rows": 1000}),
        Step(
            "10,000 rows. What is left between 3 and 4.5, where each position has one row?",
            {"rows": 10000, "rare": RARE_FROM, "rare_width": RARE_WIDTH},
        ),
    ),
)
FOLLOWED = ("rows", "rare", "rare_width")  # sliders whose picture follows while they are dragged


def config_of(values: SimpleNamespace) -> WaveConfig:
    """The settings that the sliders ask for."""
    place = round(values.rare, 1), round(values.rare_width, 1)
    return WaveConfig(n_rows=values.rows, rare_from=place[0], rare_width=place[1])
