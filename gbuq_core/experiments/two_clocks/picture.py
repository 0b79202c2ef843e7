"""Two clocks as pictures: the band that follows both clocks, maps over them, curves, reliability.

The arrays over both clocks are (trees of the scale, trees of the mean); stages are the numbers of
trees that were tried, about forty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.calibration import Stages
from gbuq_core.experiments.two_clocks.fit import stage_of
from gbuq_core.experiments.two_clocks.plan import LEVELS
from gbuq_core.experiments.two_clocks.scores import TreeCurves, TwoClocksLook
from gbuq_core.figures.canvas.panels import Line, Marker, Panel, PanelSheet
from gbuq_core.figures.curves import Curves, draw_curves
from gbuq_core.figures.curves.labels import label_places, labelled
from gbuq_core.figures.curves.parts import (
    Part,
    around,
    axis,
    band,
    entry,
    line,
    panel,
    plain_dots,
    reading,
    rounded,
)
from gbuq_core.figures.theme import METHOD_STYLES
from gbuq_core.methods.papers import DARK_GREY, GREY

Array = npt.NDArray[np.float64]
Ends = tuple[float, float]

DATA_OPACITY, KNOWLEDGE_OPACITY = 0.22, 0.62
GREY_DATA_OPACITY = 0.4  # a baseline's pale grey would hardly be seen
COLOUR = METHOD_STYLES["sglb"].colour
# Of the ways to stop, in the Okabe-Ito order; the diagonal of the reliability is the page's ink.
WAY_COLOURS: Mapping[str, str] = {
    "all": "#d55e00",
    "factor": "#cc79a7",
    "early": "#e69f00",
    "clocks": "#0072b2",
}
_WAY_DASHES: Mapping[str, str] = {"all": "", "factor": "2 3", "early": "7 4", "clocks": ""}
_TRUTH: Part = {"colour": "text", "width": 1.2}
_BAND_HEIGHT, _CURVES_HEIGHT, _RELIABILITY_HEIGHT, _MAP_HEIGHT = 400, 560, 400, 300
_MOVE = "Move the sliders: the band follows."
_SWITCH = "Switch the factor on and off: the band follows."
_MOST_DOTS = 400
_THIN = 0.02  # of the height: a thinner rim has no name
_NLL_REACH = 3.0  # nats above the least that the maps' colours span
_TICKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)


class Stop(NamedTuple):
    """A place over both clocks: its name, the trees of mean and scale, and whether a factor."""

    name: str
    mean_trees: int
    scale_trees: int
    factor: bool


def stops_of(look: TwoClocksLook) -> list[Stop]:
    """Where each way to stop stands."""
    return [
        Stop(look.labels[way], clocks.mean_trees, clocks.scale_trees, way in ("factor", "clocks"))
        for way, clocks in look.clocks.items()
    ]


def shown_of(look: TwoClocksLook, clocks: tuple[int, int, bool] | None) -> Stop:
    """Where the reader's sliders stand; None is two clocks."""
    return stops_of(look)[-1] if clocks is None else Stop("shown", *clocks)


def band_figure(
    look: TwoClocksLook, shown: tuple[int, int, bool] | None = None, alt: str = ""
) -> Curves:
    """The 90 % interval over the truth, with a slider for each clock and a switch."""
    scene, stages, maps = look.fit.rows.scene, look.fit.scene, look.maps
    colour = METHOD_STYLES[look.fit.plan.model].colour
    fill = GREY_DATA_OPACITY if colour in (GREY, DARK_GREY) else DATA_OPACITY
    grows = len(stages.n_trees) > 1
    trees = [int(n) for n in stages.n_trees]
    dots = slice(0, _MOST_DOTS)
    under: list[Part] = [{"kind": "hatch", "from": low, "to": high} for low, high in scene.gaps]
    over: list[Part] = [plain_dots(scene.x_rows[dots], scene.y_rows[dots], "text", 0.35, 3.5)]
    values: list[tuple[str, Array]] = []
    area = {"kind": "band", "colour": colour}
    legend: list[Part] = [
        {"name": "knowledge", "role": "knowledge", **area, "opacity": KNOWLEDGE_OPACITY},
        {"name": "data", "role": "data", **area, "opacity": fill},
        {"name": "prediction", "role": "loc", "kind": "line", "colour": colour, "width": 2},
    ]
    if not stages.knowledge.any():
        del legend[0]
    extremes = [scene.y_rows]
    if scene.mean is not None and scene.std is not None:
        half = maps.widths[0] * scene.std
        edges = [scene.mean - half, scene.mean + half]
        over += [line(scene.x, scene.mean, dash="6 5", **_TRUTH)]
        over += [line(scene.x, edge, dash="2 3", **_TRUTH) for edge in edges]
        values = [("true mean", scene.mean), ("true 90 % from", edges[0]), ("to", edges[1])]
        legend += [
            {"name": "true mean", "kind": "line", **_TRUTH, "dash": "6 5"},
            {"name": "true 90 % interval", "kind": "line", **_TRUTH, "dash": "2 3"},
        ]
        extremes += edges
    legend.append({"name": "unseen rows", "kind": "dots", "colour": "text", "opacity": 0.6})
    if scene.gaps:
        legend.append({"name": "no rows", "kind": "hatch", "colour": "text"})
    low, high = (float(end(np.concatenate(extremes))) for end in (np.min, np.max))
    room = 0.2 * (high - low or 1.0)
    ends = (scene.x[0], scene.x[-1]), (low - room, high + room)
    return draw_curves(
        "two-clocks",
        alt,
        _BAND_HEIGHT,
        axis(ends[0], scene.label),
        [panel(ends[1], "y", [])],
        labelled(legend, _places(look, shown, ends)),
        reading(scene.x, scene.label.split(" (")[0].split(",")[0], values),
        hint=f"{_MOVE if grows else _SWITCH} Point at the picture to read values.",
        dials={
            "key": look.key,
            "labels": {"mean": "Trees for the mean", "scale": "Trees for the scale"},
            "trees": trees,
            **_place(shown_of(look, shown), stages),
            "stops": [{"name": stop.name, **_place(stop, stages)} for stop in stops_of(look)],
            "x": rounded(scene.x),
            "colour": colour,
            "fill": fill,
            "rim": KNOWLEDGE_OPACITY,
            "under": under,
            "over": over,
            "loc": rounded(stages.mean.ravel()),
            "data": rounded(stages.data.ravel()),
            "knowledge": rounded(stages.knowledge.ravel()),
            "factors": rounded(maps.factor.ravel()),
            "width": {"plain": maps.widths[0], "scaled": maps.widths[1]},
            "coverage": _both(maps.coverage_plain, maps.coverage_scaled),
            "nll": _both(maps.nll_plain, maps.nll_scaled),
            "rmse": rounded(maps.rmse),
        },
    )


def _places(
    look: TwoClocksLook, clocks: tuple[int, int, bool] | None, ends: tuple[Ends, Ends]
) -> dict[str, list[list[float]]]:
    """Where each part of the band is named, where the sliders stand."""
    scene, stages, maps = look.fit.rows.scene, look.fit.scene, look.maps
    at = _place(shown_of(look, clocks), stages)
    mean, scale = int(at["mean"]), int(at["scale"])
    times = float(maps.factor[scale, mean]) if at["factor"] else 1.0
    width = maps.widths[int(at["factor"])]
    loc, data = stages.mean[mean], times**2 * stages.data[scale]
    inner, outer = width * np.sqrt(data), width * np.sqrt(data + stages.knowledge[mean])
    lines = {"prediction": [loc]}
    if scene.mean is not None and scene.std is not None:
        half = maps.widths[0] * scene.std
        lines["true mean"] = [scene.mean]
        lines["true 90 % interval"] = [scene.mean - half, scene.mean + half]
    within = {"data": [loc + inner / 2]}
    if float((outer - inner).max()) > _THIN * (ends[1][1] - ends[1][0]):
        within["knowledge"] = [loc + (inner + outer) / 2]
    rows = {"unseen rows": float(np.median(scene.x_rows))}
    return label_places(scene.x, ends, lines, within, rows, scene.gaps)


def _place(stop: Stop, stages: Stages) -> Part:
    """Where a stop stands on the sliders."""
    return {
        "mean": stage_of(stages, stop.mean_trees),
        "scale": stage_of(stages, stop.scale_trees),
        "factor": bool(stop.factor),
    }


def _both(plain: Array, scaled: Array) -> Part:
    return {"plain": rounded(plain.ravel()), "scaled": rounded(scaled.ravel())}


def clocks_sheet(
    look: TwoClocksLook, shown: tuple[int, int, bool] | None = None, alt: str = ""
) -> PanelSheet:
    """NLL over both clocks, with the std as it is and with the best factor of each pair."""
    maps, stages = look.maps, look.fit.scoring
    trees = [int(n) for n in maps.n_trees]
    nll = (maps.nll_plain, maps.nll_scaled)
    named = [stop[1:] for stop in stops_of(look)]  # whose marks have names of their own
    mine = None if shown is None or tuple(shown) in named else shown_of(look, shown)
    df = float(maps.df)
    tails_text = "normal" if np.isinf(df) else f"t, {df:g} degrees of freedom"
    least, most = float(np.min(nll)), float(np.max(nll))
    limits = (least, max(least + 1e-6, min(most, least + _NLL_REACH)))
    panels = []
    titles = ("Std as it is", "Std times a factor")
    for has_factor, title, values in zip((False, True), titles, nll, strict=True):
        marks = [
            Marker(stage_of(stages, stop.mean_trees), stage_of(stages, stop.scale_trees), stop.name)
            for stop in stops_of(look)
            if stop.factor == has_factor
        ]
        marks = _merged(marks)
        if mine is not None and mine.factor == has_factor:
            at = (stage_of(stages, mine.mean_trees), stage_of(stages, mine.scale_trees))
            crowded = any(
                abs(mark.x - at[0]) < len(trees) / 3 and abs(mark.y - at[1]) < 4 for mark in marks
            )
            marks.append(Marker(*at, "" if crowded else "shown", "square"))
        panels.append(
            Panel(
                title=title,
                values=values,
                unit="nats",
                limits=limits,
                markers=marks,
                subtitle=tails_text if has_factor else "normal",
            )
        )
    names = [f"{n:,}" for n in trees]
    return PanelSheet(
        panels=panels,
        columns=2,
        x_label="trees for the mean",
        y_label="trees for the scale",
        x_labels=names,
        y_labels=names,
        origin="lower",
        lines=[Line([0.0, len(trees) - 1.0], [0.0, len(trees) - 1.0], dash=True)],
        panel_height=_MAP_HEIGHT,
        alt=alt,
        name="two-clocks-map",
    )


def _merged(marks: Sequence[Marker]) -> list[Marker]:
    """One mark a place, with the names of all that stand there."""
    names: dict[tuple[float, float], list[str]] = {}
    for mark in marks:
        names.setdefault((mark.x, mark.y), []).append(mark.label)
    return [Marker(x, y, " = ".join(each)) for (x, y), each in names.items()]


def curves_figure(look: TwoClocksLook, alt: str = "") -> Curves:
    """Scores against the number of trees, with one number for the mean and the scale."""
    curves, clocks = look.curves, look.clocks
    marks = {
        "early": float(clocks["early"].mean_trees),
        "clocks": float(clocks["clocks"].mean_trees),
        "factor": float(clocks["clocks"].scale_trees),
    }
    x = np.log10(curves.n_trees)
    stated = line(x, curves.stated, WAY_COLOURS["all"], dash="7 4")
    error = line(x, curves.rmse, COLOUR)
    aim = line([x[0], x[-1]], [90.0, 90.0], "text", 1.0, "3 4")
    low, most = float(np.min(curves.nll)), float(np.max(curves.nll))
    drawn = [
        ("RMSE", [error, stated], [0.0, 1.5 * float(curves.rmse[_late(curves)].max())]),
        ("coverage (%)", [aim, line(x, 100 * curves.coverage, COLOUR)], [0.0, 100.0]),
        ("NLL (nats)", [line(x, curves.nll, COLOUR)], [low - 0.2, min(most, low + 4.0) + 0.2]),
        ("CRPS", [line(x, curves.crps, COLOUR)], around(curves.crps[_late(curves)], room=0.15)),
    ]
    ticks = {
        float(np.log10(n)): f"{n:,}" for n in _TICKS if curves.n_trees[0] <= n <= curves.n_trees[-1]
    }
    numbers = [
        ("RMSE", curves.rmse),
        ("stated std", curves.stated),
        ("coverage %", 100 * curves.coverage),
        ("NLL", curves.nll),
        ("CRPS", curves.crps),
    ]
    return draw_curves(
        "two-clocks-trees",
        alt,
        _CURVES_HEIGHT,
        axis((x[0], x[-1]), "trees, for the mean and the scale alike", ticks),
        [
            panel(ends, label, [*_marks(marks, ends), *layers], 0.25)
            for label, layers, ends in drawn
        ],
        [
            entry("measured on rows that chose nothing", error),
            entry("stated std", stated),
            entry("90 %", aim),
            *(
                entry(_MARK_NAMES[way], mark)
                for way, mark in zip(marks, _marks(marks, (0.0, 1.0)), strict=True)
            ),
        ],
        reading(x, "trees", numbers, names=[f"{int(n):,}" for n in curves.n_trees]),
    )


_MARK_NAMES: Mapping[str, str] = {
    "early": "early stopping",
    "clocks": "mean clock",
    "factor": "scale clock",
}


def _marks(marks: Mapping[str, float], limits: Sequence[float]) -> list[Part]:
    """Vertical lines at numbers of trees."""
    return [
        line([np.log10(at)] * 2, limits, WAY_COLOURS[way], 1.5, "1 3") for way, at in marks.items()
    ]


def _late(curves: TreeCurves) -> npt.NDArray[np.bool_]:
    """Stages from 20 trees on: the first ones predict the mean of y and need no room."""
    late = curves.n_trees >= 20
    return late if late.any() else ~late


def reliability_figure(look: TwoClocksLook, alt: str = "") -> Curves:
    """The observed share of rows inside intervals against their level, for each way to stop."""
    labels, observed = look.labels, look.reliability
    n_rows = len(look.fit.scoring.y)
    x = 100 * np.array([0.0, *LEVELS, 1.0])
    half = 1.96 * np.sqrt(x * (100.0 - x) / n_rows)
    chance = band(x, x - half, x + half, "text", 0.12)
    ideal = line([0.0, 100.0], [0.0, 100.0], "text", 1.0, "3 4")
    shares = {way: 100 * np.concatenate([[0.0], part, [1.0]]) for way, part in observed.items()}
    lines = {
        way: line(x, part, WAY_COLOURS[way], 2.2 if way == "clocks" else 1.8, _WAY_DASHES[way])
        for way, part in shares.items()
    }
    return draw_curves(
        "two-clocks-reliability",
        alt,
        _RELIABILITY_HEIGHT,
        axis((0.0, 100.0), "level of the interval (%)"),
        [panel([0.0, 100.0], "rows inside (%)", [chance, ideal, *lines.values()])],
        [
            *(entry(labels[way], part) for way, part in lines.items()),
            entry("true, and its chance", chance),
        ],
        reading(x, "level %", [(labels[way], part) for way, part in shares.items()]),
    )
