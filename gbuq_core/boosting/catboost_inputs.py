"""What CatBoost is given: its parameters, its data set, and what it would refuse."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

from gbuq_core.boosting.encoding import MAX_ONE_HOT_LEVELS
from gbuq_core.boosting.plan import BoostingPlan, langevin_numbers
from gbuq_core.errors import InvalidData, InvalidParameter

_FLOAT32 = np.finfo(np.float32)


def import_catboost() -> Any:
    """CatBoost, imported at its first use (1.5 s), or one sentence if it is not installed."""
    try:
        import catboost
    except ImportError as error:
        raise InvalidParameter(
            "engine='catboost' needs the package catboost: install it or use engine='numba'."
        ) from error
    return catboost


def training_parameters(plan: BoostingPlan, n_rows: int, n_classes: int | None) -> dict[str, Any]:
    """CatBoost's names for the knobs of ``plan``.

    SGLB with temperature "catboost" is CatBoost's ``posterior_sampling``; any other temperature
    sets the numbers that it stands for. Nothing is subsampled unless ``plan.subsample`` says so:
    CatBoost's own default (MVS, 0.8) would. A penalty of ``l2`` on two logits ``-f/2, f/2`` is one
    of ``l2 / 2`` on f, the one logit of two classes.
    """
    loss = "RMSEWithUncertainty" if n_classes is None else "MultiClass"
    parameters: dict[str, Any] = {
        "loss_function": "Logloss" if n_classes == 2 else loss,
        "iterations": plan.n_trees,
        "depth": plan.depth,
        "learning_rate": plan.learning_rate,
        "l2_leaf_reg": 0.5 * plan.l2 if n_classes == 2 else plan.l2,
        "random_strength": plan.random_strength,
        "border_count": plan.max_bins - 1,
        "nan_mode": "Min",
        "one_hot_max_size": MAX_ONE_HOT_LEVELS,
        "leaf_estimation_method": "Newton" if plan.newton else "Gradient",
        "leaf_estimation_iterations": 1,
        "leaf_estimation_backtracking": "No",
        "boosting_type": "Plain",
        "bootstrap_type": "No",
        "model_shrink_rate": 0.0,
        "allow_writing_files": False,
        "logging_level": "Silent",
        "metric_period": plan.n_trees,  # no loss after every tree: it costs time and goes nowhere
    }
    if plan.subsample < 1.0:
        parameters |= {"bootstrap_type": "Bernoulli", "subsample": plan.subsample}
    if plan.method == "sgb":
        return parameters
    langevin = langevin_numbers(plan, n_rows)
    parameters["model_shrink_rate"] = langevin.model_shrink_rate
    if plan.temperature == "catboost":
        return parameters | {"posterior_sampling": True}
    temperature = langevin.diffusion_temperature
    if not float(_FLOAT32.tiny) <= temperature <= float(_FLOAT32.max):
        raise InvalidParameter(
            f"engine='catboost' takes temperatures from {_FLOAT32.tiny:.0e} to {_FLOAT32.max:.0e}; "
            f"got {temperature:g}."
        )
    return parameters | {"langevin": True, "diffusion_temperature": temperature}


def shrinkage(parameters: dict[str, Any]) -> float:
    """``1 - model_shrink_rate * learning_rate`` as CatBoost has it: both rounded to float32."""
    shrink_rate, learning_rate = (
        float(np.float32(parameters[name])) for name in ("model_shrink_rate", "learning_rate")
    )
    return 1.0 - shrink_rate * learning_rate


def make_pool(matrix: np.ndarray, is_category: np.ndarray, target: Any = None) -> Any:
    """CatBoost's data set of ``matrix`` (n_rows, n_features); level codes become text.

    Codes below 0 and NaN are one text that training has not seen, which no one-hot split matches.
    """
    catboost = import_catboost()
    with np.errstate(over="ignore"):  # what float32 cannot hold is infinite, and so the largest
        columns = np.asfortranarray(matrix, np.float32)
    if not is_category.any():
        return catboost.Pool(columns, target)
    frame = {}
    for i in range(matrix.shape[1]):
        frame[str(i)] = _as_text(matrix[:, i]) if is_category[i] else columns[:, i]
    return catboost.Pool(
        pd.DataFrame(frame, copy=False), target, cat_features=np.flatnonzero(is_category).tolist()
    )


def _as_text(column: np.ndarray) -> Any:
    known = column >= 0  # False for NaN too
    n_codes = int(column[known].max()) + 1 if known.any() else 0
    names = pd.Index([*map(str, range(n_codes)), "unseen"])
    return pd.Categorical.from_codes(np.where(known, column, n_codes).astype(np.int64), names)


def refuse_data(matrix: np.ndarray, target: np.ndarray, n_classes: int | None) -> None:
    """Say in one sentence what CatBoost would refuse."""
    with np.errstate(over="ignore"):
        stored = target.astype(np.float32)
        varies = any(_varies(column.astype(np.float32)) for column in matrix.T)
    if not varies:
        raise InvalidData(
            "engine='catboost' needs a column that is not the same in all rows (as float32): use "
            "engine='numba'."
        )
    if n_classes is not None:
        return
    if not np.isfinite(stored).all():
        raise InvalidData(
            "engine='catboost' stores the target as float32, which is too small for it: set "
            "standardize_target=True or use engine='numba'."
        )
    if not _varies(stored):
        raise InvalidData(
            "engine='catboost' needs a target that is not the same in all rows (as float32): use "
            "engine='numba'."
        )


def _varies(values: np.ndarray) -> bool:
    return bool((values != values[0]).any())  # a missing value differs from itself: it parts rows


def one_sentence(error: Exception) -> str:
    """CatBoost's message without the place in its sources, or what its cryptic one means."""
    text = re.sub(r"^\S+:\d+:\s*", "", str(error).strip()).rstrip(".")
    if "invalid float value" in text:
        return (
            "CatBoost stopped because its predictions became infinite: raise l2, lower the "
            "learning rate or use engine='numba'."
        )
    return f"CatBoost stopped ({text}): change the data or use engine='numba'."
