"""`gbuq_core.load`: what saves itself comes back bit for bit, and bad files are refused."""

import copy
import io

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMRegressor
from saving_parts import fitted, mixed_frame, saved
from sklearn.ensemble import RandomForestRegressor

from gbuq_core import (
    MacauClassifier,
    MacauRegressor,
    VariationalSoftGBMRegressor,
    VariationalSoftTreeClassifier,
    VariationalSoftTreeRegressor,
    load,
    load_ensemble,
)
from gbuq_core.errors import InvalidParameter, ModelFileError
from gbuq_core.model_files import archive

SOFT = {"depth": 2, "rank": 2, "n_steps": 60, "n_draws": 10, "random_state": 0}


def make_soft_regressor(X, y):
    return VariationalSoftTreeRegressor(**SOFT).fit(X, y)


def make_soft_mean(X, y):
    return VariationalSoftTreeRegressor(**SOFT, output="mean", leaf="constant").fit(X, y)


def make_soft_classifier(X, y):
    return VariationalSoftTreeClassifier(**SOFT).fit(X, np.digitize(y, [0.0, 1.0]) * 2)


def make_soft_sum(X, y):
    return VariationalSoftGBMRegressor(**SOFT, n_trees=3).fit(X, y)


def numbers_of(X):
    """Columns of numbers, one of them with gaps, for models that take no categories."""
    return X[["length", "shop"]].astype(float)


def make_macau(X, y):
    return MacauRegressor(n_trees=8, max_leaves=6, random_state=0).fit(numbers_of(X), y)


def make_macau_path(X, y):
    model = MacauRegressor(n_trees=8, max_leaves=6, leaf_features="path", random_state=0)
    return model.fit(numbers_of(X), y)


def make_macau_mixed(X, y):
    """Leaves with rows for all features, and leaves without."""
    knobs = {"n_trees": 8, "max_leaves": 30, "min_child_samples": 2, "random_state": 0}
    model = MacauRegressor(**knobs).fit(numbers_of(X), y)
    assert 0 < model.sees_all_.sum() < model.n_leaves_
    return model


def make_macau_all(X, y):
    model = MacauRegressor(n_trees=8, max_leaves=6, leaf_features="all", random_state=0)
    return model.fit(numbers_of(X), y)


def make_macau_basic(X, y):
    """In the leaves of a forest of half of the rows, so that some leaves are empty."""
    rows = numbers_of(X)
    forest = LGBMRegressor(
        boosting_type="rf", n_estimators=8, bagging_freq=1, bagging_fraction=0.5, verbose=-1,
        min_child_samples=2, random_state=0,
    )  # fmt: skip
    forest.fit(rows, y)
    model = MacauRegressor(leaf_model="basic", base_model=forest, tail="clip")
    return model.fit(rows[:40], y[:40])


def make_macau_two(X, y):
    return MacauClassifier(n_trees=8, max_leaves=6, random_state=0).fit(numbers_of(X), y > 0.5)


def make_macau_three(X, y):
    model = MacauClassifier(n_trees=8, max_leaves=6, random_state=0)
    return model.fit(numbers_of(X), np.array(["a", "b", "c"])[np.digitize(y, [0.0, 1.0])])


SOFT_MAKERS = [make_soft_regressor, make_soft_mean, make_soft_classifier, make_soft_sum]
MACAU_MAKERS = [
    make_macau, make_macau_path, make_macau_mixed, make_macau_all, make_macau_basic,
    make_macau_two, make_macau_three,
]  # fmt: skip
MAKERS = [*SOFT_MAKERS, *MACAU_MAKERS]
EVERY = pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X, new = mixed_frame(rng, 120), mixed_frame(rng, 30)
    new.loc[3, "colour"] = "unseen"
    y = X["length"].fillna(0.0) + (X["colour"] == "red") + 0.1 * rng.normal(size=120)
    return X, y.to_numpy(), new


@pytest.fixture(scope="module")
def files(data):
    """What each maker's model writes, made once."""
    return {make: saved(make(*data[:2])) for make in MAKERS}


def answers(model, X):
    """Everything that a model says of rows, as arrays."""
    if hasattr(model, "score_novelty"):
        X = numbers_of(X).iloc[:, : model.n_features_in_]
    found = {"predict": model.predict(X), "members": model.predict_members(X)}
    found |= model.predict_uncertainty(X)._asdict()
    if hasattr(model, "classes_"):
        found |= {"proba": model.predict_proba(X), "classes": model.classes_}
    if hasattr(model, "sample_functions"):
        found["functions"] = model.sample_functions(X, 7, seed=3)
    if hasattr(model, "score_novelty"):
        found |= {f"z {k}": v for k, v in model.score_novelty(X)._asdict().items()}
        found["why"] = model.explain_novelty(X)
        found["importances"] = model.feature_importances_
    if hasattr(model, "draw_parameters"):
        found["picture"] = np.concatenate([p.ravel() for p in model.tree_picture(X, snapshot=1)])
        found["flags"] = model.inspect_rows(X).unseen_level
        y = found["predict"]
        found["log densities"] = model.log_densities(X, y)
    return found


@EVERY
def test_models_come_back_bit_for_bit(make, data, files):
    X, y, new = data
    model, again = make(X, y), load(files[make])
    assert type(again) is type(model)
    assert set(vars(again)) == set(vars(model))
    expected, found = model.get_params(deep=False), again.get_params(deep=False)
    assert (expected.pop("base_model", None) is None) == (found.pop("base_model", None) is None)
    assert found == expected
    for rows in (X, new):
        expected, found = answers(model, rows), answers(again, rows)
        assert found.keys() == expected.keys()
        for name, value in expected.items():
            np.testing.assert_array_equal(found[name], value, err_msg=name)
    assert saved(load(saved(again))) == saved(again)  # all but the seconds of another fit


@pytest.mark.parametrize("kind", ["regressor", "two", "three"])
def test_boosted_ensembles_come_back_too(rng, kind):
    model, new = fitted(kind, rng)
    again = load(io.BytesIO(saved(model)))
    np.testing.assert_array_equal(again.predict_members(new), model.predict_members(new))


def test_a_path(tmp_path, data, files):
    path = tmp_path / "model.npz"
    path.write_bytes(files[make_soft_mean])
    expected = load(files[make_soft_mean]).predict(data[0])
    np.testing.assert_array_equal(load(path).predict(data[0]), expected)
    with pytest.raises(ModelFileError, match=r"^There is no model file [^\n]*\.$"):
        load(tmp_path / "other.npz")


def refused(content):
    with pytest.raises(ModelFileError, match=r"^[^\n]*\.$"):
        load(content)


@EVERY
def test_every_array_is_checked(make, files):
    """Missing, of another type, longer or shorter on any axis, or with a number that is none."""
    header, arrays = archive.read_archive(files[make])
    for name, array in arrays.items():
        kind = np.float64 if array.dtype.kind in "iub" else np.int64
        with np.errstate(invalid="ignore"):
            odd = [array[:, None], array.astype(kind)]
        odd += [np.append(array, array[:1], axis=0)] * (len(array) > 0)
        odd += [array[..., :-1]] * (array.shape[-1] > 0 and not name.startswith("factor"))
        if array.dtype == np.float64 and array.size and not name.startswith("noise_targets"):
            odd.append(np.where(np.arange(array.size).reshape(array.shape) == 0, np.nan, array))
        if name == "forest":  # a text, which LightGBM's own reader judges
            odd = [array[:, None], array.astype(kind), array[: len(array) // 2]]
        for other in odd:
            refused(archive.write_archive(header, {**arrays, name: other}))
        refused(archive.write_archive(header, {k: v for k, v in arrays.items() if k != name}))


def places(value, path=()):
    """Every place in a header."""
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in inside:
        yield (*path, key)
        if isinstance(part, dict | list):
            yield from places(part, (*path, key))


@EVERY
def test_every_part_of_the_header_is_checked(make, files, data):
    """Whatever is put anywhere: one sentence, or a model that still predicts."""
    header, arrays = archive.read_archive(files[make])
    for path in places(header):
        if path[0] in ("format", "version", "arrays", "params", "fit_seconds"):
            continue
        for odd in (None, -1, 2**70, "odd", [], {}):
            changed = copy.deepcopy(header)
            part = changed
            for key in path[:-1]:
                part = part[key]
            part[path[-1]] = odd
            try:
                again = load(archive.write_archive(changed, arrays))
            except ModelFileError as error:
                said = str(error)
            else:
                names = getattr(again, "feature_names_in_", data[0].columns)
                if not hasattr(again, "score_novelty"):
                    answers(again, data[0].set_axis(names, axis=1))
                said = "."
            assert said[-1] == "."
            assert "\n" not in said


def test_unknown_kinds_and_the_wrong_door_are_told(files):
    header, arrays = archive.read_archive(files[make_soft_sum])
    content = archive.write_archive({**header, "kind": "Oracle"}, arrays)
    with pytest.raises(ModelFileError, match=r"^The model file holds a 'Oracle', [^\n]*\.$"):
        load(content)
    with pytest.raises(ModelFileError, match=r"read it by gbuq_core\.load\.$"):
        load_ensemble(files[make_soft_sum])
    refused(b"tree of life")


def test_classes_of_others_are_not_saved(data):
    class Mine(VariationalSoftTreeRegressor):
        pass

    model = Mine(**SOFT).fit(pd.DataFrame({"a": data[1]}), data[1])
    with pytest.raises(InvalidParameter, match=r"^A Mine is of another class [^\n]*\.$"):
        model.save(io.BytesIO())


def lie(name, index, value):
    def change(arrays):
        arrays[name][index] = value

    return change


LIES = {
    "a row": lie("rows", 0, 120),
    "no row": lie("rows", 5, -1),
    "a feature": lie("path", 0, 2),
    "no feature": lie("path", 0, -1),
    "a longer path": lie("path_lengths", 0, 3),
    "an empty path": lie("path_lengths", 0, 0),
    "a leaf of too many": lie("sizes", 0, 121),
    "a leaf of less than none": lie("sizes", 0, -1),
    "quantiles that fall": lie("distance_quantiles", 0, 1e9),
    "path quantiles that fall": lie("path_quantiles", 0, 1e9),
    "predictions that fall": lie("quantiles", 0, 1e9),
}


@pytest.mark.parametrize("name", LIES)
def test_indices_that_lead_outside_are_refused(files, name):
    header, arrays = archive.read_archive(files[make_macau])
    LIES[name](arrays)
    refused(archive.write_archive(header, arrays))


def test_leaves_that_see_other_features_than_they_were_fitted_on_are_refused(files):
    header, arrays = archive.read_archive(files[make_macau_mixed])
    for odd in (~arrays["sees_all"], np.ones_like(arrays["sees_all"])):
        refused(archive.write_archive(header, {**arrays, "sees_all": odd}))


def test_files_from_before_leaf_features_see_paths(files, data):
    header, arrays = archive.read_archive(files[make_macau_path])
    expected = load(files[make_macau_path])
    del header["params"]["leaf_features"]
    again = load(archive.write_archive(header, arrays))
    assert again.leaf_features == "path"
    for name, value in answers(expected, data[2]).items():
        np.testing.assert_array_equal(answers(again, data[2])[name], value, err_msg=name)


def test_forests_without_a_file_format_are_told(data):
    X, y = numbers_of(data[0]).fillna(0.0), data[1]
    model = MacauRegressor(base_model=RandomForestRegressor(5)).fit(X, y)
    with pytest.raises(InvalidParameter, match=r"^The forest is a RandomForestR[^\n]*\.$"):
        model.save(io.BytesIO())
