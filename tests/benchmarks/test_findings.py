"""The experiments behind FINDINGS.md, and that its lines name cells and modules that exist."""

import importlib.util
import re

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.linear_model import LinearRegression
from tolerances import SAME_SUM, ZERO

from benchmarks.findings import default_settings, macau_doubt, macau_features, macau_linear, signs
from benchmarks.protocols import PROTOCOLS, ours
from benchmarks.protocols.novelty import make_linear
from benchmarks.report import load_split
from benchmarks.tables.cells import Result
from benchmarks.tables.publish import FINDINGS as FILE
from benchmarks.tables.publish import read_findings
from gbuq_core.metrics import rmse

FINDINGS = FILE.read_text()


def test_every_section_names_its_cells_and_its_verdict():
    assert read_findings(FINDINGS)  # each cell is one of a table's
    sections = re.split(r"^## ", FINDINGS, flags=re.MULTILINE)[1:]
    for section in sections:
        assert section.count("\nCells: ") == 1, section[:60]
        assert section.count("**Verdict:") == 1, section[:60]


def test_every_command_is_a_module():
    names = set(re.findall(r"python -m ([\w.]+)", FINDINGS))
    assert names
    for name in names:
        assert importlib.util.find_spec(name) is not None, name


def result(split, score):
    return Result(
        table="macau", set="linear", split=split, method="forest", scores={"crps": score},
        seconds=1.0, peak_memory=1, seed=split, settings={"effort": "small"}, version="0",
        machine="a machine",
    )  # fmt: skip


def test_signs_count_standard_errors():
    theirs = PROTOCOLS["macau"].published["linear", "forest", "crps"]
    judged = signs.find_signs([result(0, theirs.value + 9.0), result(1, theirs.value + 11.0)])
    assert [sign.word for sign in judged] == ["worse"]
    # Two values 2 apart have a standard error of 1; half of the last digit is no difference.
    assert judged[0].errors == pytest.approx(10.0 - theirs.rounding)
    assert signs.find_signs([result(0, theirs.value - 1.0), result(1, theirs.value + 1.0)]) == []


def test_crps_of_the_authors_code_is_that_of_its_quantiles(scoringrules):
    rng = np.random.default_rng(0)
    y, loc, scale = rng.normal(size=(3, 40))
    scale = np.abs(scale) + 0.1
    crps = macau_linear.authors_crps(y, loc, scale)
    quantiles = loc[:, None] + scale[:, None] * norm.ppf(np.linspace(0.025, 0.975, 100))
    assert crps == pytest.approx(scoringrules.crps_ensemble(y, quantiles).mean(), rel=SAME_SUM)
    # Without the outer 5 % it is that of a narrower law, but no other score.
    assert crps == pytest.approx(scoringrules.crps_normal(y, loc, scale).mean(), rel=0.05)


def test_paths_hold_some_of_what_matters():
    shares = macau_linear.path_shares(macau_linear.uniform_rows(0), 0)
    assert shares.sum() == pytest.approx(1.0)
    assert shares[5] < 0.5


def test_macaus_leaves_are_measured_with_each_choice_of_features(capsys):
    macau_features.main(
        ["--sets", "sum_3_2000", "--splits", "1", "--trees", "1", "--auto", "1", "4"]
    )
    printed = capsys.readouterr().out
    shares = printed.splitlines()[-1].split("|")[2:-1]
    path, single, four, every = (float(share) for share in shares)
    assert path == 0.0 <= four < single <= every == 1.0
    assert "auto, 4 rows" in printed


def test_wide_rows_are_a_sum_over_levels_and_numbers():
    rows = macau_features.WIDE["sum_3_2000"].make(0)
    assert rows.X_train.shape == (2000, 6)
    assert len(rows.y_test) == 1000
    by_level = pd.get_dummies(pd.concat([rows.X_train, rows.X_test]))
    fit = LinearRegression().fit(by_level[:2000], rows.y_train)
    # The noise has a std of 1, and 33 weights of 2,000 rows add little to it.
    assert np.std(rows.y_test - fit.predict(by_level[2000:])) == pytest.approx(1.0, abs=0.06)


def test_the_default_with_one_thing_changed(data_dir):
    def measure(**changed):
        return default_settings.measure(data_dir, "boston", 0, {"n_trees": 20, **changed})

    few = {"n_members": 2}
    two, none = (measure(**few, stopping=rule) for rule in ("two_clocks", None))
    assert none[3] == 20 >= two[3]
    rows = load_split(data_dir, "boston", 0)
    model = ours.make_model(ours.DEFAULT, 0).set_params(n_trees=20, **few)
    law = model.fit(rows.X_train, rows.y_train).predict_distribution(rows.X_test)
    assert two[:3] == (
        law.crps(rows.y_test).mean(), -law.logpdf(rows.y_test).mean(), rmse(rows.y_test, law.loc)
    )  # fmt: skip


def test_one_model_of_both_halves_has_an_auroc_of_one_half_on_average(capsys):
    X, y = make_linear(400, 4, 2, "uniform", 0)
    both = macau_doubt.of_both("macau_linear", X, y, 0, range(4), 3)
    halves = macau_doubt.of_halves("macau_linear", X, y, 0, range(4), 3)
    for part in ("knowledge", "data", "total"):
        assert np.mean(both[part]) == pytest.approx(0.5, abs=ZERO)  # a and 1 - a
        assert len(both[part]) == len(halves[part]) == 8
        assert np.ptp(both[part]) > 0.0
    macau_doubt.main(["--methods", "forest", "--rows", "400", "--trees", "2", "--features", "1"])
    printed = capsys.readouterr().out
    assert "| forest | total |" in printed
    assert "0.50 [0.50; 0.50] |" in printed
