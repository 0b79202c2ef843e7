"""Whether a second file's rows can be told from the first's, and intervals weighted for that."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from mapie.exchangeability_testing.permutations import PValuePermutationTest
from mapie.regression import SplitConformalRegressor
from scipy.stats import mannwhitneyu
from sklearn.dummy import DummyRegressor
from tolerances import CANCELLED

from benchmarks import second_files
from gbuq_core.__main__ import main
from gbuq_core.errors import InvalidParameter
from gbuq_core.lenses.lens import Seen
from gbuq_core.lenses.register import LENSES
from gbuq_core.projects import fit_project, save_project
from gbuq_core.tables import (
    ScorePlan,
    can_weigh,
    describe_shift,
    held_out,
    law_of,
    load_builtin,
    measure_shift,
    own_groups,
    read_table,
    row_intervals,
    score_table,
    shifting,
    with_intervals,
)
from gbuq_core.tables.shifting import exchangeability

PLAN = ScorePlan(ensemble="virtual", n_trees=20, depth=2)


def text_of(n, seed, moved=0.0):
    """A number whose noise grows with it, and a shop."""
    rng = np.random.default_rng(seed)
    x = rng.normal(moved, 1.0, n).round(3)
    y = x + np.exp(0.5 * x) * rng.normal(size=n)
    shop = rng.choice(["A", "B"], n)
    return "x,shop,y\n" + "\n".join(f"{a},{c},{b:.4f}" for a, b, c in zip(x, y, shop, strict=True))


def table_of(*args):
    return read_table(text_of(*args).encode())


@pytest.fixture(scope="module")
def moved():
    return score_table(table_of(1500, 0), "y", new=table_of(400, 1, 0.6), plan=PLAN)


def test_weighted_intervals_are_those_of_the_slow_twin(moved):
    shift = measure_shift(moved)
    assert shift.p_value < 1e-6
    assert can_weigh(shift)
    held = held_out(moved)
    residuals = (held.y - held.predictions.loc) / law_of(held.predictions).scale
    ends = row_intervals(moved, 0.8, True, shift=shift)
    for sign, end in zip((-1, 1), ends, strict=True):  # each tail misses a tenth
        away = sign * (end - moved.predictions.loc) / law_of(moved.predictions).scale
        order = np.argsort(sign * residuals)
        for row in range(0, 400, 23):
            total = shift.held.sum() + shift.rows[row]
            reached, factor = 0.0, np.inf
            for place in order:
                reached += shift.held[place] / total
                if reached >= 0.9:
                    factor = sign * residuals[place]
                    break
            np.testing.assert_allclose(away[row], factor, rtol=CANCELLED)
    high = np.corrcoef(shift.held, moved.training.X["x"].to_numpy()[held.rows])[0, 1]
    assert high > 0.5  # rows of large x count for more
    weighted = with_intervals(moved, 0.8, conformal=True, shift=shift)
    assert weighted.shift is shift
    assert with_intervals(weighted, 0.8).shift is None  # by the law
    # Weights that are all alike are those of plain conformal intervals.
    alike = shift._replace(held=np.ones(len(held.rows)), rows=np.ones(400))
    equal, plain = row_intervals(moved, 0.8, True, shift=alike), row_intervals(moved, 0.8, True)
    np.testing.assert_allclose(equal.upper, plain.upper, rtol=CANCELLED)


def test_the_test_is_the_permutation_test_of_mapie_with_a_known_place_of_change():
    """Mapie's needs targets: a model that says 0 makes its scores those that are given to it."""
    rng = np.random.default_rng(3)
    first, second = rng.normal(size=120), rng.normal(0.1, size=60)
    scores = np.r_[second, first].argsort().argsort() + 1.0
    zero = DummyRegressor(strategy="constant", constant=0.0).fit([[0.0]], [0.0])
    model = SplitConformalRegressor(estimator=zero, prefit=True)
    permuted = PValuePermutationTest(mapie_estimator=model, random_state=0, warn=False)
    permuted.test_statistic = lambda values: values[:60].sum()
    by_mapie = permuted.run(np.zeros((180, 1)), scores).p_values[-1]
    p = mannwhitneyu(second, first, alternative="greater").pvalue
    assert 0.02 < p < 0.4
    assert abs(by_mapie - p) < 4 * np.sqrt(p * (1 - p) / 1000)


def test_honest_files_are_seldom_told_apart_and_equal_rows_never():
    """200 honest second files are in `benchmarks.own_tables --only shifted`."""
    alarms = []
    for seed in range(12):
        rows = np.random.default_rng(seed).normal(size=(200, 2))
        alarms.append(exchangeability(rows, np.arange(200) < 60, seed) <= 0.05)
    assert sum(alarms) <= 3  # 2 in 1,000 by chance
    assert exchangeability(np.zeros((100, 2)), np.arange(100) < 30) == 1.0


def test_halves_of_one_shuffle_are_told_apart_as_often_as_chance_says():
    """Tables of cities, ids, times, words and gaps; `benchmarks.second_files --only halves`."""
    p_values = np.concatenate([second_files.run_halves(table, 8) for table in range(3)])
    assert np.sum(p_values < 0.05) <= 5  # of 24: more in 1 of 1,000
    assert 0.25 <= np.mean(p_values) <= 0.75  # four standard errors


def test_weights_that_change_nothing_are_not_advised(moved, monkeypatch):
    monkeypatch.setattr(shifting, "exchangeability", lambda *args: 0.01)
    monkeypatch.setattr(shifting, "_log_odds", lambda matrix, *args: np.full(len(matrix), 0.3))
    shift = measure_shift(moved)
    assert not can_weigh(shift)
    assert "weights would change next to nothing, so intervals are not" in describe_shift(shift)


def test_what_was_done_is_said_and_what_cannot_be_is_refused(moved, tmp_path, capsys):
    honest = measure_shift(score_table(table_of(400, 0), "y", new=table_of(100, 2), plan=PLAN))
    assert re.search(r"do not differ .* \(p = [\d.]+\)\. Intervals need no", describe_shift(honest))
    with pytest.raises(InvalidParameter, match=r"do not differ .* leave the shift out"):
        with_intervals(moved, conformal=True, shift=honest)
    few = score_table(table_of(400, 0), "y", new=table_of(100, 2, 0.8), plan=PLAN)
    shift = measure_shift(few)
    assert not can_weigh(shift)
    assert "80 held-out rows are worth only" in describe_shift(shift)
    with pytest.raises(InvalidParameter, match="100 are needed: leave the shift out"):
        with_intervals(few, conformal=True, shift=shift)
    far = measure_shift(score_table(table_of(400, 0), "y", new=table_of(100, 2, 4.0), plan=PLAN))
    assert "no weights reach them, so intervals are not weighted" in describe_shift(far)
    groups = own_groups(moved, "shop", table_of(1500, 0))
    with pytest.raises(InvalidParameter, match="do not go with groups"):
        with_intervals(moved, conformal=True, by=groups, shift=measure_shift(moved))
    with pytest.raises(InvalidParameter, match="no second file"):
        measure_shift(score_table(table_of(60, 0), "y", plan=PLAN))
    plan = ScorePlan(method="sglb", n_trees=20, split="group", split_column="shop")
    grouped = score_table(table_of(200, 0), "y", new=table_of(60, 1), plan=plan)
    with pytest.raises(InvalidParameter, match="held out by groups"):
        measure_shift(grouped)
    seen = Seen(moved, None, SimpleNamespace(within=80, weighted=True, each=False))
    lens = LENSES["shift"]
    (section,) = lens.sections(seen, lens.compute(seen))
    assert re.search(r"80 % would hold about 7\d % .*", section.text[1])
    assert section.text[2] == "The intervals are weighted."


def test_the_command_weighs_where_it_is_asked_to(moved, tmp_path, capsys):
    first, second, out = (tmp_path / name for name in ("first.csv", "second.csv", "out.csv"))
    first.write_text(text_of(1500, 0))
    second.write_text(text_of(400, 1, 0.6))
    words = ["score", str(first), str(second), "--target", "y", "--out", str(out)]
    words += ["--ensemble", "virtual", "--trees", "20", "--depth", "2", "--unfamiliarity", "no"]
    assert main([*words, "--conformal-shift", "--json"]) == 0
    drift = json.loads(capsys.readouterr().out)["drift"]
    assert drift["weighted"]
    assert 100 < drift["effective_rows"] < 300
    expected = with_intervals(moved, conformal=True, shift=measure_shift(moved)).frame
    np.testing.assert_allclose(pd.read_csv(out).lower_90, expected.lower_90, rtol=CANCELLED)
    project = str(tmp_path / "made.gbuq")
    save_project(fit_project(read_table(first), "y", plan=PLAN), project)
    by_project = ["score", "--project", project, "--out", str(out), "--unfamiliarity", "no"]
    assert main([*by_project, str(first), str(second), "--conformal-shift", "--quiet"]) == 0
    np.testing.assert_allclose(pd.read_csv(out).lower_90, expected.lower_90, rtol=CANCELLED)
    capsys.readouterr()
    assert main([*by_project, str(second), "--conformal-shift"]) == 2
    assert "the project's table, which is not there" in capsys.readouterr().err
    assert main([*words, "--conformal-shift", "--conformal-by", "shop"]) == 2
    assert main([words[0], *words[1:2], *words[3:], "--conformal-shift"]) == 2
    assert main([*words]) == 0
    assert "--conformal-shift does that." in capsys.readouterr().out


def test_classes_are_told_apart_without_intervals():
    small = load_builtin("wine")
    classes = score_table(small.table, "cultivar", schema=small.schema, new=small.table, plan=PLAN)
    seen = Seen(classes, None, SimpleNamespace())
    lens = LENSES["shift"]
    assert lens.without(seen) == ("weighted",)
    assert lens.heading(seen) == "Do its rows differ from the first file's?"
    assert len(lens.sections(seen, lens.compute(seen))[0].text) == 1
