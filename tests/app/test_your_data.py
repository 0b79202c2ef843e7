"""Your data through AppTest: files of all sorts, settings, rows, exports."""

import io
import threading
import tomllib
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pytest
from tolerances import CANCELLED

from gbuq_core.jobs import RUNNER
from gbuq_core.tables import decoding, score_table
from pages._ui.site_map import PAGES
from pages._ui.your_data import training
from pages._ui.your_data.source import MAX_MEGABYTES, MAX_MODEL_MEGABYTES
from pages._ui.your_data.state import FIND, PAGE, TABLE, page_state
from tests.app.opening import APP
from tests.app.your_data_page import (
    FILE,
    NASTY,
    csv_of,
    drop,
    judged,
    numbers,
    open_page,
    open_section,
    rows_of,
    says,
    settle,
    texts,
)


@pytest.fixture(scope="module")
def diabetes():
    return open_page()


def test_it_is_in_the_navigation():
    assert FILE in [entry.path for entry in PAGES]


def pictures(at):
    """Keys of the curves that are drawn; a component without a picture keeps the tab's token."""
    keys = [component.key for component in at.get("bidi_component")]
    return [key for key in keys if not key.startswith("_")]


def trained():
    """What the server has trained; how unfamiliar rows are is measured beside it."""
    return {key for key in RUNNER._finished if key[0] == "your data" and key[1] != "unfamiliar"}


def test_the_first_screen_is_a_scored_table(diabetes):
    assert not diabetes.exception
    assert pictures(diabetes) == ["row-checks", "row-map"]
    frame = rows_of(diabetes)
    assert len(frame) == 442
    assert (np.diff(frame["total"]) <= 0).all()
    # stds: variances add up, to the accuracy of float64 sums
    np.testing.assert_allclose(
        frame["total"] ** 2, frame["data"] ** 2 + frame["knowledge"] ** 2, rtol=CANCELLED
    )
    assert any("by a model that did not learn from it" in text for text in judged(diabetes))


@pytest.mark.parametrize("table", ["diabetes", "wine"])
def test_the_trees_in_use_are_shown(table):
    at = open_page(table=table, section="Is it any good?")
    assert not at.exception
    starts = "The mean uses " if table == "diabetes" else "The models use "
    (caption,) = [c.value for c in at.caption if c.value.startswith(starts)]
    assert "held out chose the number" in caption
    others = "the rows of the other folds chose the factor and the tails."
    assert caption.endswith(others if table == "diabetes" else "other rows chose the temperature.")
    assert pictures(at)[:3] == ["rejection", "coverage", "trees-in-use"]
    at.toggle(key="clocks").set_value(False).run()
    settle(at)
    assert not at.exception
    assert not [c.value for c in at.caption if c.value.startswith(starts)]
    assert "Trees" not in [tab.label for tab in at.tabs]


def test_nothing_of_the_view_trains(diabetes):
    before = trained()
    at = open_page(table="diabetes", step="20", start="0.3", unit="variance", rank="knowledge")
    assert not at.exception
    assert trained() == before
    frame = rows_of(at)
    assert (np.diff(frame["knowledge"]) <= 0).all()
    np.testing.assert_allclose(frame["total"], frame["data"] + frame["knowledge"], rtol=CANCELLED)


def test_a_step_without_members_is_a_sentence_and_keeps_the_picture():
    at = open_page()
    at.select_slider(key="step").set_value(200).run()
    at.slider(key="start").set_value(0.9).run()
    at.select_slider(key="trees").set_value(100).run()
    settle(at)
    assert not at.exception
    assert says(at, "gives no member")
    assert len(rows_of(at)) == 442


# Of all that `gbuq_core.tables` refuses.
BAD = {
    "empty": (b"", "is empty"),
    "archive": (b"PK\x03\x04" + bytes(100), "ZIP archive"),
    "damaged parquet": (b"PAR1" + bytes(50), "Parquet file is damaged"),
    "large": (b"a,b\n" + b"1,2\n" * 2**19, "The file is 2 MB, more than the limit of 1 MB: keep"),
}


def test_a_file_that_is_no_table_is_one_sentence_and_nothing_is_lost(monkeypatch):
    # The same path as for 300 MB, with a limit that a test can go beyond.
    monkeypatch.setattr(decoding, "MAX_FILE_BYTES", 2**20)
    at = open_page()
    for case, (data, part) in BAD.items():  # one dropped after the other
        drop(at, data)
        assert not at.exception
        (error,) = [text for text in texts(at) if text and part in text][:1]
        assert error.endswith("."), case
        assert says(at, 'You still see the table "diabetes".'), case
        assert len(rows_of(at)) == 442


def test_the_page_the_server_and_the_reader_have_one_limit(diabetes):
    # The browser refuses a larger file before it is sent, by the limit that the box tells it.
    boxes = diabetes.get("file_uploader")
    limits = {box.proto.label.startswith("A model"): set() for box in boxes}
    for box in boxes:
        limits[box.proto.label.startswith("A model")].add(box.proto.max_upload_size_mb)
    assert limits == {False: {MAX_MEGABYTES}, True: {MAX_MODEL_MEGABYTES}}
    assert MAX_MEGABYTES * 2**20 == decoding.MAX_FILE_BYTES
    config = tomllib.loads((Path(APP).parent / ".streamlit/config.toml").read_text())
    assert config["server"]["maxUploadSize"] == MAX_MEGABYTES


IMPOSSIBLE = {
    "constant": (csv_of(x=range(40), y=[1.5] * 40), "so there is nothing to learn"),
    "few": (csv_of(x=range(5), y=[1.5, 2.5, 1.0, 0.2, 7.7]), "at least 10 are needed"),
    "no column": (csv_of(w=[3] * 40, y=np.arange(40) ** 1.5), "No column is left"),
}


def test_a_target_that_cannot_be_learnt_is_one_sentence():
    at = open_page()
    for case, (data, part) in IMPOSSIBLE.items():
        drop(at, data)
        if case == "constant":  # never suggested
            at.selectbox(key="target").set_value("y").run()
            settle(at)
        assert not at.exception
        assert says(at, part), case
        assert says(at, "You still see the previous result."), case
        assert len(rows_of(at)) == 442


def test_earlier_results_are_named_until_the_new_ones_are_there(monkeypatch):
    """Three uploads in a row, then another setting: what is shown says whose it is."""
    at = open_page()
    free = threading.Event()
    monkeypatch.setattr(
        training,
        "score_table",
        lambda *given, **more: free.wait(60) and score_table(*given, **more),
    )
    for number in range(3):
        data = numbers(60 + number)
        at.file_uploader(key="upload").set_value((f"{number}.csv", data, "text/csv")).run()
        assert says(at, 'These results belong to the table before, "diabetes". New ones are on')
        assert len(rows_of(at)) == 442
    free.set()
    settle(at)
    assert not says(at, "These results belong")
    assert len(rows_of(at)) == 62
    free.clear()
    at.select_slider(key="trees").set_value(100).run()
    assert says(at, 'These results belong to "2.csv" with the settings before your change. New')
    free.set()
    settle(at)
    assert not says(at, "These results belong")


def as_parquet(data):
    sink = io.BytesIO()
    pd.read_csv(io.BytesIO(data)).to_parquet(sink)
    return sink.getvalue()


def strange_file():
    """Gaps, dates, words among numbers, two columns of one name, one of none, and semicolons."""
    head = "x;x;;empty;infinite;day;mixed;y"
    rows = [
        f"{i};{i % 7},5;{i % 5};;{'inf' if i % 3 else '1,5'};2021-01-{i % 28 + 1:02d};"
        f"{'two' if i % 3 else i};{i * i if i % 4 else ''}"
        for i in range(60)
    ]
    return "\n".join([head, *rows]).encode()


def test_strange_but_usable_files_are_scored():
    at = open_page()
    for data in (strange_file(), as_parquet(numbers())):
        drop(at, data)
        assert not at.exception
        assert len(rows_of(at)) == 60
        assert at.radio(key="table").value == "your file"


def test_hundreds_of_columns_send_few_cells():
    rng = np.random.default_rng(1)
    # Of four values each: the quicker to fit, and it is the number of columns that is sent.
    frame = pd.DataFrame(rng.choice([0.1, 0.2, 0.3, 0.4], size=(40, 300))).add_prefix("v")
    frame["y"] = rng.normal(size=40)
    at = open_page(frame.to_csv(index=False).encode())
    assert not at.exception
    assert rows_of(at).shape[1] <= 50
    assert any("40 of 301 columns shown" in c.value for c in at.caption)


def test_thousands_of_categories_and_rows():
    n = 4100
    rng = np.random.default_rng(2)
    names = [f"n{i % 3000}" for i in range(n)]
    data = csv_of(name=names, x=rng.normal(size=n), y=rng.normal(size=n))
    at = open_page(data)
    assert not at.exception
    assert len(rows_of(at)) == 2000  # the most that is sent
    assert any("the first 2,000 listed" in c.value for c in at.caption)
    first, ranks = set(rows_of(at)["row"]), rows_of(at)["total"].min()
    (page,) = [box for box in at.number_input if box.label == "Page of the list (1 to 3)"]
    page.set_value(3).run()
    assert not at.exception
    assert len(rows_of(at)) == 100
    assert not first & set(rows_of(at)["row"])
    assert rows_of(at)["total"].max() <= ranks
    assert any("numbers 4,001 to 4,100 listed" in c.value for c in at.caption)


def test_the_users_words_are_never_markdown():
    rng = np.random.default_rng(3)
    columns = {name: [f"{NASTY[i % 5]} {i % 4}" for i in range(80)] for name in NASTY[1:]}
    frame = pd.DataFrame({NASTY[0]: rng.normal(size=80), **columns})
    at = open_page(frame.to_csv(index=False).encode(), target=NASTY[0])
    assert not at.exception
    parsed = [*at.markdown, *at.caption, *at.subheader, *at.title, *at.header]
    labels = [w.label for kind in ("radio", "selectbox", "text_input") for w in at.get(kind)]
    for text in [*(element.value for element in parsed), *labels]:
        assert not any(name in text for name in NASTY), text
    # neutral names for the grid; the reader's words are labels, drawn as they are
    assert not any(name in rows_of(at).columns for name in NASTY)


def test_a_target_can_be_chosen_by_link_and_a_wrong_one_is_told():
    at = open_page(target="age (years)")
    assert at.selectbox(key="target").value == "age (years)"
    at = open_page(target="<b>age</b>")
    assert says(at, 'but the link says "<b>age</b>"')
    assert at.selectbox(key="target").value == "disease progression"


def test_bad_links_are_told():
    bad = {"trees": "1e999", "depth": "-3", "rate": "x", "row": "99999", "nonsense": "1"}
    at = open_page(**bad)
    assert not at.exception
    for name in bad:
        assert says(at, name)
    assert len(rows_of(at)) == 442


def test_rows_are_found_by_value_and_a_bad_condition_is_told():
    at = open_page(find='"age (years)" >= 70, knowledge > 0')
    frame = rows_of(at)
    assert 0 < len(frame) < 442
    at.text_input(key="find").set_value("no such column > 3").run()
    assert says(at, "There is no column")
    assert len(rows_of(at)) == len(frame)
    at.text_input(key="find").set_value("age > 1000").run()
    assert not at.exception


def test_the_numbers_of_rows_are_those_of_the_file():
    lines = ["x,y", *(f"{k % 9},{k % 9 + 0.1 * (k % 4):g}" for k in range(1, 61))]
    lines[3], lines[5] = "", "broken"
    at = open_page("\n".join(lines).encode(), row="57")
    assert any(element.value == "Row 57" for element in at.subheader)
    assert says(at, f"true value {lines[57].split(',')[1]}.")
    assert sorted(rows_of(at)["row"]) == [k for k in range(1, 61) if k not in (3, 5)]
    assert any("is skipped: line 6 has 1 cell" in text for text in texts(at))


def test_a_row_is_opened_by_its_number():
    at = settle(open_page(row="7"))  # also how unfamiliar the rows are
    assert any(element.value == "Row 7" for element in at.subheader)
    assert len(at.get("vega_lite_chart") or at.get("arrow_vega_lite_chart")) == 5


def test_an_independent_ensemble_of_sgb():
    at = open_page(
        table="wine", method="SGB", ensemble="independent", models="3", members="2", trees="50"
    )
    assert not at.exception
    assert "**2**  \nMembers" in judged(at)
    assert rows_of(at)["prediction"].str.startswith("cultivar").all()


def test_a_second_file_is_judged_and_its_columns_may_be_in_another_order():
    at = open_page(numbers())
    second = pd.read_csv(io.BytesIO(numbers(n=30)))[["z", "x"]].assign(extra=1)
    drop(at, second.to_csv(index=False).encode(), "new.csv", key="upload_second")
    assert not at.exception
    assert len(rows_of(at)) == 30
    assert "error" not in rows_of(at).columns
    assert any("30 rows of the second file" in text for text in judged(at))


@pytest.mark.parametrize(
    ("second", "why", "button"),
    [
        (csv_of(z=[0.5, 0.25]), "missing in the second", "remove-second"),
        (csv_of(x=["a", "b"], z=[0.5, 0.25]), "but something else", "remove-refused-second"),
    ],
    ids=["a column short", "words for numbers"],
)
def test_a_second_file_unlike_the_first_is_refused_alone_and_can_be_removed(second, why, button):
    at = open_page(numbers())
    before = rows_of(at)
    drop(at, second, "bad.csv", key="upload_second")
    assert says(at, why)
    # Nothing of the first file is greyed, and it answers: a note "stale" dims the results.
    assert not says(at, "These results belong to")
    pd.testing.assert_frame_equal(rows_of(at)[before.columns], before)
    open_section(at, "Second file")
    assert says(at, "No second file is scored")
    at.button(key=button).click().run()
    assert not at.exception
    assert not says(at, why)
    assert not [each for each in at.button if each.label == "Remove the second file"]
    # The uploader is empty and takes another one.
    drop(at, numbers(n=30), "new.csv", key="upload_second-1")
    assert not says(at, "No second file is scored")
    at.button(key="remove-second").click().run()
    settle(at)
    assert says(at, "No second file is scored")


def test_a_second_file_needs_only_what_the_model_of_the_target_uses():
    at = open_page(numbers())
    at.selectbox(key="target").set_value("x").run()
    settle(at)
    drop(at, csv_of(y=[0.5, 0.25], z=[0.5, 0.25]), "new.csv", key="upload_second")
    assert len(rows_of(at)) == 2
    at.selectbox(key="target").set_value("y").run()
    settle(at)
    assert says(at, "missing in the second")
    assert len(rows_of(at)) == 60


def test_presets_leave_the_table_alone():
    page = page_state(["a", "b"], "a", 10)
    assert all(preset.values[TABLE.key] == TABLE.default for preset in page.presets)
    assert page.key == PAGE
    assert FIND in page.knobs


def test_cyclical_boosting_has_a_burn_in_that_trains_nothing():
    at = open_page(table="wine", method="cSGLB")
    assert "**10**  \nMembers" in judged(at)
    before, n_fits = rows_of(at).sort_values("row")["total"].to_numpy(), len(RUNNER._finished)
    at.slider(key="burn_in").set_value(9).run()
    assert not at.exception
    assert len(RUNNER._finished) == n_fits
    assert "**1**  \nMember" in judged(at)
    assert (rows_of(at).sort_values("row")["total"].to_numpy() != before).any()
    assert rows_of(at)["knowledge"].isna().all()  # one member has nobody to disagree with
    code = next(c.value for c in at.code if "score_table" in c.value)
    assert "burn_in=9" in code


def test_a_sheet_of_an_excel_file_can_be_chosen():
    book = openpyxl.Workbook()
    book.active.append(["only a cover"])
    for name, n_rows in (("small", 30), ("large", 40)):
        sheet = book.create_sheet(name)
        for row in [["x", "y"], *[[k % 9, 2.5 * (k % 9)] for k in range(n_rows)]]:
            sheet.append(row)
    sink = io.BytesIO()
    book.save(sink)
    at = open_page(sink.getvalue())
    assert any("single column" in text or "no rows" in text for text in texts(at))
    (choice,) = [box for box in at.selectbox if box.label == "Sheet"]
    assert choice.options == ["Sheet", "small", "large"]
    choice.set_value("large")
    settle(at.run())
    assert says(at, 'Excel sheet "large", one of 3')
    assert not at.exception
