"""Unfamiliar rows on the page "Your data": said only once measured, in words, list and row."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from gbuq_core.figures.table.drift import PICKED
from pages._ui.your_data import drift
from tests.app.your_data_page import (
    csv_of,
    drop,
    judged,
    open_page,
    rows_of,
    says,
    settle,
    table_with,
    texts,
)


def numbers(n, shift=0.0, seed=3):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n) + shift
    return csv_of(x=x, z=rng.normal(size=n), y=x + rng.normal(size=n))


@pytest.fixture
def wine():
    return settle(open_page(table="wine", row="5"))  # it is measured after the training


def test_the_least_familiar_rows_are_named_with_a_reason(wine):
    sheet = rows_of(wine)
    assert {"unfamiliarity", "times_beyond"} <= set(sheet.columns)
    assert sheet["unfamiliarity"].between(0.0, 1.0).all()
    assert any("Unfamiliarity 0." in text for text in texts(wine))


def test_rows_are_ranked_and_found_by_it(wine):
    wine.session_state["rank"] = "unfamiliarity"
    settle(wine.run())
    ranked = rows_of(wine)["unfamiliarity"].to_numpy()
    assert (np.diff(ranked) <= 0.0).all()
    wine.session_state["find"] = "unfamiliarity > 0.9"
    settle(wine.run())
    assert (rows_of(wine)["unfamiliarity"] > 0.9).all()
    assert 10 <= len(rows_of(wine)) <= 25  # a tenth of 178
    assert not wine.exception


def test_a_foreign_second_file_is_told_before_anything_else(offered):
    at = drop(open_page(), numbers(520))  # a fifth of them is held out
    settle(drop(at, numbers(40, shift=9.0), "second.csv", key="upload_second"))
    sentences = judged(at)
    first = next(
        k for k, text in enumerate(sentences) if text.startswith("The second file is unlike")
    )
    result = next(k for k, text in enumerate(sentences) if "of the second file were judged" in text)
    assert first < result
    assert (rows_of(at)["unfamiliarity"] > 0.9).all()
    code = next(block.value for block in at.code if "score_table" in block.value)
    assert "measure_unfamiliarity(scored.training, scored.scored, 0)" in code
    # What the first file's coverage was does not matter for such rows.
    assert any(
        "The coverage measured on the first file is not shown: 100 %" in t for t in sentences
    )
    assert not any("Inside 95 %" in text for text in sentences)
    assert not any("Intervals of" in text for text in sentences)
    # The line about drift stands with the warning, and its section draws both files.
    assert sum("shifted by more than chance" in text for text in sentences) == 1
    at.session_state["section"] = "Second file"
    settle(at.run())
    assert not at.exception
    assert sum("shifted by more than chance" in text for text in texts(at)) == 2
    assert any(text.startswith("x: PSI") and "large" in text for text in texts(at))
    assert says(at, "no weights reach them, so intervals are not weighted")
    at.selectbox(key="drifted").set_value("z").run()
    assert any(text.startswith("z: PSI") and "not told apart" in text for text in texts(at))
    assert any(b.proto.label == "Drift by column (CSV)" for b in at.get("download_button"))
    # Sections that judge the first file say it once, and quote no coverage by group.
    at.session_state["section"] = "Is it any good?"
    at.run()
    assert not at.exception
    assert sum("first file is not shown" in text for text in texts(at)) == 2  # also in the head
    assert not any("in every group" in block.value for block in at.markdown)
    assert says(at, "above the threshold") or says(at, "such rows held out")
    at.session_state["section"] = "Where it fails"
    at.run()
    assert not at.exception
    assert sum("first file is not shown" in text for text in texts(at)) == 2  # also in the head
    groups = table_with(at, "Group")
    assert list(groups) == ["RMSE", "Group", "Against the others", "Rows", "K, std"]
    assert not says(at, "outside the 90 % interval")
    report = offered["your-data.html"]().decode()
    assert "first file is not shown" in report
    assert "Where does it fail?" in report
    for number in ("in every group", "outside the 90 % interval", "predicted distr"):
        assert number not in report


def test_nothing_is_called_unfamiliar_before_it_is_measured(monkeypatch):
    def fails(*arguments):
        raise RuntimeError("not today")

    monkeypatch.setattr("gbuq_core.lenses.unfamiliar.measure_unfamiliarity", fails)
    at = settle(drop(open_page(), numbers(61, seed=9)))
    assert not any("familiar" in text.lower() for text in texts(at) if "measured" not in text)
    assert "unfamiliarity" not in rows_of(at).columns
    assert says(at, "It could not be measured how unfamiliar the rows are.")
    at.session_state["rank"] = "unfamiliarity"
    settle(at.run())
    assert says(at, "How unfamiliar the rows are is not measured yet.")
    assert not at.exception


def test_the_knobs_of_the_model_measure_nothing_again(wine, monkeypatch):
    def fails(*arguments):
        raise RuntimeError("measured again")

    monkeypatch.setattr("gbuq_core.lenses.unfamiliar.measure_unfamiliarity", fails)
    before = pd.Series(rows_of(wine)["unfamiliarity"]).sort_values().to_numpy()
    wine.session_state["depth"] = 2
    settle(settle(wine.run()))
    after = pd.Series(rows_of(wine)["unfamiliarity"]).sort_values().to_numpy()
    np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize(
    ("picked", "shown"),
    [([{"c0": "day"}], "date"), ([{"c0": "<b>"}], "before"), ([], "before"), ("no", "before")],
)
def test_a_clicked_bar_shows_its_column_and_nonsense_is_dropped(monkeypatch, picked, shown):
    chart = {"selection": {PICKED: picked}}
    state = {drift._CHART: chart, "drifted": "before"}
    monkeypatch.setattr(drift, "st", SimpleNamespace(session_state=state))
    drift._pick({"day": "date"})
    assert state["drifted"] == shown


def test_intervals_are_weighted_for_a_second_file_that_has_shifted(offered):
    at = drop(open_page(trees="50"), numbers(1200))
    settle(drop(at, numbers(150, shift=0.5), "second.csv", key="upload_second"))
    at.session_state["section"] = "Second file"
    settle(at.run())
    assert says(at, "Without weights, conformal intervals of 90 % would hold")
    assert not says(at, "The intervals are weighted.")
    before = offered["scored.csv"]()
    settle(at.toggle(key="weighted").set_value(True).run())
    assert not at.exception
    assert says(at, "The intervals are weighted.")
    assert offered["scored.csv"]() != before
    assert any("shift=measure_shift(scored, 0)" in block.value for block in at.code)
