"""What scoring a table will cost, and the ensemble that an automatic plan settles on.

K of independent models knows foreign rows and is steadier than that of truncations of one model,
so independent models are trained where they do not take long.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from gbuq_core.boosting.stopping import FEWEST_ROWS
from gbuq_core.errors import InvalidParameter
from gbuq_core.jobs import effective_n_jobs
from gbuq_core.presentation import counted, number_word, seconds_text
from gbuq_core.resources import MOST_THREADS
from gbuq_core.settings import AUTOMATIC, check
from gbuq_core.tables.cleaning import Prepared
from gbuq_core.tables.clocks import MOST_CHOOSING
from gbuq_core.tables.plan import BOOSTED, N_FOLDS, STACKED, ScorePlan
from gbuq_core.tables.predicting import BLOCK_ROWS, make_estimator, stops_early
from gbuq_core.tables.splitting import CHAIN, LAST_FIFTH

PROTOCOLS = ("out_of_fold", "held_out", "new_file")
MAX_ROWS_OUT_OF_FOLD = 20_000
MOST_ROWS_STACKED = 200_000  # unless the method is named
_WHAT_IS_USUAL = (
    "The stacked law, the usual method, joins SGLB's trees, rows like each row and a smooth "
    "process; the method SGLB is the trees alone."
)
MOST_SECONDS = 15.0  # for independent models of an automatic ensemble, with all folds
_MODELS, _TREES = 5, 300
_FEWEST_FOLDS = 3
_USUAL_CORES = 2


def choose_protocol(n_known: int, has_new: bool) -> str:
    """Which protocol a table with ``n_known`` rows that have a target is scored by.

    >>> choose_protocol(20_000, False), choose_protocol(20_001, False), choose_protocol(50, True)
    ('out_of_fold', 'held_out', 'new_file')
    """
    if has_new:
        return "new_file"
    return "out_of_fold" if n_known <= MAX_ROWS_OUT_OF_FOLD else "held_out"


_BYTES_PER_ADDED_CELL = 16
# Measured on two cores: choosing the clocks of a table and of its five folds.
_SECONDS_TO_CHOOSE = 0.3
_SECONDS_PER_CHOOSING_ROW = 5e-4
_SECONDS_PER_CELL = 2e-6  # to predict
_ALMOST_ALL = 0.95
# Of the voices beside the trees, and of the law of a row.
_SECONDS_TO_STACK, _SECONDS_PER_STACKED_ROW, _SECONDS_PER_TOLD_ROW = 2.0, 2e-3, 2e-4
_BYTES_PER_TOLD_ROW = 6000


class ScoreEstimate(NamedTuple):
    """What scoring will cost, roughly: seconds, and peak memory in bytes.

    ``why_ensemble`` is the reason that `settle_plan` gives. ``longest`` says what takes most of the
    time, in one sentence.
    """

    seconds: float
    bytes: int
    why_ensemble: str = ""
    longest: str = ""


def by_time(prepared: Prepared) -> bool:
    """Whether each row is judged by models of earlier rows."""
    return prepared.split is not None and prepared.split.by == "time"


def one_thread_a_fit(plan: ScorePlan) -> bool:
    """Whether a fit keeps one core busy only, so that several fits should run side by side."""
    return plan.one_model and plan.engine == "numba" and (plan.stacks or not plan.listed)


def deals_folds(prepared: Prepared) -> bool:
    """Whether a table is small enough for its rows to be dealt into folds."""
    return int(prepared.known.sum()) <= MAX_ROWS_OUT_OF_FOLD


class Settled(NamedTuple):
    """A plan whose ensemble is independent or virtual, and why in one sentence.

    ``reason`` is empty where the plan left nothing open.
    """

    plan: ScorePlan
    reason: str


def settle_plan(plan: ScorePlan, prepared: Prepared, n_new: int = 0) -> Settled:
    r"""What an automatic ensemble is for a table: a plan that says so, and the reason.

    Five independent models of 300 trees (or as many as the plan says) if all fits are estimated at
    less than 15 s, with five folds, or else four or three; if not, truncations of one model.
    The estimate is for two cores, whatever the machine has, so that one file trains one model
    everywhere. Another plan is returned as it is.

    Parameters
    ----------
    plan : ScorePlan
    prepared : Prepared
        Of the training table.
    n_new : int
        Rows of the second file; 0 without one.

    Raises
    ------
    InvalidParameter
        If a setting cannot be so.

    Examples
    --------
    >>> from gbuq_core.tables import infer_schema, prepare_training, read_table
    >>> rows = "\n".join(f"{i % 7},{i % 7 + 0.1 * (i % 3)}" for i in range(60))
    >>> table = read_table(f"x,y\n{rows}\n".encode())
    >>> plan, reason = settle_plan(ScorePlan(), prepare_training(table, infer_schema(table), "y"))
    >>> plan.method, plan.ensemble, plan.n_members, plan.n_trees, plan.n_folds
    ('stacked', 'independent', 5, 300, 5)
    >>> reason[:34]
    'The stacked law, the usual method,'
    """
    check(plan, besides=("method",))
    if plan.method == AUTOMATIC:
        why = _why_alone(plan, int(prepared.known.sum()))
        if why is None:
            settled = settle_plan(replace(plan, method=STACKED), prepared, n_new)
            return settled._replace(reason=" ".join(filter(None, [_WHAT_IS_USUAL, settled.reason])))
        settled = settle_plan(replace(plan, method=BOOSTED[0]), prepared, n_new)
        return settled._replace(reason=" ".join(filter(None, [why, settled.reason])))
    if plan.stacks:
        check_stacks(plan)
        plan = replace(plan, knobs=(), **dict(plan.knobs))  # of its trees
        n_others = 0 if deals_folds(prepared) else n_new
        trees, reason = settle_plan(plan.of_trees(), prepared, n_others)
        return Settled(replace(trees, method=plan.method), reason)
    if not plan.is_open:
        return Settled(plan, "")
    virtual = replace(plan, ensemble="virtual", n_members=None)
    if plan.truncation_step is not None:
        step = "because a truncation step is chosen"
        return Settled(virtual, f"The members are truncations of one model, {step}.")
    independent = replace(
        plan,
        ensemble="independent",
        n_members=_MODELS if plan.n_members is None else plan.n_members,
        n_trees=_TREES if plan.n_trees is None else plan.n_trees,
    )
    protocol = choose_protocol(int(prepared.known.sum()), n_new > 0)
    in_folds = protocol == "out_of_fold" and not by_time(prepared)
    fewest = min(plan.n_folds, _FEWEST_FOLDS) if in_folds else plan.n_folds
    models = f"{number_word(independent.members)} independent models of {independent.trees:,} trees"
    first = 0.0
    for n_folds in range(plan.n_folds, fewest - 1, -1):
        tried = replace(independent, n_folds=n_folds)
        seconds = _usual_seconds(prepared, tried, n_new)
        first = first or seconds
        if seconds < MOST_SECONDS:
            folds = f" for each of {n_folds} folds" if in_folds else ""
            reason = f"because this is estimated at {seconds_text(seconds)} on two cores"
            if n_folds < plan.n_folds:
                reason += f" ({seconds_text(first)} with {plan.n_folds} folds)"
            return Settled(tried, f"{models.capitalize()} are trained{folds}, {reason}.")
    return Settled(
        virtual,
        f"The members are truncations of one model, because {models} are estimated at "
        f"{seconds_text(first)} on two cores, more than {MOST_SECONDS:.0f} s.",
    )


def why_trees_alone(plan: ScorePlan) -> str:
    """What the stacked law cannot do, in words that follow its name; empty if nothing."""
    if plan.split == "time":
        return "does not go with a split by time, as its other voices would need later rows"
    return "does not go with a log scale, on which only the trees learn" * (plan.scale == "log")


def _why_alone(plan: ScorePlan, n_known: int) -> str | None:
    """Why an automatic method is trees alone, in a sentence where nobody chose it; None if not."""
    if plan.asks_for_trees:
        return ""
    why = why_trees_alone(plan)
    if n_known > MOST_ROWS_STACKED:
        why = f"is the usual method for up to {MOST_ROWS_STACKED:,} rows only"
    elif n_known < FEWEST_ROWS:
        why = f"needs {FEWEST_ROWS} rows"
    return f"Trees alone are trained, because the stacked law {why}." if why else None


def check_stacks(plan: ScorePlan) -> None:
    """Refuse what the stacked law cannot do."""
    if why := why_trees_alone(plan):
        raise InvalidParameter(f"The stacked law {why}: choose the method sglb.")


def _usual_seconds(prepared: Prepared, plan: ScorePlan, n_new: int) -> float:
    """What a plan takes on two cores: the same number on every machine and in every worker."""
    token = MOST_THREADS.set(None)
    try:
        return _estimate(prepared, replace(plan, n_jobs=_USUAL_CORES), n_new).seconds
    finally:
        MOST_THREADS.reset(token)


def estimate_scoring(prepared: Prepared, plan: ScorePlan, n_new: int = 0) -> ScoreEstimate:
    r"""Estimate the time and memory of `score_table`.

    Parameters
    ----------
    prepared : Prepared
        Of the training table. Of its features ``X``, a first row is enough.
    plan : ScorePlan
        Its ensemble is settled first if it is automatic.
    n_new : int
        Rows of the second file; 0 without one.

    Examples
    --------
    >>> from gbuq_core.tables import infer_schema, prepare_training, read_table
    >>> rows = "\n".join(f"{i % 7},{i % 7 + 0.1 * (i % 3)}" for i in range(60))
    >>> table = read_table(f"x,y\n{rows}\n".encode())
    >>> plan = ScorePlan(ensemble="virtual", n_trees=100_000)
    >>> estimate_scoring(prepare_training(table, infer_schema(table), "y"), plan).longest
    'Almost all of the time goes into training 5 models of 100,000 trees on 48 rows and 1 column.'
    """
    settled = settle_plan(plan, prepared, n_new)
    return _estimate(prepared, settled.plan, n_new)._replace(why_ensemble=settled.reason)


def _estimate(prepared: Prepared, plan: ScorePlan, n_new: int) -> ScoreEstimate:
    """Of a plan that is settled."""
    n_known, n_features = int(prepared.known.sum()), prepared.X.shape[1]
    n_classes = len(prepared.target.classes)
    protocol = choose_protocol(n_known, n_new > 0)
    if plan.stacks and deals_folds(prepared):
        protocol = "out_of_fold"
    sizes = {
        "out_of_fold": [n_known - n_known // plan.n_folds] * plan.n_folds,
        "held_out": [n_known - n_known // N_FOLDS],
        "new_file": [n_known - n_known // N_FOLDS],
    }[protocol]
    if by_time(prepared):
        starts = CHAIN if protocol == "out_of_fold" else LAST_FIFTH
        sizes = [max(1, int(share * n_known)) for share in starts]
    sizes += [n_known] if n_new else []
    estimator = make_estimator(plan, prepared)
    fits = [estimator.estimate_fit(size, n_features, n_classes or None) for size in sizes]
    at_once = min(effective_n_jobs(plan.n_jobs), len(sizes)) if one_thread_a_fit(plan) else 1
    n_scored = n_new or len(prepared.y)
    # Each fit at work copies its rows and turns them into one matrix of float64.
    matrices = at_once * 2 * 8 * n_features * n_known
    members = BLOCK_ROWS * (plan.members + 40) * 8 * max(n_classes, 2) * 3
    output = n_scored * (_BYTES_PER_ADDED_CELL * (n_features + 20) + 8 * n_classes)
    parts = {
        _name_fits(plan, sizes, n_features): sum(fit.seconds for fit in fits) / at_once,
        f"predicting {counted(n_scored, 'row')}": _SECONDS_PER_CELL * n_scored * n_features,
    }
    if plan.stacks:
        n_heard = min(n_known, MAX_ROWS_OUT_OF_FOLD)
        parts["weighing the voices"] = (
            _SECONDS_TO_STACK
            + _SECONDS_PER_STACKED_ROW * n_heard
            + _SECONDS_PER_TOLD_ROW * n_scored
        )
        output += _BYTES_PER_TOLD_ROW * n_scored
    if stops_early(plan.of_trees(), prepared):
        parts["choosing how many trees are in use"] = (
            _SECONDS_TO_CHOOSE + _SECONDS_PER_CHOOSING_ROW * min(n_known, MOST_CHOOSING)
        )
    n_bytes = at_once * max(fit.bytes for fit in fits) + matrices + members + output
    return ScoreEstimate(sum(parts.values()), int(n_bytes), longest=_longest(parts))


def _name_fits(plan: ScorePlan, sizes: list[int], n_features: int) -> str:
    """All fits together in words."""
    rows = f"on {counted(max(sizes), 'row')} and {counted(n_features, 'column')}"
    if plan.listed and not plan.stacks:
        return f"training {rows}"
    n_models = len(sizes) * (1 if plan.one_model else plan.members)
    return f"training {counted(n_models, 'model')} of {plan.trees:,} trees {rows}"


def _longest(parts: dict[str, float]) -> str:
    """What takes most of the time, of seconds by what they go into."""
    name = max(parts, key=lambda part: parts[part])
    share = parts[name] / sum(parts.values())
    most = "Almost all" if share > _ALMOST_ALL else f"About {100 * share:.0f} %"
    return f"{most} of the time goes into {name}."
