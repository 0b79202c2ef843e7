"""The bands figure draws the numbers of a run, with the outer edge at the total."""

import json

import numpy as np
import pytest

from gbuq_core.experiments.wave.fit import N_STD, run_wave
from gbuq_core.experiments.wave.picture import MOST_DOTS, wave_figure
from gbuq_core.experiments.wave.plan import WaveSettings
from gbuq_core.figures.theme import METHOD_STYLES

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
    np.testing.assert_allclose(values["knowledge std"], knowledge, **ROUNDING)
    np.testing.assert_allclose(values["true noise"], noise, **ROUNDING)


def test_dots_are_limited(figure):
    (dots,) = layers(figure, 0, "dots")
    assert len(dots["x"]) == len(dots["y"]) == MOST_DOTS


def test_the_specification_is_json(figure):
    assert json.loads(json.dumps(figure.spec)) == figure.spec
