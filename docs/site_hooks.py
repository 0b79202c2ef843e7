"""What MkDocs does not do by itself: pages made of other files, pictures, formulas.

It happens while the site is built, so that no text stands in two files.
"""

from __future__ import annotations

import html
import posixpath
import re
from pathlib import Path

import ziamath
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from docs.play import gallery, play_files
from gbuq_core.glossary import GLOSSARY
from gbuq_core.methods import METHODS
from gbuq_core.presentation import markdown_table

ROOT = Path(__file__).resolve().parents[1]
# Files of the repository that are a file of the site.
SHOWN = {
    "README.md": "about.md",
    "CHANGELOG.md": "changelog.md",
    "CITATION.cff": "citation.txt",
    "LICENSE": "license.txt",
    "gbuq_core/glossary.py": "glossary.md",
    "benchmarks/papers.csv": "papers.csv",
    "demos/nano.py": "demos/nano.txt",
    **{f"demos/{path.name}": f"demos/{path.name}" for path in (ROOT / "demos").glob("*.png")},
}
_LINK = re.compile(r"(\]\()(?!\w+:|#)([^)#\s]+)")
_PICTURE = re.compile(r"(?<!\[)!\[[^\]]*\]\(([^)\s]+\.png)\)")
_FORMULA = re.compile(
    r'<(span|div) class="arithmatex">\s*\\([(\[])(.*?)\\[)\]]\s*</\1>', flags=re.DOTALL
)
ziamath.config.svg2 = False  # no ids, which would be there once for each formula
ziamath.config.math.color = "currentColor"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files that do not live in ``docs/``."""
    for source, uri in SHOWN.items():
        text = {"content": glossary_page()} if uri == "glossary.md" else {}
        files.append(File.generated(config, uri, **text or {"abs_src_path": str(ROOT / source)}))
    for uri, content in (("index.md", gallery()), *play_files(config.site_url or "")):
        files.append(File.generated(config, uri, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links to files of the repository lead to the same files of the site; fill in tables."""
    uri = page.file.src_uri
    for marker, write in MARKERS.items():
        if marker in markdown:
            markdown = markdown.replace(marker, write())
    sources = {made: source for source, made in SHOWN.items()}
    folder = posixpath.dirname(sources.get(uri, f"docs/{uri}"))

    def on_the_site(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, match[2]))
        target = SHOWN.get(target, target.removeprefix("docs/"))
        return match[1] + posixpath.relpath(target, posixpath.dirname(uri) or ".")

    # A picture opens in full size, which a phone needs.
    return _PICTURE.sub(r"[\g<0>](\1)", _LINK.sub(on_the_site, markdown))


def on_page_content(text: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Draw formulas, so that a browser needs no script for them."""
    return _FORMULA.sub(_drawn, text)


def _drawn(match: re.Match[str]) -> str:
    tex = html.unescape(match[3]).strip()
    inline = match[2] == "("
    formula = ziamath.Latex(tex, size=16, inline=inline)
    label = html.escape(" ".join(tex.split()), quote=True)
    style = f' style="vertical-align: {formula.getyofst():.2f}px"' if inline else ""
    attributes = f'role="img" aria-label="{label}"{style}'
    picture = formula.svg().replace("<svg ", f"<svg {attributes} ", 1)
    return picture if inline else f'<div class="formula">{picture}</div>'


def glossary_page() -> str:
    """The app's own words as a page, each with an anchor."""
    terms = sorted(GLOSSARY.items(), key=lambda item: item[1].label.lower())
    lines = ["# Glossary", "", "The words of the app and of these pages.", ""]
    for key, term in terms:
        unit = f" Unit: {term.unit}." if term.unit else ""
        lines += [f"## {term.label} {{ #{key} }}", "", term.definition + unit, ""]
    return "\n".join(lines)


def methods_table() -> str:
    """The records of all methods as a table."""
    rows = [("key", "name", "what it is", "tasks", "tells")]
    for key, method in METHODS.items():
        tells = ", ".join(method.yields).replace("_", " ")
        rows.append((f"`{key}`", method.label, method.about, ", ".join(method.tasks), tells))
    return markdown_table(rows, "l")


# What stands in a page's text where a table is filled in.
MARKERS = {
    "<!-- methods -->": methods_table,
}
