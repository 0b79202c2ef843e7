"""Your data in Chromium: it works at once, takes a file, and nothing in a file comes alive."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
from playwright.sync_api import expect

from tests.browser.conftest import (
    assert_no_exception,
    screenshot,
    wait_ready,
)
from tests.browser.figure import unfold
from tests.browser.first_screen import opening_screens

APP = Path(__file__).resolve().parents[2] / "app.py"
ROW_MAP = ".st-key-row-map .gbuq-curves"
QUICK = "?ensemble=virtual&trees=50"  # where the page is the subject, and not what is trained
NASTY = (
    "<img src=x onerror=alert(1)>",
    "$\\alpha$",
    '"=HYPERLINK(""http://evil.example"",""x"")"',
    "[a](http://evil.example)",
    "![b](http://evil.example/b.png)",
    "<a href=javascript:alert(2)>c</a>",
)


def open_page(page, url, query="?table=diabetes"):
    page.goto(f"{url}/your_data{query}&method=SGLB")  # trees alone, which are quicker
    settled(page)


def settled(page):
    page.locator(".st-key-checks li").first.wait_for()
    wait_ready(page)


def look_at(page, section):
    chooser = page.get_by_role("combobox", name="Look at")
    chooser.scroll_into_view_if_needed()  # a page that still scrolls closes the menu
    page.wait_for_timeout(300)
    chooser.click()
    menu = page.locator("[data-testid=stSelectboxVirtualDropdown]")
    menu.get_by_text(section, exact=True).click()


def begin(page, url, name, data, query=f"{QUICK}&table=none"):
    """Drop a file where the page begins with nothing else."""
    page.goto(f"{url}/your_data{query}&method=SGLB")  # trees alone, which are quicker
    page.get_by_role("button", name="Wine").wait_for()
    wait_ready(page)
    drop(page, name, data)
    settled(page)


def drop(page, name, data):
    zone = page.locator("[data-testid=stFileUploaderDropzoneInput]").first
    zone.set_input_files({"name": name, "mimeType": "text/csv", "buffer": data})


def counted(page, words):
    """The line below the folded list of rows."""
    page.get_by_text(words).wait_for(state="attached")


def nasty_file():
    """Names, categories and classes of all kinds of trouble, as CSV bytes."""
    lines = [",".join((*NASTY, "size"))]
    for i in range(80):
        lines.append(
            ",".join([*(NASTY[(i + k) % len(NASTY)] for k in range(len(NASTY))), str(i % 9)])
        )
    return ("\n".join(lines) + "\n").encode()


def test_nothing_in_a_file_comes_alive(new_page, serve):
    page = new_page()
    dialogs, foreign = [], []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.on(
        "request",
        lambda request: foreign.append(request.url) if "evil.example" in request.url else None,
    )
    begin(page, serve(APP), f"{NASTY[0][:8]}.csv", nasty_file())
    counted(page, "80 of 80 rows")
    unfold(page, "Columns and reading")
    columns = page.locator("[class*=st-key-columns-] [data-testid=stDataFrame]")
    columns.wait_for()
    assert_no_exception(page)
    screenshot(page, "your-data-nasty-numbers", full_page=True)
    picture = page.locator(f"{ROW_MAP} > svg")
    of_numbers = picture.get_attribute("aria-label")
    wait_ready(page)
    target = page.get_by_role("combobox", name="Column to predict").first
    target.click()
    target.fill("[a]")
    page.keyboard.press("Enter")
    # For a moment the page may hold the new picture and the old one.
    expect(page.locator(f'{ROW_MAP} > svg[aria-label="{of_numbers}"]')).to_have_count(0)
    settled(page)
    columns.wait_for()  # what was unfolded stays so, with another target and label
    assert_no_exception(page)
    screenshot(page, "your-data-nasty-classes", full_page=True)
    main = page.locator("[data-testid=stMain]")
    assert main.locator("img[src='x'], a[href*='evil.example'], .katex").count() == 0
    assert main.locator("a[href^='javascript']").count() == 0
    assert dialogs == []
    assert foreign == []


def test_a_built_in_table_is_scored_at_once_and_files_not_taken_leave_it(page, serve, tmp_path):
    sent = []
    page.on("request", lambda request: sent.append(request.method == "PUT"))
    open_page(page, serve(APP))
    for window, scheme in opening_screens(page, "your_data?table=diabetes"):
        screenshot(page, f"your-data-{window[0]}-{scheme}")
    # One of 300 MB is refused where it was dropped.
    path = tmp_path / "large.csv"
    with path.open("wb") as file:
        file.truncate(300 * 2**20)  # a hole: no byte of it is on the disk
    page.get_by_role("button", name="diabetes").click()
    page.locator("[data-testid=stFileUploaderDropzoneInput]").first.set_input_files(path)
    page.get_by_text("File must be 250.0MB or smaller").wait_for()
    assert not any(sent)
    counted(page, "442 of 442 rows")
    # A bad one is one sentence beside the table before.
    drop(page, "bad.csv", b"\x89PNG\r\n\x1a\n" + bytes(99))
    page.get_by_text("This is a PNG picture").wait_for()
    settled(page)
    counted(page, "442 of 442 rows")


_PATHS = f"[data-testid=stMain] {ROW_MAP} > svg .panel path"
# Where the last drawn dot is on the screen: the worst predicted row.
_DOT = """(path) => {
  const [, x, y] = path.getAttribute('d').match(/M([\\d.-]+),([\\d.-]+)h0$/).map(Number);
  const box = path.ownerSVGElement.getBoundingClientRect();
  return { x: box.left + x, y: box.top + y };
}"""


def test_a_click_on_a_dot_and_a_choice_in_the_list_open_the_row(page, serve):
    open_page(page, serve(APP), f"{QUICK}&table=diabetes")
    unfold(page, "All rows")
    readout = page.locator(".st-key-row-map .gbuq-curves-readout")
    page.locator(f"{ROW_MAP} > svg").scroll_into_view_if_needed()
    dot = page.locator(_PATHS).last.evaluate(_DOT)
    page.mouse.move(dot["x"], dot["y"])
    values = re.compile(r"row \d+ +data [\d.]+ +knowledge [\d.]+ +error [\d.]+")
    expect(readout).to_have_text(values)
    row = int(readout.inner_text().split()[1])
    page.mouse.click(dot["x"], dot["y"])
    page.get_by_role("heading", name=f"Row {row}", exact=True).wait_for()
    page.wait_for_url(re.compile(rf"[?&]row={row}(\.0)?(&|$)"))
    wait_ready(page)
    grid = page.locator("[data-testid=stDataFrame] canvas").first
    grid.scroll_into_view_if_needed()
    page.locator("[data-testid=stDataFrame] table").first.wait_for(state="attached")  # is drawn
    box = grid.bounding_box()
    page.mouse.click(box["x"] + 17, box["y"] + 35 * 3.5)  # the box of the third row
    page.wait_for_function("before => !location.search.includes(before)", arg=f"row={row}")
    expect(page.get_by_role("heading", name=f"Row {row}", exact=True)).to_have_count(0)
    a_value_is_dragged(page)


def a_value_is_dragged(page):
    """The picture follows the hand, and the server says the same when it is let go."""
    page.locator(".st-key-lens").get_by_text("Edit this row").click()
    editor = page.locator(".gbuq-editor")
    cells, slider = editor.locator("td"), editor.locator("input[type=range]").first
    slider.scroll_into_view_if_needed()
    wait_ready(page)
    before, marked = cells.all_text_contents(), re.compile("^told$")
    box = slider.bounding_box()
    middle = box["y"] + 0.5 * box["height"]
    page.mouse.move(box["x"] + 0.5 * box["width"], middle)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.98 * box["width"], middle, steps=4)
    expect(editor).to_have_attribute("data-at", re.compile(r"^\d+$"))  # a place of the slider
    dragged = cells.all_text_contents()
    assert dragged != before
    page.mouse.up()
    expect(editor).to_have_attribute("data-at", marked)
    assert cells.all_text_contents() == dragged
    box = editor.locator(".gbuq-handle-box").first
    box.fill("many")
    box.press("Enter")
    editor.get_by_text("is not a number").wait_for()
    assert cells.all_text_contents() == dragged
    editor.get_by_role("button", name="Reset", exact=True).click()
    expect(editor.get_by_text("is not a number")).to_have_count(0)
    wait_ready(page)
    assert cells.all_text_contents() == before
    # Keys come faster than answers; none of them is lost.
    start = int(slider.input_value())
    for _ in range(5):
        slider.press("ArrowLeft")
    expect(slider).to_have_value(str(start - 5))
    expect(editor).to_have_attribute("data-at", marked)
    wait_ready(page)
    expect(slider).to_have_value(str(start - 5))


def test_dots_are_read_and_opened_by_keyboard_and_looked_at_closer(page, serve):
    open_page(page, serve(APP), "?ensemble=virtual&table=diabetes")  # whose members K moves
    unfold(page, "All rows")
    figure = page.locator(".st-key-row-map")
    svg, readout = figure.locator(".gbuq-curves > svg"), figure.locator(".gbuq-curves-readout")
    svg.focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    expect(readout).to_have_text(re.compile("^row 2 "))
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Row 2", exact=True).wait_for()
    wait_ready(page)
    whole = page.locator(_PATHS).last.get_attribute("d")
    svg.scroll_into_view_if_needed()  # the row that opened moves what stands above it
    box = svg.bounding_box()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.5 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.9 * box["width"], box["y"] + 0.8 * box["height"], steps=3)
    page.mouse.up()
    expect(page.locator(_PATHS).last).not_to_have_attribute("d", whole)
    page.get_by_role("heading", name="Row 2", exact=True).wait_for()  # a frame opens no row
    unfold(page, "All settings")
    page.locator(".st-key-step input[type=range]").focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_url("**step=5**")
    wait_ready(page)
    reset = figure.get_by_role("button", name="Show the whole picture again")
    expect(reset).to_be_visible()  # other members do not move the eye
    reset.click()
    expect(reset).to_be_hidden()


_MARK = """document.querySelectorAll('.st-key-row-map *').forEach((node) => {
  const svg = node.shadowRoot?.querySelector('.gbuq-curves > svg');
  if (svg) svg.dataset.old = '1';
})"""


def test_an_order_and_a_row_leave_the_pictures_in_place_and_the_link_follows(page, serve):
    open_page(page, serve(APP), f"{QUICK}&table=diabetes&row=9")
    unfold(page, "All rows")
    page.evaluate(_MARK)
    ring = page.locator(".st-key-row-map .gbuq-curves > svg .ring")
    before = ring.get_attribute("cx")
    number = page.get_by_role("spinbutton", name="Go to row")
    number.fill("7")
    number.press("Enter")
    page.get_by_role("heading", name="Row 7", exact=True).wait_for()
    wait_ready(page)
    expect(ring).not_to_have_attribute("cx", before)
    assert page.locator("svg[data-old='1']").count() == 1  # the picture that was there
    steps = page.evaluate("history.length")
    look_at(page, "Is it any good?")
    page.wait_for_url(re.compile("section=Is"))
    wait_ready(page)
    look_at(page, "Rows")
    page.wait_for_url(re.compile("^((?!section=).)*$"))
    wait_ready(page)
    assert page.evaluate("history.length") == steps  # a section is no step of Back
    assert "row=7" in page.url
    # the row is still there after another page
    page.get_by_role("link", name="Start").first.click()
    page.get_by_role("heading", name="How uncertain is a prediction, and why?").wait_for()
    wait_ready(page)
    page.get_by_role("link", name="Your data").first.click()
    page.get_by_role("heading", name="Row 7", exact=True).wait_for()


def test_a_reload_keeps_the_table_until_it_is_deleted(new_page, serve):
    page = new_page()
    rows = "".join(f"{k % 9},{2.5 * (k % 9)}\n" for k in range(70))
    begin(page, serve(APP), "mine.csv", f"x,y\n{rows}".encode())
    counted(page, "70 of 70 rows")
    page.reload()
    counted(page, "70 of 70 rows")
    settled(page)
    assert page.get_by_text("No file is open").count() == 0
    page.get_by_role("button", name="mine.csv").click()
    page.get_by_role("button", name="Delete my data").click()
    page.get_by_role("button", name="Wine").wait_for()
    wait_ready(page)
    page.reload()
    page.get_by_role("button", name="Wine").wait_for()
    wait_ready(page)
    assert page.get_by_text("mine.csv").count() == 0
    assert_no_exception(page)


def measured_file(n, shift=0.0):
    """Rows of three towns, in one of which nothing can be predicted."""
    rng = np.random.default_rng(0)
    x, town = rng.uniform(size=n) + shift, rng.choice(["Ulm", "Bonn", "Kiel"], n)
    y = 10.0 * x + rng.normal(size=n) * np.where(town == "Kiel", 4.0, 0.3)
    return pd.DataFrame({"x": x, "town": town, "y": y}).to_csv(index=False).encode()


class Walk:
    """A reader with questions: counts what is clicked and typed for each of them."""

    def __init__(self, page):
        self.page, self.steps = page, 0

    def ask(self):
        assert self.steps <= 4
        self.steps = 0

    def click(self, words):
        self.steps += 1
        self.page.get_by_text(words, exact=True).locator("visible=true").first.click()

    def look_at(self, section):
        self.steps += 2
        look_at(self.page, section)

    def reads(self, words):
        self.page.get_by_text(re.compile(words)).locator("visible=true").first.wait_for()
        wait_ready(self.page)


def test_eight_questions_take_at_most_four_clicks_each(page, serve, tmp_path):
    walk = Walk(page)
    # Which five rows would you check, and why?
    begin(page, serve(APP), "mine.csv", measured_file(200))
    rows = page.locator(".st-key-checks li")
    expect(rows).to_have_count(10)
    act = re.compile("check|would help|will not help|few rows are like it")
    assert all(act.search(words) for words in rows.all_inner_texts()[:5])
    walk.reads("Check these ten rows first")
    # How wide is the 90 % range of row 12?
    walk.ask()
    walk.click("All rows")
    number = page.get_by_role("spinbutton", name="Go to row")
    number.fill("12")
    number.press("Enter")
    walk.steps += 1
    page.get_by_role("heading", name="Row 12", exact=True).wait_for()
    walk.reads(r"^Predicted [-\d.]+, 90 % range [-\d.]+ to [-\d.]+, true value")
    # What would make it sure?
    walk.ask()
    walk.click("A change that is enough")
    walk.reads("What would make the model sure")
    walk.reads("uncertainty would be|already at or below|changes reaches")
    # Does the range hold on rows that were held out?
    walk.ask()
    walk.look_at("Is it any good?")
    walk.reads(r"Intervals of 9\d % hold \d+ % of the rows")
    # Where is it worst?
    walk.ask()
    walk.look_at("Where it fails")
    group = page.get_by_role("combobox", name="Group").locator("visible=true").last
    expect(group).to_have_value(re.compile("town = Kiel"))
    # Which method is best here?
    walk.ask()
    walk.look_at("Methods")
    walk.click("Compare")
    page.locator(".st-key-methods-table").wait_for()
    walk.reads("Differences to the best")
    # May I use this model on the new file?
    walk.ask()
    walk.look_at("Second file")
    walk.reads("No second file is scored")
    walk.steps += 1
    drop(page, "new.csv", measured_file(60, shift=5.0))
    walk.reads("Do not rely on this model for the second file")
    # Save the table with the uncertainties.
    walk.ask()
    walk.click("Export")
    with page.expect_download() as download:
        walk.click("All rows (CSV)")
    walk.ask()
    path = tmp_path / "scored.csv"
    download.value.save_as(path)
    saved = pd.read_csv(path)
    assert len(saved) == 60
    assert {"knowledge_uncertainty_std", "unfamiliarity", "lower_90"} <= {*saved.columns}


def test_the_page_begins_with_a_drop_zone_and_three_samples(page, serve):
    page.goto(f"{serve(APP)}/your_data")
    page.get_by_role("button", name="Wine").wait_for()
    wait_ready(page)
    for window, scheme in opening_screens(page, "your_data"):
        zone = page.locator("[data-testid=stFileUploaderDropzone]").bounding_box()
        assert zone["height"] > 0.3 * window[1]
        screenshot(page, f"your-data-start-{window[0]}-{scheme}")
    assert page.locator("[data-testid=stSidebar] input").count() == 0
    page.get_by_role("button", name="Wine").click()
    settled(page)
    page.go_back()
    page.get_by_role("button", name="Wine:").wait_for()
    wait_ready(page)
