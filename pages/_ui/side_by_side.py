"""Methods side by side: a fit each, what today's view shows of it, and what it cost.

A page says in a `SideBySide` what its methods are, how one is planned, fitted and viewed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from gbuq_core.errors import GbuqError
from gbuq_core.presentation import seconds_text
from pages._ui.jobs_glue import Answer, Request
from pages._ui.kept import keep_only, kept
from pages._ui.notices import show_notice

_SLOW_SECONDS = 1.0  # methods whose cost is told before they are chosen


class SideBySide(NamedTuple):
    """What a page has of its own.

    Attributes
    ----------
    name : str
        Of its fits and of what is kept of them.
    methods : mapping
        Each method's key and what has its ``label``.
    plan, why_not, estimate : callable
        ``plan(settings, method)`` with a field ``method``; of a plan, why it cannot be fitted (a
        sentence, or empty) and about how many seconds it takes.
    fit, view : callable
        ``fit(plan)`` with fields ``label`` and ``seconds``; ``view(fit, settings)``.
    depends : callable
        Of settings: what a view depends on besides its fit.
    """

    name: str
    methods: Mapping[str, Any]
    plan: Callable[[Any, str], Any]
    why_not: Callable[[Any], str]
    estimate: Callable[[Any], float]
    fit: Callable[[Any], Any]
    view: Callable[[Any, Any], Any]
    depends: Callable[[Any], Hashable]

    def requests(self, settings: Any) -> list[Request]:
        """One fit a method that can be fitted."""
        plans = [self.plan(settings, method) for method in settings.methods]
        return [
            Request(
                plan.method,
                (self.name, plan),
                partial(_compute, self.fit, plan),
                self.methods[plan.method].label,
                self.estimate(plan),
            )
            for plan in plans
            if not self.why_not(plan)
        ]

    def refusals(self, settings: Any) -> list[str]:
        """Why methods cannot be fitted, each sentence once."""
        found = (self.why_not(self.plan(settings, method)) for method in settings.methods)
        return list(dict.fromkeys(text for text in found if text))

    def views(self, settings: Any, answers: Sequence[Answer]) -> list[Shown]:
        """What can be shown of every answer; what did not change is not computed again."""
        prefix = f"{self.name}-view:"
        keep_only(prefix, {prefix + answer.slot for answer in answers})
        return [self._view(prefix, settings, answer) for answer in answers]

    def _view(self, prefix: str, settings: Any, answer: Answer) -> Shown:
        fit = answer.result
        if fit is None or answer.error:
            return Shown(answer, None, None, answer.error)
        depends = self.depends(settings)
        try:
            view = kept(prefix + answer.slot, [fit], depends, lambda: self.view(fit, settings))
        except GbuqError as error:
            return Shown(answer, fit, None, str(error))
        return Shown(answer, fit, view, "")

    def costs(self, settings: Any, shown: Sequence[Shown]) -> list[str]:
        """What the fits took, and what slow methods would take that are not chosen: sentences."""
        taken = [
            f"{one.fit.label} {seconds_text(one.fit.seconds)}"
            for one in shown
            if one.fresh and one.fit is not None
        ]
        others = [self.plan(settings, m) for m in self.methods if m not in settings.methods]
        slow = [
            f"{self.methods[plan.method].label} about {seconds_text(seconds)}"
            for plan in others
            if not self.why_not(plan) and (seconds := self.estimate(plan)) > _SLOW_SECONDS
        ]
        parts = [f"Fitted: {', '.join(taken)}."] if taken else []
        return [*parts, f"Not chosen: {', '.join(slow)}."] if slow else parts


class Shown(NamedTuple):
    """One method: its answer, its fit, what today's view shows of it, and why that is nothing."""

    answer: Answer
    fit: Any
    view: Any
    problem: str

    @property
    def fresh(self) -> bool:
        """Whether it belongs to the settings of today."""
        return self.view is not None and self.answer.fresh


def say_problems(shown: Sequence[Shown]) -> None:
    """A notice for each method whose fit or view failed."""
    for one in shown:
        if one.problem:
            text = f"{one.answer.request.label}: {one.problem}"
            show_notice(text, one.answer.slot, tone="error")


def _compute(fit: Callable[[Any], Any], plan: Any, job: object) -> Any:
    """Train one method; the runner calls this in another thread."""
    return fit(plan)
