"""The heart: two categorical features, no rows inside a heart, and who notices.

Malinin, Prokhorenkova and Ustimenko, "Uncertainty in gradient boosting via ensembles", section 4
and figures 2 and 4. `fit_heart` trains one method; `map_heart` turns what it kept into maps for
any truncation step, start and number of members without training again; `run_heart` does both for
all methods of `HeartSettings`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.baselines import ForestEnsembleRegressor
from gbuq_core.boosting import BoostedEnsembleRegressor
from gbuq_core.boosting.truncation import truncation_points
from gbuq_core.errors import InvalidParameter
from gbuq_core.synthetic import HeartData, make_heart
from gbuq_core.uncertainty import decompose_regression
from gbuq_core.validation import check_choice, check_number

Array = npt.NDArray[np.float64]

SIDE = 9
N_CELLS = SIDE * SIDE
MAX_FRAMES = 100  # stages of the boosting-time scrubber
FOREST_DEPTH = 10  # the paper's, appendix C
LEAST_FILLED = 2

# Seconds on one core of a 2020s server, for the estimate before a fit.
_SECONDS_PER_TREE = 25e-6
_SECONDS_PER_DRAWN_ROW = 4.5e-9  # and tree: subsampling draws every row anew
_SECONDS_PER_CATBOOST_ROW = 1.2e-7  # and tree, categories one-hot
_SECONDS_PER_FOREST_TREE = 6e-3


class HeartMethod(NamedTuple):
    """A method of the page: how people write it, and what it is to the estimators."""

    label: str
    boosting: str = ""  # "sgb", "sglb" or "" for a forest
    virtual: bool = False
    engine: str = "numba"

    @property
    def langevin(self) -> bool:
        """Whether the temperature means anything to it."""
        return self.boosting == "sglb"


_METHODS = {
    "sgb": HeartMethod("SGB", "sgb"),
    "sglb": HeartMethod("SGLB", "sglb"),
    "virtual_sglb": HeartMethod("virtual SGLB", "sglb", virtual=True),
    "vrf": HeartMethod("vRF"),
    "catboost": HeartMethod("CatBoost", "sglb", engine="catboost"),
    "virtual_catboost": HeartMethod("virtual CatBoost", "sglb", virtual=True, engine="catboost"),
}
METHODS: Mapping[str, HeartMethod] = MappingProxyType(_METHODS)


class HeartSettings(NamedTuple):
    """Everything that the maps depend on; the defaults are the paper's.

    Attributes
    ----------
    methods : tuple of str
        Keys of `METHODS`.
    rows, noise, seed
        As ``n_per_cell``, ``noise`` and ``random_state`` of `make_heart`; the seed is the models'
        too.
    cells : tuple of int
        Painted cells, numbered from 0 row by row: a filled one loses its rows, an empty one gets
        some.
    members, trees, depth : int
        Of each ensemble; a virtual one has as many members as truncations, a forest of ``trees``
        trees is split into ``members`` groups and has depth 10.
    rate, rate_sgb : float
        Learning rates of the SGLB methods and of SGB.
    temperature : str or float
        "catboost" (the number of rows), "posterior" (1) or a number.
    leaf_noise : bool
        Langevin noise in the leaves as well as in the choice of splits; the numba engine only.
    step, start : int, float
        Truncation step K and start of virtual ensembles.
    shown : int or None
        Only so many members count: the first models, or the last truncations. None: all.
    """

    methods: tuple[str, ...] = ("sglb", "virtual_sglb")
    rows: int = 1000
    noise: float = 0.01
    seed: int = 0
    cells: tuple[int, ...] = ()
    members: int = 10
    trees: int = 1000
    depth: int = 6
    rate: float = 0.3
    rate_sgb: float = 0.1
    temperature: str | float = "catboost"
    leaf_noise: bool = False
    step: int = 50
    start: float = 0.5
    shown: int | None = None


class HeartPlan(NamedTuple):
    """What one method's fit depends on, and nothing else: the key of its result.

    Fields that the method does not use are None, so that moving them refits nothing.
    """

    method: str
    rows: int
    noise: float
    seed: int
    cells: tuple[int, ...]
    members: int
    trees: int
    depth: int | None
    rate: float | None
    temperature: str | float | None
    leaf_noise: bool | None


class HeartFit(NamedTuple):
    """A trained method's predictions for the 81 cells while it grew.

    Attributes
    ----------
    plan : HeartPlan
    data : HeartData
        What it was trained on, painted cells included.
    n_trees : (n_stages,) int array
        Trees at each stage; all of them at the last.
    members : (n_stages, n_models, 81, 2) array
        Mean and variance; the variance is NaN for forests, which predict none.
    seconds, memory_bytes : float, int
        Cost of the training, and what the trained model holds.
    """

    plan: HeartPlan
    data: HeartData
    n_trees: npt.NDArray[np.int64]
    members: Array
    seconds: float
    memory_bytes: int


class HeartMaps(NamedTuple):
    """Uncertainty of one method at every stage, as variances of y.

    Attributes
    ----------
    fit : HeartFit
    n_trees, n_members : (n_frames,) int array
        Trees of each model, and members that there were by then.
    total, data, knowledge : (n_frames, 9, 9) array
        NaN where there is no such value: knowledge takes two members, forests predict no noise.
    mean : (9, 9) array
        The prediction with all trees.
    """

    fit: HeartFit
    n_trees: npt.NDArray[np.int64]
    n_members: npt.NDArray[np.int64]
    total: Array
    data: Array
    knowledge: Array
    mean: Array


class HeartRun(NamedTuple):
    """The data of the settings and the maps of their methods, in the settings' order."""

    settings: HeartSettings
    data: HeartData
    methods: tuple[HeartMaps, ...]


def run_heart(settings: HeartSettings | None = None) -> HeartRun:
    """Train the methods one after the other and map their uncertainty.

    Examples
    --------
    >>> run = run_heart(HeartSettings(methods=("sglb",), rows=50, members=5, trees=200))
    >>> knowledge = run.methods[0].knowledge[-1]
    >>> bool(knowledge[~run.data.in_support].min() > knowledge[run.data.in_support].max())
    True
    """
    settings = HeartSettings() if settings is None else settings
    maps = tuple(
        map_heart(fit_heart(plan_heart(settings, method)), settings) for method in settings.methods
    )
    return HeartRun(settings, _painted(plan_heart(settings, "sglb")), maps)


def plan_heart(settings: HeartSettings, method: str) -> HeartPlan:
    """What a method's fit depends on.

    >>> slow, quick = HeartSettings(step=10), HeartSettings(step=100)
    >>> plan_heart(slow, "virtual_sglb") == plan_heart(quick, "virtual_sglb")
    True
    """
    kind = METHODS[check_choice("method", method, tuple(METHODS))]
    numba_sglb = kind.langevin and kind.engine == "numba"
    return HeartPlan(
        method=method,
        rows=settings.rows,
        noise=settings.noise,
        seed=settings.seed,
        cells=tuple(sorted(set(settings.cells))),
        members=1 if kind.virtual else settings.members,
        trees=settings.trees,
        depth=settings.depth if kind.boosting else None,
        rate={"sgb": settings.rate_sgb, "sglb": settings.rate}.get(kind.boosting),
        temperature=settings.temperature if kind.langevin else None,
        leaf_noise=settings.leaf_noise if numba_sglb else None,
    )


def heart_estimator(plan: HeartPlan) -> Any:
    """The unfitted estimator of a plan.

    >>> heart_estimator(plan_heart(HeartSettings(rate=0.2), "sglb")).learning_rate
    0.2
    """
    kind = METHODS[plan.method]
    if not kind.boosting:
        return ForestEnsembleRegressor(
            n_groups=plan.members,
            trees_per_group=max(1, plan.trees // plan.members),
            max_depth=FOREST_DEPTH,
            random_state=plan.seed,
        )
    langevin: dict[str, Any] = {}
    if kind.langevin:
        langevin["temperature"] = plan.temperature
    if plan.leaf_noise is not None:
        langevin["leaf_noise"] = plan.leaf_noise
    return BoostedEnsembleRegressor(
        method=kind.boosting,
        ensemble="virtual" if kind.virtual else "independent",
        n_members=plan.members,
        n_trees=plan.trees,
        depth=plan.depth or 1,
        learning_rate=plan.rate,
        engine=kind.engine,
        categorical_features=[0, 1],
        random_state=plan.seed,
        **langevin,
    )


def fit_heart(plan: HeartPlan) -> HeartFit:
    """Train one method and keep its predictions for the cells at up to 100 stages.

    Of a virtual ensemble's model every stage is kept, so that any truncation can follow.

    Raises
    ------
    InvalidParameter, MemoryLimitExceeded
        One sentence each.
    """
    data = _painted(plan)
    kind = METHODS[plan.method]
    began = time.perf_counter()
    model = heart_estimator(plan).fit(data.X, data.y)
    seconds = time.perf_counter() - began
    if kind.boosting:
        every = 1 if kind.virtual else -(-plan.trees // MAX_FRAMES)
        staged = model.staged_members(data.grid, every=every)
        n_trees, members = staged.n_trees, staged.members
    else:
        means = model.predict_members(data.grid)
        n_trees = np.array([model.n_trees_])
        members = np.stack([means, np.full_like(means, np.nan)], axis=-1)[None]
    members.setflags(write=False)
    with _LOCK:
        _COUNT[0] += 1
    return HeartFit(plan, data, n_trees, members, seconds, int(model.memory_bytes_))


_LOCK, _COUNT = threading.Lock(), [0]


def count_fits() -> int:
    """How many fits this process has finished: what a knob of the view leaves as it is."""
    return _COUNT[0]


def map_heart(fit: HeartFit, settings: HeartSettings) -> HeartMaps:
    """Uncertainty at every stage for the settings' truncation and members; trains nothing.

    A virtual ensemble at t trees has the members that the model cut at t trees would have: those
    of ``K, 2K, ...`` above ``start * t`` (eq. 15).

    Raises
    ------
    InvalidParameter
        If the truncation gives no member even with all trees.
    """
    if settings.shown is not None:
        check_number("shown", settings.shown, 1, integer=True)
    if METHODS[fit.plan.method].virtual:
        return _virtual_maps(fit, settings)
    members = fit.members[:, : settings.shown]
    total, data, knowledge = _decompose(members)
    counts = np.full(len(fit.n_trees), members.shape[1])
    mean = members[-1, :, :, 0].mean(axis=0).reshape(SIDE, SIDE)
    return HeartMaps(fit, fit.n_trees, counts, total, data, knowledge, mean)


def estimate_heart_seconds(plan: HeartPlan, n_cores: int = 2) -> float:
    """Roughly what `fit_heart` takes.

    >>> estimate_heart_seconds(plan_heart(HeartSettings(), "catboost")) > 20
    True
    """
    kind = METHODS[plan.method]
    n_rows = 64 * plan.rows
    if not kind.boosting:
        return plan.trees * _SECONDS_PER_FOREST_TREE * (0.1 + plan.rows / 1000) / n_cores
    per_tree = _SECONDS_PER_TREE
    if kind.boosting == "sgb":
        per_tree += _SECONDS_PER_DRAWN_ROW * n_rows
    if kind.engine == "catboost":  # which has threads of its own
        return plan.members * plan.trees * (2e-4 + _SECONDS_PER_CATBOOST_ROW * n_rows / n_cores)
    return plan.members * plan.trees * per_tree / min(n_cores, plan.members)


def make_painted_heart(
    n_per_cell: int = 1000, noise: float = 0.01, random_state: int = 0, cells: Any = ()
) -> HeartData:
    """The heart with some cells painted over: filled ones lose their rows, empty ones get some.

    Parameters
    ----------
    n_per_cell, noise, random_state
        As for `make_heart`; rows that are left are the same rows.
    cells : sequence of int
        Which of the 81 cells differ from the paper's heart, counted row by row. Rows in the heart
        have the noise variance ``noise``.

    Returns
    -------
    HeartData

    Raises
    ------
    InvalidParameter
        If a number is not that of a cell, or fewer than two cells would have rows.

    Examples
    --------
    >>> heart = make_painted_heart(10, cells=[0, 40])  # a corner emptied, the middle filled
    >>> heart.cell_counts[0, 0], heart.cell_counts[4, 4], len(heart.y)
    (np.int64(0), np.int64(10), 640)
    """
    heart = make_heart(n_per_cell, noise, random_state)
    painted = np.zeros(N_CELLS, dtype=bool)
    for cell in cells:
        painted[check_number("cells", cell, 0, N_CELLS - 1, integer=True)] = True
    filled = heart.in_support.ravel()
    in_support = filled ^ painted
    if in_support.sum() < LEAST_FILLED:
        raise InvalidParameter(
            f"At least {LEAST_FILLED} cells must keep their rows: give some of them back."
        )
    if not painted.any():
        return heart
    cell_of_row = (SIDE * heart.X[:, 0] + heart.X[:, 1]).astype(np.int64)
    kept = ~painted[cell_of_row]
    given = np.flatnonzero(~filled & painted)
    # One column an empty cell, whichever of them are painted: painting one moves no other.
    draws = np.random.default_rng([random_state, N_CELLS]).standard_normal(
        (n_per_cell, int((~filled).sum()))
    )[:, painted[~filled]]
    y_given = heart.mean.ravel()[given] + np.sqrt(noise) * draws
    variance = np.where(in_support, heart.variance.ravel(), np.nan)
    variance[given] = noise
    return HeartData(
        X=np.concatenate([heart.X[kept], np.tile(heart.grid[given], (n_per_cell, 1))]),
        y=np.concatenate([heart.y[kept], y_given.ravel()]),
        mean=heart.mean,
        variance=variance.reshape(SIDE, SIDE),
        in_support=in_support.reshape(SIDE, SIDE),
        grid=heart.grid,
        cell_counts=np.where(in_support, n_per_cell, 0).reshape(SIDE, SIDE),
    )


def _painted(plan: HeartPlan) -> HeartData:
    return make_painted_heart(plan.rows, plan.noise, plan.seed, plan.cells)


def _decompose(members: Array) -> tuple[Array, Array, Array]:
    """Total, data and knowledge of members (n_frames, n_members, 81, 2), (n_frames, 9, 9) each."""
    n_frames, n_members = members.shape[:2]
    mean = np.moveaxis(members[..., 0], 0, 1).reshape(n_members, -1)
    variance = np.moveaxis(members[..., 1], 0, 1).reshape(n_members, -1)
    known = bool(np.isfinite(variance).all())
    parts = decompose_regression(mean, variance if known else np.zeros_like(mean))
    none = np.full(mean.shape[1], np.nan)
    knowledge = parts.knowledge if n_members > 1 else none
    total, data = (parts.total, parts.data) if known else (none, none)
    shape = (n_frames, SIDE, SIDE)
    return total.reshape(shape), data.reshape(shape), knowledge.reshape(shape)


def _virtual_maps(fit: HeartFit, settings: HeartSettings) -> HeartMaps:
    """Maps of a virtual ensemble at the stages that independent ones are kept at."""
    n_trees, single = fit.plan.trees, fit.members[:, 0]
    truncation_points(n_trees, settings.step, settings.start)  # refuses none at the end
    frames = _stages(n_trees)
    maps = np.full((3, len(frames), SIDE, SIDE), np.nan)
    counts = np.zeros(len(frames), dtype=np.int64)
    for i, frame in enumerate(frames):
        cuts = _cuts_at(int(frame), settings)[-(settings.shown or 0) :]
        counts[i] = len(cuts)
        if len(cuts):
            maps[:, i] = np.concatenate(_decompose(single[None, cuts - 1]))
    mean = single[cuts - 1, :, 0].mean(axis=0).reshape(SIDE, SIDE)
    return HeartMaps(fit, frames, counts, maps[0], maps[1], maps[2], mean)


def _stages(n_trees: int) -> npt.NDArray[np.int64]:
    every = -(-n_trees // MAX_FRAMES)
    return np.unique(np.append(np.arange(every, n_trees + 1, every), n_trees))


def _cuts_at(n_trees: int, settings: HeartSettings) -> npt.NDArray[np.int64]:
    """The members of a virtual ensemble of so many trees; none while there are too few."""
    try:
        return truncation_points(n_trees, settings.step, settings.start)
    except InvalidParameter:
        return np.empty(0, dtype=np.int64)
