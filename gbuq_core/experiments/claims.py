"""A paper's statement compared with the results here: the statement, the numbers, the verdict.

All experiments use one scale of verdicts, `VERDICTS`. A `Threshold` says what a number has to
reach, and a claim carries it in words.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from gbuq_core.presentation import decimal, short

# The only scale: from agreement to disagreement, and results beyond what the paper says.
VERDICTS = ("holds", "partly", "does not hold", "more than claimed")
ANSWERS: Mapping[str, str] = {  # what a verdict says to a question
    "holds": "yes",
    "partly": "partly",
    "does not hold": "no",
    "more than claimed": "more than claimed",
}


_NONE: Mapping[str, str] = MappingProxyType({})


class Claim(NamedTuple):
    """A sentence of a paper, what came out here, and whether it agrees."""

    # paper, here: The statement and the result. ``here`` says what the verdict says, whatever it
    # is.
    paper: str
    here: str
    verdict: str  # one of `VERDICTS`
    threshold: str = ""  # A sentence: what holds, and what holds partly
    value: str = ""  # the number that the verdict is about, with its name: "AUROC 0.49"
    key: str = ""  # names the statement among those of its experiment, with any seed
    chip: str = ""  # the statement in a few words; empty if it is none of the main ones

    @property
    def answer(self) -> str:
        """The claim in a few words with its answer and its number."""
        answer = f"{self.chip}: {ANSWERS[self.verdict]}"
        return f"{answer}, {self.value}" if self.value else answer


class Threshold(NamedTuple):
    """What a number has to reach."""

    what: str  # what the number is
    # `whole`, `part`: Where the statement holds and where it holds partly. If `whole` is below
    # `part`, the number must not be larger than they are.
    whole: float
    part: float
    more: float | None = None  # beyond it, the result is more than claimed
    unit: str = ""  # follows the numbers, with its blank: " nats"
    times: float = 1.0  # numbers are written so many times as large: 100 for percent
    digits: int = 2  # significant digits of a number that is judged
    # its decimals instead: where the sentence beside a chip writes such numbers with so many
    decimals: int | None = None

    def judge(self, value: float) -> str:
        """The verdict on a number; NaN, a comparison with nothing, does not hold."""
        if self.more is not None and value > self.more:
            return "more than claimed"
        if self.whole < self.part:
            return verdict_of(-value, -self.whole, -self.part)
        return verdict_of(value, self.whole, self.part)

    @property
    def text(self) -> str:
        """The threshold as a sentence."""
        whole, part = self.write(self.whole), self.write(self.part)
        if self.whole < self.part:
            sentence = f"Holds if the {self.what} is at most {whole}, partly up to {part}."
        elif self.whole > self.part:
            sentence = f"Holds if the {self.what} is at least {whole}, partly from {part}."
        else:
            sentence = f"Holds if the {self.what} is at least {whole}."
        if self.more is not None:
            sentence += f" More than {self.write(self.more)} is more than was claimed."
        return sentence

    def write(self, value: float, places: int = 3) -> str:
        """A number with its unit."""
        return short(self.times * value, places) + self.unit

    def say(self, value: float) -> str:
        """A number that is judged, as its chip, its dots and its sentence write it."""
        if self.decimals is None:
            return self.write(value, self.digits)
        return decimal(self.times * value, self.decimals) + self.unit


def judged(
    paper: str,
    here: str,
    value: float,
    threshold: Threshold,
    *,
    key: str,
    chip: str = "",
    name: str | None = None,
) -> Claim:
    """A claim with the verdict of a threshold on a number."""
    name = threshold.what if name is None else name
    return Claim(
        paper,
        here,
        threshold.judge(value),
        threshold.text,
        f"{name} {threshold.say(value)}".strip(),
        key,
        chip,
    )


def claim_table(
    claims: Sequence[Claim], head: str = "The paper", seeds: Mapping[str, str] = _NONE
) -> list[tuple[str, ...]]:
    """The claims as rows of a table; first the headings. ``seeds`` has verdicts of seeds, by key.

    >>> claim_table([Claim("It is.", "It is.", "holds", "Holds if it is.")])[1]
    ('It is.', 'It is. Holds if it is.', 'holds')
    """
    rows = [
        (
            claim.paper,
            f"{claim.here} {claim.threshold}".strip(),
            seeds.get(claim.key, claim.verdict),
        )
        for claim in claims
    ]
    return [(head, "Here", "Verdict"), *rows]


def chips_of(claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """The first three claims that have a chip."""
    return tuple(claim for claim in claims if claim.chip)[:3]


def verdict_of(value: float, whole: float, part: float) -> str:
    """Whether a value reaches the level that counts as agreeing, or the one that partly does.

    >>> verdict_of(0.9, 0.8, 0.6), verdict_of(0.7, 0.8, 0.6), verdict_of(0.5, 0.8, 0.6)
    ('holds', 'partly', 'does not hold')
    """
    return "holds" if value >= whole else "partly" if value >= part else "does not hold"


def times_text(ratio: float) -> str:
    """A factor in words, to two digits."""
    if math.isinf(ratio):
        return "infinitely many times"
    return f"{short(ratio, 2)} times"


def smaller_text(ratio: float) -> str:
    """How much smaller a number is than another one, given the other over it.

    >>> smaller_text(20.0), smaller_text(0.25), smaller_text(1.01)
    ('20 times smaller', '4 times larger', 'as large')
    """
    if abs(ratio - 1.0) < 0.05 or math.isnan(ratio):  # NaN: both are 0
        return "as large"
    if ratio > 1.0:
        return f"{times_text(ratio)} smaller"
    return f"{times_text(1.0 / ratio if ratio else math.inf)} larger"
