"""The lesson on a table of one's own: the facts that its fixed sentences rest on."""

import numpy as np

from demos.your_data.steps import _top, two_kinds
from demos.your_data.tables import SEEDS, curves, detect, score_diabetes, split_errors


def test_noise_and_disagreement_are_mostly_in_different_rows():
    parts = [score_diabetes(seed).predictions.uncertainty for seed in SEEDS]
    shared = [len(_top(part.data) & _top(part.knowledge)) for part in parts]
    assert np.mean(shared) < len(parts[0].data) / 10 / 3


def test_the_picture_marks_the_rows_that_both_tenths_share():
    parts, sheet = score_diabetes(0).predictions.uncertainty, two_kinds().sheet
    (both,) = (line for line in sheet.strips[0].lines if line.name == "both")
    tenth = sheet.frame_values.index("10 % of the rows")
    assert np.isfinite(both.y[tenth]).sum() == len(_top(parts.data) & _top(parts.knowledge))


def test_unfamiliarity_finds_strange_rows_and_truncations_do_not():
    found = detect()
    for scores in (found.moved, found.shuffled):
        assert scores[:, :2].max() < 0.8
        assert (scores.argmax(axis=1) == 2).all()
    assert found.moved[:, 2].min() > 0.98


def test_a_random_split_flatters_and_a_split_by_patient_hardly():
    random, grouped, true = split_errors().mean(axis=0)
    assert random < 0.8 * true
    assert abs(grouped - true) < 0.1 * true


def test_verdicts_differ_with_the_noise_and_the_number_of_rows():
    words = {
        name: [curve.verdict().word for curve in several] for name, several in curves().items()
    }
    noisy, few, smooth = words.values()
    assert noisy.count("noise") >= 2
    assert few.count("undecided") >= 2
    assert smooth.count("more") >= 2
