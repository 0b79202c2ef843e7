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
    """What all methods see; arrays over ``x`` are (n,).

    Attributes
    ----------
    x : ndarray
        Increasing; what the picture spans.
    support : ndarray, bool
        Where rows can lie; elsewhere is hatched.
    true_mean, true_std : ndarray
    x_rows, y_rows : ndarray of shape (n_rows,)
        Training rows, of which a part is drawn.
    foreign : tuple of (low, high)
        Where foreign rows are drawn, which a score has to tell from the others.
    """

    x: Array
    support: Mask
    true_mean: Array
    true_std: Array
    x_rows: Array
    y_rows: Array
    foreign: tuple[tuple[float, float], ...] = ()


class Judged(NamedTuple):
    """A score over x.

    Attributes
    ----------
    key : str
        Panels with the same one can share a scale.
    label : str
        With its unit.
    values : ndarray of shape (n,)
    usual : float
        What `USUAL` % of fresh rows from where training rows are do not exceed.
    """

    key: str
    label: str
    values: Array
    usual: float


class Widths(NamedTuple):
    """What a belief's bands are at each of a figure's levels; arrays are (n,) over the ground's x.

    Attributes
    ----------
    total : ndarray
        Std, before any factor.
    data, knowledge : ndarray or None
        The same; None for a part that the method does not have.
    factors : tuple of float
        Of the conformal step at each level.
    own : tuple of (ndarray, ndarray) or None
        Ends of the method's own interval of each level, where it has one.
    notes : tuple of str
        `Belief.note` without a conformal step, and then with it at each level.
    """

    total: Array
    data: Array | None
    knowledge: Array | None
    factors: tuple[float, ...]
    own: tuple[Ends | None, ...]
    notes: tuple[str, ...]


class Belief(NamedTuple):
    """What one method predicts; arrays are (n,) over the ground's x.

    Attributes
    ----------
    method : str
        A key of `METHOD_STYLES`.
    loc : ndarray or None
        The mean; None for a method that only scores rows, or has no result yet.
    data, knowledge : ndarray or None
        Stds.
    inner, outer : (ndarray, ndarray) or None
        Ends of the interval from data uncertainty alone, and of the whole one.
    judged : Judged or None
    note : str
        At the right of the panel's title.
    widths : Widths or None
        For knobs in the picture's bar.
    """

    method: str
    loc: Array | None = None
    data: Array | None = None
    knowledge: Array | None = None
    inner: Ends | None = None
    outer: Ends | None = None
    judged: Judged | None = None
    note: str = ""
    widths: Widths | None = None


class Look(NamedTuple):
    """What of it is shown.

    Attributes
    ----------
    bands : tuple of str
        Of total, data, knowledge.
    n_std : float
        Half the width of bands and of the true noise.
    width : str
        The same for the legend.
    logarithmic, own_scale : bool
        Of the scores.
    focus : bool
        Whether only where rows can lie is shown.
    """

    bands: tuple[str, ...] = ("data", "knowledge")
    n_std: float = 2.0
    width: str = "\u00b1 2 std"
    logarithmic: bool = False
    own_scale: bool = False
    focus: bool = False


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
