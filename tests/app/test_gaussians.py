"""25 Gaussians through AppTest: picture, scores, words, one cycle, chains that run off."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from gbuq_core.sampling import SAMPLERS, TARGETS
from gbuq_core.study.gaussians import GAUSSIANS, lede_of
from gbuq_core.study.gaussians_race import GaussiansSettings, count_runs
from pages._ui.study import state_of
from tests.app.drawn import unnamed
from tests.app.experiment_page import (
    answers_of,
    has_sheet,
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

SETTINGS = GaussiansSettings(steps=2000)


def test_the_page_shows_target_and_samplers_and_their_scores_and_one_cycle_when_asked():
    at = open_page("gaussians", every="true")
    race = GAUSSIANS.run(SETTINGS)
    assert titles(at) == ["Target", "SGLD", "N-SGLD", "clr-SGLD", "cg-SGLD"]
    assert unnamed(sheet(at)) == set()
    shown = values_of(at, "cg-SGLD")
    # 16-bit steps of the range.
    np.testing.assert_allclose(shown, race.views[3].density, atol=race.views[3].density.max() / 1e5)
    assert GAUSSIANS.describe(race) in words(at)
    assert notes(at) == []
    assert "| Modes visited, of 25 |" in table(at, "| 25 G")
    assert any(m.value.startswith("**Holds.**") for m in at.markdown)
    assert len(sheet(at).header["strips"]) == 20
    # One cycle is recorded only while its section is open.
    assert not has_sheet(at, "gaussians-cycle")
    runs = count_runs()
    at = open_page("gaussians", slow="true", cycle="3", every="true")
    slow = sheet(at, 1).header
    assert [panel["title"] for panel in slow["panels"]] == titles(at)[1:]
    assert slow["frameLabel"] == "step of the cycle"
    assert any(c.value.startswith("Cycle 3 of 30, 66 steps.") for c in at.caption)
    move(at, "cycle", 99)
    sentence = "There are only 30 cycles. The last one is shown."
    assert any(c.value.endswith(sentence) for c in at.caption)
    assert count_runs() == runs


def test_the_page_opens_with_a_map_of_each_sampler_and_the_answer():
    at = open_page("gaussians", steps="20000")
    assert titles(at) == ["SGLD", "N-SGLD", "clr-SGLD", "cg-SGLD"]
    assert [strip["title"] for strip in sheet(at).header["strips"]] == ["Modes visited"]
    answer = GAUSSIANS.say_answer(GAUSSIANS.run(replace(SETTINGS, steps=20_000)))
    assert answer.startswith("clr-SGLD finds 18 of the 25 modes, SGLD only 1; N-SGLD finds 25, but")
    assert answer in answers_of(at)


def test_verdicts_say_whose_settings_they_are_about():
    at = open_page("gaussians", samplers=["SGLD", "sgld"])
    assert titles(at) == ["Target", "SGLD"]  # named twice, it races once
    assert "At these settings, which are not all the paper's." in [c.value for c in at.caption]
    quiet = open_page("gaussians", samplers="N-SGLD", noise_nsgld="1.0")
    assert any(note.startswith("None of the paper's statements applies") for note in notes(quiet))
    silent = open_page("gaussians", samplers="N-SGLD", noise="0.0", noise_nsgld="5.0")
    assert any(note.endswith("have some noise.") for note in notes(silent))


@pytest.mark.parametrize("target", TARGETS)
def test_what_to_look_at_is_said_of_every_target(target):
    at = open_page("gaussians", target=TARGETS[target].label, samplers="SGLD")
    assert len(notes(at)) == (target != "gaussians25")  # that the paper does not speak of it
    lede = at.markdown[0].value
    assert lede.startswith("One sampler, one start. ")
    assert "Does a chain " in lede
    assert titles(at) == ["Target", "SGLD"]
    if target == "ring":
        assert "| Modes visited, of 12 |" in table(at, "| Ring")
        assert "round this long ring" in at.markdown[0].value
        assert any("twelve equal sectors" in c.value for c in at.caption)
        sentence = "The paper's statements are about the 25 Gaussians"
        assert any(sentence in note for note in notes(at))
        assert "rate_nsgld" not in keys_of(at)


def test_words_name_the_samplers_and_chains_that_were_chosen():
    for n in range(1, 5):
        for samplers in combinations(SAMPLERS, n):
            lede = lede_of(GaussiansSettings(samplers=samplers))
            assert lede.startswith(("One", "Two", "Three", "Four")[n - 1])
    several = GaussiansSettings(chains=5, samplers=("sgld", "cg"), target="two_modes")
    assert lede_of(several).startswith("Two samplers, the same 5 starts, the same number of steps.")
    assert "chosen in **All settings**" in lede_of(GaussiansSettings(samplers=()))
    labels = {knob.key: knob.label for knob in state_of(GAUSSIANS).knobs}
    assert not any("others" in label for label in labels.values())
    assert labels["noise"] == "Noise scale, SGLD and cyclical"


@pytest.mark.filterwarnings("ignore:.*ran off to infinity")
def test_a_chain_that_runs_off_is_told():
    at = open_page("gaussians", samplers="cg-SGLD", rate_cg="0.02", alpha_max="15", noise="2.0")
    settle(move(at, "samplers", ["N-SGLD"]))
    settle(move(move(at, "rate_nsgld", 0.1), "noise_nsgld", 10.0))
    note = next(note for note in notes(at) if note.startswith("N-SGLD: the chain ran off to inf"))
    assert note.endswith("; lower its learning rate.")
    assert sheet(at).header["panels"][1]["hatched"] is not None
    assert titles(at) == ["Target", "N-SGLD"]
