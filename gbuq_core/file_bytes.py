"""Files as bytes: read up to a limit, and written whole or not at all."""

from __future__ import annotations

import io
import os
import stat
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from gbuq_core.errors import GbuqError, InvalidParameter
from gbuq_core.presentation import format_bytes, shown
from gbuq_core.resources import check_memory


class FileKind(NamedTuple):
    """What a file should be, for the sentence about one that cannot be read."""

    what: str  # such as "model file"
    error: type[GbuqError]
    most: int  # bytes
    advice: str  # what to do about a larger one: "pass another file"
    # how many times its size is held in memory while it is read; 0 leaves that unchecked
    copies: int = 0


def read_limited(source: Any, kind: FileKind) -> tuple[bytes, str]:
    """The content of a regular file, and its name; a device or a pipe may have no end."""
    if isinstance(source, bytes | bytearray | memoryview):
        _check_size(memoryview(source).nbytes, kind)
        return bytes(source), ""
    if hasattr(source, "read"):
        content = source.read(kind.most + 1)
        if not isinstance(content, bytes):
            raise kind.error(f"The {kind.what} is open as text: open it in binary mode ('rb').")
        _check_size(len(content), kind)
        return content, Path(str(getattr(source, "name", ""))).name
    if not isinstance(source, str | os.PathLike):
        raise InvalidParameter(
            f"A {kind.what} is a path, bytes or a binary file; got {type(source).__name__}."
        )
    return _read_path(source, kind), Path(os.fspath(source)).name


def _read_path(source: str | os.PathLike[str], kind: FileKind) -> bytes:
    name = shown(Path(os.fspath(source)).name)
    try:
        about = os.stat(source)
        if not stat.S_ISREG(about.st_mode):
            raise kind.error(f"{name} is not a regular file: give the path of a {kind.what}.")
        _check_size(about.st_size, kind)
        if kind.copies:
            check_memory(kind.copies * about.st_size, f"this {kind.what}")
        with open(source, "rb") as file:
            content = file.read(kind.most + 1)
    except FileNotFoundError:
        raise kind.error(f"There is no {kind.what} {name}: check the path.") from None
    except OSError as error:
        raise kind.error(
            f"The {kind.what} {name} cannot be read ({error.strerror}): check the path and its "
            "permissions."
        ) from None
    except GbuqError:
        raise
    except ValueError:  # characters that no path can have
        raise kind.error(f"There is no {kind.what} {name}: check the path.") from None
    _check_size(len(content), kind)  # it may have grown
    return content


def _check_size(n_bytes: int, kind: FileKind) -> None:
    if n_bytes > kind.most:
        raise kind.error(
            f"The {kind.what} is larger than {_size(kind.most)}, the largest size that is read: "
            f"{kind.advice}."
        )


def _size(n_bytes: int) -> str:
    """As limits are written: in binary units where they are round in them."""
    if n_bytes % 2**30 == 0:
        return f"{n_bytes // 2**30} GiB"
    return f"{n_bytes:,} bytes" if n_bytes < 10_000 else format_bytes(n_bytes)


@contextmanager
def replacing(path: Path, prefix: str = ".gbuq-") -> Iterator[BinaryIO]:
    """A file to write into, which takes the place of what has its name once the block ends."""
    new = None
    try:
        # Not named after the path, whose name may be as long as names can be.
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=prefix, delete=False) as file:
            new = file.name
            yield file  # type: ignore[misc]
            file.flush()
            os.fsync(file.fileno())
        os.chmod(new, 0o666 & ~_umask())
        os.replace(new, path)
        new = None
    finally:
        if new is not None:
            with suppress(OSError):  # the disk may be gone
                os.unlink(new)


def write_whole(content: bytes, path: Path) -> None:
    """Write a whole file or none, see `replacing`."""
    with replacing(path) as file:
        file.write(content)


def write_bytes(content: bytes, target: Any) -> None:
    """Write to a binary file, or to a path: the whole file, or what was there stays."""
    if hasattr(target, "write"):
        target.write(content)
        return
    path = Path(target).resolve()  # a link stays one
    if path.exists() and not path.is_file():
        path.write_bytes(content)  # a pipe; for a folder, the system's own error
    else:
        write_whole(content, path)


def stored_zip(members: Mapping[str, bytes]) -> bytes:
    """A zip archive of these, not compressed, without a clock: one content gives one file."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            member = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            member.create_system, member.external_attr = 3, 0o600 << 16  # whatever system this is
            archive.writestr(member, content)
    return file.getvalue()


def _umask() -> int:
    """The permissions that new files must not have; it can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
