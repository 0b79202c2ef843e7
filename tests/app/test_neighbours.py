"""Neighbours through AppTest: pictures of three kinds, knobs that refit nothing, looks, states."""

import re

import numpy as np
import pytest

from gbuq_core.figures.near import NEAR
from gbuq_core.study.neighbours_fit import (
    DATASETS,
    FEATURES,
    PLACES,
    NeighboursSettings,
    load_neighbours_data,
    run_neighbours,
)
from gbuq_core.study.neighbours_picture import answer_neighbours, describe_neighbours
from pages._ui.canvas import CanvasEvent
from pages._ui.neighbours.controls import KNOBS, pick_cell, rounded_place
from tests.app.drawn import unnamed
from tests.app.experiment_page import (
    answers_of,
    curves,
    keys_of,
    move,
    open_page,
    settle,
    sheet,
    table,
    words,
)
from tests.app.opening import open_link
from tests.app.waiting import live_jobs

SETTINGS = NeighboursSettings(rows=200, trees=20, k=15)


@pytest.fixture(scope="module")
def run():
    return run_neighbours(SETTINGS)


def strong_dots(spec, panel=0):
    return [
        (x, y)
        for part in spec["panels"][panel]["layers"]
        if part["kind"] == "dots" and part["colour"] == NEAR
        for x, y in zip(part["x"], part["y"], strict=True)
    ]


def test_the_tables_columns_and_rows_are_those_of_the_knobs():
    for key, info in DATASETS.items():
        data = load_neighbours_data(key)
        knobs = [KNOBS[name] for name in PLACES[key]]
        if info.kind == "table":
            assert FEATURES[key] == data.feature_names
            assert knobs[0].high == len(data.y_test)
        else:
            for axis, knob in zip(data.axes, knobs, strict=True):
                assert knob.low <= axis[0]
                assert axis[-1] <= knob.high
                assert axis[0] <= knob.default <= axis[-1]


def test_the_chosen_place_its_neighbours_and_their_numbers_are_shown_at_once(run):
    at = open_page("neighbours")
    look = run.look
    wanted = sorted(zip(look.features[:, 0], look.targets, strict=True))
    # Numbers are sent with five significant digits.
    np.testing.assert_allclose(sorted(strong_dots(curves(at, "neighbours"))), wanted, rtol=5.1e-5)
    answer = at.get("popover")[0]
    assert answer.proto.popover.label == answer_neighbours(run)
    (numbers,) = [text.value for text in answer.text]  # more numbers, a click away
    assert numbers.startswith("At x = 7: IBUG predicts")
    assert "Its 15 neighbours lie at x from" in numbers
    assert [claim.value.split("**")[1].split(":")[0] for claim in answer.markdown] == [
        "The scale follows the noise", "Tuning finds a good k", "Stable with few trees",
    ]  # fmt: skip
    assert describe_neighbours(run) in words(at)
    listed = at.dataframe[0].value
    np.testing.assert_array_equal(listed["training row"], look.indices + 1)
    np.testing.assert_allclose(listed["y"], look.targets)
    assert [s["title"] for s in sheet(at, "why-this-scale").header["strips"]] == [
        "Affinity of all training rows", "Its scale against k", "The score that chooses k",
    ]  # fmt: skip
    assert "**Normal**" in table(at, "| Distribution |")
    assert "| Score | IBUG | one scale for all rows |" in table(at, "| Score |")
    bar = {knob["key"]: knob for knob in curves(at, "neighbours")["knobs"]}
    assert bar["order"]["needs"] == {"tau": list(range(len(bar["tau"]["texts"]) - 1))}
    assert "leaves" in keys_of(at)
    move(at, "x", 12.0)  # a place without rows
    assert any("There are no training rows here" in text for text in words(at))
    answer = answers_of(at)[0]
    assert answer.startswith("At x = 12, where no training rows are, the model says")


def test_the_first_settings_show_any_x_and_fit_nothing():
    before = live_jobs()
    at = open_link("neighbours", {"x": "2.65"})
    assert at.get("popover")[0].proto.popover.label.startswith("At x = 2.65 the model says 1.83")
    move(at, "x", 9.4)
    assert at.get("popover")[0].proto.popover.label.startswith("At x = 9.4 ")
    assert live_jobs() == before
    assert not at.exception


def test_two_inputs_are_maps_with_the_neighbours_on_them():
    at = open_page("neighbours", data="Ripples", scales=["80", "100"], scales_of="rows")
    maps = sheet(at, "neighbours")
    assert unnamed(maps) == set()
    assert [panel["title"] for panel in maps.header["panels"]] == [
        "True noise", "Estimated scale", "Affinity with the point",
    ]  # fmt: skip
    share = maps.values[2][0]
    # The point itself shares every tree with the cell it lies in; steps of a 65,535th.
    assert share.max() == pytest.approx(1.0, abs=2e-5)
    listed = at.dataframe[1].value
    assert len(listed) == 200
    assert any(c.value.startswith("The list shows the 200 rows with") for c in at.caption)
    (sentence,) = (
        text for text in words(at) if text.startswith("Percentiles 80 to 100 are scales")
    )
    (inside,) = re.findall(r"([\d,]+) of 1,000 fresh rows lie in this range", sentence)
    assert 199 <= int(inside) <= 210  # percentiles of rows, not of cells; scales have ties
    assert listed["scale"].is_monotonic_decreasing
    assert [panel["unit"] for panel in maps.header["panels"]] == [
        "std, units of y", "std, units of y", "of the trees",
    ]  # fmt: skip


def test_a_table_is_a_map_of_held_out_rows_beside_the_training_rows():
    at = open_page("neighbours", data="Wine: alcohol", wine_row="4", scales=["45", "45"])
    captions = [caption.value for caption in at.caption]
    assert any(DATASETS["wine"].about in text for text in captions)
    assert any("are in the target's unit (alcohol)" in text for text in captions)
    share = r"\| 95 % band of that share \| (\d+)\u2013(\d+)\u00a0% \|"
    ((low, high),) = re.findall(share, table(at, "| Score |"))
    (held,) = re.findall(r"\| Rows in the 90 % interval \| ([\d.]+) %", table(at, "| Score |"))
    assert int(low) <= float(held) <= int(high)
    # A range in which no row lies is said.
    (sentence,) = [text for text in words(at) if text.startswith("Percentile 45")]
    assert "None of the 36 held-out rows" in sentence or "1 of 36" in sentence
    held_out, training = curves(at, "held-out-rows"), curves(at, "training-rows")
    data = load_neighbours_data("wine")
    assert held_out["read"]["names"] == list(range(1, len(data.y_test) + 1))
    assert held_out["pick"]
    assert not training["pick"]
    assert any(text.startswith("Cultivar of the 15 neighbours:") for text in words(at))
    own, *near = at.dataframe[0].value.to_dict("records")  # what they are to be compared with
    assert (own["training row"], own["trees shared"], own["cultivar"]) == (
        "this row",
        20,
        "\u2013",
    )
    assert own["alcohol"] == data.y_test[3]
    assert [own[name] for name in data.feature_names] == data.X_test[3].tolist()
    assert len(near) == 15
    assert {row["cultivar"] for row in near} <= set(data.labels)
    ((x, y),) = [
        (part["x"][0], part["y"][0])
        for part in training["panels"][0]["layers"]
        if part["kind"] == "dots" and "x" in part
    ]
    assert y == pytest.approx(data.y_test[3], rel=5e-5)  # five digits are sent
    assert x == training["panels"][0]["ring"]["x"]
    assert "its own target" in [entry["name"] for entry in training["legend"]]
    move(at, "wine_by", "proline")
    assert curves(at, "training-rows")["x"]["label"] == "proline"
    assert curves(at, "held-out-rows") == held_out


@pytest.mark.parametrize(
    ("data", "place", "session"),
    [
        ("heteroscedastic", (99.0,), {"x": 13.0}),
        ("ripples", (0.123456, -7.0), {"x1": 0.12, "x2": -1.0}),
        ("wine", (3.0,), {"wine_row": 3.0}),
    ],
)
def test_a_click_becomes_numbers_in_range(data, place, session):
    assert rounded_place(data, place) == session


def test_of_several_cells_the_middle_is_looked_at():
    picked = []
    axes = np.array([-0.5, 0.0, 0.5]), np.array([-1.0, 0.0, 1.0])
    for event in (CanvasEvent(dragged=[(0, 2), (2, 2)]), CanvasEvent()):
        pick_cell(axes, lambda *place: picked.append(place), event)
    assert picked == [(0.5, 0.0)]


def test_a_library_that_is_not_installed_is_said_and_the_page_stays_whole(monkeypatch):
    there = "gbuq_core.study.neighbours_fit.is_installed"
    monkeypatch.setattr(there, lambda package: package != "catboost")
    at = open_page("neighbours", library="CatBoost", seed="23")
    assert any(text.startswith("CatBoost is not installed:") for text in words(at))
    assert not at.get("bidi_component")
    assert "library" in [box.key for box in at.selectbox]


def test_baselines_are_fitted_when_they_are_chosen():
    at = open_page("neighbours", compare=["kNN", "IBUG + virtual SGLB"])
    settle(at)
    assert "| Score | IBUG | kNN | IBUG + virtual SGLB |" in table(at, "| Score |")
    assert not any("IBUG's calibration off" in caption.value for caption in at.caption)
    move(at, "calibrate", False)
    assert any("IBUG's calibration off" in caption.value for caption in at.caption)


def test_a_baseline_that_there_cannot_be_is_said():
    at = open_page("neighbours", library="SGLB (one model)", compare="kNN-CB")
    refusal = "kNN-CB: kNN-CB uses the most important"
    assert any(refusal in caption.value for caption in at.caption)
    assert table(at, "| Score |").startswith("| Score | IBUG |\n")


def test_a_running_fit_leaves_the_picture_and_can_be_cancelled():
    at = open_page("neighbours")
    before = curves(at, "neighbours")
    scores = table(at, "| Score |")
    # Minutes on any machine, stopped at once.
    at.selectbox(key="library").set_value("SGLB (one model)")
    at.select_slider(key="rows").set_value(10000)
    at.select_slider(key="trees").set_value(2000).run()
    jobs = [job for job in live_jobs() if job.key[0] == "neighbours"]
    assert len(jobs) == 1
    assert curves(at, "neighbours") == before
    assert table(at, "| Score |") == scores
    assert "The picture still shows the previous settings, and so do the scores." in [
        c.value for c in at.caption
    ]
    at.button(key="_jobs_cancel").click().run()
    assert jobs[0].stopped
    assert any(text.startswith("Cancelled.") for text in words(at))
    assert curves(at, "neighbours") == before


def test_a_first_fit_that_is_cancelled_leaves_a_sentence():
    slow = {"library": "SGLB (one model)", "rows": "10000", "trees": "2000"}
    at = open_link("neighbours", slow)
    assert "The picture appears when the first fit is done." in words(at)
    at.button(key="_jobs_cancel").click().run()
    assert not at.exception
    assert any(text.startswith("Cancelled.") for text in words(at))
    assert "_jobs_again" in [button.key for button in at.button]
