"""What compiling kernels costs, with an empty cache: ``python -m benchmarks.compiling``.

Each method's kernels are compiled by `gbuq warm` into a temporary ``NUMBA_CACHE_DIR``. Processor
seconds are those of all processes, starts included; waiting is what a person waits. The last row
is a first fit in Python, default arguments on 500 rows.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from benchmarks.report import Row, parse_arguments, report

_WARM = "from gbuq_core.__main__ import main; raise SystemExit(main(['warm', '--methods', {!r}]))"
_FIT = """
import numpy as np
from gbuq_core import BoostedEnsembleRegressor
X = np.random.default_rng(0).normal(size=(500, 3))
BoostedEnsembleRegressor(random_state=0).fit(X, X[:, 0]).predict_uncertainty(X)
"""
# One of those that share kernels, and the largest wait in seconds, where there is a bar.
_CASES = {
    "virtual_sglb": (_WARM.format("virtual_sglb"), None),
    "cg": (_WARM.format("cg"), None),
    "ibug": (_WARM.format("ibug"), None),
    "vst": (_WARM.format("vst"), None),
    "macau": (_WARM.format("macau"), None),
    "first fit": (_FIT, 12.0),
}


def measured(program: str) -> tuple[float, float]:
    """Processor seconds and seconds of a program that finds no kernel."""
    with tempfile.TemporaryDirectory() as place:
        before, began = os.times(), time.perf_counter()
        subprocess.run(
            [sys.executable, "-c", program], env={**os.environ, "NUMBA_CACHE_DIR": place},
            stdout=subprocess.DEVNULL, check=True,
        )  # fmt: skip
        after, seconds = os.times(), time.perf_counter() - began
    spent = after.children_user + after.children_system
    return spent - before.children_user - before.children_system, seconds


def main() -> None:
    """Compile each group of kernels by itself."""
    options = parse_arguments(__doc__.splitlines()[0], list(_CASES))
    rows = []
    for name in options.only:
        program, bar = _CASES[name]
        spent, seconds = measured(program)
        promise = "" if bar is None else f"{bar:.0f} s of waiting"
        rows.append(Row(
            name, f"{spent:.1f} processor s, {seconds:.1f} s", promise,
            bar is None or seconds <= bar, {"processor": spent, "seconds": seconds},
        ))  # fmt: skip
    report("Compiling kernels with an empty cache", rows, options.json)


if __name__ == "__main__":
    main()
