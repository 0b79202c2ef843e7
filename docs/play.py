"""Play: each experiment and each lesson as a page that lives without Python or a server.

The app draws each page once, as it opens; its own "Page (HTML)" is what stands here.
"""

from __future__ import annotations

import re
import time
from base64 import b64encode
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import NamedTuple

from streamlit.testing.v1 import AppTest

from demos import load_lessons
from demos.lesson import lesson_html
from gbuq_core.jobs import RUNNER
from pages._ui.cards import PICTURES
from pages._ui.export import OFFERED
from pages._ui.site_map import EXPERIMENTS, PAGES, Entry

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = "pip install -r requirements.txt; streamlit run app.py"
_PREVIEW = "preview.webp"  # beside the page
_PATIENCE = 120.0  # seconds for the fits of a page that has no stored opening
_BAR = """
<nav class="play"><a href="../../index.html">All pictures</a>
<button type="button" id="share">Share</button><span role="status"></span></nav>
"""
_FOOT = """
<p class="caption">A picture here answers your hand without Python. Other rows, other settings and
your own table need a fit, and so the app: <code>{commands}</code></p>
"""
_STYLE = """
.play { display: flex; gap: 1rem; align-items: center; margin: 0 0 0.5rem; font-size: 0.9rem; }
.play button { font: inherit; color: inherit; background: none; border: 1px solid currentColor;
  border-radius: 4px; padding: 0.3rem 0.7rem; cursor: pointer; }
"""
_SCRIPT = """
const said = document.querySelector('.play [role=status]');
document.getElementById('share').onclick = async () => {
  try {
    await navigator.clipboard.writeText(location.href);
    said.textContent = 'Copied.';
  } catch {
    said.textContent = location.href;  // a browser without a clipboard: copy it by hand
  }
};
"""


class Play(NamedTuple):
    """One page: where it is, what it is called and asks, and whose picture stands for it."""

    name: str
    title: str
    question: str
    page: str
    html: str


def _settled(entry: Entry) -> AppTest:
    """A page of the app with all that it asks for."""
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=_PATIENCE)
    at.switch_page(entry.path)
    end = time.monotonic() + _PATIENCE
    while at.run() and RUNNER.busy and time.monotonic() < end:
        time.sleep(0.1)  # what a fit was waited for may ask for another one
    return at.run()


@cache
def plays() -> tuple[Play, ...]:
    """All pages of Play, the experiments first."""
    return tuple(_make())


def _make() -> Iterator[Play]:
    for entry in EXPERIMENTS:
        offered = _settled(entry).session_state[OFFERED]
        (make,) = (make for file, make in offered.items() if file.endswith(".html"))
        yield _played(entry.url_path, entry.title, entry.question, entry, make().decode())
    entries = {entry.url_path: entry for entry in PAGES}
    for lesson in load_lessons():
        entry, lead = entries[lesson.page], lesson.lead
        yield _played(f"learn_{lesson.name}", lesson.title, lead, entry, lesson_html(lesson))


def _played(name: str, title: str, question: str, entry: Entry, page: str) -> Play:
    """A downloaded page with a bar above, a foot below, and what a shared link shows."""
    card = {"description": question, "og:title": title, "og:description": question}
    card |= {"og:image": _PREVIEW, "twitter:card": "summary_large_image"}
    meta = [f'<meta name="{key}" property="{key}" content="{escape(card[key])}">' for key in card]
    foot = f'{_FOOT.format(commands=COMMANDS)}</main>\n<script type="module">{_SCRIPT}</script>'
    for pattern, text in (
        (r"script-src (?:'none')?", f"script-src {_hash(_SCRIPT)} "),
        (r"style-src ", f"style-src {_hash(_STYLE)} "),
        ("<title>", f"{chr(10).join(meta)}\n<style>{_STYLE}</style>\n<title>"),
        ("<h1>", f"{_BAR}<h1>"),
        ("</main>", foot),
    ):
        page, count = re.subn(pattern, lambda _, text=text: text, page, count=1)
        assert count, pattern
    return Play(name, title, question, entry.url_path, page)


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def play_files(site_url: str = "") -> Iterator[tuple[str, str | bytes]]:
    """Each file of Play: its address on the site, and what it holds."""
    for play in plays():
        folder = f"play/{play.name}"
        picture = f"{site_url.rstrip('/')}/{folder}/{_PREVIEW}" if site_url else _PREVIEW
        yield f"{folder}/index.html", play.html.replace(f'"{_PREVIEW}"', f'"{escape(picture)}"', 1)
        yield f"{folder}/{_PREVIEW}", (PICTURES / f"{play.page}-light.webp").read_bytes()


def gallery() -> str:
    """The site's first page: a card for each picture that can be played with."""
    cards = [
        f'<a class="play" href="play/{play.name}/index.html">'
        f'<img alt="" src="play/{play.name}/preview.webp" width="480" height="300">'
        f"<strong>{escape(play.title)}</strong><span>{escape(play.question)}</span></a>"
        for play in plays()
    ]
    n = len(EXPERIMENTS)
    pictures, lessons = ("\n".join(part) for part in (cards[:n], cards[n:]))
    return "\n".join(
        [
            "# See what a tree ensemble does not know",
            "",
            "Each picture opens at once and answers your hand, without Python. "
            "[What gbuq is](about.md) tells the rest.",
            "",
            f'<div class="plays">{pictures}</div>',
            "",
            "## Lessons: guess first",
            "",
            f'<div class="plays">{lessons}</div>',
        ]
    )
