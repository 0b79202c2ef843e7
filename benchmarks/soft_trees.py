"""Soft trees: speed, sampled functions, a step against JAX, and scores beside the paper's.

    python -m benchmarks.soft_trees --data-dir DIR [--only fit curves jax gbm power redraw]
    python -m benchmarks.soft_trees --data-dir DIR --only tables [--sets concrete power ...]
        [--methods "VST linear" ...] [--splits 3] [--quick] [--out FILE.json]

The tables take about eight minutes of an idle core, half of it with ``--quick``; with ``--out`` an
interrupted run goes on where it was. What is timed is processor time with one thread: see
`benchmarks.soft_trees_curves` and `benchmarks.soft_trees_jax`. Without JAX its part says so. The
time of a slider in a browser is measured by `benchmarks.latency`.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks import soft_trees_curves, soft_trees_jax, soft_trees_scores
from benchmarks.report import Row, make_parser, report

_SECTIONS = ["fit", "curves", "jax", "gbm", "power", "redraw", "tables"]


def jax() -> list[Row]:
    """A training step of ours against JAX's, on one core."""
    with soft_trees_jax.one_core():
        return soft_trees_jax.step_rows(repeats=5)


def main() -> None:
    """Run the sections asked for and report them."""
    parser = make_parser(__doc__.splitlines()[0], _SECTIONS)
    sets, methods = soft_trees_scores.SETS, soft_trees_scores.METHODS
    parser.add_argument("--sets", nargs="+", choices=sets, default=list(sets))
    parser.add_argument("--methods", nargs="+", choices=methods, default=list(methods))
    parser.add_argument("--splits", type=int, choices=range(1, 21), default=3)
    parser.add_argument("--quick", action="store_true", help="fewer steps, models and settings")
    parser.add_argument("--out", type=Path, help="where scores are kept, to go on with")
    arguments = parser.parse_args()
    data_dir = arguments.data_dir
    rows: list[Row] = []
    for section in arguments.only:
        if section == "jax":
            rows += jax()
        elif section not in ("power", "tables"):
            rows += getattr(soft_trees_curves, section)()
        elif data_dir is None:
            print(f"{section}: left out, it needs --data-dir")
        elif section == "power":
            rows += soft_trees_scores.power(data_dir)
        else:
            effort = soft_trees_scores.QUICK if arguments.quick else soft_trees_scores.FULL
            rows += soft_trees_scores.tables(
                data_dir, arguments.sets, arguments.methods, arguments.splits, arguments.out, effort
            )
    report("Soft trees", rows, arguments.json)


if __name__ == "__main__":
    main()
