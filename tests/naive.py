"""Slow, obvious twins of the kernels: loops over rows, leaves and candidates, nothing clever."""

import math
from itertools import pairwise

import numpy as np

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15


# Random numbers (Steele, Lea and Flood, 2014), in whole numbers without bounds.


def mix(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def unmix(z):
    """The number that `mix` turns into ``z``: its three steps undone in reverse."""
    z ^= (z >> 31) ^ (z >> 62)
    z = (z * pow(0x94D049BB133111EB, -1, 2**64)) & MASK
    z ^= (z >> 27) ^ (z >> 54)
    z = (z * pow(0xBF58476D1CE4E5B9, -1, 2**64)) & MASK
    return z ^ (z >> 30) ^ (z >> 60)


def bits_at(base, index):
    return mix((base + index * GOLDEN) & MASK)


def draws(kernel, base, n):
    """The first ``n`` draws of a stream from ``normal_at`` or ``uniform_at``, one by one."""
    return np.array([kernel(np.uint64(base), index) for index in range(n)])


# Binning.


def choose_borders(values, max_bins):
    """Walk through the sorted distinct values and cut wherever a share of the rows is full."""
    distinct = sorted(set(values))
    cuts, seen, targets = [], 0, [k * len(values) / max_bins for k in range(1, max_bins)]
    for here, after in pairwise(distinct):
        seen += sum(1 for value in values if value == here)
        full = [target for target in targets if seen >= target - 0.5]
        targets = targets[len(full) :]
        if full or len(distinct) <= max_bins:
            cuts.append(half_way(here, after))
    return cuts


def half_way(below, above):
    """Between two values, the lower one where no float lies between or rounding left the gap."""
    middle = below / 2 + above / 2
    return middle if below <= middle < above else below


def bin_codes(values, borders):
    return [0 if math.isnan(v) else 1 + sum(1 for b in borders if b < v) for v in values]


def cells_of(codes):
    """Rows (n, n_features) with equal codes: ``{codes: [row, ...]}``."""
    cells = {}
    for row, line in enumerate(codes.tolist()):
        cells.setdefault(tuple(line), []).append(row)
    return cells


# Trees. A candidate is (feature, code); a row goes right for code > c, or code == c in a category.


def candidates(n_codes, is_category, has_missing):
    splits = []
    for feature, size in enumerate(n_codes):
        if is_category[feature]:
            codes = range(size) if size > 2 else range(size - 1)
        else:
            codes = range(0 if has_missing[feature] else 1, size - 1)
        splits += [(feature, code) for code in codes]
    return splits


def goes_right(codes, is_category, feature, code):
    column = codes[:, feature]
    return column == code if is_category[feature] else column > code


def cosine_score(leaf, gradients, counts, l2):
    """``sum_l G_l a_l / sqrt(sum_l n_l a_l^2)`` over leaves and outputs, a_l = G_l / (n_l + l2)."""
    product, square = 0.0, 0.0
    for here in np.unique(leaf):
        n = counts[leaf == here].sum()
        for total in gradients[leaf == here].sum(axis=0):
            if n > 0:
                a = total / (n + l2)
                product += total * a
                square += n * a * a
    return product / math.sqrt(square) if square > 0 else 0.0


def grow_tree(codes, is_category, options, gradients, counts, l2, depth, noise=None):
    """The best candidate of each level: a list of (feature, code), and the leaf of each row.

    ``noise[level, feature, code]`` is added to the scores. Two best candidates are refused: there
    rounding would decide, and the twins might part.
    """
    leaf, splits = np.zeros(len(codes), int), []
    for level in range(depth if options else 0):
        scores = []
        for feature, code in options:
            parted = leaf + 2**level * goes_right(codes, is_category, feature, code)
            score = cosine_score(parted, gradients, counts, l2)
            scores.append(score + (noise[level, feature, code] if noise is not None else 0.0))
        assert len(scores) == 1 or np.diff(np.sort(scores))[-1] > 1e-9, "a tie"
        splits.append(options[int(np.argmax(scores))])
        leaf = leaf + 2**level * goes_right(codes, is_category, *splits[-1])
    return splits, leaf


def leaf_of(codes, is_category, forest, tree):
    leaf = np.zeros(len(codes), int)
    for level in range(forest.levels[tree]):
        feature, code = forest.features[tree, level], forest.bins[tree, level]
        leaf += 2**level * goes_right(codes, is_category, feature, code)
    return leaf


def predict(codes, is_category, forest, start, decay, n_trees):
    """Raw predictions after ``n_trees`` trees: shrink everything, add a tree, and so on."""
    raw = np.tile(np.asarray(start, float), (len(codes), 1))
    for tree in range(n_trees):
        raw = raw * (decay if tree > 0 else 1.0)
        raw = raw + forest.values[tree][leaf_of(codes, is_category, forest, tree)]
    return raw


# Boosting row by row; without noise, or with that which samples from the posterior.


def kept_rows(base, n, subsample):
    """Which of ``n`` rows a Bernoulli sample keeps: 32 bits of the stream each, low half first."""
    halves = [(bits_at(base, row // 2) >> 32 * (row % 2)) % 2**32 for row in range(n)]
    return np.array([half < int(subsample * 2**32) for half in halves])


def gaussian_nll(y, mu, log_std):
    """Negative log likelihood of one value, without its constant."""
    return log_std + 0.5 * ((y - mu) / math.exp(log_std)) ** 2


def gaussian_step(y, mu, log_std, newton):
    """Gradient and curvature of one row for the mean and for the log std."""
    z = (y - mu) / math.exp(log_std)
    if newton:
        return [y - mu, z * z - 1.0], [1.0, 2.0 * z * z]
    return [y - mu, (z * z - 1.0) / 2.0], [1.0, 1.0]


def softmax(logits):
    weights = [math.exp(value - max(logits)) for value in logits]
    return np.array([weight / sum(weights) for weight in weights])


def softmax_nll(code, logits):
    return -math.log(softmax(logits)[code])


class Gaussian:
    """How `boost` sees a regression target: every leaf's step for (mean, log std)."""

    def __init__(self, y, newton, preconditioned=False):
        self.y, self.newton, self.preconditioned = y, newton, preconditioned
        self.start = np.array([y.mean(), math.log(y.std())])

    def gradients(self, raw):
        return np.array(
            [gaussian_step(y, *row, self.newton)[0] for y, row in zip(self.y, raw, strict=True)]
        )

    def row_noise(self, raw):
        """A square root of the covariance of one row's gradient noise."""
        return np.diag([math.exp(raw[1]), math.sqrt(2.0) if self.newton else math.sqrt(0.5)])

    def leaf_step(self, rows, raw, l2, noise=(0.0, 0.0)):
        pairs = [gaussian_step(self.y[i], *raw[i], self.newton) for i in rows]
        gradient, curvature = np.sum(pairs, axis=0)
        hessian = curvature + l2
        covariance = hessian.copy()
        if self.preconditioned:
            weights = [math.exp(-2.0 * raw[i][1]) for i in rows]
            gradient[0] = sum(
                w * (self.y[i] - raw[i][0]) for w, i in zip(weights, rows, strict=True)
            )
            hessian[0] = covariance[0] = sum(weights) * (1.0 + l2 / len(rows))
            if (
                not self.newton
            ):  # half the derivative by the log std has half its Fisher information
                covariance[1] = hessian[1] / 2.0
        return (gradient + np.sqrt(covariance) * noise) / hessian


class Softmax:
    """How `boost` sees class codes: every leaf's step for the logits."""

    def __init__(self, codes, n_classes, newton, preconditioned=False):
        self.one_hot, self.newton = np.eye(n_classes)[codes], newton
        self.preconditioned = preconditioned
        self.start = np.zeros(n_classes)

    def gradients(self, raw):
        return self.one_hot - np.array([softmax(row) for row in raw])

    def row_noise(self, raw):
        """A square root of the covariance ``diag p - p p^T`` of one row's gradient noise."""
        p = softmax(raw)
        return np.diag(np.sqrt(p)) - np.outer(p, np.sqrt(p))

    def leaf_step(self, rows, raw, l2, noise=0.0):
        gradient = self.gradients(raw)[rows].sum(axis=0)
        noise = np.broadcast_to(noise, gradient.shape)
        if not self.newton:
            return (gradient + math.sqrt(len(rows) + l2) * noise) / (len(rows) + l2)
        hessian = l2 * np.eye(len(gradient))
        for i in rows:
            p = softmax(raw[i])
            hessian += np.diag(p) - np.outer(p, p)
        if self.preconditioned:
            noise = np.linalg.cholesky(hessian) @ noise
        else:
            noise = np.sqrt(np.diag(hessian)) * noise
        right = gradient + noise
        return np.linalg.solve(hessian, right - right.mean())


def boost(loss, codes, is_category, options, n_trees, depth, learning_rate, l2, draws=None):
    """Every tree as (splits, leaf values); start and raw predictions of the rows at the end.

    ``draws(tree, is_leaf, shape)`` gives the noise of the rows' gradients, which choose the splits,
    and of the leaves, each of the std of Langevin noise and not yet of its covariance.
    """
    raw, trees = np.tile(loss.start, (len(codes), 1)), []
    n_outputs = len(loss.start)
    for tree in range(n_trees):
        gradients = loss.gradients(raw)
        of_leaves = np.zeros((2**depth, n_outputs))
        if draws is not None:
            of_leaves = draws(tree, True, of_leaves.shape)
            of_rows = draws(tree, False, gradients.shape)
            roots = [loss.row_noise(row) for row in raw]
            gradients = gradients + [root @ z for root, z in zip(roots, of_rows, strict=True)]
        splits, leaf = grow_tree(
            codes, is_category, options, gradients, np.ones(len(codes)), l2, depth
        )
        values = np.zeros((2**depth, n_outputs))
        for here in np.unique(leaf):
            step = loss.leaf_step(np.flatnonzero(leaf == here), raw, l2, of_leaves[here])
            values[here] = learning_rate * step
        raw = raw + values[leaf]
        trees.append((splits, values))
    return trees, raw
