"""MACAU: speed against scikit-learn leaf by leaf, the authors' numbers, rays out of the data.

    python -m benchmarks.macau --data-dir DIR [--only speed large parity rays]
        [--reference-dir DIR]

All of it takes a minute of an idle core. The authors' numbers for ``parity`` are looked for in
``--reference-dir`` or ``GBUQ_REFERENCE_DIR``. The time of a slider in a browser is measured by
`benchmarks.latency`. On a busy machine speed is best measured with ``--jobs 1``: LightGBM's threads
wait for each other with the processor running. The paper's table 1, the forest's knobs, the
protocol of ten features and UCI sets: ``python -m benchmarks.tables --tables macau``.
"""

from __future__ import annotations

import os
from pathlib import Path

from benchmarks import macau_novelty, macau_speed
from benchmarks.report import Row, make_parser, report

_SECTIONS = ["speed", "large", "parity", "rays"]


def main() -> None:
    """Run the sections asked for and report them."""
    parser = make_parser(__doc__.splitlines()[0], _SECTIONS)
    parser.add_argument("--jobs", type=int, help="threads of speed and large; all without it")
    parser.add_argument("--reference-dir", type=Path, default=os.environ.get("GBUQ_REFERENCE_DIR"))
    arguments = parser.parse_args()
    rows: list[Row] = []
    for section in arguments.only:
        match section:
            case "speed":
                rows += macau_speed.speed(arguments.data_dir, arguments.jobs)
            case "large":
                rows += macau_speed.large(arguments.jobs)
            case "rays":
                rows += macau_novelty.rays(arguments.data_dir)
            case _ if arguments.reference_dir is None:
                print("parity: left out, it needs --reference-dir")
            case _:
                rows += macau_novelty.parity(Path(arguments.reference_dir))
    report("MACAU", rows, arguments.json)


if __name__ == "__main__":
    main()
