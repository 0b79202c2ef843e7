"""Compute what each page shows before anything is fitted, and write it beside its experiment.

``python -m benchmarks.openings`` writes all of them; ``--only heart/opening`` one. Run it after a
change of a method, an experiment's first settings or its records: `tests/experiments/test_opening`
tells. Which processor and BLAS wrote each file is noted in ``openings_written_on.txt``: others sum
in another order, and sampled functions differ from there on.
"""

from __future__ import annotations

import time
from pathlib import Path

import llvmlite.binding as llvm
import numba
import scipy.linalg  # noqa: F401 (loads its BLAS, which is another one than NumPy's)
from threadpoolctl import threadpool_info

from benchmarks.report import Row, make_parser, report
from demos.first_steps import FIRST_STEPS
from demos.lesson import ComputedStep
from gbuq_core.study.beyond import BEYOND, LOOK
from gbuq_core.study.gaussians import GAUSSIANS
from gbuq_core.study.heart import HEART
from gbuq_core.study.heteroscedastic import HETEROSCEDASTIC
from gbuq_core.study.neighbours import OPENING as NEIGHBOURS
from gbuq_core.study.neighbours import SEEDS
from gbuq_core.study.novelty import NOVELTY
from gbuq_core.study.own_points import OPENING as OWN_POINTS
from gbuq_core.study.soft_trees import SOFT_TREES
from gbuq_core.study.spiral import SPIRAL
from gbuq_core.study.two_clocks import TWO_CLOCKS
from gbuq_core.study.wave import WAVE

MOST_BYTES = 300_000  # of all files of a page
MOST_BYTES_OF_PAGES, MOST_BYTES_OF_LESSONS = 3_000_000, 2_000_000
WRITTEN_ON = Path(__file__).with_name("openings_written_on.txt")
STUDIES = (
    HEART,
    BEYOND,
    GAUSSIANS,
    HETEROSCEDASTIC,
    NOVELTY,
    TWO_CLOCKS,
    SPIRAL,
    WAVE,
    SOFT_TREES,
)
OPENINGS = {
    f"{opening.name}/{opening.file}": opening
    for opening in (
        LOOK,
        *(opening for study in STUDIES for opening in (study.opening, study.seeds.opening)),
        *(NEIGHBOURS, SEEDS.opening, OWN_POINTS),
        *FIRST_STEPS.values(),
    )
}


def describe_processor() -> str:
    """What the last digits depend on: for which processor numba and BLAS compute."""
    processor = numba.config.CPU_NAME or llvm.get_host_cpu_name()
    parts = {
        f"OpenBLAS {library['version']} for {library['architecture']}"
        for library in threadpool_info()
        if library["internal_api"] == "openblas"
    }
    return ", ".join([f"numba {numba.__version__} for {processor}", *sorted(parts)])


def written_on() -> dict[str, str]:
    """Of each stored file what `describe_processor` said when it was written."""
    lines = WRITTEN_ON.read_text(encoding="utf-8").splitlines()
    return dict(line.split(": ", 1) for line in lines)


def main() -> None:
    """Write the files."""
    options = make_parser(__doc__.splitlines()[0], [*OPENINGS]).parse_args()
    rows = []
    for name in options.only:
        began = time.perf_counter()
        content = OPENINGS[name].content()
        OPENINGS[name].path.write_bytes(content)
        noted = written_on() | {name: describe_processor()}
        lines = [f"{each}: {noted[each]}\n" for each in OPENINGS if each in noted]
        WRITTEN_ON.write_text("".join(lines), encoding="utf-8")
        seconds, size = time.perf_counter() - began, len(content)
        most = MOST_BYTES_OF_LESSONS if OPENINGS[name].kind is ComputedStep else MOST_BYTES
        rows.append(
            Row(
                name,
                f"{size / 1000:.0f} kB, computed in {seconds:.1f} s",
                f"{most / 1000:.0f} kB",
                size <= most,
                {"bytes": size, "seconds": seconds},
            )
        )
    report("Openings", rows, options.json)


if __name__ == "__main__":
    main()
