"""Which way a prediction may move with each column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gbuq_core.errors import InvalidParameter


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
