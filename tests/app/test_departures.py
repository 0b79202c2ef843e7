"""docs/departures.md is what the pages show of it, and its switches exist."""

import re

import pytest

from gbuq_core import (
    BoostedEnsembleRegressor,
    MacauClassifier,
    MacauRegressor,
)
from pages._ui.departures import read_departures

# Heading: the estimators whose arguments its last column names.
OWNERS = {
    "Boosting": [BoostedEnsembleRegressor],
    "MACAU": [MacauRegressor, MacauClassifier],
}


def rows_of(text):
    lines = [line for line in text.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize("heading", sorted(read_departures()))
def test_every_departure_says_all_five_things(heading):
    rows = rows_of(read_departures()[heading])
    assert rows
    for row in rows:
        assert len(row) == 5
        assert all((row[0], row[3], row[4]))


@pytest.mark.parametrize("heading", OWNERS)
def test_the_switches_are_arguments(heading):
    known = {name for owner in OWNERS[heading] for name in owner().get_params()}
    named = [row[4] for row in rows_of(read_departures()[heading])]
    switches = [found for cell in named for found in re.findall(r"`(\w+)=", cell)]
    assert switches
    assert set(switches) <= known
