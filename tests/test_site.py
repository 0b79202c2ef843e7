"""The site of the documentation: built strictly, without a network, with no link that is dead."""

import importlib
import json
import re
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest
from site_parts import ROOT

from gbuq_core.glossary import GLOSSARY

PACKAGES = ("tables", "projects", "streaming", "cluster", "metrics", "methods", "baselines")


class Page(HTMLParser):
    """What a page links to, what it loads, and where links may lead in it."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loads, self.anchors = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.anchors.update(attributes[name] for name in ("id", "name") if attributes.get(name))
        if attributes.get("src"):
            self.loads.append(attributes["src"])
        if attributes.get("href"):
            (self.links if tag == "a" else self.loads).append(attributes["href"])


@pytest.fixture(scope="module")
def pages(site):
    return {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}


def is_elsewhere(address):
    return bool(urlsplit(address).scheme or urlsplit(address).netloc)


def test_no_link_is_dead(site, pages):
    dead = []
    for path, page in pages.items():
        for address in [*page.links, *page.loads]:
            if is_elsewhere(address):
                continue
            parts = urlsplit(address)
            start = site if parts.path.startswith("/") else path.parent
            target = (start / unquote(parts.path).lstrip("/")).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.is_file():
                dead.append(f"{path.name}: {address}")
            elif parts.fragment and target in pages:
                anchors = pages[target].anchors
                if unquote(parts.fragment) not in {*anchors, "__skip", "__consent"}:
                    dead.append(f"{path.name}: {address}")
    assert dead == []
    assert len(pages) > 20
    assert sum(len(page.links) for page in pages.values()) > 1000  # links were seen at all


def test_nothing_comes_from_another_server(site, pages):
    foreign = {
        address for page in pages.values() for address in page.loads if is_elsewhere(address)
    }
    assert {address for address in foreign if not address.startswith("data:")} == set()
    for styles in site.rglob("*.css"):
        text = styles.read_text(encoding="utf-8")
        assert not re.search(r"""(url\(|@import)\s*["']?(https?:)?//""", text), styles.name


@pytest.mark.parametrize("name", ["gbuq_core", *(f"gbuq_core.{package}" for package in PACKAGES)])
def test_every_public_class_and_function_is_in_the_reference(name, pages):
    module = importlib.import_module(name)
    anchors = set().union(*(page.anchors for page in pages.values()))
    offered = [public for public in module.__all__ if callable(getattr(module, public))]
    assert offered
    assert [public for public in offered if f"{name}.{public}" not in anchors] == []


def test_examples_are_code_and_not_quotations(site):
    for path in (site / "reference").glob("*.html"):
        assert "<blockquote>" not in path.read_text(encoding="utf-8"), path.name


def test_the_glossary_is_the_apps(site, pages):
    anchors = pages[site / "glossary.html"].anchors
    assert set(GLOSSARY) <= anchors
    text = (site / "glossary.html").read_text(encoding="utf-8")
    assert all(term.label in text for term in GLOSSARY.values())


def test_formulas_are_drawn(site):
    for path in (ROOT / "docs").rglob("*.md"):
        page = site / path.relative_to(ROOT / "docs").with_suffix(".html")
        drawn = page.read_text(encoding="utf-8")
        assert "arithmatex" not in drawn, path.name
        formulas = len(re.findall(r"^\$\$", path.read_text(encoding="utf-8"), flags=re.MULTILINE))
        assert drawn.count('class="formula"') == formulas, path.name


def test_the_search_knows_the_words(site):
    entries = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))[
        "docs"
    ]
    for word in ("novelty", "virtual ensemble", "predict_uncertainty", "--resume"):
        assert any(word in entry["text"].lower() for entry in entries), word
