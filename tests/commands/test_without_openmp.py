"""A machine without OpenMP, on which LightGBM is installed and does not load."""

import re
import sys

import pytest
from command_parts import code_of, frame_of, refusal

from gbuq_core import BoostedEnsembleRegressor, StackedRegressor, UnfamiliarityScore
from gbuq_core.errors import MissingPackage
from gbuq_core.lazy import import_optional

INSTALL = "apt install libgomp1 on Debian and Ubuntu, brew install libomp on macOS."
# As the loaders of Linux and of macOS say it, and XGBoost, whose error is a ValueError.
TOLD = (
    OSError("libgomp.so.1: cannot open shared object file: No such file or directory"),
    OSError("dlopen(lib_lightgbm.dylib): Library not loaded: @rpath/libomp.dylib"),
    ValueError("XGBoost Library could not be loaded.\n  * libgomp.so for Linux\n"),
)
NOTICES = (
    "Rows like a row have no say in it.",
    "Unfamiliarity goes by range, distance and knowledge alone.",
)


def break_import(monkeypatch, folder, package, error):
    """Put a package before the installed one that raises this when it is imported."""
    (folder / package).mkdir()
    text = f"raise {type(error).__name__}({str(error)!r})\n"
    (folder / package / "__init__.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(folder)
    for name in [*sys.modules]:
        if name.partition(".")[0] == package:
            monkeypatch.delitem(sys.modules, name)


@pytest.fixture
def bare(monkeypatch, tmp_path):
    break_import(monkeypatch, tmp_path, "lightgbm", TOLD[0])
    frame_of().to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path


@pytest.mark.parametrize("error", TOLD)
def test_the_sentence_names_what_to_install(monkeypatch, tmp_path, error):
    break_import(monkeypatch, tmp_path, "lightgbm", error)
    with pytest.raises(MissingPackage, match=re.escape(INSTALL)):
        import_optional("lightgbm")


def test_a_package_that_is_damaged_is_not_called_missing(monkeypatch, tmp_path):
    break_import(monkeypatch, tmp_path, "lightgbm", ImportError("no symbol f"))
    with pytest.raises(MissingPackage, match=r"does not load \(no symbol f\): install it again\."):
        import_optional("lightgbm")
    with pytest.raises(MissingPackage, match=r"is not installed: pip install lightgbn\."):
        import_optional("lightgbn")


@pytest.mark.parametrize("target", ["y", "group"])
def test_a_table_is_scored_without_lightgbm(capsys, bare, target):
    """By the usual method, which says what it does without."""
    words = ("score", bare / "rows.csv", "--target", target, "--out", bare / "out.csv")
    assert code_of(*words, "--trees", 30, "--members", 2) == 0
    streams = capsys.readouterr()
    assert "Wrote 120 rows" in streams.out
    for notice in NOTICES:
        assert f"{notice} LightGBM models need" in streams.err
    assert streams.err.count(INSTALL) == len(NOTICES)
    assert "unfamiliarity" in (bare / "out.csv").read_text(encoding="utf-8")


def test_a_method_that_needs_it_says_so(capsys, bare):
    words = ("score", bare / "rows.csv", "--target", "y", "--out", bare / "out.csv")
    assert refusal(capsys, *words, "--method", "macau_linear").endswith(INSTALL)


def test_estimators_do_without_it_and_tell(bare):
    frame = frame_of()
    X, y = frame[["x", "group"]], frame["y"]
    trees = BoostedEnsembleRegressor(n_members=2, n_trees=30, stopping=None)
    with pytest.warns(UserWarning, match="Rows like a row have no voice. LightGBM models need"):
        model = StackedRegressor(trees, random_state=0).fit(X, y)
    assert {name for name, weight in model.weights_.items() if weight} <= {"trees", "process"}
    assert UnfamiliarityScore(random_state=0).fit(X, y).parts_ == ("range", "distance", "knowledge")
    with pytest.raises(MissingPackage, match="needs OpenMP"):
        UnfamiliarityScore(["affinity"], random_state=0).fit(X, y)
