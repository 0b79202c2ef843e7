"""What files of models hold: bytes, numbers and arrays; how they are checked and refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from gbuq_core.errors import InvalidParameter, MissingPackage, ModelFileError
from gbuq_core.file_bytes import FileKind, read_limited, write_whole
from gbuq_core.model_files.archive import damaged

MAX_FILE_BYTES = 4 * 2**30
_COPIES = 3
PLAIN_TYPES = (bool, int, float, str)


def read_bytes(source: Any) -> bytes:
    """The content of a path, bytes or a binary file."""
    kind = FileKind("model file", ModelFileError, MAX_FILE_BYTES, "pass another file", _COPIES)
    return read_limited(source, kind)[0]


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


@contextmanager
def errors_as_damage() -> Iterator[None]:
    """Say in one sentence that a file lacks or contradicts something."""
    try:
        yield
    except (ModelFileError, MissingPackage):
        raise
    except InvalidParameter as error:
        raise damaged(str(error).partition(":")[0].rstrip(".")) from error
    except (
        ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError,
        ValueError,
    ) as error:  # fmt: skip
        raise damaged("its parts are incomplete or contradict each other") from error


def whole(value: Any, low: int = 1) -> int:
    """A whole number from ``low``."""
    require(type(value) is int and value >= low, "a number is out of range")
    return int(value)


def is_text(values: Any) -> bool:
    """Whether it is a list of text."""
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


def require(condition: Any, why: str) -> None:
    """Refuse a damaged file unless the condition holds."""
    if not condition:
        raise damaged(why)


def take(
    arrays: Mapping[str, np.ndarray], name: str, dtype: Any, shape: tuple[int | None, ...]
) -> np.ndarray:
    """An array of this type and shape; None stands for any length."""
    array = arrays.get(name)
    if array is None or not _has_form(array, dtype, shape):
        raise damaged(f"array {name!r} is missing or has another shape")
    return array


def check_arrays(record: Any, **forms: tuple[Any, ...]) -> None:
    """Refuse a record unless its arrays have these types and shapes."""
    for name, (dtype, *shape) in forms.items():
        array = getattr(record, name)
        is_float = dtype in ("finite", "number")
        fits = isinstance(array, np.ndarray)
        fits = fits and _has_form(array, np.float64 if is_float else dtype, tuple(shape))
        require(fits, f"{name} of its {type(record).__name__} has another type or shape")
        if is_float:
            bad = ~np.isfinite(array) if dtype == "finite" else np.isnan(array)
            require(not bad.any(), f"{name} of its {type(record).__name__} is not finite")


def check_places(places: np.ndarray, n: int, what: str) -> None:
    """Refuse places outside 0 to n - 1."""
    require(((places >= 0) & (places < n)).all(), f"{what} does not exist")


def begins(sizes: np.ndarray) -> np.ndarray:
    """Where parts of these sizes begin, and the end of the last, (n + 1,) int64."""
    begin: np.ndarray = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return begin


def check_rising(values: np.ndarray, begin: np.ndarray) -> None:
    """Refuse values that fall within a part; parts begin at ``begin``."""
    inside = np.diff(np.repeat(np.arange(len(begin) - 1), np.diff(begin))) == 0
    require((values[1:] >= values[:-1])[inside].all(), "its quantiles do not rise")


def _has_form(array: np.ndarray, dtype: Any, shape: tuple[int | None, ...]) -> bool:
    same = array.dtype == dtype and array.ndim == len(shape)
    return same and all(
        length in (None, own) for length, own in zip(shape, array.shape, strict=True)
    )
