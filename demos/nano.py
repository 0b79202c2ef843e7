"""The method in one sitting: SGLB boosting, virtual members, two clocks and the decomposition.

Plain NumPy, to be read from top to bottom: ``python -m demos.nano`` runs it on data whose truth is
known. Features are numbers, the target is a number; ``gbuq_core.boosting`` is the same method with
kernels, categories, weights, classes and cycles, and grows the same trees.

Ustimenko and Prokhorenkova, "SGLB: Stochastic Gradient Langevin Boosting" (2021); Malinin,
Prokhorenkova and Ustimenko, "Uncertainty in Gradient Boosting via Ensembles" (2021).
"""

import math
from typing import NamedTuple

import numpy as np

# 1. Binning: a feature becomes small whole numbers, and a split is a place between two of them.


def choose_borders(values, max_bins=32):
    """Where a feature (n,) may be split: between neighbours, with about equal numbers of rows."""
    distinct, counts = np.unique(values, return_counts=True)
    middle = distinct[:-1] / 2 + distinct[1:] / 2
    if len(distinct) <= max_bins:
        return middle
    below = np.cumsum(counts)[:-1]  # rows up to each possible border
    share = np.arange(1, max_bins) * len(values) / max_bins
    return middle[np.unique(np.searchsorted(below, share - 0.5))]


def to_codes(X, borders):
    """Number of borders below each value: (n, n_features) whole numbers."""
    columns = [np.searchsorted(b, x, side="left") for x, b in zip(X.T, borders, strict=True)]
    return np.stack(columns, axis=1)


# 2. One tree. It is oblivious: each level asks one question of all rows, so d answers are a leaf.


def score_splits(code, n_codes, leaf, n_leaves, gradients, l2):
    """How well each border of one feature parts the rows of all leaves: (n_codes - 1,) scores.

    A split makes leaves with gradient sums G and n rows. Their steps ``a = G / (n + l2)`` are
    compared with the gradients by the cosine between them: ``sum G a / sqrt(sum n a^2)``.
    """
    place = leaf * n_codes + code
    n = np.bincount(place, minlength=n_leaves * n_codes).reshape(n_leaves, n_codes)
    sums = np.stack(
        [np.bincount(place, g, n_leaves * n_codes).reshape(n_leaves, n_codes) for g in gradients.T]
    )
    left_n, left = n.cumsum(axis=1)[:, :-1], sums.cumsum(axis=2)[:, :, :-1]
    right_n, right = n.sum(axis=1)[:, None] - left_n, sums.sum(axis=2)[:, :, None] - left
    product, square = 0.0, 0.0
    for rows, total in ((left_n, left), (right_n, right)):
        step = total / np.maximum(rows + l2, 1e-300)
        product = product + (total * step).sum(axis=(0, 1))
        square = square + (rows * step * step).sum(axis=(0, 1))
    return np.divide(product, np.sqrt(square), np.zeros_like(product), where=square > 0.0)


def grow_tree(codes, n_codes, gradients, depth, l2):
    """The best question of each level, and the leaf that each row falls into."""
    leaf, splits = np.zeros(len(codes), int), []
    for level in range(depth):
        scores = [
            score_splits(codes[:, j], n_codes[j], leaf, 2**level, gradients, l2)
            for j in range(codes.shape[1])
        ]
        best = int(np.argmax([part.max(initial=-np.inf) for part in scores]))
        splits.append((best, int(np.argmax(scores[best]))))
        leaf = leaf + 2**level * answer(codes, splits[-1])
    return splits, leaf


def answer(codes, split):
    """Whether each row lies above a split."""
    feature, code = split
    return codes[:, feature] > code


def find_leaves(codes, splits):
    """The leaf of each row of one tree."""
    return sum(2**level * answer(codes, split) for level, split in enumerate(splits))


# 3. Boosting with Langevin noise. A row's prediction is a normal: its mean and its log std.


class Model(NamedTuple):
    """What was learnt; the target is standardised inside."""

    borders: list
    start: np.ndarray  # (2,): mean and log std before the first tree
    trees: list  # of (splits, values of the leaves (2^depth, 2))
    decay: float
    centre: float
    spread: float


def normal_draws(seed):
    """Standard normals for a tree's splits (``purpose`` 0) or its leaves (1)."""
    return lambda tree, purpose, shape: np.random.default_rng([seed, tree, purpose]).normal(
        size=shape
    )


def fit(X, y, *, n_trees=300, depth=4, learning_rate=0.1, l2=3.0, max_bins=32, draws=None):
    """Boost a normal with noise that makes the model a sample from its posterior.

    Each tree follows the gradient of the log likelihood plus noise of std ``sqrt(2 / rate)``, and
    all earlier trees shrink a little: that is Langevin dynamics on the model. ``draws=None`` is
    plain boosting: no noise, no shrinking.
    """
    borders = [choose_borders(x, max_bins) for x in X.T]
    n_codes = [len(b) + 1 for b in borders]
    codes, n = to_codes(X, borders), len(y)
    centre, spread = y.mean(), y.std()
    z = (y - centre) / spread
    start = np.array([z.mean(), math.log(z.std())])
    noise = 0.0 if draws is None else math.sqrt(2.0 / learning_rate)
    decay = 1.0 if draws is None else 1.0 - learning_rate / (2.0 * n)
    raw, trees = np.tile(start, (n, 1)), []
    for tree in range(n_trees):
        mean, std = raw[:, 0], np.exp(raw[:, 1])
        residual = z - mean
        square = (residual / std) ** 2
        # The split follows (y - mu, z^2 - 1): the natural gradient for the mean, the plain one for
        # the log std. Their noise has the std of what a row's own gradient varies by.
        gradients = np.stack([residual, square - 1.0], axis=1)
        if noise:
            row_std = np.stack([std, np.full(n, math.sqrt(2.0))], axis=1)
            gradients = gradients + noise * row_std * draws(tree, 0, (n, 2))
        splits, leaf = grow_tree(codes, n_codes, gradients, depth, l2)
        # A leaf's step is Newton's, without the split's noise but with its own, whose variance is
        # the curvature that divides it.
        n_leaves = 2**depth

        def total(values, leaf=leaf, n_leaves=n_leaves):
            return np.bincount(leaf, values, n_leaves)

        rows = total(np.ones(n))
        precision = 1.0 / std**2 if noise else np.ones(n)  # plain boosting weighs all rows alike
        slope = np.stack([total(precision * residual), total(square - 1.0)], axis=1)
        curvature = np.stack(
            [total(precision) * (1.0 + l2 / np.maximum(rows, 1.0)), total(2.0 * square) + l2],
            axis=1,
        )
        if noise:
            slope = slope + noise * np.sqrt(curvature) * draws(tree, 1, (n_leaves, 2))
        step = np.divide(slope, curvature, np.zeros_like(slope), where=rows[:, None] > 0)
        values = learning_rate * step.clip([-np.inf, -10.0], [np.inf, 10.0])
        raw = raw * (decay if tree else 1.0) + values[leaf]
        trees.append((splits, values))
    return Model(borders, start, trees, decay, centre, spread)


def staged(model, X, stages):
    """Mean and variance, in units of y, after each of some numbers of trees: (stages, n, 2)."""
    codes, out = to_codes(X, model.borders), []
    raw = np.tile(model.start, (len(X), 1))
    for tree, (splits, values) in enumerate(model.trees):
        raw = raw * (model.decay if tree else 1.0) + values[find_leaves(codes, splits)]
        if tree + 1 in stages:
            mean = model.centre + model.spread * raw[:, 0]
            out.append(np.stack([mean, (model.spread * np.exp(raw[:, 1])) ** 2], axis=1))
    return np.array(out)


# 4. Virtual members: the same model after fewer trees. Langevin boosting wanders around the
#    posterior, so models that are far enough apart along the way are members of an ensemble.


def member_stages(n_trees, step=50):
    """Numbers of trees of the members: every ``step``-th of the second half."""
    return [t for t in range(step, n_trees + 1, step) if t > n_trees / 2]


def decompose(members):
    """Total, data and knowledge uncertainty (variances) of members (n_members, n, 2).

    Data: what the members say on average. Knowledge: how much they disagree. Together they are
    the variance of the members' mixture (law of total variance).
    """
    data, knowledge = members[..., 1].mean(axis=0), members[..., 0].var(axis=0)
    return data + knowledge, data, knowledge


# 5. Two clocks. On unseen rows the mean goes on improving when the scale has begun to shrink onto
#    the training residuals: each stops at its own number of trees.


def set_clocks(model, X, y, stages):
    """Trees of the mean (least squared error), then trees and factor of the scale (NLL)."""
    at = staged(model, X, stages)
    error = y - at[..., 0]
    mean_at = int(np.argmin((error**2).mean(axis=1)))
    # A normal's best factor for given variances is the mean of the squared standardised errors.
    factors = (error[mean_at] ** 2 / at[..., 1]).mean(axis=1)
    nll = 0.5 * (np.log(factors[:, None] * at[..., 1]).mean(axis=1) + 1.0)
    scale_at = int(np.argmin(nll))
    return stages[mean_at], stages[scale_at], math.sqrt(factors[scale_at])


def main():
    """Noise that grows to the right, and no rows beyond 3: what do the parts say?"""
    rng = np.random.default_rng(0)
    x = rng.uniform(0.0, 3.0, 600)
    y = np.sin(2.0 * x) + (0.05 + 0.15 * x) * rng.normal(size=600)
    X = x[:, None]
    model = fit(X[:400], y[:400], draws=normal_draws(0))
    new = np.array([[0.25], [1.5], [2.75], [6.0]])
    members = staged(model, new, member_stages(len(model.trees)))
    total, data, knowledge = decompose(members)
    print("  x   truth's noise   data   knowledge   total (std)")
    for i, place in enumerate(new[:, 0]):
        truth = 0.05 + 0.15 * place
        parts = np.sqrt([data[i], knowledge[i], total[i]])
        print(f"{place:4.2f}   {truth:13.2f}   {parts[0]:4.2f}   {parts[1]:9.2f}   {parts[2]:5.2f}")
    print("at 6 there are no rows, but every member repeats its last leaf: they agree in error")
    plain = fit(X[:400], y[:400])
    clocks = set_clocks(plain, X[400:], y[400:], list(range(5, 301, 5)))
    print("two clocks: {} trees for the mean, {} for the scale, factor {:.2f}".format(*clocks))


if __name__ == "__main__":
    main()
