"""Results in a JSON file, so that an interrupted benchmark goes on where it was."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class Store:
    """Results by set, split and method, in a JSON file if a path is given.

    ``protocol`` is what results must have in common to stand in one table.
    """

    def __init__(self, path: Path | None, protocol: Mapping[str, Any]) -> None:
        self._path = path
        self._protocol = json.loads(json.dumps(protocol))
        self.results: dict[str, dict[str, Any]] = {}
        if path is not None and path.exists():
            content = json.loads(path.read_text())
            if content["protocol"] != self._protocol:
                raise SystemExit(f"{path} holds results of another protocol: name a new file.")
            self.results = content["results"]

    @staticmethod
    def key(name: str, split: int, method: str) -> str:
        """How a result is found."""
        return f"{name}/{split}/{method}"

    def put(self, key: str, result: dict[str, Any]) -> None:
        """Keep a result, on disk too."""
        self.results[key] = result
        if self._path is not None:
            content = {"protocol": self._protocol, "results": self.results}
            self._path.parent.mkdir(parents=True, exist_ok=True)
            part = self._path.with_suffix(".part")
            part.write_text(json.dumps(content, indent=1, default=float) + "\n")
            os.replace(part, self._path)
