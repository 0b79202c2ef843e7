"""kNN of paper 3 with its mean from standardised features, and from features as they are.

The authors' code standardises for the std only: the mean comes from a regressor that is fitted to
the features in their own units.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from sklearn.neighbors import KNeighborsRegressor

from benchmarks.ibug_data import Rows, load_parts
from benchmarks.protocols.ibug import COMPARABLE, PROTOCOL
from benchmarks.report import table_lines
from gbuq_core.baselines import EuclideanNeighborsRegressor
from gbuq_core.metrics import crps_gaussian, rmse
from gbuq_core.metrics.neighbour_tuning import CANDIDATES

ENERGY_CATEGORIES = (5, 7)  # orientation, and where the glazing is


class UnscaledNeighbors(KNeighborsRegressor):
    """Mean of the nearest rows in the features' own units; all of them count alike."""

    @property
    def feature_importances_(self) -> np.ndarray:
        """Ones."""
        return np.ones(self.n_features_in_)


def choose_unscaled(parts: Rows) -> UnscaledNeighbors:
    """The k of least validation RMSE, not fitted."""
    fitted = UnscaledNeighbors().fit(parts.X_fit, parts.y_fit)
    counts = [k for k in CANDIDATES if k <= len(parts.y_fit)]
    near = parts.y_fit[fitted.kneighbors(parts.X_val, counts[-1], return_distance=False)]
    errors = [rmse(parts.y_val, near[:, :k].mean(axis=1)) for k in counts]
    return UnscaledNeighbors(n_neighbors=counts[int(np.argmin(errors))])


def measure(parts: Rows, scaled_mean: bool) -> tuple[float, float]:
    """CRPS and RMSE of the test rows."""
    base = None if scaled_mean else choose_unscaled(parts)
    model = EuclideanNeighborsRegressor(base, n_important=parts.X_fit.shape[1], scoring="crps")
    model.fit(parts.X_fit, parts.y_fit, parts.X_val, parts.y_val)
    law = model.predict_distribution(parts.X_test)
    return float(crps_gaussian(parts.y_test, law.loc, law.scale)), float(
        rmse(parts.y_test, law.loc)
    )


def with_indicators(parts: Rows) -> Rows:
    """Energy with 16 columns, as in the paper: an indicator for each value of two of them."""
    values = {column: np.unique(parts.X_all[:, column]) for column in ENERGY_CATEGORIES}

    def encode(X: np.ndarray) -> np.ndarray:
        indicators = [X[:, [column]] == levels for column, levels in values.items()]
        return np.hstack([np.delete(X, ENERGY_CATEGORIES, axis=1), *indicators]).astype(float)

    X_fit, X_val, X_test = (encode(X) for X in (parts.X_fit, parts.X_val, parts.X_test))
    return parts._replace(X_fit=X_fit, X_val=X_val, X_test=X_test)


def row_of(name: str, every: list[Rows], paper: float) -> list[str]:
    """CRPS with both means beside the paper's, and RMSE of both."""
    ours, theirs = (
        np.mean([measure(parts, scaled) for parts in every], axis=0) for scaled in (True, False)
    )
    crps = [f"{ours[0]:.3f}", f"{theirs[0]:.3f}", f"{paper:g}"]
    return [name, *crps, f"{ours[1]:.2f}", f"{theirs[1]:.2f}"]


def main() -> None:
    """Print a row a set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=list(COMPARABLE), choices=COMPARABLE)
    parser.add_argument("--splits", type=int, nargs="+", default=[0, 1, 2])
    args = parser.parse_args()
    table = [["set", "CRPS, scaled mean", "CRPS, unscaled mean", "the paper", "RMSE", "unscaled"]]
    for name in args.sets:
        every = [load_parts(args.data_dir, name, split) for split in args.splits]
        paper = PROTOCOL.published[name, "knn", "crps"].value
        table.append(row_of(name, every, paper))
        if name == "energy":
            encoded = [with_indicators(parts) for parts in every]
            table.append(row_of("energy, 16 columns", encoded, paper))
    print("\n".join(table_lines(f"kNN, splits {args.splits}", table)))


if __name__ == "__main__":
    main()
