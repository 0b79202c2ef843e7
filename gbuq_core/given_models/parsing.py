"""A model file's bytes as plain arrays. Runs in a process of its own, see `reading_process`."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from gbuq_core.errors import GbuqError, InvalidParameter, ModelFileError
from gbuq_core.lazy import import_optional
from gbuq_core.trees.importers.catboost_json import needs_catboost, read_catboost_json
from gbuq_core.trees.importers.lightgbm_text import (
    LightGBMText,
    decode_lightgbm,
    read_lightgbm_text,
)
from gbuq_core.trees.importers.objectives import find_objective
from gbuq_core.trees.importers.plain_source import PlainTrees, Words
from gbuq_core.trees.importers.source import one_line
from gbuq_core.trees.importers.xgboost_plain import plain_xgboost
from gbuq_core.trees.importers.xgboost_source import check_untried, import_xgboost
from gbuq_core.trees.importers.xgboost_tree_file import read_xgboost

_UNSEEN = "\ufffd"  # a word that no training table holds
_CATBOOST_START = re.compile(
    rb'\{\s*"(features_info|oblivious_trees|trees|ctr_data|model_info|scale_and_bias)"'
)


def parse_model(content: bytes, loss: str = "") -> PlainTrees:
    """The trees of a model file of CatBoost (cbm, JSON), LightGBM (text) or XGBoost (JSON, UBJ)."""
    kind = find_kind(content)
    if loss and kind in ("lightgbm", "xgboost"):
        raise InvalidParameter(
            "A loss is named for files of CatBoost only, since those of LightGBM and XGBoost name "
            "their own: leave it out."
        )
    if kind == "lightgbm":
        return _from_lightgbm(content)
    if kind == "xgboost":
        return _from_xgboost(content)
    plain = read_catboost_json(content if kind == "catboost json" else _cbm_as_json(content), loss)
    if len(plain.hashed):  # leaves are numbered as the library does, which finds those of rows
        own = np.asarray(_load_catboost(content).get_leaf_values(), np.float64)
        plain = plain._replace(leaf_values=own.reshape(-1, plain.leaf_values.shape[1]))
    return plain


def find_kind(content: bytes) -> str:
    r"""What a file is by its first bytes and, of JSON, its first key.

    >>> find_kind(b"CBM1..."), find_kind(b"tree\nversion=v4"), find_kind(b'{"learner": {}}')
    ('catboost', 'lightgbm', 'xgboost')
    """
    if content[:5] in (b"tree\n", b"tree\r"):
        return "lightgbm"
    if content[:4] == b"CBM1":
        return "catboost"
    start = content[:4096].lstrip()
    if start[:1] == b"{":
        return "catboost json" if _CATBOOST_START.match(start) else "xgboost"
    if content[:1] == b"\x80" or content[:2] in (b"PK", b"\x1f\x8b", b"BZ", b"x\x9c"):
        raise ModelFileError(
            "The file is a pickle or an archive, which is never opened because a pickle can run "
            "any program: save the model with its library's own save_model."
        )
    raise ModelFileError(
        "The file is no model of CatBoost (cbm or JSON), LightGBM (text) or XGBoost (JSON or UBJ): "
        "save the model with its library's own save_model."
    )


def predict_sums(
    content: bytes, rows: np.ndarray, n_iterations: int, words: Words = ()
) -> np.ndarray:
    """The sums of leaves (n, n_outputs) that the library itself finds for rows."""
    kind = find_kind(content)
    if kind == "lightgbm":
        lightgbm = import_optional("lightgbm")
        booster = lightgbm.Booster(model_str=decode_lightgbm(content))
        booster.pandas_categorical = None  # rows hold the levels' codes already
        sums = booster.predict(rows, raw_score=True)
    elif kind == "xgboost":
        xgboost = import_xgboost()
        booster = xgboost.Booster(model_file=bytearray(content))
        sums = booster.predict(
            xgboost.DMatrix(rows),
            output_margin=True,
            iteration_range=(0, n_iterations),
            validate_features=False,
        )
    else:
        model = _load_catboost(content)
        sums = model.predict(_with_words(model, rows, words), prediction_type="RawFormulaVal")
    return np.asarray(sums, np.float64).reshape(len(rows), -1)


def find_leaves(content: bytes, rows: np.ndarray, words: Words) -> np.ndarray:
    """The leaves (n, n_trees) int32 that CatBoost finds for rows whose categories are codes."""
    model = _load_catboost(content)
    leaves = model.calc_leaf_indexes(_with_words(model, rows, words))
    return np.asarray(leaves, np.int32).reshape(len(rows), -1)


def _with_words(model: Any, rows: np.ndarray, words: Words) -> Any:
    """Rows with the word of each code; NaN becomes one that no model has seen."""
    if not words:
        return rows
    import pandas as pd

    frame = pd.DataFrame(rows, columns=model.feature_names_)
    for place, levels in zip(model.get_cat_feature_indices(), words, strict=True):
        codes = np.where(np.isnan(rows[:, place]), len(levels), rows[:, place]).astype(np.int64)
        frame.isetitem(place, pd.Categorical.from_codes(codes, pd.Index([*levels, _UNSEEN])))
    return frame


def _load_catboost(content: bytes) -> Any:
    catboost = import_optional("catboost")
    model = catboost.CatBoost()
    try:
        if content[:4] == b"CBM1":
            return model.load_model(blob=content)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.json"
            path.write_bytes(content)
            return model.load_model(str(path), format="json")
    except catboost.CatBoostError as error:
        reason = re.sub(r"^\S+:\d+:\s*", "", one_line(error))
        raise ModelFileError(
            f"CatBoost cannot read the model file ({reason}): save the model again."
        ) from error


def _cbm_as_json(content: bytes) -> bytes:
    """A cbm file as CatBoost's JSON."""
    size = int.from_bytes(content[4:8], "little")
    if not 16 <= size <= len(content) - 8:
        raise ModelFileError("The CatBoost model file is cut off: save the model again.")
    model = _load_catboost(content)
    for kind, what in (("text", "text"), ("embedding", "embeddings")):
        if getattr(model, f"get_{kind}_feature_indices")():
            raise needs_catboost(what)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        return path.read_bytes()


def _from_lightgbm(content: bytes) -> PlainTrees:
    text = decode_lightgbm(content)
    read = read_lightgbm_text(text)
    task, link, slope = _lightgbm_link(read)
    n_rounds, k = len(read.leaf_counts) // read.n_per_iteration, read.n_per_iteration
    names = read.feature_names
    made_up = tuple(f"Column_{i}" for i in range(read.n_features))
    levels = read.pandas_levels or []
    return PlainTrees(
        kind="lightgbm",
        task=task,
        n_features=read.n_features,
        names=() if names == made_up else names,
        trees=read.trees,
        leaf_values=read.leaf_values[:, None],
        output=np.tile(np.arange(k, dtype=np.int32), n_rounds),
        base=np.zeros(k),
        scale=1.0,
        slope=slope,
        decays=np.ones(n_rounds),
        link=link,
        per_iteration=k,
        averages=read.averages,
        no_stages="dart" if "\n[boosting: dart]" in text else "",
        single=False,
        flushes=True,
        levels_begin=read.levels_begin,
        levels=read.levels,
        categories=tuple(tuple(map(str, column)) for column in levels),
        classes=(),
    )


def _from_xgboost(content: bytes) -> PlainTrees:
    read = read_xgboost(content)
    if not read.is_tried:  # here it may end the process
        check_untried(read, import_xgboost().Booster(model_file=bytearray(content)))
    return plain_xgboost(read)


def _lightgbm_link(read: LightGBMText) -> tuple[str, str, float]:
    """The task, how sums become predictions, and the factor within a sigmoid."""
    tasks, link = find_objective("lightgbm", read.objective, read.n_per_iteration)
    slope = re.search(r"sigmoid:(\S+)", read.objective_text)
    if link == "identity" and " sqrt" in read.objective_text:
        link = "square"
    return tasks[-1], link, float(slope[1]) if slope else 1.0


def describe_refusal(error: BaseException) -> str:
    """One sentence about a file that could not be read.

    >>> from gbuq_core.errors import InvalidParameter
    >>> describe_refusal(MemoryError())
    'The model file needs more memory than a model of its size: save it again with its library.'
    >>> describe_refusal(InvalidParameter("It has no trees."))
    'It has no trees.'
    """
    if isinstance(error, GbuqError):
        return str(error)
    if isinstance(error, MemoryError):
        return (
            "The model file needs more memory than a model of its size: save it again with its "
            "library."
        )
    what = json.dumps(one_line(error, 120))
    return f"The model file is damaged or of an unknown version ({what}): save the model again."
