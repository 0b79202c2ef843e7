"""Noise that grows, and places without rows: a panel a method, and below each how novel x is.

Upper panels show what a method predicts beside the truth: data uncertainty as the light inner
band, knowledge uncertainty as the darker rim outside it, so that the outer edge is the total. Lower
panels share x and show a score that should rise where there are no rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gbuq_core.figures.curves import Curves, draw_curves
from gbuq_core.figures.curves.parts import Part, axis, band, line, rounded, stretches
from gbuq_core.figures.heteroscedastic.scene import (
    USUAL,
    Array,
    Bar,
    Belief,
    Ground,
    Judged,
    Look,
)
from gbuq_core.figures.theme import METHOD_STYLES

_COLUMNS = 4  # panels in a row, or 3 if there are more
_MOST_X = 241  # places of a line
_BAND_X = 181  # of a band
_MOST_DOTS, _MOST_DOTS_IN_ALL = 700, 2100
_DATA, _KNOWLEDGE = 0.2, 0.48  # opacities
_BEYOND = 0.3  # of the area above the mark
_TRUTH: Part = {"colour": "text", "width": 1.4, "dash": "6 5"}
_PARTS = ("total", "data", "knowledge")
_NOISE_LINES = 2
_NOISE: Part = {"colour": "text", "width": 0.8, "dash": "3 3"}
_INK: Part = {"colour": "text", "opacity": 0.22, "size": 3.0}
_MARK: Part = {"colour": "text", "width": 1.0, "dash": "2 3"}
_EDGE: Part = {"width": 1.2}
_SAMPLED: Part = {"colour": "text", "width": 5.0}
_HEADROOM = 2.6  # stds of noise around the truth that the picture holds where rows are
_BESIDE = 0.05  # of the width of the rows, where they alone are shown
_FOLLOWED = 0.35  # of the truth's range that a mean is followed beyond it
_LEAST = 0.05  # of a score on a logarithmic scale, times its mark
_FLAT = 1e-9  # a score that is the same everywhere


def heteroscedastic_figure(
    ground: Ground,
    beliefs: Sequence[Belief],
    look: Look = Look(),  # noqa: B008 - immutable
    alt: str = "",
    height: int = 316,
    below: int = 96,
    bar: Bar | None = None,
) -> Curves:
    """Panels of methods on shared axes, with a score under each; without one, the rows alone."""
    columns = len(beliefs) if len(beliefs) <= _COLUMNS else _COLUMNS - 1
    rows_of_panels = -(-max(len(beliefs), 1) // max(columns, 1))
    if rows_of_panels > 1:
        height, below = int(0.52 * height), int(0.68 * below)
    seen = _Seen(ground, look, beliefs)
    # The same parts in every panel: made once.
    behind, truth = [*_hatches(ground), _dots(ground, len(beliefs))], _truth(seen)
    panels = [_panel(one, seen, behind, truth) for one in beliefs]
    if not panels:
        rows = {"title": "Rows", "colour": "text", "layers": [*behind, *truth]}
        panels = [{"range": seen.y, "label": "y", **rows}]
    more: Part = {}
    if bar is not None:
        more = {"focus": list(seen.axes), "live": _live(beliefs, seen, bar)}
    if beliefs:
        numbered = any(panel["below"]["own"] for panel in panels)
        # Numbers beside the scores, or below alone.
        more |= {"below": below, "between": 44 if numbered else 26}
    return draw_curves(
        "heteroscedastic",
        alt,
        height,
        axis(seen.x, "x"),
        panels,
        _legend(beliefs, look, ground),
        _read(ground, beliefs),
        knobs=() if bar is None else bar.knobs,
        facets=max(columns, 1),
        **more,
    )


class _Seen:
    """What panels share: places that are drawn, axes, and parts behind and before."""

    def __init__(self, ground: Ground, look: Look, beliefs: Sequence[Belief]) -> None:
        n = len(ground.x)
        self.ground, self.look = ground, look
        self.lines = np.linspace(0, n - 1, min(n, _MOST_X)).astype(np.int64)
        self.bands = np.linspace(0, n - 1, min(n, _BAND_X)).astype(np.int64)
        whole = slice(None)
        # Everything, and where rows can lie.
        self.axes = [
            {"x": _ends_of(ground, at), "y": _limits(ground, _means(beliefs), at)}
            for at in (whole, ground.support if ground.support.any() else whole)
        ]
        self.x, self.y = self.axes[look.focus]["x"], self.axes[look.focus]["y"]
        known = [one.judged for one in beliefs if one.judged is not None]
        keys = list(dict.fromkeys(one.key for one in known))
        self.one_scale = not look.own_scale and len(keys) <= 1
        self.scales = {key: self._range([j for j in known if j.key == key]) for key in keys}

    def at(self, judged: Judged) -> Array:
        """Values as they are drawn."""
        return self._scaled(judged.values[self.lines], judged.usual)

    def mark(self, judged: Judged) -> float:
        return float(self._scaled(np.array([judged.usual]), judged.usual)[0])

    def range_of(self, judged: Judged) -> list[float]:
        return self._range([judged]) if self.look.own_scale else self.scales[judged.key]

    def _scaled(self, values: Array, usual: float) -> Array:
        if not self.look.logarithmic:
            return values
        least = _LEAST * usual if usual > 0.0 else _LEAST
        logs: Array = np.log10(np.maximum(values, least))
        return logs

    def _range(self, judged: Sequence[Judged]) -> list[float]:
        every = np.concatenate([np.append(self.at(one), self.mark(one)) for one in judged])
        every = every[np.isfinite(every)]
        low = float(every.min()) if len(every) else 0.0
        high = float(every.max()) if len(every) else 1.0
        if not self.look.logarithmic:
            low = min(low, 0.0)
        high = high if high - low > _FLAT else low + 1.0
        room = 0.06 * (high - low)
        # The name of the score stands above the curve.
        return [low - room, high + 3.5 * room]


def _means(beliefs: Sequence[Belief]) -> list[Array]:
    return [one.loc for one in beliefs if one.loc is not None]


def _ends_of(ground: Ground, at: Any) -> list[float]:
    """Of x: with a little room beside the places where rows can lie."""
    low, high = float(ground.x[at][0]), float(ground.x[at][-1])
    room = _BESIDE * (high - low)
    return [max(low - room, float(ground.x[0])), min(high + room, float(ground.x[-1]))]


def _limits(ground: Ground, means: Sequence[Array], at: Any = slice(None)) -> list[float]:
    """Of y: the truth with its noise, and means unless they lead far away from it."""
    spread = (np.where(ground.support, _HEADROOM, 1.0) * ground.true_std)[at]
    true = ground.true_mean[at]
    low, high = float((true - spread).min()), float((true + spread).max())
    room = _FOLLOWED * (high - low)
    every = np.concatenate([*(mean[at] for mean in means), [low, high]])
    low, high = max(float(every.min()), low - room), min(float(every.max()), high + room)
    edge = 0.03 * (high - low)
    return [low - edge, high + edge]


def _panel(one: Belief, seen: _Seen, behind: Sequence[Part], truth: Sequence[Part]) -> Part:
    style, bands = METHOD_STYLES[one.method], _bands(one, seen)
    return {
        "range": seen.y,
        "label": "y",
        "title": style.label,
        "note": one.note,
        "colour": style.colour,
        "layers": [*behind, *bands, *truth, *_mean(one, seen)],
        "below": _below(one, seen),
        # What knobs of the bar change, and what they need: intervals.js.
        "live": {"first": len(behind), "count": len(bands) + _NOISE_LINES, **_widths(one, seen)},
    }


def _widths(one: Belief, seen: _Seen) -> Part:
    """A method's mean, stds and factors, from which its bands of any level are made."""
    if one.widths is None:
        return {}
    widths, at = one.widths, seen.bands
    found: Part = {"notes": list(widths.notes), "factors": list(widths.factors)}
    if one.loc is None:
        return found
    found |= {"x": rounded(seen.ground.x[at]), "loc": rounded(one.loc[at])}
    for name in ("total", "data", "knowledge"):
        std = getattr(widths, name)
        found[name] = None if std is None else rounded(std[at])
    found["own"] = [
        None if ends is None else [rounded(end[at]) for end in ends] for ends in widths.own
    ]
    return found


def _live(beliefs: Sequence[Belief], seen: _Seen, bar: Bar) -> Part:
    """What all panels share for knobs of the bar, as intervals.js reads it."""
    ground, few = seen.ground, seen.lines
    every = seen.look._replace(bands=_PARTS, width="{}")
    spreads, place = [], 0
    for panel, one in enumerate(beliefs):
        place += one.loc is not None
        if one.widths is not None and (one.data is not None or one.knowledge is not None):
            parts = [v for v in (one.widths.data, one.widths.knowledge) if v is not None]
            std = np.sqrt(np.sum(np.square(parts), axis=0))
            spreads.append({"at": place, "panel": panel, "std": rounded(std[few])})
        place += one.judged is not None
    return {
        "kind": "intervals",
        "at": dict(bar.at),
        "z": list(bar.n_std),
        "widths": list(bar.widths),
        "truth": {
            "x": rounded(ground.x[few]),
            "mean": rounded(ground.true_mean[few]),
            "std": rounded(ground.true_std[few]),
        },
        "look": {"data": _DATA, "knowledge": _KNOWLEDGE, "edge": _EDGE, "noise": _NOISE},
        "legend": _legend(beliefs, every, ground),
        "spreads": spreads,
    }


def _bands(one: Belief, seen: _Seen) -> list[Part]:
    """The light band, the rim outside it from below, and the outline of the whole."""
    if one.loc is None:
        return []
    colour, shown, at = METHOD_STYLES[one.method].colour, seen.look.bands, seen.bands
    x, loc = seen.ground.x[at], one.loc[at]
    parts: list[Part] = []
    low = high = loc
    if one.inner is not None and "data" in shown:
        low, high = (end[at] for end in one.inner)
        parts.append(band(x, low, high, colour, _DATA))
    if one.knowledge is not None and "knowledge" in shown:
        half = seen.look.n_std * one.knowledge[at]
        outer = loc - half, loc + half
        if one.outer is not None and "data" in shown:
            outer = one.outer[0][at], one.outer[1][at]
        parts.append(band(x, outer[0], low, colour, _KNOWLEDGE))
        parts.append(band(x, high, outer[1], colour, _KNOWLEDGE))
    if one.outer is not None and "total" in shown:
        parts += [line(x, end[at], colour, **_EDGE) for end in one.outer]
    return parts


def _truth(seen: _Seen) -> list[Part]:
    ground, look = seen.ground, seen.look
    x, mean = ground.x[seen.lines], ground.true_mean[seen.lines]
    spread = look.n_std * ground.true_std[seen.lines]
    noise = [line(x, mean + sign * spread, **_NOISE) for sign in (-1.0, 1.0)]
    return [*noise, line(x, mean, **_TRUTH)]


def _mean(one: Belief, seen: _Seen) -> list[Part]:
    if one.loc is None:
        return []
    x = seen.ground.x[seen.lines]
    return [line(x, one.loc[seen.lines], METHOD_STYLES[one.method].colour, 2.2)]


def _below(one: Belief, seen: _Seen) -> Part:
    """The score, what is beyond the mark, the mark, and where the foreign rows are drawn."""
    layers = _hatches(seen.ground)
    if one.judged is None:
        return {"range": [0.0, 1.0], "label": "", "layers": layers, "own": False, "empty": True}
    colour = METHOD_STYLES[one.method].colour
    judged, shown = one.judged, seen.range_of(one.judged)
    x, values, mark = seen.ground.x[seen.lines], seen.at(judged), seen.mark(judged)
    if math.isfinite(mark):
        above = np.maximum(values, mark)
        layers.append(band(x, np.full(len(x), mark), above, colour, _BEYOND))
        layers.append(line(x[[0, -1]], [mark, mark], **_MARK))
    layers.append(line(x, values, colour, 1.8))
    for low, high in seen.ground.foreign:
        layers.append(line([low, high], [shown[0], shown[0]], **_SAMPLED))
    label = f"log\u2081\u2080 {judged.label}" if seen.look.logarithmic else judged.label
    layers.append({"kind": "words", "text": label})
    return {"range": shown, "label": "score", "layers": layers, "own": not seen.one_scale}


def _hatches(ground: Ground) -> list[Part]:
    gaps = stretches(ground.x, ~ground.support)
    return [{"kind": "hatch", "from": low, "to": high} for low, high in gaps]


def _dots(ground: Ground, n_panels: int) -> Part:
    most = min(_MOST_DOTS, _MOST_DOTS_IN_ALL // max(n_panels, 1), len(ground.x_rows))
    few = np.linspace(0, len(ground.x_rows) - 1, most).astype(np.int64)
    places = {"x": rounded(ground.x_rows[few]), "y": rounded(ground.y_rows[few])}
    return {"kind": "dots", **places, **_INK}


def _legend(beliefs: Sequence[Belief], look: Look, ground: Ground) -> list[Part]:
    """In the colour of a single method, in the page's ink for several."""
    several = len({METHOD_STYLES[one.method].colour for one in beliefs}) != 1
    colour = "text" if several else METHOD_STYLES[beliefs[0].method].colour
    shown = [one for one in beliefs if one.loc is not None]
    has = {
        "data": any(one.inner is not None for one in shown),
        "knowledge": any(one.knowledge is not None for one in shown),
    }
    entries: list[Part] = []
    if shown:
        entries.append({"name": "prediction", "kind": "line", "colour": colour, "width": 2.2})
    area = {"kind": "band", "colour": colour}
    for part, opacity, name in (
        ("data", _DATA, f"data {look.width}"),
        ("knowledge", _KNOWLEDGE, "knowledge, outside it"),
    ):
        if has[part] and part in look.bands:
            entries.append({"name": name, **area, "opacity": opacity, "part": part})
    if any(one.outer is not None for one in shown) and "total" in look.bands:
        total = {"name": "total", "kind": "line", "colour": colour, **_EDGE}
        entries.append({**total, "part": "total"})
    entries.append({"name": "true mean", "kind": "line", **_TRUTH})
    entries.append({"name": f"true {look.width}", "kind": "line", **_NOISE})
    entries.append({"name": "rows", "kind": "dots", **_INK, "opacity": 0.6})
    if not ground.support.all():
        entries.append({"name": "no rows", "kind": "hatch", "colour": "text"})
    if any(one.judged is not None for one in beliefs):
        entries.append({"name": f"{USUAL} % of in-distribution rows", "kind": "line", **_MARK})
        if ground.foreign:
            entries.append({"name": "foreign rows", "kind": "line", **_SAMPLED})
    return entries


def _read(ground: Ground, beliefs: Sequence[Belief]) -> Part:
    """Means with the std of the noise or of all uncertainty, and each score."""
    n = len(ground.x)
    few = np.linspace(0, n - 1, min(n, _MOST_X)).astype(np.int64)
    values: list[Part] = [
        {
            "name": "truth",
            "at": rounded(ground.true_mean[few]),
            "spread": rounded(ground.true_std[few]),
        }
    ]
    for one in beliefs:
        label = METHOD_STYLES[one.method].label
        if one.loc is not None:
            said: Part = {"name": label, "at": rounded(one.loc[few])}
            if one.data is not None or one.knowledge is not None:
                stds = [np.zeros(n) if part is None else part for part in (one.data, one.knowledge)]
                said["spread"] = rounded(np.hypot(*stds)[few])
            values.append(said)
        if one.judged is not None:
            name = one.judged.label if one.loc is not None else f"{label} {one.judged.label}"
            values.append({"name": name, "at": rounded(one.judged.values[few])})
    return {"x": rounded(ground.x[few]), "label": "x", "values": values}
