"""Functions that fit the same points: a panel a method on shared axes."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.experiments.soft_trees.data import Array, SoftTreesData
from gbuq_core.experiments.soft_trees.fit import SoftTreesMoments, SoftTreesView
from gbuq_core.experiments.soft_trees.plan import METHODS, SHOWS, SoftTreesSettings
from gbuq_core.experiments.soft_trees.scores import describe_data, spread_in
from gbuq_core.figures.curves import READ_HINT, Curves, draw_curves
from gbuq_core.figures.curves.labels import label_places, labelled
from gbuq_core.figures.curves.parts import Part, axis, band, hatches, line, rounded, stretches
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.figures.theme import METHOD_STYLES
from gbuq_core.knobs import find_knob
from gbuq_core.settings import knobs_of

LINES, DRAWS = (find_knob(knobs_of(SoftTreesSettings), key).choices for key in ("shown", "draws"))
MOST_DOTS = 1000
MOST_AHEAD = 100  # functions that are drawn for knobs before they are moved
N_STD = 2.0  # of the bands
_BAND_X = 220  # places of a band, which is smoother than functions
_TRUTH: Part = {"colour": "text", "width": 1.4, "dash": "6 5"}
_INK = {"colour": "text", "opacity": 0.35, "size": 4.0}
_PLACED_INK = {"colour": "text", "opacity": 0.85, "size": 7.0}
_DATA_OPACITY, _KNOWLEDGE_OPACITY = 0.16, 0.42
_FAINTER = 0.5  # bands behind functions, times
_BESIDE, _ABOVE = 0.05, 0.15  # of the rows' width and height, where they alone are shown
_NAMED = 5  # functions on one of which they are named
_COLUMNS = 4  # panels in a row, or 3 if there are more
_LEVELS = 65535  # of a function's values
_PLACE_HINT = (
    "Click an empty place to add a point. Drag a point to move it. Click a point to remove it."
)


class LinesPanel(NamedTuple):
    """What the panel of one method shows: its functions, or why there are none yet."""

    method: str
    view: SoftTreesView | None = None
    note: str = ""  # beside the title; in place of how much wider functions spread without rows
    # For knobs in the picture's bar: (n_more, n_grid), all functions that can be drawn as lines,
    # and moments of as many functions as `counts_ahead` says.
    more: Array | None = None
    moments: tuple[SoftTreesMoments, ...] = ()


def counts_ahead(settings: SoftTreesSettings) -> tuple[int, ...]:
    """Numbers of functions behind the bands that are worked out before a knob is moved.

    >>> counts_ahead(SoftTreesSettings())[-1] <= MOST_AHEAD
    True
    """
    most = max(settings.n_functions, MOST_AHEAD)
    behind = {max(draws, lines) for draws in DRAWS for lines in LINES}
    return tuple(sorted(count for count in behind if count <= most))


def functions_figure(
    data: SoftTreesData,
    methods: Sequence[LinesPanel],
    settings: SoftTreesSettings | None = None,
    *,
    place: bool = False,
    focus: bool = False,
    height: int = 360,
    knobs: Sequence[LiveKnob] = (),
) -> Curves:
    """Rows, functions, mean and bands of every method; without a method, the rows alone."""
    settings = SoftTreesSettings() if settings is None else settings
    knobs = knobs if any(method.view is not None for method in methods) else ()
    facets = len(methods) if len(methods) <= _COLUMNS else _COLUMNS - 1
    rows_of_panels = -(-max(len(methods), 1) // max(facets, 1))
    axes = [_axes(data, False), _axes(data, True)]
    now = axes[focus and bool(knobs)]
    frame = {"range": now["y"], "label": "y"}
    behind = hatches(data.x, ~data.support) if methods else []
    before = _rows_and_truth(data, _PLACED_INK if place else _INK)
    notes = [each.note or (spread_note(each.view, data) if each.view else "") for each in methods]
    panels: list[Part] = []
    n_read = 0  # of the values that can be read off
    for method, note in zip(methods, notes, strict=True):
        belief = [] if method.view is None else _belief(method.view, data, settings)
        style = METHOD_STYLES[method.method]
        layers = [*behind, *belief, *before]
        if method.view is not None:
            layers.append(line(method.view.x, method.view.loc, style.colour, 2.4))
        panel = {
            **frame,
            "title": style.label,
            "note": note,
            "colour": style.colour,
            "layers": layers,
        }
        if knobs and method.view is not None and method.moments:
            places = {"first": len(behind), "count": len(belief)}
            panel["live"] = {**places, **_for_knobs(method, method.view, data, n_read)}
        n_read += method.view is not None
        panels.append(panel)
    if not panels:
        panels = [{**frame, "title": "Rows", "colour": "text", "layers": [*behind, *before]}]
    more: Part = {}
    if knobs:
        more = {"focus": axes, "live": _live(methods, data, settings, knobs, focus)}
    if place:
        more["place"] = {"x": data.X[:, 0].tolist(), "y": data.y.tolist()}  # come back
    titled = zip(methods, notes, strict=True)
    sentences = (f"{METHODS[method.method].label}: {note}." for method, note in titled if note)
    return draw_curves(
        "soft-trees",
        " ".join([describe_data(data), *sentences]),
        height if rows_of_panels == 1 else 1.15 * height / rows_of_panels,
        axis(now["x"], "x"),
        panels,
        _legend(methods, data, settings.show, focus),
        _read(data, methods),
        hint=_PLACE_HINT if place else READ_HINT,
        knobs=knobs,
        facets=max(facets, 1),
        **more,
    )


def spread_note(view: SoftTreesView | SoftTreesMoments, data: SoftTreesData) -> str:
    """How wide functions spread where there are no rows, relative to where there are."""
    inside, outside = (spread_in(view, where) for where in (data.support, ~data.support))
    if not (math.isfinite(inside) and math.isfinite(outside) and inside > 0):
        return ""
    return f"{outside / inside:.1f} times as wide without rows"


def _axes(data: SoftTreesData, focus: bool) -> Part:
    """Of everything, or of where rows can lie with a little room beside them."""
    low, high = (float(end) for end in data.y_range)
    left, right = float(data.x[0]), float(data.x[-1])
    if focus and data.support.any():
        where = data.x[data.support]
        room = _BESIDE * float(where[-1] - where[0])
        left, right = max(left, float(where[0]) - room), min(right, float(where[-1]) + room)
        rows = data.X[:, 0]
        inside = [data.y[(rows >= left) & (rows <= right)]]
        if data.true_mean is not None:
            inside.append(data.true_mean[data.support])
        seen = np.concatenate(inside)
        if len(seen) and seen.max() > seen.min():
            edge = _ABOVE * float(seen.max() - seen.min())
            low, high = max(low, float(seen.min()) - edge), min(high, float(seen.max()) + edge)
    return {"x": [left, right], "y": [low, high]}


def _for_knobs(method: LinesPanel, view: SoftTreesView, data: SoftTreesData, place: int) -> Part:
    """A method's moments for each number of functions, each sent once, and all its lines."""
    assert method.more is not None
    few = _places_of_bands(view.x)
    sent: list[SoftTreesMoments] = []
    which = []
    for moments in method.moments:
        same = (i for i, old in enumerate(sent) if np.array_equal(old.loc, moments.loc))
        which.append(next(same, len(sent)))
        if which[-1] == len(sent):
            sent.append(moments)
    colour = METHOD_STYLES[method.method].colour
    parts = ("loc", "data", "knowledge")
    return {
        "x": rounded(view.x[few]),
        "places": few.tolist(),
        "moments": [{part: rounded(getattr(each, part)) for part in parts} for each in sent],
        "set": which,
        "notes": [method.note or spread_note(each, data) for each in sent],
        "most": len(method.more),
        "sheaf": pack_sheaf(view.x, method.more, data.y_range, colour, 1.0),
        "read": place + (data.true_mean is not None) if np.array_equal(view.x, data.x) else None,
    }


def _places_of_bands(x: Array) -> npt.NDArray[np.int64]:
    return np.linspace(0, len(x) - 1, min(len(x), _BAND_X)).astype(np.int64)


def _live(
    methods: Sequence[LinesPanel],
    data: SoftTreesData,
    settings: SoftTreesSettings,
    knobs: Sequence[LiveKnob],
    focus: bool,
) -> Part:
    """What all panels share for knobs of the bar, as functions.js reads it."""
    return {
        "kind": "functions",
        "at": {knob.key: knob.value for knob in knobs},
        "shows": [{"functions": show != "bands", "bands": show != "functions"} for show in SHOWS],
        "lines": list(LINES),
        "draws": list(DRAWS),
        "sets": list(counts_ahead(settings)),
        "n_std": N_STD,
        "opacity": {"data": _DATA_OPACITY, "knowledge": _KNOWLEDGE_OPACITY},
        "fainter": _FAINTER,
        "legend": _legend(methods, data, "both", focus),
    }


def pack_sheaf(
    x: npt.ArrayLike,
    lines: npt.ArrayLike,
    y_range: tuple[float, float],
    colour: str,
    opacity: float,
    width: float = 1.0,
) -> Part:
    """Many thin lines over evenly spaced ``x``, as steps of the picture's height."""
    across = np.asarray(x, dtype=np.float64)
    values = np.asarray(lines, dtype=np.float64)
    room = y_range[1] - y_range[0]
    low, high = y_range[0] - room, y_range[1] + room
    codes = np.rint(_LEVELS * np.clip((values - low) / (high - low), 0.0, 1.0)).astype("<u2")
    return {
        "kind": "sheaf",
        "from": float(across[0]),
        "to": float(across[-1]),
        "count": len(across),
        "range": [float(low), float(high)],
        "data": base64.b64encode(codes.tobytes()).decode(),
        "colour": colour,
        "opacity": opacity,
        "width": width,
    }


def _belief(view: SoftTreesView, data: SoftTreesData, settings: SoftTreesSettings) -> list[Part]:
    """Rim, band, rim from below, and functions over them."""
    colour = METHOD_STYLES[view.method].colour
    functions = view.functions[: settings.shown]
    parts: list[Part] = []
    if settings.show != "functions":
        faint = _FAINTER if settings.show == "both" and len(functions) else 1.0
        few = _places_of_bands(view.x)
        x, loc = view.x[few], view.loc[few]
        inner = N_STD * np.sqrt(view.data[few])
        outer = N_STD * np.sqrt(view.data[few] + view.knowledge[few])
        parts += [
            band(x, loc + a, loc + b, colour, faint * opacity)
            for a, b, opacity in (
                (-outer, -inner, _KNOWLEDGE_OPACITY),
                (-inner, inner, _DATA_OPACITY),
                (inner, outer, _KNOWLEDGE_OPACITY),
            )
        ]
    if settings.show != "bands" and len(functions):
        opacity = min(0.55, 2.5 / np.sqrt(len(functions)))
        parts.append(pack_sheaf(view.x, functions, data.y_range, colour, opacity))
    return parts


def few_rows(data: SoftTreesData) -> Part:
    """Training rows, evenly thinned to as many as a picture shows."""
    few = np.linspace(0, len(data.y) - 1, min(len(data.y), MOST_DOTS)).astype(np.int64)
    return {"kind": "dots", "x": rounded(data.X[few, 0]), "y": rounded(data.y[few])}


def _rows_and_truth(data: SoftTreesData, ink: Part) -> list[Part]:
    dots = {**few_rows(data), **ink}
    return [dots] if data.true_mean is None else [dots, line(data.x, data.true_mean, **_TRUTH)]


def _legend(
    methods: Sequence[LinesPanel], data: SoftTreesData, show: str, focus: bool
) -> list[Part]:
    """Of a single method in its colour and where each part lies; of several in the page's ink."""
    colour = METHOD_STYLES[methods[0].method].colour if len(methods) == 1 else "text"
    entries: list[Part] = []
    if methods:
        entries.append({"name": "mean", "kind": "line", "colour": colour, "width": 2.4})
    if methods and show != "bands":
        entries.append(
            {
                "name": "sampled functions",
                "kind": "line",
                "colour": colour,
                "width": 0.8,
                "part": "functions",
            }
        )
    if methods and show != "functions":
        area = {"kind": "band", "colour": colour, "part": "bands"}
        entries.append(
            {"name": f"data \u00b1 {N_STD:g} standard deviations", **area, "opacity": _DATA_OPACITY}
        )
        entries.append({"name": "knowledge, outside it", **area, "opacity": _KNOWLEDGE_OPACITY})
    if data.true_mean is not None:
        entries.append({"name": "truth", "kind": "line", **_TRUTH})
    entries.append({"name": "rows", "kind": "dots", **_INK, "opacity": 0.6})
    if methods and not data.support.all():
        entries.append({"name": "no rows", "kind": "hatch", "colour": "text"})
    views = [method.view for method in methods if method.view is not None]
    if len(methods) == len(views) == 1:
        return labelled(entries, _places(views[0], data, focus))
    return entries


def _places(view: SoftTreesView, data: SoftTreesData, focus: bool) -> dict[str, list[list[float]]]:
    """Where each part of the only panel is named."""
    few = _places_of_bands(view.x)
    x, loc, axes = view.x[few], view.loc[few], _axes(data, focus)
    inner = N_STD * np.sqrt(view.data[few])
    outer = N_STD * np.sqrt(view.data[few] + view.knowledge[few])
    lines = {"mean": [loc], "sampled functions": list(view.functions[:_NAMED, few])}
    if data.true_mean is not None:
        lines["truth"] = [np.interp(x, data.x, data.true_mean)]
    within = {
        f"data \u00b1 {N_STD:g} standard deviations": [loc + inner / 2, loc - inner / 2],
        "knowledge, outside it": [loc + (inner + outer) / 2, loc - (inner + outer) / 2],
    }
    rows, gaps = {"rows": float(np.median(data.X[:, 0]))}, stretches(data.x, ~data.support)
    return label_places(x, (axes["x"], axes["y"]), lines, within, rows, gaps)


def _read(data: SoftTreesData, methods: Sequence[LinesPanel]) -> Part:
    """Means with the std of all uncertainty, at the places of the data's grid."""
    values: list[Part] = []
    if data.true_mean is not None:
        values.append({"name": "truth", "at": rounded(data.true_mean)})
    for view in (method.view for method in methods):
        if view is None:
            continue
        std = np.sqrt(view.data + view.knowledge)
        values.append(
            {
                "name": METHOD_STYLES[view.method].label,
                "at": rounded(np.interp(data.x, view.x, view.loc)),
                "spread": rounded(np.interp(data.x, view.x, std)),
            }
        )
    return {"x": rounded(data.x), "label": "x", "values": values}
