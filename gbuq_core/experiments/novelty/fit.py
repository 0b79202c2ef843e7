"""What is new to a forest, over a map: MACAU's scores beside an isolation forest and a distance.

Merilinna, "Advanced uncertainty quantification and novelty detection for random forest models"
(MACAU, 2023), section 3.2. `fit_novelty_maps` trains on the rows that are left; `map_novelty`
scores every cell and every training row; `view_novelty` turns scores into ranks and holds them
against each other. Only the first trains anything.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from gbuq_core.experiments.novelty.data import N_CELLS, Array, NoveltyData
from gbuq_core.experiments.novelty.erasing import KeptRows, erase_rows
from gbuq_core.experiments.novelty.plan import (
    APART,
    METHODS,
    ORDER,
    NoveltySettings,
    check_settings,
    novelty_model,
    plan_data,
)
from gbuq_core.macau.results import MeanNovelty
from gbuq_core.presentation import Tally
from gbuq_core.progress import stage
from gbuq_core.resources import Recent, held_bytes
from gbuq_core.settings import plan_of

if TYPE_CHECKING:
    from gbuq_core.macau import MacauClassifier, MacauRegressor

T = TypeVar("T")

MOST_BYTES = 64_000_000  # of everything that is kept
MOST_CELLS = 1_000_000  # rows x trees whose distances are kept: 24 to 40 bytes each


_REUSE: Recent[Any] = Recent(most_bytes=MOST_BYTES)


def score_rows(
    plan: Hashable, where: Hashable, rows: Array, model: Any, isolation: Any
) -> tuple[dict[str, Array], float, float]:
    """Every score of rows but their distance to others, and the seconds of MACAU's and isolation's.

    Only what is not held is worked out.
    """
    (knowledge, data), plain_seconds = _REUSE.get(
        (plan, where), lambda: _timed(lambda: _plain(rows, model))
    )
    isolated, isolation_seconds = _REUSE.get(
        (plan, where, "isolation"), lambda: _timed(lambda: isolation.score_novelty(rows))
    )
    (novelty, conditional, inference), novelty_seconds = _REUSE.get(
        (plan, where, model.tail), lambda: _timed(lambda: _novelty(plan, where, rows, model))
    )
    scores = {
        "novelty": novelty,
        "conditional": conditional,
        "inference": np.abs(inference),
        "knowledge": knowledge,
        "data": data,
        "isolation": isolated,
    }
    return scores, novelty_seconds + plain_seconds, isolation_seconds


def _plain(rows: Array, model: Any) -> tuple[Array, Array]:
    uncertain = model.predict_uncertainty(rows)
    return uncertain.knowledge, uncertain.data


def _novelty(plan: Hashable, where: Hashable, rows: Array, model: Any) -> MeanNovelty:
    """The means of `score_novelty`; of distances that are held where they are few enough."""
    if len(rows) * model.forest_.n_trees > MOST_CELLS:
        return MeanNovelty(*model.score_novelty(rows)[:3])
    measured = _REUSE.get((plan, where, "measured"), lambda: model.measure_novelty(rows))
    return MeanNovelty(*model.mean_novelty(measured))


def _timed(make: Callable[[], T]) -> tuple[T, float]:
    began = time.perf_counter()
    result = make()
    return result, time.perf_counter() - began


class Disagreement(NamedTuple):
    """How far the methods' percentiles lie apart in each cell."""

    keys: tuple[str, ...]  # the methods that were held against each other
    spread: Array  # (n_cells,): the largest percentile minus the smallest, 0 to 100
    # `most`, `least`: (n_cells,): the place in `keys` of the method that ranks the cell highest,
    # and lowest; the first of those that tie
    most: npt.NDArray[np.int64]
    least: npt.NDArray[np.int64]


def rank_cells(values: npt.ArrayLike) -> Array:
    """Of each cell, the percentage of the other cells with a lower score; ties count by half."""
    scores = np.asarray(values, dtype=np.float64)
    there = ~np.isnan(scores)
    ranks, n = np.full(scores.shape, np.nan), int(there.sum())
    below, upto = _counts(scores[there], np.sort(scores[there]))
    ranks[there] = 50.0 * (below + upto - 1) / max(n - 1, 1)
    return ranks


def rank_among(values: npt.ArrayLike, rows: npt.ArrayLike) -> Array:
    """Of each cell, the percentage of training rows whose own score is lower; ties count by half.

    All scores above the highest of the rows have the rank 100: how far above, it does not tell.
    """
    scores, own = (np.asarray(each, dtype=np.float64) for each in (values, rows))
    own = np.sort(own[~np.isnan(own)])
    if not len(own):
        return np.full(scores.shape, np.nan)
    below, upto = _counts(scores, own)
    return np.where(np.isnan(scores), np.nan, 50.0 * (below + upto) / len(own))


def compare_ranks(keys: Sequence[str], ranks: Array) -> Disagreement:
    """Where percentiles (n_methods, n_cells) of methods lie apart, and who says what."""
    return Disagreement(
        tuple(keys),
        ranks.max(axis=0) - ranks.min(axis=0),
        ranks.argmax(axis=0),
        ranks.argmin(axis=0),
    )


def _counts(values: Array, ordered: Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """How many of the ordered numbers are below each value, and at most as large."""
    return np.searchsorted(ordered, values, "left"), np.searchsorted(ordered, values, "right")


@dataclass(frozen=True, kw_only=True)
class NoveltyFit:
    """A forest and an isolation forest on the rows that are left."""

    plan: NoveltySettings
    data: NoveltyData  # with all rows
    rows: KeptRows  # what was trained on
    # `model`, `isolation`: a `MacauClassifier` or `MacauRegressor` and an `IsolationForestScore`;
    # None of a stored fit
    model: Any
    isolation: Any
    n_trees: int  # of the forest: one a class in each round where there are more than two classes
    # `macau_seconds`, `isolation_seconds`, `seconds`: of both fits, and of everything; NaN of a
    # stored fit, as the sizes below are None
    macau_seconds: float
    isolation_seconds: float
    seconds: float
    # `macau_bytes`, `isolation_bytes`, `memory_bytes`: what is held
    macau_bytes: int | None
    isolation_bytes: int | None
    memory_bytes: int | None
    opening: NoveltyMaps | None = None  # of a stored fit: what the page opens with


class NoveltyMaps(NamedTuple):
    """Every score over the map and of the training rows; higher is more novel or uncertain."""

    keys: tuple[str, ...]  # keys of `METHODS`; "truth" only where it is known
    values: Array  # (n_methods, 3600)
    # (n_methods, n_rows): Of the rows that were trained on. The distance of a row is to other rows.
    rows: Array
    # `tail`, `third_at`, `neighbours`: the knobs in use; `third_at` is 0 without a third feature
    tail: str
    third_at: float
    neighbours: int
    seconds: tuple[float, ...]  # of each score over map and rows; those of MACAU share their work

    def of(self, key: str) -> Array:
        """One score over the map, (3600,)."""
        return self.values[self.keys.index(key)]

    def of_rows(self, key: str) -> Array:
        """One score of the training rows, (n_rows,)."""
        return self.rows[self.keys.index(key)]


class NoveltyView(NamedTuple):
    """Which maps there are for the settings, and where ranks lie apart."""

    # the scores among the settings' maps, the truth first; none where nobody knows it
    keys: tuple[str, ...]
    # of percentiles among the cells, or among the training rows' scores where those are shown; None
    # where fewer than two of the compared methods are there
    disagreement: Disagreement | None
    notes: tuple[str, ...]  # what was left out, a sentence each


_FITS = Tally()
count_fits = _FITS.count  # what a knob of the view leaves as it is


def fit_novelty_maps(plan: NoveltySettings) -> NoveltyFit:
    """Erase rows, and fit MACAU and an isolation forest to them."""
    from gbuq_core.baselines.isolation import IsolationForestScore

    began = time.perf_counter()
    data = plan_data(plan)
    model = novelty_model(plan, data.task)
    rows = erase_rows(data, plan.erased)
    with stage(1.0, span=0.5):
        model.fit(rows.X, rows.y)
    isolation = IsolationForestScore(plan.trees, random_state=plan.seed, n_jobs=1).fit(rows.X)
    macau_bytes, isolation_bytes = int(model.memory_bytes_), held_bytes(isolation)
    _FITS.add()
    return NoveltyFit(
        plan=plan,
        data=data,
        rows=rows,
        model=model,
        isolation=isolation,
        n_trees=int(model.inspect_novelty(rows.X[:1]).z.shape[1]),
        macau_seconds=float(model.fit_seconds_),
        isolation_seconds=float(isolation.fit_seconds_),
        seconds=time.perf_counter() - began,
        macau_bytes=macau_bytes,
        isolation_bytes=isolation_bytes,
        memory_bytes=macau_bytes + isolation_bytes + held_bytes(rows),
    )


def maps_key(fit: NoveltyFit, settings: NoveltySettings) -> tuple[str, float, int]:
    """Tail, third feature and neighbours in use: with the plan, the key of maps."""
    check_settings(settings)
    third = float(settings.third_at) if fit.plan.third else 0.0
    return settings.tail, third, min(settings.neighbours, len(fit.rows.y) - 1)


def map_novelty(fit: NoveltyFit, settings: NoveltySettings) -> NoveltyMaps:
    """Score every cell of the map and every training row."""
    tail, third, neighbours = maps_key(fit, settings)
    if fit.opening is not None:
        return fit.opening
    places = at_places(fit, fit.data.grid, third)
    model = scorer(fit, tail)
    # What a knob of the view leaves as it is comes from where it was kept.
    parts = [
        score_rows(fit.plan, where, rows, model, fit.isolation)
        for where, rows in ((("map", third), places), ("rows", fit.rows.X))
    ]
    by_part, macau, isolation = zip(*parts, strict=True)
    scores = {key: np.concatenate([part[key] for part in by_part]) for key in by_part[0]}
    scores["distance"], distance = _timed(lambda: _distances(fit, places, neighbours))
    seconds = [*[sum(macau)] * 5, sum(isolation), distance]
    truth = true_scores(fit)
    if truth is not None:
        scores["truth"] = truth
        seconds.append(0.0)
    stacked = np.stack(list(scores.values()))
    return NoveltyMaps(
        tuple(scores),
        stacked[:, :N_CELLS],
        stacked[:, N_CELLS:],
        tail,
        third,
        neighbours,
        tuple(seconds),
    )


def scorer(fit: NoveltyFit, tail: str) -> MacauClassifier | MacauRegressor:
    """The fitted forest with another tail of its z-scores, and all cores; nothing is copied."""
    model = copy.copy(fit.model)
    model.tail, model.n_jobs = tail, None
    return model


def at_places(fit: NoveltyFit, points: Array, third: float = 0.0) -> Array:
    """Places of the plane as rows of the model: with the third feature, where there is one."""
    if fit.rows.X.shape[1] == 2:
        return points
    return np.column_stack([points, np.full(len(points), third)])


def predict_places(fit: NoveltyFit, places: Array) -> Array:
    """Class probabilities (n, n_classes), or means of y (n,)."""
    if fit.data.task == "classification":
        return fit.model.predict_proba(places)
    return fit.model.predict(places)


def true_scores(fit: NoveltyFit) -> Array | None:
    """Minus the log of the true density at every cell, then at every row trained on."""
    data, rows = fit.data, fit.rows
    if data.log_density is None or data.row_log_density is None:
        return None
    return -np.concatenate([data.log_density, data.row_log_density[rows.origin]])


def _distances(fit: NoveltyFit, places: Array, neighbours: int) -> Array:
    """Mean distance of each place to its nearest rows, and of each row to the nearest others."""
    from gbuq_core.baselines.isolation import DistanceScore

    rows = fit.rows.X
    of_places = DistanceScore(neighbours, n_jobs=1).fit(rows).score_novelty(places)
    # A row is its own nearest row, at distance 0: the mean over one more holds the others' sum.
    of_rows = DistanceScore(neighbours + 1, n_jobs=1).fit(rows).score_novelty(rows)
    return np.concatenate([of_places, of_rows * ((neighbours + 1) / neighbours)])


def view_novelty(fit: NoveltyFit, maps: NoveltyMaps, settings: NoveltySettings) -> NoveltyView:
    """Which of the settings' scores can be drawn, and where ranks lie apart."""
    check_settings(settings)
    wanted = [key for key in ORDER if key in settings.maps]
    keys = tuple(key for key in wanted if key in maps.keys)
    notes = []
    if APART in settings.maps and len(settings.compared) < 2:
        notes.append("Ranks can only disagree between two or more scores. Choose another one.")
    if "truth" in wanted and "truth" not in maps.keys:
        notes.append(f"The true density of the rows of {fit.data.title} is not known.")
    if wanted and not keys:
        keys = ("novelty",)
        notes.append("The map shows novelty instead.")
    compared = tuple(key for key in METHODS if key in settings.compared and key in maps.keys)
    disagreement = None
    if len(compared) > 1:
        by = "rows" if settings.show == "rows" else "cells"
        ranks = np.stack([ranks_of(maps, key, by) for key in compared])
        disagreement = compare_ranks(compared, ranks)
    return NoveltyView(keys, disagreement, tuple(notes))


def ranks_of(maps: NoveltyMaps, key: str, by: str = "cells") -> Array:
    """Percentiles (3600,) of one score, among the cells or among the training rows' own scores."""
    if by == "rows":
        return rank_among(maps.of(key), maps.of_rows(key))
    return rank_cells(maps.of(key))


def unit_of(fit: NoveltyFit, key: str, ranks: str = "value") -> str:
    """What the numbers of a map are."""
    if ranks != "value":
        return "% of cells below" if ranks == "cells" else "% of training rows below"
    if METHODS[key].unit == "variance":
        of = "p" if fit.data.task == "classification" else fit.data.target_name
        return f"variance of {of}"
    return METHODS[key].unit


class NoveltyRun(NamedTuple):
    """All of it for one set of settings."""

    settings: NoveltySettings
    fit: NoveltyFit
    maps: NoveltyMaps
    view: NoveltyView
    # What a page adds: the place that is looked at (a `PlaceLook`), the maps in words, a `MapScore`
    # of each map, and the paper's statements.
    look: Any = None
    words: str = ""
    scores: tuple[Any, ...] = ()
    claims: tuple[Any, ...] = ()


def run_novelty(settings: NoveltySettings | None = None) -> NoveltyRun:
    """Fit, score and view."""
    settings = NoveltySettings() if settings is None else settings
    fit = fit_novelty_maps(plan_of(settings))
    maps = map_novelty(fit, settings)
    return NoveltyRun(settings, fit, maps, view_novelty(fit, maps, settings))
