"""The lesson on a table of one's own: the facts that its fixed sentences rest on."""

import numpy as np

from demos.your_data import SEEDS, _diabetes, _top, curves, detect, split_errors


def test_noise_and_disagreement_are_mostly_in_different_rows():
    parts = [_diabetes(seed).predictions.uncertainty for seed in SEEDS]
    shared = [len(_top(part.data) & _top(part.knowledge)) for part in parts]
    assert np.mean(shared) < len(parts[0].data) / 10 / 3


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
