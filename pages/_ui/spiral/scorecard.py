"""Spiral's scores, the papers' statements beside them, and what burn-in changes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from gbuq_core.errors import GbuqError
from gbuq_core.experiments.claims import Claim
from gbuq_core.experiments.spiral.charts import burn_in_sheet
from gbuq_core.experiments.spiral.claims import STUDY, check_claims, settings_text
from gbuq_core.experiments.spiral.export import score_section
from gbuq_core.experiments.spiral.fit import SpiralMaps, SpiralRun
from gbuq_core.experiments.spiral.plan import METHODS
from gbuq_core.experiments.spiral.quality import BurnInEffect, burn_in_effect, walk_off
from gbuq_core.experiments.spiral.scores import SpiralScore, score_spiral
from gbuq_core.presentation import short
from pages._ui.canvas import canvas
from pages._ui.claims import draw_claims
from pages._ui.controls import draw_fold
from pages._ui.kept import keep_only, kept
from pages._ui.sections import draw_section
from pages._ui.spiral.controls import CYCLES_OPEN

_BURNT = "spiral-burn-in:"  # what is kept of each cyclical method
_SCORES = "spiral-score:"  # and of each method
_LEVELS = ("sglb", "virtual_sglb")  # drawn beside burn-in for comparison


def claims_of(run: SpiralRun) -> tuple[Claim, ...]:
    """The papers' statements, checked once."""
    return kept("spiral-claims", run.methods, run.settings, lambda: check_claims(run))


def draw_scores(run: SpiralRun) -> None:
    """The scorecard."""
    if not run.methods:
        st.text("Scores appear with the first fit.")
    else:
        draw_section(score_section(run, scores_of(run)), "scores")


def check_paper(run: SpiralRun, settled: bool) -> None:
    """The papers' statements, over seeds once all fits are done, and the walks out of the data."""
    st.caption(settings_text(run.settings))
    draw_claims(claims_of(run), STUDY if settled else None, run.settings)
    for maps in run.methods[:1]:
        st.markdown("**Outside the data**")
        st.text(_outside(run, maps))


def scores_of(run: SpiralRun) -> list[SpiralScore]:
    """The methods' scores, each worked out once for its maps."""
    keep_only(_SCORES, {_SCORES + maps.method for maps in run.methods})
    return [
        kept(_SCORES + maps.method, [maps], None, lambda maps=maps: score_spiral(maps, run.truth))
        for maps in run.methods
    ]


def draw_burn_in(run: SpiralRun) -> None:
    """How much of the cyclical methods' knowledge comes from their first cycles."""
    cyclical = [maps for maps in run.methods if METHODS[maps.method].cyclical]
    keep_only(_BURNT, {_BURNT + maps.method for maps in cyclical})
    section = draw_fold(CYCLES_OPEN) if cyclical else None
    if section is not None:
        with section:
            _draw_burn_in(run, cyclical)


def _draw_burn_in(run: SpiralRun, cyclical: Sequence[SpiralMaps]) -> None:
    effects = [
        kept(_BURNT + maps.method, [maps.fit], None, lambda maps=maps: burn_in_effect(maps.fit))
        for maps in cyclical
    ]
    curves = [effect for effect in effects if len(effect.cycles) > 1]
    if not curves:
        st.text("This needs two cycles.")
        return
    levels = [
        (maps.method, float(maps.knowledge[-1].mean()), score.auroc_far)
        for maps, score in zip(run.methods, scores_of(run), strict=True)
        if maps.method in _LEVELS and np.isfinite(maps.knowledge[-1]).all()
    ]
    words = " ".join(_words_of_burn_in(curve) for curve in curves)
    st.text(words)
    canvas(burn_in_sheet(curves, levels, words), key="spiral-burn-in")
    st.caption(
        "The slider Burn-in (under View) drops the first cycles from every picture on this page. "
        "Nothing is retrained. The paper keeps all cycles."
    )


def _words_of_burn_in(curve: BurnInEffect) -> str:
    """
    >>> some, none = np.arange(2), np.zeros(2)
    >>> curve = BurnInEffect("csglb", some, some, np.array([0.02, 0.005]), none, none)
    >>> _words_of_burn_in(curve)
    'cSGLB: without its first cycle, mean knowledge uncertainty is 0.005 nats instead of 0.02.'
    """
    first, second = float(curve.knowledge[0]), float(curve.knowledge[1])
    label = METHODS[curve.method].label
    if not first > 0:
        return f"{label}: its members agree everywhere."
    text = (
        f"{label}: without its first cycle, mean knowledge uncertainty is {short(second, 2)} nats "
        f"instead of {short(first, 2)}."
    )
    if len(curve.knowledge) > 4:
        half = len(curve.knowledge) // 2
        left = short(curve.knowledge[half], 2)
        text += f" Without its first {half} cycles it is {left} nats."
    return text


def _outside(run: SpiralRun, maps: SpiralMaps) -> str:
    """A sentence on what the method does beyond the rows."""
    try:
        return kept(
            "spiral-outside", [maps], None, lambda: walk_off(maps.fit, run.settings).sentence
        )
    except GbuqError as error:
        return str(error)
