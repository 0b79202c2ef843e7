"""What an experiment says of itself, once for its page, its download and whoever draws it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gbuq_core.experiments.claims import Claim, claim_table
from gbuq_core.experiments.seeds import SeedStudy
from gbuq_core.figures.canvas.panels import PanelSheet
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.figures.standalone import Section, standalone_html
from gbuq_core.settings import plan_of


def _methods_of(settings: Any) -> Sequence[str]:
    return tuple(settings.methods)


@dataclass(frozen=True, kw_only=True)
class SideBySide:
    """Methods side by side: how one is planned, fitted and viewed."""

    name: str  # names the page's fits, and what the session keeps of them
    methods: Mapping[str, Any]  # from each method's key to an object with a `label`
    # `plan`, `why_not`, `estimate`: `plan(settings, method)` returns what a fit depends on.
    # `why_not(plan)` returns a sentence if it cannot be fitted, else an empty text.
    # `estimate(plan)` returns seconds.
    plan: Callable[[Any, str], Any] = plan_of
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


@dataclass(frozen=True, kw_only=True)
class Experiment(SideBySide):
    """All that a page asks, draws, answers and gives away."""

    question: str
    lede: str  # one or two sentences of Markdown below it
    settings: type  # its record, whose fields are knobs
    # `run(settings, views)` joins what is shown of each method, in a record with `settings`
    run: Callable[[Any, Sequence[Any]], Any]
    # `sheet(run, views, knobs)` returns the picture; views may also be of earlier settings
    sheet: Callable[[Any, Sequence[Any], Sequence[LiveKnob]], PanelSheet]
    answer: Callable[[Any], str]  # of a run: one sentence, or nothing
    words: Callable[[Any], str]  # the picture in words
    claims: Callable[[Any], tuple[Claim, ...]]
    study: SeedStudy
    scores: Callable[[Any], Section]
    code: Callable[[Any], str]  # Python of settings
    csv: Callable[[Any], str]  # of a run
    title: str  # of the downloaded page, with `lead` below it
    lead: str
    equations: str  # Markdown, with LaTeX between $$
    departures: str  # a heading of docs/departures.md


def experiment_html(
    one: Experiment, run: Any, views: Sequence[Any], knobs: Sequence[LiveKnob] = ()
) -> bytes:
    """The downloaded page: picture, scores, the paper's statements and code."""
    sheet = one.sheet(run, views, knobs)
    sections = [
        Section(sheet=sheet, caption=sheet.alt),
        *([one.scores(run)] if views else []),
        Section(heading="The paper and this picture", table=claim_table(one.claims(run))),
        Section(heading="Python", code=one.code(run.settings)),
    ]
    return standalone_html(sections, one.title, one.lead).encode()
