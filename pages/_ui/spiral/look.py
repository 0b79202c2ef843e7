"""Spiral's two ways of looking closer: every member at one point, and a walk along one line."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from gbuq_core.experiments.spiral.charts import probe_sheet, ray_sheet
from gbuq_core.experiments.spiral.fit import SpiralMaps
from gbuq_core.experiments.spiral.plan import METHODS, SpiralSettings
from gbuq_core.experiments.spiral.probe import Probe, Ray, RayTruth, probe, ray, ray_truth
from gbuq_core.figures.canvas.panels import PanelSheet
from gbuq_core.figures.standalone import Section
from gbuq_core.presentation import digits, markdown_table
from pages._ui.canvas import canvas
from pages._ui.controls import draw_knob
from pages._ui.kept import keep_only, kept
from pages._ui.spiral.controls import ALONG, POINT, POINT_OPEN, RAY, WALK_OPEN, Looks
from pages._ui.spiral.folds import fold

_PROBES, _RAYS = "spiral-probe:", "spiral-ray:"  # what is kept of each method
_BOX_WIDTH = 130  # pixels of a number box


def draw_point(settings: SpiralSettings, shown: Sequence[SpiralMaps], looks: Looks) -> None:
    """Every member's class probabilities at the point, and how they came about."""
    section = fold(POINT_OPEN, POINT)
    if section is None:
        return
    with section:
        _draw_point(settings, shown, looks)


def _draw_point(settings: SpiralSettings, shown: Sequence[SpiralMaps], looks: Looks) -> None:
    _boxes("point", POINT)
    if not shown:
        st.text("Members appear with the first fit.")
        return
    keep_only(_PROBES, {_PROBES + maps.method for maps in shown})
    probes = [
        kept(
            _PROBES + maps.method,
            [maps],
            looks.point,
            lambda maps=maps: probe(maps.fit, settings, *looks.point),
        )
        for maps in shown
    ]
    canvas(probe_sheet(probes, _words_of_point(looks, probes)), key="spiral-point")
    with st.container(key="table-point"):
        st.markdown(_point_table(probes))
    st.caption(
        "Click a map to choose the point. Dashed lines are the true class probabilities there. "
        "Uncertainties are in nats. Marks show after how many trees a long model gives a member."
    )


def draw_ray(settings: SpiralSettings, shown: Sequence[SpiralMaps], looks: Looks) -> None:
    """One uncertainty of every method along the line, over the true density."""
    section = fold(WALK_OPEN, (*RAY, ALONG))
    if section is None:
        return
    with section:
        _draw_ray(settings, shown, looks)


def _draw_ray(settings: SpiralSettings, shown: Sequence[SpiralMaps], looks: Looks) -> None:
    _boxes("ray", (*RAY, ALONG))
    if looks.start == looks.end:
        st.text("The line has no length. Move one of its ends.")
        return
    ends = looks.start, looks.end
    truth = kept("spiral-ray", [], (settings.noise, ends), lambda: ray_truth(settings.noise, *ends))
    keep_only(_RAYS, {_RAYS + maps.method for maps in shown})
    rays = [
        kept(_RAYS + maps.method, [maps], ends, lambda maps=maps: ray(maps.fit, settings, *ends))
        for maps in shown
    ]
    canvas(_sheet_of_ray(looks, rays, truth, settings.log), key="spiral-ray")
    st.caption(
        "Draw another line on a map (the arrow in its toolbar), or type its ends. Beyond the "
        "outermost rows every tree repeats its outermost cell, so a method is as certain far out "
        "as it is at the edge."
    )


def looks_as_sections(
    settings: SpiralSettings, shown: Sequence[SpiralMaps], looks: Looks
) -> list[Section]:
    """Both for a page of its own, outside the session."""
    if not shown or looks.start == looks.end:
        return []
    ends = looks.start, looks.end
    probes = [probe(maps.fit, settings, *looks.point) for maps in shown]
    rays = [ray(maps.fit, settings, *ends) for maps in shown]
    sheets = {
        "One point": probe_sheet(probes, _words_of_point(looks, probes)),
        "A walk out of the data": _sheet_of_ray(
            looks, rays, ray_truth(settings.noise, *ends), settings.log
        ),
    }
    return [
        Section(heading=title, sheet=sheet, caption=sheet.alt) for title, sheet in sheets.items()
    ]


def _sheet_of_ray(looks: Looks, rays: Sequence[Ray], truth: RayTruth, log: bool) -> PanelSheet:
    return ray_sheet(rays, truth, looks.along, log, _words_of_ray(looks, rays, truth.in_support))


def _boxes(name: str, knobs: Sequence) -> None:
    with st.container(horizontal=True, key=f"{name}-boxes"):
        for knob in knobs:
            with st.container(width=_BOX_WIDTH if knob.box else "content"):
                draw_knob(knob)


def _point_table(probes: Sequence[Probe]) -> str:
    """A Markdown table with a line for each method."""
    rows = [("At this point", "Total", "Data", "Knowledge", "Members", "They vote")]
    for one in probes:
        votes = np.bincount(np.argmax(one.member_proba, axis=1), minlength=3)
        vote = ", ".join(f"{n} for class {i + 1}" for i, n in enumerate(votes) if n)
        parts = (digits(float(value)) for value in one.uncertainty)
        rows.append((METHODS[one.method].label, *parts, str(len(one.member_proba)), vote))
    return markdown_table(rows, "lrrrrl")


def _words_of_point(looks: Looks, probes: Sequence[Probe]) -> str:
    truth = ", ".join(f"{p:.2f}" for p in probes[0].truth_proba)
    words = [f"At ({looks.point[0]:g}, {looks.point[1]:g}) the true probabilities are {truth}."]
    for one in probes:
        low, high = one.member_proba.min(axis=0), one.member_proba.max(axis=0)
        spans = ", ".join(f"{lo:.2f} to {hi:.2f}" for lo, hi in zip(low, high, strict=True))
        words.append(
            f"{METHODS[one.method].label}: its {len(one.member_proba)} members give {spans}. "
            f"Knowledge uncertainty is {digits(float(one.uncertainty.knowledge))} nats."
        )
    return " ".join(words)


def _words_of_ray(looks: Looks, rays: Sequence[Ray], inside: np.ndarray) -> str:
    words = [f"{looks.along.capitalize()} uncertainty from {looks.start} to {looks.end}."]
    for one in rays:
        values, parts = getattr(one, looks.along), []
        for name, where in (("among the data", inside), ("beyond them", ~inside)):
            if where.any():
                parts.append(f"{digits(float(values[where].mean()))} {name}")
        words.append(f"{METHODS[one.method].label}: {' and '.join(parts)} on average.")
    return " ".join(words)
