"""The peers of MACAU's figure 1 and table 1, and two scores that know no target."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gbuq_core.knobs import Knob
from gbuq_core.methods.forests import FOREST_KNOBS
from gbuq_core.methods.papers import DARK_GREY, GREY, MACAU
from gbuq_core.methods.record import PARTS, Builder, Method

_CONFORMAL = "gbuq_core.baselines.conformal"
_BOOSTED = "gbuq_core.baselines.boosted_distributions"
_ISOLATION = "gbuq_core.baselines.isolation"
_NOISE = ("total", "data")
_WITH_LEVELS = ("n_jobs", "random_state", "levels")


def _only(task: str, of: str, **more: Any) -> dict[str, Builder]:
    return {task: Builder(of=of, **more)}


# As on Heart and Spiral: what the paper compares.
_CATBOOST_ENSEMBLE = {
    "method": "sglb",
    "ensemble": "independent",
    "engine": "catboost",
    "stopping": None,
}

RECORDS = (
    Method(
        key="forest",
        label="Random forest",
        about="The spread between the trees of a forest: knowledge without noise.",
        paper=MACAU,
        section="section 4, figure 1",
        colour=GREY,
        builders=_only(
            "regression", "gbuq_core.baselines.interval_regressor:ForestVarianceRegressor"
        ),
        yields=("total", "knowledge", "members"),
        knobs=FOREST_KNOBS,
        packages=("lightgbm",),
        opaque=True,
    ),
    Method(
        key="quantile",
        label="Quantile regression",
        about="A forest with the pinball loss for each of seven quantiles.",
        paper=MACAU,
        section="section 4, figure 1",
        colour=DARK_GREY,
        dash="dash",
        builders=_only("regression", "gbuq_core.baselines.quantiles:QuantileForestRegressor"),
        yields=(*_NOISE, "intervals"),
        knobs=FOREST_KNOBS,
        packages=("lightgbm",),
        opaque=True,
    ),
    Method(
        key="conformal_forest",
        label="Conformal, forest",
        about="A forest, and one width for all rows from rows it has not seen.",
        paper=MACAU,
        section="section 4, table 1",
        colour=DARK_GREY,
        dash="dot",
        builders=_only(
            "regression",
            f"{_CONFORMAL}:ConformalRegressor",
            fixed={"model": "forest"},
            takes=_WITH_LEVELS,
        ),
        yields=(*_NOISE, "intervals"),
        knobs=FOREST_KNOBS,
        packages=("mapie", "lightgbm"),
        opaque=True,
    ),
    Method(
        key="conformal_linear",
        label="Conformal, linear",
        about="A linear regression, and one width for all rows from rows it has not seen.",
        paper=MACAU,
        section="section 4, table 1",
        colour=DARK_GREY,
        dash="dashdot",
        builders=_only(
            "regression",
            f"{_CONFORMAL}:ConformalRegressor",
            fixed={"model": "linear"},
            takes=_WITH_LEVELS,
        ),
        yields=(*_NOISE, "intervals"),
        packages=("mapie",),
        complete=True,
        opaque=True,
    ),
    Method(
        key="cqr",
        label="Conformal quantiles",
        about="Quantile forests, moved apart until rows they have not seen are covered.",
        paper=MACAU,
        section="section 4, table 1",
        colour=DARK_GREY,
        dash="longdash",
        builders=_only(
            "regression", f"{_CONFORMAL}:ConformalizedQuantileRegressor", takes=_WITH_LEVELS
        ),
        yields=(*_NOISE, "intervals"),
        knobs=FOREST_KNOBS,
        packages=("mapie", "lightgbm"),
        opaque=True,
    ),
    Method(
        key="gnll",
        label="GNLL",
        about="A forest, and a linear model of the log-variance of its residuals.",
        paper=MACAU,
        section="section 4, table 1",
        colour=DARK_GREY,
        dash="longdashdot",
        builders=_only("regression", "gbuq_core.baselines.gaussian_nll:GaussianNLLRegressor"),
        yields=_NOISE,
        knobs=FOREST_KNOBS,
        packages=("lightgbm",),
        complete=True,
        opaque=True,
    ),
    Method(
        key="ngboost",
        label="NGBoost",
        about="Boosting of a mean and a std along the natural gradient.",
        paper=MACAU,
        section="section 4, figure 1",
        colour=DARK_GREY,
        builders=_only("regression", f"{_BOOSTED}:NGBoostRegressor", takes=("random_state",)),
        yields=_NOISE,
        knobs=FOREST_KNOBS[:1],
        packages=("ngboost",),
        complete=True,
    ),
    Method(
        key="catboost",
        label="CatBoost",
        about="Boosting of a mean and a std, with the spread of the model's own truncations.",
        paper=MACAU,
        section="section 4, figure 1",
        colour=GREY,
        dash="dashdot",
        builders={
            "regression": Builder(
                of=f"{_BOOSTED}:CatBoostUncertaintyRegressor",
                at_most={"n_members": ("n_trees", 2)},
            ),
            # An ensemble of SGLB models trained by CatBoost's code, as on Heart and Spiral.
            "ensemble": Builder(
                of="gbuq_core:BoostedEnsembleRegressor",
                fixed=_CATBOOST_ENSEMBLE,
            ),
            "classification": Builder(
                of="gbuq_core:BoostedEnsembleClassifier",
                fixed=_CATBOOST_ENSEMBLE,
            ),
        },
        yields=PARTS,
        classes_yield=(*PARTS, "members"),
        knobs=(
            replace(FOREST_KNOBS[0], low=4),  # two members need twice as many trees
            Knob("depth", "Depth", "integer", 3, 1, 12),
            Knob("n_members", "Members", "integer", 10, 2, 1000),
        ),
        packages=("catboost",),
        opaque=True,
    ),
    Method(
        key="isolation",
        label="Isolation forest",
        about="How few random cuts set a row apart from the training rows.",
        paper=MACAU,
        section="section 4.2",
        colour=GREY,
        dash="2px 2px",
        builders=_only("novelty", f"{_ISOLATION}:IsolationForestScore"),
        yields=("novelty",),
        knobs=(FOREST_KNOBS[0], Knob("max_rows", "Rows of a tree", "integer", 256, 2, 1_000_000)),
        packages=("sklearn",),
    ),
    Method(
        key="distance",
        label="Nearest rows",
        about="The distance to the nearest training rows.",
        paper=MACAU,
        section="section 4.2",
        colour=DARK_GREY,
        dash="2px 2px",
        builders=_only("novelty", f"{_ISOLATION}:DistanceScore", takes=("n_jobs",)),
        yields=("novelty",),
        knobs=(Knob("n_neighbors", "Neighbours", "integer", 5, 1, 10_000),),
        packages=("sklearn",),
        complete=True,
    ),
)
