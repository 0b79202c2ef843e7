"""What Spiral reads from a link, writes into one, and gives away."""

import csv
import io
from dataclasses import replace
from html import escape
from types import SimpleNamespace

from gbuq_core.experiments.experiment import account_html, experiment_sections
from gbuq_core.experiments.spiral.experiment import SPIRAL
from gbuq_core.experiments.spiral.export import spiral_code, spiral_csv
from gbuq_core.experiments.spiral.fit import SIDE, run_spiral
from gbuq_core.experiments.spiral.plan import SpiralSettings
from gbuq_core.experiments.spiral.scores import describe_spiral
from gbuq_core.settings import knobs_of
from pages._ui.spiral.controls import STATE
from tests.app.linked import link_of
from tests.app.spiral_page import SETTINGS, notes, open_spiral, settle, titles

# Of what the settings record does not hold; tests/app/test_settings.py asks for the others.
BAD = {
    "map": "nothing",
    "colours": "none",
    "focus": "maybe",
    "every": "2",
    "one_point": "two",
    "walk": "slowly",
    "first_cycles": "all",
    "compute": "1",
    "px": "700",
    "py": "nan",
    "rx": "1e999",
    "ry": "0.5",
    "sx": "-601",
    "sy": "<img src=x>",
    "along": "novelty",
    "surface": "3",
    "surface_map": 81 * "x",
}


def test_bad_parameters_are_said_and_the_defaults_used():
    assert BAD.keys() == {knob.key for knob in set(STATE.knobs) - set(knobs_of(SpiralSettings))}
    at = open_spiral(small=False, **BAD)
    told = "\n".join(notes(at))
    for name in BAD:
        assert f"{name} must be" in told
    # Defaults, not what a bare address opens: the address says so by its first knob.
    assert dict(at.query_params) == {"noise": "0.4"}
    assert titles(at)[0] == "True data uncertainty"


def test_reset_wins_over_what_a_link_says_of_hidden_knobs():
    at = open_spiral(small=False, methods="cSGLB", rows="50", chain_trees="100", cycle="20",
                     members="2", trees="50", rate="0.3")  # fmt: skip
    assert "members" not in [slider.key for slider in at.slider]
    at.button(key="_preset:spiral:Reset").click().run()
    assert not at.exception
    folded = dict.fromkeys(("one_point", "walk", "first_cycles", "compute"), "false")
    assert dict(at.query_params) == {"noise": "0.2", "forest_depth": "20", **folded}
    assert at.slider(key="members").value == 5
    assert at.select_slider(key="trees").value == SpiralSettings().trees
    assert at.select_slider(key="rate").value == SpiralSettings().rate
    settle(at)
    assert at.button(key="_preset:spiral:Reset").disabled


def test_the_page_offers_code_data_and_itself():
    at = open_spiral(seed="3", px="100")
    blocks = [block.value for block in at.code]
    assert spiral_code(replace(SETTINGS, seed=3)).strip() in blocks
    assert {"px=100", "seed=3"} <= set(link_of(at).split("&"))
    run = run_spiral(SETTINGS)
    assert len(list(csv.reader(io.StringIO(spiral_csv(run))))) == SIDE * SIDE + 1
    values = SimpleNamespace(**{knob.key: knob.default for knob in STATE.knobs})
    page = account_html(
        SPIRAL, run, experiment_sections(SPIRAL, run, run.methods, values=values)
    ).decode()
    assert escape(describe_spiral(run)) in page
    assert page.count('class="figure"') == 4  # the maps, the point, the line, the first cycles
    assert "At (0, -190) the true probabilities are" in page
    assert "http" not in page.split("<script")[0].replace("http-equiv", "")
