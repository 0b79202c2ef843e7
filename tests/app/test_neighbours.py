"""Neighbours through AppTest: pictures of three kinds, knobs that refit nothing, looks, states."""

import re

import numpy as np
import pytest

from gbuq_core.experiments.neighbours.data import DATASETS, load_neighbours_data
from gbuq_core.experiments.neighbours.fit import count_fits
from gbuq_core.experiments.neighbours.look import run_neighbours
from gbuq_core.experiments.neighbours.plan import FEATURES, PLACES
from gbuq_core.experiments.neighbours.words import answer_neighbours, describe_neighbours
from gbuq_core.figures.near import NEAR
from pages._ui.canvas import CanvasEvent
from pages._ui.neighbours import picture as neighbours_picture
from pages._ui.neighbours.controls import KNOBS, rounded_place
from tests.app.drawn import unnamed
from tests.app.neighbours_page import (
    SETTINGS,
    SMALL,
    curves,
    drawn,
    move,
    open_neighbours,
    settle,
    sheet,
    table,
    words,
)
from tests.app.opening import open_link
from tests.app.waiting import live_jobs


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
    at = open_neighbours()
    look = run.look
    wanted = sorted(zip(look.features[:, 0], look.targets, strict=True))
    # Numbers are sent with five significant digits.
    np.testing.assert_allclose(sorted(strong_dots(curves(at, "neighbours"))), wanted, rtol=5.1e-5)
    answer = at.get("popover")[0]
    assert answer.proto.popover.label == answer_neighbours(run)
    (said,) = [text.value for text in answer.text]  # more numbers, a click away
    assert said.startswith("At x = 7: IBUG predicts")
    assert "Its 15 neighbours lie at x from" in said
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


def test_a_knob_of_the_view_changes_the_picture_and_fits_nothing():
    """One knob after the other."""
    at = open_neighbours(k="3")  # too few to be sure of: calibration widens the scale
    for key, value, figure in (
        ("calibrate", False, "neighbours"),
        ("family", "Laplace", "posterior-families"),
        ("k", "31", "neighbours"),
        ("tau", 10, "neighbours"),
        ("x", 3.0, "neighbours"),
        ("scales", (80, 100), "neighbours"),
    ):
        before, fits = curves(at, figure), count_fits()
        move(at, key, value)
        assert not at.exception, key
        assert not at.get("progress"), key
        assert curves(at, figure) != before, key
        assert count_fits() == fits, key


def test_the_order_of_trees_is_asked_for_where_some_do_not_count():
    at = open_neighbours()
    bar = {knob["key"]: knob for knob in curves(at, "neighbours")["knobs"]}
    assert bar["order"]["needs"] == {"tau": list(range(len(bar["tau"]["texts"]) - 1))}
    move(at, "tau", 10)
    before = drawn(at)
    move(at, "order", "last")
    assert drawn(at) != before


def test_the_trees_knobs_follow_the_library_and_refit():
    at = open_neighbours()
    fits = count_fits()
    settle(move(at, "leaves", 4))
    assert count_fits() <= fits + 1  # another test may have asked for the same fit
    settle(move(at, "library", "SGLB (one model)"))
    assert "leaves" not in [slider.key for slider in at.select_slider]
    assert "depth" in [slider.key for slider in at.slider]
    assert curves(at, "neighbours")


def test_two_inputs_are_maps_with_the_neighbours_on_them():
    at = open_neighbours(data="Ripples", scales=["80", "100"], scales_of="rows")
    maps = sheet(at, "neighbours")
    assert unnamed(maps) == set()
    assert [panel["title"] for panel in maps.header["panels"]] == [
        "True noise", "Estimated scale", "Affinity with the point",
    ]  # fmt: skip
    share = maps.values[2][0]
    # The point itself shares every tree with the cell it lies in; steps of a 65,535th.
    assert share.max() == pytest.approx(1.0, abs=2e-5)
    (said,) = (text for text in words(at) if text.startswith("Percentiles 80 to 100 are scales"))
    (inside,) = re.findall(r"([\d,]+) of 1,000 fresh rows lie in this range", said)
    assert 199 <= int(inside) <= 210  # percentiles of rows, not of cells; scales have ties
    assert at.dataframe[1].value["scale"].is_monotonic_decreasing
    assert [panel["unit"] for panel in maps.header["panels"]] == [
        "std, units of y", "std, units of y", "of the trees",
    ]  # fmt: skip


def test_what_the_data_are_and_what_scores_are_measured_in_is_said():
    at = open_neighbours(data="Wine: alcohol")
    captions = [caption.value for caption in at.caption]
    assert any(DATASETS["wine"].about in text for text in captions)
    assert any("are in the target's unit (alcohol)" in text for text in captions)
    (band,) = re.findall(
        r"\| 95 % band of that share \| (\d+)\u2013(\d+)\u00a0% \|", table(at, "| Score |")
    )
    (held,) = re.findall(r"\| Rows in the 90 % interval \| ([\d.]+)\u00a0%", table(at, "| Score |"))
    assert int(band[0]) <= float(held) <= int(band[1])


def test_a_long_list_of_highlighted_rows_says_that_it_ends():
    at = open_neighbours(scales=["50", "100"])
    listed = at.dataframe[1].value
    assert len(listed) == 200
    assert any(c.value.startswith("The list shows the 200 rows with") for c in at.caption)


def test_a_table_is_a_map_of_held_out_rows_beside_the_training_rows():
    at = open_neighbours(data="Wine: alcohol", wine_row="4")
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
    assert {one["cultivar"] for one in near} <= set(data.labels)
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


def test_a_range_in_which_no_row_lies_is_said_and_draws_the_picture():
    at = open_neighbours(data="Wine: alcohol", scales=["45", "45"])
    (said,) = [text for text in words(at) if text.startswith("Percentile 45")]
    assert "None of the 36 held-out rows" in said or "1 of 36" in said
    assert curves(at, "held-out-rows")


def test_a_place_without_rows_says_whose_scale_it_is():
    at = open_neighbours(x="12")
    assert any("There are no training rows here" in text for text in words(at))
    answer = at.get("popover")[0].proto.popover.label
    assert answer.startswith("At x = 12, where no training rows are, the model says")


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


def test_of_several_cells_the_middle_is_looked_at(monkeypatch):
    state = {}
    monkeypatch.setattr(neighbours_picture.st, "session_state", state)
    axes = np.array([-0.5, 0.0, 0.5]), np.array([-1.0, 0.0, 1.0])
    neighbours_picture._pick_cell("ripples", axes, CanvasEvent(lassoed=[(0, 2), (2, 2)]))
    assert state == {"x1": 0.5, "x2": 0.0}
    neighbours_picture._pick_cell("ripples", axes, CanvasEvent())
    assert state == {"x1": 0.5, "x2": 0.0}


def test_a_library_that_is_not_installed_is_said_and_the_page_stays_whole(monkeypatch):
    from gbuq_core.experiments.neighbours import plan as neighbours_plan

    found = neighbours_plan.importlib.util.find_spec
    monkeypatch.setattr(
        neighbours_plan.importlib.util,
        "find_spec",
        lambda name, *rest: None if name == "catboost" else found(name, *rest),
    )
    at = open_neighbours(library="CatBoost", seed="23")
    assert any(text.startswith("CatBoost is not installed:") for text in words(at))
    assert not at.get("bidi_component")
    assert "library" in [box.key for box in at.selectbox]


def test_baselines_are_fitted_when_they_are_chosen():
    at = open_neighbours(compare=["kNN", "IBUG + virtual SGLB"])
    settle(at)
    assert "| Score | IBUG | kNN | IBUG + virtual SGLB |" in table(at, "| Score |")
    assert not any("IBUG's calibration off" in caption.value for caption in at.caption)
    move(at, "calibrate", False)
    assert any("IBUG's calibration off" in caption.value for caption in at.caption)


def test_a_baseline_that_there_cannot_be_is_said():
    at = open_neighbours(library="SGLB (one model)", compare="kNN-CB")
    assert any(text.startswith("kNN-CB: kNN-CB uses the most important") for text in words(at))
    assert table(at, "| Score |").startswith("| Score | IBUG |\n")


def test_a_running_fit_leaves_the_picture_and_can_be_cancelled():
    at = open_neighbours()
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
    slow = {**SMALL, "library": "SGLB (one model)", "rows": "10000", "trees": "2000"}
    at = open_link("neighbours", slow)
    assert "The picture appears when the first fit is done." in words(at)
    at.button(key="_jobs_cancel").click().run()
    assert not at.exception
    assert any(text.startswith("Cancelled.") for text in words(at))
    assert "_jobs_again" in [button.key for button in at.button]
