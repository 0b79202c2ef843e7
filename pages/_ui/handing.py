"""A table that is dropped on one page and opened on another, Your data."""

from __future__ import annotations

import streamlit as st

from pages._ui.site_map import YOUR_DATA

HANDED = "_handed_table"  # session key: the file, until Your data takes it
UPLOADED = "your file"  # what links to Your data call a file of the reader


def drop_table() -> None:
    """The place to drop a table, which Your data then opens."""
    upload = st.file_uploader(
        "Drop a CSV: which predictions should you not trust?", key="upload-at-start"
    )
    if upload is not None:
        st.session_state[HANDED] = upload
        st.switch_page(YOUR_DATA.path, query_params={"table": UPLOADED})
    st.page_link(YOUR_DATA.path, label="Or try a sample table", icon=":material/table:")
