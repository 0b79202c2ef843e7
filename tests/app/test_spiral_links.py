"""What Spiral reads from a link, writes into one, and gives away."""

import csv
import io
from dataclasses import replace
from html import escape
from types import SimpleNamespace

import pytest

from gbuq_core.experiments.spiral.export import spiral_code, spiral_csv
from gbuq_core.experiments.spiral.fit import SIDE, run_spiral
from gbuq_core.experiments.spiral.plan import PAPER, SpiralSettings
from gbuq_core.experiments.spiral.scores import describe_spiral
from gbuq_core.figures.spiral.picture import SpiralView
from gbuq_core.knobs import problem_with
from pages._ui.spiral.controls import STATE, looks_of, query_of, settings_of, view_of
from pages._ui.spiral.export import _html
from tests.app.linked import values_of_link
from tests.app.spiral_page import SETTINGS, notes, open_spiral, settle, titles

BAD = {
    "map": "nothing",
    "colours": "none",
    "focus": "maybe",
    "one_point": "two",
    "walk": "slowly",
    "first_cycles": "all",
    "compute": "1",
    "rows": "7",
    "noise": "-1",
    "trees": "1e9",
    "chain_trees": "0",
    "members": "1",
    "depth": "many",
    "forest_depth": "99",
    "rate": "nan",
    "rate_cyclical": "inf",
    "step": "0",
    "start": "2",
    "cycle": "-5",
    "alpha_max": "1e999",
    "alpha_min": "0",
    "mask": "0",
    "exploration": "1.5",
    "noise_free": "perhaps",
    "temperature": "hot",
    "random_strength": "x",
    "burn_in": "-1",
    "methods": "<b>x</b>",
    "leaf_noise": "true",
    "points": "[x](javascript:0)",
    "flag": "3",
    "shown": "1",
    "log": "2",
    "scale": "none",
    "px": "700",
    "py": "nan",
    "rx": "1e999",
    "ry": "0.5",
    "sx": "-601",
    "sy": "<img src=x>",
    "along": "novelty",
    "seed": "-1",
    "surface": "3",
    "surface_map": 81 * "x",
}


def test_bad_parameters_are_said_and_the_defaults_used():
    assert BAD.keys() == {knob.key for knob in STATE.knobs}
    at = open_spiral(small=False, **BAD)
    told = "\n".join(notes(at))
    for name in BAD:
        assert f"{name} must be" in told
    # Defaults, not what a bare address opens: the address says so by its first knob.
    assert dict(at.query_params) == {"noise": "0.4"}
    assert titles(at)[0] == "True data uncertainty"


def test_an_unknown_parameter_is_named():
    at = open_spiral(colour="<img src=x>")
    assert any(
        "settings of the link and ignores them" in note and '"colour"' in note for note in notes(at)
    )


SETTINGS_AND_VIEWS = [
    (SpiralSettings(methods=("sglb", "csglb")), SpiralView()),
    (PAPER, SpiralView()),
    (
        SpiralSettings(
            methods=("vrf", "catboost", "sgb", "cbsglb"), rows=50, noise=0.1, seed=7, members=20,
            trees=50, chain_trees=3000, depth=1, forest_depth=25, rate=0.01,
            rate_cyclical=0.3, cycle=500,
            burn_in=3, alpha_max=2.0, alpha_min=0.1, mask=0.5, exploration=0.25, noise_free=True,
            temperature=100.0, leaf_noise=True, random_strength=0.0, step=200, start=0.25, shown=3,
        ),
        SpiralView(log=False, scale="own", points="all maps", flag=10),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("settings", "view"), SETTINGS_AND_VIEWS)
def test_a_link_restores_settings_and_view(settings, view):
    values = values_of_link(STATE, query_of(settings, view))
    assert settings_of(values) == settings
    assert view_of(values) == view
    assert looks_of(values).point == (0.0, -190.0)


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


def test_the_presets_values_are_steps_of_their_controls():
    for preset in STATE.presets:
        for knob in STATE.knobs:
            assert not problem_with(knob, preset.values.get(knob.key, knob.default)), knob.key


def test_the_page_offers_code_link_data_and_itself():
    at = open_spiral(seed="3", px="100")
    blocks = [block.value for block in at.code]
    assert spiral_code(replace(SETTINGS, seed=3)).strip() in blocks
    assert "px=100" in blocks[-1]
    assert "seed=3" in blocks[-1]
    run = run_spiral(SETTINGS)
    assert len(list(csv.reader(io.StringIO(spiral_csv(run))))) == SIDE * SIDE + 1
    values = SimpleNamespace(**{knob.key: knob.default for knob in STATE.knobs})
    page = _html(run, SpiralView(), looks_of(values), describe_spiral(run)).decode()
    assert escape(describe_spiral(run)) in page
    assert page.count('class="figure"') == 3  # the maps, the point, the line
    assert "At (0, -190) the true probabilities are" in page
    assert "http" not in page.split("<script")[0].replace("http-equiv", "")
