"""What an experiment says of itself, once for its page, its download and whoever draws it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple, Protocol, TypeVar

from gbuq_core.experiments.claims import Claim, claim_table
from gbuq_core.experiments.seeds import SeedStudy, count_verdicts
from gbuq_core.experiments.trial import trial_sections
from gbuq_core.figures.canvas.live import EVERY
from gbuq_core.figures.canvas.panels import PanelSheet
from gbuq_core.figures.curves import Curves
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.figures.standalone import Section, standalone_html
from gbuq_core.knobs import Knob

_LEAST_HEIGHT = 184  # of maps in a page of its own, which scrolls: titles have room over them
Text = str | Callable[[Any], str]
T = TypeVar("T")
PAPER_HELD = ("The paper and this picture", "The paper")
OURS_HELD = ("What is said, and what came out", "Statement")  # where no paper says it
_NONE: Mapping[str, Any] = MappingProxyType({})


def _nothing(run: Any) -> str:
    return ""


def _none(*arguments: Any) -> tuple[Any, ...]:
    return ()


class Keep(Protocol):
    """Keeps what was worked out, under a name."""

    def __call__(
        self, name: str, objects: Sequence[Any], settings: Hashable, make: Callable[[], T]
    ) -> T:
        """The value of the name, made again only if it depends on other objects or settings."""


# Sections below each other; those of a tuple side by side
Rows = Sequence[Section | tuple[Section, ...]]


class Work(NamedTuple):
    """What a page asks for behind its picture."""

    slot: str
    key: Hashable  # all that it depends on
    make: Callable[[], Any]
    label: str  # of its progress; empty where nothing is said of it
    stored: Any = None  # the result, where it is stored


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
class Account:
    """What a page asks, answers and gives away, whatever its picture is."""

    name: str
    question: str
    lede: Text  # one or two sentences of Markdown below it, also of the settings
    settings: type  # its record, whose fields are knobs
    answer: Callable[[Any], str]  # of a run: one sentence, or nothing
    numbers: Callable[[Any], str] = _nothing  # a click away from the answer
    scores: Callable[[Any], Section | Sequence[Section]]
    reading: Text = ""  # how the picture is read, also of the run
    # `about(run)` says of which settings the verdicts are, `silence(run)` why there are none
    about: Callable[[Any], str] = _nothing
    silence: Callable[[Any], str] = _nothing
    held: tuple[str, str] = PAPER_HELD  # over the statements in the download, and over their table
    remark: Callable[[Any], str] = _nothing  # Markdown below the statements
    seeds: SeedStudy | None
    code: Callable[[Any], str]  # Python that makes the run
    # `tables(run)` names the CSV files and says how each is made of the run
    tables: Callable[[Any], Mapping[str, Callable[[Any], str]]]
    title: str  # of the downloaded page
    lead: Text  # below it, also of the run
    equations: str  # Markdown, with LaTeX between $$
    terms: tuple[str, ...] = ()  # of the glossary, below them
    departures: str  # a heading of docs/departures.md
    claims: Callable[[Any], Sequence[Claim]]
    followed: Sequence[str] = ()  # knobs that the pictures follow while they are dragged
    why: Callable[[Any], Rows] = _none
    # `packed(run, keep)` returns the tables that the pictures find neighbours with, by name
    packed: Callable[[Any, Keep], Mapping[str, bytes]] = lambda run, keep: {}

    def judge(self, run: Any) -> Sequence[Claim]:
        """The verdicts on the statements."""
        return self.claims(run)

    def say_answer(self, run: Any) -> str:
        """The answer to the question."""
        return self.answer(run)


@dataclass(frozen=True, kw_only=True)
class Single(Account):
    """An account of one fit: what is looked at, drawn and said of it."""

    label: str  # of its progress
    # `fit(plan)` returns a result, `stored(settings)` too where that is stored, and `quick` makes a
    # part of it that can follow a hand
    fit: Callable[[Any], Any]
    stored: Callable[[Any], Any] = lambda settings: None
    quick: Callable[[Any], Any] | None = None
    # `look(fit, settings, keep)` returns the run, which is what today's view shows of a fit
    look: Callable[[Any, Any, Keep], Any]
    notes: Callable[[Any], Sequence[str]] = _none  # of a run, above the picture
    pictures: Callable[[Any, Sequence[LiveKnob]], Mapping[str, Section]]  # by their places' names
    # `checked(run)` returns what the statements depend on, where those of other settings than the
    # first wait for a button
    checked: Callable[[Any], Hashable] | None = None
    appendix: Callable[[Any], Sequence[Section]] = _none  # of the download alone
    wait: float = 1.5  # seconds, in which the first fits come without a flash of progress
    # `behind(run, keep)` is asked for once the picture is drawn, in `slots`, and `join(run,
    # results, values, keep)` adds what came of it by slot. It is of the statements or of the
    # scores.
    behind: Callable[[Any, Keep], Sequence[Work]] = _none
    slots: Sequence[str] = ()
    join: Callable[[Any, Mapping[str, Any], SimpleNamespace, Keep], Any] = (
        lambda run, results, values, keep: run
    )
    behind_statements: bool = False
    words: Callable[[Any], str]  # the pictures in words


class SeenMethod(NamedTuple):
    """A method in the picture: its fit, its view of the picture's rows, and why there is none."""

    method: str
    fit: Any
    view: Any
    note: str
    fresh: bool  # whether both are of today's settings


def listed(sections: Section | Sequence[Section]) -> Sequence[Section]:
    """One section alone as a list of one."""
    return [sections] if isinstance(sections, Section) else sections


def text_of(text: Text, subject: Any) -> str:
    """A text that may depend on a run or on settings."""
    return text if isinstance(text, str) else text(subject)


def account_html(page: Account, run: Any, sections: Sequence[Section]) -> bytes:
    """The downloaded page of these sections."""
    return standalone_html(sections, page.title, text_of(page.lead, run)).encode()


def account_sections(
    page: Account,
    run: Any,
    pictures: Sequence[Section],
    claims: Sequence[Claim],
    trials: Sequence[Section] = (),
    scored: bool = True,
) -> list[Section]:
    """The downloaded page: pictures and closer looks, scores, statements and code."""
    text = page.about(run) if claims else page.silence(run)
    table = claim_table(claims, page.held[1], _verdicts_of_seeds(page, run)) if claims else ()
    return [
        *pictures,
        *listed(page.scores(run) if scored else []),
        *([Section(heading=page.held[0], text=text, table=table)] if text or table else ()),
        *trials,
        Section(heading="Python", code=page.code(run)),
    ]


def _verdicts_of_seeds(page: Account, run: Any) -> Mapping[str, str]:
    """What seeds say of the statements, where that is known without running any."""
    if page.seeds is None:
        return {}
    plan = page.seeds.plan(run.settings)
    outcomes = () if plan.quicker else page.seeds.stored(plan) or ()
    return {count.key: count.text for count in count_verdicts(outcomes)}


def single_sections(
    page: Single, run: Any, claims: Sequence[Claim], knobs: Sequence[LiveKnob], keep: Keep
) -> list[Section]:
    """The downloaded page of one fit."""
    first, *others = page.pictures(run, knobs).values()
    words = f"{page.words(run)} {first.caption}".strip()
    first = replace(first, caption=words, tables=[*page.packed(run, keep).values()])
    looks = [*in_order(page.why(run)), *page.appendix(run)]
    return account_sections(page, run, [first, *others, *looks], claims)


def compared_sections(
    page: Any,  # a `Study` of curves
    run: Any,
    figure: Curves,
    claims: Sequence[Claim],
    values: SimpleNamespace,
    keep: Keep,
    results: Mapping[str, Any] = _NONE,
) -> list[Section]:
    """The downloaded page of methods over one x axis."""
    looks = in_order(page.look(run.settings, run.fits, values, keep, True)) if run.fits else []
    looks[:1] = [replace(look, heading=page.inside.label) for look in looks[:1] if page.inside]
    pictures = [Section(curves=figure, caption=page.words(run)), *looks, *in_order(page.why(run))]
    trials = trial_sections(page.trials, results, values)
    return account_sections(page, run, pictures, claims, trials, bool(run.fits))


def _afresh(name: str, objects: Sequence[Any], settings: Hashable, make: Callable[[], T]) -> T:
    return make()


def in_order(rows: Rows) -> list[Section]:
    """The sections one after the other."""
    return [section for row in rows for section in (row if isinstance(row, tuple) else (row,))]


def map_sections(
    page: Any,  # a `Study` of maps
    run: Any,
    views: Sequence[Any],
    knobs: Sequence[LiveKnob],
    values: SimpleNamespace,
) -> list[Section]:
    """The downloaded page: picture, closer looks, scores, the paper's statements and code."""
    # All is shown at once, since no other view is in the file.
    sheet = page.sheet(run, views, [knob for knob in knobs if knob.key != EVERY])
    sheet = replace(sheet, panel_height=max(sheet.panel_height, _LEAST_HEIGHT))
    looks = []
    for each in page.closer if views else ():
        sheet = each.mark(sheet, values) if each.mark else sheet
        looks.append(replace(each.section(run, views, values), heading=each.fold.label))
    caption = f"{sheet.alt} {text_of(page.reading, run)}".strip()
    tables = [*page.packed(run, _afresh).values()] if views else []
    first = Section(sheet=sheet, caption=caption, tables=tables)
    if not sheet.panels:
        first = Section(text=sheet.note)
    looks = [look for look in looks if look.sheet is not None]
    pictures = [first, *looks, *(in_order(page.why(run)) if views else ())]
    return account_sections(page, run, pictures, page.judge(run), scored=bool(views))
