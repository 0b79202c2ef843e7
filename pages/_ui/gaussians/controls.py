"""The race's state in the address."""

from __future__ import annotations

from dataclasses import replace

from gbuq_core.experiments.gaussians.experiment import CYCLE, SLOW
from gbuq_core.experiments.gaussians.plan import GaussiansSettings
from gbuq_core.sampling import SAMPLERS
from gbuq_core.settings import knobs_of
from pages._ui.knobs import Preset
from pages._ui.live import COLOURS, EVERY, map_knob
from pages._ui.present import Step
from pages._ui.url_state import PageState

WHOLE = replace(
    EVERY, label="All charts", help="Adds the target, and the charts of each sampler below its map."
)
MAP = map_knob(tuple(kind.label for kind in SAMPLERS.values()))

STATE = PageState(
    key="gaussians",
    knobs=(*knobs_of(GaussiansSettings), COLOURS, WHOLE, MAP, SLOW, CYCLE),
    presets=(
        Preset(
            "Paper settings",
            {"noise": 0.4},
            help="50,000 steps, 30 cycles, and the noise scales of the paper's appendix B.1: 5 for "
            "N-SGLD and 0.4 for the others, which is less than the density asks for. clr-SGLD then "
            "visits about 17 modes instead of 23; cg-SGLD still visits about 23.",
        ),
        Preset(
            "Stable steps",
            {"rate_clr": 0.05, "alpha_max": 5.0},
            help="Steps just below the longest one that does not overshoot.",
        ),
    ),
    picture=("gaussians",),
    story=(
        Step("Four samplers start together. Which of them leave the mode they start near?"),
        Step("Exact gradients, without noise. Who still moves on?", {"gradient_noise": 0.0}),
        Step(
            "Only 5,000 steps each. Which of them had needed the time?",
            {"steps": 5000, MAP.key: SAMPLERS["cg"].label},
        ),
    ),
)
