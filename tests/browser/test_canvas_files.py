"""Pictures and pages to keep: PNG, SVG and standalone HTML."""

from __future__ import annotations

import struct
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from gbuq_core.figures.canvas.panels import Panel, PanelSheet
from gbuq_core.figures.standalone import Section, standalone_html
from tests.browser.conftest import screens, screenshot
from tests.browser.figure import Figure, draw_figure
from tests.browser.sheets import fields, heart, labels

SVG = "{http://www.w3.org/2000/svg}"


def download(figure: Figure, kind: str):
    with figure.page.expect_download() as waiting:
        figure.page.get_by_label(f"Save picture as {kind}").click()
    return waiting.value


def test_a_png_is_twice_as_large_and_an_svg_keeps_text_as_text_and_cells_as_rectangles(page):
    figure = draw_figure(page, heart(5, 0))
    saved = download(figure, "PNG")
    assert saved.suggested_filename == "heart-tree-1000-of-1000.png"
    data = Path(saved.path()).read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    stage = figure.root.locator(".gbuq-stage").bounding_box()
    assert height > 2 * stage["height"]
    assert width > 1200
    assert len(data) > 20_000, "something is drawn"
    root = ElementTree.fromstring(Path(download(figure, "SVG").path()).read_text("utf-8"))
    texts = {node.text for node in root.iter(f"{SVG}text")}
    assert {"SGB: total", "feature 1", "no training rows", "tree 1000 of 1000"} <= texts
    assert not list(root.iter(f"{SVG}image"))
    fills = {node.get("fill") for node in root.iter(f"{SVG}rect")}
    assert len([fill for fill in fills if fill.startswith("#")]) > 30


def test_a_fine_grid_is_a_picture_inside_the_svg(page):
    figure = draw_figure(page, fields(80, 0.0))
    root = ElementTree.fromstring(Path(download(figure, "SVG").path()).read_text("utf-8"))
    images = list(root.iter(f"{SVG}image"))
    assert len(images) == 3
    assert all(image.get("href").startswith("data:image/png;base64,") for image in images)


def test_hostile_text_stays_text_in_an_svg(page):
    figure = draw_figure(page, labels("<b>Bold</b> & co"))
    source = Path(download(figure, "SVG").path()).read_text("utf-8")
    root = ElementTree.fromstring(source)
    assert not list(root.iter(f"{SVG}script"))
    assert "<b>Bold</b> & co" in {node.text for node in root.iter(f"{SVG}text")}


def example_page() -> str:
    rng = np.random.default_rng(5)
    stack = rng.gamma(2, 0.05, (12, 9, 9))
    empty = np.zeros((9, 9), dtype=bool)
    empty[3:6, 3:6] = True
    panels = [
        Panel(title="Data uncertainty", values=stack, unit="nats", hatched=empty),
        Panel(
            title="Knowledge uncertainty",
            values=stack[::-1] / 9,
            unit="nats",
            hatched=empty,
            log=True,
        ),
    ]
    sheet = PanelSheet(
        panels=panels,
        columns=2,
        x_label="feature 2",
        y_label="feature 1",
        frame_label="tree",
        frame_values=list(range(10, 130, 10)),
        frames_per_second=30,
        hatch_label="no training rows",
    )
    sections = [
        Section(
            heading="What to look at",
            text="Play the <trees> & watch.",
            sheet=sheet,
            caption="Figure 1.",
        ),
        Section(
            heading="Scores",
            table=[["method", "AUROC"], ["SGLB", "1.00"]],
            question="Why is it high there?",
            answer="No rows were seen.",
            code="print(1 < 2)",
        ),
    ]
    return standalone_html(sections, title="A lesson & its picture", lead="Needs no server.")


def test_a_standalone_page_works_without_a_server_and_follows_window_and_theme(page, tmp_path):
    path = tmp_path / "lesson.html"
    path.write_text(example_page(), encoding="utf-8")
    requests = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    figure = Figure(page)
    figure.wait_for("node.dataset.ready === '1'")
    theme = "node => node.parentElement.gbuqSheet.view.theme.background"
    for window, scheme in screens(page):
        assert (figure.root.evaluate(theme) == "rgb(20, 22, 27)") == (scheme == "dark")
        screenshot(page, f"standalone-{window[0]}-{scheme}", full_page=True)
        assert figure.hover(4, 4)["Data uncertainty"].endswith(" nats")
        page.keyboard.press("Escape")
        page.get_by_label("Play", exact=True).click()
        figure.wait_for("node.dataset.playing === '1'")
        figure.wait_for("node.dataset.frame === '11' && node.dataset.playing === '0'")
        assert download(figure, "PNG").suggested_filename == "figure-tree-120-of-120.png"
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert [address for address in requests if not address.startswith(("file:", "blob:"))] == []


@pytest.mark.parametrize("viewport", [(900, 700)], indirect=True)
def test_a_title_wider_than_its_map_is_whole(page, tmp_path, viewport):
    titles = [f"{name}: KU" for name in ("truth", "SGLB", "virtual SGLB", "cSGLB", "cbSGLB")]
    panels = [
        Panel(title=title, values=np.eye(4), unit="nats", accent="#0072b2") for title in titles
    ]
    path = tmp_path / "titles.html"
    extent = (-600, 600)
    sheet = PanelSheet(
        panels=panels, columns=5, y_label="y", x_extent=extent, y_extent=extent, panel_height=110
    )
    path.write_text(standalone_html(sheet, title="Titles"), encoding="utf-8")
    page.goto(path.as_uri())
    figure = Figure(page)
    figure.wait_for("node.dataset.ready === '1'")
    root = ElementTree.fromstring(Path(download(figure, "SVG").path()).read_text("utf-8"))
    texts = [node for node in root.iter(f"{SVG}text") if node.get("font-weight") == "600"]
    assert [node.text for node in texts] == titles
    left = "node => node.parentElement.gbuqSheet.view.views[2].place.map.x"
    assert float(texts[2].get("x")) < figure.root.evaluate(left), "it begins beside its map"
