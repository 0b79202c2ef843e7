"""Start's knobs, and its story."""

from __future__ import annotations

from gbuq_core.experiments.wave.fit import WaveSettings
from gbuq_core.settings import knobs_of
from gbuq_core.synthetic.wave import RARE_FROM, RARE_WIDTH
from pages._ui.present import Step
from pages._ui.url_state import PageState

EXPERIMENT = "home-experiment"  # the fragment
STATE = PageState(
    key="home",
    knobs=knobs_of(WaveSettings),
    picture=("picture",),
    story=(
        Step("2,000 training rows. Where is the dark rim wide, and where is the pale band?"),
        Step("100 rows. Is there any place that the model is sure of?", {"rows": 100}),
        Step(
            "10,000 rows. What is left between 3 and 4.5, where each position has one row?",
            {"rows": 10000, "rare": RARE_FROM, "rare_width": RARE_WIDTH},
        ),
    ),
)
FOLLOWED = tuple(knob.key for knob in STATE.knobs)  # the picture follows while they are dragged
