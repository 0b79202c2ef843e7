"""All channels of a slot of a histogram at once, as one vector of the processor.

LLVM's vectoriser leaves loops of two to five turns alone, and a store to the histogram makes it
read the row's channels anew for each feature. `load_lanes` and `add_lanes` say what is meant. Each
lane is a sum of float64 of its own, so the bits are those of a loop over channels. `fetch_row` asks
for a row that is wanted soon: rows of a deep leaf lie far apart, and waiting for them costs more
than adding them.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core.errors import TypingError
from numba.extending import intrinsic

_BYTES = 8  # of a float64; arrays need not be aligned to a whole vector


def _check(table: Any) -> None:
    if not (isinstance(table, types.Array) and table.ndim == 2 and table.layout == "C"):
        raise TypingError("Lanes are read from and added to C-contiguous matrices.")
    if table.dtype != types.float64:
        raise TypingError("Lanes are float64.")


def _pointer(context: Any, builder: Any, kind: Any, table: Any, row: Any, n_lanes: int) -> Any:
    """Where ``table[row]`` begins, as a pointer to a vector."""
    data = context.make_array(kind)(context, builder, table).data
    first = builder.gep(data, [builder.mul(row, ir.Constant(ir.IntType(64), n_lanes))])
    return builder.bitcast(first, ir.VectorType(ir.DoubleType(), n_lanes).as_pointer())


def _lane(number: int) -> Any:
    return ir.Constant(ir.IntType(32), number)


@intrinsic
def load_lanes(_: Any, table: Any, row: Any, width: Any) -> Any:
    """``table[row]`` (n, n_lanes) as a tuple of as many float64 as ``width`` has entries."""
    n_lanes = len(width)
    _check(table)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lanes = []
        if n_lanes:
            matrix, index, _ = arguments
            place = _pointer(context, builder, signature.args[0], matrix, index, n_lanes)
            vector = builder.load(place, align=_BYTES)
            lanes = [builder.extract_element(vector, _lane(k)) for k in range(n_lanes)]
        return context.make_tuple(builder, signature.return_type, lanes)

    return types.UniTuple(types.float64, n_lanes)(table, types.uint64, width), generate


@intrinsic
def add_lanes(_: Any, table: Any, row: Any, lanes: Any) -> Any:
    """Add a tuple of `load_lanes` to ``table[row]`` (n, n_lanes)."""
    n_lanes = len(lanes)
    _check(table)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if n_lanes:
            matrix, index, _ = arguments
            place = _pointer(context, builder, signature.args[0], matrix, index, n_lanes)
            vector = ir.Constant(ir.VectorType(ir.DoubleType(), n_lanes), ir.Undefined)
            for k in range(n_lanes):
                value = builder.extract_value(arguments[2], k)
                vector = builder.insert_element(vector, value, _lane(k))
            total = builder.fadd(builder.load(place, align=_BYTES), vector)
            builder.store(total, place, align=_BYTES)
        return context.get_dummy_value()

    return types.void(table, types.uint64, lanes), generate


@intrinsic
def fetch_row(_: Any, table: Any, row: Any) -> Any:
    """Ask for the first and the last value of ``table[row]`` (n, n_columns) without waiting."""
    if not (isinstance(table, types.Array) and table.ndim == 2 and table.layout == "C"):
        raise TypingError("Rows are fetched from C-contiguous matrices.")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        n_columns = builder.extract_value(array.shape, 1)
        first = builder.mul(arguments[1], n_columns)
        last = builder.sub(builder.add(first, n_columns), n_columns.type(1))
        number, pointer = ir.IntType(32), ir.IntType(8).as_pointer()
        prefetch = builder.module.declare_intrinsic(
            "llvm.prefetch", [pointer], ir.FunctionType(ir.VoidType(), [pointer, *[number] * 3])
        )
        for index in (first, last):
            place = builder.bitcast(builder.gep(array.data, [index]), pointer)
            # To be read; keep it near; data, not instructions.
            builder.call(prefetch, [place, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(table, types.uint64), generate
