"""What was chosen for the reader, in one line that opens into the reasons and the knobs."""

from __future__ import annotations

from types import SimpleNamespace

import streamlit as st

from gbuq_core.tables import ScaleAdvice, ScoredTable
from gbuq_core.tables.words import explain_choices, name_choices
from pages._ui.controls import draw_knob, is_shown
from pages._ui.url_state import PageState
from pages._ui.your_data.state import SCALE

_KNOBS = (("task",), ("ensemble",), ("split", "by_column"), ("scale",))  # a column each
_NOTHING_YET = "Task, ensemble, split and scale"


def draw_choices(
    page: PageState, values: SimpleNamespace, scored: ScoredTable | None, advice: ScaleAdvice
) -> None:
    """Draw the line, folded. Its controls run the whole page, so it is outside of all fragments."""
    knobs = {knob.key: knob for knob in page.knobs}
    offers = bool(advice.offer) and values.scale == SCALE.default
    label = _NOTHING_YET if scored is None else name_choices(scored)
    with st.expander(f"{label}; try a log scale" if offers else label, key="choices"):
        for sentence in explain_choices(scored) if scored is not None else ():
            st.text(sentence, width="stretch")
        if offers:
            st.text(f"{advice.offer} Try the log scale.", width="stretch")
        for column, keys in zip(st.columns(len(_KNOBS)), _KNOBS, strict=True):
            with column:
                for key in keys:
                    if key in knobs and is_shown(knobs[key], vars(values)):
                        draw_knob(knobs[key])
