"""A page's settings as plain data: what each may be, and how its URL text is read.

Nothing here draws anything or imports Streamlit, so every rule about links is tested without a
browser. `controls` draws the widgets and `url_state` ties both to the address bar.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from gbuq_core.knobs import Knob, describe_range, number_text, problem_with, refusal_of
from gbuq_core.settings import knobs_of, to_values

_SHOWN_CHARACTERS = 40  # of a foreign text in a notice


class Preset(NamedTuple):
    """A named set of values.

    Knobs that it does not mention go to their defaults, but for those that ``keeps`` names: they
    stay as the reader set them.
    """

    name: str
    values: Mapping[str, Any] = {}
    help: str = ""
    keeps: tuple[str, ...] = ()


class Reading(NamedTuple):
    """What one URL parameter says: the value, or (``problem`` not empty) why it has none."""

    value: Any
    problem: str


def read_knob(knob: Knob, texts: Sequence[str]) -> Reading:
    """Read the texts that a URL gives for one knob.

    >>> rows = Knob("rows", "Rows", "integer", 200, 20, 2000)
    >>> read_knob(rows, ["500"]).value
    500
    >>> read_knob(rows, ["-3"]).problem
    'rows must be a whole number from 20 to 2000, but the link says "-3"'
    """
    if knob.kind not in ("choices", "range") and len(texts) != 1:
        return Reading(None, f"{knob.key} is given {len(texts)} times in the link")
    try:
        value = _parse(knob, texts)
    except ValueError:
        value = None
    if value is None or problem_with(knob, value):
        if refusal := refusal_of(knob, value):
            return Reading(None, refusal)
        link = ", ".join(quoted(text) for text in texts)
        return Reading(None, f"{knob.key} must be {describe_range(knob)}, but the link says {link}")
    return Reading(value, "")


def _parse(knob: Knob, texts: Sequence[str]) -> Any:
    """The value that the texts spell, not yet checked; None or ValueError if they spell none."""
    text = texts[0]
    match knob.kind:
        case "integer":
            number = float(text)  # "500.0" is what the browser writes for some sliders
            return int(number) if number.is_integer() else None
        case "number":
            return float(text)
        case "range":
            ends = [float(t) for t in texts]
            return tuple(int(end) for end in ends) if all(e.is_integer() for e in ends) else None
        case "switch":
            return {"true": True, "false": False}.get(text.lower())
        case "text":
            return text
        case "choices":
            named = (_choice(knob, t) for t in texts if t != "")
            return tuple(dict.fromkeys(named))  # named twice is chosen once
        case _:
            return _choice(knob, text)


def _choice(knob: Knob, text: str) -> Any:
    """The choice that a text names: as it is shown, as a number, or in another case."""
    for same in (number_text, str, _as_number, lambda choice: str(choice).casefold()):
        wanted = same(text)
        choices = [choice for choice in knob.choices if same(choice) == wanted]
        if wanted is not None and len(choices) == 1:
            return choices[0]
    return None


def _as_number(choice: Any) -> float | None:
    try:
        return float(choice)
    except ValueError:
        return None


def link_texts(knob: Knob, value: Any) -> list[str]:
    """What a link says after ``key=`` for a value, once for each of several choices.

    >>> link_texts(Knob("noise", "Noise", "ladder", 1.0, choices=(1.0, 3.0)), 3)
    ['3']
    """
    if knob.kind == "choices":
        return [number_text(v) for v in value] or [""]
    if knob.kind == "range":
        return [number_text(end) for end in value]
    if knob.kind == "switch":
        return [str(value).lower()]
    return [number_text(value)]


def why_not(knob: Knob, typed: Any) -> str:
    """What is wrong with a value that a control holds."""
    refusal = refusal_of(knob, typed)
    text = ", ".join(map(str, typed)) if isinstance(typed, tuple) else str(typed)
    return refusal or f"{knob.label} must be {describe_range(knob)}; {quoted(text)} is not."


def quoted(text: str) -> str:
    """A foreign text in quotation marks, on one line and cut to a readable length."""
    line = "".join(c if c.isprintable() else " " for c in text)
    cut = line if len(line) <= _SHOWN_CHARACTERS else line[: _SHOWN_CHARACTERS - 1] + "\u2026"
    return f'"{cut}"'


def query_string(knobs: Iterable[Knob], values: Mapping[str, Any]) -> str:
    """The part of a link after the question mark: only what differs from the defaults.

    >>> rows = Knob("rows", "Rows", "integer", 200, 20, 2000)
    >>> query_string([rows], {"rows": 500}), query_string([rows], {"rows": 200})
    ('rows=500', '')
    """
    pairs: list[tuple[str, str]] = []
    for knob in knobs:
        value = values.get(knob.key, knob.default)
        if not _same(value, knob.default):
            pairs += [(knob.key, text) for text in link_texts(knob, value)]
    return urlencode(pairs)


def query_of(settings: Any) -> str:
    """The part of a link after the question mark that restores a page's settings.

    >>> from gbuq_core.study.heart import HeartSettings
    >>> query_of(HeartSettings(rate=0.1, cells=(31,)))
    'cells=34&rate=0.1'
    """
    return query_string(knobs_of(type(settings)), to_values(settings))


def _same(value: Any, other: Any) -> bool:
    return tuple(value) == tuple(other) if isinstance(other, tuple | list) else value == other
