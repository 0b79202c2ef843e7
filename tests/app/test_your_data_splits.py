"""The page "Your data": rows split by group or by time, and the target on a log scale."""

from functools import partial

import numpy as np

from pages._ui.your_data import beside
from tests.app.your_data_page import csv_of, drop, judged, open_page, says, settle, texts

QUICK = {"trees": "50", "depth": "2"}


def visits(n=120):
    rng = np.random.default_rng(0)
    patient = rng.integers(0, 24, n)
    dose = rng.uniform(0, 3, n)
    return csv_of(
        patient=[f"p{k}" for k in patient],
        day=[f"2021-{1 + k // 28:02d}-{1 + k % 28:02d}" for k in rng.permutation(n)],
        dose=dose,
        price=np.exp(dose + 0.5 * rng.normal(size=n) + 0.1 * (patient % 7)),
    )


def code_of(at):
    return next(block.value for block in at.code if "score_table" in block.value)


def test_the_question_about_units_has_a_button_and_a_report_does_not_go_without_it(
    offered, monkeypatch
):
    rng = np.random.default_rng(1)
    unit, level = np.repeat(np.arange(20), 8), 10.0 * rng.normal(size=20)
    mills = csv_of(
        mill=[f"M{k}" for k in unit],
        size=rng.normal(size=20)[unit],
        cycle=rng.normal(size=160),
        y=level[unit] + rng.normal(size=160),
    )
    with monkeypatch.context() as patched:  # it is asked after the rows are there
        patched.setattr(beside, "ask_beside", partial(beside.ask_beside, start=False))
        at = settle(open_page(mills, table="your file", **QUICK))
        assert not says(at, "Will new rows come from the same units")
        assert b"Will new rows come from the same units" in offered["your-data.html"]()
    settle(at.run())
    assert says(at, "Will new rows come from the same units (column")
    at.button(key="_Split by group").click().run()
    settle(at)
    assert at.selectbox(key="by_column").value == "mill"
    assert not says(at, "Will new rows come from the same units")


def test_a_table_split_by_group_then_by_time_then_on_a_log_scale():
    at = open_page(visits(), table="your file", **QUICK)
    assert not at.exception
    assert says(at, "On a log scale, errors count in proportion.")
    assert not any(button.key == "_Split by group" for button in at.button)  # rows independent
    at.selectbox(key="split").set_value("by group").run()
    settle(at)
    assert at.selectbox(key="by_column").value == "patient"
    assert any("by a model that did not learn from its group" in text for text in judged(at))
    assert "split='group', split_column='patient'" in code_of(at)
    assert "--split=group --split-column=patient" in code_of(at)
    at.selectbox(key="split").set_value("by time").run()
    settle(at)
    box = at.selectbox(key="by_column")  # a column of words gives no order
    assert (box.value, box.options) == ("day", ["day", "dose", "order of the rows"])
    assert any("judged by a model of earlier rows" in text for text in judged(at))
    preset = next(b for b in at.button if b.label == "Quick")  # it leaves the data alone
    preset.click().run()
    assert not at.exception
    assert [at.selectbox(key=key).value for key in ("split", "by_column")] == ["by time", "day"]
    at.button(key="_Use the log scale").click().run()
    settle(at)
    assert not at.exception
    assert "scale='log'" in code_of(at)
    assert not says(at, "On a log scale, errors count in proportion.")
    # A link holds all of it; another target that cannot be on this scale goes back to the plain.
    at.selectbox(key="target").set_value("patient").run()
    settle(at)
    assert not at.exception
    assert at.radio(key="scale").disabled
    assert "no log scale" in at.radio(key="scale").help


def test_leaks_and_times_that_may_be_cut_off_are_said_first():
    rng = np.random.default_rng(1)
    days, first = rng.exponential(30, 120).round(), rng.exponential(9, 120).round(1)
    columns = {"dose": rng.normal(size=120), "died": rng.integers(0, 2, 120), "first": first}
    columns |= {"second": days - first, "days": days}
    at = settle(open_page(csv_of(**columns), table="your file", target="days", **QUICK))
    assert not at.exception
    assert says(at, '"died" is 0 in ')
    assert says(at, 'The target is "first" + "second": leave these columns out unless')


def test_links_with_columns_that_are_not_there():
    at = open_page(table="your file", split="by group", by_column="nobody", scale="log scale")
    drop(at, visits())
    assert not at.exception
    assert at.selectbox(key="by_column").value == "patient"
    assert any("by_column must be one of" in text for text in texts(at))
    assert at.radio(key="scale").value == "log scale"
