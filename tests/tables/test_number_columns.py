"""Columns as numbers: just as scikit-learn's encoder makes them, from plain data."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder

from gbuq_core.tables.number_columns import MOST_LEVELS, learn_columns


def frame(rng, n_rows, n_levels, gaps):
    levels = [f"level {k}" for k in range(n_levels)]
    kind = rng.choice(levels, n_rows, p=np.arange(1, n_levels + 1) / sum(range(n_levels + 1)))
    kind = np.where(gaps & (rng.random(n_rows) < 0.1), None, kind)
    return pd.DataFrame(
        {
            "x": rng.normal(size=n_rows),
            "kind": pd.Categorical(kind),
            "z": np.where(rng.random(n_rows) < 0.1, np.nan, 1.0),
            "open": pd.Categorical(rng.choice(["yes", "no"], n_rows)),
        }
    )


def encoded(training, rows):
    one_hot = OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=MOST_LEVELS, sparse_output=False
    )
    change = ColumnTransformer([("levels", one_hot, ["kind", "open"])], remainder="passthrough")
    as_objects = [
        {"kind": part["kind"].astype(object), "open": part["open"].astype(object)}
        for part in (training, rows)
    ]
    change.fit(training.assign(**as_objects[0]))
    return np.asarray(change.transform(rows.assign(**as_objects[1])), np.float64)


@pytest.mark.parametrize("n_levels", [2, 31, 32, 33, 60])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("later_gaps", [False, True])
def test_the_numbers_are_those_of_scikit_learn(n_levels, gaps, later_gaps):
    rng = np.random.default_rng((n_levels, gaps, later_gaps))
    training = frame(rng, 600, n_levels, gaps)
    rows = frame(rng, 200, n_levels + 3, later_gaps)
    columns = learn_columns(training)
    np.testing.assert_array_equal(columns.numbers(training), encoded(training, training))
    np.testing.assert_array_equal(columns.numbers(rows), encoded(training, rows))
    assert columns.numbers(rows).shape == (200, columns.width)


def test_what_training_had_not_is_told():
    training = pd.DataFrame({"x": [1.0, 2.0], "kind": pd.Categorical(["a", "b"])})
    rows = pd.DataFrame({"x": [1.0, np.nan, 1.0], "kind": pd.Categorical(["a", "c", None])})
    unseen, missing, names = learn_columns(training).inspect_rows(rows)
    assert unseen.tolist() == [False, True, False]
    assert missing.tolist() == [False, True, True]
    assert names == ("x", "kind")
    assert learn_columns(rows).inspect_rows(rows)[2] == ()
