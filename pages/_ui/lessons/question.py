"""A step's question: options or a chart to guess on, and after it the answer."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from demos.asking import Drawing, Guess, choice_token, compare, read_token
from demos.lesson import ComputedStep, Step, guess_of
from gbuq_core.figures.guess import guess_source, guess_styles

_MOUNT = st.components.v2.component(
    "gbuq_guess", css=guess_styles(), js=guess_source(), isolate_styles=True
)
Keep = Callable[[str], None]  # takes the code of an answer, or "" to ask again


def draw_question(step: Step, shown: ComputedStep, token: str, part: int, keep: Keep) -> None:
    """Ask; once answered, compare and tell."""
    guess = read_token(step.ask, token) if token else None
    st.markdown(f"**{step.question}**")
    if isinstance(step.ask, tuple):
        if guess is None:
            _draw_options(step.ask, part, keep)
    else:
        _draw_chart(step, shown, token, part, keep)
    if guess is not None:
        _draw_answer(step, shown, guess)


def _draw_options(ask: tuple[str, ...], part: int, keep: Keep) -> None:
    with st.container(horizontal=True, key="options", gap="small"):
        for at, option in enumerate(ask):
            key = f"_option:{part}:{at}"
            st.button(option, key=key, on_click=keep, args=(choice_token(at),))


def _draw_chart(step: Step, shown: ComputedStep, token: str, part: int, keep: Keep) -> None:
    key = f"guess-{'line' if isinstance(step.ask, Drawing) else 'range'}-{part}"

    def hear() -> None:
        state = st.session_state.get(key)
        code = state.get("guess") if isinstance(state, dict) else None
        # The browser is the user's.
        if isinstance(code, str) and read_token(step.ask, code) is not None:
            keep(code)

    spec = guess_of(step.ask, shown.right, token, truth=bool(token))
    _MOUNT(key=key, data=spec, on_guess_change=hear)


def _draw_answer(step: Step, shown: ComputedStep, guess: Guess) -> None:
    comparison = compare(step.ask, shown.right, guess)
    with st.container(key="answer"):
        st.markdown(f"**{comparison.word}** {comparison.text}")
        st.markdown(shown.answer)


def draw_more(shown: ComputedStep, part: int, keep: Keep) -> None:
    """How the picture was made and all numbers, folded; and the way to answer again."""
    if shown.more:
        with st.expander("More about this picture", key="more"):
            for paragraph in shown.more:
                st.markdown(paragraph)
    st.button("Answer again", key=f"_again:{part}", type="tertiary", on_click=keep, args=("",))
