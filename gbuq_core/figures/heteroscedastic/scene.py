"""What the picture of growing noise shows: the ground, beliefs, scores, and how to look at them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

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
    """

    method: str
    loc: Array | None = None
    data: Array | None = None
    knowledge: Array | None = None
    inner: Ends | None = None
    outer: Ends | None = None
    judged: Judged | None = None
    note: str = ""


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
    """

    bands: tuple[str, ...] = ("data", "knowledge")
    n_std: float = 2.0
    width: str = "\u00b1 2 std"
    logarithmic: bool = False
    own_scale: bool = False


def pending(method: str, note: str) -> Belief:
    """A panel for a method whose result is still on its way.

    >>> pending("gnll", "training").loc is None
    True
    """
    return Belief(method, note=note)
