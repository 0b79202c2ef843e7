"""Where the parts of a picture are named: on their lines or in their bands, instead of a legend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from gbuq_core.figures.curves.parts import Part

Curve = NDArray[np.float64]
_ASIDE = 0.1  # of the width: labels are centred no closer to an edge
_APART = (0.2, 0.08)  # of width and height: labels are no closer than one of these
_TOP = 0.06  # of the height: so far below the upper edge are rows and gaps named


def labelled(
    entries: Sequence[Part], places: Mapping[str, Sequence[Sequence[float]]]
) -> list[Part]:
    """Entries of a legend at their places in the panel, by their names.

    >>> labelled([{"name": "data, std"}, {"name": "rows"}], {"data, std": [[1.0, 2.0]]})
    [{'name': 'data', 'at': [1.0, 2.0]}]
    """
    return [
        {**entry, "name": entry["name"].partition(",")[0], "at": list(place)}
        for entry in entries
        for place in places.get(entry["name"], ())
    ]


def label_places(
    x: Curve,
    ranges: tuple[Sequence[float], Sequence[float]],
    lines: Mapping[str, Sequence[Curve]],
    within: Mapping[str, Sequence[Curve]],
    rows: Mapping[str, float],
    gaps: Sequence[tuple[float, float]],
) -> dict[str, list[list[float]]]:
    """Where each part is named, far from other lines and labels.

    ``lines`` and the middles of bands, ``within``, are given over ``x``; ``rows`` are named at
    these x below the upper edge, and ``gaps`` without rows there, too.
    """
    (left, right), (low, high) = ranges
    size = np.array([right - left, high - low])
    top = float(high - _TOP * size[1])
    places = {name: [[at, top]] for name, at in rows.items()}
    inside = [(max(a, left), min(b, right)) for a, b in gaps]
    places["no rows"] = [[(a + b) / 2, top] for a, b in inside if b - a > _ASIDE * size[0]]
    for name, curves in {**within, **lines}.items():
        others = [curve for key, more in lines.items() if key != name for curve in more]
        spots = np.stack([np.tile(x, len(curves)), np.concatenate(curves)], axis=1)
        gap = np.min(
            [np.abs(spots[:, 1] - np.tile(other, len(curves))) for other in others],
            axis=0,
            initial=size[1],
        )
        free = np.all(
            np.abs(spots - [(left + right) / 2, (low + high) / 2]) < (0.5 - _ASIDE) * size, axis=1
        )
        for place in (place for group in places.values() for place in group):
            free &= np.any(np.abs(spots - place) > _APART * size, axis=1)
        if free.any():
            places[name] = [spots[np.argmax(np.where(free, gap, -1.0))].tolist()]
    return places
