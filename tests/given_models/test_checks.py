"""Arrays that contradict each other are refused, whatever the other process says."""

import json

import numpy as np
import pytest
from model_file_parts import (
    CLASSES,
    ROWS,
    category_rows,
    lightgbm_model,
    xgboost_categories,
    xgboost_model,
)

from gbuq_core.errors import GbuqError, ModelFileError
from gbuq_core.given_models import reading
from gbuq_core.given_models.parsing import parse_model
from gbuq_core.model_files.archive import write_archive
from gbuq_core.trees.importers.plain_source import PlainSource, check_plain, describe_plain


@pytest.fixture(scope="module")
def plain():
    return parse_model(lightgbm_model(n_trees=3).content)


def changed(array, place, value):
    array = array.copy()
    array[place] = value
    return array


@pytest.mark.parametrize(
    ("part", "value", "sentence"),
    [
        ("left", 10_000, "points nowhere"),
        ("right", -10_000, "points nowhere"),
        ("left", 0, "do not make a tree"),  # a cycle
        ("feature", 4, "feature that there is not"),
        ("feature", -1, "feature that there is not"),
        ("threshold", np.nan, "not a finite number"),
        ("threshold", np.inf, "not a finite number"),
        ("missing", 7, "missing values"),
        ("begin", 5, "do not add up|points nowhere|do not make"),
    ],
)
def test_splits(plain, part, value, sentence):
    trees = plain.trees
    broken = trees._replace(
        **{part: changed(getattr(trees, part), 1 if part == "begin" else 0, value)}
    )
    with pytest.raises(ModelFileError, match=sentence):
        check_plain(plain._replace(trees=broken))


@pytest.mark.parametrize(
    "change",
    [
        lambda p: {"leaf_values": p.leaf_values * np.inf},
        lambda p: {"leaf_values": p.leaf_values[:-1]},
        lambda p: {"leaf_values": p.leaf_values + 1e101},
        lambda p: {"output": p.output + 1},
        lambda p: {"base": np.array([np.nan])},
        lambda p: {"base": np.zeros(0)},
        lambda p: {"scale": np.inf},
        lambda p: {"slope": 0.0},
        lambda p: {"decays": p.decays * 2.0},
        lambda p: {"decays": p.decays * 1e-200},
        lambda p: {"decays": p.decays[:-1]},
        lambda p: {"link": "softmax"},
        lambda p: {"link": "none"},
        lambda p: {"per_iteration": 2},
        lambda p: {"names": ("a",)},
        lambda p: {"names": ("a",) * 4},
        lambda p: {"n_features": 0},
        lambda p: {"levels": np.zeros(3, np.int32)},
        lambda p: {"task": "clustering"},
    ],
)
def test_parts(plain, change):
    with pytest.raises(ModelFileError, match="damaged"):
        check_plain(plain._replace(**change(plain)))


def test_a_chain_too_deep_is_refused(plain):
    n = 5000
    node = np.arange(n, dtype=np.int32)
    chain = plain.trees._replace(
        begin=np.array([0, n]),
        left=np.append(node[1:], -1).astype(np.int32),
        right=(-2 - node).astype(np.int32),
        feature=np.zeros(n, np.int32),
        threshold=np.zeros(n),
        missing=np.zeros(n, np.int8),
        missing_left=np.zeros(n, bool),
    )
    deep = plain._replace(
        trees=chain,
        leaf_values=np.zeros((n + 1, 1)),
        output=np.zeros(1, np.int32),
        levels_begin=np.zeros(n + 1, np.int64),
    )
    with pytest.raises(ModelFileError, match="deeper than 2,000 levels"):
        check_plain(deep)


@pytest.mark.parametrize(
    ("returncode", "answer"),
    [(-11, b""), (0, b""), (0, b"nonsense"), (1, b"PK"), (0, write_archive({}, {}))],
)
def test_what_is_no_answer_costs_one_sentence(returncode, answer):
    with pytest.raises(GbuqError, match="model file"):
        reading.accept_model(returncode, answer)


def test_a_refusal_is_told_as_one_plain_line():
    answer = write_archive({"refused": "It is\nodd\x1b[31m." + "x" * 1000}, {})
    with pytest.raises(ModelFileError) as caught:
        reading.accept_model(0, answer)
    assert "\n" not in str(caught.value)
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) <= 400


def test_an_answer_of_lies_is_refused(plain):
    header, arrays = describe_plain(plain)
    for lie in ({"n_features": 10**9}, {"strict": 1}, {"names": [1, 2, 3, 4]}, {"scale": "1"}):
        with pytest.raises(ModelFileError):
            reading.accept_model(0, write_archive({**header, **lie}, arrays))
    short = {**arrays, "threshold": arrays["threshold"][:-1]}
    with pytest.raises(ModelFileError):
        reading.accept_model(0, write_archive(header, short))
    assert isinstance(reading.accept_model(0, write_archive(header, arrays)), PlainSource)


def test_sizes_are_looked_at_before_anything_is_read(monkeypatch, tmp_path):
    def never(*_):
        raise AssertionError("a process was started")

    monkeypatch.setattr(reading, "ask_reader", never)
    monkeypatch.setattr(reading, "MAX_MEGABYTES", 0.001)
    (tmp_path / "large.cbm").write_bytes(b"CBM1" + bytes(2000))
    for source in (b"CBM1" + bytes(2000), tmp_path / "large.cbm"):
        with pytest.raises(ModelFileError, match=r"limit|larger"):
            reading.read_model(source)
    with pytest.raises(ModelFileError, match="There is no model file"):
        reading.read_model(tmp_path / "none.cbm")
    with pytest.raises(ModelFileError, match="empty"):
        reading.read_model(b"")


def test_some_trees_are_parts_of_the_space(plain):
    source = PlainSource(plain)
    forest = source.as_forest(2)
    assert forest.n_trees == 2
    np.testing.assert_array_equal(forest.leaf_matrix(ROWS), source.leaf_matrix(ROWS)[:, [0, 2]])


def test_rounds_stay_whole_where_trees_are_thinned():
    classes = {"objective": "multiclass", "num_class": 3}
    source = PlainSource(parse_model(lightgbm_model(classes, CLASSES).content))
    forest = source.as_forest(10)  # of 24
    places = [0, 1, 2, 12, 13, 14, 21, 22, 23]
    np.testing.assert_array_equal(forest.leaf_matrix(ROWS), source.leaf_matrix(ROWS)[:, places])
    assert forest.plain.output.tolist() == [0, 1, 2] * 3
    assert source.as_forest(2).n_trees == 3


def test_a_round_of_many_trees_is_a_forest():
    forest = {"num_parallel_tree": 6, "subsample": 0.5}
    for n_rounds, is_forest in ((1, True), (2, False)):
        source = PlainSource(parse_model(xgboost_model(forest, n_trees=n_rounds).content))
        assert source.is_forest == is_forest
    source = PlainSource(parse_model(xgboost_model(forest, n_trees=1).content))
    assert source.as_forest(4).n_trees == 4
    with pytest.raises(GbuqError, match="random forest"):
        source.refuse_stages()


@pytest.mark.parametrize(
    ("key", "change", "sentence"),
    [
        ("categories_nodes", lambda nodes: nodes[:-1], "does not list the categories"),
        ("categories_nodes", lambda nodes: [n + 1 for n in nodes], "does not list the categories"),
        ("categories_sizes", lambda sizes: [10**9, *sizes[1:]], "do not add up"),
        ("categories_sizes", lambda sizes: [0, *sizes[1:]], "do not add up"),
        ("categories_segments", lambda begin: [n + 1 for n in begin], "do not add up"),
        ("categories", lambda levels: levels[:-1], "do not add up"),
        ("categories", lambda levels: [-1, *levels[1:]], "is none"),
        ("categories", lambda levels: [2**24, *levels[1:]], "is none"),
        ("categories", lambda levels: None, "wrong kind"),
        ("split_type", lambda kinds: [2 * kind for kind in kinds], "does not list the categories"),
    ],
)
def test_categories_of_xgboost(key, change, sentence):
    document = json.loads(xgboost_categories().content)
    trees = document["learner"]["gradient_booster"]["model"]["trees"]
    tree = max(trees, key=lambda tree: len(tree["categories"]))
    tree[key] = change(tree[key])
    with pytest.raises(ModelFileError, match=sentence):
        parse_model(json.dumps(document).encode())


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        ({"offsets": [0, 9, 3], "values": [97] * 3}, "do not add up"),
        ({"offsets": [0, 9], "values": [97] * 3}, "do not add up"),
        ({"offsets": [0, 1]}, "wrong kind"),
    ],
)
def test_names_of_categories_of_xgboost(part, sentence):
    document = json.loads(xgboost_categories().content)
    document["learner"]["gradient_booster"]["model"]["cats"]["enc"][1] = part
    with pytest.raises(ModelFileError, match=sentence):
        parse_model(json.dumps(document).encode())


def test_names_that_xgboost_has_cut_off_are_not_used():
    source = PlainSource(parse_model(xgboost_categories(word="grün").content))
    assert source.plain.categories == ()
    assert np.isfinite(source.predict(category_rows("grün")[1])).all()
