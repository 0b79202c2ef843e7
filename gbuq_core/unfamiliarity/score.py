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
from scipy.special import betainc
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

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
from gbuq_core.unfamiliarity.splits import FEWEST_ROWS, MOST_ROWS_IN_FOLDS, Split, make_splits
from gbuq_core.validation import check_choice, check_number

if TYPE_CHECKING:
    from gbuq_core.figures.canvas.panels import PanelSheet
    from gbuq_core.figures.curves import Curves

_MODEL_DEPTH = 6
MOST_MODEL_WORK = 5e9  # of the trees of all folds, as `tree_work` counts it
_TO_BLAME = 0.5  # of what the columns add: less, and no single one is to blame
_TASKS = ("regression", "classification")
_BY_ROW = ("score", "times_beyond", "ranks", "values")
_CERTAIN = 2.0  # the farthest row is at most as many times as far as the second one


@dataclass(frozen=True, kw_only=True)
class Unfamiliarity:
    """How unfamiliar rows are.

    Attributes
    ----------
    score : ndarray of shape (n_rows,)
        0 to 1, even on ordinary rows: a tenth of them is above 0.9.
    times_beyond : ndarray of shape (n_rows,)
        How many times as far as the farthest held-out row, by the measure that says most; above 1
        for fewer than one in a hundred ordinary rows. It sorts the rows whose score is 1.
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


class _Judged(NamedTuple):
    """What a fold says of rows, or the mean of what several say."""

    score: NDArray[np.float64]  # (n,): the share of its reference rows that are more familiar
    distances: NDArray[np.float64]  # (n, n_parts)
    ranks: NDArray[np.float64]  # (n, n_parts)
    values: NDArray[np.float64]  # (n, n_parts)

    @staticmethod
    def mean(folds: Sequence[_Judged]) -> _Judged:
        """Of the same rows."""
        return _Judged(*(np.mean(arrays, axis=0) for arrays in zip(*folds, strict=True)))


class _Fitted(NamedTuple):
    """A fold, and the rows that it did not learn from with what it says of them."""

    fold: Fold
    rows: NDArray[np.int64]
    judged: _Judged


class UnfamiliarityScore(Savable, BaseEstimator):
    """How unlike the training rows a row is, from 0 to 1.

    Several measures that know what is unfamiliar are learnt from six tenths of the rows and ranked
    among the others. The largest rank counts most, and the result is ranked once more among these
    rows. There are five such folds, and each row is left out by two of them. A new row gets the
    mean over the five. How much two folds agree about rows that neither learnt from says how much
    less a mean varies than one of them, and the score is even on ordinary rows after all.

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

    Above 10,000 rows, there are three samples of at most 5,000 rows each in place of folds, with
    the same distribution of targets: measures learnt on either of the first two are ranked on the
    other and on the third. They grow three tenths of the trees.

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
    _judges: np.ndarray
    _agreement: float
    _farthest: np.ndarray
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
                is_sample=len(raw) > MOST_ROWS_IN_FOLDS,
            )
            with stage(float(len(parts)), span=1.0):
                return _fit_fold(learning, raw, split, parts)

        with stage(float(len(splits))):
            fitted = parallel_map(run, range(len(splits)), self.n_jobs)
        self._folds = [each.fold for each in fitted]
        self._learn_from_held_out(fitted)
        self._space = learn_space(self._columns, raw)
        self.held_out_outside_ = self.find_outside_held_out().sum(axis=1)
        self.fit_seconds_ = time.perf_counter() - began
        return self

    def _learn_from_held_out(self, fitted: list[_Fitted]) -> None:
        """What rows say that a fold did not learn from: how alike folds are, and what is far."""
        n_rows, shape = len(self._raw), (len(self._raw), len(self.parts_))
        self._judges = np.zeros((n_rows, len(fitted)), bool)
        total = _Judged(np.zeros(n_rows), *(np.zeros(shape) for _ in range(3)))
        middle, squares = np.zeros(n_rows), np.zeros(n_rows)
        for number, (_, rows, judged) in enumerate(fitted):
            self._judges[rows, number] = True
            for mine, theirs in zip(total, judged, strict=True):
                mine[rows] += theirs
            high = judged.score**4 - 0.2  # the upper end is what counts; a fifth is its mean
            middle[rows] += high
            squares[rows] += high**2
        n_judges = self._judges.sum(axis=1)
        twice = n_judges == 2
        both = float(squares[twice].sum())
        alike = float((middle[twice] ** 2).sum()) / both - 1.0 if both > 0.0 else 1.0
        self._agreement = float(np.clip(alike, 0.0, 1.0))
        mean = _Judged(*((part.T / n_judges).T for part in total))
        least, most = np.sort(mean.distances, axis=0)[[-2, -1]]
        unit = np.maximum(least, most / _CERTAIN)
        unit[most <= 0.0] = np.inf
        self._farthest = unit * (most / unit).max(initial=1.0)
        self.held_out_ = self._joined(mean, n_judges)

    def _joined(self, mean: _Judged, n_judges: int | NDArray[np.int64]) -> Unfamiliarity:
        """The judgement by the mean of several folds.

        The mean of k even numbers that correlate by r has the variance (1 + (k - 1) r) / 12 k, and
        so has a symmetric beta distribution, which makes it even again.
        """
        k = np.asarray(n_judges, np.float64)
        shape = 1.5 * k / (1.0 + (k - 1.0) * self._agreement) - 0.5
        return Unfamiliarity(
            score=betainc(shape, shape, mean.score),
            times_beyond=(mean.distances / self._farthest).max(axis=1),
            parts=self.parts_,
            ranks=mean.ranks,
            values=mean.values,
        )

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
        check_arrays(self, _judges=(bool, n_rows, n_folds), _farthest=(np.float64, len(used)))
        require(self._judges.any(axis=1).all(), "a row has no fold")
        possible = 0.0 <= self._agreement <= 1.0 and (self._farthest > 0.0).all()
        require(possible, "its distances are impossible")
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

    @property
    def n_ordinary(self) -> int:
        """How many rows say to a fold what is ordinary, at least."""
        return min(len(fold.reference.joint) for fold in self._folds)

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
        return self._judge_all(self._folds, [encode_rows(fold.space, raw) for fold in self._folds])

    def count_outside(self, X: Any) -> NDArray[np.int64]:
        """How many columns of each row training does not cover, (n_samples,).

        Numbers outside the range of all training rows, new categories, and new gaps.
        """
        return self.find_outside(X).sum(axis=1)

    def find_outside(self, X: Any) -> NDArray[np.bool_]:
        """Which columns of each row training does not cover, (n_samples, n_features)."""
        return find_outside(self._columns, self._space, self._read(X))

    def find_outside_held_out(self) -> NDArray[np.bool_]:
        """The same of the training rows, each by what the folds learnt from that judge it."""
        check_is_fitted(self, "held_out_")
        out = np.ones((len(self._raw), len(self._columns.names)), bool)
        for fold, mine in zip(self._folds, self._judges.T, strict=True):
            out[mine] &= find_outside(self._columns, fold.space, self._raw.take(mine))
        return out

    def explain(self, X: Any) -> list[Reason]:
        """For each row the measure that speaks and, where one is to blame, the column.

        A column is to blame where it adds more than half of what the measure sees. Affinity and
        knowledge name no column.
        """
        raw = self._read(X)
        encoded = [encode_rows(fold.space, raw) for fold in self._folds]
        judged = self._judge_all(self._folds, encoded)
        return self._reasons(judged, raw, self._folds, encoded)

    def explain_held_out(self, rows: Sequence[int] | NDArray[np.int64]) -> list[Reason]:
        """The same for some of the training rows, each by folds that did not learn from it."""
        check_is_fitted(self, "held_out_")
        chosen = np.asarray(rows, np.int64)
        reasons: list[Reason | None] = [None] * len(chosen)
        judges, of_row = np.unique(self._judges[chosen], axis=0, return_inverse=True)
        for number, mine in enumerate(judges):
            places = np.flatnonzero(of_row == number)
            raw, judged = self._raw.take(chosen[places]), self.held_out_.take(chosen[places])
            folds = [fold for fold, judges_it in zip(self._folds, mine, strict=True) if judges_it]
            encoded = [encode_rows(fold.space, raw) for fold in folds]
            explained = self._reasons(judged, raw, folds, encoded)
            for place, reason in zip(places, explained, strict=True):
                reasons[place] = reason
        return [reason for reason in reasons if reason is not None]

    def judge_instead(self, X: Any, row: int) -> Unfamiliarity:
        """Judge rows in the place of a training row: versions of it with other values.

        The other folds learnt from the row, so that to them a version of it is nearly a row that
        they know. The folds that did not learn from it judge. The row itself comes to the same as
        in ``held_out_``.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
        row : int
            Its position in the training rows.
        """
        folds, raw = self._folds_without(row), self._read(X)
        encoded = [encode_rows(fold.space, raw) for fold in folds]
        return self._judge_all(folds, encoded, own=True)

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
        folds = self._folds if row is None else self._folds_without(row)
        encoded = [encode_rows(fold.space, raw) for fold in folds]
        judged = self._judge_all(folds, encoded, own=row is not None)
        return Explained(judged, self._all_reasons(judged, raw, folds, encoded))

    def _folds_without(self, row: int) -> list[Fold]:
        """The folds that judge a training row, which they did not learn from."""
        check_is_fitted(self, "held_out_")
        check_number("row", row, 0, len(self._raw) - 1, integer=True)
        return [self._folds[number] for number in np.flatnonzero(self._judges[row])]

    def _judge_all(
        self, folds: list[Fold], encoded: list[EncodedRows], *, own: bool = False
    ) -> Unfamiliarity:
        """By the mean of what folds say of the same rows."""

        def run(number: int) -> _Judged:
            return _judge(folds[number], encoded[number], self.parts_, own=own)

        told = parallel_map(run, range(len(encoded)), self.n_jobs)
        return self._joined(_Judged.mean(told), len(told))

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


def _affordable(columns: Columns, splits: list[Split], n_classes: int) -> tuple[str, ...]:
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


def _fit_fold(learning: Learning, raw: RawRows, split: Split, names: tuple[str, ...]) -> _Fitted:
    """Learn a fold, and judge the rows that it did not learn from."""
    reference = encode_rows(learning.space, raw.take(split.reference))
    parts = fit_parts(names, learning, reference)
    values = np.stack([parts[name].measure(reference) for name in names])
    fold = Fold(learning.space, parts, make_reference(values), split.learnt)
    judged = _judge_values(fold, reference, values, names, own=True)
    if len(split.others):
        others = encode_rows(learning.space, raw.take(split.others))
        more = _judge(fold, others, names, own=True)
        judged = _Judged(*map(np.concatenate, zip(judged, more, strict=True)))
    return _Fitted(fold, np.concatenate([split.reference, split.others]), judged)


def _judge(fold: Fold, rows: EncodedRows, names: tuple[str, ...], *, own: bool = False) -> _Judged:
    """What a fold says of new rows, or of its ``own`` that it did not learn from."""
    values = np.stack([fold.parts[name].measure(rows) for name in names])
    return _judge_values(fold, rows, values, names, own=own)


def _judge_values(
    fold: Fold,
    rows: EncodedRows,
    values: NDArray[np.float64],
    names: tuple[str, ...],
    *,
    own: bool,
) -> _Judged:
    """The same of what the measures say, (n_parts, n_rows)."""
    ranks = part_ranks(fold.reference.sorted, values, own=own)
    distances = [fold.parts[name].distances(rows, values[k]) for k, name in enumerate(names)]
    score = rank_rows(fold.reference, ranks, own=own)
    return _Judged(score, np.stack(distances, 1), ranks.T, values.T)


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
