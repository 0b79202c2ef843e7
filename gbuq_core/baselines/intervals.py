"""The peers of MACAU's figure 1 and table 1 by name: what they are, and how to make one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any, NamedTuple

from gbuq_core.baselines.boosted_distributions import CatBoostUncertaintyRegressor, NGBoostRegressor
from gbuq_core.baselines.conformal import ConformalizedQuantileRegressor, ConformalRegressor
from gbuq_core.baselines.gaussian_nll import GaussianNLLRegressor
from gbuq_core.baselines.interval_regressor import ForestVarianceRegressor
from gbuq_core.baselines.isolation import DistanceScore, IsolationForestScore
from gbuq_core.baselines.quantiles import QuantileForestRegressor
from gbuq_core.validation import check_choice

_NOISE = ("total", "data")
_ALL = ("total", "data", "knowledge")


class Baseline(NamedTuple):
    """One peer.

    Attributes
    ----------
    label : str
        Its name on figures.
    about : str
        What it does, in one sentence.
    package : str
        The library it needs, as it is imported.
    make : callable
        ``make(n_trees, subsample, seed, n_jobs)`` gives an estimator that is not fitted.
    has : tuple of str
        Which of "total", "data", "knowledge" and "novelty" it tells. A part of the uncertainty
        that it has not is 0 in what it predicts.
    """

    label: str
    about: str
    package: str
    make: Callable[[int, float, int, int | None], Any]
    has: tuple[str, ...]


def _make_forest(n_trees: int, subsample: float, seed: int, n_jobs: int | None) -> Any:
    return ForestVarianceRegressor(n_trees, subsample=subsample, random_state=seed, n_jobs=n_jobs)


def _make_quantile(n_trees: int, subsample: float, seed: int, n_jobs: int | None) -> Any:
    return QuantileForestRegressor(n_trees, subsample=subsample, random_state=seed, n_jobs=n_jobs)


def _make_conformal_forest(n_trees: int, subsample: float, seed: int, n_jobs: int | None) -> Any:
    return ConformalRegressor(
        "forest", n_trees, subsample=subsample, random_state=seed, n_jobs=n_jobs
    )


def _make_conformal_linear(n_trees: int, subsample: float, seed: int, n_jobs: int | None) -> Any:
    return ConformalRegressor("linear", random_state=seed, n_jobs=n_jobs)


def _make_cqr(n_trees: int, subsample: float, seed: int, n_jobs: int | None) -> Any:
    return ConformalizedQuantileRegressor(
        n_trees, subsample=subsample, random_state=seed, n_jobs=n_jobs
    )


def _make_gnll(n_trees: int, subsample: float, seed: int, n_jobs: int | None) -> Any:
    return GaussianNLLRegressor(n_trees, subsample=subsample, random_state=seed, n_jobs=n_jobs)


def _make_ngboost(n_trees: int, subsample: float, seed: int, n_jobs: int | None) -> Any:
    return NGBoostRegressor(n_trees, subsample=subsample, random_state=seed)


def _make_catboost(n_trees: int, subsample: float, seed: int, n_jobs: int | None) -> Any:
    members = max(2, min(10, n_trees // 2))
    return CatBoostUncertaintyRegressor(
        n_trees, subsample=subsample, n_members=members, random_state=seed, n_jobs=n_jobs
    )


def _make_isolation(n_trees: int, subsample: float, seed: int, n_jobs: int | None) -> Any:
    return IsolationForestScore(n_trees, random_state=seed, n_jobs=n_jobs)


def _make_distance(n_trees: int, subsample: float, seed: int, n_jobs: int | None) -> Any:
    return DistanceScore(n_jobs=n_jobs)


BASELINES: Mapping[str, Baseline] = MappingProxyType(
    {
        "forest": Baseline(
            "Random forest",
            "The spread between the trees of a forest: knowledge without noise.",
            "lightgbm",
            _make_forest,
            ("total", "knowledge"),
        ),
        "quantile": Baseline(
            "Quantile regression",
            "A forest with the pinball loss for each of seven quantiles.",
            "lightgbm",
            _make_quantile,
            _NOISE,
        ),
        "conformal_forest": Baseline(
            "Conformal, forest",
            "A forest, and one width for all rows from rows it has not seen.",
            "mapie",
            _make_conformal_forest,
            _NOISE,
        ),
        "conformal_linear": Baseline(
            "Conformal, linear",
            "A linear regression, and one width for all rows from rows it has not seen.",
            "mapie",
            _make_conformal_linear,
            _NOISE,
        ),
        "cqr": Baseline(
            "Conformal quantiles",
            "Quantile forests, moved apart until rows they have not seen are covered.",
            "mapie",
            _make_cqr,
            _NOISE,
        ),
        "gnll": Baseline(
            "GNLL",
            "A forest, and a linear model of the log-variance of its residuals.",
            "lightgbm",
            _make_gnll,
            _NOISE,
        ),
        "ngboost": Baseline(
            "NGBoost",
            "Boosting of a mean and a std along the natural gradient.",
            "ngboost",
            _make_ngboost,
            _NOISE,
        ),
        "catboost": Baseline(
            "CatBoost",
            "Boosting of a mean and a std, with the spread of the model's own truncations.",
            "catboost",
            _make_catboost,
            _ALL,
        ),
        "isolation": Baseline(
            "Isolation forest",
            "How few random cuts set a row apart from the training rows.",
            "sklearn",
            _make_isolation,
            ("novelty",),
        ),
        "distance": Baseline(
            "Nearest rows",
            "The distance to the nearest training rows.",
            "sklearn",
            _make_distance,
            ("novelty",),
        ),
    }
)


def baseline_missing(key: str) -> str:
    """One sentence if the library of a baseline is not installed, else nothing.

    Raises
    ------
    InvalidParameter
        If there is no baseline of that name.

    Examples
    --------
    >>> baseline_missing("distance")
    ''
    """
    check_choice("key", key, tuple(BASELINES))
    baseline = BASELINES[key]
    # The conformal ones with a forest need both; LightGBM itself is a requirement of all.
    if find_spec(baseline.package) is not None:
        return ""
    return (
        f"{baseline.label} needs the package {baseline.package}, which is not installed: "
        f"pip install {baseline.package}."
    )
