"""A fitted score to a file and back, and files that no score has written."""

import contextlib
import copy
import io

import numpy as np
import pandas as pd
import pytest

from gbuq_core import UnfamiliarityScore, load
from gbuq_core.errors import GbuqError, ModelFileError
from gbuq_core.model_files.archive import read_archive, write_archive
from tests.saving_parts import bad_arrays, header_places


def rows(n=80, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "x": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "city": rng.choice(["Ulm", "Bonn", None], n),
            "open": rng.random(n) < 0.5,
            "z": rng.normal(size=n),
        }
    )


def saved(model):
    file = io.BytesIO()
    model.save(file)
    return file.getvalue()


@pytest.fixture(scope="module", params=["regression", "two classes", "three classes"])
def fitted(request):
    X = rows()
    y = X["z"].to_numpy() + 0.1
    if request.param != "regression":
        y = np.digitize(y, [0.0, 0.7] if request.param == "three classes" else [0.0]).astype(str)
    return UnfamiliarityScore(random_state=3).fit(X, y)


def test_a_score_comes_back_bit_for_bit(fitted):
    again = load(saved(fitted))
    new = rows(30, seed=1)
    new.loc[2, "city"] = "Rom"
    new.loc[3, "x"] = 99.0
    here, there = fitted.judge(new), again.judge(new)
    assert here.parts == there.parts
    for name in ("score", "times_beyond", "ranks", "values"):
        np.testing.assert_array_equal(getattr(here, name), getattr(there, name))
        held = (getattr(model.held_out_, name) for model in (fitted, again))
        np.testing.assert_array_equal(*held)
    assert fitted.explain(new) == again.explain(new)
    assert fitted.explain_held_out([0, 7]) == again.explain_held_out([0, 7])
    np.testing.assert_array_equal(fitted.held_out_outside_, again.held_out_outside_)
    assert again.get_params() == fitted.get_params()
    twice = load(saved(again))
    np.testing.assert_array_equal(twice.score(new), here.score)


@pytest.fixture(scope="module")
def small():
    X = rows(60)
    model = UnfamiliarityScore(parts=["range", "distance"], random_state=0)
    return saved(model.fit(X, X["z"] + 1.0))


def refused_or_fine(header, arrays):
    """A file is refused, or it is one that a score may have written; nothing else is raised."""
    with contextlib.suppress(GbuqError):  # columns of other names are told when rows are judged
        load(write_archive(header, arrays)).judge(rows(5))


def test_bad_arrays_are_refused(small):
    header, arrays = read_archive(small)
    for name, array in arrays.items():
        for bad in bad_arrays(array):
            refused_or_fine(header, {**arrays, name: bad})
        with pytest.raises(ModelFileError):
            load(write_archive(header, {k: v for k, v in arrays.items() if k != name}))


def test_odd_headers_are_refused(small):
    header, arrays = read_archive(small)
    for place in header_places(header):
        if place[0] == "arrays":  # `write_archive` describes the arrays itself
            continue
        for odd in (None, -1, "odd"):
            changed = copy.deepcopy(header)
            inside = changed
            for key in place[:-1]:
                inside = inside[key]
            inside[place[-1]] = odd
            refused_or_fine(changed, arrays)
