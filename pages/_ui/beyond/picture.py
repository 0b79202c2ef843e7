"""The picture of Beyond the rows: trees and process are refitted while a knob is dragged."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import streamlit as st

from gbuq_core.experiments.beyond.experiment import voices_section
from gbuq_core.experiments.beyond.fit import (
    OPENING,
    BeyondFit,
    BeyondSettings,
    estimate_beyond_seconds,
    fit_beyond,
)
from gbuq_core.experiments.beyond.picture import beyond_figure
from gbuq_core.experiments.beyond.plane import plane_section
from gbuq_core.settings import from_values
from pages._ui.curves import show_curves
from pages._ui.jobs_glue import Answer, Request, ask
from pages._ui.live_sliders import LIVE_SECONDS
from pages._ui.notices import show_notice
from pages._ui.sections import draw_section


def fit_request(settings: BeyondSettings, whole: bool = True) -> Request:
    """The whole law, or trees and process alone, which can follow a hand."""
    return Request(
        "beyond",
        ("beyond", settings, whole),
        partial(_fit, settings, whole),
        "All voices" if whole else "Trees and process",
        estimate_beyond_seconds(settings) if whole else 0.05,
        stored=partial(OPENING.find, settings) if whole else None,
    )


def _fit(settings: BeyondSettings, whole: bool, job: object) -> BeyondFit:
    return fit_beyond(settings, whole)


def draw(answer: Answer, values: SimpleNamespace, moving: bool) -> bool:
    """The picture, alone while a knob is dragged; whether it is of these values."""
    if moving:
        settings = from_values(BeyondSettings, vars(values))
        (answer,) = ask([fit_request(settings, whole=False)], LIVE_SECONDS)
    if answer.error:
        show_notice(answer.error, "beyond", tone="error")
    elif answer.result is not None:
        with st.container(key="beyond-figure"):
            show_curves(beyond_figure(answer.result).quiet, "beyond-bands")
    return answer.fresh or bool(answer.error)


def draw_why(fit: BeyondFit) -> None:
    """Each voice, and the plane."""
    for name, section in {"voices": voices_section(fit), "plane": plane_section()}.items():
        if section is not None:
            st.subheader(section.heading)
            draw_section(section, f"beyond-{name}")
