"""What burn-in leaves, what is beyond the data; and the exports."""

import csv
import io
from dataclasses import replace

import numpy as np
import pytest
from tolerances import CANCELLED, NINE_DIGITS, ZERO

from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.spiral import probes
from gbuq_core.experiments.spiral.charts import probe_sheet
from gbuq_core.experiments.spiral.data import spiral_truth
from gbuq_core.experiments.spiral.experiment import spiral_code, spiral_csv
from gbuq_core.experiments.spiral.fit import count_fits, fit_spiral, map_spiral, run_spiral
from gbuq_core.experiments.spiral.picture import spiral_sheet
from gbuq_core.experiments.spiral.plan import METHODS, SpiralSettings
from gbuq_core.experiments.spiral.probes import (
    burn_in_effect,
    predict_points,
    walk_off,
)
from gbuq_core.experiments.spiral.scores import against_chance, score_spiral
from gbuq_core.figures.canvas.encoding import encode_sheet
from gbuq_core.settings import plan_of
from gbuq_core.uncertainty import decompose_classification
from tests.figure_readers import decode_sheet
from tests.spiral_parts import probe_of

SMALL = SpiralSettings(
    rows=50, members=3, trees=12, chain_trees=60, step=10, cycle=15, depth=3, seed=2
)


def fit_of(method, settings=SMALL):
    return fit_spiral(plan_of(settings, method))


@pytest.mark.parametrize("method", ["csglb", "cbsglb"])
def test_burn_in_effect_is_that_of_the_maps(method):
    fit = fit_of(method)
    before, effect = count_fits(), burn_in_effect(fit)
    assert effect.cycles.tolist() == [0, 1, 2]
    for first in effect.cycles:
        maps = map_spiral(fit, replace(SMALL, burn_in=int(first)))
        # Two ways to subtract entropies of float64 sums.
        assert effect.knowledge[first] == pytest.approx(maps.knowledge[-1].mean(), rel=CANCELLED)
        score = score_spiral(maps, spiral_truth(SMALL.noise))
        assert effect.auroc_far[first] == pytest.approx(score.auroc_far, abs=1e-6)
    assert count_fits() == before
    # The first cycle's member has seen a quarter of the trees: it disagrees most.
    assert effect.knowledge[0] > effect.knowledge[1]


def test_burn_in_needs_cycles():
    with pytest.raises(InvalidParameter, match="virtual SGLB has no cycles"):
        burn_in_effect(fit_of("virtual_sglb"))
    assert len(burn_in_effect(fit_of("csglb", replace(SMALL, cycle=60))).cycles) == 0


@pytest.mark.parametrize("method", ["sglb", "vrf", "csglb"])
def test_walking_off_ends_on_constant_ground(method):
    fit = fit_of(method)
    off = walk_off(fit, SMALL)
    shares = np.array([off.share_rising, off.share_falling])
    assert ((shares >= 0) & (shares <= 1)).all()
    assert shares.sum() <= 1 + ZERO
    assert 1 <= off.n_levels <= 24
    # Far out only the direction matters, except along the few lines on which x - 2y or the like
    # stays small.
    assert off.share_constant_far > 0.9
    radius = fit.data.X[:, 8].max()
    direction = np.array([np.cos(1.0), np.sin(1.0)])
    remote = np.array([100.0, 150.0, 400.0])[:, None] * radius * direction
    knowledge = decompose_classification(predict_points(fit, SMALL, remote)[1]).knowledge
    assert knowledge.min() == knowledge.max()
    assert f"{off.auroc_far:.2f}" in off.sentence
    assert METHODS[method].label in off.sentence
    assert off.sentence.endswith(f"{off.auroc_far:.2f}, {against_chance(off.auroc_far)}.")


@pytest.mark.parametrize(
    ("value", "notices", "chance"),
    [
        (0.31, "does not know that it left", "worse than chance"),
        (0.5, "does not know that it left", "no better than chance"),
        (0.65, "knows only in part that it left", "better than chance"),
        (0.9, "knows that it left", "better than chance"),
    ],
)
def test_the_sentence_about_the_outside_follows_the_score(monkeypatch, value, notices, chance):
    monkeypatch.setattr(probes, "auroc_of", lambda *_: value)
    sentence = walk_off(fit_of("sglb"), SMALL).sentence
    assert sentence.startswith(f"SGLB {notices} the data.")
    assert sentence.endswith(f": {value:.2f}, {chance}.")


def test_walking_off_takes_two_members():
    with pytest.raises(InvalidParameter, match="at least two members"):
        walk_off(fit_of("sglb"), replace(SMALL, shown=1))


def test_the_table_holds_every_cell_and_number():
    run = run_spiral(replace(SMALL, methods=("csglb", "vrf"), shown=2))
    rows = list(csv.DictReader(io.StringIO(spiral_csv(run))))
    assert len(rows) == 6400
    cell = rows[80 * 7 + 31]
    assert float(cell["x"]) == pytest.approx(-600 + 31.5 * 15)
    assert float(cell["y"]) == pytest.approx(-600 + 7.5 * 15)
    assert float(cell["in_support"]) == run.truth.in_support[7, 31]
    for maps in run.methods:
        for part in ("total", "data", "knowledge"):
            value = getattr(maps, part)[-1, 7, 31]
            assert float(cell[f"{maps.method}_{part}"]) == pytest.approx(value, rel=NINE_DIGITS)
        proba = [float(cell[f"{maps.method}_class_{i}"]) for i in (1, 2, 3)]
        np.testing.assert_allclose(proba, maps.proba[:, 7, 31], rtol=NINE_DIGITS)
    alone = run_spiral(replace(SMALL, methods=("csglb",), shown=1))
    first = next(csv.DictReader(io.StringIO(spiral_csv(alone))))
    assert first["csglb_knowledge"] == ""


CODE_CASES = [
    replace(SMALL, methods=("sglb", "virtual_sglb", "csglb"), burn_in=1, start=0.2),
    replace(
        SMALL,
        methods=("sgb", "cbsglb", "vrf"),
        shown=2,
        noise=0.3,
        temperature=50.0,
        leaf_noise=True,
        alpha_max=6.0,
        alpha_min=0.5,
        mask=0.5,
        exploration=0.6,
        noise_free=True,
        rate=0.2,
        rate_cyclical=0.08,
        random_strength=5.0,
    ),
    replace(SMALL, methods=("catboost",), members=2, trees=5, temperature="posterior"),
    replace(SMALL, methods=()),
]


@pytest.mark.parametrize("settings", CODE_CASES, ids=lambda s: "-".join(s.methods) or "nothing")
def test_copied_code_computes_the_same_maps(settings, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(spiral_code(settings), "copied", "exec"), names := {})
    copied, run = names["maps"], run_spiral(settings)
    assert set(copied) == {METHODS[maps.method].label for maps in run.methods}
    for maps in run.methods:
        parts = [part[-1].ravel() for part in (maps.total, maps.data, maps.knowledge)]
        # The experiment keeps float32 probabilities.
        np.testing.assert_allclose(copied[METHODS[maps.method].label], parts, rtol=0, atol=1e-6)
    assert "<!doctype html>" in (tmp_path / "spiral.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("method", "n_members", "dots"),
    [
        ("sglb", 5, True),
        ("vrf", 3, True),
        ("csglb", 5, False),
        ("sglb", 1, False),  # a level line, its only member
    ],
)
def test_independent_members_are_dots_and_a_chain_is_a_line(method, n_members, dots):
    sheet = probe_sheet([probe_of(method, n_members)])
    members, path = sheet.strips
    assert {line.dots for line in members.lines if not line.dash} == {dots}
    assert not any(line.dots for line in members.lines if line.dash)  # the truth
    assert not any(line.dots for line in path.lines)
    assert encode_sheet(sheet)


def test_maps_without_members_are_hatched_and_say_when_the_first_comes():
    settings = SpiralSettings(
        methods=("sglb", "csglb"), rows=20, members=2, trees=40, chain_trees=40, cycle=20, depth=2
    )
    run = run_spiral(settings)
    sheet = spiral_sheet(run.truth, run.data, run.methods)
    assert sheet.frame_values[0] < 20
    assert sheet.blank_label == "no member yet (cSGLB: first after 20 trees); knowledge needs two"
    hatched = [panel.title for panel in sheet.panels if panel.blank_hatched]
    assert hatched == ["cSGLB: total", "cSGLB: data", "cSGLB: knowledge"]
    header = decode_sheet(encode_sheet(sheet)).header
    assert header["blankLabel"] == sheet.blank_label


def test_maps_that_never_come_are_not_hatched_in_wait():
    run = run_spiral(replace(SMALL, methods=("sglb",), shown=1))
    sheet = spiral_sheet(run.truth, run.data, run.methods)
    assert not any(panel.blank_hatched for panel in sheet.panels)
    assert [m.label for m in sheet.panels[-1].markers] == ["not available"]
