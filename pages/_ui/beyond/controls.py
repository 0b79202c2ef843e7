"""The state of Beyond the rows in the address, and its story."""

from __future__ import annotations

from gbuq_core.experiments.beyond.fit import BeyondSettings
from gbuq_core.settings import knobs_of
from pages._ui.knobs import Preset
from pages._ui.present import Step
from pages._ui.url_state import PageState

STATE = PageState(
    key="beyond",
    knobs=knobs_of(BeyondSettings),
    presets=(
        Preset("A wide gap", {"gap": 2.0}, "Is the truth inside the dark rim in the gap?"),
        Preset("No gap", {"gap": 0.0}, "What is left of the rim in the middle?"),
    ),
    picture=("beyond-bands",),
    story=(
        Step("The rows end at 6. What do trees say beyond, and what does the law?"),
        Step("They end at 5. Does the rim follow?", {"edge": 5.0}),
        Step("A gap of 2. Does a rim appear in it?", {"edge": 6.0, "gap": 2.0}),
    ),
)
