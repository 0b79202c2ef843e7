"""What Novelty opens with: maps, a place and statements of its first settings, without forests."""

from __future__ import annotations

import math
from dataclasses import replace

from gbuq_core.experiments.novelty.claims import check_novelty_claims
from gbuq_core.experiments.novelty.erasing import erase_rows
from gbuq_core.experiments.novelty.fit import NoveltyFit, fit_novelty_maps, map_novelty
from gbuq_core.experiments.novelty.look import PlaceLook, explain_place
from gbuq_core.experiments.novelty.plan import FIRST, NoveltySettings, plan_data
from gbuq_core.experiments.opening import Opening
from gbuq_core.experiments.seeds import SeedOutcome
from gbuq_core.settings import plan_of

_OF_THE_FORESTS = ("tail", "third_at", "neighbours", "drawn", "column", "row")


def first_view(settings: NoveltySettings) -> NoveltySettings:
    """The settings with what of a view needs the forests as the page opens."""
    return replace(settings, **{name: getattr(FIRST, name) for name in _OF_THE_FORESTS})


def _make(plan: NoveltySettings) -> NoveltyFit:
    fit = fit_novelty_maps(plan)
    maps = map_novelty(fit, FIRST)
    return replace(fit, opening=maps._replace(seconds=(math.nan,) * len(maps.seconds)))


def _afresh(plan: NoveltySettings) -> dict[str, object]:
    data = plan_data(plan)
    seconds = ("macau_seconds", "isolation_seconds")
    nothing = ("isolation", "macau_bytes", "isolation_bytes")
    return {
        "data": data,
        "rows": erase_rows(data, plan.erased),
        **dict.fromkeys(seconds, math.nan),
        **dict.fromkeys(nothing),
    }


def _look(settings: NoveltySettings) -> PlaceLook:
    fit = fit_novelty_maps(plan_of(settings))
    return explain_place(fit, map_novelty(fit, settings), settings)


def _check(plan: NoveltySettings) -> SeedOutcome:
    fit = fit_novelty_maps(plan)
    return SeedOutcome(plan.seed, check_novelty_claims(fit, map_novelty(fit, NoveltySettings())))


OPENING = Opening(
    name="novelty",
    kind=NoveltyFit,
    make=_make,
    plans=lambda: [plan_of(FIRST)],
    afresh=_afresh,
    first=FIRST,
    depends=lambda settings: tuple(getattr(settings, name) for name in _OF_THE_FORESTS),
    bits=15,
)
LOOK = Opening(name="novelty", file="look", kind=PlaceLook, make=_look, plans=lambda: [FIRST])
CLAIMS = Opening(
    name="novelty", file="claims", kind=SeedOutcome, make=_check, plans=lambda: [plan_of(FIRST)]
)
