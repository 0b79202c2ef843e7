"""A paper's statements on a page, with their verdicts and numbers.

Where a page gives its `SeedStudy`, each statement is also checked with ten seeds: those of the
first settings are stored, others run in the background, when the page has been still for a moment.
Nothing else waits for this. A server that starts with
``GBUQ_SEEDS=asked`` in its environment checks them when a reader presses a button.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from functools import partial
from html import escape
from typing import Any

import streamlit as st

from gbuq_core.experiments.claims import Claim
from gbuq_core.experiments.seeds import SeedCount, SeedOutcome, SeedPlan, SeedStudy, count_verdicts
from gbuq_core.jobs import Job
from pages._ui.jobs_glue import (
    BACKGROUND,
    Answer,
    Request,
    ask_beside,
    start_again,
    stop_in_background,
)

_STILL_SECONDS = 2.0  # a page is left alone for so long before its seeds run
# Session keys, with the place: it was drawn, and left alone since then if it is gone; what a reader
# asked for; the settings that are to be run as they are.
_DRAWN, _ASKED, _WHOLE = "_seeds_drawn", "_seeds_asked", "_seeds_whole"
_STARTS = os.environ.get("GBUQ_SEEDS") != "asked"  # by themselves
MARKS = {"holds": "\u25cf", "partly": "\u25d0", "does not hold": "\u25cb"}
MARKS["more than claimed"] = "\u25b2"
_LEGEND = ", ".join(f"{mark} {verdict}" for verdict, mark in MARKS.items())


def draw_claims(
    claims: Sequence[Claim],
    study: SeedStudy | None = None,
    settings: Any = None,
    columns: int = 2,
    place: str = "",
) -> dict[str, str]:
    """The statements side by side, read down and then right; one below the other on a phone.

    Return by key what seeds say of those that were checked with them: that is their verdict.
    """
    counts: dict[str, SeedCount] = {}
    quicker = False
    if study is not None and claims:
        whole = study.plan(settings, whole=True)
        plan = study.plan(settings)
        if st.session_state.get(_WHOLE + place) == whole.settings:
            plan = whole
        answer = _over_seeds(study, plan, place)
        if answer.result is not None and answer.fresh:
            counts = {count.key: count for count in count_verdicts(answer.result)}
            quicker, known = bool(plan.quicker), {claim.key for claim in claims}
            more = () if quicker else answer.result[0].claims  # of a fit that only seeds have
            claims = [*claims, *(claim for claim in more if claim.key not in known)]
        if plan.quicker:
            st.button(
                "Run 10 seeds with these settings",
                key="_seeds_whole" + place,
                on_click=_ask_whole,
                args=(place, whole),
                help="Quicker settings can give another verdict. These run in the background.",
            )
    places = st.columns(columns, gap="large") if columns > 1 else [st.container()]
    for i, claim in enumerate(claims):
        with places[columns * i // len(claims)]:
            _draw_claim(claim, counts.get(claim.key), quicker)
    return {key: _verdict_of(count, quicker) for key, count in counts.items()}


def _verdict_of(count: SeedCount, quicker: bool) -> str:
    return count.text + " (quicker settings)" * quicker


def _draw_claim(claim: Claim, count: SeedCount | None, quicker: bool) -> None:
    verdict = claim.verdict if count is None else _verdict_of(count, quicker)
    st.markdown(f"**{verdict[:1].upper()}{verdict[1:]}.** {claim.paper}")
    st.caption(here_of(claim, count is not None))
    if count is not None:
        st.html(seeds_html(count, quicker))


def here_of(claim: Claim, seeds: bool) -> str:
    """What came out here, which is one seed of several where these have the verdict."""
    here = f"This seed: {claim.here}" if seeds else claim.here[:1].upper() + claim.here[1:]
    return f"{here} {claim.threshold}".strip()


def seeds_html(count: SeedCount, quicker: bool) -> str:
    """A dot for each seed."""
    dots = "".join(
        f'<span class="{_class(dot.verdict)}" role="img" title="{words}" aria-label="{words}">'
        f"{MARKS[dot.verdict]}</span>"
        for dot in count.dots
        for words in [escape(f"Seed {dot.seed}: {dot.verdict}, {dot.value}", quote=True)]
    )
    grey = " gbuq-quicker" if quicker else ""
    return f'<div class="gbuq-seeds{grey}"><span class="gbuq-dots">{dots}</span></div>'


def _class(verdict: str) -> str:
    return "gbuq-" + verdict.replace(" ", "-")


def _compute(study: SeedStudy, plan: SeedPlan, job: Job) -> tuple[SeedOutcome, ...]:
    """Run all seeds; the runner calls this in the thread for what nobody waits for."""

    def tell(outcomes: tuple[SeedOutcome, ...]) -> None:
        job.so_far = outcomes

    return study.run(plan, tell)


def _over_seeds(study: SeedStudy, plan: SeedPlan, place: str) -> Answer:
    """What there is of the seeds, and a line on it."""
    request = Request(
        BACKGROUND + place,
        seeds_key(plan),
        partial(_compute, study, plan),
        f"{len(plan.seeds)} seeds",
        stored=partial(study.stored, plan),
    )
    answer = ask_beside(request, start=False, background=True)
    asked = _STARTS or st.session_state.get(_ASKED + place) == request.key
    how = ""
    if plan.quicker:
        how = f" The seeds run with quicker settings: {', '.join(plan.quicker)}."
    if answer.state == "done" and answer.fresh:
        st.caption(f"Each dot is one seed, {plan.seeds[0]} to {plan.seeds[-1]}: {_LEGEND}.{how}")
    elif answer.state == "cancelled":
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption("The seeds were stopped.", width="content")
            key = "_seeds_again" + place
            st.button("Run 10 seeds", key=key, on_click=start_again, args=(request.slot,))
    elif not asked:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"This server waits until it is asked.{how}", width="content")
            key = "_seeds_ask" + place
            st.button("Run 10 seeds", key=key, on_click=_ask, args=(place, request.key))
    else:
        st.session_state[_DRAWN + place] = True
        _watch(request, how, place)
    return answer


def _ask_whole(place: str, plan: SeedPlan) -> None:
    """Run the seeds with the settings themselves, however long they take."""
    st.session_state[_WHOLE + place] = plan.settings
    _ask(place, seeds_key(plan))


def seeds_key(plan: SeedPlan) -> Hashable:
    """The key of a plan's outcomes."""
    return "seeds", plan.name, plan.settings, plan.seeds


def _ask(place: str, key: Hashable) -> None:
    st.session_state[_ASKED + place] = key


@st.fragment(run_every=_STILL_SECONDS)
def _watch(request: Request, how: str, place: str) -> None:
    """Start the seeds when the page has been still, and redraw the page when they are done."""
    begun = not st.session_state.pop(_DRAWN + place, False)
    answer = ask_beside(request, start=begun, background=True)
    if begun and answer.state in ("done", "cancelled"):
        st.rerun()
    if answer.error:
        st.caption(f"The statements could not be checked over {request.label}: {answer.error}")
        return
    n_done = 0 if answer.job is None or not answer.job.so_far else len(answer.job.so_far)
    with st.container(horizontal=True, vertical_alignment="center"):
        if not begun:
            st.caption(f"The statements are checked over {request.label} in a moment.{how}")
            return
        st.caption(
            f"The statements are being checked over {request.label} in the background: {n_done} "
            f"are done.{how}",
            width="content",
        )
        st.button("Stop", key="_seeds_stop" + place, on_click=stop_in_background, args=request[:2])
