"""Methods side by side: a fit each, what today's view shows of it, and what it cost.

A page says in a `SideBySide` what its methods are, how one is planned, fitted and viewed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import streamlit as st

from gbuq_core.errors import GbuqError
from gbuq_core.presentation import seconds_text
from pages._ui.jobs_glue import Answer, Request
from pages._ui.kept import keep_only, kept
from pages._ui.notices import show_notice

_SLOW_SECONDS = 1.0  # the cost of a slower method is shown before it is chosen


def _methods_of(settings: Any) -> Sequence[str]:
    return tuple(settings.methods)


@dataclass(frozen=True, kw_only=True)
class SideBySide:
    """What a page says about its methods."""

    name: str  # names the page's fits, and what the session keeps of them
    methods: Mapping[str, Any]  # from each method's key to an object with a `label`
    # `plan`, `why_not`, `estimate`: `plan(settings, method)` returns what a fit depends on.
    # `why_not(plan)` returns a sentence if it cannot be fitted, else an empty text.
    # `estimate(plan)` returns seconds.
    plan: Callable[[Any, str], Any]
    why_not: Callable[[Any], str]
    estimate: Callable[[Any], float]
    # `fit`, `view`: `fit(plan)` returns a result with a field `seconds`. `view(fit, settings)`
    # returns what today's settings show of it.
    fit: Callable[[Any], Any]
    view: Callable[[Any, Any], Any]
    # `depends(fit, settings)` returns what the view depends on besides its fit
    depends: Callable[[Any, Any], Hashable]
    # `chosen(settings)` returns the keys of the methods that the reader chose
    chosen: Callable[[Any], Sequence[str]] = _methods_of
    done: str = "Fitted"  # the word before the seconds that the fits took

    def requests(self, settings: Any) -> list[Request]:
        """One request for each chosen method that can be fitted."""
        plans = {method: self.plan(settings, method) for method in self.chosen(settings)}
        return [
            Request(
                method,
                (self.name, plan),
                partial(_compute, self.fit, plan),
                self.methods[method].label,
                self.estimate(plan),
            )
            for method, plan in plans.items()
            if not self.why_not(plan)
        ]

    def refusals(self, settings: Any) -> list[str]:
        """Why methods cannot be fitted, each sentence once."""
        found = (self.why_not(self.plan(settings, method)) for method in self.chosen(settings))
        return list(dict.fromkeys(text for text in found if text))

    def views(self, settings: Any, answers: Sequence[Answer]) -> list[Shown]:
        """What can be shown of every answer. A view is computed again only if its inputs change."""
        prefix = f"{self.name}-view:"
        keep_only(prefix, {prefix + answer.slot for answer in answers})
        return [self._view(prefix, settings, answer) for answer in answers]

    def _view(self, prefix: str, settings: Any, answer: Answer) -> Shown:
        fit = answer.result
        if fit is None or answer.error:
            return Shown(answer, None, None, answer.error)
        depends = self.depends(fit, settings)
        try:
            view = kept(prefix + answer.slot, [fit], depends, lambda: self.view(fit, settings))
        except GbuqError as error:
            return Shown(answer, fit, None, str(error))
        return Shown(answer, fit, view, "")

    def costs(self, settings: Any, shown: Sequence[Shown]) -> list[str]:
        """Two sentences: what the fits took, and what slow methods that are not chosen would."""
        taken = [
            f"{one.answer.request.label} {seconds_text(one.fit.seconds)}"
            for one in shown
            if one.fresh
        ]
        chosen = self.chosen(settings)
        others = {m: self.plan(settings, m) for m in self.methods if m not in chosen}
        slow = [
            f"{self.methods[method].label} (about {seconds_text(seconds)})"
            for method, plan in others.items()
            if not self.why_not(plan) and (seconds := self.estimate(plan)) > _SLOW_SECONDS
        ]
        parts = [f"{self.done}: {', '.join(taken)}."] if taken else []
        return [*parts, f"Not chosen yet: {', '.join(slow)}."] if slow else parts


class Shown(NamedTuple):
    """One method: its answer, its fit, today's view of it, or the reason why there is none."""

    answer: Answer
    fit: Any
    view: Any
    problem: str

    @property
    def fresh(self) -> bool:
        """Whether it belongs to today's settings."""
        return self.view is not None and self.answer.fresh


def say_refusals(refusals: Sequence[str]) -> None:
    """A notice for each reason why a method cannot be fitted."""
    for place, text in enumerate(refusals):
        show_notice(text, f"refused-{place}", tone="error")


def say_problems(shown: Sequence[Shown]) -> None:
    """A notice for each method whose fit or view failed."""
    for one in shown:
        if one.problem:
            text = f"{one.answer.request.label}: {one.problem}"
            show_notice(text, one.answer.slot, tone="error")


def say_stale(shown: Sequence[Shown]) -> None:
    """A caption that names the methods whose picture belongs to earlier settings."""
    old = [one.answer.request.label for one in shown if one.view is not None and not one.fresh]
    if old:
        st.caption(f"Still the previous settings: {', '.join(old)}.")


def _compute(fit: Callable[[Any], Any], plan: Any, job: object) -> Any:
    """Train one method; the runner calls this in another thread."""
    return fit(plan)
