"""A step that is turned to is seen from its top."""

from __future__ import annotations

import streamlit as st

_SCRIPT = """
export default function({ data, parentElement }) {
  const before = parentElement.gbuqStep;
  parentElement.gbuqStep = data.step;
  if (before === undefined || before === data.step) return;
  const main = parentElement.closest('[data-testid=stMain]')
    ?? document.querySelector('[data-testid=stMain]');
  main?.scrollTo({ top: 0 });
}
"""
_TOP = st.components.v2.component(
    "gbuq_lesson_top", html="<span></span>", js=_SCRIPT, isolate_styles=False
)


def scroll_to_top(step: str) -> None:
    """Scroll up when this is another step than in the run before; call it once a run."""
    with st.container(key="unseen-lesson-top"):
        _TOP(key="_lesson_top", data={"step": step})
