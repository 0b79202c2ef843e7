"""Results as JSON that any reader takes: no NaN, no type of NumPy."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any


def print_json(result: Mapping[str, Any]) -> None:
    """Print one JSON object to the standard output."""
    print(json_text(result))


def json_text(result: Mapping[str, Any]) -> str:
    """One JSON object, indented. Numbers that are not finite, and missing values, become null."""
    return json.dumps(_plain(result), indent=2, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    if hasattr(value, "_asdict"):
        return _plain(value._asdict())
    if hasattr(value, "tolist"):  # an array, or a number of NumPy
        return _plain(value.tolist())
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(part) for part in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, bool | int | str) or value is None else str(value)
