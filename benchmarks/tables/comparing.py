"""Means with standard errors, ties within one, and ranks: what all benchmarks compare with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np


class MeanError(NamedTuple):
    """A mean over splits and its standard error; the error is NaN for a single split."""

    mean: float
    error: float

    def __str__(self) -> str:
        """The error stands in parentheses."""
        return f"{self.mean:.3f}" + (f" ({self.error:.3f})" if np.isfinite(self.error) else "")


class Verdict(NamedTuple):
    """How a method stands against the best of its rivals.

    rival : the rival of lowest mean; difference : the method minus that rival, paired over splits;
    word : "first", "tied" (at most one standard error of the difference behind) or "behind".
    """

    rival: str
    difference: MeanError
    word: str


def mean_error(values: Sequence[float]) -> MeanError:
    """Mean and standard error (std with n - 1, over the root of n) of values of several splits."""
    found = np.asarray(values, dtype=np.float64)
    if len(found) < 2:
        return MeanError(float(found.mean()), float("nan"))
    return MeanError(float(found.mean()), float(found.std(ddof=1) / np.sqrt(len(found))))


def judge(
    by_method: Mapping[str, Sequence[float]], rivals: Sequence[str], focus: str
) -> Verdict | None:
    """The verdict on ``focus``; None where it or all rivals are missing. Lower scores are better.

    Every method's scores stand in the order of the same splits.
    """
    others = [m for m in rivals if m != focus and m in by_method]
    if focus not in by_method or not others:
        return None
    rival = min(others, key=lambda method: float(np.mean(by_method[method])))
    behind = mean_error(np.subtract(by_method[focus], by_method[rival]))
    if behind.mean <= 0:
        word = "first"
    else:  # one split has no standard error, and then nothing counts as tied
        word = "tied" if behind.mean <= behind.error else "behind"
    return Verdict(rival, behind, word)


def ranks(by_method: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Mean rank over splits, 1 for the lowest score; equal scores share the mean of their ranks."""
    table = np.array(list(by_method.values()), dtype=np.float64)
    below = (table[None, :, :] < table[:, None, :]).sum(axis=1)
    equal = (table[None, :, :] == table[:, None, :]).sum(axis=1)
    return dict(zip(by_method, (below + (equal + 1) / 2).mean(axis=1).tolist(), strict=True))


def collect(
    results: Mapping[str, Mapping[str, Any]], name: str, score: str, methods: Sequence[str]
) -> dict[str, list[float]]:
    """Scores by method over the splits of a set that all of the methods found there have.

    ``results`` has keys ``set/split/method``, as `benchmarks.store.Store` writes them.
    """
    found: dict[str, dict[int, float]] = {}
    for key, result in results.items():
        which, split, method = key.split("/")
        if which == name and method in methods:
            found.setdefault(method, {})[int(split)] = float(result[score])
    if not found:
        return {}
    common = sorted(set.intersection(*(set(each) for each in found.values())))
    return {m: [found[m][split] for split in common] for m in methods if m in found and common}
