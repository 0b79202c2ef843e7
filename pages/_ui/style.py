"""The few rules of appearance that the theme in .streamlit/config.toml cannot say."""

from __future__ import annotations

import streamlit as st

# The bands of the app's pictures: noise inside, knowledge as the darker rim, and the model's line.
# Its blue shows on a light page and on a dark one.
_BANDS = (
    '<path d="M2 22C9 5 15 5 22 15s9 6 12-2v12c-3 7-8 9-13 5S10 18 2 30z" fill="#7db8de"/>'
    '<path d="M2 26C9 12 15 12 22 21s9 6 12-2" fill="none" stroke="#2b7cb3" stroke-width="4"/>'
)
FAVICON = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 36 36">{_BANDS}</svg>'
WORDMARK = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="118" height="36" viewBox="0 0 118 36">'
    f"{_BANDS}"
    '<text x="44" y="26" font-family="Georgia, \'Source Serif 4\', serif" font-size="26" '
    'font-weight="600" fill="#2b7cb3">gbuq</text></svg>'
)

_CSS = """
<style>
/* A notice is a quiet box with a rule on its left; an error's rule is in the warning colour. */
[class*="st-key-note-"], [class*="st-key-error-"] {
  border-radius: 2px; border-left-width: 3px; padding: 0.5rem 0.75rem; gap: 0.1rem;
}
[class*="st-key-note-"] { border-left-color: #e69f00; }
[class*="st-key-error-"] { border-left-color: #d55e00; }
/* Small print, the numbers above sliders and what is chosen can be read on both themes
   (WCAG AA). */
[data-testid="stCaptionContainer"] {
  opacity: 1; color: color-mix(in srgb, var(--st-text-color, currentcolor) 75%, transparent);
}
:is([data-testid="stSliderThumbValue"], [data-testid="stTab"], [data-testid$="Active"]) {
  color: inherit;
}
/* Tables: figures under each other, rules between lines, nothing between columns. */
[data-testid="stMarkdownContainer"] table {
  font-variant-numeric: tabular-nums; font-size: 0.92em; border-collapse: collapse;
}
[data-testid="stMarkdownContainer"] :is(th, td) {
  border-width: 0 0 1px 0 !important; padding: 0.3rem 1rem 0.3rem 0 !important;
}
[data-testid="stMarkdownContainer"] :is(th, td):last-child { padding-right: 0 !important; }
[data-testid="stMarkdownContainer"] th { font-weight: 500; opacity: 0.75; }
/* A table of six columns fits a phone. */
@media (max-width: 480px) {
  [data-testid="stMarkdownContainer"] table { font-size: 0.84em; }
  [data-testid="stMarkdownContainer"] :is(th, td) { padding-right: 0.4rem !important; }
  /* A short head leaves the screen to the picture. */
  [data-testid="stMainBlockContainer"] h1 { font-size: 1.6rem; padding: 0 0 0.5rem; }
  [data-testid="stMainBlockContainer"] { padding-top: 4.2rem; padding-bottom: 3rem; }
  .st-key-first-answer, [data-testid="stHorizontalBlock"] { gap: 0.6rem; }
  [data-testid="stMainBlockContainer"] > [data-testid="stVerticalBlock"] { gap: 0.5rem; }
}
/* A page whose picture is its answer leaves the screen to it. */
[data-testid="stMainBlockContainer"]:has(.st-key-first-picture) {
  padding-left: 1.6rem; padding-right: 1.6rem;
  h1 { padding: 0 0 0.3rem; }
  > [data-testid="stVerticalBlock"], :has(> * > .st-key-first-picture) { gap: 0.7rem; }
}
@media (max-width: 640px) {
  [data-testid="stMainBlockContainer"]:has(.st-key-first-picture) {
    > [data-testid="stVerticalBlock"], :has(> * > .st-key-first-picture) { gap: 0.4rem; }
  }
}
/* A projector: the picture shows below a short head. */
@media (max-width: 1100px) {
  [data-testid="stMainBlockContainer"] { padding-left: 1.6rem; padding-right: 1.6rem; }
  .gbuq-chips { flex-wrap: nowrap !important; overflow-x: auto; }  /* they are swiped */
  .gbuq-chips > * { flex: none; }
}
@media (max-height: 700px) {
  [data-testid="stMainBlockContainer"] h1 { font-size: 1.35rem; padding: 0 0 0.9rem; }
  [data-testid="stMainBlockContainer"] { padding-top: 3.4rem; }
  [data-testid="stMainBlockContainer"] > [data-testid="stVerticalBlock"] { gap: 0.5rem; }
  .st-key-lede p { font-size: 0.9rem; line-height: 1.4; }
}
@media (max-height: 480px) {
  .st-key-lede p { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2;
    overflow: hidden; }
}
/* A wide table scrolls inside itself, not the page. */
:is(.st-key-methods, [class*="st-key-table-"]) [data-testid="stMarkdownContainer"] {
  overflow-x: auto;
}
/* A long formula goes on in the next line, and so do the words of a table of words. */
.katex-display > .katex { white-space: normal; }
.st-key-table-departures :is(th, td) { overflow-wrap: anywhere; }
/* Numbers that belong together stay on one line. */
/* Cards: as many in a row as fit, two on a phone; the link covers the whole card. */
[class*="st-key-cards"] { display: grid; gap: 1rem;
  grid-template-columns: repeat(auto-fill, minmax(min(18rem, 45%), 1fr)); }
[class*="st-key-cards"] > * { width: auto !important; height: 100% !important; }
[class*="st-key-card-"] { position: relative; height: 100%; padding: 0.6rem 0.8rem 0.8rem; }
[class*="st-key-card-"]:has(a:is(:hover, :focus-visible)) { border-color: currentColor; }
[class*="st-key-card-"] img { width: 100%; aspect-ratio: 16 / 10; display: block; }
[class*="st-key-card-"] :is(a, .stElementContainer) { position: static; }
[class*="st-key-card-"] a { padding-left: 0; background: none; }
[class*="st-key-card-"] a::after { content: ""; position: absolute; inset: 0; }
[data-testid="stMain"]:has([class*="st-key-cards"]) .st-key-present-button { display: none; }
@media (max-width: 640px) {
  [class*="st-key-cards"] { gap: 0.6rem; }
  [class*="st-key-card-"] { padding: 0.4rem 0.5rem 0.5rem; font-size: 0.9rem; }
}
/* The page does not jump while Start's picture is on its way. Beside it a file is dropped. */
.st-key-picture { min-height: 470px; }
.st-key-upload-at-start {
  label p { font-size: 1.4rem; line-height: 1.3; }
  label { margin-bottom: 0.8rem; }
  section { min-height: 23rem; flex-direction: column; align-items: center !important;
    justify-content: center; gap: 0.6rem;
    border: 2px dashed color-mix(in srgb, currentColor 35%, transparent); }
  section > * { flex: none; width: auto; }
}
@media (max-width: 640px), (max-height: 700px) {
  .st-key-upload-at-start { section { min-height: 5.5rem; } label p { font-size: 1.1rem; } }
}
/* What only the address holds has a box that nobody sees or reaches by keyboard. */
.st-key-tab-token,
.st-key-steps-back, [data-testid="stLayoutWrapper"]:has(> .st-key-steps-back),
.st-key-address-written, [data-testid="stLayoutWrapper"]:has(> .st-key-address-written),
.st-key-present-written, [data-testid="stLayoutWrapper"]:has(> .st-key-present-written),
[class*="st-key-unseen-"], [data-testid="stLayoutWrapper"]:has(> [class*="st-key-unseen-"]) {
  display: none;
}
/* A desk's first screen holds its beginning alone. */
@media (min-width: 1100px) and (min-height: 760px) {
  .st-key-cards, .st-key-cards-lessons { grid-template-columns: repeat(3, 1fr); }
}
/* What watches sliders takes no place. */
[class*="st-key-live-sliders-"] { position: absolute; }
@media (prefers-reduced-motion: reduce) {
  *, *::before, *::after {
    transition-duration: 0.01ms !important; animation-duration: 0.01ms !important;
    animation-iteration-count: 1 !important;
  }
}
/* Verdicts in a few words at the picture, and a dot for each seed below a statement. Marks differ
   in shape, too. */
.gbuq-chips { display: flex; flex-wrap: wrap; gap: 0.4rem 0.5rem; align-items: center;
  font-size: 0.8125rem; min-height: 1.9rem; }
.gbuq-chips a.gbuq-chip { border-radius: 1rem;
  border: 1px solid color-mix(in srgb, currentColor 35%, transparent);
  padding: 0.1rem 0.55rem; color: inherit; text-decoration: none; }
.gbuq-chips a.gbuq-chip:is(:hover, :focus-visible) { text-decoration: underline; }
.gbuq-seeds { font-size: 0.875rem; opacity: 0.85; }
.gbuq-seeds .gbuq-dots { letter-spacing: 0.15rem; font-size: 1.05rem; }
.gbuq-seeds.gbuq-quicker { opacity: 0.55; }
:is(.gbuq-chip.gbuq-holds > span, .gbuq-dots > .gbuq-holds) { color: #00805c; }
:is(.gbuq-chip.gbuq-partly > span, .gbuq-dots > .gbuq-partly) { color: #a97100; }
:is(.gbuq-chip.gbuq-does-not-hold > span, .gbuq-dots > .gbuq-does-not-hold) { color: #c44e00; }
:is(.gbuq-chip.gbuq-more-than-claimed > span, .gbuq-dots > .gbuq-more-than-claimed) {
  color: #2b7bba;
}
/* Share and the way to present mode stand in the header, beside the menu. */
:is(.st-key-share, .st-key-present-button) {
  position: fixed; top: 0.7rem; right: 3.6rem; width: auto !important; z-index: 999991;
}
.st-key-present-button { right: calc(3.6rem + 6.1rem); }
[data-testid="stLayoutWrapper"]:has(> :is(.st-key-share, .st-key-present-button)),
[data-testid="stLayoutWrapper"]:has(> * > :only-child > .st-key-present-button) {
  position: absolute;
}
.st-key-present-button button { min-height: 2.2rem; padding: 0 0.7rem; }
@media (max-width: 640px) {
  .st-key-present-button { right: calc(3.6rem + 3.1rem); }
  .st-key-present-button [data-testid="stMarkdownContainer"] {
    position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);
  }
}
/* The picture stays in sight while the knobs of All settings are moved, where both have room. */
@media (min-width: 1100px) and (min-height: 760px), (max-width: 640px) {
  [data-testid="stApp"]:has(.st-key-fold-all-settings details[open])
    :is(:has(.st-key-first-picture, .st-key-fold-all-settings), .st-key-fold-all-settings,
      .st-key-fold-all-settings :is(:has(> details), details, summary)) {
    background: inherit;
  }
  [data-testid="stApp"]:has(.st-key-fold-all-settings details[open])
    [data-testid="stLayoutWrapper"]:has(> .st-key-first-picture) {
    position: sticky; top: 3.6rem; z-index: 5;
  }
}
/* In a small window the knob and the answer stay below what is seen of the picture. */
@media (max-width: 640px), (max-height: 700px) {
  [data-testid="stLayoutWrapper"]:has(> .st-key-first-answer) {
    position: sticky; bottom: 0; z-index: 6; padding: 0.3rem 0 0.4rem;
  }
  [data-testid="stApp"] :is(:has(.st-key-first-answer), .st-key-first-answer) {
    background: inherit;
  }
  .st-key-first-answer { gap: 0.2rem 1.5rem !important; }
  .st-key-first-verdict button p { font-size: 1rem !important; line-height: 1.3; }
}
/* On a phone they come in a sheet from below. */
@media (max-width: 640px) {
  .st-key-fold-all-settings details[open] {
    position: fixed; inset: auto 0 0; z-index: 999990; max-height: 46dvh; overflow: auto;
    overscroll-behavior: contain; border-radius: 12px 12px 0 0;
    box-shadow: 0 0 24px rgb(0 0 0 / 35%);
    summary { position: sticky; top: 0; z-index: 1; }
  }
}
/* Beside two maps of a wide page stand the control and the answer, unless the picture stays. */
@media (min-width: 900px) {
  [data-testid="stApp"]:not(:has(.st-key-fold-all-settings details[open]))
    [data-testid="stVerticalBlock"]:has(> * > .st-key-first-picture [data-pair]) {
    display: grid; column-gap: 1.5rem;
    grid-template-columns: min(120vh + 6.5rem, 100% - 14rem) minmax(0, 1fr);
    > * { grid-column: 1 / -1; min-width: 0; }
    > :has(> .st-key-first-picture) { grid-column: 1; }
    > :has(> .st-key-first-picture) + * { grid-column: 2; align-self: center; }
    > :has(> .st-key-first-picture) + * > * { flex-wrap: wrap; }
  }
}
/* The answer of an experiment's page is read from afar. */
.st-key-first-verdict { min-width: min(24rem, 100%); }
/* A slider of the picture has moved on and the answer is still that of before, or the picture plays
   what the answer is on. */
:is([data-gbuq-ahead], [data-gbuq-untold], [data-gbuq-pointed]) .st-key-first-verdict {
  position: relative;
  button { visibility: hidden; }
  &::after {
    content: "The answer follows when you let go."; position: absolute; inset: 0; opacity: 0.75;
  }
}
[data-gbuq-untold] .st-key-first-verdict::after { content: "The answer comes when it has played."; }
[data-gbuq-pointed] .st-key-first-verdict::after { content: "Click the place for its answer."; }
.st-key-first-verdict button p { font-size: 1.1rem; text-align: left; }
.st-key-first-verdict button { padding-left: 0; height: auto; white-space: normal; }
/* Your data begins with a large place to drop a file. */
.st-key-first-drop [data-testid="stFileUploaderDropzone"] {
  min-height: min(20rem, 40vh); flex-direction: column; align-items: center;
  justify-content: center; border-style: dashed; border-width: 2px;
}
.st-key-first-drop [data-testid="stFileUploaderDropzone"] > * { flex: none; height: auto; }
.st-key-open-table button p { font-weight: 600; }
.st-key-head .st-key-target { max-width: 26rem; }
/* Long lines of prose are hard to read. */
.st-key-lede p { max-width: 80rem; }
.st-key-reading p { max-width: 46rem; }
</style>
"""


def apply_style() -> None:
    """Add the style sheet to the page. It holds no text of a user."""
    st.html(_CSS)
