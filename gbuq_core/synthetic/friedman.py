"""Five features that all matter, and noise that grows with one of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gbuq_core.synthetic.draws import MAX_ROWS, generator_of, normals_from
from gbuq_core.validation import check_number


class FriedmanData(NamedTuple):
    """Rows of five features, with the truth at each row."""

    X: NDArray[np.float64]  # (n_samples, 5): uniform between 0 and 1
    y: NDArray[np.float64]  # (n_samples,)
    # `mean`, `variance`: (n_samples,): the true mean and noise variance of y at each row
    mean: NDArray[np.float64]
    variance: NDArray[np.float64]


def make_friedman(n: int = 500, noise: float = 1.0, random_state: Any = None) -> FriedmanData:
    """Friedman's first regression problem, with noise that grows with the fourth feature.

    ``y = 10 sin(pi x1 x2) + 20 (x3 - 0.5)^2 + 10 x4 + 5 x5 + 2 noise x4 N(0, 1)``.

    References
    ----------
    Friedman, "Multivariate adaptive regression splines", Annals of Statistics 19, 1991. His five
    features without meaning are left out, and his noise has one size.
    """
    rows = check_number("n", n, 2, MAX_ROWS, integer=True)
    factor = check_number("noise", noise, 0.0)
    # A line of uniforms a row, so that more rows leave the first ones alone.
    uniforms = generator_of(random_state).random((rows, 6))
    X = uniforms[:, :5].copy()
    mean = 10.0 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20.0 * (X[:, 2] - 0.5) ** 2
    mean += 10.0 * X[:, 3] + 5.0 * X[:, 4]
    std = 2.0 * factor * X[:, 3]
    y = mean + std * normals_from(uniforms[:, 5])
    return FriedmanData(X, y, mean, std**2)
