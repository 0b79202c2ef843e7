"""How a figure is looked at, in one page without a server: scales, closer looks, what is kept."""

import base64
from dataclasses import replace

import numpy as np
import pytest

from gbuq_core.figures.canvas.encoding import encode_sheet
from gbuq_core.figures.canvas.panels import Panel, PanelSheet
from gbuq_core.figures.canvas.renderer import renderer_source, renderer_styles
from gbuq_core.figures.handles import live_knob
from pages._ui.live import COLOURS, FOCUS, live_map, map_knob
from tests.browser.figure import Figure, turn

SIDE, FRAMES = 40, 6
MOUNT = """async ([source, styles]) => {
  document.head.append(Object.assign(document.createElement('style'), { textContent: styles }));
  const module = new Blob([source], { type: 'text/javascript' });
  const { mount } = await import(URL.createObjectURL(module));
  const host = document.body.appendChild(document.createElement('div'));
  window.put = (text) => {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    window.view = mount(host, bytes, (event) => { window.sent = event; });
  };
}"""
LIMITS = "() => view.sheet.panels.map(({ scale, limits }) => scale ?? limits)"


def hills():
    """A truth that stands still and a map that grows from frame to frame, on one scale."""
    y, x = np.mgrid[-1 : 1 : SIDE * 1j, -1 : 1 : SIDE * 1j]
    hill = np.exp(-3 * (x**2 + y**2))
    return hill, np.stack([hill * (frame + 1) for frame in range(FRAMES)])


def sheet_of(times=1.0):
    truth, growing = hills()
    top = FRAMES * times
    panels = [
        Panel(title="Truth", values=truth, unit="nats", limits=(0.0, top)),
        Panel(title="total", values=growing * times, unit="nats", limits=(0.0, top)),
        Panel(
            title="knowledge",
            values=growing * times,
            unit="nats",
            limits=(top / 1e4, top),
            log=True,
        ),
    ]
    return PanelSheet(
        panels=panels,
        x_extent=(-1.0, 1.0),
        y_extent=(-1.0, 1.0),
        frame_label="trees",
        frame_values=[10, 20, 50, 100, 200, 400],
        knobs=[live_knob(COLOURS, "all frames"), live_knob(FOCUS, False)],
        focus=((-0.3, 0.3), (-0.2, 0.3)),
        note="colours begin at the lowest value",
        name="hills",
    )


@pytest.fixture
def figure(page):
    """The figure; `put` gives it another sheet."""
    page.goto("about:blank")
    page.evaluate(MOUNT, [renderer_source(), renderer_styles()])
    put(page, sheet_of())
    return Figure(page)


def put(page, sheet, **kinds):
    kinds = kinds or {"select": True, "ray": True}
    page.evaluate("text => put(text)", base64.b64encode(encode_sheet(sheet, **kinds)).decode())


def test_colours_span_a_frame_or_all_and_stay_while_the_reader_paints(page, figure):
    every = [[0, 6], [0, 6], [6e-4, 6]]
    assert page.evaluate(LIMITS) == pytest.approx(np.array(every))
    page.evaluate("view.player.go(1)")  # the last frame's own colours are those of all
    turn(figure, "colours", "ArrowDown")
    truth, growing = hills()
    both = [growing[1].min(), growing[1].max()]
    low = min(truth.min(), growing[1].min())
    wanted = [[low, both[1]], [low, both[1]], [max(both[0], both[1] / 1e4), both[1]]]
    np.testing.assert_allclose(page.evaluate(LIMITS), wanted, rtol=1e-6)
    turn(figure, "colours", "ArrowUp")
    assert page.evaluate(LIMITS) == pytest.approx(np.array(every))
    # Painted cells bring other numbers: colours mean what they meant until the reader says so.
    figure.click(5, 5)
    put(page, sheet_of(2.0))
    assert page.evaluate(LIMITS) == pytest.approx(np.array(every))
    page.get_by_role("button", name="Fit the colours").click()
    twice = 2 * np.array(every)
    assert page.evaluate(LIMITS) == pytest.approx(twice)
    # So do sheets that come while something outside the figure is dragged.
    page.mouse.move(2, page.viewport_size["height"] - 2)
    page.mouse.down()
    put(page, sheet_of(3.0))
    assert page.evaluate(LIMITS) == pytest.approx(twice)
    page.mouse.up()
    assert page.evaluate(LIMITS) == pytest.approx(1.5 * twice)


def test_a_brushed_frame_or_the_rows_fill_the_maps(page, figure):
    page.get_by_role("button", name="Look closer").click()
    figure.drag((10, 10), (20, 16))
    column, row, nx, ny = (int(v) for v in figure.data("window").split(","))
    assert (column, row, nx, ny) == (8, 10, 11, 11)  # shaped like the map, around what was brushed
    extent = page.evaluate("view.sheet.x.extent")
    assert extent == pytest.approx([-1 + 2 * 8 / SIDE, -1 + 2 * 19 / SIDE])
    # What is chosen in it is counted in cells of the whole map.
    page.get_by_role("button", name="Select a rectangle").click()
    figure.click(2, 3)
    assert page.evaluate("sent") == {"panel": 0, "frame": 5, "row": 12, "column": 11}
    figure.drag((0, 0), (1, 2))
    assert page.evaluate("sent.runs") == [[10 * SIDE + 8, 3], [11 * SIDE + 8, 3]]
    _, growing = hills()
    values = page.evaluate("Array.from(view.sheet.panels[1].values.slice(-121))")
    np.testing.assert_allclose(values, growing[-1, 10:21, 8:19].ravel(), rtol=1e-6)
    # Other numbers over the same axes leave it, other axes do not; a double click ends it.
    put(page, sheet_of(2.0))
    assert figure.data("window") == "8,10,11,11"
    x, y = figure.place(5, 5)
    page.mouse.dblclick(x, y)
    assert figure.data("window") == ""
    turn(figure, "focus", "Space")
    assert figure.data("window") == "14,15,13,13"
    put(page, sheet_of(), select=False)
    turn(figure, "focus", "Space")
    figure.drag((30, 30), (39, 39))  # where nothing is chosen every drag looks closer
    assert figure.data("window") == "30,30,10,10"
    page.get_by_role("button", name="whole picture").click()
    assert figure.data("window") == ""


def test_a_kept_picture_stays_as_it_is_beside_the_next(page, figure):
    page.set_viewport_size({"width": 1440, "height": 900})
    page.get_by_role("button", name="Keep this picture").click()
    kept = page.locator(".gbuq-pin")
    caption = kept.locator("figcaption").inner_text()
    assert "trees 400 of 400" in caption
    assert "all frames" in caption
    before = kept.locator("canvas").evaluate("node => node.toDataURL()")
    page.evaluate("view.player.go(0)")
    put(page, sheet_of(2.0))
    assert kept.locator("canvas").evaluate("node => node.toDataURL()") == before
    beside, below = [kept.bounding_box(), figure.root.bounding_box()]
    assert beside["x"] > below["x"] + below["width"]  # half of 1440 pixels is enough for both
    page.set_viewport_size({"width": 390, "height": 844})
    figure.wait_for("node.clientWidth < 400")
    assert kept.bounding_box()["y"] > figure.root.bounding_box()["y"] + 100
    kept.get_by_role("button", name="Unpin").click()
    assert kept.count() == 0
    assert figure.data("pinned") == "0"


def test_the_page_hears_once_of_the_map_that_is_turned_to_and_can_name_one(page, figure):
    named = map_knob(["total", "knowledge"])

    def showing(value):
        knobs = [live_knob(COLOURS, "all frames"), live_map(named, value)]
        return replace(sheet_of(), knobs=knobs, chosen=2)

    page.set_viewport_size({"width": 500, "height": 900})
    put(page, showing("automatic"))
    figure.wait_for("node.dataset.beside === '0,2'")  # the sheet's own
    assert figure.root.locator(".gbuq-knob[data-knob=map]").is_hidden()
    page.evaluate("() => { window.heard = []; view.send = (event) => heard.push(event); }")
    figure.root.get_by_role("button", name="Map before").click()
    page.wait_for_function("() => heard.length")
    assert page.evaluate("heard") == [{"turned": {"colours": 0, "map": 1}}]
    digest = figure.data("digest")
    put(page, showing("total"))  # the answer
    assert figure.data("beside") == "0,1"
    put(page, showing("knowledge"))  # a step of a story
    figure.wait_for("node.dataset.beside === '0,2'")
    put(page, showing("automatic"))
    assert (figure.data("beside"), figure.data("digest")) == ("0,2", digest)
    assert page.evaluate("heard.length") == 1


def test_presented_maps_fit_the_window_when_a_row_of_knobs_comes(page, figure):
    more = live_knob(COLOURS, "all frames")._replace(
        key="scale", label="A knob of this picture " * 6, needs={"colours": (1,)}
    )
    sheet = sheet_of()
    put(page, replace(sheet, knobs=[*sheet.knobs, more]))
    page.set_viewport_size({"width": 960, "height": 600})
    page.evaluate("""() => {
      document.body.style = '--gbuq-type: 1.4; --gbuq-above: 200; margin: 0; padding-top: 200px';
      view.resize();
    }""")
    mapped = "view.layout.panels[0].h * view.theme.type"
    whole = f"view.layout.pairs && view.stage.getBoundingClientRect().top + {mapped} <= innerHeight"
    page.wait_for_function(whole)
    page.evaluate("view.player.go(1)")  # whose own colours are others
    rows, height = page.evaluate(f"[view.knobs.root.offsetHeight, {mapped}]")
    turn(figure, "colours", "ArrowDown")
    page.wait_for_function(f"view.knobs.root.offsetHeight > {rows} && {whole}")
    assert page.evaluate(mapped) < height
