"""All lenses, in the order that the page and the report have them.

A new lens is a `Lens` in ``LENSES`` of one of this room's files. A notebook or a test adds one with
`declare_lens`, before it imports a page.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from gbuq_core.errors import InvalidParameter
from gbuq_core.knobs import Knob
from gbuq_core.lenses import (
    changing,
    deciding,
    drift,
    editing,
    explaining,
    failing,
    judged,
    law,
    learning,
    next_rows,
    unfamiliar,
)
from gbuq_core.lenses.choices import RANK, UNIT
from gbuq_core.lenses.lens import Lens

LENSES: dict[str, Lens] = {}


def declare_lens(lens: Lens) -> Lens:
    """Add a lens to those of the page and the report, and return it."""
    if lens.key in LENSES:
        raise InvalidParameter(f'There is a lens "{lens.key}" already: choose another key.')
    LENSES[lens.key] = lens
    return lens


def places(of_row: bool) -> tuple[str, ...]:
    """The sections of the page, or the tabs of the open row, that lenses are drawn in."""
    every = (lens.place for lens in LENSES.values() if lens.of_row == of_row and lens.place)
    return tuple(dict.fromkeys(every))


def lens_knobs() -> tuple[Knob, ...]:
    """The knobs of all lenses; one that two of them draw is there once."""
    every = [knob for lens in LENSES.values() for knob in lens.knobs]
    return tuple({knob.key: knob for knob in reversed(every)}.values())[::-1]


def reader_choices(**given: Any) -> SimpleNamespace:
    """The choices of a reader who chose ``given`` and nothing else."""
    usual = {knob.key: knob.default for knob in (UNIT, RANK, *lens_knobs())}
    return SimpleNamespace(**{**usual, **given})


for _room in (
    unfamiliar,
    law,
    explaining,
    deciding,
    editing,
    changing,
    judged,
    failing,
    learning,
    next_rows,
    drift,
):
    for _lens in _room.LENSES:
        declare_lens(_lens)
