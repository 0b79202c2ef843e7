"""What a model's file says of it, before there is a table."""

from __future__ import annotations

import re
from typing import NamedTuple

from gbuq_core.boosting import VirtualEnsemble
from gbuq_core.errors import InvalidParameter
from gbuq_core.given_models.reading import GivenModel
from gbuq_core.presentation import counted
from gbuq_core.trees.importers.plain_source import deepest

# How each library writes the loss: the word that begins it, and what follows. Files of CatBoost put
# slashes before the quotes of a text within a text.
_LOSSES = {
    "lightgbm": (b"\nobjective=", rb"\s*(\w+)"),
    "xgboost": (
        b"objective",
        rb".{0,400}?name.{0,12}?((?:reg|binary|multi|count|survival):[a-z0-9_]+)",
    ),
    "catboost": (b"loss_function", rb'":\s*\{(?:[^{}]|\{[^{}]*\})*?"type":\s*"(\w+)"'),
}
_WINDOW = 4000  # bytes behind the word


class ModelSummary(NamedTuple):
    """A model in numbers and words."""

    loss: str  # as its library calls it; empty where the file does not say
    rounds: int
    leaves: int
    depth: int  # the most splits between the root of a tree and a leaf
    # their labels; empty for a regression, and where the file does not hold them
    classes: tuple[str, ...]
    tells: tuple[str, ...]  # what can be told of rows with the table that the model was trained on


def summarize_model(model: GivenModel) -> ModelSummary:
    """Read off a model what it is and what can be told with it."""
    source = model.source
    return ModelSummary(
        loss=_loss_of(model),
        rounds=source.n_iterations,
        leaves=int(source.leaf_counts.sum()),
        depth=deepest(source.plain.trees),
        classes=source.plain.classes,
        tells=tuple(_tells(model)),
    )


def _loss_of(model: GivenModel) -> str:
    if model.source.kind not in _LOSSES:
        return ""
    word, rest = _LOSSES[model.source.kind]
    end = 0
    while (place := model.content.find(word, end)) >= 0:
        end = place + len(word)
        behind = model.content[end : end + _WINDOW].replace(b"\\", b"")
        if loss := re.match(rest, behind, re.DOTALL):
            return loss[1].decode()
    return ""


def _tells(model: GivenModel) -> list[str]:
    source = model.source
    sentences = ["the prediction"]
    if source.task == "classification":
        sentences = ["the probability of each class"]
    else:
        sentences += ["a std and the nearest training rows (IBUG)"]
    try:
        n_members = len(VirtualEnsemble(source).member_trees())
        sentences.append(f"knowledge uncertainty from {counted(n_members, 'truncation')}")
    except InvalidParameter:
        if source.is_forest and source.task == "regression":
            sentences.append("knowledge uncertainty from its trees (MACAU)")
    if not source.has_categories:
        sentences.append("how novel a row is (MACAU)")
    return sentences
