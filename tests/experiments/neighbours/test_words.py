"""Neighbours in words: a range of one place, large numbers of trees, what families keep."""

from dataclasses import replace

import numpy as np
import pytest

from gbuq_core.experiments.neighbours.look import (
    describe_brush,
    describe_choice,
    look_at,
    run_neighbours,
)
from gbuq_core.experiments.neighbours.plan import NeighboursSettings


@pytest.fixture(scope="module")
def run():
    return run_neighbours(NeighboursSettings(rows=200, trees=20, k=15))


def brushed(run, scales, scales_of="rows"):
    settings = replace(run.settings, scales=scales, scales_of=scales_of)
    return run._replace(settings=settings, view=replace(run.view, settings=settings))


def test_one_percentile_is_one_scale(run):
    assert describe_brush(run) == ""
    words = describe_brush(brushed(run, (100, 100)))
    assert words.startswith("Percentile 100 is a scale of ")
    assert describe_brush(brushed(run, (95, 100))).startswith("Percentiles 95 to 100")


def test_a_range_without_a_row_says_so(run):
    wide = replace(run.view, grid_scale=run.view.grid_scale + 9.0)
    places = brushed(run._replace(view=wide), (100, 100), "places")
    assert "None of the 1,000 fresh rows has such a scale, but some places do" in describe_brush(
        places
    )


def test_neighbours_at_one_place_are_not_a_range(run):
    same = replace(run.look, features=np.full_like(run.look.features, 6.98))
    assert "lie at x = 6.98 and" in describe_choice(run._replace(look=same))
    assert "lie at x from " in describe_choice(run)


def test_many_trees_are_written_as_elsewhere(run):
    many = replace(run.look, affinities=np.full(15, 1999), n_trees=2000)
    assert "in 1,999 of 2,000 trees" in describe_choice(run._replace(look=many))


def test_all_families_but_the_kernel_density_keep_the_prediction_as_their_mean():
    """What the page's caption says; the place is one where the two means differ."""
    run = run_neighbours(NeighboursSettings(data="diabetes", trees=50, diabetes_row=13))
    look = look_at(run.fit, run.search, run.settings, run.view)
    means = {}
    for name, density in look.densities.items():
        mass = np.trapezoid(density, look.y_grid)
        means[name] = float(np.trapezoid(density * look.y_grid, look.y_grid) / mass)
    away = {name: abs(mean - look.loc) / look.scale for name, mean in means.items()}
    # The grid ends 4.5 scales away: it cuts off little of a tail.
    assert max(value for name, value in away.items() if name != "kde") < 0.05
    assert abs(means["kde"] - look.targets.mean()) / look.scale < 0.02 < away["kde"]
