"""One cycle of the race in slow motion, worked out only while its section is open."""

from __future__ import annotations

from types import SimpleNamespace

import streamlit as st

from gbuq_core.experiments.gaussians.cycle import (
    CycleTrace,
    describe_cycle,
    energy_map,
    record_cycle,
)
from gbuq_core.experiments.gaussians.cycle_picture import cycle_sheet
from gbuq_core.experiments.gaussians.fit import target_grid
from gbuq_core.experiments.gaussians.plan import GaussiansSettings
from gbuq_core.figures.canvas.panels import PanelSheet
from gbuq_core.settings import from_values
from pages._ui.canvas import canvas
from pages._ui.controls import draw_knob
from pages._ui.gaussians.controls import CYCLE, SLOW, STATE
from pages._ui.kept import kept
from pages._ui.url_state import read_again

ABOUT_CYCLE = (
    "The maps show the **energy**, -log p(x). Dark is a mode, and bright is a wall between modes. "
    "In each step the gradient pulls the chain down, and the noise kicks it anywhere. A chain "
    "leaves its mode when steps above the dashed line overshoot, or when kicks are large. Which of "
    "the two happens here?"
)


@st.fragment
def draw_cycle(values: SimpleNamespace) -> None:
    """The section, closed at first. Another cycle reruns only this part."""
    values = read_again(STATE, values)
    section = st.expander(SLOW.label, key=SLOW.key, on_change="rerun", bind="query-params")
    if not section.open:
        return
    settings = from_values(GaussiansSettings, vars(values))
    with section:
        st.markdown(ABOUT_CYCLE)
        if not settings.samplers:
            st.text("Choose a sampler to see one of its cycles.")
            return
        with st.container(width=340):
            draw_knob(CYCLE)
        last = min(settings.cycles, settings.steps)
        if values.cycle > last:
            st.caption(f"There are only {last} cycles. The last one is shown.")
        traces = traces_of(settings, min(values.cycle, last) - 1)
        canvas(cycle_sheet_of(settings, traces), key="gaussians-cycle")
        if traces[0].every > 1:
            st.caption(f"The maps show every {traces[0].every}th step of this long cycle.")
        st.text(_words(settings, traces), width="stretch")


def traces_of(settings: GaussiansSettings, cycle: int) -> tuple[CycleTrace, ...]:
    """The chosen samplers during one cycle, recorded once."""
    return kept(
        "gaussians-cycle", [], (settings, cycle),
        lambda: tuple(record_cycle(settings, sampler, cycle) for sampler in settings.samplers),
    )  # fmt: skip


def cycle_sheet_of(settings: GaussiansSettings, traces: tuple[CycleTrace, ...]) -> PanelSheet:
    """The picture of the section, also of the downloaded page."""
    words = _words(settings, traces)
    return cycle_sheet(target_grid(settings.target), energy_map(settings.target), traces, alt=words)


def _words(settings: GaussiansSettings, traces: tuple[CycleTrace, ...]) -> str:
    return describe_cycle(traces, target_grid(settings.target).step_limit)
