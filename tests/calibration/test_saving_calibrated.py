"""CalibratedRegressor.save: what comes back is the same bit for bit; bad files are refused."""

import copy
import io
import warnings

import numpy as np
import pandas as pd
import pytest
from catboost import CatBoostRegressor
from saving_parts import saved
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import BayesianRidge
from sklearn.model_selection import KFold

from gbuq_core import (
    BoostedEnsembleRegressor,
    CalibratedRegressor,
    MacauRegressor,
    VariationalSoftTreeRegressor,
    load,
    load_ensemble,
)
from gbuq_core.distribution import NormalDistribution
from gbuq_core.errors import InvalidParameter, ModelFileError
from gbuq_core.model_files import archive
from gbuq_core.model_files.contents import pack

BOOSTED = {"n_members": 2, "n_trees": 15, "depth": 2, "random_state": 0, "stopping": None}
CAT = {
    "loss_function": "RMSEWithUncertainty", "iterations": 15, "depth": 2, "verbose": 0,
    "allow_writing_files": False, "random_seed": 0, "thread_count": 1, "cat_features": ["colour"],
}  # fmt: skip


def table(n, seed):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"length": rng.uniform(0, 3, n), "colour": rng.choice(["red", "blue"], n)})
    y = np.sin(X["length"]) + (X["colour"] == "red") + 0.2 * X["length"] * rng.normal(size=n)
    return X, y.to_numpy()


def boosted(**options):
    return BoostedEnsembleRegressor(**BOOSTED, **options)


def wrapped(estimator, method, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a clock that stops at the last tree
        model = CalibratedRegressor(estimator, method=method, random_state=0, **options)
        return model.fit(*table(120, 0))


def make_macau():
    X, y = table(120, 0)
    model = CalibratedRegressor(MacauRegressor(n_trees=5, random_state=0), random_state=0)
    return model.fit(X[["length"]], y)


MAKERS = {
    "boosted scale": lambda: wrapped(boosted(), "scale"),
    "boosted clocks": lambda: wrapped(boosted(), "two_clocks"),
    "boosted conformal": lambda: wrapped(boosted(), "conformal"),
    "boosted isotonic": lambda: wrapped(boosted(), "isotonic", tails="normal"),
    "log isotonic": lambda: CalibratedRegressor(
        boosted(target="log"), "isotonic", random_state=np.random.default_rng(3)
    ).fit(table(120, 0)[0], np.exp(table(120, 0)[1])),
    "fitted clocks": lambda: wrapped(boosted().fit(*table(90, 1)), "two_clocks"),
    "frozen scale": lambda: wrapped(FrozenEstimator(boosted().fit(*table(90, 1))), "scale"),
    "catboost scale": lambda: wrapped(CatBoostRegressor(**CAT), "scale"),
    "catboost clocks": lambda: wrapped(CatBoostRegressor(**CAT), "two_clocks"),
    "fitted catboost": lambda: wrapped(CatBoostRegressor(**CAT).fit(*table(90, 1)), "conformal"),
    "soft tree": lambda: wrapped(
        VariationalSoftTreeRegressor(depth=1, n_steps=30, random_state=0), "scale"
    ),
    "macau": make_macau,
    "own shape": lambda: wrapped(
        VariationalSoftTreeRegressor(depth=1, n_steps=30, random_state=0), "scale", shape="own"
    ),
    "one factor": lambda: wrapped(boosted(), "scale", shape="moments", floor=False),
}
EVERY = pytest.mark.parametrize("name", MAKERS)


@pytest.fixture(scope="module")
def models():
    return {name: make() for name, make in MAKERS.items()}


@pytest.fixture(scope="module")
def files(models):
    return {name: saved(model) for name, model in models.items()}


def answers(model):
    X = table(30, 2)[0]
    X = X[list(model.feature_names_in_)]
    law = model.predict_distribution(X)
    found = {"predict": model.predict(X), "loc": law.loc, "scale": law.scale}
    found |= {"quantiles": law.quantile([0.1, 0.5, 0.8]), "draws": law.sample(3, 0)}
    found |= model.predict_uncertainty(X)._asdict()
    return found | model.predict_interval(X, 0.8)._asdict()


@EVERY
def test_models_come_back_bit_for_bit(name, models, files):
    model, again = models[name], load(files[name])
    assert set(vars(again)) == set(vars(model))
    expected, found = answers(model), answers(again)
    for part, value in expected.items():
        np.testing.assert_array_equal(found[part], value, err_msg=part)
    fitted = ("prefit_", "factor_", "floor_", "shape_", "df_", "n_calibration_", "seed_")
    for known in (*fitted, "method", "tails", "shape", "floor"):
        assert getattr(again, known) == getattr(model, known), known
    assert type(again.estimator) is type(model.estimator)
    assert (again.estimator is again.estimator_) == (model.estimator is model.estimator_)
    if model.clocks_ is not None:
        for part, value in vars(model.clocks_).items():
            np.testing.assert_array_equal(getattr(again.clocks_, part), value, err_msg=part)
    if "catboost" not in name:  # which writes the same parts in another order
        assert saved(load(saved(again))) == saved(again)


@pytest.mark.parametrize("name", ["boosted clocks", "catboost clocks", "fitted clocks"])
def test_a_model_that_was_loaded_is_fitted_again_as_before(name, models, files):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = load(files[name]).fit(*table(120, 0))
    np.testing.assert_array_equal(answers(again)["scale"], answers(models[name])["scale"])


def refused(content):
    with pytest.raises(ModelFileError, match=r"^[^\n]*\.$"):
        load(content)


@EVERY
def test_every_array_is_checked(name, files):
    header, arrays = archive.read_archive(files[name])
    for part, array in arrays.items():
        odd = [array[..., None], array.astype(np.int16)]
        if array.ndim:
            odd += [array[:-1], np.append(array, array[:1]), array[:0]]
        if array.dtype == np.float64 and part not in ("clocks_rmse",):
            odd.append(np.full_like(array, np.nan))
        if part in ("sizes", "nominal", "coverage", "clocks_n_trees"):
            odd.append(array[::-1])
        if part in ("clocks_mean_trees", "clocks_scale_trees", "clocks_df"):
            odd += [array + 1000, 0 * array]
        for other in odd:
            refused(archive.write_archive(header, {**arrays, part: other}))
        refused(archive.write_archive(header, {k: v for k, v in arrays.items() if k != part}))


@EVERY
def test_every_part_of_the_header_is_checked(name, files):
    """Whatever is put anywhere: one sentence, or a model that still predicts."""
    header, arrays = archive.read_archive(files[name])
    for key in header.keys() - {"format", "version", "arrays"}:
        without = {k: v for k, v in header.items() if k != key}
        refused(archive.write_archive(without, arrays))
        for odd in (None, -1, float("nan"), "odd", [], {}, True):
            changed = copy.deepcopy(header)
            changed[key] = odd
            try:
                again = load(archive.write_archive(changed, arrays))
            except ModelFileError as error:
                said = str(error)
            else:
                said = "."
                assert key in ("seed", "prefit", "frozen", "feature_names", "smallest", "params",
                               "model_params", "df", "shape")  # fmt: skip
                if key != "feature_names":
                    answers(again)
            assert said[-1] == "."
            assert "\n" not in said
    for params in (
        {"method": "odd"}, {"tails": "odd"}, {"shape": "odd"}, {"shape": []}, {"floor": "no"},
        {"floor": None}, {"estimator": 1}, {"other": 1},
    ):  # fmt: skip
        changed = {**header, "params": {**header["params"], **params}}
        refused(archive.write_archive(changed, arrays))


@EVERY
def test_files_that_are_older_than_the_floor_are_read(name, models, files):
    header, arrays = archive.read_archive(files[name])
    older = {key: value for key, value in header.items() if key not in ("floor", "shape")}
    options = {k: v for k, v in header["params"].items() if k not in ("floor", "shape")}
    content = archive.write_archive({**older, "params": options}, arrays)
    if name == "own shape":  # which they cannot hold
        refused(content)
        return
    again = load(content)
    assert (again.floor_, again.shape, again.floor) == (0.0, "moments", False)
    assert again.shape_ == models[name].shape_
    if models[name].floor_ == 0.0:
        for part, value in answers(models[name]).items():
            np.testing.assert_array_equal(answers(again)[part], value, err_msg=part)


@pytest.mark.parametrize(
    ("name", "odd"),
    [
        ("boosted scale", {"floor": -0.1}),
        ("boosted scale", {"floor": float("inf")}),
        ("boosted scale", {"shape": "own"}),  # it has the tails of a Student t
        ("boosted scale", {"shape": None, "df": None}),
        ("one factor", {"floor": 0.1}),
        ("one factor", {"shape": "own", "df": None}),
        ("boosted conformal", {"floor": 0.1}),
        ("boosted conformal", {"shape": "moments", "df": 3.0}),
        ("boosted clocks", {"floor": 0.1}),
        ("boosted isotonic", {"shape": "own", "df": None}),
        ("own shape", {"df": 3.0}),
        ("own shape", {"shape": "moments"}),
    ],
)
def test_floors_and_shapes_that_no_fit_makes_are_refused(name, odd, files):
    header, arrays = archive.read_archive(files[name])
    refused(archive.write_archive({**header, **odd}, arrays))


def test_clocks_beyond_the_trees_are_refused(files):
    header, arrays = archive.read_archive(files["fitted clocks"])
    arrays["clocks_n_trees"][-1] = 1000
    arrays["clocks_scale_trees"] = np.array(1000)
    refused(archive.write_archive(header, arrays))


def test_files_do_not_nest(files):
    header, _ = archive.read_archive(files["boosted scale"])
    refused(archive.write_archive(header, pack("model", files["boosted scale"])))
    refused(archive.write_archive(header, pack("model", b"tree of life")))
    with pytest.raises(ModelFileError, match=r"read it by gbuq_core\.load\.$"):
        load_ensemble(files["boosted scale"])


def test_bytes_that_catboost_cannot_read_are_told(files):
    header, _ = archive.read_archive(files["catboost scale"])
    refused(archive.write_archive(header, pack("model", b"tree of life")))


class Ridge(BayesianRidge):
    def predict_distribution(self, X):
        return NormalDistribution(*self.predict(X, return_std=True))


def make_ngboost():
    from ngboost import NGBRegressor  # takes seconds, not to be spent by every worker at its start

    return NGBRegressor(n_estimators=5, verbose=False)


@pytest.mark.parametrize("make", [make_ngboost, Ridge])
def test_what_has_no_file_format_is_told(make):
    X, y = table(60, 0)
    model = CalibratedRegressor(make(), random_state=0).fit(X[["length"]].to_numpy(), y)
    with pytest.raises(InvalidParameter, match=r"^A \w+ has no file format [^\n]*\.$"):
        model.save(io.BytesIO())


def test_splitters_and_classes_of_others_are_told():
    with pytest.raises(InvalidParameter, match=r"^cv holds KFold[^\n]*\.$"):
        wrapped(boosted(), "scale", cv=KFold(3)).save(io.BytesIO())

    class Mine(CalibratedRegressor):
        pass

    model = Mine(boosted(), random_state=0).fit(*table(60, 0))
    with pytest.raises(InvalidParameter, match=r"^A Mine is of another class [^\n]*\.$"):
        model.save(io.BytesIO())
