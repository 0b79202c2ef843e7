"""Charts beside Spiral's maps: training, a point's members, a walk out of the data, first cycles.

A point and a walk ask the models themselves. A stored fit has none, and is made again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from gbuq_core.boosting.plan import exploring
from gbuq_core.errors import GbuqError, InvalidParameter
from gbuq_core.experiments.experiment import Closer
from gbuq_core.experiments.ranking import auroc_of
from gbuq_core.figures.canvas.panels import Line, Marker, PanelSheet, Strip, StripLine
from gbuq_core.figures.colour import OKABE_ITO
from gbuq_core.figures.curves.parts import stretches
from gbuq_core.figures.standalone import Section
from gbuq_core.figures.theme import METHOD_STYLES
from gbuq_core.glossary import UNCERTAINTY_KINDS
from gbuq_core.knobs import Knob
from gbuq_core.presentation import digits, short
from gbuq_core.study.members import Array, Fit, Ints, Mask, View
from gbuq_core.study.study import BETTER_THAN_CHANCE, Cell, Run, fill
from gbuq_core.synthetic import spiral_features, spiral_log_density, spiral_posterior
from gbuq_core.uncertainty import Uncertainty, decompose_classification, entropy
from gbuq_core.validation import check_number

EXTENT = (-600.0, 600.0)
CLASSES, CLASS_COLOURS = ("class 1", "class 2", "class 3"), OKABE_ITO[:3]
FARTHEST = 1e6  # what a point's coordinate may be
_PATH_STAGES, _MOST_PATH = 500, 400  # of a probability path, and vertices that are drawn of it
_ROOM = 1.25  # of a log axis beyond the values on it
_LEVELS = ("sglb", "virtual_sglb")  # drawn beside burn-in for comparison

# --- What the models say --------------------------------------------------------------------------


def model_of(run: Run, fit: Fit) -> Any:
    """The model; that of a stored fit is made again."""
    return _fit_again(run.study.fit, fit.plan).model if fit.model is None else fit.model


@lru_cache(maxsize=2)
def _fit_again(fit: Any, plan: Any) -> Fit:
    made: Fit = fit(plan)
    return made


def ask_members(run: Run, view: View, points: Array) -> Array:
    """Class probabilities (n_members, n, 3) of the members that count."""
    rows, model = spiral_features(points), model_of(run, view.fit)
    if view.fit.plan.kind.virtual:
        staged: Array = model.staged_members(rows, at=view.trees).members[:, 0]
        return staged
    members: Array = model.predict_members(rows)[: len(view.trees)]
    return members


def follow_path(run: Run, view: View, point: Array) -> tuple[Ints, Array]:
    """Tree counts, and class probabilities (n_stages, 3) at a point while the models grew."""
    rows, model, plan = spiral_features(point), model_of(run, view.fit), view.fit.plan
    n_members = len(view.trees)
    if not plan.kind.boosting:
        return view.fit.grown.stages, model.predict_members(rows)[:n_members, 0].mean(axis=0)[None]
    staged: Any = model.staged_members(rows, every=-(-plan.n_trees // _PATH_STAGES))
    models = staged.members[:, : 1 if plan.kind.virtual else n_members, 0]
    return staged.n_trees, models.mean(axis=1)


def decompose(members: Array) -> Uncertainty:
    """Uncertainty of class probabilities (n_members, n, 3); one member knows no disagreement."""
    parts = decompose_classification(members)
    if len(members) > 1:
        return parts
    return parts._replace(knowledge=np.full_like(parts.knowledge, np.nan))


class Ray(NamedTuple):
    """What is true along a straight line of n places."""

    points: Array  # (n, 2)
    distance: Array  # from the start
    density: Array  # of all rows, whatever their class, per unit area
    data_uncertainty: Array  # entropy of the true class probabilities, in nats
    in_support: Mask  # where the density exceeds that of all but 1 % of the rows


def walk(run: Run, start: Sequence[float], end: Sequence[float], n: int = 121) -> Ray:
    """Equally distant points of a line, and the truth there."""
    check_number("n", n, 2, 10_000, integer=True)
    first, last = check_points([start, end])
    length = float(np.hypot(*(last - first)))
    if length == 0.0:
        raise InvalidParameter("The line ends where it starts: give it a length.")
    share = np.linspace(0.0, 1.0, n)
    points, noise = first + share[:, None] * (last - first), run.settings.noise
    log_density = np.logaddexp.reduce(spiral_log_density(points, noise), axis=1) - np.log(3.0)
    return Ray(
        points,
        share * length,
        np.exp(log_density),
        entropy(spiral_posterior(points, noise)),
        log_density > run.data.truth.limit,
    )


def check_points(points: Sequence[Sequence[float]]) -> Array:
    """Points (n, 2) whose coordinates are numbers of at most a million."""
    for point in points:
        if len(point) != 2:
            raise InvalidParameter(f"A point has two coordinates, x and y; got {len(point)}.")
    checked = [
        check_number(name, value, -FARTHEST, FARTHEST)
        for point in points
        for name, value in zip("xy", point, strict=True)
    ]
    return np.reshape(checked, (-1, 2))


# --- Training -------------------------------------------------------------------------------------

_MOST_CURVE = 400  # vertices of a curve


def training_strips(views: Sequence[View], frames: Ints) -> list[Strip]:
    """The schedule with its members marked, and the losses, over the number of trees.

    Forests and CatBoost keep no trace (Tan et al., algorithm 1 and equation 7).
    """
    traced = [view for view in views if view.fit.more.get("trace") is not None]
    if not traced:
        return []
    x = np.unique(np.linspace(1, frames[-1], _MOST_CURVE).astype(np.int64))
    # Members of independent models are whole models; a chain's own are places on this axis. Of
    # several chains the one in cycles is marked.
    chains = [view for view in traced if view.fit.plan.kind.virtual]
    chain = max(chains, key=lambda view: float(view.fit.more["trace"].scale.max()), default=None)
    shaded = next((found for view in traced if (found := exploring_stretches(view))), [])
    scales, losses, fresh = [], [], []
    schedule, ends = [], []
    for view in traced:
        style, trace = METHOD_STYLES[view.method], view.fit.more["trace"]
        validation = view.fit.more["validation"].mean(axis=1)
        step = _at(x, trace.n_trees, trace.scale)
        scales.append(StripLine(style.label, step, style.colour, step=True))
        loss = _at(x, trace.n_trees, trace.train_loss)
        losses.append(StripLine(style.label, loss, style.colour))
        loss = _at(x, view.fit.grown.stages, validation)
        fresh.append(StripLine(f"{style.label}, new rows", loss, style.colour, dash=True))
        marked = f", {len(view.trees)} members marked" if view in chains else ""
        schedule.append(
            f"{style.label} {short(trace.scale.max())} to {short(trace.scale.min())}{marked}"
        )
        ends.append(
            f"{style.label} ends at {short(trace.train_loss[-1])} nats on its rows, "
            f"{short(validation[-1])} on new rows"
        )
    at = np.asarray(frames, np.float64)
    return [
        Strip(
            title="Gradient scale",
            x=x,
            lines=scales,
            x_label="trees",
            y_label="alpha",
            marks=[] if chain is None else [float(t) for t in chain.trees],
            mark_label=f"a member of {METHOD_STYLES[chain.method].label}" if chain else "",
            shaded=shaded,
            shaded_label="exploring" if shaded else "",
            frame_x=at,
            alt=f"Factor of the gradients over the trees: {'; '.join(schedule)}.",
        ),
        Strip(
            title="Loss",
            x=x,
            lines=[*losses, *fresh],
            x_label="trees",
            y_label="nats; dashed: of new rows",
            legend=False,
            frame_x=at,
            alt=f"Loss over the trees: {'; '.join(ends)}.",
        ),
    ]


def exploring_stretches(view: View) -> list[tuple[float, float]]:
    """First and last tree of every stretch in which rows are masked or noise is left out."""
    plan = view.fit.plan
    if not plan.explores:
        return []
    on = exploring(plan.n_trees, plan.cycle, plan.exploration).astype(np.int8)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], on, [0]])))
    return [(float(lo + 1), float(hi)) for lo, hi in edges.reshape(-1, 2)]  # trees count from 1


def _at(x: Ints, n_trees: Ints, values: Array) -> Array:
    """A curve at other tree counts; NaN beyond its own."""
    return np.interp(x, n_trees.astype(np.float64), values, left=np.nan, right=np.nan)


# --- Outside the data -----------------------------------------------------------------------------

_N_RAYS, _N_STEPS = 72, 24
_NEAR, _REMOTE = (1.02, 2.0), (100.0, 200.0)  # from where to where, in radii of the data
_CONSTANT = 0.01  # relative change that counts as none
_KNOWS = 0.8  # the AUROC of a method that knows that it left the data; below, only in part
_WALKED = (
    "{label} {notices} that it left the data. Walking out of the data to twice the distance of the "
    "outermost row, knowledge uncertainty rises on {rising:.0f} of {rays:.0f} straight lines and "
    "falls on {falling:.0f}. It changes in steps, because every tree repeats its outermost cell: a "
    "line has {levels:.0f} different values on average. A hundred times as far out it is constant "
    "on {constant:.0f} of {rays:.0f} lines. AUROC on the farthest 40 % of the map: "
    "{auroc_far:.2f}, {auroc_far:chance}."
)


def walk_off(run: Run, view: View) -> dict[str, Any]:
    """What knowledge uncertainty does along 72 rays out of the data, and a sentence on it.

    A tree has no split beyond its outermost rows, so that each feature by itself soon stops to
    matter. Of the nine features some barely change in certain directions (x - 2y along x = 2y) and
    go on crossing borders for long; far enough, the prediction depends on the direction alone.
    """
    near, remote = (_along_rays(run, view, span) for span in (_NEAR, _REMOTE))
    change, limit = near[:, -1] - near[:, 0], _CONSTANT * near.mean(axis=1)
    constant = _is_constant(near)
    auroc = view.numbers["auroc_far"]
    notices = "does not know"
    if auroc >= BETTER_THAN_CHANCE:
        notices = "knows" if auroc >= _KNOWS else "knows only in part"
    numbers = {
        "label": view.fit.plan.kind.label,
        "rays": float(_N_RAYS),
        # Lines along which it ends higher or lower than it began, by 1 % or more
        "rising": float((~constant & (change > limit)).sum()),
        "falling": float((~constant & (change < -limit)).sum()),
        "constant": float(_is_constant(remote).sum()),
        # Mean number of different values along a line, of the 24 places looked at near the data
        "levels": float(np.mean([len(np.unique(ray.round(12))) for ray in near])),
        "auroc_far": auroc,
        "notices": notices,
    }
    return {**numbers, "sentence": fill(_WALKED, numbers)}


def _along_rays(run: Run, view: View, span: tuple[float, float]) -> Array:
    """Knowledge uncertainty (n_rays, n_steps) between two multiples of the data's radius."""
    # An odd offset, so that no ray lies along a line on which a feature is exactly 0.
    angle = 2.0 * np.pi * (np.arange(_N_RAYS) + 0.137) / _N_RAYS
    radius = run.data.rows.X[:, -1].max() * np.linspace(*span, _N_STEPS)
    directions = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    points = (directions[:, None] * radius[:, None]).reshape(-1, 2)
    if len(view.trees) < 2:
        raise InvalidParameter(
            "Knowledge uncertainty needs at least two members: show more of them."
        )
    members = ask_members(run, view, points)
    return decompose_classification(members).knowledge.reshape(_N_RAYS, _N_STEPS)


def _is_constant(rays: Array) -> Mask:
    return np.ptp(rays, axis=1) <= _CONSTANT * rays.mean(axis=1)


def say_beyond(run: Run) -> str:
    """What the first method does beyond the rows."""
    if not run.views:
        return ""
    first, depends = run.views[0], run.study.depends
    usual = depends(first.fit, run.study.first_settings)
    try:  # the stored sentence is of the first settings
        stored = depends(first.fit, run.settings) == usual and first.fit.more["beyond"]
        said = stored or walk_off(run, first)["sentence"]
    except GbuqError as error:
        said = str(error)
    return f"**Outside the data**\n\n{said}"


# --- One point ------------------------------------------------------------------------------------


def point_section(run: Run, views: Sequence[View], values: SimpleNamespace) -> Section:
    """Every member's class probabilities at a point, how they came about, and their votes."""
    point = check_points([(float(values.px), float(values.py))])
    truth = spiral_posterior(point, run.settings.noise)[0]
    words = [
        f"At ({values.px:g}, {values.py:g}) the true probabilities are "
        f"{', '.join(f'{p:.2f}' for p in truth)}."
    ]
    rows = [("At this point", "Total", "Data", "Knowledge", "Members", "They vote")]
    upper: list[Strip] = []
    lower: list[Strip] = []
    for view in views:
        label, members = view.fit.plan.kind.label, ask_members(run, view, point)
        parts = [float(part[0]) for part in decompose(members)]
        upper.append(_member_strip(view, members[:, 0], truth, parts[2], legend=not upper))
        lower.append(_path_strip(view, *follow_path(run, view, point), members[:, 0], truth))
        low, high = members[:, 0].min(axis=0), members[:, 0].max(axis=0)
        spans = ", ".join(f"{lo:.2f} to {hi:.2f}" for lo, hi in zip(low, high, strict=True))
        total, data, knowledge = map(digits, parts)
        words.append(
            f"{label}: its {len(members)} members give {spans}. "
            f"Knowledge uncertainty is {knowledge} nats."
        )
        votes = np.bincount(np.argmax(members[:, 0], axis=1), minlength=3)
        vote = ", ".join(f"{n} for class {i + 1}" for i, n in enumerate(votes) if n)
        rows.append((label, total, data, knowledge, str(len(members)), vote))
    text = " ".join(words)
    sheet = PanelSheet(
        panels=[],
        strips=[*upper, *lower],
        strip_columns=len(views),
        strip_height=92,
        alt=text,
        name="spiral-point",
    )
    return Section(
        sheet=sheet,
        table=rows,
        text=text,
        caption="Dashed lines are the true class probabilities there. Uncertainties are in nats. "
        "Marks show after how many trees a long model gives a member.",
    )


def _member_strip(
    view: View, members: Array, truth: Array, knowledge: float, legend: bool
) -> Strip:
    label, chain = METHOD_STYLES[view.method].label, view.fit.plan.kind.virtual
    n_members = len(members)
    # A line needs two ends.
    x = np.array([0.5, 1.5]) if n_members == 1 else np.arange(1, n_members + 1, dtype=np.float64)
    return Strip(
        title=f"{label}, members",
        x=x,
        # Nothing leads from one independent model to the next: no line between them.
        lines=_class_lines(np.resize(members, (len(x), 3)), truth, n_members > 1 and not chain),
        x_label="member, in order of trees" if chain else "member",
        y_label="probability",
        y_limits=(0.0, 1.0),
        alt=f"{label}: {n_members} members, knowledge {knowledge:.2g} nats.",
        legend=legend,
    )


def _path_strip(view: View, trees: Ints, path: Array, members: Array, truth: Array) -> Strip:
    x, proba = trees.astype(np.float64), path
    if x.size < 2:  # a forest does not grow
        x, proba = np.array([0.0, 1.0]), np.tile(members.mean(axis=0), (2, 1))
    keep = np.unique(np.linspace(0, len(x) - 1, _MOST_PATH).astype(np.int64))
    marks = [float(n) for n in view.trees] if view.fit.plan.kind.virtual else []
    return Strip(
        title=f"{METHOD_STYLES[view.method].label}, while it grew",
        x=x[keep],
        lines=_class_lines(proba[keep], truth),
        x_label="trees",
        y_label="probability",
        y_limits=(0.0, 1.0),
        marks=marks,
        mark_label="member" if marks else "",
        legend=False,
    )


def _class_lines(proba: Array, truth: Array, dots: bool = False) -> list[StripLine]:
    lines = [
        StripLine(name, proba[:, i], CLASS_COLOURS[i], dots=dots) for i, name in enumerate(CLASSES)
    ]
    lines += [
        StripLine(f"true {i + 1}", np.full(len(proba), truth[i]), CLASS_COLOURS[i], dash=True)
        for i in range(len(CLASSES))
    ]
    return lines


# --- A walk out of the data -----------------------------------------------------------------------


def walk_section(run: Run, views: Sequence[View], values: SimpleNamespace) -> Section:
    """One uncertainty of every method along a line, over the true density."""
    start, end = _ends_of(values)
    if start == end:
        return Section(text="The line has no length. Move one of its ends.")
    line, kind = walk(run, start, end), values.along
    levels = [getattr(decompose(ask_members(run, view, line.points)), kind) for view in views]
    words = [f"{kind.capitalize()} uncertainty from {start} to {end}."]
    places = (("among the data", line.in_support), ("beyond them", ~line.in_support))
    for view, level in zip(views, levels, strict=True):
        parts = [f"{digits(float(level[at].mean()))} {name}" for name, at in places if at.any()]
        words.append(f"{view.fit.plan.kind.label}: {' and '.join(parts)} on average.")
    text, methods = " ".join(words), [view.method for view in views]
    return Section(
        sheet=walk_sheet(methods, levels, line, kind, run.settings.log, text),
        text=text,
        caption="Beyond the outermost rows every tree repeats its outermost cell, so a method is "
        "as certain far out as it is at the edge.",
    )


def _ends_of(values: SimpleNamespace) -> tuple[tuple[float, float], tuple[float, float]]:
    """Where the line of the knobs' values begins and ends."""
    return (float(values.rx), float(values.ry)), (float(values.sx), float(values.sy))


def walk_sheet(
    methods: Sequence[str],
    levels: Sequence[Array],
    line: Ray,
    kind: str,
    log: bool = True,
    alt: str = "",
) -> PanelSheet:
    """An uncertainty along a line for every method, beside the true density there."""
    shaded = stretches(line.distance, line.in_support)
    tinted = "where the data are" if shaded else ""
    lines = [
        StripLine(METHOD_STYLES[method].label, level, METHOD_STYLES[method].colour)
        for method, level in zip(methods, levels, strict=True)
    ]
    if kind != "knowledge":
        lines.append(StripLine("true data uncertainty", line.data_uncertainty, "text", dash=True))
    log = log and kind == "knowledge"
    upper = Strip(
        title=f"{kind.capitalize()} uncertainty",
        x=line.distance,
        lines=lines,
        x_label="distance from the start",
        y_label="nats",
        y_limits=_limits(levels, log),
        log=log,
        shaded=shaded,
        shaded_label=tinted,
    )
    # In the very middle, where all arms start, the density has no bound.
    usual = np.where(line.density <= 2 * np.quantile(line.density, 0.95), line.density, np.nan)
    lower = Strip(
        title="True density",
        x=line.distance,
        lines=[StripLine("true density", line.density, "text")],
        x_label="distance from the start",
        y_label="per unit area",
        y_limits=_limits([usual], log=True, span=1e-6),
        log=True,
        shaded=shaded,
        shaded_label=tinted,
    )
    return PanelSheet(
        panels=[],
        strips=[upper, lower],
        strip_columns=2,
        strip_height=150,
        alt=alt,
        name="ray",
        follows=("spiral", UNCERTAINTY_KINDS.index(kind)),
    )


def _limits(arrays: Sequence[Array], log: bool, span: float = 1e-5) -> tuple[float, float] | None:
    """Limits with room; on a log axis at most ``span`` below the largest value."""
    values = np.concatenate([np.ravel(array) for array in arrays])
    values = values[np.isfinite(values) & (values > 0 if log else np.isfinite(values))]
    if not values.size:
        return None
    highest = float(values.max())
    if log:
        return max(float(values.min()) / _ROOM, highest * span), highest * _ROOM
    return 0.0, highest * 1.05 or 1.0


# --- Without first cycles -------------------------------------------------------------------------


def burn_in_effect(view: View, far: Mask) -> Array:
    """Mean knowledge uncertainty and its AUROC of ``far`` cells (2, n), by first cycles left out.

    They are from none to all but two of the cycles.
    """
    plan, members = view.fit.plan, view.fit.grown
    if not plan.kind.cyclical:
        raise InvalidParameter(f"{plan.kind.label} has no cycles to leave out.")
    ends = np.arange(plan.cycle, plan.n_trees + 1, plan.cycle)
    cycles = members.pick(ends)
    levels = np.full((2, max(len(ends) - 1, 0)), np.nan)
    for first in range(levels.shape[1]):
        knowledge = decompose_classification(cycles[first:]).knowledge.reshape(far.shape)
        levels[:, first] = knowledge.mean(), auroc_of(far, ~far, knowledge)
    return levels


def burn_in_section(run: Run, views: Sequence[View], values: SimpleNamespace) -> Section:
    """How much of the cyclical methods' knowledge comes from their first cycles."""
    cyclical = [view for view in views if view.fit.plan.kind.cyclical]
    effects = {view.method: burn_in_effect(view, run.data.truth.far) for view in cyclical}
    effects = {method: effect for method, effect in effects.items() if effect.shape[1] > 1}
    if not effects:
        needed = "two cycles" if cyclical else "cSGLB or cbSGLB"
        return Section(text=f"This needs {needed}.")
    levels = {
        view.method: (float(view.last.knowledge.mean()), view.numbers["auroc_far"])
        for view in run.views
        if view.method in _LEVELS and np.isfinite(view.last.knowledge).all()
    }
    words = " ".join(_words_of_burn_in(method, effects[method][0]) for method in effects)
    longest = np.arange(max(effect.shape[1] for effect in effects.values()), dtype=np.float64)

    def strip(title: str, y_label: str, row: int, log: bool) -> Strip:
        lines = [
            StripLine(
                METHOD_STYLES[method].label,
                np.interp(longest, longest[: effect.shape[1]], effect[row], right=np.nan),
                METHOD_STYLES[method].colour,
            )
            for method, effect in effects.items()
        ]
        for method, level in levels.items():
            style, flat = METHOD_STYLES[method], np.full(len(longest), level[row])
            lines.append(StripLine(style.label, flat, style.colour, dash=True))
        return Strip(
            title=title,
            x=longest,
            lines=lines,
            x_label="first cycles left out",
            y_label=y_label,
            y_limits=_limits([np.asarray(line.y) for line in lines], log) if log else (0.0, 1.0),
            log=log,
        )

    strips = [
        strip("Mean over the map", "nats", 0, True),
        strip("AUROC, far cells", "0.5 is chance", 1, False),
    ]
    sheet = PanelSheet(
        panels=[], strips=strips, strip_columns=2, strip_height=120, alt=words,
        name="spiral-burn-in",
    )  # fmt: skip
    return Section(
        sheet=sheet,
        caption=f"{words} The slider Burn-in (under View) drops the first cycles from every "
        "picture on this page. Nothing is retrained. The paper keeps all cycles.",
    )


def _words_of_burn_in(method: str, knowledge: Array) -> str:
    """
    >>> _words_of_burn_in("csglb", np.array([0.02, 0.005]))
    'cSGLB: without its first cycle, mean knowledge uncertainty is 0.005 nats instead of 0.02.'
    """
    label = METHOD_STYLES[method].label
    if not knowledge[0] > 0:
        return f"{label}: its members agree everywhere."
    text = (
        f"{label}: without its first cycle, mean knowledge uncertainty is {short(knowledge[1], 2)} "
        f"nats instead of {short(knowledge[0], 2)}."
    )
    if len(knowledge) > 4:
        half = len(knowledge) // 2
        left = short(knowledge[half], 2)
        text += f" Without its first {half} cycles it is {left} nats."
    return text


# --- Folds ----------------------------------------------------------------------------------------


def _place(key: str, label: str, default: int) -> Knob:
    """A coordinate in a box beside the picture, so that the keyboard can set it too."""
    low, high = map(int, EXTENT)
    return Knob(key, label, "integer", default, low, high, step=15, group="page", box=True)


def _fold(key: str, label: str) -> Knob:
    """A fold that is open in a link, as all were before they could fold."""
    return Knob(key, label, "switch", True, group="page")


def _mark_line(sheet: PanelSheet, values: SimpleNamespace) -> PanelSheet:
    start, end = _ends_of(values)
    x, y = zip(start, end, strict=True)
    return sheet if start == end else replace(sheet, lines=(Line(x, y, arrow=True),))


_KIND = Knob("along", "Along it", "choice", "knowledge", choices=UNCERTAINTY_KINDS, group="page")
LOOKS = (
    Closer(
        _fold("one_point", "One point"),
        # Between two arms: where all three methods' members may differ
        (_place("px", "x", 0), _place("py", "y", -190)),
        point_section,
        mark=lambda sheet, at: replace(sheet, markers=(Marker(float(at.px), float(at.py)),)),
        whole=True,
    ),
    Closer(
        _fold("walk", "A walk out of the data"),
        (
            *(_place("rx", "from x", 0), _place("ry", "from y", 0)),
            *(_place("sx", "to x", 600), _place("sy", "to y", 450)),
            _KIND,
        ),
        walk_section,
        "Draw another line on a map (the arrow above it), or type its ends.",
        mark=_mark_line,
        whole=True,
    ),
    Closer(
        _fold("first_cycles", "How much knowledge uncertainty comes from the first cycles"),
        (),
        burn_in_section,
    ),
)


def choose_point(cells: Sequence[Cell], n_cells: int) -> dict[str, Any]:
    """The middle of cells (row, column), of so many a side, becomes the point; its fold opens."""
    width = (EXTENT[1] - EXTENT[0]) / n_cells
    rows, columns = zip(*cells, strict=True)
    middles = (sum(at) / len(at) for at in (columns, rows))
    return _put(LOOKS[0], [EXTENT[0] + (middle + 0.5) * width for middle in middles])


def choose_line(ends: Sequence[float]) -> dict[str, Any]:
    """The ends of a drawn line become the walk's; its fold opens."""
    return _put(LOOKS[1], ends)


def _put(look: Closer, values: Sequence[float]) -> dict[str, Any]:
    inside = [float(min(max(round(float(value)), EXTENT[0]), EXTENT[1])) for value in values]
    places = zip((knob.key for knob in look.knobs), inside, strict=False)  # boxes hold floats
    return {look.fold.key: True, **dict(places)}
