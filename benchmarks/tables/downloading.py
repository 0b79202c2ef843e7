"""Sets that the project may not ship: fetched, checked against their checksums, and written down.

A set is ``<name>.csv.gz``, with the target as its last column, and the first paper's sets have
``<name>_splits.npz`` beside it. Nobody has to ship those splits: they are draws of NumPy's old
generator with the seed 1, which is what the papers' folders of splits were made with.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from http.client import HTTPException
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.datasets import fetch_california_housing, fetch_openml

from benchmarks.protocols import data

SEED_OF_SPLITS = 1
TRAINING_SHARE = 0.9


class NotFetched(Exception):
    """A set that could not be had; the message is one sentence."""


class Source(NamedTuple):
    """Where a set comes from, and what has to come.

    openml : the arguments of `sklearn.datasets.fetch_openml`; None for California housing, which
    scikit-learn fetches and checks by itself. columns : features. target : its column's place.
    decimals : of the values, in the papers' folder.
    """

    openml: dict[str, Any] | None
    columns: int
    target: int
    decimals: int


SOURCES = {
    "boston": Source({"data_id": 531}, 13, 13, 5),
    "concrete": Source({"data_id": 4353}, 8, 8, 2),
    "energy": Source({"data_id": 1472}, 8, 8, 2),
    "power": Source({"name": "combined_cycle_power_plant", "version": 1}, 4, 4, 2),
    "protein": Source({"data_id": 42903}, 9, 0, 5),
    "wine": Source({"data_id": 40691}, 11, 11, 9),
    "california": Source(None, 8, 8, 12),
}
# Of the rows that the papers' splits are of (`checksum`); California housing has no such splits.
SHA256 = {
    "boston": "832e894115c56dd24ec63848d4a3d9bd921d268d0be1bee2a8f4ee5ea318f5f7",
    "concrete": "d0e2d2f0f50277624d7d00b98c4e8b66465e8d5f2f51738500552b8b10a4689b",
    "energy": "3563209cb65c108b72e6ee45f56f12e53c3f346f10b6b30a79ec5b7c0a0a1dd9",
    "power": "d3c75624ea5df1256c9b8e81560e1f9381014565c5f558d3293831fa521b82e9",
    "protein": "f6b5464cc80059ab37be9e962d49b74965e32d44b1124dda897f7a4f28223177",
    "wine": "ffdd0f059716d8102239eb80e54e7bee8598d43763b3ecf33ddcb8998741c4aa",
}


def checksum(rows: np.ndarray) -> str:
    """The SHA-256 of rows as little-endian doubles, row after row, with the target last.

    >>> checksum(np.zeros((1, 2)))[:8]
    '374708ff'
    """
    return hashlib.sha256(np.ascontiguousarray(rows, dtype="<f8").tobytes()).hexdigest()


def draw_splits(n_rows: int, n_splits: int) -> dict[str, np.ndarray]:
    """The test rows of each split by the names of the file: the last tenth of a permutation.

    >>> draw_splits(506, 1)["test_0"][:5].tolist()  # of boston
    [431, 115, 470, 216, 264]
    """
    rng = np.random.RandomState(SEED_OF_SPLITS)
    first = round(TRAINING_SHARE * n_rows)
    return {
        f"test_{split}": rng.choice(n_rows, n_rows, replace=False)[first:]
        for split in range(n_splits)
    }


def fetch_rows(name: str, cache: Path) -> np.ndarray:
    """The rows of a set with the target last. Libraries keep what they fetch in ``cache``."""
    source = SOURCES[name]
    if source.openml is None:
        table = fetch_california_housing(data_home=cache, as_frame=True).frame
    else:
        table = fetch_openml(**source.openml, data_home=cache, as_frame=True, parser="auto").frame
    values = table.apply(pd.to_numeric).to_numpy(dtype=np.float64)
    features = np.delete(values, source.target, axis=1)[:, : source.columns]
    return np.round(np.column_stack([features, values[:, source.target]]), source.decimals) + 0.0


def fetch_set(
    name: str, folder: Path, fetch: Callable[[str, Path], np.ndarray] = fetch_rows
) -> str:
    """Fetch a set and write its files; returns a sentence that says what came."""
    source = SOURCES[name]
    cache = folder / "downloads"
    try:
        cache.mkdir(parents=True, exist_ok=True)
        rows = fetch(name, cache)
    except (OSError, HTTPException, ValueError, KeyError, IndexError) as error:
        # The first two are a network's; the others come from a set that looks different.
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise NotFetched(
            f"{name} could not be fetched ({reason[0].rstrip('.')}): copy {name}.csv.gz into "
            f"{folder}, or leave it out with --sets."
        ) from error
    digest = checksum(rows)
    if rows.shape != (data.ROWS[name], source.columns + 1):
        raise NotFetched(
            f"What came for {name} has {len(rows):,} rows in place of {data.ROWS[name]:,}, or "
            f"other columns: copy {name}.csv.gz into {folder}."
        )
    if SHA256.get(name, digest) != digest:
        raise NotFetched(
            f"What came for {name} is not the papers' set (its SHA-256 is {digest[:8]}..., not "
            f"{SHA256[name][:8]}...), so their splits do not fit it: copy {name}.csv.gz and "
            f"{name}_splits.npz into {folder}."
        )
    if name in data.SPLITS:
        np.savez(folder / f"{name}_splits.npz", **draw_splits(len(rows), data.SPLITS[name]))
    columns = [*(f"x{k}" for k in range(source.columns)), "target"]
    part = cache / f"{name}.csv.gz"  # a set is in the folder whole or not at all
    pd.DataFrame(rows, columns=columns).to_csv(part, index=False)
    part.replace(folder / part.name)
    return f"{name}: {len(rows):,} rows came, with the SHA-256 {digest}."


def fetch_missing(
    names: Iterable[str],
    folder: Path,
    say: Callable[[str], None],
    fetch: Callable[[str, Path], np.ndarray] = fetch_rows,
) -> None:
    """Fetch those sets that the folder does not have."""
    for name in names:
        if name in SOURCES and not (folder / f"{name}.csv.gz").is_file():
            say(fetch_set(name, folder, fetch))
