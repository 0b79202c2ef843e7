"""Home's experiment: what grows, what stays, and that the code for copying computes the same."""

import numpy as np
import pytest
from tolerances import SAME_SUM

from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.claims import chips_of, times_text
from gbuq_core.experiments.wave.claims import STUDY, check_claims
from gbuq_core.experiments.wave.fit import describe_wave, run_wave, wave_code
from gbuq_core.experiments.wave.plan import WaveSettings
from gbuq_core.presentation import short
from gbuq_core.synthetic import make_wave


@pytest.fixture(scope="module")
def few():
    return run_wave(WaveSettings(rows=100))


@pytest.fixture(scope="module")
def many():
    return run_wave(WaveSettings(rows=6400))


def test_more_rows_are_the_same_rows_and_more():
    small, large = make_wave(50, random_state=3), make_wave(500, random_state=3)
    np.testing.assert_array_equal(large.X[:50], small.X)
    np.testing.assert_array_equal(large.y[:50], small.y)


def test_the_rare_stretch_has_one_row_a_position_however_large_the_set():
    wave = make_wave(5000, random_state=1)
    positions, counts = np.unique(wave.X[:, 0], return_counts=True)
    rare = np.isin(positions, wave.grid[wave.is_rare, 0])
    assert counts[rare].tolist() == [1] * int(wave.is_rare.sum())
    # Multinomial over 47 positions: 106 expected each, standard deviation 10; 6 of those.
    assert counts[~rare].min() > 45
    assert set(positions) == set(wave.grid[wave.in_support, 0])


def test_the_noise_is_what_the_truth_says():
    wave = make_wave(100_000, random_state=2)
    at = np.searchsorted(wave.grid[:, 0], wave.X[:, 0])
    z = (wave.y - wave.mean[at]) / np.sqrt(wave.variance[at])
    # Standard errors 1/sqrt(N) = 0.0032 of the mean, 1/sqrt(2N) = 0.0022 of the std; 5 of those.
    assert abs(z.mean()) < 0.016
    assert abs(z.std() - 1.0) < 0.011


@pytest.mark.parametrize(
    "arguments", [{"n": 19}, {"n": 2.5}, {"noise": -1.0}, {"random_state": "x"}]
)
def test_impossible_arguments_are_refused(arguments):
    with pytest.raises(InvalidParameter):
        make_wave(**arguments)


def test_the_parts_of_the_uncertainty_add_up(few):
    total, data, knowledge = few.uncertainty
    # Two roundings of float64.
    np.testing.assert_allclose(total, data + knowledge, rtol=SAME_SUM)


def test_knowledge_uncertainty_melts_where_rows_are_added_and_stays_where_they_are_not(few, many):
    plenty_before, plenty_after = few.scores.plenty.knowledge, many.scores.plenty.knowledge
    # 64 times the rows, so an eighth if it went as 1/sqrt(N); regularisation keeps it above that.
    assert plenty_after < plenty_before / 3
    assert many.scores.rare.knowledge > 3 * plenty_after
    assert many.scores.rare.knowledge > few.scores.rare.knowledge / 2


def test_data_uncertainty_settles_at_the_noise(many):
    plenty = many.scores.plenty
    # 6,400 rows tell a standard deviation to about 1 %; smoothing by trees adds a few percent.
    assert plenty.data == pytest.approx(plenty.true_noise, rel=0.06)


def test_trees_do_not_notice_the_end_of_the_rows(many):
    beyond = many.scores.beyond
    assert beyond.error > 1.0
    assert beyond.knowledge < 0.2


def test_the_outer_band_holds_at_least_its_share_of_new_values(few, many):
    for run in (few, many):
        assert 0.94 < run.scores.coverage <= 1.0


def test_the_same_configuration_gives_the_same_numbers(few):
    again = run_wave(WaveSettings(rows=100))
    np.testing.assert_array_equal(again.loc, few.loc)
    np.testing.assert_array_equal(again.uncertainty.total, few.uncertainty.total)


@pytest.mark.parametrize("moved", [{}, {"rare": 1.0 + 1e-9, "rare_width": 2.2}])
def test_the_code_for_copying_computes_the_same(moved):
    names, run = {}, run_wave(WaveSettings(rows=100, **moved))
    code = wave_code(run.settings)
    assert ("rare_from=1.0, rare_width=2.2" in code) == bool(moved)
    exec(compile(code, "copied", "exec"), names)
    np.testing.assert_array_equal(names["prediction"], run.loc)
    np.testing.assert_array_equal(names["knowledge"], run.uncertainty.knowledge)
    np.testing.assert_array_equal(names["total"], run.uncertainty.total)


def test_the_words_carry_the_numbers(few):
    words = describe_wave(few)
    assert "100 training rows" in words
    assert f"{few.scores.rare.knowledge:.3g}" in words
    assert f"{few.scores.beyond.error:.3g}" in words


def test_statements_follow_the_numbers_and_seeds_are_runs_of_their_own(few):
    rare, none, noise, inside = check_claims(few)
    plenty, beyond = few.scores.plenty, few.scores.beyond
    assert none.verdict == "does not hold"  # trees repeat their last value
    assert short(beyond.knowledge) in none.here
    assert rare.value == times_text(few.scores.rare.knowledge / plenty.knowledge)
    assert len(chips_of((rare, none, noise, inside))) == 3
    plan = STUDY.plan(few.settings)
    assert not plan.quicker
    first, second = STUDY.run(plan._replace(seeds=(0, 1)))
    assert first.claims == (rare, none, noise, inside)
    assert second.claims == check_claims(run_wave(WaveSettings(rows=100, seed=1)))
