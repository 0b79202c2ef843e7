"""The experiments on paper 3's NGBoost and BART, on a few made-up rows."""

import numpy as np
import pytest

from benchmarks.findings import ibug_bart, ibug_ngboost
from benchmarks.ibug_data import Rows


def made_up_parts(n=150):
    """Rows where one column matters."""
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(n, 2))
    y = 10.0 * X[:, 0] + 0.1 * rng.normal(size=n)
    a, b = n // 2, 3 * n // 4
    return Rows(X[:a], y[:a], X[a:b], y[a:b], X[b:], y[b:], seed=0)


def test_ngboost_with_crps_creeps_in_the_targets_own_unit():
    pytest.importorskip("ngboost")
    parts = made_up_parts()
    wide = parts._replace(
        **{key: 1e3 * getattr(parts, key) for key in ("y_fit", "y_val", "y_test")}
    )
    moves = {
        (loss, name): ibug_ngboost.measure(rows, ibug_ngboost.Setting(loss, 0.1, 20))
        for loss in ("likelihood", "crps")
        for name, rows in (("own", parts), ("wide", wide))
    }
    # The likelihood's natural gradient knows no unit, that of the library's CRPS does.
    same = pytest.approx(1e3 * moves["likelihood", "own"][1], rel=1e-6)
    assert moves["likelihood", "wide"][1] == same
    assert moves["crps", "wide"][1] > 2e3 * moves["crps", "own"][1]


def test_short_chains_of_bart_add_the_noise_to_the_std_only():
    pytest.importorskip("stochtree")
    parts = made_up_parts()
    drawn, noise = ibug_bart.draw_bart(parts, 10)
    assert drawn.shape == (ibug_bart.DRAWS, len(parts.y_test))
    assert np.corrcoef(drawn.mean(axis=0), parts.y_test)[0, 1] > 0.9
    assert 0.0 < noise < parts.y_all.var()  # in squared units of y
    error, alone, noisy = ibug_bart.measure(parts, 10)
    assert error == pytest.approx(np.sqrt(np.square(drawn.mean(axis=0) - parts.y_test).mean()))
    assert alone != noisy
