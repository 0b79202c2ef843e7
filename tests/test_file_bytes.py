"""Files read up to a limit, and written whole or not at all; every room's readers."""

import io
import os

import pytest

from gbuq_core.errors import GbuqError, InvalidParameter, ModelFileError, ProjectError
from gbuq_core.file_bytes import FileKind, read_limited, replacing, write_bytes, write_whole
from gbuq_core.given_models import read_model
from gbuq_core.model_files.fields import load
from gbuq_core.projects import open_project
from gbuq_core.trees.importers import load_leaf_source

KIND = FileKind("model file", ModelFileError, 4, "pass another file")
LARGE = "The model file is larger than 4 bytes, the largest size that is read: pass another file."


def test_content_and_name(tmp_path):
    path = tmp_path / "m.bin"
    path.write_bytes(b"abcd")
    for source in (path, str(path)):
        assert read_limited(source, KIND) == (b"abcd", "m.bin")
    with path.open("rb") as file:
        assert read_limited(file, KIND) == (b"abcd", "m.bin")
    for source in (b"abcd", bytearray(b"abcd"), memoryview(b"abcd"), io.BytesIO(b"abcd")):
        assert read_limited(source, KIND) == (b"abcd", "")
    path.write_bytes(b"abcde")
    for source in (path, b"abcde", memoryview(b"abcdef").cast("H"), io.BytesIO(b"abcde")):
        with pytest.raises(ModelFileError) as caught:
            read_limited(source, KIND)
        assert str(caught.value) == LARGE


@pytest.mark.parametrize(
    ("read", "error"),
    [
        (load, ModelFileError),
        (load_leaf_source, ModelFileError),
        (read_model, ModelFileError),
        (open_project, ProjectError),
    ],
)
def test_every_reader_says_what_a_file_is_not(read, error, tmp_path):
    what = "project" if error is ProjectError else "model file"
    pipe = tmp_path / "pipe"
    devices = ["/dev/zero"] if os.path.exists("/dev/zero") else []
    if hasattr(os, "mkfifo"):
        os.mkfifo(pipe)  # nobody writes into it: opened, it would be waited for
        devices.append(pipe)
    cases = {
        f"There is no {what} ": [tmp_path / "none", "a\0b", ""],
        f" is not a regular file: give the path of a {what}.": [tmp_path, *devices],
        f"The {what} is open as text: open it in binary mode": [io.StringIO("text")],
    }
    for sentence, sources in cases.items():
        for source in sources:
            with pytest.raises(error) as caught:
                read(source)
            assert sentence in str(caught.value)
            assert "\n" not in str(caught.value)
    with pytest.raises(InvalidParameter, match=f"A {what} is a path, bytes or a binary file; got"):
        read(7)


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    path = tmp_path / "m.bin"
    path.write_bytes(b"abcd")

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(GbuqError) as caught:
        read_limited(path, KIND)
    assert str(caught.value) == (
        'The model file "m.bin" cannot be read (Permission denied): check the path and its '
        "permissions."
    )


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / ("n" * 250)  # nearly as long as names can be
    write_whole(b"first", path)

    def interrupted():
        with replacing(path) as file:
            file.write(b"second")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_bytes() == b"first"
    mask = os.umask(0o077)
    try:
        write_whole(b"second", path)
    finally:
        os.umask(mask)
    assert path.read_bytes() == b"second"
    if os.name == "posix":
        assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.name != "posix", reason="links need no rights on POSIX only")
def test_a_model_file_that_cannot_be_written_leaves_the_one_before(tmp_path, monkeypatch):
    path, link = tmp_path / "model.gbuq", tmp_path / "link.gbuq"
    write_bytes(b"first", path)
    link.symlink_to(path)
    write_bytes(b"second", link)
    assert link.is_symlink()
    assert path.read_bytes() == b"second"

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_bytes(b"third", path)
    assert path.read_bytes() == b"second"
    assert sorted(tmp_path.iterdir()) == [link, path]
    monkeypatch.undo()
    with pytest.raises(IsADirectoryError):
        write_bytes(b"", tmp_path)
