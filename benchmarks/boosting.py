"""Boosted ensembles against CatBoost: speed, knobs without a refit, scores, one big table.

    python -m benchmarks.boosting --data-dir DIR [--only heart knobs ...]

Compile time is left out: every kernel runs once before it is timed. Both sides use all cores.
The time of a slider in a browser is measured by `benchmarks.latency`, frames a second by
`benchmarks.canvas`.
"""

from __future__ import annotations

from benchmarks import boosting_scores, boosting_speed
from benchmarks.report import Row, parse_arguments, report

_SECTIONS = [
    "table",
    "heart",
    "knobs",
    "stale",
    "spiral",
    "protein",
    "nll",
]  # table first: peak memory


def main() -> None:
    """Run the sections asked for and report them."""
    arguments = parse_arguments(__doc__.splitlines()[0], _SECTIONS)
    rows: list[Row] = []
    for section in arguments.only:
        if section in ("protein", "nll"):
            if arguments.data_dir is None:
                print(f"{section}: left out, it needs --data-dir")
                continue
            run = boosting_speed.protein if section == "protein" else boosting_scores.nll
            rows += run(arguments.data_dir)
        else:
            rows += getattr(boosting_speed, section)()
    report("Boosted ensembles", rows, arguments.json)


if __name__ == "__main__":
    main()
