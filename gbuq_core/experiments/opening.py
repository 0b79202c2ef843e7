"""What a page shows before anything is fitted: results of its first settings, stored beside it.

``python -m benchmarks.openings`` computes and writes them. The walker of `gbuq_core.model_files`
writes their records, without what is quickly made again, such as the rows. Numbers with a fraction
keep `BITS` bits, which is finer than a screen's pixels and colours; all others stay as they are.
"""

from __future__ import annotations

import json
import lzma
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from gbuq_core.model_files.fields import Reader, Writer

FOLDER = Path(__file__).parent
BITS = 20  # of a number with a fraction: it is off by a millionth of itself at most
_SINGLE = 23  # bits of a float32
# What only a fit here has, of the records that have a field for it.
_HERE = {"model": None, "seconds": math.nan, "memory_bytes": None}
_END = b"\0"  # of the description, which has no such byte


@dataclass(frozen=True, kw_only=True, eq=False)
class Opening:
    """The stored results of an experiment: how they are made, and which of them there are."""

    name: str  # of the experiment's folder
    folder: Path = FOLDER  # where that one is
    file: str = "opening"
    kind: type  # of a result
    make: Callable[[Any], Any]  # the result of a plan
    plans: Callable[[], Sequence[Hashable]]  # of the settings with which the page opens
    # `first`, `depends`: the settings whose view the results hold besides their fits, and what that
    # view depends on, of any settings; without them they hold no view
    first: Any = None
    depends: Callable[[Any], Hashable] = lambda settings: None
    # other fields that are not stored: what is made again as quickly as it is read
    afresh: Callable[[Any], Mapping[str, Any]] = lambda plan: {}
    bits: int = BITS  # fewer where no small difference of large numbers is shown
    # whether they are bits of the largest number of an array instead, which suits shares
    fixed: bool = False
    restore: Callable[[Any], Any] = lambda result: result  # what is read, with what follows from it

    @property
    def path(self) -> Path:
        """Where they are stored."""
        return self.folder / self.name / f"{self.file}.xz"

    def find(self, plan: Hashable) -> Any:
        """The stored result of a plan, the same object each time; None if there is none."""
        return _read(self).get(plan)

    def answer(self, plan: Hashable, settings: Any) -> Any:
        """The stored result of a plan where its view is that of these settings, else None."""
        same = self.first is None or self.depends(settings) == self.depends(self.first)
        return self.find(plan) if same else None

    def not_stored(self, plan: Hashable) -> dict[str, Any]:
        """What the fields have that are not in the file."""
        names = getattr(self.kind, "_fields", None) or [each.name for each in fields(self.kind)]
        return {name: _HERE[name] for name in _HERE if name in names} | {**self.afresh(plan)}

    def content(self) -> bytes:
        """Compute the results, and what the file holds of them."""
        writer, described = _Writer(self.bits, self.fixed), []
        for plan in self.plans():
            written, afresh = writer.node(plan, "plan", type(plan)), self.not_stored(plan)
            writer.know(_objects(afresh))
            result = changed(self.make(plan), **afresh)
            described.append((written, writer.node(result, self.name, self.kind)))
        return lzma.compress(json.dumps(described).encode() + _END + b"".join(writer.parts))


def changed(record: Any, **fields: Any) -> Any:
    """A record with other values of these fields."""
    return record._replace(**fields) if hasattr(record, "_replace") else replace(record, **fields)


@cache
def _read(opening: Opening) -> dict[Hashable, Any]:
    described, _, numbers = lzma.decompress(opening.path.read_bytes()).partition(_END)
    reader, results = _Reader(numbers), {}
    kind = type(opening.plans()[0])
    for written, node in json.loads(described):
        plan = reader.value(written, "plan", kind)
        reader.know(_objects(opening.not_stored(plan)))
        results[plan] = opening.restore(reader.value(node, opening.name, opening.kind))
    return results


def _objects(afresh: Mapping[str, Any]) -> list[Any]:
    return [each for each in afresh.values() if each is not None and not isinstance(each, float)]


class _Writer(Writer):
    """Arrays as whole numbers, of which the steps along one axis are small."""

    def __init__(self, bits: int, fixed: bool) -> None:
        super().__init__()
        self.bits, self.fixed = bits, fixed
        self.parts: list[bytes] = []

    def node(self, value: Any, where: str, hint: Any = Any) -> Any:
        if isinstance(value, bytes):
            return {"bytes": self.array(np.frombuffer(value, np.uint8))}
        return super().node(value, where, hint)

    def array(self, array: Any) -> dict[str, Any]:
        begin = sum(map(len, self.parts))
        unit, shift = None, _SINGLE - self.bits
        if array.dtype.kind != "f":
            whole = array.astype(np.int64)
        elif self.fixed and np.isfinite(array).all() and array.any():
            unit = float(np.abs(array).max()) * 2.0**-self.bits
            whole = np.rint(array / unit).astype(np.int64)
        else:
            narrow = np.ascontiguousarray(array, np.float32).view(np.int32).astype(np.int64)
            whole = (narrow + (1 << shift >> 1)) >> shift
        by_axis = [_signed_steps(whole, axis) for axis in range(whole.ndim)]
        axis, signed = min(enumerate(by_axis), key=lambda pair: np.log2(pair[1] + 1.0).sum())
        self.parts.append(signed.astype("<u8").view(np.uint8).reshape(-1, 8).T.tobytes())
        place = {"array": array.dtype.str, "from": begin, "shape": list(array.shape)}
        return {**place, "shift": shift, "unit": unit, "axis": axis}


def _signed_steps(whole: Any, axis: int) -> Any:
    """Steps along an axis from 0 on: small numbers for small ones of either sign."""
    along = np.moveaxis(whole, axis, 0)
    steps = np.diff(along, axis=0, prepend=np.zeros_like(along[:1]))
    return ((steps << 1) ^ (steps >> 63)).ravel()


class _Reader(Reader):
    def __init__(self, numbers: bytes) -> None:
        super().__init__({}, trust=False)
        self._numbers = np.frombuffer(numbers, np.uint8)

    def _declared(self, kind: Any, nodes: Any, where: str) -> Any:
        newer = {  # a knob that came after the file is at its default
            each.name: Writer().node(each.default, where)
            for each in (fields(kind) if is_dataclass(kind) else ())
            if each.name not in nodes and each.default is not MISSING
        }
        return super()._declared(kind, nodes | newer, where)

    def value(self, node: Any, where: str, hint: Any = Any) -> Any:
        if isinstance(node, dict) and "bytes" in node:
            return self.array(node["bytes"], where).tobytes()
        return super().value(node, where, hint)

    def array(self, node: Mapping[str, Any], where: str) -> Any:
        shape, begin, axis = node["shape"], node["from"], node["axis"]
        size, along = math.prod(shape), [shape[axis], *shape[:axis], *shape[axis + 1 :]]
        rows = self._numbers[begin : begin + 8 * size].reshape(8, size)
        signed = np.ascontiguousarray(rows.T).view("<u8").ravel().astype(np.int64)
        steps = (signed >> 1) ^ -(signed & 1)
        whole = np.moveaxis(np.cumsum(steps.reshape(along), axis=0), 0, axis)
        if node["unit"] is not None:
            whole = whole * node["unit"]
        elif np.dtype(node["array"]).kind == "f":
            whole = (whole << node["shift"]).astype(np.int32).view(np.float32)
        array = np.ascontiguousarray(whole, node["array"])
        array.setflags(write=False)
        return array
