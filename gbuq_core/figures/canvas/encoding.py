"""Packs a `PanelSheet` for the JavaScript renderer: one JSON header, then raw arrays.

Layout of the bytes (little-endian)::

    | n: uint32 | JSON header, n bytes, UTF-8, padded with spaces | blob | blob | ...
                                                                  ^ offsets count from here

The header's length and every blob are multiples of four bytes, so that the browser can view
them as typed arrays. A blob is named in the header as ``{"at": offset, "n": items, "type": t}``;
type ``b1`` is one bit an item, the first of eight in the lowest bit.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.figures.canvas.live import MAP, knob_headers, live_header
from gbuq_core.figures.canvas.panels import (
    LOG_SPAN,
    Line,
    Marker,
    Panel,
    PanelSheet,
    Points,
    Strip,
    check_sheet,
    cursor_positions,
    line_values,
    shared_limits,
    stacked_values,
    strip_limits,
)
from gbuq_core.figures.colour import OKABE_ITO, colour_table
from gbuq_core.presentation import short

VERSION = 1
MAX_TEXT = 240  # characters of any one label; the renderer shortens further to what fits

_TYPES = {"f4": "<f4", "u1": "u1", "u2": "<u2", "u4": "<u4"}

# Values of a whole sheet. 300,000 float32 are 1.2 MB; 1 million 16-bit steps 2 MB: more would
# keep a slider waiting.
FLOAT_VALUES = 300_000
FINE_VALUES = 1_000_000


class _Body:
    """Collects the blobs behind the header."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.size = 0
        self._names: dict[tuple[str, bytes], dict[str, Any]] = {}

    def add(self, array: npt.ArrayLike, kind: str) -> dict[str, Any]:
        """Append one array and return the name that the header calls it by."""
        if kind == "b1":
            flat = np.asarray(array, dtype=bool).ravel()
            n, data = flat.size, np.packbits(flat, bitorder="little").tobytes()
        else:
            raw = np.ascontiguousarray(array, dtype=_TYPES[kind])
            n, data = raw.size, raw.tobytes()
        if (kind, data) in self._names:  # the dots of several panels are the same
            return self._names[kind, data]
        name = self._names[kind, data] = {"at": self.size, "n": n, "type": kind}
        data += b"\0" * (-len(data) % 4)
        self.parts.append(data)
        self.size += len(data)
        return name


def encode_sheet(
    sheet: PanelSheet,
    select: bool = False,
    ray: bool = False,
    coarse: bool = False,
    grips: bool = False,
) -> bytes:
    """Pack a sheet for the renderer, after checking that it can be drawn.

    Values travel as float32 while the sheet has at most 300,000 of them in all, as 16-bit
    steps of each panel's range up to 1 million, as 8-bit steps above.
    """
    shape = check_sheet(sheet)
    stacks = [stacked_values(panel) for panel in sheet.panels]
    total = sum(stack.size for stack in stacks)
    if coarse:
        total = max(total, FINE_VALUES + 1)
    body = _Body()
    header = _sheet_header(sheet, shape)
    header["luts"] = {
        p.colour_map: colour_table(p.colour_map).tobytes().hex() for p in sheet.panels
    }
    header["panels"] = [
        _panel_header(panel, stack, total, body, header["start"])
        for panel, stack in zip(sheet.panels, stacks, strict=True)
    ]
    header["strips"] = [
        _strip_header(strip, sheet, shape[0], body, header["start"]) for strip in sheet.strips
    ]
    header["select"] = select and bool(sheet.panels)
    header["ray"] = ray and bool(sheet.panels)
    if grips:
        header["grips"] = True
    if sheet.follows is not None:
        header["follows"] = {"name": sheet.follows[0], "part": sheet.follows[1]}
    if sheet.knobs:
        header["knobs"] = knob_headers(sheet.knobs)
    if sheet.live is not None:
        header["live"] = live_header(sheet.live)
    if sheet.turns:
        header["turns"] = {key: list(names) for key, names in sheet.turns.items()}
    if sheet.near is not None:
        header["near"] = dict(sheet.near)
    header["alt"] = _text(sheet.alt or describe_sheet(sheet), 4 * MAX_TEXT)
    blobs = b"".join(body.parts)
    # The digest tells the browser whether a rerun brought anything new to draw.
    drawn = {**header, "knobs": [knob for knob in header.get("knobs", ()) if knob["key"] != MAP]}
    digest = blake2b(json.dumps(drawn).encode() + blobs, digest_size=8).hexdigest()
    packed = json.dumps({**header, "digest": digest}, allow_nan=False).encode()
    packed += b" " * (-len(packed) % 4)
    return struct.pack("<I", len(packed)) + packed + blobs


def _sheet_header(sheet: PanelSheet, shape: tuple[int, int, int]) -> dict[str, Any]:
    n_frames, ny, nx = shape
    start = sheet.start_frame
    frame_values = None
    if sheet.frame_values is not None:
        frame_values = [v if isinstance(v, str) else float(v) for v in sheet.frame_values]
    return {
        "version": VERSION,
        "nx": nx,
        "ny": ny,
        "frames": n_frames,
        "columns": sheet.columns,
        "beside": list(sheet.beside),
        "chosen": sheet.chosen,
        "quiet": sheet.quiet,
        "together": sheet.together,
        "greets": sheet.greets,
        "x": _axis(sheet.x_label, sheet.x_labels, sheet.x_extent),
        "y": _axis(sheet.y_label, sheet.y_labels, sheet.y_extent),
        "lower": sheet.origin == "lower" or (sheet.origin is None and sheet.y_extent is not None),
        "aspect": sheet.aspect or _natural_aspect(sheet, nx, ny),
        "height": sheet.panel_height,
        "frameLabel": _text(sheet.frame_label),
        "frameValues": frame_values,
        "fps": sheet.frames_per_second or min(60.0, max(2.0, n_frames / 10)),
        "start": max(0, min(n_frames - 1, start + n_frames if start < 0 else start)),
        "hatchLabel": _text(sheet.hatch_label),
        "blankLabel": _text(sheet.blank_label),
        "outlineLabel": _text(sheet.outline_label),
        "markers": [_marker(marker) for marker in sheet.markers],
        "lines": [_line(line) for line in sheet.lines],
        "stripColumns": sheet.strip_columns,
        "stripHeight": sheet.strip_height,
        "name": _text(sheet.name),
        "focus": None if sheet.focus is None else np.asarray(sheet.focus, float).tolist(),
        "note": _text(sheet.note),
    }


def _panel_header(
    panel: Panel, stack: npt.NDArray[np.float64], total: int, body: _Body, start: int
) -> dict[str, Any]:
    limits: Any
    if panel.limits == "frame":
        limits = [side.tolist() for side in frame_limits(stack, panel.log)]
    else:
        limits = [float(v) for v in panel.limits or shared_limits([stack], panel.log)]
    packed = quantise(stack, total, panel.log, limits if panel.limits == "frame" else None)
    kind = {4: "f4", 2: "u2", 1: "u1"}[packed.codes.itemsize]
    return {
        "title": _text(panel.title),
        "name": _text(panel.name or panel.title),
        "subtitle": _subtitle(panel.subtitle),
        "unit": _text(panel.unit),
        "accent": panel.accent,
        "log": bool(panel.log),
        "limits": limits,
        "map": panel.colour_map,
        "frames": len(stack),
        "values": body.add(packed.codes, kind),
        "range": packed.span,
        "hatched": _mask(panel.hatched, body),
        "blankHatched": bool(panel.blank_hatched),
        "outlined": _mask(panel.outlined, body),
        "points": None if panel.points is None else _points(panel.points, body),
        "markers": [_marker(marker) for marker in panel.markers],
        "lines": [_line(line) for line in panel.lines],
        "alt": _text(panel.alt or describe_panel(panel, min(start, len(stack) - 1)), 2 * MAX_TEXT),
    }


def _strip_header(
    strip: Strip, sheet: PanelSheet, n_frames: int, body: _Body, start: int
) -> dict[str, Any]:
    x = np.asarray(strip.x, dtype=np.float64)
    frame_x = cursor_positions(strip, n_frames, sheet.frame_values)
    lines = []
    for i, line in enumerate(strip.lines):
        values = line_values(line)
        lines.append(
            {
                "name": _text(line.name),
                "y": body.add(values, "f4"),
                "frames": len(values),
                # The last of the order is black, which a dark page swallows.
                "colour": line.colour or OKABE_ITO[i % (len(OKABE_ITO) - 1)],
                "dash": bool(line.dash),
                "step": bool(line.step or line.bars),
                "dots": bool(line.dots),
                "bars": bool(line.bars),
                "weight": _weight(line.weight, body),
            }
        )
    return {
        "title": _text(strip.title),
        "x": body.add(x, "f4"),
        "xLimits": list(shared_limits([x, strip.shaded])) if np.ptp(x) == 0 else [x[0], x[-1]],
        "lines": lines,
        "xLabel": _text(strip.x_label),
        "yLabel": _text(strip.y_label),
        "limits": list(strip_limits(strip)),
        "log": bool(strip.log),
        "mode": strip.mode,
        "marks": [float(mark) for mark in strip.marks],
        "markLabel": _text(strip.mark_label),
        "shaded": [[float(low), float(high)] for low, high in strip.shaded],
        "shadedLabel": _text(strip.shaded_label),
        "legend": strip.legend if strip.legend == "narrow" else bool(strip.legend),
        "frameX": None if frame_x is None else body.add(frame_x, "f4"),
        "alt": _text(strip.alt or describe_strip(strip, start), 2 * MAX_TEXT),
    }


def _weight(weight: npt.ArrayLike | None, body: _Body) -> dict[str, Any] | None:
    """Opacities in 255 steps, which no eye tells apart."""
    if weight is None:
        return None
    return body.add(np.rint(255.0 * np.asarray(weight, dtype=np.float64)), "u1")


def _mask(mask: npt.ArrayLike | None, body: _Body) -> dict[str, Any] | None:
    if mask is None or not np.any(mask):
        return None
    return body.add(mask, "b1")


def _points(points: Points, body: _Body) -> dict[str, Any]:
    x = np.asarray(points.x, dtype=np.float64).ravel()
    appear = None if points.appear is None else np.asarray(points.appear).ravel()
    order: Any = slice(None)
    if appear is not None:  # the renderer adds points frame by frame, so they come in that order
        order = np.argsort(appear, kind="stable")
    vanish = None if points.vanish is None else np.asarray(points.vanish).ravel()[order]
    group = np.zeros(x.size) if points.group is None else np.asarray(points.group).ravel()
    return {
        "x": body.add(x[order], "f4"),
        "y": body.add(np.asarray(points.y, dtype=np.float64).ravel()[order], "f4"),
        "group": body.add(group[order], "u1"),
        "appear": None if appear is None else body.add(np.maximum(appear[order], 0), "u4"),
        "vanish": None if vanish is None else body.add(np.maximum(vanish, 0), "u4"),
        "names": [_text(name) for name in points.group_names],
        "colours": list(points.colours or OKABE_ITO),
        "radius": float(points.radius),
        "opacity": float(points.opacity),
    }


def _line(line: Line) -> dict[str, Any]:
    def corners(values: npt.ArrayLike) -> list[float | None]:
        flat = np.asarray(values, dtype=np.float64).ravel()
        return [None if math.isnan(v) else float(v) for v in flat]

    return {
        "x": corners(line.x),
        "y": corners(line.y),
        "colour": line.colour,
        "label": _text(line.label),
        "arrow": bool(line.arrow),
        "dash": bool(line.dash),
        "legend": _text(line.legend),
        "thin": bool(line.thin),
    }


def _marker(marker: Marker) -> dict[str, Any]:
    return {
        "x": float(marker.x),
        "y": float(marker.y),
        "label": _text(marker.label),
        "shape": marker.shape,
        "legend": _text(marker.legend),
    }


def _axis(label: str, labels: Any, extent: Any) -> dict[str, Any]:
    return {
        "label": _text(label),
        "labels": None if labels is None else [_text(text) for text in labels],
        "extent": None if extent is None else [float(edge) for edge in extent],
    }


def _natural_aspect(sheet: PanelSheet, nx: int, ny: int) -> float:
    """Return width / height: square cells, or equal units if that is not too slim a map."""
    width, height = float(nx), float(ny)
    if sheet.x_extent is not None and sheet.y_extent is not None:
        width = abs(sheet.x_extent[1] - sheet.x_extent[0])
        height = abs(sheet.y_extent[1] - sheet.y_extent[0])
    ratio = width / height
    return ratio if 0.5 <= ratio <= 2.5 else 1.0


def _subtitle(remark: str | Sequence[str]) -> str | list[str]:
    return _text(remark) if isinstance(remark, str) else [_text(line) for line in remark]


def _text(value: object, longest: int = MAX_TEXT) -> str:
    text = str(value)
    return text if len(text) <= longest else text[: longest - 1] + "…"


class Quantised(NamedTuple):
    """Values as they travel.

    ``codes`` is float32 (then ``span`` is None), or unsigned steps ``0..top`` from ``span[0]``
    to ``span[1]`` (one pair, or one pair of lists with an entry a frame), equal on the log
    scale for a log panel, with ``top = 253`` or ``65533``. ``top + 1`` is "zero or less" of a
    log panel, ``top + 2`` is "no value".
    """

    codes: npt.NDArray[Any]
    span: Any


def quantise(
    stack: npt.NDArray[np.float64],
    total: int,
    log: bool,
    frame_spans: list[list[float]] | None = None,
) -> Quantised:
    """Pack one panel's values."""
    if total <= FLOAT_VALUES:
        return Quantised(stack.astype(np.float32), None)
    kind = np.uint16 if total <= FINE_VALUES else np.uint8
    top = int(np.iinfo(kind).max) - 2
    usable = stack > 0 if log else np.isfinite(stack)
    every = bool(usable.all())
    known = stack if every else stack[usable]
    if frame_spans is not None:
        span: Any = frame_spans
    elif known.size:
        span = [[float(known.min())], [float(known.max())]]
    else:
        span = [[1.0], [1.0]]
    lo, hi = (np.reshape(side, (-1, 1, 1)).astype(np.float64) for side in span)
    safe = stack if every else np.where(usable, stack, lo)
    if log:
        safe, lo, hi = np.log(safe), np.log(lo), np.log(hi)  # a ratio may be larger than any number
    share, width = safe - lo, hi - lo
    # In place from here on: a slider waits for this.
    share *= np.divide(top, width, out=np.zeros_like(width), where=width > 0)
    np.clip(share, 0.0, top, out=share)
    codes = np.rint(share, out=share).astype(kind)
    if not every:
        codes[~usable] = np.where(np.isnan(stack[~usable]), top + 2, top + 1)
    return Quantised(codes, span)


def frame_limits(
    stack: npt.NDArray[np.float64], log: bool
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return ``shared_limits`` of every frame at once, two ``(n_frames,)`` arrays."""
    flat = stack.reshape(len(stack), -1)
    usable = np.isfinite(flat) & ((flat > 0) | (not log))
    lo = np.where(usable, flat, np.inf).min(axis=1)
    hi = np.where(usable, flat, -np.inf).max(axis=1)
    none = lo > hi
    if log:
        lo, hi = np.where(none, 0.1, lo), np.where(none, 1.0, hi)
        lo = np.maximum(lo, hi * LOG_SPAN)
        same = lo == hi
        return np.where(same, lo / 2, lo), np.where(same, hi * 2, hi)
    lo, hi = np.where(none, 0.0, lo), np.where(none, 1.0, hi)
    room = np.where(lo == 0, 0.5, 0.5 * np.abs(lo)) * (lo == hi)
    return lo - room, hi + room


def describe_panel(panel: Panel, frame: int = -1) -> str:
    """Return one or two sentences on a panel: range, blank and hatched cells."""
    values = np.asarray(panel.values, dtype=np.float64)
    cells = values[frame] if values.ndim == 3 else values
    finite = cells[np.isfinite(cells)]
    if not finite.size:
        return f"{panel.title}: no values."
    unit = f" {panel.unit}" if panel.unit else ""
    text = f"{panel.title}: from {short(finite.min())} to {short(finite.max())}{unit}"
    if finite.size < cells.size:
        text += f", {cells.size - finite.size} of {cells.size} cells blank"
    if panel.hatched is not None and (n := int(np.count_nonzero(panel.hatched))):
        inside = cells[np.asarray(panel.hatched, dtype=bool)]
        inside = inside[np.isfinite(inside)]
        text += f", {n} cells hatched"
        if inside.size:
            text += f" (mean {short(inside.mean())} there)"
    return text + "."


def describe_strip(strip: Strip, frame: int = -1) -> str:
    """Return a sentence on a line chart: each line's range and where it ends."""
    x = np.asarray(strip.x, dtype=np.float64)
    text = f"{strip.title} ({strip.y_label})" if strip.y_label else strip.title
    text += f", over {strip.x_label or 'x'} from {short(x[0], 4)} to {short(x[-1], 4)}: "
    parts = []
    for line in strip.lines:
        values = line_values(line)
        finite = values[min(frame, len(values) - 1)]
        finite = finite[np.isfinite(finite)]
        if finite.size:
            span = f"from {short(finite.min())} to {short(finite.max())}"
            parts.append(f"{line.name} {span}, at the end {short(finite[-1])}")
        else:
            parts.append(f"{line.name} no values")
    return text + "; ".join(parts) + "."


def describe_sheet(sheet: PanelSheet) -> str:
    """Return a sentence on a whole sheet: how many maps of what, over which axes; its charts."""
    parts = []
    for things, kind in ((sheet.panels, "heatmap"), (sheet.strips, "line chart")):
        if n := len(things):
            titles = "; ".join(thing.title for thing in things)
            parts.append(f"{n} {kind}{'s' * (n > 1)}: {titles}")
    axes = [label for label in (sheet.x_label, sheet.y_label) if label and sheet.panels]
    if axes:
        parts[0] += f", over {' and '.join(axes)}"
    return ". ".join(parts) + "."
