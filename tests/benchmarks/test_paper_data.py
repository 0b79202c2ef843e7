"""The sets of the papers: splits, rows of another set, and what is fetched, checked and written."""

from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest
from tolerances import NEAR_ZERO, ZERO

from benchmarks.papers import data
from benchmarks.papers.data import Missing, Task, checksum, draw_splits, fetch_set
from benchmarks.report import load_split


@pytest.fixture
def energy(rng, monkeypatch):
    """Rows that stand for energy's, and what OpenML has of them: both loads, and more digits."""
    rows = rng.normal(size=(768, 9)).round(2) + 0.0  # no -0.0, whose bytes are others
    source = data.SOURCES["energy"]._replace(sha256=checksum(rows))
    monkeypatch.setitem(data.SOURCES, "energy", source)
    table = pd.DataFrame(rows + 0.001).add_prefix("V").assign(second_load=1.0)
    asked = []

    def fetch_openml(**given):
        asked.append(given)
        return SimpleNamespace(frame=table.astype({"V5": str}))

    monkeypatch.setattr(data.datasets, "fetch_openml", fetch_openml)
    return SimpleNamespace(rows=rows, asked=asked)


def test_a_set_is_fetched_with_its_splits(tmp_path, energy):
    fetch_set("energy", tmp_path)
    assert [given["data_id"] for given in energy.asked] == [1472]
    split = load_split(tmp_path, "energy", 19)
    test = draw_splits(768, 20)["test_19"]
    assert len(split.y_test) == 77
    np.testing.assert_allclose(np.sort(split.y_test), np.sort(energy.rows[test, -1]), atol=ZERO)


def test_splits_are_those_of_the_papers():
    """The first test rows of the authors' files: of the last split they come after 19 draws."""
    splits = draw_splits(1030, 20)
    assert splits["test_0"][:5].tolist() == [87, 751, 655, 942, 778]
    assert all(len(np.unique(test)) == 103 for test in splits.values())
    assert draw_splits(45730, 5)["test_0"][:3].tolist() == [27343, 33875, 31047]


def test_other_rows_are_refused_and_leave_nothing_behind(tmp_path, energy, monkeypatch):
    source = data.SOURCES["energy"]._replace(sha256=64 * "0")
    monkeypatch.setitem(data.SOURCES, "energy", source)
    with pytest.raises(Missing, match=r"^What came for energy has not the SHA-256 .*\.$"):
        fetch_set("energy", tmp_path)
    with pytest.raises(Missing, match=r"^What came for power has other rows or columns .*\.$"):
        fetch_set("power", tmp_path, lambda name, cache: np.zeros((3, 5)))
    assert [path.name for path in tmp_path.iterdir()] == ["downloads"]


def test_without_a_network_one_sentence_says_what_to_do(tmp_path):
    def fetch(name, cache):
        raise URLError("Name or service not known")

    with pytest.raises(Missing) as refusal:
        fetch_set("california", tmp_path, fetch)
    assert str(refusal.value) == (
        "california could not be fetched (<urlopen error Name or service not known>): copy "
        f"california.csv.gz and california_splits.npz into {tmp_path}."
    )


def test_classes_are_split_in_proportion():
    rows = data.class_rows("wine_cultivars", 0)
    sizes = [len(part) for part in (rows.y_fit, rows.y_val, rows.y_test)]
    assert sizes == [115, 27, 36]
    shares = np.array([np.bincount(part) / len(part) for part in (rows.y_all, rows.y_test)])
    assert np.abs(np.diff(shares, axis=0)).max() < 1 / 36


def test_held_out_rows_are_a_fifth_of_the_training_rows(tmp_path, rng):
    table = pd.DataFrame(rng.normal(size=(100, 3))).add_prefix("x").assign(target=np.arange(100.0))
    table.to_csv(tmp_path / "concrete.csv.gz", index=False)
    np.savez(tmp_path / "concrete_splits.npz", test_0=np.arange(10))
    for rows in (
        data.regression_rows(tmp_path, "concrete", 0),
        data.held_out_rows(tmp_path, "concrete", 0),
    ):
        assert [len(part) for part in (rows.y_fit, rows.y_val, rows.y_test)] == [72, 18, 10]
        np.testing.assert_array_equal(np.sort(rows.y_all), np.arange(10.0, 100.0))
        assert rows.y_test.tolist() == list(range(10))


def test_rows_of_another_set_have_the_scales_of_the_training_rows():
    X = data.class_rows("wine_cultivars", 0).X_all
    n = 569  # all rows of breast cancer, in a random order
    foreign = data.foreign_rows(Task(None, "wine_cultivars", 0, ""), X, n)
    assert foreign.shape == (n, X.shape[1])
    np.testing.assert_allclose(foreign.mean(axis=0), X.mean(axis=0), rtol=NEAR_ZERO)
    np.testing.assert_allclose(foreign.std(axis=0), X.std(axis=0), rtol=NEAR_ZERO)
