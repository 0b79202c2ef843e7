"""Your data, section "More rows": a learning curve with a verdict, and the rows to label next."""

import numpy as np

from tests.app.your_data_page import csv_of, open_page, says, settle, table_with, texts
from tests.page_parts import curves_of

VERDICTS = {"Collect more rows", "Inherent noise", "Not decided"}


def make_file(n=160, n_unlabelled=20):
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, n))
    y = np.round(x * z + 0.1 * rng.normal(size=n), 4).astype(object)
    y[-n_unlabelled:] = ""
    return csv_of(x=x.round(4), z=z.round(4), shop=np.where(x > 0, "=north", "south"), y=y)


def settle_all(at):
    """Each job may start the next one: the model, how unfamiliar rows are, their ranking."""
    for _ in range(3):
        settle(at)
    return at


def test_the_section_trains_when_asked_and_ranks_the_rows_without_a_target(offered):
    at = open_page(make_file(), section="More rows", target="y", repeats="5")
    settle_all(at)
    assert not at.exception
    assert says(at, "Switch it on to train 20 models.")
    assert not says(at, "repeats.")  # nothing is trained before it is asked for
    assert says(at, "20 of 20 rows without a target.")
    assert table_with(at, "Still new")["Row"].between(141, 160).all()
    at.select_slider(key="label").set_value(10).run()
    assert says(at, "10 of 20 rows without a target.")

    at.toggle(key="curve").set_value(True).run()
    settle(at)
    assert not at.exception
    assert says(at, "From 56 to 112 rows, the RMSE")
    assert any(text.startswith(f"{word}. From 56") for word in VERDICTS for text in texts(at))
    at.radio(key="curveby").set_value("a column").run()
    at.selectbox(key="group").set_value("shop").run()
    assert not at.exception
    groups = table_with(at, "Verdict")
    assert groups["Group"].tolist() == ["all rows", "=north", "south"]
    assert groups["Rows"].tolist()[0] == 140
    assert set(groups["Verdict"]) <= VERDICTS
    at.number_input(key="curvegroup").set_value(2.0).run()
    openings = [f"{word} (south). From 56 to 112" for word in VERDICTS]
    assert any(text.startswith(words) for text in texts(at) for words in openings)
    report = offered["your-data.html"]().decode()  # takes the curve and the ranking over
    assert any(words in report for words in openings)
    assert "learning-curve" in [picture["name"] for picture in curves_of(report)]
    for cell in ("Last doubling", "all rows", "=north", "Still new"):
        assert f">{cell}</t" in report
    assert b"reason" in offered["rows-to-label.csv"]().splitlines()[0]


def test_without_a_row_to_label_it_says_what_to_do():
    at = open_page(section="More rows")
    assert says(at, "Every row has a target. Drop a second file")
    assert not at.exception
