"""What the steps of the lesson on novelty share: fits that are made once, maps, words for ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from gbuq_core.figures.canvas.panels import (
    Panel,
    PanelSheet,
    Points,
    Strip,
    StripLine,
    shared_limits,
)
from gbuq_core.figures.handles import live_knob
from gbuq_core.figures.near import pack_table
from gbuq_core.knobs import find_knob
from gbuq_core.presentation import digits, enumerated
from gbuq_core.settings import knobs_of, plan_of, to_values
from gbuq_core.study.novelty import (
    CLASS_COLOURS,
    MACAU,
    NoveltyView,
    accent_of,
    as_map,
    follow_ranks,
    map_axes,
    novelty_sheet,
    score_table,
    unit_of,
    view,
)
from gbuq_core.study.novelty_maps import (
    SCORES,
    NoveltyData,
    NoveltyFit,
    NoveltyMaps,
    NoveltySettings,
    Place,
    PlaceLook,
    describe_erased,
    fit,
    rank_among,
    squares_around,
    with_tail,
)

_FITS = 6  # that a process keeps: steps share those of moons, blobs and rings
SHOW = find_knob(knobs_of(NoveltySettings), "show")
# Of the standard deviation of the training rows' own scores: a change of a mean over a square
# counts above it. Another seed alone, on the same rows, moves the mean over a disc around a row by
# less in nine of ten discs on each set, for every score but inference novelty on the rings (0.74)
# and data uncertainty on the moons (0.99).
_THRESHOLD = 0.5


@lru_cache(maxsize=_FITS)
def fit_of(plan: NoveltySettings) -> NoveltyFit:
    """The forests of a plan, made once for steps that follow each other."""
    return fit(plan)


def novelty_view(settings: NoveltySettings) -> NoveltyView:
    """The view of settings, with fits and maps that are there already.

    >>> settings = NoveltySettings(rows=200, trees=10)
    >>> novelty_view(settings).fit is novelty_view(replace(settings, tail="clip")).fit
    True
    """
    return view(fit_of(plan_of(settings)), settings)


def followed(
    run: NoveltyView,
    panels: Mapping[str, Panel],
    maps: NoveltyMaps | None = None,
    units: Mapping[str, str] | None = None,
    look: PlaceLook | None = None,
    point: tuple[float, float] | None = None,
) -> tuple[PanelSheet, bytes]:
    """The page's maps with its choice between ranks and own values, and what it needs for it.

    ``maps`` and ``units`` are of scores that are no method's.
    """
    bar = [live_knob(SHOW, to_values(run.settings)["show"])]
    sheet = novelty_sheet(run, panels, look=look, point=point)
    maps = run.maps if maps is None else maps
    near = follow_ranks(run, panels, bar, units, maps)
    return replace(sheet, knobs=bar, near=near), pack_table(score_table(maps))


def erased_sheet(before: NoveltyView, after: NoveltyView, keys: Sequence[str]) -> PanelSheet:
    """Scores with all rows, and on the second of two frames without the erased ones; the change."""
    panels, dots = [], _dots(before.data, after.data)
    for key in keys:
        pair = np.stack([before.maps.of(key), after.maps.of(key)])
        change = pair[1] - pair[0]
        most = float(np.abs(change).max()) or 1.0
        unit, label = unit_of(after, key), SCORES[key].label
        panels += [
            Panel(
                title=label,
                values=as_map(pair),
                unit=unit,
                limits=shared_limits([pair]),
                points=dots,
                accent=accent_of(key),
            ),
            Panel(
                title=f"{label}: change",
                values=as_map(np.stack([np.full_like(change, np.nan), change])),
                unit=unit,
                limits=(-most, most),
                colour_map="viridis",
                blank_hatched=True,
            ),
        ]
    region = as_map(squares_around(after.settings.erased))
    return PanelSheet(
        panels=[replace(panel, outlined=region) for panel in panels],
        columns=4,
        panel_height=230,
        frame_label="training rows",
        frame_values=("all", "those left"),
        frames_per_second=1.0,
        start_frame=0,
        outline_label="where rows are erased",
        blank_label="all rows are there",
        alt=f"{describe_erased(after.data)} The maps show "
        f"{enumerated([SCORES[key].label.lower() for key in keys])} before that, and after it.",
        **map_axes(before.data),
    )


def _dots(before: NoveltyData, after: NoveltyData) -> Points:
    """All rows; those that are erased leave with the first frame."""
    left = np.isin(before.origin, after.origin)
    return Points(
        before.X[:, 0],
        before.X[:, 1],
        before.y.astype(np.int64),
        tuple(before.classes),
        CLASS_COLOURS,
        radius=1.5,
        vanish=np.where(left, 2, 1),
    )


class Change(NamedTuple):
    """The mean of a score over the erased squares with all rows and without them."""

    before: float
    after: float
    threshold: float  # the smallest change that counts

    @property
    def in_thresholds(self) -> float:
        """How many of the smallest changes it rose by."""
        return (self.after - self.before) / self.threshold

    @property
    def words(self) -> str:
        """Whether it rises, stays or falls.

        >>> Change(1.0, 0.2, 0.5).words
        'falls (1.00 to 0.200)'
        """
        outcome = "stays"
        if abs(self.in_thresholds) > 1.0:
            outcome = "rises" if self.after > self.before else "falls"
        return f"{outcome} ({digits(self.before)} to {digits(self.after)})"


def change_of(before: NoveltyView, after: NoveltyView, key: str) -> Change:
    """What erasing rows did to a score in their squares."""
    squares = squares_around(after.settings.erased)
    old, new = (float(run.maps.of(key)[squares].mean()) for run in (before, after))
    return Change(old, new, _threshold(before, key))


def changes_elsewhere(before: NoveltyView, place: Place) -> list[Change]:
    """The same for novelty and knowledge uncertainty of another picture, scored there alone."""
    squares = squares_around((place,))
    after = view(fit(replace(before.fit.plan, erased=(place,))), before.settings)
    places = after.data.places(after.data.grid[squares])
    model = with_tail(after.fit.model[0], before.maps.tail)
    now = {
        "novelty": model.score_novelty(places).novelty,
        "knowledge": model.predict_uncertainty(places).knowledge,
    }
    return [
        Change(
            float(before.maps.of(key)[squares].mean()), float(new.mean()), _threshold(before, key)
        )
        for key, new in now.items()
    ]


def _threshold(run: NoveltyView, key: str) -> float:
    return _THRESHOLD * float(run.maps.of_rows(key).std())


def with_strips(sheet: PanelSheet, strips: Sequence[Strip]) -> PanelSheet:
    """The sheet with charts under its maps."""
    return replace(sheet, strips=strips, strip_columns=len(strips), strip_height=130)


def share_of_steps(values: np.ndarray) -> float:
    """The share of cells (3600,) with exactly the score of the cell to their left.

    >>> share_of_steps(np.zeros(3600)), share_of_steps(np.arange(3600.0))
    (1.0, 0.0)
    """
    square = as_map(values)
    return float((square[:, 1:] == square[:, :-1]).mean())


THIRDS = np.arange(-4.0, 5.0)  # values of a third feature, in its standard deviations


class ThirdFeature(NamedTuple):
    """Ranks among the training rows for each of `THIRDS`, by score.

    strip : means over cells where rows can lie; means : (9,) of each; maps : (9, 3600) of each
    """

    strip: Strip
    means: dict[str, np.ndarray]
    maps: dict[str, np.ndarray]


def by_third_feature(run: NoveltyView) -> ThirdFeature:
    """Maps and mean ranks while a third feature moves."""
    at, data = THIRDS, run.data
    places = np.concatenate([data.places(third=value) for value in at])
    model = with_tail(run.fit.model[0], "rise")
    here, rows = model.score_novelty(places), model.score_novelty(data.X)
    maps = {
        key: rank_among(getattr(here, name), getattr(rows, name)).reshape(len(at), -1)
        for key, name in (("novelty", "novelty"), ("conditional", "conditional_novelty"))
    }
    means = {key: ranks[:, data.in_support].mean(axis=1) for key, ranks in maps.items()}
    lines = [
        StripLine("novelty", means["novelty"], MACAU.colour),
        StripLine("conditional novelty", means["conditional"], "text", dash=True),
    ]
    strip = Strip(
        title="Mean rank where rows can lie",
        x=at,
        lines=lines,
        x_label="third feature, standard deviations",
        y_label="% of training rows below",
        y_limits=(0.0, 100.0),
        frame_x=at,
    )
    return ThirdFeature(strip, means, maps)


def walk_strip(x: np.ndarray, z: Sequence[np.ndarray], inside: np.ndarray, title: str) -> Strip:
    """Novelty along a row of the map, rising and clipped."""
    lines = [
        StripLine("rising", z[0], MACAU.colour),
        StripLine("clipped", z[1], "text", dash=True),
    ]
    half = (x[1] - x[0]) / 2
    edges = np.flatnonzero(np.diff(np.concatenate([[0], inside.astype(np.int64), [0]])))
    bands = [(x[a] - half, x[b - 1] + half) for a, b in edges.reshape(-1, 2).tolist()]
    return Strip(
        title=title,
        x=x,
        lines=lines,
        x_label="x1",
        y_label="z",
        mode="frame",
        shaded=bands,
        shaded_label="rows can lie here",
    )
