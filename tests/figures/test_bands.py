"""The bands figure draws the numbers it is given, with the outer edge at the total."""

import numpy as np
import pytest

from gbuq_core.figures.bands import Bands, Limits, bands_figure
from gbuq_core.figures.theme import METHOD_STYLES, fade, plot_config

LIMITS = Limits(y=(-5.0, 5.0), variance=(0.0, 3.0))


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
        x_rows=np.array([0.1, 0.5]),
        y_rows=np.array([0.0, 1.0]),
        gaps=((0.8, 1.0),),
    )


def traces(figure, name, axis=None):
    return [t for t in figure.data if t.name == name and t.yaxis == axis]


def test_the_inner_band_is_data_and_the_outer_edge_total(bands):
    figure = bands_figure(bands, METHOD_STYLES["sglb"], LIMITS, n_std=2.0)
    lowest, low, high, highest = (t.y for t in figure.data[:4])
    inner, outer = 2 * np.sqrt(bands.data), 2 * np.sqrt(bands.data + bands.knowledge)
    # Sent as float32: 6e-8 relative to values below 5.
    for edge, wanted in (
        (lowest, bands.loc - outer),
        (low, bands.loc - inner),
        (high, bands.loc + inner),
        (highest, bands.loc + outer),
    ):
        np.testing.assert_allclose(edge, wanted, atol=1e-6)


def test_variances_are_stacked_to_the_total(bands):
    figure = bands_figure(bands, METHOD_STYLES["sglb"], LIMITS)
    (data,) = traces(figure, "data", "y2")
    (total,) = traces(figure, "data + knowledge = total", "y2")
    np.testing.assert_allclose(data.y, bands.data, rtol=1e-6)
    np.testing.assert_allclose(total.y, bands.data + bands.knowledge, rtol=1e-6)


def test_stretches_without_rows_are_hatched_in_both_panels(bands):
    figure = bands_figure(bands, METHOD_STYLES["sglb"], LIMITS)
    hatched = [t for t in figure.data if t.name == "no rows"]
    assert [t.yaxis for t in hatched] == ["y", "y2"]
    assert all(t.fillpattern.shape == "/" for t in hatched)
    assert [t.showlegend for t in hatched] == [True, False]


def test_axes_are_fixed_and_the_truth_stands_out_on_dark_pages(bands):
    light = bands_figure(bands, METHOD_STYLES["sglb"], LIMITS, dark=False)
    dark = bands_figure(bands, METHOD_STYLES["sglb"], LIMITS, dark=True)
    assert light.layout.yaxis.range == LIMITS.y
    assert light.layout.yaxis2.range == LIMITS.variance
    (on_light,), (on_dark,) = traces(light, "truth"), traces(dark, "truth")
    assert on_light.line.color != on_dark.line.color


def test_a_method_is_drawn_in_its_own_colour(bands):
    for style in METHOD_STYLES.values():
        figure = bands_figure(bands, style, LIMITS)
        (line,) = traces(figure, style.label)
        assert (line.line.color, line.line.dash) == (style.colour, style.dash)


def test_labels_tell_methods_apart_where_colours_do_not():
    looks = {(style.colour, style.dash) for style in METHOD_STYLES.values()}
    assert len(looks) == len(METHOD_STYLES)
    assert len({style.label for style in METHOD_STYLES.values()}) == len(METHOD_STYLES)


def test_fade_and_mode_bar():
    assert fade("#ff8000", 0.5) == "rgba(255,128,0,0.5)"
    config = plot_config("wave", "png")
    assert config["toImageButtonOptions"] == {"format": "png", "filename": "wave", "scale": 3}
    assert config["displaylogo"] is False
