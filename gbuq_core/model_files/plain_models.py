"""Models that are plain arrays: in files of ours, and on the way from the process that read one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gbuq_core.model_files.archive import damaged
from gbuq_core.model_files.contents import is_text, require, take, whole
from gbuq_core.trees.importers.plain_source import (
    PLAIN_ARRAYS,
    PLAIN_FLAGS,
    PLAIN_NUMBERS,
    PLAIN_TEXTS,
    PlainSource,
    PlainTrees,
)
from gbuq_core.trees.importers.replaying import NumericTrees

_LONGEST = 1000  # letters of a name


def read_plain(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> PlainSource:
    """The model that `describe_plain` of the importers has described, all of it checked."""
    found = {
        key: take(arrays, key, dtype, (None,) * n_axes)
        for key, (dtype, n_axes) in PLAIN_ARRAYS.items()
    }
    for key in PLAIN_TEXTS:
        require(isinstance(header[key], str), "its header is incomplete")
    for key in (*PLAIN_FLAGS, "strict"):
        require(isinstance(header[key], bool), "its header is incomplete")
    for key in PLAIN_NUMBERS:
        require(type(header[key]) in (int, float), "its header is incomplete")
    trees = NumericTrees(
        **{key: found[key] for key in NumericTrees._fields if key in found},
        strict=header["strict"],
    )
    trees = trees._replace(missing=trees.missing.clip(-1, 3).astype(np.int8))
    categories = header["categories"]
    require(isinstance(categories, list), "its header is incomplete")
    others: dict[str, Any] = {key: found[key] for key in found if key not in NumericTrees._fields}
    others |= {key: float(header[key]) for key in PLAIN_NUMBERS}
    return PlainSource(
        PlainTrees(
            trees=trees,
            **others,
            **{key: header[key] for key in (*PLAIN_TEXTS, *PLAIN_FLAGS)},
            n_features=whole(header["n_features"]),
            per_iteration=whole(header["per_iteration"]),
            names=_texts(header["names"]),
            classes=_texts(header["classes"]),
            categories=tuple(_texts(column) for column in categories),
        )
    )


def _texts(values: Any) -> tuple[str, ...]:
    if not is_text(values) or any(len(value) > _LONGEST for value in values):
        raise damaged("a name is no text, or too long")
    return tuple(values)
