"""Heart through AppTest: its picture and scores, painting, what cannot be shown."""

from dataclasses import replace

import numpy as np

from gbuq_core.study.heart import HEART, HeartSettings, write_cells
from tests.app.drawn import unnamed
from tests.app.experiment_page import (
    keys_of,
    notes,
    open_page,
    settle,
    sheet,
    table,
    titles,
    values_of,
    words,
)

SETTINGS = HeartSettings(rows=30, trees=100, members=4, step=10)


def test_the_page_shows_truth_and_methods_and_their_scores_and_cells_are_painted():
    at = open_page("heart")
    run = HEART.run(SETTINGS)
    assert titles(at)[:4] == ["True noise", "SGLB: total", "SGLB: data", "SGLB: knowledge"]
    # float32 travels.
    shown = values_of(at, "SGLB: knowledge")
    view = run.views[0]
    played = np.isin(view.stages, sheet(at).header["frameValues"])
    knowledge = np.sqrt(view.at.knowledge[played])
    np.testing.assert_allclose(shown.reshape(knowledge.shape), knowledge, rtol=1e-6)
    assert HEART.describe(run) in words(at)
    assert notes(at) == []
    assert f"{run.numbers['virtual_sglb']['auroc']:.3f}" in table(at, "| Std |")
    assert any(m.value.startswith("**Holds.**") for m in at.markdown)
    # Painted cells lose their rows, and knowledge answers.
    settle(at.text_input(key="cells").set_value("00").run())
    assert np.isnan(values_of(at, "True noise")[0, 0, 0])
    assert values_of(at, "SGLB: knowledge")[-1, 0, 0] > 10 * shown[-1, 0, 0]
    assert HEART.describe(HEART.run(replace(SETTINGS, cells=(0,)))) in words(at)
    settle(at.button(key="_undo").click().run())
    assert HEART.describe(run) in words(at)
    assert "cells" not in at.query_params


def test_forests_say_what_they_cannot_tell():
    at = open_page("heart", methods="vRF", map="vRF: data")
    panels = {panel["title"]: panel for panel in sheet(at).header["panels"]}
    named = next(knob for knob in sheet(at).header["knobs"] if knob["key"] == "map")
    assert named["texts"][named["value"]] == panels["vRF: data"]["name"] == "vRF: data"
    assert unnamed(sheet(at)) == set()
    assert panels["vRF: total"]["markers"][0]["label"] == "not available"
    assert np.isnan(values_of(at, "vRF: data")).all()
    assert np.isfinite(values_of(at, "vRF: knowledge")).all()
    assert "Error of data" not in table(at, "| Std |")
    assert "rate" not in keys_of(at)


def test_what_cannot_be_shown_is_a_sentence_and_the_rest_stays():
    at = open_page("heart", step="200")
    assert any("virtual SGLB: truncation_step 200 gives no member" in note for note in notes(at))
    assert "SGLB: knowledge" in titles(at)
    assert "virtual SGLB: knowledge" not in titles(at)
    filled = write_cells(np.flatnonzero(HEART.data(SETTINGS).in_support).tolist())
    at = open_page("heart", cells=filled)
    sentence = "At least 2 cells need training rows. Undo some of the painting."
    assert any(note.startswith(sentence) for note in notes(at))
    assert not np.isnan(values_of(at, "True noise")).all()
