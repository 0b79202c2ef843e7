"""A page of figures and text in one HTML file that needs no server and no network."""

from __future__ import annotations

import zlib
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from gbuq_core.figures.canvas.encoding import encode_sheet
from gbuq_core.figures.canvas.live import encode_members
from gbuq_core.figures.canvas.panels import PanelSheet
from gbuq_core.figures.canvas.renderer import FOLDER, renderer_source, renderer_styles
from gbuq_core.figures.curves import Curves, curves_source, curves_styles, pack_curves
from gbuq_core.figures.html_page import html_page


@dataclass(frozen=True, kw_only=True)
class Section:
    """One part of a standalone page, shown in this order.

    Parameters
    ----------
    heading : str
        Left out when empty.
    text : str or sequence of str
        Paragraphs, plain text.
    sheet : PanelSheet or None
        The figure.
    curves : Curves or None
        A figure of curves.
    caption : str
        A line under the figure.
    table : sequence of sequence of str
        Rows of text. The first row holds the headings. The caller formats the numbers.
    question : str
        A question above its ``answer``, which is folded until the reader opens it.
    answer : str
        See ``question``.
    code : str
        Shown as it is, in a fixed-width font.
    """

    heading: str = ""
    text: str | Sequence[str] = ()
    sheet: PanelSheet | None = None
    caption: str = ""
    table: Sequence[Sequence[str]] = ()
    question: str = ""
    answer: str = ""
    code: str = ""
    curves: Curves | None = None


_LEVEL = 8  # of deflate: a page is made once, and sent around

Part = PanelSheet | Curves | Section
_READ = "Point at the picture, or use its arrow keys, to read values."
_READ_DOTS = "Point at a dot, or use the arrow keys, to read it; drag a frame to look closer."

# Drawn anew in the light theme for paper: the browser lays a page out for print at once.
_START = """
const views = [];
async function inflated(id) {
const text = atob(document.getElementById(id).textContent);
const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
return new Uint8Array(await new Response(stream).arrayBuffer());
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

    Parameters
    ----------
    sections : PanelSheet, Curves, Section or a sequence of them
        What the page shows, top to bottom.
    title : str
        Heading of the page and of its browser tab.
    lead : str
        A paragraph under the heading.

    Returns
    -------
    str
        To be written as UTF-8.

    Raises
    ------
    InvalidData
        When a sheet cannot be drawn.

    Examples
    --------
    >>> from gbuq_core.figures.canvas.panels import Panel
    >>> sheet = PanelSheet(panels=[Panel(title="A < B", values=[[1.0, 2.0]])])
    >>> page = standalone_html(sheet, title="Heart & soul")
    >>> "<title>Heart &amp; soul</title>" in page
    True
    """
    whole = [_as_section(part) for part in _listed(sections)]
    scripts, style = [], "\n" + (FOLDER / "page.css").read_text(encoding="utf-8")
    if any(section.sheet is not None for section in whole):
        scripts.append(_script(renderer_source(), "sheet", "data"))
        style += renderer_styles()
    if any(section.curves is not None for section in whole):
        scripts.append(_script(curves_source(), "curves", "unpackCurves(data)"))
        style += curves_styles()
    body = "\n".join(_section(section, i) for i, section in enumerate(whole))
    head = f"<p class='lead'>{escape(lead)}</p>\n" if lead else ""
    return html_page(title, f"{head}{body}\n</main>", scripts, style)


def _listed(sections: Part | Sequence[Part]) -> Sequence[Part]:
    if isinstance(sections, PanelSheet | Curves | Section):
        return [sections]
    return sections


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
    if section.sheet is not None:
        live = section.sheet.live
        members = encode_members(live, for_page=True) if live and live.ensembles else b""
        packed = encode_sheet(section.sheet)
        parts.append(_figure("sheet", number, packed, section.sheet.alt, members))
    if section.curves is not None:
        packed = pack_curves(_only_read(section.curves.spec))
        parts.append(_figure("curves", number, packed, section.curves.alt))
    if section.caption:
        parts.append(f'<p class="caption">{escape(section.caption)}</p>')
    if section.table:
        parts.append(_table(section.table))
    if section.code:
        parts.append(f"<pre><code>{escape(section.code)}</code></pre>")
    if section.question:
        parts.append(
            f"<details><summary>{escape(section.question)}</summary>"
            f"<p>{escape(section.answer)}</p></details>"
        )
    return "\n".join([*parts, "</section>"])


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


def _block(name: str, data: bytes) -> str:
    """Deflated bytes that a script of the page reads."""
    packed = b64encode(zlib.compress(data, _LEVEL)).decode()
    return f'<script type="text/plain" id="{name}">{packed}</script>'


def _only_read(spec: dict[str, Any]) -> dict[str, Any]:
    """A figure in which a click chooses nothing, as there is no app to answer."""
    kept = {key: part for key, part in spec.items() if key not in ("pick", "place")}
    return {**kept, "hint": _READ_DOTS if "y" in spec["read"] else _READ}


def _table(rows: Sequence[Sequence[str]]) -> str:
    head, *body = rows
    # The first column names the rows, whatever it holds.
    numeric = [i > 0 and all(_is_number(row[i]) for row in body) for i in range(len(head))]
    kinds = [' class="number"' if right else "" for right in numeric]
    cells = _cells("th", head, kinds)
    lines = "\n".join(f"<tr>{_cells('td', row, kinds)}</tr>" for row in body)
    return (
        f'<div class="scroll"><table><thead><tr>{cells}</tr></thead>'
        f"<tbody>{lines}</tbody></table></div>"
    )


def _cells(tag: str, row: Sequence[str], kinds: Sequence[str]) -> str:
    return "".join(
        f"<{tag}{kind}>{escape(text)}</{tag}>" for text, kind in zip(row, kinds, strict=True)
    )


def _is_number(text: str) -> bool:
    """Whether a cell is a number, perhaps with a unit or a second one ("10 of 12"), or a dash.

    >>> [_is_number(text) for text in ("0.21", "12.3 %", "10 of 12", "", "SGLB", "3 of all hold.")]
    [True, True, True, True, False, False]
    """
    return not text or (text[0] in "0123456789.+-\u2212\u2013\u221e" and text.count(" ") <= 2)
