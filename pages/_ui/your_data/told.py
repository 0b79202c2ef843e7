"""The result in sentences, beside the picture; a warning about a second file above it."""

from __future__ import annotations

import streamlit as st

from gbuq_core.tables import ScoredTable, foreign_notice
from gbuq_core.tables.words import describe_table
from pages._ui.jobs_glue import Answer
from pages._ui.notices import show_notice
from pages._ui.your_data.second import drift_lines
from pages._ui.your_data.training import View


def warn_of_second(view: View, answer: Answer) -> None:
    """Say above all else what a second file is like, and that it is unlike the first."""
    found = view.scored.unfamiliarity
    lines = drift_lines(view, answer)
    if found is not None and found.is_foreign:
        show_notice([foreign_notice(found), *lines], "foreign", tone="error")
    elif lines:
        show_notice(lines, "drift")


def draw_words(scored: ScoredTable, digest: str) -> None:
    """How good it is and which rows to check first, as plain text."""
    found = scored.unfamiliarity
    above = 1 if found is not None and found.is_foreign else 0  # said by `warn_of_second`
    with st.container(key="in-words", gap="xsmall"):
        for sentence in _sentences(digest, scored)[above:]:
            st.text(sentence, width="stretch")


@st.cache_resource(max_entries=16, show_spinner=False, scope="session")
def _sentences(digest: str, _scored: ScoredTable) -> tuple[str, ...]:
    return tuple(describe_table(_scored))
