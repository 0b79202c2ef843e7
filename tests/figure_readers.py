"""Reads what figures are sent as, as the browser does: pages' tests see only the bytes."""

import base64
import json
import struct
from typing import NamedTuple

import numpy as np

TOP = 65_535  # steps of a probability, and of a sheaf's picture
TYPES = {"f4": "<f4", "f8": "<f8", "i4": "<i4", "u1": "u1", "u2": "<u2", "u4": "<u4"}


class DecodedSheet(NamedTuple):
    """The header of a sheet, and each panel's values (n_frames, ny, nx); NaN is no value."""

    header: dict
    values: list


class DecodedStrip(NamedTuple):
    """A line chart of a sheet: ``x (n,)``, and name -> ``(1 or n_frames, n)``."""

    header: dict
    x: np.ndarray
    lines: dict
    frame_x: np.ndarray | None


def header_of(data):
    """The JSON at the start, and where the arrays begin."""
    (length,) = struct.unpack_from("<I", data)
    return json.loads(data[4 : 4 + length]), 4 + length


def decode_sheet(data):
    """What `gbuq_core.figures.canvas.encoding.encode_sheet` wrote."""
    header, begin = header_of(data)
    values = []
    for panel in header["panels"]:
        blob = panel["values"]
        raw = np.frombuffer(data, TYPES[blob["type"]], blob["n"], begin + blob["at"])
        stack = raw.reshape(-1, header["ny"], header["nx"])
        values.append(restore(stack, panel["range"], panel["log"]))
    return DecodedSheet(header, values)


def restore(codes, span, log):
    """Values from the steps of `gbuq_core.figures.canvas.encoding.Quantised`."""
    if span is None:
        return codes.astype(np.float64)
    top = np.iinfo(codes.dtype).max - 2
    low, high = (np.reshape(side, (-1, 1, 1)) for side in span)
    share = np.minimum(codes, top) / top
    values = low * (high / low) ** share if log else low + (high - low) * share
    values = np.where(codes == top + 1, 0.0, values)
    return np.where(codes == top + 2, np.nan, values)


def decode_strips(data):
    """The line charts that `encode_sheet` wrote."""
    header, begin = header_of(data)

    def read(blob):
        return np.frombuffer(data, np.float32, blob["n"], begin + blob["at"])

    strips = []
    for strip in header["strips"]:
        x = read(strip["x"])
        lines = {line["name"]: read(line["y"]).reshape(-1, x.size) for line in strip["lines"]}
        cursor = strip["frameX"]
        strips.append(DecodedStrip(strip, x, lines, None if cursor is None else read(cursor)))
    return strips


def decode_members(data):
    """The members that `gbuq_core.figures.canvas.live.encode_members` wrote, not for a page."""
    header, begin = header_of(data)
    members = []
    for blob in header["members"]:
        codes = np.frombuffer(data, TYPES[blob["type"]], blob["n"], begin + blob["at"])
        values = np.moveaxis(codes.astype(np.float64).reshape(blob["shape"]), -1, -2)
        if header["family"] == "classes":
            values = values / TOP
            values = np.concatenate([values, 1.0 - values.sum(axis=-1, keepdims=True)], axis=-1)
        members.append(values)
    return members


def unpack_curves(data):
    """The specification of `gbuq_core.figures.curves.pack_curves`, with float32's digits."""
    header, begin = header_of(data)
    numbers = np.frombuffer(data, dtype="<f4", offset=begin)

    def whole(value):
        if isinstance(value, list):
            return [whole(v) for v in value]
        if not isinstance(value, dict):
            return value
        if "packed" in value:
            first, count = value["packed"]
            return numbers[first : first + count].astype(np.float64).tolist()
        return {k: whole(v) for k, v in value.items()}

    return whole(header)


def unpack_sheaf(part):
    """``x (n,)`` and the lines ``(n_lines, n)`` of a part of many lines."""
    codes = np.frombuffer(base64.b64decode(part["data"]), "<u2").reshape(-1, part["count"])
    low, high = part["range"]
    x = np.linspace(part["from"], part["to"], part["count"])
    return x, low + (high - low) * codes / TOP


def unpack_table(data):
    """The named arrays of `gbuq_core.figures.near.pack_table`."""
    header, begin = header_of(data)
    table = {"name": header["store"]}
    for field, blob in header["blobs"].items():
        count = int(np.prod(blob["shape"]))
        flat = np.frombuffer(data, TYPES[blob["type"]], count, begin + blob["at"])
        table[field] = flat.reshape(blob["shape"])
    return table


def layers(panel, kind, **looks):
    """The layers of a panel of curves of a kind, with these looks."""
    return [
        part
        for part in panel["layers"]
        if part["kind"] == kind and all(part.get(k) == v for k, v in looks.items())
    ]
