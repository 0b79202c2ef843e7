"""Where boosted models stop: the curves that chose, each with its stop marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gbuq_core.figures.curves import Curves, draw_curves
from gbuq_core.figures.curves.parts import around, axis, entry, line, panel, reading

_COLOURS = ("#0072b2", "#e69f00")  # of the mean, of the spread
_PLAIN = ("#7f7f7f", 1.6, "2 3")
_HEADROOM = 0.08


class ChosenCurve(NamedTuple):
    """A score against the number of trees, and where it stops."""

    label: str  # of the axis, with the unit
    name: str  # in the legend
    values: np.ndarray  # (n_stages,): NaN where it may not stop
    chosen: int  # trees
    # (n_stages,): what it is compared with, drawn as far as it stays in the picture
    plain: np.ndarray | None = None
    plain_name: str = ""


def draw_clocks(clocks: Any, alt: str = "", height: int = 300) -> Curves:
    """Draw what chose the clocks of a fitted ensemble.

    >>> from gbuq_core import BoostedEnsembleRegressor, make_heteroscedastic
    >>> from gbuq_core.figures.standalone import standalone_html
    >>> data = make_heteroscedastic(200, random_state=0)
    >>> model = BoostedEnsembleRegressor(n_members=2, n_trees=300, random_state=0)
    >>> picture = draw_clocks(model.fit(data.X, data.y).clocks_)
    >>> standalone_html(picture, "Where the model stops")[:15]
    '<!doctype html>'
    """
    if hasattr(clocks, "log_loss_uncorrected"):
        loss = clocks.log_loss_uncorrected
        curves = [ChosenCurve("log loss (nats)", "log loss", loss, clocks.n_trees_used)]
    else:
        plain = (clocks.nll_uncorrected, "NLL, same trees for both")
        curves = [
            ChosenCurve("RMSE", "RMSE of the mean", clocks.rmse, clocks.mean_trees),
            ChosenCurve("NLL (nats)", "NLL of the spread", clocks.nll, clocks.scale_trees, *plain),
        ]
    return clocks_figure(clocks.n_trees, curves, alt, height)


def clocks_figure(
    n_trees: np.ndarray, curves: Sequence[ChosenCurve], alt: str, height: int = 300
) -> Curves:
    """Draw each score in a panel of its own, above the same numbers of trees."""
    panels, legend, values = [], [], []
    read = np.ones(len(n_trees), bool)
    for curve, colour in zip(curves, _COLOURS, strict=False):
        there = np.isfinite(curve.values)
        read &= there
        # Of what it is compared with, the best is in the picture; the rest may leave it.
        best = [] if curve.plain is None else [np.min(curve.plain)]
        limits = around(curve.values[there], best, room=_HEADROOM)
        drawn = line(n_trees[there], curve.values[there], colour)
        mark = line([curve.chosen, curve.chosen], limits, colour, 1.8, "6 4")
        layers = [drawn, mark]
        legend += [entry(curve.name, drawn), entry(f"{curve.chosen:,} trees", mark)]
        values.append((curve.name, curve.values))
        if curve.plain is not None:
            beside = line(n_trees, curve.plain, *_PLAIN)
            layers.insert(0, beside)
            legend.append(entry(curve.plain_name, beside))
            values.append((curve.plain_name, curve.plain))
        share = 1.0 / len(curves)
        panels.append(panel(limits, curve.label, layers, share))
    read_values = [(name, at[read]) for name, at in values]
    return draw_curves(
        "clocks",
        alt,
        height,
        axis((0.0, n_trees[-1]), "trees"),
        panels,
        legend,
        reading(n_trees[read], "trees:", read_values),
    )
