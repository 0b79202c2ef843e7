"""Your data in Chromium: it works at once, takes a file, and nothing in a file comes alive."""

from pathlib import Path

import pytest

from tests.browser.conftest import DESKTOP, PHONE, assert_no_exception, screenshot, wait_ready

APP = Path(__file__).resolve().parents[2] / "app.py"
NASTY = (
    "<img src=x onerror=alert(1)>",
    "$\\alpha$",
    '"=HYPERLINK(""http://evil.example"",""x"")"',
    "[a](http://evil.example)",
    "![b](http://evil.example/b.png)",
    "<a href=javascript:alert(2)>c</a>",
)


def open_page(page, url):
    """Your data, as a reader reaches it from Home."""
    page.goto(url)
    wait_ready(page)
    page.locator("[data-testid=stMain]").get_by_role("link", name="Your data").first.click()
    settled(page)


def settled(page):
    page.locator("[data-testid=stDataFrame]").first.wait_for()
    page.locator(".js-plotly-plot").first.wait_for()
    wait_ready(page)


def nasty_file():
    """Names, categories and classes of all kinds of trouble, as CSV bytes."""
    lines = [",".join((*NASTY, "size"))]
    for i in range(80):
        lines.append(
            ",".join([*(NASTY[(i + k) % len(NASTY)] for k in range(len(NASTY))), str(i % 9)])
        )
    return ("\n".join(lines) + "\n").encode()


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], indirect=True)
@pytest.mark.parametrize("colour_scheme", ["light", "dark"], indirect=True)
def test_a_built_in_table_is_scored_at_once(page, serve, viewport, colour_scheme):
    open_page(page, serve(APP))
    assert page.get_by_text("each judged by a model").count() == 1
    # no wider than the window: nothing scrolls sideways
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport[0]
    screenshot(page, f"your-data-{viewport[0]}-{colour_scheme}")


def test_nothing_in_a_file_comes_alive(new_page, serve):
    page = new_page()
    dialogs, foreign = [], []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.on(
        "request",
        lambda request: foreign.append(request.url) if "evil.example" in request.url else None,
    )
    open_page(page, serve(APP))
    for name in ("numbers", "classes"):
        data = nasty_file()
        page.locator("[data-testid=stFileUploaderDropzoneInput]").first.set_input_files(
            {"name": f"{NASTY[0][:8]}{name}.csv", "mimeType": "text/csv", "buffer": data}
        )
        page.get_by_text("80 of 80 rows").wait_for()
        if name == "classes":
            page.get_by_role("combobox", name="Column to predict").first.fill("[a]")
            page.keyboard.press("Enter")
        settled(page)
        page.get_by_text("Columns and reading").click()
        page.locator("[data-testid=stDataFrame]").nth(1).wait_for()
        assert_no_exception(page)
        screenshot(page, f"your-data-nasty-{name}", full_page=True)
    main = page.locator("[data-testid=stMain]")
    assert main.locator("img[src='x'], a[href*='evil.example'], .katex").count() == 0
    assert main.locator("a[href^='javascript']").count() == 0
    assert dialogs == []
    assert foreign == []


def test_a_bad_file_is_one_sentence_beside_the_table_before(page, serve):
    open_page(page, serve(APP))
    page.locator("[data-testid=stFileUploaderDropzoneInput]").first.set_input_files(
        {"name": "bad.csv", "mimeType": "text/csv", "buffer": b"\x89PNG\r\n\x1a\n" + bytes(99)}
    )
    page.get_by_text("This is a PNG picture").wait_for()
    settled(page)
    assert page.get_by_text("442 of 442 rows").count() == 1


def test_a_file_of_300_mb_is_refused_where_it_was_dropped(page, serve, tmp_path):
    sent = []
    page.on("request", lambda request: sent.append(request.method == "PUT"))
    open_page(page, serve(APP))
    path = tmp_path / "large.csv"
    with path.open("wb") as file:
        file.truncate(300 * 2**20)  # a hole: no byte of it is on the disk
    page.locator("[data-testid=stFileUploaderDropzoneInput]").first.set_input_files(path)
    page.get_by_text("File must be 250.0MB or smaller").wait_for()
    assert not any(sent)
    assert page.get_by_text("442 of 442 rows").count() == 1


_DOT = """() => {
  const plot = document.querySelector('.js-plotly-plot');
  const { _size, xaxis, yaxis } = plot._fullLayout;
  const dots = plot._fullData[0], heights = Array.from(dots.y), box = plot.getBoundingClientRect();
  const at = heights.indexOf(Math.max(...heights));
  return {
    x: box.left + _size.l + xaxis.d2p(dots.x[at]), y: box.top + _size.t + yaxis.d2p(dots.y[at]),
    row: dots.customdata[at][0],
  };
}"""


def test_a_click_on_a_dot_and_a_choice_in_the_list_open_the_row(page, serve):
    open_page(page, serve(APP))
    page.wait_for_function(
        "() => document.querySelector('.js-plotly-plot')._fullData?.length === 2"
    )
    dot = page.evaluate(_DOT)
    page.mouse.move(dot["x"] - 2, dot["y"])
    page.mouse.move(dot["x"], dot["y"])
    page.locator(".js-plotly-plot .hoverlayer .hovertext").first.wait_for()
    page.mouse.click(dot["x"], dot["y"])
    page.get_by_role("heading", name=f"Row {dot['row']:.0f}", exact=True).wait_for()
    assert f"row={dot['row']:.0f}" in page.url
    grid = page.locator("[data-testid=stDataFrame] canvas").first
    grid.scroll_into_view_if_needed()
    box = grid.bounding_box()
    page.mouse.click(box["x"] + 17, box["y"] + 35 * 3.5)  # the box of the third row
    page.wait_for_function(
        "before => !location.search.includes(before)", arg=f"row={dot['row']:.0f}"
    )
    wait_ready(page)
    assert page.get_by_role("heading", name=f"Row {dot['row']:.0f}", exact=True).count() == 0


_MARK = (
    "document.querySelectorAll('.js-plotly-plot').forEach((plot) => { plot.dataset.old = '1'; })"
)
_OLD = """() => Array.from(document.querySelectorAll('.js-plotly-plot'))
  .map((plot) => plot.dataset.old === '1')"""


def test_an_order_and_a_row_leave_the_other_pictures_and_the_link_follows(page, serve):
    open_page(page, serve(APP))
    page.wait_for_function("() => document.querySelectorAll('.js-plotly-plot').length === 2")
    page.evaluate(_MARK)
    number = page.get_by_role("spinbutton", name="Go to row")
    number.fill("7")
    number.press("Enter")
    page.get_by_role("heading", name="Row 7", exact=True).wait_for()
    wait_ready(page)
    assert page.evaluate(_OLD)[1]  # the rejection curves are the ones that were there
    page.get_by_role("button", name="Copy link").click()
    page.locator("[data-testid=stCode]").filter(has_text="row=7").first.wait_for()
    # the row is still there after another page
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Home").first.click()
    page.get_by_role("heading", name="How uncertain is a prediction, and why?").wait_for()
    page.locator("[data-testid=stMain]").get_by_role("link", name="Your data").first.click()
    page.get_by_role("heading", name="Row 7", exact=True).wait_for()
