"""Slow, obvious twins of the soft trees: one row, one leaf, one formula at a time."""

import math
from collections import namedtuple

import numpy as np

from gbuq_core.seeding import bits_at, normal_at, stream
from gbuq_core.soft_trees import gaussian_kernels as purposes
from gbuq_core.soft_trees.block_kernels import allocate_scratch
from gbuq_core.soft_trees.class_kernels import class_gradient
from gbuq_core.soft_trees.layout import inverse_softplus, softplus
from gbuq_core.soft_trees.mean_kernels import mean_gradient
from gbuq_core.soft_trees.mixture_kernels import mixture_gradient

LogLikelihood = namedtuple("LogLikelihood", "value gradient noise_gradient")


def log_likelihood(shape, beta, theta, X, y, noise=1.0):
    """By the kernels of training: the value, its gradient, its derivative in the raw noise."""
    kernel = {"mixture": mixture_gradient, "mean": mean_gradient, "classes": class_gradient}
    gradient, raw_noise = np.zeros(shape.n_parameters + 1), float(inverse_softplus(noise))
    value = kernel[shape.output](
        shape.codes,
        beta,
        theta,
        raw_noise,
        np.ascontiguousarray(X.T),
        y,
        allocate_scratch(shape.codes),
        gradient,
    )
    return LogLikelihood(value, gradient[:-1], gradient[-1])


def log_sigmoid(z):
    return -math.log1p(math.exp(-z)) if z >= 0 else z - math.log1p(math.exp(z))


def log_sum_exp(values):
    largest = max(values)
    return largest + math.log(sum(math.exp(value - largest) for value in values))


def gate_logits(shape, beta, theta, x):
    parts = shape.split(theta)
    return [
        beta * (float(np.dot(w, x)) + b)
        for w, b in zip(parts.node_weights, parts.node_biases, strict=True)
    ]


def leaf_log_probabilities(shape, beta, theta, x):
    """Eq. 7: the path to each leaf, root first."""
    logits, totals = gate_logits(shape, beta, theta, x), []
    for leaf in range(shape.n_leaves):
        node, total = 0, 0.0
        for level in range(shape.depth):
            right = leaf >> (shape.depth - 1 - level) & 1
            total += log_sigmoid(logits[node] if right else -logits[node])
            node = 2 * node + 1 + right
        totals.append(total)
    return totals


def line(weights, biases, leaf, x):
    """``w.x + b`` of a linear leaf, ``b`` of a constant one; an array over classes if any."""
    return biases[leaf] + (weights[leaf] @ x if weights.shape[-1] else 0.0)


def leaf_mean(shape, theta, leaf, x):
    parts = shape.split(theta)
    return line(parts.leaf_weights, parts.leaf_biases, leaf, x)


def leaf_std(shape, theta, leaf, x):
    parts = shape.split(theta)
    return float(softplus(max(line(parts.scale_weights, parts.scale_biases, leaf, x), -30.0)))


def log_normal(y, mean, std):
    return -0.5 * ((y - mean) / std) ** 2 - math.log(std) - 0.5 * math.log(2 * math.pi)


def tree_mean(shape, beta, theta, x):
    """Eq. 4."""
    logs = leaf_log_probabilities(shape, beta, theta, x)
    return sum(math.exp(log) * leaf_mean(shape, theta, k, x) for k, log in enumerate(logs))


def tree_variance(shape, beta, theta, x):
    """Variance of the mixture of eq. 6."""
    centre, total = tree_mean(shape, beta, theta, x), 0.0
    for leaf, log in enumerate(leaf_log_probabilities(shape, beta, theta, x)):
        off = leaf_mean(shape, theta, leaf, x) - centre
        total += math.exp(log) * (leaf_std(shape, theta, leaf, x) ** 2 + off**2)
    return total


def leaf_log_softmax(shape, theta, leaf, x):
    logits = leaf_mean(shape, theta, leaf, x)
    return logits - log_sum_exp(logits.tolist())


def log_density(shape, beta, theta, x, y, noise):
    if shape.output == "mean":
        return log_normal(y, tree_mean(shape, beta, theta, x), noise)
    terms = []
    for leaf, log in enumerate(leaf_log_probabilities(shape, beta, theta, x)):
        if shape.output == "classes":
            terms.append(log + leaf_log_softmax(shape, theta, leaf, x)[int(y)])
        else:
            mean, std = leaf_mean(shape, theta, leaf, x), leaf_std(shape, theta, leaf, x)
            terms.append(log + log_normal(y, mean, std))
    return log_sum_exp(terms)


def probabilities(shape, beta, theta, x):
    logs = leaf_log_probabilities(shape, beta, theta, x)
    return sum(
        math.exp(log) * np.exp(leaf_log_softmax(shape, theta, k, x)) for k, log in enumerate(logs)
    )


def kl(mean, scale, factor, prior_scale):
    """Textbook KL between two Gaussians with the dense covariance."""
    covariance = np.diag(scale**2) + factor @ factor.T
    n, g = len(mean), prior_scale**2
    log_ratio = n * math.log(g) - np.linalg.slogdet(covariance)[1]
    return 0.5 * (np.trace(covariance) / g + mean @ mean / g - n + log_ratio)


def kl_gradient(mean, scale, factor, prior_scale):
    """Its gradients: with ``S`` the covariance, ``(I / g - S^-1) / 2`` in ``S``."""
    covariance = np.diag(scale**2) + factor @ factor.T
    inner = 0.5 * (np.eye(len(mean)) / prior_scale**2 - np.linalg.inv(covariance))
    return mean / prior_scale**2, 2 * np.diag(inner) * scale, 2 * inner @ factor


def five_point(function, values, h):
    """Gradient by the five-point rule, whose error is of order h^4."""
    gradient = np.empty_like(values)
    for i in range(values.size):
        there = []
        for steps in (2, 1, -1, -2):
            moved = values.copy()
            moved.flat[i] += steps * h
            there.append(function(moved))
        gradient.flat[i] = (8 * (there[1] - there[2]) - (there[0] - there[3])) / (12 * h)
    return gradient


def normals(base, first, n):
    return np.array([normal_at(np.uint64(base), first + i) for i in range(n)])


def shuffled(n, base):
    order = list(range(n))
    for last in range(n - 1, 0, -1):
        other = int(bits_at(np.uint64(base), last)) % (last + 1)
        order[last], order[other] = order[other], order[last]
    return order


class Trainer:
    """Adam on the ELBO, vector by vector, with the normals of the kernels' streams."""

    def __init__(self, shape, plan, state):
        self.shape, self.plan = shape, plan
        self.groups = [state.mean, state.raw_scale, state.columns.T, state.raw_noise]
        self.groups = [np.array(group) for group in self.groups]
        self.first = [np.zeros_like(group) for group in self.groups]
        self.second = [np.zeros_like(group) for group in self.groups]
        self.step, self.elbos = 0, []

    def batch(self, n):
        size = self.plan.batch_size
        if size == 0:
            return np.arange(n)
        epoch, number = divmod(self.step, n // size)
        base = stream(self.plan.seed, self.plan.member, epoch, purposes.BATCHES)
        return np.array(shuffled(n, base))[number * size : (number + 1) * size]

    def gradients(self, X, y):
        plan, (mean, raw, factor, raw_noise) = self.plan, self.groups
        scale = softplus(raw)
        to_mean, to_scale, to_factor = (
            -g for g in kl_gradient(mean, scale, factor, plan.prior_scale)
        )
        to_noise, elbo = np.zeros(1), -kl(mean, scale, factor, plan.prior_scale)
        rows = self.batch(len(y))
        weight = len(y) / len(rows) / plan.n_draws
        base = stream(plan.seed, plan.member, self.step, purposes.TRAINING)
        n, rank = factor.shape
        for draw in range(plan.n_draws):
            mirrored = plan.antithetic and draw % 2
            first = (draw - 1 if mirrored else draw) * (n + rank)
            both = normals(base, first, n + rank) * (-1 if mirrored else 1)
            shared, own = both[:rank], both[rank:]
            theta = mean + scale * own + factor @ shared
            value, slope, noise_slope = log_likelihood(
                self.shape, plan.beta, theta, X[rows], y[rows], float(softplus(raw_noise[0]))
            )
            elbo += weight * value
            to_mean = to_mean + weight * slope
            to_scale = to_scale + weight * slope * own
            to_factor = to_factor + weight * np.outer(slope, shared)
            to_noise = to_noise + weight * noise_slope
        self.elbos.append(elbo)
        return to_mean, to_scale / (1 + np.exp(-raw)), to_factor, to_noise * plan.learn_noise

    def run(self, X, y, n_steps):
        plan = self.plan
        for _ in range(n_steps):
            if self.step < plan.warm_up:
                share = (self.step + 1) / (plan.warm_up + 1)
            else:
                done = (self.step - plan.warm_up) / (plan.n_steps - plan.warm_up)
                share = (1 + math.cos(math.pi * done)) / 2
            rates = (plan.learning_rate, plan.learning_rate, plan.factor_rate, plan.learning_rate)
            slopes = self.gradients(X, y)
            for k, (slope, rate) in enumerate(zip(slopes, rates, strict=True)):
                self.first[k] = 0.9 * self.first[k] + 0.1 * slope
                self.second[k] = 0.999 * self.second[k] + 0.001 * slope**2
                first = self.first[k] / (1 - 0.9 ** (self.step + 1))
                second = self.second[k] / (1 - 0.999 ** (self.step + 1))
                self.groups[k] = self.groups[k] + rate * share * first / (np.sqrt(second) + 1e-8)
            self.step += 1
