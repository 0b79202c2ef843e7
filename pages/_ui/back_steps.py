"""One step of the browser's history for one change of a page.

Streamlit writes the value of a control over the address before; here it is a step that Back undoes.
Before it shows another page, it takes the old page's parameters out of the address, as a step of
its own: Back would lead to the old page without them, and the experiment would be lost.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import streamlit as st

_SCRIPT = """
// Another section of Your data is what is looked at, and no step; it may hide the row.
function settings(url) {
  const whole = new URL(url, location.href);
  const quiet = whole.pathname.endsWith('/your_data') ? %QUIET : [];
  for (const name of quiet) whole.searchParams.delete(name);
  whole.searchParams.sort();
  return whole.pathname + whole.search + whole.hash;
}
// The settings in which two addresses differ.
function changed(url) {
  const [next, now] = [url, location.href].map((one) => new URL(one).searchParams);
  const names = [...new Set([...next.keys(), ...now.keys()])];
  return names.filter((name) => next.getAll(name).join() !== now.getAll(name).join()).join();
}
export default function() {
  if (window.gbuqLeaving) return;
  const { pushState: push, replaceState: replace } = history;
  let leaving = 0, moved = { names: '', at: 0 };
  document.addEventListener('click', (event) => {
    const link = event.target.closest?.('a[href]');
    if (!link || link.target === '_blank' || event.button) return;
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    const to = new URL(link.href, location.href);
    if (to.origin === location.origin && to.pathname !== location.pathname) leaving = Date.now();
  }, true);
  window.addEventListener('popstate', () => { leaving = moved.at = 0; });
  const step = (state, title, url) => {
    const same = url && settings(url) === settings(location.href);
    return (same ? replace : push).call(history, state, title, url);
  };
  history.replaceState = function(state, title, url) {
    let on = true;
    // Only a control writes a whole address. Another press of the same key is no new step.
    if (String(url).startsWith(location.origin)) {
      const [names, at] = [changed(url), Date.now()];
      on = names === moved.names && at - moved.at < 1000;
      moved = { names, at };
    }
    return on ? replace.call(history, state, title, url) : step(state, title, url);
  };
  history.pushState = function(state, title, url) {
    const there = url == null || new URL(url, location.href).pathname === location.pathname;
    if (there && Date.now() - leaving < 10000) return undefined;
    leaving = 0;
    return step(state, title, url);
  };
  document.addEventListener('keydown', (event) => {
    const sheet = document.querySelector('.st-key-fold-all-settings details[open] summary');
    const list = document.querySelector('[data-baseweb=popover]');  // which Escape closes
    if (event.key !== 'Escape' || innerWidth > 640 || !sheet || list) return;
    sheet.click();
    sheet.focus();
  });
  window.gbuqLeaving = true;
}
"""
QUIET = ("section", "lens", "row")
_SCRIPT = _SCRIPT.replace("%QUIET", json.dumps(QUIET))
_KEEPER = st.components.v2.component("gbuq_leaving", html="<span></span>", js=_SCRIPT)
# Streamlit makes a new step of what its server tells it, and Back would lead to the address before.
_WRITER = st.components.v2.component(
    "gbuq_address",
    html="<span></span>",
    js="""
export default function({ data, parentElement }) {
  const { query, names } = data;
  if (parentElement.gbuqWritten === query) return;
  parentElement.gbuqWritten = query;
  const now = new URLSearchParams(location.search);
  if (!query || names.some((name) => now.has(name))) return;
  const whole = [location.search.slice(1), query].filter(Boolean).join('&');
  history.replaceState(history.state, '', `${location.pathname}?${whole}${location.hash}`);
}
""",
)


def keep_steps_back() -> None:
    """Let Back lead to the page before as it was left; call it once a run."""
    if st.context.url is None:
        return  # no browser, and no history
    with st.container(key="steps-back"):
        _KEEPER(key="_steps_back")


def complete_address(query: str, names: Sequence[str], key: str = "address-written") -> None:
    """Add a query to an address that has none of these parameters, without a step of its own.

    Call it in every run of a page that may need it, with an empty query in the others, so that
    what follows keeps its place. Each caller of a page has a key of its own.
    """
    if st.context.url is None:
        return  # no browser, and no address
    with st.container(key=key):
        _WRITER(data={"query": query, "names": list(names)}, key=f"_{key}")
