"""What a reader chooses about the sections of a report; the page's knobs have the same names."""

from __future__ import annotations

from typing import NamedTuple

AUTOMATIC = "automatic"
MISSED = "missed intervals"


class Choices(NamedTuple):
    """The choices that train nothing, with the page's defaults.

    Attributes
    ----------
    unit : {"std", "variance"}
        Of the uncertainties of a regression.
    rank : str
        What rows are ranked by: "total", "data", "knowledge" or another order of the page's.
    by : {"errors", "missed intervals", "knowledge"}
        What the groups that fail have much of.
    within : float
        The level of intervals in percent.
    conformal : bool
    doubt : str
        By which uncertainty a person is asked: "automatic" is ``rank``.
    wrong, miss : float
        What a wrong class, or an error of average size, costs in questions.
    group : str or None
        The column whose groups are judged.
    """

    unit: str = "std"
    rank: str = "total"
    by: str = "errors"
    within: float = 90
    conformal: bool = False
    doubt: str = AUTOMATIC
    wrong: float = 10
    miss: float = 1.0
    group: str | None = None
