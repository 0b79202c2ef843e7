"""What seeds say about each way to stop: how often one beats another, and whose intervals hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gbuq_core.experiments.claims import Claim, verdict_of
from gbuq_core.experiments.seeds import SeedOutcome
from gbuq_core.experiments.two_clocks.data import Array
from gbuq_core.experiments.two_clocks.plan import FACTOR_WAYS, WAYS
from gbuq_core.experiments.two_clocks.scores import SCORES, SeedScores, WayScore
from gbuq_core.presentation import short

OFTEN, MORE_THAN_HALF = 0.8, 0.6  # shares of the seeds: holds, nearly
LEAST_SHARE, MOST_SHARE = 0.86, 0.97  # of rows inside 90 % intervals that are true


class _Beats(NamedTuple):
    """One way has a lower score than another."""

    key: str
    text: str
    chip: str
    way: str
    other: str
    score: str

    def values(self, scores: Array, ways: list[str]) -> Array:
        """The score of the way and of the other one with each seed, (n_seeds, 2)."""
        found: Array = scores[:, [ways.index(self.way), ways.index(self.other)]]
        return found[..., SCORES.index(self.score)]

    def is_true(self, values: Array) -> np.ndarray:
        """Whether it is lower, (n_seeds,) bool."""
        lower: np.ndarray = values[:, 0] < values[:, 1]
        return lower

    def write(self, values: Array) -> str:
        """The mean of both scores."""
        one, other = (short(float(value)) for value in values.mean(axis=0))
        return f"{self.score.upper()} {one} against {other}"

    @property
    def rule(self) -> str:
        """When it is true with one seed."""
        return f"the {self.score.upper()} is lower"

    @property
    def counted(self) -> str:
        """What is counted, after the number of seeds."""
        return ""


class _Covers(NamedTuple):
    """The 90 % intervals of a way are true, or too narrow."""

    key: str
    text: str
    chip: str
    way: str
    narrow: bool

    def values(self, scores: Array, ways: list[str]) -> Array:
        """The share of the rows inside with each seed, (n_seeds,)."""
        found: Array = scores[:, ways.index(self.way), SCORES.index("coverage")]
        return found

    def is_true(self, values: Array) -> np.ndarray:
        """Whether the share is in the range, (n_seeds,) bool."""
        enough = values >= LEAST_SHARE - 1e-12
        found: np.ndarray = ~enough if self.narrow else enough & (values <= MOST_SHARE + 1e-12)
        return found

    def write(self, values: Array) -> str:
        """The mean share."""
        return f"coverage {100 * float(values.mean()):.0f} %"

    @property
    def rule(self) -> str:
        """When it is true with one seed."""
        return f"90 % intervals hold {self._range} of the rows"

    @property
    def counted(self) -> str:
        """What is counted, after the number of seeds."""
        return f", 90 % intervals hold {self._range} of the rows"

    @property
    def _range(self) -> str:
        least, most = (f"{100 * share:.0f}" for share in (LEAST_SHARE, MOST_SHARE))
        return f"less than {least} %" if self.narrow else f"{least} to {most} %"


# What the opening picture shows stands first: its bands beside the rows and beside the true ones.
_STATEMENTS: tuple[_Beats | _Covers, ...] = (
    _Covers(
        "narrow", "All trees state intervals that are too narrow.",
        "All trees: too narrow", "all", True,
    ),
    _Covers(
        "true", "Two clocks states intervals that are true.",
        "Two clocks' intervals are true", "clocks", False,
    ),
    _Beats(
        "nll", "Two clocks has a lower NLL than early stopping.",
        "Lower NLL than early stopping", "clocks", "early", "nll",
    ),
    _Beats(
        "crps", "Two clocks has a lower CRPS than early stopping.", "", "clocks", "early", "crps",
    ),
    _Beats(
        "factor", "Two clocks has a lower NLL than all trees with one factor.", "",
        "clocks", "factor", "nll",
    ),
    _Beats(
        "rmse", "Two clocks has a lower RMSE than early stopping.", "", "clocks", "early", "rmse",
    ),
)  # fmt: skip
_OF_A_FACTOR: tuple[_Beats | _Covers, ...] = (
    _Beats(
        "nll", "One factor has a lower NLL than the model as it is.",
        "One factor lowers the NLL", "factor", "all", "nll",
    ),
    _Beats(
        "crps", "One factor has a lower CRPS than the model as it is.", "", "factor", "all", "crps",
    ),
    _Covers(
        "as-it-is", "The model as it is states intervals that are true.",
        "Intervals are true as they are", "all", False,
    ),
    _Covers(
        "true", "With one factor, its intervals are true.",
        "With one factor they are true", "factor", False,
    ),
)  # fmt: skip


def check_seed(scores: Sequence[WayScore] | Array) -> tuple[Claim, ...]:
    """The statements with one seed, which is weak evidence."""
    if not isinstance(scores, np.ndarray):
        labels = [*WAYS.values(), *FACTOR_WAYS.values()]
        scores = np.array(
            [[getattr(one, name) for name in SCORES] for one in scores if one.label in labels]
        )
    ways = _ways_of(len(scores))
    claims = []
    for one in _statements_of(ways):
        values = one.values(scores[None], ways)
        verdict = "holds" if one.is_true(values)[0] else "does not hold"
        value = one.write(values)
        here = f"with this seed, {_spoken(value)}."
        threshold = f"Holds with a seed if {one.rule}."
        claims.append(Claim(one.text, here, verdict, threshold, value, one.key, one.chip))
    return tuple(claims)


def check_seeds(scores: SeedScores, tails: str) -> tuple[SeedOutcome, ...]:
    """The statements of every seed, as `gbuq_core.count_verdicts` counts them."""
    return tuple(
        SeedOutcome(seed, check_seed(found))
        for seed, found in zip(scores.seeds, scores.by_tails[tails], strict=True)
    )


def verdicts_of(scores: Array) -> tuple[Claim, ...]:
    """What the seeds say, each with its threshold."""
    ways, n = _ways_of(scores.shape[1]), len(scores)
    often, half = (math.ceil(share * n - 1e-9) for share in (OFTEN, MORE_THAN_HALF))
    claims = []
    for one in _statements_of(ways):
        values = one.values(scores, ways)
        wins = int(one.is_true(values).sum())
        claims.append(
            Claim(
                one.text,
                f"in {wins} of {n} seeds{one.counted}; the mean {_spoken(one.write(values))}.",
                verdict_of(wins / n, OFTEN, MORE_THAN_HALF),
                f"Holds from {often} of {n} seeds on, partly from {half} of {n}.",
                f"{wins} of {n} seeds",
                one.key,
                one.chip,
            )
        )
    return tuple(claims)


def _spoken(value: str) -> str:
    """
    >>> _spoken("NLL 0.5 against 1")
    'NLL is 0.5 against 1'
    """
    return value.replace(" ", " is ", 1)


def _ways_of(n_ways: int) -> list[str]:
    return list(FACTOR_WAYS if n_ways == len(FACTOR_WAYS) else WAYS)


def _statements_of(ways: list[str]) -> tuple[_Beats | _Covers, ...]:
    return _OF_A_FACTOR if len(ways) == len(FACTOR_WAYS) else _STATEMENTS
