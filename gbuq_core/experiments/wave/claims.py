"""What ensembles are said to tell apart, compared with the wave's numbers.

Malinin, Prokhorenkova and Ustimenko, "Uncertainty in gradient boosting via ensembles", section 2:
knowledge uncertainty is due to a lack of rows, data uncertainty to noise.
"""

from __future__ import annotations

from gbuq_core.experiments.claims import Claim, Threshold, judged, times_text
from gbuq_core.experiments.seeds import SeedStudy
from gbuq_core.experiments.wave.fit import (
    NOMINAL_COVERAGE,
    RegionScores,
    WaveRun,
    run_wave,
)
from gbuq_core.presentation import short

# What counts as agreeing; the paper uses words, the numbers are ours.
LARGER, HARDLY_LARGER = 1.5, 1.1  # times as much knowledge uncertainty as where rows are plentiful
CAPTURED, NEARLY_CAPTURED = 0.1, 0.2  # of the true noise
TRUE, NEARLY_TRUE = 0.02, 0.05  # of the share inside the outer edge

_LARGER = Threshold("ratio of the two", LARGER, HARDLY_LARGER)
_CAPTURED = Threshold("error of the std", CAPTURED, NEARLY_CAPTURED, unit=" %", times=100.0)
_TRUE = Threshold("difference", TRUE, NEARLY_TRUE, unit=" points", times=100.0, decimals=1)


def answer_wave(run: WaveRun) -> str:
    r"""Whether knowledge uncertainty tells few rows, and none, from many, in one sentence."""
    plenty, rare, beyond, _ = (*run.scores,)

    def said(ratio: float, else_: str) -> str:
        return f"the model is {ratio:.1f} times less sure" if ratio >= HARDLY_LARGER else else_

    return (
        f"Where rows are rare, {said(rare.knowledge / plenty.knowledge, 'it does not notice')}. "
        f"Where there are none, {said(beyond.knowledge / plenty.knowledge, 'it does not notice')}."
    )


def check_claims(run: WaveRun) -> tuple[Claim, ...]:
    """Compare what is said of knowledge and data uncertainty with a run."""
    plenty, rare, beyond, coverage = run.scores
    off = abs(plenty.data / plenty.true_noise - 1.0)
    return (
        _claim_of_knowledge(
            "Knowledge uncertainty is larger where rows are rare.",
            "rare", rare, plenty, "KU is larger where rows are rare",
        ),
        _claim_of_knowledge(
            "Knowledge uncertainty is larger where there are no rows.",
            "none", beyond, plenty, "KU is larger beyond the rows",
        ),
        judged(
            "Data uncertainty is the noise.",
            f"where rows are plentiful its std is {short(plenty.data)}, and that of the true noise "
            f"{short(plenty.true_noise)}. Where rows are rare they are {short(rare.data)} and "
            f"{short(rare.true_noise)}.",
            off,
            _CAPTURED,
            key="noise",
            chip="DU repeats the noise",
            name="off by",
        ),
        judged(
            f"The outer edge holds {100 * NOMINAL_COVERAGE:.1f} % of new values where there are "
            "rows.",
            f"it holds {100 * coverage:.1f} %.",
            abs(coverage - NOMINAL_COVERAGE),
            _TRUE,
            key="inside",
            name="off by",
        ),
    )  # fmt: skip


def _claim_of_knowledge(
    paper: str, key: str, here: RegionScores, plenty: RegionScores, chip: str
) -> Claim:
    ratio = here.knowledge / plenty.knowledge
    claim = judged(
        paper,
        f"its std is {short(here.knowledge)} there, and {short(plenty.knowledge)} where rows are "
        f"plentiful. The prediction is off by {short(here.error)} there, and by "
        f"{short(plenty.error)} where rows are plentiful.",
        ratio,
        _LARGER,
        key=key,
        chip=chip,
    )
    return claim._replace(value=times_text(ratio))


STUDY = SeedStudy(
    name="wave",
    fit=run_wave,
    claims=check_claims,
    estimate=lambda settings: 0.15 + 1e-5 * settings.rows,
)
