"""IBUG: neighbours against the naive NumPy twin in the same run.

    python -m benchmarks.ibug --data-dir DIR [--only kin8nm protein]

Compile time is told apart, and processor time too, which a busy machine changes less. The authors'
times (9.4 and 59 ms a row) were measured on two cores, not in this run. Scores against its rivals:
``python -m benchmarks.tables --tables ibug``.
"""

from __future__ import annotations

from benchmarks import ibug_speed
from benchmarks.report import Row, parse_arguments, report

_SECTIONS = ["kin8nm", "protein"]


def main() -> None:
    """Run the sections asked for and report them."""
    arguments = parse_arguments(__doc__.splitlines()[0], _SECTIONS)
    rows: list[Row] = []
    for section in arguments.only:
        if section == "kin8nm":
            rows += ibug_speed.kin8nm()
        elif arguments.data_dir is None:
            print(f"{section}: left out, it needs --data-dir")
        else:
            rows += ibug_speed.protein(arguments.data_dir)
    report("IBUG", rows, arguments.json)


if __name__ == "__main__":
    main()
