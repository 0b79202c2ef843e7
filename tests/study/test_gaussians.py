"""25 Gaussians: numbers and claims of made-up and of real races, and what its maps show."""

import csv
import io
from dataclasses import replace
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
from tolerances import NINE_DIGITS, SAME_SUM

from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.claims import VERDICTS
from gbuq_core.figures.canvas.encoding import encode_sheet
from gbuq_core.methods import METHODS, SAMPLERS
from gbuq_core.sampling import TARGETS, diagnose, sample_mixture
from gbuq_core.study.gaussians import GAUSSIANS, begin, picture, score_sampler
from gbuq_core.study.gaussians_race import GaussiansSettings, cycle_sheet
from gbuq_core.study.study import Run
from tests.figure_readers import decode_sheet

SMALL = GaussiansSettings(steps=2000, chains=2, seed=1)


@pytest.fixture(scope="module")
def race():
    return GAUSSIANS.run(SMALL)


def test_scores_are_the_diagnostics_of_the_chains(race):
    chains = sample_mixture("cg", 2000, 2, 30, 1)
    report = diagnose(chains)
    scores = score_sampler(race.views[3])
    assert scores.modes_visited == np.median(report.modes_visited)
    assert scores.occupancy_error == report.all_occupancy_error
    assert scores.sample_size == report.sample_size.mean()
    assert scores.modes_explored == scores.modes_visited  # cg-SGLD keeps every step
    assert scores.mode_changes == report.mode_changes.mean()
    # One rounding of a quotient.
    assert scores.autocorrelation_time == pytest.approx(2000 / scores.sample_size, rel=SAME_SUM)


def test_the_table_of_frames(race):
    rows = list(csv.DictReader(io.StringIO(GAUSSIANS.tables(race)["Data"](race))))
    assert len(rows) == 4 * 60
    last = rows[-1]
    assert (last["sampler"], last["step"]) == ("cg", "2000")
    # Nine digits are written.
    assert float(last["kl_nats"]) == pytest.approx(race.views[3].divergence[-1], rel=NINE_DIGITS)
    assert float(last["chain_1_x"]) == pytest.approx(race.views[3].path[-1, -1, 0], rel=NINE_DIGITS)
    assert not any(value in ("nan", "inf") for row in rows for value in row.values())


def test_the_code_computes_the_same_numbers(tmp_path, monkeypatch, capsys):
    settings = replace(SMALL, noise_free=True, exploration_cg=0.3, alpha_max=9.0)
    monkeypatch.chdir(tmp_path)
    exec(compile(GAUSSIANS.python(settings), "copied", "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    for run, line in zip(GAUSSIANS.run(settings).views, printed, strict=True):
        scores = score_sampler(run)
        assert line.startswith(f"{run.method}: modes {scores.modes_visited:g} of 25")
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
    run = next(run for run in race.views if run.method == sampler)
    explored = modes if explored is None else explored
    return replace(
        run,
        report=replace(run.report, modes_visited=np.array([modes, modes])),
        share_in_modes=np.append(run.share_in_modes[:-1], share),
        modes_explored=np.array([explored, explored]),
    )


def last_claim(race, *runs, **knobs):
    settings = replace(race.settings, **knobs)
    return GAUSSIANS.judge(replace(race, views=runs, settings=settings))[-1]


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
        assert GAUSSIANS.judge(replace(race, views=(run,), settings=replace(SMALL, **knobs))) == ()
    colder = last_claim(race, made_up(race, "nsgld", 25, 0.2), noise=0.4, noise_nsgld=1.0)
    assert "of 1 instead of 0.4" in colder.here
    assert "temperature" not in colder.here  # a scale of 1 is the target's own


def test_without_noise_there_is_none_to_increase(race):
    """Without Langevin noise the others descend the gradient: no sampler to compare with."""
    runs = made_up(race, "sgld", 1), made_up(race, "nsgld", 25, 0.2)
    silent = replace(race, views=runs, settings=replace(SMALL, noise=0.0))
    assert [claim.paper[:4] for claim in GAUSSIANS.judge(silent)] == ["SGLD"]
    assert len(GAUSSIANS.judge(replace(silent, settings=replace(SMALL, noise=0.1)))) == 2


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
    claims = GAUSSIANS.judge(replace(race, views=runs))
    assert [claim.verdict for claim in claims] == ["does not hold"] * 2  # none of likeness
    assert all("roughly 7 to 8" in claim.paper for claim in claims)


def test_nothing_is_claimed_of_chains_that_keep_too_little():
    """A cycle of one step keeps nothing; thirty steps are too few to visit a mode."""
    short = GaussiansSettings(steps=30, cycles=30, exploration_cg=0.5)
    race = GAUSSIANS.run(short)
    assert race.views[3].n_kept[-1] == 0
    assert GAUSSIANS.judge(race) == ()
    long = GAUSSIANS.run(replace(short, steps=100, cycles=1, samplers=("sgld", "cg")))
    assert [claim.paper[:4] for claim in GAUSSIANS.judge(long)] == ["SGLD", "cg-S"]


def test_the_papers_claims_at_its_settings():
    """The page's first picture; the seed is the page's."""
    claims = GAUSSIANS.judge(GAUSSIANS.run())
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
    for claim in GAUSSIANS.judge(GAUSSIANS.run(settings)):
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
        other = GAUSSIANS.gather(replace(SMALL, target=target), race.views)
        assert GAUSSIANS.judge(other) == ()
    assert GAUSSIANS.judge(replace(race, views=())) == ()


def test_whose_settings_the_verdicts_are_about_is_said():
    def about(**knobs):
        return GAUSSIANS.about(GAUSSIANS.gather(GaussiansSettings(**knobs), ()))

    assert about(samplers=("cg",), seed=7).startswith("In the paper")
    for knobs in ({"chains": 2}, {"exploration_cg": 0.25}, {"noise": 0.4}):
        assert "not all the paper's" in about(**knobs)


N = 4  # cells a side


class Grid(NamedTuple):
    label: str = "A target"
    edges_x: np.ndarray = np.linspace(-2, 2, N + 1)
    edges_y: np.ndarray = np.linspace(-1, 1, N + 1)
    density: np.ndarray = np.full((N, N), 0.125)
    marginal_x: np.ndarray = np.full(N, 0.25)
    marginal_y: np.ndarray = np.full(N, 0.5)
    n_modes: int = 3
    outlines: tuple = (np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]),) * 2
    step_limit: float = 0.06


def run_of(
    sampler="sgld", steps=(10, 20, 30), density=0.25, span=None, sizes=(0.1, 0.05), **changes
):
    f, steps = len(steps), np.array(steps)
    ramp = np.linspace(0.0, 1.0, f)
    run = SimpleNamespace(
        method=sampler,
        n_chains=1,
        steps=steps,
        n_kept=steps,
        density=np.full((f, N, N), density),
        marginal_x=np.full((f, N), 0.3),
        marginal_y=np.full((f, N), 0.4),
        modes_visited=3 * ramp,
        share_in_modes=ramp,
        occupancy_error=1 - ramp,
        divergence=3 - ramp,
        path=np.zeros((f, 5, 2)) + np.arange(f)[:, None, None],
        stay_steps=np.array([0, 10, 20]),
        stay_modes=np.array([2, -1, 0]),
        size_steps=np.array([0, 5]),
        sizes=np.array(sizes),
        size_span=int(steps[-1]) if span is None else span,
        exploring=np.array([[0, 2]]),
        all_stopped=False,
    )
    vars(run).update(changes)
    return run


RACE = [run_of("sgld"), run_of("cg", span=10)]


def drawn(runs, grid=None, **view):
    return picture(Run(GAUSSIANS, GaussiansSettings(**view), grid or Grid(), tuple(runs)), ())


def opened(sheet):
    return begin(sheet, SimpleNamespace(data=Grid()), SimpleNamespace(every=False))


def strips_by_title(sheet):
    return {strip.title: strip for strip in sheet.strips}


def test_a_sampler_is_told_by_its_label_and_its_colour():
    assert all(key == record.key for key, record in SAMPLERS.items())
    assert len({record.label for record in SAMPLERS.values()}) == len(SAMPLERS)
    assert len({record.colour for record in SAMPLERS.values()}) == len(SAMPLERS)
    assert SAMPLERS["sgld"].colour == METHODS["sglb"].colour  # it stands for SGLB
    assert SAMPLERS["cg"].colour == METHODS["csglb"].colour


def test_a_page_opens_with_four_maps_and_one_chart():
    race = [run_of(sampler) for sampler in SAMPLERS]
    sheet = opened(drawn(race))
    assert [panel.title for panel in sheet.panels] == ["SGLD", "N-SGLD", "clr-SGLD", "cg-SGLD"]
    assert [strip.title for strip in sheet.strips] == ["Modes visited"]
    header = decode_sheet(encode_sheet(sheet)).header
    assert (header["quiet"], header["together"], header["greets"]) == (True, 2, True)
    assert header["panels"][0]["subtitle"] == ["0 of 3 modes", "1.5 of 3 modes", "3 of 3 modes"]
    assert header["lines"][0]["thin"]
    # With fewer samplers there is room for the target.
    fewer = opened(drawn(RACE)).panels
    assert [panel.title for panel in fewer] == ["Target", "SGLD", "cg-SGLD"]
    nobody = opened(drawn([]))
    assert [panel.title for panel in nobody.panels] == ["Target"]


def test_one_scale_for_all_or_each_its_own():
    assert {panel.limits for panel in drawn(RACE).panels} == {(0.0, 0.125)}
    own = drawn(RACE, scale="own").panels
    assert [panel.limits for panel in own] == [(0.0, 0.125), (0.0, 0.25), (0.0, 0.25)]
    nothing = drawn([run_of(density=0.0)], scale="own")
    assert nothing.panels[1].limits == (0.0, 1.0)


def test_log_colours_span_four_decades():
    panels = drawn(RACE, log=True).panels
    assert all(panel.log for panel in panels)
    assert panels[0].limits == pytest.approx((0.125e-4, 0.125))


def test_counts_are_samples_of_a_cell():
    panels = drawn(RACE, shown="counts").panels
    assert panels[1].unit == "samples a cell"
    # 30 samples, a quarter per unit area, half a unit of area a cell: 3.75.
    assert np.unique(panels[1].values[-1]).tolist() == [4.0]
    assert np.unique(panels[0].values).tolist() == [pytest.approx(0.125 * 0.5 * 30)]


def test_the_path_appears_and_vanishes_with_its_frame():
    points = drawn(RACE).panels[1].points
    assert points.appear.tolist() == [0] * 5 + [1] * 5 + [2] * 5
    np.testing.assert_array_equal(points.vanish, points.appear + 1)
    assert points.group.tolist() == [0, 0, 0, 0, 1] * 3
    assert drawn(RACE, trail=False).panels[1].points is None


def test_the_borders_of_the_modes_on_request():
    assert drawn(RACE).lines == ()
    (line,) = drawn(RACE, outlines=True).lines
    assert np.isnan(line.x).sum() == 2  # a gap behind each
    assert line.x[:4].tolist() == [0.0, 1.0, 0.0, 0.0]  # closed


def test_stays_are_level_lines_with_gaps_over_all_steps():
    strip = strips_by_title(drawn(RACE))["SGLD: mode"]
    assert (strip.x[0], strip.x[-1]) == (0.0, 30.0)
    seen = ~np.isnan(strip.lines[0].y)
    assert strip.x[seen].tolist() == [0.0, 10.0, 20.0, 30.0]
    assert strip.lines[0].y[seen].tolist() == [3.0, 3.0, 1.0, 1.0]
    assert strip.mode == "grow"


def test_the_schedules_cursor_goes_round_within_the_cycles_that_are_drawn():
    strips = strips_by_title(drawn(RACE))
    assert strips["SGLD: size"].frame_x.tolist() == [10, 20, 30]
    folded = strips["cg-SGLD: size"]
    assert folded.frame_x.tolist() == [10, 10, 10]
    assert folded.shaded == [(0.0, 2.0)]
    assert np.unique(folded.lines[0].y).tolist() == [0.06]


def test_only_sizes_that_fall_far_are_logarithmic():
    def log_of(sizes):
        sheet = drawn([run_of(sizes=sizes)])
        return strips_by_title(sheet)["SGLD: size"].log

    assert log_of((0.05, 0.0002))
    assert not log_of((0.1, 0.01))
    assert not log_of((0.09, 0.0))


def test_divergences_begin_at_zero_whatever_they_are():
    strips = strips_by_title(drawn(RACE))
    assert strips["KL, nats"].y_limits == pytest.approx((0.0, 3.15))
    unkept = run_of(divergence=np.full(3, np.nan))
    sheet = drawn([unkept])
    assert strips_by_title(sheet)["KL, nats"].y_limits == (0.0, 1.0)


def test_cells_that_chains_never_came_to_before_they_ran_off_are_hatched():
    density = np.zeros((3, N, N))
    density[:, 0, 1] = 0.5
    gone = run_of("cg", density=density, all_stopped=True)
    sheet = drawn([run_of("sgld", density=0.0), gone])
    assert [panel.hatched is None for panel in sheet.panels] == [True, True, False]
    np.testing.assert_array_equal(sheet.panels[2].hatched, density[-1] == 0)
    assert "ran off to infinity" in sheet.hatch_label
    assert "ran off" in sheet.panels[2].alt
    assert "ran off" not in sheet.panels[1].alt
    assert decode_sheet(encode_sheet(sheet)).header["frames"] == 3


def test_a_run_of_other_steps_stands_still():
    sheet = drawn([run_of("sgld"), run_of("cg", (15, 35))])
    assert np.asarray(sheet.panels[2].values).shape == (N, N)
    strips = strips_by_title(sheet)
    assert [line.name for line in strips["Modes visited"].lines] == ["SGLD"]
    assert strips["cg-SGLD: x"].lines[1].y.shape == (3, N)
    assert decode_sheet(encode_sheet(sheet)).header["frames"] == 3


@pytest.mark.parametrize("view", [{"shown": "x"}, {"scale": "x"}, {"charts": ("x", "z")}])
def test_an_impossible_view_is_refused(view):
    with pytest.raises(InvalidParameter, match="must be one of"):
        drawn(RACE, **view)


class Cycle(NamedTuple):
    sampler: str
    steps: np.ndarray = np.arange(5)
    points: np.ndarray = np.array([[0.0, 0.0], [1.0, 0.5], [0.5, 0.5], [np.nan] * 2, [np.nan] * 2])
    energy: np.ndarray = np.array([3.0, 2.0, 1.0, np.nan, np.nan])
    exploring: np.ndarray = np.array([True, True, False, False, False])
    sizes: np.ndarray = np.array([0.1, 0.1, 0.08, 0.01, 0.01])
    pulls: np.ndarray = np.full(5, 0.1)
    kicks: np.ndarray = np.full(5, 0.2)


def test_a_cycle_is_played_over_the_energy_with_its_stages_coloured():
    sheet = cycle_sheet(Grid(), np.zeros((8, 8)) + 3.0, [Cycle("clr"), Cycle("cg")], alt="words")
    decoded = decode_sheet(encode_sheet(sheet))
    assert decoded.header["frames"] == 5
    assert decoded.header["frameValues"] == [0, 1, 2, 3, 4]
    assert [strip.title for strip in sheet.strips[::2]] == [
        "clr-SGLD: step size",
        "clr-SGLD: energy",
        "clr-SGLD: moves",
    ]
    points = sheet.panels[0].points
    # What is gone is not drawn; the newest stays where it was seen last.
    np.testing.assert_array_equal(points.group, [0, 0, 1, 3, 3, 3])
    np.testing.assert_array_equal(points.appear, [0, 1, 2, 0, 1, 2])
    np.testing.assert_array_equal(points.vanish[3:], [1, 2, 5])
    assert sheet.strips[0].shaded == [(0.0, 2.0)]
