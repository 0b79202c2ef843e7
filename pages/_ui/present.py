"""Present mode: the picture alone in larger type, for a projector, with the page's story.

``present`` is a parameter of every page: 0 is the page as it is, n > 0 shows its picture at step n
of its story. What is not the picture is hidden by a style sheet and still drawn, so that every
control keeps its value and nothing is computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import streamlit as st
from streamlit.errors import StreamlitAPIException

from gbuq_core.knobs import Knob
from pages._ui.site_map import PAGES

KEY = "present"
TYPE = 1.4  # times the size of all type, also in pictures, which read it from the style sheet


class Step(NamedTuple):
    """One step of a page's story.

    A step sets the knobs that it names, and puts those that other steps name back to where the
    page opens. All others stay where the reader left them.
    """

    # One sentence: what is set and what to look at. Answers are the verdicts at the picture, which
    # are computed.
    says: str
    values: Mapping[str, Any] = {}  # values of knobs


def present_knob(story: Sequence[Step]) -> Knob:
    """The parameter, as `read_knob` reads it.

    >>> present_knob([Step("Noise 0.1."), Step("Noise 1.", {"noise": 1.0})]).high
    2
    """
    return Knob(KEY, "Present", "integer", 0, 0, max(1, len(story)), step=1, group="picture")


def values_at(story: Sequence[Step], number: int, opened: Mapping[str, Any]) -> dict[str, Any]:
    """What the story's knobs are at a step, from 1; ``opened`` is where the page opens.

    >>> story = [Step("Few rows."), Step("More rows.", {"rows": 900})]
    >>> values_at(story, 1, {"rows": 100, "seed": 0}), values_at(story, 2, {"rows": 100, "seed": 0})
    ({'rows': 100}, {'rows': 900})
    """
    if not 1 <= number <= len(story):
        return {}
    named = dict.fromkeys(key for step in story for key in step.values)
    return {key: opened[key] for key in named} | dict(story[number - 1].values)


def draw_present(
    picture: Sequence[str],
    story: Sequence[Step],
    on_story: bool,
    turn: Callable[[int], None],
) -> None:
    """The button that presents the page, or the bar of the presentation and its style."""
    now = st.session_state.get(KEY, 0)
    if not now:
        with st.container(key="present-button"):
            st.button(
                "Present",
                key="_present",
                icon=":material/slideshow:",
                help="The picture alone, in larger type. Arrow keys step through the story, "
                "Escape leaves.",
                on_click=turn,
                args=(1,),
            )
        return
    st.html(f"<style>{_style(picture)}</style>")
    with st.container(key="present-bar", horizontal=True, vertical_alignment="center"):
        _draw_pages()
        if len(story) > 1:
            _turner("_present_back", "chevron_left", "Step back", turn, now - 1, now == 1)
        if story:
            says = story[now - 1].says if on_story else "Your own settings."
            number = f" ({now} of {len(story)})" if len(story) > 1 else ""
            with st.container(key="present-says"):
                st.text(says + number)
        if len(story) > 1:
            last = now == len(story)
            _turner("_present_next", "chevron_right", "Step on", turn, now + 1, last)
        _turner("_present_leave", "close", "Leave (Escape)", turn, 0, False)
    if st.context.url is not None:  # a browser
        with st.container(key="present-keys"):
            _KEYS(key="_present_keys")


def _draw_pages() -> None:
    """The way to other pages, which are presented, too."""
    with st.popover("Pages", icon=":material/menu:", type="tertiary", key="present-pages"):
        for entry in PAGES:
            with suppress(StreamlitAPIException):  # an app that has no such page
                st.page_link(entry.path, label=entry.title)


def _turner(
    key: str, icon: str, label: str, turn: Callable[[int], None], to: int, disabled: bool
) -> None:
    st.button(
        label,
        key=key,
        icon=f":material/{icon}:",
        type="tertiary",
        disabled=disabled,
        on_click=turn,
        args=(to,),
    )


# Beside the picture: the bar, verdicts, and what must not be missed.
_ALWAYS = (
    *(".st-key-present-bar", ".st-key-present-keys"),
    *('[class*="st-key-error-"]', "[data-testid=stProgress]", "[data-testid=stException]"),
)


def _style(picture: Sequence[str]) -> str:
    hidden = ""
    if picture:
        kept = f":is({', '.join([*(f'.st-key-{key}' for key in picture), *_ALWAYS])})"
        block = ":is([data-testid=stVerticalBlock], [data-testid=stHorizontalBlock])"
        hidden = (
            f"[data-testid=stMainBlockContainer] {block} > "
            f"*:not(:has({kept})):not({kept}):not({kept} *) {{ display: none !important; }}"
            f"[data-testid=stColumn]:has({kept}) {{ flex: 1 1 100% !important; }}"
        )
    return _STYLE.replace("$TYPE", str(TYPE)) + hidden


# Streamlit's own type is in rem: with a larger root all of it is.
_STYLE = """
html { font-size: calc(15px * $TYPE) !important; }
[data-testid=stApp] { --gbuq-type: $TYPE; --gbuq-present: 1; --gbuq-above: 190; }
[data-testid=stSidebar], [data-testid=stHeader] { display: none !important; }
[data-testid=stMainBlockContainer] {
  max-width: none !important; padding: 0.4rem 1.2rem 0 !important;
}
[data-testid=stMainBlockContainer] [data-testid=stVerticalBlock] { gap: 0.4rem; }
.st-key-present-bar { flex-wrap: nowrap !important; gap: 0.4rem; }
.st-key-present-bar button {
  min-width: 2.1rem; min-height: 2.1rem; padding: 0 !important; justify-content: center;
}
.st-key-present-bar button [data-testid=stMarkdownContainer] {
  position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);
}
.st-key-present-says { flex: 1 1 auto; min-width: 0; }
.st-key-present-keys, [data-testid="stLayoutWrapper"]:has(> .st-key-present-keys) {
  position: absolute;
}
@media (max-width: 640px), (max-height: 640px) {
  html { font-size: calc(13px * $TYPE) !important; }
  [data-testid=stApp] { --gbuq-above: 110; }
}
@media (max-height: 500px) {
  html { font-size: calc(11.5px * $TYPE) !important; }
  [data-testid=stApp] { --gbuq-above: 64; }
}
@media (pointer: coarse) {
  .st-key-present-bar button { min-width: 44px; min-height: 44px; }
}
/* On a phone the sentence has lines of its own, and a map needs the width more than its type. */
@media (max-width: 500px) {
  html { font-size: 16px !important; }
  [data-testid=stApp] { --gbuq-type: 1.15; --gbuq-above: 170; }
  .st-key-present-bar { flex-wrap: wrap !important; justify-content: space-between; }
  .st-key-present-bar > :has(.st-key-present-says) { order: 1; flex: 1 1 100%; }
}
"""

# Keys press the buttons. What is focused by keyboard, such as a map whose cells are read, or moves
# by these keys itself, such as a slider, keeps them.
_SCRIPT = """
const KEYS = {
  ArrowRight: ['_present_next', '_next'], PageDown: ['_present_next', '_next'],
  ArrowLeft: ['_present_back', '_back'], PageUp: ['_present_back', '_back'],
  Escape: ['_present_leave'],
};
const MOVED = 'input, select, textarea, [contenteditable=true], [role=slider], [role=listbox]';
export default function() {
  const stop = new AbortController();
  document.addEventListener('keydown', (event) => {
    const names = KEYS[event.key];
    if (!names || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const [at] = event.composedPath();
    if (at.closest?.(MOVED)) return;
    if (at.closest?.('.gbuq, .gbuq-curves') && at.matches(':focus-visible')) return;
    for (const name of names) {
      const button = document.querySelector(`.st-key-${name} button:not(:disabled)`);
      if (!button) continue;
      event.preventDefault();
      event.stopPropagation();
      button.click();
      return;
    }
  }, { capture: true, signal: stop.signal });
  return () => stop.abort();
}
"""
_KEYS = st.components.v2.component("gbuq_present_keys", html="<span></span>", js=_SCRIPT)
