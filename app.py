"""Run with ``streamlit run app.py``: page configuration and navigation, nothing else."""

import streamlit as st

from pages._ui.back_steps import keep_steps_back
from pages._ui.jobs_glue import leave_other_pages
from pages._ui.limiting import keep_uploads_in_memory, limit_sessions
from pages._ui.notices import show_notice
from pages._ui.share import draw_share
from pages._ui.site_map import EXPERIMENTS, HOME, PAGES, Entry
from pages._ui.style import FAVICON, WORDMARK, apply_style
from pages._ui.warmup import start_warm_up
from pages._ui.ways import draw_foot, highlight_section, say_unknown, unknown_address

st.set_page_config(
    page_icon=FAVICON,
    layout="wide",
    initial_sidebar_state="auto",
    menu_items={
        "About": "Total, data and knowledge uncertainty of gradient-boosted and other tree "
        "ensembles, refitted while you move the controls."
    },
)
apply_style()
keep_uploads_in_memory()
if problem := limit_sessions():
    show_notice(problem, "limits", tone="error")
    st.stop()

navigation = [
    st.Page(
        entry.path,
        title=entry.title,
        url_path=entry.url_path,
        default=entry is HOME,
        visibility="hidden" if entry in EXPERIMENTS else "visible",
    )
    for entry in PAGES
]
if address := unknown_address():
    navigation.append(
        st.Page(say_unknown, title="No such page", url_path=address, visibility="hidden")
    )
page = st.navigation(navigation, position="top")
st.logo(WORDMARK, size="large")
st.set_page_config(page_title=Entry(page.url_path, page.title, "").tab)
keep_steps_back()
leave_other_pages(page.url_path)
highlight_section(page.url_path)
draw_share()
page.run()
draw_foot(page.url_path)
start_warm_up()  # behind the first picture, which is stored
