"""Models of other libraries: each one's own calls give one law, and stand among our methods."""

import sys

import numpy as np
import pandas as pd
import pytest
from table_parts import as_table
from tolerances import CANCELLED, SAME_SUM, ZERO

from gbuq_core.__main__ import main
from gbuq_core.baselines import PeerClassifier, PeerRegressor, declare_peer
from gbuq_core.baselines.peers import LEVELS
from gbuq_core.distribution import NormalDistribution
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.methods.record import _METHODS
from gbuq_core.tables import ScorePlan, compare_methods

X = np.linspace(0.0, 1.0, 60)[:, None]
Y = 3.0 * X[:, 0]
TRUTH = NormalDistribution(Y, np.full(60, 0.5))


class StandIn:
    """Learns nothing: the law of each row is a normal around three times its first column."""

    def fit(self, X, y):
        self.seen_ = len(y)
        return self

    def law(self, X):
        return NormalDistribution(3.0 * np.asarray(X)[:, 0], np.full(len(X), 0.5))


class TabPFN(StandIn):
    def predict(self, X, *, output_type="mean", quantiles=None):
        assert output_type == "quantiles"
        return list(self.law(X).quantile(quantiles).T.astype(np.float32))


class TabICL(StandIn):
    def predict(self, X, output_type="mean", alphas=None):
        assert output_type == "quantiles"
        return self.law(X).quantile(alphas)[:, ::-1]  # they may cross


class Skpro(StandIn):
    def predict_proba(self, X):
        raise AssertionError("it is asked for quantiles")

    def predict_quantiles(self, X, alpha):
        columns = pd.MultiIndex.from_product([["y"], alpha])
        return pd.DataFrame(self.law(X).quantile(alpha), columns=columns)


class Treeffuser(StandIn):
    def predict(self, X):
        raise AssertionError("it is asked for draws")

    def sample(self, X, n_samples, seed=0):
        return self.law(X).sample(n_samples, random_state=seed)[..., None]


class Ours(StandIn):
    def predict_distribution(self, X):
        return self.law(X)


class Drawing:
    """A law of NGBoost's without quantiles."""

    def __init__(self, law):
        self.law = law

    def sample(self, m):
        return self.law.sample(m, random_state=0)


class OldNGBoost(StandIn):
    def pred_dist(self, X):
        return Drawing(self.law(X))


@pytest.fixture(autouse=True)
def methods():
    """The records as they were."""
    before = dict(_METHODS)
    yield
    _METHODS.clear()
    _METHODS.update(before)


@pytest.mark.parametrize("library", [TabPFN, TabICL, Skpro, Ours])
def test_quantiles_give_the_law(library):
    model = library()
    peer = PeerRegressor(model).fit(X, Y)
    law = peer.predict_distribution(X)
    # TabPFN's are of single precision.
    near = {"rtol": 1e-5, "atol": 1e-6} if library is TabPFN else {"rtol": SAME_SUM, "atol": ZERO}
    np.testing.assert_allclose(
        law.quantile([0.003, 0.2, 0.999]), TRUTH.quantile([0.003, 0.2, 0.999]), **near
    )
    np.testing.assert_allclose(peer.predict(X), Y, **near)
    np.testing.assert_allclose(law.variance(), 0.25, rtol=1e-4)
    assert not hasattr(model, "seen_")  # a copy is fitted


@pytest.mark.parametrize("library", [Treeffuser, OldNGBoost])
def test_draws_give_the_law_about(library):
    law = PeerRegressor(library()).fit(X, Y).predict_distribution(X)
    assert np.abs(law.loc - Y).mean() < 3.0 * 0.5 / np.sqrt(500)
    assert law.crps(Y).mean() == pytest.approx(TRUTH.crps(Y).mean(), rel=0.05)


def test_the_libraries_that_are_here():
    ngboost = pytest.importorskip("ngboost")
    forests = pytest.importorskip("quantile_forest")
    noisy = Y + 0.2 * np.random.default_rng(0).normal(size=60)
    boosted = PeerRegressor(ngboost.NGBRegressor(n_estimators=20, verbose=False)).fit(X, noisy)
    theirs = boosted.estimator_.pred_dist(X)
    law = boosted.predict_distribution(X)
    np.testing.assert_allclose(law.loc, theirs.loc, rtol=CANCELLED, atol=CANCELLED)
    np.testing.assert_allclose(law.cdf(noisy), theirs.cdf(noisy), atol=CANCELLED)
    forest = forests.RandomForestQuantileRegressor(10, min_samples_leaf=5, random_state=0)
    peer = PeerRegressor(forest).fit(X, noisy)
    ends = peer.predict_distribution(X).quantile(LEVELS[[4, 94]])
    ends_of_model = peer.estimator_.predict(X, quantiles=[0.05, 0.95])
    np.testing.assert_allclose(ends, ends_of_model, rtol=SAME_SUM, atol=ZERO)


class Silent(StandIn):
    def predict(self, X):
        return np.zeros(len(X))


class Short(TabICL):
    def predict(self, X, output_type="mean", alphas=None):
        return np.zeros((len(X), 9))


class Wide(Treeffuser):
    def sample(self, X, n_samples):
        return np.zeros((n_samples, len(X), 2))


def test_what_is_no_law_is_refused_in_a_sentence():
    for kind, error in ((Silent, InvalidParameter), (Short, InvalidData), (Wide, InvalidData)):
        with pytest.raises(error, match=r"\.$"):
            PeerRegressor(kind()).fit(X, Y).predict_distribution(X)
    for bad in (3, len):
        with pytest.raises((InvalidParameter, TypeError)):
            declare_peer("bad", bad)


class Shares(StandIn):
    classes_ = np.array([0, 1])

    def predict_proba(self, X):
        p = np.clip(np.asarray(X)[:, 0], 0.01, 0.99)
        return np.stack([1.0 - p, p], axis=1)


def test_peers_stand_beside_our_methods():
    noisy = np.round(Y + 0.5 * np.random.default_rng(1).normal(size=60), 3)
    table = as_table(pd.DataFrame({"x": X[:, 0], "y": noisy}))
    declare_peer("right", Skpro)
    assert declare_peer("right", TabICL()).key == "right"  # a cell of a notebook run twice
    comparison = compare_methods(table, "y", ["knn", "right"], plan=ScorePlan(n_folds=2))
    scores = {method.key: method.scores for method in comparison.methods}
    assert scores["right"]["crps"].value == pytest.approx(TRUTH.crps(noisy).mean(), rel=1e-3)
    inside = np.abs(noisy - Y) <= 0.5 * 1.6448536
    assert scores["right"]["coverage"].value == pytest.approx(inside.mean())
    assert scores["right"]["nll"].value < scores["knn"]["nll"].value + 0.2
    declare_peer("classes", Shares())
    sides = as_table(pd.DataFrame({"x": X[:, 0], "y": np.where(X[:, 0] > 0.5, "b", "a")}))
    (method,) = compare_methods(sides, "y", ["classes"]).methods
    assert method.scores["error_rate"].value < 0.05
    assert PeerClassifier(Shares()).fit(X, Y).predict([[0.9]]).tolist() == [1]
    with pytest.raises(InvalidParameter, match="can predict classes only"):
        compare_methods(table, "y", ["classes"])


def test_the_command_names_a_module(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "my_models.py").write_text(
        "from sklearn.linear_model import BayesianRidge\n"
        "def make():\n    print('loud')\n    return BayesianRidge()\n"
        "broken = 1 / 0 if __name__ == 'never' else None\n"
    )
    rows = pd.DataFrame({"x": X[:, 0], "y": Y + 0.1 * np.sin(50.0 * X[:, 0])})
    rows.to_csv("rows.csv", index=False)
    line = ["compare", "rows.csv", "--target", "y", "--methods", "knn"]
    assert main([*line, "--with", "my_models:make", "--json"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("{")  # what the module prints goes elsewhere
    assert "my_models:make" in out
    for bad in ("my_models", "my_models:none", "no_such_module:make", "my_models:broken"):
        assert main([*line, "--with", bad]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert main([*line, "--with", "my_models:make", "--cluster", "local"]) == 2
    (tmp_path / "gbuq.toml").write_text('[compare]\nwith = ["my_models:make"]\n')
    assert main([*line, "--config", "gbuq.toml"]) == 2
    assert "no such option" in capsys.readouterr().err
