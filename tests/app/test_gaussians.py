"""25 Gaussians through AppTest: picture, knobs that run a sampler again and those that do not."""

import csv
import io
from dataclasses import replace
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest

from gbuq_core.experiments.experiment import account_html, experiment_sections
from gbuq_core.experiments.gaussians.claims import answer_gaussians
from gbuq_core.experiments.gaussians.experiment import GAUSSIANS
from gbuq_core.experiments.gaussians.export import gaussians_code, gaussians_csv
from gbuq_core.experiments.gaussians.fit import count_runs, run_gaussians
from gbuq_core.experiments.gaussians.plan import GaussiansSettings
from gbuq_core.experiments.gaussians.scores import describe_gaussians, lede_of
from gbuq_core.sampling import SAMPLERS, TARGETS
from gbuq_core.settings import from_values
from pages._ui.gaussians.controls import STATE
from tests.app.drawn import unnamed
from tests.app.linked import link_of, values_of_link
from tests.app.opening import open_link
from tests.app.waiting import run_when_done
from tests.figure_readers import decode_sheet

SMALL = {"steps": "2000", "v": "3"}
SETTINGS = GaussiansSettings(steps=2000)


def open_gaussians(**query):
    return settle(open_link("gaussians", {**SMALL, **query}))


def settle(at):
    """Run again once nothing is sampled."""
    return run_when_done(at, lambda at: at.get("bidi_component"))


def sheet(at):
    return decode_sheet(at.get("bidi_component")[0].proto.bytes)


def titles(at):
    return [panel["title"] for panel in sheet(at).header["panels"]]


def values_of(at, title):
    return sheet(at).values[titles(at).index(title)]


def table(at):
    return next(m.value for m in at.markdown if m.value.startswith(("| 25 G", "| Ring")))


def notes(at):
    return [t.value for t in at.text if not t.value.startswith("Target: ")]


def widget(at, key):
    """The widget of a knob, whatever its kind."""
    kinds = (at.select_slider, at.slider, at.radio, at.selectbox, at.toggle, at.multiselect)
    return next(found for kind in kinds for found in kind if found.key == key)


def test_the_page_shows_target_and_samplers_and_their_scores():
    at = open_gaussians(every="true")
    race = run_gaussians(SETTINGS)
    assert titles(at) == ["Target", "SGLD", "N-SGLD", "clr-SGLD", "cg-SGLD"]
    assert unnamed(sheet(at)) == set()
    shown = values_of(at, "cg-SGLD")
    # 16-bit steps of the range.
    np.testing.assert_allclose(shown, race.runs[3].density, atol=race.runs[3].density.max() / 1e5)
    assert describe_gaussians(race) in [t.value for t in at.text]
    assert notes(at) == []
    assert "| Modes visited, of 25 |" in table(at)
    assert any(m.value.startswith("**Holds.**") for m in at.markdown)
    assert len(sheet(at).header["strips"]) == 20


def test_the_page_opens_with_a_map_of_each_sampler_and_the_answer():
    at = open_gaussians(steps="20000")
    assert titles(at) == ["SGLD", "N-SGLD", "clr-SGLD", "cg-SGLD"]
    assert [strip["title"] for strip in sheet(at).header["strips"]] == ["Modes visited"]
    answer = answer_gaussians(run_gaussians(replace(SETTINGS, steps=20_000)))
    assert answer.startswith("clr-SGLD finds 18 of the 25 modes, SGLD only 1; N-SGLD finds 25, but")
    assert answer in [popover.proto.popover.label for popover in at.get("popover")]


def test_verdicts_say_whose_settings_they_are_about():
    at = open_gaussians(samplers="SGLD")
    assert "At these settings, which are not all the paper's." in [c.value for c in at.caption]
    quiet = open_gaussians(samplers="N-SGLD", noise_nsgld="1.0")
    assert any(note.startswith("None of the paper's statements applies") for note in notes(quiet))
    silent = open_gaussians(samplers="N-SGLD", noise="0.0", noise_nsgld="5.0")
    assert any(note.endswith("have some noise.") for note in notes(silent))


def test_the_presets_are_the_papers_noise_and_stable_steps():
    paper, stable = (from_values(GaussiansSettings, each.values) for each in STATE.presets)
    assert paper == GaussiansSettings(noise=0.4)  # appendix B.1
    assert stable == GaussiansSettings(rate_clr=0.05, alpha_max=5.0)


CHANGES = {
    "gradient_noise": (3.0, "all"), "seed": (3, "all"), "steps": (5000, "all"),
    "chains": (2, "all"), "cycles": (10, ("clr-SGLD", "cg-SGLD")),
    "rate_sgld": (0.02, ("SGLD",)), "rate_nsgld": (0.01, ("N-SGLD",)),
    "noise_nsgld": (2.0, ("N-SGLD",)), "rate_clr": (0.05, ("clr-SGLD",)),
    "exploration_clr": (0.5, ("clr-SGLD",)), "rate_cg": (0.005, ("cg-SGLD",)),
    "alpha_max": (5.0, ("cg-SGLD",)), "alpha_min": (2.0, ("cg-SGLD",)),
    "exploration_cg": (0.5, ("cg-SGLD",)), "noise_free": (True, ("clr-SGLD",)),
    "noise": (0.5, ("SGLD", "clr-SGLD", "cg-SGLD")), "target": ("Ring", "all"),
    "shown": ("counts", ()), "scale": ("own", ()), "log": (True, ()), "trail": (False, ()),
    "outlines": (True, ()), "charts": (["step sizes"], ()), "samplers": (["SGLD"], ()),
}  # fmt: skip


@pytest.fixture(scope="module")
def opened():
    return open_gaussians(every="true")


def test_one_cycle_is_recorded_only_while_its_section_is_open(opened):
    assert len(opened.get("bidi_component")) == 1
    at, runs = open_gaussians(slow="true", cycle="3", every="true"), count_runs()
    slow = decode_sheet(at.get("bidi_component")[1].proto.bytes)
    assert [panel["title"] for panel in slow.header["panels"]] == titles(at)[1:]
    assert slow.header["frameLabel"] == "step of the cycle"
    assert any(c.value.startswith("Cycle 3 of 30, 66 steps.") for c in at.caption)
    at.slider(key="cycle").set_value(99).run()
    assert any(
        c.value.endswith("There are only 30 cycles. The last one is shown.") for c in at.caption
    )
    assert count_runs() == runs


def test_every_knob_is_tried():
    elsewhere = {
        "slow",
        "cycle",
        "colours",
        "map",
        "every",
    }  # of a picture of its own, and of the bar
    assert set(CHANGES) | elsewhere == {knob.key for knob in STATE.knobs}


@pytest.mark.parametrize("key", CHANGES)
def test_a_knob_changes_the_picture_and_runs_only_what_depends_on_it(opened, key):
    at = opened
    value, moved = CHANGES[key]
    before, header = count_runs(), sheet(at).header
    kept = {title: values_of(at, title) for title in titles(at)}
    knob = widget(at, key)
    held = knob.value
    settle(knob.set_value(value).run())
    assert sheet(at).header["digest"] != header["digest"]
    assert not any("must be" in note for note in notes(at))
    n_moved = 4 if moved == "all" else len(moved)
    assert count_runs() == before + n_moved
    for title in titles(at)[1:]:
        if moved != "all" and title not in moved and key != "shown":
            # Sheets of few panels travel as float32, others in 16-bit steps of a panel's range or,
            # with log colours, of its logarithm.
            step = kept[title].max() / 6e4
            np.testing.assert_allclose(values_of(at, title), kept[title], 1e-3, step)
    settle(widget(at, key).set_value(held).run())
    assert sheet(at).header["digest"] == header["digest"]


def test_a_sampler_named_twice_races_once():
    at = open_gaussians(samplers=["SGLD", "sgld"])
    assert notes(at) == notes(open_gaussians(samplers="SGLD"))
    assert titles(at) == ["Target", "SGLD"]


@pytest.mark.parametrize("preset", ["Paper settings", "Reset"])
def test_presets_win_over_what_a_link_says_of_hidden_knobs(preset):
    at = open_gaussians(samplers="cg-SGLD", steps="1000", rate_sgld="0.2", noise_nsgld="10.0")
    at.button(key=f"_preset:gaussians:{preset}").click()
    settle(at.run())
    paper = {"noise": "0.4"} if preset == "Paper settings" else {}
    assert dict(at.query_params) == {**paper, "v": "3"}
    assert at.select_slider(key="rate_sgld").value == GaussiansSettings().rate_sgld
    assert at.select_slider(key="noise_nsgld").value == GaussiansSettings().noise_nsgld


@pytest.mark.parametrize("target", TARGETS)
def test_what_to_look_at_is_said_of_every_target(target):
    at = open_gaussians(target=TARGETS[target].label, samplers="SGLD")
    assert len(notes(at)) == (target != "gaussians25")  # that the paper does not speak of it
    assert at.markdown[0].value.startswith("One sampler, one start. Press play: does a chain ")
    assert titles(at) == ["Target", "SGLD"]


def test_the_first_sentence_is_about_the_samplers_and_chains_that_were_chosen():
    for n in range(1, 5):
        for samplers in combinations(SAMPLERS, n):
            lede = lede_of(GaussiansSettings(samplers=samplers))
            assert lede.startswith(("One", "Two", "Three", "Four")[n - 1])
    several = GaussiansSettings(chains=5, samplers=("sgld", "cg"), target="two_modes")
    assert lede_of(several).startswith("Two samplers, the same 5 starts, the same number of steps.")
    assert "chosen in **All settings**" in lede_of(GaussiansSettings(samplers=()))


def test_knobs_name_the_samplers_that_they_concern():
    labels = {knob.key: knob.label for knob in STATE.knobs}
    assert not any("others" in label for label in labels.values())
    assert labels["noise"] == "Noise scale, SGLD and cyclical"


def test_no_sampler_leaves_the_target_and_an_invitation():
    at = open_gaussians(samplers="")
    assert titles(at) == ["Target"]
    assert "All settings" in at.markdown[0].value
    assert any("Scores appear" in note for note in notes(at))


def test_another_target_has_its_own_table_and_no_claims():
    at = open_gaussians(target="Ring", samplers=["SGLD", "cg-SGLD"])
    assert "| Modes visited, of 12 |" in table(at)
    assert "round this long ring" in at.markdown[0].value
    assert any("twelve equal sectors" in c.value for c in at.caption)
    assert any("The paper's statements are about the 25 Gaussians" in note for note in notes(at))
    assert "rate_nsgld" not in [s.key for s in at.select_slider]


@pytest.mark.filterwarnings("ignore:.*ran off to infinity")
def test_a_chain_that_runs_off_is_told():
    at = open_gaussians(samplers="cg-SGLD", rate_cg="0.02", alpha_max="15", noise="2.0")
    assert not at.exception
    at = open_gaussians(samplers="N-SGLD", rate_nsgld="0.1", noise_nsgld="10.0")
    told = next(note for note in notes(at) if note.startswith("N-SGLD: the chain ran off to inf"))
    assert told.endswith("; lower its learning rate.")
    assert sheet(at).header["panels"][1]["hatched"] is not None
    assert titles(at) == ["Target", "N-SGLD"]


def html_of(race):
    values = SimpleNamespace(cycle=1)
    return account_html(
        GAUSSIANS, race, experiment_sections(GAUSSIANS, race, race.runs, values=values)
    ).decode()


def test_the_page_offers_code_data_and_itself():
    at = open_gaussians(seed="3")
    blocks = [block.value for block in at.code]
    assert gaussians_code(replace(SETTINGS, seed=3)).strip() in blocks
    assert values_of_link(STATE, link_of(at)).seed == 3
    race = run_gaussians(SETTINGS)
    assert len(list(csv.reader(io.StringIO(gaussians_csv(race))))) == 1 + 4 * 60
    page = html_of(race)
    assert describe_gaussians(race) in page
    assert "Cycle 1 of 30" in page
    alone = run_gaussians(replace(SETTINGS, samplers=("sgld",)))
    assert "One sampler, one start. After Tan" in html_of(alone)
    assert "<td>holds</td>" in page
    assert "http" not in page.split("<script")[0].replace("http-equiv", "")
