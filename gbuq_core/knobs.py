"""A setting as plain data: what it is called, what it may be and what it is by default.

Nothing here draws anything. Records of methods (`gbuq_core.methods`) list their knobs with it, a
page narrows them (`narrow`) and adds its own, and an error names what a value may be.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal

from gbuq_core.errors import InvalidParameter
from gbuq_core.validation import check_choice, check_number

Kind = Literal["integer", "number", "ladder", "choice", "choices", "switch", "text", "range"]
Group = Literal["data", "method", "knobs", "view", "page", "picture"]
GROUPS: tuple[Group, ...] = ("data", "method", "knobs", "view")  # the order of the pipeline

_LISTED = 12  # choices in a sentence
# Of a step: what a slider sends differs from low + n * step by rounding, in the 15th digit.
_STEP_ROUNDING = 1e-6


@dataclass(frozen=True)
class Knob:
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
    of all. ``check`` says what is wrong with a text that matches its pattern, or nothing.
    A knob of the group ``"page"`` is drawn by the page itself, where it belongs
    (`controls.draw_knob`). One of the group ``"picture"`` has no widget: it stands in the bar of
    the figure under its ``brief`` name, which is drawn anew in the browser while it moves, and
    `open_page` keeps its parameter in the address. ``plain`` keeps choices that are a user's words
    out of widgets that read Markdown. A knob with a ``refusal`` is greyed out, and that sentence
    says why. With ``low_open`` a value has to be above ``low``. The first six fields may be given
    by position, as a row of a table.
    """

    key: str
    label: str
    kind: Kind
    default: Any
    low: float | None = None
    high: float | None = None
    _: KW_ONLY
    low_open: bool = False
    step: float | None = None
    choices: tuple[Any, ...] = ()
    most: int | None = None
    pattern: str = r".{0,200}"
    unit: str = ""
    help: str = ""
    brief: str = ""
    group: Group = "knobs"
    needs: tuple[str, tuple[Any, ...]] | None = None
    box: bool = False
    plain: bool = False
    refusal: str = ""
    when: Callable[[Mapping[str, Any]], bool] | None = None
    # `methods`, `kinds`: whose maps it changes, of the values of all, and which of them; None and
    # (): all
    methods: Callable[[Mapping[str, Any]], tuple[str, ...]] | None = None
    kinds: tuple[str, ...] = ()
    check: Callable[[str], str] | None = None


def describe_range(knob: Knob) -> str:
    """What a knob may be, as the end of a sentence.

    >>> describe_range(Knob("rows", "Rows", "integer", 200, 20, 2000))
    'a whole number from 20 to 2000'
    >>> describe_range(Knob("step", "K", "integer", 30, 10, 200, step=10))
    'a multiple of 10 from 10 to 200'
    """
    if knob.kind in ("integer", "number"):
        noun, steps = "a whole number" if knob.kind == "integer" else "a number", ""
        low, high = _ends(knob)
        first, last = number_text(low), number_text(high)
        if knob.step and not knob.box and (knob.kind == "number" or knob.step > 1):
            multiples = knob.kind == "integer" and low % knob.step == 0
            noun = f"a multiple of {knob.step:g}" if multiples else noun
            steps = "" if multiples else f" in steps of {knob.step:g}"
        start = f"above {first} and up" if knob.low_open else f"from {first}"
        return f"{noun} {start} to {last}{steps}"
    if knob.kind == "range":
        low, high = _ends(knob)
        return f"two whole numbers from {low:g} to {high:g}, the lower one first"
    if knob.kind == "switch":
        return "true or false"
    if knob.kind == "text":
        return knob.help.rstrip(".").lower() if knob.help else "a short text of the right form"
    listed = ", ".join(map(number_text, knob.choices[:_LISTED]))
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
            if not isinstance(value, str) or re.fullmatch(knob.pattern, value) is None:
                return True
            return bool(refusal_of(knob, value))
        case "choices":
            if not isinstance(value, (tuple, list)) or (knob.most and len(value) > knob.most):
                return True
            return len(set(value)) < len(value) or any(v not in knob.choices for v in value)
        case _:
            return value not in knob.choices


def refusal_of(knob: Knob, value: Any) -> str:
    """What the knob's ``check`` says of a text that matches its pattern; empty if nothing."""
    if knob.check is None or not isinstance(value, str):
        return ""
    return knob.check(value) if re.fullmatch(knob.pattern, value) else ""


def _ends(knob: Knob) -> tuple[float, float]:
    """The lowest and the highest number; a knob that names no end has none."""
    low = -math.inf if knob.low is None else knob.low
    return low, math.inf if knob.high is None else knob.high


def _on_slider(knob: Knob, value: float) -> bool:
    """Whether a finite number is in range and, but for boxes, where its slider can stand."""
    low, high = _ends(knob)
    if not low <= value <= high or (knob.low_open and value == low):
        return False
    if knob.box or not knob.step or value == high:
        return True
    steps = (value - low) / knob.step
    return abs(steps - round(steps)) < _STEP_ROUNDING


def _is_range(knob: Knob, value: Any) -> bool:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        return False
    if any(isinstance(end, bool) or not isinstance(end, int) for end in value):
        return False
    return value[0] <= value[1] and all(_on_slider(knob, end) for end in value)


def number_text(value: Any) -> str:
    """A number or a choice as the browser, its widget and a link write it: 5, not 5.0.

    >>> number_text(5.0), number_text(0.3), number_text("virtual SGLB")
    ('5', '0.3', 'virtual SGLB')
    """
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def check_knob(knob: Knob, value: Any) -> Any:
    """The value, if the knob can have it.

    >>> check_knob(Knob("depth", "Depth", "integer", 6, 1, 16), 20)
    Traceback (most recent call last):
    gbuq_core.errors.InvalidParameter: depth must be a whole number from 1 to 16; got 20.
    """
    if problem_with(knob, value):
        raise InvalidParameter(f"{knob.key} must be {describe_range(knob)}; got {value!r}.")
    return value


def check_within(knob: Knob, value: Any) -> Any:
    """A number between the knob's ends as ``int`` or ``float``; what an estimator asks of it.

    A ladder with ends also takes the texts among its choices.

    >>> check_within(Knob("share", "Share", "number", 1.0, 0.0, 1.0, low_open=True), 0)
    Traceback (most recent call last):
    gbuq_core.errors.InvalidParameter: share must be a number greater than 0 and at most 1; got 0.
    """
    if isinstance(value, str) and knob.kind == "ladder":
        return check_choice(knob.key, value, texts_of(knob))
    whole = knob.kind == "integer"
    return check_number(knob.key, value, *_ends(knob), integer=whole, low_open=knob.low_open)


def texts_of(knob: Knob) -> tuple[str, ...]:
    """The choices that are no numbers, in the order of the alphabet."""
    return tuple(sorted(choice for choice in knob.choices if isinstance(choice, str)))


def narrow(knob: Knob, **changes: Any) -> Knob:
    """The knob as one page offers it: another key, default, help or group, and fewer values.

    Choices for a number make its range a ladder: the slider has these steps only.

    >>> trees = Knob("n_trees", "Trees", "integer", 100, 1, 10_000)
    >>> narrow(trees, key="trees", choices=(10, 20, 100), default=10).kind
    'ladder'
    >>> narrow(trees, high=20_000)
    Traceback (most recent call last):
    gbuq_core.errors.InvalidParameter: n_trees must be a whole number from 1 to 10000; got 20000.
    """
    if knob.kind in ("integer", "number") and "choices" in changes:
        changes = {"kind": "ladder", **changes}
    if changes.get("kind", knob.kind) == "ladder":
        changes = {"low": None, "high": None, "low_open": False, "step": None, **changes}
    changed = replace(knob, **changes)
    whole = replace(knob, box=True)  # any value of the range, on a step or not
    ends = [None if changed.low_open else changed.low, changed.high]
    ends = [end for end in ends if end is not None]
    offered = [*changed.choices, *ends, changed.default]
    if knob.kind == "choices":
        check_knob(replace(whole, most=None), changed.choices)
        offered = [changed.default]
    for value in offered:
        check_knob(whole, value)
    return changed


def find_knob(knobs: Sequence[Knob], key: str) -> Knob:
    """The knob with this key."""
    by_key = {knob.key: knob for knob in knobs}
    return by_key[check_choice("knob", key, tuple(by_key))]
