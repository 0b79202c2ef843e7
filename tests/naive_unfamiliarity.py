"""Ranks among held-out rows, counted one by one."""

from fractions import Fraction

import numpy as np


def part_ranks(reference, values, own=0):
    """The share of a part's other reference values below each value, part by part."""
    return [
        [min(sum(other < value for other in part) / max(1, len(part) - own), 1) for value in row]
        for part, row in zip(reference, values, strict=True)
    ]


def keys(ranks, n):
    """What orders the rows: the sum of the inverse of what is above each rank, exactly."""
    return [
        sum(1 / (1 + Fraction(1, 2 * n) - Fraction(rank).limit_denominator(1000)) for rank in row)
        for row in zip(*ranks, strict=True)
    ]


def new_scores(reference, values):
    """For each new row the share of the reference rows that are more familiar; 1 beyond all."""
    ranks = part_ranks(reference, values)
    shares = _shares(reference, keys(ranks, len(reference[0])))
    tops = [max(row) for row in zip(*ranks, strict=True)]
    return [1.0 if top == 1 else share for top, share in zip(tops, shares, strict=True)]


def reference_scores(reference):
    """The same of the reference rows among the others."""
    ranks = part_ranks(reference, reference, own=1)
    return _shares(reference, keys(ranks, len(reference[0])))


def _shares(reference, found):
    """The share of the reference rows below each key; equal ones in the middle of their places."""
    known = keys(part_ranks(reference, reference, own=1), len(reference[0]))
    return [
        sum((score < key) + 0.5 * (score == key) for score in known) / len(known) for key in found
    ]


def choose_unlike_slowly(weight, affinity, n):
    """The set of n rows that grows by the row of the largest log determinant, tried one by one."""
    covariance = np.sqrt(np.outer(weight, weight)) * affinity
    chosen = []
    for _ in range(n):
        best, farthest = -np.inf, None
        for row in range(len(weight)):
            if row in chosen:
                continue
            rows = [*chosen, row]
            sign, log_det = np.linalg.slogdet(covariance[np.ix_(rows, rows)])
            if sign > 0 and log_det > best + 1e-9:
                best, farthest = log_det, row
        if farthest is None:
            break
        chosen.append(farthest)
    return chosen
