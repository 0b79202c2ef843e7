"""Files of ours with something wrong in them: a sentence, or a model that still predicts."""

import copy
import hashlib
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gbuq_core import load
from gbuq_core.errors import GbuqError, MissingPackage, ModelFileError, UntrustedModel
from gbuq_core.model_files.archive import read_archive, write_archive
from tests.model_files.saved_models import FEW, MODELS, answers, file_of, model_of, rows_of, saved

# CatBoost's own reader judges its models, and survives not all of them.
DAMAGED = [name for name in MODELS if "catboost" not in name and name != "ibug"]
ODD = (
    None,
    True,
    -1,
    0,
    3,
    2**70,
    1e300,
    float("nan"),
    "odd",
    "",
    [],
    {},
    [[]],
    {"same": 0},
    {"same": 10**6},
    {"tuple": [1, "a"]},
    {"array": "f8", "from": 0, "shape": [3]},
    {"class": "Bins", "fields": {}},
    {"class": "os.system", "fields": {}},
    {"number": "<f8", "value": "x"},
    {"few": "<i8"},
    {"of": "lightgbm.Booster", "value": {}},
    {"labels": "|O", "values": [[1]]},
    {"dict": [[1, 2]]},
)


def places(value, path=()):
    """Every place in a header."""
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in inside:
        yield (*path, key)
        if isinstance(part, dict | list):
            yield from places(part, (*path, key))


def with_part(header, path, value):
    """The header with another value at a place, or without it."""
    changed = copy.deepcopy(header)
    part = changed
    for key in path[:-1]:
        part = part[key]
    if value is places:
        del part[path[-1]]
    else:
        part[path[-1]] = copy.deepcopy(value)
    return changed


def bent(array, kind, place):
    """The array with another type, shape or number."""
    flat = array.reshape(-1).copy()
    if kind == "type":
        return array.astype(np.float64 if array.dtype.kind in "iub" else np.int64)
    if kind == "axis":
        return array[..., None]
    if kind == "shorter":
        return array[:-1]
    if kind == "longer":
        return np.concatenate([array, array[:1]])
    if kind == "bytes":
        flat.view(np.uint8)[place % flat.nbytes] ^= 0x55
    else:
        extreme = np.iinfo(flat.dtype) if flat.dtype.kind in "iu" else np.finfo(np.float64)
        odd = {"largest": extreme.max, "smallest": extreme.min, "none": np.nan, "zero": 0}[kind]
        flat[place % len(flat)] = odd if flat.dtype.kind == "f" or kind != "none" else 1
    return flat.reshape(array.shape)


BENT = ("type", "axis", "shorter", "longer", "bytes", "largest", "smallest", "none", "zero")


def use(name, header, arrays):
    """Read the file and ask the model everything; the sentence with which it was refused."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            answers(load(write_archive(header, arrays)), FEW, rows_of(model_of(name)))
    except GbuqError as error:
        return str(error)
    return "."


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_any_part_of_a_file_may_be_damaged(data):
    name = data.draw(st.sampled_from(DAMAGED))
    header, arrays = read_archive(file_of(name))
    del header["arrays"]  # `write_archive` describes them itself
    if data.draw(st.booleans()):
        # Columns of other names are told by scikit-learn, when rows are judged.
        known = [path for path in places(header) if "feature_names_in_" not in path]
        path = known[data.draw(st.integers(0, len(known) - 1))]
        header = with_part(header, path, data.draw(st.sampled_from([*ODD, places])))
    elif arrays:
        part = data.draw(st.sampled_from(sorted(arrays)))
        kind = data.draw(st.sampled_from(BENT))
        arrays[part] = bent(arrays[part], kind, data.draw(st.integers(0, 10**6)))
    sentence = use(name, header, arrays)
    assert sentence.endswith(".")
    assert "\n" not in sentence


def at(*places):
    """Sets a part of a model: names of fields, then an index into an array, then the value."""

    def change(model):
        *path, index, value = places
        for step in path:
            model = model[step] if isinstance(step, int) else getattr(model, step)
        model[index] = value

    return change


def instead(name, **parts):
    """Puts a record with other parts in the place of one."""

    def change(model):
        *path, last = name.split(".")
        for step in path:
            model = getattr(model, step)
        setattr(model, last, getattr(model, last)._replace(**parts))

    return change


# What no fit makes: mostly places outside an array, which kernels would read or write.
LIES = {
    "boosted": [
        at("models_", "forests", 1, "features", (11, 2), 99),
        at("models_", "forests", 0, "features", (0, 0), -1),
        at("models_", "forests", 0, "bins", (3, 1), 255),
        at("models_", "forests", 0, "levels", 0, 4),
        at("models_", "forests", 1, "levels", 5, -1),
        at("models_", "forests", 0, "values", (0, 0, 0), np.nan),
        at("models_", "start", 0, np.inf),
        at("models_", "bins", "borders", 1, 0, 1e9),
        at("models_", "bins", "n_codes", 0, 7),
        at("models_", "bins", "is_category", 0, True),
        at("encoding_", "is_category", 0, True),
        at("encoding_", "columns", 4, "means", (0, 0), np.nan),
        instead("models_", decay=1.5),
        instead("models_", n_cells=0),
        instead("models_", forests=()),
        instead("target_scale_", spread=0.0),
    ],
    "ibug forest": [
        at("_rows", "leaves", "planes", "low", (0, 0), 200),
        at("_validation", "leaves", "planes", "low", (1, 3), 200),
        at("_rows", "leaves", "lookup", (0, 0), 300),
        at("_rows", "leaves", "lookup", (0, 0), -2),
        at("_rows", "leaves", "n_leaves", 0, 1),
        at("_validation", "leaves", "n_leaves", 0, 70_000),
        at("_validation", "places", 0, 160),
        at("_validation", "places", 0, -1),
        at("_rows", "y", 0, np.inf),
    ],
    "ibug wide": [at("_rows", "leaves", "planes", "high_row", 0, 5)],
    "macau": [
        at("_table", "rows", 0, 150),
        at("_table", "rows", 5, -1),
        at("_table", "path", 0, 3),
        at("_table", "path", 0, -1),
        at("_table", "path_begin", 1, 9),
        at("_table", "begin", 1, 151),
        at("_table", "first", 1, 2),
        at("_distances", "quantiles", 0, 1e9),
        at("_distances", "path_quantiles", 0, 1e9),
        at("_distances", "path_first", 1, 10**6),
        at("_distances", "quantile_begin", 1, 10**6),
        at("_quantiles", "quantiles", 0, 1e9),
        at("_quantiles", "begin", 1, 10**6),
        at("_model", "sigma_begin", 1, 10**6),
    ],
    "macau mixed leaves": [lambda model: np.logical_not(model.sees_all_, out=model.sees_all_)],
    "macau three": [
        at("_leaves", 1, "trees", 0, 999),
        at("_leaves", 0, "logistic", "first", 1, 10**6),
        at("_leaves", 2, "quantiles", "begin", 1, 10**6),
    ],
    "soft": [
        at("trees_", 0, "posterior", "scale", 0, 0.0),
        at("encoding_", "kept", 0, False),
        instead("shape_", depth=3),
        instead("shape_", n_features=2),
    ],
    "calibrated conformal": [at("_sizes", 0, 1e9)],
    "calibrated isotonic": [at("_map", "coverage", 0, 0.5)],
    "calibrated": [lambda model: setattr(model, "factor_", np.nan)],
    "unfamiliarity": [
        at("_farthest", 0, 0.0),
        at("_judges", 0, False),
        at("_folds", 0, "learnt", 0, 60),
        at("_raw", "codes", (0, 0), 99),
        at("_columns", "categories", 0, 0),
    ],
    "forests": [lambda model: setattr(model, "n_features_in_", 2)],
    "forests of classes": [lambda model: model.groups_[0].pop()],
    "neighbours": [at("columns_", 0, 3), at("_space", "scaler", "scale_", 0, 0.0)],
    "process": [at("_lower", (0, 0), 0.0), at("_X", (0, 0), np.nan)],
    "conformal": [at("_residuals", 0, -1.0)],
    "quantiles": [at("quantiles_", 0, 0.9)],
    "xbart": [at("noise_variances_", 0, -1.0), lambda model: setattr(model, "n_kept_", 99)],
}


@pytest.mark.parametrize(("name", "number"), [(n, k) for n in LIES for k in range(len(LIES[n]))])
def test_what_no_fit_makes_is_refused(name, number):
    model = load(file_of(name))
    LIES[name][number](model)
    with pytest.raises(ModelFileError, match=r"^The model file is damaged \([^\n]*\.$"):
        load(saved(model))


# Nodes of scikit-learn's and stochtree's trees, by the arrays that hold them.
TREES = {
    ("ibug forest", "tree_"): [
        ("left_child", 1, 0),
        ("left_child", 0, 10_000),
        ("right_child", 0, 1),
        ("right_child", 2, -1),
        ("left_child", 0, -2),
        ("feature", 0, 3),
        ("feature", 0, -1),
        ("sizes", 0, 0),
        ("sizes", 0, -5),
        ("sizes", 0, 2**62),
        ("n_features", 0, 2),
        ("n_values", 0, 2),
    ],
    ("ibug histogram", "dict"): [
        ("tree_left", 0, -1),
        ("tree_left", 0, 2**40),
        ("tree_right", 0, 1),
        ("tree_feature_idx", 0, 3),
        ("tree_is_leaf", 0, 3),
        ("tree_depth", 0, -1),
    ],
    ("xbart", "dict"): [
        ("left", 0, 1000),
        ("right", 0, 0),
        ("split_index", 0, 3),
        ("sizes", 0, 2**62),
        ("threshold", 0, np.nan),
    ],
}


def named_arrays(node):
    """The arrays of a header's dictionaries by their keys."""
    if isinstance(node, list):
        for part in node:
            yield from named_arrays(part)
    elif isinstance(node, dict):
        for key, part in node.get("dict", ()):
            if isinstance(part, dict) and "array" in part:
                yield key, part
        for part in node.values():
            yield from named_arrays(part)


@pytest.mark.parametrize(
    ("case", "lie"), [(case, lie) for case, lies in TREES.items() for lie in lies]
)
def test_trees_that_lead_outside_are_refused(case, lie):
    (name, where), (part, place, value) = case, lie
    header, arrays = read_archive(file_of(name))
    if where == "tree_":
        arrays[f"tree_{part}"][place] = value
    else:
        node = dict(named_arrays(header["model"]))[part]
        arrays[node["array"]][node["from"] + place] = value
    with pytest.raises(ModelFileError, match=r"^The model file is damaged \([^\n]*\.$"):
        load(write_archive({k: v for k, v in header.items() if k != "arrays"}, arrays))


def test_classes_of_others_and_impossible_labels_are_refused():
    header, arrays = read_archive(file_of("boosted three"))
    labels = header["model"]["fields"]["classes_"]
    for values in (["a"], ["a", "a", "b"], ["high", "low", []], [str(i) for i in range(201)]):
        labels["values"] = values
        assert "damaged" in use("boosted three", header, arrays)
    labels |= {"values": ["a", "b", "c"], "labels": "<U1000000000"}
    assert "damaged" in use("boosted three", header, arrays)


def test_unknown_names_point_to_a_newer_version():
    header, arrays = read_archive(file_of("macau"))
    oracle = {**header["model"], "class": "Oracle"}
    sentence = use("macau", {**header, "model": oracle}, arrays)
    assert sentence.startswith("The model file holds a 'Oracle', probably from a newer version")
    header["model"]["fields"]["wings"] = 2
    sentence = use("macau", header, arrays)
    assert sentence.startswith("The model file has the unknown field 'wings' in a MacauRegressor")


def test_parameters_newer_than_the_file_keep_their_defaults():
    header, arrays = read_archive(file_of("macau path"))
    del header["model"]["fields"]["leaf_features"]
    model = load(write_archive({k: v for k, v in header.items() if k != "arrays"}, arrays))
    assert model.leaf_features == "auto"


def test_catboost_models_that_lie_never_reach_its_reader():
    header, arrays = read_archive(file_of("boosted catboost"))
    for name in [n for n, a in arrays.items() if a.dtype == np.uint8]:
        changed = {**arrays, name: bent(arrays[name], "bytes", 100)}
        assert "has changed" in use("boosted catboost", header, changed)


@pytest.mark.parametrize("of", ["lightgbm.Booster", "xgboost.Booster"])
def test_a_booster_is_not_made_of_options(of):
    """They could be a model that no importer has checked, or a path on this machine."""
    header, arrays = read_archive(file_of("average"))
    node = {"of": of, "value": {"options": {"model_file": "/etc/hosts"}}}
    header["model"]["fields"]["estimators_"][-1] = node
    assert "has no options" in use("average", header, arrays)


def test_bytes_that_catboost_cannot_read_are_told():
    header, arrays = read_archive(file_of("boosted catboost"))
    foreign = b"not a model"
    models = header["model"]["fields"]["models_"]["fields"]["models"]["tuple"]
    place = {"array": "u1", "from": len(arrays["u1"]), "shape": [len(foreign)]}
    arrays["u1"] = np.append(arrays["u1"], np.frombuffer(foreign, np.uint8))
    digest = hashlib.sha256(foreign).hexdigest()
    models[0]["value"]["cbm"] = {"bytes": place, "sha256": digest}
    assert "CatBoost cannot read the model in it" in use("boosted catboost", header, arrays)


@pytest.mark.parametrize("name", [name for name in MODELS if "catboost" in name])
def test_models_of_catboost_are_only_read_from_files_that_one_trusts(name):
    with pytest.raises(UntrustedModel, match=r"^The model file holds a model of CatBoost"):
        load(file_of(name), trust=False)


@pytest.mark.parametrize("package", ["catboost", "xgboost"])
def test_a_package_that_is_missing_is_told(package, monkeypatch):
    content = file_of(f"ibug {package}")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackage, match=rf"^[^\n]*pip install '?{package}[^\n]*\.$"):
        load(content)


def test_files_of_the_version_before_are_refused():
    header = {"kind": "regressor", "params": {}, "plan": {}, "seed": 0}
    sentence = use("boosted", header, {"start": np.zeros(2)})
    assert sentence.startswith("The model file was written by gbuq 0.2, whose model files")
    later = {"layout": 3, "model": {"class": "MacauRegressor", "fields": {}}}
    assert "has the layout 3 (this gbuq reads 2), probably" in use("boosted", later, {})


def test_a_file_that_is_too_deep_is_refused():
    header, arrays = read_archive(file_of("distance"))
    deep = "x"
    for _ in range(300):
        deep = [deep]
    header["model"]["fields"]["n_jobs"] = deep
    assert "too deep" in use("distance", header, arrays)


def test_models_in_each_other_are_checked():
    """An estimator that is not fitted, or of another class, in the place of a fitted one."""
    header, arrays = read_archive(file_of("average"))
    bare = {"class": "BoostedEnsembleRegressor", "fields": {}}
    other = {"class": "Bins", "fields": {}}
    for odd, word in ((bare, "not fitted"), (other, "unknown kind"), (3, "another type")):
        changed = copy.deepcopy(header)
        changed["model"]["fields"]["estimators_"][-1] = odd
        assert word in use("average", changed, arrays)
