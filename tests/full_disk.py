"""A disk that has no room left for what is written."""

import errno
import tempfile
from contextlib import contextmanager


class FullDisk:
    """A file whose disk takes so many bytes."""

    def __init__(self, file, room):
        self.file, self.room = file, room

    def write(self, data):
        self.file.write(data[: max(0, self.room)])
        self.room -= len(data)
        if self.room < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return len(data)

    def writelines(self, lines):
        for line in lines:
            self.write(line)

    def __getattr__(self, name):
        return getattr(self.file, name)


def fill_disk(monkeypatch):
    """Let temporary files stand on a disk with four bytes left."""
    make = tempfile.NamedTemporaryFile

    @contextmanager
    def on_a_full_disk(**options):
        with make(**options) as file:
            yield FullDisk(file, 4)

    monkeypatch.setattr(tempfile, "NamedTemporaryFile", on_a_full_disk)
