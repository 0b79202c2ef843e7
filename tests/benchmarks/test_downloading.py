"""Sets behind ``--download``: what is fetched, checked and written. Nothing here needs a net."""

import doctest
import sys
from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest
from tolerances import ZERO

from benchmarks.protocols import PROTOCOLS, data
from benchmarks.report import load_split
from benchmarks.tables import __main__ as command
from benchmarks.tables import downloading
from benchmarks.tables.downloading import NotFetched, checksum, draw_splits, fetch_missing
from benchmarks.tables.running import Wanted, list_cells


def test_examples():
    failed, tried = doctest.testmod(downloading)
    assert (failed, tried > 0) == (0, True)


@pytest.fixture
def energy(rng, monkeypatch):
    """Rows that stand for energy's, and what OpenML has of them: both loads, and more digits."""
    rows = rng.normal(size=(768, 9)).round(2) + 0.0  # no -0.0, whose bytes are others
    monkeypatch.setitem(downloading.SHA256, "energy", checksum(rows))
    table = pd.DataFrame(rows + 0.001).add_prefix("V").assign(second_load=1.0)
    asked = []

    def fetch_openml(**given):
        asked.append(given)
        return SimpleNamespace(frame=table.astype({"V5": str}))

    monkeypatch.setattr(downloading, "fetch_openml", fetch_openml)
    return SimpleNamespace(rows=rows, asked=asked)


def test_a_set_is_fetched_once_with_its_splits(tmp_path, energy):
    lines = []
    for _ in range(2):
        fetch_missing(["energy", "spiral"], tmp_path, lines.append)
    assert len(energy.asked) == 1
    assert energy.asked[0]["data_id"] == 1472
    assert lines == [f"energy: 768 rows came, with the SHA-256 {checksum(energy.rows)}."]
    split = load_split(tmp_path, "energy", 19)
    assert len(split.y_test) == 77
    test = draw_splits(768, 20)["test_19"]
    np.testing.assert_allclose(np.sort(split.y_test), np.sort(energy.rows[test, -1]), atol=ZERO)


def test_splits_are_those_of_the_papers():
    """The first test rows of the authors' files: of the last split they come after 19 draws."""
    splits = draw_splits(1030, 20)
    assert splits["test_0"][:5].tolist() == [87, 751, 655, 942, 778]
    assert len(splits) == 20
    assert all(len(np.unique(test)) == 103 for test in splits.values())
    assert draw_splits(45730, 5)["test_0"][:3].tolist() == [27343, 33875, 31047]


def test_other_rows_are_refused_and_leave_nothing_behind(tmp_path, energy, monkeypatch):
    monkeypatch.setitem(downloading.SHA256, "energy", 64 * "0")
    with pytest.raises(NotFetched, match=r"^What came for energy is not the papers' set .*\.$"):
        fetch_missing(["energy"], tmp_path, print)
    with pytest.raises(NotFetched, match=r"^What came for power has 3 rows in place of 9,568, "):
        fetch_missing(["power"], tmp_path, print, lambda name, cache: np.zeros((3, 5)))
    assert [path.name for path in tmp_path.iterdir()] == ["downloads"]


def test_without_a_network_one_sentence_says_what_to_do(tmp_path, capsys, monkeypatch):
    def fetch(**given):
        raise URLError("Name or service not known")

    monkeypatch.setattr(downloading, "fetch_california_housing", fetch)
    given = ["--tables", "macau", "--sets", "california", "--download", "--data-dir", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["tables", *given, "--out", str(tmp_path / "out")])
    with pytest.raises(SystemExit) as ended:
        command.main()
    assert ended.value.code == 2
    assert capsys.readouterr().err == (
        "california could not be fetched (<urlopen error Name or service not known>): copy "
        f"california.csv.gz into {tmp_path}, or leave it out with --sets.\n"
    )


def test_downloads_run_where_they_are_named_or_fetched():
    def sets(*given, **more):
        return {cell.set for cell in list_cells(Wanted(("macau",), *given, **more))}

    built_in = {"one_dimensional", "linear", "linear_halves"}
    california = {"california", "california_halves"}
    assert sets(None, None, 1, "small") == built_in
    assert sets(None, None, 1, "small", downloads=True) == built_in | california
    assert sets(("california",), None, 1, "small") == {"california"}


def test_california_has_the_papers_numbers():
    numbers = PROTOCOLS["macau"].published
    assert numbers["california", "macau_linear", "crps"].value == 0.4
    assert numbers["california_halves", "macau_basic", "auroc_knowledge"].value == 0.49
    assert numbers["california_halves", "gnll", "auroc_total"].value == 0.37
    assert numbers["california_halves", "catboost", "auroc_knowledge"].value == 0.51
    assert numbers["linear_halves", "catboost", "auroc_knowledge"].value == 0.5
    assert data.ROWS["california"] == 20640
