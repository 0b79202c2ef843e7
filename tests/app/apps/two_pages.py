"""Two pages that share parameter names with different ranges."""

import streamlit as st

st.navigation(
    [
        st.Page("left.py", url_path="left", title="Left", default=True),
        st.Page("right.py", url_path="right", title="Right"),
    ]
).run()
