"""The lesson on growing noise: its numbers, and what it would say of others."""

from dataclasses import fields, replace

import numpy as np
import pytest
from lesson_parts import computed
from tolerances import NEAR_ZERO, SAME_SUM, ZERO

from demos.heteroscedastic import answers
from demos.heteroscedastic.parts import held_by_place, parts_of, run_of, told_by_distance
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
from gbuq_core.experiments.claims import Claim
from gbuq_core.experiments.heteroscedastic.claims import Ray
from gbuq_core.experiments.heteroscedastic.fit import count_fits, count_measures
from gbuq_core.experiments.heteroscedastic.plan import (
    LEVELS,
    check_settings,
    why_not,
)
from gbuq_core.experiments.heteroscedastic.scores import (
    HeteroscedasticScore,
    LevelCoverage,
    ScoreAuroc,
    score_all,
)
from gbuq_core.figures.canvas.encoding import encode_sheet
from gbuq_core.settings import plan_of
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


def score(label="A", method="forest", **more):
    """A made-up method that sees the noise well."""
    values = dict.fromkeys([field.name for field in fields(HeteroscedasticScore)], 0.0) | {
        "method": method, "label": label, "crps": 0.3, "paper_crps": 0.3, "std_error": 0.05,
        "mean_std": 0.5, "mean_noise": 0.5, "data_share": 0.95, "auroc": (),
        "coverage": (LevelCoverage(0.95, 0.94, 0.9, 0.96, 1.0),),
    }  # fmt: skip
    return HeteroscedasticScore(**(values | more))


def judged(*cells):
    """AUROCs as a method has them, each a score's key, the value here, and the paper's."""
    return tuple(
        ScoreAuroc(key, key.replace("_", " ").capitalize(), here, paper)
        for key, here, paper in cells
    )


def ray(side="left", first=0.1, last=1.0, linear=1.0):
    rises = np.sign(last - first)
    return Ray(side, float(rises), linear, rises * 0.1, first, last)


@pytest.mark.parametrize("step", LESSON.steps, ids=TITLES)
def test_each_preset_is_one_that_the_page_takes(step):
    settings = step.preset
    check_settings(settings)
    assert all(why_not(plan_of(settings, method)) == "" for method in settings.methods)


def test_steps_share_their_fits_and_measurements():
    for title in TITLES:
        shown(title)
    before = count_fits(), count_measures()
    for step in LESSON.steps:
        run_of(step.preset)
    assert (count_fits(), count_measures()) == before
    assert not LESSON.steps[0].compute().more[-1].endswith(" ")
    assert (count_fits(), count_measures()) == before


def test_the_forest_alone_does_not_see_the_noise():
    found = {s.method: s for s in score_all(run_of(NOISE))}
    noise = found["forest"].mean_noise
    assert found["forest"].std_error > 0.5 * noise
    assert max(found["macau_linear"].std_error, found["catboost"].std_error) < 0.15 * noise
    answer = shown("Noise that grows").more[-1]
    assert "MACAU (linear) and CatBoost follow it" in answer
    assert f"Random forest does not ({found['forest'].std_error:.2f})" in answer


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
    run = run_of(PARTS)
    for view, name in zip(run.views, ("linear", "basic"), strict=True):
        np.testing.assert_allclose(view.total, view.data + view.knowledge, rtol=SAME_SUM)
        strip = strip_of("Data and knowledge", f"Parts of MACAU ({name})")
        np.testing.assert_array_equal(line_of(strip, "data"), np.sqrt(view.data)[::2])
    basic, linear = sorted(score_all(run), key=lambda s: -s.noise_ratio)
    assert (basic.method, linear.method) == ("macau_basic", "macau_linear")
    answer = shown("Data and knowledge").more[-1]
    assert "to the last digit" in answer
    assert f"its std is {basic.noise_ratio:.2f} times the true one" in answer
    assert f"its RMSE is {linear.rmse:.2f} instead of {basic.rmse:.2f}" in answer


def test_the_trees_that_are_played_are_the_forests():
    title = "Data and knowledge"
    assert frames_of(title) == PLAYED
    strip = strip_of(title, "MACAU (basic)")
    tree = line_of(strip, "this tree")
    fit = run_of(PARTS).fits[1]
    members = fit.model.predict_members(np.asarray(strip.x)[:, None])[:PLAYED, :, 0]
    # Steps of a tree are drawn from the nearest places of the grid: few of them are cut.
    assert (np.abs(tree - members) < NEAR_ZERO).mean() > 0.9
    np.testing.assert_allclose(line_of(strip, "mean of the trees"), tree.mean(axis=0), atol=ZERO)


def test_lines_notice_the_end_and_constants_do_not():
    run = run_of(BEYOND)
    linear, basic, catboost = (
        told_by_distance(measure, "knowledge", DISTANCES) for measure in run.measures
    )
    assert linear[-1] > 0.99 > linear[0]
    assert max(np.ptp(basic), np.ptp(catboost)) < 0.02  # flat on either side
    strip = strip_of("Out of the rows", "Detected by knowledge")
    np.testing.assert_array_equal(line_of(strip, "CatBoost"), catboost)
    value = next(s for s in score_all(run) if s.method == "macau_linear").auroc_of("knowledge")
    answer = shown("Out of the rows").more[-1]
    assert "MACAU (linear): its std rises in a straight line" in answer
    assert f"AUROC for foreign rows is {value:.2f} (it detects most of them)" in answer
    assert "one flat value on each side" in answer


def test_one_feature_leaves_two_novelties_the_same():
    title = "Three novelties"
    same = [strip_of(title, name) for name in ("Novelty", "Conditional novelty")]
    for label in ("MACAU (linear)", "MACAU (basic)"):
        np.testing.assert_allclose(*(line_of(strip, label) for strip in same))
    assert line_of(strip_of(title, "Inference novelty"), "MACAU (basic)").max() < NEAR_ZERO
    answer = shown(title).more[-1]
    assert "but not by inference novelty (0.50, 0 %). Isolation forest detects" in answer


def test_alike_trees_know_less_of_where_they_have_not_been():
    base = run_of(replace(ALIKE, subsample=0.1))
    more = run_of(ALIKE)
    far = [float(np.sqrt(run.views[0].knowledge[-1])) for run in (base, more)]
    assert far[1] < 0.5 * far[0]
    answer = shown("Trees too much alike").more[-1]
    assert f"falls from {far[0]:.2g} to {far[1]:.2g}" in answer
    assert "The RMSE of the mean rises" in answer


def test_one_width_holds_its_level_on_average_only():
    run = run_of(AVERAGE)
    at = AVERAGE.methods.index("conformal_forest")
    factor = run.views[at].factor
    thirds = held_by_place(run, at, 0.8, 3, factor)
    assert thirds[0] > 0.9
    assert thirds[2] < 0.7
    test = run.measures[at].test
    count = np.bincount(parts_of(test.X[:, 0], 3))
    overall = held_by_place(run, at, 0.8, 1, factor)[0]
    assert (thirds * count).sum() / count.sum() == pytest.approx(overall, abs=ZERO)
    assert (
        "Conformal forest " + ", ".join(f"{100 * t:.0f}" for t in thirds)
        in (shown("Right on average").more[-1])
    )
    strip = strip_of("Right on average", "Fresh rows held, by tenths of x")
    off, on = line_of(strip, "Random forest")
    assert on.mean() > off.mean() + 20  # percent: the spread alone misses the noise


def test_the_table_is_played_method_by_method():
    title = "Beside the table"
    run = run_of(BESIDE)
    assert frames_of(title) == 9
    for name in ("CRPS", "AUROC"):
        strip = strip_of(title, name)
        every, this = line_of(strip, "all"), line_of(strip, "this method")
        # Each number is lit in the frame of its method and in no other.
        np.testing.assert_array_equal((~np.isnan(this)).sum(axis=0), ~np.isnan(every))
    found = {s.method: s for s in score_all(run)}
    this = line_of(strip_of(title, "CRPS"), "this method")
    for frame, method in enumerate(BESIDE.methods):
        assert np.nansum(this[frame]) == found[method].crps
    lost = strip_of(title, "95 % interval")
    assert np.isnan(line_of(lost, "mean")[-1]).all()  # an isolation forest predicts nothing


def test_what_is_said_of_noise_depends_on_who_sees_it():
    sees, blind = score("A"), score("B", std_error=0.4, mean_std=0.2)
    assert "A follows it: the RMSE of its std is 0.05. B does not (0.40)" in answers.who_sees_noise(
        {"a": sees, "b": blind}
    )
    assert "None of them follows it." in answers.who_sees_noise({"b": blind})
    assert "For the forest this is chance. A forest's" in answers.who_sees_noise({"forest": sees})
    assert "chance" not in answers.who_sees_noise({"forest": blind})
    assert "forest" not in answers.who_sees_noise({"a": sees})


def test_what_is_said_of_parts_depends_on_their_shares():
    linear, basic = score("L", rmse=0.1), score("B", rmse=0.2, mean_std=0.6)
    told = answers.data_or_knowledge(linear, basic, 0.0)
    assert "as it should be" in told
    assert "A plain leaf overestimates the noise" in told
    assert "nearer to the truth" in told
    told = answers.data_or_knowledge(score("L", rmse=0.2), score("B", data_share=0.5), 0.01)
    assert "to within 0.01" in told
    assert "Nearly all of it should be" in told
    assert "hardly changes the noise" in told
    assert "no nearer" in told


@pytest.mark.parametrize(
    ("left", "right", "said"),
    [
        (ray(), ray("right"), "rises in a straight line, from 0.1 to 1"),
        (ray(linear=0.5), ray("right"), "its std rises, from"),
        (ray(last=0.01), ray("right"), "does not rise on both sides. It goes"),
        (ray(last=0.1), ray("right", last=0.1), "its std is 0.1 everywhere on the left"),
    ],
)
def test_what_is_said_of_the_end_depends_on_the_curve(left, right, said):
    known = score("A", auroc=judged(("knowledge", 0.8, 0.5)))
    told = answers.who_notices_the_end({"a": (left, right)}, {"a": known}, np.array([0.5, 0.51]))
    assert said in told
    assert "0.80 (it detects some of them)" in told
    assert told.endswith("Chance changes it little.")


def test_what_is_said_of_novelties_depends_on_who_tells():
    both = score("A", auroc=judged(("novelty", 1.0, 1.0), ("total", 0.2, 0.5)))
    told = answers.which_novelty([both], {("forest", "novelty"): 1.0})
    assert told.endswith("A detects all or nearly all foreign rows by novelty (1.00, 100 %).")
    told = answers.which_novelty(
        [both], {("forest", "novelty"): 1.0, ("forest", "total"): 0.25, ("other", "data"): 1.0}
    )
    assert told.endswith("by novelty (1.00, 100 %), but not by total (0.20, 25 %).")
    told = answers.which_novelty([both], {("forest", "total"): 0.25})
    assert told.endswith("A does not detect them by total (0.20, 25 %).")
    assert "are the same here" in answers.why_novelty(True, False)
    assert answers.why_novelty(False, True).startswith("Novelty and conditional novelty differ")
    assert "has no unusual one" not in answers.why_novelty(False, False)


def test_what_is_said_of_knobs_depends_on_the_numbers():
    kept, lost = (
        score("A", rmse=error, auroc=judged(("knowledge", value, 0.9), ("inference_novelty", i, 1)))
        for error, value, i in ((0.1, 0.9, 1.0), (0.2, 0.7, 0.5))
    )
    told = answers.what_breaks(kept, lost, kept, (1.0, 0.2, 1.0), 0.8)
    assert "falls from 1 to 0.2" in told
    assert "The RMSE of the mean rises from 0.1 to 0.2." in told
    assert "the RMSE of the mean stays near 0.1" in told
    assert "does not work in all three forests (AUROC 1.000, 0.500, 1.000)" in told
    assert "novelty works in all" in answers.what_breaks(kept, kept, kept, (1.0, 1.0, 1.0), 0.8)


def test_what_is_said_of_coverage_depends_on_the_thirds():
    even, odd = np.array([0.8, 0.82, 0.81]), np.array([0.99, 0.8, 0.6])
    told = answers.right_on_average(["A", "B"], [0.81, 0.8], [even, odd], 0.8)
    assert (
        "For B, the highest and the lowest third differ by 39 percentage points, for A by 2."
        in told
    )
    assert "in each third as well" in answers.right_on_average(["A"], [0.81], [even], 0.8)
    assert "by 39 percentage points." in answers.right_on_average(["B"], [0.8], [odd], 0.8)


def test_what_is_said_of_the_table_names_what_fails_and_where():
    claims = [Claim("P.", "H.", verdict) for verdict in ("holds", "partly", "does not hold")]
    one = score("A", crps=0.4, auroc=judged(("total", 0.7, 0.2), ("data", 0.5, 0.5)))
    told = answers.what_reproduces(claims, [one, score("B")])
    assert told.startswith(
        "Of 3 statements, 1 hold here, 1 partly hold and 1 do not. Does not hold: P. Here: H."
    )
    assert "Partly holds: P. A has the largest difference in CRPS: 0.40 here and 0.30" in told
    assert "Of 2 AUROCs, 1 are within 0.05" in told
    assert told.endswith("total of A, 0.70 instead of 0.20.")
    nothing = score("I", crps=np.nan)
    assert answers.what_reproduces([], [nothing]) == (
        "Of 0 statements, 0 hold here, 0 partly hold and 0 do not."
    )
