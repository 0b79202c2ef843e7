"""How long it takes to start: the library, the command's help, a refused call, one name.

``python -m benchmarks.start`` runs each in a process of its own, five times after one that warms
the disk's cache, and prints the medians beside those of an empty program and of NumPy alone.
"""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from statistics import median
from timeit import repeat

from benchmarks.report import Row, make_parser, report

BAR_SECONDS = 0.4
REPEATS = 5
_GBUQ = ("-m", "gbuq_core")
_EMPTY, _NUMPY = ("-c", "pass"), ("-c", "import numpy")
# What is started, its words, and whether it has to keep the bar.
STARTS = (
    ("an empty program", _EMPTY, False),
    ("import numpy", _NUMPY, False),
    ("import gbuq_core", ("-c", "import gbuq_core"), True),
    ("gbuq --help", (*_GBUQ, "--help"), True),
    ("gbuq --version", (*_GBUQ, "--version"), True),
    ("gbuq score, refused", (*_GBUQ, "score", "gone.csv", "--target=y", "--out=o.csv"), True),
    ("one estimator", ("-c", "from gbuq_core import BoostedEnsembleRegressor"), False),
)


def start(words: tuple[str, ...]) -> None:
    """Run Python with these words, and wait for its end."""
    subprocess.run([sys.executable, *words], capture_output=True, check=False)


def main() -> None:
    """Start all of them and print the medians."""
    options = make_parser("How long it takes to start.", ["start"]).parse_args()
    seconds = {
        words: median(repeat(partial(start, words), number=1, repeat=1 + REPEATS)[1:])
        for _, words, _ in STARTS
    }
    rows = []
    for name, words, has_bar in STARTS:
        spent = seconds[words]
        empty, numpy = spent / seconds[_EMPTY], spent / seconds[_NUMPY]
        measured = f"{spent:.2f} s, {empty:.1f} times an empty program, {numpy:.1f} times NumPy"
        bar = f"at most {BAR_SECONDS:.1f} s" if has_bar else ""
        met = spent <= BAR_SECONDS if has_bar else None
        rows.append(Row(name, measured, bar, met, {"seconds": spent}))
    report("Starting", rows, options.json)


if __name__ == "__main__":
    main()
