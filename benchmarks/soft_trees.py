"""Soft trees: speed, sampled functions, a step against JAX, and one split of a UCI set.

    python -m benchmarks.soft_trees --data-dir DIR [--only fit curves jax gbm power redraw]

What is timed is processor time with one thread: see `benchmarks.soft_trees_curves` and
`benchmarks.soft_trees_jax`. Without JAX its part says so. The time of a slider in a browser is
measured by `benchmarks.latency`. Scores beside the paper's:
``python -m benchmarks.tables --tables soft_trees``.
"""

from __future__ import annotations

import time
from pathlib import Path

from benchmarks import soft_trees_curves, soft_trees_jax
from benchmarks.protocols.soft_trees import log_likelihood
from benchmarks.report import Row, load_split, parse_arguments, report
from gbuq_core.metrics import rmse
from gbuq_core.soft_trees import VariationalSoftTreeRegressor

_SECTIONS = ["fit", "curves", "jax", "gbm", "power", "redraw"]
POWER_BAR_SECONDS, POWER_PAPER = 60.0, 0.24


def jax() -> list[Row]:
    """A training step of ours against JAX's, on one core."""
    with soft_trees_jax.one_core():
        return soft_trees_jax.step_rows(repeats=5)


def power(data_dir: Path) -> list[Row]:
    """One split of the power set, depth 4: processor seconds of the fit, and the error."""
    data = load_split(data_dir, "power", 0)
    VariationalSoftTreeRegressor(depth=1, n_steps=5).fit(data.X_train[:50], data.y_train[:50])
    model = VariationalSoftTreeRegressor(depth=4, n_jobs=1, random_state=0)
    began = time.process_time()
    model.fit(data.X_train, data.y_train)
    seconds = time.process_time() - began
    spread = float(data.y_train.std())
    ratio = rmse(data.y_test, model.predict(data.X_test)) / spread
    value = log_likelihood(model, data.X_test, data.y_test, spread)
    n = len(data.y_train) + len(data.y_test)
    what = f"power, {n:,} x {data.X_train.shape[1]}, VST depth 4, one split"
    return [
        Row(
            f"{what}: fit, processor time on one core",
            f"{seconds:.1f} s ({model.fit_seconds_:.1f} s by the clock of a busy machine)",
            f"<= {POWER_BAR_SECONDS:.0f} s",
            seconds <= POWER_BAR_SECONDS,
            {"cpu_seconds": seconds, "seconds": model.fit_seconds_, "steps": model.n_steps_},
        ),
        Row(
            f"{what}: RMSE in target stds",
            f"{ratio:.3f} (log-likelihood {value:+.3f})",
            f"within 10 % of the paper's {POWER_PAPER}",
            ratio <= 1.1 * POWER_PAPER,
            {"rmse": ratio, "log_likelihood": value},
        ),
    ]


def main() -> None:
    """Run the sections asked for and report them."""
    arguments = parse_arguments(__doc__.splitlines()[0], _SECTIONS)
    rows: list[Row] = []
    for section in arguments.only:
        if section == "jax":
            rows += jax()
        elif section != "power":
            rows += getattr(soft_trees_curves, section)()
        elif arguments.data_dir is None:
            print(f"{section}: left out, it needs --data-dir")
        else:
            rows += power(arguments.data_dir)
    report("Soft trees", rows, arguments.json)


if __name__ == "__main__":
    main()
