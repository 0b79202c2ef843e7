"""A canvas figure as a test sees it: where its cells are and what it says."""

from __future__ import annotations

import base64
import json

from playwright.sync_api import expect

from gbuq_core.figures.canvas.encoding import encode_sheet
from gbuq_core.figures.canvas.panels import PanelSheet
from gbuq_core.figures.canvas.renderer import renderer_source, renderer_styles
from tests.browser.conftest import wait_ready

# Geometry of one panel's map in client pixels, and the colour in the middle of a cell.
_MAP = """(node, index) => {
  const view = node.getRootNode().gbuqSheet?.view ?? node.parentElement.gbuqSheet.view;
  const { map } = view.views[index].place;
  const box = view.views[index].over.getBoundingClientRect();
  const { nx, ny, lower } = view.sheet;
  return { x: box.left + map.x, y: box.top + map.y, w: map.w, h: map.h, nx, ny, lower };
}"""
_COLOUR = """(node, [index, row, column]) => {
  const view = node.getRootNode().gbuqSheet?.view ?? node.parentElement.gbuqSheet.view;
  const { map } = view.views[index].place;
  const { nx, ny, lower } = view.sheet;
  const down = lower ? ny - 1 - row : row;
  const x = (map.x + ((column + 0.5) / nx) * map.w) * view.ratio;
  const y = (map.y + ((down + 0.5) / ny) * map.h) * view.ratio;
  const pixel = view.views[index].base.getContext('2d').getImageData(x, y, 1, 1).data;
  return Array.from(pixel);
}"""

_EMPTY_PAGE = """<!doctype html>
<meta name=viewport content='width=device-width'>
<style>:root { --st-primary-color: #ff4b4b; }</style>"""
# As Streamlit mounts it: in a shadow root of its own, called again with new data.
_MOUNT = """async ([source, styles]) => {
  const module = new Blob([source], { type: 'text/javascript' });
  const { mount } = await import(URL.createObjectURL(module));
  const host = document.body.appendChild(document.createElement('div'));
  const shadow = host.attachShadow({ mode: 'open' });
  const style = document.createElement('style');
  style.textContent = styles;
  shadow.append(style);
  window.gbuqSent = 0;
  window.put = (text) => {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    mount(shadow, bytes, () => { window.gbuqSent += 1; });
  };
}"""


class Figure:
    """The only canvas figure of a page."""

    def __init__(self, page, position: int = 0):
        self.page = page
        self.root = page.locator(".gbuq").nth(position)
        self.readout = self.root.locator(".gbuq-readout")

    def data(self, name: str) -> str | None:
        """One of the attributes that the component keeps for tests."""
        return self.root.get_attribute(f"data-{name}")

    def frame(self) -> int:
        return int(self.data("frame"))

    def draws(self) -> int:
        return int(self.data("draws"))

    def place(self, row: int, column: int, panel: int = 0) -> tuple[float, float]:
        """The middle of a cell in client pixels, scrolled into view."""
        self.root.locator(".gbuq-panel").nth(panel).scroll_into_view_if_needed()
        box = self.root.evaluate(_MAP, panel)
        down = box["ny"] - 1 - row if box["lower"] else row
        x = box["x"] + (column + 0.5) / box["nx"] * box["w"]
        return x, box["y"] + (down + 0.5) / box["ny"] * box["h"]

    def colour(self, row: int, column: int, panel: int = 0) -> list[int]:
        """The pixel in the middle of a cell, RGBA."""
        return self.root.evaluate(_COLOUR, [panel, row, column])

    def hover(self, row: int, column: int, panel: int = 0) -> dict[str, str]:
        """Move the mouse over a cell; the read-out as title -> value."""
        self.page.mouse.move(*self.place(row, column, panel))
        # The read-out follows the pointer at the next refresh, not at once.
        self.wait_for("node.dataset.cell === x", f"{row},{column}")
        self.readout.wait_for(state="visible")
        return self.values()

    def values(self) -> dict[str, str]:
        titles = self.readout.locator(".gbuq-values span").all_inner_texts()
        return dict(zip(titles, self.readout.locator("b").all_inner_texts(), strict=True))

    def click(self, row: int, column: int, panel: int = 0) -> None:
        self.page.mouse.click(*self.place(row, column, panel))

    def drag(self, *cells: tuple[int, int], panel: int = 0) -> None:
        """Press on the first cell, move over the others, let go on the last."""
        path = [self.place(row, column, panel) for row, column in cells]
        self.page.mouse.move(*path[0])
        self.page.mouse.down()
        for x, y in path[1:]:
            self.page.mouse.move(x, y, steps=8)
        self.page.mouse.up()

    def sent(self) -> dict:
        """The last event sent to Python."""
        return json.loads(self.data("sent") or "{}")

    def wait_for_frame(self, first: int, last: int | None = None) -> None:
        """Wait until a frame is shown: this one, or one from the first to the last."""
        within = "x[0] <= Number(node.dataset.frame) && Number(node.dataset.frame) <= x[1]"
        self.wait_for(within, [first, first if last is None else last])

    def wait_for(self, condition: str, argument=None) -> None:
        """Wait until a JavaScript condition on the root ``node`` holds."""
        handle = self.root.element_handle()
        self.page.wait_for_function(f"([node, x]) => {condition}", arg=[handle, argument])


def after(page, figure: Figure, action) -> None:
    """Do something and wait until the figure shows other data and nothing more is under way."""
    before = figure.data("digest")
    action()
    expect(figure.root).not_to_have_attribute("data-digest", before)
    wait_ready(page, canvases=1)


def press(page, key: str, arrow: str = "ArrowRight") -> None:
    """Press an arrow key on the slider of a control."""
    page.locator(f".st-key-{key} [role=slider], .st-key-{key} input[type=range]").first.focus()
    page.keyboard.press(arrow)


def turn(figure: Figure, key: str, *keys: str) -> None:
    """Press keys on a knob of the picture's own bar."""
    knob = figure.root.locator(f".gbuq-knob[data-knob={key}] :is(input, select)")
    knob.focus()
    for name in keys or ("ArrowRight",):
        knob.press(name)


def unfold(page, label: str) -> None:
    """Open an expander unless it is open; the page must be ready, or a run could replace it."""
    own = "xpath=./summary"
    folded = page.locator("[data-testid=stExpander] details").filter(
        has=page.locator(own).filter(has_text=label)
    )
    folded.wait_for(state="attached")
    for fold in (*folded.locator("xpath=ancestor::details").all(), folded):
        if fold.get_attribute("open") is None:
            fold.locator(own).click()
        fold.locator("xpath=./*[@data-testid='stExpanderDetails'][not(@inert)]").wait_for()


def play_and_pause(page, figure: Figure) -> None:
    """Play from the start, slowly, pause early, and hold that the server hears nothing of it."""
    page.evaluate(
        """() => {
          const send = WebSocket.prototype.send;
          window.gbuqSent = 0;
          WebSocket.prototype.send = function (...a) { window.gbuqSent += 1; send.apply(this, a); };
        }"""
    )
    last = int(figure.data("frames")) - 1
    assert figure.frame() == last
    # So slowly that a busy machine, too, is in time for the pause.
    figure.root.get_by_label("Speed").select_option("0.25")
    drawn = figure.draws()
    figure.root.get_by_role("button", name="Play").click()
    figure.wait_for("Number(node.dataset.draws) > x + 2", drawn)  # the first and two more
    figure.root.get_by_role("button", name="Pause").click()
    figure.wait_for("node.dataset.playing === '0'")
    assert 0 < figure.frame() < last
    assert page.evaluate("window.gbuqSent") == 0


def open_figure(page, url: str, query: str) -> Figure:
    """Open the test app at ``?query`` and wait for its figure."""
    page.goto(f"{url}/?{query}")
    wait_ready(page, canvases=1)
    return Figure(page)


def draw_figure(page, sheet: PanelSheet, **kinds: bool) -> Figure:
    """Draw a sheet in an empty page, which takes a tenth of the time that Streamlit takes.

    ``window.gbuqSent`` counts what the server would hear. With one sheet after another in a page,
    as in `put_sheet`, this is what a rerun does.
    """
    page.set_content(_EMPTY_PAGE)
    page.evaluate(_MOUNT, [renderer_source(), renderer_styles()])
    put_sheet(page, sheet, **kinds)
    figure = Figure(page)
    figure.root.and_(page.locator("[data-ready='1']")).wait_for()
    return figure


def put_sheet(page, sheet: PanelSheet, **kinds: bool) -> None:
    """Give the drawn figure another sheet; what can be chosen is said as to `encode_sheet`."""
    kinds = kinds or {"select": True}
    page.evaluate("text => put(text)", base64.b64encode(encode_sheet(sheet, **kinds)).decode())


def runs_as_cells(event: dict, columns: int) -> set[tuple[int, int]]:
    """The cells of a drag."""
    flat = [at for first, length in event["runs"] for at in range(first, first + length)]
    return {divmod(at, columns) for at in flat}
