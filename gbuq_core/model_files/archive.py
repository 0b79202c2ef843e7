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

FORMAT = "gbuq boosted ensemble"
VERSION = 1

_HEADER = "header.json"
_ALLOWED_DTYPES = (*("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f4", "<f8"),)


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
            expected = {_HEADER, *(f"{name}.npy" for name in arrays)}
            if set(archive.namelist()) != expected:
                raise damaged("it holds parts that its header does not name")
    except ModelFileError:
        raise
    except zipfile.BadZipFile as error:
        if content[:2] == b"PK":
            raise damaged("a part is missing or changed") from error
        raise foreign() from error
    except (
        ArithmeticError, AttributeError, EOFError, LookupError, NotImplementedError, OSError,
        RecursionError, RuntimeError, SyntaxError, TypeError, ValueError,
    ) as error:  # fmt: skip
        raise damaged("a part is missing or changed") from error
    return header, arrays


def damaged(why: str) -> ModelFileError:
    """The error for a file of ours with something wrong in it."""
    return ModelFileError(f"The model file is damaged ({why}): save the model again.")


def foreign() -> ModelFileError:
    """The error for a file that `write_archive` has never written."""
    return ModelFileError("This is not a gbuq model file: pass a file that save() wrote.")


def _read_header(archive: zipfile.ZipFile, size: int) -> dict[str, Any]:
    """The checked header; looks at the archive's own directory before anything is read."""
    members = archive.infolist()
    if _HEADER not in archive.namelist():
        raise foreign()
    if len({member.filename for member in members}) < len(members):
        raise damaged("it holds a part twice")
    if any(member.compress_type != zipfile.ZIP_STORED for member in members):
        raise damaged("its parts are compressed, but save() never compresses")
    if sum(member.file_size for member in members) > size:
        raise damaged("its parts claim to be larger than the file")
    header = json.loads(archive.read(_HEADER).decode("utf-8"))
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise foreign()
    version = header.get("version")
    if type(version) is not int or version < 1:
        raise damaged("it has no version")
    if version > VERSION:
        raise ModelFileError(
            f"The model file has format version {version}, but this gbuq reads versions up to "
            f"{VERSION}: update gbuq."
        )
    return header


def _read_array(archive: zipfile.ZipFile, name: str, described: Mapping[str, Any]) -> np.ndarray:
    """One array, allocated only after its size was found in the file."""
    content = archive.read(f"{name}.npy")
    file = io.BytesIO(content)
    if np.lib.format.read_magic(file) != (1, 0):
        raise damaged(f"array {name!r} is of an unknown version")
    shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(file)
    payload = memoryview(content)[file.tell() :]
    if dtype.str not in _ALLOWED_DTYPES or is_fortran:
        raise damaged(f"array {name!r} is of an unknown type")
    if dtype.str != described["dtype"] or list(shape) != described["shape"]:
        raise damaged(f"array {name!r} does not match the header")
    if any(length < 0 for length in shape) or math.prod(shape) * dtype.itemsize != len(payload):
        raise damaged(f"array {name!r} is cut off")
    if hashlib.sha256(payload).hexdigest() != described["sha256"]:
        raise damaged(f"array {name!r} has changed")
    return np.frombuffer(payload, dtype).reshape(shape).copy()
