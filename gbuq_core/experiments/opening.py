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

BITS = 20  # of a number with a fraction: it is off by a millionth of itself at most
_SINGLE = 23  # bits of a float32
_END = b"\0"  # of the description, which has no such byte


def _nothing(plan: Any) -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True, kw_only=True, eq=False)
class Opening:
    """The stored results of an experiment: how they are made, and which of them there are."""

    name: str  # of the experiment's folder
    file: str = "opening"
    kind: type  # of a result
    make: Callable[[Any], Any]  # the result of a plan
    plans: Callable[[], Sequence[Hashable]]  # of the settings with which the page opens
    # `afresh(plan)` names fields that are not stored: what is made again as quickly as it is read,
    # and what only a fit here can tell
    afresh: Callable[[Any], Mapping[str, Any]] = _nothing
    bits: int = BITS  # fewer where no small difference of large numbers is shown

    @property
    def path(self) -> Path:
        """Where they are stored."""
        return Path(__file__).with_name(self.name) / f"{self.file}.xz"

    def find(self, plan: Hashable) -> Any:
        """The stored result of a plan, the same object each time; None if there is none."""
        return _read(self).get(plan)

    def content(self) -> bytes:
        """Compute the results, and what the file holds of them."""
        writer, described = _Writer(_SINGLE - self.bits), []
        for plan in self.plans():
            written, afresh = writer.node(plan, type(plan), "plan"), self.afresh(plan)
            writer.know(_objects(afresh))
            result = changed(self.make(plan), **afresh)
            described.append((written, writer.node(result, self.kind, self.name)))
        return lzma.compress(json.dumps(described).encode() + _END + b"".join(writer.parts))


def changed(record: Any, **fields: Any) -> Any:
    """A record with other values of these fields."""
    return record._replace(**fields) if hasattr(record, "_replace") else replace(record, **fields)


@cache
def _read(opening: Opening) -> dict[Hashable, Any]:
    described, _, numbers = lzma.decompress(opening.path.read_bytes()).partition(_END)
    reader, found = _Reader(numbers), {}
    kind = type(opening.plans()[0])
    for written, node in json.loads(described):
        plan = reader.node(written, kind, "plan")
        reader.know(_objects(opening.afresh(plan)))
        found[plan] = reader.node(node, opening.kind, opening.name)
    return found


def _objects(afresh: Mapping[str, Any]) -> list[Any]:
    return [each for each in afresh.values() if each is not None and not isinstance(each, float)]


class _Writer(Writer):
    """Arrays as whole numbers, of which the steps along the first axis are small."""

    def __init__(self, shift: int) -> None:
        super().__init__()
        self.shift = shift
        self.parts: list[bytes] = []

    def array(self, array: Any) -> dict[str, Any]:
        begin = sum(map(len, self.parts))
        whole = array.astype(np.int64)
        if array.dtype.kind == "f":
            narrow = np.ascontiguousarray(array, np.float32).view(np.int32).astype(np.int64)
            whole = (narrow + (1 << self.shift >> 1)) >> self.shift
        steps = np.diff(whole, axis=0, prepend=np.zeros_like(whole[:1])).ravel()
        signed = (steps << 1) ^ (steps >> 63)  # small numbers of either sign are small
        self.parts.append(signed.astype("<u8").view(np.uint8).reshape(-1, 8).T.tobytes())
        place = {"array": array.dtype.str, "from": begin, "shape": list(array.shape)}
        return {**place, "shift": self.shift}


class _Reader(Reader):
    def __init__(self, numbers: bytes) -> None:
        super().__init__(None, {}, trust=False)
        self._numbers = np.frombuffer(numbers, np.uint8)

    def _declared(self, kind: Any, nodes: Any, where: str) -> Any:
        newer = {  # a knob that came after the file is at its default
            each.name: Writer().plain(each.default, where)
            for each in (fields(kind) if is_dataclass(kind) else ())
            if each.name not in nodes and each.default is not MISSING
        }
        return super()._declared(kind, nodes | newer, where)

    def array(self, node: Mapping[str, Any], where: str) -> Any:
        shape, begin = node["shape"], node["from"]
        size = math.prod(shape)
        rows = self._numbers[begin : begin + 8 * size].reshape(8, size)
        signed = np.ascontiguousarray(rows.T).view("<u8").ravel().astype(np.int64)
        steps = (signed >> 1) ^ -(signed & 1)
        whole = np.cumsum(steps.reshape(shape), axis=0)
        if np.dtype(node["array"]).kind == "f":
            whole = (whole << node["shift"]).astype(np.int32).view(np.float32)
        array = whole.astype(node["array"])
        array.setflags(write=False)
        return array
