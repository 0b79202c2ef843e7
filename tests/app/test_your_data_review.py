"""Your data: what a review found, each case as a reader would meet it."""

import numpy as np

from gbuq_core.errors import MemoryLimitExceeded
from gbuq_core.tables import estimate_scoring, read_table
from tests.app.test_your_data import csv_of, drop, numbers, open_page, rows_of, says, settle


def classes(n=60):
    """Two classes that are called 3 and 5, told apart by x."""
    x = np.arange(n)
    return csv_of(x=x, z=x % 7, y=np.where(x < n // 2, 3, 5))


def test_a_condition_on_the_prediction_is_about_the_label():
    at = open_page(classes(), trees="50", target="y", task="classification", find="prediction = 5")
    found = rows_of(at)
    assert not at.exception
    assert len(found) == 30
    assert set(found["prediction"]) == {"5"}


def test_a_row_of_the_second_file_can_be_opened_however_short_the_first_is():
    at = open_page(numbers(), trees="50")
    drop(at, numbers(n=200), "new.csv", key="upload_second")
    at.number_input(key="row").set_value(150.0).run()
    assert not at.exception
    assert any(element.value == "Row 150" for element in at.subheader)
    drop(at, numbers(n=30), "short.csv", key="upload_second")
    assert at.number_input(key="row").max == 30


def test_a_link_to_a_file_waits_for_the_file():
    at = open_page(table="your file", target="z", row="500", trees="50")
    assert not at.exception
    assert says(at, "No file is open")
    assert not says(at, "target must be")
    at.run()
    assert at.query_params["target"] == "z"
    drop(at, numbers(n=600))
    assert not at.exception
    assert at.selectbox(key="target").value == "z"
    assert any(element.value == "Row 500" for element in at.subheader)


def test_a_link_to_a_file_without_that_target_is_told_once_the_file_is_there():
    at = open_page(table="your file", target="nowhere", trees="50")
    drop(at, numbers())
    assert says(at, 'but the link says "nowhere"')
    assert len(rows_of(at)) == 60


def test_a_file_that_could_not_be_read_is_read_as_the_reader_says():
    # The first rows look like two columns between semicolons; the comma is what holds.
    lines = [f"{i};{'a;' * (i % 4) if i > 210 else ''},{i % 9},{i * i}" for i in range(400)]
    at = open_page("\n".join(["x;t,z,y", *lines]).encode(), trees="50")
    assert says(at, 'Below is still the table "diabetes".')
    choose(at, "Delimiter", "comma")
    assert not at.exception
    assert len(rows_of(at)) == 400
    choose(at, "Delimiter", "semicolon")  # what was open and what failed are the same file now
    assert not at.exception
    assert says(at, "check the delimiter")
    choose(at, "Delimiter", "automatic")
    assert not at.exception


def choose(at, label, value):
    """Set one of the controls of reading, which are there once."""
    (box,) = [box for box in at.selectbox if box.label == label]
    box.set_value(value).run()
    settle(at)


def test_a_refusal_for_want_of_memory_is_not_remembered(monkeypatch):
    refuse = [True]

    def reader(*args, **options):
        if refuse:
            raise MemoryLimitExceeded("There is no room.")
        return read_table(*args, **options)

    def estimate(*args):
        if refuse:
            raise MemoryLimitExceeded("There is no room.")
        return estimate_scoring(*args)

    monkeypatch.setattr("pages._ui.data_source.read_table", reader)
    monkeypatch.setattr("pages._ui.data_training.estimate_scoring", estimate)
    at = open_page(numbers(), seed="77")
    assert says(at, "There is no room.")
    assert not any("Training takes" in caption.value for caption in at.caption)
    refuse.clear()
    settle(at)
    assert not at.exception
    assert len(rows_of(at)) == 60
    at.radio(key="table").set_value("diabetes")  # its estimate was refused before
    settle(at)
    assert any("Training takes" in caption.value for caption in at.caption)
