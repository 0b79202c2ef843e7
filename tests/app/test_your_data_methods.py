"""Your data: methods side by side, trained when asked for and never twice."""

import threading
import time

import pytest

from tests.app.your_data_page import numbers, open_page, open_section, says, settle, texts

COMPARED = "Methods"


def compared(at):
    """The table of scores: one line for each method."""
    (table,) = [frame.value for frame in at.dataframe if "seconds" in frame.value.columns]
    return table


def press_compare(at):
    at.button(key="_methods_compare").click().run()
    return settle(at)


def test_methods_are_compared_when_asked_and_kept(offered):
    at = open_page(numbers(80), table="your file")
    open_section(at, COMPARED)
    assert says(at, "Without a choice, these are compared: virtual SGLB")
    at.multiselect(key="compare").set_value(["virtual SGLB", "kNN"]).run()
    assert says(at, "kNN will be trained.")
    assert len(compared(at)) == 1  # the page's own method needs no training
    press_compare(at)
    assert not at.exception
    assert compared(at)["c0"].tolist() == ["virtual SGLB", "kNN"]
    assert says(at, "NLL: ")
    assert any(
        "kNN" in text and ("Not told apart" in text or "worse" in text) for text in texts(at)
    )
    assert sum("best" in cell for cell in compared(at)["c1"]) == 1
    assert any(button.label == "Methods compared (CSV)" for button in at.get("download_button"))
    # What was trained is there at once, in another choice and after a visit elsewhere.
    open_section(at, "Rows")
    open_section(at, COMPARED)
    at.multiselect(key="compare").set_value(["kNN"]).run()
    assert compared(at)["c0"].tolist() == ["kNN"]
    report = offered["your-data.html"]().decode()
    assert "How do other methods do on the same rows?" in report
    assert "<td>kNN</td>" in report
    assert not any(button.key == "_methods_compare" for button in at.button)


def test_a_rerun_in_the_middle_goes_on_with_the_same_training(monkeypatch):
    """As when unfamiliarity is measured meanwhile: one of two methods is done."""
    from gbuq_core.tables import comparing

    go_on, begun = threading.Event(), []
    run = comparing.run_method

    def waiting(key, *rest):
        begun.append(key)
        if len(begun) == 2:
            go_on.wait(20)
        return run(key, *rest)

    monkeypatch.setattr(comparing, "run_method", waiting)
    at = open_page(numbers(70), table="your file", section=COMPARED, compare=["kNN", "SGB"])
    at.button(key="_methods_compare").click().run()
    while len(begun) < 2:
        time.sleep(0.01)
    at.run()
    assert not any(button.key == "_methods_compare" for button in at.button)
    assert compared(at)["c0"].tolist() == ["kNN"]
    go_on.set()
    settle(at)
    assert compared(at)["c0"].tolist() == ["kNN", "SGB"]
    assert begun == ["knn", "sgb"]


def test_a_method_that_fails_is_a_sentence_beside_the_others(monkeypatch):
    from gbuq_core.tables.predicting import ListedModel

    def fail(self, X, y):
        raise ValueError("of a library")

    monkeypatch.setattr(ListedModel, "fit", fail)
    at = open_page(
        numbers(90),
        table="your file",
        section=COMPARED,
        compare=["kNN", "virtual SGLB"],
    )
    press_compare(at)
    assert not at.exception
    assert says(at, "kNN failed on this table (ValueError).")
    assert compared(at)["c0"].tolist() == ["virtual SGLB"]


def test_what_cannot_be_compared_has_its_reason():
    at = open_page(table="breast cancer", section=COMPARED, compare="IBUG")
    assert says(at, "IBUG can predict numbers only.")
    assert any(e.value == "NGBoost can predict numbers only." for e in at.caption)
    assert "IBUG" in at.multiselect(key="compare").options  # of the link
    assert "NGBoost" not in at.multiselect(key="compare").options
    assert not at.exception


@pytest.mark.parametrize("chosen", ["abacus", ["kNN", "SGB", "SGLB", "IBUG", "VST"]])
def test_a_link_that_asks_for_too_much_is_told(chosen):
    at = open_page(section=COMPARED, compare=chosen)
    assert not at.exception
    assert sum("Methods to compare" in text for text in texts(at)) == 1
