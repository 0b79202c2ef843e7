"""An XGBoost model file as plain arrays: for strangers' files, and for splits by categories."""

from __future__ import annotations

import numpy as np
from scipy.special import logit

from gbuq_core.errors import ModelFileError
from gbuq_core.trees.importers.objectives import find_objective
from gbuq_core.trees.importers.plain_source import PlainTrees
from gbuq_core.trees.importers.replaying import take_splits
from gbuq_core.trees.importers.xgboost_tree_file import XGBoostModel


def plain_xgboost(read: XGBoostModel) -> PlainTrees:
    """The trees of a checked model, up to its best round."""
    learner = read.clean["learner"]
    booster = learner["gradient_booster"]
    weights = np.asarray(booster.get("weight_drop", np.ones(len(read.leaf_counts))), np.float64)
    model = booster.get("gbtree", booster)["model"]
    begins = np.diff(np.asarray(model["iteration_indptr"]))
    if len(set(begins.tolist())) > 1:
        raise ModelFileError("The XGBoost model has rounds of different sizes: train it again.")
    task, link, base = _link(read, str(learner["learner_model_param"]["base_score"]))
    n_trees = read.n_best * int(begins[0])
    values = []
    for tree, of_node, weight in zip(model["trees"], read.leaf_of_node, weights, strict=True):
        values.append(np.asarray(tree["split_conditions"], np.float64)[of_node >= 0] * weight)
    n_splits = int(read.trees.begin[n_trees])
    return PlainTrees(
        kind="xgboost",
        task=task,
        n_features=read.n_features,
        names=read.feature_names,
        trees=take_splits(read.trees, read.trees.begin[: n_trees + 1], slice(n_splits)),
        leaf_values=np.concatenate(values[:n_trees])[:, None],
        output=np.asarray(model["tree_info"][:n_trees], np.int32),
        base=base,
        scale=1.0,
        slope=1.0,
        decays=np.ones(read.n_best),
        link=link,
        per_iteration=int(begins[0]),
        averages=False,
        no_stages=_no_stages(read, int(begins[0])),
        single=True,
        flushes=False,
        levels_begin=read.levels_begin[: n_splits + 1],
        levels=read.levels[: read.levels_begin[n_splits]],
        categories=read.categories,
        classes=(),
        unused_rounds=read.n_iterations - read.n_best,
    )


def _no_stages(read: XGBoostModel, per_round: int) -> str:
    """Why there are no earlier states: several trees an output in one round are a forest."""
    if read.is_dart:
        return "dart"
    is_forest = read.n_iterations == 1 and per_round > max(read.n_classes, read.n_targets, 1)
    return "forest" if is_forest else ""


def _link(read: XGBoostModel, score: str) -> tuple[str, str, np.ndarray]:
    """The task, how sums become predictions, and what the sums start from."""
    tasks, link = find_objective("xgboost", read.objective, read.n_outputs)
    scores = np.array(score.strip("[]").split(","), np.float64)
    base = np.repeat(scores, read.n_outputs) if len(scores) == 1 else scores
    if link in ("share", "sigmoid") and read.objective != "binary:logitraw":
        base = logit(base)
    return tasks[0], link, np.log(base) if link == "exp" else base
