"""What Langevin noise does to an ensemble: the law of its members, and the heart's maps."""

import boosting_parts as parts
import numpy as np
import pytest
from scipy import stats

from gbuq_core.boosting import BoostedEnsembleClassifier, BoostedEnsembleRegressor
from gbuq_core.boosting.gaussian_kernels import gaussian_gradients, gaussian_leaves
from gbuq_core.boosting.numba_engine import start_member, sum_gaussian
from gbuq_core.boosting.plan import langevin_numbers, make_plan, make_schedule
from gbuq_core.metrics import auroc
from gbuq_core.seeding import LEAF_NOISE, stream
from gbuq_core.synthetic import make_heart
from gbuq_core.trees.binning import binned_rows, fit_bins, merge_rows

# Fixed seeds, so these tests pass or fail for good; a correct sampler fails one with this chance.
CHANCE = 1e-4


def members_of_constant_rows(y, seeds=range(4), **knobs):
    """Mean and log std of 1000 members a seed; with nothing to split on, a tree is one leaf."""
    members = []
    for seed in seeds:
        model = BoostedEnsembleRegressor(
            **{
                "n_members": 1000,
                "n_trees": 60,
                "learning_rate": 0.5,
                "temperature": "posterior",
                "standardize_target": False,
                "leaf_estimation": "gradient",
                **knobs,
            },
            random_state=seed,
        ).fit(np.zeros((len(y), 2)), y)
        assert model.n_cells_ == 1
        members.append(model.predict_members([[0.0, 0.0]])[:, 0])
    mean, variance = np.concatenate(members).T
    return mean, 0.5 * np.log(variance)


def means_of_chains(y, log_std, eps, l2, newton, n_trees, seed):
    """Means of 1024 chains on the rows ``y`` each, whose std is known: it is put back every tree.

    The chains are cells of one model, a leaf each, and so draw noise of their own.
    """
    chain = np.repeat(np.arange(1024), len(y))
    columns = np.array([chain // 32, chain % 32], np.uint8)
    cells = merge_rows(columns)
    assert len(cells.codes) == 1024
    sums = sum_gaussian(cells, np.tile(y, 1024)[cells.order.argsort()])
    rows = binned_rows(fit_bins(columns.T.astype(float), np.zeros(2, bool), 128), cells)
    state = start_member(rows, np.array([y.mean(), log_std]), n_trees, 10, 5)
    state.scratch.leaf_of_row[:] = np.arange(1024)
    c = np.sqrt(2.0 / eps)
    values = parts.numbers(
        learning_rate=eps,
        l2=l2,
        leaf_noise=c,
        decay=1.0 - eps / (2 * len(y)),
        newton=newton,
        n_rows=float(len(chain)),
        preconditioned=True,
        schedule=make_schedule(n_trees, "sglb", 200, (10.0, 1.0), 0.66, 0.9, False),
    )
    for tree in range(n_trees):
        gaussian_gradients(sums, state, values, 1.0, np.uint64(0))
        base = np.uint64(stream(seed, 0, tree, LEAF_NOISE))
        gaussian_leaves(sums, state, values, base, tree, 10)
        state.raw[:, 1] = log_std
    return state.raw[:, 0].copy()


def standardised(rng, n):
    y = rng.normal(size=n)
    return (y - y.mean()) / y.std()


def assert_variance(values, expected):
    """The sample variance of normals, times (M - 1) over the true one, follows a chi2 law."""
    low, high = stats.chi2.interval(1 - CHANCE, len(values) - 1)
    assert low < np.sum((values - values.mean()) ** 2) / expected < high


def variance_of_means(n, l2, eps):
    """In units of sigma^2: precision n, a prior of precision 1/2 + l2/2N, and a finite step.

    A tree moves mu by ``eps (N (mean y - mu) + c sigma sqrt(N + l2) z) / (N + l2)`` after shrinking
    it by eps / 2N: an autoregression whose mean and variance are known.
    """
    precision = n + 0.5 + l2 / (2 * n)
    step = eps * precision / (n + l2)  # what a tree takes off the distance to the mean
    return 1.0 / precision / (1.0 - step / 2)


@pytest.mark.parametrize("newton", [False, True])
@pytest.mark.parametrize("sigma", [1.0, 0.05])
@pytest.mark.parametrize(("n", "l2", "eps"), [(5, 3.0, 0.5), (40, 3.0, 0.2), (5, 0.0, 0.5)])
def test_means_are_posterior_draws(rng, n, l2, eps, sigma, newton):
    """A conjugate normal model: known variance.

    The bias of its step, 1/(1 - eps/2), is a third here, the prior a tenth; the tolerance is some
    percent.
    """
    y = sigma * standardised(rng, n) + 2.0
    mean = np.concatenate(
        [means_of_chains(y, np.log(sigma), eps, l2, newton, 120, seed) for seed in range(4)]
    )
    precision = n + 0.5 + l2 / (2 * n)
    expected = sigma**2 * variance_of_means(n, l2, eps)
    assert_variance(mean, expected)
    # The posterior mean, to the standard error of the members' mean.
    z = stats.norm.isf(CHANCE / 2)
    assert abs(mean.mean() - 2.0 * n / precision) < z * np.sqrt(expected / len(mean))
    assert stats.kstest((mean - mean.mean()) / np.sqrt(expected), "norm").pvalue > CHANCE


@pytest.mark.parametrize("leaf_estimation", ["gradient", "newton"])
def test_log_stds_are_posterior_draws(rng, leaf_estimation):
    """Both kinds of leaves draw log s from its posterior, variance 1/2N.

    To first order in 1/N: N is large, and 2 % are left to the rest.
    """
    n, eps = 2000, 0.2
    y = standardised(rng, n)
    _, log_std = members_of_constant_rows(
        y, range(2), learning_rate=eps, n_trees=80, leaf_estimation=leaf_estimation
    )
    expected = 0.5 / n / (1.0 - eps / 2)
    z = stats.norm.isf(CHANCE / 2)
    relative = log_std.var() / expected
    assert abs(relative - 1.0) < z * np.sqrt(2.0 / len(log_std)) + 0.02


def test_temperature_divides_the_variance_of_the_members(rng):
    """T times the temperature, a T-th of the variance; "catboost" is the number of rows."""
    n, sigma = 400, 3.0  # so many rows that the std, which they share, hardly moves
    y = sigma * standardised(rng, n)
    # CatBoost's noise has one size: that of a std of 1 in the unit of y.
    for temperature, variance in (("posterior", 9.0), (5.0, 9.0 / 5.0), ("catboost", 1.0 / n)):
        mean, _ = members_of_constant_rows(y, range(1), temperature=temperature, leaf_noise=True)
        assert_variance(mean, variance * variance_of_means(n, 3.0, 0.5))


def test_without_leaf_noise_constant_rows_have_no_knowledge_uncertainty(rng):
    """CatBoost has leaf noise on gradient leaves only, so that is the default."""
    y = standardised(rng, 20)
    knobs = {"temperature": "catboost", "n_members": 5}
    mean, log_std = members_of_constant_rows(y, range(1), leaf_noise=False, **knobs)
    assert np.ptp(mean) == np.ptp(log_std) == 0.0
    mean, _ = members_of_constant_rows(y, range(1), **knobs)
    assert np.ptp(mean) > 0.01
    mean, log_std = members_of_constant_rows(y, range(1), leaf_estimation="newton", **knobs)
    assert np.ptp(mean) == np.ptp(log_std) == 0.0


@pytest.mark.parametrize(
    ("temperature", "diffusion", "leaf"),
    [
        ("catboost", 200.0, False),
        ("posterior", 1.0, True),
        (7.0, 7.0, True),
        (np.inf, np.inf, True),
    ],
)
def test_numbers_of_the_noise(temperature, diffusion, leaf):
    plan = make_plan(
        BoostedEnsembleRegressor(stopping=None, temperature=temperature, learning_rate=0.2)
    )
    noise = langevin_numbers(plan, 200)
    c = np.sqrt(2.0 / (0.2 * diffusion))
    assert noise == (diffusion, 1.0 / 400, pytest.approx(c), pytest.approx(c * leaf), 1 - 0.2 / 400)


def test_gradient_boosting_has_neither_noise_nor_shrinkage():
    plan = make_plan(BoostedEnsembleRegressor(stopping=None, method="sgb", temperature="posterior"))
    assert langevin_numbers(plan, 200)[1:] == (0.0, 0.0, 0.0, 1.0)
    assert (plan.subsample, plan.learning_rate) == (0.5, 0.1)


@pytest.mark.parametrize("classes", [False, True])
def test_every_source_of_diversity_alone_makes_members_differ(rng, classes):
    X = rng.normal(size=(150, 3))
    y = X[:, 0] + rng.normal(size=150)
    kind = BoostedEnsembleClassifier if classes else BoostedEnsembleRegressor
    target = y > 0 if classes else y
    plain = {"stopping": None, "method": "sgb", "subsample": 1.0, "random_strength": 0.0}

    def spread(**knobs):
        model = kind(n_members=3, n_trees=20, random_state=0, **{**plain, **knobs}).fit(X, target)
        return np.ptp(model.predict_members(X), axis=0).max()

    assert spread() == 0.0
    for source in (
        {"subsample": 0.5},
        {"random_strength": 1.0},
        {"method": "sglb"},  # noise on the choice of splits
        {"method": "sglb", "temperature": "posterior"},
        {"method": "sglb", "temperature": 1e12, "subsample": 0.7},
    ):
        assert spread(**source) > 1e-3
    assert spread(method="sglb", temperature=np.inf) == 0.0


def test_score_noise_is_in_units_of_the_gradients(rng):
    """So y and 1000 y are split alike: with a noise of one unit only one of them would be."""
    X = rng.normal(size=(100, 3))
    y = rng.normal(size=100)
    first = [
        BoostedEnsembleRegressor(
            stopping=None,
            method="sgb",
            subsample=1.0,
            n_members=20,
            n_trees=1,
            depth=1,
            learning_rate=0.1,
            leaf_estimation="gradient",
            random_strength=3.0,
            random_state=0,
        )
        .fit(X, target)
        .models_.forests
        for target in (y, 1000.0 * y)
    ]
    splits = [[(f.features[0, 0], f.bins[0, 0]) for f in forests] for forests in first]
    assert splits[0] == splits[1]
    assert len(set(splits[0])) > 5  # strong enough to choose other splits in other members


# The heart: figures 2 and 3 of the paper.


@pytest.fixture(scope="module")
def heart():
    return make_heart(random_state=1)


def uncertainty_of(heart, **knobs):
    model = BoostedEnsembleRegressor(
        **{"stopping": None, "learning_rate": 0.3, "categorical_features": [0, 1], **knobs}
    ).fit(heart.X, heart.y)
    assert model.n_cells_ == 64
    return model, model.predict_uncertainty(heart.grid)


@pytest.mark.parametrize(
    "knobs",
    [
        {"random_state": 0},
        {"random_state": 1},
        {"random_state": 0, "temperature": "posterior"},
        {"random_state": 0, "method": "sgb", "learning_rate": 0.1},
    ],
    ids=["sglb", "other seed", "posterior", "sgb"],
)
def test_an_ensemble_sees_the_heart(heart, knobs):
    model, uncertainty = uncertainty_of(heart, **knobs)
    empty = ~heart.in_support.ravel()
    assert auroc(empty, uncertainty.knowledge) == 1.0
    filled = heart.in_support
    # A sample variance of 1000 rows is off by 4.5 % of at most 0.04 in 64 cells, at 3.2 stds; the
    # rest is what a hundred leaves smooth.
    error = uncertainty.data.reshape(9, 9)[filled] - heart.variance[filled]
    assert np.abs(error).max() < 0.01
    # Means of 1000 rows are within 4 standard errors, 0.2 / sqrt(1000), and shrinkage is less.
    bias = model.predict(heart.grid).reshape(9, 9)[filled] - heart.mean[filled]
    assert np.abs(bias).max() < 0.03


def test_one_model_sees_the_heart_too(heart):
    """Virtual ensembles, several seeds: the paper's figure is 1.0 with traces, the bar is 0.97."""
    empty = ~heart.in_support.ravel()
    ranks, knowledge = [], []
    for seed in range(4):
        model, uncertainty = uncertainty_of(heart, random_state=seed, ensemble="virtual")
        assert len(model.member_trees()) == 10
        ranks.append(auroc(empty, uncertainty.knowledge))
        knowledge.append(uncertainty.knowledge.mean())
    assert min(ranks) >= 0.97
    _, independent = uncertainty_of(heart, random_state=0)
    # "Far smaller": truncations of one model agree much more than models do.
    assert np.mean(knowledge) < 0.1 * independent.knowledge.mean()
