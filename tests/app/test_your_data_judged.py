"""Your data: is it any good? Drawn when asked for, at its place in the address."""

import numpy as np
import pandas as pd

from tests.app.drawn import curve_specs
from tests.app.your_data_page import (
    csv_of,
    drop,
    numbers,
    open_page,
    open_section,
    says,
    settle,
    table_with,
)


def legend_of(at, name):
    """The words of a picture's legend."""
    spec = next(spec for spec in curve_specs(at) if spec["name"] == name)
    return [entry["name"] for entry in spec["legend"]]


def test_it_is_drawn_when_asked_for_and_moves_with_its_knobs():
    at = open_page()
    assert not any(slider.key == "caught" for slider in at.select_slider)
    open_section(at, "Is it any good?")
    assert not at.exception
    assert says(at, "No repeated identifiers")
    assert says(at, "No group differs") or says(at, "are inside their interval")
    settle(at)  # how unfamiliar the rows are
    by = table_with(at, "To find").set_index("By")
    kinds = [f"{kind} uncertainty" for kind in ("total", "data", "knowledge")]
    assert list(by.index) == [*kinds, "unfamiliarity"]
    assert all(float(share.removesuffix(" %")) >= 80 for share in by["Found"])
    at.select_slider(key="caught").set_value(95).run()
    more = table_with(at, "To find").set_index("By")
    assert float(more["From"].iloc[0]) < float(by["From"].iloc[0])
    at.select_slider(key="caught").set_value(98).run()
    assert says(at, "such rows held out, and there are 89.")  # a fifth of 442
    at.selectbox(key="group").set_value("sex").run()
    at.select_slider(key="within").set_value(50).run()
    assert not at.exception
    assert says(at, "No group differs") or says(at, "50 % should be")
    at.toggle(key="each").set_value(True).run()
    assert not at.exception
    captions = [caption.value for caption in at.caption if "intervals of" in caption.value]
    assert 'by groups of "sex"' in captions[0], captions
    assert not says(at, "repairs that")
    assert says(at, "and another part judges them")
    at.selectbox(key="also").set_value(at.selectbox(key="also").options[1]).run()
    assert not at.exception
    assert len([spec for spec in curve_specs(at) if spec["name"] == "groups"]) == 2
    at.toggle(key="each").set_value(False).run()
    at.toggle(key="conformal").set_value(True).run()
    assert not at.exception
    assert {"by the law", "conformal"} < {*legend_of(at, "coverage")}


def test_classes_have_a_table_and_thresholds_of_their_own():
    at = open_page(table="breast cancer", section="Is it any good?", trees="100", caught="95")
    assert not at.exception
    assert any("wrong rows are found with an AUROC" in element.value for element in at.caption)
    classes = table_with(at, "Class", "AUROC")
    assert len(classes) == 2
    assert not any(toggle.label == "Conformal intervals" for toggle in at.toggle)
    assert says(at, "Conformal intervals need a number as target.")
    assert says(at, "To be sure of wrong rows takes 59 such rows held out, and there are")
    assert table_with(at, "To find")["To find"].tolist() == ["benign", "malignant"]
    at.select_slider(key="caught").set_value(99).run()
    assert says(at, "To be sure of malignant takes 299 such rows held out, and there are 212.")
    assert table_with(at, "To find")["To find"].tolist() == ["benign"]


def test_rows_are_grouped_by_what_the_model_learns_from_alone():
    rng = np.random.default_rng(0)
    at = open_page(
        csv_of(
            patient=[f"p-{k:04d}" for k in rng.permutation(120)],  # identifies rows
            note=["the same"] * 120,
            day=pd.date_range("2024-03-01", periods=120).strftime("%Y-%m-%d"),
            x=np.arange(120.0),
            y=np.arange(120.0) + rng.normal(size=120),
        ),
        section="Is it any good?",
        group="day",
    )
    box = at.selectbox(key="group")
    assert box.options == ["day", "x"]
    names = next(spec for spec in curve_specs(at) if spec["name"] == "groups")["read"]["names"]
    assert names[1].startswith("2024-03-01 to 2024-03-2")  # after all rows together
    assert table_with(at, "Should be")["Group"].tolist() == names
    at.selectbox(key="target").set_value("x").run()
    settle(at)
    assert at.selectbox(key="group").options == ["day", "y"]
    assert at.selectbox(key="group").value == "day"
    assert not at.exception


def test_what_flatters_the_scores_is_said_as_plain_text():
    rng = np.random.default_rng(0)
    y = rng.normal(size=120)
    nasty = "<b>$x$</b> [a](http://evil.example)"
    at = open_page(
        csv_of(**{"x": rng.normal(size=120), nasty: 2 * y, "y": y}), section="Is it any good?"
    )
    assert not at.exception
    assert says(at, "orders the rows exactly as the target does")
    assert not any("evil" in element.value for element in (*at.markdown, *at.caption))


def test_beside_a_second_file_the_first_is_judged():
    at = open_page(numbers(200), section="Is it any good?")
    drop(at, numbers(20), "new.csv", key="upload_second")
    assert not at.exception
    assert says(at, "such rows held out")


def test_a_link_that_asks_for_what_is_not_there_is_told():
    at = open_page(good="maybe", section="all", group="height", caught="7")
    assert not at.exception
    for part in ("good", "all", "height", "Find at least"):
        assert says(at, part), part


def test_a_link_cannot_group_the_rows_by_the_target():
    at = open_page(section="Is it any good?", caught="90", group="disease progression", within="80")
    assert not at.exception
    assert says(at, "group must be one of")
    assert at.selectbox(key="group").value != "disease progression"
    assert not says(at, "does not know")
    assert at.select_slider(key="caught").value == 90
