"""The lesson on growing noise: its numbers, and the facts that its sentences rest on."""

from dataclasses import replace

import numpy as np
import pytest
from lesson_parts import computed
from tolerances import NEAR_ZERO, SAME_SUM, ZERO

from demos.heteroscedastic.parts import (
    held_by_place,
    heteroscedastic_run,
    parts_of,
    told_by_distance,
)
from demos.heteroscedastic.steps import (
    ALIKE,
    AVERAGE,
    BEYOND,
    DISTANCES,
    LESSON,
    NOISE,
    PARTS,
    PLAYED,
)
from demos.heteroscedastic.steps import TABLE as BESIDE
from gbuq_core.figures.canvas.encoding import encode_sheet
from gbuq_core.settings import check, plan_of
from gbuq_core.study.heteroscedastic import LEVELS, draw_test, why_not
from gbuq_core.study.members import count_fits
from tests.figure_readers import decode_sheet

TITLES = [step.title for step in LESSON.steps]


def shown(title):
    return computed("heteroscedastic", title)


def strip_of(title, name):
    return next(strip for strip in shown(title).sheet.strips if strip.title == name)


def line_of(strip, name):
    return np.asarray(next(line.y for line in strip.lines if line.name == name))


def frames_of(title):
    return decode_sheet(encode_sheet(shown(title).sheet)).header["frames"]


@pytest.mark.parametrize("step", LESSON.steps, ids=TITLES)
def test_each_preset_is_one_that_the_page_takes(step):
    settings = step.preset
    check(settings)
    assert all(why_not(plan_of(settings, method)) == "" for method in settings.methods)


def test_steps_share_their_fits_and_measurements():
    for step in LESSON.steps:  # in this process: another may have computed what is shown
        step.compute()
    before = count_fits()
    for step in LESSON.steps:
        heteroscedastic_run(step.preset)
    assert not LESSON.steps[0].compute().more[-1].endswith(" ")
    assert count_fits() == before


def test_the_forest_alone_does_not_see_the_noise():
    scores = heteroscedastic_run(NOISE).numbers
    noise, error = scores["forest"]["mean_noise"], scores["forest"]["std_error"]
    assert error > 0.5 * noise
    assert max(scores[key]["std_error"] for key in ("macau_linear", "catboost")) < 0.15 * noise
    words = f"Random forest {error:.2f}"
    assert words in shown("Noise that grows").more[-1]


def test_the_intervals_that_are_played_are_those_of_the_levels():
    title = "Noise that grows"
    assert frames_of(title) == len(LEVELS)
    for name in ("MACAU (linear)", "Random forest", "CatBoost"):
        strip = strip_of(title, name)
        lower, upper = (line_of(strip, f"{end} end") for end in ("lower", "upper"))
        assert (np.diff(upper - lower, axis=0) > 0.0).all()  # a higher level is wider everywhere
    truth = strip_of(title, "CatBoost")
    rows = ~np.isnan(line_of(truth, "row"))
    top, bottom = (line_of(truth, f"true {end} end")[:, rows] for end in ("upper", "lower"))
    at = line_of(truth, "row")[rows]
    held = ((bottom <= at) & (at <= top)).mean(axis=1)
    # 100 rows: binomial standard errors are at most 0.05, and these are four.
    np.testing.assert_allclose(held, LEVELS, atol=0.2)


def test_parts_add_up_to_the_total_and_plain_leaves_say_more_noise():
    run = heteroscedastic_run(PARTS)
    for view, name in zip(run.views, ("linear", "basic"), strict=True):
        at = view.at
        np.testing.assert_allclose(at.total, at.data + at.knowledge, rtol=SAME_SUM)
        strip = strip_of("Data and knowledge", f"Parts of MACAU ({name})")
        np.testing.assert_array_equal(line_of(strip, "data"), np.sqrt(at.data)[::2])
    linear, basic = (run.numbers[key] for key in ("macau_linear", "macau_basic"))
    assert basic["noise_ratio"] > linear["noise_ratio"]
    step = shown("Data and knowledge")
    assert f"its std is {basic['noise_ratio']:.2f} times the truth" in step.answer
    assert f"is {linear['rmse']:.2f} with lines and {basic['rmse']:.2f} without" in step.more[-1]


def test_the_trees_that_are_played_are_the_forests():
    title = "Data and knowledge"
    assert frames_of(title) == PLAYED
    strip = strip_of(title, "MACAU (basic)")
    tree = line_of(strip, "this tree")
    fit = heteroscedastic_run(PARTS).fits[1]
    members = fit.model.predict_members(np.asarray(strip.x)[:, None])[:PLAYED, :, 0]
    # Steps of a tree are drawn from the nearest places of the grid: few of them are cut.
    assert (np.abs(tree - members) < NEAR_ZERO).mean() > 0.9
    np.testing.assert_allclose(line_of(strip, "mean of the trees"), tree.mean(axis=0), atol=ZERO)


def test_lines_notice_the_end_and_constants_do_not():
    run = heteroscedastic_run(BEYOND)
    linear, basic, catboost = (
        told_by_distance(run, method, "knowledge", DISTANCES) for method in run.measured
    )
    assert linear[-1] > 0.99 > linear[0]
    assert max(np.ptp(basic), np.ptp(catboost)) < 0.02  # flat on either side
    strip = strip_of("Out of the rows", "Detected by knowledge")
    np.testing.assert_array_equal(line_of(strip, "CatBoost"), catboost)
    value = run.numbers["macau_linear"]["auroc_knowledge"]
    assert f"AUROC for foreign rows: {value:.2f}, " in shown("Out of the rows").answer


def test_one_feature_leaves_two_novelties_the_same():
    title = "Three novelties"
    same = [strip_of(title, name) for name in ("Novelty", "Conditional novelty")]
    for label in ("MACAU (linear)", "MACAU (basic)"):
        np.testing.assert_allclose(*(line_of(strip, label) for strip in same))
    assert line_of(strip_of(title, "Inference novelty"), "MACAU (basic)").max() < NEAR_ZERO
    assert "MACAU (basic), inference novelty 0 %, Isolation forest" in shown(title).more[-1]


def test_alike_trees_know_less_of_where_they_have_not_been():
    base = heteroscedastic_run(replace(ALIKE, subsample=0.1))
    more = heteroscedastic_run(ALIKE)
    far = [float(np.sqrt(run.views[0].at.knowledge[-1])) for run in (base, more)]
    assert far[1] < 0.5 * far[0]
    answer = shown("Trees too much alike").answer
    assert f"goes from {far[0]:.2g} to {far[1]:.2g}" in answer


def test_one_width_holds_its_level_on_average_only():
    run = heteroscedastic_run(AVERAGE)
    at = AVERAGE.methods.index("conformal_forest")
    factor = run.views[at].factors[LEVELS.index(AVERAGE.level)]
    thirds = held_by_place(run, at, 0.8, 3, factor)
    assert thirds[0] > 0.9
    assert thirds[2] < 0.7
    count = np.bincount(parts_of(draw_test(AVERAGE).X[:, 0], 3))
    overall = held_by_place(run, at, 0.8, 1, factor)[0]
    assert (thirds * count).sum() / count.sum() == pytest.approx(overall, abs=ZERO)
    left, middle, right = (f"{100 * third:.0f}" for third in thirds)
    answer = shown("Right on average").answer
    assert f"Conformal forest holds {left}, {middle} and {right} %" in answer
    strip = strip_of("Right on average", "Fresh rows held, by tenths of x")
    off, on = line_of(strip, "Random forest")
    assert on.mean() > off.mean() + 20  # percent: the spread alone misses the noise


def test_the_table_is_played_method_by_method():
    title = "Beside the table"
    run = heteroscedastic_run(BESIDE)
    assert frames_of(title) == 9
    for name in ("CRPS", "AUROC"):
        strip = strip_of(title, name)
        every, this = line_of(strip, "all"), line_of(strip, "this method")
        # Each number is lit in the frame of its method and in no other.
        np.testing.assert_array_equal((~np.isnan(this)).sum(axis=0), ~np.isnan(every))
    this = line_of(strip_of(title, "CRPS"), "this method")
    for frame, method in enumerate(BESIDE.methods):
        assert np.nansum(this[frame]) == run.numbers[method]["crps"]
    lost = strip_of(title, "95 % interval")
    assert np.isnan(line_of(lost, "mean")[-1]).all()  # an isolation forest predicts nothing
