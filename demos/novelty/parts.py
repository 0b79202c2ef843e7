"""What the steps of the lesson on novelty share: fits that are made once, maps, words for ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from gbuq_core.experiments.novelty.compare import compare_maps, outcome_of
from gbuq_core.experiments.novelty.data import load_novelty_data
from gbuq_core.experiments.novelty.edits import Edit, cells_within, edit_of, mask_of
from gbuq_core.experiments.novelty.fit import (
    NoveltyFit,
    NoveltyMaps,
    NoveltyRun,
    at_places,
    fit_novelty_maps,
    map_novelty,
    rank_among,
    scorer,
    unit_of,
    view_novelty,
)
from gbuq_core.experiments.novelty.look import PlaceLook
from gbuq_core.experiments.novelty.picture import (
    CLASS_COLOURS,
    DIFFERENCE,
    MACAU,
    accent_of,
    as_map,
    follow_ranks,
    map_axes,
    novelty_sheet,
    score_table,
)
from gbuq_core.experiments.novelty.plan import METHODS, NoveltySettings
from gbuq_core.experiments.novelty.scores import MapScore, score_maps
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

_FITS, _MAPS = 6, 8  # that a process keeps: steps share those of moons, blobs and rings
SHOW = find_knob(knobs_of(NoveltySettings), "show")
_WENT = {"rise": "rises", "stay": "stays", "fall": "falls"}


@lru_cache(maxsize=_FITS)
def fit_of(plan: NoveltySettings) -> NoveltyFit:
    """The forests of a plan, made once for steps that follow each other."""
    return fit_novelty_maps(plan)


@lru_cache(maxsize=_MAPS)
def _scored(settings: NoveltySettings) -> NoveltyMaps:
    return map_novelty(fit_of(plan_of(settings)), settings)


def novelty_run(settings: NoveltySettings) -> NoveltyRun:
    """As `run_novelty`, with fits and maps that are there already.

    >>> settings = NoveltySettings(rows=200, trees=10)
    >>> novelty_run(settings).fit is novelty_run(replace(settings, tail="clip")).fit
    True
    """
    fit = fit_of(plan_of(settings))
    maps = _scored(plan_of(settings, also=("tail", "third_at", "neighbours")))
    return NoveltyRun(settings, fit, maps, view_novelty(fit, maps, settings))


def box_edit(data: str, kind: str, x: tuple[float, float], y: tuple[float, float]) -> Edit:
    """An edit of the cells within a box, on the map of a synthetic set.

    >>> box_edit("moons", "remove", (0.0, 0.2), (0.0, 0.2)).runs
    ((1706, 2), (1766, 2))
    """
    corners = [(x[0], y[0]), (x[1], y[0]), (x[1], y[1]), (x[0], y[1])]
    return edit_of(kind, cells_within(load_novelty_data(data).axes, corners))


def followed(
    run: NoveltyRun,
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
    scored = run if maps is None else run._replace(maps=maps)
    near = follow_ranks(scored, panels, bar, units)
    return replace(sheet, knobs=bar, near=near), pack_table(score_table(scored.maps))


def edit_sheet(before: NoveltyRun, after: NoveltyRun, keys: Sequence[str]) -> PanelSheet:
    """Scores before the last edit, and on the second of two frames after it, with the change."""
    panels, dots = [], _dots(before.fit, after.fit)
    for key in keys:
        pair = np.stack([before.maps.of(key), after.maps.of(key)])
        change = pair[1] - pair[0]
        most = float(np.abs(change).max()) or 1.0
        unit, label = unit_of(after.fit, key), METHODS[key].label
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
                colour_map=DIFFERENCE,
                blank_hatched=True,
            ),
        ]
    region = as_map(mask_of(after.settings.edits[-1].runs))
    return PanelSheet(
        panels=[replace(panel, outlined=region) for panel in panels],
        columns=4,
        panel_height=230,
        frame_label="training rows",
        frame_values=("before the edit", "after it"),
        frames_per_second=1.0,
        start_frame=0,
        outline_label="where rows are edited",
        blank_label="before the edit",
        alt=f"{after.fit.rows.outcomes[-1].text} The maps show "
        f"{enumerated([METHODS[key].label.lower() for key in keys])} before that, and after it.",
        **map_axes(before.fit),
    )


def _dots(before: NoveltyFit, after: NoveltyFit) -> Points:
    """All rows of before; those that an edit takes away, or gives another class, go with it."""
    old, new, names = before.rows, after.rows, before.data.classes
    now = dict(zip(new.origin.tolist(), new.y.tolist(), strict=True))
    last = [now.get(row) == label for row, label in enumerate(old.y.tolist())]
    other = [old.y[row] != label for row, label in now.items()]
    new_X, new_y = new.X[other], new.y[other]
    n, m = len(old.y), len(new_y)
    return Points(
        np.concatenate([old.X[:, 0], new_X[:, 0]]),
        np.concatenate([old.X[:, 1], new_X[:, 1]]),
        np.concatenate([old.y, new_y]).astype(np.int64),
        tuple(names), CLASS_COLOURS, radius=1.5,
        appear=np.repeat([0, 1], [n, m]),
        vanish=np.concatenate([np.where(last, 2, 1), np.full(m, 2)]),
    )  # fmt: skip


def scores_of(run: NoveltyRun) -> dict[str, MapScore]:
    """Scores of the maps against the truth, by key."""
    return {score.key: score for score in score_maps(run.fit, run.maps)}


def went(before: NoveltyRun, after: NoveltyRun, key: str, inside: bool = True) -> str:
    """Whether the last edit made a score rise, stay or fall under its outline, or elsewhere."""
    mask = mask_of(after.settings.edits[-1].runs)
    change = compare_maps(before.maps, after.maps, key, mask)
    region = change.inside if inside else change.outside
    outcome = _WENT[outcome_of(region.change, change.threshold)]
    return f"{outcome} ({digits(region.before)} to {digits(region.after)})"


def noticed(before: NoveltyRun, after: NoveltyRun, key: str) -> float:
    """How far a score rose under the last edit's outline, in thresholds; above 0 it noticed."""
    change = compare_maps(
        before.maps, after.maps, key, mask_of(after.settings.edits[-1].runs)
    )  # fmt: skip
    return float(change.inside.change / change.threshold) - 1.0


def went_elsewhere(
    before: NoveltyRun, edit: Edit, keys: tuple[str, ...] = ("novelty", "knowledge")
) -> list[str]:
    """The same for an edit of another picture, scored under its outline alone."""
    mask = mask_of(edit.runs)
    fit = fit_novelty_maps(replace(before.fit.plan, edits=(edit,)))
    places = at_places(fit, fit.data.grid[mask])
    model = scorer(fit, before.maps.tail)
    now = {
        "novelty": lambda: model.score_novelty(places).novelty,
        "knowledge": lambda: model.predict_uncertainty(places).knowledge,
    }
    texts = []
    for key in keys:
        old, new = float(before.maps.of(key)[mask].mean()), float(now[key]().mean())
        threshold = compare_maps(before.maps, before.maps, key, mask).threshold
        outcome = _WENT[outcome_of(new - old, threshold)]
        texts.append(f"{outcome} ({digits(old)} to {digits(new)})")
    return texts


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


def by_third_feature(fit: NoveltyFit) -> ThirdFeature:
    """Maps and mean ranks while a third feature moves."""
    at = THIRDS
    places = np.concatenate([at_places(fit, fit.data.grid, value) for value in at])
    model = scorer(fit, "rise")
    here, rows = model.score_novelty(places), model.score_novelty(fit.rows.X)
    maps = {
        key: rank_among(getattr(here, name), getattr(rows, name)).reshape(len(at), -1)
        for key, name in (("novelty", "novelty"), ("conditional", "conditional_novelty"))
    }
    means = {key: ranks[:, fit.data.in_support].mean(axis=1) for key, ranks in maps.items()}
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


def walk_strip(
    x: np.ndarray, z: Sequence[np.ndarray], inside: np.ndarray, title: str
) -> Strip:  # fmt: skip
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
