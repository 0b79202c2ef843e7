"""The stacked probabilities of classes: see `StackedClassifier`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from sklearn.base import ClassifierMixin

from gbuq_core.boosting import BoostedEnsembleClassifier
from gbuq_core.calibration.splits import Split
from gbuq_core.errors import InvalidParameter
from gbuq_core.inputs import MostProbable, check_fit_data, draw_seed, encode_classes, take_rows
from gbuq_core.jobs import stage
from gbuq_core.model_files.contents import check_arrays, require
from gbuq_core.stacking.base import (
    FEWEST_ROWS,
    NEAR_TAKES,
    PROCESSES_TAKE,
    TREES_TAKE,
    WEIGHTS_TAKE,
    Around,
    Rows,
    Stacked,
)
from gbuq_core.stacking.process import Process
from gbuq_core.stacking.regressor import Voices
from gbuq_core.stacking.voices import COUNTS, Component
from gbuq_core.stacking.weights import Judged, choose_weights
from gbuq_core.trees.importers.ownership import is_owned
from gbuq_core.uncertainty import Uncertainty
from gbuq_core.unfamiliarity.rows import EncodedRows, encode_rows, read_rows

FloatArray = NDArray[np.float64]

CLASS_VOICES = ("trees", "targets", "process")
# What the process's mean is multiplied by: targets of 1 and -1 alone give chances up to 0.84.
_STEEPS = (1.0, 2.0, 4.0)


class _Answers(NamedTuple):
    """What the components say of n rows, and how far beyond the training rows they are."""

    probabilities: FloatArray  # (n_components, n, n_classes)
    members: FloatArray  # (n,): the mean entropy of the trees' members
    beyond: FloatArray  # (n,)
    near: NDArray[np.int64]  # (n, k): the neighbours' places in the pool


class StackedClassifier(MostProbable, ClassifierMixin, Stacked):
    """Class probabilities as a weighted mixture of several voices around one tree model.

    The trees, the class shares of the training rows that share most leaves with a row, and a small
    Gaussian process by least squares on targets of 1 and -1. Their weights maximise the log score
    of rows that no voice has seen; a voice enters only if it improves the log loss or the Brier
    score on those rows by more than one standard error, and worsens neither by more.

    Parameters
    ----------
    estimator : estimator or None
        The trees: any classifier with ``predict_proba``. None is a `BoostedEnsembleClassifier` with
        two clocks and ``capacity="auto"``. A fitted one is used as it is: pass rows to `fit` which
        it has not seen.
    voices : sequence of {"trees", "targets", "process"}
        As in `StackedRegressor`.
    random_state, n_jobs : as in `StackedRegressor`.

    Attributes
    ----------
    classes_ : (n_classes,)
    weights_, component_weights_, estimator_, n_rows_, n_features_in_, feature_names_in_, seed_ : as
        in `StackedRegressor`.

    Notes
    -----
    Beyond the training rows, with v the process's latent variance and q what 99 % of left-out rows
    stay below, ``w = max(v - q, 0) / (prior - q)``: the law is ``(1 - w) p + w (class shares)``, p
    the voices together. Knowledge uncertainty is the entropy of the law less ``(1 - w)`` times the
    voices' mean entropy, of the trees that of their members; in nats.

    Examples
    --------
    >>> import numpy as np
    >>> from gbuq_core import BoostedEnsembleClassifier, StackedClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(120, 2))
    >>> trees = BoostedEnsembleClassifier(n_members=2, n_trees=40, random_state=0)
    >>> model = StackedClassifier(trees, random_state=0).fit(X, X[:, 0] > 0)
    >>> near, far = model.predict_uncertainty([[0.5, 0.0], [9.0, 9.0]]).knowledge
    >>> bool(far > 5 * near)
    True
    """

    classes_: np.ndarray
    _weights: FloatArray
    _shares: FloatArray
    _codes: NDArray[np.int64]
    _counts: FloatArray
    _usual = 0.99  # all that is beyond it is knowledge here, without a noise to be seen against
    _not_saved = ("_process_places",)

    def __init__(
        self,
        estimator: Any = None,
        voices: Sequence[str] = CLASS_VOICES,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.voices = voices
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit(
        self, X: Any, y: Any, weight: Any = None, groups: Any = None, around: Around | None = None
    ) -> list[Self]:
        self._check_voices(CLASS_VOICES)
        table, given = check_fit_data(self, X, y)
        self.seed_ = draw_seed(self.random_state)
        rows, given = self._read_training(X, table, weight, groups, given)
        self.classes_, codes = encode_classes(given)
        for model in () if around is None else (*around.models, around.whole):
            # Trees may know a class that none of these rows has.
            known = self.classes_ if model is None else np.union1d(self.classes_, model.classes_)
            self.classes_, codes = known, np.searchsorted(known, self.classes_)[codes]
        n_classes = len(self.classes_)
        targets = np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)
        self._shares = np.bincount(codes, rows.weight, n_classes) / rows.weight.sum()
        model = self.estimator if around is None else around.main
        if model is None:
            model = BoostedEnsembleClassifier(capacity="auto")
        if not hasattr(model, "predict_proba"):
            raise InvalidParameter(
                f"estimator ({type(model).__name__}) has no predict_proba: pass a classifier."
            )
        prefit = around is not None or not is_owned(model)
        of_trees, of_folds = TREES_TAKE[prefit]
        rest = NEAR_TAKES + PROCESSES_TAKE + of_folds + WEIGHTS_TAKE
        splits = self._make_folds(codes, rows, n_classes) if around is None else around.splits()
        with stage(of_trees + 1.0 + rest):
            with stage(1.0, span=of_trees):
                self.estimator_, trees = model, [] if around is None else list(around.models)
                if not prefit:
                    self.estimator_, trees = self._fit_trees(model, rows, given, splits=splits)
            with stage(1.0, span=1.0):
                self._fit_all(rows, codes, targets, around, n_classes)
            with stage(rest):
                return self._weigh(rows, codes, given, targets, splits, trees, prefit, around)

    @property
    def weights_(self) -> Mapping[str, float]:
        """The weight of each voice."""
        weights = dict.fromkeys(CLASS_VOICES, 0.0)
        for way, weight in zip(self._components, self._weights.tolist(), strict=True):
            weights[way.voice] += weight
        return MappingProxyType(weights)

    def predict_proba(self, X: Any) -> FloatArray:
        """Class probabilities, (n_samples, n_classes)."""
        return self._mix(self._hear(X))

    def predict_uncertainty(self, X: Any) -> Uncertainty:
        """Total, data and knowledge uncertainty in nats, (n_samples,) each."""
        return self.tell(X)[1]

    def tell(self, X: Any) -> tuple[FloatArray, Uncertainty]:
        """What `predict_proba` and `predict_uncertainty` say, heard once."""
        answers = self._hear(X)
        law = self._mix(answers)
        total = _entropy(law)
        inside = np.zeros(len(total))
        for share, own in self._by_voice(answers).values():
            inside += share * _entropy(own)
        # The members' mean entropy in place of that of their law.
        inside -= self._weights[0] * np.maximum(
            _entropy(answers.probabilities[0]) - answers.members, 0.0
        )
        data = (1.0 - answers.beyond) * inside
        knowledge = np.clip(total - data, 0.0, total)
        return law, Uncertainty(total, total - knowledge, knowledge)

    def predict_voices(self, X: Any) -> Voices:
        """The weight of each voice in every row, and the mean and variance of the class codes.

        The weight beyond the training rows that goes to the class shares is missing in the sum.
        """
        answers = self._hear(X)
        codes = np.arange(len(self.classes_), dtype=np.float64)
        n = len(answers.beyond)
        weight, mean, variance = np.zeros((3, n, len(CLASS_VOICES)))
        mean[:], variance[:] = np.nan, np.nan
        for voice, (share, law) in self._by_voice(answers).items():
            place = CLASS_VOICES.index(voice)
            mean[:, place] = law @ codes
            variance[:, place] = law @ np.square(codes) - np.square(mean[:, place])
            weight[:, place] = share * (1.0 - answers.beyond)
        shares = np.zeros(answers.near.shape)
        for own, way in zip(self._weights, self._components, strict=True):
            if way.near:
                counts = self._counts[answers.near[:, : way.near]]
                # The row of the training's shares beside them has what is left.
                counts = counts / (counts.sum(axis=1, keepdims=True) + 1.0)
                shares[:, : way.near] += own * (1.0 - answers.beyond)[:, None] * counts
        near = self._pool_places[answers.near]
        return Voices(CLASS_VOICES, weight, mean, variance, near, shares)

    def predict_by_voice(self, X: Any) -> dict[str, FloatArray]:
        """Class probabilities (n_samples, n_classes) of each voice that speaks, by itself."""
        return {voice: law for voice, (_, law) in self._by_voice(self._hear(X)).items()}

    def _by_voice(self, answers: _Answers) -> dict[str, tuple[float, FloatArray]]:
        """The weight and the class probabilities (n, n_classes) of each voice that speaks."""
        laws = {}
        for voice in CLASS_VOICES:
            mine = self._weights * np.array([way.voice == voice for way in self._components])
            share = float(mine.sum())
            if share > 0.0:
                law = np.einsum("k,knc->nc", mine / share, answers.probabilities)
                laws[voice] = (share, law)
        return laws

    def _mix(self, answers: _Answers) -> FloatArray:
        inside = np.einsum("k,knc->nc", self._weights, answers.probabilities)
        away = answers.beyond[:, None]
        law = (1.0 - away) * inside + away * self._shares
        return law / law.sum(axis=1, keepdims=True)

    def _find_components(self) -> tuple[Component, ...]:
        components = [Component("trees", 0, 0.0)]
        if self._near is not None:
            counts = [n for n in COUNTS if n <= self._n_neighbours] or [self._n_neighbours]
            components += [Component("targets", count, 0.0) for count in counts]
        if self._process is not None:
            components += [Component("process", 0, steep) for steep in _STEEPS]
        return tuple(components)

    def _of_neighbours(self, codes: NDArray[np.int64], counts: FloatArray, n: int) -> FloatArray:
        """Class shares of the first n neighbours, with one row of the training's shares added."""
        there = codes[:, :n, None] == np.arange(len(self.classes_))
        sums = (there * counts[:, :n, None]).sum(axis=1) + self._shares
        return sums / sums.sum(axis=1, keepdims=True)

    def _of_trees(self, model: Any, rows: Any) -> FloatArray:
        """Probabilities in the order of ``classes_``, of a model that may have seen fewer."""
        chances = np.asarray(model.predict_proba(rows), np.float64)
        out = np.zeros((len(chances), len(self.classes_)))
        known = np.asarray(getattr(model, "classes_", self.classes_))
        out[:, np.searchsorted(self.classes_, known.astype(self.classes_.dtype))] = chances
        return out

    def _of_process(
        self, process: Process, encoded: EncodedRows
    ) -> tuple[list[FloatArray], FloatArray]:
        """Class chances of each component of the process, and the latent variance (n,)."""
        mean, latent = process.predict(encoded.points)
        chances = []
        for steep in _STEEPS:
            chance = ndtr(steep * mean / np.sqrt(1.0 + steep**2 * latent)[:, None]) + 1e-12
            chances.append(chance / chance.sum(axis=1, keepdims=True))
        return chances, latent

    def _weigh(
        self, rows: Rows, codes: NDArray[np.int64], labels: Any, targets: FloatArray,
        splits: list[Split], trees: list[Any], prefit: bool, around: Around | None,
    ) -> list[Self]:  # fmt: skip
        n, n_classes = len(codes), len(self.classes_)
        self._components = self._find_components()
        pool = self._pool_places
        self._codes, self._counts = codes[pool], rows.weight[pool]
        self._weights = np.eye(len(self._components))[0]
        alone = n < FEWEST_ROWS or len(self._components) == 1
        if alone and around is None:
            return []
        parts: list[Any] = [None] * len(splits)
        smooth: list[Any] = [None] * len(splits)
        if not alone:
            with stage(1.0, span=NEAR_TAKES):
                places, parts = self._fit_folds_near(rows, codes, splits, around, n_classes)
            with stage(1.0, span=PROCESSES_TAKE):
                smooth = self._fit_folds_process(rows, targets, splits, around)
        pairs = [] if around is None else self._parts_around(around, rows, parts, smooth)
        for law, own in pairs:
            law._codes, law._counts = codes[own], rows.weight[own]
            if alone:
                law._components, law._weights = law._find_components(), np.ones(1)
        laws = [law for law, _ in pairs]
        if alone:
            return laws
        chances, judged, fold = [], [], []
        with stage(float(len(splits)), TREES_TAKE[prefit][1]):
            for k, split in enumerate(splits):
                mine = self._judged(k, split.held, around)
                if not len(mine) or len(np.unique(codes[split.fitted])) < 2:
                    continue
                with stage(1.0, span=1.0):
                    model = self._trees_of(trees, rows, labels, k, split, prefit)
                    answers = [self._of_trees(model, take_rows(rows.X, mine))]
                    encoded = rows.take(mine, self._space)
                    part = parts[k]
                    if part is not None:
                        near = places[k][part.nearest(encoded, self._n_neighbours).indices]
                        answers += [
                            self._of_neighbours(codes[near], rows.weight[near], way.near)
                            for way in self._components if way.voice == "targets"
                        ]  # fmt: skip
                    process = smooth[k]
                    if process is not None:
                        answers += self._of_process(process, encoded)[0]
                chances.append(np.stack(answers))
                judged.append(mine)
                fold.append(np.full(len(mine), k))
        if not judged:
            return laws
        every, chosen = np.concatenate(chances, axis=1), np.concatenate(judged)
        hit = (codes[chosen, None] == np.arange(n_classes)).astype(np.float64)
        hits = np.take_along_axis(every, codes[None, chosen, None], axis=2)[:, :, 0]
        # The Brier score takes the place of the CRPS: the same sum over classes.
        scores = Judged(
            np.maximum(hits, 1e-12), every, hit, np.ones(n_classes), np.concatenate(fold),
            rows.weight[chosen],
        )  # fmt: skip
        self._weights = choose_weights(self._components, scores)[0]
        for k, law in enumerate(laws):  # rows of a fold have no say in their own weights
            law._weights = choose_weights(self._components, scores.take(scores.fold != k))[0]
        return laws

    def _hear(self, X: Any) -> _Answers:
        table = self._new_rows(X)
        rows = self._tree_rows(X, table)
        answers = [self._of_trees(self.estimator_, rows)]
        members = _entropy(answers[0])
        if hasattr(self.estimator_, "predict_uncertainty"):
            members = np.asarray(self.estimator_.predict_uncertainty(rows).data)
        encoded = encode_rows(self._space, read_rows(self._columns, table))
        near = np.empty((len(members), 0), np.int64)
        if self._near is not None:
            near = self._nearest(encoded).indices
            answers += [
                self._of_neighbours(self._codes[near], self._counts[near], way.near)
                for way in self._components if way.voice == "targets"
            ]  # fmt: skip
        beyond = np.zeros(len(members))
        if self._process is not None:
            chances, latent = self._of_process(self._process, encoded)
            answers += chances
            beyond = self._beyond(latent)
        return _Answers(np.stack(answers), members, beyond, near)

    def _beyond(self, latent: FloatArray) -> FloatArray:
        assert self._process is not None
        room = max(self._process.signal - self._process.usual, 1e-12)
        return np.clip((latent - self._process.usual) / room, 0.0, 1.0)

    def _share_beyond(self, rows: EncodedRows) -> FloatArray:
        if self._process is None:
            return np.zeros(len(rows.matrix))
        return self._beyond(self._process.predict(rows.points)[1])

    def check_file(self) -> None:
        """Refuse what no fit makes."""
        super().check_file()
        n, n_pool = len(self._components), len(self._pool.numbers)
        n_classes = len(self.classes_)
        check_arrays(
            self, _weights=("finite", n), _shares=("finite", n_classes),
            _codes=(np.int64, n_pool), _counts=("finite", n_pool),
        )  # fmt: skip
        inside = ((self._codes >= 0) & (self._codes < n_classes)).all()
        require(inside and n_classes >= 2, "a class does not exist")
        require(np.isclose(self._weights.sum(), 1.0), "a weight is impossible")
        require(self._components == self._find_components(), "a voice is impossible")
        require(hasattr(self.estimator_, "predict_proba"), "its estimator has no probabilities")


def _entropy(probabilities: FloatArray) -> FloatArray:
    """In nats, over the last axis."""
    logs = np.log(np.maximum(probabilities, 1e-300))
    return np.maximum(-(probabilities * logs).sum(axis=-1), 0.0)
