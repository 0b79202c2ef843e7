"""Leaves of this project's boosted ensembles.

All trees of all independent models count, iteration by iteration, so that the first ones are the
first of every model; virtual and cyclical ensembles have one model.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.trees.importers.source import LeafSource, check_task


class OwnSource(LeafSource):
    """A fitted ensemble's oblivious trees; tree ``i * n_models + m`` is tree i of model m."""

    kind = "gbuq"

    def __init__(self, model: Any, task: str) -> None:
        self.model, self.task = model, task
        self.n_features = int(model.n_features_in_)
        names = getattr(model, "feature_names_in_", None)
        self.feature_names = None if names is None else tuple(map(str, names))
        self._n_models = int(model.plan_.n_models)
        self.n_iterations = int(model.n_trees_)
        n_trees = self._n_models * model.n_trees_
        self.leaf_counts = np.full(n_trees, 2**model.plan_.depth, np.int64)

    def _as_array(self, X: Any) -> np.ndarray:
        return np.asarray(X)  # the ensemble takes text in columns declared categorical

    def refuse_stages(self) -> None:
        """Refuse: an ensemble of this project has members of its own."""
        raise InvalidParameter(
            f"A {type(self.model).__name__} has members already: use its own predict_uncertainty, "
            "and ensemble='virtual' for truncations of one model."
        )

    def _leaves(self, rows: Any, first: int, last: int) -> Any:
        iteration, member = np.divmod(np.arange(first, last), self._n_models)
        columns = member * self.model.n_trees_ + iteration
        return self.model.leaf_indices(rows)[:, columns]

    def _predict(self, rows: Any) -> Any:
        ask = self.model.predict if self.task == "regression" else self.model.predict_proba
        return ask(rows)


def from_own(model: Any, task: str) -> OwnSource:
    """The source of a fitted boosted ensemble of this project."""
    if not hasattr(model, "models_"):
        raise InvalidParameter("The ensemble is not fitted: call fit first.")
    check_task(task, ("classification" if hasattr(model, "classes_") else "regression",))
    if model.n_trees_ < 1:
        raise InvalidData("The ensemble has no trees: fit at least one.")
    return OwnSource(model, task)
