"""The picture of Two clocks, and its scores over seeds."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import streamlit as st

from gbuq_core.calibration.clocks import TAILS
from gbuq_core.experiments.claims import Claim
from gbuq_core.experiments.two_clocks.experiment import (
    describe_data,
    describe_two_clocks,
    reliability_section,
    seeds_section,
    trees_section,
    why_no_clocks,
)
from gbuq_core.experiments.two_clocks.fit import OPENING, TwoClocksFit, fit_two_clocks
from gbuq_core.experiments.two_clocks.picture import band_figure, clocks_sheet
from gbuq_core.experiments.two_clocks.plan import (
    TwoClocksSettings,
    estimate_two_clocks_seconds,
    seeds_of,
)
from gbuq_core.experiments.two_clocks.scores import SEEDS as STORED_SEEDS
from gbuq_core.experiments.two_clocks.scores import (
    SeedScores,
    TwoClocksLook,
    Unscaled,
    check_seed,
    check_seeds,
    look_two_clocks,
    score_seeds,
    unscaled_of,
    verdicts_of,
)
from gbuq_core.presentation import format_bytes, seconds_text
from gbuq_core.settings import plan_of
from pages._ui.canvas import CanvasEvent, canvas
from pages._ui.claims import draw_claims
from pages._ui.curves import Turned, show_curves
from pages._ui.experiment import QUICK
from pages._ui.jobs_glue import Answer, Request, ask, in_thread, show_progress
from pages._ui.kept import kept, last_kept
from pages._ui.notices import show_notice
from pages._ui.sections import draw_section
from pages._ui.two_clocks.controls import turn

FIT, SEEDS, OTHER_TAILS = "two-clocks", "two-clocks-seeds", "two-clocks-other-tails"
_KEPT = "two-clocks-look-{}"  # with each kind of tails


def fit_request(settings: TwoClocksSettings) -> Request:
    """The fits behind the picture."""
    plan = plan_of(settings)
    seconds = estimate_two_clocks_seconds(plan)
    stored = partial(OPENING.find, plan)
    return Request(
        FIT, (FIT, plan), in_thread(fit_two_clocks, plan), "Two clocks", seconds, stored=stored
    )


def seeds_request(settings: TwoClocksSettings) -> Request:
    """The same fits with ten seeds, or five of models that take long."""
    plan = plan_of(settings)
    n_seeds = seeds_of(plan)
    seconds = n_seeds * estimate_two_clocks_seconds(plan)
    compute, stored = in_thread(score_seeds, plan), partial(STORED_SEEDS.find, plan)
    return Request(SEEDS, (SEEDS, plan), compute, f"{n_seeds} seeds", seconds, stored=stored)


def look_at(settings: TwoClocksSettings, answer: Answer) -> TwoClocksLook | None:
    """What there is to see, of earlier settings while the fits of these are made."""
    if answer.error:
        show_notice(answer.error, "two-clocks", tone="error")
        return None
    fit = answer.result
    if fit is None:
        return None
    return _keep(fit, settings.tails, lambda: look_two_clocks(fit, settings.tails, _unscaled(fit)))


def other_tails_request(settings: TwoClocksSettings, fit: TwoClocksFit) -> list[Request]:
    """The look with the other tails, made behind the picture; none if there is one already."""
    tails = next(other for other in TAILS if other != settings.tails)
    held: TwoClocksLook | None = last_kept(_KEPT.format(tails))
    if held is not None and held.fit is fit:
        return []
    compute = in_thread(look_two_clocks, fit, tails, _unscaled(fit))
    return [Request(OTHER_TAILS, (OTHER_TAILS, fit.plan, tails), compute, "Other tails", 0.2)]


def ask_for_seeds(settings: TwoClocksSettings, fitted: Answer) -> Answer | None:
    """What there is of the seeds, and the look with the other tails; both wait for the picture."""
    if not fitted.fresh:
        return None
    fit: TwoClocksFit = fitted.result
    behind = [seeds_request(settings), *other_tails_request(settings, fit)]
    seeds, *others = ask(behind, QUICK, others=(FIT,))
    for answer in others:
        look: TwoClocksLook | None = answer.result
        if answer.fresh and look is not None and look.fit is fit:
            _keep(fit, look.tails, lambda look=look: look)
    return seeds


def _keep(fit: TwoClocksFit, tails: str, make: Callable[[], TwoClocksLook]) -> TwoClocksLook:
    return kept(_KEPT.format(tails), [fit], None, make)


def _unscaled(fit: TwoClocksFit) -> Unscaled:
    return kept("two-clocks-unscaled", [fit], None, lambda: unscaled_of(fit))


def draw_picture(settings: TwoClocksSettings, look: TwoClocksLook, fresh: bool) -> None:
    """The band with its sliders."""
    if not fresh:
        st.caption("Still the previous settings.")
    band = band_figure(look, settings.shown, describe_two_clocks(look))
    with st.container(key="two-clocks-band"):
        show_curves(band.quiet, key="two-clocks-band-figure", on_turn=turn)
    if not look.fit.plan.has_clocks:
        st.caption(why_no_clocks(look.fit.plan.model))


def describe_fit(settings: TwoClocksSettings, look: TwoClocksLook) -> str:
    """The rows that train, choose and score, and what the fit took."""
    if math.isnan(look.fit.seconds):
        return describe_data(settings)
    cost = seconds_text(look.fit.seconds)
    if look.fit.memory_bytes is not None:
        cost += f", {format_bytes(look.fit.memory_bytes)}"
    return f"{describe_data(settings)} Fitted in {cost}."


def draw_why(settings: TwoClocksSettings, look: TwoClocksLook) -> None:
    """The map of both clocks, scores against the number of trees, and the reliability."""
    if not look.fit.plan.has_clocks:
        draw_section(reliability_section(look), "two-clocks-reliability")
        return
    canvas(
        clocks_sheet(look, settings.shown, describe_two_clocks(look)),
        key="two-clocks-map",
        select="cells",
        on_select=partial(_choose, [int(n) for n in look.maps.n_trees]),
    )
    st.caption("Click a cell of a map to move the sliders there.")
    left, right = st.columns([0.55, 0.45], gap="large")
    with left:
        section = trees_section(look)
        st.subheader(section.heading)
        draw_section(section, "two-clocks-trees")
    with right:
        section = reliability_section(look)
        st.subheader(section.heading)
        draw_section(section, "two-clocks-reliability")


def draw_seeds(settings: TwoClocksSettings, look: TwoClocksLook, answer: Answer | None) -> None:
    """The seeds' means and verdicts."""
    if answer is not None and answer.error:
        show_notice(answer.error, "two-clocks-seeds", tone="error")
    seeds = scores_over_seeds(answer)
    claims = claims_of(look, seeds)
    if seeds is None:
        st.text("These are verdicts of one seed, until all seeds are fitted.")
        draw_claims(claims)
    else:
        draw_section(seeds_section(seeds, settings.tails), "two-clocks-seeds")
        draw_claims(claims, outcomes=check_seeds(seeds, look.tails))
    if answer is not None:
        show_progress([answer], "-seeds")


def claims_of(look: TwoClocksLook, seeds: SeedScores | None) -> tuple[Claim, ...]:
    """The statements over seeds; of this seed alone until there are more."""
    return check_seed(look.scores) if seeds is None else verdicts_of(seeds.by_tails[look.tails])


def scores_over_seeds(answer: Answer | None) -> SeedScores | None:
    """The seeds of these settings; those of earlier ones are not shown."""
    if answer is None or not answer.fresh:
        return None
    found: SeedScores = answer.result
    return found


def _choose(trees: list[int], event: CanvasEvent) -> None:
    """Move the sliders to a clicked cell, or to the middle of a selection."""
    panel = 1
    if event.clicked is not None:
        panel, row, column = event.clicked
    elif event.lassoed:
        row, column = event.lassoed[len(event.lassoed) // 2]
    else:
        return
    turn(Turned(trees[column], trees[row], panel == 1))
