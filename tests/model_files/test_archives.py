"""The container: files that are no saved model, cut off, changed or too large are refused."""

import io
import json
import zipfile

import numpy as np
import pytest

from gbuq_core import file_bytes, load
from gbuq_core.errors import InvalidParameter, MemoryLimitExceeded, ModelFileError
from gbuq_core.model_files import archive, contents, fields
from tests.model_files.saved_models import file_of, model_of, rows_of


def refusal(content):
    """The sentence with which ``content`` is refused."""
    with pytest.raises(ModelFileError) as caught:
        load(content)
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


def members_of(content):
    with zipfile.ZipFile(io.BytesIO(content)) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"a,b\n1,2\n",
        b"\x80\x04\x95junk",
        bytes(1000),
        npz(a=np.arange(3)),
        zipped([]),
        zipped([("header.json", "{}")]),
        zipped([("header.json", "[1]")]),
        zipped([("header.json", '{"format": "other"}')]),
    ],
    ids=["empty", "csv", "pickle", "zeros", "npz", "empty zip", "no format", "list", "other"],
)
def test_foreign_files_are_refused(content):
    assert refusal(content).startswith("This is not a gbuq model file")


def test_files_that_cannot_be_read(tmp_path):
    for source in (tmp_path / "none.npz", "a\0b"):
        assert refusal(source).startswith("There is no model file ")
    assert "is not a regular file: give the path of a model file." in refusal(tmp_path)
    assert refusal(io.StringIO("text")).startswith("The model file is open as text")
    with pytest.raises(InvalidParameter, match=r"^A model file is a path, bytes [^\n]*\.$"):
        load(7)


def test_files_too_large_are_refused_before_they_are_read(tmp_path, monkeypatch):
    path = tmp_path / "large.npz"
    path.write_bytes(bytes(5000))
    with monkeypatch.context() as patched:
        patched.setattr(fields, "MODEL_FILE", contents.MODEL_FILE._replace(most=4999))
        for source in (path, io.BytesIO(bytes(5000))):
            assert refusal(source).startswith("The model file is larger than")
    asked = []

    def check_memory(n_bytes, what):
        asked.append((n_bytes, what))
        raise MemoryLimitExceeded("too large.")

    monkeypatch.setattr(file_bytes, "check_memory", check_memory)
    with pytest.raises(MemoryLimitExceeded):
        load(path)
    assert asked == [(15_000, "this model file")]


@pytest.fixture(scope="module")
def file():
    """A saved classifier of three classes with every kind of column."""
    model = model_of("boosted three")
    new = rows_of(model)
    return file_of("boosted three"), model.predict_members(new), new


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
            predicted = load(bytes(changed)).predict_members(new)
        except ModelFileError:
            refused += 1
        else:
            np.testing.assert_array_equal(predicted, expected)
    assert refused > 250


def test_text_behind_the_archive_is_no_matter_but_a_hidden_part_is(file):
    content, expected, new = file
    with io.BytesIO(content) as buffer:
        with zipfile.ZipFile(buffer, "a") as opened:
            opened.writestr("more.npy", b"x")
        assert "does not name" in refusal(buffer.getvalue())
    np.testing.assert_array_equal(load(b"#!" + content).predict_members(new), expected)


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
    largest = max(map(len, members_of(content).values()))
    inflated = content.replace(
        largest.to_bytes(4, "little"), (2 * len(content)).to_bytes(4, "little")
    )
    assert inflated != content
    assert "larger than the file" in refusal(inflated)


def test_a_part_that_is_there_twice_is_refused(file):
    parts = [*members_of(file[0]).items()]
    with pytest.warns(UserWarning, match="Duplicate name"):
        doubled = zipped([*parts, parts[-1]])
    assert "twice" in refusal(doubled)


@pytest.mark.parametrize("dtype", ["|O", "<U8", ">f8", "<f2", "<M8[s]", "V8"])
def test_arrays_of_other_types_are_refused(file, dtype):
    """An array of objects would need pickle; it is not even tried."""
    header, arrays = archive.read_archive(file[0])
    del header["arrays"]
    content = archive.write_archive(header, {**arrays, "start": np.zeros(3)})
    npy = io.BytesIO()
    np.lib.format.write_array(npy, np.zeros(3).astype(dtype), allow_pickle=True)
    parts = members_of(content) | {"start.npy": npy.getvalue()}
    assert "array 'start' is of an unknown type" in refusal(zipped(parts.items()))


def test_an_array_that_claims_to_be_huge_is_not_allocated(file):
    parts = members_of(file[0])
    header = json.loads(parts["header.json"])
    header["arrays"]["f8"]["shape"] = [2**55]
    parts["header.json"] = json.dumps(header)
    npy = parts["f8.npy"]
    first, last = npy.index(b"'shape': ("), npy.index(b"), }")
    huge = b"'shape': (36028797018963968,), }"
    used = len(npy[:last]) + 4
    parts["f8.npy"] = npy[:first] + huge + npy[used + len(huge) - (used - first) :]
    assert "array 'f8' is cut off" in refusal(zipped(parts.items()))


def test_newer_versions_are_refused(file, monkeypatch):
    header, arrays = archive.read_archive(file[0])
    monkeypatch.setattr(archive, "VERSION", 2)
    header["version"] = 2
    content = archive.write_archive(header, arrays)
    monkeypatch.undo()
    assert refusal(content).startswith(
        "The model file has format version 2 (this gbuq reads 1), probably"
    )
