"""What each value of a project's JSON must be, and the one sentence for a value that is not.

A form is a function of the stored value and its place in the file, which returns what is read. That
of a record follows the types of its fields; only limits and choices are given beside them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, NamedTuple, TypeAlias, get_type_hints

from gbuq_core.knobs import Knob, describe_range, problem_with
from gbuq_core.presentation import listed, shown
from gbuq_core.projects.container import damaged

_LONGEST_TEXT = 2**20  # as a cell
_LARGEST = 1e308
_MOST_ITEMS = 10_000  # of a list that says no other limit
_HALF_LETTER = re.compile("[\ud800-\udfff]")  # half a pair of surrogates cannot be written again


class JsonPlace(NamedTuple):
    """Where a value is in the file, as in ``project.plan.depth``."""

    path: str
    newer: bool = False  # a newer minor version wrote the file: its own settings are passed over

    def inner(self, name: str) -> JsonPlace:
        """The place of a part."""
        return self._replace(path=self.path + name)

    def require(self, condition: Any, must: str) -> None:
        """Refuse the file unless what is at this place is what it must be."""
        if not condition:
            raise damaged(f"{self.path} must {must}")


Form: TypeAlias = Callable[[Any, JsonPlace], Any]


def plain(must: str, fits: Callable[[Any], bool], make: Callable[[Any], Any] | None = None) -> Form:
    """A value without parts, and how a sentence calls what it must be."""

    def read(stored: Any, place: JsonPlace) -> Any:
        place.require(fits(stored), f"be {must}, but it is {_described(stored)}")
        return stored if make is None else make(stored)

    return read


def is_number(value: Any) -> bool:
    """Whether it is a number of a usual size; JSON of a project holds no infinite ones."""
    return type(value) in (int, float) and abs(value) < _LARGEST


def _is_text(value: Any) -> bool:
    return type(value) is str and len(value) <= _LONGEST_TEXT and not _HALF_LETTER.search(value)


TEXT = plain(f"a text of at most {_LONGEST_TEXT:,} letters", _is_text)
FLAG = plain("true or false", lambda value: type(value) is bool)
NUMBER = plain("a number", is_number, float)
PLAIN_VALUE = plain(
    "a text, a number, true, false or null",
    lambda value: value is None or type(value) is bool or is_number(value) or _is_text(value),
)


def matching(pattern: str, must: str) -> Form:
    """A text of a pattern."""
    return plain(must, lambda value: _is_text(value) and re.fullmatch(pattern, value) is not None)


def whole(low: int, high: int) -> Form:
    """A whole number."""
    return plain(
        f"a whole number from {low:,} to {high:,}",
        lambda value: type(value) is int and low <= value <= high,
    )


def above(low: float, below: float) -> Form:
    """A number between two ends."""
    return plain(
        f"a number above {low:g} and below {below:g}",
        lambda value: is_number(value) and low < value < below,
        float,
    )


def one_of(choices: Collection[Any]) -> Form:
    """One of some values, and of its type: true is not 1."""
    return plain(
        f"one of {', '.join(map(_described, choices))}",
        lambda value: any(value == choice and type(value) is type(choice) for choice in choices),
    )


def or_null(form: Form) -> Form:
    """The form, or null."""
    return lambda stored, place: None if stored is None else form(stored, place)


def of_knob(knob: Knob) -> Form:
    """What a setting may be, by its knob."""
    if knob.choices:
        return one_of(knob.choices)
    return plain(
        describe_range(knob),
        lambda value: is_number(value) and not problem_with(knob, value),
        int if knob.kind == "integer" else float,
    )


def list_of(form: Form, most: int = _MOST_ITEMS) -> Form:
    """A list of values of one form, as a tuple."""

    def read(stored: Any, place: JsonPlace) -> tuple[Any, ...]:
        fits = type(stored) is list and len(stored) <= most
        place.require(fits, f"be a list of at most {most:,}, but it is {_described(stored)}")
        return tuple(form(value, place.inner(f"[{k}]")) for k, value in enumerate(stored))

    return read


def row_of(*forms: Form) -> Form:
    """A list with one value of each form, as a tuple."""

    def read(stored: Any, place: JsonPlace) -> tuple[Any, ...]:
        fits = type(stored) is list and len(stored) == len(forms)
        place.require(fits, f"be a list of {len(forms)}, but it is {_described(stored)}")
        return tuple(form(stored[k], place.inner(f"[{k}]")) for k, form in enumerate(forms))

    return read


def by_name(form: Form, most: int = _MOST_ITEMS) -> Form:
    """An object with values of one form under any names, as a dict."""

    def read(stored: Any, place: JsonPlace) -> dict[str, Any]:
        fits = type(stored) is dict and len(stored) <= most
        place.require(fits, f"be an object of at most {most:,}, but it is {_described(stored)}")
        return {
            TEXT(key, place.inner(": a name")): form(value, place.inner(f"[{shown(key)}]"))
            for key, value in stored.items()
        }

    return read


def parts(**forms: Form | tuple[Form, Any]) -> Form:
    """An object with parts of these names, as a dict; one with a default may be missing."""

    def read(stored: Any, place: JsonPlace) -> dict[str, Any]:
        place.require(type(stored) is dict, f"be an object, but it is {_described(stored)}")
        unknown = [name for name in stored if name not in forms]
        place.require(place.newer or not unknown, f"not hold {listed(unknown)}")
        missing = [name for name in forms if name not in stored and callable(forms[name])]
        place.require(not missing, f"hold {listed(missing)}")
        values: dict[str, Any] = {}
        for name, form in forms.items():
            own, default = (form, None) if callable(form) else form
            values[name] = own(stored[name], place.inner(f".{name}")) if name in stored else default
        return values

    return read


def record(kind: Any, /, **forms: Form) -> Form:
    """A dataclass or named tuple: each field by the form that is given, or else by its type."""
    hints = get_type_hints(kind)
    if is_dataclass(kind):
        defaults = {f.name: f.default for f in fields(kind) if f.default is not MISSING}
        names = [f.name for f in fields(kind)]
    else:
        defaults, names = kind._field_defaults, kind._fields
    own = {name: forms[name] if name in forms else _OF_TYPE[hints[name]] for name in names}
    whole_form = parts(
        **{n: (form, defaults[n]) if n in defaults else form for n, form in own.items()}
    )
    return lambda stored, place: kind(**whole_form(stored, place))


_OF_TYPE: dict[Any, Form] = {
    str: TEXT,
    bool: FLAG,
    str | None: or_null(TEXT),
    bool | None: or_null(FLAG),
    tuple[str, ...]: list_of(TEXT),
}


def _described(value: Any) -> str:
    """A value of JSON in a sentence, cut where it is long."""
    if type(value) is str:
        return shown(value)
    if type(value) is list:
        return f"a list of {len(value):,}"
    if type(value) is dict:
        return f"an object of {len(value):,}"
    if value is None or type(value) is bool:
        return {None: "null", True: "true", False: "false"}[value]
    return f"{value!r:.40}"
