"""The Share button beside Present copies the page's address, which holds its settings."""

from __future__ import annotations

import streamlit as st

_HTML = """
<button type="button" title="Copy the link to this page with its settings">
  <svg viewBox="0 0 24 24" width="18" height="18" aria-hidden="true" fill="none"
    stroke="currentColor" stroke-width="2">
    <circle cx="18" cy="5" r="3"/><circle cx="6" cy="12" r="3"/><circle cx="18" cy="19" r="3"/>
    <path d="M8.7 10.6 15.3 6.4M8.7 13.4 15.3 17.6"/>
  </svg>
  <span>Share</span>
</button>
<div class="below">
  <label hidden>Copy this link: <input readonly></label>
  <span role="status"></span>
</div>
"""
_CSS = """
button { display: flex; align-items: center; justify-content: center; gap: 0.4rem; width: 5.6rem;
  min-height: 2.2rem; padding: 0 0.5rem; font: inherit; font-size: 0.875rem; cursor: pointer;
  color: var(--st-text-color); background: var(--st-background-color);
  border: 1px solid var(--st-border-color); border-radius: var(--st-button-radius, 4px); }
.below:has([role=status]:empty) { border: 0; padding: 0; }
:is(button, input):focus-visible { outline: 2px solid var(--st-primary-color); }
.below { position: absolute; right: 0; top: calc(100% + 0.3rem); width: max-content;
  max-width: 17rem; padding: 0.4rem 0.6rem; border: 1px solid var(--st-border-color);
  border-radius: 4px; color: var(--st-text-color); background: var(--st-background-color); }
input { display: block; width: 15.5rem; max-width: 100%; margin: 0.3rem 0; padding: 0.3rem;
  font: inherit; color: inherit; background: transparent; border: 1px solid currentColor; }
@media (max-width: 640px) {
  button { width: 2.6rem; }
  button span { position: absolute; width: 1px; height: 1px; overflow: hidden;
    clip-path: inset(50%); }
}
"""
# Without https a browser has no clipboard for scripts, but the older command; a reader may refuse
# both, and then copies by hand.
_SCRIPT = """
export default function({ parentElement }) {
  const at = (selector) => parentElement.querySelector(selector);
  const [button, label, field, status] = ['button', 'label', 'input', '[role=status]'].map(at);
  const own = location.pathname.endsWith('/your_data');
  const copied = own ? 'Copied. The link holds the settings, not your file.' : 'Copied.';
  let timer;
  const say = (words, asked = false) => {
    clearTimeout(timer);
    status.textContent = words;
    label.hidden = !asked;
    if (words && !asked) timer = setTimeout(say, 4000, '');
  };
  button.onclick = async () => {
    field.value = location.href;
    try {
      await navigator.clipboard.writeText(field.value);
      say(copied);
      return;
    } catch {
      say('Press Ctrl+C or Cmd+C, then Escape.', true);
    }
    field.select();
    if (!document.execCommand('copy')) return;
    button.focus();
    say(copied);
  };
  field.onkeydown = (event) => { if (event.key === 'Escape') button.focus(); };
  field.onblur = () => say('');
  return () => clearTimeout(timer);
}
"""
_BUTTON = st.components.v2.component(
    "gbuq_share", html=_HTML, css=_CSS, js=_SCRIPT, isolate_styles=True
)


def draw_share() -> None:
    """The button, in the page's header."""
    if st.context.url is not None:  # a browser, and an address
        with st.container(key="share"):
            _BUTTON(key="_share")
