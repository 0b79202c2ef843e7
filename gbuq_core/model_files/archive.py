"""The container of a saved model: an npz file with a JSON header and a digest of every array.

The file is a zip archive of ``header.json`` and one ``.npy`` member an array, so `numpy.load` opens
it too. Members are stored, not compressed: what a file asks for in memory is what it weighs, and
leaf values with noise in them do not compress anyway. Nothing in it is ever executed or unpickled.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from gbuq_core.errors import ModelFileError
from gbuq_core.file_bytes import stored_zip
from gbuq_core.model_files.contents import damaged, foreign, newer, require

FORMAT = "gbuq boosted ensemble"
VERSION = 1

_HEADER = "header.json"
_ALLOWED_DTYPES = ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f4", "<f8")


def write_archive(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """The bytes of a file with ``header`` (anything JSON can hold) and ``arrays``."""
    members: dict[str, bytes] = {_HEADER: b""}
    described: dict[str, Any] = {}
    for name, array in arrays.items():
        plain = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(array.shape)
        described[name] = {
            "dtype": plain.dtype.str,
            "shape": list(plain.shape),
            "sha256": hashlib.sha256(plain.tobytes()).hexdigest(),
        }
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, plain, allow_pickle=False)
        members[f"{name}.npy"] = buffer.getvalue()
    full = {"format": FORMAT, "version": VERSION, **header, "arrays": described}
    return stored_zip({**members, _HEADER: json.dumps(full).encode()})


def read_archive(content: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header and the arrays of a file, each array writable and as its digest says."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            header = _read_header(archive, len(content))
            arrays = {
                name: _read_array(archive, name, description)
                for name, description in header["arrays"].items()
            }
            same = set(archive.namelist()) == {_HEADER, *(f"{name}.npy" for name in arrays)}
            require(same, "it holds parts that its header does not name")
    except ModelFileError:
        raise
    except zipfile.BadZipFile as error:
        is_zip = content[:2] == b"PK"
        raise (damaged("a part is missing or changed") if is_zip else foreign()) from error
    except (
        ArithmeticError,
        AttributeError,
        EOFError,
        LookupError,
        OSError,
        RuntimeError,
        SyntaxError,
        TypeError,
        ValueError,
    ) as error:
        raise damaged("a part is missing or changed") from error
    return header, arrays


def _read_header(archive: zipfile.ZipFile, size: int) -> dict[str, Any]:
    """The checked header; looks at the archive's own directory before anything is read."""
    members = archive.infolist()
    if _HEADER not in archive.namelist():
        raise foreign()
    require(len({m.filename for m in members}) == len(members), "it holds a part twice")
    stored = all(member.compress_type == zipfile.ZIP_STORED for member in members)
    require(stored, "its parts are compressed, but save() never compresses")
    fits = sum(member.file_size for member in members) <= size
    require(fits, "its parts claim to be larger than the file")
    header = json.loads(archive.read(_HEADER).decode("utf-8"))
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise foreign()
    version = header.get("version", 0)
    require(type(version) is int and version >= 1, "it has no version")
    if version > VERSION:
        raise newer(f"has format version {version} (this gbuq reads {VERSION})")
    return header


def _read_array(archive: zipfile.ZipFile, name: str, described: Mapping[str, Any]) -> np.ndarray:
    """One array, allocated only after its size was found in the file."""
    content = archive.read(f"{name}.npy")
    file = io.BytesIO(content)
    known = np.lib.format.read_magic(file) == (1, 0)
    require(known, f"array {name!r} is of an unknown version")
    shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(file)
    payload = memoryview(content)[file.tell() :]
    known = dtype.str in _ALLOWED_DTYPES and not is_fortran
    require(known, f"array {name!r} is of an unknown type")
    same = [dtype.str, list(shape)] == [described["dtype"], described["shape"]]
    require(same, f"array {name!r} does not match the header")
    n_bytes = math.prod(shape) * dtype.itemsize
    require(min(shape, default=0) >= 0 and n_bytes == len(payload), f"array {name!r} is cut off")
    same = hashlib.sha256(payload).hexdigest() == described["sha256"]
    require(same, f"array {name!r} has changed")
    return np.frombuffer(payload, dtype).reshape(shape).copy()
