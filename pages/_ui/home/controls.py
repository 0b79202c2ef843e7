"""Start's knobs, and its story."""

from __future__ import annotations

from gbuq_core.settings import knobs_of
from gbuq_core.study.wave import WAVE, WaveSettings
from pages._ui.present import Step
from pages._ui.url_state import PageState

EXPERIMENT = "home-experiment"  # the fragment
STATE = PageState(
    key="home",
    knobs=knobs_of(WaveSettings),
    picture=("picture",),
    story=tuple(Step(*step) for step in WAVE.story),
)
FOLLOWED = tuple(knob.key for knob in STATE.knobs)  # the picture follows while they are dragged
