"""What a reader chooses about the lenses of a table; the page's knobs have the same names."""

from __future__ import annotations

from typing import NamedTuple

AUTOMATIC = "automatic"
MISSED = "missed intervals"


class Choices(NamedTuple):
    """The choices that train nothing, with the page's defaults."""

    unit: str = "std"  # {"std", "variance"}: of the uncertainties of a regression
    # what rows are ranked by: "total", "data", "knowledge" or another order of the page's
    rank: str = "total"
    # {"errors", "missed intervals", "knowledge"}: what the groups that fail have much of
    by: str = "errors"
    within: float = 90  # the level of intervals in percent
    conformal: bool = False
    doubt: str = AUTOMATIC  # by which uncertainty a person is asked: "automatic" is `rank`
    # `wrong`, `miss`: what a wrong class, or an error of average size, costs in questions
    wrong: float = 10
    miss: float = 1.0
    group: str | None = None  # the column whose groups are judged
