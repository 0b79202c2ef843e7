"""Errors of the prediction alone, without its uncertainty."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gbuq_core.errors import InvalidData
from gbuq_core.validation import check_array, check_same_length


def rmse(y: ArrayLike, loc: ArrayLike) -> float:
    """Root mean squared error, ``sqrt(mean((y - loc)^2))``, in units of y.

    Parameters
    ----------
    y, loc : array-like of shape (n_samples,)
        Observed and predicted values.

    Raises
    ------
    InvalidData
        If the arrays are empty, not finite or of different lengths.

    Examples
    --------
    >>> rmse([1.0, 2.0], [1.0, 4.0]).__round__(4)
    1.4142
    """
    target = check_array("y", y, 1)
    prediction = check_array("loc", loc, 1)
    check_same_length(y=target, loc=prediction)
    return float(np.sqrt(np.mean((target - prediction) ** 2)))


def error_rate(y: ArrayLike, predicted: ArrayLike) -> float:
    """Share of rows whose predicted class is wrong, from 0 to 1.

    Parameters
    ----------
    y, predicted : array-like of shape (n_samples,)
        Observed and predicted labels of one kind (codes with codes, names with names).

    Raises
    ------
    InvalidData
        If the arrays are empty or of different lengths.

    Examples
    --------
    >>> error_rate(["yes", "no", "no", "no"], ["yes", "yes", "no", "no"])
    0.25
    """
    observed = np.asarray(y)
    labels = np.asarray(predicted)
    if observed.ndim != 1 or observed.shape != labels.shape or observed.size == 0:
        raise InvalidData(
            "y and predicted must be two columns of the same rows; got shapes "
            f"{observed.shape} and {labels.shape}."
        )
    return float(np.mean(observed != labels))
