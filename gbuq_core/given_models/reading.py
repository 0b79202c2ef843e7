"""A model file that a stranger may have made, read in a process of its own with limits."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from gbuq_core.errors import GbuqError, InvalidData, MissingPackage, ModelFileError, UnknownLoss
from gbuq_core.file_bytes import FileKind, read_limited
from gbuq_core.limited_process import ProcessLimits, ask_process
from gbuq_core.model_files.archive import read_archive
from gbuq_core.model_files.contents import errors_as_damage, take
from gbuq_core.trees.importers.catboost_json import LOSSES
from gbuq_core.trees.importers.plain_source import (
    PlainSource,
    PlainTrees,
    Words,
    numbers_of,
    read_plain,
)
from gbuq_core.validation import check_choice

MAX_MEGABYTES = 100
_READER = Path(__file__).with_name("reading_process.py")
_LIMITS = ProcessLimits(memory=2 * 2**30, cpu_seconds=60, seconds=120.0)
_CALLED = {"catboost": "CatBoost", "lightgbm": "LightGBM", "xgboost": "XGBoost"}
_TOO_MUCH = (
    "The model file needs more memory or time than a model of its size, or ends the program that "
    "reads it: save the model again with its library."
)


class GivenModel(NamedTuple):
    """A model that exists already.

    Attributes
    ----------
    source : PlainSource
        Its trees as plain arrays: a leaf for every row, predictions, truncations.
    content : bytes
        The file, for the library's own predictions of a few rows; empty for one from Python.
    name : str
        What the file is called.
    """

    source: PlainSource
    content: bytes
    name: str

    @property
    def library(self) -> str:
        """The library that trained it, as it is written."""
        return _CALLED[self.source.kind]

    @property
    def digest(self) -> str:
        """Names its content."""
        return hashlib.sha256(self.content).hexdigest()

    @property
    def summary(self) -> str:
        """One sentence about it."""
        source = self.source
        what = "classifier" if source.task == "classification" else "regression"
        kind = "random forest" if source.is_forest else "boosted trees"
        return (
            f"{self.library} {what}, {kind}: {source.n_trees:,} "
            f"{'tree' if source.n_trees == 1 else 'trees'}, {source.n_features:,} "
            f"{'feature' if source.n_features == 1 else 'features'}."
        )


def read_model(source: Any, name: str = "", *, loss: str | None = None) -> GivenModel:
    """Read a model file of CatBoost (cbm, JSON), LightGBM (text) or XGBoost (JSON, UBJ).

    The file is read by a process of its own with limits of time and memory, which answers with
    plain arrays, and these are checked. Nothing is unpickled. A file that is damaged, foreign or
    hostile costs one sentence.

    Parameters
    ----------
    source : path, bytes or binary file
        At most 100 MB.
    name : str, optional
        What it is called; by default the name of the path.
    loss : str, optional
        By which loss a CatBoost model was trained, such as "RMSE", "Poisson" or "Logloss". Only for
        a file that does not say it, as what ``sum_models`` makes of models with different losses.

    Returns
    -------
    GivenModel

    Raises
    ------
    UnknownLoss
        If the file does not say by which loss the model was trained, and neither does ``loss``.
    ModelFileError
        If it cannot be read. Models of CatBoost with texts or embeddings are not: pass the fitted
        objects to `gbuq_core.IBUGRegressor` or `gbuq_core.VirtualEnsemble`.
    InvalidParameter
        If the model ranks, or has several outputs; or if the file names another loss.

    Examples
    --------
    >>> import lightgbm
    >>> X = np.linspace(0.0, 1.0, 200)[:, None]
    >>> settings = {"verbose": -1, "num_leaves": 4}
    >>> booster = lightgbm.train(settings, lightgbm.Dataset(X, X[:, 0] ** 2), 10)
    >>> model = read_model(booster.model_to_string().encode())
    >>> model.summary
    'LightGBM regression, boosted trees: 10 trees, 1 feature.'
    >>> bool(np.allclose(model.source.predict(X), booster.predict(X)))
    True
    """
    if loss is not None:
        check_choice("loss", loss, LOSSES)
    content, own_name = _read(source)
    leaves = accept_model(*ask_reader(content, loss=loss or ""))
    if len(leaves.plain.hashed):
        leaves = HashedSource(leaves.plain, content)
    return GivenModel(leaves, content, name or own_name)


class HashedSource(PlainSource):
    """Trees of CatBoost that split by hashes of words: the other process finds leaves of rows."""

    def __init__(self, plain: PlainTrees, content: bytes, words: Words = ()) -> None:
        super().__init__(plain)
        self.words, self._content = words, content
        self._last = (b"", np.zeros((0, 0), np.int32))  # what was asked for, and the answer

    def _as_array(self, X: Any) -> np.ndarray:
        array = np.asarray(X)
        return super()._as_array(X) if array.dtype.kind in "fiub" else array.astype(object)

    def _leaves(self, rows: Any, first: int, last: int) -> np.ndarray:
        matrix, words = rows, self.words
        if not words:
            matrix, words = self._code_words(rows)
        matrix = np.ascontiguousarray(matrix, np.float64)
        key = hashlib.sha256(repr(words).encode() + matrix.tobytes()).digest()
        if self._last[0] != key:
            answer = ask_reader(self._content, matrix, words=words, leaves=True)
            self._last = (key, accept_leaves(*answer, len(matrix), self.leaf_counts))
        return self._last[1][:, first:last]

    def _code_words(self, rows: Any) -> tuple[np.ndarray, Words]:
        """Rows as numbers, and the words of each column of categories by their codes."""
        frame, words = pd.DataFrame(rows).copy(deep=False), []
        for place in self.category_features:
            column = frame.iloc[:, place]
            if pd.api.types.is_float_dtype(column.dtype):
                raise InvalidData(
                    "The model reads categories, of which CatBoost knows the words only: pass them "
                    "as text or whole numbers, in a data frame."
                )
            codes, levels = pd.factorize(column)
            frame.isetitem(place, np.where(codes < 0, np.nan, codes))
            # CatBoost reads truths as 1 and 0.
            words.append([str(int(x) if isinstance(x, bool | np.bool_) else x) for x in levels])
        return numbers_of(frame), words


def library_sums(model: GivenModel, rows: np.ndarray) -> np.ndarray:
    """What the model's own library sums up for rows (n, n_features), (n, n_outputs) float64."""
    source = model.source
    answer = ask_reader(model.content, rows, source.n_iterations, words=source.words)
    return accept_sums(*answer, len(rows))


def request_for(
    content: bytes,
    rows: np.ndarray | None = None,
    n_iterations: int = 0,
    loss: str = "",
    words: Words = (),
    leaves: bool = False,
) -> tuple[dict[str, Any], bytes]:
    """What the other process is asked, and what follows."""
    shape = None if rows is None else list(rows.shape)
    question = {"rows": shape, "rounds": int(n_iterations), "loss": loss, "words": words}
    before = b"" if rows is None else np.ascontiguousarray(rows, np.float64).tobytes()
    return question | {"leaves": leaves}, before + content


def ask_reader(content: bytes, *rows: Any, **more: Any) -> tuple[int, bytes]:
    """The other process's exit code and its answer; what is asked are parts of `request_for`."""
    try:
        return ask_process(_READER, *request_for(content, *rows, **more), _LIMITS)
    except OSError as error:
        raise ModelFileError(
            f"The model file could not be read in a process of its own ({error.strerror})."
        ) from error


def accept_model(returncode: int, answer: bytes) -> PlainSource:
    """The model in an answer, all of it checked."""
    header, arrays = _open_answer(returncode, answer)
    with errors_as_damage():
        return read_plain(header, arrays)


def accept_sums(returncode: int, answer: bytes, n_rows: int) -> np.ndarray:
    """The sums in an answer, (n_rows, n_outputs)."""
    _, arrays = _open_answer(returncode, answer)
    return take(arrays, "sums", np.float64, (n_rows, None))


def accept_leaves(
    returncode: int, answer: bytes, n_rows: int, leaf_counts: np.ndarray
) -> np.ndarray:
    """The leaves in an answer, (n_rows, n_trees)."""
    _, arrays = _open_answer(returncode, answer)
    leaves = take(arrays, "leaves", np.int32, (n_rows, len(leaf_counts)))
    if leaves.min() < 0 or (leaves.max(axis=0) >= leaf_counts).any():
        raise ModelFileError("The model is damaged (a row is in no leaf of it): save it again.")
    return leaves


def _open_answer(returncode: int, answer: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    if returncode != 0 or not answer:
        raise ModelFileError(_TOO_MUCH)
    try:
        header, arrays = read_archive(answer)
    except GbuqError:
        raise ModelFileError(_TOO_MUCH) from None
    if "refused" in header:
        raise _refusal(str(header["refused"]), header.get("needs_loss") is True)
    return header, arrays


def _refusal(sentence: str, needs_loss: bool) -> GbuqError:
    """What the other process says, as one plain line."""
    line = re.sub(r"[^\x20-\x7e\u00a0-\uffff]+", " ", sentence).strip()[:400]
    if needs_loss and line:
        return UnknownLoss(line)
    if "install" in line and "package" in line:
        return MissingPackage(line)
    return ModelFileError(line or _TOO_MUCH)


def _read(source: Any) -> tuple[bytes, str]:
    advice = "pass the fitted model to IBUGRegressor or VirtualEnsemble in Python"
    kind = FileKind("model file", ModelFileError, int(MAX_MEGABYTES * 10**6), advice)
    content, name = read_limited(source, kind)
    if not content:
        raise ModelFileError("The model file is empty: save the model again.")
    return content, name or "model"
