"""Heart through AppTest: picture, knobs that refit and knobs that do not, painting, bad links."""

import csv
import io
from dataclasses import replace

import numpy as np
import pytest

from gbuq_core.experiments.experiment import account_html, experiment_sections
from gbuq_core.experiments.heart.experiment import HEART
from gbuq_core.experiments.heart.export import heart_code, heart_csv
from gbuq_core.experiments.heart.fit import count_fits, run_heart
from gbuq_core.experiments.heart.plan import (
    HeartSettings,
    problem_with_cells,
    read_cells,
    write_cells,
)
from gbuq_core.experiments.heart.scores import describe_heart, score_heart
from gbuq_core.settings import from_values
from pages._ui.canvas import CanvasEvent
from pages._ui.heart.controls import STATE, toggled
from tests.app.drawn import unnamed
from tests.app.linked import link_of, values_of_link
from tests.app.opening import open_link
from tests.app.waiting import live_jobs, run_when_done
from tests.figure_readers import decode_sheet

SMALL = {"rows": "30", "trees": "100", "members": "4", "step": "10"}
SETTINGS = HeartSettings(rows=30, trees=100, members=4, step=10)


def open_heart(small=True, **query):
    return settle(open_link("heart", {**(SMALL if small else {}), **query}))


def turn(at, key, value):
    """Let a knob of the picture's own bar go."""
    at.session_state[key] = value
    return at


def job_of(job):
    """The method that a job of this page trains."""
    return job.key[1].method if job.key[0] == "heart" else ""


def settle(at):
    """Run again once nothing quick is being fitted."""
    return run_when_done(
        at,
        lambda at: at.get("bidi_component"),
        lambda: [job for job in live_jobs() if job_of(job) != "catboost"],
    )


def sheet(at):
    return decode_sheet(at.get("bidi_component")[0].proto.bytes)


def titles(at):
    return [panel["title"] for panel in sheet(at).header["panels"]]


def values_of(at, title):
    return sheet(at).values[titles(at).index(title)]


def table(at):
    return next(m.value for m in at.markdown if m.value.startswith(("| Std |", "| Variance |")))


def notes(at):
    return [t.value for t in at.text if not t.value.startswith("81 cells")]


def test_the_page_shows_truth_and_methods_and_their_scores():
    at = open_heart()
    run = run_heart(SETTINGS)
    assert titles(at)[:4] == ["True noise", "SGLB: total", "SGLB: data", "SGLB: knowledge"]
    # float32 travels.
    shown = values_of(at, "SGLB: knowledge")
    maps = run.methods[0]
    played = np.isin(maps.n_trees, sheet(at).header["frameValues"])
    np.testing.assert_allclose(shown, np.sqrt(maps.knowledge[played]), rtol=1e-6)
    assert describe_heart(run) in [t.value for t in at.text]
    assert notes(at) == []
    assert f"{score_heart(run.methods[1]).auroc_knowledge:.3f}" in table(at)
    assert any(m.value.startswith("**Holds.**") for m in at.markdown)


def test_the_preset_is_the_papers_ensembles():
    (paper,) = STATE.presets
    settings = from_values(HeartSettings, paper.values)
    assert settings.methods == ("sgb", "sglb", "virtual_sglb")
    assert (settings.members, settings.trees) == (10, 1000)
    assert (settings.rate, settings.rate_sgb) == (0.3, 0.1)


@pytest.mark.parametrize(
    ("change", "same"),
    [
        (lambda at: turn(at, "step", 20), ["SGLB: knowledge"]),
        (lambda at: turn(at, "start", 0.2), ["SGLB: knowledge"]),
        (lambda at: turn(at, "shown", "2"), ["True noise"]),
        (lambda at: turn(at, "unit", "variance"), []),
        (lambda at: turn(at, "log", False), ["SGLB: total"]),
        (lambda at: turn(at, "scale", "own"), ["SGLB: total"]),
    ],
)
def test_a_knob_of_the_view_changes_the_picture_and_fits_nothing(change, same):
    at = open_heart()
    before, digest = count_fits(), sheet(at).header["digest"]
    kept = {title: values_of(at, title) for title in same}
    change(at).run()
    assert not at.exception
    assert not at.get("progress")
    assert sheet(at).header["digest"] != digest
    assert count_fits() == before
    for title, values in kept.items():
        np.testing.assert_array_equal(values_of(at, title), values)


def test_a_knob_refits_only_what_depends_on_it():
    at = open_heart()
    settle(at.select_slider(key="trees").set_value(50).run())
    before = count_fits()
    settle(at.slider(key="members").set_value(5).run())
    assert count_fits() == before + 1  # the virtual ensemble is one model
    settle(at.select_slider(key="rate").set_value(0.2).run())
    assert count_fits() == before + 3


def test_forests_say_what_they_cannot_tell():
    at = open_heart(methods="vRF", map="vRF: data")
    panels = {panel["title"]: panel for panel in sheet(at).header["panels"]}
    named = next(knob for knob in sheet(at).header["knobs"] if knob["key"] == "map")
    assert named["texts"][named["value"]] == panels["vRF: data"]["name"] == "vRF: data"
    assert unnamed(sheet(at)) == set()
    assert panels["vRF: total"]["markers"][0]["label"] == "not available"
    assert np.isnan(values_of(at, "vRF: data")).all()
    assert np.isfinite(values_of(at, "vRF: knowledge")).all()
    assert "| Error of data, mean | \u2013 |" in table(at)
    assert "rate" not in [s.key for s in at.select_slider]


def test_no_method_leaves_the_truth_and_an_invitation():
    at = open_heart(methods="")
    assert titles(at) == ["True noise"]
    assert any("Choose a method" in note for note in notes(at))


def test_a_truncation_without_members_is_said_and_the_other_method_stays():
    at = open_heart(step="200")
    assert any("virtual SGLB: truncation_step 200 gives no member" in note for note in notes(at))
    assert "SGLB: knowledge" in titles(at)
    assert "virtual SGLB: knowledge" not in titles(at)


def test_cells_that_leave_no_rows_are_refused_with_a_sentence():
    filled = write_cells(np.flatnonzero(run_heart(SETTINGS).data.in_support).tolist())
    at = open_heart(cells=filled)
    sentence = "At least 2 cells need training rows. Undo some of the painting."
    assert any(note.startswith(sentence) for note in notes(at))
    assert not np.isnan(values_of(at, "True noise")).all()


def test_painted_cells_lose_their_rows_and_knowledge_answers():
    at = open_heart()
    before = values_of(at, "SGLB: knowledge")[-1, 0, 0]
    settle(at.text_input(key="cells").set_value("00").run())
    assert np.isnan(values_of(at, "True noise")[0, 0, 0])
    assert values_of(at, "SGLB: knowledge")[-1, 0, 0] > 10 * before
    assert "18 cells have no training rows" in describe_of(at)
    settle(at.button(key="_unpaint").click().run())
    assert "17 cells have no training rows" in describe_of(at)
    assert "cells" not in at.query_params


def describe_of(at):
    return next(t.value for t in at.text if t.value.startswith("81 cells"))


@pytest.mark.parametrize(
    ("held", "event", "painted"),
    [
        ("", CanvasEvent(clicked=(0, 0, 3)), "03"),
        ("03", CanvasEvent(clicked=(5, 0, 3)), ""),
        ("", CanvasEvent(clicked=(0, 4, 4)), "44"),
        ("", CanvasEvent(lassoed=[(0, 0), (0, 1)]), "00.01"),
        ("00", CanvasEvent(lassoed=[(0, 0), (0, 1)]), "00.01"),  # what has rows loses them
        ("00.01", CanvasEvent(lassoed=[(0, 0), (0, 1)]), ""),  # none has: all get some
        ("00", CanvasEvent(lassoed=[(0, 0), (4, 4)]), "44"),
        ("", CanvasEvent(lassoed=[(0, 0), (4, 4)]), "00"),
    ],
)
def test_clicks_turn_cells_over_and_lassos_empty_or_fill(held, event, painted):
    assert write_cells(toggled(read_cells(held), event)) == painted


def test_too_many_painted_cells_are_refused():
    assert problem_with_cells(range(81)).startswith("At most 66")
    assert problem_with_cells([]) == ""


def test_the_page_offers_code_data_and_itself():
    at = open_heart(seed="3")
    blocks = [block.value for block in at.code]
    assert heart_code(replace(SETTINGS, seed=3)).strip() in blocks
    assert values_of_link(STATE, link_of(at)).seed == 3
    run = run_heart(SETTINGS)
    assert len(list(csv.reader(io.StringIO(heart_csv(run))))) == 82
    page = account_html(HEART, run, experiment_sections(HEART, run, run.methods)).decode()
    assert describe_heart(run) in page
    assert "<td>holds</td>" in page
    assert "http" not in page.split("<script")[0].replace("http-equiv", "")


def test_a_slow_method_shows_progress_beside_the_quick_one_and_can_be_cancelled():
    # Minutes of CatBoost on any machine, stopped at once.
    at = open_heart(small=False, rows="3000", trees="2000", methods=["SGLB", "CatBoost"], depth="8")
    slow = [job for job in live_jobs() if job_of(job) == "catboost"]
    assert len(slow) == 1
    assert "SGLB: knowledge" in titles(at)
    assert "CatBoost: knowledge" not in titles(at)
    at.button(key="_jobs_cancel").click().run()
    assert any(note.startswith("Cancelled.") for note in notes(at))
    assert slow[0].stopped
