"""Spiral through AppTest: picture, looks at a point and along a line, what cannot be fitted."""

import numpy as np
import pytest

from gbuq_core.study.members import count_fits
from gbuq_core.study.spiral import SIDE, SPIRAL, SpiralSettings
from gbuq_core.study.spiral_walks import ask_members, decompose, walk
from pages._ui import study as study_page
from pages._ui.canvas import CanvasEvent
from pages._ui.study import state_of
from tests.app.drawn import unnamed
from tests.app.experiment_page import (
    job_of,
    keys_of,
    move,
    notes,
    open_page,
    settle,
    sheet,
    table,
    titles,
    values_of,
    words,
)
from tests.app.waiting import live_jobs

STATE = state_of(SPIRAL)
SETTINGS = SpiralSettings(
    methods=("sglb", "csglb"),
    rows=100,
    members=3,
    trees=50,
    chain_trees=100,
    cycle=20,
    step=10,
    depth=4,
)


def test_the_page_shows_truth_methods_scores_every_member_of_a_point_and_a_line():
    at = open_page("spiral", px="300", py="-20", flag="20")
    run = SPIRAL.run(SETTINGS)
    assert titles(at) == [
        "True data uncertainty",
        "SGLB: total",
        "SGLB: data",
        "SGLB: knowledge",
        "True density",
        "cSGLB: total",
        "cSGLB: data",
        "cSGLB: knowledge",
    ]
    # The last frame is the finished map; values travel in steps of a 65,535th of their range.
    shown, wanted = values_of(at, "SGLB: total")[-1], run.views[0].last.total
    np.testing.assert_allclose(shown.ravel(), wanted, atol=2e-5)
    assert SPIRAL.describe(run) in words(at)
    assert [strip["title"] for strip in sheet(at).header["strips"]] == ["Gradient scale", "Loss"]
    assert table(at, "| Score |")
    # Flagged cells are counted beside chance.
    note = next(note for note in notes(at) if note.startswith("Flagged cells outside the data"))
    assert f"Chance would give {100 * (~run.data.in_support).mean():.0f} %" in note
    hatched = [panel["title"] for panel in sheet(at).header["panels"] if panel["hatched"]]
    assert hatched == ["SGLB: knowledge", "cSGLB: knowledge"]
    # The linked point shows every member there.
    header = sheet(at, 1).header
    assert [strip["title"] for strip in header["strips"]] == [
        "SGLB, members",
        "cSGLB, members",
        "SGLB, while it grew",
        "cSGLB, while it grew",
    ]
    assert header["strips"][3]["marks"] == run.views[1].trees.tolist()
    point = decompose(ask_members(run, run.views[1], np.array([[300.0, -20.0]])))
    assert f"{point.knowledge[0]:#.3g}" in table(at, "| At this point")
    assert sheet(at).header["markers"][0]["x"] == 300.0
    # The ray is there at once and shows each kind.
    header = sheet(at, 2).header
    assert header["strips"][0]["title"] == "Knowledge uncertainty"
    assert [line["name"] for line in header["strips"][0]["lines"]] == ["SGLB", "cSGLB"]
    assert len(sheet(at).header["lines"]) == 1
    fits = count_fits()
    move(at, "along", "total")
    header = sheet(at, 2).header
    assert header["strips"][0]["title"] == "Total uncertainty"
    assert "true data uncertainty" in [line["name"] for line in header["strips"][0]["lines"]]
    assert walk(run, (0, 0), (600, 450)).distance[-1] == 750.0
    # Typed coordinates move the point. Folded, it is neither worked out nor drawn, but remembered.
    digest = sheet(at, 1).header["digest"]
    move(at, "px", 200.0)
    assert sheet(at, 1).header["digest"] != digest
    assert sheet(at).header["markers"][0]["x"] == 200.0
    at.session_state["one_point"] = False
    at.run().run()
    assert not any(m.value.startswith("| At this point") for m in at.markdown)
    assert sheet(at).header["markers"] == []
    at.session_state["one_point"] = True
    at.run()
    assert sheet(at).header["markers"][0]["x"] == 200.0
    assert count_fits() == fits


def test_the_answer_agrees_with_the_verdicts_that_a_click_on_it_gives():
    at = open_page("spiral", small=False, noise="0.2", methods=["SGLB"])
    label = "Trees fail far out: SGLB notices the gaps between the arms, but does not notice that "
    (answer,) = (
        popover for popover in at.get("popover") if popover.proto.popover.label.startswith(label)
    )
    assert any("far cells: no" in text.value for text in answer.markdown)
    assert any("gaps between arms: yes" in text.value for text in answer.markdown)


def test_knobs_are_those_of_the_methods_that_are_chosen():
    at = open_page("spiral", methods="vRF")
    keys = keys_of(at) | {knob["key"] for knob in sheet(at).header["knobs"]}
    assert {"members", "trees", "shown", "flag"} <= keys
    assert not keys & {"cycle", "alpha_max", "burn_in", "step", "rate", "depth", "mask"}
    assert titles(at)[2:] == ["vRF: total", "vRF: data", "vRF: knowledge"]
    assert unnamed(sheet(at)) == set()
    assert sheet(at).header["frames"] == 1
    # The exploring part is asked for where it does something.
    (knob,) = (knob for knob in STATE.knobs if knob.key == "exploration")
    values = {knob.key: knob.default for knob in STATE.knobs}
    for methods, noise_free, asked in (
        (("cSGLB",), False, False),
        (("cSGLB",), True, True),
        (("SGLB",), True, False),
        (("cbSGLB",), False, True),
    ):
        assert knob.when({**values, "methods": methods, "noise_free": noise_free}) is asked


def test_a_bare_address_folds_what_a_link_opens():
    folded = ("one_point", "walk", "first_cycles")
    assert not any(STATE.opening[key] for key in folded)
    assert all(knob.default for knob in STATE.knobs if knob.key in folded)
    at = open_page("spiral", **dict.fromkeys(folded, "false"))
    shown = [component for component in at.get("bidi_component") if len(component.proto.bytes)]
    assert len(shown) == 2  # the maps, and the members that they are worked out from
    assert sheet(at).header["quiet"]
    assert [expander.label for expander in at.expander].count("One point") == 1


@pytest.mark.parametrize(
    ("event", "keys"),
    [
        (CanvasEvent(clicked=(0, 0, SIDE - 1)), {"one_point": True, "px": 592.0, "py": -592.0}),
        (
            CanvasEvent(dragged=[(0, 0), (SIDE - 1, SIDE - 1)]),
            {"one_point": True, "px": 0.0, "py": 0.0},
        ),
        (
            CanvasEvent(ray=(-600.0, 0.4, 10.0, 600.0)),
            {"walk": True, "rx": -600.0, "ry": 0.0, "sx": 10.0, "sy": 600.0},
        ),
        (CanvasEvent(), {}),
    ],
)
def test_clicks_and_lines_become_numbers(event, keys, monkeypatch):
    session = {}
    monkeypatch.setattr(study_page.st, "session_state", session)
    study_page._click(SPIRAL, event)
    # Half a cell from the edge is 592.5: rounded to a whole number, either side will do.
    assert session == pytest.approx(keys, abs=1.0)


def test_a_slow_method_shows_progress_beside_the_quick_one_and_can_be_cancelled():
    at = open_page("spiral")
    scores = table(at, "| Score |")
    # Minutes of CatBoost on any machine, stopped at once.
    at.multiselect(key="methods").set_value(["cSGLB", "CatBoost"])
    at.slider(key="members").set_value(30)
    at.select_slider(key="trees").set_value(2000).run()
    (job,) = (job for job in live_jobs() if job_of(job) == "catboost")
    assert "cSGLB: knowledge" in titles(at)
    assert "CatBoost: knowledge" not in titles(at)
    assert scores in [m.value for m in at.markdown]
    caption = "The scores below still belong to the previous settings."
    assert caption in [c.value for c in at.caption]
    at.button(key="_jobs_cancel").click().run()
    assert not at.exception
    assert any(note.startswith("Cancelled.") for note in notes(at))
    assert job.stopped


def test_what_cannot_be_fitted_is_said_and_the_rest_stays():
    at = open_page("spiral", shown="2", cycle="500")
    sentence = "Cycle length 500 is more than the 100 trees of the model: "
    assert any(note.startswith(f"cSGLB: {sentence}") for note in notes(at))
    assert "SGLB: knowledge" in titles(at)
    assert "cSGLB: knowledge" not in titles(at)
    assert "cSGLB" not in at.code[0].value
    settle(move(at, "methods", ["cbSGLB"]))  # alone, it leaves the truth
    assert any(note.startswith(f"cbSGLB: {sentence}") for note in notes(at))
    assert titles(at)[0] == "True data uncertainty"
    settle(move(at, "methods", ["SGLB"]))  # whose knobs are others
    assert "SGLB: knowledge" in titles(at)


def test_a_slider_moved_to_what_cannot_be_fitted_and_back_and_what_leaves_no_member():
    at = open_page("spiral")
    settle(move(at, "rate_cyclical", 0.3))
    assert any(note.startswith("cSGLB: Learning rate 0.3") for note in notes(at))
    settle(move(at, "rate_cyclical", 0.05))
    assert "cSGLB: knowledge" in titles(at)
    settle(move(at, "burn_in", 10))
    assert any(
        note.startswith("cSGLB: Burn-in 10 leaves none of the 5 cycles") for note in notes(at)
    )
    assert "SGLB: knowledge" in titles(at)
    assert "cSGLB: knowledge" not in titles(at)
    for key in ("rx", "ry", "sx", "sy"):
        move(at, key, 30.0)
    assert any("The line has no length" in note for note in notes(at))
