"""IBUG: neighbours against the naive NumPy twin in the same run, and scores against its rivals.

    python -m benchmarks.ibug --data-dir DIR [--only kin8nm protein]
    python -m benchmarks.ibug --data-dir DIR --only scores [--sets concrete power ...] [--splits 5]
        [--out FILE.json] [--pgbm-python PATH]

Compile time is told apart, and processor time too, which a busy machine changes less. The authors'
times (9.4 and 59 ms a row) were measured on two cores, not in this run. The scores take an hour and
a half; with ``--out`` an interrupted run goes on where it was. NGBoost and PGBM are left out where
they are missing; PGBM 2.3 wants ``numpy<2`` and ``scikit-learn==1.4.2``, so it has an interpreter
of its own.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks import ibug_speed
from benchmarks.ibug_data import SETS
from benchmarks.report import Row, make_parser, report

_SPEED = ["kin8nm", "protein"]


def main() -> None:
    """Run the sections asked for and report them."""
    parser = make_parser(__doc__.splitlines()[0], [*_SPEED, "scores"], _SPEED)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--splits", type=int, choices=range(1, 6), default=5)
    parser.add_argument("--out", type=Path, help="where scores are kept, to go on with")
    parser.add_argument("--pgbm-python", type=Path, help="an interpreter that has pgbm")
    arguments = parser.parse_args()
    rows: list[Row] = []
    for section in arguments.only:
        if section == "kin8nm":
            rows += ibug_speed.kin8nm()
        elif arguments.data_dir is None:
            print(f"{section}: left out, it needs --data-dir")
        elif section == "protein":
            rows += ibug_speed.protein(arguments.data_dir)
        else:
            from benchmarks.ibug_scores import scores

            rows += scores(
                arguments.data_dir,
                arguments.sets,
                arguments.splits,
                arguments.out,
                arguments.pgbm_python,
            )
    report("IBUG", rows, arguments.json)


if __name__ == "__main__":
    main()
