"""The knob of a step's picture, which the browser works out while it is moved.

Its bar shows one knob. The formulas also need the values of the others, which stand still unseen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gbuq_core.figures.handles import LiveKnob, live_knob
from gbuq_core.settings import knobs_of, to_values

_ALL = "all"


def one_knob(key: str, settings: Any) -> Sequence[LiveKnob]:
    """The picture's knob of that key for the reader, and those that stand still, for the formulas.

    Examples
    --------
    >>> from gbuq_core.study.heart import HeartSettings
    >>> knobs = one_knob("log", HeartSettings(methods=("sglb",)))
    >>> [knob.key for knob in knobs if knob.needs is None]
    ['log']
    >>> [knob.key for knob in knobs]
    ['shown', 'unit', 'log', 'scale']
    """
    values, knobs = to_values(settings), []
    for knob in knobs_of(type(settings)):
        if knob.group != "picture" or (knob.when is not None and not knob.when(values)):
            continue
        if knob.key == "shown":
            fewer = [n for n in knob.choices if n == _ALL or int(n) < settings.members]
            knob = replace(knob, choices=tuple(fewer))
        live = live_knob(knob, values[knob.key])
        # -1 is no place of any knob: it never stands in the bar.
        knobs.append(live if knob.key == key else live._replace(needs={knob.key: (-1,)}))
    return knobs
