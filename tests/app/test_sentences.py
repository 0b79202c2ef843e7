"""Sentences of the pages that quote numbers say what is computed, and ledes ask."""

import ast
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from gbuq_core.experiments.experiment import text_of
from gbuq_core.study.beyond import BEYOND
from gbuq_core.study.gaussians import GAUSSIANS
from gbuq_core.study.gaussians_race import GaussiansSettings, target_grid
from gbuq_core.study.heart import HEART, HeartSettings
from gbuq_core.study.heteroscedastic import HETEROSCEDASTIC, HIGH, LOW
from gbuq_core.study.heteroscedastic import PAPER as HETEROSCEDASTIC_PAPER
from gbuq_core.study.neighbours import NEIGHBOURS
from gbuq_core.study.novelty import NOVELTY
from gbuq_core.study.soft_trees import SOFT_TREES, SoftTreesSettings
from gbuq_core.study.soft_trees_trials import BANDIT, RANKS, BanditSettings, RankSettings
from gbuq_core.study.spiral import PAPER as SPIRAL_PAPER
from gbuq_core.study.spiral import SPIRAL
from gbuq_core.study.two_clocks import TWO_CLOCKS
from gbuq_core.study.two_clocks_fit import MODELS, WITH_CLOCKS
from gbuq_core.study.wave import WAVE
from gbuq_core.synthetic import make_heart, make_wave
from gbuq_core.synthetic.wave import RARE_END, describe_rare
from pages._ui.study import state_of

heart, spiral, heteroscedastic, gaussians = (
    SimpleNamespace(STATE=state_of(study)) for study in (HEART, SPIRAL, HETEROSCEDASTIC, GAUSSIANS)
)
RECORDS = (
    HEART,
    SPIRAL,
    GAUSSIANS,
    TWO_CLOCKS,
    HETEROSCEDASTIC,
    NEIGHBOURS,
    NOVELTY,
    SOFT_TREES,
    BEYOND,
)
PAGES = Path(__file__).resolve().parents[2] / "pages"


def sentences(page):
    """The strings at the top of a page, by name. A page draws itself when it is imported."""
    texts = {}
    for node in ast.parse((PAGES / f"{page}.py").read_text()).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            texts[node.targets[0].id] = node.value.value
    return texts


def preset(controls, label):
    return next(preset.help for preset in controls.STATE.presets if preset.name == label)


@pytest.mark.parametrize(
    "experiment",
    [HEART, SPIRAL, GAUSSIANS, TWO_CLOCKS, HETEROSCEDASTIC, NEIGHBOURS, NOVELTY, BEYOND, WAVE],
)
def test_a_lede_of_a_record_asks(experiment):
    assert "?" in text_of(experiment.lede, experiment.settings())


def test_home_says_where_rows_are_rare_where_there_are_none_and_where_the_noise_is_largest():
    wave = make_wave(100, random_state=0)
    x = wave.grid[:, 0]
    text = sentences("home")["WHAT_TO_LOOK_AT"].format(rare=describe_rare(), end=RARE_END)
    assert "Between 3 and 4.5" in text
    assert 3.0 < x[wave.is_rare].min() < x[wave.is_rare].max() < 4.5
    assert (wave.is_rare == ((x > 3.0) & (x < 4.5))).all()
    assert "Right of 6 there are no rows" in text
    assert x[wave.in_support].max() == 6.0
    assert "largest around 1.4" in text
    assert x[wave.variance.argmax()] == pytest.approx(1.4)


def test_heart_says_where_the_noise_is():
    (knob,) = (knob for knob in heart.STATE.knobs if knob.key == "noise")
    assert "Around the heart it is four times as large." in knob.help
    truth = make_heart(1, random_state=0)
    known = np.asarray(truth.in_support).reshape(9, 9)
    std = np.sqrt(np.asarray(truth.variance).reshape(9, 9))
    padded = np.pad(~known, 1)
    beside = known & (padded[:-2, 1:-1] | padded[2:, 1:-1] | padded[1:-1, :-2] | padded[1:-1, 2:])
    assert std[beside].min() == pytest.approx(2.0 * std[known & ~beside].max())  # of variances
    text = preset(heart, "Paper settings")
    settings = HeartSettings()
    assert (settings.members, settings.trees, settings.rate, settings.rate_sgb) == (
        10,
        1000,
        0.3,
        0.1,
    )
    assert "10 models of 1,000 trees. SGLB learns at rate 0.3; SGB at 0.1" in text


def test_heteroscedastic_says_where_rows_are():
    assert (LOW, HIGH) == (0.0, 10.0)
    assert "between 0 and 10" in HETEROSCEDASTIC.lede
    assert len(HETEROSCEDASTIC_PAPER.methods) == 6
    assert preset(heteroscedastic, "Paper settings").startswith("Six methods")


def test_spiral_says_what_the_paper_trained():
    text = preset(spiral, "Paper settings")
    assert f"{3 * SPIRAL_PAPER.rows:,} rows" in text
    assert f"{SPIRAL_PAPER.members} independent models of {SPIRAL_PAPER.trees:,} trees" in text
    assert f"{SPIRAL_PAPER.chain_trees:,} trees in cycles of {SPIRAL_PAPER.cycle}" in text


def test_soft_trees_says_how_its_comparisons_are_run():
    played = BANDIT.plan(SoftTreesSettings(), SimpleNamespace(bandit_steps=500))
    assert (played.n_seeds, played.n_arms, played.refit_every) == (2, 5, 50)
    assert BanditSettings().policies == ("random", "sglb", "xbart", "vst")
    for words in ("five arms", "plays twice", "SGLB, XBART and VST", "every 50 steps"):
        assert words in BANDIT.about
    assert (RankSettings().depth, RankSettings().n_seeds) == (2, 5)
    assert "VST has depth 2" in RANKS.about
    assert "five seeds for each rank" in RANKS.about
    assert len(SOFT_TREES.methods) == 5


def test_two_clocks_says_which_models_have_clocks():
    (knob,) = (knob for knob in state_of(TWO_CLOCKS).knobs if knob.key == "model")
    assert "The first eight grow tree by tree" in knob.help
    assert MODELS[:8] == WITH_CLOCKS


def test_gaussians_says_what_its_presets_do():
    def modes_of(**knobs):
        run = GAUSSIANS.run(GaussiansSettings(samplers=("clr", "cg"), **knobs))
        values = {claim.key: claim.value for claim in GAUSSIANS.judge(run)}
        return [int(values[f"cycles:{key}"].split()[0]) for key in ("clr", "cg")]

    text = preset(gaussians, "Paper settings")
    assert "clr-SGLD then visits about 17 modes instead of 23" in text
    assert "cg-SGLD still visits about 23" in text
    assert modes_of()[0] == pytest.approx(23, abs=2)
    assert modes_of(noise=0.4) == pytest.approx([17, 23], abs=2)
    assert "just below the longest one" in preset(gaussians, "Stable steps")
    (stable,) = (
        preset.values for preset in gaussians.STATE.presets if preset.name == "Stable steps"
    )
    limit = target_grid("gaussians25").step_limit
    cg = stable["alpha_max"] * GaussiansSettings().rate_cg
    assert stable["rate_clr"] == cg
    assert 0.8 * limit < cg < limit
