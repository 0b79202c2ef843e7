"""Random tables of known cells are read without a silent error."""

import numpy as np
import pytest
from written_tables import silent_errors, write_table


@pytest.mark.parametrize("seed", range(6))
def test_no_cell_is_read_as_something_else(seed):
    assert silent_errors(seed) == []


def test_tables_are_written_with_junk_and_gaps():
    tables = [write_table(seed) for seed in range(20)]
    numbers = [c.meant for _, columns in tables for c in columns if c.kind == "numeric"]
    assert any(b"Report of the year" in data for data, _ in tables)
    assert any(np.isnan(meant).any() for meant in numbers)
