"""What the picture of growing noise shows: the ground, beliefs, scores, and how to look at them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.figures.handles import LiveKnob

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Ends = tuple[Array, Array]

USUAL = 95  # % of in-distribution rows lie below the mark


class Ground(NamedTuple):
    """What all methods see; arrays over ``x`` are (n,)."""

    x: Array  # increasing; what the picture spans
    support: Mask  # where rows can lie; elsewhere is hatched
    true_mean: Array
    true_std: Array
    # `x_rows`, `y_rows`: (n_rows,): training rows, of which a part is drawn
    x_rows: Array
    y_rows: Array
    # where foreign rows are drawn, which a score has to tell from the others
    foreign: tuple[tuple[float, float], ...] = ()


class Judged(NamedTuple):
    """A score over x."""

    key: str  # panels with the same one can share a scale
    label: str  # with its unit
    values: Array
    usual: float  # what `USUAL` % of fresh rows from where training rows are do not exceed


class Widths(NamedTuple):
    """A belief's bands at each of a figure's levels; arrays are (n,) over the ground's x."""

    total: Array  # std, before any factor
    # `data`, `knowledge`: the same; None for a part that the method does not have
    data: Array | None
    knowledge: Array | None
    factors: tuple[float, ...]  # of the conformal step at each level
    # ends of the method's own interval of each level, where it has one
    own: tuple[Ends | None, ...]
    notes: tuple[str, ...]  # `Belief.note` without a conformal step, and then with it at each level


class Belief(NamedTuple):
    """What one method predicts; arrays are (n,) over the ground's x."""

    method: str  # A key of `METHOD_STYLES`
    # the mean; None for a method that only scores rows, or has no result yet
    loc: Array | None = None
    # `data`, `knowledge`: stds
    data: Array | None = None
    knowledge: Array | None = None
    # `inner`, `outer`: ends of the interval from data uncertainty alone, and of the whole one
    inner: Ends | None = None
    outer: Ends | None = None
    judged: Judged | None = None
    note: str = ""  # at the right of the panel's title
    widths: Widths | None = None  # for knobs in the picture's bar


class Look(NamedTuple):
    """What of it is shown."""

    bands: tuple[str, ...] = ("data", "knowledge")  # of total, data, knowledge
    n_std: float = 2.0  # half the width of bands and of the true noise
    width: str = "\u00b1 2 std"  # the same for the legend
    # `logarithmic`, `own_scale`: of the scores
    logarithmic: bool = False
    own_scale: bool = False
    focus: bool = False  # whether only where rows can lie is shown


class Bar(NamedTuple):
    """Knobs of the picture's own bar, and what all their settings have in common.

    Attributes
    ----------
    knobs : tuple of LiveKnob
        Of the keys of `Look`'s parts: level, conformal, show_total, show_data, show_knowledge and
        focus, or some of them.
    at : mapping
        Where each of them stands, also those that are left out.
    n_std, widths : tuple
        `Look.n_std` and `Look.width` at each level.
    """

    knobs: tuple[LiveKnob, ...]
    at: Mapping[str, int | bool]
    n_std: tuple[float, ...]
    widths: tuple[str, ...]


def pending(method: str, note: str) -> Belief:
    """A panel for a method whose result is still on its way.

    >>> pending("gnll", "training").loc is None
    True
    """
    return Belief(method, note=note)
