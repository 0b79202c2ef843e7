"""From a lesson's preset to the page that it belongs to: its address there, and its code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from gbuq_core.experiments.heart_export import heart_code
from pages._ui.heart_controls import query_of
from pages._ui.site_map import HEART, Entry


class PresetOpener(NamedTuple):
    """What a page does with a preset: its link's query, and Python for the same picture."""

    entry: Entry
    query: Callable[[Any], str]
    code: Callable[[Any], str]


OPENERS: Mapping[str, PresetOpener] = MappingProxyType(
    {
        "heart": PresetOpener(
            HEART,
            lambda preset: query_of(preset.settings, preset.view),
            lambda preset: heart_code(preset.settings),
        )
    }
)
