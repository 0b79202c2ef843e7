"""Ranks among held-out rows, counted one by one."""

from fractions import Fraction


def part_ranks(reference, values):
    """The share of a part's reference values below each value, part by part."""
    return [
        [sum(other < value for other in part) / len(part) for value in row]
        for part, row in zip(reference, values, strict=True)
    ]


def keys(ranks, n):
    """What orders the rows: the sum of the inverse of what is above each rank, exactly."""
    return [
        sum(1 / (1 + Fraction(1, 2 * n) - Fraction(rank).limit_denominator(1000)) for rank in row)
        for row in zip(*ranks, strict=True)
    ]


def new_scores(reference, values):
    """For each new row the share of the reference rows that are more familiar."""
    known = keys(part_ranks(reference, reference), len(reference[0]))
    return [
        sum(one < key for one in known) / len(known)
        for key in keys(part_ranks(reference, values), len(reference[0]))
    ]


def reference_scores(reference):
    """The same of the reference rows themselves, equal ones in the middle of their places."""
    known = keys(part_ranks(reference, reference), len(reference[0]))
    return [sum((one < key) + 0.5 * (one == key) for one in known) / len(known) for key in known]
