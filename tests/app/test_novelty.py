"""Novelty maps through AppTest: every control, clicks that erase rows, links, states."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from gbuq_core.study.novelty import NOVELTY, explain_place
from gbuq_core.study.novelty_maps import SCORES, NoveltySettings, ranks_of
from pages._ui import study
from pages._ui.canvas import CanvasEvent
from tests.app.drawn import unnamed
from tests.app.experiment_page import (
    move,
    open_page,
    settle,
    sheet,
    table,
    titles,
    words,
)
from tests.app.novelty_page import ERASED, PLACE

DEFAULT_TITLES = [
    "\u2212log true density", "Novelty", "Conditional novelty", "Knowledge uncertainty",
    "Isolation forest", "Where ranks disagree",
]  # fmt: skip


@pytest.fixture(scope="module")
def run():
    return NOVELTY.run(NoveltySettings(rows=200, trees=10))


def test_maps_numbers_and_words_are_those_of_the_experiment_and_a_place_is_explained(run):
    at = open_page("novelty", column="10", row="55")
    assert titles(at) == DEFAULT_TITLES
    maps, (view,) = sheet(at, "novelty"), run.views
    assert unnamed(maps) == set()
    for title, values in zip(DEFAULT_TITLES[:-1], maps.values, strict=False):
        key = next(k for k, m in SCORES.items() if m.label == title)
        shown = ranks_of(view.maps, key).reshape(60, 60)
        np.testing.assert_allclose(values[0], shown, rtol=1e-6)  # travels as float32
    spread = view.apart.spread.reshape(60, 60)
    np.testing.assert_allclose(maps.values[-1][0], spread, rtol=1e-6, atol=1e-5)
    assert {panel["unit"] for panel in maps.header["panels"][:-1]} == {"% of cells below"}
    assert NOVELTY.describe(run) in words(at)
    assert table(at, "| Score | AUROC").count("\n") == 1 + len(view.numbers)
    x, y = view.data.axes
    look = explain_place(view, (float(x[9]), float(y[54])))
    assert f"At {look.title}: what makes it new" in [head.value for head in at.subheader]
    assert table(at, "| Score | Value").count("\n") == 1 + len(look.values)
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


def test_a_click_sets_the_place_and_says_why_it_erases_nothing():
    """AppTest has no browser: what a click on a map leaves in the session."""
    row, column = PLACE
    for rows, left, toasts in ((200, {"erased": ERASED}, 0), (60, {}, 1)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(study, "st", st := SimpleNamespace(session_state={"rows": rows}, said=[]))
            st.toast = st.said.append
            study._click(NOVELTY, CanvasEvent(clicked=(2, row, column)))
        here = {"rows": rows, "row": row + 1.0, "column": column + 1.0}
        assert st.session_state == {**here, **left}
        assert len(st.said) == toasts


def test_erased_rows_are_counted_and_given_back(run):
    (edge,) = sheet(open_page("novelty", column="21", row="35"), "novelty").header["lines"]
    for key, (low, high), first in zip("xy", run.data.extent, (16, 30), strict=True):
        ends = [low + (high - low) * cell / 60 for cell in (first, first + 9)]
        assert [min(edge[key]), max(edge[key])] == pytest.approx(ends)
    at = open_page("novelty", erased=f"{ERASED}~37_23")
    count = r"\d+ of 200 training rows are erased\."
    (both,) = (text for text in words(at) if re.fullmatch(count, text))
    settle(at.button(key="_undo").click().run())
    assert at.text_input(key="erased").value == ERASED
    (one,) = (text for text in words(at) if re.fullmatch(count, text))
    assert int(one.split()[0]) < int(both.split()[0])
    settle(at.button(key="_undo").click().run())
    assert at.text_input(key="erased").value == ""
    assert not any(re.fullmatch(count, text) for text in words(at))
    at = open_page("novelty", erased=f"{ERASED}~37_23")
    settle(at.button(key="_undo-").click().run())
    assert at.text_input(key="erased").value == ""


def test_the_answer_is_one_sentence_and_a_click_on_it_gives_the_verdicts(run):
    at = open_page("novelty")
    label = NOVELTY.say_answer(run)
    (answer,) = (popover for popover in at.get("popover") if popover.proto.popover.label == label)
    shares = [float(share) for share in re.findall(r"(\d+) %", label)]
    (view,), empty = run.views, ~run.data.in_support
    for key, share in zip(("novelty", "knowledge"), shares, strict=True):
        above = view.maps.of(key)[empty] > view.maps.of_rows(key).max()
        assert share == pytest.approx(100 * np.mean(above), abs=0.5)
    assert len(answer.markdown) == 3
    table = NOVELTY.run(NoveltySettings(data="table", trees=10))
    assert " of the map, novelty " in NOVELTY.say_answer(table)


def test_where_too_few_rows_would_be_left_the_maps_show_all():
    at = open_page("novelty", erased=ERASED, rows="60")
    assert any(text.endswith("at least 50. The maps show all rows.") for text in words(at))
    assert titles(at) == DEFAULT_TITLES
    assert at.text_input(key="erased").value == ERASED
    settle(move(at, "rows", 200))
    assert any(text.endswith(" training rows are erased.") for text in words(at))
