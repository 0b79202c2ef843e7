"""Two clocks: is the stated uncertainty true, and how many trees make it so?

Every member of a boosted ensemble learns a mean and a scale (Malinin, Prokhorenkova and Ustimenko
2021). The two clocks are ours: rows held out in folds choose how many trees the mean uses, and how
many the scale. Rows that score have chosen nothing. Settings, rows, fits and scores are in
`gbuq_core.study.two_clocks_fit`.
Read from top to bottom: numbers, claims, picture, words.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from gbuq_core.calibration import Stages
from gbuq_core.calibration.splits import HELD_OUT_FROM
from gbuq_core.experiments.claims import Threshold
from gbuq_core.experiments.experiment import OURS_HELD, Rows
from gbuq_core.experiments.python_text import call_lines
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
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.figures.standalone import Section
from gbuq_core.figures.theme import METHOD_STYLES
from gbuq_core.methods import METHODS
from gbuq_core.methods.papers import DARK_GREY, GREY
from gbuq_core.presentation import percent, short
from gbuq_core.settings import plan_of
from gbuq_core.study.members import Array
from gbuq_core.study.study import Claim, Row, Run, Study, Turn
from gbuq_core.study.two_clocks_fit import (
    CYCLICAL,
    LEVELS,
    N_SCORED,
    SCORES,
    SINGLE,
    SLOPE,
    WEIGHTED,
    Grown,
    Look,
    Scene,
    TwoClocksSettings,
    clock_arguments,
    fit,
    half_width,
    rows_of,
    stage_of,
    view,
    why_not,
    write_clocks,
)

# --- Numbers --------------------------------------------------------------------------------------

LEAST_SHARE, MOST_SHARE = 0.86, 0.97  # of rows inside 90 % intervals that are true
_FACTORED = ("factor", "clocks", "scaled")  # ways that have a factor
_ROUNDING = 1e-12  # of a share, which is a count divided by the number of rows


def score(run: Run) -> dict[str, dict[str, Any]]:
    """The scores of each way to stop and of the truth, and where each way stops."""
    scores: dict[str, dict[str, Any]] = {"": {}}
    for look in run.views:
        scores |= {
            way: {"label": "The truth", "stops": "", **own, **_stops(look, way)}
            for way, own in look.scores.items()
        }
        scores[""] = _together(look)
    return scores


def _stops(look: Look, way: str) -> dict[str, Any]:
    """Where a way stops, how true its intervals are, and what the others have."""
    clocks, scores = look.clocks.get(way), look.scores
    if clocks is None:
        return {}
    trees, parts = {}, []
    if look.fit.plan.has_clocks:
        trees = {"mean_trees": clocks.mean_trees, "scale_trees": clocks.scale_trees}
        parts = [f"{clocks.mean_trees:,} trees for the mean, {clocks.scale_trees:,} for the scale"]
    if way in _FACTORED:
        parts.append(f"factor {short(clocks.factor)}")
    if not math.isinf(clocks.df):
        parts.append(f"t with {short(clocks.df)} degrees of freedom")
    share = scores[way]["coverage"]
    numbers = {
        "label": look.fit.plan.ways[way],
        "stops": f" ({', '.join(parts)})" if parts else "",
        **trees,
        "factor": clocks.factor,
        "df": clocks.df,
        "narrow": LEAST_SHARE - share - _ROUNDING,
        "true": min(share - LEAST_SHARE, MOST_SHARE - share) + _ROUNDING,
    }
    for other in look.clocks:
        numbers |= {f"{name}_{other}": scores[other][name] for name in SCORES}
        numbers |= {f"{name}_below_{other}": scores[other][name] - scores[way][name]
                    for name in SCORES}  # fmt: skip
    return numbers


def _together(look: Look) -> dict[str, Any]:
    """What is said of all ways together."""
    plan, curves = look.fit.plan, look.curves
    held = {way: percent(look.scores[way]["coverage"], 0) for way in plan.ways}
    words = "{as_is} of new rows as they are, {scaled} with one factor"
    papers, best = "As it is: the law that the model predicts.", {}
    if plan.has_clocks:
        words = (
            "{all} of new rows with all trees, {early} with plain early stopping, and {clocks} "
            "with two clocks"
        )
        papers = "All trees is the papers' way."
        best = {f"best_{name}": look.fit.scoring.n_trees[curves[name].argmin()] for name in SCORES}
    if plan.model in (*CYCLICAL, "virtual_sglb", "virtual_catboost"):
        papers = (
            "With all trees, every member takes the std after the last tree; in the papers each "
            "member has the std of its own trees."
        )
    return {"held": words.format(**held), "papers": papers, **best}


# --- Claims ---------------------------------------------------------------------------------------

_ABOVE = Threshold("margin", math.ulp(0.0), math.ulp(0.0))  # more than nothing


def _lower(key: str, text: str, name: str, way: str, other: str, chip: str = "") -> Claim:
    """One way has a lower score than another."""
    both = f"{{{name}}} against {{{name}_{other}}}"
    return Claim(
        key, text, f"with this seed, {name.upper()} is {both}.", f"{name}_below_{other}", _ABOVE,
        (way,), chip, form=f"{name.upper()} {both}",
        rule=f"Holds with a seed if the {name.upper()} is lower.",
    )  # fmt: skip


def _shares(key: str, text: str, way: str, chip: str, narrow: bool = False) -> Claim:
    """The 90 % intervals of a way hold 90 % of new rows, or about; or they are too narrow."""
    least, most = (f"{100 * share:.0f}" for share in (LEAST_SHARE, MOST_SHARE))
    shares = f"less than {least} %" if narrow else f"{least} to {most} %"
    return Claim(
        key, text, "with this seed, coverage is {coverage:percent}.",
        "narrow" if narrow else "true", _ABOVE, (way,), chip, form="coverage {coverage:percent}",
        rule=f"Holds with a seed if 90 % intervals hold {shares} of the rows.",
    )  # fmt: skip


# What the opening picture shows stands first: its bands beside the rows and beside the true ones.
CLAIMS = (
    _shares(
        "narrow", "All trees state intervals that are too narrow.", "all",
        "All trees: too narrow", narrow=True,
    ),
    _shares(
        "true", "Two clocks states intervals that are true.", "clocks",
        "Two clocks' intervals are true",
    ),
    _lower(
        "nll", "Two clocks has a lower NLL than early stopping.", "nll", "clocks", "early",
        "Lower NLL than early stopping",
    ),
    _lower(
        "crps", "Two clocks has a lower CRPS than early stopping.", "crps", "clocks", "early",
    ),
    _lower(
        "factor", "Two clocks has a lower NLL than all trees with one factor.", "nll", "clocks",
        "factor",
    ),
    _lower(
        "rmse", "Two clocks has a lower RMSE than early stopping.", "rmse", "clocks", "early",
    ),
    # Of a model without clocks
    _lower(
        "nll", "One factor has a lower NLL than the model as it is.", "nll", "scaled", "as_is",
        "One factor lowers the NLL",
    ),
    _lower(
        "crps", "One factor has a lower CRPS than the model as it is.", "crps", "scaled", "as_is",
    ),
    _shares(
        "as-it-is", "The model as it is states intervals that are true.", "as_is",
        "Intervals are true as they are",
    ),
    _shares(
        "true", "With one factor, its intervals are true.", "scaled",
        "With one factor they are true",
    ),
)  # fmt: skip


# --- Picture: the band that follows both clocks ---------------------------------------------------

DATA_OPACITY, KNOWLEDGE_OPACITY = 0.22, 0.62
GREY_DATA_OPACITY = 0.4  # a baseline's pale grey would hardly be seen
COLOUR = METHOD_STYLES["sglb"].colour
# Of the ways to stop, in the Okabe-Ito order; the diagonal of the reliability is the page's ink.
WAY_COLOURS: Mapping[str, str] = {
    "all": "#d55e00",
    "factor": "#cc79a7",
    "early": "#e69f00",
    "clocks": "#0072b2",
    "as_is": "#d55e00",
    "scaled": "#cc79a7",
}
_WAY_DASHES: Mapping[str, str] = {"factor": "2 3", "scaled": "2 3", "early": "7 4"}
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


def stops_of(look: Look) -> list[Stop]:
    """Where each way to stop stands."""
    return [
        Stop(look.fit.plan.ways[way], clocks.mean_trees, clocks.scale_trees, way in _FACTORED)
        for way, clocks in look.clocks.items()
    ]


def picture(run: Run, knobs: Sequence[LiveKnob]) -> Curves:
    """The 90 % interval over the truth, with a slider for each clock and a switch.

    Until the model is fitted, the truth and the rows alone.
    """
    scene, look = run.data.scene, next(iter(run.views), None)
    dots = slice(0, _MOST_DOTS)
    under: list[Part] = [{"kind": "hatch", "from": low, "to": high} for low, high in scene.gaps]
    over: list[Part] = [plain_dots(scene.x_rows[dots], scene.y_rows[dots], "text", 0.35, 3.5)]
    values: list[tuple[str, Array]] = []
    legend: list[Part] = []
    extremes = [scene.y_rows]
    if scene.mean is not None and scene.std is not None:
        half = half_width(math.inf) * scene.std
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
    layers: list[Part] = [*under, *over]
    hints: list[str] = []
    more: dict[str, Any] = {}
    if note := run.notes.get("model"):
        hints.append(f"{note.capitalize()}.")  # of another fit, or none yet
    if look is not None:
        shown = _shown(look, run.settings)
        legend = labelled([*_band_parts(look), *legend], _places(look, scene, shown, ends))
        hints.append(_MOVE if look.fit.plan.has_clocks else _SWITCH)
        hints.append("Point at the picture to read values.")
        more["dials"] = {**_dials(look, scene, shown), "under": under, "over": over}
        layers = []
    return draw_curves(
        "two-clocks",
        TWO_CLOCKS.describe(run) or describe_data(run.settings),
        _BAND_HEIGHT,
        axis(ends[0], scene.label),
        [panel(ends[1], "y", layers)],
        legend,
        reading(scene.x, scene.label.split(" (")[0].split(",")[0], values),
        hint=" ".join(hints),
        **more,
    )


def _shown(look: Look, settings: TwoClocksSettings) -> Stop:
    """Where the reader's sliders stand: where two clocks does, if they were not moved."""
    return stops_of(look)[-1] if settings.shown is None else Stop("shown", *settings.shown)


def _colours(look: Look) -> tuple[str, float]:
    """Of the band, and how opaque data uncertainty is."""
    colour = METHOD_STYLES[look.fit.plan.model].colour
    return colour, GREY_DATA_OPACITY if colour in (GREY, DARK_GREY) else DATA_OPACITY


def _band_parts(look: Look) -> list[Part]:
    """The band's parts in the legend."""
    colour, fill = _colours(look)
    area = {"kind": "band", "colour": colour}
    knowledge = {"name": "knowledge", "role": "knowledge", **area, "opacity": KNOWLEDGE_OPACITY}
    return [
        *([knowledge] if look.fit.scene.knowledge.any() else []),
        {"name": "data", "role": "data", **area, "opacity": fill},
        {"name": "prediction", "role": "loc", "kind": "line", "colour": colour, "width": 2},
    ]


def _dials(look: Look, scene: Scene, shown: Stop) -> Part:
    """What the browser moves the band with, as dials.js reads it."""
    stages, maps, (colour, fill) = look.fit.scene, look.maps, _colours(look)
    return {
        "key": f"{look.fit.plan} {look.tails}",
        "labels": {"mean": "Trees for the mean", "scale": "Trees for the scale"},
        "trees": [int(n) for n in stages.n_trees],
        **_place(shown, stages),
        "stops": [{"name": stop.name, **_place(stop, stages)} for stop in stops_of(look)],
        "x": rounded(scene.x),
        "colour": colour,
        "fill": fill,
        "rim": KNOWLEDGE_OPACITY,
        "loc": rounded(stages.mean.ravel()),
        "data": rounded(stages.data.ravel()),
        "knowledge": rounded(stages.knowledge.ravel()),
        "factors": rounded(maps.factor.ravel()),
        "width": dict(zip(("plain", "scaled"), maps.widths, strict=True)),
        "coverage": _both(maps.coverage),
        "nll": _both(maps.nll),
        "rmse": rounded(maps.rmse),
    }


def _places(
    look: Look, scene: Scene, shown: Stop, ends: tuple[tuple[float, float], tuple[float, float]]
) -> dict[str, list[list[float]]]:
    """Where each part of the band is named, where the sliders stand."""
    stages, maps, at = look.fit.scene, look.maps, _place(shown, look.fit.scene)
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


def _both(values: Array) -> Part:
    return {
        name: rounded(part.ravel()) for name, part in zip(("plain", "scaled"), values, strict=True)
    }


# --- Why: maps over both clocks, curves, reliability ----------------------------------------------


def why(run: Run) -> Rows:
    """The maps over both clocks, scores against the number of trees, and the reliability."""
    if not run.views:
        return []
    (look,) = run.views
    said = TWO_CLOCKS.describe(run)
    reliability = Section(
        heading="Reliability",
        curves=reliability_figure(look, said),
        caption="A line below the diagonal: intervals hold fewer rows than they say. The shaded "
        "part is chance, at 95 %.",
    )
    if not look.fit.plan.has_clocks:
        return [reliability]
    trees = Section(
        heading="Against the number of trees",
        curves=curves_figure(look, said),
        caption="The dashed line in the upper panel is what the model says its error is. One "
        "number of trees serves the mean and the scale here, and the std is as it is.",
    )
    sheet = clocks_sheet(look, run.settings, said)
    return [Section(heading="NLL over both clocks", sheet=sheet), (trees, reliability)]


def clocks_sheet(look: Look, settings: TwoClocksSettings, alt: str = "") -> PanelSheet:
    """NLL over both clocks, with the std as it is and with the best factor of each pair."""
    maps, stages, shown = look.maps, look.fit.scoring, _shown(look, settings)
    n = len(stages.n_trees)
    mine = None if shown[1:] in [stop[1:] for stop in stops_of(look)] else shown
    least, most = float(np.min(maps.nll)), float(np.max(maps.nll))
    limits = (least, max(least + 1e-6, min(most, least + _NLL_REACH)))
    tails = "normal" if np.isinf(maps.df) else f"t, {maps.df:g} degrees of freedom"
    panels = []
    titles = (("Std as it is", "normal"), ("Std times a factor", tails))
    for has_factor, (title, law), values in zip((False, True), titles, maps.nll, strict=True):
        marks = _merged(
            Marker(stage_of(stages, stop.mean_trees), stage_of(stages, stop.scale_trees), stop.name)
            for stop in stops_of(look)
            if stop.factor == has_factor
        )
        if mine is not None and mine.factor == has_factor:
            x, y = stage_of(stages, mine.mean_trees), stage_of(stages, mine.scale_trees)
            crowded = any(abs(mark.x - x) < n / 3 and abs(mark.y - y) < 4 for mark in marks)
            marks.append(Marker(x, y, "" if crowded else "shown", "square"))
        panels.append(
            Panel(
                title=title, values=values, unit="nats", limits=limits, markers=marks, subtitle=law
            )
        )
    names = [f"{int(n):,}" for n in stages.n_trees]
    return PanelSheet(
        panels=panels,
        columns=2,
        x_label="trees for the mean",
        y_label="trees for the scale",
        x_labels=names,
        y_labels=names,
        origin="lower",
        lines=[Line([0.0, n - 1.0], [0.0, n - 1.0], dash=True)],
        panel_height=_MAP_HEIGHT,
        alt=alt,
        name="two-clocks-map",
    )


def _merged(marks: Iterable[Marker]) -> list[Marker]:
    """One mark a place, with the names of all that stand there."""
    names: dict[tuple[float, float], list[str]] = {}
    for mark in marks:
        names.setdefault((mark.x, mark.y), []).append(mark.label)
    return [Marker(x, y, " = ".join(each)) for (x, y), each in names.items()]


def clicked(run: Run, panel: int, row: int, column: int) -> tuple[int, int, bool]:
    """The clocks of a cell of a map."""
    trees = run.views[0].fit.scoring.n_trees
    return int(trees[column]), int(trees[row]), panel == 1


def curves_figure(look: Look, alt: str = "") -> Curves:
    """Scores against the number of trees, with one number for the mean and the scale."""
    curves, n_trees, clocks = look.curves, look.n_trees, look.clocks
    named = (
        ("early", "early stopping", clocks["early"].mean_trees),
        ("clocks", "mean clock", clocks["clocks"].mean_trees),
        ("factor", "scale clock", clocks["clocks"].scale_trees),
    )

    def marks(limits: Sequence[float]) -> list[Part]:
        """Vertical lines at numbers of trees."""
        return [
            line([np.log10(float(at))] * 2, limits, WAY_COLOURS[way], 1.5, "1 3")
            for way, _, at in named
        ]

    # The first stages predict the mean of y and need no room.
    late = n_trees >= 20 if n_trees[-1] >= 20 else n_trees < 20
    x, share = np.log10(n_trees), 100 * curves["coverage"]
    stated = line(x, curves["stated"], WAY_COLOURS["all"], dash="7 4")
    error = line(x, curves["rmse"], COLOUR)
    aim = line([x[0], x[-1]], [90.0, 90.0], "text", 1.0, "3 4")
    low, most = float(np.min(curves["nll"])), float(np.max(curves["nll"]))
    drawn = [
        ("RMSE", [error, stated], [0.0, 1.5 * float(curves["rmse"][late].max())]),
        ("coverage (%)", [aim, line(x, share, COLOUR)], [0.0, 100.0]),
        ("NLL (nats)", [line(x, curves["nll"], COLOUR)], [low - 0.2, min(most, low + 4.0) + 0.2]),
        ("CRPS", [line(x, curves["crps"], COLOUR)], around(curves["crps"][late], room=0.15)),
    ]
    numbers = [
        ("RMSE", curves["rmse"]),
        ("stated std", curves["stated"]),
        ("coverage %", share),
        ("NLL", curves["nll"]),
        ("CRPS", curves["crps"]),
    ]
    ticks = {float(np.log10(n)): f"{n:,}" for n in _TICKS if n_trees[0] <= n <= n_trees[-1]}
    return draw_curves(
        "two-clocks-trees",
        alt,
        _CURVES_HEIGHT,
        axis((x[0], x[-1]), "trees, for the mean and the scale alike", ticks),
        [panel(ends, label, [*marks(ends), *layers], 0.25) for label, layers, ends in drawn],
        [
            entry("measured on rows that chose nothing", error),
            entry("stated std", stated),
            entry("90 %", aim),
            *(
                entry(name, mark)
                for (_, name, _), mark in zip(named, marks((0.0, 1.0)), strict=True)
            ),
        ],
        reading(x, "trees", numbers, names=[f"{int(n):,}" for n in n_trees]),
    )


def reliability_figure(look: Look, alt: str = "") -> Curves:
    """The observed share of rows inside intervals against their level, for each way to stop."""
    labels, x = look.fit.plan.ways, 100 * np.array([0.0, *LEVELS, 1.0])
    half = 1.96 * np.sqrt(x * (100.0 - x) / len(look.fit.scoring.y))
    chance = band(x, x - half, x + half, "text", 0.12)
    ideal = line([0.0, 100.0], [0.0, 100.0], "text", 1.0, "3 4")
    shares = {
        way: 100 * np.concatenate([[0.0], part, [1.0]]) for way, part in look.reliability.items()
    }
    lines = {
        way: line(
            x, part, WAY_COLOURS[way], 2.2 if way == "clocks" else 1.8, _WAY_DASHES.get(way, "")
        )
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


# --- Words ----------------------------------------------------------------------------------------


def describe_data(settings: TwoClocksSettings) -> str:
    """The rows that train and choose, and the rows that score."""
    about = {
        "five features": "Five features that all matter; the noise grows with the fourth.",
        "growing noise": "One feature; the noise grows with it.",
        "wave": "The wave: one feature with a noisy stretch and a rare one.",
        "diabetes": "442 patients and ten measurements; the target is how far the disease went.",
    }[settings.data]
    n = settings.n_rows
    who = "a fifth of them, held out," if n >= HELD_OUT_FROM else "held out in five folds, they"
    verb = "chooses" if n >= HELD_OUT_FROM else "choose"
    what, them = ("the clocks", "them") if settings.has_clocks else ("the factor", "it")
    sentences = f"{about} {n:,} rows train the model; {who} {verb} {what}. Other rows score {them}."
    label = METHODS[settings.model].label
    if settings.model in CYCLICAL:
        sentences += (
            f" {label} has a member at the end of every {settings.cycle_length} trees, and its "
            "mean can stop where at least two members are complete."
        )
    if settings.model in SINGLE:
        sentences += f" {label} is one model, so its knowledge uncertainty is 0."
    return sentences


def describe_question(settings: TwoClocksSettings) -> str:
    """What is asked, and what to move."""
    if settings.has_clocks:
        return (
            "A boosted model states how sure it is. Do its 90 % intervals hold 90 % of new rows? "
            "Move the two sliders: one stops the **mean**, the other the **scale**."
        )
    return (
        f"{METHODS[settings.model].label} states a standard deviation for each row. It does not "
        "boost a mean and a scale tree by tree, so there are no clocks to stop. Do its 90 % "
        "intervals hold 90 % of new rows? Switch the factor on and off, and watch the band over "
        "the truth."
    )


def score_columns(run: Run) -> dict[str, Any]:
    """One line a way to stop: its clocks, factor, degrees of freedom and scores."""
    columns: dict[str, Any] = {}
    for look in run.views:
        stops = [look.clocks.get(way) for way in look.scores]
        columns["way"] = [run.numbers[way]["label"] for way in look.scores]
        for name in ("mean_trees", "scale_trees", "factor", "df"):
            columns[name] = [getattr(each, name, math.nan) for each in stops]
        for name in SCORES:
            column = "coverage_90" if name == "coverage" else name
            columns[column] = [scores[name] for scores in look.scores.values()]
    return {name: np.array(column, dtype=object) for name, column in columns.items()}


def map_columns(run: Run) -> dict[str, Any]:
    """One line a pair of clocks: NLL and coverage without and with a factor, and the factor."""
    if not run.views:
        return {}
    (look,) = run.views
    maps, trees = look.maps, look.fit.scoring.n_trees
    mean, scale = np.meshgrid(trees, trees, indexing="ij")
    columns = {"mean_trees": mean, "scale_trees": scale}
    for at, with_factor in enumerate(("", "_with_factor")):
        columns[f"nll{with_factor}"] = maps.nll[at].T
        columns[f"coverage_90{with_factor}"] = maps.coverage[at].T
    return {**columns, "factor": maps.factor.T}


_MAKERS = {
    "five features": "make_friedman",
    "growing noise": "make_heteroscedastic",
    "wave": "make_wave",
}
_SCORES = """
def show(name, law):
    lower, upper = law.interval(0.9)
    print(name)
    print("  coverage:", np.mean((lower <= y_scored) & (y_scored <= upper)))
    print("  NLL:", log_scores(law, y_scored, find_resolution(y)).mean)
    print("  CRPS:", law.crps(y_scored).mean())
    print("  RMSE:", np.sqrt(np.mean((law.loc - y_scored) ** 2)))

"""
_SHOW = """
for stopping in (None, "early", "two_clocks"):
    model = BoostedEnsembleRegressor(stopping=stopping, **knobs).fit(X, y)
    if model.clocks_ is not None:
        clocks = model.clocks_
        print("trees:", clocks.mean_trees, clocks.scale_trees, "factor:", clocks.factor)
    show(f"stopping: {stopping}", model.predict_distribution(X_scored))
"""
_SHOW_WRAPPED = """
for method, name in (("scale", "one factor"), ("two_clocks", "two clocks")):
    wrapped = CalibratedRegressor(
        model(), method=method, tails=tails, random_state=seed, shape="moments", floor=False
    )
    wrapped.fit(X, y)
    if wrapped.clocks_ is not None:
        clocks = wrapped.clocks_
        print("trees:", clocks.mean_trees, clocks.scale_trees, "factor:", clocks.factor)
    show(name, wrapped.predict_distribution(X_scored))
"""
_CATBOOST = """
raw = model().fit(X, y).predict(X_scored, prediction_type="RawFormulaVal")
show("all trees", NormalDistribution(raw[:, 0], np.exp(raw[:, 1])))
"""
_NGBOOST = """
law = model().fit(X, y).pred_dist(X_scored)
show("all trees", NormalDistribution(law.loc, law.scale))
"""
_SHOW_SCALED = """
show("as it is", model().fit(X, y).predict_distribution(X_scored))
wrapped = CalibratedRegressor(
    model(), method="scale", tails=tails, random_state=seed, shape="moments", floor=False
)
wrapped.fit(X, y)
print("factor:", wrapped.factor_)
show("one factor", wrapped.predict_distribution(X_scored))
"""
_METRICS = "from gbuq_core.metrics import find_resolution, log_scores"
_NORMAL = "from gbuq_core.distribution import NormalDistribution"
# Other libraries' imports, ours, what makes the model, and what is said of it.
_LIBRARIES: Mapping[str, tuple[tuple[str, ...], str, str, str]] = {
    "catboost": (
        ("from catboost import CatBoostRegressor",),
        _NORMAL,
        "CatBoostRegressor",
        _CATBOOST + _SHOW_WRAPPED,
    ),
    "ngboost": (
        ("from ngboost import NGBRegressor", "from sklearn.tree import DecisionTreeRegressor"),
        _NORMAL,
        "NGBRegressor",
        _NGBOOST + _SHOW_WRAPPED,
    ),
}


def two_clocks_code(settings: TwoClocksSettings) -> str:
    """Python that fits the model, stops it and scores it.

    An ensemble: all trees, early stopping and two clocks. CatBoost and NGBoost: all trees, one
    factor and two clocks. A model without clocks: as it is, and with one factor.
    """
    plan = plan_of(settings)
    if plan.model not in WEIGHTED:
        return _code_of_wrapped(plan, settings.tails)
    knobs = {**clock_arguments(plan), "tails": settings.tails}
    del knobs["stopping"]
    lines = ["import numpy as np", ""]
    lines += _rows_code(plan, ["from gbuq_core import BoostedEnsembleRegressor", _METRICS])
    lines += call_lines("knobs = dict", knobs)
    return "\n".join(lines) + "\n\n" + _SCORES + _SHOW


def _code_of_wrapped(plan: TwoClocksSettings, tails: str) -> str:
    """The same of a model that `CalibratedRegressor` stops or scales."""
    of_method = f'METHODS["{plan.model}"].make'
    other = (), "from gbuq_core.methods import METHODS", of_method, _SHOW_SCALED
    theirs, ours, maker, show = _LIBRARIES.get(plan.model, other)
    imports = ["from gbuq_core import CalibratedRegressor", ours, _METRICS]
    lines = ["import numpy as np", *theirs, "", *_rows_code(plan, imports)]
    lines += [f'seed, tails = {plan.seed}, "{tails}"', "", "", "def model():"]
    lines += [f"    {line}" for line in call_lines(f"return {maker}", clock_arguments(plan))]
    return "\n".join(lines) + "\n\n" + _SCORES + show


def _rows_code(plan: TwoClocksSettings, imports: list[str]) -> list[str]:
    """Lines that import what is left and make the rows."""
    if plan.data == "diabetes":
        return [
            "from sklearn.datasets import load_diabetes",
            "",
            *imports,
            "",
            "every_X, every_y = load_diabetes(return_X_y=True, scaled=False)",
            f"order = np.random.default_rng([{plan.seed}, 5]).permutation(len(every_y))",
            f"X, y = every_X[order[:{plan.n_rows}]], every_y[order[:{plan.n_rows}]]",
            f"X_scored, y_scored = every_X[order[{plan.n_rows}:]], every_y[order[{plan.n_rows}:]]",
        ]
    maker = _MAKERS[plan.data]
    noise = SLOPE * plan.noise if plan.data == "growing noise" else plan.noise
    return [
        *imports,
        f"from gbuq_core.synthetic import {maker}",
        "",
        f"rows = {maker}({plan.rows}, {noise!r}, random_state={plan.seed})",
        f"scored = {maker}({N_SCORED}, {noise!r}, random_state=[{plan.seed}, 2])",
        "X, y, X_scored, y_scored = rows.X, rows.y, scored.X, scored.y",
    ]


TWO_CLOCKS = Study(
    name="two_clocks",
    question="Is the stated uncertainty true?",
    lede=describe_question,
    settings=TwoClocksSettings,
    # One feature, whose unseen rows are the dots: they and the verdicts say the same.
    beginning=TwoClocksSettings(data="growing noise", rows=200),
    methods={"model": SimpleNamespace(label="Two clocks")},
    data=rows_of,
    fit=fit,
    kind=Grown,
    bits=13,
    view=view,
    viewed=("tails",),
    why_not=why_not,
    picture=picture,
    curves=True,
    together=True,
    turn=Turn("clocks", write_clocks, clicked, "Click a cell of a map to move the sliders there."),
    score=score,
    claims=CLAIMS,
    held=OURS_HELD,
    why=why,
    scorecard={
        "Scores": (
            Row("Trees for the mean", "mean_trees", ","),
            Row("Trees for the scale", "scale_trees", ","),
            Row("Factor", "factor", ""),
            Row("Coverage", "coverage", "percent"),
            Row("NLL", "nll", ""),
            Row("RMSE", "rmse", ""),
            Row("CRPS", "crps", ""),
        )
    },
    caption="On rows that neither trained nor chose anything, with this seed. Coverage is the "
    "share inside 90 % intervals; NLL is in nats, RMSE and CRPS in units of y. {papers} One "
    "factor multiplies every std.",
    answer="90 % intervals hold {held}.",
    said="With one number of trees for both, the RMSE is least at {best_rmse:,} trees and the NLL "
    "at {best_nll:,}.",
    said_of=(
        "{label}{stops}: 90 % intervals hold {coverage:percent} of the rows, NLL {nll}, RMSE "
        "{rmse}, CRPS {crps}.",
    ),
    files={"Scores": score_columns, "Maps": map_columns},
    copied=two_clocks_code,
    reading=lambda run: describe_data(run.settings),
    first=(),  # its knobs are in the picture
    presets=(
        (
            "Five features",
            {},
            "Five features, 500 rows. Does the mean stop early here, too? How far apart are the "
            "clocks?",
        ),
        (
            "Paper settings",
            {"mean_weight": 1.0, "depth": 6, "members": 10},
            "Ten models of depth 6 with the papers' weight of the mean. They use all trees.",
        ),
    ),
    story=(
        ("One clock stops the mean, another the std. Do the bands hold what they say?", {}),
        ("The same with 100 rows. Which clock stops first?", {"rows": 100}),
        (
            "Five features, 500 rows. Where do both clocks stop?",
            {"data": "five features", "rows": 500},
        ),
    ),
    title="Two clocks",
    lead="Is the stated uncertainty true? The mean of a boosted ensemble and its scale stop at "
    "different numbers of trees, which rows held out of the training choose.",
    equations=r"""
The ensemble is that of Malinin, Prokhorenkova and Ustimenko, [Uncertainty in gradient boosting via
ensembles](https://arxiv.org/abs/2006.10562): every member boosts a mean and a log std by the
likelihood (equation 9), and the variances add up (equation 6). The paper uses all trees. Two clocks
is ours. On rows that a fold has not seen, the mean clock a has the least squared error, and then
the scale clock b and the factor g have the least NLL:

$$
a=\arg\min_t\sum_i\bigl(y_i-\bar\mu^{(t)}(x_i)\bigr)^2,\qquad
(b,g)=\arg\min_{t,g}\;-\sum_i\log p\bigl(y_i\mid\bar\mu^{(a)}(x_i),
v^{(t)}_g(x_i)\bigr)
$$

$$
\underbrace{v^{(b)}_g(x)}_{\text{total}}=
\underbrace{\frac{g^2}{M}\sum_m\bigl(\sigma_m^{(b)}(x)\bigr)^2}_{\text{data}}+
\underbrace{\frac1M\sum_m\bigl(\mu_m^{(a)}(x)-\bar\mu^{(a)}(x)\bigr)^2}
_{\text{knowledge}}
$$

The factor scales data uncertainty only. p is a normal, or a Student t with the same std whose
degrees of freedom are chosen too. Early stopping takes one number of trees for both, by the NLL.
CatBoost and NGBoost are one model each, as their users train them, so their knowledge is 0. The
mean of a cyclical ensemble can stop only at the end of a cycle, once two members are complete. A
method without clocks has only the factor. Early in training, the mean fits structure and the scale
fits noise. Later, the training rows are fitted so closely that their residuals no longer show the
noise, and the scale collapses.
""",
    terms=(
        "mean_clock",
        "scale_clock",
        "total",
        "data",
        "knowledge",
        "coverage",
        "nll",
        "crps",
        "rmse",
    ),
    departures="Boosting",
)
