"""Edits as a short text for links: at most 1,500 characters that no URL has to escape.

Bytes in URL-safe base64: a version, then for each edit its kind, what its rows are, and the gaps
and lengths of its stretches of cells as variable-length numbers, then a checksum against links that
were cut or mistyped.
"""

from __future__ import annotations

import base64
import binascii
import math
import struct
import zlib
from collections.abc import Sequence

from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.novelty.edits import EDIT_KINDS, MOST_EDITS, Edit, check_edits

MOST_CHARACTERS = 1500
_VERSION = 1
_CHECK_BYTES = 3
_BROKEN = "The edits in the link are damaged; they were left out."


def encode_edits(edits: Sequence[Edit]) -> str:
    """Edits as a text of letters, digits, ``-`` and ``_``; empty without edits."""
    edits = check_edits(edits)
    if not edits:
        return ""
    payload = bytearray([_VERSION])
    for edit in edits:
        kind = EDIT_KINDS.index(edit.kind)
        flags = kind | (4 if edit.label is not None else 0) | (8 if edit.value is not None else 0)
        payload.append(flags | (16 if edit.copies != 1 else 0))
        if edit.copies != 1:
            payload.append(edit.copies)
        if edit.label is not None:
            payload.append(edit.label)
        if edit.value is not None:
            payload += struct.pack("<f", edit.value)
        _append_number(payload, len(edit.runs))
        end = 0
        for first, length in edit.runs:
            _append_number(payload, first - end)
            _append_number(payload, length)
            end = first + length
    payload += _checksum(payload)
    text = base64.urlsafe_b64encode(bytes(payload)).decode().rstrip("=")
    if len(text) > MOST_CHARACTERS:
        raise InvalidParameter(
            f"These edits take {len(text):,} characters of a link, and {MOST_CHARACTERS:,} is the "
            "most: undo one, or draw a simpler outline."
        )
    return text


def decode_edits(text: str) -> tuple[Edit, ...]:
    """The edits of a text that `encode_edits` made."""
    if not isinstance(text, str):
        raise InvalidParameter(_BROKEN)
    if not text:
        return ()
    if len(text) > MOST_CHARACTERS:
        raise InvalidParameter(
            f"The edits in the link take {len(text):,} characters, and {MOST_CHARACTERS:,} is the "
            "most; they were left out."
        )
    try:
        padded = text.encode("ascii") + b"=" * (-len(text) % 4)
        payload = base64.b64decode(padded, altchars=b"-_", validate=True)
    except (UnicodeEncodeError, binascii.Error, ValueError):
        raise InvalidParameter(_BROKEN) from None
    body, check = payload[:-_CHECK_BYTES], payload[-_CHECK_BYTES:]
    if not body or check != _checksum(body):
        raise InvalidParameter(_BROKEN)
    if body[0] != _VERSION:
        raise InvalidParameter(
            "The edits in the link come from another version of this page; they were left out."
        )
    try:
        return check_edits(_read_edits(_Reader(body[1:])))
    except (IndexError, struct.error):
        raise InvalidParameter(_BROKEN) from None


class _Reader:
    """Bytes that are read from the front; IndexError or struct.error where there are no more."""

    def __init__(self, body: bytes) -> None:
        self.body, self.at = body, 0

    def byte(self) -> int:
        self.at += 1
        return self.body[self.at - 1]

    def number(self) -> int:
        value, shift = 0, 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 28:
                raise IndexError

    def real(self) -> float:
        (value,) = struct.unpack_from("<f", self.body, self.at)
        self.at += 4
        if not math.isfinite(value):
            raise IndexError
        return float(value)


def _read_edits(reader: _Reader) -> list[Edit]:
    edits: list[Edit] = []
    while reader.at < len(reader.body):
        flags = reader.byte()
        if flags > 31 or len(edits) == MOST_EDITS:
            raise IndexError
        copies = reader.byte() if flags & 16 else 1
        label = reader.byte() if flags & 4 else None
        value = reader.real() if flags & 8 else None
        runs, end = [], 0
        for _ in range(reader.number()):
            first = end + reader.number()
            end = first + reader.number()
            runs.append((first, end - first))
        edits.append(Edit(EDIT_KINDS[flags & 3], tuple(runs), label, value, copies))
    return edits


def _append_number(payload: bytearray, value: int) -> None:
    """Seven bits a byte, the lowest first; the top bit says that more follow."""
    while value > 127:
        payload.append(value & 127 | 128)
        value >>= 7
    payload.append(value)


def _checksum(body: bytes | bytearray) -> bytes:
    return zlib.crc32(body).to_bytes(4, "little")[:_CHECK_BYTES]
