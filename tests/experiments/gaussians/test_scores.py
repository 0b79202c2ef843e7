"""The race's scores, its words, and what is taken away."""

import csv
import io
import re
from dataclasses import replace

import numpy as np
import pytest
from tolerances import NINE_DIGITS, SAME_SUM

from gbuq_core.experiments.claims import VERDICTS
from gbuq_core.experiments.gaussians.experiment import gaussians_code, gaussians_csv
from gbuq_core.experiments.gaussians.fit import (
    GaussiansRun,
    run_gaussians,
    run_sampler,
    target_grid,
)
from gbuq_core.experiments.gaussians.plan import GaussiansSettings
from gbuq_core.experiments.gaussians.scores import (
    check_claims,
    describe_gaussians,
    describe_race,
    describe_settings,
    score_sampler,
    score_section,
)
from gbuq_core.presentation import digits
from gbuq_core.sampling import SAMPLERS, TARGETS, diagnose, sample_mixture
from gbuq_core.settings import plan_of

SMALL = GaussiansSettings(steps=2000, chains=2, seed=1)


@pytest.fixture(scope="module")
def race():
    return run_gaussians(SMALL)


def test_scores_are_the_diagnostics_of_the_chains(race):
    chains = sample_mixture("cg", 2000, 2, 30, 1)
    report = diagnose(chains)
    scores = score_sampler(race.runs[3])
    assert scores.modes_visited == np.median(report.modes_visited)
    assert scores.occupancy_error == report.all_occupancy_error
    assert scores.sample_size == report.sample_size.mean()
    assert scores.modes_explored == scores.modes_visited  # cg-SGLD keeps every step
    assert scores.mode_changes == report.mode_changes.mean()
    # One rounding of a quotient.
    assert scores.autocorrelation_time == pytest.approx(2000 / scores.sample_size, rel=SAME_SUM)


@pytest.mark.parametrize(
    ("samplers", "chains", "race", "words"),
    [
        (
            ("sgld", "nsgld", "clr"),
            1,
            "Three samplers, one start, the same number of steps.",
            "1 chain of 2,000 steps for each sampler, from the same start.",
        ),
        (
            ("sgld", "cg"),
            5,
            "Two samplers, the same 5 starts, the same number of steps.",
            "5 chains of 2,000 steps for each sampler, from the same starts.",
        ),
        (("sgld",), 1, "One sampler, one start.", " 1 chain of 2,000 steps."),
        (("sgld",), 5, "One sampler, 5 starts.", " 5 chains of 2,000 steps."),
    ],
)
def test_who_races_from_where_is_said_of_any_number(samplers, chains, race, words):
    settings = replace(SMALL, samplers=samplers, chains=chains)
    assert describe_race(settings) == race
    nobody = GaussiansRun(settings, target_grid(settings.target), ())
    assert describe_gaussians(nobody).endswith(words)


def test_the_table_has_a_column_a_sampler_and_three_digits(race):
    head, *rows = score_section(race).table
    assert head == ("25 Gaussians", "SGLD", "N-SGLD", "clr-SGLD", "cg-SGLD")
    assert {len(row) for row in rows} == {5}
    names = [row[0] for row in rows]
    assert "Modes visited, all 2 chains" in names
    # 2,000 steps of two chains; clr-SGLD explores in a quarter of each cycle.
    kept = rows[names.index("Kept samples")][1:]
    assert kept == ("4,000", "4,000", f"{int(race.runs[2].n_kept[-1]):,}", "4,000")
    assert abs(race.runs[2].n_kept[-1] - 3000) <= 2 * 30  # a step a cycle and chain
    assert "Share in a mode (target 0.989)" in names
    for row in rows:
        for text in row[1:]:
            assert re.fullmatch(r"–|[\d,]+(\.\d+)?", text)
    alone = run_gaussians(replace(SMALL, chains=1, samplers=("sgld",)))
    names = [row[0] for row in score_section(alone).table]
    assert "Modes visited, of 25" in names
    assert not any("chain" in name for name in names)


def test_words_tell_the_numbers(race):
    words = describe_gaussians(race)
    assert words.startswith("Target: 25 Gaussians, 25 modes; 98.9 % of it")
    for run in race.runs:
        assert f"{SAMPLERS[run.sampler].label}: " in words
        assert f"{digits(score_sampler(run).grid_kl)} nats" in words
    assert "nan" not in words


def test_words_where_nothing_was_kept():
    run = run_sampler(plan_of(replace(SMALL, steps=1000, cycles=1, exploration_cg=0.9), "cg"))
    nothing = replace(run, n_kept=np.zeros_like(run.n_kept))
    words = describe_gaussians(GaussiansRun(SMALL, target_grid(SMALL.target), (nothing,)))
    assert words.endswith("no sample was kept.")


def test_the_table_of_frames(race):
    rows = list(csv.DictReader(io.StringIO(gaussians_csv(race))))
    assert len(rows) == 4 * 60
    last = rows[-1]
    assert (last["sampler"], last["step"]) == ("cg", "2000")
    # Nine digits are written.
    assert float(last["kl_nats"]) == pytest.approx(race.runs[3].divergence[-1], rel=NINE_DIGITS)
    assert float(last["chain_1_x"]) == pytest.approx(race.runs[3].path[-1, -1, 0], rel=NINE_DIGITS)
    assert not any(value in ("nan", "inf") for row in rows for value in row.values())


def test_the_code_computes_the_same_numbers(tmp_path, monkeypatch, capsys):
    settings = replace(SMALL, noise_free=True, exploration_cg=0.3, alpha_max=9.0)
    monkeypatch.chdir(tmp_path)
    exec(compile(gaussians_code(settings), "copied", "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    for run, line in zip(run_gaussians(settings).runs, printed, strict=True):
        scores = score_sampler(run)
        assert line.startswith(f"{run.sampler}: modes {scores.modes_visited:g} of 25")
        assert line.endswith(f"KL {scores.grid_kl:.3f} nats")
    assert "gbuq" in (tmp_path / "gaussians.html").read_text(encoding="utf-8")


# What a sentence may say under each verdict, and under no other.
TRAPPING = {
    "holds": ("it stays where it fell",),
    "partly": ("it gets out, but not far",),
    "does not hold": ("it is not trapped", "it is trapped in none"),
}
NOISE = {
    "holds": ("only", "hardly more"),
    "partly": ("no more than", "little more"),
    "does not hold": ("does solve it",),
}
CYCLES = {
    "more than claimed": ("more than in the paper",),
    "holds": ("as in the paper",),
    "partly": ("fewer than in the paper", "passes through them"),
    "does not hold": ("less than half of the paper's",),
}
LIKENESS = {
    "holds": ("much the same",),
    "partly": ("explores somewhat more",),
    "does not hold": ("explores far more",),
}


def made_up(race, sampler, modes=1.0, share=0.9, explored=None):
    """A run of the race with these numbers instead of its own."""
    run = next(run for run in race.runs if run.sampler == sampler)
    explored = modes if explored is None else explored
    return replace(
        run,
        report=replace(run.report, modes_visited=np.array([modes, modes])),
        share_in_modes=np.append(run.share_in_modes[:-1], share),
        modes_explored=np.array([explored, explored]),
    )


def last_claim(race, *runs, **knobs):
    settings = replace(race.settings, **knobs)
    return check_claims(race._replace(runs=runs, settings=settings))[-1]


def says(claim, verdict, phrases):
    """Whether a claim has this verdict and says so, in the words of no other verdict."""
    words = [key for key in VERDICTS if any(p in claim.here for p in phrases.get(key, ()))]
    return claim.verdict == verdict and words == [verdict]


@pytest.mark.parametrize(
    ("modes", "verdict"),
    [(1, "holds"), (2, "holds"), (3, "partly"), (5, "does not hold"), (0, "does not hold")],
)
def test_sgld_is_trapped_or_not(race, modes, verdict):
    assert says(last_claim(race, made_up(race, "sgld", modes)), verdict, TRAPPING)


@pytest.mark.parametrize(
    ("modes", "share", "verdict"),
    [
        (25, 0.2, "holds"),
        (25, 0.55, "partly"),
        (25, 0.73, "does not hold"),
        (7, 0.95, "does not hold"),
        (5, 0.95, "partly"),
        (3, 0.95, "holds"),
        (5, 0.2, "holds"),
    ],
)
def test_noise_solves_it_or_not(race, modes, share, verdict):
    claim = last_claim(race, made_up(race, "nsgld", modes, share))
    assert says(claim, verdict, NOISE)
    assert claim.here.startswith("With a noise scale of 5 instead of 1 N-SGLD visits")
    assert ("25 times the temperature" in claim.here) == (share < 0.6)


def test_noise_that_is_not_increased_is_no_case(race):
    run = made_up(race, "nsgld", 1, 0.98)
    for knobs in ({"noise_nsgld": 1.0}, {"noise": 5.0}, {"noise_nsgld": 1.5, "noise": 2.0}):
        assert check_claims(race._replace(runs=(run,), settings=replace(SMALL, **knobs))) == ()
    colder = last_claim(race, made_up(race, "nsgld", 25, 0.2), noise=0.4, noise_nsgld=1.0)
    assert "of 1 instead of 0.4" in colder.here
    assert "temperature" not in colder.here  # a scale of 1 is the target's own


def test_without_noise_there_is_none_to_increase(race):
    """Without Langevin noise the others descend the gradient: no sampler to compare with."""
    runs = made_up(race, "sgld", 1), made_up(race, "nsgld", 25, 0.2)
    silent = race._replace(runs=runs, settings=replace(SMALL, noise=0.0))
    assert [claim.paper[:4] for claim in check_claims(silent)] == ["SGLD"]
    assert len(check_claims(silent._replace(settings=replace(SMALL, noise=0.1)))) == 2


@pytest.mark.parametrize(
    ("modes", "share", "verdict"),
    [
        (24, 0.7, "more than claimed"),
        (9, 0.7, "more than claimed"),
        (8, 0.7, "holds"),
        (7, 0.7, "holds"),
        (24, 0.4, "partly"),
        (5, 0.7, "partly"),
        (2, 0.7, "does not hold"),
        (2, 0.2, "does not hold"),
    ],
)
@pytest.mark.parametrize("sampler", ["clr", "cg"])
def test_cycles_find_modes_or_not(race, sampler, modes, share, verdict):
    claim = last_claim(race, made_up(race, sampler, modes, share))
    assert says(claim, verdict, CYCLES)
    kept = {"clr": "the samples after the first 25 % of each cycle", "cg": "all samples"}[sampler]
    assert f"It keeps {kept};" in claim.here


@pytest.mark.parametrize(
    ("clr", "cg", "verdict"),
    [
        (24, 23, "holds"),
        (24, 17, "partly"),
        (17, 24, "partly"),
        (24, 5, "does not hold"),
        (1, 4, "does not hold"),
    ],
)
def test_the_two_cycles_are_alike_or_not(race, clr, cg, verdict):
    runs = made_up(race, "clr", 24, explored=clr), made_up(race, "cg", 24, explored=cg)
    claim = last_claim(race, *runs)
    assert says(claim, verdict, LIKENESS)
    if verdict != "holds":
        assert f"{'clr' if clr > cg else 'cg'}-SGLD explores" in claim.here


def test_the_two_cycles_are_compared_with_what_each_keeps(race):
    runs = made_up(race, "clr", 24), made_up(race, "cg", 23)
    own = "cg-SGLD keeps all samples, and clr-SGLD keeps the samples after the first 25 % of each"
    assert own in last_claim(race, *runs).here
    alike = replace(runs[0], plan=replace(runs[0].plan, exploration_clr=0.0)), runs[1]
    assert "Both keep all samples." in last_claim(race, *alike).here


def test_two_cycles_that_find_nothing_are_not_alike(race):
    runs = made_up(race, "clr", 3), made_up(race, "cg", 3)
    claims = check_claims(race._replace(runs=runs))
    assert [claim.verdict for claim in claims] == ["does not hold"] * 2  # none of likeness
    assert all("roughly 7 to 8" in claim.paper for claim in claims)


def test_nothing_is_claimed_of_chains_that_keep_too_little():
    """A cycle of one step keeps nothing; thirty steps are too few to visit a mode."""
    short = GaussiansSettings(steps=30, cycles=30, exploration_cg=0.5)
    race = run_gaussians(short)
    assert race.runs[3].n_kept[-1] == 0
    assert check_claims(race) == ()
    long = run_gaussians(replace(short, steps=100, cycles=1, samplers=("sgld", "cg")))
    assert [claim.paper[:4] for claim in check_claims(long)] == ["SGLD", "cg-S"]


def test_the_papers_claims_at_its_settings():
    """The page's first picture; the seed is the page's."""
    claims = check_claims(run_gaussians())
    more = "more than claimed"  # 23 and 24 modes, and not 7 to 8
    assert [claim.verdict for claim in claims] == ["holds", "holds", more, more, "holds"]
    for claim, phrases in zip(claims, [TRAPPING, NOISE, CYCLES, CYCLES, LIKENESS], strict=True):
        assert says(claim, claim.verdict, phrases)
    assert "1 of 25" in claims[0].here


@pytest.mark.filterwarnings("ignore:.*ran off to infinity")
@pytest.mark.parametrize("seed", [2, 3])
@pytest.mark.parametrize(
    "knobs",
    [{"gradient_noise": 10.0}, {"noise": 0.1}, {"rate_sgld": 0.2}, {"alpha_max": 5.0}, {}],
)
def test_sentences_follow_their_verdicts_at_other_settings(knobs, seed):
    settings = GaussiansSettings(steps=5000, seed=seed, cycles=5, **knobs)
    for claim in check_claims(run_gaussians(settings)):
        phrases = (
            TRAPPING
            if claim.paper.startswith("SGLD")
            else NOISE
            if claim.paper.startswith("Increasing")
            else LIKENESS
            if claim.paper.startswith("Cycles")
            else CYCLES
        )
        assert says(claim, claim.verdict, phrases)
        assert "–" not in claim.here
        assert "nan" not in claim.here


def test_claims_are_about_the_25_gaussians_and_what_was_run(race):
    for target in set(TARGETS) - {"gaussians25"}:
        other = GaussiansRun(replace(SMALL, target=target), target_grid(target), race.runs)
        assert check_claims(other) == ()
    assert check_claims(race._replace(runs=())) == ()


def test_whose_settings_the_verdicts_are_about_is_said():
    assert describe_settings(GaussiansSettings(samplers=("cg",), seed=7)).startswith("In the paper")
    for knobs in ({"chains": 2}, {"exploration_cg": 0.25}, {"noise": 0.4}):
        assert "not all the paper's" in describe_settings(GaussiansSettings(**knobs))
