"""The bands figure draws the numbers it is given, with the outer edge at the total."""

import json

import numpy as np
import pytest

from gbuq_core.figures.curves import curves_source
from gbuq_core.figures.theme import METHOD_STYLES, ink, plot_config
from gbuq_core.figures.wave import MOST_DOTS, Bands, Limits, bands_figure

LIMITS = Limits(y=(-5.0, 5.0), variance=(0.0, 3.0))
STYLE = METHOD_STYLES["sglb"]
# Numbers are sent with five significant digits.
ROUNDING = {"rtol": 5.1e-5, "atol": 0.0}


@pytest.fixture
def bands(rng):
    x = np.linspace(0.0, 1.0, 11)
    return Bands(
        x=x,
        loc=rng.normal(size=11),
        data=rng.random(11),
        knowledge=rng.random(11),
        true_mean=np.zeros(11),
        true_variance=np.ones(11),
        x_rows=rng.random(2000),
        y_rows=rng.random(2000),
        gaps=((0.8, 1.0),),
    )


def layers(figure, panel, kind):
    return [part for part in figure.spec["panels"][panel]["layers"] if part["kind"] == kind]


def test_the_inner_band_is_data_and_the_outer_edge_total(bands):
    figure = bands_figure(bands, STYLE, LIMITS, n_std=2.0)
    lower_rim, band, upper_rim = layers(figure, 0, "band")
    inner, outer = 2 * np.sqrt(bands.data), 2 * np.sqrt(bands.data + bands.knowledge)
    for edge, wanted in (
        (lower_rim["low"], bands.loc - outer),
        (lower_rim["high"], bands.loc - inner),
        (band["low"], bands.loc - inner),
        (band["high"], bands.loc + inner),
        (upper_rim["low"], bands.loc + inner),
        (upper_rim["high"], bands.loc + outer),
    ):
        np.testing.assert_allclose(edge, wanted, **ROUNDING)
    assert lower_rim["opacity"] == upper_rim["opacity"] > band["opacity"]


def test_variances_are_stacked_to_the_total(bands):
    figure = bands_figure(bands, STYLE, LIMITS)
    data, knowledge = layers(figure, 1, "band")
    np.testing.assert_array_equal(data["low"], np.zeros(11))
    np.testing.assert_allclose(data["high"], bands.data, **ROUNDING)
    np.testing.assert_allclose(knowledge["low"], bands.data, **ROUNDING)
    np.testing.assert_allclose(knowledge["high"], bands.data + bands.knowledge, **ROUNDING)


def test_stretches_without_rows_are_hatched_in_both_panels_and_named(bands):
    figure = bands_figure(bands, STYLE, LIMITS)
    hatch = {"kind": "hatch", "from": 0.8, "to": 1.0}
    assert layers(figure, 0, "hatch") == layers(figure, 1, "hatch") == [hatch]
    assert "no rows" in [entry["name"] for entry in figure.spec["legend"]]
    without = bands_figure(bands._replace(gaps=()), STYLE, LIMITS)
    assert "no rows" not in [entry["name"] for entry in without.spec["legend"]]


def test_the_read_out_gives_standard_deviations_and_the_truth(bands):
    read = bands_figure(bands, STYLE, LIMITS).spec["read"]
    values = {entry["name"]: entry["at"] for entry in read["values"]}
    np.testing.assert_allclose(values["knowledge std"], np.sqrt(bands.knowledge), **ROUNDING)
    np.testing.assert_allclose(values["true noise"], np.sqrt(bands.true_variance), **ROUNDING)


def test_axes_are_fixed_and_dots_are_limited(bands):
    figure = bands_figure(bands, STYLE, LIMITS)
    assert [panel["range"] for panel in figure.spec["panels"]] == [[-5.0, 5.0], [0.0, 3.0]]
    (dots,) = layers(figure, 0, "dots")
    assert len(dots["x"]) == len(dots["y"]) == MOST_DOTS


def test_a_method_is_drawn_in_its_own_colour(bands):
    for style in METHOD_STYLES.values():
        figure = bands_figure(bands, style, LIMITS)
        assert {part["colour"] for part in layers(figure, 0, "band")} == {style.colour}
        assert style.label in [entry["name"] for entry in figure.spec["legend"]]


def test_the_specification_is_json(bands):
    spec = bands_figure(bands, STYLE, LIMITS, alt="words").spec
    assert json.loads(json.dumps(spec)) == spec


def test_texts_are_set_as_text():
    assert "innerHTML" not in curves_source()


def test_labels_tell_methods_apart_where_colours_do_not():
    looks = {(style.colour, style.dash) for style in METHOD_STYLES.values()}
    assert len(looks) == len(METHOD_STYLES)
    assert len({style.label for style in METHOD_STYLES.values()}) == len(METHOD_STYLES)


def test_colours_and_the_mode_bar_of_plotly_figures():
    assert ink(dark=True).truth != ink(dark=False).truth
    config = plot_config("wave", "png")
    assert config["toImageButtonOptions"] == {"format": "png", "filename": "wave", "scale": 3}
    assert config["displaylogo"] is False
