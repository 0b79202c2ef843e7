"""An experiment as one record; all that is said or given away follows from its numbers.

`Study.score` returns numbers by method. Claims, the scorecard, the answer and the picture in words
are rows of text over these numbers: a sentence that names a number which a method lacks, or which
is NaN, is not said.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from pathlib import Path
from pkgutil import resolve_name
from string import Formatter
from typing import Any, NamedTuple

import numpy as np

from gbuq_core.experiments.claims import Claim as Verdict
from gbuq_core.experiments.claims import Threshold, judged, smaller_text, times_text
from gbuq_core.experiments.experiment import (
    PAPER_HELD,
    Closer,
    Keep,
    Rows,
    SeenMethod,
    Text,
    Work,
)
from gbuq_core.experiments.opening import BITS, Opening
from gbuq_core.experiments.python_text import arguments_text, call_lines, import_lines
from gbuq_core.experiments.seeds import SeedStudy
from gbuq_core.experiments.trial import Trial
from gbuq_core.figures.canvas.panels import PanelSheet
from gbuq_core.figures.curves import Curves
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.figures.standalone import Section
from gbuq_core.glossary import UNCERTAINTY_KINDS
from gbuq_core.jobs import stage
from gbuq_core.knobs import Knob
from gbuq_core.presentation import NONE, csv_text, digits, megabytes, percent, short
from gbuq_core.settings import bare, data_of, plan_of, quicker, sliders
from gbuq_core.study.members import Fit

Numbers = Mapping[str, Any]  # of one method, by name: numbers, and words that sentences take
Files = Mapping[str, Callable[["Run"], Mapping[str, Any]]]  # columns, by what they hold
Cell = tuple[int, int]  # the row and the column of a place in the picture
Scores = Mapping[str, Numbers]  # by method; "" names those of all methods together
STORED = Path(__file__).parent / "stored"  # a folder an experiment


class Claim(NamedTuple):
    """What a paper says of methods: the number that decides, and where it holds."""

    key: str  # names it with any seed; of several methods with "{method}"
    text: str  # the paper's statement
    here: str  # what came out here
    number: str  # its name among the numbers
    holds: Threshold
    methods: Sequence[str] = ("",)  # of which it is said
    chip: str = ""  # the statement in a few words, if it is one of the main ones
    name: str | None = None  # of the number, in the verdict
    form: str = ""  # how the number is written, or a text of numbers, if not as the threshold does
    # When it holds, if the threshold does not say it; the verdict is then among the numbers, under
    # the name of this one with "_verdict", or that of the threshold
    rule: str = ""


class Row(NamedTuple):
    """A line of the scorecard: a number of each method."""

    label: str
    number: str
    form: str = "digits"


@dataclass(frozen=True, eq=False)
class Run:
    """What is known of some settings: the data, a view of each fit, and the numbers."""

    study: Study
    settings: Any
    data: Any
    views: tuple[Any, ...]  # a `View`, or a record of the study's own with its `fit` and `method`
    notes: Mapping[str, str] = field(default_factory=dict)  # of all methods in a picture of curves
    measured: Mapping[str, Any] = field(default_factory=dict)  # by method, once it is there
    moving: bool = False  # whether the picture follows a hand

    @property
    def fits(self) -> tuple[Any, ...]:
        """What the views are of."""
        return tuple(view.fit for view in self.views)

    @cached_property
    def numbers(self) -> Scores:
        """The numbers of every method, with its name and what its fit cost."""
        costs = {
            view.method: {
                "label": self.study.methods[view.method].label,
                "seconds": view.fit.seconds,
                "bytes": math.nan if view.fit.memory_bytes is None else view.fit.memory_bytes,
            }
            for view in self.views
        }
        numbers = self.study.score(self)
        return {key: {**costs.get(key, {}), **numbers[key]} for key in numbers}


class Turn(NamedTuple):
    """A knob that sliders in the picture set, as do clicks on the cells of maps in `why`."""

    knob: str
    write: Callable[[tuple[int, int, bool]], str]  # its text for where the sliders are
    # `clicked(run, panel, row, column)`: where a click puts them
    clicked: Callable[[Run, int, int, int], tuple[int, int, bool]]
    hint: str  # said at the maps


class Code(NamedTuple):
    """What the copied code of a study calls."""

    data: str  # "module:name" of what makes the rows
    arguments: Mapping[str, object]
    # `models`: label, "module:name" of the estimator, its arguments, and the expression of its
    # uncertainties by name
    models: Sequence[tuple[str, str, Mapping[str, object], str]]
    names: Sequence[str] = ()  # "module:name" of what else the lines and the expressions call
    lines: Sequence[str] = ()  # which make the places, if the rows do not have them


def auroc_text(value: float) -> str:
    """An AUROC with three decimals. It says 1.000 only if every pair is in order."""
    if math.isnan(value):
        return NONE
    return "> 0.999" if 0.9995 <= value < 1.0 else f"{value:.3f}"


WORSE_THAN_CHANCE, BETTER_THAN_CHANCE = 0.45, 0.55  # between them an AUROC says nothing


def against_chance(auroc: float) -> str:
    """What an AUROC is beside one half, in words."""
    if auroc < WORSE_THAN_CHANCE:
        return "worse than chance"
    return "better than chance" if auroc >= BETTER_THAN_CHANCE else "no better than chance"


FORMS: Mapping[str, Callable[[Any], str]] = {
    "": short,
    "digits": digits,
    "share": percent,
    "tenth": lambda share: percent(share, 1),
    "percent": lambda share: percent(share, 0),
    "percent1": lambda share: percent(share, 1),
    "auroc": auroc_text,
    "chance": against_chance,
    "smaller": smaller_text,
    "times": times_text,
    "MB": lambda size: megabytes(None if math.isnan(size) else size),
}


class _Words(Formatter):
    """Numbers as sentences write them: a name of `FORMS`, so many digits, or as Python does."""

    def format_field(self, value: Any, spec: str) -> str:
        if isinstance(value, str):
            return value
        if spec in FORMS:
            return FORMS[spec](value)
        if math.isnan(value):
            return NONE
        return short(value, int(spec)) if spec.isdigit() else format(value, spec)


def fill(text: str, numbers: Numbers) -> str:
    """A sentence with its numbers; empty if one of them is missing.

    >>> fill("{label} is off by {error:2}.", {"label": "SGLB", "error": 0.1234})
    'SGLB is off by 0.12.'
    >>> fill("{label} is off by {error:2}.", {"label": "vRF", "error": math.nan})
    ''
    """
    names = [name for _, name, _, _ in Formatter().parse(text) if name]
    known = all(_is_known(numbers.get(name, math.nan)) for name in names)
    return _Words().vformat(text, (), numbers) if known else ""


def _is_known(value: Any) -> bool:
    return isinstance(value, str) or not math.isnan(value)


def judge(claims: Sequence[Claim], scores: Scores) -> tuple[Verdict, ...]:
    """The verdicts on all claims whose numbers there are."""
    return tuple(
        _verdict(claim, claim.key.replace("{method}", method), numbers)
        for method, numbers in scores.items()
        for claim in claims
        if method in claim.methods and _is_known(numbers.get(claim.number, math.nan))
        if fill(claim.here, numbers) and fill(claim.text, numbers)
    )


def _verdict(claim: Claim, key: str, numbers: Numbers) -> Verdict:
    value = float(numbers[claim.number])
    text, here, chip = (fill(words, numbers) for words in (claim.text, claim.here, claim.chip))
    verdict = judged(text, here, value, claim.holds, key=key, chip=chip, name=claim.name)
    if claim.rule:
        said = numbers.get(f"{claim.number}_verdict", verdict.verdict)
        verdict = verdict._replace(verdict=said, threshold=claim.rule)
    if not claim.form:
        return verdict
    if claim.form in FORMS:
        name = claim.name or claim.holds.what
        return verdict._replace(value=f"{name} {FORMS[claim.form](value)}")
    return verdict._replace(value=fill(claim.form, numbers))


def score_sections(
    scores: Scores, scorecard: Mapping[str, Sequence[Row]], caption: str
) -> list[Section]:
    """The scorecard: a line a number and a column a method, or a line each of many methods."""
    numbers = [each for key, each in scores.items() if key]
    sections = []
    for heading, rows in scorecard.items():
        lines = [(scores[""].get("corner", ""), *(str(each["label"]) for each in numbers))]
        for row in rows:
            values = [each.get(row.number, math.nan) for each in numbers]
            if any(map(_is_known, values)):
                label = fill(row.label, scores[""])
                lines.append((label, *(_Words().format_field(v, row.form) for v in values)))
        if len(numbers) > len(rows):
            lines = [*zip(*lines, strict=True)]
        sections.append(Section(heading=heading, table=lines))
    return [replace(sections[0], caption=caption), *sections[1:]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Study:
    """An experiment: data, fits, numbers, picture and words. It knows no Streamlit."""

    name: str
    question: str
    lede: Text  # also of the settings
    settings: type
    methods: Mapping[str, Any]  # from each method's key to an object with its `label`
    data: Callable[[Any], Any]  # of settings: rows and truth
    fit: Callable[[Any], Any]  # of a plan, settings of one method: a `Fit`, or one of a `kind`
    view: Callable[[Any, Any], Any]  # of a fit and today's settings; trains nothing
    viewed: tuple[str, ...]  # names of the settings that a view depends on besides its fit
    dragged: tuple[str, ...] = ()  # those of them that the picture follows while they are dragged
    # `measure(fit, settings)` is what no picture waits for; `measured` names the settings that it
    # depends on. Claims wait for it; all numbers do with `scored_behind`
    measure: Callable[[Any, Any], Any] | None = None
    measured: tuple[str, ...] = ()
    scored_behind: bool = False
    # What is stored: fits of a `kind`, as `store(fit)` makes them, read as `restore(fit)` makes
    # those; `asks` are names of settings for whose view a fit needs its model, which a stored one
    # lacks
    kind: type = Fit
    store: Callable[[Any], Any] = lambda fit: fit
    restore: Callable[[Any], Any] = lambda fit: fit
    asks: tuple[str, ...] = ()
    beginning: Any = None  # the settings of a bare address, if these are not the defaults
    admit: Callable[[Any], Any] = lambda settings: settings  # what of settings is fitted
    planned: Callable[[Any, str], Any] = plan_of  # what of them a method's fit depends on
    bare: Callable[[Any], Any] = bare  # settings without what no claim depends on
    why_not: Callable[[Any], str] = lambda plan: ""  # why a plan cannot be fitted
    warn: Callable[[Any], str] = lambda view: ""  # what went wrong in a view
    picture: Callable[[Run, Sequence[LiveKnob]], PanelSheet | Curves]
    # How a page of maps begins, `begin(sheet, run, values)`, and name and help of the switch that
    # shows all
    begin: Callable[[PanelSheet, Run, Any], PanelSheet] = lambda sheet, run, values: replace(
        sheet, quiet=True
    )
    every: tuple[str, str] | None = None
    curves: bool = False  # whether it is one of curves over one x axis
    together: bool = False  # whether curves of all methods open the page, not those of the first
    # `quick` are the methods whose curves follow a hand, if not all; `border` is a knob that is
    # dragged as a line across the x axis, and what is said of it
    quick: tuple[str, ...] = ()
    border: tuple[str, str] | None = None
    turn: Turn | None = None
    score: Callable[[Run], Scores]
    claims: Sequence[Claim]
    scorecard: Mapping[str, Sequence[Row]]  # by heading
    caption: str = ""  # below the scorecard
    remark: Callable[[Run], str] = lambda run: ""  # Markdown below the verdicts
    answer: str  # one sentence on the first method that has its numbers
    # The picture in words: `said` once, `said_of` of each method
    said: str
    said_of: Sequence[str]
    # Columns of the CSV files: `columns` of places and truth, which the views follow, or `files` by
    # what they hold
    columns: Callable[[Run], Mapping[str, Any]] = lambda run: {}
    files: Callable[[Run], Files] | Files = field(default_factory=dict)
    copied: Callable[[Any], Code | str]  # of settings: what the code calls, or all of it
    reading: str | Callable[[Run], str] = ""  # how the picture is read
    about: Callable[[Run], str] = lambda run: ""  # of which settings the verdicts are
    unsaid: str = ""  # why there are none
    quicker: Callable[[Any, float], Any] = quicker  # settings of about a share of the sizes
    most: float = 2.0  # times the work of the first settings: above it, seeds take quicker ones
    # Tables that the browser draws the picture anew with: `packed(run, keep)`, by name
    packed: Callable[[Run, Keep], Mapping[str, bytes]] = lambda run, keep: {}
    closer: tuple[Closer, ...] = ()  # closer looks, with knobs of their own
    why: Callable[[Run], Rows] = lambda run: ()  # those without
    # Beside curves: a fold that asks the models, `look(settings, fits, values, keep, again)`, where
    # stored fits are fitted `again`; and buttons that run a trial
    inside: Knob | None = None
    look: Callable[..., Rows] = lambda *of: ()
    trials: tuple[Trial, ...] = ()
    further: tuple[Knob, ...] = ()  # knobs of the picture and of these looks
    placed: str = ""  # the setting whose points a reader places in the picture
    first: tuple[str, ...]  # knobs at the picture
    maps: tuple[str, ...] = ()  # titles of truths that may stand beside a map, or of all maps
    by_kind: bool = True  # whether each method has maps of total, data and knowledge uncertainty
    presets: Sequence[tuple[str, Mapping[str, Any], str]] = ()
    story: Sequence[tuple[str, Mapping[str, Any]]] = ()  # of present mode
    # `click(settings, cells)` returns what (row, column) cells in the picture set, by knob, and why
    # they set no more, `line(ends)` what the ends (x, y, x, y) of a drawn line set; `undo(run)` a
    # note, such as what was done so, and buttons: a label and what it sets
    click: Callable[[Any, Sequence[Cell]], tuple[Mapping[str, Any], str]] | None = None
    line: Callable[[Sequence[float]], Mapping[str, Any]] | None = None
    undo: Callable[[Run], tuple[str, Mapping[str, Mapping[str, Any]]]] = lambda run: ("", {})
    equations: str  # Markdown, with LaTeX between $$
    terms: tuple[str, ...] = ()  # of the glossary, below them
    departures: str  # a heading of docs/departures.md
    title: str  # of the downloaded page
    lead: Text  # below it, also of the run
    invitation: str = "Choose a method in All settings to see its maps beside the truth."
    held: tuple[str, str] = PAPER_HELD
    wait: float = 1.5  # seconds in which the first fits come without a flash of progress
    # Of numbers with a fraction in the stored fits: `bits` of each, or of the largest of `shares`
    bits: int = BITS
    shares: bool = False
    done: str = "Fitted"  # the word before the seconds that the fits took

    def plan(self, settings: Any, method: str) -> Any:
        """What the fit of a method depends on."""
        admitted = self.admit(settings)
        return self.planned(admitted, method if hasattr(settings, "methods") else "")

    def chosen(self, settings: Any) -> Sequence[str]:
        """The methods that the reader chose; all of a study whose settings name none."""
        return getattr(settings, "methods", tuple(self.methods))

    def depends(self, fit: Fit, settings: Any) -> Hashable:
        """What a view depends on besides its fit: knobs that its method uses, or what they give."""
        methods = getattr(fit.plan, "methods", ("",))
        used = plan_of(settings, str(methods[0]), self.viewed)
        knobs = {each.name for each in fields(settings)}
        return tuple(getattr(used if name in knobs else settings, name) for name in self.viewed)

    @cached_property
    def opening(self) -> Opening:
        """The fits that the page opens with, which are stored."""
        first = self.first_settings
        return Opening(
            name=self.name,
            folder=STORED,
            kind=self.kind,
            make=lambda plan: self.store(self.fit(plan)),
            plans=lambda: [self.plan(first, method) for method in self.chosen(first)],
            afresh=lambda plan: {"plan": plan},
            first=first if self.asks else None,
            depends=lambda settings: tuple(getattr(settings, name) for name in self.asks),
            bits=self.bits,
            fixed=self.shares,
            restore=self.restore,
        )

    @property
    def first_settings(self) -> Any:
        """The settings that the page opens with."""
        return self.settings() if self.beginning is None else self.beginning

    @cached_property
    def seeds(self) -> SeedStudy:
        """The claims over seeds; those of the first settings are stored."""
        return SeedStudy(
            name=self.name,
            folder=STORED,
            fit=self.run,
            claims=self.judge,
            quicker=self.quicker,
            bare=partial(plan_of, also=self.measured) if self.measured else self.bare,
            most=self.most,
            first=self.first_settings,
        )

    def gather(self, settings: Any, views: Sequence[Any]) -> Run:
        """The views with the data of the settings, which are there before any of them."""
        return Run(self, settings, self.data(settings), tuple(views))

    def run(self, settings: Any = None) -> Run:
        """Fit the methods one after the other, and view them."""
        settings = self.first_settings if settings is None else settings
        views, measured, methods = [], {}, self.chosen(settings)
        with stage(max(1, len(methods))):
            for method in methods:
                with stage(1, span=1):
                    views.append(self.view(self.fit(self.plan(settings, method)), settings))
                if self.measure is not None:
                    measured[method] = self.measure(views[-1].fit, settings)
        return replace(self.gather(settings, views), measured=measured)

    def judge(self, run: Run) -> tuple[Verdict, ...]:
        """The claims, of the settings without what is only drawn."""
        plain = self.bare(run.settings)
        run = run if plain == run.settings else replace(run, settings=plain)
        return judge(self.claims, run.numbers)

    def say_answer(self, run: Run) -> str:
        """One sentence on the first method."""
        return next(
            (text for each in run.numbers.values() if (text := fill(self.answer, each))), ""
        )

    def say_data(self, run: Run) -> str:
        """The data in words, of whatever is fitted."""
        return fill(self.said, self.score(replace(run, views=()))[""])

    def describe(self, run: Run) -> str:
        """The picture in words."""
        words = [fill(self.said, run.numbers[""])]
        told = [view.method for view in run.views if view.method in run.numbers]
        told = told or [key for key in run.numbers if key]  # of what one fit compares
        words += [fill(text, run.numbers[key]) for key in told for text in self.said_of]
        return " ".join(filter(None, words))

    def sheet(self, run: Run, views: Sequence[Any], knobs: Sequence[LiveKnob]) -> PanelSheet:
        """The picture of these views, which may be of earlier settings, and the run in words."""
        sheet = self.picture(replace(run, views=tuple(views)), knobs)
        assert isinstance(sheet, PanelSheet)
        return replace(sheet, name=self.name, alt=self.describe(run))

    def scores(self, run: Run) -> list[Section]:
        """The scorecard."""
        return score_sections(run.numbers, self.scorecard, fill(self.caption, run.numbers[""]))

    def tables(self, run: Run) -> Mapping[str, Callable[[Run], str]]:
        """The CSV files, by what they hold."""
        files = self.files(run) if callable(self.files) else self.files
        own = {name: partial(_own_csv, columns) for name, columns in files.items()}
        rows = {"Rows": self.rows_csv} if self.curves else {}
        scores = {"Scores": self.scores_csv} if self.scored_behind else {}
        return own or {"Data": self.places_csv, **scores, **rows}

    def places_csv(self, run: Run) -> str:
        """One line a place: truth, then every method's mean, variances and scores."""
        columns = dict(self.columns(run))
        for view in run.views:
            parts = {name: getattr(view.last, name) for name in UNCERTAINTY_KINDS}
            if (mean := view.last.mean).ndim == 1:
                parts = {"mean": mean, **parts}
            else:
                parts |= {f"class_{place + 1}": share for place, share in enumerate(mean.T)}
            columns |= {
                f"{view.method}_{name}": at for name, at in (parts | {**view.last.scores}).items()
            }
        return columns_csv(columns)

    def scores_csv(self, run: Run) -> str:
        """One line a method: all its numbers."""
        rows = {view.method: run.numbers[view.method] for view in run.views}
        names = list(dict.fromkeys(name for numbers in rows.values() for name in numbers))
        lines = ([key, *(each.get(name) for name in names)] for key, each in rows.items())
        return csv_text(["method", *names], lines)

    def rows_csv(self, run: Run) -> str:
        """The training rows."""
        return csv_text(["x", "y"], zip(run.data.X[:, 0], run.data.y, strict=True))

    def code(self, run: Run) -> str:
        """`python` of a run."""
        return self.python(run.settings)

    def python(self, settings: Any) -> str:
        """Code that fits the methods and predicts with the library's public names."""
        code = self.copied(settings)
        if isinstance(code, str):
            return code
        lines = ["import numpy as np", ""] if code.lines else []
        lines += import_lines([code.data, *code.names, *(name for _, name, _, _ in code.models)])
        made = f"data = {code.data.partition(':')[2]}({arguments_text(code.arguments)})"
        lines += ["", made, *code.lines, "uncertainty = {}"]
        for label, name, arguments, parts in code.models:
            model, *given, end = call_lines(f"model = {name.partition(':')[2]}", arguments)
            lines += ["", model, *given, f"{end}.fit(data.X, data.y)"]
            lines += [f'uncertainty["{label}"] = {parts}']
        return "\n".join(lines) + "\n" + _PRINTED

    def silence(self, run: Run) -> str:
        """Why there are no verdicts."""
        waits = self.behind_statements and not run.measured
        return "The statements are being checked." if waits else fill(self.unsaid, run.numbers[""])

    def numbers(self, run: Run) -> str:
        """What is a click away from the answer."""
        return ""

    # What no picture waits for

    @property
    def behind_statements(self) -> bool:
        """Whether the claims alone wait for it."""
        return self.measure is not None and not self.scored_behind

    @property
    def slots(self) -> Sequence[str]:
        """Where it is asked for."""
        return [f"measured-{method}" for method in self.methods] if self.measure else []

    def behind(self, run: Run, keep: Keep) -> Sequence[Work]:
        """The measurement of each fit; a stored fit may have it for the first settings."""
        return (
            [] if self.measure is None else [self._work(view, run.settings) for view in run.views]
        )

    def _work(self, view: Any, settings: Any) -> Work:
        assert self.measure is not None
        first = self.first_settings
        now, then = ([getattr(each, name) for name in self.measured] for each in (settings, first))
        label = f"Scores of {self.methods[view.method].label}"
        return Work(
            f"measured-{view.method}",
            (self.name, "measured", view.fit.plan, *now),
            partial(self.measure, view.fit, settings),
            label if self.scored_behind else "The paper's statements",
            getattr(view.fit, "measured", None) if now == then else None,
        )

    def join(self, run: Run, results: Mapping[str, Any], values: Any, keep: Keep) -> Run:
        """The run with what was measured; of the methods that were, where scores wait for it."""
        slots = {view.method: f"measured-{view.method}" for view in run.views}
        there = {method: results[slot] for method, slot in slots.items() if slot in results}
        if self.scored_behind:
            settings = replace(run.settings, methods=tuple(there))
            views = tuple(view for view in run.views if view.method in there)
            return replace(run, settings=settings, views=views, measured=there)
        return replace(run, measured=there) if len(there) == len(slots) else run

    # Curves: what a page asks

    @property
    def place(self) -> str:
        """Of the picture."""
        return self.name

    @property
    def followed(self) -> Sequence[str]:
        """The knobs that the picture follows while they are dragged."""
        return (*sliders(self.settings), *self.dragged)

    def rows(self, settings: Any) -> Hashable:
        """What the picture's rows depend on."""
        return data_of(plan_of(settings))

    def whole(self, settings: Any, values: Any) -> bool:
        """Whether stored fits are not enough."""
        return self.inside is not None and bool(getattr(values, self.inside.key))

    def say_at_hand(self, settings: Any, views: Sequence[Any]) -> str:
        """The answer while something is dragged."""
        return self.say_answer(self.gather(settings, views))

    def at_hand(self, settings: Any) -> Any:
        """The settings of the methods that follow a hand."""
        few = tuple(method for method in self.chosen(settings) if method in self.quick)
        return replace(settings, methods=few) if self.quick else settings

    def figure(
        self,
        settings: Any,
        seen: Sequence[SeenMethod],
        values: Any,
        knobs: Sequence[LiveKnob],
        keep: Keep | None,
    ) -> Curves:
        """The picture of curves, with what is not there yet."""
        run = self.gather(settings, [each.view for each in seen if each.view is not None])
        notes = {each.method: each.note for each in seen}
        figure = self.picture(replace(run, notes=notes, moving=keep is None), knobs)
        assert isinstance(figure, Curves)
        return figure

    def join_views(
        self, settings: Any, fits: Sequence[Any], views: Sequence[Any], keep: Keep
    ) -> Run:
        """What belongs to these settings."""
        if hasattr(settings, "methods"):
            settings = replace(settings, methods=tuple(view.method for view in views))
        return self.gather(settings, views)

    words = describe


_PRINTED = """
for name, parts in uncertainty.items():
    print(name, *(f"{part} {values.mean():.3g}" for part, values in parts.items()), sep=", ")
"""


def _own_csv(columns: Callable[[Run], Mapping[str, Any]], run: Run) -> str:
    return columns_csv(columns(run))


def columns_csv(columns: Mapping[str, Any]) -> str:
    """A CSV file of these columns."""
    return csv_text([*columns], zip(*map(np.ravel, columns.values()), strict=True))


def study_of(name: str) -> Study:
    """The study of a page's name.

    >>> study_of("heart").title
    'The heart'
    """
    study: Study = resolve_name(f"gbuq_core.study.{name}:{name.upper()}")
    return study
