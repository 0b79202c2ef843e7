"""Spiral through AppTest: picture, knobs that refit and knobs that do not, looks, bad links."""

import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from gbuq_core.experiments.experiment import account_html, experiment_sections
from gbuq_core.experiments.spiral.experiment import SPIRAL
from gbuq_core.experiments.spiral.fit import SIDE, count_fits, run_spiral
from gbuq_core.experiments.spiral.plan import METHODS, PAPER, SpiralSettings
from gbuq_core.experiments.spiral.probe import probe, ray
from gbuq_core.experiments.spiral.scores import describe_spiral
from gbuq_core.settings import from_values
from pages._ui.canvas import CanvasEvent
from pages._ui.spiral import controls as spiral_controls
from pages._ui.spiral import quality as spiral_quality
from pages._ui.spiral.controls import STATE, choose
from tests.app.drawn import unnamed
from tests.app.opening import open_link
from tests.app.spiral_page import (
    ALL,
    SETTINGS,
    SMALL,
    move,
    notes,
    open_spiral,
    settle,
    sheet,
    titles,
    values_of,
    words,
)
from tests.app.waiting import live_jobs
from tests.figure_readers import decode_sheet
from tests.page_parts import blocks_of


def test_the_page_shows_truth_and_methods_and_their_scores():
    at = open_spiral()
    run = run_spiral(SETTINGS)
    assert titles(at) == [
        "True data uncertainty", "SGLB: total", "SGLB: data", "SGLB: knowledge",
        "True density", "cSGLB: total", "cSGLB: data", "cSGLB: knowledge",
    ]  # fmt: skip
    # The last frame is the finished map; values travel in steps of a 65,535th of their range.
    shown, wanted = values_of(at, "SGLB: total")[-1], run.methods[0].total[-1]
    np.testing.assert_allclose(shown, wanted, atol=2e-5)
    assert describe_spiral(run) in words(at)
    assert [strip["title"] for strip in sheet(at).header["strips"]] == ["Gradient scale", "Loss"]
    assert any(m.value.startswith("| Score |") for m in at.markdown)


def test_the_answer_agrees_with_the_verdicts_that_a_click_on_it_gives():
    at = open_spiral(small=False, noise="0.2", methods=["SGLB"])
    label = "Trees fail far out: SGLB notices the gaps between the arms, but does not notice that "
    (answer,) = (one for one in at.get("popover") if one.proto.popover.label.startswith(label))
    assert any("far cells: no" in text.value for text in answer.markdown)
    assert any("gaps between arms: yes" in text.value for text in answer.markdown)


def test_the_papers_preset_is_the_papers():
    (paper,) = STATE.presets
    assert from_values(SpiralSettings, paper.values) == PAPER


def test_a_knob_of_the_view_changes_the_picture_and_fits_nothing():
    """One knob after the other; each of these titles keeps its numbers."""
    at = open_spiral(**ALL)
    for key, value, same in (
        ("step", 20, ["SGLB: KU", "cSGLB: KU"]),
        ("start", 0.2, ["SGLB: KU"]),
        ("burn_in", 2, ["SGLB: KU", "virtual SGLB: KU"]),
        ("points", "all maps", ["SGLB: TU"]),
        ("points", "off", ["SGLB: TU"]),
        ("flag", 20, ["SGLB: KU", "cSGLB: KU"]),
        ("log", False, ["SGLB: TU"]),
        ("scale", "own", ["True density"]),
        ("shown", "2", ["True density"]),
    ):
        before, digest = count_fits(), sheet(at).header["digest"]
        kept = {title: values_of(at, title) for title in same}
        move(at, key, value)
        assert not at.exception, key
        assert not at.get("progress"), key
        assert sheet(at).header["digest"] != digest, key
        assert count_fits() == before, key
        for title, values in kept.items():
            np.testing.assert_array_equal(values_of(at, title), values)


def test_a_knob_refits_only_what_depends_on_it():
    """One knob after the other; a fit that was asked for before is not made again."""
    at = open_spiral()
    for key, value, n_fits in (
        ("rows", 200, 2), ("noise", 0.2, 2), ("seed", 1, 2), ("members", 4, 1), ("trees", 100, 1),
        ("chain_trees", 200, 1), ("depth", 3, 2), ("rate", 0.05, 1), ("rate_cyclical", 0.1, 1),
        ("cycle", 50, 1), ("alpha_max", 5, 1), ("alpha_min", 0.5, 1), ("leaf_noise", "on", 2),
        ("temperature", "1000", 2), ("random_strength", 1, 2), ("noise_free", True, 1),
    ):  # fmt: skip
        before, digest = count_fits(), sheet(at).header["digest"]
        settle(move(at, key, value))
        assert sheet(at).header["digest"] != digest, key
        assert 0 < count_fits() - before <= n_fits, key


@pytest.mark.parametrize(("key", "value"), [("mask", 0.3), ("exploration", 0.5)])
def test_masks_are_the_bootstrapped_methods_own(key, value):
    at = open_spiral(methods=["cSGLB", "cbSGLB"])
    other, own = values_of(at, "cSGLB: total"), values_of(at, "cbSGLB: total")
    settle(move(at, key, value))
    np.testing.assert_array_equal(values_of(at, "cSGLB: total"), other)
    assert not np.array_equal(values_of(at, "cbSGLB: total"), own)


def test_knobs_of_methods_that_are_not_chosen_are_not_drawn():
    at = open_spiral(methods="vRF")
    keys = {widget.key for kind in (at.slider, at.select_slider, at.toggle) for widget in kind}
    keys |= {knob["key"] for knob in sheet(at).header["knobs"]}
    assert {"members", "trees", "shown", "flag"} <= keys
    assert not keys & {"cycle", "alpha_max", "burn_in", "step", "rate", "depth", "mask"}
    assert titles(at)[2:] == ["vRF: total", "vRF: data", "vRF: knowledge"]
    assert unnamed(sheet(at)) == set()
    assert sheet(at).header["frames"] == 1


def test_the_exploring_part_is_asked_for_where_it_does_something():
    def keys(at):
        (settings,) = (fold for fold in at.expander if fold.label == "All settings")
        return [widget.key for widget in settings if widget.key]

    at = open_spiral(methods=["cSGLB"])
    assert "exploration" not in keys(at)
    move(at, "noise_free", True)
    assert keys(at).index("exploration") == keys(at).index("noise_free") + 1
    assert "exploration" not in keys(open_spiral(methods=["SGLB"], noise_free="true"))
    assert "exploration" in keys(open_spiral(methods=["cbSGLB"]))


def test_no_method_leaves_the_truth_and_an_invitation():
    at = open_spiral(methods="")
    assert titles(at) == ["True data uncertainty", "True density", "Density of class 1"]
    assert any("Choose a method" in note for note in notes(at))


def test_five_methods_are_refused():
    labels = [METHODS[key].label for key in ("sgb", "sglb", "virtual_sglb", "csglb", "cbsglb")]
    at = open_spiral(methods=labels)
    assert any(note.startswith("methods must be at most 4 of") for note in notes(at))
    assert len(at.multiselect(key="methods").value) <= 4


def test_a_burn_in_that_leaves_nothing_is_said_and_the_other_method_stays():
    at = open_spiral(burn_in="10")
    assert any(note.startswith("cSGLB: ") and "Burn-in" in note for note in notes(at))
    assert "SGLB: knowledge" in titles(at)
    assert "cSGLB: knowledge" not in titles(at)


def test_a_linked_point_shows_every_member_there():
    at = open_spiral(px="300", py="-20")
    run = run_spiral(SETTINGS)
    header = sheet(at, 1).header
    assert [strip["title"] for strip in header["strips"]] == [
        "SGLB, members", "cSGLB, members", "SGLB, while it grew", "cSGLB, while it grew",
    ]  # fmt: skip
    found = probe(run.methods[1].fit, SETTINGS, 300.0, -20.0)
    assert header["strips"][3]["marks"] == found.member_trees.tolist()
    table = next(m.value for m in at.markdown if m.value.startswith("| At this point"))
    assert f"{float(found.uncertainty.knowledge):#.3g}" in table
    assert sheet(at).header["markers"][0]["x"] == 300.0


def test_typed_coordinates_move_the_point_and_fit_nothing():
    at = open_spiral()
    before, digest = count_fits(), sheet(at, 1).header["digest"]
    at.number_input(key="px").set_value(200.0).run()
    assert sheet(at, 1).header["digest"] != digest
    assert sheet(at).header["markers"][0]["x"] == 200.0
    # Folded, it is neither worked out nor drawn, and it is remembered.
    at.session_state["one_point"] = False
    at.run().run()
    assert not any(m.value.startswith("| At this point") for m in at.markdown)
    assert sheet(at).header["markers"] == []
    at.session_state["one_point"] = True
    at.run()
    assert sheet(at).header["markers"][0]["x"] == 200.0
    assert count_fits() == before


def test_a_bare_address_folds_what_a_link_opens():
    folded = ("one_point", "walk", "first_cycles", "compute")
    assert not any(STATE.opening[key] for key in folded)
    assert all(knob.default for knob in STATE.knobs if knob.key in folded)
    assert len(open_spiral().get("bidi_component")) > 4
    at = open_spiral(**dict.fromkeys(folded, "false"))
    shown = [component for component in at.get("bidi_component") if len(component.proto.bytes)]
    assert len(shown) == 2  # the maps, and the members that they are worked out from
    assert sheet(at).header["quiet"]
    assert [expander.label for expander in at.expander].count("One point") == 1


def test_flagged_cells_are_counted_beside_chance():
    at = open_spiral(flag="20")
    told = next(note for note in notes(at) if note.startswith("Flagged cells outside the data"))
    run = run_spiral(SETTINGS)
    outside = ~run.truth.in_support
    assert f"Chance would give {100 * outside.mean():.0f} %" in told
    hatched = [panel["title"] for panel in sheet(at).header["panels"] if panel["hatched"]]
    assert hatched == ["SGLB: knowledge", "cSGLB: knowledge"]


def test_the_ray_is_there_at_once_and_shows_each_kind():
    at = open_spiral()
    run = run_spiral(SETTINGS)
    header = sheet(at, 2).header
    assert header["strips"][0]["title"] == "Knowledge uncertainty"
    assert [line["name"] for line in header["strips"][0]["lines"]] == ["SGLB", "cSGLB"]
    assert len(sheet(at).header["lines"]) == 1
    at.radio(key="along").set_value("total").run()
    header = sheet(at, 2).header
    assert header["strips"][0]["title"] == "Total uncertainty"
    assert "true data uncertainty" in [line["name"] for line in header["strips"][0]["lines"]]
    assert ray(run.methods[0].fit, SETTINGS, (0, 0), (600, 450)).distance[-1] == 750.0


def test_a_ray_without_length_is_said():
    at = open_spiral(rx="30", ry="30", sx="30", sy="30")
    assert any("The line has no length" in note for note in notes(at))


@pytest.mark.parametrize(
    ("event", "keys"),
    [
        (CanvasEvent(clicked=(0, 0, SIDE - 1)), {"one_point": True, "px": 592.0, "py": -592.0}),
        (
            CanvasEvent(lassoed=[(0, 0), (SIDE - 1, SIDE - 1)]),
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
    monkeypatch.setattr(spiral_controls.st, "session_state", session)
    choose(event, SIDE)
    # Half a cell from the edge is 592.5: rounded to a whole number, either side will do.
    assert session == pytest.approx(keys, abs=1.0)


def test_scores_of_the_settings_before_stay_while_a_fit_is_on_its_way():
    at = open_spiral()
    scores = next(m.value for m in at.markdown if m.value.startswith("| Score |"))
    at.multiselect(key="methods").set_value(["CatBoost"])
    at.select_slider(key="rows").set_value(3000)
    at.select_slider(key="trees").set_value(2000).run()
    assert scores in [m.value for m in at.markdown]
    told = "The scores below still belong to the previous settings."
    assert told in [c.value for c in at.caption]
    at.button(key="_jobs_cancel").click().run()
    assert not at.exception


def test_a_slow_method_shows_progress_beside_the_quick_one_and_can_be_cancelled():
    # Minutes of CatBoost on any machine, stopped at once.
    slow = {"rows": "3000", "trees": "2000", "members": "30", "depth": "8"}
    at = open_link("spiral", {**SMALL, **slow, "methods": ["cSGLB", "CatBoost"]})
    for _ in range(600):
        if at.get("bidi_component") and "cSGLB: knowledge" in titles(at):
            break
        time.sleep(0.05)
        at.run()
    jobs = [job for job in live_jobs() if getattr(job.key[1], "method", "") == "catboost"]
    assert len(jobs) == 1
    assert "CatBoost: knowledge" not in titles(at)
    at.button(key="_jobs_cancel").click().run()
    assert any(note.startswith("Cancelled.") for note in notes(at))
    assert jobs[0].stopped


IMPOSSIBLE = [
    ({"rate_cyclical": "0.3"}, "Learning rate 0.3 times largest alpha 10 is 3. "),
    ({"cycle": "500"}, "Cycle length 500 is more than the 100 trees of the model: "),
    ({"alpha_max": "1", "alpha_min": "2"}, "Smallest alpha 2 is above largest alpha 1: "),
]


@pytest.mark.parametrize(("query", "sentence"), IMPOSSIBLE)
def test_a_method_that_cannot_be_fitted_is_said_and_the_other_stays(query, sentence):
    at = open_spiral(methods=["SGLB", "cSGLB"], shown="2", **query)
    assert any(note.startswith(f"cSGLB: {sentence}") for note in notes(at))
    assert "SGLB: knowledge" in titles(at)
    assert "cSGLB: knowledge" not in titles(at)
    assert at.button(key="_spiral_compare").disabled
    assert "cSGLB" not in at.code[0].value


@pytest.mark.parametrize(("query", "sentence"), IMPOSSIBLE)
def test_a_method_that_cannot_be_fitted_leaves_the_truth(query, sentence):
    at = open_spiral(methods=["cbSGLB"], **query)
    assert any(note.startswith(f"cbSGLB: {sentence}") for note in notes(at))
    assert titles(at)[0] == "True data uncertainty"


@pytest.mark.parametrize(("query", "sentence"), IMPOSSIBLE)
def test_knobs_of_methods_that_are_not_chosen_break_nothing(query, sentence):
    at = open_spiral(methods=["SGLB"], **query)
    assert "SGLB: knowledge" in titles(at)
    assert any(note.startswith(f"cSGLB: {sentence}") for note in notes(at))
    assert at.button(key="_spiral_compare").disabled


def test_a_slider_moved_to_what_cannot_be_fitted_and_back():
    at = open_spiral()
    settle(move(at, "rate_cyclical", 0.3))
    assert any(note.startswith("cSGLB: Learning rate 0.3") for note in notes(at))
    settle(move(at, "rate_cyclical", 0.05))
    assert "cSGLB: knowledge" in titles(at)
    assert not at.button(key="_spiral_compare").disabled


def test_a_comparison_without_members_is_not_offered():
    at = open_spiral(methods=["SGLB"], step="200", shown="2")
    assert any(note.startswith("virtual SGLB: Truncation step 200") for note in notes(at))
    assert at.button(key="_spiral_compare").disabled
    at = open_spiral(methods=["SGLB", "cSGLB"], burn_in="10", shown="2")
    assert any(
        note.startswith("cSGLB: Burn-in 10 leaves none of the 5 cycles") for note in notes(at)
    )
    assert at.button(key="_spiral_compare").disabled


def test_a_cancelled_comparison_offers_one_button_which_starts_it_again(monkeypatch):
    gate = threading.Event()
    monkeypatch.setattr(spiral_quality, "quality_against_compute", lambda settings: gate.wait(60))
    at = open_spiral(seed="5")
    at.button(key="_spiral_compare").click().run()
    at.button(key="_jobs_cancel").click().run()
    gate.set()
    keys = [button.key for button in at.button]
    assert "_spiral_compare" in keys
    assert not {"_jobs_again", "_jobs_cancel"} & set(keys)
    assert "Cancelled." in notes(at)
    gate.clear()
    at.button(key="_spiral_compare").click().run()
    assert "_jobs_cancel" in [button.key for button in at.button]
    at.button(key="_jobs_cancel").click().run()
    gate.set()


def test_the_page_for_download_has_room_for_titles_and_sets_words_from_the_left():
    run = run_spiral(replace(SETTINGS, methods=("sglb", "virtual_sglb", "csglb", "cbsglb")))
    values = SimpleNamespace(**{knob.key: knob.default for knob in STATE.knobs})
    page = account_html(
        SPIRAL, run, experiment_sections(SPIRAL, run, run.methods, values=values)
    ).decode()
    # Maps as wide as they are tall: "Density of class 1" is about 130 px long.
    assert decode_sheet(blocks_of(page, "sheet")[0]).header["height"] >= 160
    assert "<th>Here</th><th>Verdict</th>" in page
