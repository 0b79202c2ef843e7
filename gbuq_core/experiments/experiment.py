"""What an experiment says of itself, once for its page, its download and whoever draws it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple

from gbuq_core.experiments.claims import Claim, claim_table
from gbuq_core.experiments.opening import Opening
from gbuq_core.experiments.seeds import SeedStudy
from gbuq_core.experiments.trial import Trial, trial_sections
from gbuq_core.figures.canvas.live import EVERY
from gbuq_core.figures.canvas.panels import PanelSheet
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.figures.standalone import Section, standalone_html
from gbuq_core.knobs import Knob
from gbuq_core.settings import plan_of

_LEAST_HEIGHT = 184  # of maps in a page of its own, which scrolls: titles have room over them
Text = str | Callable[[Any], str]
_NONE: Mapping[str, Any] = MappingProxyType({})


def _methods_of(settings: Any) -> Sequence[str]:
    return tuple(settings.methods)


def _quiet(sheet: PanelSheet, run: Any, values: SimpleNamespace) -> PanelSheet:
    return replace(sheet, quiet=True)


def _nothing(given: Any) -> str:
    return ""


class Closer(NamedTuple):
    """A closer look at a run: a fold of its own, and a section of the downloaded page."""

    fold: Knob  # whose label is its title; open by it
    knobs: tuple[Knob, ...]  # in the fold
    # `section(run, views, values)`, of the values of all knobs of the page
    section: Callable[[Any, Sequence[Any], SimpleNamespace], Section]
    hint: str = ""  # what is said above it
    alone: bool = False  # whether its knobs change nothing else
    # `mark(sheet, values)` shows in the picture where the look is
    mark: Callable[[PanelSheet, SimpleNamespace], PanelSheet] | None = None
    whole: bool = False  # whether it asks the models themselves, which stored fits lack


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
    opening: Opening | None = None  # fits that are stored
    # `depends(fit, settings)` returns what the view depends on besides its fit
    depends: Callable[[Any, Any], Hashable]
    # `chosen(settings)` returns the keys of the methods that the reader chose
    chosen: Callable[[Any], Sequence[str]] = _methods_of
    done: str = "Fitted"  # the word before the seconds that the fits took
    invitation: str = "Choose a method in All settings to see its maps beside the truth."
    warn: Callable[[Any], str] = _nothing  # of a view: what went wrong in it


@dataclass(frozen=True, kw_only=True)
class Account:
    """What a page asks, answers and gives away, whatever its picture is."""

    name: str
    question: str
    lede: Text  # one or two sentences of Markdown below it, also of the settings
    settings: type  # its record, whose fields are knobs
    answer: Callable[[Any], str]  # of a run: one sentence, or nothing
    numbers: Callable[[Any], str] = _nothing  # a click away from the answer
    scores: Callable[[Any], Section | Sequence[Section]]
    reading: str = ""  # how the picture is read
    # `about(run)` says of which settings the verdicts are, `silence(run)` why there are none
    about: Callable[[Any], str] = _nothing
    silence: Callable[[Any], str] = _nothing
    remark: Callable[[Any], str] = _nothing  # Markdown below the statements
    study: SeedStudy | None
    trials: tuple[Trial, ...] = ()  # folds of "Does the paper hold?"
    code: Callable[[Any], str]  # Python that makes the run
    # `tables(run)` names the CSV files and says how each is made of the run
    tables: Callable[[Any], Mapping[str, Callable[[Any], str]]]
    title: str  # of the downloaded page
    lead: Text  # below it, also of the run
    equations: str  # Markdown, with LaTeX between $$
    terms: tuple[str, ...] = ()  # of the glossary, below them
    departures: str  # a heading of docs/departures.md


@dataclass(frozen=True, kw_only=True)
class Compared(SideBySide, Account):
    """An account of methods side by side, whose picture the page makes."""


@dataclass(frozen=True, kw_only=True)
class Experiment(Compared):
    """An account of methods whose maps stand side by side."""

    # `run(settings, views)` joins what is shown of each method, in a record with `settings`
    run: Callable[[Any, Sequence[Any]], Any]
    # `sheet(run, views, knobs)` returns the picture; views may also be of earlier settings
    sheet: Callable[[Any, Sequence[Any], Sequence[LiveKnob]], PanelSheet]
    # `begin(sheet, run, values)` returns how a page with these values of its knobs begins
    begin: Callable[[PanelSheet, Any, SimpleNamespace], PanelSheet] = _quiet
    followed: bool = True  # whether the picture follows the sliders of a fit while they move
    claims: Callable[[Any], tuple[Claim, ...]]
    closer: tuple[Closer, ...] = ()


def listed(sections: Section | Sequence[Section]) -> Sequence[Section]:
    """One section alone as a list of one."""
    return [sections] if isinstance(sections, Section) else sections


def text_of(text: Text, given: Any) -> str:
    """A text that may depend on what is given."""
    return text if isinstance(text, str) else text(given)


def account_html(one: Account, run: Any, sections: Sequence[Section]) -> bytes:
    """The downloaded page of these sections."""
    return standalone_html(sections, one.title, text_of(one.lead, run)).encode()


def experiment_sections(
    one: Experiment,
    run: Any,
    views: Sequence[Any],
    knobs: Sequence[LiveKnob] = (),
    values: SimpleNamespace | None = None,
    results: Mapping[str, Any] = _NONE,
) -> list[Section]:
    """The downloaded page: picture, closer looks, scores, the paper's statements and code."""
    if one.begin is not _quiet:  # all is shown at once, since no other view is in the file
        knobs = [knob for knob in knobs if knob.key != EVERY]
    sheet, claims = one.sheet(run, views, knobs), one.claims(run)
    height = max(sheet.panel_height, _LEAST_HEIGHT)
    sheet = replace(sheet, panel_height=height, quiet=one.begin is _quiet and bool(knobs))
    looks = []
    if values is not None and views:
        for each in one.closer:
            sheet = each.mark(sheet, values) if each.mark else sheet
            looks.append(replace(each.section(run, views, values), heading=each.fold.label))
    return [
        Section(sheet=sheet, caption=f"{sheet.alt} {one.reading}".strip()),
        *(look for look in looks if look.sheet is not None),
        *listed(one.scores(run) if views else []),
        Section(
            heading="The paper and this picture",
            text=one.about(run) if claims else one.silence(run),
            table=claim_table(claims) if claims else (),
        ),
        *(trial_sections(one.trials, results, values) if values is not None else ()),
        Section(heading="Python", code=one.code(run)),
    ]
