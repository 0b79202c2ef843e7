"""MACAU: speed against scikit-learn leaf by leaf, the authors' numbers, table 1, rays, UCI sets.

    python -m benchmarks.macau --data-dir DIR [--only speed parity table1 ...]
        [--reference-dir DIR] [--out FOLDER]
    python -m benchmarks.macau --data-dir DIR --only scores [--sets concrete power ...] [--splits 5]

Everything but the tables (table1, sensitivity, protocol, scores) takes a minute of an idle core;
they take some minutes each, and with ``--out`` an interrupted run goes on where it was. The
authors' numbers for ``parity`` are looked for in ``--reference-dir`` or ``GBUQ_REFERENCE_DIR``. The
time of a slider in a browser is measured by `benchmarks.latency`. On a busy machine speed is best
measured with ``--jobs 1``: LightGBM's threads wait for each other with the processor running.
"""

from __future__ import annotations

import os
from pathlib import Path

from benchmarks import macau_heteroscedastic, macau_novelty, macau_scores, macau_speed
from benchmarks.report import Row, make_parser, report

_SECTIONS = ["speed", "large", "parity", "rays", "table1", "sensitivity", "protocol", "scores"]


def main() -> None:
    """Run the sections asked for and report them."""
    parser = make_parser(__doc__.splitlines()[0], _SECTIONS)
    sets = macau_scores.SETS
    parser.add_argument("--sets", nargs="+", choices=sets, default=list(sets))
    parser.add_argument("--splits", type=int, choices=range(1, 21), default=5)
    parser.add_argument("--jobs", type=int, help="threads of speed and large; all without it")
    parser.add_argument("--seeds", type=int, choices=range(1, 21), default=5)
    parser.add_argument("--reference-dir", type=Path, default=os.environ.get("GBUQ_REFERENCE_DIR"))
    parser.add_argument("--out", type=Path, help="folder where tables are kept, to go on with")
    arguments = parser.parse_args()
    data_dir, out = arguments.data_dir, arguments.out
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    for section in arguments.only:
        kept = None if out is None else out / f"macau_{section}.json"
        match section:
            case "speed":
                rows += macau_speed.speed(data_dir, arguments.jobs)
            case "large":
                rows += macau_speed.large(arguments.jobs)
            case "rays":
                rows += macau_novelty.rays(data_dir)
            case "table1" | "sensitivity":
                rows += getattr(macau_heteroscedastic, section)(arguments.seeds, kept)
            case "protocol":
                rows += macau_novelty.protocol(kept)
            case "parity" if arguments.reference_dir is None:
                print("parity: left out, it needs --reference-dir")
            case "parity":
                rows += macau_novelty.parity(Path(arguments.reference_dir))
            case _ if data_dir is None:
                print(f"{section}: left out, it needs --data-dir")
            case _:
                rows += macau_scores.scores(data_dir, arguments.sets, arguments.splits, kept)
    report("MACAU", rows, arguments.json)


if __name__ == "__main__":
    main()
