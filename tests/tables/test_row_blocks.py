"""What is said about a row does not depend on the rows that it is judged with."""

import math

import numpy as np
import pytest

from gbuq_core.tables.predicting import Predictions, judge_members

N_MEMBERS, N_ROWS = 20, 60  # from eight members on, NumPy adds one row's in another order


@pytest.mark.parametrize("n_rows", [1, 2, 7])
@pytest.mark.parametrize(
    ("n_classes", "df", "log"),
    [(0, math.inf, False), (0, 5.0, False), (0, 5.0, True), (3, math.inf, False)],
)
def test_blocks_of_any_size_are_judged_alike(n_rows, n_classes, df, log, rng):
    if n_classes:
        members = rng.dirichlet(np.ones(n_classes), size=(N_MEMBERS, N_ROWS))
        y = rng.integers(0, n_classes, N_ROWS).astype(float)
    else:
        parameters = rng.gamma(9.0, size=(N_MEMBERS, N_ROWS)), rng.gamma(2.0, size=(20, N_ROWS))
        members, y = np.stack(parameters, axis=-1), rng.normal(9.0, 3.0, N_ROWS)
    y[::7] = np.nan

    def judge(rows):
        none = np.zeros(len(y[rows]), bool)
        return judge_members(members[:, rows], (none, none, ()), y[rows], n_classes, 1.0, df, log)

    blocks = [judge(slice(low, low + n_rows)) for low in range(0, N_ROWS, n_rows)]
    whole, joined = judge(slice(None)), Predictions.join(blocks)
    for expected, actual in zip(flat(whole), flat(joined), strict=True):
        np.testing.assert_array_equal(actual, expected)


def flat(predictions):
    arrays = [part for part in predictions if isinstance(part, np.ndarray)]
    return [*arrays, *predictions.uncertainty]
