"""Neighbours of any rows, for any k and any trees, and the setting that belongs to them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils.validation import _num_samples, check_is_fitted

from gbuq_core.errors import InvalidParameter
from gbuq_core.ibug.base import TunedNeighbours
from gbuq_core.ibug.base_models import numbers_of
from gbuq_core.ibug.choosing import fit_rows
from gbuq_core.ibug.families import FITS, Posterior, check_family
from gbuq_core.ibug.family_fits import FloatArray
from gbuq_core.ibug.inputs import check_rows, explain_missing
from gbuq_core.ibug.results import Neighborhood, Setting
from gbuq_core.ibug.search import TreeChoice, find_neighborhood, row_parts
from gbuq_core.jobs import check_memory
from gbuq_core.metrics.neighbour_tuning import NeighbourTuning
from gbuq_core.validation import check_choice


class SearchedNeighbours(TunedNeighbours):
    """Base of `IBUGRegressor`: what its predicting methods look up; not for use by itself."""

    @property
    def validation_(self) -> Neighborhood | None:
        """The validation rows' neighbours with the estimator's own trees; None without any."""
        check_is_fitted(self, "y_train_")
        return None if self._validation is None else self.find_validation()

    def find_validation(
        self, n_trees_sampled: int | None = None, tree_order: str | None = None
    ) -> Neighborhood:
        """The neighbours of the validation rows, whose targets are ``y_validation_``.

        Predictions and affinities are those of the model for tuning, which has not seen the rows.

        Parameters
        ----------
        n_trees_sampled, tree_order : optional
            The trees that count, in place of the estimator's own.

        Raises
        ------
        InvalidParameter
            If the estimator was fitted without validation rows.
        """
        check_is_fitted(self, "y_train_")
        choice = self._choose_trees(n_trees_sampled, tree_order)
        n_trees = self.n_trees_ if choice.n_trees is None else choice.n_trees
        return self._need_validation("find_validation").neighborhood(
            choice, self.n_neighbors_, n_trees, self._rows.fit_id
        )

    def setting_for(
        self,
        n_neighbors: int | str | None = None,
        calibrate: bool | None = None,
        n_trees_sampled: int | None = None,
        tree_order: str | None = None,
    ) -> Setting:
        """What another k, other trees or no calibration would use.

        The least scale and the calibration are found on the validation rows with exactly the trees
        that count, as at the fit; without validation rows there is nothing to find them on, and
        the fitted ones stay. Nothing is refitted, and each choice is computed once.

        Parameters
        ----------
        n_neighbors : int, "tune" or None
            None is the fitted ``n_neighbors_``, whatever the trees; "tune" is the best one with
            these trees. At most the number of training rows of the model for tuning.
        calibrate : bool, optional
        n_trees_sampled, tree_order : optional
            In place of the estimator's own.

        Returns
        -------
        Setting

        References
        ----------
        Brophy and Lowd (IBUG, 2022), algorithm 3 and section 4.1.
        """
        check_is_fitted(self, "y_train_")
        choice = self._choose_trees(n_trees_sampled, tree_order)
        return self._setting(self._choose_k(n_neighbors, choice), calibrate, choice)

    def tuning_for(
        self, n_trees_sampled: int | None = None, tree_order: str | None = None
    ) -> NeighbourTuning | None:
        """The scores of all candidate k with these trees; None without validation rows."""
        check_is_fitted(self, "y_train_")
        choice = self._choose_trees(n_trees_sampled, tree_order)
        return None if self._validation is None else self._validation.tuning(choice, self.scoring)

    def _resolve(
        self, X: Any, n_neighbors: int | str | None, n_sampled: int | None, order: str | None
    ) -> tuple[int, TreeChoice]:
        """How many neighbours and which trees count: those of a neighbourhood where X is one."""
        check_is_fitted(self, "y_train_")
        if not isinstance(X, Neighborhood):
            choice = self._choose_trees(n_sampled, order)
            return self._choose_k(n_neighbors, choice), choice
        if n_sampled is not None or order is not None:
            raise InvalidParameter(
                "n_trees_sampled and tree_order belong to the search: pass the rows themselves."
            )
        self._check_found(X)
        choice = self._choose_trees(X.n_trees, X.tree_order)
        k, width = self._choose_k(n_neighbors, choice), X.targets.shape[1]
        if k > width:
            raise InvalidParameter(
                f"This neighbourhood holds {width} neighbours a row and {k} are asked for: search "
                "again with more."
            )
        return k, choice

    def _look_up(self, X: Any, k: int, choice: TreeChoice) -> Neighborhood:
        """The k nearest neighbours of all rows of X, found or given."""
        rows = X if isinstance(X, Neighborhood) else self._check_new(X)
        check_memory(count_rows(rows) * (32 * k + 16), "these neighbours")
        parts = list(self._parts(rows, k, choice))
        if len(parts) == 1:
            return parts[0]
        columns = zip(*(part[:4] for part in parts), strict=True)
        loc, indices, affinities, targets = (np.concatenate(column) for column in columns)
        return Neighborhood(loc, indices, affinities, targets, *parts[0][4:])

    def _each_part(self, X: Any, k: int, choice: TreeChoice) -> Iterator[Neighborhood]:
        """The k nearest neighbours of some rows of X after the other."""
        rows = X if isinstance(X, Neighborhood) else self._check_new(X)
        return self._parts(rows, k, choice)

    def _parts(self, rows: Any, k: int, choice: TreeChoice) -> Iterator[Neighborhood]:
        if isinstance(rows, Neighborhood):
            yield from row_parts(rows, k)
            return
        for part in row_parts(rows, k):
            try:
                yield find_neighborhood(self._rows, part, k, choice, self.seed_, self.n_jobs)
            except ValueError as error:
                raise explain_missing(error, part, self.model_) from error

    def _check_found(self, found: Neighborhood) -> Neighborhood:
        if found.fit_id != self._rows.fit_id:
            raise InvalidParameter(
                "This neighbourhood is not of this fit: search again with find_neighborhood."
            )
        return found

    def _predict_loc(self, X: Any) -> FloatArray:
        """The model's prediction, (n_samples,)."""
        table = self._check_new(X)
        try:
            return np.asarray(self._rows.source.predict(table), dtype=np.float64)
        except ValueError as error:
            raise explain_missing(error, table, self.model_) from error

    def _check_new(self, X: Any) -> Any:
        table = check_rows(self, X, reset=False)
        return numbers_of(table) if self.base_model is None else table

    def _each_posterior(
        self,
        X: Any,
        posterior: str | None = None,
        posterior_fit: str | None = None,
        n_neighbors: int | str | None = None,
        calibrate: bool | None = None,
        n_trees_sampled: int | None = None,
        tree_order: str | None = None,
    ) -> Iterator[Posterior]:
        """A family fitted to the neighbours of some rows of X after the other."""
        check_is_fitted(self, "y_train_")
        family = check_family(self.posterior_ if posterior is None else posterior, self.y_train_)
        fit = self.posterior_fit if posterior_fit is None else posterior_fit
        check_choice("posterior_fit", fit, FITS)
        k, choice = self._resolve(X, n_neighbors, n_trees_sampled, tree_order)
        setting = self._setting(k, calibrate, choice)
        for found in self._each_part(X, k, choice):
            yield fit_rows(family, found, setting, fit, self.n_jobs)


def count_rows(X: Any) -> int:
    """How many rows an array, a frame or a neighbourhood has."""
    return len(X.loc) if isinstance(X, Neighborhood) else int(_num_samples(X))
