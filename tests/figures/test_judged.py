"""Figures of "Is it any good?": what is drawn where, and that words claim no chance."""

import json

import numpy as np
import pytest

from gbuq_core.figures.table.judged import (
    describe_groups,
    describe_pit,
    groups_figure,
    pit_figure,
)
from gbuq_core.figures.theme import METHOD_STYLES
from gbuq_core.metrics import group_coverage, pit_histogram

STYLE = METHOD_STYLES["sglb"]
NASTY = "<a href='http://evil.example'>x</a>"
# Numbers are sent with five significant digits.
ROUNDING = {"rel": 5.1e-5}


def test_bars_of_pit_stand_on_their_bins():
    pit = np.random.default_rng(0).random(300) ** 2
    histogram = pit_histogram(pit)
    figure = pit_figure(histogram, STYLE, describe_pit(pit))
    bars = figure.spec["panels"][0]["layers"][0]
    assert bars["x"][:4] == [0.0, 10.0, 10.0, 20.0]
    assert bars["high"][::2] == pytest.approx((100 * histogram.share).tolist(), **ROUNDING)
    assert "Predictions are too high" in figure.alt
    json.dumps(figure.spec)


@pytest.mark.parametrize(
    ("pit", "sentence"),
    [
        (np.linspace(0.3, 0.7, 200), "too wide"),
        (np.tile([0.001, 0.999], 100), "too narrow"),
        (np.linspace(0.5001, 1.0, 200), "too low"),
        (np.linspace(0.0, 1.0, 200), "by more than chance"),
        (np.array([0.01, 0.99]), "by more than chance"),
    ],
)
def test_what_pit_values_say(pit, sentence):
    assert sentence in describe_pit(pit)


def test_groups_that_are_off_are_marked_and_named():
    hits = np.repeat([1, 0, 1, 0], [100, 40, 54, 6])
    groups = group_coverage(hits, 0.9, np.repeat([0, 1, 2], [100, 40, 60]), ["a", NASTY, "c"])
    assert groups.is_off.tolist() == [True, True, True, False]
    words = describe_groups(groups, False)
    assert words.startswith(NASTY[:39])
    assert "0 % of the rows" in words
    assert "c:" not in words
    drawn = groups_figure(groups, STYLE, "rows (%)", words).spec
    json.dumps(drawn)
    dots = [part for part in drawn["panels"][0]["layers"] if part["kind"] == "dots"]
    assert [dot["colour"] == "#d55e00" for dot in dots] == groups.is_off.tolist()
    assert [dot["y"][0] for dot in dots] == pytest.approx(100 * groups.observed, **ROUNDING)
    assert dots[2]["y"] == [0.0]
    assert drawn["read"]["names"] == list(groups.names)
