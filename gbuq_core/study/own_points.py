"""Own points: the reader places points on a line or in a plane, and every method answers at once.

Nobody knows the truth here, so no paper's claim is checked. Read from top to bottom: data,
settings, fit, numbers, pictures, words.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gbuq_core.errors import refusal_of_call
from gbuq_core.experiments.experiment import OURS_HELD, Single
from gbuq_core.experiments.opening import Opening
from gbuq_core.experiments.placed import (
    MOST_POINTS,
    OWN_START,
    PATTERNS,
    Points,
    check_points,
    decode_points,
    encode_points,
    why_no_fit,
)
from gbuq_core.figures.canvas.panels import Panel, PanelSheet, shared_limits
from gbuq_core.figures.canvas.panels import Points as Dots
from gbuq_core.figures.curves import Curves, draw_curves
from gbuq_core.figures.curves.parts import Part, axis, band, hatches, line, plain_dots, rounded
from gbuq_core.figures.standalone import Section
from gbuq_core.glossary import UNCERTAINTY_KINDS
from gbuq_core.jobs import stage
from gbuq_core.methods import METHODS
from gbuq_core.presentation import csv_text, digits
from gbuq_core.settings import Codec, plan_of, setting
from gbuq_core.study.members import Array, Mask, Predictive
from gbuq_core.study.study import STORED, fill

# --- Data -----------------------------------------------------------------------------------------

SIDE, END = 41, 3.0  # of a map: cells, and how far it reaches from 0
ALONG, ACROSS, PLACES = 4.0, 2.0, 400  # of a line: how far it reaches at least, and its places
NEAR = {"line": 0.25, "plane": 0.5}  # a place as near as that to a point is one with points
CLASSES = ("blue", "orange")
COLOURS = ("#0072b2", "#e69f00")
_ARC = np.linspace(0.0, math.pi, 14)
# Two crescents, of the classes 0 and 1
PLANE_START: Points = check_points(
    [*zip(1.5 * np.cos(_ARC) - 0.7, 1.5 * np.sin(_ARC) - 0.4, 0.0 * _ARC, strict=True)]
    + [*zip(0.7 - 1.5 * np.cos(_ARC), 0.4 - 1.5 * np.sin(_ARC), 0.0 * _ARC + 1.0, strict=True)],
    size=3,
)


class Board(NamedTuple):
    """The points, and the places that are predicted."""

    X: Array  # (n_points, 1 or 2)
    y: Array  # values, or classes
    grid: Array  # (n_places, 1 or 2)
    near: Mask  # (n_places,): whether there are points
    problem: str  # why nothing can be fitted; empty if it can


def board(settings: OwnPointsSettings) -> Board:
    """What the reader has placed."""
    if settings.where == "line":
        placed = np.array(settings.points).reshape(-1, 2)
        ends = _ends(placed[:, 0], ALONG)  # which stay while points lie between them
        grid = np.linspace(*ends, PLACES)[:, None]
        apart = np.abs(grid - placed[:, 0]).min(axis=1, initial=np.inf)
        problem = why_no_fit(settings.points)
        return Board(placed[:, :1], placed[:, 1], grid, apart <= NEAR["line"], problem)
    placed = np.array(settings.plane).reshape(-1, 3)
    at = np.linspace(-END, END, SIDE)
    grid = np.stack(np.meshgrid(at, at), axis=-1).reshape(-1, 2)
    apart = np.linalg.norm(grid[:, None] - placed[:, :2], axis=2).min(axis=1, initial=np.inf)
    counts = np.bincount(placed[:, 2].astype(np.int64), minlength=2)
    problem = ""
    if counts.min() < 2:
        fewer = CLASSES[int(counts.argmin())]
        problem = f"Training needs at least 2 points of each colour: add {fewer} points."
    return Board(placed[:, :2], placed[:, 2], grid, apart <= NEAR["plane"], problem)


def _ends(values: Array, least: float) -> tuple[float, float]:
    """Where an axis ends: at whole numbers beyond the values."""
    low, high = (float(end) for end in (values.min(initial=-least), values.max(initial=least)))
    return float(math.floor(low)), float(math.ceil(high))


def click(settings: OwnPointsSettings, row: int, column: int) -> Points:
    """The plane's points after a click on a cell: one more, or none in that cell."""
    at = np.linspace(-END, END, SIDE)
    x, y, half = at[column], at[row], END / (SIDE - 1)
    kept = [p for p in settings.plane if abs(p[0] - x) > half or abs(p[1] - y) > half]
    new = [] if len(kept) < len(settings.plane) else [(x, y, CLASSES.index(settings.adds))]
    return check_points([*kept, *new], size=3)


# --- Settings -------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class OwnPointsSettings:
    """Where the points lie, and the points."""

    where: str = setting(
        "line", "Your points lie", group="data", named={"on a line": "line", "in a plane": "plane"},
        help="Values along a line, or two classes in a plane.",
    )  # fmt: skip
    adds: str = setting(
        "blue", "A click adds", group="view", choices=CLASSES, drawn=True,
        uses=lambda settings: settings.where == "plane",
    )  # fmt: skip
    points: tuple[tuple[float, ...], ...] = setting(
        OWN_START, "Points on the line", group="page", fits=True,
        uses=lambda settings: settings.where == "line",
        codec=Codec(decode_points, encode_points), pattern=PATTERNS[2],
        check=partial(refusal_of_call, decode_points), most=20 * MOST_POINTS,
        help="Points as x_y with a tilde between them: -1.25_0.5~0_0.333",
    )  # fmt: skip
    plane: tuple[tuple[float, ...], ...] = setting(
        PLANE_START, "Points in the plane", group="page", fits=True,
        uses=lambda settings: settings.where == "plane",
        codec=Codec(partial(decode_points, size=3), encode_points), pattern=PATTERNS[3],
        check=partial(refusal_of_call, partial(decode_points, size=3)), most=22 * MOST_POINTS,
        help="Points as x_y_class with a tilde between them: -1.25_0.5_0~0_0.333_1",
    )  # fmt: skip
    seed: int = setting(0, "Seed", group="data", low=0, high=30, step=1)


# --- Fit ------------------------------------------------------------------------------------------


class Answering(NamedTuple):
    """A method that answers: what it is in words, and its estimator's arguments."""

    words: str
    arguments: Mapping[str, Any]
    first: Mapping[str, Any] | None  # of the first picture, which takes less; None: none


_MODELS = {"depth": 3, "n_members": 10, "n_trees": 300}
_FEW_MODELS = {"n_members": 5, "n_trees": 60}
_CUT = {"depth": 3, "n_trees": 1000, "truncation_step": 50}
_FEW_CUTS = {"n_trees": 200, "truncation_step": 10}
_LEAVES, _FEW = {"n_trees": 100, "min_child_samples": 3}, {"n_trees": 20}
ANSWERING: Mapping[str, Mapping[str, Answering]] = {
    "line": {
        "sglb": Answering("ten boosted models", _MODELS, _FEW_MODELS),
        "virtual_sglb": Answering("one boosted model, cut", _CUT, _FEW_CUTS),
        "macau_linear": Answering("a forest of lines", _LEAVES, _FEW),
        "macau_basic": Answering("a forest of means", _LEAVES, _FEW),
        "ibug": Answering("similar points", {}, {}),
        "vst": Answering(
            "a soft tree", {"n_steps": 1500, "beta": 8.0, "n_restarts": 3}, {"n_steps": 150}
        ),
        "gp": Answering("smooth functions", {}, {"n_restarts": 0}),
        "stacked": Answering("trees and a process", {}, None),
    },
    "plane": {  # MACAU and soft trees have no entropies of classes
        "sglb": Answering("ten boosted models", _MODELS, _FEW_MODELS),
        "virtual_sglb": Answering("one boosted model, cut", _CUT, _FEW_CUTS),
        "csglb": Answering(
            "one model in cycles", {"depth": 3, "n_trees": 600, "cycle_length": 60}, {}
        ),
        "vrf": Answering(
            "a random forest", {"n_groups": 10, "trees_per_group": 10}, {"trees_per_group": 3}
        ),
        "stacked": Answering("trees and a process", {}, None),
    },
}
TASKS = {"line": "regression", "plane": "classification"}


class OwnPoints(NamedTuple):
    """What the methods say of the points."""

    settings: OwnPointsSettings
    board: Board
    seen: Mapping[str, Predictive]  # by method
    seconds: float
    whole: bool  # whether it is more than the first picture


def arguments_of(settings: OwnPointsSettings, key: str, whole: bool = True) -> dict[str, Any]:
    """What a method's estimator is given."""
    answering = ANSWERING[settings.where][key]
    given = {**answering.arguments, "random_state": settings.seed}
    return given if whole else {**given, **(answering.first or {})}


def fit(plan: OwnPointsSettings, whole: bool = True) -> OwnPoints:
    """Train every method, or those of the first picture with fewer trees and steps."""
    began, here = time.perf_counter(), board(plan)
    methods = ANSWERING[plan.where]
    chosen = [key for key in methods if whole or methods[key].first is not None]
    seen = {}
    with stage(len(chosen)):
        for key in () if here.problem else chosen:
            with stage(1, span=1):
                model = METHODS[key].make(TASKS[plan.where], **arguments_of(plan, key, whole))
                seen[key] = _ask(model.fit(here.X, here.y), here.grid, METHODS[key].parts)
    return OwnPoints(plan, here, seen, time.perf_counter() - began, whole)


def _ask(model: Any, grid: Array, parts: Sequence[str]) -> Predictive:
    """What a fitted model says at places; NaN for a part that its method does not have."""
    if hasattr(model, "predict_proba"):
        mean = model.predict_proba(grid)[:, 1]
        return Predictive(mean, *model.predict_uncertainty(grid))
    total, data, knowledge = (np.asarray(part) for part in model.predict_uncertainty(grid))
    knowledge = knowledge if "knowledge" in parts else np.full(len(grid), np.nan)
    return Predictive(model.predict(grid), total, data, knowledge)


OPENING = Opening(
    name="own_points",
    folder=STORED,
    kind=OwnPoints,
    make=fit,
    plans=lambda: [plan_of(OwnPointsSettings(where=where)) for where in ANSWERING],
    afresh=lambda plan: {"settings": plan, "board": board(plan)},
)


# --- Numbers --------------------------------------------------------------------------------------


def score(run: OwnPoints) -> dict[str, dict[str, Any]]:
    """Each method's mean uncertainty where points are and where none are: stds of y, or nats."""
    scores = {}
    for key, at in run.seen.items():
        numbers: dict[str, Any] = {"label": METHODS[key].label}
        for kind in UNCERTAINTY_KINDS:
            values = _shown(getattr(at, kind), run.settings.where)
            for name, where in (("near", run.board.near), ("far", ~run.board.near)):
                known = values[where]
                numbers[f"{kind}_{name}"] = float(known.mean()) if len(known) else math.nan
        numbers["grows"] = numbers["knowledge_far"] / (numbers["knowledge_near"] or math.nan)
        scores[key] = numbers
    return scores


def _shown(values: Array, where: str) -> Array:
    return np.sqrt(values) if where == "line" else values


# --- Pictures -------------------------------------------------------------------------------------

N_STD = 2.0  # of the bands
_DATA, _KNOWLEDGE = 0.2, 0.48  # opacities
_INK: Part = {"colour": "text", "opacity": 0.85, "size": 6.0}
_HINT = "Click an empty place to add a point. Drag a point to move it. Click a point to remove it."
FIRST, FOLLOWS = "a first look, with fewer trees", "follows"


def _note(run: OwnPoints, key: str) -> str:
    """What a method is in words, or what is missing of it."""
    if run.whole or run.board.problem:
        return ANSWERING[run.settings.where][key].words
    return FIRST if key in run.seen else FOLLOWS


def line_figure(run: OwnPoints) -> Curves:
    """A panel a method: its prediction, data uncertainty, and knowledge uncertainty outside it."""
    here, x = run.board, run.board.grid[:, 0]
    behind = hatches(x, ~here.near) if len(here.X) else []
    dots = plain_dots(here.X[:, 0], here.y, **_INK)
    frame = {"range": list(_ends(here.y, ACROSS)), "label": "y"}
    panels, read = [], []
    for key in ANSWERING["line"]:  # all of them always: no panel jumps
        method, at = METHODS[key], run.seen.get(key)
        title = {"title": method.label, "colour": method.colour, "note": _note(run, key)}
        if at is None:
            panels.append({**frame, **title, "layers": [*behind, dots]})
            continue
        knowledge = np.nan_to_num(at.knowledge)
        inner, outer = (N_STD * np.sqrt(part) for part in (at.data, at.data + knowledge))
        bands = ((-outer, -inner, _KNOWLEDGE), (-inner, inner, _DATA), (inner, outer, _KNOWLEDGE))
        layers = [band(x, at.mean + a, at.mean + b, method.colour, o) for a, b, o in bands]
        layers += [dots, line(x, at.mean, method.colour, 2.2)]
        panels.append({**frame, **title, "layers": [*behind, *layers]})
        spread = rounded(np.sqrt(at.total))
        read.append({"name": method.label, "at": rounded(at.mean), "spread": spread})
    legend = [
        {"name": "prediction", "kind": "line", "colour": "text", "width": 2.2},
        {"name": f"data, {N_STD:g} std", "kind": "band", "colour": "text", "opacity": _DATA},
        {"name": "knowledge, outside it", "kind": "band", "colour": "text", "opacity": _KNOWLEDGE},
        {"name": "your points", "kind": "dots", **_INK},
        {"name": "none of your points", "kind": "hatch", "colour": "text"},
    ]
    return draw_curves(
        "own-points", describe(run), 312, axis([x[0], x[-1]], "x"),
        panels, legend, {"x": rounded(x), "label": "x", "values": read}, hint=_HINT,
        facets=-(-len(panels) // 2), place={"x": here.X[:, 0].tolist(), "y": here.y.tolist()},
    )  # fmt: skip


def plane_sheet(run: OwnPoints) -> PanelSheet:
    """A column a method: total, data and knowledge below each other; a click places a point."""
    here, shape = run.board, (SIDE, SIDE)
    dots = Dots(
        here.X[:, 0], here.X[:, 1], group=here.y.astype(np.int64), group_names=CLASSES,
        colours=COLOURS, radius=3.5, opacity=1.0,
    )  # fmt: skip
    none, seen = np.full(shape, np.nan), run.seen
    knowledge = shared_limits([at.knowledge for at in seen.values()] or [[0.0]])
    panels = [
        Panel(
            title=f"{METHODS[key].label}: {kind}",
            values=getattr(seen[key], kind).reshape(shape) if key in seen else none,
            unit="nats",
            limits=knowledge if kind == "knowledge" else (0.0, math.log(2.0)),
            points=dots,
            subtitle=_note(run, key),
            accent=METHODS[key].colour,
        )
        for kind in reversed(UNCERTAINTY_KINDS)  # what no points tell stands first
        for key in ANSWERING["plane"]
    ]
    return PanelSheet(
        panels=panels, columns=len(ANSWERING["plane"]), x_label="x", y_label="y",
        x_extent=(-END, END), y_extent=(-END, END), origin="lower", panel_height=170, together=2,
        name="own-points", alt=describe(run),
    )  # fmt: skip


# --- Words ----------------------------------------------------------------------------------------


def answer(run: OwnPoints) -> str:
    """Whose knowledge uncertainty grows most and least where no points are."""
    known = [n for n in score(run).values() if math.isfinite(n["grows"])]
    if not known:
        return ""
    most, least = (pick(known, key=lambda n: n["grows"]) for pick in (max, min))
    words = fill(
        "{label} notices most: away from your points its knowledge uncertainty is {grows:times} "
        "what it is near them.",
        most,
    )
    if most is least:
        return words
    return f"{words} {fill('{label} notices least: {grows:times}.', least)}"


def describe(run: OwnPoints) -> str:
    """The picture in words."""
    n = len(run.board.X)
    place = {"line": "on a line", "plane": "in a plane"}[run.settings.where]
    words = f"{n} point{'s' * (n != 1)} {place}." if n else "No points."
    if run.seen and not run.whole:
        words += f" This is {FIRST}."
    said = "{label}: knowledge uncertainty {knowledge_near} near points and {knowledge_far} away."
    return " ".join([words, *filter(None, (fill(said, each) for each in score(run).values()))])


def scorecard(run: OwnPoints) -> Section:
    """A line a method: each uncertainty near the points and away from them."""
    unit = "standard deviations of y" if run.settings.where == "line" else "nats"
    heads = [f"{kind}, {place}" for kind in UNCERTAINTY_KINDS for place in ("near", "away")]
    names = [f"{kind}_{place}" for kind in UNCERTAINTY_KINDS for place in ("near", "far")]
    rows = [(n["label"], *(digits(n[name]) for name in names)) for n in score(run).values()]
    caption = f"Means over the places near your points and away from them, in {unit}."
    return Section(heading="Scorecard", table=[("", *heads), *rows], caption=caption)


def code(run: OwnPoints) -> str:
    """Python that fits the methods to the points."""
    where = run.settings.where
    given = {key: arguments_of(run.settings, key) for key in ANSWERING[where]}
    ends = f"{float(run.board.grid[0, 0])!r}, {float(run.board.grid[-1, 0])!r}"
    grid = f"np.linspace({ends}, {len(run.board.grid)})[:, None]"
    if where == "plane":
        at = f"np.linspace({ends}, {SIDE})"
        grid = f"np.stack(np.meshgrid({at}, {at}), axis=-1).reshape(-1, 2)"
    return f"""import numpy as np
from gbuq_core.methods import METHODS

X = np.array({run.board.X.tolist()})
y = np.array({run.board.y.tolist()})
grid = {grid}
given = {{
{"".join(f"    {key!r}: {arguments!r},{chr(10)}" for key, arguments in given.items())}}}
uncertainty = {{}}
for key, arguments in given.items():
    model = METHODS[key].make({TASKS[where]!r}, **arguments).fit(X, y)
    uncertainty[METHODS[key].label] = model.predict_uncertainty(grid)
    print(METHODS[key].label, uncertainty[METHODS[key].label].knowledge.mean())
"""


def places_csv(run: OwnPoints) -> str:
    """One line a place: what every method says there."""
    names, columns = ["x", "y"][: run.board.grid.shape[1]], [*run.board.grid.T]
    for key, at in run.seen.items():
        names += [f"{key}_{part}" for part in ("mean", *UNCERTAINTY_KINDS)]
        columns += at.moments
    return csv_text(names, zip(*columns, strict=True))


def pictures(run: OwnPoints, knobs: Sequence[Any]) -> dict[str, Section]:
    """The figure of a line, or the maps of a plane."""
    if run.settings.where == "line":
        return {"own-line": Section(curves=line_figure(run))}
    return {"own-plane": Section(sheet=plane_sheet(run))}


LEDES = {
    "line": "Click in a picture to place points, and watch every method: the light band is "
    "**data** uncertainty, the dark rim **knowledge**. Leave a gap. Who notices?",
    "plane": "Click in a map to place points of two colours, and watch every method: its "
    "**knowledge** uncertainty should rise where no points are. Whose does?",
}
OWN_POINTS = Single(
    name="own_points",
    question="What does each method make of your points?",
    lede=lambda settings: LEDES[settings.where],
    settings=OwnPointsSettings,
    label="All methods",
    wait=0.0,  # the first look is there meanwhile
    fit=fit,
    stored=lambda settings: OPENING.find(plan_of(settings)),
    quick=partial(fit, whole=False),
    look=lambda run, settings, keep: run,
    notes=lambda run: [run.board.problem] if run.board.problem else [],
    pictures=pictures,
    followed=("points",),
    words=describe,
    claims=lambda run: (),
    held=OURS_HELD,
    silence=lambda run: "Nobody knows the truth behind your points, so nothing is checked here.",
    answer=answer,
    scores=scorecard,
    reading=f"A place is near your points if one is no farther than {NEAR['line']:g} on a line, or "
    f"{NEAR['plane']:g} in a plane. The first look has fewer trees and "
    "steps and leaves out the slowest method; all follow. With fewer than 40 points the stack uses "
    "all its trees, and its ranges are likely to be too narrow.",
    seeds=None,
    code=code,
    tables=lambda run: {"Places": places_csv},
    title="Own points",
    lead="What every method makes of points that somebody placed.",
    equations="Every method sees the same points. Its parts are those of the law of total variance "
    "on a line, and of entropy in a plane.",
    terms=("total", "data", "knowledge"),
    departures="Boosting",
)
