"""The skeleton of an experiment's page: a question, one picture, one control, one verdict.

All else is folded until it is asked for: `FOLDS`, in this order on every page.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import SimpleNamespace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gbuq_core.experiments.claims import Claim, chips_of
from gbuq_core.knobs import Knob
from pages._ui.claims import MARKS
from pages._ui.url_state import ControlPlaces, PageState, open_page

COMPARE, WHY, PAPER = "Compare methods", "Why", "Does the paper hold?"
SETTINGS, EXPORT = "All settings", "Export"
_CONTROL_WIDTH = 420  # pixels
FOLDS = (COMPARE, WHY, PAPER, SETTINGS, EXPORT)


def _key(title: str) -> str:
    """
    >>> _key(SETTINGS)
    'fold-all-settings'
    """
    return "fold-" + title.lower().rstrip("?").replace(" ", "-")


class Skeleton:
    """The places of a page, from the top; each is filled with ``with``."""

    def __init__(self, question: str, lede: str = "", halved: bool = False) -> None:
        st.title(question)
        # With `halved` the picture leaves a half of the page beside it.
        self.half, place = st.columns([0.4, 0.6], gap="large") if halved else (None, st.container())
        with place:
            self._lede = st.container(key="lede")
            self.ask(lede)
            self.notices = st.container()
            self.picture = st.container(key="first-picture")
            with st.container(horizontal=True, vertical_alignment="center", gap="large"):
                self.control = st.container(width=_CONTROL_WIDTH)
                self._verdict = st.container(width="stretch", key="first-verdict")
        self._folds = {title: st.expander(title, key=_key(title)) for title in FOLDS}

    def open(self, page: PageState, keys: Sequence[str]) -> SimpleNamespace:
        """`open_page`, with the knobs of these keys at the picture and all others folded."""
        with self.notices:
            return open_page(page, places=ControlPlaces(self.control, keys, self.fold(SETTINGS)))

    def ask(self, lede: str) -> None:
        """One sentence under the title, given late where it depends on the knobs."""
        if lede:
            self._lede.markdown(lede)

    def fold(self, title: str) -> DeltaGenerator:
        """The fold of a title."""
        return self._folds[title]

    def say_verdict(self, words: str, claims: Sequence[Claim], numbers: str = "") -> None:
        """The answer in one sentence; numbers and thresholds are a click away."""
        if not words:
            return
        with self._verdict, st.popover(words, type="tertiary"):
            if numbers:
                st.text(numbers)
            for claim in chips_of(claims):
                here = claim.here[:1].upper() + claim.here[1:]
                st.markdown(f"{MARKS[claim.verdict]} **{claim.answer}**")
                st.caption(f"{here} {claim.threshold}".strip())


def draw_fold(knob: Knob, held: Iterable[Knob] = ()) -> DeltaGenerator | None:
    """The place of a fold of its own that is open, or None; the address says which are.

    Only what is open is worked out. Closed, the knobs that it holds keep their values.
    """
    section = st.expander(
        knob.label,
        expanded=bool(knob.default),
        key=knob.key,
        on_change="rerun",
        bind="query-params",
    )
    if section.open:
        return section
    for one in held:
        st.session_state[one.key] = st.session_state.get(one.key, one.default)
    return None
