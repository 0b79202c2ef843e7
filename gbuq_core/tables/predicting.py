"""Training one ensemble on rows of a table, and what it says about other rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gbuq_core.jobs import stage, tick
from gbuq_core.methods import METHODS
from gbuq_core.metrics import nll_mixture_values
from gbuq_core.tables.cleaning import Prepared
from gbuq_core.tables.listed import BOOSTED, ListedModel
from gbuq_core.tables.pilot import HIGHEST_RATE, REACH, pilot_rate
from gbuq_core.uncertainty import Uncertainty, decompose_classification, decompose_regression
from gbuq_core.validation import check_number

BLOCK_ROWS = 16_384
MOST_BINS = 128
CYCLICAL_METHODS = ("csglb", "cbsglb")
CYCLES = 10  # of a model unless a plan says otherwise
PILOT_SHARE = 0.3  # of the progress of a fit

_MANY_FEATURES = 200
_MOST_BINS_IN_ALL = _MANY_FEATURES * MOST_BINS
_DEPTH, _DEPTH_IF_WIDE = 6, 4
_FEWEST_BINS = 16
# A std below this share of the target's would make the likelihood of a duplicate row infinite.
_SMALLEST_STD = 1e-6
_SMALLEST_PROBABILITY = float(np.finfo(np.float64).eps)  # as gbuq_core.metrics


@dataclass(frozen=True, kw_only=True)
class ScorePlan:
    """How to train; see `gbuq_core.BoostedEnsembleRegressor` for the knobs.

    Attributes
    ----------
    method : str
        "sglb", "sgb", "csglb" or "cbsglb". The last two are cyclical: one model, whose members
        are the ends of its cycles, and ``ensemble`` and ``truncation_step`` do not matter. Or
        another of `gbuq_core.tables.listed.table_methods`, which takes its settings from
        ``knobs``, and of the others ``seed`` and ``n_jobs`` only.
    ensemble, engine : str
    n_members : int
        Of an independent ensemble; a virtual one has one member every ``truncation_step`` trees.
    n_trees : int
    depth : int or None
        None means 6, and 4 with more than 200 features.
    truncation_step : int or None
        None means a twentieth of the trees, which gives ten members.
    cycle_length : int or None
        Trees of a cycle. None means a tenth of all, which gives ten members.
    max_bins : int or None
        Of a numeric feature. None means 128, and fewer with more than 200 features: the time of a
        tree grows with the number of bins of all features.
    learning_rate : float or None
        None means one that suits the table, found by a short pilot fit (`gbuq_core.tables.pilot`).
    seed : int
        Splits and fits with the same seed are the same.
    n_jobs : int or None
    knobs : tuple of (name, value)
        Of a method that is not one of the first four; its class's defaults hold otherwise.
    """

    method: str = "sglb"
    ensemble: str = "virtual"
    engine: str = "numba"
    n_members: int = 10
    n_trees: int = 500
    depth: int | None = None
    truncation_step: int | None = None
    cycle_length: int | None = None
    max_bins: int | None = None
    learning_rate: float | None = None
    seed: int = 0
    n_jobs: int | None = None
    knobs: tuple[tuple[str, Any], ...] = ()

    @property
    def listed(self) -> bool:
        """Whether the method is one that this project does not boost."""
        return self.method in METHODS and self.method not in BOOSTED

    @property
    def cyclical(self) -> bool:
        """Whether the members are the cycles of one model."""
        return self.method in CYCLICAL_METHODS

    @property
    def one_model(self) -> bool:
        """Whether all members come from one model."""
        return self.cyclical or self.ensemble == "virtual"

    @property
    def cycle(self) -> int:
        """Trees of a cycle, of those that are trained in whole cycles."""
        return max(2, self.n_trees // CYCLES) if self.cycle_length is None else self.cycle_length


class Predictions(NamedTuple):
    """What an ensemble says about rows.

    Attributes
    ----------
    loc : ndarray of shape (n_rows,), float64
        The predicted mean, or the code of the most probable class.
    probabilities : ndarray of shape (n_rows, n_classes), or (n_rows, 0) for a regression
    uncertainty : Uncertainty
        Variances of the target, or nats.
    nll : ndarray of shape (n_rows,), float64
        Negative log-likelihood of the target under the mixture of the members, in nats; NaN where
        the target is not known.
    unseen_level, new_missing : ndarray of shape (n_rows,), bool
        Rows with a category, or a missing value in a column, that training did not have.
    flagged_columns : tuple of str
        Where that happened.
    """

    loc: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    uncertainty: Uncertainty
    nll: NDArray[np.float64]
    unseen_level: NDArray[np.bool_]
    new_missing: NDArray[np.bool_]
    flagged_columns: tuple[str, ...]


def bins_for(plan: ScorePlan, n_features: int) -> int:
    """How many bins a numeric feature gets.

    Examples
    --------
    >>> bins_for(ScorePlan(), 20), bins_for(ScorePlan(), 1000)
    (128, 25)
    """
    if plan.max_bins is not None:
        return int(check_number("max_bins", plan.max_bins, 2, 255, integer=True))
    return int(np.clip(_MOST_BINS_IN_ALL // max(1, n_features), _FEWEST_BINS, MOST_BINS))


def depth_for(plan: ScorePlan, n_features: int) -> int:
    """How deep trees are; the work of a split grows with the leaves times the features."""
    if plan.depth is not None:
        return plan.depth
    return _DEPTH if n_features <= _MANY_FEATURES else _DEPTH_IF_WIDE


def make_estimator(plan: ScorePlan, prepared: Prepared) -> Any:
    """The unfitted ensemble of a plan for a prepared table.

    Raises
    ------
    InvalidParameter
        If a knob is out of its range.
    """
    from gbuq_core.boosting import BoostedEnsembleClassifier, BoostedEnsembleRegressor

    if plan.listed:
        seed = check_number("seed", plan.seed, 0, 2**31 - 1, integer=True)
        model = ListedModel(plan.method, prepared.target.task, dict(plan.knobs), plan.n_jobs, seed)
        model.check(prepared.X, int(prepared.known.sum()))
        return model
    regression = prepared.target.task == "regression"
    kind = BoostedEnsembleRegressor if regression else BoostedEnsembleClassifier
    n_trees = check_number("n_trees", plan.n_trees, 1, 100_000, integer=True)
    return kind(
        method=plan.method,
        ensemble=None if plan.cyclical else plan.ensemble,
        engine=plan.engine,
        n_members=plan.n_members,
        n_trees=n_trees,
        depth=depth_for(plan, prepared.X.shape[1]),
        truncation_step=plan.truncation_step or max(1, n_trees // 20),
        cycle_length=plan.cycle,
        learning_rate=plan.learning_rate,
        max_bins=bins_for(plan, prepared.X.shape[1]),
        categorical_features=prepared.categorical,
        random_state=check_number("seed", plan.seed, 0, 2**31 - 1, integer=True),
        n_jobs=plan.n_jobs,
    )


def fit_rows(plan: ScorePlan, prepared: Prepared, rows: NDArray[np.int64]) -> Any:
    """An ensemble trained on some rows of a prepared table; its work is 1 + `PILOT_SHARE` units."""
    task = prepared.target.task
    estimator = make_estimator(plan, prepared)
    y = prepared.y[rows]
    X = prepared.X if len(rows) == len(prepared.X) else prepared.X.iloc[rows]
    if plan.learning_rate is None and not plan.listed:
        pilot = make_estimator(plan, prepared)
        with stage(1.0, span=PILOT_SHARE):
            reach = REACH["cyclical" if plan.cyclical else plan.ensemble]
            # No tree of a cycle steps over what it corrects.
            highest = 1.0 / estimator.alpha_max if plan.cyclical else HIGHEST_RATE
            rate = pilot_rate(pilot, X, y, plan.n_trees, reach, plan.seed, highest)
        estimator.set_params(learning_rate=rate)
    return estimator.fit(X, y if task == "regression" else y.astype(np.int64))


def predict_rows(
    model: Any, X: pd.DataFrame, y: NDArray[np.float64], n_classes: int, spread: float
) -> Predictions:
    """Predictions and uncertainties of rows, a block at a time.

    Parameters
    ----------
    model : fitted ensemble
    X : DataFrame of shape (n_rows, n_features)
    y : ndarray of shape (n_rows,)
        For the likelihood; NaN where it is not known.
    n_classes : int
        Of the whole table, 0 for a regression; a model may not have met all of them.
    spread : float
        Std of the target, in its units.
    """
    blocks = []
    for start in range(0, len(X), BLOCK_ROWS):
        tick(0.0)
        rows = slice(start, start + BLOCK_ROWS)
        part = X.iloc[rows]
        if isinstance(model, ListedModel):
            blocks.append(_judge_listed(model, part, y[rows], n_classes, spread))
            continue
        members = all_classes(model.predict_members(part), model, n_classes)
        blocks.append(judge_members(members, model.inspect_rows(part), y[rows], n_classes, spread))
    columns = [name for part in blocks for name in part.flagged_columns]
    return Predictions(
        np.concatenate([part.loc for part in blocks]),
        np.concatenate([part.probabilities for part in blocks]),
        Uncertainty(
            *(np.concatenate(u) for u in zip(*(b.uncertainty for b in blocks), strict=True))
        ),
        np.concatenate([part.nll for part in blocks]),
        np.concatenate([part.unseen_level for part in blocks]),
        np.concatenate([part.new_missing for part in blocks]),
        tuple(dict.fromkeys(columns)),
    )


def _judge_listed(
    model: ListedModel, X: pd.DataFrame, y: NDArray[np.float64], n_classes: int, spread: float
) -> Predictions:
    """What a method says that is no boosted ensemble; a normal gives the likelihood."""
    found, flags = model.judge(X), model.inspect_rows(X)
    if found.members is not None:
        members = all_classes(found.members, model, n_classes)
        return judge_members(members, flags, y, n_classes, spread)
    assert found.uncertainty is not None
    known, nll = ~np.isnan(y), np.full(len(y), np.nan)
    variance = np.maximum(found.uncertainty.total, (_SMALLEST_STD * spread) ** 2)
    if known.any():
        pair = found.loc[None, known], variance[None, known]
        nll[known] = nll_mixture_values(y[known], *pair)
    return Predictions(found.loc, np.empty((len(y), 0)), found.uncertainty, nll, *flags)


def judge_members(
    members: NDArray[np.float64],
    flags: tuple[NDArray[np.bool_], NDArray[np.bool_], tuple[str, ...]],
    y: NDArray[np.float64],
    n_classes: int,
    spread: float,
) -> Predictions:
    """What members that have predicted say together.

    Parameters
    ----------
    members : ndarray of shape (n_members, n_rows, 2 or n_classes)
        Means and variances, or probabilities of all classes of the table.
    flags : tuple of unseen_level, new_missing and columns
        As an ensemble's ``inspect_rows`` gives them.
    y, n_classes, spread
        As in `predict_rows`.
    """
    known = ~np.isnan(y)
    nll = np.full(len(y), np.nan)
    if n_classes:
        mean = members.mean(axis=0)
        chosen = mean[known, y[known].astype(np.int64)]
        nll[known] = -np.log(np.clip(chosen, _SMALLEST_PROBABILITY, 1.0))
        loc, probabilities = mean.argmax(axis=1).astype(np.float64), mean
        uncertainty = decompose_classification(members)
    else:
        means, variances = members[..., 0], members[..., 1]
        variances = np.maximum(variances, (_SMALLEST_STD * spread) ** 2)
        if known.any():
            nll[known] = nll_mixture_values(y[known], means[:, known], variances[:, known])
        loc, probabilities = means.mean(axis=0), np.empty((len(y), 0))
        uncertainty = decompose_regression(means, variances)
    return Predictions(loc, probabilities, uncertainty, nll, flags[0], flags[1], flags[2])


def all_classes(found: NDArray[np.float64], model: Any, n_classes: int) -> NDArray[np.float64]:
    """Members of a classifier, (n_members, n_rows, n_classes) of the whole table.

    A class that the model's training rows did not have gets probability 0. Members of a regression
    (``n_classes`` 0) are left as they are.
    """
    if not n_classes or found.shape[2] == n_classes:
        return found
    members = np.zeros((*found.shape[:2], n_classes))
    members[..., np.asarray(model.classes_, dtype=np.int64)] = found
    return members
