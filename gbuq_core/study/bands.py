"""One picture over one x axis: a panel a method, with its prediction and bands beside the truth.

Data uncertainty is the light inner band, knowledge uncertainty the darker rim outside it, so that
the outer edge is the total. Below, on the same x, a score that should rise where no rows are. The
browser redraws the bands from means and stds while a knob is held.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

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
from gbuq_core.glossary import UNCERTAINTY_KINDS
from gbuq_core.presentation import short
from gbuq_core.study.members import Array, Mask, Predictive, View

USUAL = 95  # % of in-distribution rows lie below the mark
_COLUMNS = 4  # panels in a row, or 3 if there are more
_MOST_X, _BAND_X = 241, 181  # places of a line, and of a band
_MOST_DOTS, _MOST_DOTS_IN_ALL = 700, 2100
_DATA, _KNOWLEDGE, _BEYOND = 0.2, 0.48, 0.3  # opacities; the last of the area above the mark
_TRUTH: Part = {"colour": "text", "width": 1.4, "dash": "6 5"}
_NOISE: Part = {"colour": "text", "width": 0.8, "dash": "3 3"}
_INK: Part = {"colour": "text", "opacity": 0.22, "size": 3.0}
_MARK: Part = {"colour": "text", "width": 1.0, "dash": "2 3"}
_EDGE: Part = {"width": 1.2}
_SAMPLED: Part = {"colour": "text", "width": 5.0}
_BESIDE, _AROUND = 0.05, 0.06  # room beside the rows; above and below their y and the true ones
_TRUE_STDS = 2.0  # on both sides of the true mean the picture shows, whatever the level
_LEAST = 0.05  # of a score on a logarithmic scale, times its mark
_FLAT = 1e-9  # a score that is the same everywhere


class Axis(NamedTuple):
    """What is known along x: where rows can lie, the truth, and the rows."""

    x: Array  # (n_x,)
    support: Mask  # (n_x,)
    mean: Array  # (n_x,): of the truth
    std: Array  # (n_x,): of its noise
    rows: tuple[Array, Array]  # x and y
    foreign: tuple[tuple[float, float], ...] = ()  # stretches of x whose rows scores must tell


class Look(NamedTuple):
    """What a reader chose to see; the choices that the browser works out by itself."""

    levels: Sequence[float]  # that the knob of the level offers
    level: float
    parts: Sequence[str] = ("data", "knowledge")
    conformal: bool = False
    focus: bool = False  # only where rows are
    score: str = ""
    log: bool = False
    own_scale: bool = False
    names: Mapping[str, str] = {}  # of the scores


class Band(NamedTuple):
    """One method of the picture; without a view, its note says why."""

    label: str
    colour: str
    view: View | None = None
    note: str = ""

    @property
    def at(self) -> Predictive | None:
        """What it predicts, if it does."""
        return None if self.view is None or not self.view.at.parts else self.view.at


class _Score(NamedTuple):
    """A score over x, as it is drawn."""

    key: str
    label: str  # with its unit
    values: Array  # (n_x,)
    usual: float  # what `USUAL` % of fresh rows do not exceed


def bands(
    known: Axis,
    methods: Sequence[Band],
    look: Look,
    *,
    name: str,
    said: str,
    knobs: Sequence[LiveKnob] = (),
    quiet: bool = False,
    y_range: Sequence[float] | None = None,
) -> Curves:
    """Panels of methods on shared axes, with a score under each; without one, the rows alone.

    With ``quiet`` the picture is as large as its window lets it be, and its parts are named where
    they lie. ``said`` describes the data in its alternative text.
    """
    columns = len(methods) if len(methods) <= _COLUMNS else _COLUMNS - 1
    height, below = (164, 65) if len(methods) > columns else (316, 96)  # with its lower panel
    drawn = _Drawn(known, methods, look, quiet, y_range)
    behind, truth = [*hatches(known.x, ~known.support), drawn.dots()], drawn.truth()
    panels = [drawn.panel(at, behind, truth) for at in range(len(methods))]
    if not panels:
        rows = {"title": "Rows", "colour": "text", "layers": [*behind, *truth]}
        panels = [{"range": drawn.y_range, "label": "y", **rows}]
    more: Part = {}
    if knobs:
        texts = tuple(map(percent, look.levels))
        knobs = [knob._replace(texts=texts) if knob.key == "level" else knob for knob in knobs]
        more |= {"focus": drawn.axes, "live": drawn.live({knob.key: knob.value for knob in knobs})}
    if methods and look.score:
        numbered = any(panel["below"]["own"] for panel in panels)
        more |= {"below": below, "between": 44 if numbered else 26}
    figure = draw_curves(
        name, " ".join(filter(None, [said, *map(drawn.say, range(len(methods)))])), height,
        axis(drawn.x_range, "x"), panels, drawn.legend(look.parts, percent(look.level)),
        drawn.read(), knobs=knobs, facets=max(columns, 1), **more,
    )  # fmt: skip
    return figure.quiet if quiet else figure


def percent(level: float) -> str:
    """A level as the picture writes it."""
    return f"{100 * level:g} %"


def _n_std(level: float) -> float:
    return NormalDist().inv_cdf(0.5 + level / 2.0)


def _note(at: Predictive | None, factor: float) -> str:
    """Which part a method does not have, or the factor of its conformal step."""
    if at is None:
        return "predicts nothing"
    if factor != 1.0:
        return f"\u00d7 {short(factor)}"
    return f"{at.parts[1]} only" if len(at.parts) == 2 else ""


class _Drawn:
    """What panels share: places that are drawn, axes, and scores."""

    def __init__(
        self,
        known: Axis,
        methods: Sequence[Band],
        look: Look,
        quiet: bool,
        y_range: Sequence[float] | None,
    ) -> None:
        self.known, self.methods, self.look, self.quiet = known, methods, look, quiet
        n = len(known.x)
        self.lines = np.linspace(0, n - 1, min(n, _MOST_X)).astype(np.int64)
        self.bands = np.linspace(0, n - 1, min(n, _BAND_X)).astype(np.int64)
        noise = _TRUE_STDS * known.std
        true = np.array([known.mean - noise, known.mean + noise])
        self.axes = [  # everything, and where rows can lie
            {"x": self._ends_of(part), "y": self._around(true[:, part], y_range)}
            for part in (slice(None), known.support if known.support.any() else slice(None))
        ]
        self.x_range, self.y_range = (self.axes[look.focus][name] for name in "xy")
        self.scores = [self._judge(each.view) for each in methods]
        scores = [score for score in self.scores if score is not None]
        keys = list(dict.fromkeys(score.key for score in scores))
        self.one_scale = not look.own_scale and len(keys) <= 1
        self.scales = {key: self._range([s for s in scores if s.key == key]) for key in keys}
        self.place = look.levels.index(look.level)

    def factor(self, view: View) -> float:
        """Of the conformal step at the level that is shown."""
        return view.factors[self.place] if self.look.conformal and view.factors else 1.0

    def panel(self, number: int, behind: Sequence[Part], truth: Sequence[Part]) -> Part:
        each, score = self.methods[number], self.scores[number]
        at = each.at
        own = self._bands(each)
        note = each.note or ("" if each.view is None else _note(at, self.factor(each.view)))
        mean = [] if at is None else [
            line(self.known.x[self.lines], at.mean[self.lines], each.colour, 2.2)
        ]  # fmt: skip
        live = {"first": len(behind), "count": len(own) + 2, **self._widths(each)}  # 2: of noise
        below = {"below": self._below(each.colour, score)} if self.look.score else {}
        return {
            "range": self.y_range, "label": "y", "title": each.label, "note": note,
            "colour": each.colour, "layers": [*behind, *own, *truth, *mean], **below, "live": live,
        }  # fmt: skip

    def _bands(self, each: Band) -> list[Part]:
        """The light band, the rim outside it from below, and the outline of the whole."""
        if each.at is None or each.view is None:
            return []
        at, few, look = each.at, self.bands, self.look
        colour, factor, x = each.colour, self.factor(each.view), self.known.x[few]
        outer = [end[few] for end in at.interval(look.level, factor if look.conformal else None)]
        inner = _inner(at.take(few), look.level, factor, outer)
        parts: list[Part] = []
        low = high = at.mean[few]
        if inner is not None and "data" in look.parts:
            low, high = inner
            parts.append(band(x, low, high, colour, _DATA))
        if "knowledge" in at.parts and "knowledge" in look.parts:
            half = _n_std(look.level) * factor * np.sqrt(at.knowledge[few])
            rim = outer if "data" in look.parts else (at.mean[few] - half, at.mean[few] + half)
            parts.append(band(x, rim[0], low, colour, _KNOWLEDGE))
            parts.append(band(x, high, rim[1], colour, _KNOWLEDGE))
        if "total" in look.parts:
            parts += [line(x, end, colour, **_EDGE) for end in outer]
        return parts

    def _widths(self, each: Band) -> Part:
        """A method's mean, stds and factors, from which its bands of any level are made."""
        if each.view is None or not each.view.factors:
            return {}
        at, factors = each.at, each.view.factors
        notes = [_note(at, 1.0), *(_note(at, factor) for factor in factors)]
        live: Part = {
            "notes": [each.note] * len(notes) if each.note else notes,
            "factors": list(factors),
        }
        if at is None:
            return live
        few = self.bands
        live |= {"x": rounded(self.known.x[few]), "loc": rounded(at.mean[few])}
        for name in UNCERTAINTY_KINDS:
            live[name] = rounded(np.sqrt(getattr(at, name)[few])) if name in at.parts else None
        own = (at.intervals.get(level) for level in self.look.levels)
        live["own"] = [
            None if ends is None else [rounded(end[few]) for end in ends] for ends in own
        ]
        return live

    def live(self, values: Mapping[str, Any]) -> Part:
        """What all panels share for knobs of the bar, as intervals.js reads it."""
        few, spreads, place = self.lines, [], 0
        for number, (each, score) in enumerate(zip(self.methods, self.scores, strict=True)):
            place += each.at is not None
            if each.at is not None:
                std = rounded(np.sqrt(each.at.total[few]))
                spreads.append({"at": place, "panel": number, "std": std})
            place += score is not None
        known = self.known
        return {
            "kind": "intervals",
            "at": dict(values),
            "z": [_n_std(level) for level in self.look.levels],
            "widths": [percent(level) for level in self.look.levels],
            "truth": {
                "x": rounded(known.x[few]), "mean": rounded(known.mean[few]),
                "std": rounded(known.std[few]),
            },
            "look": {"data": _DATA, "knowledge": _KNOWLEDGE, "edge": _EDGE, "noise": _NOISE},
            "legend": self.legend(UNCERTAINTY_KINDS, "{}"),
            "spreads": spreads,
        }  # fmt: skip

    def truth(self) -> list[Part]:
        x, mean = self.known.x[self.lines], self.known.mean[self.lines]
        spread = _n_std(self.look.level) * self.known.std[self.lines]
        noise = [line(x, mean + sign * spread, **_NOISE) for sign in (-1.0, 1.0)]
        return [*noise, line(x, mean, **_TRUTH)]

    def dots(self) -> Part:
        x, y = self.known.rows
        most = min(_MOST_DOTS, _MOST_DOTS_IN_ALL // max(len(self.methods), 1), len(x))
        few = np.linspace(0, len(x) - 1, most).astype(np.int64)
        return {"kind": "dots", "x": rounded(x[few]), "y": rounded(y[few]), **_INK}

    def _below(self, colour: str, score: _Score | None) -> Part:
        """The score, what is beyond the mark, the mark, and where the foreign rows are drawn."""
        layers = hatches(self.known.x, ~self.known.support)
        if score is None:
            return {"range": [0.0, 1.0], "label": "", "layers": layers, "own": False, "empty": True}
        x, values = self.known.x[self.lines], self._scaled(score.values[self.lines], score.usual)
        mark = float(self._scaled(np.array([score.usual]), score.usual)[0])
        ends = self._range([score]) if self.look.own_scale else self.scales[score.key]
        if math.isfinite(mark):
            layers.append(band(x, np.full(len(x), mark), np.maximum(values, mark), colour, _BEYOND))
            layers.append(line(x[[0, -1]], [mark, mark], **_MARK))
        layers.append(line(x, values, colour, 1.8))
        layers += [line([*span], [ends[0], ends[0]], **_SAMPLED) for span in self.known.foreign]
        label = f"log\u2081\u2080 {score.label}" if self.look.log else score.label
        if self.quiet:
            label += f" (dotted: {USUAL} % of rows lie below; thick: rows of another kind)"
        layers.append({"kind": "words", "text": label})
        return {"range": ends, "label": "score", "layers": layers, "own": not self.one_scale}

    def legend(self, parts: Sequence[str], width: str) -> list[Part]:
        """In the colour of a single method, in the page's ink for several."""
        colours = {each.colour for each in self.methods}
        colour = colours.pop() if len(colours) == 1 else "text"
        views = [each.at for each in self.methods if each.at is not None]
        area = {"kind": "band", "colour": colour}
        entries: list[Part] = []
        if views:
            entries.append({"name": "prediction", "kind": "line", "colour": colour, "width": 2.2})
        if "data" in parts and any("data" in at.parts for at in views):
            entries.append({"name": f"data {width}", **area, "opacity": _DATA, "part": "data"})
        if "knowledge" in parts and any("knowledge" in at.parts for at in views):
            rim = {"name": "knowledge, outside it", **area, "opacity": _KNOWLEDGE}
            entries.append({**rim, "part": "knowledge"})
        if views and "total" in parts:
            total = {"name": "total", "kind": "line", "colour": colour, **_EDGE}
            entries.append({**total, "part": "total"})
        entries.append({"name": "true mean", "kind": "line", **_TRUTH})
        entries.append({"name": f"true {width}", "kind": "line", **_NOISE})
        entries.append({"name": "rows", "kind": "dots", **_INK, "opacity": 0.6})
        if not self.known.support.all():
            entries.append({"name": "no rows", "kind": "hatch", "colour": "text"})
        if any(self.scores):
            entries.append({"name": f"{USUAL} % of in-distribution rows", "kind": "line", **_MARK})
            entries.append({"name": "foreign rows", "kind": "line", **_SAMPLED})
        return labelled(entries, self._places(width)) if self.quiet else entries

    def _places(self, width: str) -> dict[str, list[list[float]]]:
        """Where each part is named in the panel; the lower panel names its own."""
        known, few = self.known, self.bands
        mean, noise = known.mean[few], _n_std(self.look.level) * known.std[few]
        lines = {"true mean": [mean], f"true {width}": [mean - noise, mean + noise]}
        within: dict[str, list[Array]] = {}
        for each in [each for each in self.methods if each.at is not None][:1]:
            assert each.at is not None
            assert each.view is not None
            at, factor = each.at.take(few), self.factor(each.view)
            ends = [*at.interval(self.look.level, factor if self.look.conformal else None)]
            lines |= {"prediction": [at.mean], "total": ends}
            inner = _inner(at, self.look.level, factor, ends)
            if inner is not None:
                within[f"data {width}"] = [(at.mean + end) / 2 for end in inner]
            pairs = zip(inner or [at.mean] * 2, ends, strict=True)
            within["knowledge, outside it"] = [(near + far) / 2 for near, far in pairs]
        spans = stretches(known.x, known.support)
        low, high = max(spans, key=lambda span: span[1] - span[0], default=(0.0, 0.0))
        rows = {"rows": (low + high) / 2} if spans else {}
        gaps = stretches(known.x, ~known.support)
        return label_places(known.x[few], (self.x_range, self.y_range), lines, within, rows, gaps)

    def read(self) -> Part:
        """Means with the std of the noise or of all uncertainty, and each score."""
        few, known = self.lines, self.known
        truth = {"at": rounded(known.mean[few]), "spread": rounded(known.std[few])}
        values: list[Part] = [{"name": "truth", **truth}]
        for each, score in zip(self.methods, self.scores, strict=True):
            if each.at is not None and each.view is not None:
                std = self.factor(each.view) * np.sqrt(each.at.total[few])
                mean = rounded(each.at.mean[few])
                values.append({"name": each.label, "at": mean, "spread": rounded(std)})
            if score is not None:
                name = score.label if each.at is not None else f"{each.label} {score.label}"
                values.append({"name": name, "at": rounded(score.values[few])})
        return {"x": rounded(known.x[few]), "label": "x", "values": values}

    def say(self, number: int) -> str:
        """A panel in a sentence: its score where rows are, and at both ends of the picture."""
        each, score = self.methods[number], self.scores[number]
        if score is None:
            return f"{each.label}: {each.note}." if each.note else ""
        values, inside = score.values, score.values[self.known.support]
        return (
            f"{each.label}: where there are rows, {score.label} lies between "
            f"{short(inside.min())} and {short(inside.max())}. At the ends of the picture it is "
            f"{short(values[0])} and {short(values[-1])}. {USUAL} % of in-distribution rows lie "
            f"below {short(score.usual)}."
        )

    def _judge(self, view: View | None) -> _Score | None:
        """The score that is chosen, or knowledge uncertainty, or the one that the method has."""
        if view is None or not self.look.score:
            return None
        ranking = view.at.ranking
        key = next(key for key in (self.look.score, "knowledge", ranking[-1]) if key in ranking)
        values, label = view.at.score(key), f"{key}, standard deviation"
        if key in UNCERTAINTY_KINDS:
            values = np.sqrt(values)
        else:
            label = self.look.names[key].lower()
            label = f"|{label}|" if key == "inference_novelty" else label
            label = f"{label}, z-score" if key.endswith("novelty") else label
        if key != self.look.score:
            label += f"; no {self.look.names[self.look.score].lower().removesuffix(' uncertainty')}"
        usual = float(np.quantile(values[self.known.support], USUAL / 100.0))
        return _Score(key, label, values, usual)

    def _scaled(self, values: Array, usual: float) -> Array:
        if not self.look.log:
            return values
        return np.log10(np.maximum(values, _LEAST * usual if usual > 0.0 else _LEAST))

    def _range(self, scores: Sequence[_Score]) -> list[float]:
        every = np.concatenate(
            [self._scaled(np.append(s.values[self.lines], s.usual), s.usual) for s in scores]
        )
        every = every[np.isfinite(every)]
        low, high = (float(every.min()), float(every.max())) if len(every) else (0.0, 1.0)
        low = low if self.look.log else min(low, 0.0)
        high = high if high - low > _FLAT else low + 1.0
        room = 0.06 * (high - low)
        return [low - room, high + 3.5 * room]  # the name of the score stands above the curve

    def _around(self, true: Array, y_range: Sequence[float] | None) -> list[float]:
        """Of y."""
        return list(y_range or around(self.known.rows[1], true, room=_AROUND))

    def _ends_of(self, part: Any) -> list[float]:
        """Of x: with a little room beside the places where rows can lie."""
        x = self.known.x
        low, high = float(x[part][0]), float(x[part][-1])
        room = _BESIDE * (high - low)
        return [max(low - room, float(x[0])), min(high + room, float(x[-1]))]


def _inner(at: Predictive, level: float, factor: float, outer: Sequence[Array]) -> Any:
    """The part of an interval that data uncertainty takes: all of it, where there is no other."""
    if "knowledge" not in at.parts:
        return outer
    if "data" not in at.parts:
        return None
    half = factor * float(ndtri(0.5 + level / 2.0)) * np.sqrt(at.data)
    return at.mean - half, at.mean + half
