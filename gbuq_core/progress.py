"""Progress of the current job, and whether it should go on.

`tick`, `advance` and `stage` are what a fit calls between two kernel chunks of 30-50 ms. They
report progress and raise `Cancelled` if no user wants the result any more. Without a job they do
nothing, so the same estimator works in a notebook.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from gbuq_core.validation import check_number


class Progress:
    """A counter up to ``total`` that fills ``span`` units of the counter around it."""

    def __init__(self, total: float, outer: Progress | None = None, span: float = 0.0) -> None:
        self.total = float(check_number("total", total, 0, low_open=True))
        self.done = 0.0
        self._outer, self._span = outer, span
        self._lock: threading.Lock = outer._lock if outer else threading.Lock()

    def reach(self, done: float) -> None:
        """Count up to ``done``; a counter never runs backwards."""
        with self._lock:
            self._add(done - self.done)

    def add(self, amount: float) -> None:
        """Count ``amount`` more."""
        with self._lock:
            self._add(amount)

    def _add(self, amount: float) -> None:
        amount = min(max(0.0, amount), self.total - self.done)
        self.done += amount
        if self._outer is not None:
            self._outer._add(amount / self.total * self._span)


class Place(NamedTuple):
    """What a thread works for; `parallel_map` hands it on to the threads that help."""

    job: Any = None
    progress: Progress | None = None
    checks: tuple[Callable[[], None], ...] = ()  # each raises `Cancelled` to stop the work

    def check(self) -> None:
        """Raise `Cancelled` if the work is not wanted any more."""
        for check in self.checks:
            check()


_NOWHERE = Place()
_PLACE: ContextVar[Place | None] = ContextVar("gbuq_place", default=None)


def here() -> Place:
    """Return the place of the calling code."""
    return _PLACE.get() or _NOWHERE


@contextmanager
def at(place: Place) -> Iterator[None]:
    """Run the code inside at another place."""
    token = _PLACE.set(place)
    try:
        yield
    finally:
        _PLACE.reset(token)


def tick(done: float) -> None:
    """Report that ``done`` units are done; to be called every 30-50 ms between kernel chunks."""
    place = here()
    place.check()
    if place.progress is not None:
        place.progress.reach(done)


def advance(amount: float = 1.0) -> None:
    """Like `tick`, but add ``amount`` units: for members that are fitted at the same time."""
    place = here()
    place.check()
    if place.progress is not None:
        place.progress.add(amount)


@contextmanager
def stage(total: float, span: float | None = None) -> Iterator[None]:
    """Count from 0 to ``total`` inside while the count outside moves on by ``span``.

    So a fit counts its trees in the same way if it is the whole job or one fold of five.
    """
    place = here()
    place.check()
    outer = place.progress
    left = outer.total - outer.done if outer is not None else 0.0
    inner = Progress(total, outer, left if span is None else span)
    with at(place._replace(progress=inner)):
        yield
        inner.reach(inner.total)


class TreeWatcher:
    """CatBoost's callback: counts trees, ends a fit nobody wants, keeps exceptions for later."""

    def __init__(self) -> None:
        self._error: BaseException | None = None

    def after_iteration(self, info: Any) -> bool:
        """Tell CatBoost whether to go on."""
        try:
            tick(float(info.iteration))
        except BaseException as error:
            self._error = error
            return False
        return True

    def raise_error(self) -> None:
        """Raise what ended the fit, if anything did."""
        if self._error is not None:
            raise self._error
