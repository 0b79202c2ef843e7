"""Text alternatives of figures, computed from their numbers."""

from __future__ import annotations

import numpy as np

from gbuq_core.figures.canvas.panels import Panel, PanelSheet
from gbuq_core.figures.canvas.strip_checks import line_values
from gbuq_core.figures.canvas.strips import Strip
from gbuq_core.presentation import short


def describe_panel(panel: Panel, frame: int = -1) -> str:
    """Return one or two sentences on a panel: range, blank and hatched cells.

    Examples
    --------
    >>> describe_panel(Panel(title="Data uncertainty", values=[[0.1, 0.25]], unit="nats"))
    'Data uncertainty: from 0.1 to 0.25 nats.'
    """
    values = np.asarray(panel.values, dtype=np.float64)
    shown = values[frame] if values.ndim == 3 else values
    finite = shown[np.isfinite(shown)]
    if not finite.size:
        return f"{panel.title}: no values."
    unit = f" {panel.unit}" if panel.unit else ""
    text = f"{panel.title}: from {short(finite.min())} to {short(finite.max())}{unit}"
    if finite.size < shown.size:
        text += f", {shown.size - finite.size} of {shown.size} cells blank"
    if panel.hatched is not None and (n := int(np.count_nonzero(panel.hatched))):
        inside = shown[np.asarray(panel.hatched, dtype=bool)]
        inside = inside[np.isfinite(inside)]
        text += f", {n} cells hatched"
        if inside.size:
            text += f" (mean {short(inside.mean())} there)"
    return text + "."


def describe_strip(strip: Strip, frame: int = -1) -> str:
    """Return a sentence on a line chart: each line's range and where it ends.

    Examples
    --------
    >>> from gbuq_core.figures.canvas.strips import StripLine
    >>> lines = [StripLine("train", [2.0, 0.5])]
    >>> strip = Strip(title="Loss", x=[1, 2], lines=lines, x_label="tree", y_label="nats")
    >>> describe_strip(strip)
    'Loss (nats), over tree from 1 to 2: train from 0.5 to 2, at the end 0.5.'
    """
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
