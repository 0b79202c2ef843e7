"""A small fitted model of every kind that can be saved, and what it says of rows."""

import dataclasses
import functools
import warnings

import numpy as np
import pandas as pd
from catboost import CatBoostClassifier, CatBoostRegressor
from lightgbm import LGBMClassifier, LGBMRegressor, early_stopping
from saving_parts import saved
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from xgboost import XGBClassifier, XGBRegressor

from gbuq_core import (
    BoostedEnsembleClassifier,
    BoostedEnsembleRegressor,
    CalibratedRegressor,
    IBUGRegressor,
    MacauClassifier,
    MacauRegressor,
    StackedClassifier,
    StackedRegressor,
    UnfamiliarityScore,
    VariationalSoftGBMRegressor,
    VariationalSoftTreeClassifier,
    VariationalSoftTreeRegressor,
    VirtualEnsemble,
)
from gbuq_core.baselines import (
    AveragingRegressor,
    CatBoostUncertaintyRegressor,
    ConformalizedQuantileRegressor,
    ConformalRegressor,
    DistanceScore,
    EuclideanNeighborsRegressor,
    ForestEnsembleClassifier,
    ForestEnsembleRegressor,
    ForestVarianceRegressor,
    GaussianNLLRegressor,
    GaussianProcessBaseline,
    IsolationForestScore,
    NGBoostRegressor,
    QuantileForestRegressor,
    XBARTRegressor,
)
from gbuq_core.trees.importers import leaf_source

T = 12
CAT = {
    "iterations": T,
    "depth": 3,
    "verbose": 0,
    "allow_writing_files": False,
    "thread_count": 1,
    "random_seed": 0,
}
NORMAL = {"loss_function": "RMSEWithUncertainty"}
LGB = {"n_estimators": T, "num_leaves": 7, "n_jobs": 1, "verbose": -1}
XGB = {"n_estimators": T, "max_depth": 3, "n_jobs": 1}
OWN = {"n_members": 2, "n_trees": T, "depth": 3, "stopping": None, "random_state": 0}
CLOCKS = {"n_members": 2, "n_trees": T, "depth": 2, "random_state": 0}
SOFT = {"depth": 2, "rank": 2, "n_steps": 60, "n_draws": 10, "random_state": 0}
LEAVES = {"n_trees": 8, "max_leaves": 6, "random_state": 0}
SMALL = {"n_trees": 6, "random_state": 0}
LEVELS = {"levels": (0.5, 0.8)}


def table(n, seed):
    """Three columns of numbers with names, and a target whose noise depends on the second."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b c", "d"])
    y = 5.0 + X["a"] + 0.3 * (1.0 + (X["b c"] > 0.0)) * rng.normal(size=n)
    return X, y.to_numpy()


def mixed(X):
    """The same rows with text, many levels, gaps and flags."""
    shop = (np.abs(X["b c"]) * 40).astype(int) % 40
    return X.assign(
        a=X["a"].where(X["d"] < 1.2),
        colour=np.where(X["d"] > 0.0, "red", "<b>"),
        shop=shop,
        open=X["b c"] > 0.3,
    )


X, Y = table(150, 0)
HELD = table(60, 1)
NEW = table(20, 2)[0]
TWO = np.where(Y > 5.0, "yes", "no")
THREE = np.array(["low", "middle", "high"])[np.digitize(Y, [4.5, 5.5])]
MIXED = mixed(X)
GROUPS = {"categorical_features": ["colour", "shop", "open"]}


def on(model, *data, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a clock that stops at the last tree
        return model.fit(*(data or (X, Y)), **options)


def ibug(base, *held, **options):
    model = IBUGRegressor(base, random_state=0, n_jobs=1, **options)
    return model.fit(X.to_numpy(), Y, *(np.asarray(part) for part in held))


def fitted(base):
    return base.fit(X.to_numpy(), Y)


def stopped(base, **options):
    held = [(HELD[0].to_numpy(), HELD[1])]
    return base.fit(X.to_numpy(), Y, eval_set=held, **options)


def calibrated(base, method="scale", **options):
    return on(CalibratedRegressor(base, method, random_state=0, **options))


def soft():
    return VariationalSoftTreeRegressor(**SOFT)


def average():
    members = [
        ("ibug", IBUGRegressor(LGBMRegressor(**LGB), random_state=0)),
        ("boosted", BoostedEnsembleRegressor(**OWN)),
        ("near", EuclideanNeighborsRegressor()),
    ]
    return AveragingRegressor(members, random_state=0).fit(X, Y)


def empty_leaves():
    """A forest of half of the rows, so that some leaves are empty."""
    forest = LGBMRegressor(
        boosting_type="rf",
        n_estimators=8,
        bagging_freq=1,
        bagging_fraction=0.5,
        verbose=-1,
        min_child_samples=2,
        random_state=0,
    ).fit(X, Y)
    return MacauRegressor("basic", forest, tail="clip").fit(X[:40], Y[:40])


def virtual(model, **options):
    return VirtualEnsemble(fitted(model), **{"step": 2, "start": 0.25, **options})


# name: (the fitted model, the rows that it is asked about)
MODELS = {
    "boosted": lambda: on(BoostedEnsembleRegressor(**OWN, **GROUPS), MIXED, Y),
    "boosted virtual": lambda: on(
        BoostedEnsembleRegressor(**{**OWN, "n_trees": 30}, ensemble="virtual", truncation_step=5)
    ),
    "boosted cyclical": lambda: on(
        BoostedEnsembleRegressor(**OWN, method="cbsglb", cycle_length=4)
    ),
    "stacked": lambda: on(
        StackedRegressor(BoostedEnsembleRegressor(**OWN), random_state=0), MIXED[:60], Y[:60]
    ),
    "stacked classes": lambda: on(
        StackedClassifier(BoostedEnsembleClassifier(**OWN), random_state=0), MIXED[:60], TWO[:60]
    ),
    "boosted clocks": lambda: on(BoostedEnsembleRegressor(**CLOCKS)),
    "boosted cyclical clocks": lambda: on(
        BoostedEnsembleRegressor(**CLOCKS, method="cbsglb", cycle_length=4, burn_in_cycles=1)
    ),
    "boosted catboost clocks": lambda: on(
        BoostedEnsembleRegressor(**CLOCKS, engine="catboost", target="log"), X, np.exp(Y / 3)
    ),
    "boosted balanced": lambda: on(
        BoostedEnsembleClassifier(
            **CLOCKS, ensemble="virtual", truncation_step=2, class_weight="balanced"
        ),
        X,
        THREE,
    ),
    "boosted log": lambda: on(BoostedEnsembleRegressor(**OWN, target="log"), X, np.exp(Y / 3)),
    "boosted catboost": lambda: on(BoostedEnsembleRegressor(**OWN, engine="catboost")),
    "boosted two": lambda: on(BoostedEnsembleClassifier(**OWN), X, TWO),
    "boosted three": lambda: on(BoostedEnsembleClassifier(**OWN, **GROUPS), MIXED, THREE),
    "boosted class clocks": lambda: on(
        BoostedEnsembleClassifier(**CLOCKS, class_weight={"yes": 2.0, "no": 1.0}), X, TWO
    ),
    "virtual catboost": lambda: virtual(
        CatBoostRegressor(**CAT, **NORMAL, posterior_sampling=True)
    ),
    "virtual catboost classes": lambda: VirtualEnsemble(CatBoostClassifier(**CAT).fit(X, TWO), 2),
    "virtual lightgbm": lambda: virtual(LGBMRegressor(**LGB)),
    "virtual lightgbm classes": lambda: VirtualEnsemble(LGBMClassifier(**LGB).fit(X, THREE), 2),
    "virtual xgboost": lambda: virtual(XGBRegressor(**XGB)),
    "virtual xgboost stopped": lambda: VirtualEnsemble(
        stopped(
            XGBRegressor(**{**XGB, "n_estimators": 40}, early_stopping_rounds=2, learning_rate=0.7),
            verbose=False,
        ),
        1,
        0.0,
    ),
    "virtual xgboost classes": lambda: VirtualEnsemble(
        XGBClassifier(**XGB).fit(X, np.digitize(Y, [4.5, 5.5])), 2
    ),
    "virtual histogram": lambda: virtual(HistGradientBoostingRegressor(max_iter=T)),
    "ibug": lambda: ibug(None),
    "ibug catboost": lambda: ibug(CatBoostRegressor(**CAT), posterior="tune"),
    "ibug lightgbm": lambda: ibug(LGBMRegressor(**LGB), scoring="crps"),
    "ibug stopped lightgbm": lambda: ibug(
        stopped(
            LGBMRegressor(**{**LGB, "n_estimators": 40}, learning_rate=0.7),
            callbacks=[early_stopping(2, verbose=False)],
        ),
        *HELD,
    ),
    "ibug booster": lambda: ibug(fitted(LGBMRegressor(**LGB)).booster_, *HELD),
    "ibug xgboost": lambda: ibug(XGBRegressor(**XGB), n_trees_sampled=7, tree_order="random"),
    "ibug source": lambda: ibug(leaf_source(fitted(XGBRegressor(**XGB)).get_booster()), *HELD),
    "ibug forest": lambda: ibug(RandomForestRegressor(T, max_depth=5, random_state=0)),
    "ibug extra trees": lambda: ibug(
        ExtraTreesRegressor(T, max_depth=5, random_state=0), posterior="student-t"
    ),
    "ibug gradient boosting": lambda: ibug(
        GradientBoostingRegressor(n_estimators=T, loss="huber", random_state=0)
    ),
    "ibug from zero": lambda: ibug(
        GradientBoostingRegressor(n_estimators=T, init="zero", random_state=0)
    ),
    "ibug histogram": lambda: ibug(HistGradientBoostingRegressor(max_iter=T)),
    "ibug frozen": lambda: ibug(
        FrozenEstimator(fitted(RandomForestRegressor(T, max_depth=4, random_state=0))), *HELD
    ),
    "ibug own": lambda: ibug(BoostedEnsembleRegressor(**OWN), n_neighbors=8),
    "ibug fitted own": lambda: ibug(fitted(BoostedEnsembleRegressor(**OWN)), *HELD),
    "ibug untuned": lambda: IBUGRegressor(fitted(LGBMRegressor(**LGB)), n_neighbors=6).fit(
        X.to_numpy(), Y
    ),
    "ibug wide": lambda: IBUGRegressor(  # more than 255 leaves a tree: codes of two bytes
        RandomForestRegressor(3, random_state=0), n_neighbors=5, random_state=0
    ).fit(*(np.asarray(part) for part in table(700, 4))),
    "ibug weighted text": lambda: IBUGRegressor(LGBMRegressor(**LGB), random_state=0).fit(
        MIXED[["a", "colour"]], Y, sample_weight=np.arange(150) % 5 / 2.0
    ),
    "macau": lambda: MacauRegressor(**LEAVES).fit(X, Y),
    "macau path": lambda: MacauRegressor(**LEAVES, leaf_features="path").fit(X, Y),
    "macau mixed leaves": lambda: MacauRegressor(
        n_trees=8, max_leaves=30, min_child_samples=2, random_state=0
    ).fit(X, Y),
    "macau text": lambda: MacauRegressor(**LEAVES).fit(MIXED[["a", "colour"]], Y),
    "macau empty leaves": empty_leaves,
    "macau two": lambda: MacauClassifier(**LEAVES).fit(X, TWO),
    "macau three": lambda: MacauClassifier(**LEAVES).fit(X, THREE),
    "macau basic classes": lambda: MacauClassifier("basic", **LEAVES).fit(X, THREE),
    "soft": lambda: soft().fit(MIXED, Y),
    "soft mean": lambda: VariationalSoftTreeRegressor(**SOFT, output="mean", leaf="constant").fit(
        X, Y
    ),
    "soft classes": lambda: VariationalSoftTreeClassifier(**SOFT).fit(
        X, np.digitize(Y, [5, 6]) * 2
    ),
    "soft sum": lambda: VariationalSoftGBMRegressor(**SOFT, n_trees=3).fit(X, Y),
    "calibrated": lambda: calibrated(BoostedEnsembleRegressor(**OWN)),
    "calibrated clocks": lambda: calibrated(BoostedEnsembleRegressor(**OWN), "two_clocks"),
    "calibrated conformal": lambda: calibrated(BoostedEnsembleRegressor(**OWN), "conformal"),
    "calibrated isotonic": lambda: calibrated(
        BoostedEnsembleRegressor(**OWN), "isotonic", tails="normal"
    ),
    "calibrated weights": lambda: on(
        CalibratedRegressor(BoostedEnsembleRegressor(**OWN), "conformal", random_state=0),
        sample_weight=np.arange(150) % 5,
    ),
    "calibrated fitted": lambda: calibrated(on(BoostedEnsembleRegressor(**OWN)), "two_clocks"),
    "calibrated frozen": lambda: calibrated(FrozenEstimator(on(BoostedEnsembleRegressor(**OWN)))),
    "calibrated catboost": lambda: calibrated(CatBoostRegressor(**CAT, **NORMAL), "two_clocks"),
    "calibrated fitted catboost": lambda: calibrated(
        fitted(CatBoostRegressor(**CAT, **NORMAL)), "conformal"
    ),
    "calibrated own shape": lambda: calibrated(soft(), shape="own"),
    "calibrated ibug": lambda: calibrated(
        IBUGRegressor(RandomForestRegressor(T, random_state=0), random_state=0)
    ),
    "unfamiliarity": lambda: UnfamiliarityScore(
        ["range", "distance", "knowledge"], random_state=3
    ).fit(MIXED[:60], Y[:60]),
    "unfamiliarity of classes": lambda: UnfamiliarityScore(
        ["novelty", "affinity"], random_state=3
    ).fit(X[:60], THREE[:60]),
    "forest variance": lambda: ForestVarianceRegressor(**SMALL).fit(X, Y),
    "no split": lambda: ForestVarianceRegressor(**SMALL, min_child_samples=149).fit(X, Y),
    "gaussian nll": lambda: GaussianNLLRegressor(**SMALL).fit(X, Y),
    "quantiles": lambda: QuantileForestRegressor(**SMALL, quantiles=(0.1, 0.6)).fit(X, Y),
    "conformal": lambda: ConformalRegressor(**SMALL, **LEVELS).fit(X, Y),
    "linear conformal": lambda: ConformalRegressor("linear", **SMALL, **LEVELS).fit(X, Y),
    "moved quantiles": lambda: ConformalizedQuantileRegressor(**SMALL, **LEVELS).fit(X, Y),
    "catboost": lambda: CatBoostUncertaintyRegressor(20, random_state=0, n_jobs=1).fit(X, Y),
    "ngboost": lambda: NGBoostRegressor(n_trees=4, subsample=0.5, random_state=0).fit(X, Y),
    "forests": lambda: ForestEnsembleRegressor(3, 4, random_state=0).fit(X, Y),
    "forests of text": lambda: ForestEnsembleRegressor(3, 2, independent=True, random_state=0).fit(
        MIXED[["a", "colour"]], Y
    ),
    "forests of classes": lambda: ForestEnsembleClassifier(3, 4, random_state=0).fit(X, THREE),
    "isolation": lambda: IsolationForestScore(8, 50, random_state=0).fit(X),
    "distance": lambda: DistanceScore(4).fit(X),
    "neighbours": lambda: EuclideanNeighborsRegressor(random_state=0).fit(X, Y),
    "neighbours of a forest": lambda: EuclideanNeighborsRegressor(
        fitted(RandomForestRegressor(5, random_state=0)), random_state=0
    ).fit(X.to_numpy(), Y, HELD[0].to_numpy(), HELD[1]),
    "neighbours of ours": lambda: EuclideanNeighborsRegressor(
        BoostedEnsembleRegressor(**OWN), scoring="crps", random_state=0
    ).fit(X, Y),
    "process": lambda: GaussianProcessBaseline(5, random_state=0).fit(X, Y),
    "xbart": lambda: XBARTRegressor(3, 4, random_state=0).fit(X, Y),
    "average": average,
}


@functools.cache
def model_of(name):
    """The fitted model, made once a process."""
    return MODELS[name]()


@functools.cache
def file_of(name):
    """Its file."""
    return saved(model_of(name))


def rows_of(model):
    """New rows with the columns that the model knows, one level among them new."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return NEW.to_numpy()
    rows = mixed(NEW)
    if "colour" in names:
        rows.loc[3, "colour"] = "new"
    elif "open" not in names:
        rows = NEW
    return rows[list(names)]


def flat(value, name=""):
    """Every number and text in a result, by where it stands."""
    if hasattr(value, "_asdict"):
        value = value._asdict()
    elif dataclasses.is_dataclass(value):
        value = vars(value)
    if isinstance(value, dict):
        return {k: v for key, part in value.items() for k, v in flat(part, f"{name}.{key}").items()}
    if isinstance(value, list | tuple):
        return flat(dict(enumerate(value)), name)
    return {name: np.asarray(value)} if isinstance(value, np.ndarray | float | int | str) else {}


ASKED = {
    "predict": (), "predict_members": (), "predict_uncertainty": (), "predict_proba": (),
    "predict_knowledge": (), "score_novelty": (), "explain_novelty": (), "predict_intervals": (),
    "judge": (), "find_outside": (), "leaf_density": (), "inspect_rows": (), "tree_picture": (),
    "staged_members": (), "kneighbors": (4,), "scale_path": ([2, 3],),
    "sample_functions": (3,), "find_neighborhood": (5,), "leaf_indices": (),
}  # fmt: skip
KNOWN = (
    "classes_",
    "feature_importances_",
    "validation_",
    "tuning_",
    "held_out_",
    "clocks_",
    "memory_bytes_",
    "n_trees_",
    "held_out_outside_",
    "member_seeds_",
)


FEW = ("predict", "predict_proba", "predict_uncertainty", "score_novelty", "judge")


def answers(model, methods=tuple(ASKED), rows=None):
    """Everything that a model says of new rows and of its fit, as arrays."""
    rows, parts = rows_of(model) if rows is None else rows, {}
    asked = [method for method in (*ASKED, "predict_distribution") if hasattr(model, method)]
    if isinstance(model, VirtualEnsemble):  # the same class for both tasks
        regression = model.task == "regression"
        asked.remove("predict_proba" if regression else "predict_distribution")
        if regression and np.isnan(model.predict_uncertainty(rows).total).any():
            asked.remove("predict_distribution")
    for method in methods:
        if method in asked:
            parts |= flat(getattr(model, method)(rows, *ASKED[method]), method)
    if methods is FEW:
        return parts
    if "predict_distribution" in asked:
        law = model.predict_distribution(rows)
        parts |= {"law loc": law.loc, "law scale": law.scale}
        parts |= {"law quantiles": law.quantile([0.1, 0.7]), "law draws": law.sample(3, 0)}
    for name in KNOWN:
        parts |= flat(getattr(model, name, None), name)
    return parts
