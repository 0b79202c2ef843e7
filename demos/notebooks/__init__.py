"""Exercise notebooks, one a lesson, each written as Markdown with Python between fences.

`notebook_of` turns ``<name>.md`` into a notebook without outputs.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent
_FENCE = re.compile(r"^```python\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


def notebook_of(name: str) -> bytes:
    """The exercise notebook of a lesson, as the bytes of an ``.ipynb`` file.

    >>> json.loads(notebook_of("heart"))["nbformat"]
    4
    """
    parts = _FENCE.split((_HERE / f"{name}.md").read_text(encoding="utf-8"))
    cells = [
        _cell("code" if number % 2 else "markdown", text.strip())
        for number, text in enumerate(parts)
        if text.strip()
    ]
    book = {
        "cells": [cell | {"id": f"{name.replace('_', '-')}-{i}"} for i, cell in enumerate(cells)],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(book, indent=1).encode()


def _cell(kind: str, text: str) -> dict[str, Any]:
    cell: dict[str, Any] = {
        "cell_type": kind,
        "metadata": {},
        "source": text.splitlines(keepends=True),
    }
    if kind == "code":
        cell |= {"execution_count": None, "outputs": []}
    return cell
