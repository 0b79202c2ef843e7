"""The ensemble that an automatic plan settles on, and how much work and memory scoring takes.

K of independent models knows foreign rows and is steadier than that of truncations of one model,
so independent models are trained where they do not take long. Work goes by rows, columns and trees
alone, so that one file trains one model on every machine.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from gbuq_core.boosting.plan import tree_work
from gbuq_core.boosting.stopping import FEWEST_ROWS
from gbuq_core.errors import InvalidParameter
from gbuq_core.jobs import effective_n_jobs
from gbuq_core.presentation import counted, enumerated, number_word
from gbuq_core.settings import AUTOMATIC, arguments, check
from gbuq_core.tables.cleaning import Prepared
from gbuq_core.tables.plan import BOOSTED, N_FOLDS, STACKED, ScorePlan
from gbuq_core.tables.predicting import BLOCK_ROWS, make_estimator
from gbuq_core.tables.splitting import CHAIN, LAST_FIFTH

PROTOCOLS = ("out_of_fold", "held_out", "new_file")
MAX_ROWS_OUT_OF_FOLD = 20_000
MOST_ROWS_STACKED = 200_000  # unless the method is named
_WHAT_IS_USUAL = (
    "The stacked law, the usual method, joins SGLB's trees, rows like each row and a smooth "
    "process; the method SGLB is the trees alone."
)
_MODELS, _TREES = 5, 300
_FEWEST_FOLDS = 3
_USUAL_DEPTH = 6  # of a method that takes none
# Work is counted in cells that a tree reads for an output, as by `tree_work`.
MOST_OF_INDEPENDENT = 6.4e9  # of an automatic ensemble's independent models, with all folds
MOST_AT_ONCE = 4.6e10  # above it, a page waits for a press of Run
# Of the stacked law: a row that weighs its parts, and one that it is told of. Of any: a cell.
_PER_WEIGHING_ROW, _PER_TOLD_ROW, _PER_PREDICTED_CELL = 1.8e6, 9e4, 1.5e3
_CATBOOST_FACTOR = 2.0
_BYTES_PER_ADDED_CELL, _BYTES_PER_TOLD_ROW = 16, 6000


def choose_protocol(n_known: int, has_new: bool) -> str:
    """Which protocol a table with ``n_known`` rows that have a target is scored by.

    >>> choose_protocol(20_000, False), choose_protocol(20_001, False), choose_protocol(50, True)
    ('out_of_fold', 'held_out', 'new_file')
    """
    if has_new:
        return "new_file"
    return "out_of_fold" if n_known <= MAX_ROWS_OUT_OF_FOLD else "held_out"


class TrainingSize(NamedTuple):
    """How much work scoring is, in cells that trees read, and what it trains, in words."""

    work: float
    words: str

    @property
    def waits(self) -> bool:
        """Whether a page waits for a press of Run."""
        return self.work > MOST_AT_ONCE


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

    Five independent models of 300 trees (or as many as the plan says) if the table is small enough
    for them with five folds, or else four or three; if not, truncations of one model. Another plan
    is returned as it is.

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
    size = _table_size(prepared)
    for n_folds in range(plan.n_folds, fewest - 1, -1):
        tried = replace(independent, n_folds=n_folds)
        if _work_of_trees(prepared, tried, n_new) < MOST_OF_INDEPENDENT:
            folds = f" for each of {n_folds} folds" if in_folds else ""
            reason = f"{size} are few enough"
            if n_folds < plan.n_folds:
                reason = f"{size} are too many for {plan.n_folds} folds"
            return Settled(tried, f"{models.capitalize()} are trained{folds}, because {reason}.")
    reason = f"{size} are too many for {models}"
    return Settled(virtual, f"The members are truncations of one model, because {reason}.")


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


def training_size(prepared: Prepared, plan: ScorePlan, n_new: int = 0) -> TrainingSize:
    r"""How much work `score_table` is.

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
    >>> size = training_size(prepare_training(table, infer_schema(table), "y"), plan)
    >>> size.words, size.waits
    ('5 models of 100,000 trees on 48 rows and 1 column', False)
    """
    plan = settle_plan(plan, prepared, n_new).plan
    sizes, n_scored = _fit_sizes(prepared, plan, n_new), n_new or len(prepared.y)
    n_models = len(sizes) * _models_a_fit(plan)
    work = _work_of_trees(prepared, plan, n_new)
    work *= 2.0 if n_models == 1 else 1.0  # which leaves the second core idle
    work += _PER_PREDICTED_CELL * n_scored * prepared.X.shape[1]
    if plan.stacks:
        n_weighing = min(int(prepared.known.sum()), MAX_ROWS_OUT_OF_FOLD)
        work += _PER_WEIGHING_ROW * n_weighing + _PER_TOLD_ROW * n_scored
    rows = f"on {counted(max(sizes), 'row')} and {counted(prepared.X.shape[1], 'column')}"
    trees = "" if plan.of_trees().listed else f" of {plan.trees:,} trees"
    return TrainingSize(work, f"{counted(n_models, 'model')}{trees} {rows}")


def scoring_bytes(prepared: Prepared, plan: ScorePlan, n_new: int = 0) -> int:
    """Roughly the memory that `score_table` takes at its peak; parameters as of `training_size`."""
    plan = settle_plan(plan, prepared, n_new).plan
    n_known, n_features = int(prepared.known.sum()), prepared.X.shape[1]
    n_classes, n_scored = len(prepared.target.classes), n_new or len(prepared.y)
    sizes, estimator = _fit_sizes(prepared, plan, n_new), make_estimator(plan, prepared)
    of_fit = max(estimator.estimate_bytes(size, n_features, n_classes or None) for size in sizes)
    at_once = min(effective_n_jobs(plan.n_jobs), len(sizes)) if one_thread_a_fit(plan) else 1
    # Each fit at work copies its rows and turns them into one matrix of float64.
    matrices = at_once * 2 * 8 * n_features * n_known
    members = BLOCK_ROWS * (plan.members + 40) * 8 * max(n_classes, 2) * 3
    output = n_scored * (_BYTES_PER_ADDED_CELL * (n_features + 20) + 8 * n_classes)
    output += _BYTES_PER_TOLD_ROW * n_scored if plan.stacks else 0
    return int(at_once * of_fit + matrices + members + output)


def _fit_sizes(prepared: Prepared, plan: ScorePlan, n_new: int) -> list[int]:
    """How many rows each fit of a settled plan learns from."""
    n_known = int(prepared.known.sum())
    protocol = choose_protocol(n_known, n_new > 0)
    if plan.stacks and deals_folds(prepared):
        protocol = "out_of_fold"
    sizes = [n_known - n_known // N_FOLDS]
    if protocol == "out_of_fold":
        sizes = [n_known - n_known // plan.n_folds] * plan.n_folds
    if by_time(prepared):
        starts = CHAIN if protocol == "out_of_fold" else LAST_FIFTH
        sizes = [max(1, int(share * n_known)) for share in starts]
    return sizes + ([n_known] if n_new else [])


def _work_of_trees(prepared: Prepared, plan: ScorePlan, n_new: int) -> float:
    """The work of all trees of a settled plan."""
    n_columns, n_outputs = prepared.X.shape[1], len(prepared.target.classes) or 2
    depth = int(arguments(plan.of_trees(), max(1, n_columns)).get("depth", _USUAL_DEPTH))
    rows = _fit_sizes(prepared, plan, n_new)
    work = sum(tree_work(n_rows, n_columns, n_outputs, depth) for n_rows in rows)
    work *= plan.trees * _models_a_fit(plan)
    return work * (_CATBOOST_FACTOR if plan.engine == "catboost" else 1.0)


def _models_a_fit(plan: ScorePlan) -> int:
    trees = plan.of_trees()
    return 1 if trees.one_model or trees.listed else trees.members


def _table_size(prepared: Prepared) -> str:
    """Rows, columns and classes in words."""
    sizes = [counted(int(prepared.known.sum()), "row"), counted(prepared.X.shape[1], "column")]
    if prepared.target.classes:
        sizes.append(counted(len(prepared.target.classes), "class", "classes"))
    return enumerated(sizes)
