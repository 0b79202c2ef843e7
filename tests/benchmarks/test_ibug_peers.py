"""The experiments on paper 3's NGBoost and BART, on a few made-up rows."""

import numpy as np
import pytest

from benchmarks.findings import ibug_bart, ibug_ngboost
from benchmarks.ibug_data import Parts


def made_up_parts(n=150):
    """Rows where one column matters."""
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(n, 2))
    y = 10.0 * X[:, 0] + 0.1 * rng.normal(size=n)
    a, b = n // 2, 3 * n // 4
    return Parts(X[:a], y[:a], X[a:b], y[a:b], X[b:], y[b:], seed=0)


def test_ngboost_with_crps_creeps_in_the_targets_own_unit():
    pytest.importorskip("ngboost")
    parts = made_up_parts()
    wide = parts._replace(
        **{key: 1e3 * getattr(parts, key) for key in ("y_fit", "y_val", "y_test")}
    )
    found = {
        (loss, name): ibug_ngboost.measure(rows, ibug_ngboost.Setting(loss, 0.1, 20))
        for loss in ("likelihood", "crps")
        for name, rows in (("own", parts), ("wide", wide))
    }
    # The likelihood's natural gradient knows no unit, that of the library's CRPS does.
    same = pytest.approx(1e3 * found["likelihood", "own"][1], rel=1e-6)
    assert found["likelihood", "wide"][1] == same
    assert found["crps", "wide"][1] > 2e3 * found["crps", "own"][1]


def test_short_chains_and_calibrated_laws_of_bart(monkeypatch):
    pytest.importorskip("stochtree")
    monkeypatch.setattr(ibug_bart, "TREES", 10)
    monkeypatch.setattr(ibug_bart, "CHAINS", 2)
    parts = made_up_parts()
    (drawn,), noise = ibug_bart.draw_bart(parts.X_all, parts.y_all, [parts.X_test], 0, burn_in=50)
    assert drawn.shape == (2 * ibug_bart.DRAWS // 10, len(parts.y_test))
    assert np.corrcoef(drawn.mean(axis=0), parts.y_test)[0, 1] > 0.9
    assert 0.0 < noise < parts.y_all.var()  # in squared units of y
    found = ibug_bart.bart(parts, 50)
    assert found["functions only"][0] == found["with noise"][0]  # the noise moves no mean
    assert ibug_bart.xbart(parts)[0] < parts.y_test.std()
