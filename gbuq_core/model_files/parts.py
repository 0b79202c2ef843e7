"""What the walker and the functions of other libraries' objects hand to each other."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from gbuq_core.errors import InvalidParameter
from gbuq_core.model_files.archive import damaged
from gbuq_core.model_files.contents import has_form, require
from gbuq_core.model_files.sklearn_trees import read_trees, store_trees


class Writing:
    """What a file will hold: arrays, those of one type in one row, and scikit-learn's trees."""

    node: Callable[..., Any]  # of a value, and where it stands, as the header's JSON

    def __init__(self) -> None:
        self._rows: dict[str, list[np.ndarray]] = {}
        self._ends: dict[str, int] = {}
        self._trees: list[Any] = []

    def array(self, array: np.ndarray) -> dict[str, Any]:
        """An array's place among those of its type, as `Reading.array` finds it."""
        kind = array.dtype.str[1:]
        begin = self._ends.get(kind, 0)
        self._rows.setdefault(kind, []).append(np.ascontiguousarray(array).ravel())
        self._ends[kind] = begin + array.size
        return {"array": kind, "from": begin, "shape": list(array.shape)}

    def content(self, content: bytes, where: str) -> Any:
        """Bytes, as `Reading.content` reads them."""
        array = np.frombuffer(content, np.uint8)
        return {"bytes": self.node(array, where), "sha256": hashlib.sha256(content).hexdigest()}

    def tree(self, tree: Any) -> int:
        """The place of a scikit-learn tree among those of the file."""
        self._trees.append(tree)
        return len(self._trees) - 1

    def all_arrays(self) -> dict[str, np.ndarray]:
        """The arrays, with those of the trees."""
        rows = {kind: np.concatenate(parts) for kind, parts in self._rows.items()}
        return rows | (store_trees(self._trees) if self._trees else {})


class Reading:
    """What a file holds; ``sources`` are the leaves of models that an importer has read."""

    value: Callable[..., Any]  # of a part of the header, and where it stands

    def __init__(self, arrays: Mapping[str, np.ndarray], trust: bool) -> None:
        self.arrays, self.trust = arrays, trust
        self.sources: dict[int, Any] = {}
        self._trees: list[Any] | None = None

    def array(self, node: Mapping[str, Any], where: str) -> np.ndarray:
        """The array at a place."""
        row, begin, shape = self.arrays.get(node["array"]), node["from"], node["shape"]
        possible = all(type(n) is int and n >= 0 for n in (begin, *shape))
        if row is None or not possible or row.ndim != 1:
            raise damaged(f"{where} is missing")
        end = begin + math.prod(shape)
        require(end <= len(row), f"{where} is cut off")
        return row[begin:end].reshape(shape)

    def content(self, node: Any, where: str) -> bytes:
        """The bytes that were written, and no others: libraries do not survive every file."""
        array = self.value(node["bytes"], where)
        require(has_form(array, np.uint8, None), f"{where} is of another type")
        content: bytes = array.tobytes()
        require(hashlib.sha256(content).hexdigest() == node["sha256"], f"{where} has changed")
        return content

    def numbers(self, node: Any, where: str, *shape: int | None) -> np.ndarray:
        """Finite float64 numbers of this shape."""
        array: np.ndarray = self.value(node, where)
        fits = has_form(array, np.float64, *shape) and np.isfinite(array).all()
        require(fits, f"{where} is impossible")
        return array

    def tree(self, place: Any) -> Any:
        """The scikit-learn tree at a place."""
        if self._trees is None:
            self._trees = read_trees(self.arrays)
        require(type(place) is int and 0 <= place < len(self._trees), "a tree does not exist")
        return self._trees[place]


class Codec(NamedTuple):
    """How objects of a class of another library are written and read."""

    write: Callable[[Any, Writing, str], Any]
    read: Callable[[Any, Reading, str, str], Any]  # also given the name that the file says
    module: str  # that offers the class
    subclasses: bool  # whether theirs are written too


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
