"""Line charts of a sheet: what of them is computed, and checks that their parts fit together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from gbuq_core.figures.canvas.panels import PanelSheet, shared_limits
from gbuq_core.figures.canvas.strips import Strip, StripLine
from gbuq_core.figures.colour import HEX

_ROOM = 0.05  # of the range, above and below lines without limits of their own
_NEAR_ZERO = 0.35  # lines whose least value lies below this share of the largest start at zero


def line_values(line: StripLine) -> npt.NDArray[np.float64]:
    """Return a line's values as ``(1 or n_frames, n)`` float64, infinities as NaN."""
    values = np.array(line.y, dtype=np.float64)
    values[~np.isfinite(values)] = np.nan
    return values[None] if values.ndim == 1 else values


def strip_limits(strip: Strip) -> tuple[float, float]:
    """Return the y range of a strip, ``lo < hi``: its own, or one that shows every value.

    Examples
    --------
    >>> strip_limits(Strip(title="A", x=[0, 1], lines=[StripLine("a", [0.1, 1.0])]))
    (0.0, 1.05)
    """
    if strip.y_limits is not None:
        return float(strip.y_limits[0]), float(strip.y_limits[1])
    lo, hi = shared_limits([line_values(line) for line in strip.lines], strip.log)
    if strip.log:
        room = (hi / lo) ** _ROOM
        return lo / room, hi * room
    if 0 <= lo < _NEAR_ZERO * hi:
        return 0.0, hi * (1 + _ROOM)
    room = _ROOM * (hi - lo)
    return lo - room, hi + room


def cursor_positions(
    strip: Strip, n_frames: int, frame_values: Sequence[float | str] | None
) -> npt.NDArray[np.float64] | None:
    """Return the cursor's x in each frame, ``(n_frames,)``; None for a strip without a cursor."""
    if strip.frame_x is not None:
        return np.asarray(strip.frame_x, dtype=np.float64).ravel()
    if strip.mode == "frame" or n_frames < 2:
        return None
    x = np.asarray(strip.x, dtype=np.float64).ravel()
    if x.size == n_frames:
        return x
    if frame_values is not None and not any(isinstance(value, str) for value in frame_values):
        values = np.asarray(frame_values, dtype=np.float64)
        if x[0] <= values.min() and values.max() <= x[-1]:
            return values
    return np.linspace(x[0], x[-1], n_frames)


def frames_of_strips(sheet: PanelSheet) -> int:
    """Return how many frames the line charts ask for, whatever the maps have."""
    asked = [1]
    for strip in sheet.strips:
        if strip.mode == "frame":
            asked += [np.shape(line.y)[0] for line in strip.lines if np.ndim(line.y) == 2]
        elif sheet.frame_values is not None:
            asked.append(len(sheet.frame_values))
        if strip.frame_x is not None:
            asked.append(np.size(strip.frame_x))
    return max(asked)


def strip_problems(strip: Strip, n_frames: int | None = None) -> Iterator[str]:
    """Yield a sentence for each thing amiss; with ``n_frames`` also what does not fit frames."""
    x = _numbers(strip.x)
    if x is None or x.ndim != 1 or not x.size or not np.all(np.isfinite(x)):
        yield "x needs finite numbers, at least one, in one row."
        return
    if np.any(np.diff(x) < 0):
        yield "x must not decrease."
    if strip.mode not in ("cursor", "grow", "frame"):
        yield f"mode must be 'cursor', 'grow' or 'frame'; got {strip.mode!r}."
    if strip.legend not in (True, False, "narrow"):
        yield f"legend must be True, False or 'narrow'; got {strip.legend!r}."
    if not strip.lines:
        yield "a strip needs at least one line."
    for line in strip.lines:
        yield from _line_problems(line, x.size, strip.mode, n_frames)
    limits = strip.y_limits
    if limits is not None:
        if not (len(limits) == 2 and -math.inf < limits[0] < limits[1] < math.inf):
            yield f"y_limits must be (low, high) with low < high; got {limits!r}."
        elif strip.log and limits[0] <= 0:
            yield f"y_limits of a log axis must be positive; got {limits!r}."
    yield from _position_problems(strip, n_frames)


def _line_problems(line: StripLine, n: int, mode: str, n_frames: int | None) -> Iterator[str]:
    y = _numbers(line.y)
    if y is None:
        yield f"line {line.name!r} has values that are not numbers."
        return
    if y.ndim not in (1, 2) or y.shape[-1] != n:
        yield f"line {line.name!r} has values of shape {y.shape} for {n} x."
    elif y.ndim == 2 and mode != "frame":
        yield f"line {line.name!r} has a row a frame, which takes mode 'frame'."
    elif y.ndim == 2 and n_frames is not None and len(y) not in (1, n_frames):
        yield f"line {line.name!r} has {len(y)} frames, the sheet {n_frames}."
    if line.weight is not None:
        weight = _numbers(line.weight)
        if weight is None or weight.shape != y.shape:
            yield f"line {line.name!r} needs as many weights as values."
        elif not np.all((weight >= 0) & (weight <= 1)):
            yield f"line {line.name!r} needs weights in [0, 1]."
    if line.colour not in ("", "text") and not HEX.fullmatch(line.colour):
        yield f"line {line.name!r}: colour must look like #0072b2 or be 'text'."


def _position_problems(strip: Strip, n_frames: int | None) -> Iterator[str]:
    marks = _numbers(strip.marks)
    if marks is None or marks.ndim != 1 or not np.all(np.isfinite(marks)):
        yield "marks need finite positions in one row."
    shaded = _numbers(strip.shaded)
    if shaded is None or (shaded.size and (shaded.ndim != 2 or shaded.shape[1] != 2)):
        yield "shaded needs pairs (low, high)."
    elif shaded.size and not (np.all(np.isfinite(shaded)) and np.all(np.diff(shaded) >= 0)):
        yield "shaded bands need finite ends, the lower one first."
    if strip.frame_x is None:
        return
    frame_x = _numbers(strip.frame_x)
    if frame_x is None or frame_x.ndim != 1 or not np.all(np.isfinite(frame_x)):
        yield "frame_x needs finite positions in one row."
    elif n_frames is not None and frame_x.size != n_frames:
        yield f"frame_x has {frame_x.size} entries for {n_frames} frames."


def _numbers(values: object) -> npt.NDArray[np.float64] | None:
    """Return values as an array, or None if they are not numbers of a regular shape."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        return None
