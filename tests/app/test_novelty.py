"""Novelty maps through AppTest: every control, edits with their predictions, links, states."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from gbuq_core.experiments.novelty.edits import edit_of, encode_edits
from gbuq_core.experiments.novelty.fit import ranks_of, run_novelty
from gbuq_core.experiments.novelty.look import explain_place
from gbuq_core.experiments.novelty.plan import METHODS, NoveltySettings
from gbuq_core.experiments.novelty.scores import answer_novelty, describe_novelty
from gbuq_core.knobs import find_knob
from gbuq_core.presentation import short
from pages._ui.canvas import CanvasEvent
from pages._ui.knobs import read_knob
from pages._ui.novelty import edits as novelty_edits
from pages._ui.novelty.controls import STATE
from pages._ui.novelty.edits import on_maps
from tests.app.drawn import unnamed
from tests.app.experiment_page import (
    has_sheet,
    move,
    open_page,
    settle,
    sheet,
    table,
    titles,
    words,
)
from tests.app.novelty_page import CORNER, ERASED, LEFT

DEFAULT_TITLES = [
    "\u2212log true density", "Novelty", "Conditional novelty", "Knowledge uncertainty",
    "Isolation forest", "Where ranks disagree",
]  # fmt: skip


@pytest.fixture(scope="module")
def run():
    return run_novelty(NoveltySettings(rows=200, trees=10))


def test_maps_numbers_and_words_are_those_of_the_experiment_and_a_place_is_explained(run):
    at = open_page("novelty", column="10", row="55")
    assert titles(at) == DEFAULT_TITLES
    maps = sheet(at, "novelty")
    assert unnamed(maps) == set()
    for title, values in zip(DEFAULT_TITLES[:-1], maps.values, strict=False):
        key = next(k for k, m in METHODS.items() if m.label == title)
        shown = ranks_of(run.maps, key).reshape(60, 60)
        np.testing.assert_allclose(values[0], shown, rtol=1e-6)  # travels as float32
    spread = run.view.disagreement.spread.reshape(60, 60)
    np.testing.assert_allclose(maps.values[-1][0], spread, rtol=1e-6, atol=1e-5)
    assert {panel["unit"] for panel in maps.header["panels"][:-1]} == {"% of cells below"}
    assert describe_novelty(run.fit, run.maps, run.view) in words(at)
    assert "| Score |" in table(at, "| Score | AUROC")
    x, y = run.fit.data.axes
    look = explain_place(run.fit, run.maps, run.settings, (float(x[9]), float(y[54])))
    assert f"At {look.title}: what makes it new" in [head.value for head in at.subheader]
    lines = table(at, "| Score | Value").splitlines()
    assert len(lines) == 2 + len(look.values)
    assert all(line.count("|") - line.count("\\|") == 5 for line in lines)
    assert any("| Data uncertainty (variance of p) |" in line for line in lines)
    most = run.maps.of("data").max()  # impossible for a probability, which is said
    assert most > 0.25
    assert any(f"reaches {short(most, 2)} on this map" in caption.value for caption in at.caption)
    (strip,) = sheet(at, "trees").header["strips"]
    assert strip["marks"] == [pytest.approx(look.z.mean())]
    (ellipses,) = sheet(at, "novelty").header["panels"][1]["lines"]
    assert ellipses["x"].count(None) == len(look.top) == 6
    assert sheet(at, "novelty").header["markers"][0]["x"] == pytest.approx(x[9])
    # Logarithmic colours are for own values of variances and distances.
    assert "log" not in [toggle.key for toggle in at.toggle]
    move(at, "show", "own values")
    move(at, "log", True)
    logs = {p["title"]: p["log"] for p in sheet(at, "novelty").header["panels"]}
    assert logs["Knowledge uncertainty"]
    assert not logs["Novelty"]
    move(at, "maps", ["Novelty", "where ranks disagree"])
    move(at, "compared", ["Novelty"])
    assert titles(at) == ["Novelty"]
    assert any(text.startswith("Ranks can only disagree between two") for text in words(at))
    settle(move(at, "third", True))
    assert any("irrelevant feature" in text for text in words(at))


def test_a_table_has_its_two_columns_and_no_truth():
    at = open_page("novelty", data="A table", table="Wine", show="own values")
    assert titles(at) == DEFAULT_TITLES[1:]
    header = sheet(at, "novelty").header
    assert (header["x"]["label"], header["y"]["label"]) == ("alcohol", "flavanoids")
    assert header["outlineLabel"] == ""
    assert "rows" not in [slider.key for slider in at.select_slider]
    assert any("The true density of the rows" in text for text in words(at))
    move(at, "wine_x", "flavanoids")
    assert any("two different numeric columns" in text for text in words(at))
    assert not at.exception


def lasso(at, tool, cells=LEFT):
    """What a lasso with a tool leaves in the session, then a run: AppTest has no browser."""
    kind = novelty_edits.TOOLS[tool]
    at.session_state[novelty_edits._WAITING] = edit_of(kind, cells, 0 if kind == "add" else None)
    return at.run()


def answers(at):
    return [radio for radio in at.radio if str(radio.key).startswith(novelty_edits._ANSWER)]


def test_an_edit_asks_for_a_prediction_first_and_then_judges_it():
    at = lasso(open_page("novelty"), "erase", [(0, 0)])  # what erases nothing is no edit
    assert "There is no training row in 1 cell. Nothing was changed." in words(at)
    assert not answers(at)
    lasso(at, "flip")  # and one that is cancelled leaves nothing
    at.button(key="_novelty_cancel").click().run()
    assert not answers(at)
    assert sheet(at, "novelty").header["outlineLabel"] == "where nearly all rows lie"
    lasso(at, "erase")
    assert at.text_input(key="edits").value == ""
    assert at.button(key="_novelty_apply").disabled
    assert sheet(at, "novelty").header["outlineLabel"] == "under the lasso"
    for radio, guess in zip(answers(at), ("rise", "fall"), strict=True):
        radio.set_value(guess)
    at.run()
    at.button(key="_novelty_apply").click().run()
    settle(at)
    assert at.text_input(key="edits").value == ERASED
    assert any(text.startswith("Removed ") for text in words(at))
    verdicts = ("Right: you predicted", "Wrong: you predicted")
    assert sum(text.startswith(verdicts) for text in words(at)) == 2
    assert [p["title"] for p in sheet(at, "novelty-change").header["panels"]] == [
        "Before", "After", "Difference",
    ]  # fmt: skip
    before, after, difference = (v[0] for v in sheet(at, "novelty-change").values)
    # Three float32, each of them rounded: a few steps of the largest.
    np.testing.assert_allclose(after - before, difference, atol=4e-7 * np.abs(after).max())
    at.button(key="_novelty_undo").click().run()
    assert at.text_input(key="edits").value == ""
    assert not has_sheet(at, "novelty-change")


def test_the_button_erases_around_the_place_that_is_looked_at_after_a_prediction():
    at = open_page(
        "novelty", column="21", row="35"
    )  # the middle of LEFT, and of its edge on the maps
    (edge,) = sheet(at, "novelty").header["lines"]
    fit = run_novelty(NoveltySettings(rows=200, trees=10)).fit
    for key, (low, high), first in zip("xy", fit.data.extent, (14, 28), strict=True):
        ends = [low + (high - low) * cell / 60 for cell in (first, first + 13)]
        assert [min(edge[key]), max(edge[key])] == pytest.approx(ends)
    at.button(key="_novelty_here").click().run()
    waiting = at.session_state[novelty_edits._WAITING]
    cells = [(row, column) for row in range(28, 41) for column in range(14, 27)]
    assert waiting == edit_of("remove", cells)
    assert at.text_input(key="edits").value == ""
    assert len(answers(at)) == 2
    assert at.button(key="_novelty_apply").label == "Erase rows in 169 cells"
    assert not sheet(at, "novelty").header["lines"]  # what is erased is outlined instead
    away = open_page("novelty", column="5", row="55")
    away.button(key="_novelty_here").click().run()
    assert any("There is no training row in" in text for text in words(away))


def test_the_answer_is_one_sentence_and_a_click_on_it_gives_the_verdicts(run):
    at = open_page("novelty")
    label = answer_novelty(run)
    (answer,) = (popover for popover in at.get("popover") if popover.proto.popover.label == label)
    shares = [float(share) for share in re.findall(r"(\d+) %", label)]
    empty = ~run.fit.data.in_support
    for key, share in zip(("novelty", "knowledge"), shares, strict=True):
        above = [value > max(run.maps.of_rows(key)) for value in run.maps.of(key)[empty]]
        assert share == pytest.approx(100 * np.mean(above), abs=0.5)
    assert len(answer.markdown) == 3
    table = run_novelty(NoveltySettings(data="table", trees=10))
    assert " of the map, novelty " in answer_novelty(table)


def test_an_edit_that_cannot_be_is_said_and_nothing_is_lost():
    at = open_page("novelty", edits=encode_edits([edit_of("flip", LEFT)]))
    held = at.text_input(key="edits").value
    lasso(at, "erase", [(row, column) for row in range(60) for column in range(60)])
    assert any(
        t == "These edits remove every training row. Nothing was changed." for t in words(at)
    )
    assert at.text_input(key="edits").value == held
    assert not answers(at)
    assert has_sheet(at, "novelty-change")


def test_edits_of_a_link_are_restored_without_a_prediction():
    at = open_page("novelty", edits=ERASED)
    assert any(text.startswith("Removed ") for text in words(at))
    assert any(text.startswith("This edit came with the link") for text in words(at))
    before = sheet(at, "novelty-change").header["digest"]
    move(at, "score", "Knowledge uncertainty")
    assert sheet(at, "novelty-change").header["digest"] != before
    at.button(key="_novelty_clear").click().run()
    assert at.text_input(key="edits").value == ""


def test_edits_that_cannot_be_applied_are_said_and_the_maps_are_those_without_them():
    everything = [(row, column) for row in range(60) for column in range(60)]
    at = open_page("novelty", edits=encode_edits([edit_of("remove", everything)]))
    assert any("remove every training row" in text for text in words(at))
    assert any("maps leave these edits out" in text for text in words(at))
    assert titles(at) == DEFAULT_TITLES
    assert at.text_input(key="edits").value
    settle(at.button(key="_novelty_forget").click().run())
    assert at.text_input(key="edits").value == ""
    assert not any("leave these edits out" in text for text in words(at))


def test_damaged_edits_are_said_and_taken_out_of_the_address():
    notice = 'The edits in the link are damaged; nothing is used for "Edits".'
    at = open_page("novelty", edits="[[[[")
    assert notice in words(at)
    assert "edits" not in at.query_params
    assert titles(at) == DEFAULT_TITLES
    edits = find_knob(STATE.knobs, "edits")
    assert read_knob(edits, [ERASED[:-3] + "AAA"]).problem == notice.partition(";")[0]
    assert read_knob(edits, [ERASED]) == (ERASED, "")


@pytest.mark.parametrize(
    ("tool", "kind", "copies"),
    [("erase", "remove", 1), ("add", "add", 3), ("duplicate", "duplicate", 3), ("flip", "flip", 1)],
)
def test_a_lasso_becomes_the_tools_edit(tool, kind, copies, monkeypatch):
    state = {novelty_edits._TOOL: tool, novelty_edits._COPIES: 3, novelty_edits._LABEL: 1}
    monkeypatch.setattr(novelty_edits.st, "session_state", state)
    on_maps(True, CanvasEvent(lassoed=CORNER))
    label = 1 if tool == "add" else None
    assert state[novelty_edits._WAITING] == edit_of(kind, CORNER, label, copies=copies)


def test_a_click_or_a_lasso_looks_at_a_cell(monkeypatch):
    state = {}
    monkeypatch.setattr(novelty_edits.st, "session_state", state)
    on_maps(True, CanvasEvent(clicked=(2, 4, 59)))
    assert state == {"row": 5.0, "column": 60.0}
    on_maps(True, CanvasEvent(lassoed=[(0, 2), (2, 2)]))
    assert state == {"row": 2.0, "column": 3.0}
    on_maps(True, CanvasEvent())
    assert state == {"row": 2.0, "column": 3.0}


def test_too_many_edits_are_refused():
    data = SimpleNamespace(data=None, plan=None)
    many = tuple(edit_of("flip", [(0, 0)]) for _ in range(20))
    reason = novelty_edits.why_not_one_more(data, many, many[0])
    assert reason == "There are already 20 edits, the most possible. Undo some of them."
