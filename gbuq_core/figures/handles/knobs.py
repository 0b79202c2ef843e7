"""A knob in a picture's own bar, which the browser works out while it is moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from gbuq_core.errors import InvalidParameter
from gbuq_core.figures.sources import read_styles
from gbuq_core.knobs import Knob, number_text

_HERE = Path(__file__).parent

KNOB_PARTS = (_HERE / "knobs.js",)  # before what builds on them
_KINDS: Mapping[str, Literal["slide", "choose", "switch"]] = {
    "ladder": "slide",
    "integer": "slide",
    "number": "slide",
    "choice": "choose",
    "switch": "switch",
}


class LiveKnob(NamedTuple):
    """A knob of the view, as its bar draws it and its renderer reads it."""

    key: str  # the knob's name in the page and in its links
    label: str  # drawn as plain text
    kind: Literal["slide", "choose", "switch"]  # {"slide", "choose", "switch"}
    value: int | bool  # the place among ``choices``, or whether a switch is on
    choices: tuple[Any, ...]  # what a message of the browser can mean; False and True of a switch
    texts: tuple[str, ...]  # how they are written
    help: str = ""
    # the values of other knobs at which this one is shown, as ``value`` has them
    needs: Mapping[str, tuple[int | bool, ...]] | None = None

    @property
    def spec(self) -> dict[str, Any]:
        """As knobs.js reads it."""
        needs = None if self.needs is None else {k: list(v) for k, v in self.needs.items()}
        return {
            "key": self.key,
            "label": self.label,
            "kind": self.kind,
            "value": self.value,
            "texts": list(self.texts),
            "help": self.help,
            "needs": needs,
        }


def live_knob(
    knob: Knob,
    value: Any,
    *,
    label: str = "",
    texts: Sequence[str] = (),
    needs: Mapping[str, tuple[int | bool, ...]] | None = None,
) -> LiveKnob:
    """A page's knob in its picture's bar."""
    choices = _choices_of(knob)
    if value not in choices:
        raise InvalidParameter(f"{knob.key} cannot be {value!r} in a picture's bar.")
    kind = _KINDS[knob.kind]
    return LiveKnob(
        knob.key,
        label or (f"{knob.label} ({knob.unit})" if knob.unit else knob.label),
        kind,
        bool(value) if kind == "switch" else choices.index(value),
        choices,
        () if kind == "switch" else tuple(texts) or tuple(map(number_text, choices)),
        knob.help,
        needs,
    )


def _choices_of(knob: Knob) -> tuple[Any, ...]:
    if knob.kind == "switch":
        return False, True
    if knob.kind in ("ladder", "choice"):
        return tuple(knob.choices)
    step = knob.step or (1 if knob.kind == "integer" else None)
    if knob.kind not in _KINDS or knob.low is None or knob.high is None or step is None:
        raise InvalidParameter(f"{knob.key} has no list of values for a picture's bar.")
    count = round((knob.high - knob.low) / step) + 1
    if knob.kind == "integer":
        return tuple(int(knob.low + i * step) for i in range(count))
    return tuple(round(knob.low + i * step, 12) for i in range(count))


def read_live_knobs(message: Any, knobs: Sequence[LiveKnob]) -> dict[str, Any] | None:
    """What a browser says the knobs are, by key, or None: the browser is the user's.

    >>> level = Knob("level", "Level", "ladder", 0.9, choices=(0.5, 0.8, 0.9))
    >>> knobs = [live_knob(level, 0.8), live_knob(Knob("log", "Log", "switch", False), True)]
    >>> read_live_knobs({"level": 2, "log": False}, knobs)
    {'level': 0.9, 'log': False}
    >>> read_live_knobs({"level": 3, "log": False}, knobs), read_live_knobs([], knobs)
    (None, None)
    """
    if not isinstance(message, dict):
        return None
    choices: dict[str, Any] = {}
    for knob in knobs:
        place: Any = message.get(knob.key)
        if knob.kind == "switch":
            if not isinstance(place, bool):
                return None
        elif not _is_number(place) or place not in range(len(knob.choices)):
            return None
        choices[knob.key] = knob.choices[int(place)]
    return choices


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@cache
def knobs_styles() -> str:
    """Return the style sheet of the bar, and of lists and boxes wherever they stand."""
    return read_styles(_HERE / "boxes.css") + read_styles(_HERE / "knobs.css")
