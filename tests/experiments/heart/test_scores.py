"""Scores of made-up maps whose right answers are known, the paper's claims, words, exports."""

import csv
import io
import math
from types import SimpleNamespace

import numpy as np
import pytest
from tolerances import CANCELLED, NINE_DIGITS, ZERO

from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.claims import times_text
from gbuq_core.experiments.heart.data import make_painted_heart
from gbuq_core.experiments.heart.experiment import heart_code, heart_csv
from gbuq_core.experiments.heart.fit import HeartFit, HeartMaps, HeartRun, run_heart
from gbuq_core.experiments.heart.picture import heart_sheet
from gbuq_core.experiments.heart.plan import METHODS, HeartSettings
from gbuq_core.experiments.heart.scores import (
    auroc_text,
    check_claims,
    describe_heart,
    score_heart,
)
from gbuq_core.figures.canvas.encoding import encode_sheet
from gbuq_core.settings import plan_of
from gbuq_core.synthetic import make_heart
from tests.figure_readers import decode_sheet


def made_up(method="sglb", empty=0.04, filled=0.01, factor=1.0, cells=(), known=True):
    """Maps with one knowledge variance in empty, one in filled cells, and noise times factor."""
    plan = plan_of(HeartSettings(rows=5, cells=cells), method)
    truth = make_painted_heart(5, 0.01, 0, cells)
    knowledge = np.where(truth.in_support, filled, empty)[None]
    data = np.where(truth.in_support, factor * np.nan_to_num(truth.variance), 0.02)[None]
    if not known:
        data = np.full_like(data, np.nan)
    fit = HeartFit(plan, truth, np.array([1000]), np.zeros((1, 1, 81, 2)), 0.5, 2_000_000)
    ones = np.array([1000]), np.array([10])
    return HeartMaps(fit, *ones, data + knowledge, data, knowledge, truth.mean)


def run_of(*maps):
    return HeartRun(HeartSettings(methods=tuple(m.method for m in maps)), maps[0].truth, maps)


def test_scores_of_known_maps():
    maps = made_up(empty=0.04, filled=0.01, factor=1.21)
    scores = score_heart(maps)
    assert scores.auroc_knowledge == 1.0
    # Roots and means of a few dozen numbers: rounding only, here and below.
    assert scores.knowledge_empty == pytest.approx(0.2)
    assert scores.knowledge_filled == pytest.approx(0.1)
    assert (scores.least_empty, scores.most_filled) == (pytest.approx(0.2), pytest.approx(0.1))
    # The std is 1.1 times the truth, which is 0.1 in 48 cells and 0.2 in 16.
    assert scores.data_error_max == pytest.approx(0.02)
    assert scores.data_error_mean == pytest.approx(0.0125)
    assert scores.data_error_share == pytest.approx(0.1)
    variances = score_heart(maps, "variance")
    assert variances.knowledge_empty == pytest.approx(0.04)
    assert variances.data_error_max == pytest.approx(0.04 * 0.21)
    assert variances.data_error_share == pytest.approx(0.1)


def test_equal_values_are_chance_and_reversed_ones_are_wrong():
    assert score_heart(made_up(empty=0.01, filled=0.01)).auroc_knowledge == 0.5
    assert score_heart(made_up(empty=0.001, filled=0.01)).auroc_knowledge == 0.0


def test_there_is_no_score_of_what_there_is_not():
    forest = score_heart(made_up("vrf", known=False))
    assert math.isnan(forest.data_error_max)
    assert math.isnan(forest.auroc_total)
    assert forest.auroc_knowledge == 1.0
    whole = np.flatnonzero(~make_painted_heart(1).in_support.ravel())
    full = score_heart(made_up(cells=tuple(map(int, whole))))
    assert math.isnan(full.auroc_knowledge)
    assert math.isnan(full.knowledge_empty)
    single = made_up()._replace(knowledge=np.full((1, 9, 9), np.nan))
    assert math.isnan(score_heart(single).auroc_knowledge)


def test_a_view_that_there_is_not_is_refused():
    with pytest.raises(InvalidParameter, match="view"):
        score_heart(made_up(), "nats")


@pytest.mark.parametrize(
    ("knobs", "verdicts"),
    [
        ({"empty": 0.0005, "filled": 1e-6}, ["holds", "holds", "holds"]),
        ({"empty": 0.004, "filled": 1e-6}, ["holds", "holds", "partly"]),
        ({"empty": 0.04, "filled": 1e-6}, ["holds", "holds", "does not hold"]),
        ({"empty": 1e-6, "filled": 1e-3}, ["does not hold", "holds", "holds"]),
        ({"empty": 0.0005, "filled": 1e-6, "factor": 1.3}, ["holds", "partly", "holds"]),
        ({"empty": 0.0005, "filled": 1e-6, "factor": 4.0}, ["holds", "does not hold", "holds"]),
    ],
)
def test_claims_are_judged_by_what_came_out(knobs, verdicts):
    assert [claim.verdict for claim in check_claims(run_of(made_up(**knobs)))] == verdicts


@pytest.mark.parametrize(
    ("empty", "verdict", "words"),
    [
        (0.0005, "holds", "smaller."),
        (0.004, "partly", "smaller."),
        (0.0175, "does not hold", "as large."),
        (0.04, "does not hold", "2.3 times larger."),
    ],
)
def test_the_size_of_knowledge_is_told_as_it_is(empty, verdict, words):
    # The mean noise of the filled cells is 0.0175.
    *_, smaller = check_claims(run_of(made_up(empty=empty, filled=1e-6)))
    assert smaller.verdict == verdict
    assert smaller.here.endswith(words)


def test_a_virtual_ensemble_is_compared_with_independent_models():
    true, virtual = made_up(empty=0.04), made_up("virtual_sglb", empty=0.0001, filled=1e-6)
    *_, detects, smaller = check_claims(run_of(true, virtual))
    assert detects.verdict == smaller.verdict == "holds"
    assert "20 times smaller" in smaller.here
    assert len(check_claims(run_of(virtual))) == 1
    assert check_claims(run_of(made_up("vrf", known=False))) == ()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_papers_settings_give_the_papers_picture(seed):
    run = run_heart(HeartSettings(seed=seed))
    true, virtual = (score_heart(maps, "variance") for maps in run.methods)
    assert true.auroc_knowledge == 1.0
    assert virtual.auroc_knowledge >= 0.97
    assert max(true.data_error_max, virtual.data_error_max) < 0.01
    assert true.knowledge_empty > 1000 * virtual.knowledge_empty


def test_sgb_separates_too():
    # A fifth of the paper's rows and trees, which only makes it harder.
    settings = HeartSettings(methods=("sgb",), rows=200, trees=200)
    assert score_heart(run_heart(settings).methods[0]).auroc_knowledge == 1.0


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_small_steps_spoil_the_virtual_ensemble_only(seed):
    run = run_heart(HeartSettings(seed=seed, rate=0.1))
    true, virtual = (score_heart(maps) for maps in run.methods)
    assert true.auroc_knowledge == 1.0
    assert virtual.auroc_knowledge < 0.95


def test_words_carry_the_numbers():
    run = run_of(made_up(), made_up("vrf", known=False))
    words = describe_heart(run)
    assert "17 cells have no training rows" in words
    assert "SGLB (10 models of 1,000 trees)" in words
    assert "0.1 in filled cells and 0.2 in empty ones" in words
    assert "vRF (one forest of 1,000 trees in 10 groups)" in words
    assert "predicts no noise" in words
    squares = run._replace(settings=HeartSettings(rows=5, unit="variance"))
    assert "0.01 in filled cells and 0.04 in empty ones" in describe_heart(squares)


def test_numbers_as_text():
    assert auroc_text(0.98765) == "0.988"
    assert auroc_text(0.9996) == "> 0.999"
    assert times_text(96.0) == "96 times"


def test_the_table_holds_every_cell_and_value():
    run = run_of(made_up(), made_up("vrf", known=False))
    rows = list(csv.DictReader(io.StringIO(heart_csv(run))))
    assert len(rows) == 81
    middle = rows[40]
    assert (middle["feature_1"], middle["feature_2"], middle["training_rows"]) == ("4", "4", "0")
    assert middle["true_noise_variance"] == ""
    assert float(middle["sglb_knowledge"]) == 0.04
    assert middle["vrf_total"] == middle["vrf_data"] == ""
    # Nine digits are written.
    assert float(rows[0]["true_mean"]) == pytest.approx(run.data.mean[0, 0], rel=NINE_DIGITS)


CODE_CASES = [
    HeartSettings(rows=20, members=3, trees=60, step=10),
    HeartSettings(
        methods=("sgb", "virtual_sglb", "vrf"),
        rows=20,
        noise=0.03,
        seed=4,
        cells=(3, 40),
        members=4,
        trees=60,
        depth=3,
        rate_sgb=0.2,
        rate=0.5,
        temperature=100.0,
        leaf_noise=True,
        step=5,
        start=0.25,
        shown=2,
    ),
    HeartSettings(methods=("catboost",), rows=5, members=2, trees=10, temperature="posterior"),
    HeartSettings(methods=(), rows=5),
]


@pytest.mark.parametrize("settings", CODE_CASES, ids=lambda s: "-".join(s.methods) or "nothing")
def test_copied_code_computes_the_same_maps(settings, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(heart_code(settings), "copied", "exec"), names := {})
    run = run_heart(settings)
    assert set(names["maps"]) == {METHODS[maps.method].label for maps in run.methods}
    for maps in run.methods:
        parts = [part[-1].ravel() for part in (maps.total, maps.data, maps.knowledge)]
        copied = names["maps"][METHODS[maps.method].label]
        # The same kernels on the same numbers, summed in another order.
        np.testing.assert_allclose(copied, parts, rtol=CANCELLED, atol=ZERO)
    assert "<!doctype html>" in (tmp_path / "heart.html").read_text(encoding="utf-8")


HEART = make_heart(3, random_state=0)


def maps_of(method="sglb", n_trees=(10, 20), data=0.01, knowledge=0.04):
    data, knowledge = (np.full((len(n_trees), 9, 9), value) for value in (data, knowledge))
    return SimpleNamespace(
        method=method,
        truth=HEART,
        n_trees=np.array(n_trees),
        total=data + knowledge,
        data=data,
        knowledge=knowledge,
    )


def test_a_row_a_method_with_the_truth_first():
    sheet = heart_sheet(HEART, [maps_of(), maps_of("virtual_sglb")])
    titles = [panel.title for panel in sheet.panels]
    assert titles[:4] == ["True noise", "SGLB: total", "SGLB: data", "SGLB: knowledge"]
    assert titles[4:6] == ["Training rows", "virtual SGLB: total"]
    assert sheet.columns == 4
    assert sheet.frame_values == [10, 20]


def test_the_player_shows_most_of_the_first_trees():
    maps = maps_of(n_trees=range(5, 1001, 5))
    frames = heart_sheet(HEART, [maps]).frame_values
    assert frames[:3] == [5, 10, 15]
    assert frames[-1] == 1000
    assert len(frames) <= 60
    assert np.ptp(np.log(frames[-5:])) < 0.6  # the last step is about as long as the others


def test_scales_are_shared_or_own():
    methods = [maps_of(), maps_of("virtual_sglb", knowledge=0.0001)]
    shared = heart_sheet(HEART, methods).panels
    assert shared[0].limits == shared[1].limits == shared[2].limits == shared[6].limits
    assert shared[3].limits == shared[7].limits == pytest.approx((0.01, 0.2))
    # From the lowest noise, not from zero: else the maps of noise have two shades.
    assert shared[1].limits == pytest.approx((0.1, np.sqrt(0.05)))
    sheet = heart_sheet(HEART, methods)
    assert "lowest" in sheet.note
    assert not heart_sheet(HEART, methods, HeartSettings(scale="own")).note
    own = heart_sheet(HEART, methods, HeartSettings(scale="own")).panels
    assert {panel.limits for panel in own if ":" in panel.title} == {None}


def test_the_unit_and_the_log_switch():
    std = heart_sheet(HEART, [maps_of()]).panels[3]
    assert std.log
    assert np.all(np.asarray(std.values) == 0.2)
    variance = heart_sheet(HEART, [maps_of()], HeartSettings(unit="variance", log=False)).panels[3]
    assert not variance.log
    assert variance.unit != std.unit
    assert np.all(np.asarray(variance.values) == 0.04)


def test_empty_cells_are_hatched_and_painted_ones_outlined():
    sheet = heart_sheet(HEART, [maps_of()], HeartSettings(cells=(0, 80)))
    assert decode_sheet(encode_sheet(sheet)).header["hatchLabel"] == "no training rows"
    for panel in sheet.panels:
        np.testing.assert_array_equal(panel.hatched, ~HEART.in_support)
        assert np.flatnonzero(panel.outlined).tolist() == [0, 80]


def test_what_a_method_does_not_give_is_said():
    forest = maps_of("vrf", (1000,), data=np.nan)
    total, data, knowledge = heart_sheet(HEART, [forest]).panels[1:]
    for panel in (total, data):
        assert panel.markers[0].label == "not available"
        assert "gives no" in panel.alt
    assert knowledge.markers == ()


def test_methods_of_other_stages_stand_still():
    sheet = heart_sheet(HEART, [maps_of(), maps_of("sgb", (10, 30)), maps_of("vrf", (1000,))])
    assert np.asarray(sheet.panels[3].values).shape == (2, 9, 9)
    assert np.asarray(sheet.panels[7].values).shape == (9, 9)
    assert np.asarray(sheet.panels[11].values).shape == (9, 9)
    assert decode_sheet(encode_sheet(sheet)).header["frames"] == 2


def test_without_a_method_the_truth_is_left():
    sheet = heart_sheet(HEART, [])
    assert [panel.title for panel in sheet.panels] == ["True noise"]
    assert encode_sheet(sheet)


@pytest.mark.parametrize("view", [HeartSettings(unit="nats"), HeartSettings(scale="none")])
def test_views_that_there_are_not_are_refused(view):
    with pytest.raises(InvalidParameter):
        heart_sheet(HEART, [], view)


def test_the_scales_are_those_of_the_finished_maps():
    early = maps_of(knowledge=0.04)
    early.knowledge[0] = 1e-30
    early.total[0] = 100.0
    panels = heart_sheet(HEART, [early]).panels
    assert panels[3].limits == pytest.approx((0.1, 0.4))  # room around a constant
    assert panels[1].limits[1] == pytest.approx(np.sqrt(0.05))
