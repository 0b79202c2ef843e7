"""`save` of the baselines: what comes back is the same bit for bit; bad files are refused."""

import copy
import io

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMRegressor
from saving_parts import bad_arrays, header_places, saved
from sklearn.ensemble import RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeRegressor
from xgboost import XGBRegressor

from gbuq_core import BoostedEnsembleRegressor, CalibratedRegressor, IBUGRegressor, baselines, load
from gbuq_core.baselines import (
    AveragingRegressor,
    CatBoostUncertaintyRegressor,
    ConformalizedQuantileRegressor,
    ConformalRegressor,
    DistanceScore,
    EuclideanNeighborsRegressor,
    ForestEnsembleClassifier,
    ForestEnsembleRegressor,
    ForestVarianceRegressor,
    GaussianNLLRegressor,
    GaussianProcessBaseline,
    IsolationForestScore,
    NGBoostRegressor,
    QuantileForestRegressor,
    XBARTRegressor,
)
from gbuq_core.errors import InvalidParameter, ModelFileError
from gbuq_core.model_files import archive
from gbuq_core.model_files.contents import pack


def table(n, seed):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b c", "d"])
    y = 5.0 + X["a"] + 0.3 * (1.0 + (X["b c"] > 0.0)) * rng.normal(size=n)
    return X, y.to_numpy()


X, Y = table(150, 0)
HELD = table(60, 1)
NEW = table(20, 2)[0]
THREE = np.array(["low", "middle", "high"])[np.digitize(Y, [4.5, 5.5])]
SMALL = {"n_trees": 6, "random_state": 0}
LGB = {"n_estimators": 6, "num_leaves": 7, "n_jobs": 1, "verbose": -1}
LEVELS = {"levels": (0.5, 0.8)}
BOOSTED = {"n_members": 2, "n_trees": 10, "depth": 2, "stopping": None}


def with_text():
    rows = X.assign(e=np.where(X["d"] > 0.0, "up", "down"))
    model = ForestEnsembleRegressor(3, 2, independent=True, random_state=0)
    return model.fit(rows, Y)


def average():
    members = [
        ("ibug", IBUGRegressor(LGBMRegressor(**LGB), random_state=0)),
        ("boosted", BoostedEnsembleRegressor(**BOOSTED)),
        ("near", EuclideanNeighborsRegressor()),
    ]
    return AveragingRegressor(members, random_state=0).fit(X, Y)


def near(base, fit=True, **options):
    model = EuclideanNeighborsRegressor(base, random_state=0, **options)
    return model.fit(X, Y, *HELD) if fit else model.fit(X, Y)


MAKERS = {
    "forest variance": lambda: ForestVarianceRegressor(**SMALL).fit(X, Y),
    "a tree without a split": lambda: ForestVarianceRegressor(
        **SMALL, min_child_samples=149
    ).fit(X, Y),
    "gaussian nll": lambda: GaussianNLLRegressor(**SMALL).fit(X, Y),
    "quantiles": lambda: QuantileForestRegressor(**SMALL).fit(X, Y),
    "few quantiles": lambda: QuantileForestRegressor(**SMALL, quantiles=(0.1, 0.6)).fit(X, Y),
    "conformal": lambda: ConformalRegressor(**SMALL, **LEVELS).fit(X, Y),
    "linear conformal": lambda: ConformalRegressor("linear", **SMALL, **LEVELS).fit(X, Y),
    "moved quantiles": lambda: ConformalizedQuantileRegressor(**SMALL, **LEVELS).fit(X, Y),
    "catboost": lambda: CatBoostUncertaintyRegressor(20, random_state=0, n_jobs=1).fit(X, Y),
    "plain catboost": lambda: CatBoostUncertaintyRegressor(
        20, standardize_target=False, n_members=4, random_state=np.random.default_rng(0)
    ).fit(X, Y),
    "ngboost": lambda: NGBoostRegressor(**SMALL).fit(X, Y),
    "ngboost of some rows": lambda: NGBoostRegressor(**SMALL, subsample=0.5).fit(X, Y),
    "forests": lambda: ForestEnsembleRegressor(3, 4, random_state=0).fit(X, Y),
    "forests with text": with_text,
    "classes": lambda: ForestEnsembleClassifier(3, 4, random_state=0).fit(X, THREE),
    "isolation": lambda: IsolationForestScore(8, 50, random_state=0).fit(X),
    "distance": lambda: DistanceScore(4).fit(X),
    "neighbours": lambda: near(None, fit=False),
    "neighbours of lightgbm": lambda: near(LGBMRegressor(**LGB), n_important=2),
    "neighbours of xgboost": lambda: near(XGBRegressor(n_estimators=6, n_jobs=1), fit=False),
    "neighbours of a forest": lambda: near(RandomForestRegressor(5, random_state=0).fit(X, Y)),
    "neighbours of a frozen one": lambda: near(
        FrozenEstimator(RandomForestRegressor(5, random_state=0).fit(X.to_numpy(), Y))
    ),
    "neighbours of ours": lambda: near(
        BoostedEnsembleRegressor(**BOOSTED, random_state=0), fit=False, scoring="crps"
    ),
    "process": lambda: GaussianProcessBaseline(5, random_state=0).fit(X, Y),
    "xbart": lambda: XBARTRegressor(3, 4, random_state=0).fit(X, Y),
    "xbart deep": lambda: XBARTRegressor(8, 6, alpha=0.99, beta=0.5, random_state=1).fit(X, Y),
    "average": average,
}  # fmt: skip
EVERY = pytest.mark.parametrize("name", MAKERS)


@pytest.fixture(scope="module")
def models():
    return {name: make() for name, make in MAKERS.items()}


@pytest.fixture(scope="module")
def files(models):
    return {name: saved(model) for name, model in models.items()}


def rows_of(model):
    rows = NEW.assign(e="up")
    rows.loc[3, "e"] = "new"
    return rows[list(model.feature_names_in_)]


def answers(model):
    """Everything that a model says of rows, as arrays."""
    rows, found = rows_of(model), {}
    for name in ("predict", "predict_members", "predict_knowledge", "score_novelty",
                 "predict_proba", "predict_quantiles"):  # fmt: skip
        if hasattr(model, name):
            found[name] = getattr(model, name)(rows)
    for name in ("predict_uncertainty", "predict_intervals"):
        if hasattr(model, name):
            told = getattr(model, name)(rows)
            found |= {f"{name} {part}": value for part, value in told._asdict().items()}
    if hasattr(model, "predict_distribution"):
        law = model.predict_distribution(rows)
        found |= {"loc": law.loc, "scale": law.scale, "draws": law.sample(3, 0)}
        found["law quantiles"] = law.quantile([0.1, 0.7])
    if hasattr(model, "sample_functions"):
        found["functions"] = model.sample_functions(rows, 3)
    return found


def test_every_baseline_has_it(models):
    kinds = [getattr(baselines, name) for name in baselines.__all__]
    fitted = {kind.__name__ for kind in kinds if hasattr(kind, "fit")}
    assert fitted == {type(model).__name__ for model in models.values()}
    assert all(hasattr(kind, "save") for kind in kinds if hasattr(kind, "fit"))


def plain(value):
    return list(value) if isinstance(value, tuple) else value


@EVERY
def test_models_come_back_bit_for_bit(name, models, files):
    model, again = models[name], load(files[name])
    assert type(again) is type(model)
    assert set(vars(again)) == set(vars(model))
    expected, found = answers(model), answers(again)
    assert found.keys() == expected.keys()
    for part, value in expected.items():
        np.testing.assert_array_equal(found[part], value, err_msg=part)
    for part, value in vars(model).items():
        if part.endswith("_") and isinstance(value, int | float | np.ndarray):
            np.testing.assert_array_equal(getattr(again, part), value, err_msg=part)
    kept, options = again.get_params(deep=False), model.get_params(deep=False)
    for held_its_own_way in ("base_model", "estimators", "random_state"):
        kept.pop(held_its_own_way, None)
        options.pop(held_its_own_way, None)
    assert kept == {part: plain(value) for part, value in options.items()}
    if "catboost" not in name:  # which writes its parts in another order
        assert saved(load(saved(again))) == saved(again)


@pytest.mark.parametrize(
    "name", ["quantiles", "forests", "neighbours of xgboost", "xbart", "average", "ngboost"]
)
def test_what_was_loaded_is_fitted_again_as_before(name, models, files):
    again = load(files[name]).fit(X, Y)
    np.testing.assert_array_equal(again.predict(rows_of(again)), answers(models[name])["predict"])


@pytest.mark.parametrize("name", ["quantiles", "process", "average"])
def test_calibrated_around_them(name, models):
    model = CalibratedRegressor(models[name], "scale", random_state=0).fit(*HELD)
    again = load(saved(model))
    expected, found = (each.predict_interval(NEW, 0.8) for each in (model, again))
    np.testing.assert_array_equal(found.lower, expected.lower)


def test_what_cannot_be_held_is_told():
    with pytest.raises(InvalidParameter, match=r"^A DecisionTreeR[^\n]*\.$"):
        near(DecisionTreeRegressor(max_depth=3)).save(io.BytesIO())

    class Odd(EuclideanNeighborsRegressor):
        pass

    with pytest.raises(InvalidParameter, match=r"^A Odd is of another class [^\n]*\.$"):
        Odd(random_state=0).fit(X, Y).save(io.BytesIO())
    with pytest.raises(InvalidParameter, match=r"^A Odd is of another class [^\n]*\.$"):
        AveragingRegressor([("odd", Odd())], random_state=0).fit(X, Y).save(io.BytesIO())
    odd = EuclideanNeighborsRegressor(random_state=np.random.RandomState(0)).fit(X, Y)
    with pytest.raises(InvalidParameter, match=r"^random_state holds [^\n]*\.$"):
        odd.save(io.BytesIO())
    with pytest.raises(ValueError, match="not fitted"):
        DistanceScore().save(io.BytesIO())


def refused(content):
    with pytest.raises(ModelFileError, match=r"^[^\n]*\.$"):
        load(content)


@EVERY
def test_every_array_is_checked(name, files):
    header, arrays = archive.read_archive(files[name])
    for part, array in arrays.items():
        for other in bad_arrays(array):
            refused(archive.write_archive(header, {**arrays, part: other}))
        refused(archive.write_archive(header, {k: v for k, v in arrays.items() if k != part}))


@EVERY
def test_every_part_of_the_header_is_checked(name, files):
    """Whatever is put anywhere: one sentence, or a model that still predicts."""
    if "catboost" in name:
        pytest.skip("CatBoost tries each model in a process of its own, which takes seconds")
    header, arrays = archive.read_archive(files[name])
    odds = (None, -1, 2**70, "odd", [], {}, float("nan"))
    for number, path in enumerate(header_places(header)):
        if path[0] in ("format", "version", "arrays", "fit_seconds", "feature_names"):
            continue
        # Each in its turn; one each for the options of estimators, which are read alike.
        tried = 1 if "options" in path[:-1] else 3
        for odd in [odds[(number + k) % len(odds)] for k in range(tried)]:
            changed = copy.deepcopy(header)
            part = changed
            for key in path[:-1]:
                part = part[key]
            part[path[-1]] = odd
            try:
                again = load(archive.write_archive(changed, arrays))
                answers(again)
            except ValueError as error:
                said = str(error)
            else:
                said = "."
            assert said, path


def test_random_numbers_in_arrays_never_end_the_process(files):
    """Files whose digests are right: anything that is read predicts, or is refused."""
    rng = np.random.default_rng(0)
    for name in ("forests", "classes", "isolation", "ngboost", "xbart", "neighbours", "process"):
        header, arrays = archive.read_archive(files[name])
        for _ in range(25):
            changed = {part: array.copy() for part, array in arrays.items()}
            part = str(rng.choice([p for p in changed if changed[p].size]))
            flat = changed[part].reshape(-1).view(np.uint8)
            flat[rng.integers(0, len(flat), 2)] = rng.integers(0, 256, 2)
            with np.errstate(all="ignore"):
                try:
                    answers(load(archive.write_archive(header, changed)))
                except ValueError as error:
                    said = str(error)
                else:
                    said = "."
            assert said


def lie(name, index, value):
    def change(arrays):
        arrays[name][index] = value

    return change


LIES = {
    "xbart": [("left", 0, 1000), ("right", 0, 0), ("split_index", 0, 3), ("sizes", 0, 2**62),
              ("threshold", 0, np.nan), ("noise_variances", 0, -1.0)],
    "isolation": [("tree_left_child", 0, 0), ("tree_feature", 0, 7)],
    "classes": [("tree_right_child", 0, 2**40), ("tree_sizes", 0, 1)],
    "ngboost": [("tree_feature", 0, -5), ("scalings", 0, np.inf)],
    "neighbours": [("columns", 0, 3), ("columns", 0, -1), ("scale", 0, 0.0)],
    "process": [("lower", (0, 0), 0.0), ("rows", (0, 0), np.nan)],
    "distance": [("scale", 0, -1.0)],
    "conformal": [("residuals", 0, -1.0), ("levels", 0, 0.9)],
    "quantiles": [("quantiles", 0, 0.5)],
}  # fmt: skip


@pytest.mark.parametrize("name", LIES)
def test_numbers_that_no_fit_makes_are_refused(files, name):
    for part, index, value in LIES[name]:
        header, arrays = archive.read_archive(files[name])
        lie(part, index, value)(arrays)
        if (name, part) == ("xbart", "left"):
            assert arrays["left"].max() == 1000
        refused(archive.write_archive(header, arrays))


def test_files_within_files_are_checked(files):
    header, arrays = archive.read_archive(files["average"])
    for content in (b"", b"tree of life", files["distance"]):
        refused(archive.write_archive(header, arrays | pack("member_1", content)))
    deep = files["average"]
    for _ in range(6):
        deep = archive.write_archive(header, arrays | pack("member_0", deep))
    refused(deep)
