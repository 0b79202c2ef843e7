"""A model file to plain arrays, in a process of its own: a script, not imported by the server.

A library believes what a model file says: a tree that points nowhere ends the process, a count can
ask for any amount of memory. Here the system ends this process at the limits that it is given, and
the server reads arrays that it checks once more.

Stdin is a line of JSON (``root``, where the package lies; ``bytes``, ``file_bytes`` and
``seconds``, the limits; ``rows``, the shape of rows to predict or null; ``rounds``), the rows as
float64, then the model file. Stdout is an archive of `gbuq_core.model_files`: the model's arrays,
or the library's own sums for the rows, or a header with the sentence that refuses the file.
"""

from __future__ import annotations

import json
import os
import sys
import types
from typing import Any

_PACKAGES = (
    "gbuq_core", "gbuq_core.trees", "gbuq_core.trees.importers", "gbuq_core.model_files",
    "gbuq_core.given_models",
)  # fmt: skip


def _limit(n_bytes: int, file_bytes: int, seconds: int) -> None:
    try:
        import resource
    except ImportError:  # Windows; the parent still counts seconds
        return
    try:
        with open("/proc/self/statm") as file:
            in_use = int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        in_use = 2 << 30  # libraries reserve more than they use
    spent = resource.getrusage(resource.RUSAGE_SELF)
    limit = int(spent.ru_utime + spent.ru_stime) + seconds
    resource.setrlimit(resource.RLIMIT_AS, (in_use + n_bytes, in_use + n_bytes))
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def answer(asked: dict[str, Any], payload: bytes) -> bytes:
    """What is written to stdout, for a request and what follows it."""
    import numpy as np

    from gbuq_core.given_models.parsing import describe_refusal, parse_model, predict_sums
    from gbuq_core.model_files.archive import write_archive
    from gbuq_core.trees.importers.plain_source import describe_plain

    try:
        if asked["rows"] is None:
            return write_archive(*describe_plain(parse_model(payload)))
        n_rows, n_features = asked["rows"]
        size = 8 * n_rows * n_features
        rows = np.frombuffer(payload[:size], np.float64).reshape(n_rows, n_features)
        sums = predict_sums(payload[size:], rows, asked["rounds"])
        return write_archive({}, {"sums": sums})
    except Exception as error:
        return write_archive({"refused": describe_refusal(error)}, {})


def run(asked: dict[str, Any], payload: bytes, out: int) -> None:
    """Answer within the limits, to a file descriptor."""
    _limit(asked["bytes"], asked["file_bytes"], asked["seconds"])
    data = memoryview(answer(asked, payload))
    while data:
        data = data[os.write(out, data) :]


def prepare(root: str) -> None:
    """Import what reading needs and no more: the packages' own `__init__` would import it all."""
    sys.path.insert(0, root)
    sys.modules["catboost.widget"] = None  # type: ignore[assignment]  # slow to import
    for name in _PACKAGES:
        package = types.ModuleType(name)
        package.__path__ = [os.path.join(root, *name.split("."))]
        sys.modules[name] = package
    from gbuq_core.numba_cache import ensure_writable_cache

    ensure_writable_cache()
    import gbuq_core.given_models.parsing
    import gbuq_core.model_files.archive  # noqa: F401


def main() -> None:
    """Read what is asked, and answer."""
    line, _, payload = sys.stdin.buffer.read().partition(b"\n")
    asked = json.loads(line)
    out = os.dup(1)
    os.dup2(2, 1)  # what libraries print is no answer
    prepare(asked["root"])  # before the limits, which are for the file
    run(asked, payload, out)


if __name__ == "__main__":
    main()
