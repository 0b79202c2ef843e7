"""A page of figures and text in one HTML file that needs no server and no network."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from html import escape
from typing import NamedTuple, cast

from gbuq_core.figures.canvas.encoding import encode_sheet
from gbuq_core.figures.canvas.panels import PanelSheet
from gbuq_core.figures.canvas.renderer import FOLDER, renderer_source, renderer_styles
from gbuq_core.figures.html_page import html_page


class Section(NamedTuple):
    """One part of a standalone page, shown in this order.

    Parameters
    ----------
    heading : str
        Left out when empty.
    text : str or sequence of str
        Paragraphs, plain text.
    sheet : PanelSheet or None
        The figure.
    caption : str
        A line under the figure.
    table : sequence of sequence of str
        Rows of text, the first of them the headings; numbers are the caller's to format.
    question : str
        Shown with ``answer`` folded away until it is asked for.
    answer : str
        See ``question``.
    code : str
        Shown as it is, in a fixed-width font.
    svg : str
        A still picture, shown as an image, in which no script runs.
    alt : str
        The same in words.
    """

    heading: str = ""
    text: str | Sequence[str] = ()
    sheet: PanelSheet | None = None
    caption: str = ""
    table: Sequence[Sequence[str]] = ()
    question: str = ""
    answer: str = ""
    code: str = ""
    svg: str = ""
    alt: str = ""


_START = """
for (const node of document.querySelectorAll('.figure')) {
  const text = atob(document.getElementById(node.dataset.source).textContent);
  mount(node, Uint8Array.from(text, (letter) => letter.charCodeAt(0)));
}
"""


def standalone_html(
    sections: PanelSheet | Section | Sequence[PanelSheet | Section], title: str, lead: str = ""
) -> str:
    """Return one self-contained HTML page with live figures.

    The page makes no request: its policy allows only the script and the style that it carries,
    named by their hashes. All text is escaped.

    Parameters
    ----------
    sections : PanelSheet, Section or a sequence of them
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
    >>> page = standalone_html(PanelSheet([Panel("A < B", [[1.0, 2.0]])]), title="Heart & soul")
    >>> "<title>Heart &amp; soul</title>" in page
    True
    """
    # A sheet and a section are tuples too, hence the order of the questions.
    whole: list[Section]
    if isinstance(sections, Section):
        whole = [sections]
    elif isinstance(sections, PanelSheet):
        whole = [Section(sheet=sections)]
    else:
        whole = [_as_section(part) for part in cast("Sequence[PanelSheet | Section]", sections)]
    script = "\n" + renderer_source() + _START
    style = "\n" + (FOLDER / "page.css").read_text(encoding="utf-8") + renderer_styles()
    body = "\n".join(_section(section, i) for i, section in enumerate(whole))
    head = f"<p class='lead'>{escape(lead)}</p>\n" if lead else ""
    return html_page(title, f"{head}{body}\n</main>", script, style)


def _as_section(part: PanelSheet | Section) -> Section:
    return part if isinstance(part, Section) else Section(sheet=part)


def _section(section: Section, number: int) -> str:
    parts = ["<section>"]
    if section.heading:
        parts.append(f"<h2>{escape(section.heading)}</h2>")
    paragraphs = [section.text] if isinstance(section.text, str) else section.text
    parts += [f"<p>{escape(text)}</p>" for text in paragraphs if text]
    if section.sheet is not None:
        data = b64encode(encode_sheet(section.sheet)).decode()
        parts.append(f'<div class="figure" data-source="sheet-{number}"></div>')
        parts.append(f'<script type="text/plain" id="sheet-{number}">{data}</script>')
    if section.svg:
        image = b64encode(section.svg.encode()).decode()
        alt = escape(section.alt)
        parts.append(f'<img alt="{alt}" src="data:image/svg+xml;base64,{image}">')
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
