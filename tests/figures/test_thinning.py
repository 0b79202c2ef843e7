"""A sheet with less to send plays the same numbers, and its knob still has the members it needs."""

import numpy as np
import pytest
from live_stages import chosen_stages

from gbuq_core.figures.canvas.encoding import encode_sheet
from gbuq_core.figures.canvas.live import Ensemble, Live
from gbuq_core.figures.canvas.panels import Panel, PanelSheet, Points, Strip, StripLine
from gbuq_core.figures.canvas.thinning import thin_sheet
from gbuq_core.figures.handles import live_knob
from gbuq_core.knobs import Knob
from tests.figure_readers import decode_sheet

TREES = np.arange(20, 601, 20)
STAGES = np.arange(10, 601, 10)
SHOWN = ("2", "10", "20", "all")
KNOBS = {
    "step": (Knob("step", "K", "integer", 50, 10, 200, step=10), 50),
    "shown": (Knob("shown", "Members", "ladder", "all", choices=SHOWN), "all"),
    "flag": (Knob("flag", "Flag", "ladder", 0, choices=(0, 10)), 0),
}


def sheet_with(seen):
    """Thirty frames of one cell, ten models and a long one, with this knob in the bar."""
    knobs = [live_knob(*KNOBS[key], needs=None if key == seen else {key: (-1,)}) for key in KNOBS]
    panels = [Panel(title=str(i), values=TREES[:, None, None] + i) for i in range(6)]
    line = StripLine("loss", TREES[:, None] * np.ones(4))
    strips = [Strip(title="A", x=np.arange(4.0), lines=[line], mode="frame", frame_x=TREES / 200)]
    live = Live(
        "classes",
        [
            Ensemble("models", [300], np.full((1, 30, 1, 3), 1 / 3), TREES, (0, 1, 2)),
            Ensemble("truncation", STAGES, np.full((60, 1, 1, 3), 1 / 3), TREES, (3, 4, 5)),
        ],
    )
    dot = Points([0.0], [0.0], None, ("row",), ("#000000",), appear=[3])
    panels[0] = Panel(title="rows", values=panels[0].values, points=dot)
    return PanelSheet(panels=panels, strips=strips, frame_values=TREES, knobs=knobs, live=live)


def test_frames_and_all_that_follows_them_are_the_same_ones():
    thin = thin_sheet(sheet_with("step"))
    kept = np.searchsorted(TREES, thin.frame_values)
    assert len(kept) <= 7
    assert (thin.frame_values[0], thin.frame_values[-1]) == (20, 600)
    decoded = decode_sheet(encode_sheet(thin, coarse=True))
    assert decoded.header["panels"][1]["values"]["type"] == "u1"
    # Half a step of 255 in a range of 580.
    np.testing.assert_allclose(decoded.values[1][:, 0, 0], TREES[kept] + 1, atol=580 / 510 + 1e-6)
    np.testing.assert_array_equal(thin.strips[0].lines[0].y[:, 0], TREES[kept])
    np.testing.assert_array_equal(thin.strips[0].frame_x, TREES[kept] / 200)
    np.testing.assert_array_equal(thin.live.ensembles[0].frame_trees, TREES[kept])
    (appears,) = thin.panels[0].points.appear  # in the first frame that is not before its own
    assert kept[appears - 1] < 3 <= kept[appears]


@pytest.mark.parametrize(
    ("seen", "models", "long"), [("step", 0, 12), ("shown", 1, 12), ("flag", 0, 0)]
)
def test_members_are_those_that_the_knob_chooses_from(seen, models, long):
    thin = thin_sheet(sheet_with(seen))
    apart, cut = thin.live.ensembles
    assert (len(apart.members), len(cut.members)) == (models, long)
    assert len(apart.stages) == models
    assert seen != "shown" or apart.members.shape[1] == 10  # of 30: all of them are in the frames
    step, shown, _ = thin.knobs
    assert shown.choices == ("2", "10", "all")
    assert shown.choices[shown.value] == "all"
    assert step.choices[step.value] == 50
    assert len(step.texts) == len(step.choices)
    for choice in step.choices if seen == "step" else (50,) if seen == "shown" else ():
        asked = {"step": choice, "start": 0.0, "burn_in": 0, "cycle": 0, "shown": None}
        assert set(chosen_stages("truncation", 600, **asked)) <= set(cut.stages.tolist())
