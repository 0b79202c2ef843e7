"""A page of figures and text in one HTML file that needs no server and no network."""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from collections.abc import Container, Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from typing import Any

import numpy as np

from gbuq_core.figures.canvas.encoding import encode_sheet
from gbuq_core.figures.canvas.live import encode_members
from gbuq_core.figures.canvas.panels import PanelSheet
from gbuq_core.figures.canvas.renderer import FOLDER, renderer_source, renderer_styles
from gbuq_core.figures.curves import Curves, curves_source, curves_styles, pack_curves
from gbuq_core.figures.guess import guess_source, guess_styles


@dataclass(frozen=True, kw_only=True)
class Section:
    """One part of a standalone page, shown in this order."""

    heading: str = ""  # left out when empty
    text: str | Sequence[str] = ()  # paragraphs, plain text
    sheet: PanelSheet | None = None  # the figure
    caption: str = ""  # A line under the figure
    # Rows of text. The first row holds the headings. The caller formats the numbers.
    table: Sequence[Sequence[str]] = ()
    # Cells of the table that stand out, as (row, column); the first row holds the headings.
    shaded: Container[tuple[int, int]] = ()
    question: str = ""  # A question above its `answer`, which is folded until the reader opens it
    answer: str = ""  # see `question`
    code: str = ""  # shown as it is, in a fixed-width font
    curves: Curves | None = None  # A figure of curves
    # options to choose from, each with what a reader who chooses it is told before the answer; the
    # figure is folded below them
    options: Sequence[tuple[str, str]] = ()
    # what `gbuq_core.figures.guess.guess_spec` returns: the question is answered on this chart, and
    # the figure and the answer stand folded below it
    guess: dict[str, Any] | None = None
    more: Sequence[str] = ()  # paragraphs below the answer, folded once more
    # What its figure finds neighbours with (`gbuq_core.figures.near.pack_table`).
    # Figures in later sections find theirs, too.
    tables: Sequence[bytes] = ()
    coarse: bool = False  # whether the values of `sheet` are written as 8-bit steps of their range


_LEVEL = 8  # of deflate: a page is made once, and sent around

Part = PanelSheet | Curves | Section

# Drawn anew in the light theme for paper: the browser lays a page out for print at once.
_START = """
const views = [];
async function inflated(id) {
const text = atob(document.getElementById(id).textContent);
const bytes = new Uint8Array(text.length);
for (let i = 0; i < bytes.length; i++) bytes[i] = text.charCodeAt(i);
const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
return new Uint8Array(await new Response(stream).arrayBuffer());
}
for (const node of document.querySelectorAll('[data-table]')) {
keepNear(await inflated(node.id));
}
for (const node of document.querySelectorAll('.figure[data-kind="KIND"]')) {
const data = await inflated(node.dataset.source);
if (node.dataset.members) keepMembers(await inflated(node.dataset.members));
views.push(mount(node, READ));
}
for (const [when, paper] of [['beforeprint', true], ['afterprint', false]]) {
addEventListener(when, () => {
document.documentElement.toggleAttribute('data-paper', paper);
for (const view of views) view.restyle();
});
}
"""


def standalone_html(sections: Part | Sequence[Part], title: str, lead: str = "") -> str:
    """Return one self-contained HTML page with live figures.

    The page makes no request. Its security policy allows only the scripts and the style inside the
    page, by their hashes. All text is escaped. The app's own renderers draw the figures; a page
    contains only the renderers that it needs.
    """
    parts = [sections] if isinstance(sections, PanelSheet | Curves | Section) else sections
    whole = [_as_section(part) for part in parts]
    scripts, style = [], "\n" + (FOLDER / "page.css").read_text(encoding="utf-8")
    if any(section.sheet is not None for section in whole):
        scripts.append(_script(renderer_source(), "sheet", "data"))
        style += renderer_styles()
    figures = [section.curves for section in whole if section.curves is not None]
    if figures:
        drawings = tuple(dict.fromkeys(part for figure in figures for part in figure.scripts))
        scripts.append(_script(curves_source(drawings), "curves", "unpackCurves(data)"))
        style += curves_styles(drawings)
    if any(section.guess is not None for section in whole):
        read = "JSON.parse(new TextDecoder().decode(data))"
        scripts.append(_script(guess_source(), "guess", read))
        style += guess_styles()
    body = "\n".join(_section(section, i) for i, section in enumerate(whole))
    head = f"<p class='lead'>{escape(lead)}</p>\n" if lead else ""
    return html_page(title, head + body, scripts, style)


def _as_section(part: Part) -> Section:
    if isinstance(part, Section):
        return part
    return Section(curves=part) if isinstance(part, Curves) else Section(sheet=part)


def _script(source: str, kind: str, read: str) -> str:
    return "\n" + source + _START.replace("KIND", kind).replace("READ", read)


def _section(section: Section, number: int) -> str:
    parts = ["<section>"]
    if section.heading:
        parts.append(f"<h2>{escape(section.heading)}</h2>")
    paragraphs = [section.text] if isinstance(section.text, str) else section.text
    parts += [f"<p>{escape(text)}</p>" for text in paragraphs if text]
    if section.options:
        parts += _options(section, number)
        parts.append("<details><summary>The picture</summary>")
    if section.guess is not None:
        parts += _guess(section, number)
    parts += [
        _block(f"table-{number}-{i}", data, " data-table") for i, data in enumerate(section.tables)
    ]
    if section.sheet is not None:
        live = section.sheet.live
        sent = live is not None and any(np.size(ensemble.stages) for ensemble in live.ensembles)
        members = encode_members(live, for_page=True) if live is not None and sent else b""
        packed = encode_sheet(section.sheet, coarse=section.coarse)
        parts.append(_figure("sheet", number, packed, section.sheet.alt, members))
    if section.curves is not None:
        packed = pack_curves(section.curves.only_read)
        parts.append(_figure("curves", number, packed, section.curves.alt))
    if section.caption:
        parts.append(f'<p class="caption">{escape(section.caption)}</p>')
    if section.table:
        parts.append(_table(section.table, section.shaded))
    if section.code:
        parts.append(f"<pre><code>{escape(section.code)}</code></pre>")
    if section.guess is not None:
        parts.append(f"{_answer(section)}</details>")
    elif section.options:
        parts.append("</details>")
    elif section.question:
        parts.append(
            f"<details><summary>{escape(section.question)}</summary>"
            f"<p>{escape(section.answer)}</p></details>"
        )
    return "\n".join([*parts, "</section>"])


def _answer(section: Section) -> str:
    answer = f"<p>{escape(section.answer)}</p>"
    if not section.more:
        return answer
    more = "".join(f"<p>{escape(text)}</p>" for text in section.more)
    return f"{answer}<details><summary>More about this picture</summary>{more}</details>"


def _options(section: Section, number: int) -> list[str]:
    """The question and its options; each opens what a reader who chooses it is told."""
    parts = [f'<p class="question">{escape(section.question)}</p>']
    for option, answer in section.options:
        # Of the same name: one that is opened folds the others.
        parts.append(
            f'<details name="options-{number}"><summary>{escape(option)}</summary>'
            f"<p><strong>{escape(answer)}</strong></p>{_answer(section)}</details>"
        )
    return parts


def _guess(section: Section, number: int) -> list[str]:
    """The question and the chart to guess on; what is appended is folded until it is answered."""
    assert section.guess is not None
    chart = section.guess["chart"]
    words = f"{chart['yLabel']} over {chart['xLabel']}"
    return [
        f'<p class="question">{escape(section.question)}</p>',
        _figure("guess", number, json.dumps(section.guess).encode(), words),
        "<details><summary>Answer and picture</summary>",
    ]


def _figure(kind: str, number: int, data: bytes, alt: str, members: bytes = b"") -> str:
    """Where a renderer draws, and what it reads; the words stand in for it without scripts."""
    name = f"{kind}-{number}"
    words = f"<noscript><p>{escape(alt)}</p></noscript>" if alt else ""
    more = f' data-members="members-{number}"' if members else ""
    return (
        f'<div class="figure" data-kind="{kind}" data-source="{name}"{more}>{words}</div>\n'
        + _block(name, data)
        + (_block(f"members-{number}", members) if members else "")
    )


def _block(name: str, data: bytes, more: str = "") -> str:
    """Deflated bytes that a script of the page reads."""
    packed = b64encode(zlib.compress(data, _LEVEL)).decode()
    return f'<script type="text/plain" id="{name}"{more}>{packed}</script>'


def _table(rows: Sequence[Sequence[str]], shaded: Container[tuple[int, int]]) -> str:
    head, *body = rows
    # The first column names the rows, whatever it holds.
    numeric = [i > 0 and all(_is_number(row[i]) for row in body) for i in range(len(head))]
    kinds = ["number" if right else "" for right in numeric]
    cells = _cells("th", head, kinds)
    lines = "\n".join(
        f"<tr>{_cells('td', row, [_marked(k, (i, j) in shaded) for j, k in enumerate(kinds)])}</tr>"
        for i, row in enumerate(body, 1)
    )
    return (
        f'<div class="scroll"><table><thead><tr>{cells}</tr></thead>'
        f"<tbody>{lines}</tbody></table></div>"
    )


def _cells(tag: str, row: Sequence[str], kinds: Sequence[str]) -> str:
    named = [f' class="{kind}"' if kind else "" for kind in kinds]
    return "".join(
        f"<{tag}{kind}>{escape(text)}</{tag}>" for text, kind in zip(row, named, strict=True)
    )


def _marked(kind: str, is_shaded: bool) -> str:
    return f"{kind} shaded".strip() if is_shaded else kind


def _is_number(text: str) -> bool:
    """Whether a cell is a number, perhaps with a unit or a second one ("10 of 12"), or a dash.

    >>> [_is_number(text) for text in ("0.21", "12.3 %", "10 of 12", "", "SGLB", "3 of all hold.")]
    [True, True, True, True, False, False]
    """
    return not text or (text[0] in "0123456789.+-\u2212\u2013\u221e" and text.count(" ") <= 2)


def html_page(title: str, body: str, scripts: Sequence[str], style: str) -> str:
    """A whole page, which may not use the network: its policy allows these scripts and this style.

    >>> "<h1>a &lt; b</h1>" in html_page("a < b", "", [], "")
    True
    """
    allowed = " ".join(_hash(script) for script in scripts) or "'none'"
    modules = "\n".join(f'<script type="module">{script}</script>' for script in scripts)
    policy = (
        f"default-src 'none'; script-src {allowed}; style-src {_hash(style)}; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(title)}</title>
<style>{style}</style>
</head>
<body>
<main>
<h1>{escape(title)}</h1>
{body}
</main>
{modules}
</body>
</html>
"""


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
