"""What a sheet of linked heatmaps and line charts shows, as plain data.

A `PanelSheet` is a grid of `Panel`s of one shape with shared axes, and line charts (`Strip`) that
share their frames. It says nothing about how it is drawn: `encode_sheet` in
`gbuq_core.figures.canvas.encoding` packs it for the JavaScript renderer that the Streamlit
component and the standalone HTML files share.

Cell ``(row, column)`` of ``values[..., row, column]`` lies at the ``row``-th place of the y axis
and the ``column``-th place of the x axis.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

Limits = tuple[float, float] | Literal["frame"] | None

# A log scale without limits of its own spans at most this ratio below its largest value, so
# that one rounding residue of 1e-30 does not turn the whole map one colour.
LOG_SPAN = 1e-8


class Points(NamedTuple):
    """Scatter points over a panel.

    Parameters
    ----------
    x, y : (n,) array
        Positions in axis units; on an axis without extent, in cells (0 = centre of the first).
    group : (n,) int array, optional
        Which colour each point takes; 0 for all without it.
    group_names : sequence of str
        Names for the legend under the sheet, in the order of ``group``.
    colours : sequence of str, optional
        ``#rrggbb`` a group; the Okabe-Ito order without it.
    radius : float
        In CSS pixels.
    opacity : float
        In (0, 1].
    appear : (n,) int array, optional
        The frame from which on a point is drawn; all from the start without it.
    vanish : (n,) int array, optional
        The frame from which on a point is no longer drawn, for trails that fade; all stay without
        it. It does not add frames to the sheet.
    """

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
    """A line over a map, e.g. a ray out of the data or a path.

    Parameters
    ----------
    x, y : (n,) array
        Corners in axis units (in cells on an axis without extent); NaN leaves a gap.
    colour : str
        ``#rrggbb``; without it the page's own ink, like markers.
    label : str
        Written at the line's end.
    arrow : bool
        Whether its end has an arrow head.
    dash : bool
        Dashed.
    """

    x: npt.ArrayLike
    y: npt.ArrayLike
    colour: str = ""
    label: str = ""
    arrow: bool = False
    dash: bool = False


class Marker(NamedTuple):
    """One marked position, in axis units (in cells on an axis without extent)."""

    x: float
    y: float
    label: str = ""
    shape: Literal["ring", "cross", "square"] = "ring"


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One heatmap.

    Parameters
    ----------
    title : str
        Names the panel in its heading and in the read-out: make it unique in its sheet.
    values : (ny, nx) or (n_frames, ny, nx) array
        NaN = no value, drawn blank.
    unit : str
        Written beside the colour bar and behind each number of the read-out.
    limits : (lo, hi), "frame" or None
        The colour scale; None spans the panel's own values over all frames, ``"frame"`` each
        frame's own. Values outside take the end colours; the read-out stays exact.
    log : bool
        Logarithmic colours and bar; values <= 0 take the lowest colour.
    hatched : (ny, nx) bool array, optional
        Cells drawn hatched (over their colour, if they have one): no data, empty.
    colour_map : str
        "cividis" or "viridis".
    points : Points, optional
        Scatter points over the map.
    markers : sequence of Marker
        Marked positions of this panel.
    subtitle : str
        A short remark to the right of the title, e.g. a score.
    accent : str or None
        ``#rrggbb`` of a small swatch before the title, e.g. the method's colour.
    outlined : (ny, nx) bool array, optional
        Cells whose common border is drawn, e.g. those the user removed.
    alt : str
        Text alternative of the panel; computed from the values when empty.
    lines : sequence of Line
        Lines over this panel.
    blank_hatched : bool
        Whether cells without a value are hatched, in the frames that have such cells.
    """

    title: str
    values: npt.ArrayLike
    unit: str = ""
    limits: Limits = None
    log: bool = False
    hatched: npt.ArrayLike | None = None
    colour_map: str = "cividis"
    points: Points | None = None
    markers: Sequence[Marker] = ()
    subtitle: str = ""
    accent: str | None = None
    outlined: npt.ArrayLike | None = None
    alt: str = ""
    lines: Sequence[Line] = ()
    blank_hatched: bool = False


class StripLine(NamedTuple):
    """One line of a strip.

    Parameters
    ----------
    name : str
        For the legend and the read-out: make it unique in its strip.
    y : (n,) or (n_frames, n) array
        Values at the strip's ``x``, one row a frame with mode "frame"; NaN leaves a gap.
    colour : str
        ``#rrggbb``; "text" takes the page's own ink (black or white), "" the next of the
        Okabe-Ito order.
    dash : bool
        Dashed.
    step : bool
        Each value holds from its own x to the next one.
    dots : bool
        A dot at each value and no line between them.
    bars : bool
        A bar from the foot of the plot up to each value, as wide as to the next x; holds like a
        step.
    weight : (n,) or (n_frames, n) array, optional
        Opacity of the line at each value, in [0, 1]; of the shape of ``y``.
    """

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
    """A small line chart that follows the frames of its sheet.

    Parameters
    ----------
    title : str
        Heading.
    x : (n,) array
        Finite and increasing (ties allowed); shared by all lines.
    lines : sequence of StripLine
        At least one.
    x_label, y_label : str
        Axis titles, with their units. The y title stands beside the heading.
    y_limits : (lo, hi), optional
        Values outside are cut off; without limits all values of all frames are seen.
    log : bool
        Logarithmic y axis; values <= 0 leave gaps.
    mode : "cursor", "grow" or "frame"
        A cursor over the whole lines; lines drawn only up to the cursor; the lines of the
        shown frame.
    marks : sequence of float
        x of vertical marks, e.g. where ensemble members were taken.
    mark_label : str
        What the marks mean, for the legend.
    shaded : sequence of (lo, hi)
        Bands of x with a tinted ground, e.g. exploration.
    shaded_label : str
        What the tint means, for the legend.
    frame_x : (n_frames,) array, optional
        x of the cursor in each frame. Without it, for modes "cursor" and "grow" in a sheet of
        several frames: ``x`` itself if it has an entry a frame, else the sheet's
        ``frame_values`` if they are numbers, else even steps from the first x to the last.
        A strip with mode "frame" has a cursor only if this is given. Clicking or dragging in
        a strip with a cursor moves the frames.
    alt : str
        Text alternative; computed from the values when empty.
    legend : bool or "narrow"
        Whether a legend stands under the heading, or only on a narrow page; without it the sheet
        around must tell what the lines are. The read-out names them anyway.

    Examples
    --------
    >>> trees = np.arange(1, 5)
    >>> line = StripLine("train", [2.0, 1.0, 0.7, 0.6])
    >>> Strip(title="Loss", x=trees, lines=[line], x_label="tree", y_label="nats").mode
    'cursor'
    """

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
    """Panels of one shape in a grid, with shared axes and shared frames.

    Parameters
    ----------
    panels : sequence of Panel
        In reading order. Panels with one frame stand still beside those with many. May be empty
        if there are strips.
    columns : int
        Panels in a row on a wide screen; below 640 pixels there is one column.
    x_label, y_label : str
        Axis titles, with their units.
    x_labels, y_labels : sequence of str, optional
        One label a cell (categories).
    x_extent, y_extent : (lo, hi), optional
        Outer edges of the first and the last cell (numeric axes). With neither labels nor
        extent the cells are numbered from 0.
    origin : "upper", "lower" or None
        Where row 0 is drawn; None: "lower" with a ``y_extent``, else "upper".
    aspect : float or None
        Width / height of a map; None: square cells for categories, equal units for extents of
        similar size, else 1.
    panel_height : int
        Most CSS pixels a map may be high; it shrinks with the width.
    frame_label : str
        What a frame is, e.g. "tree".
    frame_values : sequence of int, float or str, optional
        What each frame shows: "tree 450 of 1000" for the value 450 of 10, 20, ..., 1000.
    frames_per_second : float or None
        Play speed; None plays everything in about ten seconds, at most 60 frames a second.
    start_frame : int
        Shown first; negative counts from the end.
    hatch_label : str
        What hatching means, for the legend under the sheet, e.g. "no training rows".
    blank_label : str
        Why hatched cells have no value, for the legend too.
    outline_label : str
        What the outline means.
    markers : sequence of Marker
        Marked positions on every panel.
    alt : str
        Text alternative of the sheet, computed by the caller from its numbers.
    name : str
        Stem of the file names that PNG and SVG are saved under.
    lines : sequence of Line
        Lines over every panel.
    strips : sequence of Strip
        Line charts under the maps.
    strip_columns : int
        Strips in a row on a wide screen; as many as ``columns`` puts each under a map, with the
        same edges. Below 640 pixels there is one column, in which those strips follow their map if
        the maps stand in one row.
    strip_height : int
        CSS pixels that the plot of a strip is high.
    """

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
    blank_label: str = ""


def shared_limits(arrays: Iterable[npt.ArrayLike], log: bool = False) -> tuple[float, float]:
    """Return one colour scale for several arrays, for panels that are to be compared.

    Parameters
    ----------
    arrays : iterable of array of any shape
        NaN and infinite values do not count; with ``log`` neither do values <= 0.
    log : bool
        Whether the scale is logarithmic. It then spans at most eight decades.

    Returns
    -------
    (float, float)
        ``lo < hi`` always: a constant gets room on both sides, nothing at all gives (0, 1),
        or (0.1, 1) with ``log``.

    Examples
    --------
    >>> shared_limits([[0.1, 0.4], [0.2, 2.0]])
    (0.1, 2.0)
    """
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
