"""On which scale a target is learnt: plain, or its logarithm for positive targets with a long tail.

A price or a duration has errors in proportion to its size. Learnt on a log scale, its predicted law
is positive and not symmetric (`gbuq_core.distribution.LogDistribution`). Predictions, uncertainties
and scores stay in units of the target, so that they compare with those of the plain scale.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gbuq_core.errors import GbuqError, InvalidData, InvalidParameter
from gbuq_core.presentation import short, shown
from gbuq_core.stacking.outliers import has_long_tail, skews
from gbuq_core.tables.cleaning import Target, read_target
from gbuq_core.tables.files import Table
from gbuq_core.tables.plan import SCALES
from gbuq_core.tables.schema import Schema
from gbuq_core.uncertainty import Uncertainty
from gbuq_core.validation import check_choice


class ScaleAdvice(NamedTuple):
    """What a target says about its scale.

    Attributes
    ----------
    refusal : str
        Why it cannot be learnt on a log scale; empty if it can. No word of the user is in it.
    offer : str
        Why a log scale is worth a try; empty if it is not.
    """

    refusal: str
    offer: str


def advise_scale(table: Table, schema: Schema, target: str, task: str | None = None) -> ScaleAdvice:
    r"""Whether a target can be learnt on a log scale, and whether that is worth a try.

    It is worth a try if the target is positive and skewed to the right (skewness above 1), and its
    logarithm is less than half as skewed. Values far outside all others, such as unit errors, do
    not count.

    Parameters
    ----------
    table : Table
    schema : Schema
    target : str
    task : {"regression", "classification"}, optional
        Inferred if None.

    Examples
    --------
    >>> from gbuq_core.tables import infer_schema, read_table
    >>> rows = "".join(f"{i},{1.1**i:.3f}\n" for i in range(60))
    >>> table = read_table(f"x,price\n{rows}".encode())
    >>> advise_scale(table, infer_schema(table), "price").offer
    'The target "price" is positive with a long tail (skewness 1.7, of its logarithm 0).'
    """
    try:
        read = read_target(table, schema, target, task)
    except GbuqError:
        return ScaleAdvice("This column cannot be predicted.", "")
    if read.target.classes:
        return ScaleAdvice("The target holds classes, which have no log scale.", "")
    known = read.values[~np.isnan(read.values)]
    if not known.min() > 0.0:
        return ScaleAdvice(
            f"The smallest value of the target is {known.min():g}, so it has no log scale.", ""
        )
    if not has_long_tail(known):
        return ScaleAdvice("", "")
    plain, logs = skews(known)
    return ScaleAdvice(
        "",
        f"The target {shown(target)} is positive with a long tail (skewness {short(plain, 2)}, of "
        f"its logarithm {short(round(logs, 2), 2)}).",
    )


def check_scale(scale: str, y: NDArray[np.float64], target: Target) -> None:
    """Refuse a log scale for classes and for targets that are not positive."""
    if check_choice("scale", scale, SCALES) == "plain":
        return
    if target.classes:
        raise InvalidParameter(
            f"The target {shown(target.name)} holds classes, which have no log scale: use the "
            "plain scale."
        )
    low = float(np.nanmin(y))
    if not low > 0.0:
        raise InvalidData(
            f"The target {shown(target.name)} is not positive everywhere (its smallest value is "
            f"{low:g}), so it has no log scale: use the plain scale."
        )


def describe_scale(scale: str) -> str:
    """The scale in a few words; nothing for the plain one.

    Examples
    --------
    >>> describe_scale("log"), describe_scale("plain")
    ('target on a log scale', '')
    """
    return "target on a log scale" if scale == "log" else ""


def log_parameters(
    means: NDArray[np.float64], variances: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and variance of log y, of log-normals with these means and variances of y.

    >>> mean, variance = log_parameters(np.exp(np.array([2.5])), np.exp(5.0) * np.expm1([1.0]))
    >>> mean.round(9), variance.round(9)
    (array([2.]), array([1.]))
    """
    spread = np.log1p(variances / np.square(means))
    return np.log(means) - 0.5 * spread, spread


def exp_uncertainty(
    loc: NDArray[np.float64], parts: Uncertainty
) -> tuple[NDArray[np.float64], Uncertainty]:
    """Mean of y and its uncertainties, of log y with mean ``loc`` and uncertainties ``parts``.

    With ``m ~ N(loc, k)`` (knowledge) and ``log y ~ N(m, d)`` (data), by the law of total variance:
    ``K = (e^k - 1) e^(2 loc + d + k)`` and ``D = (e^d - 1) e^(2 loc + d + 2 k)``. Their sum is the
    variance of the log-normal with variance ``d + k``.
    """
    d, k = parts.data, np.maximum(parts.total - parts.data, 0.0)
    mean = np.exp(loc + 0.5 * (d + k))
    square = np.square(mean)
    knowledge = np.expm1(k) * square
    data = np.expm1(d) * np.exp(k) * square
    return mean, Uncertainty(data + knowledge, data, knowledge)
