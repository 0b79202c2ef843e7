"""The few rules of appearance that the theme in .streamlit/config.toml cannot say."""

from __future__ import annotations

import streamlit as st

_CSS = """
<style>
/* A notice is a quiet box with a rule on its left; an error's rule is in the warning colour. */
[class*="st-key-note-"], [class*="st-key-error-"] {
  border-radius: 2px; border-left-width: 3px; padding: 0.5rem 0.75rem; gap: 0.1rem;
}
[class*="st-key-note-"] { border-left-color: #e69f00; }
[class*="st-key-error-"] { border-left-color: #d55e00; min-height: 6rem; }
/* Numbers stand under each other. */
[data-testid="stMarkdownContainer"] table { font-variant-numeric: tabular-nums; }
/* Long lines of prose are hard to read. */
.st-key-lede p, .st-key-reading p { max-width: 46rem; }
</style>
"""


def apply_style() -> None:
    """Add the style sheet to the page. It holds no text of a user."""
    st.html(_CSS)
