"""The heart's maps side by side: a row a method, truth first, then total, data and knowledge.

Malinin et al. (2021), figures 2 and 4. Truth, total and data uncertainty share one colour scale
and knowledge uncertainty has another, over all methods with all their trees. The shared scale of
noise begins at its lowest value: from zero, the noise around the heart and elsewhere would differ
by two shades.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.experiments.ensembles import SCALES
from gbuq_core.experiments.heart.fit import HeartFit, HeartMaps
from gbuq_core.experiments.heart.plan import METHODS, HeartSettings
from gbuq_core.experiments.heart.scores import as_view
from gbuq_core.figures.canvas.frames import log_spaced
from gbuq_core.figures.canvas.live import Ensemble, Live, offered
from gbuq_core.figures.canvas.panels import LOG_SPAN, Marker, Panel, PanelSheet, shared_limits
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.figures.theme import METHOD_STYLES
from gbuq_core.glossary import UNCERTAINTY_KINDS, VIEWS
from gbuq_core.synthetic import HeartData
from gbuq_core.validation import check_choice

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MOST_FRAMES = 60  # of the player
# Half a small map's width is what a unit has beside the colour bar.
_UNITS = {"std": "std, units of y", "variance": "variance of y"}


def heart_sheet(
    truth: HeartData,
    methods: Sequence[HeartMaps],
    settings: HeartSettings | None = None,
    alt: str = "",
    knobs: Sequence[LiveKnob] = (),
) -> PanelSheet:
    """Panels of the truth and of every method."""
    view = HeartSettings() if settings is None else settings
    check_choice("unit", view.unit, VIEWS)
    check_choice("scale", view.scale, SCALES)
    stages = methods[0].n_trees if methods else np.array([0])
    places = log_spaced(stages, MOST_FRAMES) if len(stages) > 1 else np.array([0])
    frames = stages[places]
    limits = _limits(truth, methods, view)
    rows = max(1, len(methods))
    truths = _truth_panels(truth, view, limits)[:rows]
    panels = []
    for row in range(rows):
        panels.append(truths[row])
        if methods:
            panels += _method_panels(methods[row], view, limits, stages, places)
    plays, focus = len(frames) > 1, _where_rows_are(truth)
    outlined = np.isin(np.arange(truth.in_support.size), view.cells).reshape(truth.in_support.shape)
    return PanelSheet(
        panels=[replace(panel, outlined=outlined) for panel in panels],
        columns=4 if methods else 1,
        chosen=3 if methods else -1,  # knowledge, where no rows are
        x_label="feature 2",
        y_label="feature 1",
        panel_height=_HEIGHTS[min(rows, 3)],
        frame_label="trees",
        frame_values=[int(n) for n in frames] if plays else None,
        frames_per_second=8,
        hatch_label="no training rows",
        blank_label=_NO_MEMBER,
        outline_label="painted",
        alt=alt,
        name="heart",
        knobs=offered(knobs, plays=plays, focus=focus),
        focus=focus,
        note="" if limits.noise is None else _NOTE,
        live=_live(methods, stages, places) if knobs else None,
    )


_NO_MEMBER = "no member yet; knowledge needs two"
_NOTE = "colours of noise begin at the lowest value, not at 0"


def _where_rows_are(truth: HeartData) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """The cells from the first to the last with rows, across and along; None if these are all."""
    rows, columns = np.nonzero(truth.in_support)
    if not len(rows) or (np.ptp(rows) + 1, np.ptp(columns) + 1) == truth.in_support.shape:
        return None
    return (float(columns.min()), float(columns.max())), (float(rows.min()), float(rows.max()))


def _live(methods: Sequence[HeartMaps], stages: Ints, places: Ints) -> Live:
    """What the browser needs to redraw the maps, with the rules of `_limits`."""
    ensembles = []
    for row, maps in enumerate(methods):
        plays = np.array_equal(maps.n_trees, stages)
        trees = stages[places] if plays else np.full(len(places), maps.n_trees[-1])
        panels = (4 * row + 1, 4 * row + 2, 4 * row + 3)  # a truth stands before them
        ensembles.append(live_ensemble(maps.fit, trees, panels))
    return Live("normal", ensembles, noise_panels=(0,), span=LOG_SPAN, own="all", units=_UNITS)


_STAGE_STEP = 5  # trees between two stages that are sent: K is a multiple of it


def live_ensemble(
    fit: HeartFit, frame_trees: npt.ArrayLike, panels: tuple[int, int, int]
) -> Ensemble:
    """What the browser draws a method's maps from for any K, start and number of members.

    >>> from gbuq_core.experiments.heart.fit import run_heart
    >>> settings = HeartSettings(methods=("virtual_sglb",), rows=10, trees=20, step=5)
    >>> live_ensemble(run_heart(settings).methods[0].fit, [20], (1, 2, 3)).stages.tolist()
    [5, 10, 15, 20]
    """
    if METHODS[fit.plan.method].virtual:
        rows, plan = slice(_STAGE_STEP - 1, None, _STAGE_STEP), "truncation"
    else:
        rows, plan = slice(-1, None), "models"
    return Ensemble(plan, fit.n_trees[rows], fit.members[rows], frame_trees, panels)


_NOT_AVAILABLE = (Marker(1.5, 4.0, "not available", "cross"),)

# Pixels of a map, so that two rows of panels fit on the first screen of a laptop.
_HEIGHTS = {1: 300, 2: 188, 3: 142}


class _Limits(NamedTuple):
    noise: tuple[float, float] | None
    knowledge: tuple[float, float] | None


def _limits(truth: HeartData, methods: Sequence[HeartMaps], view: HeartSettings) -> _Limits:
    """Shared colour scales; None leaves each panel its own."""
    if view.scale == "own":
        return _Limits(None, None)
    # With all trees: the first stages predict one variance for all cells and agree on it, which
    # would span the scales and leave the finished maps without contrast.
    noise: list[Array] = [truth.variance]
    for maps in methods:
        noise += [maps.total[-1], maps.data[-1]]
    noise_limits = shared_limits([as_view(part, view.unit) for part in noise])
    knowledge = [as_view(maps.knowledge[-1], view.unit) for maps in methods]
    return _Limits(noise_limits, shared_limits(knowledge, log=view.log))


def _truth_panels(truth: HeartData, view: HeartSettings, limits: _Limits) -> list[Panel]:
    empty = ~truth.in_support
    noise = Panel(
        title="True noise",
        values=as_view(truth.variance, view.unit),
        unit=_UNITS[view.unit],
        limits=limits.noise,
    )
    rows = Panel(
        title="Training rows",
        values=np.where(empty, np.nan, truth.cell_counts),
        unit="rows",
        limits=(0.0, float(max(1, truth.cell_counts.max()))),
    )
    mean = Panel(title="True mean", values=truth.mean, unit="y", limits=(0.0, 1.0))
    return [replace(panel, hatched=empty) for panel in (noise, rows, mean)]


def _method_panels(
    maps: HeartMaps,
    view: HeartSettings,
    limits: _Limits,
    stages: Ints,
    places: Ints,
) -> list[Panel]:
    style = METHOD_STYLES[maps.method]
    parts = (maps.total, maps.data, maps.knowledge)
    plays = np.array_equal(maps.n_trees, stages)
    panels = []
    for kind, part in zip(UNCERTAINTY_KINDS, parts, strict=True):
        known = bool(np.isfinite(part[-1]).any())
        is_knowledge = kind == "knowledge"
        values = part[places] if plays and len(places) > 1 else part[-1]
        panels.append(
            Panel(
                title=f"{style.label}: {kind}",
                values=as_view(values, view.unit),
                unit=_UNITS[view.unit],
                limits=limits.knowledge if is_knowledge else limits.noise,
                log=is_knowledge and view.log,
                hatched=~maps.truth.in_support if known else None,
                blank_hatched=known and bool(np.isnan(values).any()),
                markers=() if known else _NOT_AVAILABLE,
                alt="" if known else f"{style.label} gives no {kind} uncertainty here.",
                accent=style.colour,
            )
        )
    return panels
