"""A table's held-out rows, and the training rows with the neighbours of one of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gbuq_core.experiments.neighbours.charts import IBUG, density_beside, near_of
from gbuq_core.experiments.neighbours.fit import Array, Mask
from gbuq_core.experiments.neighbours.live import follow_of
from gbuq_core.experiments.neighbours.look import NeighboursRun
from gbuq_core.experiments.neighbours.picture import CHOSEN_RANGE, round_up
from gbuq_core.experiments.neighbours.plan import PREDICTION
from gbuq_core.experiments.neighbours.words import describe_choice
from gbuq_core.figures.curves import Curves, draw_curves
from gbuq_core.figures.curves.parts import (
    Part,
    axis,
    entry,
    line,
    panel,
    readable_dots,
    reading,
    rounded,
)
from gbuq_core.figures.error_dots import error_dots
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.figures.near import NEAR, STRENGTH, by_strength, dot_look, others_of, room_around

_MORE_OFTEN = 2.0  # times, among the neighbours of the highlighted rows
_HEIGHT = 360


def held_out_figure(run: NeighboursRun, knobs: Sequence[LiveKnob] = ()) -> Curves:
    """Held-out rows by prediction and scale, coloured by their error; the chosen one ringed."""
    data, loc, scale, chosen = run.fit.data, run.view.loc, run.view.scale, run.look.row
    brushed, error = run.brushed, np.abs(data.y_test - run.view.loc)
    live: Part = {}
    if (follow := follow_of(run, knobs)) is not None:
        live["live"] = {"kind": "held", "follow": follow, "points": True, "place": chosen}
    layers, legend = error_dots(error, "absolute error", None if brushed is None else brushed.rows)
    x, y = rounded([loc[chosen], scale[chosen]])
    top = round_up(1.03 * float(scale.max()))
    of = f" ({data.target_name})"
    return draw_curves(
        "held-out-rows",
        describe_choice(run),
        _HEIGHT,
        axis(room_around(loc), f"prediction{of}"),
        [panel([-0.02 * top, top], f"scale{of}", layers, ring={"x": x, "y": y, "colour": NEAR})],
        legend,
        reading(
            loc,
            "row",
            [("prediction", loc), ("scale", scale, "scale"), ("error", error)],
            y=rounded(scale),
            names=[*range(1, len(loc) + 1)],
        ),
        hint="Point at a dot to read its row, click to choose it; drag a frame to look closer.",
        knobs=knobs,
        pick=True,
        **live,
    )


def training_figure(run: NeighboursRun, knobs: Sequence[LiveKnob] = ()) -> Curves:
    """Training rows by one column and their target, with the neighbours of the chosen row."""
    look, target, near = run.look, run.fit.data.y, near_of(run)
    across, value, places = _across(run)
    share = np.zeros(len(target))
    share[near.rows] = near.share
    kept = np.union1d(others_of(len(target), near), near.rows).astype(np.int64)
    place = {int(row): i for i, row in enumerate(kept)}
    chosen_rows = set(near.rows.tolist())  # one may share no tree at all
    others = [i for row, i in place.items() if row not in chosen_rows]
    layers: list[Part] = [{**readable_dots(others, "text", 0.28, 4.5), "role": "others"}]
    marked = behind_range(run)
    if marked is not None:
        blue = [i for row, i in place.items() if marked[row] and row not in chosen_rows]
        layers.append({**readable_dots(blue, CHOSEN_RANGE, 0.8, 5.0), "role": "marked"})
    for rows, size, opacity in by_strength(near):
        at = [place[int(row)] for row in rows]
        layers.append({**readable_dots(at, NEAR, opacity, size), "role": "near"})
    low, high = look.loc - 2 * look.scale, look.loc + 2 * look.scale
    bar = line([value, value], [low, high], IBUG.colour, 3.0)
    own = {**_OWN_TARGET, "x": rounded([value]), "y": rounded([look.target]), "role": "own"}
    drawn = [part for part in layers if part["at"]] + [{**bar, "role": "bar"}, own]
    x, y = rounded([value, look.loc])
    aside, aside_entry = density_beside(run, value)
    live: Part = {}
    if (follow := follow_of(run, knobs)) is not None:
        live["live"] = {
            "kind": "training",
            "follow": follow,
            "place": look.row,
            "strength": STRENGTH,
            "across": rounded(places),
        }
    trees = np.where(share[kept] > 0.0, share[kept], np.nan)
    seen = room_around([*target, low, high, float(look.target or 0.0)])
    return draw_curves(
        "training-rows",
        describe_choice(run),
        _HEIGHT,
        axis(room_around(np.append(across, value)), run.settings.across),
        [
            panel(
                seen,
                run.fit.data.target_name,
                drawn,
                ring={"x": x, "y": y, "colour": NEAR},
                aside=aside,
            )
        ],
        [
            {"name": f"{len(near.rows)} neighbours", **dot_look(NEAR), "role": "near"},
            aside_entry,
            entry("\u00b1 2 scales", bar),
            entry("its own target", _OWN_TARGET),
            *([_BEHIND] if marked is not None else []),
        ],
        reading(
            across[kept],
            "training row",
            [("target", target[kept]), ("share of trees", trees, "share")],
            y=rounded(target[kept]),
            names=(kept + 1).tolist(),
        ),
        hint="Point at a dot to read its training row; drag a frame to look closer.",
        pick=False,
        **live,
    )


def _across(run: NeighboursRun) -> tuple[Array, float, Array]:
    """The column that training rows are drawn by; the chosen row's value in it, and all others'."""
    fit, look, name = run.fit, run.look, run.settings.across
    if name == PREDICTION:
        return fit.source.predict(fit.data.X), look.loc, run.view.loc
    column = fit.data.feature_names.index(name)
    return fit.data.X[:, column], float(look.x[column]), fit.data.X_test[:, column]


def behind_range(run: NeighboursRun) -> Mask | None:
    """Training rows that are neighbours of highlighted rows at least twice as often as of others.

    None if no range is chosen or it holds no row.
    """
    brushed = run.brushed
    if brushed is None or not brushed.n_rows:
        return None
    indices, n = run.search.near_test.indices[:, : run.view.k], len(run.fit.data.y)
    inside, outside = (
        np.bincount(indices[rows].ravel(), minlength=n) / max(int(rows.sum()), 1)
        for rows in (brushed.rows, ~brushed.rows)
    )
    found: Mask = (inside > 0) & (inside >= _MORE_OFTEN * outside)
    return found


_OWN_TARGET: Part = {"kind": "dots", "colour": "text", "opacity": 1.0, "size": 9.0}
_BEHIND: Part = {
    "name": "neighbours of highlighted rows",
    "kind": "dots",
    "colour": CHOSEN_RANGE,
    "opacity": 0.8,
    "size": 5.0,
}
