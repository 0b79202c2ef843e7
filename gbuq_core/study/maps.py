"""One picture of planes and grids: a row a method, truth first, then total, data and knowledge.

Truth, total and data uncertainty share one colour scale, and knowledge has another over all methods
with all their trees. The browser redraws the maps from the members while a knob is held.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from gbuq_core.figures.canvas.frames import log_spaced
from gbuq_core.figures.canvas.live import Ensemble, Live, offered
from gbuq_core.figures.canvas.panels import LOG_SPAN, Marker, Panel, PanelSheet, shared_limits
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.figures.theme import METHOD_STYLES
from gbuq_core.glossary import UNCERTAINTY_KINDS
from gbuq_core.study.members import Array, Mask, View

MOST_FRAMES = 60  # of the player
STAGE_STEP = 5  # trees between two stages that are sent: K is a multiple of it
_HEIGHTS = {1: 300, 2: 188, 3: 142}  # pixels of a map: two rows of maps fit on a laptop
# By family, and what the settings call the unit; half a small map's width has room for it.
UNITS = {
    "normal": {"std": "std, units of y", "variance": "variance of y"},
    "classes": {"": "nats"},
}
_NOT_AVAILABLE = "not available"


class Truth(NamedTuple):
    """A map of what is known of the places: of noise, which shares the methods' scale, or else."""

    title: str
    values: Array  # of the grid's shape
    unit: str = ""  # empty: noise, in squared units of y
    limits: tuple[float, float] | None = None


def as_unit(variances: Array, unit: str) -> Array:
    """Variances as they are, or as standard deviations."""
    return np.sqrt(variances) if unit == "std" else variances


def maps(
    views: Sequence[View],
    truths: Sequence[Truth],
    empty: Mapping[str, Mask],
    settings: Any,
    *,
    noise: tuple[float, float],
    virtual: Mapping[str, bool],
    knobs: Sequence[LiveKnob] = (),
    marker_at: tuple[float, float] = (0.0, 0.0),
    family: str = "normal",
    **sheet: Any,
) -> PanelSheet:
    """Maps of all methods on one grid, over the stages of their growth.

    ``empty`` says for each method, and as "" for today's data, which cells have no rows;
    ``settings`` have `unit`, `log` and `scale`, and ``sheet`` is what else `PanelSheet` takes.
    ``noise`` are the variances between which the scale of noise lies: it stays when rows leave.
    """
    shape, unit = empty[""].shape, getattr(settings, "unit", "")
    stages = views[0].stages if views else np.array([0])
    at = log_spaced(stages, MOST_FRAMES) if len(stages) > 1 else np.array([0])
    ends, knowledge = _scales(views, noise, settings, unit)
    rows = max(1, len(views))
    panels: list[Panel] = []
    for row in range(rows):
        if row < len(truths):
            truth = truths[row]
            values = truth.values if truth.unit else as_unit(truth.values, unit)
            written = truth.unit or UNITS[family][unit]
            limits = truth.limits if truth.unit else ends
            panels.append(
                Panel(
                    title=truth.title, values=values, unit=written, limits=limits, hatched=empty[""]
                )
            )
        for kind in UNCERTAINTY_KINDS if views else ():
            view, is_knowledge = views[row], kind == "knowledge"
            style = METHOD_STYLES[view.method]
            part = getattr(view.at, kind).reshape(-1, *shape)  # (n_frames, rows, columns)
            plays = np.array_equal(view.stages, stages) and len(at) > 1
            values, known = part[at] if plays else part[-1], bool(np.isfinite(part[-1]).any())
            panels.append(
                Panel(
                    title=f"{style.label}: {kind}",
                    values=as_unit(values, unit),
                    unit=UNITS[family][unit],
                    limits=knowledge if is_knowledge else ends,
                    log=is_knowledge and settings.log,
                    hatched=empty[view.method] if known else None,
                    blank_hatched=known and bool(np.isnan(values).any()),
                    markers=() if known else (Marker(*marker_at, _NOT_AVAILABLE, "cross"),),
                    alt="" if known else f"{style.label} gives no {kind} uncertainty here.",
                    accent=style.colour,
                )
            )
    outlined = sheet.pop("outlined", None)
    plays, focus = len(stages[at]) > 1, _where_rows_are(empty[""])
    return PanelSheet(
        panels=[replace(panel, outlined=outlined) for panel in panels],
        columns=4 if views else 1,
        chosen=3 if views else -1,  # knowledge, where no rows are
        panel_height=_HEIGHTS[min(rows, 3)],
        frame_label="trees",
        frame_values=[int(n) for n in stages[at]] if plays else None,
        frames_per_second=8,
        hatch_label="no training rows",
        blank_label="no member yet; knowledge needs two",
        knobs=offered(knobs, plays=plays, focus=focus),
        focus=focus,
        note="" if ends is None else "what is beyond the colours of noise has the last one",
        live=_live(views, noise, virtual, stages, at, family) if knobs else None,
        **sheet,
    )


def _scales(views: Sequence[View], noise: tuple[float, float], settings: Any, unit: str) -> Any:
    """The colour scales of noise and of knowledge; None leaves each panel its own."""
    if settings.scale == "own":
        return None, None
    knowledge = [as_unit(view.last.knowledge, unit) for view in views]
    low, high = as_unit(np.array(noise), unit).tolist()
    return (low, high), shared_limits(knowledge, log=settings.log)


def _live(
    views: Sequence[View],
    noise: tuple[float, float],
    virtual: Mapping[str, bool],
    stages: Any,
    at: Any,
    family: str,
) -> Live:
    """The members, from which the browser redraws the maps for any K, start and number."""
    ensembles = []
    for row, view in enumerate(views):
        members = view.fit.members
        assert members is not None
        plays = np.array_equal(view.stages, stages)
        trees = stages[at] if plays else np.full(len(at), view.stages[-1])
        plan, sent = "models", slice(-1, None)
        if virtual[view.method]:
            plan, sent = "truncation", slice(STAGE_STEP - 1, None, STAGE_STEP)
        panels = (4 * row + 1, 4 * row + 2, 4 * row + 3)  # a truth stands before them
        ensembles.append(Ensemble(plan, members.stages[sent], members.values[sent], trees, panels))
    units = UNITS["normal"] if family == "normal" else {}
    return Live(
        family,  # type: ignore[arg-type]
        ensembles,
        noise_low=noise[0],
        noise_top=noise[1],
        noise_panels=(0,),
        span=LOG_SPAN,
        own="all",
        units=units,
    )


def _where_rows_are(empty: Mask) -> Any:
    """The cells from the first to the last with rows, across and along; None if these are all."""
    rows, columns = np.nonzero(~empty)
    if not len(rows) or (np.ptp(rows) + 1, np.ptp(columns) + 1) == empty.shape:
        return None
    return (float(columns.min()), float(columns.max())), (float(rows.min()), float(rows.max()))
