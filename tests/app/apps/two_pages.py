"""Two pages that share parameter names with different ranges, and one that writes its address."""

import streamlit as st

from pages._ui.back_steps import keep_steps_back

keep_steps_back()

st.navigation(
    [
        st.Page("left.py", url_path="left", title="Left", default=True),
        st.Page("right.py", url_path="right", title="Right"),
        st.Page("opened.py", url_path="opened", title="Opened"),
    ]
).run()
