"""What files of models hold: bytes, numbers and arrays; how they are checked and refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from gbuq_core.errors import InvalidParameter, MissingPackage, ModelFileError
from gbuq_core.file_bytes import FileKind
from gbuq_core.model_files.archive import damaged

MODEL_FILE = FileKind("model file", ModelFileError, 4 * 2**30, "pass another file", copies=3)
PLAIN_TYPES = (bool, int, float, str)


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


def has_form(array: Any, dtype: Any, *shape: int | None) -> bool:
    """Whether it is an array of this type and shape; None stands for any length."""
    fits = isinstance(array, np.ndarray) and array.dtype == dtype and array.ndim == len(shape)
    return fits and all(n in (None, own) for n, own in zip(shape, array.shape, strict=True))


def take(
    arrays: Mapping[str, np.ndarray], name: str, dtype: Any, shape: tuple[int | None, ...]
) -> np.ndarray:
    """An array of this type and shape."""
    if not has_form(arrays.get(name), dtype, *shape):
        raise damaged(f"array {name!r} is missing or has another shape")
    return arrays[name]


def check_arrays(record: Any, **forms: tuple[Any, ...]) -> None:
    """Refuse a record unless its arrays have these types and shapes."""
    for name, (dtype, *shape) in forms.items():
        array, what = getattr(record, name), f"{name} of its {type(record).__name__}"
        is_float = dtype in ("finite", "number")
        fits = has_form(array, np.float64 if is_float else dtype, *shape)
        require(fits, f"{what} has another type or shape")
        if is_float:
            bad = ~np.isfinite(array) if dtype == "finite" else np.isnan(array)
            require(not bad.any(), f"{what} is not finite")


def check_places(places: np.ndarray, n: int, what: str) -> None:
    """Refuse places outside 0 to n - 1."""
    require(((places >= 0) & (places < n)).all(), f"{what} does not exist")
