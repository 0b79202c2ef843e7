"""A map as a surface: its heights are the map's values, its colours the map's own."""

import numpy as np
import pytest

from gbuq_core.errors import InvalidParameter
from gbuq_core.figures.canvas.panels import Panel, PanelSheet, Points
from gbuq_core.figures.colour import COLOUR_MAPS, colour_table
from gbuq_core.figures.surface import describe_surface, panel_values, surface_figure

VALUES = np.array([[0.5, np.nan, 2.0], [1.0, 4.0, 0.25]])


def surface_of(panel, **options):
    return surface_figure(PanelSheet(panels=[panel], **options), 0)


def test_heights_stand_at_the_centres_of_their_cells():
    figure = surface_of(Panel(title="A", values=VALUES), x_extent=(0.0, 6.0), y_extent=(-1.0, 1.0))
    (surface,) = figure.data
    np.testing.assert_array_equal(surface.z, VALUES)
    np.testing.assert_allclose(surface.x, [1.0, 3.0, 5.0])
    np.testing.assert_allclose(surface.y, [-0.5, 0.5])
    assert figure.layout.scene.yaxis.autorange is None
    numbered = surface_of(Panel(title="A", values=VALUES))
    np.testing.assert_allclose(numbered.data[0].x, [0, 1, 2])
    assert numbered.layout.scene.yaxis.autorange == "reversed"  # row 0 lies at the top of the map


@pytest.mark.parametrize("name", COLOUR_MAPS)
def test_colours_are_those_of_the_map(name):
    (surface,) = surface_of(
        Panel(title="A", values=VALUES, limits=(0.0, 8.0), colour_map=name)
    ).data
    assert (surface.cmin, surface.cmax) == (0.0, 8.0)
    places, colours = zip(*surface.colorscale, strict=True)
    assert (places[0], places[-1]) == (0.0, 1.0)
    assert list(places) == sorted(places)
    for place, colour in zip(places, colours, strict=True):
        rgb = colour_table(name)[round(255 * place)]
        assert tuple(bytes.fromhex(colour[1:])) == tuple(rgb)
    # Light would change colours that the bar explains.
    assert (surface.lighting.ambient, surface.lighting.diffuse) == (1.0, 0.0)


def test_a_logarithmic_map_has_a_logarithmic_axis_and_bar():
    values = np.array([[0.0, 1e-3], [1e-1, 10.0]])
    figure = surface_of(Panel(title="A", values=values, unit="nats", limits=(1e-2, 1.0), log=True))
    (surface,) = figure.data
    np.testing.assert_allclose(surface.z, [[1e-2, 1e-2], [1e-1, 10.0]])
    np.testing.assert_allclose(surface.surfacecolor, np.log10(surface.z))
    assert (surface.cmin, surface.cmax) == (-2.0, 0.0)
    assert list(surface.colorbar.ticktext) == [
        "10<sup>\u22122</sup>",
        "10<sup>\u22121</sup>",
        "10<sup>0</sup>",
    ]
    assert figure.layout.scene.zaxis.type == "log"


def test_axes_and_bar_say_what_they_measure_and_text_stays_text():
    panel = Panel(title="<b>KU</b>", values=VALUES, unit="a < b")
    figure = surface_of(panel, x_label="<i>x</i>", y_labels=["<u>", "two"])
    scene = figure.layout.scene
    assert scene.zaxis.title.text == figure.data[0].colorbar.title.text == "a &lt; b"
    assert (scene.xaxis.title.text, scene.yaxis.title.text) == ("&lt;i&gt;x&lt;/i&gt;", "y")
    assert list(scene.yaxis.ticktext) == ["&lt;u&gt;", "two"]


def test_the_frame_is_the_one_that_the_sheet_starts_with():
    stack = np.stack([VALUES, 2 * VALUES, 3 * VALUES])
    sheet = PanelSheet(
        panels=[Panel(title="A", values=stack), Panel(title="B", values=VALUES[None])],
        start_frame=1,
    )
    np.testing.assert_array_equal(panel_values(sheet, 0), 2 * VALUES)
    np.testing.assert_array_equal(panel_values(sheet, 1), VALUES)
    assert "from 0.5 to 8" in describe_surface(sheet, 0)


def test_points_lie_on_the_surface_and_hatched_cells_are_marked():
    # In a cell, in the cell without a value, beside the map, and in the last cell.
    points = Points(
        x=[0.2, 1.0, 9.0, 2.4],
        y=[0.4, 0.0, 0.0, 1.4],
        group=[0, 0, 1, 1],
        group_names=["rows", "<b>"],
        colours=["#112233", "#445566"],
    )
    hatched = np.array([[True, True, False], [False, False, True]])
    panel = Panel(title="A", values=VALUES, points=points, hatched=hatched)
    _, first, second, marks = surface_of(panel, hatch_label="no rows").data
    assert (first.name, first.marker.color, list(first.z)) == ("rows", "#112233", [0.5])
    assert (second.name, list(second.x), list(second.z)) == ("&lt;b&gt;", [2.4], [0.25])
    assert marks.name == "no rows"
    assert list(zip(marks.x, marks.y, marks.z, strict=True)) == [(0, 0, 0.5), (2, 1, 0.25)]


def test_a_map_without_values_is_empty_and_a_panel_that_is_not_there_is_refused():
    blank = surface_of(Panel(title="A", values=np.full((2, 2), np.nan), log=True))
    assert np.isnan(blank.data[0].z).all()
    with pytest.raises(InvalidParameter, match="index"):
        surface_figure(PanelSheet(panels=[Panel(title="A", values=VALUES)]), 1)
