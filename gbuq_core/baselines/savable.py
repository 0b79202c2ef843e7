"""The method ``save`` of all baselines."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted


class Savable:
    """A baseline that `gbuq_core.load` reads again."""

    def save(self, target: Any) -> None:
        """Write the fitted estimator to a path or a binary file; `gbuq_core.load` reads it.

        A path is overwritten. Nothing in the file is pickled. Models of LightGBM and CatBoost are
        in their own form, scikit-learn's, NGBoost's and stochtree's trees node by node.

        Raises
        ------
        InvalidParameter
            If a model or a parameter cannot be held in this way.
        """
        from gbuq_core.baselines.saving import save_baseline

        check_is_fitted(self, ["fit_seconds_", "columns_", "estimators_"], all_or_any=any)
        save_baseline(self, target)
