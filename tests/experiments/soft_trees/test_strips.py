"""Functions of soft trees as charts that can be played."""

from types import SimpleNamespace

import numpy as np
import pytest
from tolerances import ZERO

from gbuq_core.experiments.soft_trees.strips import functions_strip
from gbuq_core.figures.canvas.encoding import encode_sheet
from gbuq_core.figures.canvas.panels import PanelSheet
from tests.figure_readers import decode_sheet

X = np.linspace(-1.0, 1.0, 41)
ROWS = np.array([-0.51, 0.0, 0.52])


def data_of(support=None, true_mean=None):
    return SimpleNamespace(
        x=X, y_range=(-2.0, 2.0), X=ROWS[:, None], y=2 * ROWS,
        support=np.ones(len(X), bool) if support is None else support, true_mean=true_mean,
    )  # fmt: skip


def lines_of(strip):
    return {line.name: np.asarray(line.y) for line in strip.lines}


def test_rows_stand_at_their_own_x_and_functions_are_read_between_places():
    functions = np.array([X, 3 * X])
    strip = functions_strip(data_of(true_mean=-X), "VST", functions, "#773093")
    lines, x = lines_of(strip), np.asarray(strip.x)
    assert np.isin(ROWS, x).all()
    held = np.isfinite(lines["row"])
    np.testing.assert_array_equal(x[held], ROWS)
    np.testing.assert_array_equal(lines["row"][held], 2 * ROWS)
    for name, slope in (("function 1", 1), ("function 2", 3), ("mean", 2), ("truth", -1)):
        np.testing.assert_allclose(lines[name], slope * x, atol=ZERO)  # straight lines
    assert strip.lines[-1].name == "mean"  # over all others
    assert tuple(strip.shaded) == ()


def test_frames_show_other_functions_or_lift_one_of_them_out():
    functions = np.random.default_rng(0).normal(size=(4, 3, len(X)))
    scene = data_of()
    played = functions_strip(scene, "by rank", functions, "#773093")
    assert lines_of(played)["function 3"].shape == (4, len(played.x))
    lifted = functions_strip(scene, "one by one", functions[0], "#773093", spotlight=True)
    lines = lines_of(lifted)
    np.testing.assert_array_equal(lines["this function"][1], lines["function 2"])
    assert "mean" not in lines
    for strip, frames in ((played, 4), (lifted, 3)):
        sheet = PanelSheet(panels=[], strips=[strip], alt="functions")
        assert decode_sheet(encode_sheet(sheet)).header["frames"] == frames


def test_where_rows_can_lie_is_tinted():
    strip = functions_strip(data_of(support=X > 0.01), "tails", X[None], "#773093")
    ((low, high),) = strip.shaded
    assert low == pytest.approx(0.025)  # half-way between two places
    assert high == 1.0
