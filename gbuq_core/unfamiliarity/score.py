"""One number for how unfamiliar a row is, and what says so."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.model_selection import GroupKFold
from sklearn.utils.validation import check_is_fitted

from gbuq_core.array_checks import check_same_length
from gbuq_core.boosting.plan import tree_work
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.inputs import (
    check_fit_data,
    check_new_rows,
    check_numeric_target,
    draw_seed,
    encode_classes,
)
from gbuq_core.jobs import effective_n_jobs, parallel_map, stage
from gbuq_core.lazy import why_missing
from gbuq_core.model_files.contents import check_arrays, check_places, require
from gbuq_core.model_files.fields import Savable
from gbuq_core.unfamiliarity.parts import (
    KINDS_OF_PARTS,
    N_MODEL_TREES,
    N_MODELS,
    PARTS,
    AnyPart,
    Learning,
    count_novelty_trees,
    fit_parts,
)
from gbuq_core.unfamiliarity.ranks import (
    Reference,
    make_reference,
    part_ranks,
    rank_among,
    rank_rows,
)
from gbuq_core.unfamiliarity.rows import (
    MOST_LEVELS,
    Columns,
    EncodedRows,
    RawRows,
    Space,
    encode_rows,
    find_columns,
    find_outside,
    learn_space,
    read_rows,
)
from gbuq_core.validation import check_choice, check_number

if TYPE_CHECKING:
    from gbuq_core.figures.canvas.panels import PanelSheet
    from gbuq_core.figures.curves import Curves

N_FOLDS = 5
FEWEST_ROWS = 10
MOST_ROWS_IN_FOLDS = 10_000
MOST_SAMPLED = 20_000
_MODEL_DEPTH = 6
MOST_MODEL_WORK = 5e9  # of the trees of all folds, as `tree_work` counts it
_TO_BLAME = 0.5  # of what the columns add: less, and no single one is to blame
_SPLITS = 11  # a seed
_TASKS = ("regression", "classification")
_BY_ROW = ("score", "times_beyond", "ranks", "values")


@dataclass(frozen=True, kw_only=True)
class Unfamiliarity:
    """How unfamiliar rows are.

    Attributes
    ----------
    score : ndarray of shape (n_rows,)
        0 to 1, even on ordinary rows: a tenth of them is above 0.9.
    times_beyond : ndarray of shape (n_rows,)
        How many times as far as the farthest held-out row, by the measure that says most; seldom
        above 2 for ordinary rows. It sorts the rows whose score is 1.
    parts : tuple of str
        The measures in use.
    ranks : ndarray of shape (n_rows, n_parts)
        The share of the held-out rows that each measure puts below the row.
    values : ndarray of shape (n_rows, n_parts)
        What the measures themselves say, each in its own unit.
    """

    score: NDArray[np.float64]
    times_beyond: NDArray[np.float64]
    parts: tuple[str, ...]
    ranks: NDArray[np.float64]
    values: NDArray[np.float64]

    def plot(self, X: Any, *, X_rows: Any = None, columns: Any = None) -> PanelSheet | Curves:
        """Draw score and times beyond over the rows that were scored.

        Over two features they are maps, over one feature curves.

        Parameters, result and errors as of `gbuq_core.Uncertainty.plot`.

        Examples
        --------
        >>> rank = np.array([0.1, 0.5, 1.0])
        >>> judged = Unfamiliarity(
        ...     score=rank, times_beyond=rank, parts=("range",), ranks=rank[:, None],
        ...     values=rank[:, None],
        ... )
        >>> judged.plot([0.0, 1.0, 2.0]).alt
        'Unfamiliarity, Times beyond over x.'
        """
        from gbuq_core.figures.plots import plot_scores

        scores = {"Unfamiliarity": self.score, "Times beyond": self.times_beyond}
        return plot_scores(scores, X, X_rows=X_rows, columns=columns)

    @property
    def speaks(self) -> NDArray[np.int64]:
        """Which of the parts has the largest rank, (n_rows,); the first of equal ones."""
        return self.ranks.argmax(axis=1)

    def order(self) -> NDArray[np.int64]:
        """The rows from the least familiar to the most familiar one."""
        return np.lexsort((-self.times_beyond, -self.score))

    @staticmethod
    def join(blocks: Sequence[Unfamiliarity]) -> Unfamiliarity:
        """Judgements of several sets of rows, one after the other."""
        return _by_row(np.concatenate, blocks)

    def take(self, rows: NDArray[np.int64]) -> Unfamiliarity:
        """Some of the rows."""
        return replace(self, **{name: getattr(self, name)[rows] for name in _BY_ROW})


class Reason(NamedTuple):
    """What says that a row is unfamiliar.

    Attributes
    ----------
    part : str
        One of `PARTS`.
    rank : float
        The share of ordinary rows that this measure puts below the row.
    column : str
        The one that is to blame; empty where none is alone.
    what : str
        Where the range speaks: "above", "below", "new level" or "missing"; else empty.
    """

    part: str
    rank: float
    column: str
    what: str


class Explained(NamedTuple):
    """How unfamiliar rows are, and for each what every measure says, in the order of ``parts``."""

    judged: Unfamiliarity
    parts: list[tuple[Reason, ...]]


class Fold(NamedTuple):
    """Measures learnt from some rows, and what they say of the rows that are the reference."""

    space: Space
    parts: dict[str, AnyPart]
    reference: Reference
    learnt: NDArray[np.int64]

    def restored(self, columns: Columns, raw: RawRows, used: tuple[str, ...], n_jobs: int) -> Fold:
        """A fold of a file with what follows from the rows that it learnt from."""
        check_arrays(self, learnt=(np.int64, None))
        require(len(self.learnt) >= 1, "a fold has no rows")
        check_places(self.learnt, len(raw), "a row")
        same = tuple(self.parts) == used and len(self.reference.sorted) == len(used)
        require(same, "a measure is missing")
        rows = raw.take(self.learnt)
        space = learn_space(columns, rows)
        encoded = encode_rows(space, rows)
        for name, part in self.parts.items():
            require(isinstance(part, KINDS_OF_PARTS[name]), "a measure is another")
            part.restore(columns, space, encoded, n_jobs)
        return self._replace(space=space)


class _Fitted(NamedTuple):
    """A fold, and the rows that it did not learn from with what it says of them."""

    fold: Fold
    judged: list[tuple[NDArray[np.int64], Unfamiliarity]]


class _Split(NamedTuple):
    """Rows to learn from, rows that say what is ordinary, and rows that this fold scores."""

    learnt: NDArray[np.int64]
    reference: NDArray[np.int64]
    others: NDArray[np.int64]


class UnfamiliarityScore(Savable, BaseEstimator):
    """How unlike the training rows a row is, from 0 to 1.

    Several measures that know what is unfamiliar are learnt on four of five folds and ranked among
    the rows of the fifth. The largest rank counts most, and the result is ranked once more among
    these rows, so the score is even on ordinary rows. A new row gets the mean over the five folds.

    - **range**: numbers outside the range of the training rows, new categories, new gaps.
    - **novelty**: MACAU's, the distance to the training rows in the same leaves of a forest.
    - **distance**: the mean distance to the ten nearest rows, in stds; categories by mismatch.
    - **affinity**: how many leaves of boosted trees the nearest rows by IBUG share with the row.
    - **knowledge**: the knowledge uncertainty of five independent models of 200 trees.

    Each of them alone fails somewhere: trees do not see beyond the range, and a distance does not
    see a usual value at the wrong place. Knowledge uncertainty of a virtual ensemble is none of
    them: it is not larger on foreign rows.

    Parameters
    ----------
    parts : sequence of str or None
        Some of the above. None takes all, but leaves out "knowledge" where its models would take
        more than 10 seconds, "novelty" where there are too many columns (from about 150 on), and
        "novelty" and "affinity" where LightGBM, which grows their trees, does not load.
    task : {"regression", "classification"} or None
        What the target is. None: numbers are a regression; text and booleans are classes.
    n_jobs : int or None
        Threads. Results do not depend on it.
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    parts_ : tuple of str
        The measures in use.
    held_out_ : Unfamiliarity
        Of the training rows, each by a fold that did not learn from it.
    offset_ : float
        -0.95: `decision_function` is negative for what is less familiar than 95 % of ordinary rows.
    held_out_outside_ : ndarray of shape (n_samples,), int64
        `count_outside` of the same rows, by the ranges of the rows that their fold learnt from.
    n_features_in_, feature_names_in_, fit_seconds_ : as usual.

    Notes
    -----
    The folds depend on the targets only, not on ``random_state``: rows sorted by target are dealt
    in turn.

    Above 10,000 rows, there are two samples of at most 20,000 rows each in place of folds, with the
    same distribution of targets: measures learnt on either are ranked on the other.

    References
    ----------
    Merilinna (2023), section 3.2; Brophy and Lowd (2022), section 3; Malinin et al. (2021).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame({"height": rng.normal(size=300), "width": rng.normal(size=300)})
    >>> y = X["height"] - X["width"] + rng.normal(size=300)
    >>> unfamiliar = UnfamiliarityScore(random_state=0).fit(X, y)
    >>> rows = pd.DataFrame({"height": [0.1, 7.0], "width": [0.2, 0.0]})
    >>> usual, strange = unfamiliar.unfamiliarity(rows)
    >>> bool(usual < 0.9), bool(strange == 1.0)
    (True, True)
    >>> unfamiliar.explain(rows)[1]
    Reason(part='range', rank=1.0, column='height', what='above')
    """

    seed_: int
    parts_: tuple[str, ...]
    held_out_: Unfamiliarity
    fit_seconds_: float
    _columns: Columns
    _raw: RawRows
    _folds: list[Fold]
    _fold_of: np.ndarray
    _in_reference: np.ndarray
    offset_ = -0.95
    _not_saved = ("held_out_outside_", "_space")

    def __init__(
        self,
        parts: Sequence[str] | None = None,
        task: str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.parts = parts
        self.task = task
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.target_tags.required = True
        return tags

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Learn what is ordinary.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            Numbers, text and categories; missing values are NaN or None.
        y : array-like of shape (n_samples,)
        groups : array-like of shape (n_samples,), optional
            Rows of one group are in one fold, so that what is ordinary is a row of a new group.
            Where a fold would leave too few rows, or one target value, groups play no part.
        """
        began = time.perf_counter()
        self.__dict__.pop("held_out_", None)  # a fit that fails leaves no half of the one before
        parts = _check_parts(self.parts)
        table, values = check_fit_data(self, X, y)
        if len(table) < FEWEST_ROWS:
            raise InvalidData(
                f"What is ordinary cannot be told from {len(table)} rows: pass at least "
                f"{FEWEST_ROWS}."
            )
        target = _read_target(values, self.task)
        self._columns = find_columns(table)
        raw = read_rows(self._columns, table)
        self.seed_ = seed = draw_seed(self.random_state)
        splits = make_splits(target.y, groups)
        if self.parts is None:
            parts = _affordable(self._columns, splits, target.n_classes)
        self.parts_ = parts
        self._raw = raw
        # A fold keeps one thread busy: several threads in one small fit wait for each other.
        threads = effective_n_jobs(self.n_jobs)
        inner = max(1, threads // len(splits))

        def run(number: int) -> _Fitted:
            split = splits[number]
            rows = raw.take(split.learnt)
            space = learn_space(self._columns, rows)
            learning = Learning(
                self._columns,
                space,
                encode_rows(space, rows),
                *target.take(split.learnt),
                (seed + number) % 2**31,
                inner,
            )
            with stage(float(len(parts)), span=1.0):
                return _fit_fold(learning, raw, split, parts)

        with stage(float(len(splits))):
            fitted = parallel_map(run, range(len(splits)), self.n_jobs)
        self._folds = [fold for fold, _ in fitted]
        self._fold_of = np.empty(len(raw), np.int64)
        self._in_reference = np.zeros(len(raw), bool)
        for number, split in enumerate(splits):
            self._fold_of[split.reference] = self._fold_of[split.others] = number
            self._in_reference[split.reference] = True
        held = [pair for _, pairs in fitted for pair in pairs]
        rows = np.concatenate([rows for rows, _ in held])
        self.held_out_ = Unfamiliarity.join([part for _, part in held]).take(np.argsort(rows))
        self._space = learn_space(self._columns, raw)
        self.held_out_outside_ = self.find_outside_held_out().sum(axis=1)
        self.fit_seconds_ = time.perf_counter() - began
        return self

    def check_file(self) -> None:
        """Refuse what no fit makes, and work the rest out from the training rows."""
        _check_parts(self.parts)
        check_choice("task", self.task or _TASKS[0], _TASKS)
        used, columns, raw = self.parts_, self._columns, self._raw
        known = len(used) > 0 and used == tuple(part for part in PARTS if part in used)
        require(known, "its measures are impossible")
        names = [str(name) for name in getattr(self, "feature_names_in_", columns.names)]
        same = names == list(columns.names) and len(names) == self.n_features_in_
        require(same, "its columns do not match")
        n_rows, n_folds = len(raw), len(self._folds)
        check_arrays(
            raw,
            numbers=(np.float64, None, len(columns.numbers)),
            codes=(np.int64, n_rows, len(columns.categories)),
        )
        sizes = np.array([len(levels) for levels in columns.levels], np.int64)
        coded = (raw.codes >= -1).all() and (raw.codes < sizes).all()
        require(n_rows >= 1 and coded and not np.isinf(raw.numbers).any(), "a row is impossible")
        check_arrays(self, _fold_of=(np.int64, n_rows), _in_reference=(bool, n_rows))
        check_places(self._fold_of, n_folds, "a fold")
        threads = max(1, effective_n_jobs(self.n_jobs) // max(1, n_folds))
        self._folds = [fold.restored(columns, raw, used, threads) for fold in self._folds]
        held, shape = self.held_out_, (n_rows, len(used))
        require(held.parts == used, "its measures are impossible")
        check_arrays(
            held,
            score=("finite", n_rows),
            times_beyond=("finite", n_rows),
            ranks=("finite", *shape),
            values=("finite", *shape),
        )
        for shares in (held.score, held.ranks):
            require(((shares >= 0.0) & (shares <= 1.0)).all(), "a rank is no share")
        self._space = learn_space(columns, raw)
        self.held_out_outside_ = self.find_outside_held_out().sum(axis=1)

    def unfamiliarity(self, X: Any) -> NDArray[np.float64]:
        """How unfamiliar each row is, (n_samples,) from 0 to 1."""
        return self.judge(X).score

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """The negative of `unfamiliarity`, as scikit-learn's outlier detectors have it."""
        return -self.unfamiliarity(X)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """``score_samples(X) - offset_``: negative for unfamiliar rows."""
        return self.score_samples(X) - self.offset_

    def score(self, X: Any, y: Any = None) -> NDArray[np.float64]:
        """The name that `unfamiliarity` had: scikit-learn's ``score`` is one number."""
        warnings.warn(
            "UnfamiliarityScore.score is now called unfamiliarity.", FutureWarning, stacklevel=2
        )
        return self.unfamiliarity(X)

    def times_beyond(self, X: Any) -> NDArray[np.float64]:
        """How many times as far as the farthest held-out row each row is, (n_samples,)."""
        return self.judge(X).times_beyond

    def judge(self, X: Any) -> Unfamiliarity:
        """Score, times beyond and the ranks of all measures."""
        raw = self._read(X)
        return self._judge_all([encode_rows(fold.space, raw) for fold in self._folds])

    def count_outside(self, X: Any) -> NDArray[np.int64]:
        """How many columns of each row training does not cover, (n_samples,).

        Numbers outside the range of all training rows, new categories, and new gaps.
        """
        return self.find_outside(X).sum(axis=1)

    def find_outside(self, X: Any) -> NDArray[np.bool_]:
        """Which columns of each row training does not cover, (n_samples, n_features)."""
        return find_outside(self._columns, self._space, self._read(X))

    def find_outside_held_out(self) -> NDArray[np.bool_]:
        """The same of the training rows, each by what its fold learnt from."""
        check_is_fitted(self, "held_out_")
        out = np.empty((len(self._raw), len(self._columns.names)), bool)
        for number, fold in enumerate(self._folds):
            mine = np.flatnonzero(self._fold_of == number)
            out[mine] = find_outside(self._columns, fold.space, self._raw.take(mine))
        return out

    def explain(self, X: Any) -> list[Reason]:
        """For each row the measure that speaks and, where one is to blame, the column.

        A column is to blame where it adds more than half of what the measure sees. Affinity and
        knowledge name no column.
        """
        raw = self._read(X)
        encoded = [encode_rows(fold.space, raw) for fold in self._folds]
        judged = self._judge_all(encoded)
        return self._reasons(judged, raw, self._folds, encoded)

    def explain_held_out(self, rows: Sequence[int] | NDArray[np.int64]) -> list[Reason]:
        """The same for some of the training rows, each by the fold that did not learn from it."""
        check_is_fitted(self, "held_out_")
        chosen = np.asarray(rows, np.int64)
        reasons: list[Reason | None] = [None] * len(chosen)
        for number, fold in enumerate(self._folds):
            places = np.flatnonzero(self._fold_of[chosen] == number)
            if not len(places):
                continue
            raw = self._raw.take(chosen[places])
            judged = self.held_out_.take(chosen[places])
            explained = self._reasons(judged, raw, [fold], [encode_rows(fold.space, raw)])
            for place, reason in zip(places, explained, strict=True):
                reasons[place] = reason
        return [reason for reason in reasons if reason is not None]

    def judge_instead(self, X: Any, row: int) -> Unfamiliarity:
        """Judge rows in the place of a training row: versions of it with other values.

        The other folds learnt from the row, so that to them a version of it is nearly a row that
        they know. The fold that did not learn from it judges. The row itself comes to the same as
        in ``held_out_``.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
        row : int
            Its position in the training rows.
        """
        fold, raw = self._fold_without(row), self._read(X)
        return self._instead(fold, encode_rows(fold.space, raw), row)

    def explain_parts(self, X: Any, row: int | None = None) -> Explained:
        """What every measure says of each row, with the judgement of all together.

        A measure without a column that is alone to blame names none.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
        row : int, optional
            Judge in the place of this training row, as `judge_instead`.
        """
        raw = self._read(X)
        folds = self._folds if row is None else [self._fold_without(row)]
        encoded = [encode_rows(fold.space, raw) for fold in folds]
        if row is None:
            judged = self._judge_all(encoded)
        else:
            judged = self._instead(folds[0], encoded[0], row)
        return Explained(judged, self._all_reasons(judged, raw, folds, encoded))

    def _fold_without(self, row: int) -> Fold:
        """The fold that did not learn from a training row."""
        check_is_fitted(self, "held_out_")
        check_number("row", row, 0, len(self._raw) - 1, integer=True)
        return self._folds[self._fold_of[row]]

    def _instead(self, fold: Fold, encoded: EncodedRows, row: int) -> Unfamiliarity:
        judged = _judge(fold, encoded, self.parts_)
        if not self._in_reference[row]:
            return judged
        return replace(judged, score=rank_among(fold.reference, judged.ranks.T))

    def _judge_all(self, encoded: list[EncodedRows]) -> Unfamiliarity:
        """The mean of what the folds say of the same rows."""

        def run(number: int) -> Unfamiliarity:
            return _judge(self._folds[number], encoded[number], self.parts_)

        return _by_row(np.mean, parallel_map(run, range(len(encoded)), self.n_jobs))

    def _read(self, X: Any) -> RawRows:
        check_is_fitted(self, "held_out_")
        return read_rows(self._columns, check_new_rows(self, X))

    def _reasons(
        self, judged: Unfamiliarity, raw: RawRows, folds: list[Fold], encoded: list[EncodedRows]
    ) -> list[Reason]:
        speaks = judged.speaks
        columns = np.full(len(raw), -1, np.int64)
        for number in range(len(self.parts_)):
            rows = np.flatnonzero(speaks == number)
            if len(rows):
                columns[rows] = self._to_blame(number, folds, [_take(e, rows) for e in encoded])
        return [
            self._reason(judged, raw, row, int(part), int(columns[row]))
            for row, part in enumerate(speaks)
        ]

    def _all_reasons(
        self, judged: Unfamiliarity, raw: RawRows, folds: list[Fold], encoded: list[EncodedRows]
    ) -> list[tuple[Reason, ...]]:
        """What every measure says of each row."""
        columns = [self._to_blame(part, folds, encoded) for part in range(len(self.parts_))]
        return [
            tuple(
                self._reason(judged, raw, row, part, int(of_part[row]))
                for part, of_part in enumerate(columns)
            )
            for row in range(len(raw))
        ]

    def _to_blame(
        self, part: int, folds: list[Fold], encoded: list[EncodedRows]
    ) -> NDArray[np.int64]:
        """The column that a measure blames in each row, (n_rows,); -1 for none."""
        name = self.parts_[part]
        shares = [fold.parts[name].shares(rows) for fold, rows in zip(folds, encoded, strict=True)]
        known = [share for share in shares if share is not None]
        if not known:
            return np.full(len(encoded[0].raw), -1, np.int64)
        return _to_blame(np.mean(known, axis=0))

    def _reason(
        self, judged: Unfamiliarity, raw: RawRows, row: int, part: int, column: int
    ) -> Reason:
        return Reason(
            self.parts_[part],
            float(judged.ranks[row, part]),
            "" if column < 0 else self._columns.names[column],
            self._what(self.parts_[part], raw, row, column),
        )

    def _what(self, part: str, raw: RawRows, row: int, column: int) -> str:
        """How a value is outside the range."""
        if part != "range" or column < 0:
            return ""
        if column in self._columns.categories:
            code = raw.codes[row, int(np.searchsorted(self._columns.categories, column))]
            return "missing" if code < 0 else "new level"
        at = int(np.searchsorted(self._columns.numbers, column))
        value = raw.numbers[row, at]
        if np.isnan(value):
            return "missing"
        spaces = [fold.space for fold in self._folds]
        middle = np.nanmean([space.low[at] + space.high[at] for space in spaces]) / 2
        return "above" if value > middle else "below"


def make_splits(y: NDArray[np.float64], groups: Any = None) -> list[_Split]:
    """Folds, or two samples of a larger table, with the same distribution of targets in each.

    With groups, whole groups are in each, of about as many rows. Always the same ones, so that most
    rows at the top of a table stay there with another seed.
    """
    splits = [] if groups is None else _group_splits(y, np.asarray(groups))
    if splits:
        return splits
    rng = np.random.default_rng(_SPLITS)
    order = rng.permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]
    none = np.empty(0, np.int64)
    if len(y) <= MOST_ROWS_IN_FOLDS:
        # Dealt in groups of five rows of similar targets, each group in an order of its own.
        ties = rng.random(len(y))
        groups = np.arange(len(y)) // N_FOLDS
        fold = np.empty(len(y), np.int64)
        fold[order[np.lexsort((ties, groups))]] = np.arange(len(y)) % N_FOLDS
        rows = [np.flatnonzero(fold == k) for k in range(N_FOLDS)]
        return [_Split(np.flatnonzero(fold != k), rows[k], none) for k in range(N_FOLDS)]
    size = min(MOST_SAMPLED, len(y) // 2)
    every = len(y) / size  # every so manieth row of the sorted targets is in the first sample
    first = np.floor(np.arange(size) * every).astype(np.int64)
    left = np.setdiff1d(np.arange(len(y)), first)
    second = left[np.floor(np.arange(size) * (len(left) / size)).astype(np.int64)]
    rest = order[np.setdiff1d(left, second)]
    mine, other = np.sort(order[first]), np.sort(order[second])
    return [_Split(mine, other, np.sort(rest[::2])), _Split(other, mine, np.sort(rest[1::2]))]


def _group_splits(y: NDArray[np.float64], groups: NDArray[Any]) -> list[_Split]:
    """The same by whole groups; none where a fold would have too little to learn from."""
    check_same_length(y=y, groups=groups)
    n_groups = len(np.unique(groups))
    if n_groups < 2:
        return []
    few = len(y) <= MOST_ROWS_IN_FOLDS
    folds = GroupKFold(min(N_FOLDS, n_groups) if few else 2).split(y, y, groups)
    pairs = [(np.asarray(learnt), np.asarray(judged)) for learnt, judged in folds]
    if any(len(a) < FEWEST_ROWS or y[a].min() == y[a].max() for a, _ in pairs):
        return []
    if few:
        return [_Split(a, b, np.empty(0, np.int64)) for a, b in pairs]
    rng, splits = np.random.default_rng(_SPLITS), []
    sample = [np.sort(rng.permutation(b)[:MOST_SAMPLED]) for _, b in pairs]
    for number, (_, judged) in enumerate(pairs):
        rest = np.setdiff1d(judged, sample[number])
        splits.append(_Split(sample[1 - number], sample[number], rest))
    return splits


def _check_parts(parts: Any) -> tuple[str, ...]:
    if parts is None:
        return PARTS
    if isinstance(parts, str) or not isinstance(parts, Sequence) or not len(parts):
        raise InvalidParameter(
            f"parts must be None or a list of some of {', '.join(PARTS)}; got {parts!r}."
        )
    names = {check_choice("parts", part, PARTS) for part in parts}
    return tuple(part for part in PARTS if part in names)


def _read_target(target: NDArray[Any], task: str | None) -> _Target:
    if task is not None:
        check_choice("task", task, _TASKS)
    if task is None:
        task = "regression" if target.dtype.kind in "iuf" else "classification"
        if target.dtype.kind == "O" and pd.api.types.infer_dtype(target) in (
            "floating",
            "integer",
            "mixed-integer-float",
            "decimal",
        ):
            task = "regression"
    if task == "regression":
        return _Target(check_numeric_target(target), 0)
    classes, codes = encode_classes(target)
    return _Target(codes.astype(np.float64), len(classes))


class _Target(NamedTuple):
    """Numbers, or class codes of ``n_classes`` classes (0: numbers)."""

    y: NDArray[np.float64]
    n_classes: int

    def take(self, rows: NDArray[np.int64]) -> _Target:
        """Targets of some rows; a class that none of them has gets no code."""
        if not self.n_classes:
            return _Target(self.y[rows], 0)
        met, codes = np.unique(self.y[rows], return_inverse=True)
        # One class alone is a constant number: no model tells classes from it.
        return _Target(codes.astype(np.float64), len(met) if len(met) > 1 else 0)


def _affordable(columns: Columns, splits: list[_Split], n_classes: int) -> tuple[str, ...]:
    """The parts without those that would take long on such a table, or cannot be learnt here."""
    of_categories = [min(len(levels), MOST_LEVELS + 1) for levels in columns.levels]
    width = len(columns.numbers) + sum(of_categories)
    sizes = [len(split.learnt) for split in splits]
    work = sum(tree_work(n, width, n_classes or 2, _MODEL_DEPTH) for n in sizes)
    without_trees = why_missing("lightgbm") != ""
    left_out = {
        "novelty": without_trees or count_novelty_trees(max(sizes), width) == 0,
        "affinity": without_trees,
        "knowledge": N_MODELS * N_MODEL_TREES * work >= MOST_MODEL_WORK,
    }
    return tuple(part for part in PARTS if not left_out.get(part))


def _fit_fold(learning: Learning, raw: RawRows, split: _Split, names: tuple[str, ...]) -> _Fitted:
    """Learn a fold, and judge the rows that it did not learn from."""
    reference = encode_rows(learning.space, raw.take(split.reference))
    parts = fit_parts(names, learning, reference)
    values = np.stack([parts[name].measure(reference) for name in names])
    fold = Fold(learning.space, parts, make_reference(values), split.learnt)
    own = _judge_values(fold, reference, values, names)
    judged = [(split.reference, replace(own, score=rank_among(fold.reference, own.ranks.T)))]
    if len(split.others):
        others = encode_rows(learning.space, raw.take(split.others))
        judged.append((split.others, _judge(fold, others, names)))
    return _Fitted(fold, judged)


def _judge(fold: Fold, rows: EncodedRows, names: tuple[str, ...]) -> Unfamiliarity:
    """Rows that are new to a fold."""
    values = np.stack([fold.parts[name].measure(rows) for name in names])
    return _judge_values(fold, rows, values, names)


def _judge_values(
    fold: Fold, rows: EncodedRows, values: NDArray[np.float64], names: tuple[str, ...]
) -> Unfamiliarity:
    """The same of what the measures say, (n_parts, n_rows)."""
    ranks, most = part_ranks(fold.reference.sorted, values), fold.reference.sorted[:, -1]
    times = [
        fold.parts[name].times(rows, values[k], float(most[k])) for k, name in enumerate(names)
    ]
    return Unfamiliarity(
        score=rank_rows(fold.reference, ranks),
        times_beyond=np.max(times, axis=0),
        parts=names,
        ranks=ranks.T,
        values=values.T,
    )


def _by_row(join: Callable[..., Any], parts: Sequence[Unfamiliarity]) -> Unfamiliarity:
    """What ``join`` makes of the arrays of several judgements, which stand on their first axis."""
    arrays = {name: [getattr(part, name) for part in parts] for name in _BY_ROW}
    return replace(parts[0], **{name: join(values, axis=0) for name, values in arrays.items()})


def _take(rows: EncodedRows, chosen: NDArray[np.int64]) -> EncodedRows:
    return EncodedRows(rows.raw.take(chosen), rows.matrix[chosen], rows.points[chosen])


def _to_blame(shares: NDArray[np.float64]) -> NDArray[np.int64]:
    """The column of each row that adds more than half, (n,); -1 where none does."""
    total = np.maximum(shares, 0.0).sum(axis=1)
    largest = shares.argmax(axis=1)
    of_it = shares[np.arange(len(shares)), largest]
    return np.where(of_it > _TO_BLAME * total, largest, -1)
