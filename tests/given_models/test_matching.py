"""A model is held against the table that it was trained on before anything is told of it."""

import numpy as np
import pandas as pd
import pytest
from model_file_parts import category_rows, xgboost_categories

from gbuq_core.errors import InvalidData
from gbuq_core.given_models import match_table, read_model

pytest.importorskip("xgboost")
FRAME, CODES, TARGET = category_rows()
Y = TARGET.to_numpy()


def words(frame=FRAME):
    """The table as a file gives it: levels are text."""
    as_text = {name: frame[name].astype(object).map(str, na_action="ignore") for name in "kn"}
    return frame.assign(**{name: pd.Categorical(cells) for name, cells in as_text.items()})


@pytest.fixture(scope="module")
def named():
    return read_model(xgboost_categories().content)


@pytest.fixture(scope="module")
def coded():
    return read_model(xgboost_categories(coded=True).content)


def test_words_are_looked_up_among_the_levels_of_the_file(named):
    matched = match_table(named, words(), Y)
    assert matched.columns == ("a", "k", "n")
    assert matched.levels["n"] == ("3", "5", "9")
    np.testing.assert_array_equal(matched.rows(words()), CODES)
    assert "XGBoost itself predicts the same for the first 120 rows." in matched.notices
    assert matched.warnings == ()


def test_a_level_that_the_model_has_not_is_missing_to_it(named):
    rows = words().iloc[:2].astype({"k": object})
    rows["k"] = ["blue", "never seen"]
    rows_read = match_table(named, words(), Y).rows(rows)
    assert np.isnan(rows_read[:, 1]).tolist() == [False, True]


def test_codes_go_as_they_are(coded):
    table = pd.DataFrame(CODES, columns=["a", "k", "n"])
    matched = match_table(coded, table, Y)
    assert matched.levels == {}
    np.testing.assert_array_equal(matched.rows(table), CODES)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda t: t.assign(n=1.0), 'reads the column "n" as categories, but in the table'),
        (lambda t: t.assign(a=words()["k"]), "has 2 category columns, but the table has 3"),
        (lambda t: t.drop(columns="k"), 'needs the column "k"'),
        (lambda t: t.assign(n=pd.Categorical(["x"] * len(t))), "has none of the model's"),
    ],
)
def test_another_table_is_refused(named, change, sentence):
    with pytest.raises(InvalidData, match=sentence):
        match_table(named, change(words()), Y)


def test_words_for_a_model_of_codes_are_refused(coded):
    with pytest.raises(InvalidData, match="does not name the categories of the column"):
        match_table(coded, words(), Y)
