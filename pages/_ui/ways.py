"""The ways between pages: the section that is open, the foot of a page, an unknown address."""

from __future__ import annotations

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages._ui.site_map import EXPERIMENTS, EXPLORE, HOME, LESSONS, PAGES, YOUR_DATA, has_lesson

_UNKNOWN = "_unknown_address"  # session key: the last address that no page has
# As Streamlit marks the open page; the experiments are not in its list.
_OPEN = """<style>
:is([data-testid=stTopNavLink], [data-testid=stSidebarNavLink])[href$="/$PATH"] {
  background: color-mix(in srgb, currentColor 9%, transparent); font-weight: 600;
}
</style>"""


def highlight_section(url_path: str) -> None:
    """Mark Explore at the top while one of its pages is open."""
    if any(entry.url_path == url_path for entry in EXPERIMENTS):
        st.html(_OPEN.replace("$PATH", EXPLORE.url_path))


def draw_foot(url_path: str) -> None:
    """The page before, the lesson and the page after; call it after the page has run."""
    entry = next((page for page in PAGES if page.url_path == url_path), None)
    if entry is None or not has_lesson(entry):
        return
    with st.container(horizontal=True, horizontal_alignment="distribute", key="foot"):
        at = EXPERIMENTS.index(entry) if entry in EXPERIMENTS else -1
        if at > 0:
            before = EXPERIMENTS[at - 1]
            st.page_link(before.path, label=before.title, icon=":material/arrow_back:")
        st.page_link(
            LESSONS.path,
            label=f"Lesson: {entry.title}, step by step",
            icon=":material/school:",
            query_params={"lesson": entry.title},
        )
        if 0 <= at < len(EXPERIMENTS) - 1:
            after = EXPERIMENTS[at + 1]
            st.page_link(
                after.path,
                label=after.title,
                icon=":material/arrow_forward:",
                icon_position="right",
            )


def unknown_address() -> str:
    """What the browser asked for in this session if no page has that address."""
    context = get_script_run_ctx()
    asked = (context.pages_manager.intended_page_name or "") if context is not None else ""
    known = {entry.url_path for entry in PAGES}
    if asked.strip("/") and "/" not in asked.strip("/") and asked.strip("/") not in known:
        st.session_state[_UNKNOWN] = asked.strip("/")
    return str(st.session_state.get(_UNKNOWN, ""))


def say_unknown() -> None:
    """The page of an address that no page has."""
    st.title("There is no page at this address")
    st.text(f'No page is called "{unknown_address()[:60]}". Look for it here:')
    for entry in (HOME, YOUR_DATA, EXPLORE):
        st.page_link(entry.path, label=entry.title)
