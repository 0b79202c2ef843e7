"""Slow, obvious twins of the metrics and of the decomposition: loops over rows, nothing clever."""

import math
from itertools import pairwise, permutations, product

import numpy as np


def entropy(p):
    return -sum(float(q) * math.log(q) for q in p if q > 0)


def decompose_classification(probabilities):
    """The definition: entropy of the mean, mean of the entropies, their difference."""
    n_members, n_samples, n_classes = probabilities.shape
    rows = []
    for i in range(n_samples):
        mean = [math.fsum(probabilities[:, i, c]) / n_members for c in range(n_classes)]
        total = entropy(mean)
        data = math.fsum(entropy(probabilities[m, i]) for m in range(n_members)) / n_members
        rows.append((total, data, total - data))
    return tuple(np.array(column) for column in zip(*rows, strict=True))


def decompose_regression(means, variances):
    """Equation 6, term by term."""
    n_members, n_samples = means.shape
    rows = []
    for i in range(n_samples):
        centre = math.fsum(means[:, i]) / n_members
        knowledge = math.fsum((centre - mu) ** 2 for mu in means[:, i]) / n_members
        data = math.fsum(variances[:, i]) / n_members
        rows.append((knowledge + data, data, knowledge))
    return tuple(np.array(column) for column in zip(*rows, strict=True))


def normal_density(y, mean, variance):
    return math.exp(-0.5 * (y - mean) ** 2 / variance) / math.sqrt(2 * math.pi * variance)


def nll_mixture(y, means, variances):
    """The logarithm of an average of densities, without log-sum-exp."""
    losses = []
    for i, value in enumerate(y):
        densities = [normal_density(value, means[m, i], variances[m, i]) for m in range(len(means))]
        losses.append(-math.log(sum(densities) / len(densities)))
    return sum(losses) / len(losses)


def crps_of_cdf(y, cdf, low, high, n_steps=20_000):
    """The definition of the CRPS: the integral of (F(x) - 1[x >= y])^2 by the midpoint rule."""
    step = (high - low) / n_steps
    x = low + step * (np.arange(n_steps) + 0.5)
    return float(np.sum((cdf(x) - (x >= y)) ** 2) * step)


def prr_by_replacing(y, prediction, uncertainty):
    """PRR as its authors compute it: replace rejected predictions by the truth, in O(n^2).

    Areas by trapezoids over the shares 0, 1/n, ..., (n - 1)/n. Uncertainties must not tie.
    """
    n = len(y)
    error = [(p - t) ** 2 for p, t in zip(prediction, y, strict=True)]
    base = sum(error) / n

    def gains(ranking):
        order = sorted(range(n), key=lambda i: ranking[i])
        curve = []
        for i in range(n):
            kept = order[: n - i]
            curve.append((base - sum(error[k] for k in kept) / n) / base)
        return curve

    def area(curve):
        return sum(0.5 * (a + b) / n for a, b in pairwise(curve))

    random = area([i / n for i in range(n)])
    return 100 * (area(gains(uncertainty)) - random) / (area(gains(error)) - random)


def prr_of_classes(wrong, uncertainty):
    """PRR of classes as its authors compute it: counts of errors among the first rows, in percent.

    Point i of a curve is taken after rejecting i + 1 rows, unlike in regression.
    """
    n = len(wrong)
    order = sorted(range(n), key=lambda i: uncertainty[i])
    errors = [100 * sum(wrong[k] for k in order[:i]) / n for i in range(n)]
    base = errors[-1]
    shares = [(i + 1) / n for i in range(n)]

    def area(curve):
        pairs = zip(curve[:-1], curve[1:], shares[:-1], shares[1:], strict=True)
        return 1 - sum(0.5 * (a + b) * (t - s) for a, b, s, t in pairs) / 100

    n_wrong = int(base / 100 * n)
    oracle = [base * (1 - i / (base / 100 * n)) for i in range(n_wrong)] + [0.0] * (n - n_wrong)
    random = area([base * (1 - i / n) for i in range(n)])
    return 100 * (area(errors[::-1]) - random) / (area(oracle) - random)


def prr_over_tie_orders(errors, uncertainty, prr_without_ties):
    """Mean PRR over every order of the rows within every group of equal uncertainties."""
    groups = {}
    for i, value in enumerate(uncertainty):
        groups.setdefault(value, []).append(i)
    values = []
    for orders in product(*(permutations(groups[value]) for value in sorted(groups))):
        rank = np.empty(len(errors))
        rank[[i for group in orders for i in group]] = np.arange(len(errors))
        values.append(prr_without_ties(errors, rank))
    return sum(values) / len(values)


def f1_auc(wrong, uncertainty):
    """F1 of every share of trusted rows, counted row by row. Uncertainties must not tie."""
    n = len(wrong)
    order = sorted(range(n), key=lambda i: uncertainty[i])
    all_right = sum(not each for each in wrong)
    curve = []
    for k in range(1, n + 1):
        right = sum(not wrong[i] for i in order[:k])
        precision, recall = right / k, right / all_right
        curve.append(0.0 if right == 0 else 2 * precision * recall / (precision + recall))
    return sum(0.5 * (a + b) / n for a, b in pairwise(curve))


def auroc(is_positive, scores):
    """Every pair of a positive and a negative row; ties count one half."""
    won, pairs = 0.0, 0
    for positive, a in zip(is_positive, scores, strict=True):
        for other, b in zip(is_positive, scores, strict=True):
            if positive and not other:
                won += 1.0 if a > b else 0.5 if a == b else 0.0
                pairs += 1
    return won / pairs


def coverage(y, loc, scale, half_widths):
    """Share of rows within ``half_width`` stds of loc, for each half width."""
    rows = list(zip(y, loc, scale, strict=True))
    return [sum(abs(t - m) <= k * s for t, m, s in rows) / len(rows) for k in half_widths]


def normal_quantile(level):
    """By bisection of the error function."""
    low, high = -40.0, 40.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        below = 0.5 * (1.0 + math.erf(middle / math.sqrt(2.0))) < level
        low, high = (middle, high) if below else (low, middle)
    return 0.5 * (low + high)
