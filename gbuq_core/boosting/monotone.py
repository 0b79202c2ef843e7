"""Which way a prediction may move with each column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gbuq_core.distribution import student
from gbuq_core.errors import InvalidParameter

_STEPS = 24  # of a path along the constrained columns
_LEVEL = 0.995  # the highest quantile that moves one way, which is that of 99 % intervals


def signs_of_columns(ensemble: Any, table: Any) -> np.ndarray | None:
    """1, -1 or 0 of each matrix column of an ensemble; None where nothing is constrained."""
    rules = ensemble.monotone_constraints
    if rules is None:
        return None
    if ensemble.plan_.engine != "numba" or getattr(ensemble, "target", None) == "log":
        raise InvalidParameter(
            "monotone_constraints need engine='numba' and no target='log', whose mean follows the "
            "std as well: change these, or leave the constraints out."
        )
    names, signs = list(table.columns), np.zeros(table.shape[1], np.int8)
    if not isinstance(rules, Mapping):
        rules = dict(enumerate(rules)) if np.shape(rules) == signs.shape else {None: rules}
    for key, sign in rules.items():
        place = names.index(key) if isinstance(key, str) and key in names else key
        whole = isinstance(place, int | np.integer) and 0 <= place < len(signs)
        if not whole or isinstance(sign, str) or sign not in (-1, 0, 1):
            raise InvalidParameter(
                f"monotone_constraints must hold 1, -1 or 0 for each of the {len(signs)} columns, "
                f"or for some by name or position; got {rules!r:.80}."
            )
        if sign and ensemble.is_category_[place]:
            raise InvalidParameter(
                f"monotone_constraints name the column {names[place]!r}, whose categories have no "
                "order: leave it out."
            )
        signs[place] = sign
    return np.repeat(signs, [max(1, len(c.fallback)) for c in ensemble.encoding_.columns])


def signs_of_outputs(signs: np.ndarray | None, n_classes: int | None) -> np.ndarray:
    """What `project_monotone` reads, (n_outputs, n_columns); empty if no column has a sign.

    Of a regression the mean is constrained and the log std is not. Of two classes the logit of the
    second rises and that of the first falls; of more each class's own rises.
    """
    if signs is None or not signs.any():
        return np.zeros((0, 0), np.int8)
    outputs = {None: [1, 0], 2: [-1, 1]}.get(n_classes, [1] * (n_classes or 0))
    return np.multiply.outer(np.array(outputs, np.int8), signs)


def path_of(ensemble: Any, table: Any, matrix: np.ndarray) -> Iterator[np.ndarray]:
    """Encoded rows with all constrained columns moved from their lowest mean to the highest one."""
    signs, borders = signs_of_columns(ensemble, table), ensemble.models_.bins.borders
    if signs is None:
        return
    columns = [column for column in np.flatnonzero(signs) if len(borders[column])]
    for step in np.linspace(0.0, 1.0, _STEPS if columns else 0):
        moved = matrix.copy()
        for column in columns:
            # A value for each bin: its upper border, and something above the last one.
            values = np.append(borders[column], np.nextafter(borders[column][-1], np.inf))
            share = step if signs[column] > 0 else 1.0 - step
            moved[:, column] = values[round(share * (len(values) - 1))]
        yield moved


def follow_mean(
    loc: np.ndarray, scale: np.ndarray, path: Sequence[Sequence[np.ndarray]], df: float
) -> np.ndarray:
    """Stds (n,) that change by no more than lets ``loc - k s`` and ``loc + k s`` follow ``loc``.

    Along a path that ignores a row's own constrained columns, s is a function of the mean alone:
    half way between the largest and the smallest one with slopes up to ``1 / k`` that agree with
    the stds on the path (McShane and Whitney, 1934).
    """
    if not len(path):
        return scale
    k = 1.01 * float(student(np.zeros(1), np.ones(1), df).quantile(_LEVEL)[0])
    means, stds = (np.stack(parts) for parts in zip(*path, strict=True))
    away = np.abs(means - loc) / k
    return 0.5 * ((stds - away).max(axis=0) + (stds + away).min(axis=0))
