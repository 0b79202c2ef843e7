"""A model file to plain arrays: a reader of `gbuq_core.limited_process`, in a process of its own.

The server reads the arrays that it answers, and checks them once more.
"""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[2]
_PACKAGES = (
    "gbuq_core", "gbuq_core.trees", "gbuq_core.trees.importers", "gbuq_core.model_files",
    "gbuq_core.given_models",
)  # fmt: skip


def prepare() -> None:
    """Import what reading needs and no more: the packages' own `__init__` would import it all."""
    sys.path.insert(0, str(_ROOT))
    sys.modules["catboost.widget"] = None  # type: ignore[assignment]  # slow to import
    for name in _PACKAGES:
        package = types.ModuleType(name)
        package.__path__ = [str(_ROOT.joinpath(*name.split(".")))]
        sys.modules[name] = package
    from gbuq_core.numba_cache import ensure_writable_cache

    ensure_writable_cache()
    import gbuq_core.given_models.parsing
    import gbuq_core.model_files.archive  # noqa: F401


def answer(question: dict[str, Any], payload: bytes) -> bytes:
    """An archive of `gbuq_core.model_files`: arrays, or a header with the sentence that refuses."""
    import numpy as np

    from gbuq_core.errors import UnknownLoss
    from gbuq_core.given_models.parsing import (
        describe_refusal,
        find_leaves,
        parse_model,
        predict_sums,
    )
    from gbuq_core.model_files.archive import write_archive
    from gbuq_core.trees.importers.plain_source import describe_plain

    try:
        if question["rows"] is None:
            return write_archive(*describe_plain(parse_model(payload, question["loss"])))
        n_rows, n_features = question["rows"]
        size = 8 * n_rows * n_features
        rows = np.frombuffer(payload[:size], np.float64).reshape(n_rows, n_features)
        if question["leaves"]:
            leaves = find_leaves(payload[size:], rows, question["words"])
            return write_archive({}, {"leaves": leaves})
        sums = predict_sums(payload[size:], rows, question["rounds"], question["words"])
        return write_archive({}, {"sums": sums})
    except Exception as error:
        needs_loss = isinstance(error, UnknownLoss)
        return write_archive({"refused": describe_refusal(error), "needs_loss": needs_loss}, {})
