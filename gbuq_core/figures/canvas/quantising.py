"""How panel values travel to the browser: exact while they are few, in small steps when many."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.figures.canvas.panels import LOG_SPAN

# Values of a whole sheet. 300,000 float32 are 1.2 MB; 1 million 16-bit steps 2 MB: more would
# keep a slider waiting.
FLOAT_VALUES = 300_000
FINE_VALUES = 1_000_000


class Quantised(NamedTuple):
    """Values as they travel.

    ``codes`` is float32 (then ``span`` is None), or unsigned steps ``0..top`` from ``span[0]``
    to ``span[1]`` (one pair, or one pair of lists with an entry a frame), equal on the log
    scale for a log panel, with ``top = 253`` or ``65533``. ``top + 1`` is "zero or less" of a
    log panel, ``top + 2`` is "no value".
    """

    codes: npt.NDArray[Any]
    span: Any

    def restore(self, log: bool) -> npt.NDArray[np.float64]:
        """Return the values as the browser reads them, ``(n_frames, ny, nx)`` float64."""
        if self.span is None:
            return self.codes.astype(np.float64)
        top = np.iinfo(self.codes.dtype).max - 2
        lo, hi = (np.reshape(side, (-1, 1, 1)) for side in self.span)
        share = np.minimum(self.codes, top) / top
        values = lo * (hi / lo) ** share if log else lo + (hi - lo) * share
        values = np.where(self.codes == top + 1, 0.0, values)
        return np.where(self.codes == top + 2, np.nan, values)


def quantise(
    stack: npt.NDArray[np.float64],
    total: int,
    log: bool,
    frame_spans: list[list[float]] | None = None,
) -> Quantised:
    """Pack one panel's values.

    Parameters
    ----------
    stack : (n_frames, ny, nx) array
        Finite or NaN.
    total : int
        Values in the whole sheet, which decides between float32, 16 and 8 bits.
    log : bool
        Steps are equal on the log scale, so that small values keep their digits.
    frame_spans : [lows, highs], optional
        One range a frame instead of one for all, for panels that rescale each frame.

    Returns
    -------
    Quantised
        Off by at most half a step of the range: 1 / 131,066 at 16 bits, 1 / 506 at 8.
    """
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
    share, width = (safe / lo, hi / lo) if log else (safe - lo, hi - lo)
    if log:
        np.log(share, out=share)
        width = np.log(width)
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
