"""Compute what each page shows before anything is fitted, and write it beside its experiment.

``python -m benchmarks.openings`` writes all of them; ``--only heart/opening`` one. Run it after a
change of a method, an experiment's first settings or its records: `tests/experiments/test_opening`
tells.
"""

from __future__ import annotations

import time

from benchmarks.report import Row, make_parser, report
from gbuq_core.experiments.heart.fit import OPENING as HEART
from gbuq_core.experiments.heteroscedastic.fit import MEASURED as HETEROSCEDASTIC_SCORES
from gbuq_core.experiments.heteroscedastic.fit import OPENING as HETEROSCEDASTIC
from gbuq_core.experiments.two_clocks.fit import OPENING as TWO_CLOCKS
from gbuq_core.experiments.two_clocks.scores import SEEDS as TWO_CLOCKS_SEEDS
from gbuq_core.experiments.wave.fit import OPENING as WAVE

MOST_BYTES = 300_000
OPENINGS = {
    f"{opening.name}/{opening.file}": opening
    for opening in (
        *(WAVE, HEART, TWO_CLOCKS, TWO_CLOCKS_SEEDS),
        *(HETEROSCEDASTIC, HETEROSCEDASTIC_SCORES),
    )
}


def main() -> None:
    """Write the files."""
    options = make_parser(__doc__.splitlines()[0], [*OPENINGS]).parse_args()
    rows = []
    for name in options.only:
        began = time.perf_counter()
        content = OPENINGS[name].content()
        OPENINGS[name].path.write_bytes(content)
        taken, size = time.perf_counter() - began, len(content)
        rows.append(Row(
            name, f"{size / 1000:.0f} kB, computed in {taken:.1f} s", f"{MOST_BYTES / 1000:.0f} kB",
            size <= MOST_BYTES, {"bytes": size, "seconds": taken},
        ))  # fmt: skip
    report("Openings", rows, options.json)


if __name__ == "__main__":
    main()
