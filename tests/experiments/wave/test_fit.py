"""Home's experiment: what grows, what stays, and that the code for copying computes the same."""

import json

import numpy as np
import pytest

from gbuq_core.experiments.claims import chips_of, times_text
from gbuq_core.experiments.wave.fit import (
    N_STD,
    STUDY,
    WaveSettings,
    check_claims,
    describe_wave,
    run_wave,
    wave_code,
)
from gbuq_core.experiments.wave.picture import MOST_DOTS, wave_figure
from gbuq_core.figures.theme import METHOD_STYLES
from gbuq_core.presentation import short


@pytest.fixture(scope="module")
def few():
    return run_wave(WaveSettings(rows=100))


@pytest.fixture(scope="module")
def many():
    return run_wave(WaveSettings(rows=6400))


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


def test_statements_follow_the_numbers_and_seeds_are_runs_of_their_own():
    usual = run_wave()
    rare, none, noise, inside = check_claims(usual)
    plenty, beyond = usual.scores.plenty, usual.scores.beyond
    assert none.verdict == "does not hold"  # trees repeat their last value
    assert short(beyond.knowledge) in none.here
    assert rare.value == times_text(usual.scores.rare.knowledge / plenty.knowledge)
    assert len(chips_of((rare, none, noise, inside))) == 3
    plan = STUDY.plan(usual.settings)
    assert not plan.quicker
    first, second = STUDY.run(plan._replace(seeds=(0, 1)))
    assert first.claims[:4] == (rare, none, noise, inside)
    assert second.claims[:4] == check_claims(run_wave(WaveSettings(seed=1)))
    for *_, law in (first.claims, second.claims):
        assert law.verdict == "holds"
        assert "stacked law" in law.paper
    (other,) = STUDY.run(STUDY.plan(WaveSettings(rows=125))._replace(seeds=(0,)))
    assert len(other.claims) == 4  # the law takes too long for seeds that nobody has stored


# Numbers are sent with five significant digits.
ROUNDING = {"rtol": 5.1e-5, "atol": 0.0}


@pytest.fixture(scope="module")
def run():
    return run_wave(WaveSettings(rows=1250))


@pytest.fixture(scope="module")
def figure(run):
    return wave_figure(run)


def layers(figure, panel, kind):
    return [part for part in figure.spec["panels"][panel]["layers"] if part["kind"] == kind]


def test_the_inner_band_is_data_and_the_outer_edge_total(run, figure):
    lower_rim, band, upper_rim = layers(figure, 0, "band")
    total, data, _ = run.uncertainty
    inner, outer = N_STD * np.sqrt(data), N_STD * np.sqrt(total)
    for edge, wanted in (
        (lower_rim["low"], run.loc - outer),
        (lower_rim["high"], run.loc - inner),
        (band["low"], run.loc - inner),
        (band["high"], run.loc + inner),
        (upper_rim["low"], run.loc + inner),
        (upper_rim["high"], run.loc + outer),
    ):
        np.testing.assert_allclose(edge, wanted, **ROUNDING)
    assert lower_rim["opacity"] == upper_rim["opacity"] > band["opacity"]
    assert {part["colour"] for part in (band, lower_rim)} == {METHOD_STYLES["sglb"].colour}


def test_variances_are_stacked_to_the_total(run, figure):
    data, knowledge = layers(figure, 1, "band")
    np.testing.assert_array_equal(data["low"], np.zeros(70))
    np.testing.assert_allclose(data["high"], run.uncertainty.data, **ROUNDING)
    np.testing.assert_allclose(knowledge["low"], run.uncertainty.data, **ROUNDING)
    np.testing.assert_allclose(knowledge["high"], run.uncertainty.total, **ROUNDING)


def test_the_stretch_without_rows_is_hatched_in_both_panels_and_named(figure):
    hatch = {"kind": "hatch", "from": 6.0, "to": 6.9}
    assert layers(figure, 0, "hatch") == layers(figure, 1, "hatch") == [hatch]
    assert "no rows" in [entry["name"] for entry in figure.spec["legend"]]


def test_the_read_out_gives_standard_deviations_and_the_truth(run, figure):
    values = {entry["name"]: entry["at"] for entry in figure.spec["read"]["values"]}
    knowledge, noise = np.sqrt(run.uncertainty.knowledge), np.sqrt(run.data.variance)
    np.testing.assert_allclose(values["knowledge, standard deviation"], knowledge, **ROUNDING)
    np.testing.assert_allclose(values["true noise"], noise, **ROUNDING)


def test_dots_are_limited(figure):
    (dots,) = layers(figure, 0, "dots")
    assert len(dots["x"]) == len(dots["y"]) == MOST_DOTS


def test_the_specification_is_json(figure):
    assert json.loads(json.dumps(figure.spec)) == figure.spec
