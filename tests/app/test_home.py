"""Start and Explore through AppTest: what they show, how the slider answers, bad links."""

import csv
import doctest
import io
import time
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest
from tolerances import NINE_DIGITS

from gbuq_core.knobs import Knob
from gbuq_core.methods import METHODS
from gbuq_core.study.wave import WAVE, WaveSettings, wave_figure
from pages._ui import live_sliders
from pages._ui.home.map import method_rows
from pages._ui.home.picture import place_of, wave_html
from pages._ui.site_map import EXPERIMENTS, EXPLORE, PAGES
from tests.app.your_data_page import csv_of

APP = str(Path(__file__).resolve().parents[2] / "app.py")


def open_home(**query):
    at = AppTest.from_file(APP, default_timeout=60)
    for name, text in query.items():
        at.query_params[name] = text
    return settle(at.run(), lambda: any(part.key == "wave" for part in at.get("bidi_component")))


def settle(at, ready):
    """Rerun until ``ready``, a minute at most: the first fit of a machine compiles kernels."""
    for _ in range(600):
        if ready():
            break
        time.sleep(0.02)
        at.run()
    return at


@pytest.fixture(scope="module")
def run():
    return WAVE.run(WaveSettings(rows=200))


def picture(at):
    return next(part.proto.bytes for part in at.get("bidi_component") if part.key == "wave")


def words(at):
    return next(t.value for t in at.text if t.value.startswith("A prediction from"))


def notices(at):
    return [t.value for t in at.text if not t.value.startswith("A prediction from")]


def test_the_page_shows_its_picture_its_words_and_its_numbers():
    at = open_home(rows="800")
    assert not at.exception
    assert len(at.get("bidi_component")) == 2  # the picture, and what watches the slider
    assert dict(at.query_params) == {"rows": "800"}
    run = WAVE.run(WaveSettings(rows=800))
    assert words(at) == WAVE.describe(run)
    assert notices(at) == []
    score_table = next(m.value for m in at.markdown if m.value.startswith("| Rows |"))
    assert f"{run.numbers['rare']['knowledge']:#.3g}" in score_table
    assert WAVE.say_answer(run) in [popover.proto.popover.label for popover in at.get("popover")]
    for claim in WAVE.judge(run)[:3]:
        assert any(claim.answer in m.value for m in at.markdown)


def test_the_slider_refits():
    at = open_home()
    assert "2,000 training rows" in words(at)
    before = picture(at)
    at.select_slider(key="rows").set_value(3200).run()
    settle(at, lambda: "3,200 training rows" in words(at))
    assert words(at) == WAVE.describe(WAVE.run(WaveSettings(rows=3200)))
    assert picture(at) != before


def test_rows_are_rare_where_the_link_or_the_reader_says():
    at = open_home(rows="100", rare="0.7", rare_width="2.5")
    assert (at.slider(key="rare").value, at.slider(key="rare_width").value) == (0.7, 2.5)
    linked = WaveSettings(rows=100, rare=0.7, rare_width=2.5)
    assert words(at) == WAVE.describe(WAVE.run(linked))
    assert any("Between 0.7 and 3.2 there are" in m.value for m in at.markdown)
    at.slider(key="rare_width").set_value(1.5)
    at.slider(key="rare").set_value(3.0).run()
    settle(at, lambda: words(at) == WAVE.describe(WAVE.run(WaveSettings(rows=100))))
    assert words(at) == WAVE.describe(WAVE.run(WaveSettings(rows=100)))


def test_a_dragged_stretch_stays_where_rows_can_be_rare(run):
    x = run.data.grid[:, 0].tolist()
    places = ((10, 25), (0, 1), (0, 69), (58, 69))
    assert [place_of(run, ends) for ends in places] == [
        (1.0, 1.5),
        (0.0, 0.5),
        (0.0, 3.0),
        (4.9, 1.1),
    ]
    assert (x[10], x[69]) == (1.0, 6.9)


def test_a_bad_number_of_rows_is_said_and_the_default_used():
    at = open_home(rows="150")
    (sentence,) = notices(at)
    assert sentence.startswith("rows must be one of 100, 125,")
    assert sentence.endswith('2000 is used for "Training rows".')
    assert "2,000 training rows" in words(at)


def test_what_can_be_copied_and_downloaded():
    at = open_home(rows="200")
    (python,) = (block.value for block in at.code)
    assert "make_wave(n=200" in python
    assert [button.label for button in at.get("download_button")] == ["Data (CSV)", "Page (HTML)"]


def test_the_data_are_the_run(run):
    rows = list(csv.DictReader(io.StringIO(WAVE.tables(run)["Data"](run))))
    assert len(rows) == len(run.data.grid)
    knowledge = run.views[0].at.knowledge[5]
    assert float(rows[5]["knowledge_uncertainty"]) == pytest.approx(knowledge, rel=NINE_DIGITS)
    assert float(rows[5]["true_mean"]) == pytest.approx(run.data.mean[5], rel=NINE_DIGITS)


def test_the_page_for_download_needs_no_network(run):
    page = wave_html(run).decode()
    assert page.startswith("<!doctype html>")
    assert "src=" not in page
    assert WAVE.describe(run) in page
    assert WAVE.scores(run)[0].caption in page  # what the page says beside its picture


def test_the_picture_keeps_its_axes_while_the_slider_moves(run):
    other = WAVE.run(WaveSettings(rows=12800))
    first, second = wave_figure(run).spec["panels"], wave_figure(other).spec["panels"]
    assert [panel["range"] for panel in first] == [panel["range"] for panel in second]


@pytest.mark.parametrize(
    "settings",
    [
        *(WaveSettings(rows=n_rows) for n_rows in (100, 800, 12800)),
        WaveSettings(rows=100, rare=0.9),
        WaveSettings(rows=100, rare=0.6, rare_width=2.2),
        WaveSettings(rows=200, rare=1.2, rare_width=2.2),
    ],
)
def test_the_bands_fit_into_the_fixed_axes(settings):
    run = WAVE.run(settings)
    upper, lower = wave_figure(run).spec["panels"]
    bands = [layer for layer in upper["layers"] if layer["kind"] == "band"]
    assert upper["range"][0] < min(bands[0]["low"])
    assert max(bands[-1]["high"]) < upper["range"][1]
    assert run.views[0].at.total[run.data.in_support].max() < lower["range"][1]


def test_every_page_is_listed_once_and_exists():
    root = Path(APP).parent
    assert len({entry.url_path for entry in PAGES}) == len(PAGES)
    assert all((root / entry.path).is_file() for entry in PAGES)
    files = {f"pages/{path.name}" for path in (root / "pages").glob("*.py")}
    assert files == {entry.path for entry in PAGES}


def test_a_table_that_is_dropped_at_start_opens_in_your_data():
    at = open_home()
    table = csv_of(x=range(80), y=[value % 7 for value in range(80)])
    at.file_uploader(key="upload-at-start").set_value(("own.csv", table, "text/csv")).run()
    settle(at, lambda: any(box.label == "Column to predict" for box in at.selectbox))
    assert not at.exception
    assert at.query_params["table"] == "your file"
    assert at.title[0].value.startswith("Which predictions")


def test_a_project_that_is_dropped_at_start_is_read_as_one():
    at = open_home()
    at.file_uploader(key="upload-at-start").set_value(("own.gbuq", b"none", "")).run()
    settle(at, lambda: any("project" in text.value for text in at.text))
    assert not at.exception
    texts = " ".join(text.value for text in at.text)
    assert "choose a file that gbuq fit" in texts
    assert "in the place of" not in texts


def test_explore_shows_each_experiment_once_with_its_question_and_its_picture():
    at = AppTest.from_file(APP, default_timeout=60).switch_page(EXPLORE.path).run()
    assert not at.exception
    assert [link.proto.page for link in at.get("page_link")] == [e.url_path for e in EXPERIMENTS]
    assert [text.value for text in at.text] == [entry.question for entry in EXPERIMENTS]
    pictures = [block.proto.body for block in at.get("html") if block.proto.body.startswith("<img")]
    assert len({*pictures}) == len(EXPERIMENTS)


def test_an_experiment_leads_to_its_neighbours_and_its_lesson_and_marks_explore():
    at = AppTest.from_file(APP, default_timeout=60).switch_page("pages/heart.py").run()
    links = [link.proto.page for link in at.get("page_link")]
    assert links[-2:] == ["lessons", "spiral"]
    assert any('[href$="/explore"]' in block.proto.body for block in at.get("html"))


def test_the_table_of_methods_says_of_every_method_what_it_gives_and_where():
    rows = method_rows()
    titles = {entry.title for entry in PAGES}
    named = {title for row in rows for title in row[3].split(", ") if title}
    assert named <= titles
    listed = [label for row in rows for label in row[0].split(", ")]
    declared = ", ".join(method.label for method in METHODS.values() if not method.forms)
    assert sorted(listed) == sorted(declared.split(", "))
    (virtual,) = (row for row in rows if "virtual SGLB" in row[0].split(", "))
    assert virtual[1:3] == ("total, data, knowledge", "total, data, knowledge")
    (neighbours,) = (row for row in rows if "IBUG" in row[0].split(", "))
    assert neighbours[1:] == ("total, data; neighbours", "", "Neighbours")


ROWS = Knob("rows", "Rows", "ladder", 100, choices=(100, 200, 400))
RATE = Knob("rate", "Rate", "number", 0.5, 0.0, 1.0, step=0.1)
ENDS = Knob("ends", "Ends", "range", (0, 100), 0, 100, step=5)


def test_what_a_dragged_slider_tells_is_read():
    assert doctest.testmod(live_sliders).failed == 0
    knobs, held = {"rate": RATE, "ends": ENDS}, {"rate": 0.5, "ends": (0, 100)}
    rate = {"seq": 2.0, "name": "rate", "value": [0.30000000000000004], "base": [0.5]}
    assert live_sliders.read_move(rate, knobs, held).value == pytest.approx(0.3)
    ends = {"seq": 1, "name": "ends", "value": [5, 90], "base": [0, 100], "end": True}
    assert live_sliders.read_move(ends, knobs, held) == (1, "ends", (5, 90), True)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "zap"},
        {"name": ["rows"]},
        {"seq": -1},
        {"seq": "1"},
        {"seq": True},
        {"value": [3]},
        {"value": [float("nan")]},
        {"value": ["1"]},
        {"value": []},
        {"value": [0, 1]},
        {"base": None},
    ],
)
def test_a_message_that_no_slider_sends_is_ignored(change):
    sent = {"seq": 1, "name": "rows", "value": [1], "base": [0]}
    assert live_sliders.read_move(sent, {"rows": ROWS}, {"rows": 100}).value == 200
    assert live_sliders.read_move({**sent, **change}, {"rows": ROWS}, {"rows": 100}) is None
