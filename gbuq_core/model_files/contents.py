"""What files of models hold: bytes, numbers and arrays; how they are checked and refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gbuq_core.errors import InvalidParameter, MissingPackage, ModelFileError
from gbuq_core.file_bytes import FileKind

MODEL_FILE = FileKind("model file", ModelFileError, 4 * 2**30, "pass another file", copies=3)
PLAIN_TYPES = (bool, int, float, str)
Arrays = dict[str, np.ndarray]  # by the names that they have in a file


def damaged(why: str) -> ModelFileError:
    """The error for a file of ours with something wrong in it."""
    return ModelFileError(f"The model file is damaged ({why}): save the model again.")


def newer(what: str) -> ModelFileError:
    """The error for a file that a later version has written."""
    return ModelFileError(f"The model file {what}, probably from a newer version: update gbuq.")


def foreign() -> ModelFileError:
    """The error for a file that `write_archive` has never written."""
    return ModelFileError("This is not a gbuq model file: pass a file that save() wrote.")


def require(condition: Any, why: str) -> None:
    """Refuse a damaged file unless the condition holds."""
    if not condition:
        raise damaged(why)


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
        ArithmeticError,
        AttributeError,
        LookupError,
        MemoryError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        raise damaged("its parts are incomplete or contradict each other") from error


def whole(value: Any) -> int:
    """A whole number from 1."""
    require(type(value) is int and value >= 1, "a number is out of range")
    return int(value)


def is_text(values: Any) -> bool:
    """Whether it is a list of text."""
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


def library_name(value: Any) -> str:
    """A class's library and name, as in "lightgbm.Booster"."""
    kind = value if isinstance(value, type) else type(value)
    return f"{kind.__module__.partition('.')[0]}.{kind.__name__}"


def no_file_format(model: Any) -> InvalidParameter:
    """The error for a model that only pickle could hold."""
    return InvalidParameter(
        f"A {type(model).__name__} has no file format without pickle, so it cannot be saved: use "
        "CatBoost, LightGBM, XGBoost, gbuq's own or one of scikit-learn's regression forests and "
        "boosting."
    )


def has_form(array: Any, dtype: Any, *shape: int | None) -> bool:
    """Whether it is an array of this type and shape; None stands for any length."""
    fits = isinstance(array, np.ndarray) and array.dtype == dtype and array.ndim == len(shape)
    return fits and all(n in (None, own) for n, own in zip(shape, array.shape, strict=True))


def take(arrays: Arrays, name: str, dtype: Any, shape: tuple[int | None, ...]) -> np.ndarray:
    """An array of this type and shape."""
    fits = has_form(arrays.get(name), dtype, *shape)
    require(fits, f"array {name!r} is missing or has another shape")
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
