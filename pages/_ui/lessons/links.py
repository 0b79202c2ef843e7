"""What ties lessons to their pages: names in the chooser and in links, a preset's address, code.

A study says all itself. Another page that `site_map.has_lesson` names has its knobs in
``pages/_ui/<name>/controls.py`` (with a ``query_of`` of its own, if these are not all in the
settings record), and its code in `_CODE`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple

from demos.lesson import Lesson
from gbuq_core.study.study import study_of
from pages._ui.knobs import query_of
from pages._ui.site_map import PAGES, STUDIES, Entry, has_lesson

# What writes a preset's code, where that is no study.
_CODE: Mapping[str, str] = MappingProxyType(
    {
        "neighbours": "gbuq_core.study.neighbours:neighbours_code",
        "your_data": "gbuq_core.tables.code:table_code",
    }
)


class PresetOpener(NamedTuple):
    """What a page does with a lesson's preset."""

    entry: Entry

    def query(self, preset: Any) -> str:
        """The part of the page's address after the question mark."""
        if self.entry in STUDIES:
            return query_of(preset)
        controls = import_module(f"pages._ui.{self.entry.url_path}.controls")
        write = getattr(controls, "query_of", query_of)
        return write(preset) if is_dataclass(preset) else write(*preset)

    def code(self, preset: Any) -> str:
        """Python for the same picture."""
        name = self.entry.url_path
        if self.entry in STUDIES:
            return study_of(name).python(preset)
        module, _, function = _CODE[name].partition(":")
        return getattr(import_module(module), function)(
            preset if is_dataclass(preset) else preset.settings
        )


OPENERS: Mapping[str, PresetOpener] = MappingProxyType(
    {entry.url_path: PresetOpener(entry) for entry in PAGES if has_lesson(entry)}
)


def lessons_by_name(lessons: Iterable[Lesson]) -> dict[str, Lesson]:
    """Lessons by their pages' names, which the chooser shows and links say.

    >>> from demos import load_lessons
    >>> list(lessons_by_name(load_lessons()))
    ['Heart', '25 Gaussians', 'Spiral', 'Neighbours', 'Soft trees', 'Noise that grows',
     'Novelty maps', 'Two clocks', 'Beyond the rows', 'Your data']
    """
    return {OPENERS[lesson.page].entry.title: lesson for lesson in lessons}
