"""What files of all estimators hold: bytes, parameters, class labels, numbers; all checked."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gbuq_core.errors import InvalidParameter, MissingPackage, ModelFileError
from gbuq_core.file_bytes import FileKind, read_limited, write_whole
from gbuq_core.inputs import MAX_CLASSES, TargetScale
from gbuq_core.model_files.archive import damaged

MAX_FILE_BYTES = 4 * 2**30
_COPIES = 3
PLAIN_TYPES = (bool, int, float, str)
_LABEL_DTYPES = re.compile(r"\|b1|[<|>][iuf][1248]|\|O|[<>]U[0-9]{1,5}")


def read_bytes(source: Any) -> bytes:
    """The content of a path, bytes or a binary file.

    Raises
    ------
    ModelFileError
        If it cannot be read or is too large.
    """
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
    """Tell of a header that lacks or contradicts something in one sentence."""
    try:
        yield
    except (ModelFileError, MissingPackage):
        raise
    except (
        ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError,
        ValueError,
    ) as error:  # fmt: skip
        raise damaged("its header is incomplete or contradicts itself") from error


def parameters(estimator: Any) -> dict[str, Any]:
    """Constructor arguments as JSON holds them; a generator becomes the seed drawn from it.

    A ``base_model``, ``estimator`` or ``estimators`` is left out: files hold it in its own way.
    """
    values = estimator.get_params(deep=False)
    for name in ("base_model", "estimator", "estimators"):
        values.pop(name, None)
    state = values.get("random_state")
    drawn = state is not None and not isinstance(state, int | np.integer)
    if drawn and hasattr(estimator, "seed_"):
        values["random_state"] = estimator.seed_
    return {name: plain(name, value) for name, value in values.items()}


def read_parameters(header: Mapping[str, Any], known: Any) -> dict[str, Any]:
    """Constructor arguments; those that are newer than the file keep their defaults."""
    params = dict(header["params"])
    unknown = set(params) - set(known)
    if unknown:
        raise ModelFileError(
            f"The model file has the unknown parameter {json.dumps(min(unknown))}, probably from "
            "a newer version: update gbuq."
        )
    return params


def plain(name: str, value: Any) -> Any:
    """``value`` as JSON holds it: numbers, text, None, and lists of them."""
    if isinstance(value, np.generic | np.ndarray | pd.Index):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(name, item) for item in value]
    if value is None or type(value) in PLAIN_TYPES:
        return value
    raise InvalidParameter(f"{name} holds {value!r}, which cannot be saved: use plain values.")


def describe_classes(classes: np.ndarray) -> dict[str, Any]:
    """Class labels and their type as JSON holds them."""
    if not _LABEL_DTYPES.fullmatch(classes.dtype.str):
        raise InvalidParameter(
            f"the classes are of type {classes.dtype}, which cannot be saved: train on text, "
            "numbers or booleans."
        )
    labels = plain("classes", classes)
    for label in labels:
        if type(label) not in PLAIN_TYPES:
            raise InvalidParameter(f"the class {label!r} cannot be saved: use text or numbers.")
    return {"dtype": classes.dtype.str, "labels": labels}


def read_classes(described: Mapping[str, Any]) -> np.ndarray:
    """Class labels in the dtype they had; at least 2, and no label twice."""
    dtype, labels = described["dtype"], described["labels"]
    known = _LABEL_DTYPES.fullmatch(dtype) and isinstance(labels, list)
    require(known, "its classes are of an unknown type")
    require(2 <= len(labels) <= MAX_CLASSES, "the number of its classes is impossible")
    classes = np.empty(len(labels), dtype=object)
    classes[:] = labels
    require(all(type(label) in PLAIN_TYPES for label in labels), "a class is not a valid label")
    typed = classes.astype(np.dtype(dtype))
    unchanged = typed.tolist() == labels and len(set(labels)) == len(labels)
    require(unchanged, "its classes do not have the declared type")
    return typed


def describe_fit(estimator: Any) -> dict[str, Any]:
    """The part of a header that every estimator has."""
    return {
        "kind": type(estimator).__name__,
        "params": parameters(estimator),
        "seed": estimator.seed_,
        "fit_seconds": estimator.fit_seconds_,
        "n_features": estimator.n_features_in_,
        "feature_names": list(getattr(estimator, "feature_names_in_", [])),
    }


def read_fit(estimator: Any, header: Mapping[str, Any]) -> None:
    """Set what `describe_fit` has told."""
    read_columns(estimator, header)
    estimator.seed_ = whole(header["seed"], low=0)
    require(estimator.seed_ < 2**63, "a number is out of range")
    estimator.fit_seconds_ = float(header["fit_seconds"])


def read_columns(estimator: Any, header: Mapping[str, Any]) -> None:
    """Set the number of columns and their names."""
    estimator.n_features_in_ = whole(header["n_features"])
    names = header["feature_names"]
    require(isinstance(names, list), "its columns do not match")
    if names:
        matches = is_text(names) and len(names) == estimator.n_features_in_
        require(matches, "its columns do not match")
        estimator.feature_names_in_ = np.array(names, dtype=object)


def pack(name: str, content: bytes) -> dict[str, np.ndarray]:
    """Another library's file as two arrays: its bytes and their digest."""
    digest = np.frombuffer(hashlib.sha256(content).digest(), np.uint8)
    return {name: np.frombuffer(content, np.uint8), f"{name}_digest": digest}


def unpack(arrays: Mapping[str, np.ndarray], name: str) -> bytes:
    """The bytes that `pack` was given, and no others: libraries do not survive every file."""
    content: bytes = take(arrays, name, np.uint8, (None,)).tobytes()
    digest = take(arrays, f"{name}_digest", np.uint8, (32,)).tobytes()
    require(hashlib.sha256(content).digest() == digest, f"array {name!r} has changed")
    return content


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
    fits = array is not None and array.dtype == dtype and len(array.shape) == len(shape)
    if (
        array is None
        or not fits
        or any(length not in (None, own) for length, own in zip(shape, array.shape, strict=True))
    ):
        raise damaged(f"array {name!r} is missing or has another shape")
    return array


def read_target_scale(header: Mapping[str, Any]) -> TargetScale:
    """How a regression's target was standardised."""
    scale = TargetScale(*(float(value) for value in header["target_scale"]))
    usable = bool(np.isfinite(scale).all()) and scale.spread > 0.0
    require(usable, "the scale of its target is impossible")
    return scale
