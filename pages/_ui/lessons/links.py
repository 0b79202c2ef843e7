"""What ties lessons to their pages: names in the chooser and in links, a preset's address, code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from demos.lesson import Lesson
from gbuq_core.experiments.gaussians.export import gaussians_code
from gbuq_core.experiments.heart.export import heart_code
from gbuq_core.experiments.heteroscedastic.export import heteroscedastic_code
from gbuq_core.experiments.neighbours.export import neighbours_code
from gbuq_core.experiments.novelty.export import novelty_code
from gbuq_core.experiments.soft_trees.export import soft_trees_code
from gbuq_core.experiments.spiral.export import spiral_code
from pages._ui.gaussians import controls as gaussians_controls
from pages._ui.heart import controls as heart_controls
from pages._ui.heteroscedastic import controls as heteroscedastic_controls
from pages._ui.neighbours import controls as neighbours_controls
from pages._ui.novelty import controls as novelty_controls
from pages._ui.site_map import (
    GAUSSIANS,
    HEART,
    HETEROSCEDASTIC,
    NEIGHBOURS,
    NOVELTY,
    SOFT_TREES,
    SPIRAL,
    Entry,
)
from pages._ui.soft_trees import controls as soft_trees_controls
from pages._ui.spiral import controls as spiral_controls


class PresetOpener(NamedTuple):
    """What a page does with a preset: its link's query, and Python for the same picture."""

    entry: Entry
    query: Callable[[Any], str]
    code: Callable[[Any], str]


OPENERS: Mapping[str, PresetOpener] = MappingProxyType(
    {
        "heart": PresetOpener(
            HEART,
            lambda preset: heart_controls.query_of(preset.settings, preset.view),
            lambda preset: heart_code(preset.settings),
        ),
        "gaussians": PresetOpener(
            GAUSSIANS,
            lambda preset: gaussians_controls.query_of(preset.settings, preset.view),
            lambda preset: gaussians_code(preset.settings),
        ),
        "spiral": PresetOpener(
            SPIRAL,
            lambda preset: spiral_controls.query_of(preset.settings, preset.view),
            lambda preset: spiral_code(preset.settings),
        ),
        "neighbours": PresetOpener(
            NEIGHBOURS,
            lambda preset: neighbours_controls.query_of(preset.settings),
            lambda preset: neighbours_code(preset.settings),
        ),
        "soft_trees": PresetOpener(
            SOFT_TREES,
            lambda preset: soft_trees_controls.query_of(preset.settings),
            lambda preset: soft_trees_code(preset.settings),
        ),
        "heteroscedastic": PresetOpener(
            HETEROSCEDASTIC,
            lambda preset: heteroscedastic_controls.query_of(preset.settings),
            lambda preset: heteroscedastic_code(preset.settings),
        ),
        "novelty": PresetOpener(
            NOVELTY,
            lambda preset: novelty_controls.query_of(preset.settings, preset.cell),
            lambda preset: novelty_code(preset.settings),
        ),
    }
)


def lessons_by_name(lessons: Iterable[Lesson]) -> dict[str, Lesson]:
    """Lessons by their pages' names, which the chooser shows and links say.

    >>> from demos import load_lessons
    >>> list(lessons_by_name(load_lessons()))
    ['Heart', '25 Gaussians', 'Spiral', 'Neighbours', 'Soft trees', 'Heteroscedastic',
     'Novelty maps']
    """
    return {OPENERS[lesson.page].entry.title: lesson for lesson in lessons}
