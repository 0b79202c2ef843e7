"""Pages run through Streamlit's AppTest, without a browser."""

# Scripts that Streamlit runs, not modules to import.
collect_ignore = ["apps"]
