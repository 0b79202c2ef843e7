"""Novelty's scorecard: which score knows where the rows are, and what the paper says of it."""

from __future__ import annotations

from functools import partial

import streamlit as st

from gbuq_core.experiments.claims import Claim
from gbuq_core.experiments.novelty.claims import STUDY, check_novelty_claims
from gbuq_core.experiments.novelty.fit import NoveltyFit, map_novelty, maps_key
from gbuq_core.experiments.novelty.opening import CLAIMS as STORED_CLAIMS
from gbuq_core.experiments.novelty.plan import NoveltySettings
from gbuq_core.experiments.novelty.scores import score_maps
from pages._ui.claims import draw_claims
from pages._ui.jobs_glue import Answer, Request, ask, in_thread, show_progress
from pages._ui.kept import kept
from pages._ui.notices import show_notice
from pages._ui.novelty.picture import BEFORE, CLAIMS, SLOT, ShownMaps

_VIEW = NoveltySettings()


def ask_for_claims(found: ShownMaps) -> tuple[Answer, tuple[Claim, ...]]:
    """What there is of the paper's statements, which take longer to check than a slider may."""
    key, work = (CLAIMS, found.run.fit.plan), in_thread(check, found.run.fit)
    stored = partial(_stored, found.run.fit.plan)
    request = Request(CLAIMS, key, work, "The paper's statements", 0.5, stored=stored)
    (answer,) = ask([request], others=(SLOT, BEFORE))
    return answer, (answer.fresh and answer.result) or ()


def _stored(plan: NoveltySettings) -> tuple[Claim, ...] | None:
    outcome = STORED_CLAIMS.find(plan)
    return None if outcome is None else outcome.claims


def check(fit: NoveltyFit) -> tuple[Claim, ...]:
    """Hold a fit's maps against the paper, with the view that the page opens with."""
    return check_novelty_claims(fit, map_novelty(fit, _VIEW))


def about_claims(found: ShownMaps) -> list[str]:
    """What the statements are held against, and with which view where it is not today's."""
    parts = []
    if found.run.fit.data.in_support is not None:
        parts.append(
            "The paper uses other data, and its out-of-distribution rows lie beyond the range of a "
            "feature. Here they are the map's cells where rows hardly ever lie, gaps included."
        )
    if maps_key(found.run.fit, found.run.settings) != maps_key(found.run.fit, _VIEW):
        parts.append(_view_of_claims(found))
    return parts


def _view_of_claims(found: ShownMaps) -> str:
    """The view that statements are checked with."""
    third = f", the third feature at {_VIEW.third_at:g}" if found.run.fit.plan.third else ""
    near = maps_key(found.run.fit, _VIEW)[2]
    return (
        f"The checks use z-scores that keep rising and the distance to {near} rows{third}, "
        "whatever the maps show."
    )


def scored(found: ShownMaps) -> ShownMaps:
    """With the scores, worked out once."""
    fit, maps = found.run.fit, found.run.maps
    scores = kept("novelty-scores", [maps], None, lambda: score_maps(fit, maps))
    return found._replace(run=found.run._replace(scores=scores))


def check_paper(found: ShownMaps, answer: Answer) -> None:
    """The paper's statements."""
    if answer.error:
        show_notice(answer.error, "claims", tone="error")
    if not answer.fresh:
        st.caption("The statements are being checked.")
    for text in about_claims(found):
        st.caption(text)
    if answer.fresh and not answer.error:  # no statements of other settings beside these numbers
        draw_claims(answer.result or (), STUDY, found.run.settings)
    if answer.state != "done":
        show_progress([answer], "-claims")
