"""Any method, side by side: several methods on the same held-out rows of a table, row by row.

Each method is trained and judged by the protocol of `gbuq_core.tables.scoring`, on the same folds
or the same held-out fifth. What it says of each row is kept as one number a score, so that two
methods are compared by the differences of the same rows. Standard errors are over rows: they tell
what other rows of this kind would change, and not what another training would.

- NLL, CRPS, coverage, error rate: the mean over rows, its standard error from their std.
- RMSE: the root of such a mean; its standard error by the delta method.
- PRR of total uncertainty: standard errors by a bootstrap that draws the same rows for all methods.

CRPS and the 90 % intervals are those of `gbuq_core.tables.predicting.law_of`: of a Student t or a
normal with the total uncertainty, also for methods that have intervals of their own. Methods that
yield a law, as those of other libraries (`gbuq_core.baselines.declare_peer`), are judged by it.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gbuq_core.errors import Cancelled, GbuqError, InvalidParameter
from gbuq_core.jobs import available_memory_bytes, check_memory, stage
from gbuq_core.methods import METHODS
from gbuq_core.metrics import prr, wilson_band
from gbuq_core.presentation import digits, format_bytes, percent, short
from gbuq_core.settings import AUTOMATIC
from gbuq_core.tables.cleaning import Prepared, prepare_training
from gbuq_core.tables.files import Table
from gbuq_core.tables.judging import held_out
from gbuq_core.tables.plan import (
    STACKED,
    ScorePlan,
    check_methods,
    compared_methods,
    is_boosted,
    tells_total,
    why_unfit,
)
from gbuq_core.tables.predicting import Predictions, inside_interval, interval_of, law_of
from gbuq_core.tables.schema import Schema, infer_schema
from gbuq_core.tables.scoring import ScoredTable, fit_protocol, judge_fits
from gbuq_core.tables.settling import (
    choose_protocol,
    scoring_bytes,
    settle_plan,
    why_trees_alone,
)

LEVEL = 0.9  # of the intervals whose coverage is measured
_Z = 1.959963984540054  # of a two-sided interval of 95 %
_MOST_RESAMPLED = 2000  # rows
_RESAMPLES = 200

_LOG = logging.getLogger(__name__)


class ComparedScore(NamedTuple):
    """A score that methods are compared by.

    Attributes
    ----------
    key, label : str
    unit : str
        Empty for shares.
    better : {"lower", "higher", "near"}
        ``"near"``: the nearest to `LEVEL`.
    meaning : str
        One sentence.
    """

    key: str
    label: str
    unit: str
    better: str
    meaning: str


REGRESSION_SCORES = (
    ComparedScore("nll", "NLL", "nats", "lower",
                  "Mean negative log of the probability of the targets, at their resolution."),
    ComparedScore("crps", "CRPS", "units of the target", "lower",
                  "Continuous ranked probability score: the distance of law and target."),
    ComparedScore("rmse", "RMSE", "units of the target", "lower",
                  "Root of the mean squared error of the prediction."),
    ComparedScore("coverage", "In 90 % interval", "", "near",
                  "Share of rows inside their central 90 % interval; 90 % is right."),
    ComparedScore("prr", "PRR of total", "%", "higher",
                  "How well total uncertainty ranks squared errors: 100 is best, 0 is chance."),
)  # fmt: skip
CLASS_SCORES = (
    ComparedScore("nll", "Log loss", "nats", "lower",
                  "Mean negative log-probability of the right class."),
    ComparedScore("error_rate", "Error rate", "", "lower", "Share of wrong classes."),
    ComparedScore("prr", "PRR of total", "%", "higher",
                  "How well total uncertainty ranks wrong classes: 100 is best, 0 is chance."),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class MethodRun:
    """What one method says about the held-out rows of a table.

    Attributes
    ----------
    key : str
        In `gbuq_core.methods.METHODS`.
    plan : ScorePlan
    rows : ndarray of shape (n_held,), int64
        Positions in the table, rising.
    values : mapping of str to ndarray of shape (n_held,)
        ``nll``, and ``crps``, ``squared_error`` and ``inside`` (1 in the 90 % interval), or
        ``wrong`` (1 for a wrong class).
    total : ndarray of shape (n_held,)
        Total uncertainty, which orders the rows for the PRR.
    seconds : float
        Of all fits and predictions.
    error : str
        One sentence if it failed; then nothing else is there.
    """

    key: str
    plan: ScorePlan
    rows: NDArray[np.int64]
    values: Mapping[str, NDArray[np.float64]]
    total: NDArray[np.float64]
    seconds: float
    error: str = ""

    @property
    def label(self) -> str:
        """The method's name for people."""
        return METHODS[self.key].label


class Estimate(NamedTuple):
    """A score with its standard error over rows and the ends of its 95 % interval.

    The interval of a share is Wilson's.
    """

    value: float
    se: float
    low: float
    high: float


class Difference(NamedTuple):
    """A method's score minus the reference's on the same rows, with its 95 % interval."""

    value: float
    se: float
    low: float
    high: float

    @property
    def told_apart(self) -> bool:
        """Whether the interval leaves 0 out.

        Examples
        --------
        >>> Difference(0.2, 0.05, 0.1, 0.3).told_apart, Difference(0.1, 0.1, -0.1, 0.3).told_apart
        (True, False)
        """
        return self.low > 0.0 or self.high < 0.0


@dataclass(frozen=True, kw_only=True)
class ComparedMethod:
    """One method of a comparison.

    Attributes
    ----------
    key, label : str
    scores : mapping of str to Estimate
        By the keys of the comparison's scores; empty if it failed.
    differences : mapping of str to Difference
        To the reference of each score; the reference has none.
    seconds : float
    error : str
    """

    key: str
    label: str
    scores: Mapping[str, Estimate]
    differences: Mapping[str, Difference]
    seconds: float
    error: str


@dataclass(frozen=True, kw_only=True)
class MethodComparison:
    """Several methods on the same held-out rows.

    Attributes
    ----------
    scores : tuple of ComparedScore
    methods : tuple of ComparedMethod
        In the order asked for.
    best : mapping of str to str
        The key of the method with the best value of each score.
    reference : mapping of str to str
        The method that the differences of a score are taken to: the best, or the chosen one.
    n_rows : int
        Held-out rows, the same for all.
    """

    scores: tuple[ComparedScore, ...]
    methods: tuple[ComparedMethod, ...]
    best: Mapping[str, str]
    reference: Mapping[str, str]
    n_rows: int

    def frame(self) -> pd.DataFrame:
        """One line for each method and score: value, standard error, interval, difference."""
        lines = []
        for method in self.methods:
            for score in self.scores if method.scores else ():
                estimate = method.scores[score.key]
                nothing = Difference(math.nan, math.nan, math.nan, math.nan)
                gap = method.differences.get(score.key, nothing)
                lines.append(
                    {
                        "method": method.label,
                        "score": score.label,
                        "unit": score.unit or "share",
                        "value": estimate.value,
                        "standard_error": estimate.se,
                        "low_95": estimate.low,
                        "high_95": estimate.high,
                        "compared_with": METHODS[self.reference[score.key]].label,
                        "difference": gap.value,
                        "difference_se": gap.se,
                        "difference_low_95": gap.low,
                        "difference_high_95": gap.high,
                        "best": method.key == self.best[score.key],
                        "seconds": method.seconds,
                        "rows": self.n_rows,
                    }
                )
        return pd.DataFrame(lines)


def plan_of_method(key: str, task: str, plan: ScorePlan | None = None) -> ScorePlan:
    """How a method is trained: boosted ensembles with a plan's settings, others with their own.

    >>> plan = plan_of_method("virtual_catboost", "regression", ScorePlan(n_trees=200))
    >>> plan.method, plan.ensemble, plan.engine, plan.n_trees
    ('sglb', 'virtual', 'catboost', 200)
    """
    plan = plan or ScorePlan()
    plan = replace(plan, n_trees=plan.trees, n_members=plan.members)
    builder = METHODS[key].builder(task)
    if key == STACKED:
        ensemble = "independent" if plan.ensemble == AUTOMATIC else plan.ensemble
        return replace(plan, method=key, ensemble=ensemble, engine="numba", knobs=())
    if not is_boosted(builder):
        return replace(plan, method=key, ensemble="virtual", engine="numba", knobs=())
    fixed = builder.fixed
    return replace(
        plan,
        method=fixed["method"],
        ensemble=fixed.get("ensemble", "virtual"),
        engine=fixed.get("engine", "numba"),
        knobs=(),
    )


def method_of_plan(plan: ScorePlan, task: str) -> str | None:
    """The key of the method that a plan trains, or None if no record says so.

    >>> plans = [ScorePlan(method=key, ensemble="virtual") for key in ("sglb", "gp")]
    >>> [method_of_plan(plan, "regression") for plan in plans]
    ['virtual_sglb', 'gp']
    """
    for method in compared_methods():
        if not tells_total(method.key, task):
            continue
        trained = plan_of_method(method.key, task, plan)
        same = (trained.method, trained.engine) == (plan.method, plan.engine)
        if same and (trained.cyclical or trained.listed or trained.ensemble == plan.ensemble):
            return method.key
    return None


def why_not_compared(prepared: Prepared, plan: ScorePlan | None = None) -> dict[str, str]:
    r"""For each method why it cannot be compared on this table, in a sentence; empty if it can.

    Parameters
    ----------
    prepared : Prepared
        Of the training table.
    plan : ScorePlan, optional
        What boosted ensembles are trained with.

    Examples
    --------
    >>> from gbuq_core.tables import read_table
    >>> text = "x,y" + "".join(f"\n{i % 7},{i % 7 + 0.1 * (i % 3)}" for i in range(60))
    >>> table = read_table(text.encode())
    >>> reasons = why_not_compared(prepare_training(table, infer_schema(table), "y"))
    >>> reasons["ibug"], reasons["isolation"]
    ('', 'Isolation forest cannot predict a target: it tells how new a row is.')
    """
    numbers = prepared.X.select_dtypes("number")
    gaps = bool(numbers.isna().to_numpy().any())
    n_known = int(prepared.known.sum())
    reasons = {}
    for method in compared_methods():
        reason = why_unfit(method, prepared.target.task) or method.why_not(n_known, gaps)
        if method.key == STACKED and plan is not None and (why := why_trees_alone(plan)):
            reason = f"{method.label} {why}."
        if not reason:
            needed = scoring_bytes(prepared, plan_of_method(method.key, prepared.target.task, plan))
            if needed > (free := available_memory_bytes()):
                reason = (
                    f"{method.label} needs about {format_bytes(needed)} of memory, and "
                    f"{format_bytes(free)} are free."
                )
        reasons[method.key] = reason
    return reasons


def protocol_of(scored: ScoredTable) -> str:
    """By which protocol other methods judge the rows that a scored table's models judged."""
    if scored.protocol != "new_file":
        return scored.protocol
    every = bool(scored.held[scored.training.known].all())
    return "out_of_fold" if every else "held_out"


def run_of_scored(key: str, scored: ScoredTable) -> MethodRun:
    """What a table that is scored already says about its held-out rows; nothing is fitted."""
    held = held_out(scored)
    return _run(key, scored.plan, held.rows, held.y, held.predictions, scored.seconds)


def run_method(
    key: str,
    prepared: Prepared,
    plan: ScorePlan | None = None,
    protocol: str | None = None,
) -> MethodRun:
    """Train one method and judge the held-out rows; a failure is a sentence in the result."""
    began = time.perf_counter()
    own = plan or ScorePlan()
    try:
        own = plan_of_method(key, prepared.target.task, plan)
        check_memory(scoring_bytes(prepared, own), f"comparing {METHODS[key].label}")
        chosen = protocol or choose_protocol(int(prepared.known.sum()), False)
        fits = fit_protocol(chosen, prepared, own)
        predictions, _ = judge_fits(fits, prepared, prepared, own)
        rows = np.flatnonzero(fits.held)
        seconds = time.perf_counter() - began
        return _run(key, own, rows, prepared.y[rows], predictions.take(rows), seconds)
    except Cancelled:
        raise
    except GbuqError as error:
        sentence = str(error)
        label = METHODS[key].label
        return _failed(key, own, sentence if label in sentence else f"{label}: {sentence}", began)
    except MemoryError:
        return _failed(key, own, f"{METHODS[key].label} ran out of memory.", began)
    except Exception as error:  # of a library: the other methods go on
        _LOG.exception("Comparing %s failed", key)
        sentence = f"{METHODS[key].label} failed on this table ({type(error).__name__})."
        return _failed(key, own, sentence, began)


def _failed(key: str, plan: ScorePlan, error: str, began: float) -> MethodRun:
    return MethodRun(
        key=key,
        plan=plan,
        rows=np.zeros(0, np.int64),
        values={},
        total=np.zeros(0),
        seconds=time.perf_counter() - began,
        error=error,
    )


def _run(
    key: str,
    plan: ScorePlan,
    rows: NDArray[np.int64],
    y: NDArray[np.float64],
    predictions: Predictions,
    seconds: float,
) -> MethodRun:
    values = {"nll": predictions.nll}
    if predictions.probabilities.shape[1]:
        values["wrong"] = (predictions.loc != y).astype(np.float64)
    else:
        values["crps"] = law_of(predictions).crps(y)
        values["squared_error"] = (y - predictions.loc) ** 2
        values["inside"] = inside_interval(interval_of(predictions, LEVEL), y).astype(np.float64)
    return MethodRun(
        key=key,
        plan=plan,
        rows=rows,
        values=values,
        total=predictions.uncertainty.total,
        seconds=seconds,
    )


def run_methods(
    keys: Sequence[str],
    prepared: Prepared,
    plan: ScorePlan | None = None,
    protocol: str | None = None,
    on_run: Callable[[MethodRun], None] | None = None,
) -> tuple[MethodRun, ...]:
    """Run methods one after the other, each an equal stage of the current job.

    Parameters
    ----------
    keys : sequence of str
    prepared : Prepared
        Of the training table.
    plan : ScorePlan, optional
    protocol : {"out_of_fold", "held_out"}, optional
    on_run : callable, optional
        Called with each run as soon as it has ended, so that nothing is lost if a later one is
        cancelled.
    """
    keys = check_methods(keys, prepared.target.task)
    runs = []
    with stage(len(keys)):
        for key in keys:
            with stage(1.0, span=1.0):
                run = run_method(key, prepared, plan, protocol)
            if on_run is not None:
                on_run(run)
            runs.append(run)
    return tuple(runs)


def compare_runs(
    runs: Sequence[MethodRun], reference: str | None = None, seed: int | None = None
) -> MethodComparison:
    """Scores of runs of the same rows, and paired differences with their 95 % intervals.

    Parameters
    ----------
    runs : sequence of MethodRun
        Of one table and one protocol.
    reference : str, optional
        The method that the others are compared with; by default the best in each score.
    seed : int, optional
        Of the rows that the bootstrap of the PRR draws; that of the first run by default.

    Raises
    ------
    InvalidParameter
        If the runs are not of the same rows, or the reference is not among them.
    """
    _check_reference(reference, [run.key for run in runs])
    done = [run for run in runs if not run.error]
    if not done:
        none = _compared(runs, {}, {})
        return MethodComparison(scores=(), methods=none, best={}, reference={}, n_rows=0)
    if any(not np.array_equal(run.rows, done[0].rows) for run in done):
        raise InvalidParameter("The methods were not judged on the same rows.")
    about = CLASS_SCORES if "wrong" in done[0].values else REGRESSION_SCORES
    drawn = _Drawn(done, done[0].plan.seed if seed is None else seed)
    scores = {run.key: {s.key: _estimate(run, s.key, drawn) for s in about} for run in done}
    best, against = {}, {}
    for score in about:
        best[score.key] = _best(
            score, {key: estimates[score.key].value for key, estimates in scores.items()}
        )
        against[score.key] = reference if reference in scores else best[score.key]
    by_key = {run.key: run for run in done}
    gaps = {
        run.key: {
            score.key: _difference(run, other, score.key, drawn)
            for score in about
            if (other := by_key[against[score.key]]) is not run
        }
        for run in done
    }
    return MethodComparison(
        scores=about,
        methods=_compared(runs, scores, gaps),
        best=best,
        reference=against,
        n_rows=len(done[0].rows),
    )


def compare_methods(
    table: Table,
    target: str,
    methods: Sequence[str] = ("stacked", "virtual_sglb", "macau_linear"),
    *,
    task: str | None = None,
    schema: Schema | None = None,
    plan: ScorePlan | None = None,
    reference: str | None = None,
    scored: ScoredTable | None = None,
) -> MethodComparison:
    r"""Train up to four methods on a table and compare them on the same held-out rows.

    Reports progress to the current job and stops once nobody wants the result. A method that fails
    does not lose the others: its ``error`` says why.

    Parameters
    ----------
    table : Table
    target : str
        The column to predict.
    methods : sequence of str
        Keys of `gbuq_core.methods.METHODS`, at most four; see `why_not_compared`.
    task : {"regression", "classification"}, optional
        Inferred if None.
    schema : Schema, optional
        Inferred if None.
    plan : ScorePlan, optional
        Trees, depth, members, stopping and seed of boosted ensembles, and the seed of the folds;
        other methods keep their own settings. By default that of ``scored``, or what
        `score_table` would take: an automatic ensemble settles trees, members and folds.
    reference : str, optional
        The method that the others are compared with; by default the best in each score.
    scored : ScoredTable, optional
        The same table, scored by a method that is then not trained again.

    Examples
    --------
    >>> from gbuq_core.tables import read_table
    >>> rows = "".join(f"\n{i % 7},{i % 7 + 0.1 * (i % 3)}" for i in range(60))
    >>> table = read_table(f"x,y{rows}".encode())
    >>> plan = ScorePlan(n_trees=30, n_members=2)
    >>> compared = compare_methods(table, "y", ["sgb", "knn"], plan=plan)
    >>> [method.label for method in compared.methods], compared.n_rows
    (['SGB', 'kNN'], 60)
    >>> compared.frame().shape
    (10, 15)
    """
    if scored is None:
        plan = plan or ScorePlan()
        schema = schema or infer_schema(table)
        prepared = prepare_training(table, schema, target, task, plan.split, plan.split_column)
        plan = settle_plan(plan, prepared).plan
    else:
        prepared, plan = scored.training, plan or scored.plan
    keys = check_methods(methods, prepared.target.task)
    _check_reference(reference, keys)
    protocol, known = None, {}
    if scored is not None:
        protocol = protocol_of(scored)
        trained = method_of_plan(scored.plan, prepared.target.task)
        if trained in keys:
            known[trained] = run_of_scored(trained, scored)
    missing = [key for key in keys if key not in known]
    if missing:
        runs = run_methods(missing, prepared, plan, protocol)
        known |= {run.key: run for run in runs}
    return compare_runs([known[key] for key in keys], reference)


def _check_reference(reference: str | None, keys: Sequence[str]) -> None:
    if reference is not None and reference not in keys:
        raise InvalidParameter(f"The reference {reference!r} is not among the compared methods.")


class _Drawn:
    """PRRs of runs on the same rows and on the same rows drawn again."""

    def __init__(self, runs: Sequence[MethodRun], seed: int) -> None:
        rng = np.random.default_rng((seed, 19))
        n_rows = len(runs[0].rows)
        kept = np.arange(n_rows)
        if n_rows > _MOST_RESAMPLED:
            kept = np.sort(rng.choice(n_rows, _MOST_RESAMPLED, replace=False))
        # Fewer rows vary more: the std shrinks with the root of their number.
        self._shrink = math.sqrt(len(kept) / n_rows) if n_rows else 1.0
        drawn = kept[rng.integers(0, len(kept), (_RESAMPLES, len(kept)))]
        self.whole, self.again = {}, {}
        for run in runs:
            errors = run.values["wrong" if "wrong" in run.values else "squared_error"]
            self.whole[run.key] = prr(errors, run.total)
            self.again[run.key] = np.array([prr(errors[take], run.total[take]) for take in drawn])

    def se(self, values: NDArray[np.float64]) -> float:
        """Standard error over rows from values on rows drawn again."""
        finite = values[np.isfinite(values)]
        return float(self._shrink * finite.std(ddof=1)) if len(finite) > 1 else math.nan


_MEANS = {"nll": "nll", "crps": "crps", "coverage": "inside", "error_rate": "wrong"}
_SHARES = ("coverage", "error_rate")


def _estimate(run: MethodRun, score: str, drawn: _Drawn) -> Estimate:
    if score == "prr":
        value, se = drawn.whole[run.key], drawn.se(drawn.again[run.key])
    else:
        value, parts = _by_row(run, score)
        se = _mean_error(parts)
    if score in _SHARES:
        low, high = wilson_band(float(run.values[_MEANS[score]].sum()), len(run.rows))
        return Estimate(value, se, float(low), float(high))
    return Estimate(value, se, value - _Z * se, value + _Z * se)


def _difference(run: MethodRun, other: MethodRun, score: str, drawn: _Drawn) -> Difference:
    if score == "prr":
        value = drawn.whole[run.key] - drawn.whole[other.key]
        se = drawn.se(drawn.again[run.key] - drawn.again[other.key])
    else:
        (mine, parts), (its, others) = _by_row(run, score), _by_row(other, score)
        value, se = mine - its, _mean_error(parts - others)
    return Difference(value, se, value - _Z * se, value + _Z * se)


def _by_row(run: MethodRun, score: str) -> tuple[float, NDArray[np.float64]]:
    """A score, and what each row adds to it: the std of these parts gives its standard error."""
    if score == "rmse":
        squared = run.values["squared_error"]
        root = math.sqrt(float(squared.mean()))
        return root, squared / (2.0 * root) if root else np.zeros(len(squared))
    values = run.values[_MEANS[score]]
    return float(values.mean()), values


def _mean_error(values: NDArray[np.float64]) -> float:
    """Standard error of a mean over rows."""
    if len(values) < 2:
        return math.nan
    return float(values.std(ddof=1) / math.sqrt(len(values)))


def _best(score: ComparedScore, values: Mapping[str, float]) -> str:
    """The method with the best value; the first of several."""

    def badness(key: str) -> float:
        value = values[key]
        if math.isnan(value):
            return math.inf
        return {"lower": value, "higher": -value, "near": abs(value - LEVEL)}[score.better]

    return min(values, key=badness)


def _compared(
    runs: Sequence[MethodRun],
    scores: Mapping[str, Mapping[str, Estimate]],
    gaps: Mapping[str, Mapping[str, Difference]],
) -> tuple[ComparedMethod, ...]:
    return tuple(
        ComparedMethod(
            key=run.key,
            label=run.label,
            scores=scores.get(run.key, {}),
            differences=gaps.get(run.key, {}),
            seconds=run.seconds,
            error=run.error,
        )
        for run in runs
    )


def write_score(score: ComparedScore, value: float, sign: str = "") -> str:
    """A value of a score: three digits, and shares in per cent.

    >>> write_score(REGRESSION_SCORES[3], 0.8957), write_score(REGRESSION_SCORES[0], 1.2345, "+")
    ('89.6 %', '+1.23')
    """
    if score.unit:
        return short(value, sign=sign)
    plus = sign if value > 0 else ""
    return f"{plus}{percent(value, 1)}"


def write_cell(compared: MethodComparison, method: ComparedMethod, score: ComparedScore) -> str:
    """A score in a table: its value, standard error or 95 % band, and mark; or nothing."""
    if not method.scores:
        return ""
    part = method.scores[score.key]
    if score.unit:
        text = f"{digits(part.value)} \u00b1 {digits(part.se, 2)}"
    else:
        low, high = (percent(end, 0).removesuffix(" %") for end in (part.low, part.high))
        text = f"{percent(part.value, 1)} ({low} to {high})"
    if compared.best[score.key] != method.key or sum(bool(m.scores) for m in compared.methods) < 2:
        return text
    return f"{text}, {'nearest' if score.better == 'near' else 'best'}"


def describe_comparison(compared: MethodComparison) -> list[str]:
    """One sentence or two for each score: which is best, which are not told apart from it, and how
    much worse the others are. Plain text without the user's words.

    With a chosen reference the others are called better or worse than it.
    """
    ran = {method.key: method for method in compared.methods if method.scores}
    if not ran:
        return ["No method could be compared."]
    sentences = []
    for score in compared.scores:
        base = compared.reference[score.key]
        value = ran[base].scores[score.key].value
        amount = f"{write_score(score, value)}{f' {score.unit}' if score.unit else ''}"
        is_best = base == compared.best[score.key]
        what = "is nearest to 90 %" if score.better == "near" else "is best"
        first = f"{ran[base].label} {what if is_best else 'is compared with'} ({amount})."
        others = [method for method in ran.values() if method.key != base]
        same = [m.label for m in others if not m.differences[score.key].told_apart]
        parts = [f"{score.label}: {first}"]
        if same:
            parts.append(f"Not told apart from it: {', '.join(same)}.")
        for method in others:
            gap = method.differences[score.key]
            if gap.told_apart:
                parts.append(_apart(method.label, score, gap))
        sentences.append(" ".join(parts))
    return sentences


def _apart(label: str, score: ComparedScore, gap: Difference) -> str:
    ends = sorted(abs(end) for end in (gap.low, gap.high))
    amounts = [write_score(score, end).replace("%", "points") for end in (abs(gap.value), *ends)]
    unit = " points" if score.unit == "%" else f" {score.unit}" if score.unit else ""
    if score.better == "near":
        side = "more" if gap.value > 0.0 else "less"
        return f"{label} covers {amounts[0]} {side} ({amounts[1]} to {amounts[2]})."
    is_worse = (gap.value > 0.0) == (score.better == "lower")
    return (
        f"{label} is {'worse' if is_worse else 'better'} by {amounts[0]}{unit} ({amounts[1]} to "
        f"{amounts[2]})."
    )
