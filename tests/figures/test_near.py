"""Dots of neighbours: thinned, in groups by their affinity."""

import numpy as np

from gbuq_core.figures.error_dots import error_dots
from gbuq_core.figures.near import MOST_DOTS, Near, by_strength, others_of


def test_many_rows_are_thinned_but_never_a_neighbour():
    near = Near(np.arange(5000, 5200), np.linspace(1.0, 0.5, 200))
    others = others_of(20_000, near)
    assert len(others) == MOST_DOTS
    assert not np.intersect1d(others, near.rows).size
    assert sum(len(rows) for rows, _, _ in by_strength(near)) == 200


def test_equal_affinities_are_all_strongest():
    groups = by_strength(Near(np.arange(4), np.full(4, 0.3)))
    assert [(len(rows), size, opacity) for rows, size, opacity in groups] == [(4, 9.0, 1.0)]


def test_without_truths_dots_have_one_colour_and_no_legend():
    drawn, legend = error_dots(np.full(3, np.nan), "error")
    assert [part["at"] for part in drawn] == [[0, 1, 2]]
    assert legend == []
