"""The method in plain NumPy grows the trees of the kernels, and prints what it is for."""

import boosting_parts as parts
import numpy as np
import pytest

from demos import nano
from gbuq_core import BoostedEnsembleRegressor, decompose_regression

KNOBS = {"n_trees": 40, "depth": 3, "learning_rate": 0.2, "max_bins": 16}


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(3)
    X = np.column_stack([random.normal(size=(90, 2)), random.integers(0, 5, 90)])
    return X, 7.0 + 3.0 * X[:, 0] + np.exp(0.5 * X[:, 1]) * random.normal(size=90)


@pytest.mark.parametrize("method", ["sglb", "sgb"])
def test_nano_grows_the_trees_of_the_kernels(table, method):
    X, y = table
    model = BoostedEnsembleRegressor(
        method=method,
        ensemble="virtual",
        temperature="posterior",
        subsample=1.0,
        random_strength=0.0,
        truncation_step=5,
        stopping=None,
        random_state=1,
        **KNOBS,
    ).fit(X, y)
    draws = None
    if method == "sglb":
        of_kernels = parts.langevin_draws(1.0, model.seed_, 0)
        draws = lambda tree, purpose, shape: of_kernels(tree, purpose == 1, shape)  # noqa: E731
    ours = nano.fit(X, y, draws=draws, **KNOBS)
    forest = model.models_.forests[0]
    assert ours.decay == model.langevin_.decay
    for tree, (splits, values) in enumerate(ours.trees):
        codes = forest.bins[tree] - 1  # the kernels keep code 0 for missing values
        assert splits == list(zip(forest.features[tree], codes, strict=True))
        np.testing.assert_allclose(forest.values[tree], values, rtol=1e-6, atol=1e-9)
    new = X[::3] + 0.1
    members = nano.staged(ours, new, nano.member_stages(40, 5))
    np.testing.assert_allclose(members, model.predict_members(new), rtol=1e-6)
    np.testing.assert_allclose(
        nano.decompose(members), tuple(decompose_regression(members[..., 0], members[..., 1]))
    )


def test_nano_sets_each_clock_at_its_own_best_stage(table):
    X, y = table
    model, stages = nano.fit(X[:60], y[:60], **KNOBS), [1, 10, 20, 40]
    mean_at, scale_at, factor = nano.set_clocks(model, X[60:], y[60:], stages)
    at = nano.staged(model, X[60:], stages)
    errors = y[60:] - at[..., 0]
    assert mean_at == stages[np.argmin(np.square(errors).mean(axis=1))]
    error = errors[stages.index(mean_at)]

    def nll(stage, stretch):
        variance = stretch**2 * at[stages.index(stage), :, 1]
        return 0.5 * (np.log(variance) + error**2 / variance).mean()

    best = nll(scale_at, factor)
    assert all(best <= nll(stage, s * factor) for stage in stages for s in (0.5, 0.99, 1.01, 2.0))


def test_nano_is_short_and_tells_noise_from_what_is_not_known(capsys):
    with open(nano.__file__, encoding="utf-8") as file:
        assert sum(1 for _ in file) <= 300
    nano.main()
    output = capsys.readouterr().out
    assert "two clocks" in output
    data = [float(line.split()[2]) for line in output.splitlines()[1:4]]
    assert data == sorted(data)  # as the truth's noise is
