"""The spiral's lesson: its numbers, and the facts that its fixed sentences rest on."""

from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from lesson_parts import computed, fits_made_once

from demos.spiral import LESSON, largest_rise
from gbuq_core.experiments.ranking import rank_correlation
from gbuq_core.study.spiral import SPIRAL, spiral_truth
from gbuq_core.study.spiral_walks import burn_in_effect, walk_off

STEPS = {step.title: step for step in LESSON.steps}


def shown(title):
    return computed("spiral", title)


@cache
def run_of(title, **knobs):
    with fits_made_once():
        return SPIRAL.run(replace(STEPS[title].preset, **knobs))


def scores_of(title, **knobs):
    run = run_of(title, **knobs)
    return [SimpleNamespace(**run.numbers[view.method]) for view in run.views]


def knowledge_of(run):
    return [view.last.knowledge for view in run.views]


def test_a_loss_that_only_falls_has_no_rise():
    assert largest_rise(np.array([3.0, 2.0, 1.5, 1.0, 0.5]), 2) == 0
    assert largest_rise(np.array([3.0, 4.0]), 2) == 0  # one cycle: nothing before it


def test_most_mistakes_are_noise_and_borders_are_where_knowledge_lies():
    (arms,) = scores_of("Three arms")
    assert arms.error_optimal > 0.5 * arms.error
    assert f"It gets {100 * arms.error:.1f} % wrong" in shown("Three arms").answer
    assert arms.border_ratio > 2
    assert arms.auroc_border_total < arms.auroc_border < 0.4
    assert arms.auroc_far < 0.55
    (hot,) = scores_of("Where models differ", temperature="posterior")
    assert hot.auroc_far < 0.55  # chance, whatever the noise
    assert hot.error > arms.error
    assert f"reach {hot.auroc_far:.2f}" in shown("Where models differ").more[-1]


def test_gaps_are_found_and_the_outside_is_not():
    (narrow,), (wide,) = scores_of("Gaps and the outside"), scores_of("Three arms")
    assert narrow.auroc_between > 0.8
    assert np.isnan(wide.auroc_between)
    assert narrow.between > 2 * narrow.inside
    assert narrow.auroc_far < 0.55
    run = run_of("Gaps and the outside")
    step = shown("Gaps and the outside")
    between = [int(spiral_truth(noise).between.sum()) for noise in (0.2, 0.4)]
    assert f"{between[0]} cells" in step.text
    assert between[1] == 0
    assert "no cells lay in gaps" in step.more[0]
    assert step.more[-1].endswith(walk_off(run, run.views[0])["sentence"])


def test_the_walk_is_drawn_over_every_map_and_below_them():
    sheet = shown("Gaps and the outside").sheet
    (line,) = sheet.lines
    assert line.arrow
    assert [line.x[0], line.y[0], line.x[1], line.y[1]] == [0.0, 0.0, 600.0, 450.0]
    assert [strip.title for strip in sheet.strips] == ["Knowledge uncertainty", "True density"]
    assert all(strip.mode == "frame" and strip.frame_x is None for strip in sheet.strips)


def test_a_virtual_ensemble_orders_alike_knows_less_and_predicts_as_well():
    title = "One model instead of five"
    true, virtual = scores_of(title)
    alike = rank_correlation(*knowledge_of(run_of(title)))
    assert virtual.outside < true.outside / 5
    assert alike > 0.5
    assert virtual.auroc_far < true.auroc_far
    assert virtual.nll <= true.nll
    assert f"rank correlation is {alike:.2f}" in shown(title).answer


def test_cycles_raise_the_level_in_the_wrong_place_without_leaving_the_mode():
    title = "One model in cycles"
    virtual, cyclic = scores_of(title)
    run = run_of(title)
    assert cyclic.outside > 10 * virtual.outside
    assert cyclic.inside > 2 * cyclic.outside
    assert cyclic.auroc_far < virtual.auroc_far + 0.05
    assert largest_rise(run.views[1].fit.more["trace"].train_loss, run.settings.cycle) == 0
    assert "rises by at most 0 nats above the end of a cycle" in shown(title).more[-1]
    (fast,) = scores_of(title, methods=("csglb",), rate_cyclical=0.2)
    assert fast.nll > cyclic.nll + 0.05
    assert f"end at {fast.nll:.2f} instead" in shown(title).more[-1]
    strip = shown(title).sheet.strips[0]
    assert list(strip.marks) == list(range(60, 601, 60))


def test_the_first_members_are_most_of_csglbs_knowledge():
    title = "The first cycles"
    run = run_of(title)
    knowledge, _ = burn_in_effect(run.views[1], run.data.truth.far)
    assert knowledge[1] < 0.5 * knowledge[0]
    assert run.views[1].last.knowledge.mean() == pytest.approx(knowledge[1])
    assert f"{100 * knowledge[1] / knowledge[0]:.0f} %" in shown(title).answer
    whole = run_of(title, burn_in=0)
    before, after = (rank_correlation(*knowledge_of(r)) for r in (whole, run))
    assert after > before + 0.1
    (flat,) = knowledge_of(run_of(title, methods=("csglb",), alpha_max=1.0, burn_in=0))
    assert flat.mean() > knowledge[0]  # cycles are not needed for it


def test_masked_rows_make_members_differ_but_predict_no_better():
    title = "Rows left out"
    plain, masked = scores_of(title)
    run = run_of(title)
    late = [burn_in_effect(view, run.data.truth.far)[0, 5] for view in run.views]
    assert masked.inside > 1.2 * plain.inside
    assert masked.correlation < plain.correlation
    assert late[1] > 2 * late[0]
    assert masked.nll >= plain.nll
    assert masked.auroc_far < plain.auroc_far + 0.05
    assert shown(title).sheet.strips[0].shaded
