"""Methods' colours and names, and what every figure of curves holds to."""

from gbuq_core.figures.curves import curves_source
from gbuq_core.figures.theme import METHOD_STYLES, ink, plot_config


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
