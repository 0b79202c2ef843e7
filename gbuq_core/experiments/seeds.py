"""Statements over seeds: a verdict from one seed can be luck.

`run_over_seeds` repeats an experiment with other seeds and checks its statements each time;
`count_verdicts` counts. A `SeedStudy` is what an experiment gives for this, with quicker settings
for where its own take long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from gbuq_core.experiments.claims import VERDICTS, Claim
from gbuq_core.experiments.opening import FOLDER, Opening, changed
from gbuq_core.jobs import stage
from gbuq_core.settings import bare, differences, quicker, work_of

N_SEEDS = 10
_LEAST_SHARE = 1 / 64  # of the settings' sizes

Settings = TypeVar("Settings")
Run = TypeVar("Run")


class SeedOutcome(NamedTuple):
    """The statements of one seed."""

    seed: int
    claims: tuple[Claim, ...]


class Dot(NamedTuple):
    """The verdict on one statement with one seed, and the number behind it."""

    seed: int
    verdict: str
    value: str


class SeedCount(NamedTuple):
    """One statement over seeds."""

    key: str  # as in `Claim`, as is `paper`
    paper: str
    dots: tuple[Dot, ...]  # one for each seed with which the statement could be checked

    @property
    def n_held(self) -> int:
        """With how many seeds the statement holds."""
        return sum(dot.verdict == "holds" for dot in self.dots)

    @property
    def text(self) -> str:
        """The count in words.

        >>> dots = [Dot(seed, "holds" if seed < 7 else "partly", "") for seed in range(10)]
        >>> SeedCount("key", "KU finds far cells.", tuple(dots)).text
        'holds in 7 of 10 seeds, partly in 3'
        """
        text = f"holds in {self.n_held} of {len(self.dots)} seeds"
        for verdict in VERDICTS:
            n = sum(dot.verdict == verdict for dot in self.dots)
            if n and verdict in ("partly", "more than claimed"):
                text += f", {verdict} in {n}"
        return text


def run_over_seeds(
    fit: Callable[[Settings], Run],
    claims: Callable[[Run], Iterable[Claim]],
    settings: Settings,
    seeds: Iterable[int],
) -> Iterator[SeedOutcome]:
    """Repeat an experiment with other seeds, and check its statements with each of them.

    Parameters
    ----------
    fit : callable
        ``fit(settings)`` runs the experiment.
    claims : callable
        ``claims(run)`` checks the statements on what ``fit`` returned.
    settings : dataclass or NamedTuple with a field ``seed``
        The settings; only the seed is replaced.
    seeds : iterable of int

    Yields
    ------
    SeedOutcome
        As soon as a seed is done.

    Examples
    --------
    >>> from gbuq_core import count_verdicts, run_over_seeds
    >>> from gbuq_core.study.spiral import SPIRAL, SpiralSettings
    >>> settings = SpiralSettings(methods=("sglb",), rows=100, trees=50)
    >>> outcomes = run_over_seeds(SPIRAL.run, SPIRAL.judge, settings, range(3))
    >>> far, *others = count_verdicts(outcomes)
    >>> far.text, [dot.value for dot in far.dots]
    ('holds in 0 of 3 seeds', ['AUROC 0.51', 'AUROC 0.55', 'AUROC 0.58'])
    """
    for seed in seeds:
        yield SeedOutcome(seed, tuple(claims(fit(changed(settings, seed=seed)))))


def count_verdicts(outcomes: Iterable[SeedOutcome]) -> tuple[SeedCount, ...]:
    """Count how often each statement holds.

    Parameters
    ----------
    outcomes : iterable of SeedOutcome
        A statement is found again by its ``key``. One that needs more than a seed gives, such as
        cells that are nowhere, has fewer dots than there are seeds.

    Examples
    --------
    >>> claim = Claim("KU finds far cells.", "", "holds", value="AUROC 0.9", key="far")
    >>> other = claim._replace(verdict="does not hold", value="AUROC 0.5")
    >>> (count,) = count_verdicts([SeedOutcome(0, (claim,)), SeedOutcome(1, (other,))])
    >>> count.text, count.dots[1]
    ('holds in 1 of 2 seeds', Dot(seed=1, verdict='does not hold', value='AUROC 0.5'))
    """
    papers: dict[str, str] = {}
    dots: dict[str, list[Dot]] = {}
    for seed, claims in outcomes:
        for claim in claims:
            papers.setdefault(claim.key, claim.paper)
            dots.setdefault(claim.key, []).append(Dot(seed, claim.verdict, claim.value))
    return tuple(SeedCount(key, papers[key], tuple(dots[key])) for key in papers)


class SeedPlan(NamedTuple):
    """What is run over seeds: the key of its result."""

    name: str  # of the experiment
    settings: Any  # with seed 0
    seeds: tuple[int, ...]
    # how the settings differ from those that were asked for, to take less time; empty if not
    quicker: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class SeedStudy:
    """What an experiment gives to be run over seeds."""

    name: str  # of the experiment
    folder: Path = FOLDER  # where its folder is
    # `fit`, `claims`: as for `run_over_seeds`
    fit: Callable[[Any], Any]
    claims: Callable[[Any], Sequence[Claim]]
    # `quicker(settings, share)` returns settings of about that share of the sizes
    quicker: Callable[[Any, float], Any] = quicker
    # `bare(settings)` returns them without what no statement depends on
    bare: Callable[[Any], Any] = bare
    first: Any = None  # the settings with which its page opens: their outcomes are stored
    sizes: Any = None  # settings whose sizes are usual; None: `first`
    most: float = 2.0  # times that work: above it, quicker settings are taken

    @cached_property
    def opening(self) -> Opening:
        """The stored outcomes: the settings of each seed are a plan."""
        return Opening(
            name=self.name,
            folder=self.folder,
            file="seeds",
            kind=SeedOutcome,
            make=lambda settings: next(
                run_over_seeds(self.fit, self.claims, settings, [settings.seed])
            ),
            plans=lambda: _each_seed(self.plan(self.first)),
        )

    def stored(self, plan: SeedPlan) -> tuple[SeedOutcome, ...] | None:
        """The outcomes of a plan, if they are stored."""
        if self.first is None:
            return None
        outcomes = [self.opening.find(settings) for settings in _each_seed(plan)]
        return None if None in outcomes else tuple(outcomes)

    def plan(self, settings: Any, n_seeds: int = N_SEEDS, whole: bool = False) -> SeedPlan:
        """What would be run: the settings, or quicker ones where they are too much work.

        A ``whole`` plan keeps the settings.
        """
        wanted = changed(self.bare(settings), seed=0)
        most = self.most * work_of(self.bare(self.first if self.sizes is None else self.sizes))
        chosen, share = wanted, 1.0
        while not whole and work_of(chosen) > most and share > _LEAST_SHARE:
            share /= 2.0
            chosen = self.quicker(wanted, share)
        seeds = tuple(range(n_seeds))
        return SeedPlan(self.name, chosen, seeds, differences(chosen, wanted))

    def run(
        self, plan: SeedPlan, report: Callable[[tuple[SeedOutcome, ...]], None] | None = None
    ) -> tuple[SeedOutcome, ...]:
        """The outcomes of a plan; ``report`` gets those that there are after each seed."""
        outcomes: tuple[SeedOutcome, ...] = ()
        with stage(len(plan.seeds)):
            for seed in plan.seeds:
                with stage(1.0, span=1.0):
                    outcomes += (*run_over_seeds(self.fit, self.claims, plan.settings, [seed]),)
                if report is not None:
                    report(outcomes)
        return outcomes


def _each_seed(plan: SeedPlan) -> list[Any]:
    return [changed(plan.settings, seed=seed) for seed in plan.seeds]
