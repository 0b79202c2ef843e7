"""What each library's losses make of the sums of leaves: one table for all readers of models."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit, softmax

from gbuq_core.errors import InvalidParameter

_NUMBERS, _CLASSES = ("regression",), ("classification",)
# A sigmoid of shares is that of two classes as well: the target decides.
_TASKS = {
    "identity": _NUMBERS,
    "exp": _NUMBERS,
    "square": _NUMBERS,
    "gaussian": _NUMBERS,
    "share": _NUMBERS + _CLASSES,
    "sigmoid": _CLASSES,
    "softmax": _CLASSES,
    "sigmoids": _CLASSES,
}
LINKS = tuple(_TASKS)  # how the sum of the leaves becomes the prediction

_LINKED: dict[str, dict[str, str]] = {
    "lightgbm": {
        # A loss of one's own leaves no name.
        "identity": " regression regression_l1 huber fair quantile mape",
        "exp": "poisson gamma tweedie",
        "share": "cross_entropy",
        "sigmoid": "binary",
        "softmax": "multiclass",
        "sigmoids": "multiclassova",
    },
    "xgboost": {
        "identity": "reg:squarederror reg:linear reg:absoluteerror reg:pseudohubererror "
        "reg:quantileerror reg:expectileerror reg:squaredlogerror",
        "exp": "count:poisson reg:gamma reg:tweedie survival:aft",
        "share": "reg:logistic",
        "sigmoid": "binary:logistic binary:logitraw",
        "softmax": "multi:softprob multi:softmax",
    },
    "catboost": {
        "identity": "RMSE MAE Quantile Expectile MAPE Lq Huber LogCosh RMSPE "
        "PythonUserDefinedPerObject",
        "exp": "Poisson Tweedie LogLinQuantile",
        "gaussian": "RMSEWithUncertainty",
        "share": "CrossEntropy",
        "sigmoid": "Logloss Focal",
        "softmax": "MultiClass",
        "sigmoids": "MultiClassOneVsAll",
    },
}
_RANKS = "ranks rows, so its output is not in units of the target: train a regression or classifier"
_HAZARD = "predicts a hazard, which is not in units of the target: train a regression"
_SENTENCES = {
    _RANKS: "lambdarank rank_xendcg rank:pairwise rank:ndcg rank:map YetiRank YetiRankPairwise "
    "PairLogit PairLogitPairwise StochasticFilter StochasticRank LambdaMart QueryRMSE "
    "QuerySoftMax QueryCrossEntropy GroupQuantile",
    _HAZARD: "survival:cox Cox SurvivalAft",
    "predicts several numbers at once: train one model for each": "MultiRMSE MultiQuantile "
    "MultiRMSEWithMissingValues",
    "predicts several labels at once: train one classifier for each": "MultiLogloss "
    "MultiCrossEntropy",
    "gives no probabilities: train with binary:logistic": "binary:hinge",
    "predicts an intensity, neither a share nor a class: train with cross_entropy": (
        "cross_entropy_lambda"
    ),
}
LINK_OF = {
    library: {name: link for link, names in links.items() for name in names.split(" ")}
    for library, links in _LINKED.items()
}
REFUSED = {name: why for why, names in _SENTENCES.items() for name in names.split(" ")}


class Objective(NamedTuple):
    """What a model trained by a loss predicts."""

    tasks: tuple[str, ...]  # what it can be read for; of a share, a number and then two classes
    link: str  # one of `LINKS`


def find_objective(library: str, name: str, n_outputs: int = 1) -> Objective:
    """The objective of a library's loss, or one sentence about one that cannot be read."""
    if name in REFUSED:
        raise InvalidParameter(f"The model, trained with {name}, {REFUSED[name]}.")
    link = LINK_OF[library].get(name)
    if link is None:
        raise InvalidParameter(
            f"The model was trained with {name[:40]}, and it is not known how its sums become "
            "predictions: train with a loss of the library's own list."
        )
    needed = {"softmax": n_outputs, "sigmoids": n_outputs, "gaussian": 2}.get(link, 1)
    if n_outputs != needed:
        raise InvalidParameter(
            f"The model has {n_outputs} outputs, but {name or 'its loss'} needs {needed}: train a "
            "regression with one output, or a classifier."
        )
    return Objective(_TASKS[link], link)


def apply_link(link: str, raw: np.ndarray, slope: float = 1.0) -> np.ndarray:
    """Predictions (..., n_outputs) of sums of leaves; of two classes that of the second."""
    with np.errstate(over="ignore"):
        if link == "exp":
            return np.exp(raw)
        if link == "square":
            return np.sign(raw) * raw**2
        if link == "gaussian":
            return np.stack([raw[..., 0], np.exp(2.0 * raw[..., 1])], axis=-1)
        if link in ("share", "sigmoid", "sigmoids"):
            return expit(slope * raw)
        return softmax(raw, axis=-1) if link == "softmax" else raw
