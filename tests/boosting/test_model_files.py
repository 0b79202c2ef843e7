"""Files that are no saved model, or lie: each is refused with a sentence, none is believed."""

import copy
import io
import json
import zipfile

import numpy as np
import pytest
from saving_parts import fitted, saved

from gbuq_core import file_bytes
from gbuq_core.boosting import load_ensemble
from gbuq_core.errors import InvalidParameter, MemoryLimitExceeded, ModelFileError
from gbuq_core.model_files import archive, contents

# Files that are none of ours.


def refusal(content):
    """The sentence with which ``content`` is refused."""
    with pytest.raises(ModelFileError) as caught:
        load_ensemble(content)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence.endswith(".")
    return sentence


def npz(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def zipped(members, compression=zipfile.ZIP_STORED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as made:
        for name, content in members:
            made.writestr(name, content)
    return file.getvalue()


@pytest.mark.parametrize(
    "content",
    [b"", b"a,b\n1,2\n", b"\x80\x04\x95junk", bytes(1000), npz(a=np.arange(3)),
     zipped([]), zipped([("header.json", "{}")]), zipped([("header.json", "[1]")]),
     zipped([("header.json", '{"format": "other"}')])],
    ids=["empty", "csv", "pickle", "zeros", "npz", "empty zip", "no format", "list", "other"],
)  # fmt: skip
def test_foreign_files_are_refused(content):
    assert refusal(content).startswith("This is not a gbuq model file")


def test_files_that_cannot_be_read(tmp_path):
    for source in (tmp_path / "none.npz", "a\0b"):
        assert refusal(source).startswith("There is no model file ")
    assert "is not a regular file: give the path of a model file." in refusal(tmp_path)
    assert refusal(io.StringIO("text")).startswith("The model file is open as text")
    with pytest.raises(InvalidParameter, match=r"^A model file is a path, bytes [^\n]*\.$"):
        load_ensemble(7)


def test_files_too_large_are_refused_before_they_are_read(tmp_path, monkeypatch):
    path = tmp_path / "large.npz"
    path.write_bytes(bytes(5000))
    with monkeypatch.context() as patched:
        patched.setattr(contents, "MAX_FILE_BYTES", 4999)
        for source in (path, io.BytesIO(bytes(5000))):
            assert refusal(source).startswith("The model file is larger than")
    asked = []

    def check_memory(n_bytes, what):
        asked.append((n_bytes, what))
        raise MemoryLimitExceeded("too large.")

    monkeypatch.setattr(file_bytes, "check_memory", check_memory)
    with pytest.raises(MemoryLimitExceeded):
        load_ensemble(path)
    assert asked == [(15_000, "this model file")]


@pytest.fixture(scope="module")
def file():
    """A saved classifier of three classes with every kind of column."""
    model, new = fitted("three", np.random.default_rng(0))
    return saved(model), model.predict_members(new), new


def test_cut_off_files_are_refused(file):
    content = file[0]
    for length in {2, 4, 30, 100, len(content) // 2, len(content) - 23, len(content) - 1}:
        assert refusal(content[:length]).startswith("The model file is damaged (")


def test_a_changed_byte_is_refused_or_changes_nothing(file):
    """Some bytes (dates, permissions) mean nothing to the model; all others are noticed."""
    content, expected, new = file
    places = np.random.default_rng(1).choice(len(content), 300, replace=False)
    last = np.arange(len(content) - 600, len(content), 7)  # the archive's directory
    refused = 0
    for place in [*range(60), *places, *last]:
        changed = bytearray(content)
        changed[place] ^= 0x41
        try:
            found = load_ensemble(bytes(changed)).predict_members(new)
        except ModelFileError:
            refused += 1
        else:
            np.testing.assert_array_equal(found, expected)
    assert refused > 250


def test_text_behind_the_archive_is_no_matter_but_a_hidden_part_is(file):
    content, expected, new = file
    with io.BytesIO(content) as buffer:
        with zipfile.ZipFile(buffer, "a") as opened:
            opened.writestr("more.npy", b"x")
        assert "does not name" in refusal(buffer.getvalue())
    np.testing.assert_array_equal(load_ensemble(b"#!" + content).predict_members(new), expected)


def test_decompression_bombs_are_refused(file):
    """Ten megabytes of zeros in ten kilobytes; nothing of ours is compressed."""
    bomb = zipped(
        [("header.json", '{"format": "gbuq boosted ensemble"}'), ("a.npy", bytes(10**7))],
        zipfile.ZIP_DEFLATED,
    )
    assert len(bomb) < 20_000
    assert "compressed" in refusal(bomb)


def test_parts_that_share_bytes_are_refused(file):
    """A directory of many entries that all point to one part: the other kind of bomb."""
    content = file[0]
    with zipfile.ZipFile(io.BytesIO(content)) as opened:
        largest = max(opened.infolist(), key=lambda member: member.file_size)
    inflated = content.replace(
        largest.file_size.to_bytes(4, "little"), (2 * len(content)).to_bytes(4, "little")
    )
    assert inflated != content
    assert "larger than the file" in refusal(inflated)


def test_a_part_that_is_there_twice_is_refused(file):
    with zipfile.ZipFile(io.BytesIO(file[0])) as opened:
        parts = [(name, opened.read(name)) for name in opened.namelist()]
    with pytest.warns(UserWarning, match="Duplicate name"):
        doubled = zipped([*parts, parts[-1]])
    assert "twice" in refusal(doubled)


@pytest.mark.parametrize("dtype", ["|O", "<U8", ">f8", "<f4", "<M8[s]", "V8"])
def test_arrays_of_other_types_are_refused(file, dtype):
    """An array of objects would need pickle; it is not even tried."""
    header, arrays = archive.read_archive(file[0])
    del header["arrays"]
    content = archive.write_archive(header, {**arrays, "start": np.zeros(3)})
    npy = io.BytesIO()
    np.lib.format.write_array(npy, np.zeros(3).astype(dtype), allow_pickle=True)
    with zipfile.ZipFile(io.BytesIO(content)) as opened:
        parts = [
            (name, npy.getvalue() if name == "start.npy" else opened.read(name))
            for name in opened.namelist()
        ]
    assert "array 'start' is of an unknown type" in refusal(zipped(parts))


def test_an_array_that_claims_to_be_huge_is_not_allocated(file):
    with zipfile.ZipFile(io.BytesIO(file[0])) as opened:
        parts = {name: opened.read(name) for name in opened.namelist()}
    header = json.loads(parts["header.json"])
    header["arrays"]["start"]["shape"] = [2**55]
    parts["header.json"] = json.dumps(header)
    parts["start.npy"] = parts["start.npy"].replace(
        b"(3,), }" + b" " * 20, b"(36028797018963968,), }    "
    )
    assert "array 'start' is cut off" in refusal(zipped(parts.items()))


def test_newer_versions_are_refused(file, monkeypatch):
    header, arrays = archive.read_archive(file[0])
    monkeypatch.setattr(archive, "VERSION", 2)
    header["version"] = 2
    content = archive.write_archive(header, arrays)
    monkeypatch.undo()
    assert refusal(content).startswith("The model file has format version 2, but this gbuq reads")


# Files with right digests whose contents lie.


def lie(file, change, target="header"):
    """The file with a change to its header or arrays, and digests to match."""
    header, arrays = copy.deepcopy(archive.read_archive(file[0]))
    change(header if target == "header" else arrays)
    return archive.write_archive(header, arrays)


def put(*path, value):
    def change(content):
        for key in path[:-1]:
            content = content[key]
        content[path[-1]] = value

    return change


HEADER_LIES = {
    "kind": put("kind", value="regressor"),
    "unknown kind": put("kind", value="forest"),
    "params": put("params", value=3),
    "plan": put("plan", "depth", value=4),
    "deep plan": put("plan", "depth", value=40),
    "plan of text": put("plan", "n_trees", value="20"),
    "fewer trees": put("plan", "n_trees", value=19),
    "more models": put("plan", "n_models", value=3),
    "contradiction": put("plan", "leaf_noise", value=1),
    "unknown knob": put("plan", "speed", value=1),
    "negative seed": put("seed", value=-1),
    "seed": put("seed", value=True),
    "rows": put("n_rows", value=0),
    "seconds": put("fit_seconds", value=None),
    "features": put("n_features", value=3),
    "no features": put("n_features", value=0),
    "feature names": put("feature_names", value=["a"]),
    "names of numbers": put("feature_names", value=[1, 2, 3, 4]),
    "named": put("named", value="yes"),
    "no columns": put("columns", value=[]),
    "one column less": lambda header: header["columns"].pop(),
    "column kind": put("columns", 0, "kind", value="target"),
    "unknown column kind": put("columns", 0, "kind", value="spline"),
    "number as level": put("columns", 0, "kind", value="levels"),
    "levels of a number": put("columns", 0, "levels", value=["a"]),
    "level twice": put("columns", 1, "levels", value=["a", "a"]),
    "level of null": put("columns", 1, "levels", value=[None]),
    "no levels": put("columns", 1, "levels", value=[]),
    "many levels": put("columns", 1, "levels", value=[f"level {i}" for i in range(33)]),
    "fewer means": lambda header: header["columns"][2]["levels"].pop(),
    "missing": put("columns", 1, "has_missing", value=0),
    "name": put("columns", 1, "name", value=None),
    "one class": put("classes", "labels", value=["a"]),
    "two classes": put("classes", "labels", value=["a", "b"]),
    "class twice": put("classes", "labels", value=["a", "a", "b"]),
    "cut class": put("classes", "dtype", value="<U1"),
    "class type": put("classes", "dtype", value="<M8[s]"),
    "huge class type": put("classes", "dtype", value="<U1000000000"),
    "class of list": put("classes", "labels", value=["high", "low", []]),
    "201 classes": put("classes", "labels", value=[str(i) for i in range(201)]),
    "array list": put("columns", value=None),
}  # fmt: skip


@pytest.mark.parametrize("name", HEADER_LIES)
def test_headers_that_lie_are_refused(file, name):
    assert refusal(lie(file, HEADER_LIES[name])).startswith("The model file is damaged (")


def set_in(name, index, value):
    def change(arrays):
        arrays[name][index] = value

    return change


ARRAY_LIES = {
    "feature": set_in("features", (1, 19, 2), 6),  # one beyond the matrix's columns
    "negative feature": set_in("features", (0, 0, 0), -1),
    "bin": set_in("bins", (0, 3, 1), 255),
    "levels": set_in("levels", (0, 0), 4),
    "negative levels": set_in("levels", (1, 5), -1),
    "value": set_in("values", (0, 0, 0, 0), np.nan),
    "start": set_in("start", 0, np.inf),
    "decay": set_in("decay", (), 1.5),
    "decay of nan": set_in("decay", (), np.nan),
    "cells": set_in("n_cells", (), 0),
    "border counts": set_in("border_counts", 0, 3),
    "negative border count": set_in("border_counts", 0, -1),
    "many borders": set_in("border_counts", 0, 255),
    "borders": set_in("borders", 0, 1e9),
    "border of nan": set_in("borders", 1, np.nan),
    "codes": set_in("n_codes", 0, 7),
    "category codes": set_in("n_codes", 1, 0),
    "category": set_in("is_category", 0, True),
    "means": set_in("means_2", (0, 0), np.nan),
    "shape of values": lambda arrays: arrays.update(values=arrays["values"][:, :, :4]),
    "outputs": lambda arrays: arrays.update(values=arrays["values"][..., :2].copy()),
    "type of values": lambda arrays: arrays.update(values=arrays["values"].astype(np.int64)),
    "type of features": lambda arrays: arrays.update(features=arrays["features"].astype(np.int64)),
    "type of means": lambda arrays: arrays.update(means_2=arrays["means_2"].astype(np.int64)),
    "shape of means": lambda arrays: arrays.update(means_2=arrays["means_2"][:, :1].copy()),
    "fallback": lambda arrays: arrays.update(fallback_2=np.zeros(2)),
    "no borders": lambda arrays: arrays.pop("borders"),
    "no means": lambda arrays: arrays.pop("means_2"),
    "scalar": lambda arrays: arrays.update(decay=np.ones(1)),
}


@pytest.mark.parametrize("name", ARRAY_LIES)
def test_arrays_that_lie_are_refused(file, name):
    """Each is an index outside an array in waiting, or a number no training makes."""
    content = lie(file, ARRAY_LIES[name], "arrays")
    assert refusal(content).startswith("The model file is damaged (")


def test_unknown_parameters_point_to_a_newer_version(file):
    content = lie(file, put("params", "wings", value=2))
    assert refusal(content).startswith('The model file has the unknown parameter "wings"')


def test_parameters_newer_than_the_file_keep_their_defaults(file):
    content = lie(file, lambda header: header["params"].pop("truncation_start"))
    assert load_ensemble(content).truncation_start == 0.5


def test_a_scale_of_zero_is_refused(rng):
    model, _ = fitted("regressor", rng)
    for scale in ([0.0, 0.0], [np.nan, 1.0], [0.0, -1.0], [0.0], ["a", "b"], 3):
        content = lie((saved(model),), put("target_scale", value=scale))
        assert refusal(content).startswith("The model file is damaged (")


def test_an_engine_that_lies_is_refused(file):
    assert "CatBoost" in refusal(lie(file, put("plan", "engine", value="catboost")))


def test_catboost_models_that_lie_are_refused(rng):
    model, _ = fitted("regressor", rng, engine="catboost")
    file = (saved(model),)
    lies = {
        "header": [put("plan", "n_trees", value=19), put("plan", "n_models", value=1)],
        "arrays": [
            set_in("blob", 100, 7), set_in("blob_sizes", 0, 5), set_in("digest", 0, 7),
            set_in("is_category", 0, True), set_in("n_outputs", (), 3), set_in("decay", (), 0.0),
            set_in("n_cells", (), 0), lambda arrays: arrays.pop("blob"),
        ],
    }  # fmt: skip
    for target, changes in lies.items():
        for change in changes:
            refusal(lie(file, change, target))
