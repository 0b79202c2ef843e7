"""One map of a page as a surface that can be turned, made only while its section is open."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from gbuq_core.figures.canvas.panels import PanelSheet
from gbuq_core.figures.surface import describe_surface, surface_figure
from gbuq_core.figures.theme import plot_config
from gbuq_core.knobs import Knob
from pages._ui.controls import draw_fold
from pages._ui.export import is_dark

OPEN = Knob("surface", "As a surface (3-D)", "switch", False, group="page")
MAP = Knob(
    "surface_map",
    "Map",
    "text",
    "",
    group="page",
    most=80,
    pattern=r"[^\x00-\x1f]{0,80}",
    help="The title of a map in the picture.",
)
_FIRST = ("knowledge", "KU", "Novelty")  # words of the map that it opens with
SURFACE = (OPEN, MAP)  # a page with a surface declares both


def show_surface(make: Callable[[], PanelSheet | None]) -> None:
    """Draw the section, closed at first; the browser gets plotly when it is opened."""
    section = draw_fold(OPEN)
    sheet = None if section is None else make()
    if section is None or sheet is None or not sheet.panels:
        return
    titles = [panel.title for panel in sheet.panels]
    with section:
        if st.session_state.get(MAP.key) not in titles:  # of a link, or of other methods
            st.session_state.pop(MAP.key, None)
        start = next((i for i, title in enumerate(titles) if any(w in title for w in _FIRST)), 0)
        title = st.selectbox(
            MAP.label, titles, index=start, key=MAP.key, bind="query-params", width=320
        )
        index = titles.index(title)
        words = describe_surface(sheet, index)
        st.plotly_chart(
            surface_figure(sheet, index, is_dark()),
            key=f"surface-{sheet.name}",
            config=plot_config(f"{sheet.name}-surface"),
            alt=words,
        )
        st.caption(f"Drag to turn it, scroll to zoom, point to read values. {words}")
