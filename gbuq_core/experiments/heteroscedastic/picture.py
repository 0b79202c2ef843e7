"""Noise that grows, and places without rows: a panel a method, and below each how novel x is.

Upper panels show what a method predicts beside the truth: data uncertainty as the light inner
band, knowledge uncertainty as the darker rim outside it, so that the outer edge is the total. Lower
panels share x and show a score that should rise where there are no rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from gbuq_core.experiments.heteroscedastic.data import Array, HeteroscedasticData, shown_range
from gbuq_core.experiments.heteroscedastic.fit import HeteroscedasticView, LevelIntervals
from gbuq_core.experiments.heteroscedastic.plan import (
    LEVELS,
    SCORES,
    SUPPORT,
    HeteroscedasticSettings,
)
from gbuq_core.experiments.heteroscedastic.scores import describe_data
from gbuq_core.figures.curves import Curves, draw_curves
from gbuq_core.figures.curves.labels import label_places, labelled
from gbuq_core.figures.curves.parts import (
    Part,
    around,
    axis,
    band,
    hatches,
    line,
    rounded,
    stretches,
)
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.figures.theme import METHOD_STYLES
from gbuq_core.methods import PARTS
from gbuq_core.presentation import short

USUAL = 95  # % of in-distribution rows lie below the mark
_COLUMNS = 4  # panels in a row, or 3 if there are more
_MOST_X = 241  # places of a line
_BAND_X = 181  # of a band
_MOST_DOTS, _MOST_DOTS_IN_ALL = 700, 2100
_DATA, _KNOWLEDGE = 0.2, 0.48  # opacities
_BEYOND = 0.3  # of the area above the mark
_TRUTH: Part = {"colour": "text", "width": 1.4, "dash": "6 5"}
_NOISE_LINES = 2
_NOISE: Part = {"colour": "text", "width": 0.8, "dash": "3 3"}
_INK: Part = {"colour": "text", "opacity": 0.22, "size": 3.0}
_MARK: Part = {"colour": "text", "width": 1.0, "dash": "2 3"}
_EDGE: Part = {"width": 1.2}
_SAMPLED: Part = {"colour": "text", "width": 5.0}
_BESIDE = 0.05  # of the width of the rows, where they alone are shown
_AROUND = 0.06  # of the range of the rows' y, and of the true ones, above and below them
_TRUE_STDS = 2.0  # on both sides of the true mean the picture shows, whatever the level
_LEAST = 0.05  # of a score on a logarithmic scale, times its mark
_FLAT = 1e-9  # a score that is the same everywhere


class MethodPanel(NamedTuple):
    """One method of the picture."""

    method: str
    view: HeteroscedasticView | None = None  # none while there is no result
    note: str = ""  # at the right of its title, instead of what the view lacks
    levels: LevelIntervals | None = None  # for knobs of the picture's bar


def heteroscedastic_figure(
    data: HeteroscedasticData,
    methods: Sequence[MethodPanel],
    settings: HeteroscedasticSettings,
    knobs: Sequence[LiveKnob] = (),
    quiet: bool = False,
) -> Curves:
    """Panels of methods on shared axes, with a score under each; without one, the rows alone.

    With ``quiet`` the picture is as large as its window lets it be, its parts are named where they
    lie, and all knobs but one wait behind a button.
    """
    columns = len(methods) if len(methods) <= _COLUMNS else _COLUMNS - 1
    height, below = (164, 65) if len(methods) > columns else (316, 96)  # with its lower panel
    seen = _Seen(data, settings, methods, quiet)
    # The same parts in every panel: made once.
    behind, truth = [*hatches(seen.x, ~seen.support), _dots(seen)], _truth(seen)
    panels = [_panel(*both, seen, behind, truth) for both in zip(methods, seen.judged, strict=True)]
    if not panels:
        rows = {"title": "Rows", "colour": "text", "layers": [*behind, *truth]}
        panels = [{"range": seen.y_range, "label": "y", **rows}]
    more: Part = {}
    if knobs:
        at = {knob.key: knob.value for knob in knobs}
        more |= {"focus": list(seen.axes), "live": _live(seen, at)}
    if methods:
        numbered = any(panel["below"]["own"] for panel in panels)
        # Numbers beside the scores, or below alone.
        more |= {"below": below, "between": 44 if numbered else 26}
    figure = draw_curves(
        "heteroscedastic",
        " ".join([describe_data(settings), *map(seen.say, methods, seen.judged)]),
        height,
        axis(seen.x_range, "x"),
        panels,
        _legend(seen, settings.bands, percent(settings.level)),
        _read(seen),
        knobs=knobs,
        facets=max(columns, 1),
        **more,
    )
    return figure.quiet if quiet else figure


def percent(level: float) -> str:
    """A level as the picture writes it."""
    return f"{100 * level:g} %"


def note_of(view: HeteroscedasticView, settings: HeteroscedasticSettings) -> str:
    """Which part a method does not have, or the factor of its conformal step."""
    if not view.parts:
        return "predicts nothing"
    if settings.conformal and view.factor != 1.0:
        return f"\u00d7 {short(view.factor)}"
    return f"{view.parts[1]} only" if len(view.parts) == 2 else ""


class DrawnScore(NamedTuple):
    """A score over x, as it is drawn."""

    key: str  # panels with the same one can share a scale
    label: str  # with its unit
    values: Array
    usual: float  # what `USUAL` % of fresh rows from where training rows are do not exceed


def judge(view: HeteroscedasticView | None, key: str) -> DrawnScore | None:
    """The score that is chosen, or the one that the method has."""
    curves = () if view is None else view.curves
    named = {curve.key: curve for curve in curves}
    curve = named.get(key) or named.get("knowledge") or (curves or (None,))[-1]
    if view is None or curve is None:
        return None
    values, label = curve.values, label_of(curve.key)
    if curve.key in PARTS:
        values = np.sqrt(values)
    if curve.key != key:
        label += f"; no {SCORES[key].lower().removesuffix(' uncertainty')}"
    # Rows are uniform where they can lie, as the places of the picture are.
    return DrawnScore(
        curve.key, label, values, float(np.quantile(values[view.support], USUAL / 100.0))
    )


def label_of(key: str) -> str:
    """A score's name with its unit, for a panel."""
    if key in PARTS:
        return f"{key}, standard deviation"
    name = SCORES[key].lower()
    if key == "inference_novelty":
        return f"|{name}|, z-score"
    return f"{name}, z-score" if key.endswith("novelty") else name


def _n_std(level: float) -> float:
    return NormalDist().inv_cdf(0.5 + level / 2.0)


class _Seen:
    """What panels share: places that are drawn, axes, and scores."""

    def __init__(
        self,
        data: HeteroscedasticData,
        settings: HeteroscedasticSettings,
        methods: Sequence[MethodPanel],
        quiet: bool,
    ) -> None:
        low, high = shown_range(settings)
        at = (data.x >= low) & (data.x <= high)
        self.x, self.support, self.true_mean = data.x[at], data.support[at], data.true_mean[at]
        self.true_std = np.sqrt(data.true_variance[at])
        self.rows = data.X[:, 0], data.y
        self.foreign = (settings.left_from, SUPPORT[0]), (SUPPORT[1], settings.right_to)
        self.settings, self.methods, self.quiet = settings, methods, quiet
        n = len(self.x)
        self.lines = np.linspace(0, n - 1, min(n, _MOST_X)).astype(np.int64)
        self.bands = np.linspace(0, n - 1, min(n, _BAND_X)).astype(np.int64)
        # Everything, and where rows can lie.
        noise = _TRUE_STDS * self.true_std
        true = np.array([self.true_mean - noise, self.true_mean + noise])
        self.axes = [
            {"x": self._ends_of(part), "y": around(data.y, true[:, part], room=_AROUND)}
            for part in (slice(None), self.support if self.support.any() else slice(None))
        ]
        self.x_range, self.y_range = (self.axes[settings.focus][name] for name in "xy")
        self.judged = [judge(panel.view, settings.score) for panel in methods]
        known = [judged for judged in self.judged if judged is not None]
        keys = list(dict.fromkeys(score.key for score in known))
        self.one_scale = not settings.own_scale and len(keys) <= 1
        self.scales = {key: self._range([j for j in known if j.key == key]) for key in keys}

    @property
    def predicting(self) -> list[HeteroscedasticView]:
        """The views that have a mean."""
        views = (panel.view for panel in self.methods)
        return [view for view in views if view is not None and view.loc is not None]

    def say(self, panel: MethodPanel, judged: DrawnScore | None) -> str:
        """A panel in a sentence: its score where rows are, and at both ends of the picture."""
        label = METHOD_STYLES[panel.method].label
        if judged is None:
            return f"{label}: {panel.note}."
        values, inside = judged.values, judged.values[self.support]
        return (
            f"{label}: where there are rows, {judged.label} lies between {short(inside.min())} and "
            f"{short(inside.max())}. At the ends of the picture it is {short(values[0])} and "
            f"{short(values[-1])}. {USUAL} % of in-distribution rows lie below "
            f"{short(judged.usual)}."
        )

    def at(self, judged: DrawnScore) -> Array:
        """Values as they are drawn."""
        return self._scaled(judged.values[self.lines], judged.usual)

    def mark(self, judged: DrawnScore) -> float:
        return float(self._scaled(np.array([judged.usual]), judged.usual)[0])

    def range_of(self, judged: DrawnScore) -> list[float]:
        return self._range([judged]) if self.settings.own_scale else self.scales[judged.key]

    def _scaled(self, values: Array, usual: float) -> Array:
        if not self.settings.log:
            return values
        least = _LEAST * usual if usual > 0.0 else _LEAST
        return np.log10(np.maximum(values, least))

    def _range(self, judged: Sequence[DrawnScore]) -> list[float]:
        every = np.concatenate([np.append(self.at(score), self.mark(score)) for score in judged])
        every = every[np.isfinite(every)]
        low = float(every.min()) if len(every) else 0.0
        high = float(every.max()) if len(every) else 1.0
        if not self.settings.log:
            low = min(low, 0.0)
        high = high if high - low > _FLAT else low + 1.0
        room = 0.06 * (high - low)
        # The name of the score stands above the curve.
        return [low - room, high + 3.5 * room]

    def _ends_of(self, at: Any) -> list[float]:
        """Of x: with a little room beside the places where rows can lie."""
        low, high = float(self.x[at][0]), float(self.x[at][-1])
        room = _BESIDE * (high - low)
        return [max(low - room, float(self.x[0])), min(high + room, float(self.x[-1]))]


def _panel(
    panel: MethodPanel,
    judged: DrawnScore | None,
    seen: _Seen,
    behind: Sequence[Part],
    truth: Sequence[Part],
) -> Part:
    style, view = METHOD_STYLES[panel.method], panel.view
    bands = [] if view is None else _bands(view, seen)
    return {
        "range": seen.y_range,
        "label": "y",
        "title": style.label,
        "note": panel.note or ("" if view is None else note_of(view, seen.settings)),
        "colour": style.colour,
        "layers": [*behind, *bands, *truth, *_mean(view, seen)],
        "below": _below(style.colour, judged, seen),
        # What knobs of the bar change, and what they need: intervals.js.
        "live": {"first": len(behind), "count": len(bands) + _NOISE_LINES, **_widths(panel, seen)},
    }


def _widths(panel: MethodPanel, seen: _Seen) -> Part:
    """A method's mean, stds and factors, from which its bands of any level are made."""
    view, levels, at = panel.view, panel.levels, seen.bands
    if view is None or levels is None:
        return {}
    plain, wrapped = (replace(seen.settings, conformal=on) for on in (False, True))
    factors = (replace(view, factor=factor) for factor in levels.factors)
    notes = [note_of(view, plain), *(note_of(scaled, wrapped) for scaled in factors)]
    live: Part = {
        "notes": [panel.note] * len(notes) if panel.note else notes,
        "factors": list(levels.factors),
    }
    if view.loc is None:
        return live
    live |= {"x": rounded(seen.x[at]), "loc": rounded(view.loc[at])}
    for name in PARTS:
        std = np.sqrt(getattr(view, name)[at])
        live[name] = rounded(std) if name in (*view.parts, "total") else None
    live["own"] = [
        None if ends is None else [rounded(end[at]) for end in ends] for ends in levels.own
    ]
    return live


def _live(seen: _Seen, at: dict[str, int | bool]) -> Part:
    """What all panels share for knobs of the bar, as intervals.js reads it."""
    few, spreads, place = seen.lines, [], 0
    for number, (panel, judged) in enumerate(zip(seen.methods, seen.judged, strict=True)):
        view = panel.view
        place += view is not None and view.loc is not None
        if view is not None and panel.levels is not None and view.parts:
            std = np.sqrt(view.data + view.knowledge)
            spreads.append({"at": place, "panel": number, "std": rounded(std[few])})
        place += judged is not None
    return {
        "kind": "intervals",
        "at": at,
        "z": [_n_std(level) for level in LEVELS],
        "widths": [percent(level) for level in LEVELS],
        "truth": {
            "x": rounded(seen.x[few]),
            "mean": rounded(seen.true_mean[few]),
            "std": rounded(seen.true_std[few]),
        },
        "look": {"data": _DATA, "knowledge": _KNOWLEDGE, "edge": _EDGE, "noise": _NOISE},
        "legend": _legend(seen, PARTS, "{}"),
        "spreads": spreads,
    }


def _bands(view: HeteroscedasticView, seen: _Seen) -> list[Part]:
    """The light band, the rim outside it from below, and the outline of the whole."""
    if view.loc is None or view.lower is None or view.upper is None:
        return []
    colour, bands, at = METHOD_STYLES[view.method].colour, seen.settings.bands, seen.bands
    x, loc, outer = seen.x[at], view.loc[at], (view.lower[at], view.upper[at])
    parts: list[Part] = []
    low = high = loc
    if view.inner_lower is not None and view.inner_upper is not None and "data" in bands:
        low, high = view.inner_lower[at], view.inner_upper[at]
        parts.append(band(x, low, high, colour, _DATA))
    if "knowledge" in view.parts and "knowledge" in bands:
        half = _n_std(seen.settings.level) * view.factor * np.sqrt(view.knowledge[at])
        rim = outer if "data" in bands else (loc - half, loc + half)
        parts.append(band(x, rim[0], low, colour, _KNOWLEDGE))
        parts.append(band(x, high, rim[1], colour, _KNOWLEDGE))
    if "total" in bands:
        parts += [line(x, end, colour, **_EDGE) for end in outer]
    return parts


def _truth(seen: _Seen) -> list[Part]:
    x, mean = seen.x[seen.lines], seen.true_mean[seen.lines]
    spread = _n_std(seen.settings.level) * seen.true_std[seen.lines]
    noise = [line(x, mean + sign * spread, **_NOISE) for sign in (-1.0, 1.0)]
    return [*noise, line(x, mean, **_TRUTH)]


def _mean(view: HeteroscedasticView | None, seen: _Seen) -> list[Part]:
    if view is None or view.loc is None:
        return []
    return [line(seen.x[seen.lines], view.loc[seen.lines], METHOD_STYLES[view.method].colour, 2.2)]


def _below(colour: str, judged: DrawnScore | None, seen: _Seen) -> Part:
    """The score, what is beyond the mark, the mark, and where the foreign rows are drawn."""
    layers = hatches(seen.x, ~seen.support)
    if judged is None:
        return {"range": [0.0, 1.0], "label": "", "layers": layers, "own": False, "empty": True}
    x, values, mark = seen.x[seen.lines], seen.at(judged), seen.mark(judged)
    ends = seen.range_of(judged)
    if math.isfinite(mark):
        above = np.maximum(values, mark)
        layers.append(band(x, np.full(len(x), mark), above, colour, _BEYOND))
        layers.append(line(x[[0, -1]], [mark, mark], **_MARK))
    layers.append(line(x, values, colour, 1.8))
    for low, high in seen.foreign:
        layers.append(line([low, high], [ends[0], ends[0]], **_SAMPLED))
    label = f"log\u2081\u2080 {judged.label}" if seen.settings.log else judged.label
    if seen.quiet:
        label += f" (dotted: {USUAL} % of rows lie below; thick: rows of another kind)"
    layers.append({"kind": "words", "text": label})
    return {"range": ends, "label": "score", "layers": layers, "own": not seen.one_scale}


def _dots(seen: _Seen) -> Part:
    x, y = seen.rows
    most = min(_MOST_DOTS, _MOST_DOTS_IN_ALL // max(len(seen.methods), 1), len(x))
    few = np.linspace(0, len(x) - 1, most).astype(np.int64)
    return {"kind": "dots", "x": rounded(x[few]), "y": rounded(y[few]), **_INK}


def _legend(seen: _Seen, bands: Sequence[str], width: str) -> list[Part]:
    """In the colour of a single method, in the page's ink for several."""
    colours = {METHOD_STYLES[panel.method].colour for panel in seen.methods}
    colour = colours.pop() if len(colours) == 1 else "text"
    views = seen.predicting
    has = {
        "data": any(view.inner_lower is not None for view in views),
        "knowledge": any("knowledge" in view.parts for view in views),
    }
    entries: list[Part] = []
    if views:
        entries.append({"name": "prediction", "kind": "line", "colour": colour, "width": 2.2})
    area = {"kind": "band", "colour": colour}
    for part, opacity, name in (
        ("data", _DATA, f"data {width}"),
        ("knowledge", _KNOWLEDGE, "knowledge, outside it"),
    ):
        if has[part] and part in bands:
            entries.append({"name": name, **area, "opacity": opacity, "part": part})
    if views and "total" in bands:
        total = {"name": "total", "kind": "line", "colour": colour, **_EDGE}
        entries.append({**total, "part": "total"})
    entries.append({"name": "true mean", "kind": "line", **_TRUTH})
    entries.append({"name": f"true {width}", "kind": "line", **_NOISE})
    entries.append({"name": "rows", "kind": "dots", **_INK, "opacity": 0.6})
    if not seen.support.all():
        entries.append({"name": "no rows", "kind": "hatch", "colour": "text"})
    if any(seen.judged):
        entries.append({"name": f"{USUAL} % of in-distribution rows", "kind": "line", **_MARK})
        entries.append({"name": "foreign rows", "kind": "line", **_SAMPLED})
    return labelled(entries, _places(seen, width)) if seen.quiet else entries


def _places(seen: _Seen, width: str) -> dict[str, list[list[float]]]:
    """Where each part is named in the panel; the lower panel names its own."""
    at = seen.bands
    mean, noise = seen.true_mean[at], _n_std(seen.settings.level) * seen.true_std[at]
    lines = {"true mean": [mean], f"true {width}": [mean - noise, mean + noise]}
    within: dict[str, list[Array]] = {}
    for view in seen.predicting[:1]:
        assert view.loc is not None
        ends = [end[at] for end in (view.lower, view.upper) if end is not None]
        lines |= {"prediction": [view.loc[at]], "total": ends}
        inner = [end[at] for end in (view.inner_lower, view.inner_upper) if end is not None]
        if inner:
            within[f"data {width}"] = [(view.loc[at] + end) / 2 for end in inner]
        pairs = zip(inner or [view.loc[at]] * 2, ends, strict=True)
        within["knowledge, outside it"] = [(near + far) / 2 for near, far in pairs]
    rows, gaps = {"rows": sum(SUPPORT) / 2}, stretches(seen.x, ~seen.support)
    return label_places(seen.x[at], (seen.x_range, seen.y_range), lines, within, rows, gaps)


def _read(seen: _Seen) -> Part:
    """Means with the std of the noise or of all uncertainty, and each score."""
    few = seen.lines
    truth = rounded(seen.true_mean[few]), rounded(seen.true_std[few])
    values: list[Part] = [{"name": "truth", "at": truth[0], "spread": truth[1]}]
    for panel, judged in zip(seen.methods, seen.judged, strict=True):
        label, view = METHOD_STYLES[panel.method].label, panel.view
        predicts = view is not None and view.loc is not None
        if view is not None and view.loc is not None:
            std = view.factor * np.sqrt(view.data + view.knowledge)
            values.append(
                {"name": label, "at": rounded(view.loc[few]), "spread": rounded(std[few])}
            )
        if judged is not None:
            name = judged.label if predicts else f"{label} {judged.label}"
            values.append({"name": name, "at": rounded(judged.values[few])})
    return {"x": rounded(seen.x[few]), "label": "x", "values": values}
