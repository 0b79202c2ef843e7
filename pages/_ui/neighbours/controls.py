"""Neighbours' knobs, and the point or row that is looked at."""

from __future__ import annotations

from types import MappingProxyType

from gbuq_core.experiments.neighbours.data import DATASETS
from gbuq_core.experiments.neighbours.plan import PLACES, ROWS, NeighboursSettings
from gbuq_core.settings import knobs_of
from pages._ui.knobs import Preset
from pages._ui.live import EVERY, map_knob
from pages._ui.present import Step
from pages._ui.url_state import PageState

KNOBS = MappingProxyType({knob.key: knob for knob in knobs_of(NeighboursSettings)})
_AFFINITY = "Affinity with the point"
MAP = map_knob(("Estimated scale", _AFFINITY))

STATE = PageState(
    key="neighbours",
    knobs=(*KNOBS.values(), EVERY, MAP),
    presets=(
        Preset(
            "Two inputs",
            {"data": DATASETS["ripples"].label, "scales_of": ROWS},
            "Maps of noise and of affinity.",
        ),
        Preset(
            "A table",
            {"data": DATASETS["diabetes"].label, "scales_of": ROWS},
            "Held-out patients.",
        ),
    ),
    opening=MappingProxyType({"scales_of": ROWS}),
    picture=(
        *("neighbours-course", "neighbours-maps"),
        *("neighbours-rows", "neighbours-training"),  # of a table
    ),
    story=(
        Step("The marked rows share most leaves with the place at the line. They set its scale."),
        Step("5 neighbours. How rough is the scale now?", {"k": "5"}),
        Step("Three times the noise. Does the scale follow?", {"noise": 3.0}),
        Step(
            "Two inputs. Which rows count as near, and how far do they reach?",
            {"data": DATASETS["ripples"].label, MAP.key: _AFFINITY},
        ),
    ),
)


def rounded_place(data: str, place: tuple[float, ...]) -> dict[str, float]:
    """The knobs of a point or row with values that they can have."""
    knobs = (KNOBS[name] for name in PLACES[data])
    return {
        knob.key: round(min(max(float(value), float(knob.low or 0)), float(knob.high or 0)), 2)
        for knob, value in zip(knobs, place, strict=True)
    }
