"""The peers of MACAU behind one interface: what they find, what they share and what they refuse."""

import sys

import lightgbm
import numpy as np
import pytest
from catboost import CatBoostRegressor
from refusal_parts import refused
from sklearn.ensemble import IsolationForest
from tolerances import CANCELLED

from gbuq_core.baselines import NGBoostRegressor
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.methods import METHODS
from gbuq_core.metrics import auroc, coverage, crps_gaussian
from gbuq_core.synthetic import make_heteroscedastic

REGRESSORS = [
    "forest", "quantile", "conformal_forest", "conformal_linear", "cqr", "gnll", "ngboost",
    "catboost",
]  # fmt: skip
SCORES = ["isolation", "distance"]
PEERS = [*REGRESSORS, *SCORES]
READ_GAPS = {"forest", "quantile", "conformal_forest", "cqr", "catboost", "isolation"}


def make(key, n_trees=None):
    """Of 20 trees, each of half of the rows where the class has such a knob."""
    record, n_trees = METHODS[key], n_trees or 20
    (task,) = {"regression", "novelty"} & set(record.tasks)
    builder = record.builder(task)
    options = {"n_jobs": 1, "random_state": 0, "n_trees": n_trees}
    names = {*builder.takes, *(knob.key for knob in record.knobs)}
    model = record.make(task, **{name: v for name, v in options.items() if name in names})
    return model.set_params(subsample=0.5) if "subsample" in model.get_params() else model


@pytest.fixture(scope="module")
def curve():
    return make_heteroscedastic(1000, random_state=0)


@pytest.fixture(scope="module")
def fresh():
    return make_heteroscedastic(2000, random_state=1)


@pytest.fixture(scope="module")
def fitted(curve):
    return {key: make(key).fit(curve.X, curve.y) for key in PEERS}


# What they find


def excess(model, fresh):
    """CRPS above that of the true normals."""
    x = fresh.X[:, 0]
    truth = crps_gaussian(fresh.y, 0.5 * x + np.sin(x), 0.1 * x + 1e-12)
    return crps_gaussian(fresh.y, *model.predict_distribution(fresh.X)) - truth


# Measured with seed 0: 0.075, 0.050, 0.038, 0.214, 0.048, 0.012, 0.035, 0.020; other seeds of the
# models move that by up to 0.007. The limits leave at least a quarter above the measured value.
MOST_EXCESS = {
    "forest": 0.11,
    "quantile": 0.07,
    "conformal_forest": 0.06,
    "conformal_linear": 0.28,
    "cqr": 0.08,
    "gnll": 0.03,
    "ngboost": 0.05,
    "catboost": 0.03,
}


@pytest.mark.parametrize("key", REGRESSORS)
def test_the_curve_and_its_noise_are_found(key, fitted, fresh):
    assert 0.0 < excess(fitted[key], fresh) < MOST_EXCESS[key]


@pytest.mark.parametrize("key", ["quantile", "cqr", "gnll", "ngboost", "catboost"])
def test_noise_that_grows_is_found_row_by_row(key, fitted, fresh):
    data = np.sqrt(fitted[key].predict_uncertainty(fresh.X).data)
    x = fresh.X[:, 0]
    quiet, noisy = data[(x > 1) & (x < 3)].mean(), data[(x > 7) & (x < 9)].mean()
    # True means 0.2 and 0.8. Quantile forests and a log-linear std overstate the small one.
    assert noisy > 1.8 * quiet
    assert 0.5 < noisy < 1.4


def test_a_forest_knows_no_noise(fitted, fresh):
    # Coverage far below its level: the noise is missing. The binomial band excludes 95 %.
    covered = coverage(fresh.y, *fitted["forest"].predict_distribution(fresh.X), levels=[0.95])
    assert covered.high[0] < 0.7


def test_novelty_tells_rows_from_outside(fitted, curve, rng):
    outside = np.concatenate([rng.uniform(-10, -1, 500), rng.uniform(11, 20, 500)])[:, None]
    truth = np.r_[np.zeros(len(curve.X)), np.ones(1000)]
    for key in SCORES:
        scores = fitted[key].score_novelty(np.r_[curve.X, outside])
        # One unit, a tenth of the range, lies between the two; 0.95 leaves room for single rows
        # at the edges that an isolation forest of 20 trees cuts off.
        assert auroc(truth, scores) > 0.95, key
    far = fitted["distance"].score_novelty([[20.0], [30.0]])
    assert far[1] > far[0]  # goes on rising, where trees stop
    flat = fitted["isolation"].score_novelty([[20.0], [30.0]])
    assert flat[1] == flat[0]


# The same as the library called plainly


def standard(curve):
    return (curve.y - curve.y.mean()) / curve.y.std()


PLAIN = {
    "boosting_type": "rf",
    "n_estimators": 20,
    "num_leaves": 31,
    "min_child_samples": 20,
    "subsample": 0.5,
    "subsample_freq": 1,
    "n_jobs": 1,
    "verbosity": -1,
    "deterministic": True,
    "force_row_wise": True,
}


def test_the_forest_is_lightgbms(fitted, curve):
    model = fitted["forest"]
    plain = lightgbm.LGBMRegressor(**PLAIN, seed=model.seed_).fit(curve.X, standard(curve))
    expected = curve.y.mean() + curve.y.std() * plain.predict(curve.grid)
    np.testing.assert_allclose(model.predict(curve.grid), expected, rtol=CANCELLED)
    members = model.predict_members(curve.grid)
    assert members.shape == (20, len(curve.grid))
    loc, scale = model.predict_distribution(curve.grid)
    np.testing.assert_allclose(loc, expected, rtol=CANCELLED)
    np.testing.assert_allclose(scale, members.std(axis=0), rtol=CANCELLED)


def test_quantiles_are_lightgbms_and_do_not_cross(fitted, curve):
    model = fitted["quantile"]
    raw = np.array(
        [
            lightgbm.LGBMRegressor(**PLAIN, seed=model.seed_, objective="quantile", alpha=q)
            .fit(curve.X, standard(curve))
            .predict(curve.grid)
            for q in model.quantiles_
        ]
    )
    assert (np.diff(raw, axis=0) < 0).any()  # they do cross on their own
    expected = curve.y.mean() + curve.y.std() * np.sort(raw, axis=0)
    nearest = np.abs(curve.y - expected[..., None]).argmin(axis=-1)
    said = model.predict_quantiles(curve.grid, model.quantiles_).T
    np.testing.assert_array_equal(said, curve.y[nearest])
    levels, lower, upper = model.predict_intervals(curve.grid)
    np.testing.assert_allclose(levels, [0.5, 0.8, 0.95])
    np.testing.assert_array_equal(lower[1], said[1])
    np.testing.assert_array_equal(upper[1], said[5])


def test_boosting_is_the_libraries(fitted, curve):
    from ngboost import NGBRegressor  # takes seconds, not to be spent by every worker at its start

    y, std = standard(curve), curve.y.std()
    model = fitted["ngboost"]
    plain = NGBRegressor(
        n_estimators=20,
        learning_rate=0.25,
        minibatch_frac=0.5,
        random_state=model.seed_,
        verbose=False,
    ).fit(curve.X, y)
    assert model.learning_rate_ == 0.25  # 0.01 x 500 / 20
    scale = model.predict_distribution(curve.grid).scale
    np.testing.assert_allclose(scale, std * plain.pred_dist(curve.grid).scale, rtol=CANCELLED)

    model = fitted["catboost"]
    theirs = CatBoostRegressor(
        loss_function="RMSEWithUncertainty",
        iterations=20,
        depth=3,
        learning_rate=0.3,
        bootstrap_type="Bernoulli",
        subsample=0.5,
        random_seed=model.seed_,
        thread_count=1,
        verbose=False,
        allow_writing_files=False,
    ).fit(curve.X, y)
    parts = theirs.virtual_ensembles_predict(
        curve.grid, prediction_type="VirtEnsembles", virtual_ensembles_count=10
    )
    _, data, knowledge = model.predict_uncertainty(curve.grid)
    # Their members are (mean, variance): the law of total variance over them, in float64.
    np.testing.assert_allclose(data, std**2 * parts[:, :, 1].mean(axis=1), rtol=1e-6)
    np.testing.assert_allclose(knowledge, std**2 * parts[:, :, 0].var(axis=1), rtol=1e-6)
    np.testing.assert_allclose(model.predict_knowledge(curve.grid), knowledge)


def test_the_isolation_forest_is_scikit_learns(fitted, curve):
    model = fitted["isolation"]
    plain = IsolationForest(n_estimators=20, max_samples=256, random_state=model.seed_)
    expected = -plain.fit(curve.X).score_samples(curve.grid)
    np.testing.assert_array_equal(model.score_novelty(curve.grid), expected)


# What they share


@pytest.mark.parametrize("key", PEERS)
def test_gaps_are_read_or_refused(key, curve):
    X = np.where(curve.X > 9, np.nan, curve.X)[:400]
    model = make(key)
    if key not in READ_GAPS:
        with refused(InvalidData, "NaN, which .* cannot read"):
            model.fit(X, curve.y[:400])
        return
    model.fit(X, curve.y[:400])
    score = model.predict if key in REGRESSORS else model.score_novelty
    assert np.isfinite(score([[np.nan], [1.0]])).all()


# What they refuse


def test_ngboost_says_that_its_std_fell_to_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 3))
    y = X[:, 0] + 0.3 * rng.normal(size=160)
    with refused(InvalidData, "std fell to 0"):
        make("ngboost").fit(*(np.repeat(a[:4], 40, 0) for a in (X, y)))


@pytest.mark.parametrize("key", REGRESSORS)
def test_numbers_beyond_single_precision_are_refused(key, curve):
    with refused(InvalidData, "beyond 1e\\+38"):
        make(key).fit(1e200 * curve.X, curve.y)


def test_hopeless_targets_and_tables():
    X, constant = np.arange(60.0)[:, None], np.full(60, 4.0)
    for key in ("ngboost", "catboost"):
        with refused(InvalidData, "only one value"):
            make(key).fit(X, constant)
    with refused(InvalidData, "CatBoost cannot be fitted to these rows"):
        make("catboost").fit(np.zeros((60, 1)), X[:, 0])
    for key in ("forest", "quantile", "gnll", "conformal_linear"):
        model = make(key, n_trees=5)
        if key == "conformal_linear":
            model.set_params(calibration_fraction=0.5)
        np.testing.assert_allclose(model.fit(X, constant).predict(X), 4.0)
    with refused(InvalidData, "is fewer than 2"):
        NGBoostRegressor(subsample=0.01).fit(X, X[:, 0])


def test_missing_libraries_are_one_sentence(curve, monkeypatch):
    for key, package in (("forest", "lightgbm"), ("ngboost", "ngboost"), ("catboost", "catboost")):
        assert METHODS[key].missing() == ""
        model = make(key)
        monkeypatch.setitem(sys.modules, package, None)
        with refused(InvalidParameter, f"need.* the package {package}"):
            model.fit(curve.X, curve.y)
        with refused(InvalidParameter, f"install the package {package}"):
            make(key)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert METHODS["cqr"].missing().endswith("install the package mapie.")
