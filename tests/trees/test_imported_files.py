"""Model files of other libraries: read as the fitted model, or refused in one sentence."""

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import catboost
import numpy as np
import pandas as pd
import pytest
import xgboost
from leaf_models import (
    QUIET,
    REGRESSORS,
    assert_same_parts,
    library_leaves,
    lightgbm_model,
    make_data,
    xgboost_model,
)
from model_file_parts import category_rows, xgboost_categories

from gbuq_core import IBUGRegressor
from gbuq_core.errors import InvalidData, InvalidParameter, MissingPackage, ModelFileError
from gbuq_core.given_models.parsing import parse_model
from gbuq_core.trees.importers import leaf_source, load_leaf_source, xgboost_source
from gbuq_core.trees.importers.plain_source import PlainSource
from gbuq_core.trees.importers.xgboost_plain import plain_xgboost
from gbuq_core.trees.importers.xgboost_tree_file import LAST_TRIED

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def data():
    return make_data()


@pytest.fixture(scope="module")
def model_files(data, tmp_path_factory):
    """Small models in every format."""
    folder = tmp_path_factory.mktemp("models")
    _, gaps, y, _ = data
    paths = {
        name: folder / name for name in ("lightgbm", "xgboost.json", "xgboost.ubj", "catboost")
    }
    lightgbm_model(num_leaves=6).fit(gaps, y).booster_.save_model(paths["lightgbm"])
    fitted = xgboost_model().fit(gaps, y)
    for name in ("xgboost.json", "xgboost.ubj"):
        fitted.save_model(paths[name])
    catboost.CatBoostRegressor(**QUIET).fit(gaps, y).save_model(str(paths["catboost"]))
    return {**paths, "xgboost": paths["xgboost.ubj"]}


@pytest.mark.parametrize("name", ["lightgbm", "xgboost.json", "xgboost.ubj", "catboost"])
def test_files_give_what_the_fitted_model_gives(name, data, model_files):
    _, gaps, y, _ = data
    kind = name.split(".")[0]
    make = {"lightgbm": lambda: lightgbm_model(num_leaves=6)}.get(kind, REGRESSORS[kind][0])
    fitted = leaf_source(make().fit(gaps, y))
    for content in (model_files[name], str(model_files[name]), model_files[name].read_bytes()):
        loaded = load_leaf_source(content)
        assert loaded.kind == kind
        np.testing.assert_array_equal(loaded.leaf_matrix(gaps), fitted.leaf_matrix(gaps))
        np.testing.assert_array_equal(loaded.predict(gaps), fitted.predict(gaps))


@pytest.mark.parametrize(
    "name",
    ["lightgbm zeros", "lightgbm forest", "xgboost pruned", "xgboost dart", "xgboost forest"],
)
def test_files_of_other_boosters(name, data, tmp_path):
    """What is written anew for the library predicts as before."""
    _, gaps, y, _ = data
    model = REGRESSORS[name][0]().fit(gaps, y)
    booster = model.booster_ if hasattr(model, "booster_") else model.get_booster()
    path = tmp_path / ("model.txt" if hasattr(model, "booster_") else "model.json")
    booster.save_model(path)
    loaded = load_leaf_source(path)
    assert_same_parts(loaded.leaf_matrix(gaps), library_leaves(model, gaps))
    # dart: weights of trees are multiplied in another order (float32).
    np.testing.assert_allclose(loaded.predict(gaps), model.predict(gaps), rtol=1e-5, atol=1e-6)


def in_the_form(model, version):
    """A DART model's file as this version of XGBoost writes it."""
    document = json.loads(model.get_booster().save_raw("json"))
    booster = document["learner"]["gradient_booster"]
    trees = booster.get("gbtree", booster)
    weights = booster.pop("weight_drop", None) or trees["model"].pop("weight_drop")
    if version == (3, 2):
        trees = {"name": "dart", "gbtree": trees}
    (trees if version < (3, 4) else trees["model"])["weight_drop"] = weights
    document["learner"]["gradient_booster"] = trees
    document["version"] = [*version, 0]
    return json.dumps(document).encode()


@pytest.mark.parametrize("version", [(3, 2), (3, 3), (3, 4)])
def test_weights_of_trees_are_found_where_each_version_has_them(version, data):
    _, gaps, y, _ = data
    model = xgboost_model(booster="dart", rate_drop=0.5).fit(gaps, y)
    content = in_the_form(model, version)
    for source in (load_leaf_source(content), PlainSource(parse_model(content))):
        # Weights are multiplied in another order (float32).
        np.testing.assert_allclose(source.predict(gaps), model.predict(gaps), rtol=1e-5, atol=1e-6)
        with pytest.raises(InvalidParameter, match="trained by DART"):
            source.refuse_stages()


@pytest.fixture
def future(data):
    """A model, and its file as if a version wrote it that is not there yet."""
    _, gaps, y, _ = data
    booster = xgboost_model().fit(gaps, y).get_booster()
    document = json.loads(booster.save_raw("json"))
    document["version"] = [LAST_TRIED[0], LAST_TRIED[1] + 1, 0]
    return booster, json.dumps(document).encode()


def test_a_version_that_was_not_tried_is_held_against_xgboost_itself(future, data, monkeypatch):
    booster, content = future
    _, gaps, _, _ = data
    source = PlainSource(parse_model(content))
    np.testing.assert_allclose(source.predict(gaps), booster.inplace_predict(gaps), rtol=1e-5)
    with pytest.raises(ModelFileError, match=r"XGBoost [\d.]+, which was not tried: pass the"):
        load_leaf_source(content)

    def misread(read):
        plain = plain_xgboost(read)
        return plain._replace(leaf_values=plain.leaf_values * 1.001)

    monkeypatch.setattr(xgboost_source, "plain_xgboost", misread)
    with pytest.raises(ModelFileError, match=r"was not tried, and its trees are read wrong"):
        parse_model(content)
    monkeypatch.setitem(sys.modules, "xgboost", None)  # it is not installed
    with pytest.raises(MissingPackage, match="pip install xgboost"):
        parse_model(content)


def test_a_fitted_model_of_such_a_version_is_held_against_itself(future, data, monkeypatch):
    booster, content = future
    monkeypatch.setattr(booster, "save_raw", lambda form: bytearray(content))
    source = leaf_source(booster)
    rows = xgboost.DMatrix(data[1])
    assert_same_parts(source.leaf_matrix(data[1]), booster.predict(rows, pred_leaf=True))
    model = IBUGRegressor(booster, n_neighbors=5, calibrate=False).fit(data[1], data[2])
    with pytest.raises(InvalidParameter, match="not tried cannot be saved here"):
        model.save(io.BytesIO())


@pytest.mark.parametrize("ending", ["json", "ubj"])
def test_an_xgboost_file_ends_at_its_best_round(ending, data, tmp_path):
    X, _, _, _ = data
    noise = np.random.default_rng(3).normal(size=400)  # nothing to learn: the best comes early
    model = xgboost.XGBRegressor(n_estimators=60, early_stopping_rounds=5, max_depth=4)
    model.fit(X[:200], noise[:200], eval_set=[(X[200:], noise[200:])])
    assert model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
    path = tmp_path / f"model.{ending}"
    model.save_model(path)
    loaded = load_leaf_source(path)
    assert loaded.n_trees == model.best_iteration + 1
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert_same_parts(loaded.leaf_matrix(X), library_leaves(model, X))


@pytest.mark.parametrize("best", ["12", "-1", "two", "1e400"])
def test_a_best_round_that_is_none_is_refused(best, data, tmp_path):
    _, gaps, y, _ = data
    booster = xgboost_model().fit(gaps, y).get_booster()  # 12 rounds, from 0
    booster.set_attr(best_iteration=best)
    booster.save_model(tmp_path / "model.json")
    with pytest.raises(ModelFileError, match=r"damaged \(its best round is none of its rounds\)"):
        load_leaf_source(tmp_path / "model.json")


def test_a_lightgbm_file_keeps_its_categories(data, tmp_path):
    _, gaps, y, _ = data
    frame = pd.DataFrame(gaps, columns=list("abcd"))
    frame["kind"] = pd.Categorical(np.where(np.arange(400) % 3 == 0, "x", "y"))
    model = lightgbm_model(min_data_per_group=5).fit(frame, y + (frame["kind"] == "x"))
    model.booster_.save_model(tmp_path / "m.txt")
    loaded = load_leaf_source(tmp_path / "m.txt")
    np.testing.assert_array_equal(loaded.leaf_matrix(frame), library_leaves(model, frame))
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))


@pytest.mark.parametrize("coded", [False, True])
def test_an_xgboost_file_keeps_its_categories(coded):
    frame, codes, _ = category_rows()
    saved = xgboost_categories(coded=coded)
    booster = xgboost.Booster(model_file=bytearray(saved.content))
    loaded = load_leaf_source(saved.content)
    # XGBoost adds up float32 numbers.
    np.testing.assert_allclose(loaded.predict(codes), saved.predicted, rtol=2e-6)
    assert_same_parts(loaded.leaf_matrix(codes), leaf_source(booster).leaf_matrix(codes))
    numbers = pd.DataFrame(codes, columns=frame.columns if loaded.feature_names else None)
    np.testing.assert_array_equal(loaded.predict(numbers), loaded.predict(codes))
    if coded:
        with pytest.raises(InvalidData, match="does not name its categories: pass the codes"):
            loaded.predict(frame)
        return
    np.testing.assert_array_equal(loaded.predict(frame), loaded.predict(codes))
    # The levels of another table: in another order, and one that the model does not know.
    levels = frame["k"].cat.categories[::-1]
    other = frame.assign(k=frame["k"].cat.set_categories(["new", *levels]))
    np.testing.assert_array_equal(loaded.predict(other), loaded.predict(codes))
    other.loc[:4, "k"] = "new"
    missing = codes.copy()
    missing[:5, 1] = np.nan
    np.testing.assert_array_equal(loaded.predict(other), loaded.predict(missing))
    with pytest.raises(
        InvalidData, match="X has 1 category column, but the model was trained on 2"
    ):
        loaded.predict(frame.assign(n=1.0))
    with pytest.raises(InvalidParameter, match="is no classifier"):
        load_leaf_source(saved.content, task="classification")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no model of"),
        (b"PK\x03\x04", "no model of"),
        (b"\x80\x04", "no model of"),
        (b"tree of life", "no LightGBM model"),
        (b"{}", "no XGBoost model"),
        (b"{", "damaged"),
        (b"CBM1", "cut off"),
        (b"CBM1\xff\xff\xff\xff", "cut off"),
        (b"[" * 100_000, "no model of"),
        (b'{"a":' * 100_000, "damaged"),
        (b"{U\x01a" * 100_000, "damaged"),
    ],
)
def test_foreign_content_is_refused(content, message):
    with pytest.raises(ModelFileError, match=message):
        load_leaf_source(content)


def test_json_of_another_library_is_not_called_damaged(data, tmp_path):
    X, y = data[0], data[2]
    quiet = {"verbose": False, "allow_writing_files": False, "thread_count": 1}
    model = catboost.CatBoostRegressor(iterations=3, **quiet).fit(X, y)
    model.save_model(str(tmp_path / "model.json"), format="json")
    with pytest.raises(ModelFileError, match="models of CatBoost are read as cbm") as caught:
        load_leaf_source(tmp_path / "model.json")
    assert "damaged" not in str(caught.value)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(ModelFileError, match="There is no model file"):
        load_leaf_source(tmp_path / "nothing.txt")
    with pytest.raises(ModelFileError, match="is not a regular file"):
        load_leaf_source(tmp_path)
    with pytest.raises(InvalidParameter, match="a path, bytes or a binary file"):
        load_leaf_source(3)


@pytest.mark.parametrize(
    ("what", "lie", "message"),
    [
        (r"num_leaves=6", "num_leaves=7", "too short"),
        (r"left_child=1 ", "left_child=0 ", "do not make a tree"),
        (r"split_feature=\d", "split_feature=9", "out of range"),
        (r"leaf_value=\S+", "leaf_value=nan", "not where|out of range"),
        (r"version=v4", "version=v9", "version"),
        (r"objective=regression", "objective=regressior", "objective"),
        (r"max_feature_idx=3", "max_feature_idx=4", "name all"),
        (r"objective=regression", "objective=binary sigmoid:1", "is a classifier"),
    ],
)
def test_a_lightgbm_file_that_lies_is_refused(what, lie, message, model_files):
    text = model_files["lightgbm"].read_text()
    lied = re.sub(what, lie, text, count=1)
    assert lied != text
    sizes = [len(part) for part in re.findall(r"Tree=\d+\n.*?\n\n\n", lied, re.DOTALL)]
    lied = re.sub(r"tree_sizes=.*", "tree_sizes=" + " ".join(map(str, sizes)), lied)
    with pytest.raises((ModelFileError, InvalidParameter), match=message):
        load_leaf_source(lied.encode())


def test_a_catboost_file_that_ends_its_reader_is_refused(model_files, monkeypatch, tmp_path):
    from gbuq_core.trees.importers import catboost_source

    reader = tmp_path / "reader.py"
    reader.write_text("import os\n\nprepare = os.getpid\n\ndef answer(*_):\n    os.abort()\n")
    monkeypatch.setattr(catboost_source, "_TRIAL", reader)
    with pytest.raises(ModelFileError, match="its process ended"):
        load_leaf_source(model_files["catboost"])


@pytest.mark.parametrize("package", ["lightgbm", "xgboost", "catboost"])
def test_a_missing_library_is_one_sentence(package, data, monkeypatch, model_files):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InvalidParameter, match=f"need the package {package}"):
        load_leaf_source(model_files[package])


# Mutations from a seed: cut, flip, delete, other digits. Whatever comes of it, the process lives,
# and what is refused is refused in one sentence.
FUZZ = """
import sys
import numpy as np
from gbuq_core.errors import GbuqError
from gbuq_core.trees.importers import load_leaf_source

X = np.random.default_rng(0).normal(size=(20, 4))

def damage(content, seed):
    digits = [i for i, c in enumerate(content) if 48 <= c < 58]
    rng = np.random.default_rng(seed)
    damaged = bytearray(content)
    at = int(rng.integers(len(damaged)))
    if seed % 5 == 0:
        del damaged[at:]
    elif seed % 5 == 1:
        damaged[at] ^= 1 << int(rng.integers(8))
    elif seed % 5 == 2:
        del damaged[at : at + int(rng.integers(1, 20))]
    elif seed % 5 == 3:
        damaged[digits[int(rng.integers(len(digits)))]] = 48 + int(rng.integers(10))
    else:
        others = [b"\\xff\\xff\\xff\\xff", b"\\0\\0\\0\\x80", b"nan ", b"-1  "]
        damaged[at : at + 4] = others[seed % 4]
    return bytes(damaged)

for path, n in zip(sys.argv[1::2], sys.argv[2::2]):
    content = open(path, "rb").read()
    refused = read = 0
    print(path, flush=True)
    for seed in range(int(n)):
        try:
            source = load_leaf_source(damage(content, seed))
            source.leaf_matrix(X)
            source.predict(X)
            read += 1
        except GbuqError as error:
            assert "\\n" not in str(error), error
            refused += 1
    print("counted", refused, read)
"""


@pytest.mark.slow
def test_damaged_files_do_not_end_the_process(model_files):
    """All in one process, which takes seconds to start.

    CatBoost's files are tried in a process of their own, seconds each: few of them.
    """
    tried = {"lightgbm": 60, "xgboost.json": 60, "xgboost.ubj": 60, "catboost": 3}
    arguments = [str(part) for name, n in tried.items() for part in (model_files[name], n)]
    done = subprocess.run(
        [sys.executable, "-c", FUZZ, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=model_files["catboost"].parent,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    counts = [(int(a), int(b)) for a, b in re.findall(r"^counted (\d+) (\d+)$", done.stdout, re.M)]
    assert [refused + read for refused, read in counts] == list(tried.values())
    assert all(refused > 0 for refused, _ in counts)
