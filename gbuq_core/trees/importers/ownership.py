"""Whether an estimator has to fit the model that it is given, and unfitted copies of models."""

from __future__ import annotations

import copy
from typing import Any

from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted


def is_owned(base_model: Any) -> bool:
    """Whether a model is still to be fitted: None, or an estimator that is not fitted yet."""
    if base_model is None:
        return True
    if isinstance(base_model, FrozenEstimator):
        return False  # used as it is, or refused by name where it is not fitted
    if not (hasattr(base_model, "fit") and hasattr(base_model, "get_params")):
        return False  # a booster or a leaf source
    if hasattr(base_model, "is_fitted"):  # CatBoost
        return not base_model.is_fitted()
    try:
        check_is_fitted(base_model)
    except NotFittedError:
        return True
    return False


def copy_unfitted(model: Any) -> Any:
    """scikit-learn's `clone`, also for CatBoost, which copies lists among its parameters."""
    if type(model).__module__.startswith("catboost"):
        return type(model)(**copy.deepcopy(model.get_params()))
    return clone(model, safe=False)  # None, a booster: a copy
