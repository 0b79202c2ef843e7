"""What would have to be different in a row for its model to be sure: question and answer."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import streamlit as st

from gbuq_core.jobs import Job
from gbuq_core.lenses.pictures import Shown
from gbuq_core.presentation import digits, short
from gbuq_core.tables import CHANGE_MEANING, RowChange, ScoredTable, why_no_change
from pages._ui.controls import draw_knob
from pages._ui.url_state import PageState
from pages._ui.your_data.explain import Change, Nothing, change_of, show_waiting_for_change


def draw_change(
    page: PageState,
    values: SimpleNamespace,
    scored: ScoredTable,
    shown: Shown,
    row: int,
    kind: str,
    digest: str,
) -> None:
    """The smallest change that makes the model as sure of this row as of others.

    ``kind`` is the uncertainty that shall fall.
    """
    knobs = {knob.key: knob for knob in page.knobs}
    st.markdown("**What would make the model sure?**", help=CHANGE_MEANING)
    refusal = why_no_change(scored)
    if refusal:
        st.text(refusal)
        return
    level, kept = st.columns([0.5, 0.5], gap="medium")
    with level:
        draw_knob(knobs["level"])
    with kept:
        draw_knob(knobs["fixed"])
    every = np.asarray(getattr(scored.predictions.uncertainty, kind))
    most = float(np.nanquantile(every, values.level / 100.0))
    inside = tuple(name for name in values.fixed if name in _changeable(scored))
    answer = change_of(scored, Change(row, most, kind, inside), digest)
    if isinstance(answer, (RowChange, Nothing)):
        with st.container(key="row-change"):
            st.text(describe_change(answer, most, kind, shown, values), width="stretch")
    else:
        show_waiting_for_change(answer if isinstance(answer, Job) else None, scored)


def describe_change(
    answer: RowChange | Nothing, most: float, kind: str, shown: Shown, values: SimpleNamespace
) -> str:
    """The answer in words. Plain text that holds the user's words."""
    goal = (
        f"the {kind} uncertainty that {values.level} % of the rows stay below "
        f"({_amount(most, shown)})"
    )
    if isinstance(answer, Nothing):
        stay = " The columns that must stay are left alone." if values.fixed else ""
        return f"No change of one or two values reaches {goal}.{stay}"
    if not answer.columns:
        return f"This row is already at or below {goal}."
    cells = zip(answer.columns, answer.before, answer.after, strict=True)
    changes = " and ".join(f"{name} were {new} instead of {old}" for name, old, new in cells)
    before, after = (
        float(getattr(found, kind)[0])
        for found in (answer.uncertainty_before, answer.uncertainty_after)
    )
    return (
        f"If {changes}, {kind} uncertainty would be {_amount(after, shown)} instead of "
        f"{_amount(before, shown)}, and the prediction {_prediction(answer.prediction_after)} "
        f"instead of {_prediction(answer.prediction_before)}. No smaller change of one or two "
        f"values reaches {goal}. This says how the model sees the row, not what to do."
    )


def _changeable(scored: ScoredTable) -> set[str]:
    return {feature.column for feature in scored.training.features}


def _amount(value: float, shown: Shown) -> str:
    """A variance or an entropy as the page shows uncertainties."""
    return digits(float(np.sqrt(value)) if shown.unit.startswith("std") else value)


def _prediction(value: float | str) -> str:
    return value if isinstance(value, str) else short(value, 4)
