"""One step of the browser's history for one click on a link to another page.

Before Streamlit shows the other page, it takes the old page's parameters out of the address, as a
step of its own: Back would lead to the old page without them, and the experiment would be lost.
"""

from __future__ import annotations

import streamlit as st

_SCRIPT = """
export default function() {
  if (window.gbuqLeaving) return;
  const push = history.pushState;
  let leaving = 0;
  document.addEventListener('click', (event) => {
    const link = event.target.closest?.('a[href]');
    if (!link || link.target === '_blank' || event.button) return;
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    const to = new URL(link.href, location.href);
    if (to.origin === location.origin && to.pathname !== location.pathname) leaving = Date.now();
  }, true);
  window.addEventListener('popstate', () => { leaving = 0; });
  history.pushState = function(state, title, url) {
    const there = url == null || new URL(url, location.href).pathname === location.pathname;
    if (there && Date.now() - leaving < 10000) return undefined;
    leaving = 0;
    return push.apply(history, arguments);
  };
  window.gbuqLeaving = true;
}
"""
_KEEPER = st.components.v2.component("gbuq_leaving", html="<span></span>", js=_SCRIPT)


def keep_steps_back() -> None:
    """Let Back lead to the page before as it was left; call it once a run."""
    if st.context.url is None:
        return  # no browser, and no history
    with st.container(key="steps-back"):
        _KEEPER(key="_steps_back")
