"""The picture before everything else: what a moved control asked for should be seen first.

Streamlit sends elements in the order in which a run draws them, and the browser lays out each
batch before it takes the next. A page of sixty elements therefore shows its new picture sooner if
the run begins with it, though its controls stand above it in the pipeline: their values are in the
session before they are drawn.
"""

from __future__ import annotations

import streamlit as st

from pages._ui.address import went_back

_STANDING = "_controls_stand:"  # the page's controls were drawn since the reader came to it


def comes_first(page_key: str) -> bool:
    """Whether this run may draw the picture before the controls that it depends on.

    Not before the controls stand, since a reader waits for those, too; and not when the reader
    went Back: then Streamlit takes a control's value from the address only when it draws it.
    """
    return _STANDING + page_key in st.session_state and not went_back()


def controls_stand(page_key: str) -> None:
    """Note that the page's controls have been drawn."""
    st.session_state[_STANDING + page_key] = True


def reader_came(page_key: str) -> None:
    """Forget it when the reader comes from another page."""
    st.session_state.pop(_STANDING + page_key, None)
