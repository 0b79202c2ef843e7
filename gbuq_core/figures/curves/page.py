"""The parts of the curve renderer joined, and a page of its own around one figure."""

from __future__ import annotations

import json
from functools import cache
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from gbuq_core.figures.html_page import html_page

_HERE = Path(__file__).parent
_CANVAS = _HERE.parent / "canvas"

# What is the canvas renderer's, and what builds on it, in this order.
_PARTS = (
    _CANVAS / "format.js",
    _CANVAS / "theme.js",
    _CANVAS / "calls.js",
    _HERE / "packed.js",
    _HERE / "curves.js",
    _HERE / "picking.js",
    _HERE / "facets.js",
    _HERE / "reading.js",
)
_START = """
const spec = JSON.parse(document.getElementById('spec').textContent);
mount(document.querySelector('.figure'), spec);
"""


class Curves(NamedTuple):
    """A figure as curves.js reads it: JSON of numbers and short texts."""

    spec: dict[str, Any]

    @property
    def alt(self) -> str:
        """The picture in words."""
        return str(self.spec["alt"])


@cache
def curves_source() -> str:
    """Return the renderer as the text of one ES module.

    Indentation and whole-line comments are left out: Streamlit sends the text with each update.
    """
    lines = []
    for part in _PARTS:
        for line in part.read_text(encoding="utf-8").splitlines():
            text = line.strip()
            if text and not text.startswith("//"):
                lines.append(text)
    return "\n".join(lines) + "\n"


@cache
def curves_styles() -> str:
    """Return the renderer's style sheet."""
    text = (_HERE / "curves.css").read_text(encoding="utf-8")
    return "\n".join(line.strip() for line in text.splitlines() if line.strip()) + "\n"


def curves_html(figure: Curves, title: str) -> str:
    """Return one self-contained HTML page with the live figure and its words.

    Examples
    --------
    >>> spec = {"alt": "a < b"}
    >>> "a &lt; b" in curves_html(Curves(spec), title="Wave")
    True
    """
    script = "\n" + curves_source() + _START
    style = "\n" + (_CANVAS / "page.css").read_text(encoding="utf-8") + curves_styles()
    # "<" could end the element that holds the specification.
    spec = json.dumps(figure.spec).replace("<", "\\u003c")
    body = f"""<div class="figure"></div>
<p class="caption">{escape(figure.alt)}</p>
</main>
<script type="application/json" id="spec">{spec}</script>"""
    return html_page(title, body, script, style)
