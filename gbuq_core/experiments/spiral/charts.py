"""Charts beside the spiral's maps: a point's members, a walk out of the data, burn-in.

All are sheets of strips without maps, which change in place when a point or a line is chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import numpy.typing as npt

from gbuq_core.experiments.spiral.fit import SpiralMaps, SpiralRun
from gbuq_core.experiments.spiral.picture import CLASS_COLOURS, CLASSES
from gbuq_core.experiments.spiral.plan import METHODS
from gbuq_core.experiments.spiral.probes import (
    BurnInEffect,
    Probe,
    Ray,
    RayTruth,
    burn_in_effect,
    probe,
    ray,
    ray_truth,
)
from gbuq_core.experiments.spiral.scores import scores_of
from gbuq_core.figures.canvas.panels import PanelSheet, Strip, StripLine
from gbuq_core.figures.curves.parts import (
    stretches,
)
from gbuq_core.figures.standalone import Section
from gbuq_core.figures.theme import METHOD_STYLES
from gbuq_core.glossary import UNCERTAINTY_KINDS
from gbuq_core.presentation import digits, short

Array = npt.NDArray[np.float64]

_LEVELS = ("sglb", "virtual_sglb")  # drawn beside burn-in for comparison
_MOST_PATH = 400  # vertices of a path
_ROOM = 1.25  # of a log axis beyond the values on it


def probe_sheet(probes: Sequence[Probe], alt: str = "") -> PanelSheet:
    """Every member's class probabilities over the probability path, a column a method."""
    members = [_member_strip(answer) for answer in probes]
    paths = [replace(_path_strip(answer), legend=False) for answer in probes]
    members[1:] = [replace(strip, legend=False) for strip in members[1:]]
    return PanelSheet(
        panels=[],
        strips=[*members, *paths],
        strip_columns=len(probes),
        strip_height=92,
        alt=alt,
        name="spiral-point",
    )


def ray_sheet(
    rays: Sequence[Ray], truth: RayTruth, kind: str, log: bool = True, alt: str = ""
) -> PanelSheet:
    """An uncertainty along a line for every method, above the true density there."""
    distance, density = truth.distance, truth.density
    shaded = stretches(distance, truth.in_support)
    tinted = "where the data are" if shaded else ""
    values = [getattr(walk, kind) for walk in rays]
    lines = [
        StripLine(METHOD_STYLES[walk.method].label, part, METHOD_STYLES[walk.method].colour)
        for walk, part in zip(rays, values, strict=True)
    ]
    if kind != "knowledge":
        lines.append(StripLine("true data uncertainty", truth.data_uncertainty, "text", dash=True))
    log = log and kind == "knowledge"
    upper = Strip(
        title=f"{kind.capitalize()} uncertainty",
        x=distance,
        lines=lines,
        x_label="distance from the start",
        y_label="nats",
        y_limits=_limits(values, log),
        log=log,
        shaded=shaded,
        shaded_label=tinted,
    )
    # In the very middle, where all arms start, the density has no bound.
    usual = np.where(density <= 2 * np.quantile(density, 0.95), density, np.nan)
    lower = Strip(
        title="True density",
        x=distance,
        lines=[StripLine("true density", density, "text")],
        x_label="distance from the start",
        y_label="per unit area",
        y_limits=_limits([usual], log=True, span=1e-6),
        log=True,
        shaded=shaded,
        shaded_label=tinted,
    )
    return PanelSheet(
        panels=[],
        strips=[upper, lower] if rays else [lower],
        strip_columns=2,
        strip_height=150,
        alt=alt,
        name="ray",
        follows=("spiral", UNCERTAINTY_KINDS.index(kind)) if rays else None,
    )


def ends_of(values: SimpleNamespace) -> tuple[tuple[float, float], tuple[float, float]]:
    """Where the line of the knobs' values begins and ends."""
    return (float(values.rx), float(values.ry)), (float(values.sx), float(values.sy))


def point_section(run: SpiralRun, views: Sequence[SpiralMaps], values: SimpleNamespace) -> Section:
    """Every member's class probabilities at a point, how they came about, and their votes."""
    point = float(values.px), float(values.py)
    probes = [probe(maps.fit, run.settings, *point) for maps in views]
    truth = ", ".join(f"{p:.2f}" for p in probes[0].truth_proba)
    words = [f"At ({point[0]:g}, {point[1]:g}) the true probabilities are {truth}."]
    rows = [("At this point", "Total", "Data", "Knowledge", "Members", "They vote")]
    for answer in probes:
        label, members = METHODS[answer.method].label, answer.member_proba
        low, high = members.min(axis=0), members.max(axis=0)
        spans = ", ".join(f"{lo:.2f} to {hi:.2f}" for lo, hi in zip(low, high, strict=True))
        total, data, knowledge = (digits(float(value)) for value in answer.uncertainty)
        words.append(
            f"{label}: its {len(members)} members give {spans}. "
            f"Knowledge uncertainty is {knowledge} nats."
        )
        votes = np.bincount(np.argmax(members, axis=1), minlength=3)
        vote = ", ".join(f"{n} for class {i + 1}" for i, n in enumerate(votes) if n)
        rows.append((label, total, data, knowledge, str(len(members)), vote))
    return Section(
        sheet=probe_sheet(probes, " ".join(words)),
        table=rows,
        text=" ".join(words),
        caption="Dashed lines are the true class probabilities there. Uncertainties are in nats. "
        "Marks show after how many trees a long model gives a member.",
    )


def walk_section(run: SpiralRun, views: Sequence[SpiralMaps], values: SimpleNamespace) -> Section:
    """One uncertainty of every method along a line, over the true density."""
    ends = start, end = ends_of(values)
    if start == end:
        return Section(text="The line has no length. Move one of its ends.")
    rays = [ray(maps.fit, run.settings, start, end) for maps in views]
    truth, kind, log = ray_truth(run.settings.noise, start, end), values.along, run.settings.log
    words = [f"{kind.capitalize()} uncertainty from {ends[0]} to {ends[1]}."]
    places = (("among the data", truth.in_support), ("beyond them", ~truth.in_support))
    for walk in rays:
        levels = getattr(walk, kind)
        parts = [f"{digits(float(levels[at].mean()))} {name}" for name, at in places if at.any()]
        words.append(f"{METHODS[walk.method].label}: {' and '.join(parts)} on average.")
    return Section(
        sheet=ray_sheet(rays, truth, kind, log, " ".join(words)),
        text=" ".join(words),
        caption="Beyond the outermost rows every tree repeats its outermost cell, so a method is "
        "as certain far out as it is at the edge.",
    )


def burn_in_sheet(
    effects: Sequence[BurnInEffect],
    levels: Sequence[tuple[str, float, float]] = (),
    alt: str = "",
) -> PanelSheet:
    """Knowledge uncertainty and its AUROC against the number of first cycles left out."""
    longest = max((effect.cycles for effect in effects), key=len).astype(np.float64)

    def strip(title: str, y_label: str, name: str, flat: int, log: bool) -> Strip:
        lines = [
            StripLine(
                METHOD_STYLES[effect.method].label,
                np.interp(longest, effect.cycles, getattr(effect, name), right=np.nan),
                METHOD_STYLES[effect.method].colour,
            )
            for effect in effects
        ]
        for level in levels:
            style = METHOD_STYLES[level[0]]
            lines.append(
                StripLine(style.label, np.full(len(longest), level[flat]), style.colour, dash=True)
            )
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
        strip("Mean over the map", "nats", "knowledge", 1, True),
        strip("AUROC, far cells", "0.5 is chance", "auroc_far", 2, False),
    ]
    return PanelSheet(
        panels=[], strips=strips, strip_columns=2, strip_height=120, alt=alt, name="spiral-burn-in"
    )


def burn_in_section(
    run: SpiralRun, views: Sequence[SpiralMaps], values: SimpleNamespace
) -> Section:
    """How much of the cyclical methods' knowledge comes from their first cycles."""
    effects = [burn_in_effect(maps.fit) for maps in views if METHODS[maps.method].cyclical]
    curves = [effect for effect in effects if len(effect.cycles) > 1]
    if not curves:
        needed = "two cycles" if effects else "cSGLB or cbSGLB"
        return Section(text=f"This needs {needed}.")
    levels = [
        (maps.method, float(maps.knowledge[-1].mean()), score.auroc_far)
        for maps, score in zip(run.methods, scores_of(run), strict=True)
        if maps.method in _LEVELS and np.isfinite(maps.knowledge[-1]).all()
    ]
    words = " ".join(_words_of_burn_in(curve) for curve in curves)
    return Section(
        sheet=burn_in_sheet(curves, levels, words),
        caption=f"{words} The slider Burn-in (under View) drops the first cycles from every "
        "picture on this page. Nothing is retrained. The paper keeps all cycles.",
    )


def _words_of_burn_in(curve: BurnInEffect) -> str:
    """
    >>> some, none = np.arange(2), np.zeros(2)
    >>> curve = BurnInEffect("csglb", some, np.array([0.02, 0.005]), none)
    >>> _words_of_burn_in(curve)
    'cSGLB: without its first cycle, mean knowledge uncertainty is 0.005 nats instead of 0.02.'
    """
    first, second = float(curve.knowledge[0]), float(curve.knowledge[1])
    label = METHODS[curve.method].label
    if not first > 0:
        return f"{label}: its members agree everywhere."
    text = (
        f"{label}: without its first cycle, mean knowledge uncertainty is {short(second, 2)} nats "
        f"instead of {short(first, 2)}."
    )
    if len(curve.knowledge) > 4:
        half = len(curve.knowledge) // 2
        left = short(curve.knowledge[half], 2)
        text += f" Without its first {half} cycles it is {left} nats."
    return text


def _member_strip(answer: Probe) -> Strip:
    style = METHOD_STYLES[answer.method]
    n_members = len(answer.member_proba)
    chain = METHODS[answer.method].virtual
    x = np.arange(1, n_members + 1, dtype=np.float64)
    if n_members == 1:  # a line needs two ends
        x = np.array([0.5, 1.5])
    return Strip(
        title=f"{style.label}, members",
        x=x,
        # Nothing leads from one independent model to the next: no line between them.
        lines=_class_lines(
            np.resize(answer.member_proba, (len(x), 3)),
            answer.truth_proba,
            dots=n_members > 1 and not chain,
        ),
        x_label="member, in order of trees" if chain else "member",
        y_label="probability",
        y_limits=(0.0, 1.0),
        alt=f"{style.label}: {n_members} members, knowledge "
        f"{float(answer.uncertainty.knowledge):.2g} nats.",
    )


def _path_strip(answer: Probe) -> Strip:
    style = METHOD_STYLES[answer.method]
    trees = answer.path_trees.astype(np.float64)
    proba = answer.path_proba
    if trees.size < 2:  # a forest does not grow
        trees, proba = np.array([0.0, 1.0]), np.tile(answer.member_proba.mean(axis=0), (2, 1))
    keep = np.unique(np.linspace(0, len(trees) - 1, _MOST_PATH).astype(np.int64))
    marks = [float(n) for n in answer.member_trees] if METHODS[answer.method].virtual else []
    return Strip(
        title=f"{style.label}, while it grew",
        x=trees[keep],
        lines=_class_lines(proba[keep], answer.truth_proba),
        x_label="trees",
        y_label="probability",
        y_limits=(0.0, 1.0),
        marks=marks,
        mark_label="member" if marks else "",
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


def _limits(arrays: Sequence[Array], log: bool, span: float = 1e-5) -> tuple[float, float] | None:
    """Limits with room; on a log axis at most ``span`` below the largest value."""
    values = np.concatenate([np.ravel(array) for array in arrays]) if arrays else np.empty(0)
    values = values[np.isfinite(values) & (values > 0 if log else np.isfinite(values))]
    if not values.size:
        return None
    highest = float(values.max())
    if log:
        return max(float(values.min()) / _ROOM, highest * span), highest * _ROOM
    return 0.0, highest * 1.05 or 1.0
