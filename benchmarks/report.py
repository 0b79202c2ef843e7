"""What all benchmarks share: timing by medians, a printed table, a JSON file, data sets by name."""

from __future__ import annotations

import argparse
import json
import platform
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from gbuq_core.presentation import markdown_table


class Row(NamedTuple):
    """One line of a table: what was measured, what it came to, and what was asked for."""

    what: str
    measured: str
    bar: str
    met: bool | None
    numbers: dict[str, Any]


class Split(NamedTuple):
    """One train-test split of a data set."""

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def megabytes(pid: int) -> float:
    """Resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def load_split(data_dir: Path, name: str, split: int) -> Split:
    """Split ``split`` of ``<name>.csv.gz`` with the test rows of ``<name>_splits.npz``."""
    table = pd.read_csv(data_dir / f"{name}.csv.gz")
    with np.load(data_dir / f"{name}_splits.npz", allow_pickle=False) as splits:
        test_rows = splits[f"test_{split}"]
    is_test = np.zeros(len(table), bool)
    is_test[test_rows] = True
    X = table.drop(columns="target").to_numpy(dtype=np.float64, copy=True)
    y = table["target"].to_numpy(dtype=np.float64, copy=True)
    return Split(X[~is_test], y[~is_test], X[is_test], y[is_test])


def make_parser(
    description: str, sections: list[str], default: list[str] | None = None
) -> argparse.ArgumentParser:
    """The options that every benchmark takes; without ``--only`` the default sections run."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--data-dir", type=Path, help="folder of <name>.csv.gz and <name>_splits")
    parser.add_argument("--only", nargs="+", choices=sections, default=default or sections)
    parser.add_argument("--json", type=Path, help="where to write the numbers")
    return parser


def report(title: str, rows: list[Row], json_path: Path | None) -> None:
    """Print the rows as a Markdown table and write them as JSON if asked to."""
    print(f"\n{title} (Python {platform.python_version()}, {platform.machine()})\n")
    met = {None: "", True: "yes", False: "NO"}
    lines = [(row.what, row.measured, row.bar, met[row.met]) for row in rows]
    print(markdown_table([("what", "measured", "bar", "met"), *lines], "l"))
    if json_path is not None:
        content = [row._asdict() for row in rows]
        json_path.write_text(json.dumps(content, indent=1, default=float) + "\n")
