"""What the small line charts of a sheet show, as plain data.

A `Strip` is a chart under the maps of a `PanelSheet`. It shares the sheet's frames: its cursor
moves with the scrubber, its lines grow, or it shows the lines of each frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt


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
