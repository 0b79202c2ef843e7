"""The race's scores, its words, and what is taken away."""

import csv
import io
import re
from dataclasses import replace

import numpy as np
import pytest
from tolerances import NINE_DIGITS, SAME_SUM

from gbuq_core.experiments.gaussians.export import gaussians_code, gaussians_csv
from gbuq_core.experiments.gaussians.fit import (
    GaussiansRun,
    run_gaussians,
    run_sampler,
    target_grid,
)
from gbuq_core.experiments.gaussians.plan import GaussiansSettings
from gbuq_core.experiments.gaussians.scores import (
    describe_gaussians,
    describe_race,
    score_sampler,
    score_section,
)
from gbuq_core.presentation import digits
from gbuq_core.sampling import SAMPLERS, diagnose, sample_mixture
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
    assert scores.all_modes_visited == report.all_modes_visited
    assert scores.occupancy_error == report.all_occupancy_error
    assert scores.grid_kl == report.all_grid_kl
    assert scores.sample_size == report.sample_size.mean()
    assert scores.modes_explored == scores.modes_visited  # cg-SGLD keeps every step
    assert scores.mode_changes == report.mode_changes.mean()
    # One rounding of a quotient.
    assert scores.autocorrelation_time == pytest.approx(2000 / scores.sample_size, rel=SAME_SUM)


@pytest.mark.parametrize(
    ("samplers", "chains", "race", "words"),
    [
        (
            ("sgld", "nsgld", "clr"), 1, "Three samplers, one start, the same number of steps.",
            "1 chain of 2,000 steps for each sampler, from the same start.",
        ),
        (
            ("sgld", "cg"), 5, "Two samplers, the same 5 starts, the same number of steps.",
            "5 chains of 2,000 steps for each sampler, from the same starts.",
        ),
        (("sgld",), 1, "One sampler, one start.", " 1 chain of 2,000 steps."),
        (("sgld",), 5, "One sampler, 5 starts.", " 5 chains of 2,000 steps."),
    ],
)  # fmt: skip
def test_who_races_from_where_is_said_of_any_number(samplers, chains, race, words):
    settings = replace(SMALL, samplers=samplers, chains=chains)
    assert describe_race(settings) == race
    said = describe_gaussians(GaussiansRun(settings, target_grid(settings.target), ()))
    assert said.endswith(words)


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
