"""Text alternatives of figures, computed from their numbers."""

from __future__ import annotations

import numpy as np

from gbuq_core.figures.panels import Panel, PanelSheet


def describe_panel(panel: Panel, frame: int = -1) -> str:
    """Return one or two sentences on a panel: range, blank and hatched cells.

    Examples
    --------
    >>> describe_panel(Panel("Data uncertainty", [[0.1, 0.25]], unit="nats"))
    'Data uncertainty: from 0.1 to 0.25 nats.'
    """
    values = np.asarray(panel.values, dtype=np.float64)
    shown = values[frame] if values.ndim == 3 else values
    finite = shown[np.isfinite(shown)]
    if not finite.size:
        return f"{panel.title}: no values."
    unit = f" {panel.unit}" if panel.unit else ""
    text = f"{panel.title}: from {finite.min():.3g} to {finite.max():.3g}{unit}"
    if finite.size < shown.size:
        text += f", {shown.size - finite.size} of {shown.size} cells blank"
    if panel.hatched is not None and (n := int(np.count_nonzero(panel.hatched))):
        inside = shown[np.asarray(panel.hatched, dtype=bool)]
        inside = inside[np.isfinite(inside)]
        text += f", {n} cells hatched"
        if inside.size:
            text += f" (mean {inside.mean():.3g} there)"
    return text + "."


def describe_sheet(sheet: PanelSheet) -> str:
    """Return a sentence on a whole sheet: how many maps of what, over which axes."""
    n = len(sheet.panels)
    text = f"{n} heatmap{'s' * (n > 1)}: " + "; ".join(panel.title for panel in sheet.panels)
    axes = [label for label in (sheet.x_label, sheet.y_label) if label]
    return text + (f", over {' and '.join(axes)}." if axes else ".")
