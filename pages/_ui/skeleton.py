"""The skeleton of an experiment's page: a question, one picture, one control, one verdict.

All else is folded until it is asked for: `FOLDS`, in this order on every page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gbuq_core.experiments.claims import Claim, chips_of
from gbuq_core.experiments.experiment import Account, account_html, listed, text_of
from gbuq_core.experiments.trial import Trial
from gbuq_core.figures.canvas.live import MAP
from gbuq_core.figures.standalone import Section
from gbuq_core.glossary import GLOSSARY
from gbuq_core.knobs import Knob
from gbuq_core.settings import from_values
from pages._ui.claims import MARKS, draw_claims, here_of
from pages._ui.export import Download, show_exports
from pages._ui.kept import kept
from pages._ui.sections import draw_section
from pages._ui.url_state import ControlPlaces, PageState, open_page

COMPARE, WHY, PAPER = "Compare methods", "Why", "Does the paper hold?"
SETTINGS, EXPORT = "All settings", "Export"
FOLLOWS = "The answer follows when you let go."
_SAID = "_said"  # the session key of each page's last answer
_CONTROL_WIDTH = 420  # pixels
_CHOSEN = ("methods", "samplers", "compare")  # knobs that say which methods the picture has
FOLDS = (COMPARE, WHY, PAPER, SETTINGS, EXPORT)
_NONE: Mapping[Any, Any] = MappingProxyType({})
Folded = Mapping[str, Sequence[Knob]]
_FILE = Path(__file__).resolve().parents[2] / "docs" / "departures.md"
_DEPARTURES = (
    "**Where gbuq departs from the paper**, why, what that changes, and the setting that restores "
    "the paper (from `docs/departures.md`):"
)


def _key(title: str) -> str:
    """
    >>> _key(SETTINGS)
    'fold-all-settings'
    """
    return "fold-" + title.lower().rstrip("?").replace(" ", "-")


def _slug_of(label: str) -> str:
    """
    >>> _slug_of("Functions of VST"), _slug_of("Data")
    ('-functions-of-vst', '')
    """
    return "" if label == "Data" else "-" + label.lower().replace(" ", "-")


@cache
def read_departures() -> dict[str, str]:
    """The table of each heading of docs/departures.md, as Markdown.

    >>> "MACAU" in read_departures()
    True
    """
    parts = _FILE.read_text(encoding="utf-8").split("\n## ")[1:]
    tables = (part.partition("\n") for part in parts)
    return {heading.partition(" (")[0]: text.strip() for heading, _, text in tables}


class Skeleton:
    """The places of a page, from the top; each is filled with ``with``."""

    def __init__(self, question: str, lede: str = "", aside: bool = False) -> None:
        st.title(question)
        self._lede = st.container(key="lede")
        self.ask(lede)
        self.notices = st.container()
        # With `aside` the picture leaves a part of the page beside it.
        place, self.aside = (
            st.columns([0.79, 0.21], gap="small") if aside else (st.container(), None)
        )
        with place:
            self.picture = st.container(key="first-picture")
            with st.container(
                horizontal=True, vertical_alignment="center", gap="large", key="first-answer"
            ):
                self.control = st.container(width=_CONTROL_WIDTH)
                self._answer = st.container(width="stretch", key="first-verdict")
                self._verdict = self._answer
            self.progress = st.container()  # below all that a hand may hold, which stays in place
        self._places = {title: st.container() for title in FOLDS}
        settings = self._places[SETTINGS].expander(SETTINGS, key=_key(SETTINGS))
        self._folds = {SETTINGS: settings}
        self._key = ""  # of the page

    def open(self, page: PageState, keys: Sequence[str], folded: Folded = _NONE) -> SimpleNamespace:
        """`open_page`, with the knobs of these keys at the picture and all others folded.

        ``folded`` are the folds that stand in another one, by its title.
        """
        self._key = page.key
        with self.notices:
            values = open_page(page, places=ControlPlaces(self.control, keys, self.fold(SETTINGS)))
        for title, place in self._places.items():
            if title in folded:
                key = f"{_key(title)}-{page.key}"
                opened = {fold.key for fold in folded[title] if getattr(values, fold.key)}
                if opened - st.session_state.get(f"_{key}", set()):
                    st.session_state[key] = True  # one that opens, opens it, too
                st.session_state[f"_{key}"] = opened
                self._folds[title] = place.expander(title, key=key, on_change="rerun")
            elif title != SETTINGS:
                self._folds[title] = place.expander(title, key=_key(title))
        for knob in (knob for knob in page.knobs if knob.key in _CHOSEN):
            self._offer_more(page, knob, getattr(values, knob.key))
        return values

    def _offer_more(self, page: PageState, knob: Knob, chosen: Sequence[str]) -> None:
        """A list of the methods that do not stand in the picture yet: one joins it at once."""
        others = [name for name in knob.choices if name not in chosen]
        if not others or len(chosen) >= (knob.most or len(knob.choices)):
            return

        def add() -> None:
            name = st.session_state[key]
            st.session_state[knob.key] = [*chosen, name]
            maps = next((other.choices for other in page.knobs if other.key == MAP), ())
            if shown := [each for each in maps if each == f"{name}: knowledge"]:
                st.session_state[MAP] = shown[0]

        key = f"_add-{len(chosen)}"  # another list, which begins empty
        with self.fold(COMPARE).container(width=_CONTROL_WIDTH):
            st.selectbox("Add a method", others, index=None, key=key, on_change=add)

    def ask(self, lede: str) -> None:
        """One sentence under the title, given late where it depends on the knobs."""
        if lede:
            self._lede.markdown(lede)

    def fold(self, title: str) -> DeltaGenerator:
        """The fold of a title."""
        return self._folds[title]

    def place_verdict(self, moving: bool) -> None:
        """Have the answer in a fragment: the page says it, and this while something is dragged."""
        with self._answer:
            self._verdict = self._answer if moving else st.empty()
        if not moving:  # the last one stays until the page knows another
            self.say_verdict(st.session_state.get(_SAID, {}).get(self._key, ""), ())

    def say_verdict(
        self,
        words: str,
        claims: Sequence[Claim],
        numbers: str = "",
        seeds: Mapping[str, str] = _NONE,
    ) -> None:
        """The answer in one sentence; numbers and thresholds are a click away.

        ``seeds`` says of statements, by key, what their seeds say.
        """
        if not words:
            return
        st.session_state.setdefault(_SAID, {})[self._key] = words
        with self._verdict, st.popover(words, type="tertiary"):
            if numbers:
                st.text(numbers)
            for claim in chips_of(claims):
                told = seeds.get(claim.key, "")
                own = f"{MARKS[claim.verdict]} **{claim.answer}**"
                st.markdown(f"**{claim.chip}: {told}**" if told else own)
                st.caption(here_of(claim, bool(told)))

    def tell(
        self,
        record: Account,
        run: Any,
        claims: Sequence[Claim],
        sections: Callable[[], Sequence[Section]],
        words: str,
        *,
        given: Any = None,
        answered: Any = None,
        scored: bool = True,
        complete: bool = True,
        costs: Sequence[str] = (),
        paper: Callable[[], None] | None = None,
    ) -> None:
        """The answer and the folds, below what the page has drawn in them.

        ``sections()`` makes the page to take away, and ``words`` are the picture in words.
        ``given`` is the run that is taken away, and ``answered`` the one that the answer is of,
        where these are others than the one that is scored;
        with ``complete`` the statements are checked over seeds, and ``paper()`` draws them where
        the page checks them by itself.
        """
        given = run if given is None else given
        seeds: Mapping[str, str] = {}
        with self.fold(PAPER):
            if paper is not None:
                paper()
            else:
                if claims and (about := record.about(run)):
                    st.caption(about)
                study = record.seeds if complete else None
                seeds = draw_claims(claims, study, given.settings)
                if not claims and (why := record.silence(run)):
                    st.text(why)
            if remark := kept(f"{record.name}-remark", [run], None, lambda: record.remark(run)):
                st.markdown(remark)
        told = run if answered is None else answered
        self.say_verdict(record.say_answer(told), claims, record.numbers(told), seeds)
        with self.fold(COMPARE):
            if scored:
                for number, section in enumerate(listed(record.scores(run))):
                    draw_section(section, f"{record.name}-scores-{number}")
            else:
                st.text("Scores appear with the first fit.")
            st.caption(" ".join([text_of(record.reading, run), *costs]).strip())
        self.explain(record)
        with self.fold(EXPORT):
            downloads = [
                Download(
                    f"{label} (CSV)",
                    f"{record.name}{_slug_of(label)}.csv",
                    "text/csv",
                    partial(make, given),
                )
                for label, make in record.tables(given).items()
            ]
            downloads.append(
                Download(
                    "Page (HTML)",
                    f"{record.name}.html",
                    "text/html",
                    lambda: account_html(record, given, sections()),
                )
            )
            show_exports(record.name, record.code(given), downloads)
            st.caption("In words")
            st.text(words, width="stretch")

    def explain(self, record: Account) -> None:
        """Equations, what words mean, and where gbuq departs from the paper."""
        with self.fold(WHY):
            st.markdown(record.equations)
            for term in (GLOSSARY[name] for name in record.terms):
                unit = f" Unit: {term.unit}." if term.unit else ""
                st.markdown(f"- **{term.label}.** {term.definition}{unit}")
            st.markdown(_DEPARTURES)
            with st.container(key="table-departures"):
                st.markdown(read_departures()[record.departures])


def open_account(
    record: Account, state: PageState, keys: Sequence[str], folded: Folded = _NONE
) -> tuple[Skeleton, SimpleNamespace, Any]:
    """The page's places, the values of its knobs and its settings, as `Skeleton.open`."""
    page = Skeleton(record.question)
    values = page.open(state, keys, folded)
    settings = from_values(record.settings, vars(values))
    page.ask(text_of(record.lede, settings))
    return page, values, settings


def folds_of(looks: Sequence[Knob | None], trials: Sequence[Trial] = ()) -> Folded:
    """The folds within folds that a page has."""
    own = [look for look in looks if look is not None]
    folded = {WHY: own, PAPER: [trial.fold for trial in trials]}
    return {title: folds for title, folds in folded.items() if folds}
