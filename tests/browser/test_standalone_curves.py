"""Curves in a page of their own: the app's renderer, without an app and without a network."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from playwright.sync_api import expect

from gbuq_core.figures.canvas.panels import Panel, PanelSheet
from gbuq_core.figures.curves import Curves
from gbuq_core.figures.curves.parts import entry, line, readable_dots
from gbuq_core.figures.standalone import Section, standalone_html
from gbuq_core.study.bands import Axis, Band, Look, bands
from gbuq_core.study.members import Fit, Predictive, View
from gbuq_core.study.soft_trees import SOFT_TREES, SoftTreesSettings, SoftTreesView, picture
from gbuq_core.study.soft_trees_inside import SoftTreesFit, load_soft_trees_data
from gbuq_core.study.study import Run
from gbuq_core.study.wave import WAVE, WaveSettings, wave_figure
from tests.browser.conftest import DESKTOP, PHONE, screenshot

SVG = "{http://www.w3.org/2000/svg}"
FIGURE = ".gbuq-curves"
LONG_NAME = "95 % of the rows that are not drawn here"

# Boxes of what is written in each figure: its legend's entries and buttons, then the texts of its
# drawing, where panels that are swiped are laid out below one another.
WRITTEN = """figures => figures.map(figure => {
  const box = (node) => {
    const { left, right, top, bottom } = node.getBoundingClientRect();
    return { left, right, top, bottom, text: node.textContent };
  };
  const all = box(figure);
  const swiped = figure.matches('.gbuq-curves-swipes');
  const page = all.right - all.left;
  const stacked = (node) => {
    const { left, right, top, bottom, text } = box(node);
    const start = node.ownerSVGElement.getBoundingClientRect().left;
    const at = swiped ? Math.floor(((left + right) / 2 - start) / page) : 0;
    const [by, down] = [all.left - start - at * page, 1e4 * at];
    return { left: left + by, right: right + by, top: top + down, bottom: bottom + down, text };
  };
  const parts = '.gbuq-curves-entry, .gbuq-curves-saves button:not([hidden])'
    + (swiped ? ', .gbuq-curves-pager > *' : '');
  return {
    all,
    legend: [...figure.querySelectorAll(parts)].map(box),
    texts: [...figure.querySelectorAll('svg[tabindex] text')].map(stacked),
  };
})"""

# Of each band: how many points of its outline lie beyond the plot, how many of these show.
BEYOND = """figures => figures.flatMap(figure => [...figure.querySelectorAll('.panel')]
.map(panel => {
  const { id } = panel.getAttribute('clip-path').match(/#(?<id>[^)]+)/).groups;
  const clip = document.getElementById(id);
  const { x, y, width, height } = clip.firstChild.getBBox();
  const found = { own: figure.contains(clip), beyond: 0, shown: 0, inside: 0, seen: 0 };
  for (const path of panel.querySelectorAll('path[fill]:not([fill=none])')) {
    const length = path.getTotalLength();
    for (let i = 0; i < 200; i++) {
      const at = path.getPointAtLength((i + 0.5) * length / 200);
      const beside = Math.max(x - at.x, at.x - x - width, y - at.y, at.y - y - height);
      if (Math.abs(beside) < 2) continue;
      panel.scrollIntoView({ block: 'center' });
      const place = at.matrixTransform(path.getScreenCTM());
      if (place.y < 0 || place.y > innerHeight) continue;
      const hit = document.elementsFromPoint(place.x, place.y).some(n => panel.contains(n));
      if (beside > 0) { found.beyond += 1; found.shown += hit; }
      else { found.inside += 1; found.seen += hit; }
    }
  }
  return found;
}))"""


def functions() -> Curves:
    """Functions and bands that leave the axes on all sides."""
    rng = np.random.default_rng(3)
    x = np.linspace(-2.2, 2.2, 81)
    data = replace(
        load_soft_trees_data("tails", 40),
        key="own",
        X=rng.uniform(-1, 1, (40, 1)),
        y=rng.normal(size=40),
        x=x,
        y_range=(-1.5, 1.5),
        support=abs(x) < 1,
        true_mean=x / 2,
    )
    loc, own, doubt = np.sin(3 * x), 0.01 + x**4 / 9, x**4 / 4
    views = []
    for key in ("vst", "sglb", "gp"):
        settings = SoftTreesSettings(methods=(key,), data="own")
        lines, at = rng.normal(size=(6, 1)) * x, Predictive(loc, own + doubt, own, doubt)
        views.append(SoftTreesView(SoftTreesFit(settings), settings, lines, at))
    return picture(Run(SOFT_TREES, settings, data, tuple(views)), ())


def noise() -> Curves:
    x = np.linspace(-10.0, 20.0, 121)
    rows = np.random.default_rng(0).uniform(0.0, 10.0, 300)
    truth = Axis(x, (x >= 0.0) & (x <= 10.0), x / 2, 0.1 * abs(x), (rows, rows / 2))
    ones, scores = np.ones(len(x)), {"novelty": 12 * abs(x - 5)}
    wide = Predictive(40 * np.sin(x / 3), 400 * ones, ones, 399 * ones, scores=scores)
    view = View(Fit(None, None), wide)
    panels = [Band(f"MACAU {i}", "#0072b2", view) for i in range(3)]
    look = Look((0.95,), 0.95, score="novelty", names={"novelty": "Novelty"})
    return bands(truth, panels, look, name="noise", said="300 rows with x from 0 to 10.")


def wave() -> Curves:
    figure = wave_figure(WAVE.run(WaveSettings(rows=100)))
    return Curves({**figure.spec, "alt": "A wave in words."})


def dots() -> Curves:
    """Dots at the ends of both axes, and more names than fit in one line."""
    read = {"x": [0.0, 5.0, 10.0, 7.0], "y": [0.0, 5.0, 10.0, 1.0], "names": [1, 2, 3, 4]}
    at = readable_dots([0, 1, 2], "#0072b2", 0.5, 6.0)
    panel = {"share": 1.0, "range": [0.0, 10.0], "label": "y", "layers": [at]}
    panel["ring"] = {"x": 5.0, "y": 5.0, "colour": "#d55e00"}
    scale = {"name": "error", "kind": "scale", "colours": ["#000000", "#888888", "#ffffff"]}
    dashed = line([0, 1], [0, 1], "text", 1.2, "2 3")
    legend = [scale, *(entry(f"{LONG_NAME} {i}", dashed) for i in range(6))]
    spec = {
        "name": "dots",
        "alt": "Dots in words.",
        "height": 300,
        "hint": "Click it.",
        "pick": True,
        "x": {"range": [0.0, 10.0], "label": "<x>"},
        "panels": [panel],
        "legend": legend,
        "read": {**read, "label": "row", "values": [{"name": "y", "at": read["y"]}]},
    }
    return Curves(spec)


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> str:
    """A page with several figures of both renderers."""
    sheet = PanelSheet(panels=[Panel(title="Map", values=np.eye(6), unit="nats")])
    sections = [
        functions(),
        noise(),
        Section(heading="Wave", sheet=sheet, curves=wave(), caption="Both."),
        dots(),
    ]
    path = tmp_path_factory.mktemp("pages") / "curves.html"
    path.write_text(standalone_html(sections, "Curves"), encoding="utf-8")
    return path.as_uri()


def open_figures(page, address):
    page.goto(address)
    page.locator(f"{FIGURE} svg[tabindex] .panel").nth(8).wait_for(state="attached")
    page.locator(".gbuq[data-ready='1']").wait_for()
    return page.locator(FIGURE)


def overlapping(boxes, slack=1.0):
    """Pairs of texts that stand on each other."""
    return [
        (a["text"], b["text"])
        for i, a in enumerate(boxes)
        for b in boxes[:i]
        if min(a["right"], b["right"]) - max(a["left"], b["left"]) > slack
        and min(a["bottom"], b["bottom"]) - max(a["top"], b["top"]) > slack + 2  # line spacing
    ]


WINDOWS = pytest.mark.parametrize(
    ("viewport", "colour_scheme"),
    [(DESKTOP, "light"), (PHONE, "dark")],
    indirect=True,
    ids=["desk", "phone"],
)


@WINDOWS
def test_words_neither_overlap_nor_leave_the_figure_and_bands_stay_in_their_axes(
    page, address, viewport, colour_scheme
):
    requests = []
    page.on("request", lambda request: requests.append(request.url))
    figures = open_figures(page, address)
    screenshot(page, f"standalone-curves-{viewport[0]}-{colour_scheme}", full_page=True)
    assert requests == [address]
    written = figures.evaluate_all(WRITTEN)
    assert len(written) == 4
    for part in written:
        assert len(part["legend"]) > 2
        assert len(part["texts"]) > 6
        assert overlapping(part["legend"]) == []
        assert overlapping(part["texts"]) == []
        for box in (*part["legend"], *part["texts"]):
            assert part["all"]["left"] - 0.5 <= box["left"] < box["right"], box
            assert box["right"] <= part["all"]["right"] + 0.5, box
    panels = figures.evaluate_all(BEYOND)
    assert len(panels) == 3 + 6 + 2 + 1
    assert all(part["own"] for part in panels), "a panel is cut by another figure's axes"
    assert [part["shown"] for part in panels] == [0] * len(panels)
    assert min(part["beyond"] for part in panels[:3]) > 10, "the bands do leave the axes"
    for part in panels[:9]:
        assert part["seen"] > 0.5 * part["inside"]  # an outline is as often just missed
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_values_are_read_with_pointer_and_keyboard_and_a_click_chooses_nothing(page, address):
    figures = open_figures(page, address)
    for i, (alt, words) in enumerate(
        [
            ("Tails: 40 rows.", "truth"),
            ("300 rows with x from 0 to 10.", "MACAU"),
            ("A wave in words.", "knowledge, standard deviation"),
            ("Dots in words.", "row 1   y 0"),
        ]
    ):
        figure = figures.nth(i)
        picture, readout = figure.locator("svg[tabindex]"), figure.locator(".gbuq-curves-readout")
        assert picture.get_attribute("aria-label").startswith(alt)
        assert "lick" not in readout.inner_text()
        picture.focus()
        page.keyboard.press("ArrowRight")
        assert words in readout.inner_text()
        page.keyboard.press("Enter")
        page.keyboard.press("Escape")
        assert readout.inner_text().startswith("Point at")
    figures.nth(0).locator("svg[tabindex]").scroll_into_view_if_needed()
    box = figures.nth(0).locator("svg[tabindex]").bounding_box()
    page.mouse.click(box["x"] + 0.4 * box["width"], box["y"] + 0.5 * box["height"])
    assert "truth" in figures.nth(0).locator(".gbuq-curves-readout").inner_text()


def test_points_lie_where_the_ticks_say_and_a_frame_looks_closer(page, address):
    figure = open_figures(page, address).nth(3)
    drawn = figure.evaluate(
        """figure => {
          const svg = figure.querySelector('svg[tabindex]');
          const [d] = [...svg.querySelectorAll('.panel path')].map(p => p.getAttribute('d'));
          const text = (shown, anchor) => [...svg.querySelectorAll('text')]
            .find(t => t.textContent === shown && t.getAttribute('text-anchor') === anchor);
          const at = (node, name) => Number(node.getAttribute(name));
          const ring = svg.querySelector('.ring');
          return {
            points: d.match(/[\\d.]+,[\\d.]+/g).map(p => p.split(',').map(Number)),
            x: ['0', '10'].map(t => at(text(t, 'middle'), 'x')),
            y: ['0', '10'].map(t => at(text(t, 'end'), 'y') - 4),
            ring: [at(ring, 'cx'), at(ring, 'cy')],
          };
        }"""
    )
    corners = np.transpose([drawn["x"], drawn["y"]])
    assert len(drawn["points"]) == 3, "those of the layer, not all that can be read"
    # Coordinates have one decimal.
    expected = [corners[0], corners.mean(axis=0), corners[1]]
    np.testing.assert_allclose(drawn["points"], expected, atol=0.11)
    np.testing.assert_allclose(drawn["ring"], corners.mean(axis=0), atol=0.11)
    picture = figure.locator("svg[tabindex]")
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 200, steps=3)
    page.mouse.up()
    whole = figure.get_by_label("Show the whole picture again")
    whole.click()
    expect(whole).to_be_hidden()


@WINDOWS
def test_a_saved_picture_holds_its_whole_legend(page, address, viewport, colour_scheme):
    figures = open_figures(page, address)
    for i in (0, 1, 3):
        with page.expect_download() as waiting:
            figures.nth(i).get_by_label("Save the picture as SVG").click()
        root = ElementTree.fromstring(Path(waiting.value.path()).read_text("utf-8"))
        names = figures.nth(i).locator(".gbuq-curves-entry").all_inner_texts()
        assert (
            len(root.findall(f".//{SVG}clipPath")) == (3, 6, 0, 1)[i]
        )  # also where they are swiped
        texts = {node.text: node for node in root.findall(f"{SVG}text")}
        assert [name for name in names if name not in texts] == []
        drawing = next(node for node in root if node.get("transform"))
        head = float(drawing.get("transform").split(",")[1].rstrip(")"))
        places = [(float(texts[n].get("x")), float(texts[n].get("y"))) for n in names]
        assert len(set(places)) == len(names)
        assert max(y for _, y in places) < head
        # Seven pixels hold a letter of this size.
        ends = [x + 5 * len(n) for (x, _), n in zip(places, names, strict=True) if x > 100]
        assert max(ends, default=0) <= float(root.get("width"))


# What a copy is drawn with, and what it refers to beyond itself.
KEPT = """kept => {
  const copy = kept.querySelector('svg.gbuq-kept');
  const names = [...copy.querySelectorAll('[clip-path], [fill^="url("]')]
    .flatMap(node => [node.getAttribute('clip-path'), node.getAttribute('fill')])
    .filter(name => name?.startsWith('url(#'));
  const foreign = names.filter(name => !copy.querySelector(`[id="${name.slice(5, -1)}"]`));
  const paths = [...copy.querySelectorAll('.panel path')].map(path => path.getAttribute('d'));
  return { foreign, named: names.length, paths, rules: copy.querySelectorAll('.rule').length };
}"""
PATHS = """node => [...node.querySelectorAll('svg[tabindex] .panel path')]
  .map(path => path.getAttribute('d'))"""


def test_a_kept_picture_is_a_copy_of_its_own_beside_the_next(page, address):
    page.set_viewport_size({"width": 1440, "height": 900})
    figure = open_figures(page, address).nth(2)
    kept = page.locator(".gbuq-pin")
    figure.get_by_role("button", name="Keep this picture beside the next").click()
    assert kept.locator("figcaption").inner_text().startswith("Kept: ")
    copy = kept.evaluate(KEPT)
    assert (copy["foreign"], copy["rules"]) == ([], 0)
    assert copy["named"] > 2  # both panels' clips and the hatch
    assert copy["paths"] == figure.evaluate(PATHS)  # drawn in the room that it leaves
    left, right = figure.bounding_box(), kept.bounding_box()
    assert right["x"] >= left["x"] + left["width"] + 19
    drawing = figure.locator("svg[tabindex]")
    before = drawing.get_attribute("width")
    page.set_viewport_size({"width": 390, "height": 844})
    expect(drawing).not_to_have_attribute("width", before)
    assert kept.evaluate(KEPT) == copy
    below, above = kept.bounding_box(), figure.bounding_box()
    assert below["y"] >= above["y"] + above["height"]
    kept.get_by_role("button", name="Unpin").click()
    assert kept.count() == 0
    assert figure.get_attribute("data-pinned") == "0"


@pytest.mark.parametrize("viewport", [PHONE], indirect=True, ids=["phone"])
def test_a_finger_turns_panels_and_looks_closer_once_it_is_asked_to(new_page, address):
    page = new_page(has_touch=True, is_mobile=True)
    figures = open_figures(page, address)
    touch = page.context.new_cdp_session(page)

    def send(kind, *points):
        points = [{"x": x, "y": y} for x, y in points]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    for position, down in ((1, 0), (3, 60)):  # a stretch; a frame where dots are the picture
        figure = figures.nth(position)
        picture = figure.locator("svg[tabindex]")
        zoom = figure.get_by_label("Look closer with a finger")
        whole = figure.get_by_label("Show the whole picture again")
        zoom.scroll_into_view_if_needed()

        def drag(parts=(0.4, 0.5, 0.7), figure=figure, picture=picture, down=down):
            across, top = figure.bounding_box(), picture.bounding_box()["y"]
            ends = [(across["x"] + part * across["width"], top + 80) for part in parts]
            send("touchStart", ends[0])
            for share, (x, y) in zip((0.5, 1), ends[1:], strict=True):
                send("touchMove", (x, y + share * down))
            page.wait_for_timeout(200)  # a page that a flick has set moving swallows the next tap
            send("touchEnd")

        if not down:  # across the page: the next of three panels
            count = figure.locator(".gbuq-curves-pager > span")
            expect(count).to_have_text("1 of 3")
            drag((0.9, 0.6, 0.2))
            expect(count).to_have_text("2 of 3")
            expect(whole).to_be_hidden()
            figure.get_by_role("button", name="Next panel").tap()
            expect(count).to_have_text("3 of 3")
            expect(figure.get_by_role("button", name="Next panel")).to_be_disabled()
            figure.get_by_label("Panel", exact=True).select_option(index=0)
            expect(count).to_have_text("1 of 3")
            picture.tap(position={"x": 200, "y": 80})
            expect(figure.locator(".gbuq-curves-readout")).to_contain_text("MACAU")
        zoom.tap()
        expect(zoom).to_have_attribute("aria-pressed", "true")
        drag()
        expect(whole).to_be_visible()
        expect(zoom).to_have_attribute("aria-pressed", "false")
        whole.tap()
        expect(whole).to_be_hidden()


@pytest.mark.parametrize("colour_scheme", ["dark"], indirect=True)
def test_figures_follow_a_change_of_theme_and_are_light_on_paper(page, address, colour_scheme):
    figures = open_figures(page, address)
    inks = """figures => figures.map(figure =>
      figure.querySelector('svg[tabindex] text').getAttribute('fill'))"""
    sheet = "document.querySelector('.gbuq').parentElement.gbuqSheet.view.theme.background"
    dark = figures.evaluate_all(inks)
    assert page.evaluate(sheet) == "rgb(20, 22, 27)"
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    paper = figures.evaluate_all(inks)
    assert page.evaluate(sheet) == "rgb(255, 255, 255)"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert figures.evaluate_all(inks) == dark
    page.emulate_media(color_scheme="light")
    text = figures.nth(0).locator("svg[tabindex] text").first
    expect(text).to_have_attribute("fill", paper[0])  # the page's policy refuses wait_for_function
    assert page.evaluate(sheet) == "rgb(255, 255, 255)"
    assert figures.evaluate_all(inks) == paper
    assert set(paper).isdisjoint(dark)
