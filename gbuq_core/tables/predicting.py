"""Training one model on rows of a table, and what it says about other rows.

First any method of `gbuq_core.methods` on a table: the ensembles of `gbuq_core.boosting` read a
table's categories and gaps themselves, and for all others categories become columns of zeros and
ones, one a level that training had. Then folds and held-out rows, and the fit. Where the models
stop is chosen in `gbuq_core.tables.clocks`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from gbuq_core.boosting.stopping import FEWEST_ROWS, MEAN_WEIGHT
from gbuq_core.distribution import (
    Distribution,
    Interval,
    LogDistribution,
    concatenate,
    student,
)
from gbuq_core.errors import InvalidParameter
from gbuq_core.jobs import tick
from gbuq_core.methods import METHODS
from gbuq_core.metrics.log_score import log_scores
from gbuq_core.parallel import is_elsewhere, spread_map
from gbuq_core.settings import arguments, check
from gbuq_core.tables.cleaning import Prepared, Target
from gbuq_core.tables.number_columns import NumberColumns, OwnColumns, learn_columns
from gbuq_core.tables.plan import (
    N_FOLDS,
    STACKED,
    USUAL_LEVEL,
    ScorePlan,
    check_table_method,
    tells_total,
)
from gbuq_core.tables.scaling import check_scale, exp_uncertainty, log_parameters
from gbuq_core.uncertainty import (
    Uncertainty,
    decompose_classification,
    decompose_regression,
    mean_over_members,
)

if TYPE_CHECKING:
    from gbuq_core.stacking.law import StackedDistribution

from gbuq_core.unfamiliarity.rows import FEWEST_READ, MANY_COLUMNS, find_promising


class RowsJudged(NamedTuple):
    """What a method says about n rows."""

    loc: NDArray[np.float64]  # (n,)
    members: NDArray[np.float64] | None  # (n_members, n, n_classes)
    uncertainty: Uncertainty | None  # variances; None where members give it
    probabilities: NDArray[np.float64] | None = None  # (n, n_classes)
    law: Distribution | None = None  # where it is no normal


class ListedModel:
    """A method's estimator for a table's columns, with what scoring a table asks of it."""

    def __init__(
        self, key: str, task: str, knobs: Mapping[str, Any], n_jobs: int | None, seed: int
    ) -> None:
        if not tells_total(key, task):
            check_table_method(key, task)
        self.method, self.task = METHODS[key], task
        takes = self.method.builder(task).takes
        shared = {"n_jobs": n_jobs, "random_state": seed}
        given = {name: value for name, value in shared.items() if name in takes}
        self.estimator = self.method.make(task, **knobs, **given)
        self.target_: str | None = None  # "log" learns the logarithm
        self.columns_: NumberColumns

    def check(self, X: pd.DataFrame, n_rows: int) -> None:
        """Refuse a table that the method cannot learn from."""
        numbers = X.select_dtypes("number")
        refusal = self.method.why_not(n_rows, gaps=bool(numbers.isna().to_numpy().any()))
        if refusal:
            raise InvalidParameter(refusal)

    def fit(self, X: pd.DataFrame, y: NDArray[Any]) -> ListedModel:
        """Learn from the rows of a prepared table."""
        self.columns_ = learn_columns(X)
        target = y if self.target_ is None else np.log(y)
        self.estimator.fit(self.columns_.numbers(X), target)
        return self

    @property
    def tells_knowledge(self) -> bool:
        """Whether it has members, or a posterior, that knowledge uncertainty comes from."""
        return "knowledge" in self.method.yields_for(self.task)

    def stacked_on(self, law: Any, X: pd.DataFrame) -> ListedModel:
        """The same with a law that stands around fitted trees, which have learnt these rows."""
        other = copy(self)
        other.estimator, other.columns_ = law, OwnColumns(*learn_columns(X))
        return other

    def judge(self, X: pd.DataFrame) -> RowsJudged:
        """Mean and uncertainty of rows (of a log), or the probabilities of each member."""
        rows = self.columns_.numbers(X)
        if self.method.key == STACKED and self.task == "regression":
            loc, parts, law = self.estimator.tell(rows)
            return RowsJudged(_mean_within(law, loc), None, parts, law=law)
        if self.task == "classification" and "members" not in self.method.yields_for(self.task):
            if self.method.key == STACKED:
                chances, parts = self.estimator.tell(rows)
            else:
                chances = np.asarray(self.estimator.predict_proba(rows), dtype=np.float64)
                parts = self.estimator.predict_uncertainty(rows)
            codes = np.asarray(self.classes_, dtype=np.float64)[chances.argmax(axis=1)]
            return RowsJudged(codes, None, parts, chances)
        if self.task == "classification":
            members = np.asarray(self.estimator.predict_members(rows), dtype=np.float64)
            codes = mean_over_members(members).argmax(axis=1).astype(float)
            return RowsJudged(codes, members, None)
        if hasattr(self.estimator, "predict_uncertainty"):
            loc = np.asarray(self.estimator.predict(rows), dtype=np.float64)
            return RowsJudged(loc, None, self.estimator.predict_uncertainty(rows))
        # One distribution and no members: all of its variance is noise to this model.
        predicted = self.estimator.predict_distribution(rows)
        own = predicted if "law" in self.method.yields else None
        variance = np.square(predicted.scale) if own is None else own.variance()
        unknown = np.full(len(variance), np.nan)
        return RowsJudged(predicted.loc, None, Uncertainty(variance, variance, unknown), law=own)

    @property
    def classes_(self) -> NDArray[Any]:
        """The codes of the classes that the training rows had."""
        return self.estimator.classes_

    def inspect_rows(
        self, X: pd.DataFrame
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_], tuple[str, ...]]:
        """Which rows hold a level or a missing value that training had not, and in what columns."""
        return self.columns_.inspect_rows(X)

    def estimate_bytes(self, n_rows: int, n_features: int, n_classes: int | None = None) -> int:
        """Roughly the memory of a fit, by the method's record."""
        return self.method.fit_bytes(n_rows, n_features)


def _mean_within(law: StackedDistribution, loc: NDArray[np.float64]) -> NDArray[np.float64]:
    """Means of least squared error (n,), which weigh the voices otherwise than their law does.

    One that the law's usual interval leaves out gives way to the law's own, if that is inside. A
    whole number that is nearly sure is predicted as it is, unless the target ends there.
    """
    half, support = 0.5 * (1.0 - USUAL_LEVEL), law.support

    def inside(mean: NDArray[np.float64]) -> NDArray[np.bool_]:
        if support.whole:
            mean = np.round(mean)
        below = law.cdf(mean)
        before = law.cdf(mean - 1.0) if support.whole else below
        return (below >= half) & (before <= 1.0 - half)

    loc = np.where(~inside(loc) & inside(law.loc), law.loc, loc)
    if support.whole:
        nearest = np.round(loc)
        sure = law.cdf(nearest) - law.cdf(nearest - 1.0) >= USUAL_LEVEL
        sure &= (nearest > support.low) & (nearest < support.high)
        loc = np.where(sure, nearest, loc)
    return loc


def stacked_model(model: Any) -> Any:
    """The stacked estimator that a table's model holds; None of another method."""
    from gbuq_core.stacking.base import Stacked

    inner = getattr(model, "estimator", model)
    return inner if isinstance(inner, Stacked) else None


def boosted_of(model: Any) -> Any:
    """The ensemble in a table's model: itself, the one that is cut, or the trees of a law."""
    law = stacked_model(model)
    return getattr(model, "estimator", model) if law is None else law.estimator_


def read_by_model(model: Any, X: pd.DataFrame) -> Any:
    """Rows of a prepared table as a model's own estimator reads them."""
    return model.columns_.numbers(X) if isinstance(model, ListedModel) else X


class FittedModel(NamedTuple):
    """A trained ensemble and the rows of the training table that it learnt from.

    Ensembles that stop at different numbers of trees may share one fit.
    """

    estimator: Any
    rows: NDArray[np.int64]


def assign_folds(
    y: NDArray[np.float64], stratify: bool, seed: int, n_folds: int = N_FOLDS
) -> NDArray[np.int64]:
    """A fold, 0 to ``n_folds - 1``, for each row with a target; -1 for rows without."""
    known = np.flatnonzero(~np.isnan(y))
    order = known[np.random.default_rng(seed).permutation(len(known))]
    if stratify:
        # Sorted by class, shuffled within; dealing goes on from one class to the next, so that no
        # fold is favoured by what is left over.
        order = order[np.argsort(y[order], kind="stable")]
    folds = np.full(len(y), -1, dtype=np.int64)
    folds[order] = np.arange(len(order)) % n_folds
    return folds


def held_out_fifth(y: NDArray[np.float64], stratify: bool, seed: int) -> NDArray[np.bool_]:
    """Which rows are held out: one fold of five, but no class as a whole."""
    if not stratify:
        return assign_folds(y, False, seed) == 0
    codes = np.where(np.isnan(y), 0, y).astype(np.int64)
    n_rows = np.bincount(codes[~np.isnan(y)])
    return assign_folds(np.where(n_rows[codes] == 1, np.nan, y), True, seed) == 0


# No member's std is below this share of the data's step, or of its mean on a log scale.
_SMALLEST_STD, _SMALLEST_SHARE = 1e-3, 1e-6


BLOCK_ROWS = 16_384

_SMALLEST_PROBABILITY = float(np.finfo(np.float64).eps)  # as gbuq_core.metrics


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
        Negative log of the probability of the target in nats: of its class, or by `log_scores` of
        the row's law at the resolution of the training targets; NaN where it is not known.
    unseen_level, new_missing : ndarray of shape (n_rows,), bool
        Rows with a category, or a missing value in a column, that training did not have.
    flagged_columns : tuple of str
        Where that happened.
    df : ndarray of shape (n_rows,), float64
        Degrees of freedom of the Student t of a regression; infinite means a normal.
    log_loc, log_scale : ndarray of shape (n_rows,), float64, or None
        Mean and std of the logarithm of the target, of models trained on it: the law is then that
        of its exponential. None on the plain scale. `law_of` reads it.
    law : Distribution or None
        Of the target, where it is none of these.
    """

    loc: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    uncertainty: Uncertainty
    nll: NDArray[np.float64]
    unseen_level: NDArray[np.bool_]
    new_missing: NDArray[np.bool_]
    flagged_columns: tuple[str, ...]
    df: NDArray[np.float64]
    log_loc: NDArray[np.float64] | None = None
    log_scale: NDArray[np.float64] | None = None
    law: Distribution | None = None

    def take(self, rows: NDArray[Any] | slice) -> Predictions:
        """The same of some rows, by position or by mask."""
        return Predictions(
            self.loc[rows],
            self.probabilities[rows],
            Uncertainty(*(part[rows] for part in self.uncertainty)),
            self.nll[rows],
            self.unseen_level[rows],
            self.new_missing[rows],
            self.flagged_columns,
            self.df[rows],
            None if self.log_loc is None else self.log_loc[rows],
            None if self.log_scale is None else self.log_scale[rows],
            None if self.law is None else self.law[rows],
        )

    @staticmethod
    def join(pieces: Sequence[Predictions]) -> Predictions:
        """Predictions of several lots of rows, one lot after the other."""

        def joined(name: str) -> Any:
            parts = [getattr(piece, name) for piece in pieces]
            return None if parts[0] is None else np.concatenate(parts)

        kinds = zip(*(piece.uncertainty for piece in pieces), strict=True)
        columns = [name for piece in pieces for name in piece.flagged_columns]
        laws = [piece.law for piece in pieces if piece.law is not None]
        return Predictions(
            joined("loc"),
            joined("probabilities"),
            Uncertainty(*(np.concatenate(parts) for parts in kinds)),
            joined("nll"),
            joined("unseen_level"),
            joined("new_missing"),
            tuple(dict.fromkeys(columns)),
            joined("df"),
            joined("log_loc"),
            joined("log_scale"),
            concatenate(laws) if laws else None,
        )


def law_variance(parts: Uncertainty) -> NDArray[np.float64]:
    """The variance of each row's law: total uncertainty, or data alone where that is not known.

    >>> data, unknown = np.array([4.0]), np.array([np.nan])
    >>> law_variance(Uncertainty(unknown, data, unknown)).tolist()
    [4.0]
    """
    return np.where(np.isnan(parts.total), parts.data, parts.total)


def law_of(predictions: Predictions, rows: NDArray[Any] | slice | None = None) -> Distribution:
    r"""The predicted law of the target of a regression's rows: everything that needs one asks here.

    Of the stacked method it is the law of all voices. Of others,
    on the plain scale it is a Student t (a normal where ``df`` is infinite) around ``loc`` whose
    variance is the total uncertainty, or data uncertainty where knowledge is not known. Of models
    that learnt the logarithm of the target it is the exponential of such a law: a
    `LogDistribution`, whose intervals are positive and not symmetric. Quantiles, intervals, cdf,
    density and CRPS are in units of the target either way. Use these, and ``predictions.loc`` for
    the prediction: the mean and std of a `LogDistribution` differ a little from the members' mean
    and total uncertainty.

    Parameters
    ----------
    predictions : Predictions
        Of a regression.
    rows : ndarray or slice, optional
        Positions or a mask; all rows by default.

    Returns
    -------
    Distribution
        Of (n_rows,) values.

    Examples
    --------
    >>> from gbuq_core.tables import ScorePlan, read_table, score_table
    >>> text = "x,y" + "".join(f"\n{i % 7},{i % 7 + 0.1 * (i % 3)}" for i in range(60))
    >>> scored = score_table(read_table(text.encode()), "y",
    ...                      plan=ScorePlan(method="sglb", n_trees=20))
    >>> law = law_of(scored.predictions, np.arange(3))
    >>> law.interval(0.9).lower.shape, bool((law.loc == scored.predictions.loc[:3]).all())
    ((3,), True)
    """
    part = predictions if rows is None else predictions.take(rows)
    if part.law is not None:
        return part.law
    if part.log_loc is None or part.log_scale is None:
        return student(part.loc, np.sqrt(law_variance(part.uncertainty)), part.df)
    return LogDistribution(student(part.log_loc, part.log_scale, part.df))


def interval_of(
    predictions: Predictions, level: ArrayLike, rows: NDArray[Any] | slice | None = None
) -> Interval:
    """The ends of `law_of` rows as they are written: (n_rows,), or (n_rows, k) for k levels."""
    part = predictions if rows is None else predictions.take(rows)
    return beside_prediction(law_of(part).interval(level), part)


def beside_prediction(ends: Interval, predictions: Predictions) -> Interval:
    """Ends with the prediction between them where nothing but rounding to whole numbers parts them.

    A mean of 16.31 and an interval from 16 to 16 become 16.31 and 16 to 17.
    """
    support = getattr(predictions.law, "support", None)
    if support is None or not support.whole:
        return ends
    loc = predictions.loc.reshape(-1, *[1] * (ends.lower.ndim - 1))
    lower = np.where(
        np.abs(ends.lower - loc) <= 0.5, np.minimum(ends.lower, np.floor(loc)), ends.lower
    )
    upper = np.where(
        np.abs(ends.upper - loc) <= 0.5, np.maximum(ends.upper, np.ceil(loc)), ends.upper
    )
    return Interval(lower, upper)


def inside_interval(ends: Interval, y: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which targets (n_rows,) lie between their ends, or on them: of the shape of the ends."""
    y = y.reshape(-1, *[1] * (ends.lower.ndim - 1))
    return (ends.lower <= y) & (y <= ends.upper)


def trees_of(model: Any) -> Any:
    """The boosted ensemble of a table's model, which a law may stand around; None without one."""
    if not isinstance(model, ListedModel):
        return model
    return model.estimator.estimator_ if model.method.key == STACKED else None


def stops_early(plan: ScorePlan, prepared: Prepared) -> bool:
    """Whether a plan's models stop where unseen rows say, rather than at all trees."""
    enough = int(prepared.known.sum()) >= FEWEST_ROWS
    return plan.stopping is not None and not plan.listed and enough


def tails_of(model: Any) -> float:
    """Degrees of freedom of the Student t around a model's mean; infinite for a normal."""
    return float(getattr(getattr(model, "clocks_", None), "df", math.inf))


def is_on_log_scale(model: Any) -> bool:
    """Whether a model learnt the logarithm of the target."""
    return getattr(model, "target_", None) == "log"


def make_estimator(plan: ScorePlan, prepared: Prepared) -> Any:
    """The unfitted ensemble of a plan for a prepared table."""
    from gbuq_core.boosting import BoostedEnsembleClassifier, BoostedEnsembleRegressor

    check(plan, besides=("method",))
    check_scale(plan.scale, prepared.y, prepared.target)
    plan = plan.of_trees()
    if plan.listed:
        model = ListedModel(
            plan.method, prepared.target.task, dict(plan.knobs), plan.n_jobs, plan.seed
        )
        model.target_ = "log" if plan.scale == "log" else None
        model.check(prepared.X, int(prepared.known.sum()))
        return model
    regression = prepared.target.task == "regression"
    kind = BoostedEnsembleRegressor if regression else BoostedEnsembleClassifier
    of_numbers: dict[str, Any] = {"target": "log"} if plan.scale == "log" else {}
    return kind(
        stopping=None,  # the models of a protocol choose together, see gbuq_core.tables.clocks
        mean_weight=MEAN_WEIGHT if stops_early(plan, prepared) else None,
        categorical_features=prepared.categorical,
        engine=plan.engine,  # also of cyclical methods, which refuse CatBoost
        **arguments(plan, max(1, prepared.X.shape[1])),
        **of_numbers,
    )


def fit_rows(plan: ScorePlan, prepared: Prepared, rows: NDArray[np.int64]) -> Any:
    """An ensemble of all trees, trained on some rows of a prepared table."""
    estimator = make_estimator(plan, prepared)
    y = prepared.y[rows]
    X = prepared.X if len(rows) == len(prepared.X) else prepared.X.iloc[rows]
    X = _read_promising(X, y, len(prepared.target.classes))
    return estimator.fit(X, y if prepared.target.task == "regression" else y.astype(np.int64))


def _read_promising(X: pd.DataFrame, y: NDArray[np.float64], n_classes: int) -> pd.DataFrame:
    """A table of more columns than rows, in which numbers that tell trees little have one value."""
    numbers = X.select_dtypes("number").columns
    values = X[numbers].to_numpy(np.float64)
    read = find_promising(values, y, n_classes)
    if read.all():
        return X
    left = numbers[~read]
    flat = pd.DataFrame(np.where(np.isnan(values[:, ~read]), np.nan, 0.0), X.index, left)
    return pd.concat([X.drop(columns=left), flat], axis=1)[X.columns]


def width_notice(plan: ScorePlan, training: Prepared) -> list[str]:
    """That a wide table gets simpler trees."""
    n_features = training.X.shape[1]
    wide = arguments(plan, n_features)
    if (plan.listed and not plan.stacks) or wide == arguments(plan, 1):
        return []
    n_rows = int(training.known.sum())
    most, is_wide = max(FEWEST_READ, n_rows), n_features > max(MANY_COLUMNS, n_rows)
    fewer = f" They read the {most:,} numbers at most that go best with the target in their rows."
    return [
        f"With {n_features:,} features, trees have depth {wide['depth']} and each feature has "
        f"{wide['max_bins']} bins.{fewer * is_wide} This keeps the training time short."
    ]


def predict_rows(
    model: Any, X: pd.DataFrame, y: NDArray[np.float64], n_classes: int, step: float
) -> Predictions:
    """Predictions and uncertainties of rows, a block at a time."""
    shared = model, n_classes, step
    blocks = [slice(low, low + BLOCK_ROWS) for low in range(0, len(X), BLOCK_ROWS)]
    parts = ((X.iloc[rows], y[rows]) for rows in blocks)
    if is_elsewhere() and len(blocks) > 1:
        return Predictions.join(spread_map(predict_block, shared, parts))
    # One block after the other, as a model's own prediction has the threads.
    return Predictions.join([predict_block(shared, part) for part in parts])


def predict_block(
    shared: tuple[Any, int, float], part: tuple[pd.DataFrame, NDArray[np.float64]]
) -> Predictions:
    """What a model says of few rows; what it says of each does not depend on the others."""
    (model, n_classes, step), (X, y) = shared, part
    tick(0.0)
    if isinstance(model, ListedModel):
        judged = _judge_listed(model, X, y, n_classes, step)
        if model.tells_knowledge:
            return judged
        return judged._replace(uncertainty=judged.uncertainty.without_knowledge())
    members = all_classes(model.predict_members(X), model, n_classes)
    law = tails_of(model), is_on_log_scale(model)
    return judge_members(members, model.inspect_rows(X), y, n_classes, step, *law)


def _judge_listed(
    model: ListedModel, X: pd.DataFrame, y: NDArray[np.float64], n_classes: int, step: float
) -> Predictions:
    """What a method says that is no boosted ensemble; a normal gives the likelihood."""
    judged, flags = model.judge(X), model.inspect_rows(X)
    if judged.members is not None:
        members = all_classes(judged.members, model, n_classes)
        return judge_members(members, flags, y, n_classes, step)
    assert judged.uncertainty is not None
    nll, normal, none = np.full(len(y), np.nan), np.full(len(y), np.inf), np.empty((len(y), 0))
    if judged.probabilities is not None:
        (mean,) = all_classes(judged.probabilities[None], model, n_classes)
        nll = nll_of_classes(mean, y)
        return Predictions(judged.loc, mean, judged.uncertainty, nll, *flags, normal)
    loc, parts = judged.loc, judged.uncertainty
    if not is_on_log_scale(model):
        predictions = Predictions(loc, none, parts, nll, *flags, normal, law=judged.law)
        return add_nll(predictions, y, step)
    mean, of_y = exp_uncertainty(loc, parts)
    scale = np.sqrt(np.maximum(parts.total, _SMALLEST_SHARE**2))
    law = None if judged.law is None else LogDistribution(judged.law)
    return add_nll(Predictions(mean, none, of_y, nll, *flags, normal, loc, scale, law), y, step)


def judge_members(
    members: NDArray[np.float64],
    flags: tuple[NDArray[np.bool_], NDArray[np.bool_], tuple[str, ...]],
    y: NDArray[np.float64],
    n_classes: int,
    step: float,
    df: float = math.inf,
    log: bool = False,
) -> Predictions:
    """What members that have predicted say together."""
    nll = np.full(len(y), np.nan)
    of_log: tuple[Any, ...] = ()
    if n_classes:
        mean = mean_over_members(members)
        nll = nll_of_classes(mean, y)
        loc, probabilities = mean.argmax(axis=1).astype(np.float64), mean
    else:
        means, variances = members[..., 0], members[..., 1]
        # In proportion to the mean on a log scale, whose rows may differ by powers of ten.
        smallest = _SMALLEST_SHARE * means if log else _SMALLEST_STD * step
        variances = np.maximum(variances, smallest**2)
        loc, probabilities = mean_over_members(means), np.empty((len(y), 0))
        members = np.stack([means, variances], axis=-1)
        if log:
            means, variances = log_parameters(means, variances)
            of_log = mean_over_members(means), np.sqrt(decompose_regression(means, variances).total)
    predictions = Predictions(
        loc,
        probabilities,
        decompose_members(members, n_classes),
        nll,
        *flags,
        np.full(len(y), df),
        *of_log,
    )
    return predictions if n_classes else add_nll(predictions, y, step)


def add_nll(predictions: Predictions, y: NDArray[np.float64], step: float) -> Predictions:
    """Predictions of a regression with the log score of every known target."""
    known, nll = ~np.isnan(y), np.full(len(y), np.nan)
    if known.any():
        nll[known] = log_scores(law_of(predictions, known), y[known], step).values
    return predictions._replace(nll=nll)


def decompose_members(members: NDArray[np.float64], n_classes: int) -> Uncertainty:
    """The uncertainty of rows by their members; one member tells no knowledge.

    >>> decompose_members(np.array([[[3.0, 1.0]]]), 0)
    Uncertainty(total=array([1.]), data=array([1.]), knowledge=array([nan]))
    """
    if n_classes:
        parts = decompose_classification(members)
    else:
        parts = decompose_regression(members[..., 0], members[..., 1])
    return parts if len(members) > 1 else parts.without_knowledge()


def nll_of_classes(
    probabilities: NDArray[np.float64], y: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Negative log of the probability of each row's class, (n_rows,) nats; NaN where y is NaN.

    >>> nll_of_classes(np.array([[0.5, 0.5], [0.2, 0.8]]), np.array([1.0, np.nan])).round(3)
    array([0.693,   nan])
    """
    known, nll = ~np.isnan(y), np.full(len(y), np.nan)
    chosen = probabilities[known, y[known].astype(np.int64)]
    nll[known] = -np.log(np.clip(chosen, _SMALLEST_PROBABILITY, 1.0))
    return nll


def all_classes(outputs: NDArray[np.float64], model: Any, n_classes: int) -> NDArray[np.float64]:
    """Members of a classifier over all classes of the table: 0 for those it has not learnt."""
    if not n_classes or outputs.shape[2] == n_classes:
        return outputs
    members = np.zeros((*outputs.shape[:2], n_classes))
    members[..., np.asarray(model.classes_, dtype=np.int64)] = outputs
    return members


def predicted_values(predictions: Predictions, target: Target) -> Any:
    """Predicted means, or class labels: whole numbers where that changes the letters of none."""
    if not target.classes:
        return predictions.loc
    codes = predictions.loc.astype(np.int64)
    labels: Any
    if all(_is_int64(label) for label in target.classes):
        labels = np.array([int(label) for label in target.classes], dtype=np.int64)
    else:
        labels = pd.array(list(target.classes), dtype="str")
    return pd.Series(labels[codes])


def _is_int64(label: str) -> bool:
    """Whether a label is written just as a whole number of 64 bits: not 01, 1_000 or 10**24."""
    try:
        number = int(label)
    except ValueError:
        return False
    return str(number) == label and -(2**63) <= number < 2**63


def row_errors(scored: Prepared, predictions: Predictions) -> NDArray[np.float64]:
    """Absolute error, or 1 for a wrong class and 0 for the right one; NaN without a target."""
    if not scored.target.classes:
        return np.abs(scored.y - predictions.loc)
    wrong = (scored.y != predictions.loc).astype(np.float64)
    return np.where(np.isnan(scored.y), np.nan, wrong)
