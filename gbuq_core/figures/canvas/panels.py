"""What a sheet of linked heatmaps and line charts shows, as plain data.

A `PanelSheet` is a grid of `Panel`s of one shape with shared axes, and line charts (`Strip`) that
share their frames. It says nothing about how it is drawn: `encode_sheet` in
`gbuq_core.figures.canvas.encoding` packs it for the JavaScript renderer that the Streamlit
component and the standalone HTML files share.

Cell ``(row, column)`` of ``values[..., row, column]`` lies at the ``row``-th place of the y axis
and the ``column``-th place of the x axis.

`check_sheet` and the other checks run before anything is drawn: the renderer gets only sheets that
it can draw.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.errors import InvalidData
from gbuq_core.figures.canvas.live import Live, check_live
from gbuq_core.figures.colour import COLOUR_MAPS, HEX
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.figures.showing import bundle_of

Limits = tuple[float, float] | Literal["frame"] | None

# A log scale without limits of its own spans at most this ratio below its largest value, so
# that one rounding residue of 1e-30 does not turn the whole map one colour.
LOG_SPAN = 1e-8


class Points(NamedTuple):
    """Scatter points over a panel."""

    x: npt.ArrayLike
    y: npt.ArrayLike
    group: npt.ArrayLike | None = None
    group_names: Sequence[str] = ()
    colours: Sequence[str] | None = None
    radius: float = 2.5
    opacity: float = 0.8
    appear: npt.ArrayLike | None = None
    vanish: npt.ArrayLike | None = None


class Line(NamedTuple):
    """A line over a map, e.g. a ray out of the data or a path."""

    x: npt.ArrayLike
    y: npt.ArrayLike
    colour: str = ""
    label: str = ""
    arrow: bool = False
    dash: bool = False
    legend: str = ""
    thin: bool = False


class Marker(NamedTuple):
    """One marked position, in axis units (in cells on an axis without extent).

    ``legend`` says what it is in the legend under the sheet.
    """

    x: float
    y: float
    label: str = ""
    shape: Literal["ring", "cross", "square"] = "ring"
    legend: str = ""


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One heatmap."""

    title: str
    values: npt.ArrayLike
    unit: str = ""
    limits: Limits = None
    log: bool = False
    hatched: npt.ArrayLike | None = None
    colour_map: str = "cividis"
    points: Points | None = None
    markers: Sequence[Marker] = ()
    subtitle: str | Sequence[str] = ""
    accent: str | None = None
    outlined: npt.ArrayLike | None = None
    alt: str = ""
    lines: Sequence[Line] = ()
    blank_hatched: bool = False
    name: str = ""


class StripLine(NamedTuple):
    """One line of a strip."""

    name: str
    y: npt.ArrayLike
    colour: str = ""
    dash: bool = False
    step: bool = False
    dots: bool = False
    bars: bool = False
    weight: npt.ArrayLike | None = None


@dataclass(frozen=True, kw_only=True)
class Strip:
    """A small line chart that follows the frames of its sheet."""

    title: str
    x: npt.ArrayLike
    lines: Sequence[StripLine]
    x_label: str = ""
    y_label: str = ""
    y_limits: tuple[float, float] | None = None
    log: bool = False
    mode: Literal["cursor", "grow", "frame"] = "cursor"
    marks: Sequence[float] | npt.NDArray[np.float64] = ()
    mark_label: str = ""
    shaded: Sequence[tuple[float, float]] = ()
    shaded_label: str = ""
    frame_x: npt.ArrayLike | None = None
    alt: str = ""
    legend: bool | Literal["narrow"] = True


@dataclass(frozen=True, kw_only=True)
class PanelSheet:
    """Panels of one shape in a grid, with shared axes and shared frames."""

    panels: Sequence[Panel]
    columns: int = 3
    x_label: str = ""
    y_label: str = ""
    x_labels: Sequence[str] | None = None
    y_labels: Sequence[str] | None = None
    x_extent: tuple[float, float] | None = None
    y_extent: tuple[float, float] | None = None
    origin: Literal["upper", "lower"] | None = None
    aspect: float | None = None
    panel_height: int = 340
    frame_label: str = ""
    frame_values: Sequence[float | str] | None = None
    frames_per_second: float | None = None
    start_frame: int = -1
    hatch_label: str = ""
    outline_label: str = ""
    markers: Sequence[Marker] = ()
    alt: str = ""
    name: str = "figure"
    lines: Sequence[Line] = ()
    strips: Sequence[Strip] = ()
    strip_columns: int = 1
    strip_height: int = 120
    beside: Sequence[int] = ()
    chosen: int = -1
    quiet: bool = False
    together: int = 0
    greets: bool = False
    blank_label: str = ""
    knobs: Sequence[LiveKnob] = ()
    live: Live | None = None
    follows: tuple[str, int] | None = None
    focus: tuple[tuple[float, float], tuple[float, float]] | None = None
    note: str = ""
    near: Mapping[str, Any] | None = None
    # By the key of a knob, in the bar or in the page: the maps that it changes, if not all.
    turns: Mapping[str, Sequence[str]] | None = None

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return bundle_of(self)


def shared_limits(arrays: Iterable[npt.ArrayLike], log: bool = False) -> tuple[float, float]:
    """Return one colour scale for several arrays, for panels that are to be compared."""
    lo, hi = np.inf, -np.inf
    for array in arrays:
        values = np.asarray(array, dtype=np.float64)
        usable = values[np.isfinite(values) & ((values > 0) | (not log))]
        if usable.size:
            lo, hi = min(lo, float(usable.min())), max(hi, float(usable.max()))
    if lo > hi:
        return (0.1, 1.0) if log else (0.0, 1.0)
    if log:
        lo = max(lo, hi * LOG_SPAN)
        return (lo, hi) if lo < hi else (lo / 2, hi * 2)
    if lo < hi:
        return lo, hi
    room = 0.5 * abs(lo) or 0.5
    return lo - room, hi + room


MAX_SIDE = 4096  # cells a side; browsers refuse larger canvases
_ROOM = 0.05  # of the range, above and below lines without limits of their own
_NEAR_ZERO = 0.35  # lines whose least value lies below this share of the largest start at zero


def stacked_values(panel: Panel) -> npt.NDArray[np.float64]:
    """Return a panel's values as ``(n_frames, ny, nx)`` float64, infinities as NaN."""
    values = np.array(panel.values, dtype=np.float64)
    values[~np.isfinite(values)] = np.nan
    return values[None] if values.ndim == 2 else values


def check_sheet(sheet: PanelSheet) -> tuple[int, int, int]:
    """Return ``(n_frames, ny, nx)`` of a sheet that can be drawn; 1 x 1 cells without panels."""
    if not sheet.panels and not sheet.strips:
        raise InvalidData("A sheet needs at least one panel or strip.")
    if (fewest := min(sheet.columns, sheet.strip_columns)) < 1:
        raise InvalidData(f"A sheet needs at least one column, not {fewest}.")
    for strip in sheet.strips:
        for problem in strip_problems(strip):
            raise InvalidData(f"Strip {strip.title!r}: {problem}")
    shapes = [_panel_shape(panel) for panel in sheet.panels] or [(1, 1, 1)]
    n_frames = max(shape[0] for shape in shapes)
    _, ny, nx = shapes[0]
    for panel, shape in zip(sheet.panels, shapes, strict=False):
        if shape[1:] != (ny, nx):
            raise InvalidData(
                f"Panel {panel.title!r} has {shape[1]} x {shape[2]} cells, the first {ny} x {nx}; "
                "panels of one sheet share their cells."
            )
        if shape[0] not in (1, n_frames):
            raise InvalidData(
                f"Panel {panel.title!r} has {shape[0]} frames, another {n_frames}; give it one "
                "frame or as many."
            )
        for problem in _panel_problems(panel, (ny, nx)):
            raise InvalidData(f"Panel {panel.title!r}: {problem}")
    # Points that appear one by one, and strips, need frames even beside maps that stand still.
    n_frames = max(n_frames, _frames_of_points(sheet))
    if n_frames == 1:
        n_frames = frames_of_strips(sheet)
    for strip in sheet.strips:
        for problem in strip_problems(strip, n_frames):
            raise InvalidData(f"Strip {strip.title!r}: {problem}")
    for problem in _sheet_problems(sheet, n_frames, ny, nx):
        raise InvalidData(problem)
    if sheet.live is not None:
        check_live(sheet.live, len(sheet.panels), n_frames)
    return n_frames, ny, nx


def _panel_shape(panel: Panel) -> tuple[int, int, int]:
    try:
        shape = np.asarray(panel.values, dtype=np.float64).shape
    except (TypeError, ValueError) as error:
        raise InvalidData(f"Panel {panel.title!r} has values that are not numbers.") from error
    if len(shape) not in (2, 3) or 0 in shape or max(shape[-2:]) > MAX_SIDE:
        raise InvalidData(
            f"Panel {panel.title!r} has values of shape {shape}; give (rows, columns) or (frames, "
            f"rows, columns), none empty, at most {MAX_SIDE} cells a side."
        )
    return (1, *shape) if len(shape) == 2 else shape


def _frames_of_points(sheet: PanelSheet) -> int:
    """Return how many frames points that appear one by one ask for, whatever the maps have."""
    last = [
        np.max(panel.points.appear, initial=0)
        for panel in sheet.panels
        if panel.points is not None and panel.points.appear is not None
    ]
    if not last:
        return 1
    return int(max(last)) + 1 if sheet.frame_values is None else len(sheet.frame_values)


def _panel_problems(panel: Panel, cells: tuple[int, int]) -> Iterator[str]:
    if panel.colour_map not in COLOUR_MAPS:
        yield f"colour_map must be one of {', '.join(COLOUR_MAPS)}; got {panel.colour_map!r}."
    if panel.accent is not None and not HEX.fullmatch(panel.accent):
        yield f"accent must look like #0072b2; got {panel.accent!r}."
    for name, mask in (("hatched", panel.hatched), ("outlined", panel.outlined)):
        if mask is not None and np.shape(mask) != cells:
            yield f"{name} has shape {np.shape(mask)}, the values have {cells}."
    limits = panel.limits
    if limits is not None and limits != "frame":
        ordered = len(limits) == 2 and -math.inf < limits[0] < limits[1] < math.inf
        if isinstance(limits, str) or not ordered:
            yield f"limits must be (low, high) with low < high, 'frame' or None; got {limits!r}."
        if panel.log and limits[0] <= 0:
            yield f"limits of a log scale must be positive; got {limits!r}."
    if panel.points is not None:
        yield from _point_problems(panel.points)
    yield from _marker_problems(panel.markers)
    yield from _line_problems(panel.lines)


def _point_problems(points: Points) -> Iterator[str]:
    n = np.size(points.x)
    if not (np.all(np.isfinite(points.x)) and np.all(np.isfinite(points.y))):
        yield "points need finite positions."
    for name in ("y", "group", "appear", "vanish"):
        array = getattr(points, name)
        if array is not None and np.size(array) != n:
            yield f"points have {n} x but {np.size(array)} {name}."
    if points.group is not None and n:
        n_colours = 8 if points.colours is None else len(points.colours)
        group = np.asarray(points.group)
        if group.min() < 0 or group.max() >= n_colours:
            yield f"point groups must lie in 0 to {n_colours - 1}, one for each colour."
    if any(not HEX.fullmatch(colour) for colour in points.colours or ()):
        yield "point colours must look like #0072b2."
    if not (0 < points.radius <= 50 and 0 < points.opacity <= 1):
        yield "points need a radius in (0, 50] and an opacity in (0, 1]."


def _marker_problems(markers: Sequence[Marker]) -> Iterator[str]:
    for marker in markers:
        if marker.shape not in ("ring", "cross", "square"):
            yield f"a marker's shape must be ring, cross or square; got {marker.shape!r}."
        elif not (math.isfinite(marker.x) and math.isfinite(marker.y)):
            yield "markers need finite positions."


def _line_problems(lines: Sequence[Line]) -> Iterator[str]:
    for line in lines:
        n, n_y = np.size(line.x), np.size(line.y)
        if n != n_y or n < 2:
            yield f"a line needs as many x as y, at least two; got {n} and {n_y}."
        elif np.any(np.isinf(line.x)) or np.any(np.isinf(line.y)):
            yield "lines need positions that are not infinite."
        elif line.colour and not HEX.fullmatch(line.colour):
            yield f"a line's colour must look like #0072b2; got {line.colour!r}."


def _sheet_problems(sheet: PanelSheet, n_frames: int, ny: int, nx: int) -> Iterator[str]:
    for axis, labels, extent, n in (
        ("x", sheet.x_labels, sheet.x_extent, nx),
        ("y", sheet.y_labels, sheet.y_extent, ny),
    ):
        if labels is not None and len(labels) != n:
            yield f"{axis}_labels has {len(labels)} labels for {n} cells."
        if extent is not None and not (
            len(extent) == 2 and np.all(np.isfinite(extent)) and extent[0] != extent[1]
        ):
            yield f"{axis}_extent must be two different finite numbers; got {extent!r}."
    for panel in sheet.panels:
        if not isinstance(panel.subtitle, str) and len(panel.subtitle) != n_frames:
            yield (
                f"Panel {panel.title!r} has {len(panel.subtitle)} subtitles for {n_frames} frames."
            )
    n_panels = len(sheet.panels)
    if sheet.beside and (
        len(sheet.beside) != n_panels or not all(0 <= at < n_panels for at in sheet.beside)
    ):
        yield f"beside must name one of the {n_panels} panels for each; got {sheet.beside!r}."
    if not -1 <= sheet.chosen < max(n_panels, 1):
        yield f"chosen must be one of {n_panels} panels, or -1; got {sheet.chosen!r}."
    if sheet.together < 0:
        yield f"together must be 0 or more panels; got {sheet.together!r}."
    if sheet.origin not in ("upper", "lower", None):
        yield f"origin must be 'upper', 'lower' or None; got {sheet.origin!r}."
    if sheet.frame_values is not None and len(sheet.frame_values) != n_frames:
        yield f"frame_values has {len(sheet.frame_values)} entries for {n_frames} frames."
    if not 60 <= sheet.panel_height <= 2000:
        yield f"panel_height must lie in 60 to 2000 pixels; got {sheet.panel_height}."
    if not 40 <= sheet.strip_height <= 2000:
        yield f"strip_height must lie in 40 to 2000 pixels; got {sheet.strip_height}."
    if sheet.aspect is not None and not 0.1 <= sheet.aspect <= 10:
        yield f"aspect must lie in 0.1 to 10; got {sheet.aspect}."
    fps = sheet.frames_per_second
    if fps is not None and not 0 < fps <= 240:
        yield f"frames_per_second must be positive and at most 240; got {fps}."
    if sheet.focus is not None and not np.all(np.isfinite(sheet.focus)):
        yield f"focus must be finite stretches of x and of y; got {sheet.focus!r}."
    yield from _marker_problems(sheet.markers)
    yield from _line_problems(sheet.lines)


def line_values(line: StripLine) -> npt.NDArray[np.float64]:
    """Return a line's values as ``(1 or n_frames, n)`` float64, infinities as NaN."""
    values = np.array(line.y, dtype=np.float64)
    values[~np.isfinite(values)] = np.nan
    return values[None] if values.ndim == 1 else values


def strip_limits(strip: Strip) -> tuple[float, float]:
    """Return the y range of a strip, ``lo < hi``: its own, or one that shows every value."""
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
    counts = [1]
    for strip in sheet.strips:
        if strip.mode == "frame":
            counts += [np.shape(line.y)[0] for line in strip.lines if np.ndim(line.y) == 2]
        elif sheet.frame_values is not None:
            counts.append(len(sheet.frame_values))
        if strip.frame_x is not None:
            counts.append(np.size(strip.frame_x))
    return max(counts)


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
        yield from _strip_line_problems(line, x.size, strip.mode, n_frames)
    limits = strip.y_limits
    if limits is not None:
        if not (len(limits) == 2 and -math.inf < limits[0] < limits[1] < math.inf):
            yield f"y_limits must be (low, high) with low < high; got {limits!r}."
        elif strip.log and limits[0] <= 0:
            yield f"y_limits of a log axis must be positive; got {limits!r}."
    yield from _position_problems(strip, n_frames)


def _strip_line_problems(line: StripLine, n: int, mode: str, n_frames: int | None) -> Iterator[str]:
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
