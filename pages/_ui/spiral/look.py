"""Spiral's two ways of looking closer: every member at one point, and a walk along one line."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from gbuq_core.experiments.spiral.charts import point_section, walk_section
from gbuq_core.experiments.spiral.fit import SpiralMaps
from gbuq_core.experiments.spiral.plan import SpiralSettings
from gbuq_core.experiments.spiral.probe import probe, ray, ray_truth
from gbuq_core.figures.standalone import Section
from pages._ui.controls import draw_fold, draw_knob
from pages._ui.kept import kept
from pages._ui.sections import draw_section
from pages._ui.spiral.controls import ALONG, POINT, POINT_OPEN, RAY, WALK_OPEN, Looks

_BOX_WIDTH = 130  # pixels of a number box


def draw_point(settings: SpiralSettings, shown: Sequence[SpiralMaps], looks: Looks) -> None:
    """Every member's class probabilities at the point, and how they came about."""
    section = draw_fold(POINT_OPEN, POINT)
    if section is None:
        return
    with section:
        _boxes("point", POINT)
        if not shown:
            st.text("Members appear with the first fit.")
            return
        draw_section(
            kept("spiral-point", shown, looks.point, lambda: look_at_point(settings, shown, looks)),
            "spiral-point",
        )


def draw_ray(settings: SpiralSettings, shown: Sequence[SpiralMaps], looks: Looks) -> None:
    """One uncertainty of every method along the line, over the true density."""
    section = draw_fold(WALK_OPEN, (*RAY, ALONG))
    if section is None:
        return
    with section:
        _boxes("ray", (*RAY, ALONG))
        if looks.start == looks.end:
            st.text("The line has no length. Move one of its ends.")
            return
        depends = looks.start, looks.end, looks.along, settings.noise, settings.log
        draw_section(
            kept("spiral-ray", shown, depends, lambda: walk_along(settings, shown, looks)),
            "spiral-ray",
        )
        st.caption("Draw another line on a map (the arrow above it), or type its ends.")


def look_at_point(settings: SpiralSettings, shown: Sequence[SpiralMaps], looks: Looks) -> Section:
    """What the methods say at the point."""
    return point_section([probe(maps.fit, settings, *looks.point) for maps in shown], looks.point)


def walk_along(settings: SpiralSettings, shown: Sequence[SpiralMaps], looks: Looks) -> Section:
    """What the methods say along the line."""
    ends = looks.start, looks.end
    rays = [ray(maps.fit, settings, *ends) for maps in shown]
    return walk_section(rays, ray_truth(settings.noise, *ends), looks.along, settings.log, ends)


def _boxes(name: str, knobs: Sequence) -> None:
    with st.container(horizontal=True, key=f"{name}-boxes"):
        for knob in knobs:
            with st.container(width=_BOX_WIDTH if knob.box else "content"):
                draw_knob(knob)
