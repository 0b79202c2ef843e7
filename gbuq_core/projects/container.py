"""The container of a project: a zip archive of a few named members, checked before any is read.

Members are stored, not compressed, in one order, without gaps between them: what a file asks for in
memory is what it weighs. The directory at the end is checked by itself, before the zip library
parses it. Each member has a digest in ``project.json``, and that one's own digest is the first line
of the member ``digest``.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gbuq_core.errors import GbuqError, ProjectError
from gbuq_core.file_bytes import FileKind, read_limited, stored_zip, write_bytes
from gbuq_core.presentation import shown

FORMAT = "gbuq project"
MAJOR, MINOR = 2, 0
MAX_PROJECT_BYTES = 2**30
MAX_MODELS = 200

SETTINGS, DIGEST = "project.json", "digest"
OF_CONTAINER = ("format", "version", "members")  # parts of the settings that this file reads
_MAX_SETTINGS_BYTES = 2**25
_MAX_DIRECTORY_BYTES = 2**16
_MEMBER = re.compile(r"project\.json|digest|state\.npz|table\.zlib|models/[0-9]{3}\.npz")
_END = struct.Struct("<4s4H2LH")  # the end of the directory: counts, size, offset, comment
_LOCAL_HEADER_BYTES = 30
_UNIX = 3
_COPIES = 3
_ADVICE = "write it without the data"


def write_container(settings: Mapping[str, Any], members: Mapping[str, bytes]) -> bytes:
    """The bytes of a project with these settings (anything JSON can hold) and other members."""
    described = {
        name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in sorted(members.items())
    }
    about = {"format": FORMAT, "version": [MAJOR, MINOR], **settings, "members": described}
    head = json.dumps(about, sort_keys=True, ensure_ascii=False, allow_nan=False).encode("utf-8")
    if len(head) > _MAX_SETTINGS_BYTES:
        raise ProjectError("The settings of the project are too large to save.")
    digest = hashlib.sha256(head).hexdigest().encode()
    content = stored_zip({SETTINGS: head, DIGEST: digest, **dict(sorted(members.items()))})
    if len(content) > MAX_PROJECT_BYTES:
        raise ProjectError(
            f"The project is larger than {MAX_PROJECT_BYTES // 2**30} GiB, the most that gbuq "
            f"writes: {_ADVICE}."
        )
    return content


def read_container(content: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The settings of a project and its other members, each as its digest says."""
    with errors_as_damage():
        _check_directory(content)
        try:
            archive = zipfile.ZipFile(io.BytesIO(content))
        except zipfile.BadZipFile as error:
            raise damaged("its directory is broken") from error
        with archive:
            infos = archive.infolist()
            _check_members(infos, archive.start_dir)
            about = _read_settings(archive)
            described = about["members"]
            require(isinstance(described, dict), "its members are not described")
            names = [info.filename for info in infos if info.filename not in (SETTINGS, DIGEST)]
            require(sorted(described) == sorted(names), "a part is missing or not named")
            members = {name: archive.read(name) for name in names}
    for name, member in members.items():
        description = described[name]
        fits = isinstance(description, dict) and description.get("bytes") == len(member)
        require(fits, f"{name} has another size")
        same = description.get("sha256") == hashlib.sha256(member).hexdigest()
        require(same, f"{name} has changed")
    return about, members


def read_bytes(source: Any) -> bytes:
    """The content of a path, bytes or a binary file, never more than the limit."""
    kind = FileKind("project", ProjectError, MAX_PROJECT_BYTES, _ADVICE, _COPIES)
    return read_limited(source, kind)[0]


def write_project(content: bytes, target: Any) -> None:
    """Write a whole file or none: to a path, which is replaced, or into a binary file."""
    is_path = not hasattr(target, "write")
    if is_path and Path(target).exists() and not Path(target).is_file():
        raise ProjectError(f"{target} is not a regular file: choose another path for the project.")
    try:
        write_bytes(content, target)
    except OSError as error:
        if not is_path:
            raise
        raise ProjectError(
            f"{target} cannot be written ({error.strerror}): choose another path for the project."
        ) from None


def damaged(why: str) -> ProjectError:
    """The error for a project of ours with something wrong in it."""
    return ProjectError(f"The project file is damaged ({why}): save the project again.")


def foreign() -> ProjectError:
    """The error for a file that `write_container` has never written."""
    return ProjectError(
        "This is not a gbuq project: choose a file that gbuq fit or save_project has written."
    )


def require(condition: Any, why: str) -> None:
    """Refuse a damaged project unless the condition holds."""
    if not condition:
        raise damaged(why)


@contextmanager
def errors_as_damage() -> Iterator[None]:
    """Tell of whatever does not fit together in one sentence."""
    try:
        yield
    except GbuqError:
        raise
    except (
        ArithmeticError,
        AttributeError,
        EOFError,
        LookupError,
        MemoryError,
        OSError,
        RuntimeError,
        SyntaxError,
        TypeError,
        ValueError,
        struct.error,
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        raise damaged("a part is missing or contradicts another") from error


def _check_directory(content: bytes) -> None:
    """Look at the last 22 bytes, which say how large the directory is, before it is parsed."""
    if content[:4] != b"PK\x03\x04":
        raise foreign()
    require(len(content) > _END.size, "it is cut off")
    end = _END.unpack(content[-_END.size :])
    mark, disk, first_disk, here, entries, size, offset, comment = end
    require(mark == b"PK\x05\x06", "its end is missing")
    plain = disk == first_disk == comment == 0 and here == entries
    require(plain, "it must be one zip archive without a comment")
    most = f"its directory must have at most {_MAX_DIRECTORY_BYTES:,} bytes, but it says {size:,}"
    require(size <= _MAX_DIRECTORY_BYTES, most)
    counts = 2 <= entries <= MAX_MODELS + 4
    require(counts, f"it must have 2 to {MAX_MODELS + 4} parts, but it says {entries:,}")
    ends = offset + size + _END.size == len(content)
    require(ends, "its directory must end the file, but it says to be elsewhere")


def _check_members(infos: list[zipfile.ZipInfo], n_bytes: int) -> None:
    """Refuse names, kinds and sizes that `write_container` does not write, before reading any."""
    names = [info.filename for info in infos]
    if SETTINGS not in names or DIGEST not in names:
        raise foreign()
    place = 0
    for info in sorted(infos, key=lambda info: info.header_offset):
        name = info.filename
        known = _MEMBER.fullmatch(name) and info.orig_filename == name
        require(known, f"no part of a project is called {shown(name)}")
        mode = info.external_attr >> 16
        require(info.create_system != _UNIX or not stat.S_IFMT(mode), "a part is a link")
        require(not info.flag_bits, "a part is encrypted or packed in another way")
        stored = info.compress_type == zipfile.ZIP_STORED and info.file_size == info.compress_size
        require(stored, "a part is compressed, but projects never are")
        bare = not info.extra and not info.comment
        require(bare, "a part has a comment or further fields, but projects have none")
        require(info.header_offset == place, "its parts overlap or leave gaps")
        place += _LOCAL_HEADER_BYTES + len(name) + info.file_size
        require(place <= n_bytes, "a part claims to be larger than the file")
    require(place == n_bytes, "its parts overlap or leave gaps")
    require(len(set(names)) == len(names), "it holds a part twice")
    sizes = {info.filename: info.file_size for info in infos}
    require(sizes[SETTINGS] <= _MAX_SETTINGS_BYTES, "its settings are too large")
    require(sizes[DIGEST] == 64, f"its digest must have 64 bytes, but it has {sizes[DIGEST]:,}")


def _read_settings(archive: zipfile.ZipFile) -> dict[str, Any]:
    head = archive.read(SETTINGS)
    digest = archive.read(DIGEST).decode("ascii")
    require(hashlib.sha256(head).hexdigest() == digest, f"{SETTINGS} has changed")
    about = json.loads(
        head.decode("utf-8"),
        object_pairs_hook=_once,
        parse_constant=_finite,
        parse_float=_finite,
    )
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise foreign()
    version: Any = about.get("version")
    whole = isinstance(version, list) and len(version) == 2
    require(whole and all(type(n) is int and n >= 0 for n in version), "it has no version")
    require(version[0] >= 1, "it has no version")
    if version[0] != MAJOR:
        raise ProjectError(
            f"The project has format version {version[0]}.{version[1]}, but this gbuq reads "
            f"version {MAJOR}: {'update gbuq' if version[0] > MAJOR else 'train again'}."
        )
    return about


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    settings = dict(pairs)
    require(len(settings) == len(pairs), "a setting is there twice")
    return settings


def _finite(text: str) -> float:
    number = float(text)
    require(math.isfinite(number), "a number is not finite")
    return number
