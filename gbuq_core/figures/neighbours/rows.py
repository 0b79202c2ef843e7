"""A table's held-out rows, and the training rows with the neighbours of one of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

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
from gbuq_core.figures.neighbours.live import Aside, Follow, density_entry
from gbuq_core.figures.neighbours.parts import (
    CHOSEN_RANGE,
    IBUG,
    NEAR,
    STRENGTH,
    Array,
    Mask,
    Near,
    by_strength,
    dot_look,
    others_of,
    room_around,
    round_up,
)


class HeldOut(NamedTuple):
    """Rows of a table that were kept from the training, (n_rows,) each; ``number`` names them."""

    number: npt.NDArray[np.int64]
    loc: Array
    scale: Array
    error: Array


def held_out_figure(
    rows: HeldOut,
    chosen: int,
    inside: Mask | None = None,
    unit: str = "",
    alt: str = "",
    height: int = 400,
    *,
    knobs: Sequence[LiveKnob] = (),
    follow: Follow | None = None,
) -> Curves:
    """Held-out rows by prediction and scale, coloured by their error; the chosen one ringed."""
    live: Part = {}
    if follow is not None:
        held = {"kind": "held", "follow": follow.spec, "points": True, "place": int(chosen)}
        live = {"live": held}
    layers, legend = error_dots(rows.error, "absolute error", inside)
    x, y = rounded([rows.loc[chosen], rows.scale[chosen]])
    top = round_up(1.03 * float(rows.scale.max()))
    of = f" ({unit})" if unit else ""
    ring = {"x": x, "y": y, "colour": NEAR}
    return draw_curves(
        "held-out-rows",
        alt,
        height,
        axis(room_around(rows.loc), f"prediction{of}"),
        [panel([-0.02 * top, top], f"scale{of}", layers, ring=ring)],
        legend,
        reading(
            rows.loc,
            "row",
            [("prediction", rows.loc), ("scale", rows.scale, "scale"), ("error", rows.error)],
            y=rounded(rows.scale),
            names=[int(number) for number in rows.number],
        ),
        hint="Point at a dot to read its row, click to choose it; drag a frame to look closer.",
        knobs=knobs,
        pick=True,
        **live,
    )


def training_figure(
    across: npt.ArrayLike,
    target: npt.ArrayLike,
    near: Near,
    chosen: tuple[float, float, float],
    marked: Mask | None = None,
    labels: tuple[str, str] = ("", "target"),
    alt: str = "",
    height: int = 400,
    observed: float | None = None,
    *,
    follow: Follow | None = None,
    aside: Aside | None = None,
    places: tuple[int, npt.ArrayLike] = (0, ()),
) -> Curves:
    """Training rows by one column and their target, with the neighbours of the chosen row.

    Rows are read by their number, from 1.
    """
    across, target = np.asarray(across, np.float64), np.asarray(target, np.float64)
    value, loc, scale = chosen
    share = np.zeros(len(target))
    share[near.rows] = near.share
    seen = np.flatnonzero(np.isfinite(across))
    kept = np.union1d(others_of(len(target), near), near.rows).astype(np.int64)
    kept = kept[np.isin(kept, seen)]
    place = {int(row): i for i, row in enumerate(kept)}
    chosen_rows = set(near.rows.tolist())  # one may share no tree at all
    others = [i for row, i in place.items() if row not in chosen_rows]
    layers: list[Part] = [{**readable_dots(others, "text", 0.28, 4.5), "role": "others"}]
    if marked is not None:
        blue = [i for row, i in place.items() if marked[row] and row not in chosen_rows]
        layers.append({**readable_dots(blue, CHOSEN_RANGE, 0.8, 5.0), "role": "marked"})
    for rows, size, opacity in by_strength(near):
        at = [place[int(row)] for row in rows if int(row) in place]
        layers.append({**readable_dots(at, NEAR, opacity, size), "role": "near"})
    seen_too = [loc - 2 * scale, loc + 2 * scale, *([] if observed is None else [observed])]
    drawn = [part for part in layers if part["at"]]
    beside: Part = {}
    bar = line([value, value], [loc - 2 * scale, loc + 2 * scale], IBUG.colour, 3.0)
    if math.isfinite(value):
        drawn.append({**bar, "role": "bar"})
        if observed is not None:
            own = {"x": rounded([value]), "y": rounded([observed])}
            drawn.append({**_OWN_TARGET, **own, "role": "own"})
        x, y = rounded([value, loc])
        beside["ring"] = {"x": x, "y": y, "colour": NEAR}
        if aside is not None:
            beside["aside"] = aside.spec(value, NEAR)
    chosen_at, across_places = places
    live: Part = {}
    if follow is not None and math.isfinite(value):
        live["live"] = {
            "kind": "training",
            "follow": follow.spec,
            "place": int(chosen_at),
            "strength": STRENGTH,
            "across": rounded(across_places),
        }
    trees = np.where(share[kept] > 0.0, share[kept], np.nan)
    return draw_curves(
        "training-rows",
        alt,
        height,
        axis(room_around(np.append(across[seen], value)), labels[0]),
        [panel(room_around(np.append(target, seen_too)), labels[1], drawn, **beside)],
        [
            {"name": f"{len(near.rows)} neighbours", **dot_look(NEAR), "role": "near"},
            *([] if aside is None else [density_entry(aside, NEAR)]),
            entry("\u00b1 2 scales", bar),
            *([entry("its own target", _OWN_TARGET)] if observed is not None else []),
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


_OWN_TARGET: Part = {"kind": "dots", "colour": "text", "opacity": 1.0, "size": 9.0}
_BEHIND: Part = {
    "name": "neighbours of highlighted rows",
    "kind": "dots",
    "colour": CHOSEN_RANGE,
    "opacity": 0.8,
    "size": 5.0,
}
