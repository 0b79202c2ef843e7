"""A page's settings as plain data: what each may be, and how its URL text is read.

Nothing here draws anything or imports Streamlit, so every rule about links is tested without a
browser. `controls` draws the widgets and `url_state` ties both to the address bar.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple
from urllib.parse import urlencode

Kind = Literal["integer", "number", "ladder", "choice", "choices", "switch", "text", "range"]
Group = Literal["data", "method", "knobs", "view", "page"]
GROUPS: tuple[Group, ...] = ("data", "method", "knobs", "view")  # the order of the pipeline

_SHOWN_CHARACTERS = 40  # of a foreign text in a notice
_LISTED = 12  # choices in a sentence
# Of a step: what a slider sends differs from low + n * step by rounding, in the 15th digit.
_STEP_ROUNDING = 1e-6


class Knob(NamedTuple):
    """One setting of a page: a widget in the sidebar and a parameter of the URL.

    ``key`` is both the URL parameter and the widget's key. The text that a choice shows is also
    the text in the URL, so choices are worded for people ("virtual SGLB").

    ========  ================================  ==========================================
    kind      value                             drawn as
    ========  ================================  ==========================================
    integer   int in [low, high]                slider, or a box with ``box=True``
    number    float in [low, high]              slider, or a box with ``box=True``
    ladder    one number of ``choices``         slider over uneven steps (1, 3, 10, 30)
    choice    one str of ``choices``            radio up to four choices, else a drop-down
    choices   tuple of str, at most ``most``    drop-down with several entries
    switch    bool                              toggle
    text      str that matches ``pattern``      text box of ``most`` characters (200)
    range     (low, high), two int in order     slider with two ends
    ========  ================================  ==========================================

    ``needs=("method", ("SGLB", "virtual SGLB"))`` draws the knob only while another one has one
    of those values; a hidden knob keeps its value. ``when`` is a further condition, on the values
    of all. A knob of the group ``"page"`` is drawn by the page itself, where it belongs
    (`controls.draw_knob`). ``plain`` keeps choices that are a user's words out of widgets that
    read Markdown.
    """

    key: str
    label: str
    kind: Kind
    default: Any
    low: float | None = None
    high: float | None = None
    step: float | None = None
    choices: tuple[Any, ...] = ()
    most: int | None = None
    pattern: str = r".{0,200}"
    unit: str = ""
    help: str = ""
    group: Group = "knobs"
    needs: tuple[str, tuple[Any, ...]] | None = None
    box: bool = False
    plain: bool = False
    when: Callable[[Mapping[str, Any]], bool] | None = None


class Preset(NamedTuple):
    """A named set of values; knobs that it does not mention go to their defaults."""

    name: str
    values: Mapping[str, Any] = {}
    help: str = ""


class Reading(NamedTuple):
    """What one URL parameter says: the value, or (``problem`` not empty) why it has none."""

    value: Any
    problem: str


def describe_range(knob: Knob) -> str:
    """What a knob may be, as the end of a sentence.

    >>> describe_range(Knob("rows", "Rows", "integer", 200, 20, 2000))
    'a whole number from 20 to 2000'
    >>> describe_range(Knob("step", "K", "integer", 30, 10, 200, step=10))
    'a multiple of 10 from 10 to 200'
    """
    if knob.kind in ("integer", "number"):
        noun = "a whole number" if knob.kind == "integer" else "a number"
        steps = ""
        if knob.step and not knob.box and (knob.kind == "number" or knob.step > 1):
            multiples = knob.kind == "integer" and knob.low % knob.step == 0
            noun = f"a multiple of {knob.step:g}" if multiples else noun
            steps = "" if multiples else f" in steps of {knob.step:g}"
        return f"{noun} from {knob.low:g} to {knob.high:g}{steps}"
    if knob.kind == "range":
        return f"two whole numbers from {knob.low:g} to {knob.high:g}, the lower one first"
    if knob.kind == "switch":
        return "true or false"
    if knob.kind == "text":
        return knob.help.rstrip(".").lower() if knob.help else "a short text of the right form"
    listed = ", ".join(choice_text(choice) for choice in knob.choices[:_LISTED])
    if len(knob.choices) > _LISTED:
        listed += f" and {len(knob.choices) - _LISTED} more"
    if knob.kind == "choices":
        limit = f"at most {knob.most} of " if knob.most else "some of "
        return limit + listed
    return f"one of {listed}"


def problem_with(knob: Knob, value: Any) -> bool:
    """Whether ``value`` is one that the knob cannot have."""
    match knob.kind:
        case "integer" | "number":
            expected = int if knob.kind == "integer" else (int, float)
            if isinstance(value, bool) or not isinstance(value, expected):
                return True
            return not (math.isfinite(value) and _on_slider(knob, value))
        case "range":
            return not _is_range(knob, value)
        case "switch":
            return not isinstance(value, bool)
        case "text":
            return not isinstance(value, str) or re.fullmatch(knob.pattern, value) is None
        case "choices":
            if not isinstance(value, (tuple, list)) or (knob.most and len(value) > knob.most):
                return True
            return len(set(value)) < len(value) or any(v not in knob.choices for v in value)
        case _:
            return value not in knob.choices


def _on_slider(knob: Knob, value: float) -> bool:
    """Whether a finite number is in range and, but for boxes, where its slider can stand."""
    if not knob.low <= value <= knob.high:
        return False
    if knob.box or not knob.step or value == knob.high:
        return True
    steps = (value - knob.low) / knob.step
    return abs(steps - round(steps)) < _STEP_ROUNDING


def _is_range(knob: Knob, value: Any) -> bool:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        return False
    if any(isinstance(end, bool) or not isinstance(end, int) for end in value):
        return False
    return value[0] <= value[1] and all(_on_slider(knob, end) for end in value)


def choice_text(choice: Any) -> str:
    """A choice as its widget and a link write it: 10, not 10.0.

    >>> choice_text(10.0), choice_text(0.3), choice_text("virtual SGLB")
    ('10', '0.3', 'virtual SGLB')
    """
    return _number_text(choice)


def read_knob(knob: Knob, texts: Sequence[str]) -> Reading:
    """Read the texts that a URL gives for one knob.

    Examples
    --------
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
        said = ", ".join(quoted(text) for text in texts)
        return Reading(None, f"{knob.key} must be {describe_range(knob)}, but the link says {said}")
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
    for same in (choice_text, str, _as_number, lambda choice: str(choice).casefold()):
        wanted = same(text)
        found = [choice for choice in knob.choices if same(choice) == wanted]
        if wanted is not None and len(found) == 1:
            return found[0]
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
        return [choice_text(v) for v in value] or [""]
    if knob.kind == "range":
        return [_number_text(end) for end in value]
    if knob.kind == "switch":
        return [str(value).lower()]
    return [_number_text(value)]


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


def _same(value: Any, default: Any) -> bool:
    if isinstance(default, (tuple, list)):
        return tuple(value) == tuple(default)
    return bool(value == default)


def _number_text(value: Any) -> str:
    """As the browser writes numbers: 5, not 5.0."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
