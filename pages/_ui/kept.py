"""What a page has worked out from its fits, kept for the session while they are shown.

`st.cache_resource` would keep it by a digest of its arguments; here the fits themselves, which are
large and never change, are told apart by identity.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Sequence
from typing import Any, NamedTuple, TypeVar

import streamlit as st

_KEPT = "_kept"  # the session key

T = TypeVar("T")


class _Kept(NamedTuple):
    objects: tuple[Any, ...]
    settings: Hashable
    value: Any


def kept(name: str, objects: Sequence[Any], settings: Hashable, make: Callable[[], T]) -> T:
    """The value of that name, made anew only if what it depends on is another."""
    values: dict[str, _Kept] = st.session_state.setdefault(_KEPT, {})
    held = values.get(name)
    same = (
        held is not None
        and held.settings == settings
        and len(held.objects) == len(objects)
        and all(mine is theirs for mine, theirs in zip(held.objects, objects, strict=True))
    )
    if held is None or not same:
        held = values[name] = _Kept(tuple(objects), settings, make())
    return held.value


def last_kept(name: str) -> Any:
    """The value of that name, whatever it depended on; None if there is none."""
    held: _Kept | None = st.session_state.get(_KEPT, {}).get(name)
    return None if held is None else held.value


def keep_only(start: str, ends: Collection[str]) -> None:
    """Forget what begins with ``start`` and has none of these ends: it may hold many megabytes."""
    values: dict[str, _Kept] = st.session_state.setdefault(_KEPT, {})
    for name in [name for name in values if name.startswith(start)]:
        if not name.endswith(tuple(ends)):
            del values[name]


def forget_kept() -> None:
    """Forget everything; another page is being opened."""
    st.session_state.pop(_KEPT, None)


def remember(name: Hashable, work: Callable[..., T], *given: Any, most: int = 64) -> T:
    """What ``work(*given)`` returns, or has returned when it was asked for under this name.

    ``name`` says all that the result depends on. The last ``most`` results of each function stay
    until the session ends or its files are deleted.
    """
    held = _memory().setdefault(work, OrderedDict())
    if name not in held:
        held[name] = work(*given)
        while len(held) > most:
            held.popitem(last=False)
    held.move_to_end(name)
    return held[name]


def is_remembered(name: Hashable, work: Callable[..., Any]) -> bool:
    """Whether `remember` would not have to work."""
    return name in _memory().get(work, {})


@st.cache_resource(scope="session", show_spinner=False)
def _memory() -> dict[Callable[..., Any], OrderedDict[Hashable, Any]]:
    return {}
