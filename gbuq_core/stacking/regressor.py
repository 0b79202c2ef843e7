"""The stacked law of a number: see `StackedRegressor`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from gbuq_core.boosting import BoostedEnsembleRegressor
from gbuq_core.calibration import CalibratedRegressor
from gbuq_core.calibration.boosters import reader_of
from gbuq_core.calibration.splits import Split
from gbuq_core.distribution import PredictsLaw
from gbuq_core.errors import InvalidParameter
from gbuq_core.ibug import IBUGRegressor
from gbuq_core.inputs import (
    check_fit_data,
    check_largest_target,
    check_numeric_target,
    draw_seed,
    exact_std,
    take_rows,
    weighted_mean,
)
from gbuq_core.jobs import advance, stage
from gbuq_core.metrics.log_score import find_resolution
from gbuq_core.model_files.contents import check_arrays, require
from gbuq_core.stacking.base import (
    FEWEST_ROWS,
    FOLLOWING_TAKES,
    NEAR_TAKES,
    PROCESSES_TAKE,
    TREES_TAKE,
    WEIGHTS_TAKE,
    Around,
    Rows,
)
from gbuq_core.stacking.law import Recalibration, StackedDistribution
from gbuq_core.stacking.middles import Centred, read_law
from gbuq_core.stacking.outliers import find_outliers, tame_targets
from gbuq_core.stacking.process import MOST_ROWS, Process
from gbuq_core.stacking.recalibrating import fit_map, needs_map
from gbuq_core.stacking.support import Support, find_support
from gbuq_core.stacking.voices import (
    VOICES,
    Heard,
    Making,
    find_components,
    local_spreads,
)
from gbuq_core.stacking.weights import (
    Judged,
    choose_mean_weights,
    choose_weights,
    expect_weights,
    judge,
)
from gbuq_core.trees.importers.ownership import is_owned
from gbuq_core.uncertainty import Uncertainty
from gbuq_core.unfamiliarity.rows import EncodedRows, encode_rows, read_rows

FloatArray = NDArray[np.float64]

_FEW = 400  # judged rows whose CRPS is looked at
_EARNED = 0.2  # of the middle: with less, the process is not worth many rows
_NONE = np.empty(0)


class Voices(NamedTuple):
    """What each voice says of n rows; NaN where a voice has no weight.

    names: (n_voices,) of "trees", "residuals", "targets", "process"; weight, mean, variance:
    (n, n_voices), of y and its squared unit; neighbors, shares: (n, k), places of the nearest
    training rows (of those with a positive weight), and the weight that each has in the law.
    """

    names: tuple[str, ...]
    weight: FloatArray
    mean: FloatArray
    variance: FloatArray
    neighbors: NDArray[np.int64]
    shares: FloatArray


class _Answers(NamedTuple):
    """New rows, heard: what the voices say, the components' shares, and how far beyond."""

    heard: Heard
    shares: FloatArray
    knowledge: FloatArray
    beyond: FloatArray
    latent: FloatArray
    near: NDArray[np.int64]  # (n, k): the neighbours' places in the pool


class StackedRegressor(PredictsLaw, RegressorMixin, Centred):
    """The law of y as a weighted mixture of several voices around one tree model.

    Voices at a row: the trees' Student t; the residuals of the training rows that share most leaves
    with it, set on its own mean and std; these rows' targets themselves; a small Gaussian process.
    Their weights maximise the log score of rows that no voice has seen (Yao, Vehtari, Simpson and
    Gelman 2018, equation 4). A voice enters only if it improves the log score or the CRPS on those
    rows by more than one standard error, and worsens neither by more.

    Parameters
    ----------
    estimator : estimator or None
        The trees. None is a `BoostedEnsembleRegressor` with two clocks, as deep and as many as
        ``capacity="auto"`` chooses. An unfitted one is fitted
        to all rows, and to the rows of each of five folds. A fitted one is used as it is: pass rows
        to `fit` which it has not seen. A model without ``predict_distribution`` gets one from
        `CalibratedRegressor` (CatBoost's RMSEWithUncertainty, NGBoost) or `IBUGRegressor`. Of its
        law, mean, std and degrees of freedom are read.
    voices : sequence of {"trees", "residuals", "targets", "process"}
        Those that may enter; "trees" always speaks. LightGBM finds the rows that "residuals" and
        "targets" are of: where it does not load, these have no voice, and `fit` warns.
    support : {"auto", "real", "nonnegative", "unit", "whole"} or (low, high)
        The values that y can take. "auto" reads them off the training targets; `support_` says what
        was found. None in a pair means no bound.
    random_state : int, Generator, RandomState or None
        Of the folds and samples, and of an estimator that has none.
    n_jobs : int or None
        Threads. Results do not depend on it.

    Attributes
    ----------
    weights_ : mapping of str to float
        The weight of each voice on rows like the training rows; they add up to 1.
    component_weights_ : mapping of tuple to float
        The same by (voice, number of neighbours, smoothing or degrees of freedom).
    mean_weights_ : mapping of str to float
        Of the voices' means in `predict`, by squared error.
    support_ : Support
        ``support_.describe()`` is one sentence.
    outliers_ : ndarray of int
        Places, among the training rows of positive weight, of targets that lie behind a gap which
        no tail explains. Trees, neighbours and process learn from them as from the nearest ordinary
        target; the distribution keeps their values.
    recalibrated_ : bool
        Whether left-out targets fell so unevenly in the mixture (p < 0.01) that its probabilities
        are corrected by a smooth monotone map.
    log_scale_ : tuple of float or None
        Where the trees alone, with ``target="log"``, predict left-out targets of a skewed positive
        target better by CRPS than the stack, by more than one standard error: theirs and its own.
    resolution_ : float
        The step of the training targets, for `gbuq_core.metrics.log_scores`.
    noise_ : float
        The median variance of the trees on training rows out of fold, in squared units of y.
    estimator_ : estimator
        The trees, fitted on all rows.
    n_rows_, n_features_in_, feature_names_in_, seed_ : what was fitted on, and the seed.

    Notes
    -----
    Beyond the training rows, with e what leaving them adds to the process's latent variance and s
    the process's own std, ``r = e / (e + s^2)``: the weights of trees and residuals are multiplied
    by ``1 - r``, those of targets by ``(1 - r)^2``, and the process has the rest. The variance of
    trees and residuals grows by ``e + d^2``, where d is what the process's mean does from the
    edge of the training box to the row. The process's own prior has there given way to the trees'
    mean with at most the variance of y. `find_beyond` tells ``e / (e + noise_)``. With fewer than
    40 training rows nothing is weighed: inside, the trees speak alone.

    Knowledge uncertainty is the weighted variance of the voices' means, the trees' own knowledge
    with their weight, what was added beyond the rows with its weight, and the process's latent
    variance with its weight. Data uncertainty is the rest of the law's variance.

    References
    ----------
    Yao, Vehtari, Simpson and Gelman (2018), "Using stacking to average Bayesian predictive
    distributions", Bayesian Analysis 13.

    Examples
    --------
    >>> import numpy as np
    >>> from gbuq_core import BoostedEnsembleRegressor, StackedRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 3, (150, 1))
    >>> y = rng.poisson(np.exp(X[:, 0] - 1))
    >>> trees = BoostedEnsembleRegressor(n_members=2, n_trees=60, random_state=0)
    >>> model = StackedRegressor(trees, random_state=0).fit(X, y)
    >>> model.support_.describe()
    'The target is a whole number from 0.'
    >>> law = model.predict_distribution([[0.5], [2.5]])
    >>> lower, upper = law.interval(0.9)
    >>> bool((lower >= 0).all() and (upper == np.round(upper)).all())
    True
    >>> total, data, knowledge = model.predict_uncertainty([[0.5], [9.0]])
    >>> bool(knowledge[1] > knowledge[0])
    True
    """

    resolution_: float
    noise_: float
    outliers_: NDArray[np.intp]
    _process_weights: FloatArray
    _mean_weights: FloatArray
    log_scale_: tuple[float, float] | None
    _factor: float
    _centre: float
    _spread: float
    _z: FloatArray
    _y: FloatArray
    _spreads: FloatArray
    _map: FloatArray | None
    _counts: FloatArray
    _not_saved = ("_process_places",)

    def _fit(
        self, X: Any, y: Any, weight: Any = None, groups: Any = None, around: Around | None = None
    ) -> list[Self]:
        self._check_voices(VOICES)
        table, given = check_fit_data(self, X, y)
        target = check_numeric_target(given)
        check_largest_target(target)
        self.seed_ = draw_seed(self.random_state)
        rows, target = self._read_training(X, table, weight, groups, target)
        self.support_ = find_support(target, self.support)
        self.outliers_ = find_outliers(target)
        tame = tame_targets(target, self.outliers_)
        self.resolution_ = find_resolution(tame)
        weight = rows.weight if rows.weighted else None
        self._centre = weighted_mean(tame, weight)
        self._spread = exact_std(tame, weight) or 1.0
        scaled = ((tame - self._centre) / self._spread)[:, None]
        model = self._with_law() if around is None else around.main
        prefit = around is not None or not is_owned(model)
        of_trees, of_folds = TREES_TAKE[prefit]
        rest = NEAR_TAKES + PROCESSES_TAKE + of_folds + WEIGHTS_TAKE
        rest += FOLLOWING_TAKES * (len(tame) > MOST_ROWS)
        splits = self._make_folds(tame, rows) if around is None else around.splits()
        with stage(of_trees + 1.0 + rest):
            with stage(1.0, span=of_trees):
                self.estimator_, trees = model, [] if around is None else list(around.models)
                if not prefit:
                    self.estimator_, trees = self._fit_trees(model, rows, tame, splits=splits)
            with stage(1.0, span=1.0):
                self._fit_all(rows, tame, scaled, around)
            with stage(rest):
                return self._weigh(rows, target, tame, scaled, splits, trees, prefit, around)

    @property
    def recalibrated_(self) -> bool:
        """Whether the mixture's probabilities are corrected."""
        return self._map is not None

    def describe(self) -> list[str]:
        """Sentences about the target: its values, its outliers, and what was corrected."""
        sentences = [self.support_.describe()]
        if n := len(self.outliers_):
            sentences.append(
                f"{n} target{'s lie' if n > 1 else ' lies'} far outside all others. The model "
                "learns from such a row as if its target were the nearest ordinary one."
            )
        if self.recalibrated_:
            sentences.append(
                "The predicted probabilities were off on left-out rows, and are corrected for it."
            )
        if self.log_scale_ is not None:
            log, stacked = (format(value, ".3g") for value in self.log_scale_)
            sentences.append(
                "Trees alone on a log scale predict left-out targets better by CRPS: "
                f"{log} beside {stacked}."
            )
        return sentences

    @property
    def weights_(self) -> Mapping[str, float]:
        """The weight of each voice."""
        weights = self._making.of_voice(self._weights[None])[0]
        return MappingProxyType(dict(zip(VOICES, weights.tolist(), strict=True)))

    @property
    def mean_weights_(self) -> Mapping[str, float]:
        """The weights of the means in `predict`."""
        return MappingProxyType(dict(zip(VOICES, self._mean_weights.tolist(), strict=True)))

    def predict(self, X: Any) -> FloatArray:
        """The prediction of least squared error, (n_samples,).

        It weighs the voices' means by ``mean_weights_``. The mean of the law is
        ``predict_distribution(X).loc``.
        """
        return self._mean(self._hear(X))

    def _mean(self, answers: _Answers) -> FloatArray:
        away = 1.0 - answers.beyond[:, None]
        tilt = np.concatenate([away, away, np.square(away)], axis=1)
        weights = np.empty((len(away), len(VOICES)))
        weights[:, :3] = self._mean_weights[:3] * tilt
        weights[:, 3] = 1.0 - weights[:, :3].sum(axis=1)
        if self._process is None:
            weights[:, :3] /= weights[:, :3].sum(axis=1, keepdims=True)
            weights[:, 3] = 0.0
        means = np.nan_to_num(self._plain_means(answers.heard))
        return np.clip((weights * means).sum(axis=1), self.support_.low, self.support_.high)

    def predict_distribution(self, X: Any) -> StackedDistribution:
        """The law of y in every row; unpacks as ``loc, scale``."""
        return self._law(self._hear(X))

    def predict_voices(self, X: Any) -> Voices:
        """The weight, mean and variance of each voice in every row.

        Means and variances are those of voices before the law is folded into the support.
        """
        answers = self._hear(X)
        mean, variance = self._making.moments(answers.heard, answers.shares)
        weight = self._making.of_voice(answers.shares)
        shares = self._making.of_neighbours(answers.heard, answers.shares)
        return Voices(VOICES, weight, mean, variance, self._pool_places[answers.near], shares)

    def predict_by_voice(self, X: Any) -> dict[str, StackedDistribution]:
        """The law of each voice alone, of those that speak of any row.

        The law of all is the sum of these, each times its weight of `predict_voices`.
        """
        answers = self._hear(X)
        laws = {}
        for voice, weight in zip(VOICES, self._making.of_voice(answers.shares).T, strict=True):
            if (weight > 0.0).any():
                mine = np.array([way.voice == voice for way in self._components])
                own = np.where(weight[:, None] > 0.0, answers.shares * mine, mine)
                parts = self._making.parts(answers.heard, own / own.sum(axis=1, keepdims=True))
                laws[voice] = StackedDistribution(parts, self.support_)
        return laws

    def predict_uncertainty(self, X: Any) -> Uncertainty:
        """Total, data and knowledge uncertainty as variances of y, (n_samples,) each."""
        answers = self._hear(X)
        return self._split(answers, self._law(answers))

    def tell(self, X: Any) -> tuple[FloatArray, Uncertainty, StackedDistribution]:
        """What `predict`, `predict_uncertainty` and `predict_distribution` say, heard once."""
        answers = self._hear(X)
        law = self._law(answers)
        return self._mean(answers), self._split(answers, law), law

    def _split(self, answers: _Answers, law: StackedDistribution) -> Uncertainty:
        total = np.square(law.scale)
        weight = self._making.of_voice(answers.shares)
        means = self._making.means(answers.heard, answers.shares)
        mean = (weight * means).sum(axis=1)
        knowledge = (weight * np.square(means - mean[:, None])).sum(axis=1)
        knowledge += weight[:, 0] * answers.knowledge
        knowledge += (weight[:, 0] + weight[:, 1]) * answers.heard.extra
        knowledge += weight[:, 3] * self._factor**2 * answers.latent
        knowledge = np.minimum(knowledge, total)
        return Uncertainty(total, total - knowledge, knowledge)

    @property
    def _making(self) -> Making:
        return Making(self._components, self.support_)

    def _law(self, answers: _Answers) -> StackedDistribution:
        parts = self._making.parts(answers.heard, answers.shares)
        return StackedDistribution(parts, self.support_, self._recalibration(len(answers.beyond)))

    def _recalibration(self, n: int) -> Recalibration | None:
        if self._map is None:
            return None
        return Recalibration(self._map[None], np.zeros(n, np.intp))

    def _with_law(self) -> Any:
        """The given estimator, or what reads a law off it."""
        model = self.estimator
        if model is None:
            return BoostedEnsembleRegressor(capacity="auto")
        if hasattr(model, "predict_distribution"):
            return model
        try:
            reader_of(model, False)
        except InvalidParameter:
            return IBUGRegressor(model, random_state=self.seed_, n_jobs=self.n_jobs)
        return CalibratedRegressor(model, random_state=self.seed_)

    def _weigh(
        self, rows: Rows, y: FloatArray, tame: FloatArray, scaled: FloatArray, splits: list[Split],
        trees: list[Any], prefit: bool, around: Around | None,
    ) -> list[Self]:  # fmt: skip
        """Hear the voices out of fold, and learn the weights from it; the laws around others."""
        n = len(y)
        loc, scale, df = np.full((3, n), np.nan)
        few = n < FEWEST_ROWS
        near = np.zeros((n, 0 if self._near is None else self._n_neighbours), np.int64)
        mean, std = np.full((2, n), np.nan)
        judged, fold = [], np.zeros(n, np.int64)
        places: list[NDArray[np.intp]] = []
        parts: list[Any] = [None] * len(splits)
        smooth: list[Any] = [None] * len(splits)
        if not few:
            with stage(1.0, span=NEAR_TAKES):
                places, parts = self._fit_folds_near(rows, tame, splits, around)
            with stage(1.0, span=PROCESSES_TAKE):
                smooth = self._fit_folds_process(rows, scaled, splits, around)
        with stage(float(len(splits)), TREES_TAKE[prefit][1]):
            for k, split in enumerate(splits):
                held = np.intersect1d(split.held, self._pool_places)
                with stage(1.0, span=1.0):
                    model = self._trees_of(trees, rows, tame, k, split, prefit)
                    loc[held], scale[held], df[held] = read_law(model, take_rows(rows.X, held))
                    scale[held] = np.maximum(scale[held], 1e-9 * self._spread)
                    if few:
                        continue
                    mine = self._judged(k, split.held, around)
                    judged.append(mine)
                    fold[mine] = k
                    part = parts[k]
                    if part is not None:
                        encoded = rows.take(mine, self._space)
                        near[mine] = places[k][part.nearest(encoded, self._n_neighbours).indices]
                    mean[mine], std[mine] = self._of_process(smooth[k], rows, mine, loc, scale)
        pool = self._pool_places
        self._learn_middle(loc, mean, tame, fold, rows.weight, judged)
        if self._middle_weight > 0.0:
            if self._middle_weight > _EARNED:
                with stage(1.0, span=FOLLOWING_TAKES * (n > MOST_ROWS)):
                    smooth = self._follow_rows(rows, scaled, splits, smooth, around)
            for split, process in zip(splits, smooth, strict=True):
                held = np.intersect1d(split.held, pool)
                mean[held], std[held] = self._of_process(process, rows, held, loc, scale)
            self._learn_middle(loc, mean, tame, fold, rows.weight, judged)
        middle = self._middle(loc, mean)
        self._of_modes = None
        of_modes: list[Any] = [None] * len(splits)
        if not few:
            middle, of_modes = self._learn_modes(
                rows, tame, middle, scale, near, judged, splits, around
            )
        z = (y - middle) / scale
        self._factor = 1.0
        spreads = local_spreads(y, self.resolution_, self._spread)
        self._z, self._y, self._counts = z[pool], y[pool], rows.weight[pool]
        self._spreads = spreads[pool]
        self.noise_ = float(np.median(np.square(scale[pool])))
        voices = [v for v in self._speaking if v != "process" or self._process is not None]
        self._components = find_components(voices, near.shape[1])
        self._mean_weights = np.eye(len(VOICES))[0]
        self._weights = np.eye(len(self._components))[0]
        self._map = self.log_scale_ = None
        self._process_weights = np.array(
            [way.width == 10.0 and way.voice == "process" for way in self._components], np.float64
        )
        pairs = [] if around is None else self._parts_around(around, rows, parts, smooth)
        for law, own in pairs:
            law._z, law._y, law._counts = z[own], y[own], rows.weight[own]
            law._spreads, law._map = spreads[own], None
        laws = [law for law, _ in pairs]
        for law, trees in zip(laws, of_modes, strict=False):
            law._of_modes = trees
        if few or not any(len(rows) for rows in judged):
            return laws
        # In random order, so that the first rows are of all folds.
        order = np.random.default_rng((self.seed_, 13)).permutation(np.concatenate(judged))
        weight = rows.weight[order]
        if self._process is not None:
            far = np.minimum(np.square((tame - mean) / std)[order], 9.0)
            self._factor = max(float(np.sqrt(np.average(far, weights=weight))), 1e-3)
        heard = Heard(
            loc[order], scale[order], df[order], middle[order], z[near[order]], y[near[order]],
            spreads[near[order]], rows.weight[near[order]],
            mean[order] if self._process is not None else _NONE,
            self._factor * std[order] if self._process is not None else _NONE,
            np.zeros(len(order)),
        )  # fmt: skip
        grid = _common_grid(np.delete(y, self.outliers_), self._spread, self.support_)
        told = self._learn(heard, y[order], tame[order], fold[order], weight, grid, laws)
        self.log_scale_ = self._try_log(rows, y, order, splits, grid[0], told, around)
        return laws

    def _of_process(
        self, process: Process | None, rows: Rows, chosen: NDArray[np.intp], loc: FloatArray,
        scale: FloatArray,
    ) -> tuple[FloatArray, FloatArray]:  # fmt: skip
        """Mean and std of the chosen rows; the trees' where no column of the process varies."""
        if process is None:
            return loc[chosen], scale[chosen]
        centre, latent = process.predict(rows.take(chosen, self._space).points)
        std = np.sqrt(latent + process.noise)
        return self._centre + self._spread * centre[:, 0], self._spread * std

    def _learn(
        self, heard: Heard, y: FloatArray, tame: FloatArray, fold: NDArray[np.int64],
        weight: FloatArray, grid: tuple[FloatArray, FloatArray], laws: list[Self],
    ) -> Judged:  # fmt: skip
        n_few = min(_FEW, len(y))
        points, widths = grid
        making = self._making

        def cdf(k: int, points: FloatArray) -> FloatArray:
            shares = np.zeros((len(points), len(self._components)))
            shares[:, k] = 1.0
            parts = making.parts(heard.take(slice(len(points))), shares)
            return StackedDistribution.without_moments(parts, self.support_)._cdf(points)

        n_laws = 1.0 + len(laws)
        with stage(2.0 * n_laws):
            with stage(1.0, span=n_laws):
                judged = judge(
                    cdf,
                    len(self._components),
                    y,
                    self.resolution_,
                    points,
                    widths,
                    fold,
                    weight,
                    n_few,
                )
            means = self._plain_means(heard)
            self._take_weights(judged, means, tame)
            # Rows of a fold have no say in their own weights.
            for k, law in enumerate(laws):
                advance(1.0)
                law._factor = self._factor
                rest = fold != k
                law._take_weights(judged.take(rest), means[rest], tame[rest])
        pit = self._left_out_law(heard).pit(y, self.seed_)
        if needs_map(pit, weight):
            self._map = fit_map(pit, weight)
            for k, law in enumerate(laws):
                rest = fold != k
                pit = law._left_out_law(heard.take(rest)).pit(y[rest], self.seed_)
                law._map = fit_map(pit, weight[rest])
        return judged

    def _left_out_law(self, heard: Heard) -> StackedDistribution:
        """The mixture of rows that no component has seen."""
        shares = np.broadcast_to(self._weights, (len(heard.loc), len(self._weights)))
        parts = self._making.parts(heard, shares)
        return StackedDistribution.without_moments(parts, self.support_)

    def _take_weights(self, judged: Judged, means: FloatArray, y: FloatArray) -> None:
        """Those of the voices, and of their means (n, n_voices)."""
        self._weights = choose_weights(self._components, judged)[0]
        of_process = np.array([way.voice == "process" for way in self._components])
        if of_process.any():
            self._process_weights = np.zeros(len(of_process))
            self._process_weights[of_process] = expect_weights(
                judged.masses[of_process], judged.weight
            )
        self._mean_weights = choose_mean_weights(means, y, judged.fold, judged.weight)

    def _plain_means(self, heard: Heard) -> FloatArray:
        """The voices' means (n, n_voices), of 30 neighbours at most; NaN without the voice."""
        out = np.full((len(heard.loc), len(VOICES)), np.nan)
        out[:, 0] = heard.loc
        n = min(30, heard.z.shape[1])
        if n:
            counts = heard.counts[:, :n]
            share = counts / counts.sum(axis=1, keepdims=True)
            for place, values in ((1, heard.z), (2, heard.y)):
                if VOICES[place] in self._speaking:
                    out[:, place] = (share * values[:, :n]).sum(axis=1)
            out[:, 1] = heard.middle + heard.scale * out[:, 1]
        if len(heard.mean):
            out[:, 3] = heard.mean
        return out

    def _hear(self, X: Any) -> _Answers:
        table = self._new_rows(X)
        rows = self._tree_rows(X, table)
        loc, scale, df = read_law(self.estimator_, rows)
        n = len(loc)
        encoded = encode_rows(self._space, read_rows(self._columns, table))
        near = np.empty((n, 0), np.int64)
        if self._near is not None:
            near = self._nearest(encoded).indices
        z, y, counts = self._z[near], self._y[near], self._counts[near]
        spreads = self._spreads[near]
        mean = std = _NONE
        latent = extra = beyond = np.zeros(n)
        if self._process is not None:
            inner, variance = self._process.predict(encoded.points)
            excess, step = self._process.leave(encoded.points, inner[:, 0], variance)
            trees = (loc - self._centre) / self._spread
            drawn, left = self._process.lean(inner[:, 0], variance, excess, trees)
            step += drawn - inner[:, 0]
            latent = self._spread**2 * left
            mean = self._centre + self._spread * drawn
            std = self._factor * np.sqrt(latent + self._spread**2 * self._process.noise)
            excess = self._spread**2 * np.maximum(excess - (variance - left), 0.0)
            extra = excess + np.square(self._spread * step)
            beyond = excess / (excess + np.square(std))
        middle = self._middle(loc, mean)
        if self._of_modes is not None:
            middle = read_law(self._of_modes, rows)[0]
        heard = Heard(
            loc, np.maximum(scale, 1e-9 * self._spread), df, middle, z, y,
            spreads, counts, mean, std, extra,
        )  # fmt: skip
        knowledge = np.zeros(n)
        if hasattr(self.estimator_, "predict_uncertainty"):
            knowledge = np.asarray(self.estimator_.predict_uncertainty(rows).knowledge)
        return _Answers(heard, self._shares(beyond), knowledge, beyond, latent, near)

    def _share_beyond(self, rows: EncodedRows) -> FloatArray:
        if self._process is None:
            return np.zeros(len(rows.matrix))
        mean, variance = self._process.predict(rows.points)
        excess = self._spread**2 * self._process.leave(rows.points, mean[:, 0], variance)[0]
        return excess / (excess + max(self.noise_, 1e-12 * self._spread**2))

    def _shares(self, beyond: FloatArray) -> FloatArray:
        """The components' weights in every row (n, n_components)."""
        names = np.array([way.voice for way in self._components])
        away = (1.0 - beyond)[:, None]
        shares = self._weights * np.where(names == "targets", np.square(away), away)
        if self._process is None:
            return shares
        of_process = names == "process"
        shares[:, of_process] = 0.0
        inside = self._weights[of_process].sum()
        split = self._weights if inside > 0.0 else self._process_weights
        split = split[of_process] / split[of_process].sum()
        rest = np.maximum(1.0 - shares.sum(axis=1), 0.0)
        shares[:, of_process] = rest[:, None] * split
        return shares

    def check_file(self) -> None:
        """Refuse what no fit makes."""
        super().check_file()
        n, n_pool = len(self._components), len(self._pool.numbers)
        check_arrays(
            self, _weights=("finite", n), _process_weights=("finite", n),
            _mean_weights=("finite", len(VOICES)), _z=("finite", n_pool), _y=("finite", n_pool),
            _counts=("finite", n_pool), _spreads=("finite", n_pool),
        )  # fmt: skip
        sums = [self._weights.sum(), self._mean_weights.sum()]
        require(np.allclose(sums, 1.0) and (self._weights >= 0.0).all(), "a weight is impossible")
        numbers = (
            self._middle_weight,
            self._factor,
            self._centre,
            self._spread,
            self.noise_,
            self.resolution_,
        )
        possible = all(map(math.isfinite, numbers)) and min(self._factor, self._spread) > 0.0
        require(possible and self._components[0].voice == "trees", "a voice is impossible")
        if self._map is not None:
            check_arrays(self, _map=("finite", None))
            rises = len(self._map) > 1 and (np.diff(self._map) > 0.0).all()
            require(rises and self._map[0] == 0.0 and self._map[-1] == 1.0, "its map is impossible")
        require(hasattr(self.estimator_, "predict_distribution"), "its estimator has no law")


def _common_grid(y: FloatArray, spread: float, support: Support) -> tuple[FloatArray, FloatArray]:
    """Points for a first CRPS of all rows, and the width that each stands for."""
    low = max(float(y.min()) - 0.5 * spread, support.low)
    high = min(float(y.max()) + 0.5 * spread, support.high)
    if support.whole and high - low <= 200.0:
        points = np.arange(math.floor(low), math.ceil(high) + 1.0)
        return points, np.ones(len(points))
    points = np.unique(
        np.concatenate([np.linspace(low, high, 60), np.quantile(y, np.linspace(0.0, 1.0, 91))])
    )
    gaps = np.diff(points)
    widths = np.zeros(len(points))
    widths[:-1] += 0.5 * gaps
    widths[1:] += 0.5 * gaps
    return points, widths
