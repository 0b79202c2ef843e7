"""The experiments behind what FINDINGS.md says of paper 1's table."""

from itertools import islice

import numpy as np

from benchmarks.findings import foreign_rows


def test_shuffled_foreign_rows_keep_each_column():
    X = np.random.default_rng(1).normal([0.0] * 12 + [100.0], 2.0, (200, 13))
    sources = dict(islice(foreign_rows.sources(None, "boston", X, 300, 0), 3))
    table, shuffled, normal = sources.values()
    np.testing.assert_array_equal(np.sort(shuffled, axis=0), np.sort(table, axis=0))
    # Radius and perimeter of breast cancers' cells go together until they are shuffled.
    assert np.corrcoef(table[:, 0], table[:, 2])[0, 1] > 0.9
    # The standard error of a correlation of 300 rows is 0.06.
    assert abs(np.corrcoef(shuffled[:, 0], shuffled[:, 2])[0, 1]) < 0.25
    np.testing.assert_allclose(normal.mean(axis=0), X.mean(axis=0), atol=5 * 2.0 / 300**0.5)
