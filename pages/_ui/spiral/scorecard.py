"""Spiral's scores, the papers' statements beside them, and what burn-in changes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import streamlit as st

from gbuq_core.errors import GbuqError
from gbuq_core.experiments.claims import Claim
from gbuq_core.experiments.spiral.charts import burn_in_sheet
from gbuq_core.experiments.spiral.claims import STUDY, check_claims, settings_text
from gbuq_core.experiments.spiral.fit import SpiralMaps, SpiralRun
from gbuq_core.experiments.spiral.plan import METHODS
from gbuq_core.experiments.spiral.quality import BurnInEffect, burn_in_effect, walk_off
from gbuq_core.experiments.spiral.regions import MIN_BETWEEN
from gbuq_core.experiments.spiral.scores import SpiralScore, score_spiral
from gbuq_core.presentation import digits, markdown_table, megabytes, percent, short
from pages._ui.canvas import canvas
from pages._ui.claims import draw_claims
from pages._ui.kept import keep_only, kept
from pages._ui.spiral.controls import CYCLES_OPEN
from pages._ui.spiral.folds import fold

_BURNT = "spiral-burn-in:"  # what is kept of each cyclical method
_SCORES = "spiral-score:"  # and of each method
_LEVELS = ("sglb", "virtual_sglb")  # drawn beside burn-in for comparison


def claims_of(run: SpiralRun) -> tuple[Claim, ...]:
    """The papers' statements, checked once."""
    return kept("spiral-claims", run.methods, run.settings, lambda: check_claims(run))


def draw_scores(run: SpiralRun, settled: bool = True) -> None:
    """The scorecard beside the papers' statements, which run over seeds once all fits are done."""
    scores, claims = st.columns([0.55, 0.45], gap="large")
    with scores:
        st.header("Scorecard")
        if not run.methods:
            st.text("Scores appear with the first fit.")
        else:
            _draw_table(run)
    with claims:
        st.header("The papers and this picture")
        st.caption(settings_text(run.settings))
        draw_claims(claims_of(run), STUDY if settled else None, run.settings, columns=1)
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


def _draw_table(run: SpiralRun) -> None:
    scores = scores_of(run)
    with st.container(key="table-scores"):
        st.markdown(markdown_table(score_rows(run, scores)))
    first = scores[0]
    st.caption(
        "Uncertainties are in nats. An AUROC of 0.5 is chance. Far compares the 40 % of the cells "
        "with the lowest true density to all others. Between compares cells in the gaps between "
        "the arms to cells with rows; a dash means that the gaps have fewer than "
        f"{MIN_BETWEEN} cells, because the arms are wide. Fresh rows are 1,500 rows that no method "
        f"has seen. On them the best possible prediction gets {100 * first.error_optimal:.1f} % "
        f"wrong, with an NLL of {first.nll_optimal:.3f}. Effective members: how many independent "
        "members would be worth as much. Seconds are the training time; megabytes are the size of "
        "the trained models."
    )


def score_rows(run: SpiralRun, scores: Sequence[SpiralScore]) -> list[tuple[str, ...]]:
    """A line a score and a column a method, so that it fits a phone; first the headings."""

    def line(title: str, values: Sequence[float]) -> tuple[str, ...]:
        return title, *(digits(float(value)) for value in values)

    return [
        ("Score", *(METHODS[maps.method].label for maps in run.methods)),
        ("AUROC of knowledge, far", *(_auroc(s.auroc_far) for s in scores)),
        ("AUROC of total, far", *(_auroc(s.auroc_far_total) for s in scores)),
        ("AUROC of knowledge, between", *(_auroc(s.auroc_between) for s in scores)),
        line("Knowledge, among the data", [s.ku_mean_inside for s in scores]),
        line("Knowledge, outside", [s.ku_mean_outside for s in scores]),
        line("At class borders, times as high", [s.border_ratio for s in scores]),
        line("Error of data, mean", [s.data_error for s in scores]),
        line("NLL, fresh rows", [s.nll for s in scores]),
        ("Wrong, fresh rows", *(percent(s.error, 1) for s in scores)),
        ("Members", *(str(s.n_members) for s in scores)),
        line("Effective members", [s.size.effective for s in scores]),
        ("Trees in all", *(f"{s.n_trees:,}" for s in scores)),
        line("Seconds", [s.seconds for s in scores]),
        ("Megabytes", *(megabytes(s.memory_bytes) for s in scores)),
    ]


def _auroc(value: float) -> str:
    return "\u2013" if math.isnan(value) else f"{value:.3f}"


def draw_burn_in(run: SpiralRun) -> None:
    """How much of the cyclical methods' knowledge comes from their first cycles."""
    cyclical = [maps for maps in run.methods if METHODS[maps.method].cyclical]
    keep_only(_BURNT, {_BURNT + maps.method for maps in cyclical})
    section = fold(CYCLES_OPEN) if cyclical else None
    if section is None:
        return
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
        "The slider Burn-in above the maps drops the first cycles from every picture on this page. "
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
