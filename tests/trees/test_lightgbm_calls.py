"""LightGBM from several threads at once: one number of threads for all, and the same trees."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from gbuq_core.trees.importers.lightgbm_calls import predict_booster, shared_threads
from gbuq_core.trees.lightgbm_forest import grow_forest


def test_calls_at_the_same_time_share_the_number_of_the_first():
    with shared_threads(3) as first:
        with shared_threads(1) as second:
            assert (first, second) == (3, 3)
        with shared_threads(2) as third:
            assert third == 3
    with shared_threads(1) as alone:
        assert alone == 1


def test_an_error_gives_the_number_back():
    for n_jobs in (2, 1):
        try:
            with shared_threads(n_jobs) as number:
                assert number == n_jobs
                raise KeyError
        except KeyError:
            pass  # the next round must find nobody at work


def test_forests_grown_side_by_side_are_those_grown_alone():
    X = np.random.default_rng(0).normal(size=(400, 5))
    y = X[:, 0] + X[:, 1] ** 2

    def grow(n_jobs):
        forest = grow_forest(X, y, n_trees=8, n_jobs=n_jobs)
        return predict_booster(forest, X, n_jobs)

    alone = grow(1)
    with ThreadPoolExecutor(6) as pool:
        for values in pool.map(grow, [1, 2, 3, 1, 2, 3] * 4):
            np.testing.assert_array_equal(values, alone)
