"""The curve component: a `Curves` figure in a page; it stays in place while its numbers change."""

from __future__ import annotations

import streamlit as st

from gbuq_core.figures.curves import Curves, curves_source, curves_styles

_MOUNT = st.components.v2.component(
    "gbuq_curves", css=curves_styles(), js=curves_source(), isolate_styles=True
)


def show_curves(figure: Curves, key: str) -> None:
    """Draw a figure.

    Parameters
    ----------
    figure : Curves
    key : str
        Keeps the figure in place over reruns; unique on the page.
    """
    _MOUNT(key=key, data=figure.spec)
