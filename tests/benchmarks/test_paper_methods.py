"""The modules of the papers on a few rows: every method runs, and known settings change nothing."""

import math

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_limits
from tolerances import CANCELLED, SAME_SUM

from benchmarks.papers import cyclical, ibug, macau, ours, sglb, soft_trees
from benchmarks.papers.computing import run_task
from benchmarks.papers.data import Missing, Rows, Task
from benchmarks.papers.table import read_rows
from gbuq_core import BoostedEnsembleRegressor, IBUGRegressor
from gbuq_core.baselines import AveragingRegressor
from gbuq_core.distribution import NormalDistribution, StudentDistribution
from gbuq_core.study.soft_trees_trials import BanditSettings

TIMED = ("fit_seconds", "predict_ms")


@pytest.fixture(autouse=True)
def one_thread():
    """As in a cell's own process: threads of OpenMP wait for each other on a busy machine."""
    with threadpool_limits(1):
        yield


@pytest.fixture(autouse=True)
def few_trees(monkeypatch):
    """Settings of a second in place of the tables'."""
    for module, numbers in {
        sglb: {"TREES": 20, "CLASS_TREES": 20, "MEMBERS": 2, "GRID": ((3, 0.1), (2, 0.1))},
        cyclical: {"MODEL_TREES": 20, "CHAIN_TREES": 400, "TEST_ROWS": 20},
        ibug: {
            "TREES": (50, 100),
            "NGBOOST_TREES": 20,
            "XBART_TREES": (5, 10),
            "SGLB_GRID": ((2, 0.1), (3, 0.1)),
        },
        soft_trees: {"STEPS": 20, "MEMBERS": 2, "PULLS": 60, "DRAWS": 10},
        macau: {"TREES": 5, "ROWS": 600},
        ours: {"LIBRARY_TREES": 20, "CLASS_TREES": 20, "TAIL_ROWS": 200, "SHAPE_ROWS": 120},
    }.items():
        for name, value in numbers.items():
            monkeypatch.setattr(module, name, value)
    monkeypatch.setitem(sglb.FOREST, "trees_per_group", 3)
    monkeypatch.setattr(
        soft_trees, "BanditSettings", lambda **given: BanditSettings(**given | {"n_steps": 60})
    )


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sets")
    rng = np.random.default_rng(0)
    for name, columns in (("concrete", 8), ("protein", 9), ("california", 8)):
        X = rng.normal(size=(240, columns))
        y = 10.0 * X[:, 0] + rng.normal(size=240)
        table = pd.DataFrame(X).add_prefix("x").assign(target=y)
        table.to_csv(folder / f"{name}.csv.gz", index=False)
        np.savez(folder / f"{name}_splits.npz", test_0=np.arange(48), test_1=np.arange(48, 96))
    return folder


METHODS = {
    ("sglb", "concrete"): "sgb:single sglb virtual_sglb vrf forests",
    ("sglb", "wine_cultivars"): "sglb:single sgb forests",
    ("cyclical", "spiral"): "sglb:3 virtual_sglb csglb:cycle_100 cbsglb:mask_0.4",
    ("cyclical", "wine_cultivars"): "csglb",
    ("ibug", "concrete"): "ibug ibug:lightgbm ibug:xgboost ibug_cbu virtual_sglb knn knn_cb ngboost"
    " xbart",
    ("soft_trees", "concrete"): "vst vst:constant vst:rank_20 vsgbm sglb sglb:one_tree virtual_sglb"
    " xbart xbart:one_tree xgboost xgboost:one_tree lightgbm",
    (
        "macau",
        "linear",
    ): "macau_linear macau_linear:auto macau_basic forest quantile conformal_linear",
    ("macau", "linear_halves"): "macau_linear forest",
    ("macau", "california"): "macau_basic",
    ("macau", "california_halves"): "forest",
    ("ours", "concrete"): "virtual_sglb ibug:lightgbm quantile_forest knn gp macau_linear:scaled",
    ("ours", "wine_cultivars"): "virtual_sglb forests",
    ("tails", "concrete"): "quantile_forest",
    ("shapes", "two_modes"): "quantile_forest",
}


@pytest.mark.parametrize(
    ("paper", "name", "method"),
    [(*where, method) for where, methods in METHODS.items() for method in methods.split()],
    ids=lambda part: str(part),
)
def test_a_method_has_the_measures_of_the_table(data_dir, paper, name, method):
    try:
        scores = run_task(paper, Task(data_dir, name, 0, method)).scores
    except Missing as error:
        pytest.skip(str(error))
    rows = [row for row in read_rows() if row.place[:3] == (paper, name, method)]
    wanted = {row.measure for row in rows if row.ours} or set(scores)
    # Few trees leave errors of no spread or members that agree, whose ranks are no number.
    assert {m for m in wanted if not m.startswith(("prr", "auroc"))} <= set(scores) <= wanted
    assert scores


@pytest.mark.parametrize(
    ("paper", "method"),
    [("sglb", "sglb"), ("ibug", "ibug_cbu"), ("ibug", "knn_cb"), ("soft_trees", "vst:rank_1")],
)
def test_settings_that_are_known_change_nothing(data_dir, paper, method):
    task = Task(data_dir, "concrete", 0, method)
    chosen = run_task(paper, task)
    again = run_task(paper, task._replace(known=chosen.settings))
    assert {k: v for k, v in again.scores.items() if k not in TIMED} == pytest.approx(
        {k: v for k, v in chosen.scores.items() if k not in TIMED}, rel=SAME_SUM
    )


def test_the_bandit_plays_with_the_seed_of_its_split():
    def regret(seed):
        scores = run_task("soft_trees", Task(None, "exploration", seed, "random")).scores
        return next(iter(scores.values()))

    assert regret(0) == regret(0) != regret(1)


def test_names_of_variants_are_their_settings():
    model = soft_trees.make_model("vst:rank_20", {"depth": 3, "beta": 5.0}, 0)
    assert (model.rank, model.leaf, model.n_steps) == (20, "linear", 20)
    model = soft_trees.make_model("vsgbm:constant", {"depth": 3, "beta": 5.0}, 0)
    assert (model.rank, model.leaf, model.n_trees) == (5, "constant", 5)
    bagged = cyclical._settings(Task(None, "spiral", 0, "cbsglb:mask_0.4"))
    assert (bagged["mask_prob"], bagged["exploration_fraction"]) == (0.4, 0.9)
    assert (bagged["cycle_length"], bagged["learning_rate"]) == (200, 0.05)
    assert cyclical._settings(Task(None, "spiral", 0, "csglb:burn_in_5"))["burn_in_cycles"] == 5
    three = cyclical._settings(Task(None, "spiral", 0, "sglb:3"))
    assert (three["n_members"], three["learning_rate"]) == (3, 0.1)
    virtual = cyclical._settings(Task(None, "digits", 0, "virtual_sglb"))
    assert (virtual["truncation_step"], virtual["learning_rate"]) == (100, 0.05)
    assert macau.make_model("macau_linear", 0).leaf_features == "path"
    assert macau.make_model("macau_linear:auto", 0).leaf_features == "auto"


def test_rows_around_the_spiral_are_out_of_distribution():
    *_, foreign = cyclical._spiral(0)
    radius = np.linalg.norm(foreign[:, :2], axis=1) / (6.0 * np.pi) ** 2
    assert foreign.shape == (60, 9)
    assert radius.min() >= 1.2
    assert radius.max() <= 2.0


def test_ten_features_are_uniform_and_five_matter():
    X, y = macau.make_linear(1, 20_000)
    # standard errors 1 / sqrt(n) of a mean and at most that of a std: five of them
    assert np.abs(X.mean(axis=0)).max() < 5.0 / math.sqrt(20_000)
    assert np.abs(X.std(axis=0) - 1.0).max() < 5.0 / math.sqrt(20_000)
    weights, left_over = np.linalg.lstsq(X, y, rcond=None)[:2]
    assert np.all((weights[:5] > 9.0) & (weights[:5] < 101.0))
    assert np.abs(weights[5:]).max() < 5.0 * 10.0 / math.sqrt(20_000)
    assert abs(math.sqrt(left_over[0] / 20_000) - 10.0) < 0.3


def test_every_row_is_on_one_side_of_the_median_and_used_once():
    X = np.random.default_rng(0).normal(size=(1001, 4))
    for half in (0, 1):
        train, known, foreign = macau.split_rows(X, 2, half, 5)
        assert np.array_equal(np.sort(np.concatenate([train, known, foreign])), np.arange(1001))
        inside = np.concatenate([train, known])
        assert abs(len(train) - len(known)) <= 1
        low, high = (foreign, inside) if half else (inside, foreign)
        assert X[low, 2].max() <= np.median(X[:, 2]) < X[high, 2].min()


@pytest.fixture(scope="module")
def parts():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(260, 2))
    y = np.sin(6 * X[:, 0]) + (0.05 + X[:, 1]) * rng.normal(size=260)
    return Rows(X[:160], y[:160], X[160:220], y[160:220], X[220:], y[220:], 3)


def test_first_trees_make_the_shorter_virtual_ensemble(parts):
    knobs = {"stopping": None, "ensemble": "virtual", "depth": 2, "random_state": 0}
    long, short = (
        BoostedEnsembleRegressor(n_trees=n, **knobs).fit(parts.X_fit, parts.y_fit)
        for n in (200, 100)
    )
    loc, scale = ibug.virtual_ensemble(long, parts.X_test, 100)
    expected_loc, expected_scale = short.predict_distribution(parts.X_test)
    np.testing.assert_allclose(loc, expected_loc, rtol=CANCELLED)  # sums in another order
    np.testing.assert_allclose(scale, expected_scale, rtol=CANCELLED)


def test_average_is_that_of_the_averaging_estimator(parts):
    known = {"catboost": {"depth": 3, "n_trees": 30}, "sglb": (2, 0.1, 100)}
    average = ibug._average(parts, known)
    trained = ibug.train_booster("catboost", parts, known["catboost"])
    sglb_model = ibug.make_sglb(3, *known["sglb"])
    neighbours = IBUGRegressor(trained, scoring="crps", delta_unit=1.0, random_state=3)
    model = AveragingRegressor([("ibug", neighbours), ("sglb", sglb_model)], scoring="crps")
    model.fit(parts.X_fit, parts.y_fit, parts.X_val, parts.y_val)
    loc, scale = model.predict_distribution(parts.X_test)
    np.testing.assert_allclose(average.loc["crps"], loc, rtol=CANCELLED)  # sums in another order
    np.testing.assert_allclose(average.scale["crps"], scale, rtol=CANCELLED)


class Fixed:
    """A model with one distribution."""

    def __init__(self, distribution):
        self.distribution = distribution

    def predict_distribution(self, X):
        return self.distribution


def test_a_tiny_std_is_widened_where_the_distribution_has_one():
    ones, tiny = np.ones(2), np.array([1e-9, 2.0])
    rows = ours.Split(np.zeros((4, 1)), np.array([0.0, 0.0, 200.0, 200.0]), np.zeros((2, 1)), ones)
    for distribution in (NormalDistribution(ones, tiny), StudentDistribution(ones, tiny, 5.0)):
        _, widened = ours._score_distribution(Fixed(distribution), rows)
        assert widened.scale.tolist() == [0.1, 2.0]
