"""The result in sentences, beside the picture; a warning about a second file above it."""

from __future__ import annotations

from types import SimpleNamespace

import streamlit as st

from gbuq_core.tables import ScoredTable, foreign_notice
from gbuq_core.tables.words import describe_table
from pages._ui.kept import remember
from pages._ui.notices import show_notice
from pages._ui.your_data.drift import drift_lines
from pages._ui.your_data.training import Trained, View


def warn_of_second(view: View, trained: Trained, values: SimpleNamespace) -> None:
    """Say above all else what a second file is like, and that it is unlike the first."""
    found = view.scored.unfamiliarity
    lines = drift_lines(view, trained, values)
    if found is not None and found.is_foreign:
        show_notice([foreign_notice(found), *lines], "foreign", tone="error")
    elif lines:
        show_notice(lines, "drift")


def draw_words(scored: ScoredTable, digest: str) -> None:
    """How good it is and which rows to check first, as plain text."""
    found = scored.unfamiliarity
    above = 1 if found is not None and found.is_foreign else 0  # said by `warn_of_second`
    with st.container(key="in-words", gap="xsmall"):
        for sentence in remember(digest, describe_table, scored)[above:]:
            st.text(sentence, width="stretch")
