"""Start's wave: what grows, what stays, and that the code for copying computes the same."""

import numpy as np
import pytest

from gbuq_core.experiments.claims import chips_of, times_text
from gbuq_core.presentation import short
from gbuq_core.study.wave import MOST_DOTS, N_STD, WAVE, WaveSettings, wave_figure

ROUNDING = {"rtol": 5.1e-5, "atol": 0.0}  # numbers are sent with five significant digits


@pytest.fixture(scope="module")
def few():
    return WAVE.run(WaveSettings(rows=100))


@pytest.fixture(scope="module")
def many():
    return WAVE.run(WaveSettings(rows=6400))


def test_knowledge_uncertainty_melts_where_rows_are_added_and_stays_where_they_are_not(few, many):
    (before, after) = (run.numbers[""] for run in (few, many))
    # 64 times the rows, so an eighth if it went as 1/sqrt(N); regularisation keeps it above that.
    assert after["knowledge_plenty"] < before["knowledge_plenty"] / 3
    assert after["knowledge_rare"] > 3 * after["knowledge_plenty"]
    assert after["knowledge_rare"] > before["knowledge_rare"] / 2
    # 6,400 rows tell a standard deviation to about 1 %; smoothing by trees adds a few percent.
    assert after["data_plenty"] == pytest.approx(after["noise_plenty"], rel=0.06)
    assert after["error_beyond"] > 1.0  # trees do not notice the end of the rows
    assert after["knowledge_beyond"] < 0.2
    for numbers in (before, after):
        assert 0.94 < numbers["coverage"] <= 1.0


@pytest.mark.parametrize("moved", [{}, {"rare": 1.0 + 1e-9, "rare_width": 2.2}])
def test_the_code_for_copying_computes_the_same(moved):
    settings = WaveSettings(rows=100, **moved)
    names, at = {}, WAVE.run(settings).views[0].at
    code = WAVE.python(settings)
    assert ("rare_from=1.0, rare_width=2.2" in code) == bool(moved)
    exec(compile(code, "copied", "exec"), names)
    for name, values in zip(("prediction", "total", "data", "knowledge"), at.moments, strict=True):
        np.testing.assert_array_equal(names[name], values)


def test_statements_follow_the_numbers_and_seeds_are_runs_of_their_own():
    usual = WAVE.run()
    rare, none, noise, inside, law = WAVE.judge(usual)
    assert none.verdict == "does not hold"  # trees repeat their last value
    assert law.verdict == "holds"
    assert "stacked law" in law.paper
    numbers = usual.numbers[""]
    assert short(numbers["knowledge_beyond"]) in none.here
    assert rare.value == times_text(numbers["knowledge_rare"] / numbers["knowledge_plenty"])
    assert len(chips_of((rare, none, noise, inside, law))) == 3
    plan = WAVE.seeds.plan(usual.settings)
    assert not plan.quicker
    (first,) = WAVE.seeds.run(plan._replace(seeds=(0,)))
    assert first.claims == (rare, none, noise, inside, law)
    (other,) = WAVE.seeds.run(WAVE.seeds.plan(WaveSettings(rows=125))._replace(seeds=(0,)))
    assert len(other.claims) == 4  # the law takes too long for seeds that nobody has stored


def test_bands_are_data_and_total_and_variances_are_stacked(many):
    at = many.views[0].at
    figure = wave_figure(many)
    above, below = (
        [part for part in panel["layers"] if part["kind"] == "band"]
        for panel in figure.spec["panels"]
    )
    inner, outer = N_STD * np.sqrt(at.data), N_STD * np.sqrt(at.total)
    edges = [at.mean + edge for edge in (-outer, -inner, inner, outer)]
    for part, low, high in zip(above, edges, edges[1:], strict=False):
        np.testing.assert_allclose(part["low"], low, **ROUNDING)
        np.testing.assert_allclose(part["high"], high, **ROUNDING)
    assert above[0]["opacity"] == above[2]["opacity"] > above[1]["opacity"]
    for part, low, high in zip(below, (0 * at.data, at.data), (at.data, at.total), strict=True):
        np.testing.assert_allclose(part["low"], low, **ROUNDING)
        np.testing.assert_allclose(part["high"], high, **ROUNDING)
    read = {entry["name"]: entry["at"] for entry in figure.spec["read"]["values"]}
    knowledge = np.sqrt(at.knowledge)
    np.testing.assert_allclose(read["knowledge, standard deviation"], knowledge, **ROUNDING)
    for panel in figure.spec["panels"]:
        assert {"kind": "hatch", "from": 6.0, "to": 6.9} in panel["layers"]
    (dots,) = (p for p in figure.spec["panels"][0]["layers"] if p["kind"] == "dots")
    assert len(dots["x"]) == len(dots["y"]) == MOST_DOTS
