"""Two tables that the tests of kernels share."""

import boosting_parts as parts
import pytest


@pytest.fixture
def table(rng):
    return parts.mixed_table(rng, 120)


@pytest.fixture
def repeated(rng):
    """600 rows of 24 distinct ones, so that merging them makes sense."""
    matrix = parts.mixed_table(rng, 24).matrix
    return parts.binned(matrix[rng.integers(0, 24, 600)])
